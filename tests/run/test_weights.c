/* SPDX-License-Identifier: Apache-2.0
 * test_weights.c: calls of a run get the mask of a weight; a coded weight gives
 * the same answers as its values in floats; a call with a coding that no kernel
 * reads is refused. */
#include "tests/lib/check.h"
#include "tests/lib/small.h"
#include "run/run.h"

#include <string.h>

enum { STEPS = 4, CODES = 5, INPUT = 6 * 6 * 2, MOST = 4096 };

static const char net[] =
    "input x h=6 w=6 c=2\n"
    "conv a in=x out=4 kernel=3\n"
    "act ar in=a kind=relu\n"
    "convlstm l in=ar hidden=3\n"
    "conv y in=l out=2\n";

/* A model with coded weights made by hand, and the same in floats: an int8
 * kernel in `a`, a codebook in `y`, a mask on both. */
struct forms {
    struct ctt_model  *m;
    struct ctt_weight *weight;
    int                a, y;    /* numbers of these weights in the index */
    int8_t             i8[MOST];
    uint8_t            u8[MOST], keep[2][MOST];
    float              scale[2][8], codebook[CODES];
};

/* The number of the first weight of a node. */
static int index_of(const struct ctt_graph *g, const char *name)
{
    int node = ctt_graph_find(g, name), at = 0;

    for (int i = 0; i < node; i++)
        at += g->node[i].nw;
    return at;
}

static void make_forms(struct forms *f)
{
    struct ctt_weight *a, *y;

    f->m = small_model(net, 3);
    CHECK_OK(ctt_model_weights(f->m, &f->weight));
    f->a = index_of(f->m->g, "a");
    f->y = index_of(f->m->g, "y");
    a = &f->weight[f->a];
    y = &f->weight[f->y];
    CU_ASSERT_FATAL(ctt_volume(&a->t) < MOST && ctt_volume(&y->t) < MOST);
    for (int i = 0; i < MOST; i++) {
        f->i8[i] = (int8_t)(i * 37 % 255 - 127);
        f->u8[i] = (uint8_t)(i * 7 % CODES);
        f->keep[0][i] = i % 3 != 0;
        f->keep[1][i] = i % 5 != 0;
    }
    for (int k = 0; k < 8; k++) {
        f->scale[0][k] = 0.002f * (float)(k + 1);
        f->scale[1][k] = 0.3f * (float)(k + 1);
    }
    for (int k = 0; k < CODES; k++)
        f->codebook[k] = 0.25f * (float)(k - 2);
    a->t.data = f->i8;
    a->t.dtype = CTT_I8;
    a->scale = f->scale[0];
    a->keep = f->keep[0];
    y->t.data = f->u8;
    y->t.dtype = CTT_U8;
    y->scale = f->scale[1];
    y->codebook = f->codebook;
    y->codes = CODES;
    y->keep = f->keep[1];
}

static void free_forms(struct forms *f)
{
    ctt_free(f->weight);
    ctt_model_free(&f->m);
}

static struct ctt_run *open_run(const struct ctt_model *m, struct ctt_dev *d,
                                const struct ctt_weight *weight)
{
    struct ctt_run *r = NULL;

    CHECK_OK(ctt_run_open(&(struct ctt_run_spec){
        .g = m->g, .dev = d, .w = m->w, .samples = 1, .steps = STEPS }, &r));
    if (weight)
        CHECK_OK(ctt_run_weights(r, weight));
    return r;
}

static void answer(struct ctt_run *r, float *y)
{
    int out = ctt_graph_output(r->g);
    int64_t size = ctt_volume(&r->g->node[out].out);
    static float x[INPUT];

    CHECK_OK(ctt_run_make_room(r, STEPS));
    for (int t = 0; t < STEPS; t++) {
        ctt_check_fill(x, INPUT, (uint64_t)t + 5);
        CHECK_OK(ctt_run_put(r, 0, t, x, ctt_rows(&r->g->node[0].out)));
    }
    CHECK_OK(ctt_run_steps(r, STEPS));
    for (int t = 0; t < STEPS; t++)
        CHECK_OK(ctt_run_get(r, out, t, ctt_rows(&r->g->node[out].out),
                             y + t * size));
}

/* The twin: the same values as floats in a flat block of their own.  as_is: the
 * kernels of the device read these forms; elsewhere they are decoded. */
