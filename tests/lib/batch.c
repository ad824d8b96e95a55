/* SPDX-License-Identifier: Apache-2.0
 * batch.c: models and batches of clips for the tests of the backward pass. */
#include "tests/lib/batch.h"
#include "tests/lib/check.h"

#include <math.h>
#include <string.h>

const struct batch_model batch_models[BATCH_MODELS] = {
    { "input x h=5 w=4 c=1\n"
      "convlstm l in=x hidden=3\n"
      "convlstm m in=l hidden=2\n"
      "conv y in=m out=1\n", 2 },

    { "input x h=5 w=6 c=1\n"              /* looks back over windows */
      "convttlstm l in=x hidden=2 kernel=3 order=3 steps=5 rank=2\n"
      "dropout d in=l rate=0.3\n"
      "convttlstm m in=d hidden=2 kernel=3 order=2 steps=2 rank=1\n"
      "concat s in=l,m\n"
      "conv y in=s out=1\n"
      "act p in=y kind=sigmoid\n", 2 },

    { "input x h=4 w=3 c=1\n"              /* so does a window op */
      "convlstm l in=x hidden=2\n"
      "clip\n"
      "window v in=l steps=3 every=2\n"
      "dropout u in=v rate=0.3\n"
      "conv q in=u out=3 kernel=3 pad=0,1,1\n"
      "act a in=q kind=tanh\n"
      "conv y in=a out=5 kernel=1,4,3\n", 2, 5 },

    { "input x h=3 w=2 c=3\n"              /* a window of a delayed value */
      "state x1 of=x\n"
      "deconv e in=x1 out=2 kernel=2 stride=2\n"
      "act f in=e kind=tanh\n"
      "state f2 of=f delay=2\n"
      "clip\n"
      "window v in=f2 steps=2\n"
      "conv y in=v out=2 kernel=2,6,4\n", 2, 3 },

    { "input x h=4 w=4 c=2\n"              /* states, sums, slices, a norm */
      "state x2 of=x delay=4\n"
      "mul m in=x,x2\n"
      "conv a in=m out=4 kernel=3 pad=1\n"
      "conv b in=x plus=a out=4 kernel=3 pad=1\n"
      "conv e in=x2 plus=b out=4\n"
      "norm o in=e kind=layer\n"
      "act f in=o kind=tanh\n"
      "state f3 of=f delay=3\n"
      "slice g in=f3 from=1 to=3\n"
      "slice h in=f from=2 to=4\n"
      "add v in=x,x2 bias=1\n"
      "add w in=x,x2 bias=1\n"
      "mul n in=v,w\n"
      "slice t in=n from=0 to=2\n"
      "mul k in=g,h\n"
      "add s in=k,g,t minus=1 bias=1\n"
      "pool q in=s kind=max kernel=2\n"
      "pool r in=q kind=avg\n"
      "conv y in=r out=3\n", 2 },

    { "input x h=4 w=6 c=2\n"              /* coarse, and back to full size */
      "halo a in=x up=1 down=1\n"
      "conv e in=a out=4 kernel=3 pad=0,0,1\n"
      "pool p in=e kind=avg kernel=2\n"
      "slice s in=p from=1 to=3\n"
      "convlstm l in=s hidden=3\n"
      "state l2 of=l delay=2\n"
      "upsample u in=l by=2\n"
      "upsample v in=l2 by=2\n"
      "upsample t in=s by=2\n"
      "conv f in=x plus=u out=3 kernel=3 pad=1\n"
      "concat k in=f,v,t\n"
      "collect q in=k of=channels all=8\n"
      "total r in=q\n"
      "conv y in=r out=2\n", 2 },

    { "input x h=4 w=5 c=2\n"              /* groups, in a loop and after it */
      "conv zx in=x out=8 kernel=3 pad=1 groups=2\n"
      "state h1 of=h like=x c=2\n"
      "conv zh in=h1 plus=zx out=8 kernel=3 pad=1 groups=2 bias=0\n"
      "conv z in=h1 plus=zh out=8 kernel=3 pad=1 bias=0\n"
      "state c1 of=c like=x c=2\n"
      "lstm h in=z,c1\n"
      "cell c in=h\n"
      "conv g in=h out=4 kernel=3 pad=1 groups=2\n"
      "clip\n"
      "window v in=g steps=3\n"
      "conv q in=v out=4 kernel=3 pad=0,1,1 groups=4\n"
      "act a in=q kind=tanh\n"
      "conv y in=a out=3 kernel=1,4,5\n", 2, 4 },

    { "input x h=4 w=5 c=2\n"              /* quantised values and weights */
      "quant xq in=x scale=0.01\n"
      "conv zx in=xq out=8 kernel=3 pad=1\n"
      "state h1 of=hq like=x c=2\n"
      "conv z in=h1 plus=zx out=8 kernel=3 pad=1 bias=0\n"
      "state c1 of=c like=x c=2\n"
      "lstm h in=z,c1\n"
      "cell c in=h\n"
      "quant hq in=h scale=0.0078125\n"
      "state h3 of=hq delay=3\n"
      "concat k in=hq,h3\n"
      "pool p in=k kind=max kernel=2\n"
      "clip\n"
      "window v in=p steps=3\n"
      "conv q in=v out=4 kernel=3,1,1 pad=1,0,0\n"
      "act a in=q kind=tanh\n"
      "quant aq in=a scale=0.0078125\n"
      "conv y in=aq out=3 kernel=1,2,2\n", 2, 4, .rounds = 1 },

    { "input x h=3 w=2 c=1\n"              /* windows of all steps */
      "convlstm l in=x hidden=2\n"
      "slice s in=l from=1 to=2\n"
      "clip\n"
      "window v in=l steps=2 spread=1\n"
      "window w in=l steps=3 spread=1\n"
      "window u in=s steps=2 every=2 fill=first\n"
      "conv a in=v out=3 kernel=2,1,1\n"
      "conv b in=w plus=a out=3 kernel=3,1,1\n"
      "conv d in=u plus=b out=3 kernel=2,1,1\n"
      "act f in=d kind=tanh\n"
      "conv y in=f out=4 kernel=1,3,2\n", 2, 6 },

    { "input x h=2 w=2 c=2\n"              /* the first value, delayed too */
      "conv e in=x out=3 kernel=3 pad=1\n"
      "act f in=e kind=tanh\n"
      "state f2 of=f delay=2\n"
      "clip\n"
      "window v in=f steps=4 every=2 fill=first\n"
      "window w in=f2 steps=4 fill=first\n"
      "window u in=f steps=4 spread=1\n"
      "concat k in=v,w,u\n"
      "conv y in=k out=3 kernel=4,2,2\n", 3, 7 },

    { "input x h=4 w=5 c=2\n"              /* states that begin with a value */
      "state x1 of=x fill=first\n"
      "add d in=x,x1 minus=1\n"
      "conv e in=d out=4 kernel=3 pad=1\n"
      "act f in=e kind=tanh\n"
      "state f1 of=f fill=first\n"
      "state f3 of=f delay=3 fill=first\n"
      "slice s in=f3 from=1 to=3\n"
      "conv a in=f1 out=8\n"
      "conv z in=s plus=a out=8\n"
      "lstm y in=z,s\n", 2 },

    { "input x h=3 w=2 c=2\n"              /* the first one is made late */
      "conv zx in=x out=8\n"
      "state h1 of=l like=zx c=2\n"
      "conv z in=h1 plus=zx out=8\n"
      "conv u in=x out=2\n"
      "conv e in=h1 plus=u out=2\n"
      "state s of=e fill=first\n"
      "lstm l in=z,s\n"
      "conv y in=l out=1\n", 2 },

    { "input x h=3 w=2 c=2\n"              /* in a loop, and shown */
      "conv zx in=x out=8\n"
      "state h1 of=l like=zx c=2\n"
      "conv z in=h1 plus=zx out=8\n"
      "state z2 of=z delay=2 fill=first\n"
      "state c1 of=c like=zx c=2\n"
      "add g in=z,z2\n"
      "lstm l in=g,c1\n"
      "cell c in=l\n"
      "clip\n"
      "window v in=z2 steps=4\n"
      "window u in=z steps=5\n"
      "conv p in=v out=3 kernel=4,1,1\n"
      "conv q in=u plus=p out=3 kernel=5,1,1\n"
      "act t in=q kind=tanh\n"
      "conv y in=t out=4 kernel=1,3,2\n", 2, 4 },

    { "input x h=5 w=6 c=2\n"              /* activations, softmax, gaps */
      "conv e in=x out=4 kernel=3 stride=2 after=1\n"
      "act f in=e kind=hswish\n"
      "conv d in=f out=4 kernel=3 pad=2 dilation=2 groups=4\n"
      "act g in=d kind=silu\n"
      "pool q in=g kind=avg\n"
      "conv s in=q out=4\n"
      "act t in=s kind=hsigmoid\n"
      "mul m in=g,t\n"
      "lrn n in=m size=3 alpha=0.5\n"
      "conv a in=n out=3\n"
      "act b in=a kind=gelu\n"
      "softmax o in=b over=positions\n"
      "mul r in=b,o\n"
      "convlstm l in=r hidden=3\n"
      "act k in=l kind=leaky slope=0.3\n"
      "clip\n"
      "window v in=k steps=3\n"
      "softmax u in=v over=channels\n"
      "conv y in=u out=4 kernel=3,2,3\n", 2, 4 },

    { "input x h=2 w=4 c=1\n"              /* attention over memories */
      "patch p in=x by=2\n"
      "state q of=p\n"
      "concat r in=q,p\n"
      "patch v in=r by=2,1,1 back=1\n"
      "e3dlstm l in=v hidden=2 kernel=2,1,3 steps=3 memory=m eps=0.3\n"
      "e3dlstm m in=l hidden=2 kernel=1 steps=2 memory=l eps=0.3\n"
      "groupnorm n in=m groups=2 eps=0.1\n"
      "conv o in=n out=4 kernel=2,1,1\n"
      "patch y in=o by=2 back=1\n", 2 },

    { "input x c=1\n"                      /* symbols, 0 and 1 */
      "embed e in=x vocab=2 out=3\n"
      "lstm l in=e hidden=4\n"
      "conv y in=l out=3\n", 2 },

    { "input x h=6 w=6 c=1\n"              /* running statistics */
      "conv e in=x out=2 kernel=3 pad=1\n"
      "resblock b in=e out=2\n"
      "lstm l in=b hidden=3\n"
      "pool q in=l kind=avg\n"
      "conv y in=q out=3\n", 2, .batch = 1 },

    { "input frame h=4 w=4 c=1\n"          /* its answers are fed back */
      "input seen c=1\n"
      "state back of=y like=frame c=1\n"
      "mix x in=frame,back,seen\n"
      "convttlstm l in=x hidden=3 kernel=3 order=2 steps=3 rank=2\n"
      "convlstm m in=l hidden=2\n"
      "concat s in=l,m\n"
      "conv o in=s out=1\n"
      "act y in=o kind=sigmoid\n"
      "input target h=4 w=4 c=1\n"
      "loss e in=y,target kind=mse\n", 3, .feedback = 4 },

    { "input frame c=5\n"
      "input seen c=1\n"
      "state back of=y like=frame c=5\n"
      "mix x in=frame,back,seen\n"
      "lstm l in=x hidden=4\n"
      "dropout d in=l rate=0.2\n"
      "conv y in=d out=5\n", 2, .feedback = 3 },

    { "input x h=3 w=2 c=2\n"              /* a mix of two values at hand */
      "input seen c=1\n"
      "conv a in=x out=2\n"
      "conv b in=x out=2\n"
      "mix u in=a,b,seen\n"
      "act f in=u kind=tanh\n"
      "conv y in=f out=1\n", 2, .feedback = 4 },
};

