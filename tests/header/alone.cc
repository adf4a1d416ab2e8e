// SPDX-License-Identifier: MIT
#include "alone.c"
