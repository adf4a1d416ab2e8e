/* SPDX-License-Identifier: MIT */
/*
 * Renaming in one step that no other process can come between. Linux does both by renameat2, if the file system does.
 * Elsewhere, as on NFS or another system, a new name is made by a hard link, and names are not exchanged. Where there
 * are no hard links either, an empty file takes the new name first, and is replaced: only this second step can be
 * disturbed, by a process that replaces the empty file.
 */
#pragma once

/** Gives a file a new name. Returns 0; -1 with errno, EEXIST if something has that name. */
int rename_new(const char *from, const char *to);

/** Exchanges what two names lead to. Returns 0; -1 with errno, ENOSYS where that cannot be done. */
int rename_exchange(const char *one, const char *other);
