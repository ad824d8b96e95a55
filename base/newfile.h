/* SPDX-License-Identifier: Apache-2.0
 * newfile.h: files that appear complete or not at all, and opening files that
 * could be something else. */
#ifndef CTT_NEWFILE_H
#define CTT_NEWFILE_H

#include "base/ctt.h"

#include <stdio.h>

/* A file that is written under a temporary name in the folder of its path and
 * then renamed, so that path is at any time the complete old file or the
 * complete new one.  The name is PATH.convttN.tmp with the first free N; it is
 * created exclusively, never through a link, and locked (flock) as long as its
 * owner lives.  Opening a file therefore also removes the temporary files that
 * owners of the same path left when they were killed.  Two programs may write
 * the same path: the last one to finish wins. */
struct ctt_newfile;

/* A link at path stays and the file that it leads to is replaced, with its
 * permissions.  CTT_EIO if path is not a file, or the folder cannot be
 * written. */
int  ctt_newfile_open(const char *path, struct ctt_newfile **out);

/* Claims path for a run that writes it again and again: CTT_EIO if another
 * process has claimed it.  The lock (flock of PATH.convtt.lock) ends with its
 * owner, however that ends; nothing can be written to it, and drop gives it up.
 * On file systems without locks nobody is refused. */
int  ctt_newfile_claim(const char *path, struct ctt_newfile **out);

/* Locks a file that is written in place, a log, until its descriptor is closed:
 * CTT_EIO if another process, or another descriptor of this one, has the lock.
 * A file that is not regular, or lies on a file system without locks, is not
 * locked. */
int  ctt_file_lock(int fd, const char *path);

/* The descriptor of the file, open to read and write; its path as given, for
 * messages; its temporary name. */
int         ctt_newfile_fd(const struct ctt_newfile *f);
const char *ctt_newfile_path(const struct ctt_newfile *f);
const char *ctt_newfile_temp(const struct ctt_newfile *f);

/* write: appends n bytes.  put: also reads them back from the file; CTT_EIO if
 * they differ. */
int  ctt_newfile_write(struct ctt_newfile *f, const void *p, int64_t n);
int  ctt_newfile_put(struct ctt_newfile *f, const void *p, int64_t n);

/* finish: brings the file to the disk and renames it.  After a failure the file
 * is closed and path is as it was.  drop: removes the temporary file. */
int  ctt_newfile_finish(struct ctt_newfile **f);
void ctt_newfile_drop(struct ctt_newfile **f);

/* replace: replaces the file at path by n bytes, which are read back first.
 * print: by the text that print(f, arg) writes to f, unless print returns an
 * error. */
int  ctt_file_replace(const char *path, const void *p, int64_t n);
int  ctt_file_print(const char *path, int (*print)(FILE *f, const void *arg),
                    const void *arg);

/* The text that print(f, arg) writes to f; the caller frees it.  CTT_ENOMEM,
 * and a message that begins with what, or the error of print. */
int  ctt_text_collect(const char *what, int (*print)(FILE *f, const void *arg),
                      const void *arg, char **out);

/* The error of a file for a number of errno: CTT_ELACK where the process lacks
 * descriptors or memory, else CTT_EIO. */
int  ctt_file_code(int number);

/* Opens a regular file to read: its descriptor, and its size in bytes.  CTT_EIO
 * for anything else; a FIFO is not waited for and a device not opened. */
int  ctt_file_open(const char *path, int *fd, int64_t *size);

/* Reads n bytes at offset `at` of a regular file: CTT_EIO if it ends before. */
int  ctt_file_read_at(const char *path, int fd, int64_t at, void *to,
                      int64_t n);

/* The content of a regular file, followed by a '\0', which the caller frees.
 * CTT_EFORMAT: more than `most` bytes. */
int  ctt_file_text(const char *path, int64_t most, char **out, int64_t *size);

/* The same of a file of so many bytes that is open, and closes it. */
int  ctt_file_take(const char *path, int fd, int64_t size, int64_t most,
                   char **out);

/* The same as ctt_file_open(), but a pipe that the user passes on purpose, "-",
 * /dev/stdin or /dev/fd/N, is opened too; its size is -1. */
int  ctt_stream_open(const char *path, int *fd, int64_t *size);

/* is: 1 if ctt_stream_open() opens path as a pipe.  named: 1 if path is one of
 * the names of pipes above, whether or not there is one. */
int  ctt_stream_is(const char *path);
int  ctt_stream_named(const char *path);

/* Reads from a descriptor of ctt_stream_open() up to n bytes, fewer only at the
 * end: *got bytes.  CTT_ESTOP: ctt_stopped() while it waited for a pipe. */
int  ctt_stream_read(const char *path, int fd, void *to, size_t n,
                     size_t *got);

#endif
