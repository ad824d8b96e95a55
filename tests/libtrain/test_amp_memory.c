/* SPDX-License-Identifier: Apache-2.0
 * test_amp_memory.c: the memory that mixed precision saves, and the advice
 * to use it. */
#include "libtrain/amp.h"
#include "libtrain/cfg_memory.h"
#include "libtrain/predict/predict.h"
#include "libtrain/recognise/recognise.h"
#include "libtrain/task.h"
#include "run/back/exec.h"
#include "tests/lib/dots.h"

#include <math.h>

static int64_t bytes_of(const char *net, int level)
{
    struct ctt_train_cfg cfg = amp_cfg(CTT_PREDICT, level);
    struct ctt_memory m = { .keep = CTT_KEEP_ALL };
    struct ctt_graph *model = NULL, *g = NULL;
    struct ctt_amp_plan *p = NULL;
    struct ctt_dev *dev = NULL;
    int64_t bytes = 0;

    CHECK_OK(ctt_dev_open("ref", 1, &dev));
    CHECK_OK(ctt_net_parse(net, &model));
    CHECK_OK(ctt_train_plan(model, &cfg, &g, &p));
    CHECK_OK(ctt_exec_bytes(&(struct ctt_run_spec){
        .g = g, .dev = dev, .samples = 4, .steps = 8,
        .type = ctt_amp_types(p, &cfg) }, &m, &bytes));
    ctt_amp_free(&p);
    ctt_graph_free(&g);
    ctt_graph_free(&model);
    ctt_dev_close(&dev);
    return bytes;
}

/* The values that remain floats: targets, losses, and in O1 the cell states. */
static void memory_halves(void)
{
    static const char *const nets[] = {
        "input x h=16 w=16 c=1 colour=gray\n"
        "conv e in=x out=32 kernel=3 pad=1\n"
        "act f in=e kind=relu\n"
        "convlstm h in=f hidden=32 kernel=3\n"
        "conv y in=h out=1 kernel=3 pad=1\n",
        "input x h=16 w=16 c=1 colour=gray\n"
        "conv e in=x out=32 kernel=3 pad=1\n"
        "act f in=e kind=relu\n"
        "convttlstm h in=f hidden=32 kernel=5 order=3 steps=3 rank=8\n"
        "conv y in=h out=1 kernel=3 pad=1\n",
    };

    for (size_t k = 0; k < CTT_LEN(nets); k++) {
        double all = (double)bytes_of(nets[k], CTT_O0);

        CU_ASSERT((double)bytes_of(nets[k], CTT_O2) <= 0.52 * all);
        CU_ASSERT((double)bytes_of(nets[k], CTT_O1) <= 0.65 * all);
        CU_ASSERT((double)bytes_of(nets[k], CTT_O1) > 0.52 * all);
    }
}

static int odd_give(void *arg, struct ctt_exec *x, const struct ctt_window *p)
{
    float frame[4 * 3];

    (void)arg;
    for (int i = 0; i < p->steps * 3; i++)
        frame[i] = (float)((p->first * 3 + i) % 7) * 0.25f - 0.5f;
    return ctt_run_put(x->r, 0, 0, frame, p->steps);
}

static int odd_seed(void *arg, struct ctt_exec *x, const struct ctt_window *p)
{
    static const float ones[4 * 3] = { 1, 0.5f, -1, 0.5f, 1, 1, -1, 1, 1,
                                       0.5f, 0.5f, 1 };

    (void)arg;
    return ctt_exec_put_grad(x, ctt_graph_output(x->r->g), 0,
                             ones + p->first * 3, p->steps);
}

static const struct ctt_job odd_job = { .steps = 4, .feedback = 4,
                                        .give = odd_give,
                                        .seed = odd_seed };

/* Histories of 16 and 32 bits share a block, and some have an odd number of
 * values: each must be aligned for floats.  With windows of one step all of
 * them are copied through it, forward and backward. */
