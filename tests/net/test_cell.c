/* SPDX-License-Identifier: Apache-2.0
 * test_cell.c: the recurrent cells of the model language against those of the
 * papers as paper.c writes them down, forward and back. */
#include "tests/lib/check.h"
#include "tests/lib/paper.h"
#include "run/run.h"
#include "run/back/exec.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 2 };

static const struct cell cells[] = {
    { "lstm", 1, 1, 4, 5, 1, 0, 0, 0, 6 },
    { "convlstm", 5, 4, 2, 3, 3, 0, 0, 0, 5 },
    { "convlstm", 6, 7, 1, 2, 5, 0, 0, 0, 4 },
    { "convlstm", 16, 16, 12, 16, 5, 0, 0, 0, 3 },
    { "convttlstm", 5, 4, 1, 2, 3, 1, 1, 2, 5 },
    { "convttlstm", 5, 6, 2, 3, 3, 1, 4, 2, 8 },
    { "convttlstm", 4, 5, 1, 2, 5, 2, 2, 3, 5 },
    { "convttlstm", 4, 4, 2, 2, 3, 2, 5, 1, 8 },
    { "convttlstm", 5, 5, 1, 3, 5, 3, 3, 2, 6 },
    { "convttlstm", 5, 4, 2, 2, 3, 3, 6, 2, 9 },
    { "convttlstm", 3, 6, 1, 2, 3, 4, 4, 2, 7 },
    { "convttlstm", 6, 5, 1, 2, 5, 4, 6, 2, 9 },
    { "convttlstm", 16, 17, 4, 16, 5, 3, 3, 8, 5 },   /* Winograd */
    { "convttlstm", 16, 16, 4, 16, 3, 2, 3, 8, 4 },
};

/* ---- the cell of the model language ---- */

struct rig {
    struct paper      m;
    struct ctt_graph *g;
    struct ctt_dev   *dev;
    struct ctt_exec  *x;
    float            *w;
    int              *map;     /* of a weight: the paper's parameter, or -1 */
    int               cell;    /* its node */
    float            *in, *coef, *got;    /* [frames][SAMPLES][..] */
    double           *want;
};

/* Rows from .. from + v->out - 1 of a weight are the paper's rows, its inputs
 * those from `first` on; the w of v if k is 0, else the b. */
static void tie(struct rig *r, const char *name, int k, int from,
                const struct conv *v, int first)
{
    char full[CTT_NAME];
    const struct ctt_node *n;
    int64_t row;

    snprintf(full, sizeof(full), "l.%s", name);
    CU_ASSERT_FATAL(ctt_graph_find(r->g, full) >= 0);
    n = &r->g->node[ctt_graph_find(r->g, full)];
    CU_ASSERT_FATAL(k < n->nw || n->op == CTT_OP_ADD);
    if (n->op == CTT_OP_ADD || k == 1) {
        for (int o = 0; o < v->out; o++)
            r->map[n->at[n->op == CTT_OP_ADD ? 0 : 1] + o] = v->b + o;
        return;
    }
    row = ctt_volume(&n->w[0]) / n->w[0].n;
    for (int o = 0; o < v->out; o++)
        for (int64_t e = 0; e < row; e++)
            r->map[n->at[0] + (from + o) * row + e] = (int)
                (v->w + (o * (row / n->w[0].c) + e / n->w[0].c) * v->in +
                 first + e % n->w[0].c);
}

/* Core l's part of q for the state that is D = order - l + i steps old is what
 * the paper's core does with the i-th youngest of its states. */
static void tie_cores(struct rig *r)
{
    const struct cell *c = &r->m.c;
    char name[16];

    for (int l = 0; l < c->order; l++) {
        for (int i = 0; i < r->m.lags; i++)
            tie(r, "q", 0, (l * r->m.lags + i) * c->rank, &r->m.core[l],
                (r->m.lags - 1 - i) * c->hidden);
        snprintf(name, sizeof(name), "%c%d", l ? 'p' : 'a', l);
        tie(r, name, 1, 0, &r->m.core[l], 0);
        name[0] = 'a';
        for (int k = 0; k < 2 && l; k++)
            tie(r, name, k, 0, &r->m.chain[l], 0);
    }
}

