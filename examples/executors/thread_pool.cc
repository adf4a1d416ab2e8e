// SPDX-License-Identifier: MIT
// A layer on a pool in plain C++17.
#include "inlay_thread_pool.hpp"

#include "check.h"

int main()
{
    ThreadPool pool(4); // std::thread::hardware_concurrency() for as many as there are cores
    const inlay_executor executor = pool.executor();
    return check("thread_pool", &executor);
}
