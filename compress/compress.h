/* SPDX-License-Identifier: Apache-2.0
 * compress.h: making a trained model smaller: the stages with their settings,
 * and the recipe that runs them in order.  The caller of a recipe provides the
 * retraining. */
#ifndef CTT_COMPRESS_H
#define CTT_COMPRESS_H

#include "compress/search/budget.h"
#include "compress/explain/explain.h"
#include "compress/report.h"
#include "compress/search/sensitivity.h"
#include "net/unit.h"

struct ctt_recipe_calls;

/* ---- linalg.c ---- */

/* Thin singular value decomposition a = u diag(s) vt of a row-major m x n
 * matrix, k = min(m, n): u is m x k, s has k values in descending order, vt is
 * k x n.  a is overwritten.  CTT_ENAN if a is not finite, CTT_EUNSUP if it is
 * too large or LAPACK does not converge. */
int ctt_svd(int m, int n, double *a, double *u, double *s, double *vt);

/* Eigenvalues s[n], in ascending order, of the symmetric n x n matrix a; row k
 * of a becomes the eigenvector of s[k].  Errors as of ctt_svd(). */
int ctt_eigen(int n, double *a, double *s);

/* Solves a x = b for the symmetric, positive definite n x n matrix a, of which
 * the lower triangle is read, and `columns` vectors of n numbers, one after the
 * other in b, which x replaces.  a is overwritten.  CTT_EUNSUP if a is not
 * positive definite. */
int ctt_solve(int n, int columns, double *a, double *b);

/* Adds x'x of x[rows][d] to a symmetric matrix of d (d + 1) / 2 numbers, in
 * LAPACK's packed order; unpack copies it to the lower triangle of a[d][d].
 * CTT_EUNSUP: LAPACK refuses. */
int ctt_add_squares(int d, int rows, const double *x, double *packed);
int ctt_unpack(int d, const double *packed, double *a);

/* ---- names.c ---- */

/* 1 if name, or the name of the conv that it is a core of, matches one of the
 * patterns (fnmatch, separated by commas; NULL: none); "=NAME" matches only
 * that name, not its cores. */
int ctt_name_matches(const char *patterns, const char *name);

/* CTT_EINVAL if one of the patterns matches no conv or deconv of m. */
int ctt_names_check(const struct ctt_model *m, const char *patterns);

/* Of a list "PATTERN=NUMBER,PATTERN=NUMBER..", or NULL: 1 and the number of the
 * last pattern that matches name, or 0.  check: CTT_EINVAL, naming the option,
 * if a part is something else, matches no conv or deconv of m, or has a number
 * that is not from least to most. */
int ctt_names_number(const char *list, const char *name, double *number);
int ctt_names_check_numbers(const struct ctt_model *m, const char *option,
                            const char *list, double least, double most);

/* ---- thin.c ---- */

enum ctt_thin_score { CTT_THIN_NORM, CTT_THIN_RESPONSE };

struct ctt_thin {
    float       share;     /* of the channels that may go, removed after the
                              last round, 0..1; 0: the stage is skipped */
    int         rounds;
    int         score;     /* enum ctt_thin_score (thin_score.h) */
    float       floor;     /* share of each layer's channels that stays */
    int         multiple;  /* what a layer keeps is a multiple of it, or all */
    const char *except;    /* convs that keep their channels, as in struct
                              ctt_tt */
};

/* Counts of removed channels: of those that may go, each counted once with
 * those that go with it (net/rewrite/channel_groups.h). */
struct ctt_thinned {
    int     channels, of;
    int64_t macs, macs_of;    /* multiplications, per frame and clip together,
                                 after and before */
};

/* Removes of each layer (net/rewrite/channel_groups.h) the channels that matter
 * least, until `share` of those that it had in the model that r was made of are
 * gone.  clips: for scores on responses, 0: enough.  The rows of r
 * get what is left of each weight.  *out: the new model, which the caller
 * frees. */
int ctt_thin(const struct ctt_model *m, const struct ctt_thin *o, double share,
             int clips, const struct ctt_recipe_calls *calls,
             struct ctt_report *r, struct ctt_thinned *done,
             struct ctt_model **out);

/* ---- svd.c ---- */

/* The aim of a factorisation: the weight itself, or its answers on clips. */
enum ctt_on { CTT_ON_WEIGHTS, CTT_ON_RESPONSES };