/* Every parameter of the paper must have its weight, and only one. */
static void check_map(const struct rig *r)
{
    char *seen = calloc((size_t)r->m.params, 1);
    int64_t params = 0;

    CU_ASSERT_FATAL(seen != NULL);
    for (int64_t i = 0; i < r->g->weights; i++)
        if (r->map[i] >= 0) {
            CU_ASSERT_FATAL(r->map[i] < r->m.params && !seen[r->map[i]]);
            seen[r->map[i]] = 1;
            params++;
        }
    CU_ASSERT_EQUAL(params, r->m.params);
    for (int i = 0; i < r->g->count; i++)
        params -= ctt_node_params(&r->g->node[i]);
    CU_ASSERT_EQUAL(params, 0);
    free(seen);
}

static void print_net(const struct cell *c, char *text, size_t room)
{
    char core[64] = "", kernel[32] = "";

    if (c->order)
        snprintf(core, sizeof(core), " order=%d steps=%d rank=%d", c->order,
                 c->steps, c->rank);
    if (strcmp(c->word, "lstm") != 0)
        snprintf(kernel, sizeof(kernel), " kernel=%d", c->kernel);
    snprintf(text, room, "input x h=%d w=%d c=%d\n%s l in=x hidden=%d%s%s\n"
             "add y in=l\n", c->h, c->w, c->in, c->word, c->hidden, kernel,
             core);
}

static float *floats(int64_t n, uint64_t key)
{
    float *x = calloc((size_t)n, sizeof(*x));

    CU_ASSERT_FATAL(x != NULL);
    ctt_check_fill(x, n, key);
    return x;
}

/* Weights of a size that neither saturates the gates nor lets a sum vanish. */
static void fill_weights(struct rig *r)
{
    for (int i = 0; i < r->g->count; i++) {
        const struct ctt_node *n = &r->g->node[i];
        for (int k = 0; k < n->nw; k++) {
            int64_t size = ctt_volume(&n->w[k]);
            float *w = r->w + n->at[k];
            float scale = n->op == CTT_OP_CONV && k == 0
                ? 2.5f / sqrtf((float)(size / n->w[k].n)) : 0.5f;
            ctt_check_fill(w, size, 50 + (uint64_t)(i * CTT_MAX_W + k));
            for (int64_t j = 0; j < size; j++)
                w[j] *= scale;
        }
    }
    for (int64_t i = 0; i < r->g->weights; i++)
        if (r->map[i] >= 0)
            r->m.p[r->map[i]] = (double)r->w[i];
}

static void rig_open(struct rig *r, const struct cell *c)
{
    int64_t all = (int64_t)c->frames * SAMPLES * c->h * c->w;
    char text[256];

    memset(r, 0, sizeof(*r));
    print_net(c, text, sizeof(text));
    CHECK_OK(ctt_net_parse(text, &r->g));
    CU_ASSERT_FATAL(ctt_paper_open(&r->m, c) == 0);
    r->map = malloc((size_t)r->g->weights * sizeof(*r->map));
    r->want = calloc((size_t)(all * c->hidden), sizeof(*r->want));
    CU_ASSERT_FATAL(r->map && r->want);
    memset(r->map, 0xff, (size_t)r->g->weights * sizeof(*r->map));
    tie(r, "zx", 0, 0, &r->m.gates, 0);
    tie(r, "zx", 1, 0, &r->m.gates, 0);
    tie(r, "z", 0, 0, &r->m.gates, c->in);
    tie_cores(r);
    check_map(r);
    r->cell = ctt_graph_output(r->g);
    r->w = floats(r->g->weights, 1);
    r->in = floats(all * c->in, 2);
    r->coef = floats(all * c->hidden, 3);
    r->got = floats(all * c->hidden, 4);
    fill_weights(r);
}

