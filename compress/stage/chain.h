/* SPDX-License-Identifier: Apache-2.0
 * chain.h: one weight as a chain of small convs, which replaces it. */
#ifndef CTT_CHAIN_H
#define CTT_CHAIN_H

#include "compress/compress.h"
#include "net/op.h"

/* A weight is a tensor of five modes: input channels, kernel depth, rows,
 * columns, output channels.  Core k has the modes first[k] .. first[k+1] - 1;
 * rank[k] is the size between cores k - 1 and k, and 1 at both ends. */
enum { CTT_MODES = 5 };

struct ctt_chain {
    int     dim[CTT_MODES];
    int     cores;
    int     first[CTT_MAX_CORES + 1], rank[CTT_MAX_CORES + 1];
    float  *w[CTT_MAX_CORES];    /* as conv weights: (out, kd, kh, kw, in) */
    float  *bias;                /* of the last core; NULL: that of the node */
    double  error;               /* as in struct ctt_weight_row */
    int     fitted;              /* to inputs or answers on clips */
    int64_t params, macs;        /* of all cores; macs as ctt_node_macs */
};

/* The inputs on which a chain answers like the weight (als.h).  bias: that of
 * the node, or NULL; that of the chain keeps the mean of the answers. */
struct ctt_moments;
struct ctt_fit_to {
    /* In the order of a row of w; then may follow the answers that are wanted
     * for these inputs instead of those of w. */
    const struct ctt_moments *inputs;
    const float              *bias;
};

/* The chain for the weight w of a conv or deconv, cut as o->form says, except
 * where a cut saves nothing.  Its cores are those of w, with o's ranks, which
 * are then fitted to the inputs `to`, or not, if that is NULL.  If no chain has
 * fewer multiplications than the weight itself, it has one core without
 * elements, and params and macs are those of the last chain tried.  The caller
 * frees *out. */
int  ctt_chain_new(const struct ctt_graph *g, int node, const float *w,
                   const struct ctt_tt *o, const struct ctt_fit_to *to,
                   struct ctt_chain **out);
void ctt_chain_free(struct ctt_chain **c);

/* Sets chain[node] for each weight of m that the stage "tensor trains" would
 * replace, without looking at clips, and the rows of r; the caller frees them,
 * also after a failure. */
int  ctt_tt_chains(const struct ctt_model *m, const struct ctt_tt *o,
                   struct ctt_report *r, struct ctt_chain **chain);

/* Window and channels of core k of the chain for node n. */
struct ctt_chain_conv {
    struct ctt_slide slide;
    int64_t          in, out;
};
struct ctt_chain_conv ctt_chain_core(const struct ctt_chain *c, int k,
                               const struct ctt_node *n);

/* Sets c->params and c->macs, from its cuts and ranks, for node n of g. */
void ctt_chain_count(struct ctt_chain *c, const struct ctt_graph *g,
                     const struct ctt_node *n);

/* The modes of the cores as text: "in|kh|kw|out". */
void ctt_chain_text(const struct ctt_chain *c, char *text, size_t size);

/* ---- replace.c ---- */

/* The row of the weight of that name; NULL: it has none, or it is factorised
 * already.  And the number of factorised weights. */
struct ctt_weight_row *ctt_chain_row(const struct ctt_report *r,
                                     const char *name);
int ctt_chain_rows(const struct ctt_report *r);

/* CTT_EINVAL if a weight of m that `what` ("a tensor train") would replace is
 * pruned or shared, which would be lost.  least, except: as in struct ctt_tt;
 * option: that of `except`, for the message. */
int ctt_chain_check(const struct ctt_model *m, int least, const char *except,
                    const char *what, const char *option);

/* Whether node i may become a chain: it is large enough, not excepted, and the
 * names of the cores are unused.  If not, the row gets the reason. */
int ctt_chain_may(const struct ctt_graph *g, int i, int least,
                  const char *except, struct ctt_weight_row *row);

/* Whether c has several cores, and fewer parameters and multiplications than
 * the weight.  If not, the row gets the reason. */
int ctt_chain_pays(const struct ctt_chain *c, struct ctt_weight_row *row);

/* Fills the row of a weight that became c. */
void ctt_chain_tell(const struct ctt_chain *c, struct ctt_weight_row *row);

/* The model m with the nodes i whose chain[i] is not NULL replaced by the convs
 * NAME.t1, NAME.t2 .. NAME; the rest is as ctt_edit_model() says.  The caller
 * frees *out. */
int ctt_chain_replace(const struct ctt_model *m,
                      struct ctt_chain *const *chain, struct ctt_model **out);

#endif
