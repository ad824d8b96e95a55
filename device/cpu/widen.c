/* SPDX-License-Identifier: Apache-2.0
 * widen.c: runs an fp32 kernel on a call with tensors of 16 bits or of bytes:
 * on fp32 copies, of as many samples at a time as fit into a cache. */
#include "device/cpu/cast.h"
#include "device/cpu/cpu.h"
#include "device/cpu/widen.h"
#include "base/half.h"
#include "net/op.h"

/* Bytes of the copies.  (Measured on convs: 0.5 to 2 MB are alike, 16 MB up to
 * a third slower; fewer samples than this make small layers slow.) */
enum { BYTES = 2 << 20 };

/* 1 if the call cannot be divided into parts. */
static int is_indivisible(const struct ctt_call *c)
{
    enum ctt_together t = ctt_ops[c->node->op].together(c->node);

    return t == CTT_NUMBERS || (c->train && t != CTT_PARTS);
}

/* 1 if the unit of a part is a row, so that one large image is split too; 0: a
 * sample. */
static int by_rows(const struct ctt_call *c)
{
    return ctt_ops[c->node->op].reach == CTT_REACH_ROW && !is_indivisible(c);
}

/* 1 if the kernel may write its result over its first input (backward: the
 * gradient of that input over that of the result). */
static int may_overwrite(const struct ctt_call *c, enum ctt_pass pass)
{
    if (pass == CTT_BWD && c->add & 1)
        return 0;
    return ctt_ops[c->node->op].in_place(c->node, pass == CTT_BWD);
}

/* ---- copies ---- */

/* 1 for a max pool of bytes, whose result has the same scale and zero. */
static int is_pool_of_bytes(const struct ctt_call *c)
{
    return c->node->op == CTT_OP_POOL &&
           c->node->attr.pool.kind == CTT_POOL_MAX &&
           ctt_is_bytes(&c->in[0]) && ctt_is_bytes(&c->out);
}

/* 1 if the kernel itself reads or writes bytes: a conv or max pool of quantised
 * values, and quant. */
static int kernel_takes(const struct ctt_call *c, const struct ctt_tensor *t)
{
    if (!ctt_is_bytes(t))
        return t->dtype == CTT_F32;
    if (is_pool_of_bytes(c))
        return 1;
    if (t == &c->out)
        return c->node->op == CTT_OP_QUANT || ctt_call_is_int8(c);
    if (t == &c->in[1])
        return ctt_call_is_int8(c);    /* a conv's plus input */
    return c->node->op == CTT_OP_CONV && (t == &c->in[0] || t == &c->pair.in);
}

/* 1 if the kernel needs a copy of the tensor in floats. */
static int is_short(const struct ctt_call *c, const struct ctt_tensor *t)
{
    return t->data && !kernel_takes(c, t);
}

enum { READ = 1, WRITE = 2 };

/* A tensor of the call and its counterpart in the kernel's call.  If it needs a
 * copy, the counterpart is in the memory of copy number `room`: `each` floats
 * per unit, from offset `at`. */
struct copy {
    const struct ctt_tensor *from;
    struct ctt_tensor       *to, part;
    int                      use, room;
    int64_t                  each, at;
};

struct widening {
    const struct ctt_call *c;
    struct ctt_call        wide;
    int                    by_rows, count;
    int64_t                units, step, weights;
    struct copy            copy[2 * CTT_MAX_IN + 4];
};

static int64_t rows_each(const struct widening *j, const struct ctt_tensor *t)
{
    return j->by_rows ? 1 : ctt_rows(t) / t->n;
}

static int same_memory(const struct ctt_tensor *a, const struct ctt_tensor *b)
{
    return a->data == b->data && a->c == b->c && a->ld == b->ld;
}

/* Adds a copy.  Tensors with common memory have common memory in the kernel's
 * call too. */
static void add_copy(struct widening *j, const struct ctt_tensor *from,
                     struct ctt_tensor *to, int use)
{
    struct copy *p = &j->copy[j->count];

    if (!from->data)
        return;
    *p = (struct copy){ .from = from, .to = to, .use = use, .room = -1 };
    if (is_short(j->c, from) && use) {
        p->room = j->count;
        p->each = rows_each(j, from) * from->c;
    }
    for (int i = 0; i < j->count && is_short(j->c, from); i++)
        if (j->copy[i].room == i && same_memory(j->copy[i].from, from)) {
            p->room = i;
            p->each = 0;
        }
    j->count++;
}