static void rig_close(struct rig *r)
{
    ctt_paper_close(&r->m);
    ctt_graph_free(&r->g);
    free(r->map);
    free(r->want);
    free(r->w);
    free(r->in);
    free(r->coef);
    free(r->got);
}

/* ---- the paper's answers ---- */

static void widen(double *y, const float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        y[i] = (double)x[i];
}

/* Values of sample b, and, with back, the gradient of sum(coef h). */
static double paper_sample(struct rig *r, int b, int back)
{
    int64_t ni = r->m.pixels * r->m.c.in, nh = r->m.pixels * r->m.c.hidden;
    struct tape t, d;
    double sum = 0;

    CU_ASSERT_FATAL(ctt_tape_open(&r->m, &t) == 0);
    CU_ASSERT_FATAL(ctt_tape_open(&r->m, &d) == 0);
    for (int i = 0; i < r->m.c.frames; i++)
        widen(t.s[i + 1].x, r->in + (i * SAMPLES + b) * ni, ni);
    ctt_paper_forward(&r->m, &t);
    for (int i = 0; i < r->m.c.frames; i++) {
        int64_t at = (i * SAMPLES + b) * nh;
        memcpy(r->want + at, t.s[i + 1].h, (size_t)nh * sizeof(double));
        widen(d.s[i + 1].h, r->coef + at, nh);
        for (int64_t j = 0; j < nh; j++)
            sum += (double)r->coef[at + j] * r->want[at + j];
    }
    if (back)
        ctt_paper_backward(&r->m, &t, &d);
    ctt_tape_close(&t);
    ctt_tape_close(&d);
    return sum;
}

/* The paper's way back must itself be right: against differences. */
static void check_paper(struct rig *r)
{
    const double eps = 1e-4;

    for (int i = 0; i < r->m.params; i += 1 + r->m.params / 11) {
        double old = r->m.p[i], up, numeric;
        r->m.p[i] = old + eps;
        up = paper_sample(r, 0, 0) + paper_sample(r, 1, 0);
        r->m.p[i] = old - eps;
        numeric = (up - paper_sample(r, 0, 0) - paper_sample(r, 1, 0)) /
                  (2 * eps);
        r->m.p[i] = old;
        CU_ASSERT(fabs(numeric - r->m.dp[i]) < 1e-6 * (1 + fabs(numeric)));
    }
    for (int b = 0; b < SAMPLES; b++)    /* the values as they were */
        paper_sample(r, b, 0);
}

/* ---- ours ---- */

static int give(void *arg, struct ctt_exec *x, const struct ctt_window *p)
{
    struct rig *r = arg;
    int in = ctt_graph_input(r->g);
    int64_t n = x->r->slot[in].size;

    for (int t = 0; t < p->steps; t++)
        memcpy(ctt_run_value(x->r, in, t), r->in + (p->first + t) * n,
               (size_t)n * sizeof(float));
    return 0;
}

static int take(void *arg, struct ctt_exec *x, const struct ctt_window *p)
{
    struct rig *r = arg;
    int64_t n = x->r->slot[r->cell].size;

    for (int t = 0; t < p->steps; t++)
        memcpy(r->got + (p->first + t) * n, ctt_run_value(x->r, r->cell, t),
               (size_t)n * sizeof(float));
    return 0;
}

static int seed(void *arg, struct ctt_exec *x, const struct ctt_window *p)
{
    struct rig *r = arg;
    int64_t n = x->r->slot[r->cell].size;

    return ctt_exec_put_grad(x, r->cell, 0, r->coef + p->first * n,
                             p->steps * n / x->r->slot[r->cell].ld);
}

/* 1e-5 of the largest number of what is compared; NaN is not near.  On "cpu"
 * most convs are Winograd's, which alone may be 3e-5 off (test_wino). */
