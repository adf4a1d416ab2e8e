/* SPDX-License-Identifier: MIT */
/*
 * The owner of memory, e.g. a block of the pool or an open file, with a count of its users. Frameworks release memory
 * on any thread, so nothing here needs the GIL.
 */
#pragma once

#include <stdatomic.h>

/* The first field of a struct that owns memory. */
struct owner {
    atomic_size_t users;
    void (*destroy)(struct owner *self); /* called by the last user */
};

/* Makes an owner with one user. */
static inline void owner_init(struct owner *owner, void (*destroy)(struct owner *self))
{
    atomic_init(&owner->users, 1);
    owner->destroy = destroy;
}

/* Adds a user. */
static inline void owner_hold(struct owner *owner)
{
    atomic_fetch_add_explicit(&owner->users, 1, memory_order_relaxed);
}

/* Removes a user. */
static inline void owner_release(struct owner *owner)
{
    if (atomic_fetch_sub_explicit(&owner->users, 1, memory_order_acq_rel) == 1)
        owner->destroy(owner);
}
