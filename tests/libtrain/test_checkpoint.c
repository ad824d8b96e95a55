/* SPDX-License-Identifier: Apache-2.0
 * test_checkpoint.c: a stopped run resumes from its checkpoint as if it had not
 * been stopped; checkpoints that do not fit are refused. */
#include "libtrain/checkpoint.h"
#include "tests/lib/toy_run.h"

/* Prunes more of each kernel before some steps. */
static int prunes_at(const void *arg, int64_t step, int64_t steps)
{
    (void)arg;
    CU_ASSERT_EQUAL(steps, 18);
    return step % 5 == 2;
}

static int prune_more(void *arg, struct ctt_model *m, int64_t step,
                      int64_t steps)
{
    (void)arg;
    (void)steps;
    CHECK_OK(ctt_constraint_mask(&m->constraint, m->g->weights));
    for (int i = 0; i < m->g->count; i++)
        for (int64_t k = 0; m->g->node[i].op == CTT_OP_CONV &&
             k < ctt_volume(&m->g->node[i].w[0]); k++)
            if (k * 7 % 20 < step) {
                m->w[m->g->node[i].at[0] + k] = 0;
                m->constraint.keep[m->g->node[i].at[0] + k] = 0;
            }
    return 0;
}

static const struct ctt_changes prunes = { NULL, prunes_at, prune_more };

/* The share of the weights of kernels that are pruned, which are zero. */
static double share_pruned(const struct ctt_model *m)
{
    double gone = 0, all = 0;

    for (int i = 0; i < m->g->count; i++)
        for (int64_t k = 0; m->g->node[i].op == CTT_OP_CONV &&
             k < ctt_volume(&m->g->node[i].w[0]); k++, all++) {
            int64_t at = m->g->node[i].at[0] + k;
            if (!ctt_is_pruned(&m->constraint, at))
                continue;
            CU_ASSERT(m->w[at] == 0);
            gone++;
        }
    return gone / all;
}

/* A run stopped after any step, within or at the end of an epoch, and resumed
 * has the final weights of an uninterrupted one. */
static void resumed_is_uninterrupted(void)
{
    static const int at[] = { 1, 6, 11 };
    static const char *const devices[] = { "ref", "cpu" };
    static const char *const nets[] = { clip_net, clip_net_end };

    for (size_t k = 0; k < 2 * CTT_LEN(devices); k++) {
        struct ctt_train_cfg cfg = short_run();
        struct ctt_model *whole, *teacher = NULL, *other = NULL;
        const struct ctt_model *teachers[3] = { NULL };
        struct ctt_result r;

        CHECK_OK(clip_model(clip_net, 2, &teacher));
        CHECK_OK(clip_model(clip_net_end, 2, &other));
        teachers[0] = teacher;
        teachers[1] = other;
        cfg.wiring.teachers = k == 3 ? teachers : NULL;
        cfg.wiring.changes = k > 1 ? &prunes : NULL;
        cfg.dsd = k == 1 ? 0.4f : 0;    /* from step 9 to 15 */
        cfg.distil = 0.5f;
        cfg.augment = k == 1 ? CTT_AUGMENT_OFF : k == 0 ? CTT_AUGMENT_LIGHT
                                               : CTT_AUGMENT_STRONG;
        cfg.sampler = k == 0 ? CTT_BALANCED : CTT_PLAIN;
        cfg.class_weights = k == 3 ? CTT_BALANCED : CTT_PLAIN;
        cfg.self_distil = k > 1 ? 0.4f : 0;
        cfg.shards = k == 1 ? 4 : k == 2 ? 2 : 1;
        cfg.freeze = k == 0 ? "e,n" : NULL;
        cfg.lr_scale = k < 2 ? "h=0.3,y=2" : NULL;
        cfg.device = devices[k / 2];
        cfg.optimizer = k == 1 ? CTT_SGD : CTT_ADAMW;
        whole = trained(nets[k % 2], &cfg, 1);
        CU_ASSERT_DOUBLE_EQUAL(share_pruned(whole), k > 1 ? 0.85 : 0, 0.01);
        CU_ASSERT((whole->constraint.keep != NULL) == (k > 1));
        cfg.checkpoint = clip_path("ckpt");
        for (size_t i = 0; i < CTT_LEN(at); i++) {
            struct stopper s = { at[i] };
            const struct ctt_events ev = { .arg = &s,
                                           .progress = on_progress };
            struct ctt_model *m = NULL;

            CHECK_OK(clip_model(nets[k % 2], 1, &m));
            CHECK_OK(stop_train(m, &cfg, toy, toy_val, &ev, &r));
            CU_ASSERT(r.stopped && r.steps == at[i]);
            ctt_model_free(&m);
            CHECK_OK(ctt_model_load(cfg.checkpoint, 1, &m));
            if (at[i] == 11 && k > 0)
                CU_ASSERT_DOUBLE_EQUAL(share_pruned(m), k > 1 ? 0.35 : 0.4,
                                       0.01);
            CHECK_OK(ctt_train(m, &cfg, toy, toy_val, NULL, &r));
            CU_ASSERT(!r.stopped && r.steps == 18);
            CU_ASSERT_DOUBLE_EQUAL(share_pruned(m), k > 1 ? 0.85 : 0, 0.01);
            CU_ASSERT(same_weights(m, whole));
            CU_ASSERT(strcmp(m->history, whole->history) == 0);
            ctt_model_free(&m);
        }
        ctt_model_free(&whole);
        ctt_model_free(&teacher);
        ctt_model_free(&other);
    }
}

