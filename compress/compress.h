/* SPDX-License-Identifier: Apache-2.0
 * compress.h: making a trained model smaller: tensor trains, pruning, the
 * recipe that puts them in order, and the report about what came of it.
 * Nothing here learns: who calls a recipe brings the retraining. */
#ifndef CTT_COMPRESS_H
#define CTT_COMPRESS_H

#include "net/file.h"

/* ---- linalg.c ---- */

/* Thin singular value decomposition a = u diag(s) vt of a row-major m x n
 * matrix, k = min(m, n): u is m x k, s has k values that do not rise, vt is
 * k x n.  a is overwritten. */
int ctt_svd(int m, int n, double *a, double *u, double *s, double *vt);

/* ---- the report ---- */

enum { CTT_MAX_CORES = 5, CTT_ACCURACIES = 3, CTT_REASON = 112 };

/* A row a stage.  What was not measured is NAN. */
struct ctt_stage_row {
    char    name[CTT_NAME];
    int64_t bytes;                     /* of the file as saved */
    int64_t params;                    /* numbers that it holds */
    int64_t macs, clip_macs;           /* multiplications a frame, an answer */
    int64_t live_macs;                 /* a frame, by weights not pruned */
    double  pruned;                    /* share of all conv weights */
    double  before[CTT_ACCURACIES];    /* top-1, 0..1, before retraining and */
    double  after[CTT_ACCURACIES];     /* after: 25%, 50%, 100% observed */
    double  ms;                        /* a frame */
};

/* A row a conv or deconv weight of the model as it was. */
struct ctt_weight_row {
    char    name[CTT_NAME];
    int     shape[5];                  /* out, kd, kh, kw, in */
    int     cores;                     /* 1: as it was */
    int     rank[CTT_MAX_CORES - 1];   /* between core k and k + 1 */
    char    chain[24];                 /* "in|kh|kw|out": what a core reads */
    char    reason[CTT_REASON];        /* why it is as it was */
    double  error;                     /* relative, in the Frobenius norm */
    int64_t params, params_after;      /* of the weight and of its cores */
    int64_t macs, macs_after;
    int64_t kept, size;                /* not pruned, bytes on disk */
    char    encoding[40];              /* words of the format */
};

struct ctt_report {
    struct ctt_stage_row  *stage;
    int                    stages, stage_room;
    struct ctt_weight_row *weight;
    int                    weights;
    struct ctt_stored     *stored;     /* every weight of the final file */
    int                    nstored;
};

/* A row for each conv and deconv of m. */
int  ctt_report_new(const struct ctt_model *m, struct ctt_report **out);
void ctt_report_free(struct ctt_report **r);

/* Reads the file at path, which is of model m, into a new stage row. */
int  ctt_report_stage(struct ctt_report *r, const char *name,
                      const struct ctt_model *m, const char *path,
                      struct ctt_stage_row **row);

/* From a file: what is kept of each weight, and as which bytes. */
int  ctt_report_stored(struct ctt_report *r, const char *path);

/* Text with tabs between the cells of a row, for a table: row 0 is the head;
 * returns 0 after the last row. */
int  ctt_report_stage_cells(const struct ctt_report *r, int row, char *text,
                            size_t size);
int  ctt_report_weight_cells(const struct ctt_report *r, int row, char *text,
                             size_t size);

/* One JSON object, written beside and renamed. */
int  ctt_report_json(const struct ctt_report *r, const char *path);

/* ---- lowrank.c, chain.c ---- */

enum ctt_tt_form { CTT_TT_TRAIN, CTT_TT_WINDOW, CTT_TT_PAIR };

struct ctt_lowrank {
    int         rank;      /* no rank is larger; 0: no limit */
    float       tol;       /* relative error a weight; 0: as the ranks give */
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
int ctt_lowrank(const struct ctt_model *m, const struct ctt_lowrank *o,
                struct ctt_report *r, struct ctt_model **out);

/* 1 if name, or the name of the conv that it is a core of, matches one of the
 * patterns (fnmatch, with commas between them). */
int ctt_name_matches(const char *patterns, const char *name);

/* ---- prune.c ---- */

enum ctt_prune_scope { CTT_PRUNE_GLOBAL, CTT_PRUNE_LAYER };
enum ctt_prune_score { CTT_SCORE_LAMP, CTT_SCORE_MAGNITUDE };

struct ctt_prune {
    int         scope, score;
    float       floor;     /* share of each weight that is never pruned; at
                              least one number always is kept */
    int         least;     /* weights of fewer numbers are left alone */
    const char *except;    /* as in struct ctt_lowrank */
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

/* Rounds the conv and deconv weights to so many significant bits, 1..24 (24:
 * as they are).  A zero stays zero. */
void ctt_round(struct ctt_model *m, int bits);

/* ---- recipe.c ---- */

struct ctt_recipe {
    struct ctt_lowrank lowrank;    /* rank = 0 and tol = 0: no such stage */
    struct ctt_prune   prune;
    float              share;      /* pruned in the end; 0: no such stage */
    int                rounds;
    int                epochs;     /* of retraining, all stages together */
    int                bits;       /* as in ctt_round; 0 or 24: no such stage */
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

/* Epochs of retraining after a stage, tensor trains or a round of pruning,
 * counted from 0; they add up to o->epochs.  Tensor trains have a third, if
 * pruning follows; the last round has half of what the rounds have. */
int ctt_recipe_epochs(const struct ctt_recipe *o, int stage);

/* Takes *m through the stages in order, replaces it by the result, and saves
 * that at path.  After each stage path.part is written, measured and removed.
 * On failure *m is some model of the way and path is as it was. */
int ctt_recipe_run(const struct ctt_recipe *o,
                   const struct ctt_recipe_calls *calls, const char *path,
                   struct ctt_model **m, struct ctt_report **out);

#endif
