/* SPDX-License-Identifier: Apache-2.0
 * test_e3dlstm.c: the cell e3dlstm against the formulas of Wang and others
 * (2019) in doubles, layer norms, order of channels and memories as in their
 * code (google/e3d_lstm), but with the new global memory passed on. */
#include "tests/lib/check.h"
#include "net/op.h"
#include "run/run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { D = 2, H = 3, W = 4, P = D * H * W, IN = 2, C = 3, MOST = 7 * C,
       FRAMES = 7, STEPS = 3 };

struct net { struct ctt_graph *g; float *w; double eps; int box[3]; };

/* A cell's values of all steps; step 0 is that before the first. */
struct trace { double h[FRAMES + 1][P][C], c[FRAMES + 1][P][C]; };

static const struct ctt_node *line(const struct net *n, const char *cell,
                                   const char *of)
{
    char name[CTT_NAME];
    int i;

    snprintf(name, sizeof(name), "%s.%s", cell, of);
    i = ctt_graph_find(n->g, name);
    CU_ASSERT_FATAL(i >= 0);
    return &n->g->node[i];
}

/* y: the first `out` channels; `in` of x, a row of which has `ld` numbers.  The
 * padding is that of "same": the smaller half before. */
static void conv(const struct net *n, const char *cell, const char *of,
                 const int k[3], const double *x, int in, double *y, int out)
{
    const struct ctt_node *v = line(n, cell, of);
    const float *w = n->w + v->at[0], *b = n->w + v->at[1];

    CU_ASSERT_EQUAL_FATAL(ctt_volume(&v->w[0]),
                          out * k[0] * k[1] * k[2] * in);
    for (int p = 0; p < P * out; p++) {
        int d = p / out / W / H, r = p / out / W % H, s = p / out % W;
        double sum = (double)b[p % out];
        const float *q = w + (int64_t)(p % out) * k[0] * k[1] * k[2] * in;
        for (int t = 0; t < k[0] * k[1] * k[2] * in; t++) {
            int i = t % in, tap = t / in;
            int dd = d + tap / k[2] / k[1] - (k[0] - 1) / 2;
            int rr = r + tap / k[2] % k[1] - (k[1] - 1) / 2;
            int ss = s + tap % k[2] - (k[2] - 1) / 2;
            if (dd >= 0 && dd < D && rr >= 0 && rr < H && ss >= 0 && ss < W)
                sum += (double)q[t] * x[((dd * H + rr) * W + ss) * in + i];
        }
        y[p] = sum;
    }
}

/* In place, over all numbers; a factor and an offset per channel. */
static void norm(const struct net *n, const char *cell, const char *of,
                 double *x, int c)
{
    const struct ctt_node *v = line(n, cell, of);
    double mean = 0, var = 0;

    for (int i = 0; i < P * c; i++)
        mean += x[i] / (P * c);
    for (int i = 0; i < P * c; i++)
        var += (x[i] - mean) * (x[i] - mean) / (P * c);
    for (int i = 0; i < P * c; i++)
        x[i] = (x[i] - mean) / sqrt(var + n->eps) *
               (double)n->w[v->at[0] + i % c] + (double)n->w[v->at[1] + i % c];
}

static double sigmoid(double x) { return 1 / (1 + exp(-x)); }

/* y: for a pixel's query the mean of the cells of the STEPS steps before step
 * t, or of fewer, and at least of the zeros before the first. */
static void recall(const struct trace *m, int t, const double q[C], double y[C])
{
    double sum = 0;

    memset(y, 0, C * sizeof(*y));
    for (int s = t - 1; s >= 0 && s >= t - STEPS; s--)
        for (int p = 0; p < P; p++) {
            double dot = 0, e;
            for (int j = 0; j < C; j++)
                dot += q[j] * m->c[s][p][j];
            e = exp(dot);
            sum += e;
            for (int j = 0; j < C; j++)
                y[j] += e * m->c[s][p][j];
        }
    for (int j = 0; j < C; j++)
        y[j] /= sum;
}

