/* SPDX-License-Identifier: Apache-2.0
 * chain_provider.c: the provider "chain": chains of convs, each the only reader
 * of the previous result, computed as one. */
#include "device/cpu/conv/chain/chain.h"
#include "device/cpu/conv/depthwise/depthwise.h"
#include "device/cpu/conv/providers.h"

/* A call's cache. why: reason for a refused chain, or NULL; decided for weights
 * of this stamp and this number of samples.  plan: its shapes and bands for
 * `used` threads, 0: not yet; to make it takes as long as a small conv. */
struct kept {
    struct ctt_int8_weights w[CTT_CHAIN_CONVS];
    const char             *why;
    uint64_t                stamp;
    int64_t                 samples;
    struct ctt_chain        plan;
    int                     used;
};

/* ---- which convs ---- */

/* Most channels on one side of a conv for which no other algorithm is much
 * faster than plain sums in registers. */
enum { FEW = 16 };

static int is_thin(const struct ctt_node *n)
{
    const struct ctt_tensor *w = &n->w[0];

    return n->attr.conv.groups == 1 && !ctt_is_dilated(n) &&
           (w->c <= FEW || n->out.c <= FEW);
}

int ctt_cpu_links(const struct ctt_node *n, const struct ctt_node *next,
                  enum ctt_dtype between, int behind)
{
    if (between == CTT_U8 && ctt_int8_may_join(n, next))
        return 1;
    if (between == CTT_F32 && ctt_dw_links(n, next, behind))
        return ctt_dw_links(n, next, behind);
    return is_thin(n) && is_thin(next) ? CTT_CHAIN_MOST : 0;
}

/* ---- the choice ---- */

/* Call number k; the last one is the call with the chain. */
static const struct ctt_call *call_of(const struct ctt_call *c, int k)
{
    return k < c->links ? &c->chain[k] : c;
}

static int takes_type(const struct ctt_call *c, const struct ctt_tensor *t)
{
    return t->dtype == CTT_F32 || (ctt_call_is_int8(c) && ctt_is_bytes(t));
}

/* Reason for missing kernels for a conv, or NULL. */
static const char *refuses(const struct ctt_call *c)
{
    int plus = c->node->plus && c->in[1].data;

    if (ctt_call_groups(c) != 1 || !ctt_weight_is_floats(&c->w[0]) ||
        !takes_type(c, &c->in[0]) || !takes_type(c, &c->out) ||
        (plus && !takes_type(c, &c->in[1])) || c->mul != CTT_F32)
        return "a conv of the chain has groups or another type";
    return ctt_chain_isa(c) ? NULL
                            : "this processor has no kernels for its bytes";
}

/* Reason against computing the chain at once, or NULL. Larger images of floats
 * gain nothing (measured on mnist-convttlstm). */
static const char *refuses_chain(const struct ctt_dev *d,
                                 const struct ctt_call *c)
{
    const char *why = NULL;
    struct ctt_chain p;

    for (int k = 0; k <= c->links && !why; k++) {
        why = refuses(call_of(c, k));
        if (!why && k > 0 &&
            !ctt_chain_follows(call_of(c, k - 1), call_of(c, k)))
            why = "a value of the chain has another shape or type";
    }
    if (why || ctt_call_is_int8(c))
        return why;
    ctt_chain_plan(d, c, &p);
    return p.whole > CTT_CHAIN_BYTES ? "an image does not stay in the cache"
                                     : NULL;
}

/* For a call without a chain, q gets the reason. */
static int chain_supports(struct ctt_conv_ask *q)
{
    const struct ctt_call *c = q->call;
    struct kept *k = *q->own;

    if (q->part != CTT_CONV_OUT || c->train || !c->stamp)
        return 0;
    if (!c->links) {
        q->why = k ? k->why : NULL;
        return 0;
    }
    k = ctt_conv_own(q, sizeof(*k));
    if (!k)
        return CTT_ENOMEM;
    if (k->stamp != c->stamp || k->samples != c->out.n) {
        k->why = refuses_chain(q->dev, c);
        k->used = 0;
    }
    k->stamp = c->stamp;
    k->samples = c->out.n;
    q->why = k->why ? k->why : "thin values that only the next conv reads";
    return !k->why;
}

/* ---- the work ---- */

static int get_weights(struct ctt_dev *d, struct ctt_chain *p, struct kept *k)
{
    int rc = 0;

    for (int i = 0; i < p->convs; i++) {
        struct ctt_chain_conv *v = &p->conv[i];
        struct ctt_int8_job *j = &v->job;

        CTT_TRY((ctt_call_is_int8(j->c) ? ctt_int8_pack_weights
                                        : ctt_dense_pack_weights)
                (v->isa, d, j, &k->w[i]));
        j->w = k->w[i].w;
        j->factor = k->w[i].factor;
        j->bias = j->c->w[1].t.data ? k->w[i].bias : NULL;
        j->start = k->w[i].start;
    }
out:
    return rc;
}

/* The plan for these values. */
static struct ctt_chain *get_plan(const struct ctt_conv_ask *q, struct kept *k)
{
    int used = ctt_dev_used(q->dev);
    struct ctt_int8_job *first = &k->plan.conv[0].job;

    if (k->used != used)
        ctt_chain_plan(q->dev, q->call, &k->plan);
    k->used = used;
    for (int i = 0; i < k->plan.convs; i++)
        k->plan.conv[i].job.c = call_of(q->call, i);
    if (first->x) {
        first->x = first->c->in[0].data;
        first->pixel = first->c->in[0].ld;
    }
    return &k->plan;
}

static int chain_run(struct ctt_conv_ask *q)
{
    struct ctt_chain *p = get_plan(q, *q->own);
    int rc = 0;

    CTT_TRY(get_weights(q->dev, p, *q->own));
    p->room = ctt_dev_scratch(q->dev, (size_t)(p->bytes * p->threads) + 64);
    CTT_TRY(p->room ? 0 : CTT_ENOMEM);
    q->code = p->conv[p->convs - 1].isa->name;
    ctt_chain_run(q->dev, p);
out:
    return rc;
}

static void chain_free(void *own)
{
    struct kept *k = own;

    for (int i = 0; i < CTT_CHAIN_CONVS; i++)
        ctt_free(k->w[i].room);
    ctt_free(k);
}

const struct ctt_conv_provider ctt_conv_chain = {
    .name = "chain", .int8 = 1, .any_threads = 1, .chains = 1,
    .can = chain_supports, .run = chain_run, .forget = chain_free,
};