/* Stopped during a test: the end of the epoch is repeated. */
static int stop_calls;

static int stop_at_8(void)    /* six batches, then the test's second */
{
    return ++stop_calls >= 8;
}

static void stopped_in_a_test_is_resumed(void)
{
    struct ctt_train_cfg cfg = short_run();
    struct ctt_model *whole = trained(clip_net, &cfg, 1), *m = NULL;
    struct ctt_result r;

    cfg.checkpoint = clip_path("ckpt");
    CHECK_OK(clip_model(clip_net, 1, &m));
    ctt_stop_set(stop_at_8);
    CHECK_OK(ctt_train(m, &cfg, toy, toy_val, NULL, &r));
    ctt_stop_set(NULL);
    CU_ASSERT(r.stopped && r.steps == 6 && r.epochs == 0);
    ctt_model_free(&m);
    CHECK_OK(ctt_model_load(cfg.checkpoint, 1, &m));
    CHECK_OK(ctt_train(m, &cfg, toy, toy_val, NULL, &r));
    CU_ASSERT(same_weights(m, whole));
    ctt_model_free(&m);
    ctt_model_free(&whole);
}

static void other_settings_are_refused(void)
{
    struct ctt_train_cfg cfg = short_run();
    struct ctt_model *m = NULL;
    struct ctt_result r;

    cfg.checkpoint = clip_path("other");
    cfg.max_steps = 2;
    m = trained(clip_net, &cfg, 1);
    ctt_model_free(&m);
    CHECK_OK(ctt_model_load(cfg.checkpoint, 1, &m));
    cfg.batch = 2;
    CU_ASSERT_EQUAL(ctt_train(m, &cfg, toy, toy_val, NULL, &r), CTT_EINVAL);
    CU_ASSERT(strstr(ctt_errmsg(), "batch=4") != NULL);
    cfg.batch = 4;
    CU_ASSERT_EQUAL(ctt_train(m, &cfg, toy_val, toy_val, NULL, &r),
                    CTT_EINVAL);
    CU_ASSERT(strstr(ctt_errmsg(), "22 clips") != NULL);
    cfg.workers = 3;
    cfg.max_steps = 4;
    CHECK_OK(ctt_train(m, &cfg, toy, toy_val, NULL, &r));
    CU_ASSERT_EQUAL(r.steps, 4);
    ctt_model_free(&m);
}