static void compare(const char *device, int as_is)
{
    static float want[MOST], got[MOST];
    static struct forms f;
    struct ctt_model *twin = NULL;
    struct ctt_dev *d = NULL;
    struct ctt_run *r, *s;
    struct ctt_call c;

    make_forms(&f);
    CHECK_OK(ctt_model_copy(f.m, &twin));
    for (int k = 0; k < 2; k++) {
        int at = k ? f.y : f.a;
        const char *name = k ? "y" : "a";
        const struct ctt_node *n = &twin->g->node[ctt_graph_find(twin->g,
                                                                 name)];
        CHECK_OK(ctt_weight_floats(&f.weight[at], twin->w + n->at[0]));
    }
    CHECK_OK(ctt_dev_open(device, 2, &d));
    r = open_run(twin, d, NULL);
    answer(r, want);
    s = open_run(f.m, d, f.weight);
    ctt_run_bind(s, ctt_graph_find(f.m->g, "a"), 0, 1, &c);
    CU_ASSERT_EQUAL(c.w[0].t.dtype, as_is ? CTT_I8 : CTT_F32);
    CU_ASSERT_EQUAL(c.w[0].scale != NULL, as_is);
    answer(s, got);
    CU_ASSERT(memcmp(want, got, sizeof(want)) == 0);
    ctt_run_close(&s);
    s = open_run(f.m, d, NULL);
    answer(s, got);
    CU_ASSERT(memcmp(want, got, sizeof(want)) != 0);
    ctt_run_close(&s);
    ctt_run_close(&r);
    ctt_dev_close(&d);
    ctt_model_free(&twin);
    free_forms(&f);
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

static void test_forms(void)
{
    compare("ref", 1);
    compare("cpu", 0);
}

/* The call of a node gets its mask; NULL if nothing is pruned. */
static void test_keep(void)
{
    struct ctt_model *m = small_model(net, 3);
    const struct ctt_node *n = &m->g->node[ctt_graph_find(m->g, "a")];
    struct ctt_weight *weight = NULL;
    struct ctt_dev *d = NULL;
    struct ctt_call c;
    struct ctt_run *r;

    m->constraint.keep = ctt_calloc((size_t)m->g->weights, 1);
    CU_ASSERT_PTR_NOT_NULL_FATAL(m->constraint.keep);
    memset(m->constraint.keep, 1, (size_t)m->g->weights);
    m->constraint.keep[n->at[0] + 7] = 0;
    CHECK_OK(ctt_model_weights(m, &weight));
    CHECK_OK(ctt_dev_open("ref", 1, &d));
    r = open_run(m, d, weight);
    ctt_free(weight);
    ctt_run_bind(r, ctt_graph_find(m->g, "a"), 0, 1, &c);
    CU_ASSERT_PTR_EQUAL(c.w[0].keep, m->constraint.keep + n->at[0]);
    CU_ASSERT_PTR_NULL(c.w[1].keep);
    CU_ASSERT_EQUAL(ctt_weight_kept(&c.w[0]), ctt_volume(&n->w[0]) - 1);
    ctt_run_bind(r, ctt_graph_find(m->g, "y"), 0, 1, &c);
    CU_ASSERT_PTR_NULL(c.w[0].keep);
    ctt_run_close(&r);
    ctt_dev_close(&d);
    ctt_model_free(&m);
}

/* Invalid codings, and calls with codings that kernels do not read. */
static void test_refused(void)
{
    static struct forms f;
    struct ctt_dev *d = NULL;
    struct ctt_call c;
    struct ctt_run *r;

    make_forms(&f);
    CHECK_OK(ctt_dev_open("cpu", 1, &d));
    r = open_run(f.m, d, NULL);
    f.weight[f.a].scale = NULL;
    ctt_check_refused(ctt_run_weights(r, f.weight), CTT_EINVAL,
                      "a: a weight of int8");
    f.weight[f.a].scale = f.scale[0];
    f.weight[f.a].t.n--;
    ctt_check_refused(ctt_run_weights(r, f.weight), CTT_EINVAL,
                      "another shape");
    ctt_run_bind(r, ctt_graph_find(f.m->g, "a"), 0, 1, &c);
    CHECK_OK(ctt_dev_run(d, &c, CTT_FWD));
    c.w[0].t.dtype = CTT_I8;
    ctt_check_refused(ctt_dev_run(d, &c, CTT_FWD), CTT_EUNSUP,
                      "no kernel for numbers");
    c.w[0].t.dtype = CTT_F32;
    c.w[0].scale = f.scale[0];
    ctt_check_refused(ctt_dev_run(d, &c, CTT_FWD), CTT_EUNSUP,
                      "no kernel for numbers");
    c.w[0].scale = NULL;
    c.out.dtype = CTT_I32;
    ctt_check_refused(ctt_dev_run(d, &c, CTT_FWD), CTT_EUNSUP,
                      "no kernel for numbers");
    ctt_run_close(&r);
    ctt_dev_close(&d);
    free_forms(&f);
}

static void test_no_memory(void)
{
    static struct forms f;
    struct ctt_dev *d = NULL;
    int rc = CTT_ENOMEM, walked = 0;
    long live;

    make_forms(&f);
    CHECK_OK(ctt_dev_open("cpu", 1, &d));
    live = ctt_live_blocks();
    for (long k = 1; rc == CTT_ENOMEM; k++, walked++) {
        struct ctt_run *r = open_run(f.m, d, NULL);

        ctt_fail_alloc(k);
        rc = ctt_run_weights(r, f.weight);
        ctt_fail_alloc(0);
        ctt_run_close(&r);
        CU_ASSERT_EQUAL(ctt_live_blocks(), live);
    }
    CHECK_OK(rc);
    CU_ASSERT_EQUAL(walked, 3);
    ctt_dev_close(&d);
    free_forms(&f);
}

static CU_TestInfo tests[] = {
    { "other forms answer as floats do", test_forms },
    { "what is pruned reaches the call", test_keep },
    { "what is refused", test_refused },
    { "out of memory", test_no_memory },
    CU_TEST_INFO_NULL
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { .pName = "weights", .pTests = tests }, CU_SUITE_INFO_NULL
    };

    return ctt_check_main(suites);
}
