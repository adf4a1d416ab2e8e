// SPDX-License-Identifier: MIT
// A thread pool in plain C++17 as an inlay_executor, for programs that have none. Copy this file.
//
// Each thread gets an equal share of a job's parts. It runs its own share first, whose rows may still be in its cache,
// then what is left of the others'. Waking a thread takes longer than many jobs, so a waiting thread spins for some
// microseconds before it sleeps.
#ifndef INLAY_EXAMPLE_THREAD_POOL_HPP
#define INLAY_EXAMPLE_THREAD_POOL_HPP

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <thread>
#include <vector>

#include <inlay/inlay.h>

class ThreadPool
{
  public:
    // Starts threads - 1 threads: the thread that calls inlay works too.
    explicit ThreadPool(std::size_t threads) : shares_(std::max<std::size_t>(threads, 1))
    {
        try {
            for (std::size_t i = 1; i < shares_.size(); i++)
                workers_.emplace_back([this, i] { work(i); });
        } catch (...) {
            stop();
            throw;
        }
    }

    ~ThreadPool()
    {
        stop();
    }

    // Returns an executor that is valid as long as the pool. Any number of threads may use it; their jobs run one after
    // another. A task must not start a job.
    inlay_executor executor()
    {
        const auto run = [](void *pool, std::size_t count, void (*task)(void *, std::size_t), void *arg) {
            static_cast<ThreadPool *>(pool)->run(count, task, arg);
        };
        return {this, run, shares_.size()};
    }

  private:
    struct alignas(128) Share { // in separate cache lines
        std::atomic<std::size_t> next{0};
        std::size_t end = 0;
    };

    void run(std::size_t count, void (*task)(void *, std::size_t), void *arg)
    {
        const std::lock_guard<std::mutex> one_job(callers_);
        task_ = task;
        arg_ = arg;
        for (std::size_t i = 0; i < shares_.size(); i++) {
            shares_[i].next = count * i / shares_.size();
            shares_[i].end = count * (i + 1) / shares_.size();
        }
        gate_ &= ~shut;
        announce();
        take_parts(0);
        // Workers that arrive from now on do nothing; those inside finish their parts.
        gate_ |= shut;
        wait(left_, [this] { return gate_ == shut; });
    }

    void work(std::size_t number)
    {
        for (unsigned seen = 0;;) {
            wait(came_, [this, seen] { return jobs_ != seen; });
            seen = jobs_;
            if (stop_)
                return;
            if (!(gate_.fetch_add(one) & shut))
                take_parts(number);
            if (gate_.fetch_sub(one) == (one | shut))
                wake(left_);
        }
    }

    void take_parts(std::size_t number)
    {
        for (std::size_t i = 0; i < shares_.size(); i++) {
            Share &share = shares_[(number + i) % shares_.size()];
            for (std::size_t part; (part = share.next++) < share.end;)
                task_(arg_, part);
        }
    }

    // A thread increments `sleepers_` before its last check of the condition. A thread that wakes others makes the
    // condition true before it reads `sleepers_`. These atomics are sequentially consistent, so at least one of the two
    // observes the other.
    template <class Condition> void wait(std::condition_variable &event, Condition holds)
    {
        for (int i = 0; i < spins; i++)
            if (holds())
                return;
        std::unique_lock<std::mutex> lock(sleep_);
        sleepers_++;
        event.wait(lock, holds);
        sleepers_--;
    }

    void wake(std::condition_variable &event)
    {
        if (sleepers_ == 0)
            return;
        const std::lock_guard<std::mutex> lock(sleep_);
        event.notify_all();
    }

    void announce()
    {
        jobs_++;
        wake(came_);
    }

    void stop()
    {
        stop_ = true;
        announce();
        for (std::thread &worker : workers_)
            worker.join();
    }

    static constexpr int spins = 20000;    // loads; some tens of microseconds in total
    static constexpr std::size_t shut = 1; // lowest bit of the gate
    static constexpr std::size_t one = 2;  // the other bits count the workers inside

    std::vector<Share> shares_;
    std::vector<std::thread> workers_;
    std::mutex callers_, sleep_;
    std::condition_variable came_, left_;
    std::atomic<std::size_t> gate_{shut}, sleepers_{0};
    std::atomic<unsigned> jobs_{0};
    std::atomic<bool> stop_{false};
    void (*task_)(void *, std::size_t) = nullptr;
    void *arg_ = nullptr;
};

#endif
