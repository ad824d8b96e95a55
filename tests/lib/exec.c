/* SPDX-License-Identifier: Apache-2.0
 * exec.c: models of all kinds, opened for the forward and backward pass. */
#include "tests/lib/exec.h"
#include "tests/lib/check.h"

#include <string.h>

const struct exec_model exec_models[EXEC_MODELS] = {
    { "input x h=5 w=4 c=1\n"
      "convlstm l0 in=x hidden=3\n"
      "conv y in=l0 out=1\n", 2 },

    { "input x h=5 w=6 c=1\n"
      "convttlstm l0 in=x hidden=2 kernel=3 order=3 steps=5 rank=2\n"
      "convttlstm l1 in=l0 hidden=2 kernel=3 order=2 steps=2 rank=1\n"
      "concat s in=l0,l1\n"
      "conv y in=s out=1\n"
      "act p in=y kind=sigmoid\n", 1 },

    { "input x c=4\n"
      "lstm l in=x hidden=5\n"
      "lstm m in=l hidden=3\n"
      "conv y in=m out=2\n", 3 },

    { "input x h=4 w=3 c=1\n"              /* asks at different steps */
      "convlstm l in=x hidden=2\n"
      "clip\n"
      "window v in=l steps=3 every=2\n"
      "conv q in=v out=3 kernel=3 pad=0,1,1\n"
      "act a in=q kind=tanh\n"
      "conv y in=a out=5 kernel=1,4,3\n", 2, 3 },

    { "input x h=3 w=3 c=2\n"              /* a window wider than the clip */
      "conv e in=x out=2\n"
      "act f in=e kind=tanh\n"
      "clip\n"
      "window v in=f steps=9\n"
      "conv y in=v out=2 kernel=9,3,3\n", 1, 2 },

    { "input x h=6 w=6 c=1\n"              /* residual, with batch norm */
      "conv e in=x out=2 kernel=3 pad=1\n"
      "resblock b in=e out=2\n"
      "resblock d in=b out=4 stride=2\n"
      "pool q in=d kind=avg\n"
      "conv y in=q out=3\n", 2 },

    { "input x h=4 w=4 c=2\n"              /* a delayed frame, in a free part */
      "state x2 of=x delay=2\n"
      "mul m in=x,x2\n"
      "conv e in=m out=4 kernel=3 pad=1\n"
      "norm o in=e kind=layer\n"
      "act f in=o kind=tanh\n"
      "state f1 of=f\n"
      "state f3 of=f delay=3\n"
      "add s in=f,f1,f3 bias=1\n"
      "pool q in=s kind=max kernel=2\n"
      "conv y in=q out=1 kernel=1,2,2\n", 2 },

    { "input x c=6\n"                      /* slices, dropout, a free window */
      "conv e in=x out=8\n"
      "slice a in=e from=0 to=4\n"
      "slice b in=e from=4 to=8\n"
      "act g in=b kind=sigmoid\n"
      "mul m in=a,g\n"
      "dropout d in=m rate=0.4\n"
      "reshape r in=d h=2 w=2 c=1\n"
      "conv z in=r out=2 kernel=2 pad=1\n"
      "clip\n"
      "window v in=z steps=2\n"
      "dropout u in=v rate=0.3\n"
      "pool q in=u kind=avg\n"
      "conv y in=q out=3\n", 3, 2 },

    { "input x h=2 w=2 c=2\n"              /* the answer is fed back */
      "state y1 of=y like=x c=2\n"
      "concat u in=x,y1\n"
      "dropout d in=u rate=0.3\n"
      "conv z in=d out=4\n"
      "norm o in=z kind=layer\n"
      "act a in=o kind=sigmoid\n"
      "add t in=a,a\n"
      "conv y in=t out=2\n", 2 },

    { "input x h=3 w=2 c=3\n"              /* a window of a delayed value */
      "state x1 of=x\n"
      "deconv e in=x1 out=2 kernel=2 stride=2\n"
      "act f in=e kind=tanh\n"
      "state f2 of=f delay=2\n"
      "clip\n"
      "window v in=f2 steps=2\n"
      "conv y in=v out=2 kernel=2,6,4\n", 2, 2 },

    { "input x h=4 w=5 c=4\n"              /* a pair's input is read late */
      "conv e in=x out=4 kernel=3 pad=1\n"
      "conv zx in=e out=4 kernel=3 pad=1\n"
      "conv t in=x out=4 kernel=3 pad=1\n"
      "conv u in=t out=4 kernel=3 pad=1\n"
      "state h1 of=h like=u c=4\n"
      "conv z in=h1 plus=zx out=4 kernel=3 pad=1\n"
      "mul m in=z,u\n"
      "act h in=m kind=tanh\n"
      "conv y in=h out=2\n", 2 },

    { "input x h=3 w=4 c=2\n"              /* sums that others read too */
      "conv a in=x out=4 kernel=3 pad=1\n"
      "conv b in=x plus=a out=4\n"
      "conv c in=x plus=b out=4\n"
      "conv d in=x plus=c out=4\n"
      "act f in=c kind=tanh\n"
      "conv g in=x out=4\n"
      "conv k in=f plus=g out=4\n"
      "mul m in=k,g\n"
      "conv o in=x out=4\n"
      "act q in=o kind=sigmoid\n"
      "conv s in=x plus=q out=4\n"
      "add y in=d,m,s\n", 2 },

    { "input x h=3 w=2 c=2\n"              /* gates free, only the cell bound */
      "conv z in=x out=8\n"
      "state c1 of=c like=z c=2\n"
      "lstm l in=z,c1\n"
      "cell c in=l\n"
      "conv y in=l out=1\n", 2 },

    { "input x h=3 w=2 c=2\n"              /* the old state is made late */
      "conv zx in=x out=8\n"
      "state h1 of=l like=zx c=2\n"
      "conv z in=h1 plus=zx out=8\n"
      "conv o in=h1 out=2\n"
      "lstm l in=z,o\n"
      "conv y in=l out=1\n", 2 },

    { "input x h=3 w=2 c=2\n"              /* the first one is made late */
      "conv zx in=x out=8\n"
      "state h1 of=l like=zx c=2\n"
      "conv z in=h1 plus=zx out=8\n"
      "conv u in=x out=2\n"
      "conv e in=h1 plus=u out=2\n"
      "state s of=e fill=first\n"
      "lstm l in=z,s\n"
      "conv y in=l out=1\n", 2 },

    { "input x h=3 w=2 c=2\n"              /* means over the steps */
      "conv e in=x out=3\n"
      "act f in=e kind=tanh\n"
      "average a in=f skip=1\n"
      "average b in=f steps=2\n"
      "concat k in=a,b\n"
      "conv y in=k out=2\n", 2 },

    { "input x h=3 w=2 c=2\n"              /* gates and old state free */
      "conv z in=x out=8\n"
      "conv o in=x out=2\n"
      "lstm l in=z,o\n"
      "conv y in=l out=1\n", 2 },

    { "input x h=3 w=2 c=2\n"              /* gates that others read too */
      "conv zx in=x out=8\n"
      "state h1 of=l like=zx c=2\n"
      "conv z in=h1 plus=zx out=8\n"
      "state c1 of=c like=zx c=2\n"
      "lstm l in=z,c1\n"
      "cell c in=l\n"
      "slice g in=z from=2 to=4\n"
      "add s in=l,g\n"
      "conv y in=s out=1\n", 2 },

    { "input x h=3 w=2 c=2\n"              /* a mix of two values at hand */
      "input seen c=1\n"
      "conv a in=x out=2\n"
      "conv b in=x out=2\n"
      "mix u in=a,b,seen\n"
      "act f in=u kind=tanh\n"
      "conv y in=f out=1\n", 2 },

    { "input x h=3 w=2 c=2\n"              /* windows of all steps */
      "convlstm l in=x hidden=3\n"
      "slice s in=l from=1 to=3\n"
      "clip\n"
      "window v in=s steps=2 spread=1\n"
      "window w in=l steps=3 spread=1\n"
      "conv a in=v out=3 kernel=2,1,1\n"
      "conv b in=w plus=a out=3 kernel=3,1,1\n"
      "act f in=b kind=tanh\n"
      "conv y in=f out=4 kernel=1,3,2\n", 2, 4 },

    { "input x h=2 w=2 c=2\n"              /* the first value, delayed too */
      "conv e in=x out=3 kernel=3 pad=1\n"
      "act f in=e kind=tanh\n"
      "state f2 of=f delay=2\n"
      "clip\n"
      "window v in=f steps=4 every=2 fill=first\n"
      "window w in=f2 steps=4 fill=first\n"
      "concat k in=v,w\n"
      "conv y in=k out=3 kernel=4,2,2\n", 2, 4 },

    { "input x h=4 w=5 c=2\n"              /* states that begin with a value */
      "state x1 of=x fill=first\n"
      "add d in=x,x1 minus=1\n"
      "conv e in=d out=3 kernel=3 pad=1\n"
      "act f in=e kind=tanh\n"
      "state f1 of=f fill=first\n"
      "state f3 of=f delay=3 fill=first\n"
      "slice s in=f3 from=1 to=3\n"
      "conv a in=f1 out=2\n"
      "conv z in=s plus=a out=2\n"
      "add y in=z,s\n", 2 },

    { "input x h=3 w=2 c=2\n"              /* in a loop, and shown */
      "conv zx in=x out=8\n"
      "state h1 of=l like=zx c=2\n"
      "conv z in=h1 plus=zx out=8\n"
      "state z2 of=z delay=2 fill=first\n"
      "state c1 of=c like=zx c=2\n"
      "add g in=z,z2\n"
      "lstm l in=g,c1\n"
      "cell c in=l\n"
      "state m of=z fill=first\n"
      "clip\n"
      "window v in=z2 steps=4\n"
      "window w in=m steps=4 fill=first\n"
      "window u in=z steps=5\n"
      "conv p in=v out=3 kernel=4,1,1\n"
      "conv q in=w plus=p out=3 kernel=4,1,1\n"
      "conv b in=u plus=q out=3 kernel=5,1,1 pad=0\n"
      "act t in=b kind=tanh\n"
      "conv y in=t out=4 kernel=1,3,2\n", 2, 4 },
};

