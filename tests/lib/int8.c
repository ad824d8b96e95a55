/* SPDX-License-Identifier: Apache-2.0
 * int8.c: calls of convs of quantised values. */
#include "tests/lib/int8.h"
#include "tests/lib/check.h"
#include "base/byte.h"
#include "base/random.h"

#include <stdio.h>
#include <string.h>

const struct ctt_int8_shape ctt_int8_shapes[] = {
    { "c=1", "out=1", 128 },
    { "c=5 h=4 w=3", "out=4 kernel=3 pad=1", 128 },
    { "c=5 h=4 w=3", "out=4 kernel=3 pad=1 bias=0", 0 },
    { "c=3 h=9 w=11", "out=20 kernel=5 stride=2 pad=2", 115 },
    { "c=16 h=6 w=6", "out=64 kernel=3 pad=1", 255 },
    { "c=64 h=6 w=6", "out=33 kernel=3 pad=1", 0 },
    { "c=17 h=7 w=5", "out=16 kernel=1,3,5 pad=0,1,2", 7 },
    { "c=8 h=12 w=12", "out=48 kernel=5 pad=2", 128 },
    { "c=64 h=14 w=14", "out=24 kernel=3 pad=1", 128 },
    { "c=24 h=16 w=15", "out=40 kernel=3 pad=1", 3 },
    { "c=300", "out=100", 0 },
    { "c=12 h=5 w=5", "out=50", 90 },
    { "c=6 h=8 w=8", "out=9 kernel=3 pad=0 stride=3", 40 },
    { "c=4 d=5 h=6 w=7", "out=12 kernel=3,3,3 stride=2,1,2 pad=1", 128 },
    { "c=8 h=9 w=9", "out=8 kernel=3 pad=1 groups=8", 0 },
    { "c=32 h=7 w=7", "out=32 kernel=3 pad=1 stride=2 groups=32", 128 },
    { "c=6 h=5 w=4", "out=9 kernel=3 pad=2 groups=3", 20 },
    { "c=16 h=5 w=4", "out=32 kernel=3 pad=1 groups=16", 20 },
    { "c=96 h=2 w=2", "out=130 kernel=3 pad=1", 128 },
    { "c=48 h=13 w=11", "out=70 kernel=3 pad=0", 0 },
    { "c=33 h=14 w=9", "out=17 kernel=3 pad=2", 255 },
    { "c=70 h=9 w=9", "out=66 kernel=3 pad=1", 3 },
    { "c=32 d=3 h=12 w=12", "out=32 kernel=1,3,3 pad=0,1,1", 128 },
    { "c=520 h=9 w=12", "out=9 kernel=3 pad=1", 128 },
    /* tiles of pixels whose last plane is the first one, of another sample */
    { "c=8 d=4 h=1 w=1", "out=12 kernel=3,1,1 pad=1,0,0", 128, 5 },
    { "c=8 d=3 h=1 w=1", "out=12 kernel=3,1,1 pad=1,0,0", 128, 3 },
    /* padding wider than the window */
    { "c=33 h=8 w=8", "out=17 kernel=3 pad=3", 128 },
    { "c=7 h=9 w=9", "out=18 kernel=1 stride=2 pad=1", 128 },
    { "c=6 d=3 h=4 w=3", "out=5 kernel=1,3,2 pad=2,4,3", 20 },
    { "c=2 h=3 w=40", "out=5 kernel=1,1,7 pad=0,0,3", 200 },
    { "c=32 h=3 w=5", "out=48", 77 },
    { "c=8 h=4 w=5", "out=70 stride=2", 1 },
    { "c=32 h=4 w=4", "out=36 groups=4", 128 },
    { "c=50 h=5 w=6", "out=50 kernel=5 pad=2 groups=50", 255 },
    { "c=19 d=3 h=4 w=5", "out=19 kernel=2,3,1 pad=1,0,0 groups=19", 9 },
    { "c=9216", "out=12", 128 },
    { "c=40 h=20 w=21", "out=100 kernel=3 pad=1", 128 },
    /* rows of whole registers, without padding or nearly */
    { "c=8 h=7 w=16", "out=20 kernel=3 pad=1", 115, 3 },
    { "c=6 h=6 w=32", "out=17 kernel=5 pad=2", 200, 2 },
    { "c=5 d=3 h=4 w=16", "out=19 kernel=3 pad=1", 9, 2 },
    { "c=9 h=8 w=48", "out=7 kernel=2 pad=0", 128 },
    { "c=4 h=5 w=29", "out=6 kernel=1,2,4 pad=0,0,3", 77 },
    { "c=4 h=3 w=57", "out=33 kernel=1,3,8 pad=0,1,7", 128 },
    { "c=3 h=4 w=64", "out=18 kernel=1,3,8 pad=0,1,0", 128, 2 },
    /* More values than are laid out at a time: bands of a sample, and parts of
     * the samples. */
    { "c=130 h=64 w=66", "out=3 kernel=3 pad=1", 128 },
    { "c=131 h=71 w=70", "out=2 kernel=5 pad=2 stride=3", 5 },
    { "c=140 h=64 w=61", "out=140 kernel=3 pad=1 stride=2 groups=140", 128 },
    { "c=90 h=60 w=61", "out=2 kernel=3 pad=1", 128 },
    { "c=64 d=5 h=40 w=42", "out=2 kernel=3 pad=1", 128 },
    { "c=20 h=3 w=17", "out=20 kernel=1,1,8 pad=0,0,2 stride=1,1,2 groups=20",
      7 },
    { "c=20 h=3 w=9", "out=20 kernel=1,1,7 pad=0,0,3 groups=20", 128 },
    { "c=70 h=3 w=2", "out=70 kernel=3 pad=4 groups=70", 40 },
    { "c=5 h=9 w=9", "out=5 kernel=1,2,2 stride=1,4,4 groups=5", 128 },
    { "c=65 h=3 w=4", "out=65 groups=65", 1 },
    /* padding that differs from end to end */
    { "c=16 h=9 w=10", "out=40 kernel=3 stride=2 after=1", 77 },
    { "c=24 h=8 w=6", "out=24 kernel=3 stride=2 after=1 groups=24", 128 },
    { "c=8 h=9 w=16", "out=20 kernel=3 pad=0,2,0 after=0,0,2", 115 },
    { "c=9 d=3 h=5 w=7", "out=9 kernel=3 pad=0 after=1,2,1 groups=9", 9 },
    { "c=70 h=6 w=6", "out=70 kernel=3 pad=0,2,1 after=0,0,2 groups=70", 9 },
    { "c=64 h=8 w=8", "out=32 kernel=3 pad=0,2,0 after=0,0,2", 128 },
    /* rows and planes of windows in padding of zeros, also in bands */
    { "c=20 d=3 h=5 w=9", "out=70 kernel=3,5,5 pad=1,2,2", 0 },
    { "c=24 h=7 w=7", "out=130 kernel=5 stride=2 pad=2", 0 },
    { "c=300 h=16 w=90", "out=2 kernel=1,8,1 pad=0,4,0", 0 },
    /* tiles of 16 pixels: strips and registers of each count, strips with
     * fewer pixels, runs of equal chunks, windows whose last chunk overlaps the
     * one before */
    { "c=16 h=7 w=5", "out=12 kernel=3 pad=1", 9, 1 },
    { "c=32 h=8 w=16", "out=48 kernel=3 pad=1", 128 },
    { "c=32 h=9 w=33", "out=24 kernel=3 stride=2 pad=1", 77 },
    { "c=32 h=5 w=7", "out=40", 128 },
    { "c=40 h=2 w=2", "out=20", 3, 3 },
    { "c=64 h=6 w=6", "out=96 kernel=3 pad=1 groups=4", 255 },
    { "c=16 d=3 h=4 w=16", "out=40 kernel=3 pad=1", 128, 1 },
    { "c=96 h=3 w=3", "out=256 kernel=3 pad=1", 128 },
    { NULL, NULL, 0 },
};

