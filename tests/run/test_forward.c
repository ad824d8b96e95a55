/* SPDX-License-Identifier: Apache-2.0
 * test_forward.c: all ways of running a model forward give the same numbers. */
#include "tests/lib/check.h"
#include "tests/lib/exec.h"
#include "base/limits.h"

#include <string.h>

static float want[MOST], got[MOST];

/* ---- ways of running forward ---- */

/* Answers of a run in chunks of `chunk` steps, at the asks of the rig. */
static void collect(const struct exec_rig *r, struct ctt_run *run, int chunk)
{
    int64_t one = r->volume / (r->clip ? r->m->asks : r->m->n);

    ctt_run_reset(run);
    for (int t = 0; t < STEPS; t += chunk) {
        int steps = chunk < STEPS - t ? chunk : STEPS - t;
        CHECK_OK(ctt_run_make_room(run, steps));
        exec_inputs(run, run->cursor, steps, t);
        CHECK_OK(ctt_run_steps(run, steps));
        if (!r->clip)
            memcpy(got + t * r->volume,
                   ctt_run_value(run, r->out, run->cursor - steps),
                   (size_t)(steps * r->volume) * sizeof(float));
        for (int i = 0; i < r->m->asks; i++) {
            struct ctt_ask ask = r->ask[i];
            if (ask.step < t || ask.step >= t + steps)
                continue;
            ask.step += run->cursor - t - steps;
            run->ask[0] = ask;
            CHECK_OK(ctt_run_clip(run, 1));
            memcpy(got + i * one, ctt_run_value(run, r->out, 0),
                   (size_t)one * sizeof(float));
        }
    }
}

/* Bit for bit on "ref". */
static void same(const struct exec_rig *r, const char *way)
{
    int differ = memcmp(got, want,
                        (size_t)exec_answers(r) * sizeof(float)) != 0;

    if (!r->plain) {
        CHECK_CLOSE(got, want, exec_answers(r), 2e-5);
        return;
    }

    if (differ)
        printf("\n    %s differs:\n%s", way, r->m->text);
    CU_ASSERT(!differ);
}

/* The trainer's window in one call, the loop over steps, and a session with a
 * short window give the same bits. */
static void check_ways(const struct exec_model *m, const char *device)
{
    static const int rooms[] = { 1, 3, STEPS }, chunks[] = { 1, 2, STEPS };
    struct ctt_run *run = NULL;
    struct exec_rig r;

    CHECK_OK(exec_rig_open(&r, m, device));
    r.x->r->train = 0;
    memcpy(want, exec_forward(&r), (size_t)exec_answers(&r) * sizeof(float));
    for (size_t i = 0; i < CTT_LEN(rooms); i++)
        for (size_t j = 0; j < CTT_LEN(chunks) && chunks[j] <= rooms[i]; j++) {
            CHECK_OK(ctt_run_open(&(struct ctt_run_spec){
                .g = r.g, .dev = r.dev, .w = r.w, .samples = m->n,
                .steps = rooms[i], .asks = m->asks ? 1 : 0 }, &run));
            for (int twice = 0; twice < 2; twice++) {
                memset(got, 0xff, sizeof(got));
                collect(&r, run, chunks[j]);
                same(&r, "streaming");
            }
            ctt_run_close(&run);
        }
    exec_rig_close(&r);
}

