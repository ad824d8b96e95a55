/* SPDX-License-Identifier: Apache-2.0
 * onednn.c: conv and deconv by oneDNN.  What a call needs is prepared when its
 * shape is seen first and kept in the call's cache.  Views, which oneDNN
 * convolves with its reference code, are packed into scratch. */
#include "device/cpu/conv/onednn.h"
#include "device/cpu/conv/onednn_plan.h"

#include <omp.h>
#include <stdio.h>
#include <string.h>

/* What stands in a call's cache. */
struct cache {
    struct ctt_plan *first;
    char             impl[CTT_PASSES][160];
};

/* A node for the helpers below. */
static const struct ctt_node single = { .op = CTT_OP_ADD, .nin = 1 };

/* y (+)= x. */
static int copy(struct ctt_dev *d, const struct ctt_tensor *x,
                const struct ctt_tensor *y, int add)
{
    struct ctt_call c = { .node = &single, .dout = *x, .add = (unsigned)add };

    c.din[0] = *y;
    return d->plain[CTT_BWD][CTT_OP_ADD](d, &c);
}

/* y = act(y + bias). */
static int finish(struct ctt_dev *d, const struct ctt_tensor *y,
                  const struct ctt_tensor *bias, int act)
{
    struct ctt_call c = { .node = &single, .out = *y, .act = act };

    if (!bias->data && !act)
        return 0;
    c.in[0] = *y;
    c.w[0].t = *bias;
    return d->plain[CTT_FWD][CTT_OP_ADD](d, &c);
}

/* db += sums of dy. */
static int bias_back(struct ctt_dev *d, const struct ctt_tensor *dy,
                     const struct ctt_tensor *db)
{
    struct ctt_call c = { .node = &single, .dout = *dy };

    c.dw[0] = *db;
    return d->plain[CTT_BWD][CTT_OP_ADD](d, &c);
}

/* ---- plans ---- */

static int is_view(const struct ctt_tensor *t)
{
    return t->ld != t->c;
}

static int new_cache(void **cache)
{
    struct cache *k = *cache ? *cache : ctt_calloc(1, sizeof(*k));

    *cache = k;
    return k ? 0 : CTT_ENOMEM;
}

/* A call that sees ever new shapes keeps the plans of the last few. */
enum { PLANS = 16 };

static void add_plan(struct cache *k, struct ctt_plan *p)
{
    struct ctt_plan **last = &k->first;
    int n = 1;

    p->next = k->first;
    k->first = p;
    while (*last && n++ <= PLANS)
        last = &(*last)->next;
    ctt_plan_free(last);
}

static int find_plan(struct ctt_dev *d, const struct ctt_call *c,
                     const struct ctt_plan_key *key, struct ctt_plan **out)
{
    struct cache *k;
    struct ctt_plan *p = NULL;
    int rc = 0, team = ctt_dev_team(d, ctt_fold_work(&key->f) / 64);

    CTT_TRY(new_cache(c->cache));
    k = *c->cache;
    for (p = k->first; p; p = p->next)
        if (memcmp(&p->key, key, sizeof(*key)) == 0)
            break;
    if (!p) {
        omp_set_num_threads(team);    /* a plan knows its threads */
        rc = ctt_plan_new(d->own, key, team, &p);
        omp_set_num_threads(d->threads);
        CTT_TRY(rc);
        add_plan(k, p);
    }
    *out = p;
out:
    return rc;
}

static struct ctt_plan_key plan_key(const struct ctt_call *c,
                                    enum ctt_conv_way way)
{
    struct ctt_plan_key key;

    memset(&key, 0, sizeof(key));
    key.f = ctt_fold(c, way);
    return key;
}

static int run_plan(struct ctt_dev *d, struct ctt_plan *p, dnnl_primitive_t f,
                    int n, const dnnl_exec_arg_t *arg)
{
    const struct ctt_onednn *o = d->own;
    int rc = 0;

    if (p->threads != d->threads)
        omp_set_num_threads(p->threads);
    CTT_DNNL(dnnl_primitive_execute(f, o->stream, n, arg));
    CTT_DNNL(dnnl_stream_wait(o->stream));
out:
    if (p->threads != d->threads)
        omp_set_num_threads(d->threads);
    return rc;
}

