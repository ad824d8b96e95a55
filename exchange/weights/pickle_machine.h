/* SPDX-License-Identifier: Apache-2.0
 * pickle_machine.h: the machine that runs a pickle, for its instructions. */
#ifndef CTT_PICKLE_MACHINE_H
#define CTT_PICKLE_MACHINE_H

#include "exchange/weights/pickle.h"

enum { CTT_PKL_MARK = -1 };    /* on the stack */

struct ctt_pkl {
    const char        *path;
    const uint8_t     *p;
    int64_t            size, at;
    struct ctt_pickle *k;
    int               *stack, *memo;
    int                depth, stack_room, memos, memo_room;
    int                stopped;
};

/* All of these fail with CTT_ENOMEM, or CTT_EFORMAT if the pickle is damaged,
 * which ctt_pkl_bad() says. */
int ctt_pkl_bad(const struct ctt_pkl *m);

int ctt_pkl_value(struct ctt_pkl *m, struct ctt_pickled v, int *out);

int ctt_pkl_push(struct ctt_pkl *m, int value);
int ctt_pkl_push_new(struct ctt_pkl *m, struct ctt_pickled v);
int ctt_pkl_push_kind(struct ctt_pkl *m, enum ctt_pickled_kind kind);
int ctt_pkl_pop(struct ctt_pkl *m, int *out);

/* The value below `under` others, of that kind. */
int ctt_pkl_look(struct ctt_pkl *m, int under, enum ctt_pickled_kind kind,
                 int *out);

/* How many values lie above the last mark. */
int ctt_pkl_above_mark(struct ctt_pkl *m, int *out);

/* The n values on top become members of `to`. */
int ctt_pkl_take(struct ctt_pkl *m, int n, int to);

/* Operands of an instruction: n bytes, a number, a line without its end. */
int ctt_pkl_bytes(struct ctt_pkl *m, int64_t n, const uint8_t **p);
int ctt_pkl_number(struct ctt_pkl *m, int bytes, int64_t *out);
int ctt_pkl_line(struct ctt_pkl *m, const char **p, int *n);

#endif