float exec_coef[MOST];

void exec_inputs(const struct ctt_run *r, int step, int steps, int from)
{
    for (int i = 0; i < r->g->clip; i++)
        for (int t = 0; t < steps && r->g->node[i].op == CTT_OP_INPUT; t++)
            ctt_check_fill(ctt_run_value(r, i, step + t), r->slot[i].size,
                           100 + (uint64_t)(from + t) + 1000 * (uint64_t)i);
}

static int exec_give(void *arg, struct ctt_exec *x, const struct ctt_window *p)
{
    (void)arg;
    exec_inputs(x->r, 0, p->steps, p->first);
    return 0;
}

/* Copies the answers of a window to the clip's. */
static int exec_take(void *arg, struct ctt_exec *x, const struct ctt_window *p)
{
    const struct exec_rig *r = arg;
    const float *y = ctt_run_value(x->r, r->out, 0);
    int64_t one = r->clip ? r->volume / r->m->asks : r->volume;

    for (int i = 0; i < (r->clip ? p->asks : p->steps); i++)
        memcpy(r->y + (r->clip ? p->which[i] : p->first + i) * one,
               y + i * one, (size_t)one * sizeof(float));
    return 0;
}

static int exec_seed(void *arg, struct ctt_exec *x, const struct ctt_window *p)
{
    static float dy[MOST];
    const struct exec_rig *r = arg;
    int64_t one = r->clip ? r->volume / r->m->asks : r->volume;
    int count = r->clip ? p->asks : p->steps;

    for (int i = 0; i < count; i++)
        memcpy(dy + i * one,
               exec_coef + (r->clip ? p->which[i] : p->first + i) * one,
               (size_t)one * sizeof(float));
    return ctt_exec_put_grad(x, r->out, 0, dy,
                             count * one / x->r->g->node[r->out].out.c);
}

