/* SPDX-License-Identifier: Apache-2.0
 * test_amp_plan.c: which values have 16 bits in mixed precision, the reason,
 * and invalid settings. */
#include "libtrain/amp.h"
#include "libtrain/predict/predict.h"
#include "libtrain/recognise/recognise.h"
#include "libtrain/task.h"
#include "base/half.h"
#include "tests/lib/dots.h"

/* ---- plans ---- */

/* A loop through a state without any op of the lists. */
static const char sum_net[] =
    "input x h=4 w=4 c=1\n"
    "state b of=s like=x c=1\n"
    "add s in=x,b\n"
    "act r in=s kind=relu\n"
    "conv y in=r out=1\n";

static const char two_net[] =
    "input x c=2\n"
    "slice l in=x from=0 to=1\n"
    "act q in=l kind=tanh\n"
    "conv e in=x out=2\n"
    "concat k in=e,q\n"
    "conv y in=k out=2\n";

struct expected {
    const char *net;
    int         task, level, type;
    const char *allow, *deny, *node, *word, *why, *follow;
};

static const struct expected plans[] = {
    { clip_net, 0, CTT_O0, 0, 0, 0, "e", "fp32", "--amp=O0" },
    { clip_net, 0, CTT_O1, 0, 0, 0, "x", "fp16", "all readers take it" },
    { clip_net, 0, CTT_O1, 0, 0, 0, "e", "fp16", "white list" },
    { clip_net, 0, CTT_O1, 1, 0, 0, "e", "bf16", "white list" },
    { clip_net, 0, CTT_O1, 0, 0, 0, "n", "fp16",
      "follows e; statistics fp32" },
    { clip_net, 0, CTT_O1, 0, 0, 0, "f", "fp16", "follows n" },
    { clip_net, 0, CTT_O1, 0, 0, 0, "h", "fp16", "white list" },
    { clip_net, 0, CTT_O1, 0, 0, 0, "h.c", "fp32", "black list" },
    { clip_net, 0, CTT_O1, 0, 0, 0, "h.c1", "fp32", "memory of h.c" },
    { clip_net, 0, CTT_O1, 0, 0, 0, "h.h1", "fp16", "memory of h" },
    { clip_net, 0, CTT_O1, 0, 0, 0, "d", "fp16", "follows p" },
    { clip_net, 0, CTT_O1, 0, 0, 0, "train.loss", "fp32", "black list" },
    { clip_net, 0, CTT_O1, 0, 0, 0, "train.target", "fp32",
      "counts in train.loss" },
    { clip_net_end, 0, CTT_O1, 0, 0, 0, "v", "fp16", "follows h" },
    { clip_net, 0, CTT_O1, 0, 0, "conv", "e", "fp32", "--amp-deny" },
    { clip_net, 0, CTT_O1, 0, 0, "conv", "n", "fp32",
      "follows e; statistics fp32" },
    { clip_net, 0, CTT_O1, 0, 0, "conv", "x", "fp32", "read by e" },
    { clip_net, 0, CTT_O1, 0, 0, "conv", "h", "fp16", "white list" },
    { clip_net, 0, CTT_O1, 0, "cell", 0, "h.c", "fp16", "--amp-allow" },
    { clip_net, 0, CTT_O1, 0, "cell", 0, "h.c1", "fp16", "memory of h.c" },
    { clip_net, 0, CTT_O1, 0, "e", "conv", "e", "fp16", "--amp-allow" },
    { clip_net, 0, CTT_O1, 0, "conv", "e", "e", "fp32", "--amp-deny" },
    { clip_net, 0, CTT_O1, 0, "conv,e", "e", "e", "fp32", "--amp-deny" },
    { clip_net, 0, CTT_O1, 0, "norm", "norm,y", "n", "fp32", "--amp-deny" },
    { clip_net, 0, CTT_O2, 0, 0, 0, "h.c", "fp16", "--amp=O2" },
    { clip_net, 0, CTT_O2, 0, 0, 0, "n", "fp16",
      "--amp=O2; statistics fp32" },
    { clip_net, 0, CTT_O2, 0, 0, 0, "train.target", "fp32",
      "counts in train.loss" },
    { clip_net, 0, CTT_O2, 0, 0, 0, "train.loss", "fp32", "black list" },
    { clip_net, 0, CTT_O2, 0, 0, "cell", "h.c", "fp32", "--amp-deny" },
    { dot_net, 1, CTT_O1, 0, 0, 0, "x", "fp16", "follows train.frame" },
    { dot_net, 1, CTT_O1, 0, 0, 0, "train.back", "fp16", "memory of y" },
    { dot_net, 1, CTT_O1, 0, 0, 0, "train.seen", "fp32", "counts in x" },
    { dot_net, 1, CTT_O2, 0, 0, 0, "train.seen", "fp32", "counts in x" },
    { dot_net, 1, CTT_O1, 0, 0, "y", "x", "fp32", "follows train.back" },
    { dot_net, 1, CTT_O1, 0, 0, "y", "train.frame", "fp32", "read by x" },
    { sum_net, 1, CTT_O1, 0, 0, 0, "s", "fp16", "follows x" },
    { sum_net, 1, CTT_O1, 0, 0, "x", "s", "fp32", "follows x" },
    { sum_net, 1, CTT_O1, 0, 0, "x", "b", "fp32", "memory of s" },
    { sum_net, 1, CTT_O1, 0, 0, "s", "r", "fp32", "follows s" },
    { two_net, 0, CTT_O1, 0, 0, "q", "x", "fp32", "read by q" },
    { two_net, 0, CTT_O1, 0, 0, "q", "l", "fp32", "memory of x" },
    { two_net, 1, CTT_O1, 0, 0, "q", "l", "fp16", "memory of x" },
    { two_net, 1, CTT_O1, 0, 0, "q", "k", "fp32", "follows q" },
    { two_net, 1, CTT_O1, 0, 0, "q", "e", "fp16", "white list" },
    { clip_net, 0, CTT_O1, 0, 0, 0, "h", "fp32", "follows h.c1", "h" },
    { clip_net, 0, CTT_O1, 0, 0, "e", "f", "fp32", "follows n", "f" },
    { clip_net, 0, CTT_O1, 0, 0, 0, "y", "fp16", "follows d", "conv" },
    { clip_net, 0, CTT_O1, 0, 0, "y", "y", "fp32", "--amp-deny", "y" },
    { clip_net, 0, CTT_O1, 0, "y", 0, "y", "fp16", "follows d", "y" },
    { clip_net, 0, CTT_O1, 0, "y", 0, "y", "fp16", "--amp-allow", "conv" },
    { clip_net, 0, CTT_O2, 0, 0, "e", "n", "fp32", "follows e; statistics fp32",
      "norm" },
};