enum { SAMPLES = 2, GAP = 3 };
static float *alloc_floats(int64_t n)
{
    float *p = ctt_calloc((size_t)n + 1, sizeof(*p));

    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    return p;
}

/* Rows are GAP longer than their channels. */
static struct ctt_tensor node_rows(const struct ctt_node *n, void *data)
{
    struct ctt_tensor t = n->out;

    t.n = SAMPLES;
    t.ld = t.c + GAP;
    t.data = data;
    return t;
}

/* Bytes, and the numbers that they stand for. */
static void fill_bytes(uint8_t *bytes, float *x, int64_t n, int zero,
                       float step, uint64_t seed)
{
    for (int64_t i = 0; i < n; i++) {
        uint32_t r = ctt_random(seed, (uint64_t)i);
        bytes[i] = r % 7 == 0 ? 0 : r % 7 == 1 ? 255 : (uint8_t)(r >> 8);
        x[i] = (float)(bytes[i] - zero) * step;
    }
}

/* The lower bound of bytes is that of relu in every other case. */
static void be_bytes(struct ctt_int8_try *j, int bytes)
{
    int cuts = j->call.act == CTT_ACT_RELU + 1 ||
               j->call.act == CTT_ACT_RELU6 + 1;

    if (bytes & 1) {
        j->call.in[0].dtype = CTT_U8;
        j->call.in[0].data = j->bytes;
    }
    if (bytes & 2) {
        j->call.out.dtype = CTT_U8;
        j->call.out.scale = CTT_INT8_OUT_STEP;
        j->call.out.zero = bytes & 1 && cuts ? 0 : CTT_INT8_OUT_ZERO;
    }
    if (bytes & 4) {
        j->call.in[1].dtype = CTT_U8;
        j->call.in[1].data = j->plus_bytes;
        j->call.in[1].scale = CTT_INT8_PLUS_STEP;
        j->call.in[1].zero = CTT_INT8_PLUS_ZERO;
    }
}

