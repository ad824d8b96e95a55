/* SPDX-License-Identifier: Apache-2.0
 * onednn.c: the provider "onednn": conv and deconv by oneDNN.  What a call
 * needs is prepared when its shape is seen first and kept in the call's cache.
 * Views, which oneDNN convolves with its reference code, are packed into
 * scratch. */
#include "device/cpu/conv/onednn_plan.h"
#include "device/cpu/conv/providers.h"

#include <omp.h>
#include <string.h>

/* The content of a call's cache; at: the plans that can() found. */
struct plan_cache {
    struct ctt_plan *first, *at[CTT_CONV_PARTS];
};

/* y (+)= x. */
static void copy(struct ctt_dev *d, const struct ctt_tensor *x,
                 const struct ctt_tensor *y, int add)
{
    ctt_cpu_of(d)->isa->row_ops->copy(d, x, y, add);
}

/* ---- plans ---- */

static int is_view(const struct ctt_tensor *t)
{
    return t->ld != t->c;
}

/* A call keeps at most this many plans, those of its latest new shapes. */
enum { PLANS = 16 };

static void add_plan(struct plan_cache *k, struct ctt_plan *p)
{
    struct ctt_plan **last = &k->first;
    int n = 1;

    p->next = k->first;
    k->first = p;
    while (*last && n++ <= PLANS)
        last = &(*last)->next;
    ctt_plan_free(last);
}

static int find_plan(struct ctt_conv_ask *q, const struct ctt_plan_key *key,
                     struct ctt_plan **out)
{
    int rc = 0, team = ctt_dev_team(q->dev, ctt_fold_work(&key->f) / 64);
    struct plan_cache *k = *q->own;
    struct ctt_plan *p;