/* The state of a run that was stopped after a step. */
static struct ctt_model *begun(const struct ctt_train_cfg *cfg)
{
    struct stopper s = { 1 };
    const struct ctt_events ev = { .arg = &s, .progress = on_progress };
    struct ctt_model *m = NULL;
    struct ctt_result r;

    CHECK_OK(clip_model(clip_net, 1, &m));
    CHECK_OK(stop_train(m, cfg, toy, toy_val, &ev, &r));
    ctt_model_free(&m);
    CHECK_OK(ctt_model_load(cfg->checkpoint, 1, &m));
    return m;
}

/* Clips as many as the toy ones, from number `from` on. */
static struct ctt_data *other_clips(const struct ctt_train_cfg *cfg, int from,
                                    char *const *known)
{
    struct ctt_input in = clip_input();
    struct ctt_data *d = NULL;

    CHECK_OK(clips_pack(clip_path("moved.pack"), from, 22));
    CHECK_OK(ctt_data_open(clip_path("moved.pack"), "train", &in, known,
                           known ? CLIP_CLASSES : 0, cfg, NULL, &d));
    return d;
}

/* Takes an array out of the state. */
static void drop_array(struct ctt_state *s, const char *name)
{
    const struct ctt_array *a = ctt_state_find(s, name);

    CU_ASSERT_PTR_NOT_NULL_FATAL(a);
    ctt_free(a->data);
    s->array[a - s->array] = s->array[--s->count];
}

/* Other clips or classes are refused by name even if they are as many; the same
 * ones at another path go on, and so does a checkpoint that does not know
 * them. */
static void other_clips_are_refused(void)
{
    static char *const turned[] = { "up", "down", "left", "right" };
    struct ctt_train_cfg cfg = short_run();
    struct ctt_model *whole = trained(clip_net, &cfg, 1), *m;
    struct ctt_data *moved;
    struct ctt_result r;

    cfg.checkpoint = clip_path("clips");
    m = begun(&cfg);
    for (int k = 0; k < 2; k++) {
        cfg.data = "these";
        moved = other_clips(&cfg, 4 * (k == 0), k ? turned : NULL);
        ctt_check_refused(ctt_train(m, &cfg, moved, toy_val, NULL, &r),
                          CTT_EINVAL, "these: not the clips of the check");
        ctt_data_close(&moved);
    }
    moved = other_clips(&cfg, 0, NULL);
    CHECK_OK(ctt_train(m, &cfg, moved, toy_val, NULL, &r));
    CU_ASSERT(same_weights(m, whole));
    ctt_data_close(&moved);
    ctt_model_free(&m);

    moved = other_clips(&cfg, 4, NULL);
    m = begun(&cfg);
    drop_array(m->train, "data");
    CHECK_OK(ctt_state_add(m->train, "data", 8, 1, NULL));
    ctt_check_refused(ctt_train(m, &cfg, moved, toy_val, NULL, &r),
                      CTT_EFORMAT, "no usable 'data'");
    drop_array(m->train, "data");
    CHECK_OK(ctt_train(m, &cfg, moved, toy_val, NULL, &r));
    ctt_data_close(&moved);
    ctt_model_free(&m);
    ctt_model_free(&whole);
}

/* Between two trainings of a recipe the clips are checked too, those to test on
 * as well. */
