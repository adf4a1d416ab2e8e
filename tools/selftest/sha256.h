/* SPDX-License-Identifier: MIT */
/*
 * SHA-256 (FIPS 180-4), for `inlay selftest`: its golden hashes are those of the tests, and neither the library nor the
 * command may need another library for them. Not for secrets.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { SHA256_BYTES = 32 };

/** A hash that is being computed. */
struct sha256 {
    uint32_t state[8];
    uint64_t bytes; /**< so far */
    unsigned char block[64];
};

/** Begins a hash. */
void sha256_begin(struct sha256 *hash);

/** Adds data [size]. */
void sha256_add(struct sha256 *hash, const void *data, size_t size);

/** Ends the hash and writes its digest. */
void sha256_end(struct sha256 *hash, unsigned char digest[SHA256_BYTES]);

/** Writes the first n hexadecimal digits of a digest, an even number, with a null behind them. */
void sha256_digits(const unsigned char digest[SHA256_BYTES], size_t n, char *digits);
