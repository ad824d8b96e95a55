/* SPDX-License-Identifier: Apache-2.0
 * device.c: the devices built in, and the one place where kernels are called:
 * there the profile and the search for NaN look on. */
#include "device/dev.h"

#include <math.h>
#include <omp.h>
#include <string.h>
#include <time.h>

static const struct ctt_dev_kind *const kinds[] = {
    &ctt_dev_cpu, &ctt_dev_ref,
};

const char *const ctt_dev_names[] = { "cpu", "ref", NULL };

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
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
    for (size_t i = 0; i < CTT_LEN(kinds); i++)
        if (strcmp(kinds[i]->name, name) == 0)
            d->kind = kinds[i];
    CTT_CHECK(d->kind, CTT_EINVAL, "no device '%s' is built in", name);
    d->threads = threads ? threads : omp_get_num_procs();
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

static int finite(const struct ctt_tensor *t)
{
    const float *p = t->data;

    for (int64_t r = 0; p && r < ctt_rows(t); r++, p += t->ld)
        for (int64_t j = 0; j < t->c; j++)
            if (!isfinite(p[j]))
                return 0;
    return 1;
}

/* Names what a call wrote that is not finite. */
static int blame(const struct ctt_call *c, enum ctt_pass pass)
{
    const char *name = c->node->name;
    int rc = 0;

    if (pass == CTT_FWD) {
        CTT_CHECK(finite(&c->out) && finite(&c->also), CTT_ENAN,
                  "%s: the result is not finite", name);
        goto out;
    }
    for (int k = 0; k < c->node->nin && c->node->op != CTT_OP_WINDOW; k++)
        CTT_CHECK(finite(&c->din[k]), CTT_ENAN,
                  "%s: the gradient of input %d is not finite", name, k);
    for (int k = 0; k < c->node->nw; k++)
        CTT_CHECK(finite(&c->dw[k]), CTT_ENAN,
                  "%s: the gradient of weight %d is not finite", name, k);
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
    return !d->blame && d->kind->along && d->kind->along(d, c);
}

int ctt_dev_run(struct ctt_dev *d, const struct ctt_call *c,
                enum ctt_pass pass)
{
    ctt_kernel *kernel = d->kernel[pass][c->node->op];
    double start = 0;
    int rc = 0;

    CTT_CHECK(kernel, CTT_EUNSUP, "%s: '%s' has no kernel", c->node->name,
              ctt_ops[c->node->op].name);
    if (!goes_along(d, c))
        return split(d, c);
    if (omp_get_max_threads() != d->threads)
        omp_set_num_threads(d->threads);    /* of this thread, for oneDNN */
    if (d->sum)
        start = now();
    CTT_TRY(kernel(d, c));
    if (d->sum) {
        struct ctt_profile *p = &d->sum[c->node - d->g->node][pass];
        p->seconds += now() - start;
        p->calls++;
    }
    if (d->blame)
        CTT_TRY(blame(c, pass));
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

double ctt_dev_sgemm_rate(struct ctt_dev *d)
{
    enum { N = 1024 };
    float *m = ctt_calloc(3 * N * N, sizeof(float));
    double best = 0;

    for (int i = 0; m && i < 2 * N * N; i++)
        m[i] = (float)(i % 7) - 3;
    omp_set_num_threads(d->threads);
    for (int i = 0; m && i < 8; i++) {
        double t = now();
        if (d->kind->sgemm(d, N, m, m + N * N, m + 2 * N * N) < 0)
            break;
        t = now() - t;
        if (2e-9 * N * N * N / t > best)
            best = 2e-9 * N * N * N / t;
    }
    ctt_free(m);
    return best;
}
