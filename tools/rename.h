/* SPDX-License-Identifier: MIT */
/*
 * Renaming in one step that no other process can come between. Linux does both by renameat2; where a file system or
 * another system does not, a new name is made by a hard link, and names are not exchanged.
 */
#ifndef INLAY_TOOL_RENAME_H
#define INLAY_TOOL_RENAME_H

/** Gives a file a new name. Returns 0; -1 with errno, EEXIST if something has that name. */
int rename_new(const char *from, const char *to);

/** Exchanges what two names lead to. Returns 0; -1 with errno, ENOSYS where that cannot be done. */
int rename_exchange(const char *one, const char *other);

#endif
