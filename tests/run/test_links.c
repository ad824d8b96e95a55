/* SPDX-License-Identifier: Apache-2.0
 * test_links.c: chains of convs, computed as one call: the results of separate
 * calls and of plain C, for random shapes; which convs are chained. */
#include "tests/lib/check.h"
#include "device/cpu/features.h"
#include "base/random.h"
#include "run/run.h"

#include <math.h>
#include <string.h>

enum { STEPS = 3, SAMPLES = 2, CASES = 150, MOST = 6 };

/* ---- models ---- */

/* A number of 0 .. below - 1. */
static int draw(uint64_t *seed, int below)
{
    ++*seed;
    return (int)(ctt_random(*seed >> 32, *seed) % (uint32_t)below);
}

/* "KEY=A,B,C"; `axes` of them may be more than `low`. */
static void triple(char *to, const char *key, int axes, int low, int range,
                   uint64_t *seed)
{
    int v[3];

    for (int i = 0; i < 3; i++)
        v[i] = i < 3 - axes ? low : low + draw(seed, range);
    sprintf(to, " %s=%d,%d,%d", key, v[0], v[1], v[2]);
}

/* A conv of the chain, with what follows it; the name of its result in `at`. */
static int add_conv(struct ctt_graph *g, int i, int last, int axes, int bytes,
                    uint64_t *seed, char *at)
{
    static const int outs[] = { 1, 3, 5, 8, 12, 16 };
    static const char *const acts[] = { "relu", "relu6", "tanh" };
    char kernel[40], stride[40], pad[40];
    int rc = 0, act = draw(seed, 6);

    triple(kernel, "kernel", axes, 1, 3, seed);
    triple(stride, "stride", axes, 1, draw(seed, 3) ? 1 : 2, seed);
    triple(pad, "pad", axes, 0, 3, seed);
    CTT_TRY(ctt_graph_add(g, "conv c%d in=%s out=%d bias=%d%s%s%s", i, at,
                          last ? 1 + draw(seed, 70) : outs[draw(seed, 6)],
                          draw(seed, 2), kernel, stride, pad));
    sprintf(at, "c%d", i);
    if (act < 3) {
        CTT_TRY(ctt_graph_add(g, "act a%d in=c%d kind=%s", i, i, acts[act]));
        sprintf(at, "a%d", i);
    }
    if (bytes && !last) {
        CTT_TRY(ctt_graph_add(g, "quant q%d in=%s scale=0.01 zero=%d", i, at,
                              100 + draw(seed, 50)));
        sprintf(at, "q%d", i);
    }
out:
    return rc;
}

/* A random chain, or NULL if its shapes do not fit. */
static struct ctt_graph *chain(uint64_t seed, int bytes)
{
    struct ctt_graph *g = NULL;
    int convs = 2 + draw(&seed, MOST - 1), axes = 1 + draw(&seed, 3), rc = 0;
    char at[16] = "x";

    CHECK_OK(ctt_graph_new(&g));
    CTT_TRY(ctt_graph_add(g, "input x c=%d d=%d h=%d w=%d",
                          1 + draw(&seed, 16), axes > 2 ? 5 : 1,
                          axes > 1 ? 4 + draw(&seed, 15) : 1,
                          4 + draw(&seed, 15)));
    if (bytes) {
        CTT_TRY(ctt_graph_add(g, "quant qx in=x scale=0.01 zero=128"));
        strcpy(at, "qx");
    }
    for (int i = 0; i < convs; i++)
        CTT_TRY(add_conv(g, i, i == convs - 1, axes, bytes, &seed, at));
    CTT_TRY(ctt_graph_seal(g));
out:
    if (rc < 0)
        ctt_graph_free(&g);
    return g;
}

/* ---- runs ---- */

struct job {
    struct ctt_graph *g;
    float            *w, *x, *y;
    int64_t           rows;     /* of the answer, of a step */
};

/* Sums are about 1, so that no act hides an error or makes it larger. */
static void fill(struct job *j)
{
    const struct ctt_graph *g = j->g;
    const struct ctt_tensor *x = &g->node[0].out;
    const struct ctt_tensor *y = &g->node[g->count - 1].out;

    j->w = ctt_calloc((size_t)g->weights + 1, sizeof(float));
    j->x = ctt_calloc((size_t)(STEPS * SAMPLES * ctt_volume(x)),
                      sizeof(float));
    j->y = ctt_calloc((size_t)(STEPS * SAMPLES * ctt_volume(y)),
                      sizeof(float));
    CU_ASSERT_FATAL(j->w && j->x && j->y);
    j->rows = SAMPLES * ctt_rows(y);
    ctt_check_fill(j->x, STEPS * SAMPLES * ctt_volume(x), 5);
    ctt_check_fill(j->w, g->weights, 6);
    for (int i = 0; i < g->count; i++)
        for (int64_t k = 0; g->node[i].nw && k < ctt_volume(&g->node[i].w[0]);
             k++)
            j->w[g->node[i].at[0] + k] *= 2 / sqrtf((float)(
                ctt_volume(&g->node[i].w[0]) / g->node[i].w[0].n));
}