/* Weights of a batch norm: a positive variance, and offsets that keep the
 * following relu away from its kink, where differences would not be exact. */
static void fill_norm(const struct ctt_node *n, float *w)
{
    for (int64_t j = 0; j < n->out.c; j++) {
        w[n->at[0] + j] = 0.3f;
        w[n->at[1] + j] = j % 2 ? -2.5f : 2.5f;
        w[n->at[3] + j] += 1.5f;
    }
}

/* Weights far from saturation, for the same reason. */
static void exec_weights(const struct ctt_graph *g, float *w)
{
    ctt_check_fill(w, g->weights, 2);
    for (int64_t i = 0; i < g->weights; i++)
        w[i] *= 0.5f;
    for (int i = 0; i < g->count; i++)
        if (g->node[i].op == CTT_OP_NORM && g->node[i].nw == 4)
            fill_norm(&g->node[i], w);
}

int exec_rig_open(struct exec_rig *r, const struct exec_model *m,
                  const char *device)
{
    int rc;

    memset(r, 0, sizeof(*r));
    r->m = m;
    r->plain = strcmp(device, "ref") == 0;
    CTT_TRY(ctt_net_parse(m->text, &r->g));
    CTT_TRY(ctt_dev_open(device, 1, &r->dev));
    r->clip = r->g->clip < r->g->count;
    r->out = ctt_graph_output(r->g);
    r->volume = ctt_volume(&r->g->node[r->out].out) *
                (r->clip ? m->asks : m->n);
    r->w = ctt_calloc((size_t)r->g->weights, sizeof(float));
    CTT_TRY(r->w ? 0 : CTT_ENOMEM);
    exec_weights(r->g, r->w);
    CTT_TRY(ctt_exec_open(&(struct ctt_run_spec){
        .g = r->g, .dev = r->dev, .w = r->w, .samples = m->n, .steps = STEPS,
        .asks = m->asks }, NULL, &r->x));
    r->y = ctt_calloc((size_t)(r->volume * (r->clip ? 1 : STEPS)),
                      sizeof(float));
    CTT_TRY(r->y ? 0 : CTT_ENOMEM);
    r->x->r->key = 77;
    r->job = (struct ctt_job){ .steps = STEPS, .feedback = STEPS, .ask = r->ask,
                               .asks = r->clip ? m->asks : 0, .arg = r,
                               .give = exec_give, .take = exec_take,
                               .seed = exec_seed };
    for (int i = 0; i < m->asks; i++)    /* the last, then earlier ones */
        r->ask[i] = (struct ctt_ask){ i % m->n, STEPS - 1 - 2 * i };
out:
    return rc;
}

void exec_rig_close(struct exec_rig *r)
{
    ctt_exec_close(&r->x);
    ctt_free(r->y);
    ctt_free(r->w);
    ctt_dev_close(&r->dev);
    ctt_graph_free(&r->g);
}

int64_t exec_answers(const struct exec_rig *r)
{
    return r->volume * (r->clip ? 1 : STEPS);
}

const float *exec_forward(struct exec_rig *r)
{
    CHECK_OK(ctt_exec_forward(r->x, &r->job));
    return r->y;
}

int exec_backward(struct exec_rig *r)
{
    return ctt_exec_backward(r->x, &r->job);
}
