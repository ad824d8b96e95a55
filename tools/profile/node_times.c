/* SPDX-License-Identifier: Apache-2.0
 * node_times.c: sums of the calls of each node, of all devices. */
#include "tools/profile/profile.h"
#include "base/span.h"
#include "net/op.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { PLACES = 1 << 14, ROWS = PLACES / 2 };

/* Rows never move: spans have their names.  A place is a row + 1. */
static struct {
    struct ctt_node_row *row;
    int                  rows, place[PLACES];
} all;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static const struct ctt_tensor *result(const struct ctt_call *c,
                                       enum ctt_pass pass)
{
    return pass == CTT_FWD ? &c->out : &c->dout;
}

/* Calls of other work are other rows. */
static unsigned key_of(const struct ctt_call *c, enum ctt_pass pass)
{
    unsigned key = (unsigned)pass;

    for (int k = 0; pass == CTT_BWD && k < c->node->nin; k++)
        key |= c->din[k].data ? 2u << k : 0;
    return key | (c->dw[0].data ? 1u << 16 : 0) |
           (c->pair.node ? 1u << 17 : 0) | (unsigned)c->links << 18;
}

static void fill_row(struct ctt_dev *d, const struct ctt_call *c,
                     enum ctt_pass pass, struct ctt_node_row *r)
{
    const struct ctt_tensor *t = result(c, pass);

    snprintf(r->name, sizeof(r->name), "%s", c->node->name);
    snprintf(r->shape, sizeof(r->shape), "%lldx%lldx%lldx%lldx%lld",
             (long long)t->n, (long long)t->d, (long long)t->h,
             (long long)t->w, (long long)t->c);
    snprintf(r->kernel, sizeof(r->kernel), "%s", c->cache ?
             ctt_dev_impl(d, *c->cache, pass) : "plain");
    r->node = c->node;
    r->key = key_of(c, pass);
    r->size[0] = ctt_volume(t);
    r->size[1] = ctt_volume(&c->w[0].t);
    r->op = ctt_ops[c->node->op].name;
    r->type = ctt_call_type(c);
    r->pass = pass;
}

/* A node at the address of one that is gone has another name or shape. */
static int is_same(const struct ctt_node_row *r, const struct ctt_call *c,
                   enum ctt_pass pass)
{
    return r->node == c->node && r->size[0] == ctt_volume(result(c, pass)) &&
           r->size[1] == ctt_volume(&c->w[0].t) && r->key == key_of(c, pass) &&
           r->op == ctt_ops[c->node->op].name &&
           strcmp(r->name, c->node->name) == 0;
}

/* NULL: there are too many. */
static struct ctt_node_row *find(struct ctt_dev *d, const struct ctt_call *c,
                                 enum ctt_pass pass)
{
    uint64_t at = (uint64_t)(uintptr_t)c->node ^
                  (uint64_t)key_of(c, pass) << 40 ^
                  (uint64_t)result(c, pass)->n << 8;
    unsigned k = (unsigned)(at * UINT64_C(0x9e3779b97f4a7c15) >> 50);

    for (; all.place[k]; k = (k + 1) % PLACES)
        if (is_same(&all.row[all.place[k] - 1], c, pass))
            return &all.row[all.place[k] - 1];
    if (all.rows == ROWS)
        return NULL;
    fill_row(d, c, pass, &all.row[all.rows]);
    all.place[k] = ++all.rows;
    return &all.row[all.rows - 1];
}

static void add(struct ctt_dev *d, const struct ctt_call *c,
                enum ctt_pass pass, double start, double end)
{
    struct ctt_node_row *r;

    pthread_mutex_lock(&lock);
    r = find(d, c, pass);
    if (r && !r->calls) {
        struct ctt_call_work w = ctt_call_work(c, pass);

        r->flops = w.flops;
        r->bytes = w.bytes;
    }
    if (r) {
        r->calls++;
        r->seconds += end - start;
    }
    pthread_mutex_unlock(&lock);
    ctt_span_add(CTT_SPAN_NODE, r ? r->name : "other nodes", start, end);
}

int ctt_node_times_open(void)
{
    memset(&all, 0, sizeof(all));
    all.row = ctt_calloc(ROWS, sizeof(*all.row));
    if (!all.row)
        return CTT_ENOMEM;
    ctt_dev_watch(add);
    return 0;
}

void ctt_node_times_close(void)
{
    ctt_dev_watch(NULL);
    ctt_free(all.row);
    memset(&all, 0, sizeof(all));
}

/* ---- the sums ---- */

static int by_name(const void *a, const void *b)
{
    const struct ctt_node_row *x = a, *y = b;
    int c = strcmp(x->name, y->name);

    c = c ? c : strcmp(x->op, y->op);
    c = c ? c : strcmp(x->shape, y->shape);
    c = c ? c : strcmp(x->type, y->type);
    c = c ? c : strcmp(x->kernel, y->kernel);
    return c ? c : (int)x->pass - (int)y->pass;
}

static int by_time(const void *a, const void *b)
{
    const struct ctt_node_row *x = a, *y = b;

    return x->seconds != y->seconds ? (x->seconds < y->seconds ? 1 : -1)
                                    : by_name(a, b);
}

int ctt_node_times_rows(struct ctt_node_row **out, int *count)
{
    struct ctt_node_row *r = ctt_calloc((size_t)all.rows + 1, sizeof(*r));
    int n = 0;

    if (!r)
        return CTT_ENOMEM;
    memcpy(r, all.row, (size_t)all.rows * sizeof(*r));
    for (int i = 0; i < all.rows; i++) {
        r[i].flops *= (double)r[i].calls;
        r[i].bytes *= (double)r[i].calls;
    }
    qsort(r, (size_t)all.rows, sizeof(*r), by_name);
    for (int i = 0; i < all.rows; i++) {
        if (!n || by_name(&r[n - 1], &r[i]) != 0) {
            r[n++] = r[i];
            continue;
        }
        r[n - 1].calls += r[i].calls;
        r[n - 1].seconds += r[i].seconds;
        r[n - 1].flops += r[i].flops;
        r[n - 1].bytes += r[i].bytes;
    }
    qsort(r, (size_t)n, sizeof(*r), by_time);
    *out = r;
    *count = n;
    return 0;
}