struct ctt_svd {
    int         rank;      /* largest rank; 0: no limit */
    float       energy;    /* the lowest rank that keeps this share of the sum
                              of squared singular values, or of the variance
                              of responses; 0: no limit */
    float       macs;      /* not 0: ranks that leave at most this share of all
                              multiplications, per frame and clip together;
                              all three 0: the stage is skipped */
    int         on;        /* enum ctt_on */
    int         clips;     /* to measure responses on; 0: enough */
    int         least;     /* weights with fewer elements stay whole */
    const char *except;    /* names that stay whole, as in struct ctt_tt */
    const char *each;      /* largest ranks of some, as of ctt_names_number();
                              or NULL */
};

/* Replaces the convs and deconvs of a model by two each (Denton and others
 * 2014): NAME.t1 with fewer output channels and the kernel, stride and padding,
 * then NAME, a conv of one pixel with the bias and the second input.  They are
 * the truncated SVD of the weight w as a matrix, output channels x all else
 * (CTT_ON_WEIGHTS), or u and u' w with u the first eigenvectors of the
 * covariance of w x on clips, and the bias makes up for the mean of what is
 * lost (CTT_ON_RESPONSES: the linear, asymmetric case of Zhang and others 2015:
 * ranks are chosen with responses of the given model; then, one weight after
 * the other, the responses that it has behind those replaced before it are
 * mapped to those it had in m).  A weight stays whole if
 * they do not have fewer parameters and fewer multiplications.  The error that
 * r reports is that of w, or the root of the share of the variance of w x that
 * is lost.  r and *out as of ctt_factorise(). */
int ctt_svd_model(const struct ctt_model *m, const struct ctt_svd *o,
                  const struct ctt_recipe_calls *calls, struct ctt_report *r,
                  struct ctt_model **out);

/* ---- tt.c, chain.c, replace.c ---- */

enum ctt_tt_form { CTT_TT_TRAIN, CTT_TT_WINDOW, CTT_TT_PAIR };

struct ctt_tt {
    int         rank;      /* largest rank; 0: no limit */
    float       tol;       /* largest relative error per weight; 0: no limit;
                              rank = 0 and tol = 0: the stage is skipped */
    int         form;      /* enum ctt_tt_form */
    int         on;        /* enum ctt_on */
    int         clips;     /* to measure inputs on; 0: enough */
    int         least;     /* weights with fewer elements stay whole */
    const char *except;    /* names that stay whole: patterns separated by
                              commas, or NULL */
    const char *each;      /* largest ranks of some, as of ctt_names_number();
                              or NULL */
    float       harm;      /* weights stay whole if factorising one alone costs
                              more top-1 than this, 0..1: in a recipe */
};

/* Factorises the convs and deconvs of a model as tensor trains (Oseledets
 * 2011; of convolutions, Garipov and others 2016), cut by truncated SVDs
 * between input channels, kernel depth, rows, columns and output channels
 * (form train), or between input channels, window and output channels (form
 * window, that of Tucker-2, Kim and others 2016), or in two, before the columns
 * (form pair, that of Jaderberg and others 2014, which loses and saves less at
 * the same rank).  Each core is a small conv: the chain NAME.t1, NAME.t2 ..
 * NAME computes what NAME did, up to the error.  Two cores stay together if
 * splitting them saves nothing; a weight stays whole if its chain does not have
 * fewer parameters and fewer multiplications.  With CTT_ON_RESPONSES the cores
 * are then fitted, at these ranks, to what w answers on clips, by alternating
 * least squares in the covariance of all inputs of a place, those behind the
 * chains made before it; the bias makes up for the mean of what is lost.  A
 * weight with more than 4,096 inputs a place is not fitted.  The rows of r, the
 * report of a model with the same nodes, are filled in.  The new model, which
 * the caller frees, has the labels, history and other weights of m, and the
 * masks of the weights that stayed whole. */
int ctt_factorise(const struct ctt_model *m, const struct ctt_tt *o,
                  const struct ctt_recipe_calls *calls, struct ctt_report *r,
                  struct ctt_model **out);

/* ---- prune.c, prune_units.c ---- */

enum ctt_prune_scope { CTT_PRUNE_GLOBAL, CTT_PRUNE_LAYER };
enum ctt_prune_score { CTT_SCORE_LAMP, CTT_SCORE_MAGNITUDE };

/* In a recipe, in place of a form: choose.h. */
enum { CTT_PRUNE_AUTO = CTT_PRUNE_FORMS };

struct ctt_prune {
    float       share;     /* pruned after the last round, 0..1; 0: the stage is
                              skipped */
    int         rounds;    /* 0: in `steps` steps while it is retrained, over
                              the first part of its batches, `until`, 0..1 */
    int         steps;
    float       until;
    int         form;      /* enum ctt_prune_form: what is pruned together */
    int         scope;     /* enum ctt_prune_scope */
    int         score;     /* enum ctt_prune_score */
    float       floor;     /* share of each weight that is never pruned; at
                              least one element is kept */
    int         least;     /* weights with fewer elements are not pruned */
    const char *except;    /* names not to prune, as in struct ctt_tt */
};