static int near(double worst, double most, const char *what,
                const struct rig *r, const char *device)
{
    double bound = strcmp(device, "ref") == 0 ? 1e-5 : 4e-5;
    char text[256];

    if (most > 0 && worst <= bound * most)
        return 1;
    print_net(&r->m.c, text, sizeof(text));
    printf("\n    %s: %s off by %.3g of %.3g:\n%s", device, what, worst, most,
           text);
    return 0;
}

static double larger(double a, double b)
{
    return isnan(b) ? INFINITY : fmax(a, b);
}

static void check_values(const struct rig *r, const char *device)
{
    int64_t n = (int64_t)r->m.c.frames * SAMPLES * r->m.pixels *
                r->m.c.hidden;
    double worst = 0, most = 0;

    for (int64_t i = 0; i < n; i++) {
        worst = larger(worst, fabs((double)r->got[i] - r->want[i]));
        most = fmax(most, fabs(r->want[i]));
    }
    CU_ASSERT(near(worst, most, "states", r, device));
}

static void check_weights(const struct rig *r, const char *device)
{
    for (int i = 0; i < r->g->count; i++) {
        const struct ctt_node *n = &r->g->node[i];
        for (int k = 0; k < n->nw; k++) {
            double worst = 0, most = 0;
            for (int64_t j = 0; j < ctt_volume(&n->w[k]); j++) {
                double want = r->m.dp[r->map[n->at[k] + j]];
                worst = larger(worst, fabs((double)r->x->dw[n->at[k] + j] -
                                           want));
                most = fmax(most, fabs(want));
            }
            CU_ASSERT(near(worst, most, n->name, r, device));
        }
    }
}

static void check_device(struct rig *r, const char *device,
                         const struct ctt_memory *memory)
{
    struct ctt_job job = { .steps = r->m.c.frames, .feedback = r->m.c.frames,
                           .arg = r, .give = give, .take = take,
                           .seed = seed };
    int64_t values = (int64_t)job.steps * SAMPLES * r->m.pixels *
                     r->m.c.hidden;

    CHECK_OK(ctt_dev_open(device, 1, &r->dev));
    CHECK_OK(ctt_exec_open(&(struct ctt_run_spec){
        .g = r->g, .dev = r->dev, .w = r->w, .samples = SAMPLES,
        .steps = job.steps }, memory, &r->x));
    memset(r->got, 0xff, (size_t)values * sizeof(float));    /* NaN */
    CHECK_OK(ctt_exec_forward(r->x, &job));
    CHECK_OK(ctt_exec_backward(r->x, &job));
    check_values(r, device);
    check_weights(r, device);
    ctt_exec_close(&r->x);
    ctt_dev_close(&r->dev);
}

/* In one window, and in windows of two steps of which one is kept, where a
 * state is older than the window. */
static void check_cell(const struct cell *c)
{
    static const struct ctt_memory windows = { .window = 2, .keep = 1 };
    struct rig r;

    rig_open(&r, c);
    for (int b = 0; b < SAMPLES; b++)
        paper_sample(&r, b, 1);
    if (c->hidden < 8)
        check_paper(&r);
    for (size_t d = 0; ctt_check_hosts[d]; d++) {
        check_device(&r, ctt_check_hosts[d], NULL);
        check_device(&r, ctt_check_hosts[d], &windows);
    }
    rig_close(&r);
}

