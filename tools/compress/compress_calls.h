/* SPDX-License-Identifier: Apache-2.0
 * compress_calls.h: a run of convtt-compress, and what its recipe calls. */
#ifndef CTT_TOOL_COMPRESS_CALLS_H
#define CTT_TOOL_COMPRESS_CALLS_H

#include "compress/compress.h"
#include "libtrain/train.h"
#include "base/newfile.h"
#include "tools/compress/compress_say.h"
#include "tools/train/teachers.h"

/* All settings. */
struct ctt_compress_cfg {
    struct ctt_train_cfg train;
    struct ctt_recipe    recipe;
    const char          *out, *report, *epochs;
    int                  by_times, time_threads;
    int                  sense;       /* 1: --sense and its settings: */
    float                sense_kl;
    int                  sense_clips;
    const char          *sense_log, *sense_csv, *sense_plot;
    int                  explain;     /* 1: --explain and its settings: */
    int                  explain_steps;
    const char          *dense, *explain_log, *explain_csv, *explain_plot;
    const char          *budget;      /* --budget and its settings: */
    int                  dry_run, budget_steps;
    const char          *budget_csv, *budget_plot;
};

struct ctt_compress_job {
    struct ctt_compress_cfg c;
    const struct ctt_opt *tab;      /* of all options */
    const char       *path;         /* of the model as given */
    char              ckpt[4096], log[4096];
    int               own_ckpt;     /* not named by --checkpoint */
    int               saved;        /* the checkpoint is of this run */
    char             *place;        /* the recipe's text in it */
    struct ctt_model *m, *from;     /* from: of the checkpoint */
    struct ctt_model *given;        /* a copy of m as given */
    struct ctt_teachers teachers;   /* teach m: that copy is in the list unless
                                       --teacher names others */
    struct ctt_data  *data, *val;
    struct ctt_metrics *base;       /* of the model as given on val; NULL: not
                                       yet tested */
    struct ctt_metrics *was;        /* of the model that losses are against */
    struct ctt_newfile *claim[2];   /* on the model and the checkpoint */
    struct ctt_compress_watch watch;
    char              busy[128];    /* what samples are taken for */
    int               many_times;   /* 1: so many models are timed that each
                                       has a few turns only */
    int               short_steps;  /* of a short retraining of --budget */
    struct ctt_events ev;
    int               status;       /* of the program if it fails now */
};

/* 0: choices are not timed: the plain C of the device "ref" tells nothing of
 * the time that other devices take, and a time is not the same twice, as
 * --choose-by rules wants it. */
int ctt_compress_may_time(const struct ctt_compress_cfg *c);

/* Batches of an epoch of retraining. */
int64_t ctt_compress_batches(const struct ctt_compress_job *j);

/* What the recipe calls: retraining and tests need clips, and only what was
 * retrained is worth a checkpoint. */
struct ctt_recipe_calls ctt_compress_calls(struct ctt_compress_job *j);

#endif