static void odd_states_are_carried(void)
{
    static const char net[] = "input x c=3\nlstm h in=x hidden=5\n"
                              "conv y in=h out=3\n";
    struct ctt_train_cfg cfg = amp_cfg(CTT_RECOGNISE, CTT_O1);
    struct ctt_memory m = { .keep = CTT_KEEP_ALL };
    struct ctt_amp_plan *p = NULL;
    struct ctt_graph *g = NULL;
    struct ctt_dev *dev = NULL;
    float *w, *dw;

    CHECK_OK(ctt_dev_open("ref", 1, &dev));
    CHECK_OK(ctt_net_parse(net, &g));
    CHECK_OK(ctt_amp_plan(g, &cfg, &p));
    w = ctt_calloc((size_t)g->weights, sizeof(*w));
    dw = ctt_calloc((size_t)g->weights, sizeof(*dw));
    CU_ASSERT_FATAL(w != NULL && dw != NULL);
    ctt_check_fill(w, g->weights, 3);
    for (m.window = 4; m.window >= 1; m.window -= 3) {
        struct ctt_exec *x = NULL;
        double far = 0, top = 0;

        CHECK_OK(ctt_exec_open(&(struct ctt_run_spec){
            .g = g, .dev = dev, .w = w, .samples = 1, .steps = 4,
            .type = ctt_amp_types(p, &cfg) }, &m, &x));
        CU_ASSERT(x->r->w16 == NULL && ctt_run_history_bytes(x->r) % 64 == 0);
        CHECK_OK(ctt_exec_forward(x, &odd_job));
        CHECK_OK(ctt_exec_backward(x, &odd_job));
        for (int64_t i = 0; i < g->weights; i++) {
            dw[i] = m.window == 4 ? x->dw[i] : dw[i];
            far = fmax(far, fabs((double)dw[i] - (double)x->dw[i]));
            top = fmax(top, fabs((double)dw[i]));
        }
        CU_ASSERT(top > 0.1 && far <= 0.01 * top);
        ctt_exec_close(&x);
    }
    ctt_free(w);
    ctt_free(dw);
    ctt_amp_free(&p);
    ctt_graph_free(&g);
    ctt_dev_close(&dev);
}

static int has(const char *text, const char *word)
{
    return strstr(text, word) != NULL;
}

/* The advice for clips so long that values need `share` of the machine's
 * memory. */
static void advise(const struct ctt_graph *model, struct ctt_dev *dev,
                   double share, int level, char *text, size_t size)
{
    struct ctt_train_cfg cfg = amp_cfg(CTT_RECOGNISE, level);
    struct ctt_memory m = { .keep = CTT_KEEP_ALL };
    struct ctt_graph *g = NULL;
    int64_t bytes = 0;

    cfg.batch = 16;
    CHECK_OK(ctt_recognise_graph(model, &cfg, &g));
    CHECK_OK(ctt_exec_bytes(&(struct ctt_run_spec){
        .g = g, .dev = dev, .samples = cfg.batch, .steps = 100,
        .asks = 1 }, &m, &bytes));
    ctt_memory_advise(&ctt_recognise_task, model, &cfg, dev,
                      (int)(share * (double)ctt_dev_room(dev) /
                            (double)bytes * 100), text, size);
    ctt_graph_free(&g);
}

static void advice_is_what_fits(void)
{
    static const char net[] =
        "input x h=32 w=32 c=3\n"
        "conv e in=x out=64 kernel=3 pad=1\n"
        "act f in=e kind=relu\n"
        "convlstm h in=f hidden=64 kernel=3\n"
        "clip\n"
        "window v in=h steps=2\n"
        "pool p in=v kind=avg\n"
        "conv y in=p out=4\n";
    struct ctt_graph *model = NULL;
    struct ctt_dev *dev = NULL;
    char text[128];

    CHECK_OK(ctt_dev_open("ref", 1, &dev));
    CHECK_OK(ctt_net_parse(net, &model));
    advise(model, dev, 1.05, CTT_O0, text, sizeof(text));
    CU_ASSERT_STRING_EQUAL(text, "; would fit: --shards=2, "
                           "--batch=8, --keep=auto, --amp=O1");
    advise(model, dev, 2.5, CTT_O0, text, sizeof(text));
    CU_ASSERT(has(text, "--shards=4, --batch=4, --keep=auto") &&
              !has(text, "--amp"));
    advise(model, dev, 3.5, CTT_O1, text, sizeof(text));
    CU_ASSERT(has(text, "--batch=4, --keep=auto") && !has(text, "--amp"));
    advise(model, dev, 100, CTT_O0, text, sizeof(text));
    CU_ASSERT(!has(text, "--batch") && !has(text, "--amp"));
    CU_ASSERT(!has(text, "--shards"));
    ctt_graph_free(&model);
    ctt_dev_close(&dev);
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "memory halves", memory_halves },
        { "odd states are carried", odd_states_are_carried },
        { "advice is what fits", advice_is_what_fits },
        CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = {
        { "amp_memory", NULL, NULL, NULL, NULL, tests }, CU_SUITE_INFO_NULL
    };

    return ctt_check_main(suites);
}
