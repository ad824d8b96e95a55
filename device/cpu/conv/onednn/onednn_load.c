/* SPDX-License-Identifier: Apache-2.0
 * onednn_load.c: the provider "onednn" in the program: loads the module at the
 * first conv that no provider before it supports, and forwards all calls. */
#include "device/cpu/conv/onednn/onednn_module.h"
#include "device/cpu/conv/providers.h"
#include "base/module.h"
#include "base/warn.h"

#include <stdatomic.h>
#include <stdio.h>

/* State of one device. why: reason for a missing module. */
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

/* Opens the module for the device; a failed open is undone, as it may be tried
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

/* Loads and opens the module's provider; *out NULL: missing, for the reason
 * p->why. */
static int load_provider(struct passed *p, struct ctt_dev *d,
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

static int module_supports(struct ctt_conv_ask *q)
{
    struct passed *p = q->state;
    const struct ctt_conv_provider *by;
    int rc = 0;

    CTT_TRY(load_provider(p, q->dev, &by));
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

static int module_run(struct ctt_conv_ask *q)
{
    struct passed *p = q->state;
    int rc;

    q->state = p->state;
    rc = atomic_load(&module)->run(q);
    q->state = p;
    return rc;
}

static void module_free(void *own)
{
    atomic_load(&module)->forget(own);
}

static int module_sgemm(struct ctt_dev *d, void *state, int n, const float *a,
                        const float *b, float *y)
{
    struct passed *p = state;
    const struct ctt_conv_provider *by;
    int rc = 0;

    CTT_TRY(load_provider(p, d, &by));
    rc = by ? by->sgemm(d, p->state, n, a, b, y)
            : ctt_plain_sgemm(d, n, a, b, y);
out:
    return rc;
}

const struct ctt_conv_provider ctt_conv_onednn = {
    .name = "onednn", .any_threads = 1, .reads = 1,
    .open = open_passed, .close = close_passed, .can = module_supports,
    .run = module_run,
    .forget = module_free, .sgemm = module_sgemm,
};
