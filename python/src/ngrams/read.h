/* SPDX-License-Identifier: MIT */
/*
 * Calls of rows of n-grams whose tables are in mapped files.
 */
#pragma once

#include "files/open_file.h"
#include "ngrams/batch.h"

/* Runs inlay_ngram_forward(), and before it brings the rows into memory that are in files: files[i] is that of
   lookup->tables[i], or null. Needs no GIL. */
inlay_status ngram_forward(const struct ngram_call *call, const inlay_ngram_lookup *lookup,
                           struct open_file *const *files, void *out, size_t stride_bytes,
                           const inlay_executor *threads, inlay_fault *fault);
