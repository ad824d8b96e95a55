/* SPDX-License-Identifier: Apache-2.0
 * compress.c: convtt-compress: compresses a trained model, retrains it and
 * reports size, speed and accuracy. */
#include "tools/compress/compress_tool.h"
#include "tools/profile/profile.h"
#include "tools/report/page.h"
#include "tools/shared/tool.h"
#include "video/text/text.h"
#include "tools/shared/training.h"
#include "net/rewrite/aux_head.h"
#include "net/file/decision.h"
#include "net/rewrite/edit.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct ctt_output_kind report_kind = {
    .name = "report of convtt-compress", .begin = CTT_REPORT_BEGIN };

/* ---- the run ---- */

/* Options of --retrain-epochs auto alone, which is the default. */
static int check_automatic(const struct ctt_compress_job *j)
{
    static const char *const of[] = { "retrain-limit", "retrain-within" };
    int rc = 0;

    for (size_t i = 0; i < CTT_LEN(of); i++)
        CTT_CHECK(j->c.recipe.automatic || ctt_opt_is_default(
                  &j->tab[ctt_opt_find(j->tab, of[i])], &j->c), CTT_EINVAL,
                  "--%s requires --retrain-epochs=auto%s", of[i],
                  j->c.train.task == CTT_NEXT ? ", which is for classification"
                                              : "");
out:
    return rc;
}

/* A model of text is retrained and has a perplexity, which chooses the epoch
 * and nothing else. */
static int check_text(struct ctt_compress_job *j)
{
    struct ctt_compress_cfg *c = &j->c;
    int rc = 0;

    CTT_CHECK(!c->epochs || strcmp(c->epochs, "auto") != 0, CTT_EINVAL,
              "%s: predicts symbols: --retrain-epochs is a number", j->path);
    c->recipe.automatic = 0;
    CTT_TRY(check_automatic(j));
    CTT_CHECK(!c->train.val || c->recipe.epochs, CTT_EUNSUP, "%s: predicts "
              "symbols; without retraining --val has no effect", j->path);
out:
    return rc;
}

static int check_frames(struct ctt_compress_job *j)
{
    struct ctt_compress_cfg *c = &j->c;
    int rc = 0;

    CTT_CHECK(!c->train.val, CTT_EUNSUP, "%s: predicts frames; --val is for "
              "classification", j->path);
    CTT_CHECK(!c->epochs || !c->recipe.epochs, CTT_EUNSUP, "%s: predicts "
              "frames, and retraining is for classification: pass "
              "--retrain-epochs 0", j->path);
    c->recipe.epochs = 0;
    c->train.task = CTT_PREDICT;
out:
    return rc;
}

/* Tests after parts of a clip are for recognition; another model can be
 * measured on its data. */
static int check_task(struct ctt_compress_job *j)
{
    const struct ctt_graph *g = j->m->g;
    const struct ctt_tensor *y = &g->node[ctt_graph_output(g)].out;
    struct ctt_compress_cfg *c = &j->c;
    int text = c->train.task == CTT_NEXT, rc = 0;

    CTT_CHECK(text || !c->train.data || !ctt_graph_reads_symbols(g),
              CTT_EINVAL, "%s: a model of text: --data is text:FILE or "
              "words:FILE", j->path);
    if ((y->d * y->h * y->w == 1 && !text) ||
        (!c->train.data && !c->train.val))
        goto out;
    CTT_TRY((text ? check_text : check_frames)(j));
    c->recipe.norm_clips = 0;
    CTT_CHECK(ctt_compress_needs_data(&c->recipe), CTT_EUNSUP,
              "%s: predicts %s; without --int8, retraining, or responses to "
              "measure, it is compressed without --data", j->path,
              text ? "symbols" : "frames");
out:
    return rc;
}

/* Options without effect, if such a model is not retrained.  A checkpoint that
 * no option names does not count. */
static int check_untrained(struct ctt_compress_job *j)
{
    const char *checkpoint = j->c.train.checkpoint;
    int rc;

    if (j->own_ckpt)
        j->c.train.checkpoint = NULL;
    rc = ctt_compress_check_trainer(&j->c);
    if (rc >= 0 && j->c.recipe.rewind && !j->c.recipe.epochs)
        rc = ctt_error(CTT_EINVAL, "--retrain-schedule=rewind requires "
                       "retraining");
    if (rc >= 0)
        rc = ctt_compress_check_choices(&j->c, j->tab, 0);
    j->c.train.checkpoint = checkpoint;
    return rc;
}

