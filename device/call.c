/* SPDX-License-Identifier: Apache-2.0
 * call.c: the one place where kernels are called, and so where calls are timed
 * for the profile and their results searched for NaN. */
#include "device/dev.h"
#include "base/clock.h"
#include "base/half.h"
#include "net/op.h"

#include <omp.h>

/* Runs the pair of a conv as a separate call that writes the conv's result. */
static int run_pair(struct ctt_dev *d, const struct ctt_call *c)
{
    struct ctt_call p = ctt_call_pair(c);

    return ctt_dev_run(d, &p, CTT_FWD);
}

static int run_lstm(struct ctt_dev *d, const struct ctt_call *c)
{
    struct ctt_call l = { .node = c->lstm.node, .out = c->lstm.h,
                          .also = c->lstm.c };

    l.in[0] = c->out;
    l.in[1] = c->lstm.old;
    return ctt_dev_run(d, &l, CTT_FWD);
}

static int run_chain(struct ctt_dev *d, const struct ctt_call *c)
{
    int rc = 0;

    for (int i = 0; i < c->links; i++)
        CTT_TRY(ctt_dev_run(d, &c->chain[i], CTT_FWD));
out:
    return rc;
}

/* Runs a conv, its chain, its pair and its lstm as separate calls: the pair's
 * result becomes the plus input of the conv. */
static int run_split(struct ctt_dev *d, const struct ctt_call *c)
{
    struct ctt_call one = *c;
    int rc = 0;

    one.pair.node = one.lstm.node = NULL;
    one.links = 0;
    CTT_TRY(run_chain(d, c));
    if (c->pair.node) {
        CTT_TRY(run_pair(d, c));
        one.in[1] = c->out;
    }
    CTT_TRY(ctt_dev_run(d, &one, CTT_FWD));
    if (c->lstm.node)
        CTT_TRY(run_lstm(d, c));
out:
    return rc;
}

/* The backward pass of a conv and of its chain, the last one first. */
static int run_split_back(struct ctt_dev *d, const struct ctt_call *c)
{
    struct ctt_call one = *c;
    int rc = 0;

    one.links = 0;
    CTT_TRY(ctt_dev_run(d, &one, CTT_BWD));
    for (int i = c->links - 1; i >= 0; i--)
        CTT_TRY(ctt_dev_run(d, &c->chain[i], CTT_BWD));
out:
    return rc;
}

/* 1 if one kernel computes the conv with its chain, pair and lstm, or an error.
 * During a search for NaNs 0, so that each result is checked by itself. */
static int is_fused(struct ctt_dev *d, const struct ctt_call *c)
{
    if (!c->pair.node && !c->lstm.node && !c->links)
        return 1;
    return !d->blame && d->kind->along ? d->kind->along(d, c) : 0;
}

static int call(struct ctt_dev *d, const struct ctt_call *c,
                enum ctt_pass pass)
{
    ctt_kernel *kernel = d->kernel[pass][c->node->op];

    if (d->tuning == CTT_TUNE_LOOK && !ctt_is_conv(c->node))
        return 0;
    return d->kind->run ? d->kind->run(d, kernel, c, pass) : kernel(d, c);
}

static void add_time(struct ctt_profile *p, double seconds)
{
    p->seconds += seconds;
    p->calls++;
}

/* 1 if the node is of a graph: others have no line. */
static int is_known(const struct ctt_node *n)
{
    return n->text != NULL;
}

/* Runs the call, waits for the device and adds the time. */
static int call_timed(struct ctt_dev *d, const struct ctt_call *c,
                      enum ctt_pass pass)
{
    ctt_call_watch *watch = ctt_dev_watching();
    int in_a_row = pass == CTT_FWD && d->boundary > 0;
    double start, end;
    int rc = 0;

    CTT_TRY(ctt_dev_sync(d));
    start = in_a_row ? d->boundary : ctt_seconds();
    CTT_TRY(call(d, c, pass));
    CTT_TRY(ctt_dev_sync(d));
    end = ctt_seconds();
    d->boundary = in_a_row ? end : 0;
    if (d->sum && is_known(c->node))
        add_time(&d->sum[c->node - d->g->node][pass], end - start);
    if (watch && is_known(c->node) && d->tuning == CTT_TUNE_USE)
        watch(d, c, pass, start, end);
out:
    return rc;
}