/* Prunes the conv and deconv weights (never biases) of m by magnitude (Han and
 * others 2015), whole units of `form` (net/unit.h), until `share` of the
 * elements of all weights that may be pruned are zero, and at most one unit
 * more: the smallest of all weights together (scope global), or of each weight
 * (scope layer).  Elements pruned before stay pruned and count.  The size of a
 * unit is the mean square of its elements that are not pruned.  With scope
 * global, units are compared by it over the mean square of their weight (score
 * magnitude), or over the sum of squares of the units of their weight that are
 * not smaller (score LAMP; Lee and others 2021).  Of equal units, the first is
 * pruned.  Of form two the two largest of each block stay, and with a share of
 * 0.5 all others go.  Gives the model a mask if it has none.  CTT_ENAN if a
 * weight is not finite, CTT_EINVAL if no weight may be pruned.  On failure m is
 * unchanged. */
int ctt_prune(struct ctt_model *m, const struct ctt_prune *o, double share);

/* The share of the elements of these weights that is pruned; o NULL: of all
 * convs and deconvs. */
double ctt_pruned(const struct ctt_model *m, const struct ctt_prune *o);

/* How many of them, *all, are pruned. */
int64_t ctt_count_pruned(const struct ctt_model *m, const struct ctt_prune *o,
                         int64_t *all);

/* The share to prune in round (or step) 1 .. rounds (Zhu and Gupta 2017): it
 * rises from s0 before the first to s1 in the last, fastest at the start. */
double ctt_prune_cubic(double s0, double s1, int round, int rounds);

/* ---- fold.c ---- */

/* Kinds of folding; ALL is the sum of two.  AUTO: ALL, but DEAD if the
 * weights are shared and there are norms, which would end the sharing. */
enum ctt_fold_what { CTT_FOLD_NONE, CTT_FOLD_NORMS, CTT_FOLD_DEAD,
                     CTT_FOLD_ALL, CTT_FOLD_AUTO };

struct ctt_fold {
    int what;              /* enum ctt_fold_what; NONE: the stage is skipped */
};

/* Counts of folded and dropped lines. */
struct ctt_folded {
    int     norms;         /* batch norms */
    int64_t channels;      /* dead ones, */
    int     layers;        /* of so many convs */
};

/* Folds batch norms into the convs before them, drops dead channels, or both
 * (net/rewrite/edit.h).  The rows of r, the report of the model that m was made
 * of, get what is left of their weights.  The caller frees *out. */
int ctt_fold_model(const struct ctt_model *m, int what, struct ctt_report *r,
                   struct ctt_folded *done, struct ctt_model **out);

/* ---- share.c ---- */

struct ctt_share {
    const char *bits;      /* "3", "auto", "3,c1*=5", "y=auto": bits per weight,
                              1 to 8, for all and for names; "" or NULL: the
                              stage is skipped */
    int         init;      /* enum ctt_kmeans_init */
    float       lambda;    /* of struct ctt_kmeans */
    float       tol;       /* largest relative error with auto */
    int         epochs;    /* of retraining, besides those of the recipe */
    int         least;     /* weights with fewer elements that are not pruned
                              keep their own values */
    const char *except;    /* names that do, as in struct ctt_tt */
};

struct ctt_share_sum {
    int    weights, shared;    /* all of convs and deconvs; those that share */
    int    values;             /* of all codebooks */
    double error;              /* the largest relative error of a weight */
};

/* Gives the elements of conv and deconv weights that are not pruned at most
 * 2^bits values per weight, 255 for 8 bits, none of them zero, by k-means
 * (kmeans.h), and the model the constraint that keeps them shared.  CTT_ENAN if
 * a weight is not finite, CTT_EINVAL if none can share. */
int ctt_share(struct ctt_model *m, const struct ctt_share *o,
              struct ctt_share_sum *sum);

/* ---- int8.c ---- */

/* In a recipe, in place of a method: choose.h. */
enum { CTT_INT8_AUTO = 5 };