/* Whether --amp-allow and --amp-deny may name cores, which a model has only
 * after factorisation. */
static int names_cores(const struct ctt_compress_cfg *c)
{
    const struct ctt_tt *t = &c->recipe.tt;
    const struct ctt_svd *s = &c->recipe.svd;
    int cores = t->rank > 0 || t->tol > 0 || s->rank > 0 || s->energy > 0 ||
                s->macs > 0;
    const char *const lists[] = { c->train.amp_allow, c->train.amp_follow,
                                  c->train.amp_deny };

    for (size_t i = 0; i < CTT_LEN(lists); i++)
        if (cores && lists[i] && strstr(lists[i], ".t"))
            return 1;
    return 0;
}

/* Whatever is wrong without the clips is told before they are read. */
static int check_start(struct ctt_compress_job *j)
{
    const struct ctt_train_cfg *c = &j->c.train;
    struct ctt_amp_plan *p = NULL;
    struct ctt_graph *g = NULL;
    int rc = 0;

    j->status = CTT_EXIT_USAGE;
    if (c->task != CTT_RECOGNISE)
        CTT_TRY(check_untrained(j));
    CTT_TRY(ctt_recipe_check(&j->c.recipe, j->m));
    if (j->c.recipe.epochs > 0 && !names_cores(&j->c))
        CTT_TRY(ctt_train_plan(j->m->g, c, &g, &p));
    j->status = CTT_EXIT_FAIL;
    CTT_TRY(ctt_train_device(c));
out:
    ctt_amp_free(&p);
    ctt_graph_free(&g);
    return rc;
}

static int check_outputs(struct ctt_compress_job *j)
{
    int rc;

    CTT_TRY(ctt_newfile_claim(j->c.out, &j->claim[0]));
    CTT_TRY(ctt_newfile_claim(j->c.train.checkpoint, &j->claim[1]));
    CTT_TRY(ctt_output_check(j->c.out, &ctt_output_model));
    if (!j->c.train.resume)
        ctt_output_say_replaced(j->c.out);
    CTT_TRY(ctt_output_check(j->c.report, &report_kind));
    CTT_TRY(ctt_output_check(j->c.report_html, &ctt_output_page));
    CTT_TRY(ctt_output_check_checkpoint(j->c.train.checkpoint,
                                        j->c.train.resume));
out:
    return rc;
}

/* Loads the checkpoint. */
static int open_from(struct ctt_compress_job *j)
{
    const char *path = j->c.train.checkpoint;
    int rc;

    CTT_TRY(ctt_model_load(path, 1, &j->from));
    rc = ctt_pause_open(j->from, &j->c.train, &j->place);
    if (rc < 0)
        rc = ctt_error(rc, "%s: %s", path, ctt_errmsg());
    j->saved = rc >= 0;
    j->c.train.wiring.recipe = j->place;
out:
    return rc;
}

static void tell_size(const struct ctt_compress_job *j,
                      const struct ctt_report *r)
{
    int64_t bytes = r->stage[r->stages - 1].bytes;
    int plain = r->stage[0].bytes >= 4 * r->stage[0].params;
    struct stat st;

    ctt_tool_say("\n%s written: %.1f times smaller than %s%s%s", j->c.out,
                 (double)r->stage[0].bytes / (double)bytes, j->path,
                 plain ? " as dense floats" : "", j->val ? ""
                 : "; not retrained and not tested, as there are no clips "
                 "(--data)");
    if (stat(j->path, &st) == 0 && bytes > st.st_size)
        ctt_tool_warn("%s has %lld bytes, more than the %lld of %s", j->c.out,
                      (long long)bytes, (long long)st.st_size, j->path);
}

/* The teachers that --teacher names, or the original, if it is retrained. */
static int open_teachers(struct ctt_compress_job *j)
{
    struct ctt_train_cfg *c = &j->c.train;
    struct ctt_teachers *t = &j->teachers;
    int rc;

    CTT_TRY(ctt_teachers_load(c->teacher, t));
    if (j->c.recipe.epochs > 0 && c->task == CTT_RECOGNISE)
        CTT_TRY(ctt_model_copy(j->m, &j->given));
    if (!c->teacher)
        t->list[0] = j->given;
    c->wiring.teachers = t->list[0] ? t->list : NULL;
out:
    return rc;
}

