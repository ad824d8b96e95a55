/* SPDX-License-Identifier: Apache-2.0
 * amp_measure.c: trains some steps in fp32 and counts the magnitudes of all
 * results and gradients. */
#include "libtrain/doctor/amp_measure.h"
#include "device/device.h"
#include "device/memory.h"
#include "libtrain/amp.h"
#include "libtrain/before.h"
#include "net/op.h"

#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <string.h>

/* ---- magnitudes ---- */

/* Powers of two: the first that is infinite, the least that has all digits, and
 * the least that rounds to a number other than 0. */
struct range { int over, normal, least; };
static const struct range ranges[] = {
    [CTT_F16] = { 16, -14, -25 }, [CTT_BF16] = { 128, -126, -134 },
};

void ctt_magnitudes_add(struct ctt_magnitudes *m, const float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        if (x[i] == 0)
            m->zeros++;
        else if (!isfinite(x[i]))
            m->infinite++;
        else
            m->of[ilogbf(x[i]) - CTT_POWER_LEAST]++;
    }
}

static int most_of(const struct ctt_magnitudes *m)
{
    for (int k = CTT_POWERS - 1; k >= 0; k--)
        if (m->of[k])
            return k + CTT_POWER_LEAST;
    return INT_MIN;
}

struct ctt_magnitude_shares
ctt_magnitudes_in(const struct ctt_magnitudes *m, enum ctt_dtype type,
                  int power)
{
    const struct range *r = &ranges[type];
    struct ctt_magnitude_shares s = { .over = (double)m->infinite,
                                      .most = most_of(m) };
    double all = s.over;

    for (int k = 0; k < CTT_POWERS; k++) {
        int e = k + CTT_POWER_LEAST + power;

        all += (double)m->of[k];
        *(e >= r->over ? &s.over : e < r->least ? &s.lost :
          e < r->normal ? &s.subnormal : &(double){ 0 }) += (double)m->of[k];
    }
    if (all > 0) {
        s.over /= all;
        s.lost /= all;
        s.subnormal /= all;
    }
    return s;
}

/* The largest power of two of a loss scale that starts at 2^24. */
static int largest_power(const struct ctt_amp_measured *a,
                         const struct ctt_amp_plan *p, int nodes)
{
    int power = 24, over = ranges[a->type].over;

    for (int i = 0; i < nodes; i++) {
        int most = most_of(&a->gradient[i]);

        if (p->type[i] == a->type && most != INT_MIN && most + power >= over)
            power = over - 1 - most;
    }
    return power > 0 ? power : 0;
}

/* ---- steps that are watched ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    const struct ctt_graph  *g;
    struct ctt_amp_measured *to;
    int                      rc;
} under_way;

static void count_tensor(struct ctt_dev *d, const struct ctt_tensor *t,
                         struct ctt_magnitudes *to)
{
    int64_t n = t->data ? ctt_volume(t) : 0;
    float *x = n ? ctt_calloc((size_t)n, sizeof(*x)) : NULL;
    int rc = n && !x ? CTT_ENOMEM : 0;

    if (x)
        rc = ctt_dev_get(d, t, x);
    if (x && rc >= 0)
        ctt_magnitudes_add(to, x, n);
    ctt_free(x);
    if (rc < 0)
        under_way.rc = rc;
}

/* The gradient that a node reads is whole.  Behind it another may be in the
 * same memory. */
static int is_replaced(const struct ctt_call *c)
{
    for (int k = 0; k < c->node->nin; k++)
        if (c->din[k].data == c->dout.data)
            return 1;
    return 0;
}

static void count_node(struct ctt_dev *d, const struct ctt_node *n,
                       const struct ctt_tensor *t, struct ctt_magnitudes *of)
{
    int i = ctt_graph_find(under_way.g, n->name);

    if (i >= 0)
        count_tensor(d, t, &of[i]);
}

