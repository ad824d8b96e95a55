/* SPDX-License-Identifier: Apache-2.0
 * onednn.c: the provider "onednn": conv and deconv by oneDNN.  Plans are made
 * at the first call of a shape and kept in the call's cache.  Views, which
 * oneDNN convolves with its reference code, are packed into scratch.  After
 * ctt_dev_deterministic() each share of a cut (onednn_cut.h) is a call of
 * oneDNN with one thread. */
#include "device/cpu/conv/onednn/onednn_shares.h"
#include "device/cpu/conv/providers.h"

#include <omp.h>
#include <string.h>

/* A call's cache; at: plans of the latest find_plans(). */
struct plan_cache {
    struct ctt_plan      *first;
    struct ctt_dnnl_found at[CTT_CONV_PARTS];
};

/* Copies x to y or, with add, adds it. */
static void copy_strided(struct ctt_dev *d, const struct ctt_tensor *x,
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

/* Moves the plan to the front of the list, so that the next new plan does not
 * evict it. */
static int find_plan(struct ctt_conv_ask *q, const struct ctt_plan_key *key,
                     struct ctt_plan **out)
{
    struct plan_cache *k = *q->own;
    struct ctt_plan **at = &k->first, *p;
    int rc = 0;

    while (*at && memcmp(&(*at)->key, key, sizeof(*key)) != 0)
        at = &(*at)->next;
    p = *at;
    if (!p) {
        rc = ctt_plan_new(q->state, key, &p);
        omp_set_num_threads(q->dev->threads);
        CTT_TRY(rc);
        add_plan(k, p);
    } else if (p != k->first) {
        *at = p->next;
        p->next = k->first;
        k->first = p;
    }
    *out = p;
out:
    return rc;
}

/* Threads for `work` ns.  A primitive of several threads takes the team from a
 * session (ctt_dnnl_execute()); all its kernels then wait for OpenMP's threads,
 * which sleep.  So work of less than SHORT ns gets one thread.  With
 * `deterministic` the plans have one thread each anyway (key.threads), and
 * shares run side by side. */
static int dnnl_threads(const struct ctt_dev *d, double work)
{
    enum { SHORT = 100000 };

    return d->team && !d->deterministic && work < SHORT ? 1
                                                        : ctt_dev_omp(d, work);
}

/* Finds or makes the plans of a part; key: of the whole part, without
 * threads. */
static int find_plans(struct ctt_conv_ask *q, struct ctt_plan_key key)
{
    struct plan_cache *k = *q->own;
    struct ctt_dnnl_found *f = &k->at[q->part];
    const struct ctt_fold whole = key.f;
    int team = dnnl_threads(q->dev, ctt_fold_work(&whole) / 64);
    int exact = q->dev->deterministic, rc = 0;

    f->cut = exact ? ctt_cut_exact(&whole) : ctt_cut_none(&whole);
    key.threads = exact ? 1 : team;
    key.lanes = f->cut.shares < team ? (int)f->cut.shares : team;
    key.team = team;
    for (int i = 0; i < 2; i++) {
        key.f = ctt_cut_fold(&f->cut, &whole,
                             ctt_cut_units(&f->cut, i ? f->cut.shares - 1
                                                      : 0));
        CTT_TRY(find_plan(q, &key, &f->plan[i]));
    }
    rc = f->plan[0]->prim && f->plan[1]->prim;
out:
    return rc;
}

static struct ctt_plan_key plan_key(const struct ctt_call *c,
                                    enum ctt_conv_way way,
                                    enum ctt_dtype type)
{
    struct ctt_plan_key key;

    memset(&key, 0, sizeof(key));
    key.f = ctt_fold(c, way);
    key.type = type;
    return key;
}

/* Weights in the primitive's layout, remade when they changed.  once: scratch
 * for those of a call that is alone. */
static int pack_weights(const struct ctt_conv_ask *q, struct ctt_plan *p,
                        void *once)
{
    const struct ctt_call *c = q->call;
    int rc = 0;

    if (!once && p->stamp == c->stamp && c->stamp)
        return 0;
    if (!once && !p->packed)
        p->packed = ctt_calloc(p->size.packed, 1);
    CTT_CHECK(once || p->packed, CTT_ENOMEM, "no memory for packed weights");
    for (int i = 0; i < p->key.lanes; i++)
        CTT_TRY(ctt_dnnl_set(p->lane[i].weights, once ? once : p->packed));
    CTT_TRY(ctt_dnnl_set(p->plain, c->w[0].t.data));
    CTT_TRY(ctt_dnnl_execute(q, p->reorder, p->key.team, p->lane, 2,
                    (dnnl_exec_arg_t[]){
        { DNNL_ARG_FROM, p->plain }, { DNNL_ARG_TO, p->lane->weights } }));
    p->stamp = once ? 0 : c->stamp;
out:
    return rc;
}

/* ---- y = conv x or its adjoint ---- */

struct move {
    enum ctt_conv_way        way;
    const struct ctt_tensor *x, *y, *plus, *bias;
    int                      act, add;
};

/* Arguments of the pass to the result or to the gradient of an input.  A
 * deconv's bias and activation follow in finish(), as does an activation that
 * no plan takes. */
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
    struct ctt_plan_key key = plan_key(c, m->way, m->x->dtype);

    key.act = ctt_plan_takes_act(m->act) ? m->act : 0;
    key.bias = m->bias && m->bias->data;
    key.plus = m->plus != NULL;
    key.here = m->plus && m->plus->data == m->y->data;
    return key;
}

