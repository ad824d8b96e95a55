/* SPDX-License-Identifier: Apache-2.0
 * gather.c: sparse all-gather: chooses the values of a gradient to send, sends
 * their codes, and adds the codes of all ranks. */
#include "libtrain/ranks/gather.h"
#include "base/random.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { SAMPLE = 1 << 14,    /* numbers by which a share is met */
       PIECE = 1 << 16 };   /* floats of a residual that travel at a time */

/* No code is longer. */
static int64_t longest(int64_t n)
{
    return ctt_sparse_code_room(n, n);
}

int64_t ctt_gather_bytes(int64_t n, int mine)
{
    return mine * (2 * n * (int64_t)sizeof(float) + longest(n)) +
           n * (int64_t)sizeof(int32_t);
}

/* Bytes of one rank that are expected at most. */
static int64_t expected(const struct ctt_gather *g)
{
    double share = g->how.kind == CTT_SQUEEZE_SHARE ? (double)g->how.value
                                                    : 0.01;
    int64_t bytes = ctt_sparse_code_room(g->n, (int64_t)(share * (double)g->n));

    return g->mine * 4 * bytes;
}

int ctt_gather_open(struct ctt_comm *comm, const struct ctt_squeeze *how,
                    int shards, int64_t n, struct ctt_gather *out)
{
    int ranks = ctt_comm_place(comm)->ranks, rc = 0;
    struct ctt_gather g = { .comm = comm, .how = *how, .shards = shards,
                            .mine = shards / ranks, .n = n };
    size_t floats = (size_t)(g.mine * n);

    CTT_CHECK(n < INT32_MAX, CTT_EUNSUP, "--squeeze: the model has more than "
              "%d numbers", INT32_MAX);
    g.grad = ctt_calloc(floats, sizeof(*g.grad));
    g.residual = ctt_calloc(floats, sizeof(*g.residual));
    g.sample = ctt_calloc(SAMPLE, sizeof(*g.sample));
    g.at = ctt_calloc((size_t)n + 1, sizeof(*g.at));
    g.code = ctt_calloc((size_t)(g.mine * longest(n)), 1);
    g.room = ranks * expected(&g);
    g.codes = ctt_calloc((size_t)g.room, 1);
    g.head = ctt_calloc((size_t)g.mine, sizeof(*g.head));
    g.heads = ctt_calloc((size_t)shards, sizeof(*g.heads));
    CTT_TRY(g.grad && g.residual && g.sample && g.at && g.code && g.codes &&
            g.head && g.heads ? 0 : CTT_ENOMEM);
    *out = g;
    return 0;
out:
    ctt_gather_close(&g);
    return rc;
}

void ctt_gather_close(struct ctt_gather *g)
{
    ctt_free(g->grad);
    ctt_free(g->residual);
    ctt_free(g->sample);
    ctt_free(g->at);
    ctt_free(g->head);
    ctt_free(g->heads);
    ctt_free(g->code);
    ctt_free(g->codes);
    memset(g, 0, sizeof(*g));
}

float *ctt_gather_place(struct ctt_gather *g, int k)
{
    return g->grad + k * g->n;
}

/* ---- the sparse gradient of a shard ---- */

/* In lanes, which a compiler adds side by side. */
static double norm_of(const float *x, int64_t n)
{
    double sum[8] = { 0 }, all = 0;
    int64_t i = 0;

    for (; i + 8 <= n; i += 8)
        for (int k = 0; k < 8; k++)
            sum[k] += (double)x[i + k] * (double)x[i + k];
    for (; i < n; i++)
        sum[0] += (double)x[i] * (double)x[i];
    for (int k = 0; k < 8; k++)
        all += sum[k];
    return sqrt(all);
}

/* The limit of the norm of a shard's gradient: of independent gradients, that
 * of a batch is sqrt(shards) times as long (Lin and others 2018).  The sent sum
 * also holds residuals of many steps, which a limit there would lose. */
static float limit(const struct ctt_gather *g, const float *grad, float scale)
{
    double most = (double)g->how.clip / sqrt(g->shards) / (double)scale;
    double norm = g->how.clip > 0 ? norm_of(grad, g->n) : 0;

    return norm > most && isfinite(norm) ? (float)(most / norm) * scale : scale;
}

