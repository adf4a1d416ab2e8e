// SPDX-License-Identifier: MIT
//
// An open loop: requests arrive at fixed times, whether or not those before them are done, as at a server whose users
// do not wait for each other. What a request waits in the queue counts, so a slow call makes the ones behind it late
// too.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

struct Request {
    double at; // seconds since the loop began
    std::size_t kind;
};

// Returns the requests of so many seconds in their order: of each kind one in a period, the first in its middle.
inline std::vector<Request> requests_of(const std::vector<double> &periods, double seconds)
{
    std::vector<Request> requests;
    for (std::size_t kind = 0; kind < periods.size(); kind++)
        for (double at = periods[kind] / 2; at < seconds; at += periods[kind])
            requests.push_back({at, kind});
    std::stable_sort(requests.begin(), requests.end(), [](const Request &a, const Request &b) { return a.at < b.at; });
    return requests;
}

// The seconds of requests of a kind: from their arrival to their end, and those of the work alone.
struct Latencies {
    std::vector<double> total, work;
};

// Serves requests one after another, each when it has arrived and those before it are done. `now` returns seconds.
template <class Now, class Serve>
void run_open_loop(const std::vector<Request> &requests, Now now, Serve serve, std::vector<Latencies> &latencies)
{
    const double start = now();
    for (const Request &request : requests) {
        double begin = now() - start;
        while (begin < request.at)
            begin = now() - start;
        serve(request.kind);
        const double end = now() - start;
        latencies[request.kind].total.push_back(end - request.at);
        latencies[request.kind].work.push_back(end - begin);
    }
}