static int share_move(struct ctt_dnnl_job *j, struct ctt_plan *p,
                      struct ctt_plan_lane *l, int64_t i)
{
    int to_small = p->key.f.way == CTT_TO_SMALL, n = 4, rc = 0;
    dnnl_exec_arg_t arg[6] = {
        { to_small ? DNNL_ARG_SRC : DNNL_ARG_DIFF_DST,
          to_small ? l->large : l->small },
        { to_small ? DNNL_ARG_DST : DNNL_ARG_DIFF_SRC,
          to_small ? l->small : l->large },
        { DNNL_ARG_WEIGHTS, l->weights },
        { DNNL_ARG_SCRATCHPAD, l->pad },
    };

    CTT_TRY(ctt_dnnl_set(arg[0].memory, ctt_dnnl_place(j, &j->x, i)));
    CTT_TRY(ctt_dnnl_set(arg[1].memory, ctt_dnnl_place(j, &j->y, i)));
    if (p->key.bias) {
        CTT_TRY(ctt_dnnl_set(l->bias, j->bias));
        arg[n++] = (dnnl_exec_arg_t){ DNNL_ARG_BIAS, l->bias };
    }
    if (p->key.plus && !p->sums) {
        CTT_TRY(ctt_dnnl_set(l->plus, ctt_dnnl_place(j, &j->plus, i)));
        arg[n++] = (dnnl_exec_arg_t){
            DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1, l->plus };
    }
    CTT_TRY(ctt_dnnl_execute(j->q, p->prim, p->key.threads, l, n, arg));
out:
    return rc;
}

/* Makes tensors dense if necessary, runs, and copies the result to its
 * tensor. */
static int run_move(const struct ctt_conv_ask *q,
                    const struct ctt_dnnl_found *f, struct move m)
{
    struct ctt_dev *d = q->dev;
    struct ctt_dnnl_job j = { .q = q, .f = f, .share = share_move, .x = *m.x,
                              .y = *m.y,
                              .bias = m.bias ? m.bias->data : NULL };
    struct ctt_tensor *packed[3];
    int plus = m.plus && is_view(m.plus), n = 0, rc = 0;

    if (m.plus)
        j.plus = *m.plus;
    if (is_view(m.x))
        packed[n++] = &j.x;
    if (is_view(m.y) || m.add)
        packed[n++] = &j.y;
    if (plus)
        packed[n++] = &j.plus;
    CTT_TRY(ctt_dnnl_scratch(&j, packed, n));
    if (is_view(m.x))
        copy_strided(d, m.x, &j.x, 0);
    if (plus)
        copy_strided(d, m.plus, &j.plus, 0);
    if (m.plus && (f->plan[0]->sums || f->plan[1]->sums) &&
        m.plus->data != j.y.data)
        copy_strided(d, m.plus, &j.y, 0);
    /* Scratch has no stamp that would stop the second packing of one plan. */
    for (int i = 0; i < (q->call->once && f->plan[0] == f->plan[1] ? 1 : 2);
         i++)
        CTT_TRY(pack_weights(q, f->plan[i], q->call->once ? j.packed[i]
                                                          : NULL));
    CTT_TRY(ctt_dnnl_shares(&j));
    if (j.y.data != m.y->data)
        copy_strided(d, &j.y, m.y, m.add);
out:
    return rc;
}

