/* SPDX-License-Identifier: Apache-2.0
 * device.c: the devices built in, and the one place where kernels are called:
 * there the profile and the search for NaN look on. */
#include "device/dev.h"
#include "net/clock.h"
#include "net/half.h"
#include "net/op.h"

#include <math.h>
#include <omp.h>
#include <string.h>

const char *const ctt_dev_names[] = { "cpu", "cuda", "ref", NULL };

/* In their order; NULL: a module. */
static const struct ctt_dev_kind *const kinds[] = {
    &ctt_dev_cpu, NULL, &ctt_dev_ref,
};

static int find_kind(const char *name, const struct ctt_dev_kind **out)
{
    int i = 0, rc = 0;

    while (ctt_dev_names[i] && strcmp(ctt_dev_names[i], name) != 0)
        i++;
    CTT_CHECK(ctt_dev_names[i], CTT_EINVAL, "no device '%s' is built in",
              name);
    if (kinds[i])
        *out = kinds[i];
    else
        CTT_TRY(ctt_dev_module(name, out));
out:
    return rc;
}

int ctt_dev_open(const char *name, int threads, struct ctt_dev **out)
{
    struct ctt_dev *d = NULL;
    int rc = 0;

    CTT_CHECK(name, CTT_EINVAL, "no device is named");
    CTT_CHECK(threads >= 0 && threads <= 4096, CTT_EINVAL,
              "device %s: %d threads", name, threads);
    d = ctt_calloc(1, sizeof(*d));
    CTT_CHECK(d, CTT_ENOMEM, "device %s: out of memory", name);
    CTT_TRY(find_kind(name, &d->kind));
    d->threads = threads ? threads : omp_get_num_procs();
    d->streams = 1;
    CTT_TRY(d->kind->open(d));
    *out = d;
    d = NULL;
out:
    ctt_dev_close(&d);
    return rc;
}

void ctt_dev_close(struct ctt_dev **d)
{
    if (!*d)
        return;
    if ((*d)->own && (*d)->kind->close)
        (*d)->kind->close(*d);
    ctt_free((*d)->scratch);
    ctt_free((*d)->wide);
    ctt_free(*d);
    *d = NULL;
}

int ctt_dev_threads(const struct ctt_dev *d)
{
    return d->threads;
}

void ctt_dev_deterministic(struct ctt_dev *d, int on)
{
    d->deterministic = on;
}

void ctt_dev_streams(struct ctt_dev *d, int streams)
{
    d->streams = streams;
}

void *ctt_dev_scratch(struct ctt_dev *d, size_t bytes)
{
    if (bytes > d->room || !d->scratch) {
        char *p = ctt_calloc(bytes, 1);
        if (!p)
            return NULL;
        ctt_free(d->scratch);
        d->scratch = p;
        d->room = bytes;
    }
    return d->scratch;
}

void ctt_dev_forget(struct ctt_dev *d, void **cache)
{
    if (*cache && d->kind->forget)
        d->kind->forget(*cache);
    *cache = NULL;
}

const char *ctt_dev_impl(const struct ctt_dev *d, void *cache,
                         enum ctt_pass pass)
{
    return cache && d->kind->impl ? d->kind->impl(cache, pass) : "plain";
}

/* CTT_ENAN if a tensor of the device is not finite; the caller says which. */
static int finite(struct ctt_dev *d, const struct ctt_tensor *t)
{
    int64_t n = t->data ? ctt_volume(t) : 0;
    float *x = ctt_calloc((size_t)n + 1, sizeof(*x));
    int rc = x ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    if (n)
        CTT_TRY(ctt_dev_get(d, t, x));
    for (int64_t i = 0; i < n && rc == 0; i++)
        rc = isfinite(x[i]) ? 0 : CTT_ENAN;
out:
    ctt_free(x);
    return rc;
}

static int named(int rc, const struct ctt_call *c, const char *what, int k)
{
    if (rc != CTT_ENAN)
        return rc;
    return k < 0 ? ctt_error(rc, "%s: the %s is not finite", c->node->name,
                             what)
                 : ctt_error(rc, "%s: the gradient of %s %d is not finite",
                             c->node->name, what, k);
}

/* Names what a call wrote that is not finite. */
static int blame(struct ctt_dev *d, const struct ctt_call *c,
                 enum ctt_pass pass)
{
    int rc = 0;

    if (pass == CTT_FWD) {
        CTT_TRY(named(finite(d, &c->out), c, "result", -1));
        CTT_TRY(named(finite(d, &c->also), c, "result", -1));
        goto out;
    }
    for (int k = 0; k < c->node->nin && c->node->op != CTT_OP_WINDOW; k++)
        CTT_TRY(named(finite(d, &c->din[k]), c, "input", k));
    for (int k = 0; k < c->node->nw; k++)
        CTT_TRY(named(finite(d, &c->dw[k]), c, "weight", k));
out:
    return rc;
}

