/* SPDX-License-Identifier: Apache-2.0
 * cores.h: the cores of a chain in doubles, while they are made. */
#ifndef CTT_CORES_H
#define CTT_CORES_H

#include "compress/stage/chain.h"
#include "compress/stage/responses.h"

struct ctt_cores {
    double *a;                        /* as ctt_cores_load(): the matrix to be
                                         factorised */
    double *u, *s, *vt;
    double *core[CTT_MAX_CORES];      /* (rank, modes, rank) */
    double *sigma[CTT_MAX_CORES];     /* values kept at the cut after core k */
    int     most[CTT_MAX_CORES + 1];  /* not 0: highest rank before core k */
    double  norm2, lost2;
};


/* Sizes of the modes of core k, of the window, and of all five, multiplied. */
int64_t ctt_chain_modes(const struct ctt_chain *c, int k);
int64_t ctt_chain_taps(const struct ctt_chain *c);
int64_t ctt_chain_size(const struct ctt_chain *c);

/* Room for the weight of a node of that name, for an error. */
int  ctt_cores_open(const struct ctt_chain *c, const char *name,
                    struct ctt_cores *t);
void ctt_cores_close(struct ctt_cores *t);

/* a = the weight w of a conv, in the order of the modes: (in, kd, kh, kw,
 * out). */
void ctt_cores_load(const struct ctt_chain *c, const float *w, double *a);

/* The cores of t->a, which is overwritten, with the cuts of c; sets the ranks
 * and the error of c. */
int  ctt_cores_cut(struct ctt_chain *c, const struct ctt_tt *o,
                   struct ctt_cores *t);

/* After ctt_cores_cut(): gives all cores the same norm. */
void ctt_cores_balance(const struct ctt_chain *c, struct ctt_cores *t);

/* ---- chain_fit.c ---- */

/* Cores with the ranks of c that answer most like w on the inputs `to`
 * (als.h), as ctt_cores_cut() leaves them; sets c->error and c->bias. */
int  ctt_cores_fit(struct ctt_chain *c, const struct ctt_fit_to *to,
                   const float *w, struct ctt_cores *t);

#endif
