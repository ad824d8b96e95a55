/* SPDX-License-Identifier: Apache-2.0
 * explain.h: the loss of accuracy by each change of each weight of a compressed
 * model, and its savings of bytes and time: it alone is undone. */
#ifndef CTT_EXPLAIN_H
#define CTT_EXPLAIN_H

#include "compress/explain/undo.h"

struct ctt_recipe_calls;

/* Accuracy regained by a change, after 25, 50 and 100% of each clip; kl[0] NAN:
 * not measured. */
struct ctt_gain {
    double kl[CTT_ACCURACIES];       /* fall, in nats, of the mean divergence of
                                        the probabilities from those of the
                                        dense model */
    double kl_error;                 /* standard error of the mean of the
                                        three */
    double top1[CTT_ACCURACIES];     /* rise of top-1, 0..1, */
    double error[CTT_ACCURACIES];    /* and its standard error; both of clips
                                        that both models saw */
};

struct ctt_explain_weight {
    char     name[CTT_NAME];
    int      node;      /* of the dense model */
    unsigned done;      /* to it: a set (undo.h) */
    int64_t  params;    /* of the dense weight */
    double   macs;      /* share of the dense model's multiplications */
};

/* weight CTT_EXPLAIN_ALL: all weights with that change; kind CTT_DONE_KINDS:
 * all changes. */
enum { CTT_EXPLAIN_ALL = -1 };
struct ctt_explain_point {
    int             weight, kind;
    int             done;       /* the rest is known */
    char            why[CTT_REASON];    /* of a missing part, or "" */
    struct ctt_gain back;    /* of the dense values, without training,
                                   against the compressed model */
    struct ctt_gain trained; /* of training without it against as much
                                   training with it */
    int64_t         bytes;      /* saved of the file; only if a gain was
                                   measured */
    double          faster;     /* than without it; NAN: not timed */
    int             busy;       /* the machine was, so that it is NAN */
};

struct ctt_explain {
    struct ctt_model          *small, *dense;    /* dense: norms folded if
                                                    those of small are */
    struct ctt_lineage          origin;
    int64_t                    bytes;     /* of the compressed file */
    struct ctt_explain_weight *weight;
    int                        weights;
    struct ctt_explain_point  *point;
    int                        points;
};

/* Reference of a gain. */
enum ctt_explain_base { CTT_BASE_GIVEN, CTT_BASE_TRAINED, CTT_BASES };

/* Callbacks; each gets arg. */
struct ctt_explain_calls {
    void *arg;
    const struct ctt_recipe_calls *recipe;    /* compare() for times, or NULL
                                                 there: not timed */
    /* Keeps the answers of m as a base; the gain of m against one. */
    int (*keep)(void *arg, enum ctt_explain_base b, const struct ctt_model *m);
    int (*gain)(void *arg, enum ctt_explain_base b, const struct ctt_model *m,
                struct ctt_gain *out);
    /* Trains m for the same steps each time, but not the nodes of `freeze`,
     * names separated by commas; NULL: nothing is trained. */
    int (*train)(void *arg, const char *freeze, struct ctt_model *m);
    /* Called before and after each point that is measured. */
    int (*begin)(void *arg, const struct ctt_explain *e, int point);
    int (*end)(void *arg, const struct ctt_explain *e, int point);
};

/* Lists the points; none is done.  Errors as of ctt_lineage_of(), and
 * CTT_EINVAL if nothing was done to any weight.  The caller frees *out. */
int  ctt_explain_new(const struct ctt_model *small,
                     const struct ctt_model *dense, struct ctt_explain **out);
void ctt_explain_free(struct ctt_explain **e);

/* Measures the points that are not done, in files beside path
 * (base/newfile.h). */
int  ctt_explain_run(struct ctt_explain *e,
                     const struct ctt_explain_calls *calls, const char *path);

/* Cost of a point: the mean gain of divergence over the shares of a clip, of
 * training if that was measured; NAN: neither was. */
double ctt_explain_cost(const struct ctt_explain_point *p);

/* order[points]: the points of single weights and kinds, those that cost most
 * first and those not measured last; returns how many.  With all = 1 the
 * others: of all weights, and of everything. */
int  ctt_explain_sort(const struct ctt_explain *e, int all, int *order);

/* The words for a point's weight, or "all weights"; and for what was done, or
 * "everything". */
const char *ctt_explain_weight_name(const struct ctt_explain *e,
                                    const struct ctt_explain_point *p);
const char *ctt_explain_kind_name(const struct ctt_explain_point *p);

#endif
