/* SPDX-License-Identifier: MIT */
/*
 * Lines for people, by the callback that the program gave to ggml, which writes to stderr unless it was told otherwise.
 * Nothing else of the backend prints.
 */
#pragma once

#include <ggml.h>

/** Writes a line, which begins with "inlay: ", to ggml's log. It is cut at 400 bytes. */
__attribute__((format(printf, 2, 3))) void inlay_ggml_log(enum ggml_log_level level, const char *format, ...);