static void test_ways(void)
{
    for (size_t d = 0; ctt_check_hosts[d]; d++)
        for (size_t i = 0; i < EXEC_MODELS; i++)
            check_ways(&exec_models[i], ctt_check_hosts[d]);
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

static int has_batch_norm(const struct ctt_graph *g)
{
    for (int i = 0; i < g->count; i++)
        if (g->node[i].op == CTT_OP_NORM &&
            g->node[i].attr.norm.kind == CTT_NORM_BATCH)
            return 1;
    return 0;
}

/* Dropout masks do not depend on how steps are batched; another key gives
 * another mask. */
static void test_masks(void)
{
    int dropped = 0;

    for (size_t i = 0; i < EXEC_MODELS; i++) {
        struct exec_rig r;

        CHECK_OK(exec_rig_open(&r, &exec_models[i], "ref"));
        if (!has_batch_norm(r.g)) {
            memcpy(want, exec_forward(&r),
                   (size_t)exec_answers(&r) * sizeof(float));
            if (!r.clip) {    /* their masks depend on the number of the ask */
                struct ctt_run *run = NULL;
                CHECK_OK(ctt_run_open(&(struct ctt_run_spec){
                    .g = r.g, .dev = r.dev, .w = r.w, .samples = r.m->n,
                    .steps = STEPS, .train = 1 }, &run));
                run->key = r.x->r->key;
                collect(&r, run, 1);
                same(&r, "the step loop of training");
                ctt_run_close(&run);
            }
            r.x->r->key++;
            dropped += memcmp(exec_forward(&r), want,
                              (size_t)exec_answers(&r) * sizeof(float)) != 0;
        }
        exec_rig_close(&r);
    }
    CU_ASSERT_EQUAL(dropped, 2);
}

static int give_ones(void *arg, struct ctt_exec *x, const struct ctt_window *p)
{
    float *in = ctt_run_value(x->r, 0, 0);

    (void)arg;
    for (int64_t i = 0; i < p->steps * x->r->slot[0].size; i++)
        in[i] = 1;
    return 0;
}

/* Steps of one mask differ from each other. */
static void test_mask_of_step(void)
{
    static const struct exec_model m = { "input x c=64\ndropout y in=x\n", 1 };
    const float *y;
    struct exec_rig r;

    CHECK_OK(exec_rig_open(&r, &m, "ref"));
    r.job.give = give_ones;
    y = exec_forward(&r);
    for (int t = 1; t < STEPS; t++)
        CU_ASSERT(memcmp(y + t * 64, y, 64 * sizeof(float)) != 0);
    exec_rig_close(&r);
}

/* ---- memory ---- */

/* A session reuses the memory of values that are not read any more; test_ways
 * would detect memory shared too early. */
static void test_sharing(void)
{
    static const struct exec_model deep = {
        "input x h=16 w=16 c=4\n"
        "conv a in=x out=4\nconv b in=a out=4\nconv c in=b out=4\n"
        "conv d in=c out=4\nconv e in=d out=4\nconv f in=e out=4\n", 1 };
    struct ctt_run *run = NULL;
    struct exec_rig r;

    CHECK_OK(exec_rig_open(&r, &deep, "ref"));
    CHECK_OK(ctt_run_open(&(struct ctt_run_spec){
        .g = r.g, .dev = r.dev, .w = r.w, .samples = 1,
        .steps = STEPS }, &run));
    CU_ASSERT_EQUAL(run->values, 4 * STEPS * 16 * 16 * 4 *
                    (int)sizeof(float));
    ctt_run_close(&run);
    exec_rig_close(&r);
}

/* A run at rest has no packed weights; after it, the answers are the same. */
static void test_rest(void)
{
    static const struct exec_model wide = {
        "input x h=16 w=16 c=8\nconv a in=x out=16 kernel=3 pad=1\n"
        "conv b in=a out=8 kernel=3 pad=1\n", 1 };
    struct ctt_run *run = NULL;
    struct exec_rig r;
    int64_t used;

    CHECK_OK(exec_rig_open(&r, &wide, "cpu"));
    CHECK_OK(ctt_run_open(&(struct ctt_run_spec){
        .g = r.g, .dev = r.dev, .w = r.w, .samples = 1, .steps = 1 }, &run));
    for (int turn = 0; turn < 2; turn++) {
        collect(&r, run, 1);
        if (!turn)
            memcpy(want, got, sizeof(got));
        used = ctt_memory_used();
        ctt_run_rest(run);
        CU_ASSERT(used - ctt_memory_used() >
                  r.g->weights * (int64_t)sizeof(float));
    }
    CU_ASSERT(memcmp(got, want, (size_t)exec_answers(&r) *
                     sizeof(float)) == 0);
    ctt_run_close(&run);
    exec_rig_close(&r);
}

static CU_TestInfo tests[] = {
    { "ways", test_ways },
    { "masks", test_masks },
    { "mask of a step", test_mask_of_step },
    { "sharing", test_sharing },
    { "rest", test_rest },
    CU_TEST_INFO_NULL
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { .pName = "forward", .pTests = tests }, CU_SUITE_INFO_NULL
    };

    return ctt_check_main(suites);
}
