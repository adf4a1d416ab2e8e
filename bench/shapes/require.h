// SPDX-License-Identifier: MIT
//
// Stops on failed calls: the time of an error means nothing.
#pragma once

#include <cstdio>
#include <cstdlib>

#include <inlay/inlay.h>

// Exits if a call failed.
inline void require(inlay_status status)
{
    if (status == INLAY_OK)
        return;
    std::fprintf(stderr, "inlay_bench: %s\n", inlay_status_string(status));
    std::exit(1);
}