/* Step t (from 1): x: input; g: the global memory, old and then new. */
static void step(const struct net *n, const char *cell, struct trace *m, int t,
                 const double *x, int in, double g[P][C])
{
    static double zx[P][7 * C], zh[P][4 * C], zm[P][4 * C], a[P][C], o[P][C];
    static double more[P][C], both[P][2 * C];

    conv(n, cell, "x", n->box, x, in, zx[0], 7 * C);
    conv(n, cell, "h", n->box, m->h[t - 1][0], C, zh[0], 4 * C);
    conv(n, cell, "m", n->box, g[0], C, zm[0], 4 * C);
    norm(n, cell, "xn", zx[0], 7 * C);
    norm(n, cell, "hn", zh[0], 4 * C);
    norm(n, cell, "mn", zm[0], 4 * C);
    for (int p = 0; p < P; p++) {
        double r[C];
        for (int j = 0; j < C; j++)
            r[j] = sigmoid(zx[p][2 * C + j] + zh[p][2 * C + j]);
        recall(m, t, r, a[p]);
        for (int j = 0; j < C; j++)
            a[p][j] += m->c[t - 1][p][j];
    }
    norm(n, cell, "cn", a[0], C);
    for (int p = 0; p < P; p++)
        for (int j = 0; j < C; j++) {
            const double *zxj = zx[p] + j, *zhj = zh[p] + j, *zmj = zm[p] + j;
            m->c[t][p][j] = a[p][j] + sigmoid(zxj[0] + zhj[0]) *
                            tanh(zxj[C] + zhj[C]);
            g[p][j] = sigmoid(zxj[6 * C] + zmj[C] + 1) * tanh(zmj[3 * C]) +
                      sigmoid(zxj[4 * C] + zmj[0]) *
                      tanh(zxj[5 * C] + zmj[2 * C]);
            both[p][j] = m->c[t][p][j];
            both[p][C + j] = g[p][j];
        }
    conv(n, cell, "oc", n->box, m->c[t][0], C, o[0], C);
    conv(n, cell, "og", n->box, g[0], C, more[0], C);
    conv(n, cell, "t", (const int[]){ 1, 1, 1 }, both[0], 2 * C, a[0], C);
    for (int p = 0; p < P; p++)
        for (int j = 0; j < C; j++)
            m->h[t][p][j] = tanh(a[p][j]) *
                sigmoid(tanh(zx[p][3 * C + j] + zh[p][3 * C + j] + o[p][j] +
                             more[p][j]));
}

static void open_net(struct net *n, const int box[3], const char *eps)
{
    char text[512], key[32] = "";

    n->eps = 1e-5;
    if (eps) {
        n->eps = atof(eps);
        snprintf(key, sizeof(key), " eps=%s", eps);
    }
    memcpy(n->box, box, sizeof(n->box));
    snprintf(text, sizeof(text), "input x d=%d h=%d w=%d c=%d\n"
             "e3dlstm l in=x hidden=%d kernel=%d,%d,%d steps=%d memory=m%s\n"
             "e3dlstm m in=l hidden=%d kernel=%d,%d,%d steps=%d memory=l%s\n"
             "add y in=m\n", D, H, W, IN, C, box[0], box[1], box[2], STEPS, key,
             C, box[0], box[1], box[2], STEPS, key);
    CHECK_OK(ctt_net_parse(text, &n->g));
    n->w = calloc((size_t)n->g->weights, sizeof(*n->w));
    CU_ASSERT_FATAL(n->w != NULL);
    for (int i = 0; i < n->g->count; i++)
        for (int k = 0; k < n->g->node[i].nw; k++) {
            const struct ctt_node *v = &n->g->node[i];
            float *w = n->w + v->at[k];
            ctt_check_fill(w, ctt_volume(&v->w[k]), (uint64_t)(9 * i + k + 1));
            for (int64_t j = 0; v->op == CTT_OP_GROUPNORM && k == 0 &&
                                j < ctt_volume(&v->w[k]); j++)
                w[j] = 1 + 0.5f * w[j];
        }
}

