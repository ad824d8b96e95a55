/* SPDX-License-Identifier: Apache-2.0
 * pickle.h: the values of a pickle of torch.save(), which is a program for
 * a machine with a stack.  Here it can only make values: of the functions and
 * classes that it may name there are a few, and none is called. */
#ifndef CTT_PICKLE_H
#define CTT_PICKLE_H

#include "exchange/weights/tensors.h"

enum ctt_pickled_kind {
    CTT_PICKLED_NONE,       /* None, False, True, a float: not looked at */
    CTT_PICKLED_INT,        /* number */
    CTT_PICKLED_TEXT,       /* text */
    CTT_PICKLED_TUPLE,      /* members */
    CTT_PICKLED_LIST,       /* members */
    CTT_PICKLED_DICT,       /* members: key, value, key, value */
    CTT_PICKLED_GLOBAL,     /* number: its row in a table */
    CTT_PICKLED_STORAGE,    /* number: of its numbers; text: its key; type */
    CTT_PICKLED_TENSOR,     /* members: storage, offset, shape, strides */
};

/* Members are a list of links, numbers of values. */
struct ctt_pickled {
    enum ctt_pickled_kind    kind;
    int64_t                  number;
    const char              *text;      /* length bytes in the pickle */
    int                      length;
    const struct ctt_number *type;
    int                      first, last, count;    /* links; -1: none */
};

struct ctt_link { int value, next; };

/* Value 0 is None. */
struct ctt_pickle {
    struct ctt_pickled *value;
    struct ctt_link    *link;
    int                 values, value_room, links, link_room;
    int                 root;     /* the value that was made */
    int64_t             bytes;    /* that the pickle has */
};

/* Runs a pickle in p[size], up to its end.  CTT_EUNSUP, naming it, for a global
 * or an instruction that a state_dict does not need; CTT_EFORMAT if it is
 * damaged. */
int  ctt_pickle_run(const char *path, const uint8_t *p, int64_t size,
                    struct ctt_pickle *out);
void ctt_pickle_free(struct ctt_pickle *k);

/* The k-th member of a value; None behind the last. */
const struct ctt_pickled *ctt_pickle_member(const struct ctt_pickle *k,
                                            const struct ctt_pickled *v,
                                            int i);

/* 1 if v is that text. */
int  ctt_pickled_is(const struct ctt_pickled *v, const char *text);

#endif