struct ctt_int8 {
    int         method;      /* 0: the stage is skipped; 1 + an enum
                                ctt_range_method */
    int         automatic;   /* 1: a recipe chose it: it is never retrained, and
                                no conv reads bytes if that costs more than
                                `harm`, or if too few may for a gain */
    float       percentile;
    const char *except;      /* convs that read floats, as in struct ctt_tt;
                                "auto" or "auto,.." as well: those that cost
                                more than `harm` */
    int         slow;        /* 1: convs that are faster with floats, too */
    int         epochs;      /* of retraining, besides those of the recipe, */
    float       harm;        /* if more of the mean top-1 is lost; below 0: in
                                any case */
};

/* 1 if the method is one, and not AUTO. */
int ctt_int8_given(const struct ctt_int8 *o);

/* 1 if `except` begins with "auto", or if the recipe chooses, or chose. */
int ctt_int8_auto(const struct ctt_int8 *o);

/* ---- round.c ---- */

struct ctt_round {
    int bits;              /* as in ctt_round(); 0 or 24: weights are not
                              rounded */
    int bias_bits;         /* as in ctt_round_biases(); 0: not rounded */
    int half;              /* 1: ctt_round_half() in place of both */
};

/* Rounds the conv and deconv weights to this many significant bits, 1..24 (24:
 * no change); those of convs of quantised values to 8 bits, as kernels do
 * (net/quant.h), unless they share values, which kernels then round.  A zero
 * stays zero, and equal shared weights stay equal. */
void ctt_round(struct ctt_model *m, int bits);

/* The same of one conv or deconv, node i. */
void ctt_round_kernel(struct ctt_model *m, int i, int bits);

/* How many significant bits n numbers have, 1..24. */
int  ctt_round_has(const float *w, int64_t n);

/* Rounds each vector of trained numbers (biases; gamma and beta of norms) to
 * multiples of its largest number over 2^(bits - 1) - 1, bits in 2..8, which
 * the coding of values `int8` stores as a byte each.  A conv's bias is rounded
 * to `bits` significant bits instead, about two bytes a number, if a channel
 * has so small weights that half a step of 8 bits counts beside them, or if a
 * model has 100 times as many weights as biases, so that it costs hardly a byte
 * in a hundred.  The mean and the variance of a batch norm stay. */
void ctt_round_biases(struct ctt_model *m, int bits);

/* The same of one node. */
void ctt_round_vectors(struct ctt_model *m, int i, int bits);

/* Rounds all weights and biases to half precision, which a file then stores in
 * 16 bits each; numbers too large for it stay, and so do the kernels of convs
 * of quantised values. */
void ctt_round_half(struct ctt_model *m);

/* ---- recipe.c ---- */

/* The aim of a choice: least product of both, the bytes of the file or
 * the time of a frame. */
enum ctt_aim { CTT_AIM_BOTH, CTT_AIM_BYTES, CTT_AIM_MS };

/* Their words in that order, then NULL. */
extern const char *const ctt_aims[];

/* The settings of the stages; the order is that of stages.c. */
struct ctt_recipe {
    struct ctt_thin  thin;
    struct ctt_svd   svd;
    struct ctt_tt    tt;
    struct ctt_prune prune;
    struct ctt_fold  fold;
    struct ctt_share share;
    struct ctt_int8  int8;
    struct ctt_round round;
    int              aim;       /* enum ctt_aim, of what is AUTO */
    int              epochs;    /* of retraining, all stages together */
    int              rewind;    /* 1: for the record: their learning rates are
                                   those of the end of the given model's
                                   training */
    int              norm_clips;    /* for the record: of its call `norms` */
    /* 1: a retraining is repeated (ctt_recipe_last), each time for as many
     * epochs as all before, until the mean top-1 over the observed shares
     * is at most `within` points, or one clip, worse than that of the model as
     * given, or two repetitions in a row gained nothing, or all epochs are
     * `limit`.  The last model is kept: the best of several on few clips would
     * be so by chance. */
    int              automatic, limit;
    float            within;
};

/* Epochs of retraining, in all rounds: before the one under way, of it, and
 * after it as far as is known. */
struct ctt_epochs {
    int64_t done, now, later;
    int64_t most;    /* not 0: more may follow, up to so many (automatic) */
    double  each;    /* seconds per epoch, which the caller may set; 0: not
                        known */
};

/* "; epoch 5 of 12 in all" after `part` epochs of the retraining under way, or
 * "" if there are none; returns text. */
const char *ctt_epochs_text(const struct ctt_epochs *s, double part, char *text,
                            size_t size);

/* The loss of a model in mean top-1 against another one on the same clips,
 * and the standard error of that: of few clips chance alone makes more than
 * what counts. */
struct ctt_loss { double mean, error; };

/* Functions of the caller, which get arg; each may be NULL: not done.  stage:
 * a name for logs. */