/* The answers of the model language. */
static void run_net(const struct net *n, const char *device,
                    const float *x, float *y)
{
    struct ctt_dev *d = NULL;
    struct ctt_run *r = NULL;

    CHECK_OK(ctt_dev_open(device, 1, &d));
    CHECK_OK(ctt_run_open(&(struct ctt_run_spec){ .g = n->g, .dev = d,
        .w = n->w, .samples = 1, .steps = FRAMES }, &r));
    CHECK_OK(ctt_run_make_room(r, FRAMES));
    CHECK_OK(ctt_run_put(r, 0, r->cursor, x, FRAMES * P));
    CHECK_OK(ctt_run_steps(r, FRAMES));
    CHECK_OK(ctt_run_get(r, ctt_graph_output(n->g), r->cursor - FRAMES,
                         FRAMES * P, y));
    ctt_run_close(&r);
    ctt_dev_close(&d);
}

static void check_net(const char *device, const int box[3], const char *eps)
{
    static struct trace l, m;
    static float x[FRAMES][P][IN], y[FRAMES][P][C];
    static double in[P][IN], g[P][C];
    struct net n;
    double worst = 0;

    open_net(&n, box, eps);
    memset(&l, 0, sizeof(l));
    memset(&m, 0, sizeof(m));
    memset(g, 0, sizeof(g));
    ctt_check_fill(x[0][0], FRAMES * P * IN, 7);
    run_net(&n, device, x[0][0], y[0][0]);
    for (int t = 1; t <= FRAMES; t++) {
        for (int i = 0; i < P * IN; i++)
            in[i / IN][i % IN] = (double)x[t - 1][i / IN][i % IN];
        step(&n, "l", &l, t, in[0], IN, g);
        step(&n, "m", &m, t, l.h[t][0], C, g);
        for (int i = 0; i < P * C; i++)
            worst = fmax(worst, fabs((double)y[t - 1][i / C][i % C] -
                                     m.h[t][i / C][i % C]));
    }
    if (!(worst < 1e-5))
        printf("\n    %s: off by %.3g", device, worst);
    CU_ASSERT(worst < 1e-5);
    ctt_graph_free(&n.g);
    free(n.w);
}

static void test_formulas(void)
{
    static const int boxes[][3] = { { 2, 3, 3 }, { 1, 1, 1 }, { 2, 2, 4 } };

    for (size_t d = 0; ctt_check_hosts[d]; d++)
        for (size_t k = 0; k < CTT_LEN(boxes); k++) {
            check_net(ctt_check_hosts[d], boxes[k], NULL);
            check_net(ctt_check_hosts[d], boxes[k], "1e-12");
        }
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

/* Variables of the published code with --num_hidden 64,64,64,64 and
 * --patch_size 4: four cells with kernels of 2 x 5 x 5, and a last conv. */
static void test_parameters(void)
{
    const char *srcdir = getenv("srcdir");
    struct ctt_graph *g = NULL;
    char path[4096], *text = NULL;
    int64_t params = 0;

    snprintf(path, sizeof(path), "%s/models/mnist-e3dlstm.net",
             srcdir ? srcdir : ".");
    CHECK_OK(ctt_net_read(path, &text));
    CHECK_OK(ctt_net_parse(text, &g));
    for (int i = 0; i < g->count; i++)
        params += ctt_node_params(&g->node[i]);
    CU_ASSERT_EQUAL(params, 12898832);
    ctt_graph_free(&g);
    ctt_free(text);
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "two cells as published", test_formulas },
        { "the published number of parameters", test_parameters },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "e3dlstm", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    return ctt_check_main(suites);
}