/* The most numbers per window, also in other tests. */
enum { NUMBERS = 1 << 17 };

void batch_input(const struct ctt_run *r, int node, int step, int clock)
{
    static float x[NUMBERS];
    int64_t n = r->slot[node].size;

    CU_ASSERT_FATAL(n <= NUMBERS);
    ctt_check_fill(x, n, 100 + (uint64_t)clock + 1000 * (uint64_t)node);
    for (int64_t i = 0; i < n && ctt_volume(&r->g->node[node].out) == 1; i++)
        x[i] = x[i] > 0.2f;
    CHECK_OK(ctt_run_put(r, node, step, x, n / r->g->node[node].out.c));
}

static int batch_give(void *arg, struct ctt_exec *x, const struct ctt_window *p)
{
    (void)arg;
    for (int i = 0; i < x->r->g->clip; i++)
        for (int t = 0; t < p->steps; t++)
            if (x->r->g->node[i].op == CTT_OP_INPUT)
                batch_input(x->r, i, t, p->first + t);
    return 0;
}

static int batch_take(void *arg, struct ctt_exec *x, const struct ctt_window *p)
{
    static float y[NUMBERS];
    struct batch *r = arg;
    int count = r->clip ? p->asks : p->steps;

    CU_ASSERT_FATAL(count * r->one <= NUMBERS);
    r->parts++;
    CHECK_OK(ctt_run_get(x->r, r->out, 0,
                         count * r->one / r->g->node[r->out].out.c, y));
    for (int i = 0; i < count; i++)
        memcpy(r->y + (r->clip ? p->which[i] : p->first + i) * r->one,
               y + i * r->one, (size_t)r->one * sizeof(float));
    return 0;
}

