/* SPDX-License-Identifier: Apache-2.0
 * late.h: large weights of a model that stay in its file until a kernel packs
 * them, so that they are in memory once, in the kernel's own layout. */
#ifndef CTT_LATE_H
#define CTT_LATE_H

#include "net/model.h"

/* A weight begins with the functions below of the program, as the kernels of a
 * module (base/module.h) use them, too. */
struct ctt_late;
struct ctt_lates;
struct ctt_late_calls {
    int          (*get)(struct ctt_late *w, const float **out);
    void         (*put)(struct ctt_late *w);
    void         (*stay)(struct ctt_late *w);
    const float *(*stayed)(const struct ctt_late *w);
};
struct ctt_late_head { const struct ctt_late_calls *calls; };

/* Writes the floats of weight i to `to`, each output channel times its scale,
 * unless that is NULL. */
typedef int ctt_late_read(void *from, int i, const double *scale, float *to);

/* A list of `count` weights, which takes `from` over: shut(from) is called with
 * the last model that has the list.  add: the next one, of that name.  from:
 * what it took over. */
int  ctt_lates_new(int count, ctt_late_read *read, void (*shut)(void *from),
                   void *from, struct ctt_lates **out);
void ctt_lates_add(struct ctt_lates *l, const char *title,
                   const struct ctt_tensor *shape);

int   ctt_lates_count(const struct ctt_lates *l);
void *ctt_lates_from(const struct ctt_lates *l);

/* share: another model has the list, too; leave: one less. */
struct ctt_lates *ctt_lates_share(struct ctt_lates *l);
void ctt_lates_leave(struct ctt_lates **l);

/* Weight k of a node of any model with the list; NULL: it is in memory. */
struct ctt_late *ctt_late_find(struct ctt_lates *l, const struct ctt_node *n,
                               int k);

/* Each output channel is multiplied by its scale when it is read.  Once, before
 * the first get. */
int  ctt_late_scale(struct ctt_late *w, const double *scale);

/* get: the floats, which stay until put; an error if they cannot be read any
 * more.  stay: the floats that a get found stay when nobody has them, for ever;
 * stayed: these, or NULL.
 * tidy: frees those that nobody has.  Any thread. */
static inline const struct ctt_late_calls *
ctt_late_calls(const struct ctt_late *w)
{
    return ((const struct ctt_late_head *)(const void *)w)->calls;
}
static inline int ctt_late_get(struct ctt_late *w, const float **out)
{
    return ctt_late_calls(w)->get(w, out);
}
static inline void ctt_late_put(struct ctt_late *w)
{
    ctt_late_calls(w)->put(w);
}
static inline void ctt_late_stay(struct ctt_late *w)
{
    ctt_late_calls(w)->stay(w);
}
static inline const float *ctt_late_stayed(const struct ctt_late *w)
{
    return ctt_late_calls(w)->stayed(w);
}
void ctt_lates_tidy(struct ctt_lates *l);

#endif
