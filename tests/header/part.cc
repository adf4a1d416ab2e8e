// SPDX-License-Identifier: MIT
#include "part.c"