/* Overwrites the values that the backward pass must not read. */
static void poison(struct ctt_run *r, const struct ctt_window *p)
{
    int64_t n = ctt_extent_bytes(&r->extent[CTT_TRANSIENT], p->steps, p->asks);

    memset(r->base[CTT_TRANSIENT], 0xff, (size_t)n);    /* NaN of all types */
}

static int batch_seed(void *arg, struct ctt_exec *x, const struct ctt_window *p)
{
    static float dy[NUMBERS];
    const struct batch *r = arg;
    int count = r->clip ? p->asks : p->steps;

    CU_ASSERT_FATAL(count * r->one <= NUMBERS);
    if (r->poison)
        poison(x->r, p);
    for (int i = 0; i < count; i++)
        memcpy(dy + i * r->one,
               r->coef + (r->clip ? p->which[i] : p->first + i) * r->one,
               (size_t)r->one * sizeof(float));
    return ctt_exec_put_grad(x, r->out, 0, dy,
                             count * r->one / r->g->node[r->out].out.c);
}

static void batch_weights(const struct ctt_graph *g, float *w)
{
    ctt_check_fill(w, g->weights, 2);
    for (int64_t i = 0; i < g->weights; i++)
        w[i] *= 0.5f;
    for (int i = 0; i < g->count; i++)    /* variances are positive */
        for (int64_t j = 0; g->node[i].nw == 4 && j < g->node[i].out.c; j++)
            w[g->node[i].at[3] + j] += 1.5f;
}

