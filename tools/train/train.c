/* SPDX-License-Identifier: Apache-2.0
 * train.c: convtt-train: trains a model on clips. */
#include "libtrain/before.h"
#include "net/rewrite/aux_head.h"
#include "base/limits.h"
#include "tools/shared/output.h"
#include "tools/profile/profile.h"
#include "tools/report/page.h"
#include "tools/train/train_tool.h"
#include "tools/shared/tool.h"
#include "tools/shared/training.h"

#include <stdio.h>
#include <unistd.h>

/* --doctor: nothing is trained; status 3 if something looks wrong. */
static int examine(struct ctt_training *j, int *status)
{
    int rc;

    CTT_TRY(ctt_training_start(j));
    CTT_TRY(ctt_output_check(j->cfg.report_html, &ctt_output_page));
    CTT_TRY(ctt_training_begin(j));
    CTT_TRY(ctt_doctor_table(j->m, &j->cfg, j->data, j->val));
    *status = rc ? CTT_EXIT_DOUBT : 0;
out:
    return rc;
}

static void on_progress(void *arg, const struct ctt_progress *p)
{
    ctt_ranks_step(p->step);
    ctt_say_events.progress(arg, p);
}

static void on_epoch(void *arg, const struct ctt_epoch *e,
                     const struct ctt_metrics *val)
{
    struct ctt_training *j = arg;

    ctt_say_events.epoch(NULL, e, val);
    if (j->cfg.report_html && ctt_ranks_writes(&j->cfg))
        ctt_train_page_add(&j->page, e, val);
    if (j->cfg.log_tensorboard && ctt_ranks_writes(&j->cfg))
        ctt_train_board_epoch(j, e, val);
}

static void on_weights(void *arg, const struct ctt_model *m)
{
    ctt_train_board_weights(arg, m);
}

/* Of several ranks one is recorded. */
static const char *profile_of(const struct ctt_train_cfg *c)
{
    return ctt_ranks_writes(c) ? c->profile : NULL;
}

/* All that comes before the first step. */
static int prepare(struct ctt_training *j)
{
    int rc = 0;

    if (ctt_ranks_writes(&j->cfg))
        CTT_TRY(ctt_training_claim(j));
    CTT_TRY(ctt_training_start(j));
    CTT_TRY(ctt_training_begin(j));
    CTT_TRY(ctt_ranks_watch(&j->cfg));
    if (!j->cfg.backbone)
        CTT_TRY(ctt_train_auto(j->m, &j->cfg, j->data, j->val,
                               &ctt_say_events));
    if (!j->cfg.backbone && !j->cfg.resume)    /* the model text is decided */
        CTT_TRY(ctt_doctor_glance(j->m, &j->cfg, j->data, j->val));
    CTT_TRY(ctt_profile_open(profile_of(&j->cfg)));    /* trials are over */
out:
    return rc;
}

/* A line about the steps made.  Returns 1 if training goes on another time,
 * with *status if that is a failure. */
static int say_end(const struct ctt_training *j, const struct ctt_result *r,
                   int *status)
{
    char scale[96], where[CTT_NAME + 48] = "";

    if (r->overflows)
        snprintf(where, sizeof(where), " (%lld of an infinite gradient in %s)",
                 (long long)r->overflows, r->overflow);
    if (r->stopped) {
        *status = CTT_EXIT_FAIL;
        if (ctt_tool_rank(-1) == 0)
            ctt_tool_die(*status, "stopped after step %lld; --resume continues "
                         "from %s", (long long)r->steps, j->cfg.checkpoint);
        return 1;
    }
    ctt_tool_say("%lld step%s in %.0f s: %.1f %s/s, %.1f%% of the time "
                 "waiting for %s%s%s%s", (long long)r->made, ctt_s(r->made),
                 r->seconds, r->clips_a_second, ctt_word_clips(&j->cfg),
                 100 * r->wait, ctt_word_clips(&j->cfg), j->cfg.amp ? "; " : "",
                 j->cfg.amp ? ctt_say_scale(r->scale, r->skipped, scale,
                                            sizeof(scale)) : "", where);
    if (r->paused)
        ctt_tool_say("paused after %d of %d epochs; --resume continues from %s",
                     r->epochs, j->cfg.epochs, j->cfg.checkpoint);
    return r->paused;
}

static int train(struct ctt_training *j, int *status)
{
    struct ctt_events ev = ctt_say_events;
    struct ctt_result r;
    int rc = 0;

    CTT_TRY(prepare(j));
    if (j->cfg.backbone)
        return ctt_train_head(j);
    ev.arg = j;
    ev.progress = on_progress;
    ev.epoch = on_epoch;
    if (j->cfg.log_tensorboard)
        ev.weights = on_weights;
    CTT_TRY(ctt_train(j->m, &j->cfg, j->data, j->val, &ev, &r));
    ctt_ranks_unwatch();
    if (say_end(j, &r, status))
        goto out;
    CTT_TRY(ctt_aux_head_drop_from(&j->m));    /* as it was written */
    if (!j->cfg.pause)
        CTT_TRY(ctt_train_result(&j->cfg, j->m, j));
    else
        ctt_tool_say("%s written", j->cfg.out);
    if (j->own_ckpt && ctt_ranks_writes(&j->cfg))
        unlink(j->cfg.checkpoint);
out:
    return rc;
}