/* Lets the last copy share the memory of the copy of `from`. */
static void share_last(struct widening *j, const struct ctt_tensor *from)
{
    struct copy *p = &j->copy[j->count - 1];

    for (int i = 0; i < j->count - 1; i++)
        if (j->copy[i].from == from && j->copy[i].room >= 0 &&
            p->room == j->count - 1) {
            p->room = j->copy[i].room;
            p->each = 0;
        }
}

static void take_forward(struct widening *j)
{
    const struct ctt_call *c = j->c;

    for (int k = 0; k < c->node->nin; k++)
        add_copy(j, &c->in[k], &j->wide.in[k], READ);
    add_copy(j, &c->out, &j->wide.out, WRITE);
    if (c->out.data && may_overwrite(c, CTT_FWD))
        share_last(j, &c->in[0]);
    add_copy(j, &c->also, &j->wide.also, WRITE);
}

static unsigned inputs_read(const struct ctt_call *c)
{
    unsigned din = 0;

    for (int k = 0; k < c->node->nin; k++)
        din |= c->din[k].data ? 1u << k : 0;
    return ctt_ops[c->node->op].reads(c->node, din, c->dw[0].data != NULL);
}

/* Use of input gradient k: none for a conv's plus input whose gradient shares
 * memory with the result's, as it is complete already. */
static int use_of_din(const struct ctt_call *c, int k)
{
    if (c->node->op == CTT_OP_CONV && k == 1 &&
        c->din[1].data == c->dout.data)
        return 0;
    return WRITE | (c->add >> k & 1 ? READ : 0);
}

static void take_backward(struct widening *j)
{
    const struct ctt_call *c = j->c;
    unsigned read = inputs_read(c);

    for (int k = 0; k < c->node->nin; k++)
        add_copy(j, &c->in[k], &j->wide.in[k], read >> k & 1 ? READ : 0);
    add_copy(j, &c->out, &j->wide.out, read & CTT_READS_OUT ? READ : 0);
    add_copy(j, &c->also, &j->wide.also, 0);
    add_copy(j, &c->dalso, &j->wide.dalso, READ);
    add_copy(j, &c->dout, &j->wide.dout, READ);
    for (int k = 0; k < c->node->nin; k++) {
        add_copy(j, &c->din[k], &j->wide.din[k], use_of_din(c, k));
        if (k == 0 && c->din[0].data && may_overwrite(c, CTT_BWD))
            share_last(j, &c->dout);
    }
}

/* ---- the parts ---- */

/* Chooses the size of the parts, equal but for the last one, so that kernels'
 * plans for a shape are reused; returns the floats of all copies. */
static int64_t plan_parts(struct widening *j)
{
    int64_t floats = 0, most = j->units, parts, at = j->weights;

    for (int i = 0; i < j->count; i++)
        floats += j->copy[i].each;
    if (floats > 0 && !is_indivisible(j->c))
        most = BYTES / (int64_t)sizeof(float) / floats;
    most = most < 1 ? 1 : most > j->units ? j->units : most;
    parts = (j->units + most - 1) / most;
    j->step = (j->units + parts - 1) / parts;
    for (int i = 0; i < j->count; i++) {
        j->copy[i].at = at;
        at += ctt_align(j->copy[i].each * j->step, 16);
    }
    return at;
}

static struct ctt_tensor part_tensor(const struct widening *j,
                                     const struct ctt_tensor *t, int64_t from,
                                     int64_t n)
{
    struct ctt_tensor p = *t;

    p.data = (char *)t->data + from * rows_each(j, t) * t->ld *
                               ctt_dtype_size(t->dtype);
    p.n = n;
    if (j->by_rows)
        p.d = p.h = p.w = 1;
    return p;
}

/* 1 if an earlier copy has the same memory and use as the i-th. */
static int is_copied(const struct widening *j, int i, int use)
{
    for (int k = 0; k < i; k++)
        if (j->copy[k].room == j->copy[i].room && j->copy[k].use & use)
            return 1;
    return 0;
}

