/* SPDX-License-Identifier: Apache-2.0
 * sensitivity.h: the loss by compressing each weight: options of compression
 * that change one weight alone, without retraining. */
#ifndef CTT_SENSITIVITY_H
#define CTT_SENSITIVITY_H

#include "compress/report.h"

struct ctt_recipe_calls;
struct ctt_sensitivity_point;
struct ctt_sensitivity_weight;

/* ---- sensitivity_ladder.c ---- */

/* Kinds of options.  Of one weight those of the first four go together. */
enum ctt_option_kind { CTT_OPTION_FORM, CTT_OPTION_PRUNE, CTT_OPTION_SHARE,
                       CTT_OPTION_INT8, CTT_OPTION_THIN };

/* An option with values from the mildest to the strongest; its stage has the
 * table (struct ctt_stage). */
struct ctt_ladder {
    const char *name;       /* in tables and files */
    enum ctt_option_kind kind;
    const char *option;     /* of convtt-compress, which gets the values */
    const char *unit;       /* of the values */
    const char *also;       /* other settings: "name=value", separated by
                               blanks */
    const char *except;     /* the option with the names that stay as they
                               are */
    const struct ctt_stage *stage;
    int         form;       /* of pruning: enum ctt_prune_form */
    int         of_rank;    /* 1: values are shares of the rank of the weight
                               as a matrix, output channels x all else */
    const char *word;       /* the option's value in place of the only number;
                               or NULL */
    const double *value;
    int         values;
};
#define CTT_LADDER_VALUES(v) .value = v, .values = CTT_LEN(v)

/* Ladder i of all stages, in their order; NULL: there are no more. */
const struct ctt_ladder *ctt_ladder(int i);

/* The index of a point's value in its ladder. */
int ctt_sensitivity_step(const struct ctt_sensitivity_point *p);

/* Whether it was measured and its option can be had. */
int ctt_sensitivity_usable(const struct ctt_sensitivity_point *p);

/* The number that the option gets: the value, or the rank that it is of this
 * weight. */
double ctt_sensitivity_number(const struct ctt_sensitivity_point *p,
                              const struct ctt_sensitivity_weight *w);

/* ---- sensitivity.c ---- */

/* The effect of a change of a model on its answers on clips that trained
 * nothing, after 25, 50 and 100% of each. */
struct ctt_change {
    double kl[CTT_ACCURACIES];      /* mean Kullback-Leibler divergence of the
                                       classes' probabilities from those
                                       before, in nats */
    double lost[CTT_ACCURACIES];    /* top-1, 0..1 */
};

struct ctt_sensitivity_weight {
    char    name[CTT_NAME];
    int     node;       /* of the model that is changed */
    int     rank;       /* as a matrix */
    int64_t params;
    double  macs;       /* share of the model's multiplications per frame and
                           clip together, 0..1 */
};

struct ctt_sensitivity_point {
    int               weight;      /* index */
    const struct ctt_ladder *ladder;
    double            value;
    int               done;        /* the rest is known */
    char              why[CTT_REASON];    /* not "": it can't be done, or
                                             changes nothing */
    struct ctt_change change;
    double            fit;         /* the mean of change.kl over the shares, in
                                      an order that rises along the ladder;
                                      NAN: not measured */
    int64_t           bytes;       /* of the file, with everything else
                                      stored as in that of the original */
    double            faster;      /* than the original; NAN: not timed */
    int               busy;        /* the machine was, so that tables leave it
                                      out */
    double            ram;         /* bytes at run time of the changed model
                                      with a session; NAN: not timed */
};

struct ctt_sensitivity {
    struct ctt_model        *m;    /* as given, batch norms folded into convs */
    int64_t                  bytes;    /* of its file */
    int64_t                  rest;     /* of a file without these weights */
    struct ctt_sensitivity_weight *weight;
    int                      weights;
    struct ctt_sensitivity_point  *point;    /* by weight, ladder and value */
    int                      points;
};

/* Callbacks of the caller; each gets arg. */
struct ctt_sensitivity_calls {
    void *arg;
    const struct ctt_recipe_calls *recipe;    /* sample() for ranges of INT8,
                                                 compare() for times: each may
                                                 be NULL, and is then not
                                                 measured */
    /* Tests m against the original. */
    int (*change)(void *arg, const struct ctt_model *m,
                  struct ctt_change *out);
    /* Called before and after each point that is measured. */
    int (*begin)(void *arg, const struct ctt_sensitivity *s, int point);
    int (*end)(void *arg, const struct ctt_sensitivity *s, int point);
};

/* Lists the points of all convs and deconvs of m; none is done.  CTT_EUNSUP if
 * m has none.  The caller frees *out. */
int ctt_sensitivity_new(const struct ctt_model *m,
                        struct ctt_sensitivity **out);
void ctt_sensitivity_free(struct ctt_sensitivity **s);

/* How many points ctt_sensitivity_run() is to measure; timed: with calls that
 * compare. */
int  ctt_sensitivity_missing(const struct ctt_sensitivity *s, int timed);

/* Measures the points that are not done, or not timed though they can be, in
 * files beside path (base/newfile.h). */
int ctt_sensitivity_run(struct ctt_sensitivity *s,
                        const struct ctt_sensitivity_calls *calls,
                        const char *path);

/* Sets `fit` of all points, for each weight and ladder by the least squares of
 * a rising sequence (isotonic regression; Ayer and others 1955): a stronger
 * value that seems to do less harm does so by chance. */
void ctt_sensitivity_fit(struct ctt_sensitivity *s);

/* The same of the fits that the points have. */
void ctt_sensitivity_rise(struct ctt_sensitivity *s);

/* The strongest point of a weight on a ladder whose fit is at most `kl` nats,
 * as are all before it; NULL: none. */
const struct ctt_sensitivity_point *
ctt_sensitivity_bears(const struct ctt_sensitivity *s, int weight,
                      const struct ctt_ladder *l, double kl);

/* The fit of a point of pruning if it kept another share of the values, 0..1:
 * between its neighbours in the logarithm of what is kept; beyond the first and
 * the last as theirs. */
double ctt_sensitivity_fit_at(const struct ctt_sensitivity *s,
                              const struct ctt_sensitivity_point *of,
                              double kept);

/* The share of a weight's values that its factors p have, by the bytes that
 * they save: floats are stored by their number. */
double ctt_sensitivity_left(const struct ctt_sensitivity *s,
                            const struct ctt_sensitivity_point *p);

/* The mean of the divergences. */
double ctt_change_mean(const struct ctt_change *c);

/* ---- divergence.c ---- */

/* The Kullback-Leibler divergence, in nats, of the probabilities (softmax) of
 * `now` from those of `was`: logits of c classes.  p, q: c numbers each to work
 * with. */
double ctt_divergence(int c, const float *was, const float *now, double *p,
                      double *q);

/* The same of classes that do not exclude each other: the sum of those of
 * each. */
double ctt_divergences(int c, const float *was, const float *now);

#endif