/* The same of the memory cells of an LSTM, which are a node behind it. */
static void count_cells(struct ctt_dev *d, const struct ctt_node *n,
                        const struct ctt_tensor *t, struct ctt_magnitudes *of)
{
    const struct ctt_graph *g = under_way.g;
    int lstm = ctt_graph_find(g, n->name);

    for (int i = 0; i < g->count && t->data; i++)
        if (g->node[i].op == CTT_OP_CELL && g->node[i].in[0] == lstm)
            count_tensor(d, t, &of[i]);
}

static void on_call(struct ctt_dev *d, const struct ctt_call *c,
                    enum ctt_pass pass, double start, double end)
{
    struct ctt_amp_measured *to = under_way.to;

    (void)start;
    (void)end;
    pthread_mutex_lock(&lock);
    if (pass == CTT_FWD) {
        count_node(d, c->node, &c->out, to->result);
        count_cells(d, c->node, &c->also, to->result);
        if (c->lstm.node) {
            count_node(d, c->lstm.node, &c->lstm.h, to->result);
            count_cells(d, c->lstm.node, &c->lstm.c, to->result);
        }
    } else if (ctt_ops[c->node->op].list != CTT_FLOATS && !is_replaced(c)) {
        count_node(d, c->node, &c->dout, to->gradient);
        count_cells(d, c->node, &c->dalso, to->gradient);
    }
    pthread_mutex_unlock(&lock);
}

static void on_step(void *arg, const struct ctt_progress *p)
{
    ((struct ctt_amp_measured *)arg)->steps = (int)p->step;
}

static int watch_steps(struct ctt_model *m, const struct ctt_train_cfg *cfg,
                       const struct ctt_graph *g, struct ctt_data *d,
                       struct ctt_amp_measured *out)
{
    struct ctt_train_cfg c = ctt_cfg_trial(cfg);
    const struct ctt_events ev = { .arg = out, .progress = on_step };
    struct ctt_result r;
    int rc;

    c.warmup = cfg->warmup;
    c.amp = CTT_O0;
    c.loss_scale = NULL;
    c.epochs = c.max_steps = CTT_AMP_STEPS;
    under_way.g = g;
    under_way.to = out;
    under_way.rc = 0;
    ctt_dev_watch(on_call);
    rc = ctt_train(m, &c, d, NULL, &ev, &r);
    ctt_dev_watch(NULL);
    CTT_TRY(rc);
    CTT_CHECK(!r.stopped, CTT_ESTOP, "stopped");
    rc = under_way.rc;
out:
    return rc;
}

int ctt_amp_measure(const struct ctt_model *m, const struct ctt_train_cfg *cfg,
                    const struct ctt_graph *g, const struct ctt_amp_plan *p,
                    struct ctt_data *d, struct ctt_amp_measured *out)
{
    struct ctt_model *copy = NULL;
    struct ctt_scale scale;
    size_t n = (size_t)g->count;
    int rc;

    memset(out, 0, sizeof(*out));
    out->type = ctt_amp_type(cfg);
    out->result = ctt_calloc(n, sizeof(*out->result));
    out->gradient = ctt_calloc(n, sizeof(*out->gradient));
    CTT_TRY(out->result && out->gradient ? 0 : CTT_ENOMEM);
    CTT_TRY(ctt_model_copy(m, &copy));
    CTT_TRY(watch_steps(copy, cfg, g, d, out));
    CTT_TRY(ctt_scale_begin(cfg, &scale));
    out->dynamic = scale.dynamic;
    out->power = scale.dynamic ? largest_power(out, p, g->count)
                               : ilogb(scale.scale);
out:
    ctt_model_free(&copy);
    if (rc < 0)
        ctt_amp_measured_free(out);
    return rc;
}

void ctt_amp_measured_free(struct ctt_amp_measured *a)
{
    ctt_free(a->result);
    ctt_free(a->gradient);
    memset(a, 0, sizeof(*a));
}
