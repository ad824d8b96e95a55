/* SPDX-License-Identifier: Apache-2.0
 * compress.h: making a trained model smaller: the settings of the stages, what
 * each does to a model, and the recipe that runs them in order.  Nothing here
 * learns: who calls a recipe brings the retraining. */
#ifndef CTT_COMPRESS_H
#define CTT_COMPRESS_H

#include "compress/report.h"

/* ---- linalg.c ---- */

/* Thin singular value decomposition a = u diag(s) vt of a row-major m x n
 * matrix, k = min(m, n): u is m x k, s has k values that do not rise, vt is
 * k x n.  a is overwritten. */
int ctt_svd(int m, int n, double *a, double *u, double *s, double *vt);

/* ---- names.c ---- */

/* 1 if name, or the name of the conv that it is a core of, matches one of the
 * patterns (fnmatch, with commas between them). */
int ctt_name_matches(const char *patterns, const char *name);

/* An error if one of the patterns matches no conv or deconv of m. */
int ctt_names_check(const struct ctt_model *m, const char *patterns);

/* ---- tt.c, chain.c ---- */

enum ctt_tt_form { CTT_TT_TRAIN, CTT_TT_WINDOW, CTT_TT_PAIR };

struct ctt_tt {
    int         rank;      /* no rank is larger; 0: no limit */
    float       tol;       /* relative error a weight; 0: as the ranks give;
                              rank = 0 and tol = 0: no such stage */
    int         form;      /* enum ctt_tt_form */
    int         least;     /* weights of fewer numbers are left whole */
    const char *except;    /* patterns of names, with commas, or NULL */
    float       harm;      /* weights that cost more top-1 than this, each
                              factorised alone, are left whole */
    const float *cost;     /* that, by node; NULL: not known */
    int         only;      /* node + 1: nothing but this one; 0: all */
};

/* Factorises the convs and deconvs of a model as tensor trains (Oseledets
 * 2011; of convolutions, Garipov and others 2016), cut by truncated SVDs
 * between input channels, kernel depth, rows, columns and output channels
 * (form train), or between input channels, window and output channels (form
 * window, which is that of Tucker-2, Kim and others 2016), or in two, before
 * the columns (form pair, which is that of Jaderberg and others 2014; less is
 * lost at the same rank, and less is saved).  Each core is a
 * small conv: the chain NAME.t1, NAME.t2 .. NAME computes what NAME did, up to
 * the error.  Two cores that are no cheaper apart are left together; a weight
 * whose chain has not fewer parameters and multiplications is left as it was.
 * Rows of r, which is of a model with the same nodes, say what was done.  The
 * new model has the labels, history and other weights of m; masks of weights
 * that were not factorised are kept. */
int ctt_factorise(const struct ctt_model *m, const struct ctt_tt *o,
                  struct ctt_report *r, struct ctt_model **out);

/* ---- prune.c ---- */

enum ctt_prune_scope { CTT_PRUNE_GLOBAL, CTT_PRUNE_LAYER };
enum ctt_prune_score { CTT_SCORE_LAMP, CTT_SCORE_MAGNITUDE };

struct ctt_prune {
    float       share;     /* pruned in the end; 0: no such stage */
    int         rounds;    /* to get there, at least 1 */
    int         scope, score;
    float       floor;     /* share of each weight that is never pruned; at
                              least one number always is kept */
    int         least;     /* weights of fewer numbers are left alone */
    const char *except;    /* as in struct ctt_tt */
};

/* Prunes the conv and deconv weights (never biases) of m by magnitude (Han and
 * others 2015), so that `share` of all those that are not left alone are zero,
 * to the nearest number: the smallest over all (scope global) or in each
 * weight by itself (scope layer).  What was pruned before stays pruned and
 * counts.  Over all, numbers are compared as |w| over the root mean square of
 * their weight (score magnitude), or as w^2 over the sum of squares of those
 * that are not smaller in their weight (score LAMP; Lee and others 2021).  Of
 * equals, the earlier is pruned.  Makes the model's mask if there is none.  On
 * failure m is as it was. */
int ctt_prune(struct ctt_model *m, const struct ctt_prune *o, double share);

/* Share of these weights that is pruned; o NULL: of all convs and deconvs. */
double ctt_pruned(const struct ctt_model *m, const struct ctt_prune *o);

/* The share to reach in round `round` of `rounds`, from 1 (Zhu and Gupta
 * 2017): from s0 before the first, fast at first, to s1 after the last. */
double ctt_prune_cubic(double s0, double s1, int round, int rounds);

/* ---- round.c ---- */

struct ctt_round {
    int bits;              /* as in ctt_round(); 0 or 24: no such stage */
};

/* Rounds the conv and deconv weights to so many significant bits, 1..24 (24:
 * as they are).  A zero stays zero. */
void ctt_round(struct ctt_model *m, int bits);

/* ---- recipe.c ---- */

/* The settings of the stages; the order is that of stages.c. */
struct ctt_recipe {
    struct ctt_tt    tt;
    struct ctt_prune prune;
    struct ctt_round round;
    int              epochs;    /* of retraining, all stages together */
};

/* What a recipe asks of its caller; each may be NULL.  arg is theirs. */
struct ctt_recipe_calls {
    void *arg;
    /* Trains m in place, holding its mask, and says so in its history. */
    int (*retrain)(void *arg, const char *stage, int epochs,
                   struct ctt_model *m);
    int (*accuracy)(void *arg, const char *stage, const struct ctt_model *m,
                    double top1[CTT_ACCURACIES]);
    int (*time)(void *arg, const char *path, double *ms);
};

/* Epochs of retraining after a round of a stage, counted from 0 over all
 * stages; they add up to o->epochs if any stage retrains. */
int ctt_recipe_epochs(const struct ctt_recipe *o, int round);

/* The options of all stages in order, for a struct ctt_recipe that lies `base`
 * bytes into the settings of a tool.  Returns how many; more than room is an
 * error. */
int ctt_recipe_options(size_t base, struct ctt_opt *tab, int room);

/* An error that names the options to give, if no stage is asked but such as
 * are not worth a run of their own. */
int ctt_recipe_asked(const struct ctt_recipe *o);

/* Takes *m through the stages in order, replaces it by the result, and saves
 * that at path.  After each round path.part is written, measured and removed.
 * On failure *m is some model of the way and path is as it was. */
int ctt_recipe_run(const struct ctt_recipe *o,
                   const struct ctt_recipe_calls *calls, const char *path,
                   struct ctt_model **m, struct ctt_report **out);

#endif