/* Nodes without influence on the answer need not be compressed. */
static int drop_unread(struct ctt_compress_job *j)
{
    int rc = ctt_drop_unread(&j->m);

    if (rc > 0)
        ctt_tool_say("%d line%s that the answer does not depend on left out",
                     rc, ctt_s(rc));
    return rc;
}

static int run_recipe(struct ctt_compress_job *j, struct ctt_report **r)
{
    struct ctt_compress_cfg *c = &j->c;
    struct ctt_recipe_calls calls;
    struct ctt_recipe_from from;
    int rc;

    CTT_TRY(check_outputs(j));
    CTT_TRY(ctt_model_load(j->path, 0, &j->m));
    ctt_decision_drop(j->m);
    CTT_TRY(ctt_aux_head_drop_from(&j->m));    /* of a checkpoint */
    CTT_TRY(drop_unread(j));
    CTT_TRY(check_task(j));
    j->status = CTT_EXIT_USAGE;
    if (c->recipe.rewind)
        CTT_TRY(ctt_retrain_rewind(j->m, &c->train));
    j->status = CTT_EXIT_FAIL;
    CTT_TRY(open_teachers(j));
    CTT_TRY(check_start(j));
    if (c->train.resume)
        CTT_TRY(open_from(j));
    if (c->train.data || c->train.val)
        CTT_TRY(ctt_compress_open_clips(j));
    if (j->from)
        CTT_TRY(ctt_pause_end(j->from, &c->train, j->data, j->val));
    calls = ctt_compress_calls(j);
    from = (struct ctt_recipe_from){ j->from, j->place };
    j->from = NULL;
    rc = ctt_compress_perplexity(j, j->path, j->m);
    if (rc >= 0)
        rc = ctt_recipe_run(&c->recipe, &calls, c->out, from.m ? &from : NULL,
                            &j->m, r);
    ctt_model_free(&from.m);
    CTT_TRY(rc);
    CTT_TRY(ctt_compress_perplexity(j, c->out, j->m));
out:
    return rc;
}

static int compress(struct ctt_compress_job *j)
{
    struct ctt_report *r = NULL;
    int rc;

    CTT_TRY(run_recipe(j, &r));
    CTT_TRY(ctt_compress_say(r, ctt_compress_tells_all(&j->c)));
    CTT_TRY(ctt_compress_prove(j, r));
    if (j->c.report)
        CTT_TRY(ctt_report_json(r, j->c.report));
    ctt_compress_page(j, r);
    tell_size(j, r);
    if (j->own_ckpt && j->saved)
        unlink(j->c.train.checkpoint);
out:
    ctt_report_free(&r);
    return rc;
}

/* The checkpoint is OUT.ckpt unless --checkpoint names it.  The original
 * stays, as what is compressed is lost. */
static int name_files(struct ctt_compress_job *j)
{
    struct ctt_compress_cfg *c = &j->c;
    int rc;

    j->own_ckpt = !c->train.checkpoint;
    CTT_TRY(ctt_compress_name(c->out, ".ckpt", j->ckpt, sizeof(j->ckpt),
                              &c->train.checkpoint));
    CTT_TRY(ctt_compress_spare(j, (const char *const[]){ c->out, c->report,
                               c->report_html, c->train.checkpoint,
                               c->profile }, 5));
out:
    return rc;
}