/* No output may be an input or another output. */
static int check_made(const struct ctt_training *j)
{
    const struct ctt_train_cfg *c = &j->cfg;
    const char *const made[] = { c->out, c->checkpoint, c->log_csv,
                                 c->log_json, c->report_html,
                                 c->profile };
    const char *const read[] = { j->text, c->data, c->val, c->test,
                                 c->classes, c->init };
    int n = (int)CTT_LEN(made), rc;

    CTT_TRY(ctt_tool_apart(made, n));
    for (size_t k = 0; k < CTT_LEN(read); k++)
        CTT_TRY(ctt_tool_spares(made, n, read[k]));
    CTT_TRY(ctt_teachers_spared(c->teacher, made, n));
out:
    return rc;
}

static int is_default(const struct ctt_train_cfg *c, const char *name)
{
    return ctt_opt_is_default(ctt_train_opts +
                              ctt_opt_find(ctt_train_opts, name), c);
}

/* Settings of a teacher that is not there are refused. */
static int check_teacher(const struct ctt_train_cfg *c)
{
    int rc = 0;

    CTT_CHECK(c->teacher || is_default(c, "distil"), CTT_EINVAL,
              "--distil requires --teacher");
    CTT_CHECK(c->teacher || c->self_distil > 0 ||
              is_default(c, "distil-temperature"), CTT_EINVAL,
              "--distil-temperature requires --teacher or --self-distil");
out:
    return rc;
}

/* Checks that the table of options cannot express. */
static int complete(struct ctt_training *j, int argc, char **argv, int first)
{
    struct ctt_train_cfg *c = &j->cfg;
    int rc = 0;

    CTT_CHECK(argc - first <= 1, CTT_EINVAL, "one model text expected, "
              "but also given: '%s'", argv[first + 1]);
    CTT_CHECK(!c->backbone || first == argc, CTT_EINVAL, "--backbone is in "
              "place of a model text, but also given: '%s'", argv[first]);
    j->text = c->backbone ? ctt_tool_model((char *)c->backbone) :
              first < argc ? ctt_tool_model(argv[first]) : NULL;
    CTT_CHECK(j->text || c->init || c->resume, CTT_EINVAL,
              "no model text given, such as early-convttlstm (see --help)");
    CTT_CHECK(j->text || !c->set, CTT_EINVAL, "--set requires a model text");
    CTT_CHECK(c->out || c->amp_plan || c->doctor, CTT_EINVAL,
              "-o OUT must be given (see --help)");
    CTT_CHECK(c->data || c->amp_plan, CTT_EINVAL,
              "--data PATH must be given (see --help)");
    CTT_TRY(ctt_train_check(c));
    CTT_TRY(check_teacher(c));
    CTT_CHECK(c->checkpoint || c->out || !c->resume, CTT_EINVAL,
              "--checkpoint FILE must be given (see --help)");
    if (!c->checkpoint && c->out && !c->backbone) {
        int n = snprintf(j->ckpt, sizeof(j->ckpt), "%s.ckpt", c->out);
        CTT_CHECK(n < (int)sizeof(j->ckpt), CTT_EINVAL, "-o: name too long");
        c->checkpoint = j->ckpt;
        j->own_ckpt = 1;
    }
    CTT_TRY(check_made(j));
out:
    return rc;
}

static int do_work(struct ctt_training *j, int *status)
{
    return j->cfg.amp_plan ? ctt_train_amp_plan(j) :
           j->cfg.doctor ? examine(j, status) :
           j->cfg.search ? ctt_train_search(j, status) :
           j->cfg.folds ? ctt_train_all_folds(j, status) : train(j, status);
}

static int do_profiled(struct ctt_training *j, int *status)
{
    const struct ctt_train_cfg *c = &j->cfg;
    int rc = do_work(j, status);

    return ctt_profile_end(profile_of(c), c->device, c->threads, 1, rc);
}

int main(int argc, char **argv)
{
    struct ctt_training j = { .status = CTT_EXIT_FAIL };
    int done = 0, status = 0, rc;

    ctt_tool_start("convtt-train", argv);
    ctt_ranks_hush();
    rc = ctt_opt_main(&ctt_train_program, &j.cfg, argc, argv, &done);
    if (done && rc >= 0)
        return ctt_tool_end(0);
    ctt_tool_tell(&j.cfg.telling);
    if (rc < 0 || ctt_limits_set(&j.cfg.limits) < 0 ||
        complete(&j, argc, argv, rc) < 0)
        return ctt_ranks_fail(&j.cfg, CTT_EXIT_USAGE);
    rc = ctt_ranks_open(&j.cfg);
    if (rc == CTT_EUNSUP || rc == CTT_EINVAL)    /* it stays wrong */
        j.status = CTT_EXIT_USAGE;
    ctt_tool_catch();
    ctt_tool_catch_pipe();
    if (rc >= 0)
        rc = do_profiled(&j, &status);
    ctt_ranks_unwatch();
    if (rc < 0)
        ctt_ranks_fail(&j.cfg, j.status);
    ctt_training_close(&j);
    ctt_ranks_close(&j.cfg);
    return ctt_tool_end(rc < 0 ? j.status : status);
}