static int set_data(dnnl_memory_t m, const void *data)
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

/* Weights in the primitive's layout, remade when they changed. */
static int pack_weights(struct ctt_dev *d, struct ctt_plan *p,
                        const struct ctt_call *c)
{
    int rc = 0;

    if (p->stamp == c->stamp && c->stamp)
        return 0;
    CTT_TRY(set_data(p->plain, c->w[0].t.data));
    CTT_TRY(run_plan(d, p, p->reorder, 2, (dnnl_exec_arg_t[]){
        { DNNL_ARG_FROM, p->plain }, { DNNL_ARG_TO, p->weights } }));
    p->stamp = c->stamp;
out:
    return rc;
}

/* The tensor as it is in scratch. */
static struct ctt_tensor dense(const struct ctt_tensor *t, char *scratch,
                               size_t at)
{
    struct ctt_tensor s = *t;

    s.data = scratch + at;
    s.ld = s.c;
    return s;
}

/* ---- y = conv x or its adjoint ---- */

struct move {
    enum ctt_conv_way        way;
    const struct ctt_tensor *x, *y, *plus, *bias;
    int                      act, add;
};

/* Runs a prepared move between packed tensors. */
static int execute(struct ctt_dev *d, const struct ctt_call *c,
                   struct ctt_plan *p, const struct move *m, char *scratch)
{
    int to_small = m->way == CTT_TO_SMALL, n = 4, rc = 0;
    dnnl_exec_arg_t arg[6] = {
        { to_small ? DNNL_ARG_SRC : DNNL_ARG_DIFF_DST,
          to_small ? p->large : p->small },
        { to_small ? DNNL_ARG_DST : DNNL_ARG_DIFF_SRC,
          to_small ? p->small : p->large },
        { DNNL_ARG_WEIGHTS, p->weights },
        { DNNL_ARG_SCRATCHPAD, p->pad },
    };

    CTT_TRY(pack_weights(d, p, c));
    CTT_TRY(set_data(arg[0].memory, m->x->data));
    CTT_TRY(set_data(arg[1].memory, m->y->data));
    CTT_TRY(set_data(p->pad, scratch + p->room.pad));
    if (p->key.bias) {
        CTT_TRY(set_data(p->bias, m->bias->data));
        arg[n++] = (dnnl_exec_arg_t){ DNNL_ARG_BIAS, p->bias };
    }
    if (p->key.plus && !p->sums) {
        CTT_TRY(set_data(p->plus, m->plus->data));
        arg[n++] = (dnnl_exec_arg_t){
            DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1, p->plus };
    }
    CTT_TRY(run_plan(d, p, p->prim, n, arg));
out:
    return rc;
}

/* Packs what must be packed, runs, and puts the result where it belongs. */
static int run_move(struct ctt_dev *d, const struct ctt_call *c,
                    struct ctt_plan *p, struct move m)
{
    const struct ctt_plan_room *r = &p->room;
    int small = m.way == CTT_TO_SMALL, views = p->key.views, rc = 0;
    char *scratch = ctt_dev_scratch(d, r->all);
    struct ctt_tensor x = *m.x, y = *m.y, plus = { .data = NULL };
    const struct ctt_tensor *to = m.y;

    CTT_CHECK(scratch, CTT_ENOMEM, "%s: no memory to work in", c->node->name);
    if (is_view(&x)) {
        x = dense(&x, scratch, small ? r->large : r->small);
        CTT_TRY(copy(d, m.x, &x, 0));
        m.x = &x;
    }
    if (views & (small ? 2 : 1)) {
        y = dense(&y, scratch, small ? r->small : r->large);
        m.y = &y;
    }
    if (p->key.plus && p->sums) {
        if (m.plus->data != m.y->data)
            CTT_TRY(copy(d, m.plus, m.y, 0));
    } else if (p->key.plus && is_view(m.plus)) {
        plus = dense(m.plus, scratch, r->plus);
        CTT_TRY(copy(d, m.plus, &plus, 0));
        m.plus = &plus;
    }
    CTT_TRY(execute(d, c, p, &m, scratch));
    if (m.y != to)
        CTT_TRY(copy(d, m.y, to, m.add));
out:
    return rc;
}