int ctt_int8_bytes(size_t i, int k)
{
    int bytes = k >> 1 & 3;

    return bytes | ((k & 1) && (i / 2 + (size_t)bytes) % 2 ? 4 : 0);
}

void ctt_int8_open(struct ctt_int8_try *j, const struct ctt_int8_shape *s,
                   int plus, int act, int bytes, uint64_t seed)
{
    char text[400];
    const struct ctt_node *n;
    struct ctt_tensor x, y;

    memset(j, 0, sizeof(*j));
    snprintf(text, sizeof(text), "input a %s\nquant q in=a scale=%g zero=%d\n"
             "conv p in=q %s\nconv y in=q %s %s\n", s->in,
             (double)CTT_INT8_STEP, s->zero, s->conv, s->conv,
             plus ? "plus=p" : "");
    CHECK_OK(ctt_net_parse(text, &j->g));
    n = &j->g->node[3];
    x = node_rows(&j->g->node[1], NULL);
    y = node_rows(n, NULL);
    x.n = y.n = s->samples ? s->samples : SAMPLES;
    j->x = alloc_floats(ctt_rows(&x) * x.ld);
    j->bytes = (uint8_t *)alloc_floats(ctt_rows(&x) * x.ld);
    j->y = alloc_floats(ctt_rows(&y) * y.ld);
    j->plus = alloc_floats(ctt_rows(&y) * y.ld);
    j->plus_bytes = (uint8_t *)alloc_floats(ctt_rows(&y) * y.ld);
    j->w = alloc_floats(ctt_volume(&n->w[0]));
    j->b = alloc_floats(n->out.c);
    x.data = j->x;
    y.data = j->y;
    fill_bytes(j->bytes, j->x, ctt_rows(&x) * x.ld, x.zero, CTT_INT8_STEP,
               seed);
    fill_bytes(j->plus_bytes, j->plus, ctt_rows(&y) * y.ld, CTT_INT8_PLUS_ZERO,
               CTT_INT8_PLUS_STEP, seed + 3);
    ctt_check_fill(j->w, ctt_volume(&n->w[0]), seed + 1);
    ctt_check_fill(j->b, n->out.c, seed + 2);
    j->call = (struct ctt_call){ .node = n, .act = act, .stamp = 1,
                                 .cache = &j->cache };
    j->call.in[0] = x;
    j->call.out = j->call.in[1] = y;
    j->call.in[1].data = plus ? j->plus : NULL;
    for (int k = 0; k < n->nw; k++)
        j->call.w[k].t = n->w[k];
    j->call.w[0].t.data = j->w;
    if (n->nw > 1)
        j->call.w[1].t.data = j->b;
    be_bytes(j, bytes);
}

void ctt_int8_close(struct ctt_int8_try *j, struct ctt_dev *d)
{
    ctt_dev_forget(d, &j->cache);
    ctt_free(j->x);
    ctt_free(j->bytes);
    ctt_free(j->y);
    ctt_free(j->plus);
    ctt_free(j->plus_bytes);
    ctt_free(j->w);
    ctt_free(j->b);
    ctt_graph_free(&j->g);
}

/* b: as bytes, which stand for the floats of a, rounded. */
static int same_bytes(const struct ctt_int8_try *a,
                      const struct ctt_int8_try *b)
{
    const struct ctt_tensor *y = &a->call.out;
    const uint8_t *got = (const uint8_t *)b->y;

    for (int64_t r = 0; r < ctt_rows(y); r++)
        for (int64_t j = 0; j < y->c; j++)
            if (got[r * y->ld + j] != b->call.out.zero +
                (int)ctt_quant(a->y[r * y->ld + j], 1 / CTT_INT8_OUT_STEP,
                               (float)b->call.out.zero))
                return 0;
    return 1;
}

int ctt_int8_same(const struct ctt_int8_try *a, const struct ctt_int8_try *b)
{
    const struct ctt_tensor *y = &a->call.out;

    if (b->call.out.dtype == CTT_U8)
        return same_bytes(a, b);
    for (int64_t r = 0; r < ctt_rows(y); r++)
        if (memcmp(a->y + r * y->ld, b->y + r * y->ld,
                   (size_t)y->c * sizeof(float)) != 0)
            return 0;
    return 1;
}
