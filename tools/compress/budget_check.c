/* SPDX-License-Identifier: Apache-2.0
 * budget_check.c: settings of --budget: what goes with it, and its files. */
#include "tools/compress/compress_tool.h"
#include "tools/report/page.h"

#include <math.h>
#include <string.h>

static const struct ctt_output_kind csv_kind = {
    .name = "table of --budget as CSV", .begin = CTT_BUDGET_CSV_BEGIN };

/* ---- settings ---- */

/* Stages whose settings the budget does not choose. */
static int is_kept(const struct ctt_opt *o)
{
    static const char *const sections[] = { "Folding", "Rounding" };

    for (size_t i = 0; i < CTT_LEN(sections); i++)
        if (o->section && strcmp(o->section, sections[i]) == 0)
            return 1;
    return 0;
}

/* Whether a setting is one that the budget chooses, or of a run of another
 * kind. */
static int is_idle(const struct ctt_opt *o)
{
    static const char *const none[] = { "report", "resume", "sense",
        NULL };
    static const char *const used[] = { "for", "choose-by", "norm-clips",
        "share-init", "share-lambda", "share-epochs", "int8-epochs",
        "svd-on", "tt-on", "calibrate", NULL };
    size_t at = offsetof(struct ctt_compress_cfg, recipe);

    if (ctt_compress_listed(o->name, none))
        return 1;
    if (ctt_compress_listed(o->name, used))
        return 0;
    return o->off >= at && o->off < at + offsetof(struct ctt_recipe, aim) &&
           !is_kept(o);
}

static int name_files(struct ctt_compress_job *j)
{
    struct ctt_compress_cfg *c = &j->c;
    int rc;

    j->own_ckpt = !c->train.checkpoint;
    CTT_TRY(ctt_compress_name(c->out, ".ckpt", j->ckpt, sizeof(j->ckpt),
                              &c->train.checkpoint));
    CTT_TRY(ctt_compress_name(j->path, ".budget.jsonl", j->log,
                              sizeof(j->log), &c->sense_log));
    CTT_TRY(ctt_compress_spare(j, (const char *const[]){ c->out,
                               c->train.checkpoint, c->sense_log,
                               c->budget_csv, c->report_html,
                               c->profile }, 6));
out:
    return rc;
}

int ctt_compress_check_budget(struct ctt_compress_job *j)
{
    struct ctt_compress_cfg *c = &j->c;
    struct ctt_budget b;
    int rc;

    CTT_TRY(ctt_budget_read(c->budget, &b));
    for (const struct ctt_opt *o = j->tab; o->name; o++)
        CTT_CHECK(!is_idle(o) || ctt_opt_is_default(o, c), CTT_EINVAL,
                  "--%s: --budget chooses for itself what the model is made "
                  "of", o->name);
    CTT_CHECK(c->out, CTT_EINVAL, "-o OUT must be given (see --help)");
    CTT_CHECK(c->train.data, CTT_EINVAL, "--budget requires --data");
    CTT_CHECK((isinf(b.most[CTT_COST_MS]) && isinf(b.most[CTT_COST_RAM])) ||
              ctt_compress_may_time(c), CTT_EINVAL, "--budget: ms and ram "
              "require runs of the model, which --choose-by=rules and "
              "--device=ref leave out");
    CTT_CHECK(!ctt_budget_has_cost(&b) || c->recipe.aim == CTT_AIM_BOTH,
              CTT_EINVAL, "--for has no effect with limits of bytes, ms, macs "
              "or ram: a mix is the one that harms least within them");
    CTT_TRY(ctt_opt_check(j->tab, c));
    CTT_TRY(ctt_train_check(&c->train));
    CTT_TRY(ctt_retrain_epochs(c->epochs, 1, &c->recipe));
    CTT_CHECK(c->recipe.epochs > 0, CTT_EINVAL, "--budget retrains: "
              "--retrain-epochs 0 leaves it nothing to search");
    c->train.deterministic = 1;
    CTT_TRY(name_files(j));
out:
    return rc;
}

int ctt_budget_outputs(struct ctt_compress_job *j)
{
    const struct ctt_compress_cfg *c = &j->c;
    int rc;

    CTT_TRY(ctt_newfile_claim(c->out, &j->claim[0]));
    CTT_TRY(ctt_newfile_claim(c->train.checkpoint, &j->claim[1]));
    CTT_TRY(ctt_output_check(c->out, &ctt_output_model));
    if (!c->train.resume && !c->dry_run)
        ctt_output_say_replaced(c->out);
    CTT_TRY(ctt_output_check_checkpoint(c->train.checkpoint, 1));
    CTT_TRY(ctt_compress_can_log(j, c->sense_log, &ctt_output_sensitivity_log));
    CTT_TRY(ctt_output_check(c->budget_csv, &csv_kind));
    CTT_TRY(ctt_output_check(c->report_html, &ctt_output_page));
out:
    return rc;
}
