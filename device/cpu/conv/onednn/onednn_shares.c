/* SPDX-License-Identifier: Apache-2.0
 * onednn_shares.c: the shares of a convolution, computed by oneDNN. */
#include "device/cpu/conv/onednn/onednn_shares.h"

#include <omp.h>

int ctt_dnnl_execute(const struct ctt_conv_ask *q, dnnl_primitive_t f,
                     int threads, const struct ctt_plan_lane *l, int n,
                     const dnnl_exec_arg_t *arg)
{
    int rc = 0;

    if (threads > 1)    /* OpenMP's threads would wait for the team's */
        ctt_team_close(&q->dev->team);
    omp_set_num_threads(threads);
    CTT_DNNL(dnnl_primitive_execute(f, l->stream, n, arg));
    CTT_DNNL(dnnl_stream_wait(l->stream));
out:
    return rc;
}

int ctt_dnnl_set(dnnl_memory_t m, const void *data)
{
    int rc = 0;

#if DNNL_VERSION_MAJOR >= 3
    CTT_DNNL(dnnl_memory_set_data_handle(m, (void *)data));
#else
    CTT_DNNL(dnnl_memory_set_data_handle_v2(m, (void *)data, NULL));
#endif
out:
    return rc;
}

struct turn { struct ctt_dnnl_job *j; int64_t i; int who; };

static int try_share(void *arg)
{
    const struct turn *t = arg;
    struct ctt_dnnl_job *j = t->j;
    struct ctt_plan *p = ctt_dnnl_plan(j->f, t->i);
    struct ctt_plan_lane *l = &p->lane[t->who];
    int rc = 0;

    CTT_TRY(ctt_dnnl_set(l->pad, j->pads + (size_t)t->who * j->pad));
    CTT_TRY(j->share(j, p, l, t->i));
out:
    return rc;
}

/* An exception must not leave the thread. */
static void run_share(void *arg, int64_t i, int who)
{
    struct turn t = { arg, i, who };
    int rc = ctt_dnnl_try(try_share, &t);

    if (rc >= 0)
        return;
#pragma omp atomic write
    t.j->rc = rc;
}

int ctt_dnnl_shares(struct ctt_dnnl_job *j)
{
    const struct ctt_dnnl_found *f = j->f;
    int rc;

    ctt_dev_tasks(j->q->dev, f->plan[0]->key.lanes, f->cut.shares, run_share,
                  j);
    rc = j->rc;
    if (f->plan[0]->key.lanes == 1)
        goto out;
    /* The message of another thread is lost. */
    CTT_CHECK(rc == 0, rc, "%s: %s", j->q->call->node->name,
              rc == CTT_ENOMEM ? "out of memory in oneDNN" : "oneDNN fails");
out:
    return rc;
}

static size_t larger_of(size_t a, size_t b)
{
    return a > b ? a : b;
}

static size_t room_of(const struct ctt_tensor *t)
{
    return ((size_t)ctt_volume(t) * sizeof(float) + 63) / 64 * 64;
}

int ctt_dnnl_scratch(struct ctt_dnnl_job *j, struct ctt_tensor *const *packed,
                     int n)
{
    struct ctt_plan *const *p = j->f->plan;
    size_t all = 0, sums, pads, one, other;
    char *at;
    int rc = 0;

    for (int i = 0; i < n; i++)
        all += room_of(packed[i]);
    j->sum = larger_of(p[0]->size.dw + p[0]->size.db,
                       p[1]->size.dw + p[1]->size.db);
    j->pad = larger_of(p[0]->size.pad, p[1]->size.pad);
    sums = j->sum * (size_t)j->f->cut.shares;
    pads = j->pad * (size_t)p[0]->key.lanes;
    one = j->q->call->once ? p[0]->size.packed : 0;
    other = one && p[1] != p[0] ? p[1]->size.packed : 0;
    at = ctt_dev_scratch(j->q->dev, all + sums + pads + one + other);
    CTT_CHECK(at, CTT_ENOMEM, "%s: no memory to work in",
              j->q->call->node->name);
    for (int i = 0; i < n; i++) {
        *packed[i] = ctt_dnnl_dense(packed[i], at);
        at += room_of(packed[i]);
    }
    j->sums = at;
    j->pads = at + sums;
    j->packed[0] = at + sums + pads;
    j->packed[1] = j->packed[0] + (other ? one : 0);
out:
    return rc;
}
