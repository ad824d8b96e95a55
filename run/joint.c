/* SPDX-License-Identifier: Apache-2.0
 * joint.c: the conv of a cell's gates with that of its plus input as one, on
 * devices that prefer it.  The memory of the plus input z.x = conv(x) holds the
 * joint input [x|a]: where z.x would run x is copied there, a is written there,
 * and z = conv(a) + z.x reads all of it.  Weights keep their places; a copy has
 * both kernels side by side. */
#include "run/joint.h"
#include "base/half.h"
#include "net/op.h"
#include "net/quant.h"

#include <string.h>

/* Narrow inputs of the loop fill tiles that the other input uses anyway. */
enum { NARROW = 16, EVEN = 8 };

static int same_conv(const struct ctt_graph *g, int x, int z)
{
    const struct ctt_node *a = &g->node[x], *b = &g->node[z];
    struct ctt_slide s = ctt_slide_of(a), t = ctt_slide_of(b);

    return a->op == CTT_OP_CONV && b->op == CTT_OP_CONV && !a->plus &&
           memcmp(&s, &t, sizeof(s)) == 0 && a->attr.conv.groups <= 1 &&
           b->attr.conv.groups <= 1 && a->nw == 2 && b->nw == 1 &&
           !a->fixed && !b->fixed && !a->frozen && !b->frozen &&
           !ctt_is_int8(g, x) && !ctt_is_int8(g, z);
}

/* 1 if conv z, which adds x, becomes one conv with it. */
static int joins(const struct ctt_run *r, const int *readers, int x, int z)
{
    const struct ctt_graph *g = r->g;
    int a = g->node[z].in[0];
    const struct ctt_slot *s = &r->slot[a];
    int from = g->node[x].in[0], wide = (int)g->node[from].out.c;

    return same_conv(g, x, z) && r->slot[z].plus_in_place &&
           r->slot[z].act < 0 && readers[x] == 1 && readers[a] == 1 &&
           s->alias == a && s->act < 0 && s->quant < 0 && s->history == 0 &&
           s->type == r->slot[z].type && ctt_is_float_type(s->type) &&
           ctt_ops[g->node[a].op].memory == CTT_COMPUTED &&
           g->node[a].op != CTT_OP_LSTM && s->ld == g->node[a].out.c &&
           s->ld <= NARROW && s->ld % EVEN == 0 && wide % EVEN == 0 &&
           ctt_dev_fuses(r->dev, CTT_FUSE_JOINT, &g->node[x], &g->node[z],
                         s->type);
}

/* 1 if both run in one component, with and without feedback. */
static int share_loop(const struct ctt_run *r, int a, int b)
{
    for (int f = 0; f < 2; f++)
        if (r->sched[f] && r->sched[f]->of[a] != r->sched[f]->of[b])
            return 0;
    return 1;
}

/* The lstm that reads z alone may add the bias of the gates, if its sums and
 * the gradient of z's weights come from the same calls: all steps or each. */
static int bias_lstm(const struct ctt_run *r, const int *readers, int z)
{
    for (int i = z; i < r->g->clip && readers[z] == 1; i++)
        if (r->g->node[i].op == CTT_OP_LSTM && r->g->node[i].in[0] == z &&
            r->g->node[i].out.c % EVEN == 0 && share_loop(r, z, i))
            return i;
    return -1;
}

/* Moves the memory of a, and of its names, behind x in that of the plus
 * input. */
static void share_memory(struct ctt_run *r, const struct ctt_joint *j)
{
    int at = (int)r->g->node[j->copy.in[0]].out.c;
    struct ctt_slot *x = &r->slot[j->x];

    x->alias = j->x;
    x->ld = j->wide;
    for (int i = 0; i < r->g->count; i++)
        if (r->slot[i].alias == j->a) {
            r->slot[i].alias = j->x;
            r->slot[i].off += at;
            r->slot[i].ld = j->wide;
        }
}

/* No other fusion takes these nodes along. */
static void drop_fusions(struct ctt_run *r, const struct ctt_joint *j)
{
    r->slot[j->z].pair = r->slot[j->z].lstm = -1;
    r->slot[j->x].fused_into = -1;
    if (j->lstm >= 0)
        r->slot[j->lstm].fused_into = -1;
}