/* Checks what the table of options cannot express. */
static int complete(struct ctt_compress_job *j, int argc, char **argv,
                    int first)
{
    struct ctt_compress_cfg *c = &j->c;
    int rc = 0;

    CTT_CHECK(first < argc, CTT_EINVAL, "no model given (see --help)");
    CTT_CHECK(argc - first == 1, CTT_EINVAL, "one model expected, but "
              "also given: '%s'", argv[first + 1]);
    j->path = ctt_tool_model(argv[first]);
    CTT_CHECK(!c->train.val || strcmp(c->train.val, "none") != 0, CTT_EINVAL,
              "--val=none: models are compared on validation clips; without "
              "--val, those are --val-split of --data or a fifth of it");
    if (c->sense)
        return ctt_compress_check_sensitivity(j);
    if (c->explain)
        return ctt_compress_check_explain(j);
    if (c->budget)
        return ctt_compress_check_budget(j);
    CTT_CHECK(c->out, CTT_EINVAL, "-o OUT must be given (see --help)");
    CTT_TRY(ctt_opt_check(j->tab, c));
    CTT_CHECK(c->train.data || !ctt_int8_given(&c->recipe.int8), CTT_EINVAL,
              "--int8 requires --data");
    CTT_TRY(ctt_recipe_asked(&c->recipe));
    if (c->train.data && ctt_text_is(c->train.data))
        c->train.task = CTT_NEXT;
    CTT_TRY(ctt_train_check(&c->train));
    CTT_TRY(ctt_retrain_epochs(c->epochs, c->train.data != NULL, &c->recipe));
    CTT_TRY(check_automatic(j));
    CTT_CHECK(!c->recipe.rewind || c->recipe.epochs > 0, CTT_EINVAL,
              "--retrain-schedule=rewind requires retraining");
    CTT_TRY(ctt_compress_check_trainer(c));
    CTT_TRY(ctt_compress_check_stages(c, j->tab));
    CTT_TRY(ctt_compress_check_choices(c, j->tab, c->train.data != NULL));
    CTT_TRY(name_files(j));
out:
    return rc;
}

/* A model of another program is read as its temporary model file. */
static int import_given(struct ctt_compress_job *j)
{
    char *path = NULL;
    int rc = ctt_tool_import(j->path, &path);

    j->path = path ? path : j->path;
    return rc;
}

static int run(struct ctt_compress_job *j)
{
    return j->c.sense ? ctt_compress_sensitivity(j) :
           j->c.explain ? ctt_compress_explain(j) :
           j->c.budget ? ctt_compress_budget(j) : compress(j);
}

static int run_profiled(struct ctt_compress_job *j)
{
    const struct ctt_train_cfg *c = &j->c.train;
    int rc;

    CTT_TRY(ctt_profile_check(j->c.profile));
    CTT_TRY(ctt_profile_open(j->c.profile));
    rc = run(j);
    rc = ctt_profile_end(j->c.profile, c->device, c->threads, 1, rc);
out:
    return rc;
}

static void close_job(struct ctt_compress_job *j)
{
    ctt_free(j->place);
    ctt_model_free(&j->from);
    ctt_teachers_free(&j->teachers);
    ctt_model_free(&j->given);
    ctt_metrics_free(&j->base);
    ctt_metrics_free(&j->was);
    if (j->whole) {
        ctt_fold_close(&j->val);
        ctt_fold_close(&j->data);
    }
    ctt_data_close(&j->val);
    ctt_data_close(&j->data);
    ctt_data_close(&j->whole);
    ctt_model_free(&j->m);
    for (size_t i = 0; i < CTT_LEN(j->claim); i++)
        ctt_newfile_drop(&j->claim[i]);
}

int main(int argc, char **argv)
{
    struct ctt_compress_job j = { .status = CTT_EXIT_FAIL };
    struct ctt_opt tab[CTT_OPT_MAX + 1];
    struct ctt_program program = ctt_compress_program;
    int done = 0, rc;

    ctt_tool_start("convtt-compress", argv);
    j.ev = ctt_compress_events(&j.watch);
    rc = ctt_opt_defaults(ctt_train_opts, &j.c.train);
    if (rc >= 0)
        rc = ctt_compress_options(tab);
    program.opts = j.tab = tab;
    if (rc >= 0)
        rc = ctt_opt_main(&program, &j.c, argc, argv, &done);
    if (done && rc >= 0)
        return ctt_tool_end(0);
    ctt_tool_tell(&j.c.train.telling);
    if (rc < 0 || ctt_limits_set(&j.c.train.limits) < 0 ||
        complete(&j, argc, argv, rc) < 0)
        return ctt_tool_fail(CTT_EXIT_USAGE);
    rc = import_given(&j);
    if (rc < 0)
        return ctt_tool_fail(ctt_tool_status(rc));
    ctt_tool_catch();
    ctt_tool_catch_pipe();
    rc = run_profiled(&j);
    if (rc < 0)
        ctt_tool_fail(j.status);
    close_job(&j);
    return ctt_tool_end(rc < 0 ? j.status : 0);
}