/* ---- weights ---- */

/* large: the tensor over which the kernel slides; small: the other one. */
struct pair { const struct ctt_tensor *large, *small; };

static struct pair pair_of(const struct ctt_call *c)
{
    return c->node->op == CTT_OP_DECONV
               ? (struct pair){ &c->dout, &c->in[0] }
               : (struct pair){ &c->in[0], &c->dout };
}

static struct ctt_plan_key weights_key(const struct ctt_call *c)
{
    struct ctt_plan_key key = plan_key(c, CTT_TO_WEIGHTS, c->dout.dtype);

    key.bias = c->node->op != CTT_OP_DECONV && c->dw[1].data;
    return key;
}

static char *share_sums(const struct ctt_dnnl_job *j, int64_t i)
{
    return j->sums + (size_t)i * j->sum;
}

static int share_weights(struct ctt_dnnl_job *j, struct ctt_plan *p,
                         struct ctt_plan_lane *l, int64_t i)
{
    int rc = 0;

    CTT_TRY(ctt_dnnl_set(l->large, ctt_dnnl_place(j, &j->x, i)));
    CTT_TRY(ctt_dnnl_set(l->small, ctt_dnnl_place(j, &j->y, i)));
    CTT_TRY(ctt_dnnl_set(l->weights, share_sums(j, i)));
    CTT_TRY(ctt_dnnl_set(l->bias, share_sums(j, i) + p->size.dw));
    CTT_TRY(ctt_dnnl_execute(j->q, p->prim, p->key.threads, l, 4 + p->key.bias,
                    (dnnl_exec_arg_t[]){
        { DNNL_ARG_SRC, l->large }, { DNNL_ARG_DIFF_DST, l->small },
        { DNNL_ARG_DIFF_WEIGHTS, l->weights }, { DNNL_ARG_SCRATCHPAD, l->pad },
        { DNNL_ARG_DIFF_BIAS, l->bias } }));
out:
    return rc;
}

/* Adds the gradients of share i to dw and db. */
static int add_share(const struct ctt_dnnl_job *j, int64_t i)
{
    const struct ctt_call *c = j->q->call;
    struct ctt_plan *p = ctt_dnnl_plan(j->f, i);
    struct ctt_tensor db = ctt_dnnl_dense(&c->dw[1],
                                          share_sums(j, i) + p->size.dw);
    int rc = 0;

    CTT_TRY(ctt_dnnl_set(p->plain, c->dw[0].data));
    CTT_TRY(ctt_dnnl_set(p->lane->weights, share_sums(j, i)));
    CTT_TRY(ctt_dnnl_execute(j->q, p->reorder, p->key.team, p->lane, 2,
                    (dnnl_exec_arg_t[]){
        { DNNL_ARG_FROM, p->lane->weights }, { DNNL_ARG_TO, p->plain } }));
    if (p->key.bias)
        copy_strided(j->q->dev, &db, &c->dw[1], 1);
out:
    return rc;
}

static int run_weights(const struct ctt_conv_ask *q,
                       const struct ctt_dnnl_found *f)
{
    struct pair x = pair_of(q->call);
    struct ctt_dnnl_job j = { .q = q, .f = f, .share = share_weights,
                              .x = *x.large, .y = *x.small };
    struct ctt_tensor *packed[2];
    int n = 0, rc = 0;

    if (is_view(x.large))
        packed[n++] = &j.x;
    if (is_view(x.small))
        packed[n++] = &j.y;
    CTT_TRY(ctt_dnnl_scratch(&j, packed, n));
    if (is_view(x.large))
        copy_strided(q->dev, x.large, &j.x, 0);
    if (is_view(x.small))
        copy_strided(q->dev, x.small, &j.y, 0);
    CTT_TRY(ctt_dnnl_shares(&j));
    for (int64_t i = 0; i < f->cut.shares; i++)
        CTT_TRY(add_share(&j, i));
out:
    return rc;
}

/* ---- the provider ---- */