    for (p = k->first; p; p = p->next)
        if (memcmp(&p->key, key, sizeof(*key)) == 0)
            break;
    if (!p) {
        omp_set_num_threads(team);    /* a plan knows its threads */
        rc = ctt_plan_new(q->state, key, team, &p);
        omp_set_num_threads(q->dev->threads);
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

static int run_plan(const struct ctt_conv_ask *q, struct ctt_plan *p,
                    dnnl_primitive_t f, int n, const dnnl_exec_arg_t *arg)
{
    const struct ctt_onednn *o = q->state;
    int rc = 0;

    if (p->threads > 1)    /* OpenMP's, and they would wait for ours */
        ctt_team_close(&q->dev->team);
    if (p->threads != q->dev->threads)
        omp_set_num_threads(p->threads);
    CTT_DNNL(dnnl_primitive_execute(f, o->stream, n, arg));
    CTT_DNNL(dnnl_stream_wait(o->stream));
out:
    if (p->threads != q->dev->threads)
        omp_set_num_threads(q->dev->threads);
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
static int pack_weights(const struct ctt_conv_ask *q, struct ctt_plan *p)
{
    const struct ctt_call *c = q->call;
    int rc = 0;

    if (p->stamp == c->stamp && c->stamp)
        return 0;
    CTT_TRY(set_data(p->plain, c->w[0].t.data));
    CTT_TRY(run_plan(q, p, p->reorder, 2, (dnnl_exec_arg_t[]){
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

/* The move that makes a result or the gradient of an input.  A deconv's bias
 * and act come after it: finish(). */
static struct move move_of(const struct ctt_conv_ask *q)
{
    const struct ctt_call *c = q->call;
    int up = c->node->op == CTT_OP_DECONV;
    struct move m = {
        .way = up ? CTT_TO_LARGE : CTT_TO_SMALL, .x = &c->in[0], .y = &c->out,
    };

    if (q->part == CTT_CONV_DIN)
        return (struct move){
            .way = up ? CTT_TO_SMALL : CTT_TO_LARGE, .x = &c->dout,
            .y = &c->din[0], .add = c->add & 1,
        };
    if (!up) {
        m.plus = c->node->plus ? &c->in[1] : NULL;
        m.bias = &c->w[1].t;
        m.act = c->act;
    }
    return m;
}

static struct ctt_plan_key move_key(const struct ctt_call *c,
                                    const struct move *m)
{
    struct ctt_plan_key key = plan_key(c, m->way);
    int small = m->way == CTT_TO_SMALL;

    key.act = m->act;
    key.bias = m->bias && m->bias->data;
    key.plus = m->plus != NULL;
    key.here = m->plus && m->plus->data == m->y->data;
    key.views = (is_view(m->x) ? small ? 1 : 2 : 0) |
                (is_view(m->y) || m->add ? small ? 2 : 1 : 0) |
                (m->plus && is_view(m->plus) ? 4 : 0);
    return key;
}

/* Runs a prepared move between packed tensors. */
static int execute(const struct ctt_conv_ask *q, struct ctt_plan *p,
                   const struct move *m, char *scratch)
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

    CTT_TRY(pack_weights(q, p));
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
    CTT_TRY(run_plan(q, p, p->prim, n, arg));
out:
    return rc;
}

/* Packs what must be packed, runs, and puts the result where it belongs. */
static int run_move(const struct ctt_conv_ask *q, struct ctt_plan *p,
                    struct move m)
{
    struct ctt_dev *d = q->dev;
    const struct ctt_plan_room *r = &p->room;
    int small = m.way == CTT_TO_SMALL, views = p->key.views, rc = 0;
    char *scratch = ctt_dev_scratch(d, r->all);
    struct ctt_tensor x = *m.x, y = *m.y, plus = { .data = NULL };
    const struct ctt_tensor *to = m.y;

    CTT_CHECK(scratch, CTT_ENOMEM, "%s: no memory to work in",
              q->call->node->name);
    if (is_view(&x)) {
        x = dense(&x, scratch, small ? r->large : r->small);
        copy(d, m.x, &x, 0);
        m.x = &x;
    }
    if (views & (small ? 2 : 1)) {
        y = dense(&y, scratch, small ? r->small : r->large);
        m.y = &y;
    }
    if (p->key.plus && p->sums) {
        if (m.plus->data != m.y->data)
            copy(d, m.plus, m.y, 0);
    } else if (p->key.plus && is_view(m.plus)) {
        plus = dense(m.plus, scratch, r->plus);
        copy(d, m.plus, &plus, 0);
        m.plus = &plus;
    }
    CTT_TRY(execute(q, p, &m, scratch));
    if (m.y != to)
        copy(d, m.y, to, m.add);
out:
    return rc;
}

/* ---- weights ---- */

/* The tensor that the kernel slides over, and the other one. */
struct pair { const struct ctt_tensor *large, *small; };

static struct pair pair_of(const struct ctt_call *c)
{
    return c->node->op == CTT_OP_DECONV
               ? (struct pair){ &c->dout, &c->in[0] }
               : (struct pair){ &c->in[0], &c->dout };
}

static struct ctt_plan_key weights_key(const struct ctt_call *c)
{
    struct ctt_plan_key key = plan_key(c, CTT_TO_WEIGHTS);
    struct pair x = pair_of(c);

    key.bias = c->node->op != CTT_OP_DECONV && c->dw[1].data;
    key.views = is_view(x.large) | is_view(x.small) << 1;
    return key;
}

/* dw += from the sums of the primitive, db likewise. */
static int add_weights(const struct ctt_conv_ask *q, struct ctt_plan *p,
                       char *scratch)
{
    const struct ctt_call *c = q->call;
    struct ctt_tensor db = dense(&c->dw[1], scratch, p->room.db);
    int rc = 0;

    CTT_TRY(set_data(p->plain, c->dw[0].data));
    CTT_TRY(run_plan(q, p, p->reorder, 2, (dnnl_exec_arg_t[]){
        { DNNL_ARG_FROM, p->weights }, { DNNL_ARG_TO, p->plain } }));
    if (p->key.bias)
        copy(q->dev, &db, &c->dw[1], 1);
out:
    return rc;
}

static int run_weights(const struct ctt_conv_ask *q, struct ctt_plan *p)
{
    const struct ctt_plan_room *r = &p->room;
    char *scratch = ctt_dev_scratch(q->dev, r->all);
    struct pair x = pair_of(q->call);
    struct ctt_tensor l = *x.large, s = *x.small;
    int rc = 0;

    CTT_CHECK(scratch, CTT_ENOMEM, "%s: no memory to work in",
              q->call->node->name);
    if (is_view(&l)) {
        l = dense(&l, scratch, r->large);
        copy(q->dev, x.large, &l, 0);
    }
    if (is_view(&s)) {
        s = dense(&s, scratch, r->small);
        copy(q->dev, x.small, &s, 0);
    }
    CTT_TRY(set_data(p->large, l.data));
    CTT_TRY(set_data(p->small, s.data));
    CTT_TRY(set_data(p->weights, scratch + r->dw));
    CTT_TRY(set_data(p->bias, scratch + r->db));
    CTT_TRY(set_data(p->pad, scratch + r->pad));
    CTT_TRY(run_plan(q, p, p->prim, 4 + p->key.bias, (dnnl_exec_arg_t[]){
        { DNNL_ARG_SRC, p->large }, { DNNL_ARG_DIFF_DST, p->small },
        { DNNL_ARG_DIFF_WEIGHTS, p->weights },
        { DNNL_ARG_SCRATCHPAD, p->pad }, { DNNL_ARG_DIFF_BIAS, p->bias } }));
    CTT_TRY(add_weights(q, p, scratch));
out:
    return rc;
}

/* ---- the provider ---- */

/* Whether oneDNN has fast code is known only once the primitive is made. */
static int can(struct ctt_conv_ask *q)
{
    struct ctt_plan_key key;
    struct plan_cache *k;
    struct move m;
    int rc = 0;

    CTT_TRY((k = ctt_conv_own(q, sizeof(*k))) ? 0 : CTT_ENOMEM);
    if (q->part == CTT_CONV_DW) {
        key = weights_key(q->call);
    } else {
        m = move_of(q);
        key = move_key(q->call, &m);
    }
    CTT_TRY(find_plan(q, &key, &k->at[q->part]));
    rc = k->at[q->part]->prim != NULL;
    if (!rc)
        q->why = "has only reference code for it";
out:
    return rc;
}

static int run_any(void *arg)
{
    struct ctt_conv_ask *q = arg;
    const struct ctt_call *c = q->call;
    struct plan_cache *k = *q->own;
    struct ctt_plan *p = k->at[q->part];
    int up = c->node->op == CTT_OP_DECONV, rc = 0;

    q->code = p->impl;
    if (q->part == CTT_CONV_DW) {
        q->bias = p->key.bias;
        return run_weights(q, p);
    }
    CTT_TRY(run_move(q, p, move_of(q)));
    if (q->part == CTT_CONV_OUT && up && (c->w[1].t.data || c->act))
        ctt_cpu_of(q->dev)->isa->row_ops->finish(q->dev, &c->out,
                                                 c->w[1].t.data, c->act);
out:
    return rc;
}

/* An exception passes the place that sets the number of threads back. */
static int run(struct ctt_conv_ask *q)
{
    int rc = ctt_dnnl_try(run_any, q);

    if (rc < 0)
        omp_set_num_threads(q->dev->threads);
    return rc;
}

static int start(void *arg)
{
    struct ctt_onednn *o = arg;
    int rc = 0;

    CTT_DNNL(dnnl_engine_create(&o->engine, dnnl_cpu, 0));
    CTT_DNNL(dnnl_stream_create(&o->stream, o->engine,
                                dnnl_stream_default_flags));
out:
    return rc;
}

static int open_engine(struct ctt_dev *d, void **state)
{
    struct ctt_onednn *o = ctt_calloc(1, sizeof(*o));
    int rc = 0;

    (void)d;
    CTT_CHECK(o, CTT_ENOMEM, "no memory for oneDNN");
    *state = o;    /* close_engine() frees it */
    CTT_TRY(ctt_dnnl_try(start, o));
out:
    return rc;
}

static void close_engine(void *state)
{
    struct ctt_onednn *o = state;

    if (o->stream)
        dnnl_stream_destroy(o->stream);
    if (o->engine)
        dnnl_engine_destroy(o->engine);
    ctt_free(o);
}

static void forget(void *own)
{
    struct plan_cache *k = own;

    while (k->first) {
        struct ctt_plan *p = k->first;
        k->first = p->next;
        ctt_plan_free(&p);
    }
    ctt_free(k);
}

struct product { int n; const float *a, *b; float *c; };

static int multiply(void *arg)
{
    const struct product *p = arg;
    int n = p->n, rc = 0;

    CTT_DNNL(dnnl_sgemm('N', 'N', n, n, n, 1, p->a, n, p->b, n, 0, p->c, n));
out:
    return rc;
}

static int sgemm(struct ctt_dev *d, void *state, int n, const float *a,
                 const float *b, float *c)
{
    struct product p = { n, a, b, c };

    (void)d;
    (void)state;
    return ctt_dnnl_try(multiply, &p);
}

const struct ctt_conv_provider ctt_conv_onednn = {
    .name = "onednn", .open = open_engine, .close = close_engine, .can = can,
    .run = run, .forget = forget, .sgemm = sgemm,
};