static void close_job(struct job *j)
{
    ctt_free(j->w);
    ctt_free(j->x);
    ctt_free(j->y);
    ctt_graph_free(&j->g);
}

/* The answers of STEPS steps, `each` at a time; by how many links. */
static int answers(struct job *j, const char *device, int threads,
                   unsigned plain, int each)
{
    int last = j->g->count - 1, links = 0;
    int64_t in = SAMPLES * ctt_rows(&j->g->node[0].out);
    struct ctt_dev *d = NULL;
    struct ctt_run *r = NULL;

    CHECK_OK(ctt_dev_open(device, threads, &d));
    CHECK_OK(ctt_run_open(&(struct ctt_run_spec){
        .g = j->g, .dev = d, .w = j->w, .samples = SAMPLES, .steps = each },
        &r));
    r->plain = plain;
    r->stamp = 1;
    for (int t = 0; t < STEPS; t += each) {
        CHECK_OK(ctt_run_make_room(r, each));
        CHECK_OK(ctt_run_put(r, 0, r->cursor, j->x + t * in *
                             j->g->node[0].out.c, each * in));
        CHECK_OK(ctt_run_steps(r, each));
        CHECK_OK(ctt_run_get(r, last, r->cursor - each, each * j->rows,
                             j->y + t * j->rows * j->g->node[last].out.c));
    }
    for (int i = 0; i <= last; i++)
        if (j->g->node[i].op == CTT_OP_CONV && r->cache[i][CTT_CACHE_FWD] &&
            strstr(ctt_dev_impl(d, r->cache[i][CTT_CACHE_FWD], CTT_FWD),
                   "+chain"))
            links++;
    ctt_run_close(&r);
    ctt_dev_close(&d);
    return links;
}

/* The largest difference as a share of the largest number. */
static double error_of(const float *a, const float *b, int64_t n)
{
    double worst = 0, top = 1e-30;

    for (int64_t i = 0; i < n; i++) {
        worst = fmax(worst, fabs((double)a[i] - (double)b[i]));
        top = fmax(top, fabs((double)b[i]));
    }
    return worst / top;
}

/* Chained on one and on two threads, in steps and at once: the same bits of
 * bytes, and if `exact` of floats; those of separate calls and of plain C, of
 * bytes to the bit.  Returns how many convs were chained. */
static int compare(struct job *j, int bytes, int exact)
{
    int64_t n = STEPS * j->rows * j->g->node[j->g->count - 1].out.c;
    float *want = ctt_calloc((size_t)n, sizeof(float));
    int chained = answers(j, "cpu", 1, 0, 1);
    double tolerance = bytes ? 0 : 2e-5;

    CU_ASSERT_PTR_NOT_NULL_FATAL(want);
    memcpy(want, j->y, (size_t)n * sizeof(float));
    if (answers(j, "cpu", 2, 0, STEPS) == chained && (bytes || exact))
        CU_ASSERT(memcmp(want, j->y, (size_t)n * sizeof(float)) == 0);
    if (answers(j, "cpu", SAMPLES + 1, 0, 1) == chained && (bytes || exact))
        CU_ASSERT(memcmp(want, j->y, (size_t)n * sizeof(float)) == 0);
    CU_ASSERT_EQUAL(answers(j, "cpu", 1, CTT_RUN_NO_CHAIN, 1), 0);
    CU_ASSERT(error_of(want, j->y, n) <= tolerance);
    CU_ASSERT_EQUAL(answers(j, "ref", 1, 0, STEPS), 0);
    CU_ASSERT(error_of(want, j->y, n) <= tolerance);
    if (error_of(want, j->y, n) > tolerance) {
        char *text = ctt_net_print(j->g);
        printf("\n%serror %g\n", text, error_of(want, j->y, n));
        ctt_free(text);
    }
    ctt_free(want);
    return chained;
}

