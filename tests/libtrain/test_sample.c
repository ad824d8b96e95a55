/* SPDX-License-Identifier: Apache-2.0
 * test_sample.c: values of nodes, and inputs of convs, at random places of
 * clips. */
#include "tests/lib/toy.h"

#include <math.h>

static const char net[] =
    "input x h=10 w=10 c=3 fps=12 mean=0.2 std=0.3 scale=1.2\n"
    "conv e in=x out=8 kernel=1,3,3 stride=1,2,2 pad=0,1,1 bias=0\n"
    "deconv g in=e out=4 kernel=1,3,4 stride=1,2,1 pad=0,1,0 bias=0\n"
    "clip\nwindow v in=e steps=3 every=2\n"
    "conv c in=v out=6 kernel=2,3,3 stride=1,2,1 pad=1,1,0 bias=0\n"
    "pool p in=c kind=avg\nconv y in=p out=4 bias=0\n";

static const char *const names[] = { "e", "g", "c", "y" };
enum { NODES = 4 };

static struct ctt_data *train, *val;

struct rows { float *row; int count, room, size; };

struct taken { struct rows at[NODES]; };

static void take(void *to, int k, const float *row)
{
    struct rows *r = &((struct taken *)to)->at[k];
    size_t size = (size_t)r->size * sizeof(*row);

    r->row = ctt_grown(r->row, &r->room, r->count, size);
    CU_ASSERT_FATAL(r->row != NULL);
    memcpy(r->row + r->count++ * r->size, row, size);
}

static void forget(struct taken *t)
{
    for (int k = 0; k < NODES; k++)
        ctt_free(t->at[k].row);
}

static struct taken sampled(const struct ctt_model *m, int clips, int inputs,
                            int seed)
{
    struct ctt_train_cfg cfg = clip_cfg();
    struct taken t = { .at = { { .row = NULL } } };
    int node[NODES];

    clips_open(&cfg, &train, &val);
    for (int k = 0; k < NODES; k++) {
        const struct ctt_node *n;

        node[k] = ctt_graph_find(m->g, names[k]);
        n = &m->g->node[node[k]];
        t.at[k].size = inputs ? (int)(ctt_volume(&n->w[0]) / n->w[0].n)
                              : (int)n->out.c;
    }
    cfg.seed = seed;
    CHECK_OK(ctt_sample_values(m, &cfg, train, clips,
                               &(struct ctt_sample){ node, NODES, inputs, take,
                                                    &t }));
    return t;
}

/* The weight times the inputs of a place is the value there. */
static void test_inputs(void)
{
    struct ctt_model *m = NULL;
    struct taken x, y;

    CHECK_OK(clip_model(net, 1, &m));
    x = sampled(m, 7, 1, 3);
    y = sampled(m, 7, 0, 3);
    for (int k = 0; k < NODES; k++) {
        const struct ctt_node *n =
            &m->g->node[ctt_graph_find(m->g, names[k])];
        int size = x.at[k].size, nonzero = 0;

        CU_ASSERT_EQUAL_FATAL(x.at[k].count, y.at[k].count);
        for (int i = 0; i < x.at[k].count; i++)
            for (int o = 0; o < n->out.c; o++) {
                const float *w = m->w + n->at[0] + o * size;
                float is = y.at[k].row[i * (int)n->out.c + o];
                double sum = 0;

                for (int j = 0; j < size; j++)
                    sum += w[j] * x.at[k].row[i * size + j];
                CU_ASSERT_DOUBLE_EQUAL(sum, is, 1e-4 * (1 + fabs(sum)));
                nonzero += fabs(sum) > 1e-3;
            }
        CU_ASSERT(nonzero > x.at[k].count);
    }
    forget(&x);
    forget(&y);
    ctt_model_free(&m);
}

/* 10 places of a frame, or of a clip, or all of fewer; 0 clips: enough, here
 * all; another seed: other places. */
static void test_places(void)
{
    struct ctt_model *m = NULL;
    struct taken a, b, c;
    int frames = 0;

    CHECK_OK(clip_model(net, 1, &m));
    for (int i = 0; i < 22; i++)
        frames += clip_length(i);
    a = sampled(m, 0, 0, 3);
    b = sampled(m, 22, 0, 3);
    c = sampled(m, 22, 0, 4);
    CU_ASSERT_EQUAL(a.at[0].count, 10 * frames);
    CU_ASSERT_EQUAL(a.at[2].count, 10 * 22);
    CU_ASSERT_EQUAL(a.at[3].count, 22);
    for (int k = 0; k < NODES; k++) {
        size_t size = (size_t)(a.at[k].count * a.at[k].size) * sizeof(float);

        CU_ASSERT_EQUAL_FATAL(a.at[k].count, b.at[k].count);
        CU_ASSERT_EQUAL(memcmp(a.at[k].row, b.at[k].row, size), 0);
        CU_ASSERT(memcmp(a.at[k].row, c.at[k].row,
                         10 * (size_t)a.at[k].size * sizeof(float)) != 0);
    }
    forget(&a);
    forget(&b);
    forget(&c);
    ctt_model_free(&m);
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "inputs", test_inputs },
        { "places", test_places },
        CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = {
        { "samples", NULL, NULL, NULL, NULL, tests }, CU_SUITE_INFO_NULL
    };
    int rc;

    if (clips_dir() < 0)
        return 99;
    rc = ctt_check_main(suites);
    ctt_data_close(&train);
    ctt_data_close(&val);
    clips_clean();
    return rc;
}