static int is_float(const struct ctt_tensor *t)
{
    return !t->data || ctt_is_float_type(t->dtype);
}

static int is_value(const struct ctt_dev *d, const struct ctt_tensor *t)
{
    return is_float(t) || (ctt_is_bytes(t) && t->dtype == ctt_dev_bytes(d));
}

static int is_plain(const struct ctt_weight *w)
{
    return is_float(&w->t) && !w->scale && !w->codebook;
}

int ctt_dev_multiplies(const struct ctt_dev *d, enum ctt_dtype type)
{
    return d->kind->multiplies ? d->kind->multiplies(type) : 0;
}

int ctt_dev_takes(const struct ctt_dev *d, const struct ctt_node *n, int k,
                  const struct ctt_weight *w)
{
    return d->kind->takes && ctt_dev_shared(d) && d->kind->takes(n, k, w);
}

static int takes_weight(const struct ctt_dev *d, const struct ctt_node *n,
                        int k, const struct ctt_weight *w)
{
    return is_plain(w) || ctt_dev_takes(d, n, k, w);
}

/* Refuses types that no kernel reads: integers other than quantised values, and
 * weights of a form that the device does not take. */
static int check_types(const struct ctt_dev *d, const struct ctt_call *c)
{
    const struct ctt_node *n = c->node;
    int rc = 0, ok = is_value(d, &c->out) && is_float(&c->also) &&
                     is_float(&c->dout) && is_float(&c->dalso);

    for (int k = 0; k < n->nin; k++)
        ok &= is_value(d, &c->in[k]) && is_float(&c->din[k]);
    for (int k = 0; k < n->nw; k++)
        ok &= takes_weight(d, n, k, &c->w[k]) && is_float(&c->dw[k]);
    for (int k = 0; c->pair.node && k < c->pair.node->nw; k++)
        ok &= takes_weight(d, c->pair.node, k, &c->pair.w[k]);
    CTT_CHECK(ok, CTT_EUNSUP, "%s: '%s' has no kernel for numbers of this "
              "type", n->name, ctt_ops[n->op].name);
out:
    return rc;
}

int ctt_dev_run(struct ctt_dev *d, const struct ctt_call *c,
                enum ctt_pass pass)
{
    int rc = 0;

    CTT_CHECK(d->kernel[pass][c->node->op], CTT_EUNSUP,
              "%s: '%s' has no kernel", c->node->name,
              ctt_ops[c->node->op].name);
    CTT_TRY(check_types(d, c));
    CTT_TRY(ctt_dev_check_parts(d, c));
    for (int i = 0; i < c->links; i++)
        CTT_TRY(check_types(d, &c->chain[i]));
    CTT_TRY(is_fused(d, c));
    if (rc == 0)
        return pass == CTT_FWD ? run_split(d, c) : run_split_back(d, c);
    if (pass == CTT_BWD && ctt_din_overlaps(c))
        return ctt_run_per_input(d, c);
    if (omp_get_max_threads() != d->threads)
        omp_set_num_threads(d->threads);    /* per host thread, for oneDNN */
    CTT_TRY(ctt_dev_is_timed(d) ? call_timed(d, c, pass) : call(d, c, pass));
    if (d->blame)
        CTT_TRY(ctt_dev_blame_call(d, c, pass));
out:
    return rc;
}

int ctt_dev_links(const struct ctt_dev *d, const struct ctt_node *n,
                  const struct ctt_node *next, enum ctt_dtype between,
                  int behind)
{
    return d && d->kind->links ? d->kind->links(n, next, between, behind) : 0;
}

int ctt_dev_fuses(const struct ctt_dev *d, enum ctt_fusion what,
                  const struct ctt_node *n, const struct ctt_node *next,
                  enum ctt_dtype between)
{
    return d && d->kind->fuses ? d->kind->fuses(what, n, next, between) : 0;
}

void ctt_dev_blame(struct ctt_dev *d, int on)
{
    d->blame = on;
}

void ctt_dev_profile(struct ctt_dev *d, const struct ctt_graph *g,
                     struct ctt_profile (*sum)[CTT_PASSES])
{
    d->g = g;
    d->sum = sum;
}