/* Says which code a pass runs on. */
static void note(const struct ctt_call *c, enum ctt_pass pass, int more,
                 const char *impl)
{
    char *s = ((struct cache *)*c->cache)->impl[pass];
    size_t n = more ? strlen(s) : 0;

    snprintf(s + n, sizeof(((struct cache *)0)->impl[0]) - n, "%s%s",
             n ? " " : "", impl);
}

/* 1: done; 0: our own kernel must do it. */
static int try_move(struct ctt_dev *d, const struct ctt_call *c,
                    enum ctt_pass pass, struct move m)
{
    struct ctt_plan_key key = plan_key(c, m.way);
    int small = m.way == CTT_TO_SMALL, rc = 0;
    struct ctt_plan *p;

    key.act = m.act;
    key.bias = m.bias && m.bias->data;
    key.plus = m.plus != NULL;
    key.here = m.plus && m.plus->data == m.y->data;
    key.views = (is_view(m.x) ? small ? 1 : 2 : 0) |
                (is_view(m.y) || m.add ? small ? 2 : 1 : 0) |
                (m.plus && is_view(m.plus) ? 4 : 0);
    CTT_TRY(find_plan(d, c, &key, &p));
    note(c, pass, 0, p->prim ? p->impl : "plain");
    if (!p->prim)
        goto out;
    CTT_TRY(run_move(d, c, p, m));
    rc = 1;
out:
    return rc;
}

/* ---- weights ---- */

/* dw += from the sums of the primitive, db likewise. */
static int add_weights(struct ctt_dev *d, const struct ctt_call *c,
                       struct ctt_plan *p, char *scratch)
{
    struct ctt_tensor db = dense(&c->dw[1], scratch, p->room.db);
    int rc = 0;

    CTT_TRY(set_data(p->plain, c->dw[0].data));
    CTT_TRY(run_plan(d, p, p->reorder, 2, (dnnl_exec_arg_t[]){
        { DNNL_ARG_FROM, p->weights }, { DNNL_ARG_TO, p->plain } }));
    if (p->key.bias)
        CTT_TRY(copy(d, &db, &c->dw[1], 1));
out:
    return rc;
}

static int run_weights(struct ctt_dev *d, const struct ctt_call *c,
                       struct ctt_plan *p, const struct ctt_tensor *large,
                       const struct ctt_tensor *small)
{
    const struct ctt_plan_room *r = &p->room;
    char *scratch = ctt_dev_scratch(d, r->all);
    struct ctt_tensor l = *large, s = *small;
    int rc = 0;

    CTT_CHECK(scratch, CTT_ENOMEM, "%s: no memory to work in", c->node->name);
    if (is_view(large)) {
        l = dense(large, scratch, r->large);
        CTT_TRY(copy(d, large, &l, 0));
    }
    if (is_view(small)) {
        s = dense(small, scratch, r->small);
        CTT_TRY(copy(d, small, &s, 0));
    }
    CTT_TRY(set_data(p->large, l.data));
    CTT_TRY(set_data(p->small, s.data));
    CTT_TRY(set_data(p->weights, scratch + r->dw));
    CTT_TRY(set_data(p->bias, scratch + r->db));
    CTT_TRY(set_data(p->pad, scratch + r->pad));
    CTT_TRY(run_plan(d, p, p->prim, 4 + p->key.bias, (dnnl_exec_arg_t[]){
        { DNNL_ARG_SRC, p->large }, { DNNL_ARG_DIFF_DST, p->small },
        { DNNL_ARG_DIFF_WEIGHTS, p->weights },
        { DNNL_ARG_SCRATCHPAD, p->pad }, { DNNL_ARG_DIFF_BIAS, p->bias } }));
    CTT_TRY(add_weights(d, c, p, scratch));
out:
    return rc;
}