struct ctt_recipe_calls {
    void *arg;
    /* Trains m in place under its constraints and adds to its history.  during:
     * what changes it meanwhile, or NULL. */
    int (*retrain)(void *arg, const char *stage, int epochs,
                   const struct ctt_changes *during, struct ctt_model *m);
    /* Tests m. */
    int (*accuracy)(void *arg, const char *stage, const struct ctt_model *m,
                    struct ctt_score *s);
    /* Tests `was`, and then what models lose against it; without them a loss is
     * that of accuracy(), and has no error. */
    int (*against)(void *arg, const char *stage, const struct ctt_model *was);
    int (*loss)(void *arg, const char *stage, const struct ctt_model *m,
                struct ctt_loss *out);
    /* Measures the model file at path. */
    int (*time)(void *arg, const char *path, struct ctt_speed *s);
    /* The same, beside the model file `base` in place of the one as given;
     * NULL: choices follow written rules. */
    int (*compare)(void *arg, const char *base, const char *path,
                   struct ctt_speed *s);
    /* Estimates the statistics of batch norms again, after a round has changed
     * the weights of m. */
    int (*norms)(void *arg, const char *stage, struct ctt_model *m);
    void (*say)(void *arg, const char *line);
    /* The purpose of the next calls of sample(), as a line of progress;
     * "": nothing that takes long. */
    void (*busy)(void *arg, const char *what);
    /* Called before each retraining. */
    void (*span)(void *arg, const struct ctt_epochs *s);
    /* Saves m with the text `place`, before each retraining, whose checkpoints
     * must hold it too, and after each round. */
    int (*save)(void *arg, struct ctt_model *m, const char *place);
    int clips;         /* that it is tested on */
    int slow_bytes;    /* 1: where rules decide: the device multiplies the
                          floats that bytes stand for, which gains nothing */
    /* Runs m on that many clips, 0: enough, and calls take(to, k, row) with the
     * channels of node[k], or all inputs of the conv node[k] in the order of a
     * row of its weight, at random places of each frame; or the channels at all
     * places. */
    int (*sample)(void *arg, const struct ctt_model *m, int clips,
                  const int *node, int nodes, enum ctt_sampled what,
                  void (*take)(void *to, int k, const float *row), void *to);
};

/* Where a recipe goes on: the model of a checkpoint, which the run takes over
 * (with m->train, retraining goes on), and its text `place`. */
struct ctt_recipe_from {
    struct ctt_model *m;
    const char       *place;
};

/* The epochs of retraining after a round; rounds are counted from 0 over all
 * stages.  Besides those that stages have of their own they add up to o->epochs
 * if any stage retrains; the last round that is retrained gets one if there is
 * any. */
int ctt_recipe_epochs(const struct ctt_recipe *o, int round);

/* The round whose retraining is repeated if o->automatic: the last one that
 * gets some of o->epochs, or, if none does, the last that is retrained; -1:
 * none is. */
int ctt_recipe_last(const struct ctt_recipe *o);

/* Copies the options of all stages in order to tab[room], for a tool whose
 * settings contain a struct ctt_recipe at offset `base`.  Returns how many;
 * CTT_EINVAL if there are more than room. */
int ctt_recipe_options(size_t base, struct ctt_opt *tab, int room);

/* CTT_EINVAL, naming the options to give, if no stage is requested except those
 * that are not worth a run of their own (struct ctt_stage, ask). */
int ctt_recipe_asked(const struct ctt_recipe *o);

/* Whether these settings leave a choice (choose.h) to the recipe, and whether
 * INT8 is a part of it; clips: 1: there are training and validation clips. */
int ctt_recipe_opens(const struct ctt_recipe *o, int clips);
int ctt_recipe_opens_type(const struct ctt_recipe *o);

/* CTT_EINVAL if no stage is requested, or if a setting of one is wrong or wrong
 * for this model. */
int ctt_recipe_check(const struct ctt_recipe *o, const struct ctt_model *m);

/* Runs the stages in order on *m, which is replaced by the result, and saves it
 * at path.  After each round the model is measured in a temporary file beside
 * path (base/newfile.h).  from: NULL, or where an earlier run with the same
 * settings on the same *m was stopped: the result is the same as without the
 * stop.  CTT_EINVAL if they were not the same.  The caller frees *out.  On
 * failure *m is the model after some stage, and the file at path is
 * unchanged. */
int ctt_recipe_run(const struct ctt_recipe *o,
                   const struct ctt_recipe_calls *calls, const char *path,
                   struct ctt_recipe_from *from, struct ctt_model **m,
                   struct ctt_report **out);

#endif
