/* SPDX-License-Identifier: Apache-2.0
 * onednn_load.c: the provider "onednn" in the program: it loads the module when
 * a conv comes that no provider before it took, and passes everything on. */
#include "device/cpu/conv/onednn/onednn_module.h"
#include "device/cpu/conv/providers.h"
#include "base/module.h"
#include "base/warn.h"

#include <stdatomic.h>
#include <stdio.h>

/* Of one device.  why: the module cannot be had. */
struct passed {
    int   tried;
    void *state;
    char  why[400];
};

/* The module's provider: the same for all devices once it is loaded. */
static _Atomic(const struct ctt_conv_provider *) module;

static int open_passed(struct ctt_dev *d, void **state)
{
    (void)d;
    *state = ctt_calloc(1, sizeof(struct passed));
    return *state ? 0 : ctt_error(CTT_ENOMEM, "no memory for a provider");
}

static void close_passed(void *state)
{
    struct passed *p = state;

    if (p->state)
        atomic_load(&module)->close(p->state);
    ctt_free(p);
}

/* After a failure the parts that were opened are closed, as it may be tried
 * again. */
static int open_module(struct ctt_dev *d, void **state)
{
    int rc = atomic_load(&module)->open(d, state);

    if (rc < 0 && *state) {
        atomic_load(&module)->close(*state);
        *state = NULL;
    }
    return rc;
}

/* The module's provider, open for the device; NULL: p->why says why not; or an
 * error. */
static int need(struct passed *p, struct ctt_dev *d,
                const struct ctt_conv_provider **out)
{
    static const struct ctt_onednn_host host = {
        ctt_dev_scratch, ctt_team_close, ctt_dev_used, ctt_dev_tasks
    };
    const void *what;
    int rc = 0;

    *out = NULL;
    if (p->tried && !p->state)
        goto out;
    if (!p->tried && ctt_module_load("onednn", &host, &what) < 0) {
        snprintf(p->why, sizeof(p->why), "%s", ctt_errmsg());
        ctt_warn("convs are slower than they could be: %s", p->why);
        p->tried = 1;
        goto out;
    }
    if (!p->tried) {
        atomic_store(&module, (const struct ctt_conv_provider *)what);
        CTT_TRY(open_module(d, &p->state));
        p->tried = 1;
    }
    *out = atomic_load(&module);
out:
    return rc;
}

static int can(struct ctt_conv_ask *q)
{
    struct passed *p = q->state;
    const struct ctt_conv_provider *by;
    int rc = 0;

    CTT_TRY(need(p, q->dev, &by));
    if (!by) {
        q->why = p->why;
        return 0;
    }
    q->state = p->state;
    rc = by->can(q);
    q->state = p;
out:
    return rc;
}

static int run(struct ctt_conv_ask *q)
{
    struct passed *p = q->state;
    int rc;

    q->state = p->state;
    rc = atomic_load(&module)->run(q);
    q->state = p;
    return rc;
}

static void forget(void *own)
{
    atomic_load(&module)->forget(own);
}

static int sgemm(struct ctt_dev *d, void *state, int n, const float *a,
                 const float *b, float *y)
{
    struct passed *p = state;
    const struct ctt_conv_provider *by;
    int rc = 0;

    CTT_TRY(need(p, d, &by));
    rc = by ? by->sgemm(d, p->state, n, a, b, y)
            : ctt_plain_sgemm(d, n, a, b, y);
out:
    return rc;
}

const struct ctt_conv_provider ctt_conv_onednn = {
    .name = "onednn", .any_threads = 1, .open = open_passed,
    .close = close_passed, .can = can, .run = run, .forget = forget,
    .sgemm = sgemm,
};
