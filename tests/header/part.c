/* SPDX-License-Identifier: MIT */
/* A single public header, PART, as C99 and, included by part.cc, as C++17: it must need no other include. */
#include PART