/* 0 for values of 16 bits that no plan takes, or for which floats are as fast
 * or faster.  (Measured on an Intel Xeon with AMX: gradients of 1x1 kernels'
 * weights take 0.5 to 1 of the time, all else a tenth to 0.6.  Channels
 * that are no multiple of 8 are not tested.) */
static int takes_values(const struct ctt_conv_ask *q)
{
    const struct ctt_call *c = q->call;
    const struct ctt_tensor *w = &c->w[0].t, *x[3];
    int count = ctt_part_values(q, x), shorts = 0, fit = 0;

    for (int i = 0; i < count; i++) {
        shorts += x[i]->dtype != CTT_F32;
        fit += x[i]->dtype == CTT_BF16 && !is_view(x[i]);
    }
    if (!shorts)
        return 1;
    return fit == count && c->node->op == CTT_OP_CONV &&
           ctt_plan_takes_act(c->act) && !(c->add & 1) &&
           ctt_call_groups(c) == 1 && w->c % 8 == 0 && w->n % 8 == 0 &&
           (q->part == CTT_CONV_DW ? w->d * w->h * w->w > 1
                                   : w->dtype == CTT_BF16);
}

/* Makes the plans: only a primitive shows whether oneDNN has fast code. */
static int onednn_supports(struct ctt_conv_ask *q)
{
    struct ctt_plan_key key;
    struct move m;
    int rc = 0;

    if (!takes_values(q)) {
        q->why = "reads no such values";
        goto out;
    }
    CTT_TRY(ctt_conv_own(q, sizeof(struct plan_cache)) ? 0 : CTT_ENOMEM);
    if (q->part == CTT_CONV_DW) {
        key = weights_key(q->call);
    } else {
        m = move_of(q);
        key = move_key(q->call, &m);
    }
    rc = find_plans(q, key);
    if (!rc)
        q->why = "has only reference code for it";
out:
    return rc;
}

static int run_any(void *arg)
{
    struct ctt_conv_ask *q = arg;
    const struct ctt_call *c = q->call;
    const struct plan_cache *k = *q->own;
    const struct ctt_dnnl_found *f = &k->at[q->part];
    int up = c->node->op == CTT_OP_DECONV, act, rc = 0;
    const float *bias;

    q->code = f->plan[0]->impl;
    if (q->part == CTT_CONV_DW) {
        q->bias = f->plan[0]->key.bias;
        return run_weights(q, f);
    }
    CTT_TRY(run_move(q, f, move_of(q)));
    bias = up ? c->w[1].t.data : NULL;
    act = f->plan[0]->key.act ? 0 : c->act;
    if (q->part == CTT_CONV_OUT && (bias || act))
        ctt_cpu_of(q->dev)->isa->row_ops->finish(q->dev, &c->out, bias, act);
out:
    return rc;
}

/* Restores OpenMP's number of threads; exceptions are caught below this
 * function. */
static int onednn_run(struct ctt_conv_ask *q)
{
    int rc = ctt_dnnl_try(run_any, q);

    omp_set_num_threads(q->dev->threads);
    return rc;
}

static int create_engine(void *arg)
{
    struct ctt_onednn *o = arg;
    int rc = 0;

    CTT_DNNL(dnnl_engine_create(&o->engine, dnnl_cpu, 0));
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
    CTT_TRY(ctt_dnnl_try(create_engine, o));
out:
    return rc;
}

static void close_engine(void *state)
{
    struct ctt_onednn *o = state;

    if (o->engine)
        dnnl_engine_destroy(o->engine);
    ctt_free(o);
}

static void free_plans(void *own)
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

static int sgemm_guarded(void *arg)
{
    const struct product *p = arg;
    int n = p->n, rc = 0;

    CTT_DNNL(dnnl_sgemm('N', 'N', n, n, n, 1, p->a, n, p->b, n, 0, p->c, n));
out:
    return rc;
}

static int onednn_sgemm(struct ctt_dev *d, void *state, int n, const float *a,
                        const float *b, float *c)
{
    struct product p = { n, a, b, c };

    (void)d;
    (void)state;
    return ctt_dnnl_try(sgemm_guarded, &p);
}

const struct ctt_conv_provider ctt_conv_onednn = {
    .name = "onednn", .any_threads = 1, .reads = 1,
    .open = open_engine, .close = close_engine, .can = onednn_supports,
    .run = onednn_run,
    .forget = free_plans, .sgemm = onednn_sgemm,
};