static void test_lstm(void)
{
    for (size_t i = 0; i < CTT_LEN(cells); i++)
        if (cells[i].order == 0)
            check_cell(&cells[i]);
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

static void test_train(void)
{
    for (size_t i = 0; i < CTT_LEN(cells); i++)
        if (cells[i].order > 0)
            check_cell(&cells[i]);
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

/* ---- the cells without weights ---- */

enum { TIMES = 5, SIZE = 12 };    /* maps of 2 x 3 pixels and 2 channels */

static const struct { const char *line; int delay, skip; } plain[] = {
    { "change y in=x", 1, 0 }, { "change y in=x delay=3", 3, 0 },
    { "average y in=x", 0, 0 }, { "average y in=x skip=2", 0, 2 },
};

/* Number i of the answer of step t: of frames x, by the definition. */
static double plain_answer(float x[TIMES][SIZE], int k, int t, int i)
{
    int delay = plain[k].delay, skip = plain[k].skip;
    double sum = 0;

    if (delay)
        return fabs((double)x[t][i] - (double)x[t < delay ? 0 : t - delay][i]);
    for (int s = skip; s <= t; s++)
        sum += (double)x[s][i] / (t + 1 - skip);
    return sum;
}

static void check_plain(const char *device, int k)
{
    float x[TIMES][SIZE], y[TIMES][SIZE];
    struct ctt_graph *g = NULL;
    struct ctt_dev *d = NULL;
    struct ctt_run *r = NULL;
    char text[128];

    snprintf(text, sizeof(text), "input x h=2 w=3 c=2\n%s", plain[k].line);
    CHECK_OK(ctt_net_parse(text, &g));
    CU_ASSERT_EQUAL(g->weights, 0);
    ctt_check_fill(x[0], TIMES * SIZE, 7);
    CHECK_OK(ctt_dev_open(device, 1, &d));
    CHECK_OK(ctt_run_open(&(struct ctt_run_spec){ .g = g, .dev = d,
        .w = (float[]){ 0 }, .samples = 1, .steps = TIMES }, &r));
    CHECK_OK(ctt_run_make_room(r, TIMES));
    CHECK_OK(ctt_run_put(r, 0, r->cursor, x[0], TIMES * SIZE / 2));
    CHECK_OK(ctt_run_steps(r, TIMES));
    CHECK_OK(ctt_run_get(r, ctt_graph_output(g), r->cursor - TIMES,
                         TIMES * SIZE / 2, y[0]));
    for (int t = 0; t < TIMES; t++)
        for (int i = 0; i < SIZE; i++)
            CU_ASSERT(fabs((double)y[t][i] - plain_answer(x, k, t, i)) < 1e-6);
    ctt_run_close(&r);
    ctt_dev_close(&d);
    ctt_graph_free(&g);
}

static void test_plain(void)
{
    for (size_t d = 0; ctt_check_hosts[d]; d++)
        for (int k = 0; k < (int)CTT_LEN(plain); k++)
            check_plain(ctt_check_hosts[d], k);
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

static void test_refused(void)
{
    static const struct { const char *line, *says; } wrong[] = {
        { "change y", "'in' must be given" },
        { "change y in=z", "'z' comes later" },
        { "change y in=x delay=0", "delay: bad value '0'" },
        { "change y in=x delay=1001", "delay: bad value '1001'" },
        { "change y in=x steps=2", "unknown setting 'steps'" },
        { "average y", "'in' must be given" },
        { "average y in=z", "y: no node 'z' before it" },
        { "average y in=y", "y: no node 'y' before it" },
        { "average y in=x steps=0", "steps: bad value '0'" },
        { "average y in=x skip=-1", "skip: bad value '-1'" },
        { "average y in=x skip=1001", "skip: bad value '1001'" },
        { "average y in=x delay=1", "unknown setting 'delay'" },
        { "clip\nchange y in=x", "after 'clip' only a window" },
        { "clip\naverage y in=x", "after 'clip' only a window" },
    };

    for (size_t i = 0; i < CTT_LEN(wrong); i++) {
        struct ctt_graph *g = NULL;
        char text[128];

        snprintf(text, sizeof(text), "input x h=2 w=3 c=2\n%s", wrong[i].line);
        CU_ASSERT(ctt_net_parse(text, &g) < 0 && g == NULL);
        if (!strstr(ctt_errmsg(), wrong[i].says))
            printf("\n    %s: %s", wrong[i].line, ctt_errmsg());
        CU_ASSERT_PTR_NOT_NULL(strstr(ctt_errmsg(), wrong[i].says));
        ctt_graph_free(&g);
    }
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "LSTM and ConvLSTM as published", test_lstm },
        { "Conv-TT-LSTM as published", test_train },
        { "change and average of maps", test_plain },
        { "change and average, refused", test_refused },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "cell", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    return ctt_check_main(suites);
}
