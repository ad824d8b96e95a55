/* SPDX-License-Identifier: Apache-2.0
 * kept.h: files among this user's caches with what a device found out at some
 * cost, for later runs; and the functions by which a module of a device keeps
 * it (struct ctt_host, more). */
#ifndef CTT_KEPT_H
#define CTT_KEPT_H

#include "base/ctt.h"

/* Most bytes of one thing, and most things; the oldest goes for a new one. */
enum { CTT_KEPT_BYTES = 1 << 20, CTT_KEPT_FILES = 1024, CTT_KEPT_KEY = 1600 };

/* The folder `name` of this user's caches of convtt, which is made if `make`;
 * CTT_EIO unless it is there and nobody else can write it.  file: a regular
 * file of this user that is no link.  text: all of it, at most so many bytes,
 * and a 0 behind them; the caller frees it. */
int ctt_own_folder(const char *name, int make, char *path, size_t room);
int ctt_own_file(const char *path, int *fd, int64_t *size);
int ctt_own_text(const char *path, int64_t most, char **out, int64_t *size);

/* key: one line of text, all that the thing depends on.  read: 1 and the thing,
 * which the caller frees with ctt_free(); 0: there is none, or its file is
 * damaged, of another version, or not this user's.  write: replaces the file;
 * a failure only means that it is found out again. */
int  ctt_kept_read(const char *key, char **data, int64_t *size);
void ctt_kept_write(const char *key, const void *data, int64_t size);

struct ctt_dev_host {
    int  (*read)(const char *key, char **data, int64_t *size);
    void (*write)(const char *key, const void *data, int64_t size);
    void (*warn)(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
};
extern const struct ctt_dev_host ctt_dev_host;

#endif
