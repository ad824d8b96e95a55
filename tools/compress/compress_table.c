/* SPDX-License-Identifier: Apache-2.0
 * compress_table.c: the table of the options of convtt-compress. */
#include "base/span.h"
#include "tools/compress/compress_tool.h"

#include <string.h>


#define FIELD(f) offsetof(struct ctt_compress_cfg, f)

static const char *const schedules[] = { "fresh", "rewind", NULL };
static const char *const choosers[] = { "rules", "times", NULL };

static const struct ctt_opt own[] = {
    { .name = "for", .type = CTT_CHOICE, .off = FIELD(recipe.aim),
      .dflt = "both", .help = "what --prune-form auto, --int8 auto and the "
      "choice of weights for tensor trains make small: the product of bytes "
      "and time, the bytes of the file, or the time of a frame, measured here "
      "before anything is trained; with --budget what is small if only "
      "top-1 is limited", .choices = ctt_aims,
      .section = "Choices",
      .needs = "budget|prune-form=auto|int8=auto|tt-rank|tt-tol" },
    { .name = "choose-by", .type = CTT_CHOICE, .off = FIELD(by_times),
      .dflt = "times", .help = "times: what --for calls time is measured here; "
      "rules: it is not, so that the same command always chooses the same; "
      "then --for ms cannot be had. On the device ref rules choose",
      .choices = choosers, .section = "Choices",
      .needs = "prune-form=auto|int8=auto|tt-rank|tt-tol" },
    { .name = "time-threads", .type = CTT_INT, .off = FIELD(time_threads),
      .dflt = "0", .help = "threads of the models that are timed; 0: as "
      "--threads. Where a virtual machine's processors are moved about, times "
      "with several threads are not the same twice", .max = 4096,
      .arg = "N", .section = "Choices" },
    { .name = "retrain-epochs", .type = CTT_STRING, .off = FIELD(epochs),
      .dflt = "", .help = "total epochs of retraining [auto with --data]; "
      "auto: 12, then the last one before sharing is repeated for 12, 24, "
      "48.. more until the mean accuracy after 25, 50 and 100% of the "
      "validation clips is back, two repetitions gain nothing, or "
      "--retrain-limit",
      .arg = "N|auto", .section = "Retraining" },
    { .name = "retrain-limit", .type = CTT_INT, .off = FIELD(recipe.limit),
      .dflt = "96", .help = "auto: most epochs, 12 or more", .min = 1,
      .max = 100000, .arg = "N", .section = "Retraining", .needs = "data" },
    { .name = "retrain-within", .type = CTT_FLOAT, .off = FIELD(recipe.within),
      .dflt = "1", .help = "auto: the accuracy is back if so many points or "
      "fewer are missing, mean over the same shares, or one validation clip",
      .max = 100, .arg = "POINTS", .section = "Retraining", .needs = "data" },
    { .name = "retrain-schedule", .type = CTT_CHOICE,
      .off = FIELD(recipe.rewind), .dflt = "fresh", .help = "learning rates of "
      "each retraining: fresh: --lr and --schedule; rewind: those of the end "
      "of the model's own training, which its history tells (Renda and others "
      "2020)", .choices = schedules, .section = "Retraining" },
    { .name = "norm-clips", .type = CTT_INT, .off = FIELD(recipe.norm_clips),
      .dflt = "256", .help = "training clips on which the statistics of batch "
      "norms are estimated again after each step that changes weights without "
      "training; 0: never", .max = 1000000000, .arg = "N",
      .section = "Retraining", .needs = "data" },
    { .name = NULL }
};

static const struct ctt_opt sense[] = {
    { .name = "sense", .type = CTT_FLAG, .off = FIELD(sense), .dflt = "0",
      .help = "writes no model: measures what each weight bears: each option "
      "for it alone, without retraining: what the answers on the validation "
      "clips lose, and the bytes and the time of the model",
      .section = "Sensitivity" },
    { .name = "sense-kl", .type = CTT_FLOAT, .off = FIELD(sense_kl),
      .dflt = "0.02", .help = "the last table is of the strongest values that "
      "change the answers by less, in nats: the mean divergence after 25, 50 "
      "and 100% of the clips", .min = 1e-6, .max = 100, .arg = "NATS",
      .section = "Sensitivity", .needs = "sense" },
    { .name = "sense-clips", .type = CTT_INT, .off = FIELD(sense_clips),
      .dflt = "auto", .help = "measures on a part of the validation clips, the "
      "same of each class, that are so many or up to twice as many; 0: on all; "
      "auto: 32, or as many as have 600 frames",
      .arg = "N", .section = "Sensitivity", .needs = "sense|budget",
      .max = 1000000, .word = CTT_CFG_WORD },
    { .name = "sense-log", .type = CTT_STRING, .off = FIELD(sense_log),
      .dflt = "", .help = "where results are kept, a JSON line each; what is "
      "there already is not measured again [MODEL.sense.jsonl, with --budget "
      "MODEL.budget.jsonl]", .arg = "FILE",
      .section = "Sensitivity", .needs = "sense|budget" },
    { .name = "sense-csv", .type = CTT_STRING, .off = FIELD(sense_csv),
      .dflt = "", .help = "write all results as CSV", .arg = "FILE",
      .section = "Sensitivity", .needs = "sense" },
    { .name = NULL }
};