int batch_open(struct batch *r, const struct batch_model *m, const char *device,
               int window, int keep)
{
    return batch_open_as(r, m, device, &(struct ctt_memory){
        .window = window, .keep = keep });
}

int batch_open_as(struct batch *r, const struct batch_model *m,
                  const char *device, const struct ctt_memory *memory)
{
    int rc;

    memset(r, 0, sizeof(*r));
    r->m = m;
    CTT_TRY(ctt_net_parse(m->text, &r->g));
    CTT_TRY(ctt_dev_open(device, 1, &r->dev));
    r->clip = r->g->clip < r->g->count;
    r->out = ctt_graph_output(r->g);
    r->one = ctt_volume(&r->g->node[r->out].out) * (r->clip ? 1 : m->n);
    r->answers = r->one * (r->clip ? m->asks : STEPS);
    r->w = ctt_calloc((size_t)r->g->weights, sizeof(float));
    r->y = ctt_calloc((size_t)r->answers, sizeof(float));
    r->coef = ctt_calloc((size_t)r->answers, sizeof(float));
    CTT_TRY(r->w && r->y && r->coef ? 0 : CTT_ENOMEM);
    batch_weights(r->g, r->w);
    ctt_check_fill(r->coef, r->answers, 1);
    CTT_TRY(ctt_exec_open(&(struct ctt_run_spec){
        .g = r->g, .dev = r->dev, .w = r->w, .samples = m->n, .steps = STEPS,
        .asks = m->asks }, memory, &r->x));
    r->x->r->key = 77;
    for (int i = 0; i < m->asks; i++)
        r->ask[i] = (struct ctt_ask){ i % m->n, (3 + 5 * i) % STEPS };
    r->job = (struct ctt_job){ .steps = STEPS,
        .feedback = m->feedback ? m->feedback : STEPS, .ask = r->ask,
        .asks = r->clip ? m->asks : 0, .arg = r, .give = batch_give,
        .take = batch_take, .seed = batch_seed };
out:
    return rc;
}

void batch_close(struct batch *r)
{
    ctt_exec_close(&r->x);
    ctt_free(r->w);
    ctt_free(r->y);
    ctt_free(r->coef);
    ctt_dev_close(&r->dev);
    ctt_graph_free(&r->g);
}

int batch_run(struct batch *r)
{
    int rc = 0;

    CTT_TRY(ctt_exec_forward(r->x, &r->job));
    CTT_TRY(ctt_exec_backward(r->x, &r->job));
out:
    return rc;
}

void batch_same(const struct batch *a, const struct batch *b, const char *what)
{
    struct ctt_memory_plan p = ctt_exec_plan(b->x);
    size_t weights = (size_t)a->g->weights * sizeof(float);
    int differ = memcmp(a->y, b->y, (size_t)a->answers * sizeof(float)) != 0 ||
                 memcmp(a->x->dw, b->x->dw, weights) != 0 ||
                 memcmp(a->w, b->w, weights) != 0;

    if (differ)
        printf("\n    %s, windows of %d steps, %d of %d kept:\n%s", what,
               p.window, p.kept, p.windows, a->m->text);
    CU_ASSERT(!differ);
}
