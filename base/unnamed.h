/* SPDX-License-Identifier: Apache-2.0
 * unnamed.h: a file for what memory has no room for.  It has no name, so it is
 * gone when its owner ends, however that ends. */
#ifndef CTT_UNNAMED_H
#define CTT_UNNAMED_H

#include "base/ctt.h"

/* Opens such a file in a folder, to read and write. */
int  ctt_unnamed_open(const char *folder, int *fd);

/* Reserves so many bytes from its beginning on: CTT_EIO if the disk, or what a
 * file may have here (ulimit -f), is less.  Where the file system cannot
 * reserve any, a full disk shows when it is written. */
int  ctt_unnamed_reserve(const char *folder, int fd, int64_t bytes);

/* All of n bytes at an offset, or CTT_EIO; several threads may use one file. */
int  ctt_unnamed_write(const char *folder, int fd, int64_t at,
                       const void *from, int64_t n);
int  ctt_unnamed_read(const char *folder, int fd, int64_t at, void *to,
                      int64_t n);

/* Brings what was written to the disk, and forgets the copy in memory, as far
 * as the file system can. */
int  ctt_unnamed_flush(const char *folder, int fd);

#endif