static void check_plan(const struct expected *e)
{
    struct ctt_train_cfg cfg = amp_cfg(e->task, e->level);
    struct ctt_graph *model = NULL, *g = NULL;
    struct ctt_amp_plan *p = NULL;
    const char *word;
    int i;

    cfg.amp_type = e->type;
    cfg.amp_allow = e->allow;
    cfg.amp_follow = e->follow;
    cfg.amp_deny = e->deny;
    CHECK_OK(ctt_net_parse(e->net, &model));
    CHECK_OK(ctt_train_plan(model, &cfg, &g, &p));
    i = ctt_graph_find(g, e->node);
    CU_ASSERT_FATAL(i >= 0);
    word = ctt_dtype_word(p->type[i]);
    if (strcmp(word, e->word) || strcmp(p->why[i], e->why)) {
        printf("\n    O%d allow %s deny %s: %s: %s, %s", e->level,
               e->allow ? e->allow : "-", e->deny ? e->deny : "-", e->node,
               word, p->why[i]);
        CU_FAIL("another plan");
    }
    CU_ASSERT((ctt_amp_types(p, &cfg) == NULL) == (e->level == CTT_O0));
    ctt_amp_free(&p);
    ctt_graph_free(&g);
    ctt_graph_free(&model);
}

static void plans_have_their_reasons(void)
{
    for (size_t i = 0; i < CTT_LEN(plans); i++)
        check_plan(&plans[i]);
}

/* ---- what is refused ---- */

