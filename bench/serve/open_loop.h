// SPDX-License-Identifier: MIT
//
// An open loop: requests arrive at fixed times, whether earlier ones are done or not, as in a server whose users don't
// wait for each other. Queueing time counts, so a slow call also delays those after it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <vector>

struct Request {
    double at; // seconds since the start of the loop
    std::size_t kind;
};

// Returns the requests of `seconds` seconds in order. Each kind arrives once per period, first in the middle of a
// period.
inline std::vector<Request> requests_of(const std::vector<double> &periods, double seconds)
{
    std::vector<Request> requests;
    for (std::size_t kind = 0; kind < periods.size(); kind++)
        for (double at = periods[kind] / 2; at < seconds; at += periods[kind])
            requests.push_back({at, kind});
    std::sort(requests.begin(), requests.end(),
              [](const Request &a, const Request &b) { return std::tie(a.at, a.kind) < std::tie(b.at, b.kind); });
    return requests;
}

// Seconds of the requests of a kind: from arrival to completion, and for the work alone.
struct Latencies {
    std::vector<double> total, work;
};

// Serves requests one after another, each when it has arrived and earlier ones are done. `now` returns seconds.
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