static void add_joint(struct ctt_run *r, const int *readers, int x, int z)
{
    struct ctt_joint *j = &r->joint[r->joints];
    const struct ctt_node *n = &r->g->node[x];

    j->x = x;
    j->z = z;
    j->a = r->g->node[z].in[0];
    j->wide = r->g->node[n->in[0]].out.c + r->g->node[j->a].out.c;
    j->copy = (struct ctt_node){ .op = CTT_OP_ADD, .nin = 1, .cell = -1,
                                 .source = -1, .in = { n->in[0] } };
    snprintf(j->copy.name, sizeof(j->copy.name), "%s", n->name);
    j->lstm = bias_lstm(r, readers, z);
    drop_fusions(r, j);
    share_memory(r, j);
    r->slot[x].joint = r->slot[z].joint = ++r->joints;
    if (j->lstm >= 0)
        r->slot[j->lstm].joint = r->joints;
}

int ctt_layout_join(struct ctt_run *r, const int *readers)
{
    int rc = 0;

    r->joint = ctt_calloc((size_t)r->g->count, sizeof(*r->joint));
    CTT_TRY(r->joint ? 0 : CTT_ENOMEM);
    for (int z = 0; z < r->g->clip; z++)
        if (r->g->node[z].op == CTT_OP_CONV && r->g->node[z].plus &&
            joins(r, readers, r->g->node[z].in[1], z))
            add_joint(r, readers, r->g->node[z].in[1], z);
out:
    return rc;
}

/* ---- memory ---- */

static const struct ctt_tensor *plain_kernel(const struct ctt_run *r, int node)
{
    return &r->g->node[node].w[0];
}

/* The joint kernel, or its gradient. */
static struct ctt_tensor joint_kernel(const struct ctt_run *r,
                                const struct ctt_joint *j, void *data,
                                enum ctt_dtype type)
{
    struct ctt_tensor t = *plain_kernel(r, j->z);

    t.c = t.ld = j->wide;
    t.data = data;
    t.dtype = type;
    return t;
}

/* The type of the joint kernel's gradient: that of a kernel of one tap is one
 * matrix product, whose sums over all pixels need not fit fp16. */
static enum ctt_dtype joint_slope_type(const struct ctt_run *r,
                                       const struct ctt_joint *j)
{
    const struct ctt_tensor *w = plain_kernel(r, j->z);

    return w->d * w->h * w->w == 1 ? CTT_F32 : r->slot[j->z].type;
}

int ctt_joint_open(struct ctt_run *r)
{
    int rc = 0;

    for (int k = 0; k < r->joints; k++) {
        struct ctt_joint *j = &r->joint[k];
        struct ctt_tensor t = joint_kernel(r, j, NULL, r->slot[j->z].type);
        void *p;

        CTT_TRY(ctt_dev_alloc(r->dev, "joint kernels", ctt_volume(&t) *
                              ctt_dtype_size(t.dtype), &p));
        j->w = p;
        CTT_TRY(ctt_dev_alloc(r->dev, "joint kernels", ctt_volume(&t) *
                              ctt_dtype_size(joint_slope_type(r, j)), &p));
        j->dw = p;
        if (j->lstm < 0)
            continue;
        CTT_TRY(ctt_dev_alloc(r->dev, "sums", r->room * CTT_SUM_PARTS * t.n *
                              (int64_t)sizeof(float), &p));
        j->part = p;
    }
out:
    return rc;
}

void ctt_joint_close(struct ctt_run *r)
{
    for (int k = 0; r->joint && k < r->joints; k++) {
        void *w = r->joint[k].w, *dw = r->joint[k].dw;
        void *part = r->joint[k].part;

        ctt_dev_free(r->dev, &part);
        ctt_dev_free(r->dev, &w);
        ctt_dev_free(r->dev, &dw);
    }
    ctt_free(r->joint);
}

/* ---- kernels ---- */

/* A call that copies or, back, adds the channels of a joint kernel that belong
 * to conv `node`. */
static struct ctt_call part_of(const struct ctt_run *r,
                               const struct ctt_joint *j, int node, void *own,
                               enum ctt_dtype type, void *joint)
{
    int64_t off = node == j->x ? 0 : plain_kernel(r, j->x)->c;
    struct ctt_call c = { .node = &j->copy };