/* Adds the residual to the gradient; returns 0 if a number is not finite. */
static int add_residual(float *grad, const float *residual, int64_t n,
                        float scale)
{
    int finite = 1;

    for (int64_t i = 0; i < n; i++) {
        grad[i] = residual[i] + grad[i] * scale;
        finite &= fabsf(grad[i]) <= FLT_MAX;
    }
    return finite;
}

/* The k-th largest, from 0, of n numbers, which are put into another order
 * (quickselect, Hoare 1961). */
static float kth_largest(float *x, int n, int k)
{
    int left = 0, right = n - 1;

    while (left < right) {
        float pivot = x[left + (right - left) / 2];
        int i = left, j = right;

        while (i <= j) {
            while (x[i] > pivot)
                i++;
            while (x[j] < pivot)
                j--;
            if (i <= j) {
                float t = x[i];
                x[i++] = x[j];
                x[j--] = t;
            }
        }
        if (k <= j)
            right = j;
        else if (k >= i)
            left = i;
        else
            break;
    }
    return x[k];
}

/* The least magnitude of so large a share of the numbers, by a sample; above 0,
 * which is never sent. */
static float least_of_share(struct ctt_gather *g, const float *x,
                            uint64_t key)
{
    int n = g->n < SAMPLE ? (int)g->n : SAMPLE;
    int k = (int)((float)n * g->how.value + 0.5f);

    for (int i = 0; i < n; i++)
        g->sample[i] = fabsf(x[n < SAMPLE ? i : (int64_t)
                               (ctt_random(key, (uint64_t)i) *
                                (uint64_t)g->n >> 32)]);
    return fmaxf(kth_largest(g->sample, n, k > 1 ? k - 1 : 0), FLT_MIN);
}

/* Positions of the numbers whose magnitude is the limit or more. */
static int64_t find_larger(const float *x, int64_t n, float limit, int32_t *at)
{
    int64_t count = 0;

    for (int64_t i = 0; i < n; i++) {
        at[count] = (int32_t)i;
        count += fabsf(x[i]) >= limit;
    }
    return count;
}

/* Writes the code of shard k and leaves the rest in grad.  The value of numbers
 * from 1 to 2 times the least: the least with a threshold, the middle with a
 * share; larger numbers are 2, 4, .. times it. */
static int encode(struct ctt_gather *g, int k, uint64_t step)
{
    struct ctt_sparse_code *t = &g->head[k];
    float *x = ctt_gather_place(g, k), least = g->how.value;
    int shard = ctt_comm_place(g->comm)->rank * g->mine + k;
    int by_share = g->how.kind == CTT_SQUEEZE_SHARE;
    uint8_t *code = g->code + g->used;
    int64_t count;

    if (by_share)
        least = least_of_share(g, x, ctt_key(step, (uint64_t)shard));
    count = find_larger(x, g->n, least, g->at);
    ctt_sparse_code_encode(g->at, count, g->n, x, least, code, t);
    t->value = by_share ? 1.5f * least : least;
    g->used += t->bytes;
    return ctt_sparse_code_add(t, code, g->n, -1, x);
}

/* count is -1 where a gradient is not finite. */
static int encode_all(struct ctt_gather *g, uint64_t step, float scale)
{
    int rc = 0;

    g->used = 0;
    for (int k = 0; k < g->mine; k++) {
        float *grad = ctt_gather_place(g, k);

        g->head[k] = (struct ctt_sparse_code){ .count = -1 };
        if (add_residual(grad, g->residual + k * g->n, g->n,
                         limit(g, grad, 1 / scale)))
            CTT_TRY(encode(g, k, step));
    }
out:
    return rc;
}

/* ---- the codes of all ranks ---- */

static int64_t rank_bytes(const struct ctt_gather *g, int rank)
{
    int64_t bytes = 0;

    for (int k = 0; k < g->mine; k++)
        bytes += g->heads[rank * g->mine + k].bytes;
    return bytes;
}

/* Returns 0 if a gradient is not finite. */
static int tell_heads(struct ctt_gather *g)
{
    int rc;

    CTT_TRY(ctt_comm_allgather(g->comm, g->head,
                               g->mine * (int64_t)sizeof(*g->head), g->heads));
    rc = 1;
    for (int s = 0; s < g->shards; s++)
        rc &= g->heads[s].count >= 0;
out:
    return rc;
}