static void bad_lists_are_refused(void)
{
    static const struct { const char *allow, *deny, *says, *follow; } bad[] = {
        { "pol", 0, "--amp-allow: 'pol' is no op and no node" },
        { 0, "e,,n", "--amp-deny: 'e,,n' is no list" },
        { 0, "state", "--amp-deny: 'state' only names the memory" },
        { 0, "h.c1", "--amp-deny: 'h.c1' only names the memory of 'h.c'" },
        { "h.h1", 0, "--amp-allow: 'h.h1' only names the memory of 'h'" },
        { "loss", 0, "--amp-allow: 'loss' stays fp32" },
        { "train.loss", 0, "'train.loss' stays fp32" },
        { "train.target", 0, "'train.target' stays fp32, because of "
          "train.loss" },
        { 0, "a_name_that_is_longer_than_any_name_of_a_node_can_be", "is no "
          "list" },
        { 0, 0, "--amp-follow: 'pol' is no op and no node", "pol" },
        { 0, 0, "--amp-follow: 'loss' stays fp32", "loss" },
    };
    struct ctt_graph *model = NULL, *g = NULL;
    struct ctt_amp_plan *p = NULL;

    CHECK_OK(ctt_net_parse(clip_net, &model));
    for (size_t i = 0; i < CTT_LEN(bad); i++) {
        struct ctt_train_cfg cfg = amp_cfg(CTT_RECOGNISE, CTT_O1);

        cfg.amp_allow = bad[i].allow;
        cfg.amp_deny = bad[i].deny;
        cfg.amp_follow = bad[i].follow;
        CU_ASSERT_EQUAL(ctt_train_plan(model, &cfg, &g, &p), CTT_EINVAL);
        CU_ASSERT(!g && !p && strstr(ctt_errmsg(), bad[i].says) != NULL);
    }
    ctt_graph_free(&model);
}

static void bad_settings_are_refused(void)
{
    static const char *const scales[] = { "0", "0.5", "-1", "dynamic2", "1e99",
                                          "nan", "inf", "x", "2x" };
    struct ctt_train_cfg cfg = amp_cfg(CTT_RECOGNISE, CTT_O1);

    CHECK_OK(ctt_train_check(&cfg));
    for (size_t i = 0; i < CTT_LEN(scales); i++) {
        cfg.loss_scale = scales[i];
        CU_ASSERT_EQUAL(ctt_train_check(&cfg), CTT_EINVAL);
        CU_ASSERT(strstr(ctt_errmsg(), "--loss-scale: bad value") != NULL);
    }
    cfg.loss_scale = "512";
    CHECK_OK(ctt_train_check(&cfg));
    cfg.amp = CTT_O0;
    CU_ASSERT_EQUAL(ctt_train_check(&cfg), CTT_EINVAL);
    CU_ASSERT_STRING_EQUAL(ctt_errmsg(),
                           "--loss-scale requires --amp=O1 or --amp=O2");
    cfg.loss_scale = NULL;
    cfg.amp_deny = "conv";
    CU_ASSERT_EQUAL(ctt_train_check(&cfg), CTT_EINVAL);
}

/* ---- memory ---- */

static void allocations_fail(void)
{
    struct ctt_train_cfg cfg = amp_cfg(CTT_PREDICT, CTT_O1);
    struct ctt_graph *model = NULL;
    long live, k = 1, done = 0;

    cfg.amp_deny = "act,y";
    CHECK_OK(ctt_net_parse(dot_net, &model));
    live = ctt_live_blocks();
    for (; !done && k < 1000; k++) {
        struct ctt_graph *g = NULL;
        struct ctt_amp_plan *p = NULL;
        int rc;

        ctt_fail_alloc(k);
        rc = ctt_train_plan(model, &cfg, &g, &p);
        ctt_fail_alloc(0);
        CU_ASSERT(rc == 0 || rc == CTT_ENOMEM);
        done = rc == 0;
        ctt_amp_free(&p);
        ctt_graph_free(&g);
        CU_ASSERT_EQUAL(ctt_live_blocks(), live);
    }
    CU_ASSERT(k > 4 && done);
    ctt_graph_free(&model);
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "plans have their reasons", plans_have_their_reasons },
        { "bad lists are refused", bad_lists_are_refused },
        { "bad settings are refused", bad_settings_are_refused },
        { "allocations fail", allocations_fail },
        CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = {
        { "amp_plan", NULL, NULL, NULL, NULL, tests }, CU_SUITE_INFO_NULL
    };

    return ctt_check_main(suites);
}