static const struct ctt_opt explain[] = {
    { .name = "explain", .type = CTT_FLAG, .off = FIELD(explain), .dflt = "0",
      .help = "writes no model: measures what each thing that was done to each "
      "weight of a compressed model costs and saves: it alone is undone",
      .section = "Explanation", .needs = "dense" },
    { .name = "dense", .type = CTT_STRING, .off = FIELD(dense), .dflt = "",
      .help = "the model that it was made of", .arg = "FILE",
      .section = "Explanation", .needs = "explain" },
    { .name = "explain-steps", .type = CTT_INT, .off = FIELD(explain_steps),
      .dflt = "50", .help = "batches that a weight is trained for alone, with "
      "and without what was done to it; 0: dense values are put back, and "
      "nothing is trained", .max = 1000000, .arg = "N",
      .section = "Explanation", .needs = "explain" },
    { .name = "explain-log", .type = CTT_STRING, .off = FIELD(explain_log),
      .dflt = "", .help = "where results are kept, a JSON line each; what is "
      "there already is not measured again [MODEL.explain.jsonl]",
      .arg = "FILE", .section = "Explanation", .needs = "explain" },
    { .name = "explain-csv", .type = CTT_STRING, .off = FIELD(explain_csv),
      .dflt = "", .help = "write all results as CSV", .arg = "FILE",
      .section = "Explanation", .needs = "explain" },
    { .name = NULL }
};

static const struct ctt_opt budget[] = {
    { .name = "budget", .type = CTT_STRING, .off = FIELD(budget), .dflt = "",
      .help = "find options for each weight so that the model keeps "
      "these limits, and write it: bytes=20k, ms=0.05 per frame, macs=2M, "
      "ram=300k, top1=-0.5 (at most 0.5 points lost) or top1=90 (at least "
      "90%); top1@25 counts after 25% of each clip, top1@50 after half",
      .arg = "LIMIT,..", .section = "Budget",
      .tags = CTT_OPT_COMMON },
    { .name = "dry-run", .type = CTT_FLAG, .off = FIELD(dry_run), .dflt = "0",
      .help = "print the plan, tried without retraining, and stop",
      .section = "Budget", .needs = "budget" },
    { .name = "budget-steps", .type = CTT_INT, .off = FIELD(budget_steps),
      .dflt = "auto", .help = "steps of retraining after which the harm of "
      "each option is measured, and candidates are compared first; "
      "auto: a sixtieth of the whole retraining, but at least 24 (8 if "
      "that is more than an eighth); 0: harm "
      "is that without retraining, and none are compared", .arg = "N",
      .section = "Budget", .needs = "budget", .max = 1000000,
      .word = CTT_CFG_WORD },
    { .name = "budget-csv", .type = CTT_STRING, .off = FIELD(budget_csv),
      .dflt = "", .help = "write what was tried and retrained, also in "
      "earlier runs, as CSV", .arg = "FILE", .section = "Budget",
      .needs = "budget" },
    { .name = NULL }
};

/* After the trainer's settings, as they continue their last section. */
static const struct ctt_opt files[] = {
    { "out", CTT_STRING, FIELD(out), "", "the compressed model, another "
      "file than MODEL",
      .letter = 'o', .arg = "FILE", .section = "Output",
      .tags = CTT_OPT_COMMON },
    { "report", CTT_STRING, FIELD(report), "", "write the report as JSON, "
      "and print all of its tables",
      .arg = "FILE", .section = "Output" },
    { "report-html", CTT_STRING, FIELD(report_html), "", "page for a browser: "
      "the report, whose tables are printed, too; with --budget, --sense or "
      "--explain what that found",
      .arg = "FILE", .section = "Output" },
    { "profile", CTT_STRING, FIELD(profile), "", CTT_PROFILE_HELP,
      .arg = "FILE", .section = "Output" },
    { .name = NULL }
};

/* A training may do without these clips. */
static const char val_help[] = "clips that models are compared on, as for "
    "--data, but a folder per class needs no splits; not given: --val-split "
    "of --data or, if it has no splits, a fifth of the clips";

static int add_rows(struct ctt_opt tab[CTT_OPT_MAX + 1], int *n,
                    const struct ctt_opt *rows)
{
    int rc = 0;

    for (; rows->name; rows++) {
        if (rows->tags & CTT_CFG_TRAINER)
            continue;
        CTT_CHECK(*n < CTT_OPT_MAX, CTT_EINVAL, "too many options");
        tab[*n] = *rows;
        if (rows->off < FIELD(recipe) && rows->word &&
            strcmp(rows->word, CTT_CFG_WORD) == 0)
            tab[*n].word = NULL;    /* a recipe trains several times */
        if (rows == ctt_train_opts + ctt_opt_find(ctt_train_opts, "val"))
            tab[*n].help = val_help;
        (*n)++;
    }
    tab[*n] = (struct ctt_opt){ .name = NULL };
out:
    return rc;
}

/* The trainer's settings are first in struct ctt_compress_cfg, so the offsets
 * of its rows apply. */
int ctt_compress_options(struct ctt_opt tab[CTT_OPT_MAX + 1])
{
    int n, rc = 0;

    CTT_TRY(n = ctt_recipe_options(FIELD(recipe), tab, CTT_OPT_MAX));
    CTT_TRY(add_rows(tab, &n, own));
    CTT_TRY(add_rows(tab, &n, sense));
    CTT_TRY(add_rows(tab, &n, explain));
    CTT_TRY(add_rows(tab, &n, budget));
    CTT_TRY(add_rows(tab, &n, ctt_train_opts));
    CTT_TRY(add_rows(tab, &n, files));
out:
    return rc;
}