static void pauses_know_their_clips(void)
{
    struct ctt_train_cfg cfg = short_run();
    struct ctt_model *m = NULL;
    char *recipe = NULL;

    cfg.wiring.recipe = "a recipe";
    cfg.data = "these";
    cfg.val = "those";
    CHECK_OK(clip_model(clip_net, 1, &m));
    CHECK_OK(ctt_pause_save(clip_path("pause"), m, &cfg, toy, toy_val));
    ctt_model_free(&m);
    CHECK_OK(ctt_model_load(clip_path("pause"), 1, &m));
    CHECK_OK(ctt_pause_open(m, &cfg, &recipe));
    CU_ASSERT_STRING_EQUAL(recipe, cfg.wiring.recipe);
    ctt_check_refused(ctt_pause_end(m, &cfg, toy_val, toy_val), CTT_EINVAL,
                      "these: not the clips");
    ctt_check_refused(ctt_pause_end(m, &cfg, toy, toy), CTT_EINVAL,
                      "those: not the clips");
    ctt_check_refused(ctt_pause_end(m, &cfg, toy, NULL), CTT_EINVAL,
                      "those: not the clips");
    CU_ASSERT_PTR_NOT_NULL(m->train);
    CHECK_OK(ctt_pause_end(m, &cfg, toy, toy_val));
    CU_ASSERT_PTR_NULL(m->train);
    ctt_free(recipe);
    ctt_model_free(&m);
}

/* ---- ends ---- */

/* What a run says and does. */
struct heard { int steps, epochs, tests; char line[200]; };

static void hear_step(void *arg, const struct ctt_progress *p)
{
    (void)p;
    ((struct heard *)arg)->steps++;
}

static void hear_epoch(void *arg, const struct ctt_epoch *e,
                       const struct ctt_metrics *val)
{
    struct heard *h = arg;

    (void)val;
    h->epochs++;
    h->tests += e->tested;
}

static void hear_line(void *arg, const char *line)
{
    struct heard *h = arg;

    if (strstr(line, "no step is left"))
        snprintf(h->line, sizeof(h->line), "%s", line);
}

/* A checkpoint at step 3 or after the second epoch, and a run that ends at or
 * before it: nothing is trained, what was not tested is, and it says so. */
static void nothing_is_trained_beyond_the_end(void)
{
    static const struct { int at, steps, epochs, rows; } end[] = {
        { 3, 3, 3, 1 }, { 3, 1, 3, 1 }, { 0, 12, 3, 1 },
        { 0, 5, 3, 1 }, { 12, 0, 2, 0 }, { 12, 0, 1, 0 },
    };

    for (size_t i = 0; i < CTT_LEN(end); i++) {
        struct ctt_train_cfg cfg = short_run();
        struct heard h = { .steps = 0 };
        const struct ctt_events ev = { .arg = &h, .progress = hear_step,
            .epoch = hear_epoch, .say = hear_line };
        struct ctt_model *m, *was;
        struct ctt_result r;

        cfg.checkpoint = clip_path("end");
        cfg.epochs = end[i].at == 12 ? 2 : 3;
        cfg.max_steps = end[i].at == 12 ? 0 : end[i].at ? end[i].at : 12;
        CHECK_OK(clip_model(clip_net, 1, &m));
        CHECK_OK(ctt_train(m, &cfg, toy, NULL, NULL, &r));
        was = m;
        m = NULL;
        CHECK_OK(ctt_model_load(cfg.checkpoint, 1, &m));
        cfg.max_steps = end[i].steps;
        cfg.epochs = end[i].epochs;
        CHECK_OK(ctt_train(m, &cfg, toy, toy_val, &ev, &r));
        CU_ASSERT_EQUAL(h.steps, 0);
        CU_ASSERT_EQUAL(h.epochs, end[i].rows);
        CU_ASSERT_EQUAL(h.tests, end[i].rows);
        CU_ASSERT(!r.stopped && r.steps == (end[i].at ? end[i].at : 12));
        CU_ASSERT(h.line[0] != '\0');
        CU_ASSERT(same_weights(m, was));
        ctt_model_free(&m);
        ctt_model_free(&was);
    }
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "resumed = uninterrupted", resumed_is_uninterrupted },
        { "stopped in a test, resumed", stopped_in_a_test_is_resumed },
        { "other settings are refused", other_settings_are_refused },
        { "other clips are refused", other_clips_are_refused },
        { "pauses know their clips", pauses_know_their_clips },
        { "nothing is trained beyond the end",
          nothing_is_trained_beyond_the_end },
        CU_TEST_INFO_NULL
    };

    return clips_main("checkpoint", toy_clean, tests);
}
