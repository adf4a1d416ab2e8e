// SPDX-License-Identifier: MIT
// Runs a layer on a thread pool in plain C++17.
#include "inlay_thread_pool.hpp"

#include "check.h"

int main()
{
    ThreadPool pool(4); // or std::thread::hardware_concurrency()
    const inlay_executor executor = pool.executor();
    return check("thread_pool", &executor);
}