/* Sets the tensors of n units from `from` on, short ones as fp32 copies. */
static void load_part(struct ctt_dev *d, struct widening *j, float *room,
                      int64_t from, int64_t n)
{
    for (int i = 0; i < j->count; i++) {
        struct copy *p = &j->copy[i];
        float *mine = room + j->copy[p->room < 0 ? i : p->room].at;

        p->part = *p->to = part_tensor(j, p->from, from, n);
        if (p->room < 0)
            continue;
        p->to->data = mine;
        p->to->dtype = CTT_F32;
        p->to->ld = p->to->c;
        if (p->use & READ && !is_copied(j, i, READ))
            ctt_cast_get(d, &p->part, mine);
    }
}

static void store(struct ctt_dev *d, const struct widening *j)
{
    for (int i = 0; i < j->count; i++) {
        const struct copy *p = &j->copy[i];

        if (p->room >= 0 && p->use & WRITE && !is_copied(j, i, WRITE))
            ctt_cast_put(d, p->to->data, &p->part);
    }
}

/* Weights are copied once. */
static void load_weight_copies(struct ctt_dev *d, struct widening *j,
                               float *room)
{
    for (int k = 0; k < j->c->node->nw; k++) {
        if (!ctt_is_16bit(&j->c->w[k].t))
            continue;
        j->wide.w[k].t.data = room;
        j->wide.w[k].t.dtype = CTT_F32;
        ctt_cast_get(d, &j->c->w[k].t, room);
        room += ctt_align(ctt_volume(&j->c->w[k].t), 16);
    }
}

static int run_parts(struct ctt_dev *d, ctt_kernel *kernel,
                     const struct ctt_call *c, enum ctt_pass pass)
{
    struct widening j = { .c = c, .wide = *c };
    int rc = 0;
    float *room;

    j.by_rows = by_rows(c);
    j.units = j.by_rows ? ctt_rows(&c->out) : c->out.n;
    for (int k = 0; k < c->node->nw; k++)
        if (ctt_is_16bit(&c->w[k].t))
            j.weights += ctt_align(ctt_volume(&c->w[k].t), 16);
    (pass == CTT_FWD ? take_forward : take_backward)(&j);
    room = ctt_widen_scratch(d, (size_t)plan_parts(&j) * sizeof(float));
    CTT_CHECK(room, CTT_ENOMEM, "%s: no memory for short numbers as floats",
              c->node->name);
    load_weight_copies(d, &j, room);
    for (int64_t from = 0; from < j.units; from += j.step) {
        int64_t left = j.units - from;
        load_part(d, &j, room, from, left < j.step ? left : j.step);
        CTT_TRY(kernel(d, &j.wide));
        store(d, &j);
    }
out:
    return rc;
}

/* ---- the functions of widen.h ---- */

int ctt_is_narrow(const struct ctt_call *c)
{
    const struct ctt_tensor *one[] = {
        &c->out, &c->also, &c->dout, &c->dalso, &c->pair.in, &c->lstm.old,
        &c->lstm.h, &c->lstm.c,
    };
    int any = ctt_is_16bit(&c->pair.w[0].t);

    for (size_t i = 0; i < CTT_LEN(one); i++)
        any |= is_short(c, one[i]);
    for (int k = 0; k < c->node->nin; k++)
        any |= is_short(c, &c->in[k]) || is_short(c, &c->din[k]);
    for (int k = 0; k < c->node->nw; k++)
        any |= ctt_is_16bit(&c->w[k].t);
    return any;
}

void *ctt_widen_scratch(struct ctt_dev *d, size_t bytes)
{
    struct ctt_cpu *u = ctt_cpu_of(d);

    if (bytes > u->wide_room || !u->wide) {
        ctt_free(u->wide);
        u->wide = ctt_calloc(bytes, 1);
        u->wide_room = u->wide ? bytes : 0;
    }
    return u->wide;
}

int ctt_widen_run(struct ctt_dev *d, ctt_kernel *kernel,
                  const struct ctt_call *c, enum ctt_pass pass)
{
    struct ctt_call rest;
    int rc;

    if (!ctt_is_narrow(c))
        return kernel(d, c);
    if (ctt_ops[c->node->op].reach == CTT_REACH_STEPS)
        return ctt_widen_window(d, c, pass);
    rest = *c;
    rc = ctt_widen_conv(d, kernel, c, pass, &rest);
    return rc ? (rc < 0 ? rc : 0) : run_parts(d, kernel, &rest, pass);
}