    c.in[0] = *plain_kernel(r, node);
    c.in[0].dtype = type;
    c.in[0].data = own;
    c.out = c.in[0];
    c.out.ld = j->wide;
    c.out.data = (char *)joint + off * ctt_dtype_size(type);
    return c;
}

int ctt_joint_weights(struct ctt_run *r)
{
    int rc = 0;

    for (int k = 0; k < 2 * r->joints && r->w; k++) {
        struct ctt_joint *j = &r->joint[k / 2];
        int node = k % 2 ? j->z : j->x;
        int64_t at = r->g->node[node].at[0];
        enum ctt_dtype type = r->slot[j->z].type;
        int half = type != CTT_F32 && r->w16;
        const void *own = half ? (const void *)((const uint16_t *)r->w16 + at)
                               : r->w + at;
        struct ctt_call c = part_of(r, j, node, (void *)(uintptr_t)own, type,
                                    j->w);

        c.in[0].dtype = half ? type : CTT_F32;
        CTT_TRY(ctt_dev_run(r->dev, &c, CTT_FWD));
    }
out:
    return rc;
}

int ctt_joint_give(const struct ctt_run *r, int node, float *dw)
{
    const struct ctt_joint *j = ctt_joint_of(r, node);
    int rc = 0;

    for (int k = 0; k < 2; k++) {
        int of = k ? j->z : j->x;
        struct ctt_call c = part_of(r, j, of, dw + r->g->node[of].at[0],
                                    joint_slope_type(r, j), j->dw);

        c.in[0].dtype = CTT_F32;
        c.din[0] = c.in[0];
        c.dout = c.out;
        c.add = 1;
        CTT_TRY(ctt_dev_run(r->dev, &c, CTT_BWD));
    }
out:
    return rc;
}

/* ---- calls ---- */

int ctt_joint_copies(const struct ctt_run *r, int node)
{
    const struct ctt_joint *j = ctt_joint_of(r, node);

    return j && j->x == node;
}

int ctt_joint_convolves(const struct ctt_run *r, int node)
{
    const struct ctt_joint *j = ctt_joint_of(r, node);

    return j && j->z == node;
}

static struct ctt_weight joint_bias(const struct ctt_run *r,
                                 const struct ctt_joint *j)
{
    return r->weight[j->x][1];
}

void ctt_joint_bind(const struct ctt_run *r, int node, struct ctt_call *c)
{
    const struct ctt_joint *j = ctt_joint_of(r, node);
    const struct ctt_tensor *x = &r->g->node[j->copy.in[0]].out;

    if (node == j->x) {
        c->node = &j->copy;
        c->out.c = x->c;
        memset(c->w, 0, sizeof(c->w));
        c->act = 0;
        return;
    }
    if (node == j->lstm) {
        c->w[0] = joint_bias(r, j);
        return;
    }
    c->in[0].data = (char *)c->in[0].data - x->c *
                    ctt_dtype_size(c->in[0].dtype);
    c->in[0].c = c->in[0].ld = j->wide;
    c->in[1].data = NULL;
    c->w[0].t = joint_kernel(r, j, j->w, r->slot[node].type);
    if (j->lstm < 0)
        c->w[1] = joint_bias(r, j);
}

void ctt_joint_bind_dw(const struct ctt_run *r, int node, float *dw,
                       struct ctt_call *c)
{
    const struct ctt_joint *j = ctt_joint_of(r, node);

    c->dw[0] = joint_kernel(r, j, j->dw, joint_slope_type(r, j));
    c->sets = 1;
    if (j->lstm >= 0)
        return;
    c->dw[1] = r->g->node[j->x].w[1];
    c->dw[1].data = dw + r->g->node[j->x].at[1];
}

int ctt_joint_sums(const struct ctt_run *r, int node)
{
    const struct ctt_joint *j = ctt_joint_of(r, node);

    return j && j->lstm == node;
}

void ctt_joint_bind_sums(const struct ctt_run *r, int node, int k, float *dw,
                         struct ctt_call *c)
{
    const struct ctt_joint *j = ctt_joint_of(r, node);

    c->dw[0] = (struct ctt_tensor){ .data = j->part, .n = k };
    if (dw)
        c->dw[1].data = dw + r->g->node[j->x].at[1];
}
