/* SPDX-License-Identifier: Apache-2.0
 * unnamed.h: temporary files for data that memory has no room for.  They have
 * no name, so they vanish when their owner ends, however that ends. */
#ifndef CTT_UNNAMED_H
#define CTT_UNNAMED_H

#include "base/ctt.h"

/* Opens a new file without a name in a folder, to read and write. */
int  ctt_unnamed_open(const char *folder, int *fd);

/* Reserves space for the first `bytes` bytes: CTT_EIO if the disk has less, or
 * the limit of a file (ulimit -f) is lower.  Where the file system cannot
 * reserve space, a full disk is an error of ctt_unnamed_write(). */
int  ctt_unnamed_reserve(const char *folder, int fd, int64_t bytes);

/* Writes or reads n bytes at offset `at`; CTT_EIO if not all.  Several threads
 * may use one file. */
int  ctt_unnamed_write(const char *folder, int fd, int64_t at,
                       const void *from, int64_t n);
int  ctt_unnamed_read(const char *folder, int fd, int64_t at, void *to,
                      int64_t n);

/* Brings written data to the disk and drops its copy in the cache of files, as
 * far as the file system can. */
int  ctt_unnamed_flush(const char *folder, int fd);

#endif
