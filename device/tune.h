/* SPDX-License-Identifier: Apache-2.0
 * tune.h: the fastest provider of each conv on this machine, found by timing
 * and kept in a table and a file.  (After FFTW's wisdom: Frigo and Johnson
 * 2005.)
 *
 * While a run is tuned (ctt_run_tune()) each call goes to the providers that
 * can compute it in turns, at its place in the run: caches are as full as they
 * will be, a result that is added to in place is added to once a pass, and the
 * states after these passes are dropped before the first frame.  Calls with
 * a pair or an lstm are not tuned, as one provider has them, nor are calls of
 * 16 bits, nor those of training. */
#ifndef CTT_TUNE_H
#define CTT_TUNE_H

#include "device/provider.h"

enum { CTT_TUNE_KEY = 240, CTT_TUNE_TIMES = 200, CTT_TUNE_ROWS = 4096,
       CTT_MACHINE = 256 };

/* A table sorted by key: per key the name of the fastest provider, and
 * "NAME=NANOSECONDS" of each one timed, separated by spaces. */
struct ctt_tune;

/* 1: name[room] and times[CTT_TUNE_TIMES] are set to the row of the key; 0: the
 * table has none. */
int  ctt_tune_find(struct ctt_tune *t, const char *key, char *name,
                   size_t room, char *times);

/* add: adds a row, or replaces that of the key; -1, without a message: not a
 * legal row, out of memory, or the table is full.  rows: their number. */
int  ctt_tune_add(struct ctt_tune *t, const char *key, const char *name,
                  const char *times);
int  ctt_tune_rows(struct ctt_tune *t);

/* The text of a row, "key\tname\ttimes", sorted by keys; NULL: there is none.
 */
const char *ctt_tune_row(const struct ctt_tune *t, int i);

/* An empty table without a file. */
int  ctt_tune_new(struct ctt_tune **out);

/* tune_file.c.  place: the path of the file for a machine, in the folder of
 * this user's caches, which is made if `make`; CTT_EIO: there is none.  read:
 * adds the rows of a file that are not in the table yet, all or none; CTT_EIO
 * if the file is not a regular one of this user, CTT_EFORMAT if it is damaged
 * or of another machine.  write: reads the file likewise and replaces it by the
 * table; CTT_EIO if another kind of file is there. */
int  ctt_tune_place(const char *machine, int make, char *path, size_t room);
int  ctt_tune_read(const char *path, const char *machine, struct ctt_tune *t);
int  ctt_tune_write(const char *path, const char *machine,
                    struct ctt_tune *t);

/* Everything that the time of a forward call depends on, as text. */
void ctt_tune_key(const struct ctt_dev *d, const struct ctt_call *c,
                  char key[CTT_TUNE_KEY]);

/* tune_call.c: the functions that ctt_dev_tune() gives a device. */
extern const struct ctt_tuner ctt_tuner;

#endif
