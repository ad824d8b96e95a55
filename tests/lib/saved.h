/* SPDX-License-Identifier: Apache-2.0
 * saved.h: models to save, their equality, and files as bytes, for the tests of
 * model files. */
#ifndef CTT_SAVED_H
#define CTT_SAVED_H

#include "net/model.h"

/* In a new folder: two files for the test to write. */
extern char saved_dir[32], saved_path[48], saved_other[48];
int  saved_start(void);    /* 0, or 99 for main to return */
int  saved_end(int rc);    /* removes the folder; rc, or 99 */

/* A model of that text with weights that look random. */
struct ctt_model *saved_make(const char *text);

/* Gives it labels and a history; prunes it, the first weight whole, the second
 * not at all; gives the numbers of one weight six values; gives it a training
 * state. */
void saved_name(struct ctt_model *m);
void saved_prune(struct ctt_model *m);
void saved_share(struct ctt_model *m);
void saved_train(struct ctt_model *m);

/* One with 16 weights and some of these. */
enum { NAMES = 1, PRUNED = 2, TRAIN = 4, SHARED = 8 };
struct ctt_model *saved_variant(int what);

int saved_same(const struct ctt_model *a, const struct ctt_model *b);

uint8_t *saved_slurp(const char *name, int64_t *n);
void     saved_spill(const char *name, const uint8_t *p, int64_t n);

/* Loading that file fails with that code and one line that begins with its name
 * and holds these words. */
void saved_refused(const char *name, int code, const char *says);

#endif