static int need_room(struct ctt_gather *g, int64_t bytes)
{
    uint8_t *codes;

    if (bytes <= g->room)
        return 0;
    codes = ctt_calloc((size_t)bytes, 2);
    if (!codes)
        return CTT_ENOMEM;
    ctt_free(g->codes);
    g->codes = codes;
    g->room = 2 * bytes;
    return 0;
}

/* Each rank sends as many bytes as the one that has most. */
static int tell_codes(struct ctt_gather *g, int64_t *each)
{
    int ranks = ctt_comm_place(g->comm)->ranks, rc;
    int64_t most = 1;

    for (int r = 0; r < ranks; r++) {
        int64_t bytes = rank_bytes(g, r);

        most = bytes > most ? bytes : most;
    }
    CTT_TRY(need_room(g, most * ranks));
    CTT_TRY(ctt_comm_allgather(g->comm, g->code, most, g->codes));
    g->sent += (double)(most * ranks) + g->shards * (double)sizeof(*g->heads);
    *each = most;
out:
    return rc;
}

static int add_all(const struct ctt_gather *g, int64_t each, float scale,
                   float *sum)
{
    const uint8_t *code = g->codes;
    int rc = 0;

    memset(sum, 0, (size_t)g->n * sizeof(*sum));
    for (int s = 0; s < g->shards; s++) {
        if (s % g->mine == 0)
            code = g->codes + s / g->mine * each;
        CTT_TRY(ctt_sparse_code_add(&g->heads[s], code, g->n, scale, sum));
        code += g->heads[s].bytes;
    }
out:
    return rc;
}

/* If the sum is finite: else the step will be skipped. */
static void keep_rest(struct ctt_gather *g, const float *sum)
{
    float *rest = g->grad;
    int finite = 1;

    for (int64_t i = 0; i < g->n; i++)
        finite &= fabsf(sum[i]) <= FLT_MAX;
    if (!finite)
        return;

    g->grad = g->residual;
    g->residual = rest;
}

int ctt_gather_run(struct ctt_gather *g, uint64_t step, float scale,
                   float *sum)
{
    int64_t each;
    int rc;

    CTT_TRY(encode_all(g, step, scale));
    CTT_TRY(tell_heads(g));
    if (rc == 0) {
        for (int64_t i = 0; i < g->n; i++)
            sum[i] = NAN;
        goto out;
    }
    CTT_TRY(tell_codes(g, &each));
    CTT_TRY(add_all(g, each, scale, sum));
    keep_rest(g, sum);
    g->batches++;
out:
    return rc < 0 ? rc : 0;
}

/* Of (ranks - 1) / ranks of the bytes of all shards here, and of a gradient
 * twice there, the first factor falls out. */
double ctt_gather_share(const struct ctt_gather *g)
{
    double whole = 2 * (double)sizeof(float) * (double)g->n * g->batches;

    return whole > 0 ? g->sent / whole : 0;
}

/* ---- checkpoints ---- */

int ctt_gather_save(struct ctt_gather *g, float *to)
{
    int ranks = ctt_comm_place(g->comm)->ranks, rc = 0;
    int64_t all = g->mine * g->n;
    float *piece = ctt_calloc((size_t)ranks * PIECE, sizeof(*piece));

    CTT_TRY(piece ? 0 : CTT_ENOMEM);
    for (int64_t at = 0; at < all; at += PIECE) {
        int64_t n = all - at < PIECE ? all - at : PIECE;

        CTT_TRY(ctt_comm_allgather(g->comm, g->residual + at,
                                   n * (int64_t)sizeof(*piece), piece));
        for (int r = 0; to && r < ranks; r++)
            memcpy(to + r * all + at, piece + r * n,
                   (size_t)n * sizeof(*piece));
    }
out:
    ctt_free(piece);
    return rc;
}

void ctt_gather_load(struct ctt_gather *g, const float *from)
{
    int64_t all = g->mine * g->n;

    memcpy(g->residual, from + ctt_comm_place(g->comm)->rank * all,
           (size_t)all * sizeof(*from));
}