/* The pair of a conv as a call of its own, into the conv's result. */
static int run_pair(struct ctt_dev *d, const struct ctt_call *c)
{
    struct ctt_call p = { .node = c->pair.node, .out = c->out,
                          .stamp = c->stamp, .cache = c->pair.cache };

    p.in[0] = c->pair.in;
    p.w[0] = c->pair.w[0];
    p.w[1] = c->pair.w[1];
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

/* A conv with what goes along, one call after the other: what the pair makes
 * is the conv's plus input. */
static int split(struct ctt_dev *d, const struct ctt_call *c)
{
    struct ctt_call one = *c;
    int rc = 0;

    one.pair.node = one.lstm.node = NULL;
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

/* While somebody is to blame, each result is looked at by itself. */
static int goes_along(struct ctt_dev *d, const struct ctt_call *c)
{
    if (!c->pair.node && !c->lstm.node)
        return 1;
    return !d->blame && d->kind->along &&
           !(d->kind->wide && ctt_is_narrow(c)) && d->kind->along(d, c);
}

static int call(struct ctt_dev *d, const struct ctt_call *c,
                enum ctt_pass pass)
{
    ctt_kernel *kernel = d->kernel[pass][c->node->op];

    if (d->kind->wide && ctt_is_narrow(c))
        return ctt_widen(d, kernel, c, pass);
    return kernel(d, c);
}

/* With what the call takes, until its work is done. */
static int call_timed(struct ctt_dev *d, const struct ctt_call *c,
                      enum ctt_pass pass)
{
    struct ctt_profile *p = &d->sum[c->node - d->g->node][pass];
    double start;
    int rc = 0;

    CTT_TRY(ctt_dev_sync(d));
    start = ctt_seconds();
    CTT_TRY(call(d, c, pass));
    CTT_TRY(ctt_dev_sync(d));
    p->seconds += ctt_seconds() - start;
    p->calls++;
out:
    return rc;
}

static int is_float(const struct ctt_tensor *t)
{
    return !t->data || ctt_is_float_type(t->dtype);
}

static int is_plain(const struct ctt_weight *w)
{
    return is_float(&w->t) && !w->scale && !w->codebook;
}

/* All kernels there are read numbers with a point that stand for themselves:
 * nothing else may reach them. */
static int check_types(const struct ctt_call *c)
{
    const struct ctt_node *n = c->node;
    int rc = 0, ok = is_float(&c->out) && is_float(&c->also) &&
                     is_float(&c->dout) && is_float(&c->dalso);

    for (int k = 0; k < n->nin; k++)
        ok &= is_float(&c->in[k]) && is_float(&c->din[k]);
    for (int k = 0; k < n->nw; k++)
        ok &= is_plain(&c->w[k]) && is_float(&c->dw[k]);
    for (int k = 0; c->pair.node && k < c->pair.node->nw; k++)
        ok &= is_plain(&c->pair.w[k]);
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
    CTT_TRY(check_types(c));
    if (!goes_along(d, c))
        return split(d, c);
    if (pass == CTT_BWD && ctt_is_shared(c))
        return ctt_run_apart(d, c);
    if (omp_get_max_threads() != d->threads)
        omp_set_num_threads(d->threads);    /* of this thread, for oneDNN */
    CTT_TRY(d->sum ? call_timed(d, c, pass) : call(d, c, pass));
    if (d->blame)
        CTT_TRY(blame(d, c, pass));
out:
    return rc;
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

enum { SIDE = 1024 };

/* Two matrices and room for their product. */
static int matrices(struct ctt_dev *d, float **out)
{
    const int64_t bytes = 2 * SIDE * SIDE * (int64_t)sizeof(float);
    float *m = ctt_calloc((size_t)bytes, 1);
    void *p = NULL;
    int rc = m ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    for (int i = 0; i < 2 * SIDE * SIDE; i++)
        m[i] = (float)(i % 7) - 3;
    CTT_TRY(ctt_dev_alloc(d, "matrices", bytes / 2 * 3, &p));
    *out = p;
    CTT_TRY(ctt_dev_copy(d, CTT_TO_DEVICE, m, p, bytes));
out:
    ctt_free(m);
    return rc;
}

double ctt_dev_sgemm_rate(struct ctt_dev *d)
{
    const double work = 2e-9 * SIDE * SIDE * SIDE;
    float *m = NULL;
    double best = 0;
    void *p;
    int rc = matrices(d, &m);

    omp_set_num_threads(d->threads);
    for (int i = 0; rc >= 0 && i < 8; i++) {
        double t;

        rc = ctt_dev_sync(d);
        t = ctt_seconds();
        if (rc < 0 || d->kind->sgemm(d, SIDE, m, m + SIDE * SIDE,
                                     m + 2 * SIDE * SIDE) < 0 ||
            ctt_dev_sync(d) < 0)
            break;
        t = ctt_seconds() - t;
        best = work / t > best ? work / t : best;
    }
    p = m;
    ctt_dev_free(d, &p);
    return best;
}