/* As try_move. */
static int try_weights(struct ctt_dev *d, const struct ctt_call *c, int more)
{
    struct ctt_plan_key key = plan_key(c, CTT_TO_WEIGHTS);
    int up = c->node->op == CTT_OP_DECONV, rc = 0;
    const struct ctt_tensor *large = up ? &c->dout : &c->in[0];
    const struct ctt_tensor *small = up ? &c->in[0] : &c->dout;
    struct ctt_plan *p;

    key.bias = !up && c->dw[1].data;
    key.views = is_view(large) | is_view(small) << 1;
    CTT_TRY(find_plan(d, c, &key, &p));
    note(c, CTT_BWD, more, p->prim ? p->impl : "plain");
    if (!p->prim)
        goto out;
    CTT_TRY(run_weights(d, c, p, large, small));
    if (up && c->dw[1].data)
        CTT_TRY(bias_back(d, &c->dout, &c->dw[1]));
    rc = 1;
out:
    return rc;
}

/* ---- kernels ---- */

static int conv_fwd(struct ctt_dev *d, const struct ctt_call *c)
{
    int up = c->node->op == CTT_OP_DECONV, rc = 0;
    struct move m = {
        .way = up ? CTT_TO_LARGE : CTT_TO_SMALL, .x = &c->in[0], .y = &c->out,
    };

    if (!up) {
        m.plus = c->node->plus ? &c->in[1] : NULL;
        m.bias = &c->w[1].t;
        m.act = c->act;
    }
    CTT_TRY(try_move(d, c, CTT_FWD, m));
    if (!rc)
        return d->plain[CTT_FWD][c->node->op](d, c);
    if (up)
        CTT_TRY(finish(d, &c->out, &c->w[1].t, c->act));
out:
    return rc < 0 ? rc : 0;
}

static int conv_bwd(struct ctt_dev *d, const struct ctt_call *c)
{
    int up = c->node->op == CTT_OP_DECONV, rc = 0;
    struct ctt_call rest = *c;    /* what our own kernel must do */
    struct move m = {
        .way = up ? CTT_TO_SMALL : CTT_TO_LARGE, .x = &c->dout,
        .y = &c->din[0], .add = c->add & 1,
    };

    if (c->din[0].data) {
        CTT_TRY(try_move(d, c, CTT_BWD, m));
        if (rc)
            rest.din[0].data = NULL;
    }
    if (c->dw[0].data) {
        CTT_TRY(try_weights(d, c, c->din[0].data != NULL));
        if (rc)
            rest.dw[0].data = rest.dw[1].data = NULL;
    }
    CTT_TRY(d->plain[CTT_BWD][c->node->op](d, &rest));
out:
    return rc < 0 ? rc : 0;
}

/* ---- the device ---- */

int ctt_onednn_open(struct ctt_dev *d)
{
    struct ctt_onednn *o = ctt_calloc(1, sizeof(*o));
    int rc = 0;

    CTT_CHECK(o, CTT_ENOMEM, "no memory for oneDNN");
    d->own = o;    /* ctt_onednn_close() frees it */
    CTT_DNNL(dnnl_engine_create(&o->engine, dnnl_cpu, 0));
    CTT_DNNL(dnnl_stream_create(&o->stream, o->engine,
                                dnnl_stream_default_flags));
    for (int op = 0; op < CTT_NOPS; op++)
        if (op == CTT_OP_CONV || op == CTT_OP_DECONV) {
            d->kernel[CTT_FWD][op] = conv_fwd;
            d->kernel[CTT_BWD][op] = conv_bwd;
        }
out:
    return rc;
}

void ctt_onednn_close(struct ctt_dev *d)
{
    struct ctt_onednn *o = d->own;

    if (o->stream)
        dnnl_stream_destroy(o->stream);
    if (o->engine)
        dnnl_engine_destroy(o->engine);
    ctt_free(o);
    d->own = NULL;
}

void ctt_onednn_forget(void *cache)
{
    struct cache *k = cache;

    while (k->first) {
        struct ctt_plan *p = k->first;
        k->first = p->next;
        ctt_plan_free(&p);
    }
    ctt_free(k);
}

const char *ctt_onednn_impl(const void *cache, enum ctt_pass pass)
{
    const struct cache *k = cache;

    return *k->impl[pass] ? k->impl[pass] : "plain";
}

int ctt_onednn_sgemm(struct ctt_dev *d, int n, const float *a, const float *b,
                     float *c)
{
    int rc = 0;

    (void)d;
    CTT_DNNL(dnnl_sgemm('N', 'N', n, n, n, 1, a, n, b, n, 0, c, n));
out:
    return rc;
}