static void check_random(int bytes, int can)
{
    int tried = 0, chained = 0;

    for (uint64_t i = 0; i < CASES; i++) {
        struct job j = { chain((i + 1) << 32, bytes) };
        if (!j.g)
            continue;
        fill(&j);
        tried++;
        chained += compare(&j, bytes, 1) > 0;
        close_job(&j);
    }
    CU_ASSERT(tried > CASES / 2);
    CU_ASSERT(can ? chained > tried / 2 : chained == 0);
}

static void test_floats(void)
{
    check_random(0, ctt_has_avx2());
}

static void test_bytes(void)
{
    check_random(1, ctt_has_vnni() || ctt_has_avxvnni());
}

/* ---- which ---- */

/* How many convs a model's chains have before their last convs. */
static const struct which { const char *text; int links; } whiches[] = {
    { "conv a in=x out=8\nconv b in=a out=64\n", 1 },
    { "conv a in=x out=8\nact r in=a kind=tanh\nconv b in=r out=64\n", 1 },
    { "conv a in=x out=64\nconv b in=a out=64\n", 0 },
    { "conv a in=x out=8\nconv b in=a out=64\nadd y in=b,b\n"
      "conv c in=a out=64\nadd z in=y,c\n", 0 },    /* a has two readers */
    { "conv a in=x out=8\nstate s of=a\nconv b in=s out=64\n", 0 },
    { "conv a in=x out=8 groups=2\nconv b in=a out=64\n", 0 },
    { "conv p in=x out=8\nconv a in=x plus=p out=8 kernel=3 pad=1\n"
      "conv b in=a out=64\n", 1 },
    { "conv a in=x out=8\nconv b in=a out=64\nstate s of=m like=b c=16\n"
      "lstm h in=b,s\ncell m in=h\n", 1 },
    { "state s of=h like=x c=16\nstate t of=m like=x c=16\n"
      "conv a in=s out=8\nconv b in=a out=64\nlstm h in=b,t\n"
      "cell m in=h\n", 0 },    /* b takes the lstm along */
};

static void test_which(void)
{
    for (size_t i = 0; i < CTT_LEN(whiches); i++) {
        char text[600];
        struct job j = { NULL };
        struct ctt_dev *d = NULL;
        struct ctt_run *r = NULL;
        int links = 0;

        sprintf(text, "input x c=4 h=6 w=6\n%s", whiches[i].text);
        CHECK_OK(ctt_net_parse(text, &j.g));
        fill(&j);
        CHECK_OK(ctt_dev_open("cpu", 1, &d));
        CHECK_OK(ctt_run_open(&(struct ctt_run_spec){
            .g = j.g, .dev = d, .w = j.w, .samples = 1, .steps = 1 }, &r));
        for (int k = 0; k < j.g->count; k++)
            links += r->slot[k].link >= 0;
        CU_ASSERT_EQUAL(links, whiches[i].links);
        if (links != whiches[i].links)
            printf("\n%s: %d", whiches[i].text, links);
        ctt_run_close(&r);
        ctt_dev_close(&d);
        close_job(&j);
    }
}

/* Bands of one row, of which the last one needs more values than the first. */
static void test_edges(void)
{
    struct job j = { NULL };

    CHECK_OK(ctt_net_parse(
        "input x c=16 h=4 w=80\n"
        "conv a in=x out=16 kernel=1,3,1 pad=0,1,0\n"
        "conv b in=a out=64 kernel=3 stride=2 pad=1\n", &j.g));
    fill(&j);
    CU_ASSERT_EQUAL(answers(&j, "cpu", SAMPLES + 1, 0, 1), ctt_has_avx2());
    CU_ASSERT_EQUAL(compare(&j, 0, 1), ctt_has_avx2());
    close_job(&j);
}

/* Links that add a plus input, in a loop over steps. */
static void test_cell(void)
{
    struct job j = { NULL };

    CHECK_OK(ctt_net_parse(
        "input x c=5 h=7 w=6\n"
        "convttlstm h in=x hidden=8 kernel=3 order=3 steps=3 rank=8\n", &j.g));
    fill(&j);
    CU_ASSERT_EQUAL(compare(&j, 0, 0), ctt_has_avx2());
    close_job(&j);
}

static CU_TestInfo tests[] = {
    { "floats", test_floats },
    { "bytes", test_bytes },
    { "which", test_which },
    { "edges", test_edges },
    { "cell", test_cell },
    CU_TEST_INFO_NULL
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { .pName = "links", .pTests = tests }, CU_SUITE_INFO_NULL
    };
    int rc = ctt_check_main(suites);

    return rc ? rc : ctt_live_blocks() != 0;
}
