/* SPDX-License-Identifier: MIT */
/*
 * Log lines, written through the callback the program gave to ggml, which defaults to stderr. The backend prints
 * nothing else.
 */
#pragma once

#include <ggml.h>

/** Logs a line, prefixed with "inlay: " and cut at 400 bytes. */
__attribute__((format(printf, 2, 3))) void inlay_ggml_log(enum ggml_log_level level, const char *format, ...);
