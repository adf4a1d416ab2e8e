/* SPDX-License-Identifier: MIT */
/* One public header alone, PART, as C99 and, included by part.cc, as C++17: it must need no other include. */
#include PART
