/* SPDX-License-Identifier: Apache-2.0
 * compress_say.c: messages of convtt-compress: progress of retraining, and the
 * report. */
#include "tools/compress/compress_tool.h"
#include "tools/shared/tool.h"
#include "tools/shared/training.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

struct ctt_work ctt_compress_work(const struct ctt_epochs *s, double part)
{
    struct ctt_work w = { (double)s->done + part,
                          (double)(s->done + s->now + s->later), NAN };

    if (s->each > 0)
        w.left = s->each * (w.all - w.done);
    return w;
}

static void on_progress(void *arg, const struct ctt_progress *p)
{
    struct ctt_compress_watch *w = arg;
    double part = p->epoch - 1 + ctt_say_epoch_share(p);
    struct ctt_work work;
    char what[192], far[128];

    if (p->left > 0 && part < p->epochs)
        w->span.each = p->left / (p->epochs - part);
    ctt_say_loss(p, what, sizeof(what));
    ctt_say_amp(p, what, sizeof(what));
    work = ctt_compress_work(&w->span, part);
    ctt_tool_progress(&work, "%s: epoch %d/%d %d/%d: %s, %.1f %s/s%s",
                      w->stage, p->epoch, p->epochs, p->batch, p->batches,
                      what, p->clips_a_second, p->clips,
                      ctt_epochs_text(&w->span, part, far, sizeof(far)));
}

static void on_epoch(void *arg, const struct ctt_epoch *e,
                     const struct ctt_metrics *val)
{
    const struct ctt_compress_watch *w = arg;
    char test[400] = "", what[192];

    ctt_say_test(e, val, test, sizeof(test));
    ctt_say_loss(&e->p, what, sizeof(what));
    ctt_say_amp(&e->p, what, sizeof(what));
    ctt_tool_say("%s: epoch %d/%d: %s%s%s; %.0f s", w->stage, e->p.epoch,
                 e->p.epochs, what, e->tested ? "; validation:" : "", test,
                 e->p.seconds);
}

struct ctt_events ctt_compress_events(struct ctt_compress_watch *w)
{
    struct ctt_events e = ctt_say_events;

    e.arg = w;
    e.say = NULL;
    e.progress = on_progress;
    e.epoch = on_epoch;
    return e;
}

/* Functions of report.h that give the cells of a table, row by row. */
typedef int cells_of(const struct ctt_report *r, int row, char *text,
                     size_t size);

/* A table under its heading, unless that is NULL, if it has rows. */
static int say_table(const struct ctt_report *r, const char *heading,
                     cells_of *cells)
{
    struct ctt_table t = { NULL, 0, 0, 0 };
    char line[1024];
    int rc = 0;

    for (int k = 0; cells(r, k, line, sizeof(line)); k++)
        ctt_table_row(&t, "%s", line);
    if (!t.rows)
        goto out;
    if (heading)
        ctt_tool_say("\n%s:", heading);
    CTT_TRY(ctt_table_print(&t));
out:
    ctt_table_free(&t);
    return rc;
}

/* The worst of those that read bytes. */
static int say_blame(const struct ctt_report *r)
{
    char heading[256];

    if (!r->blames)
        return 0;
    snprintf(heading, sizeof(heading), "what reading bytes costs: %s if only "
             "this conv does, and results over errors in dB; the worst first%s",
             r->blame[0].frames ? "predicted frames over their errors in dB"
             : "divergence of the answer in nats",
             r->blames > CTT_BLAME_LINES ? ", all are in --report" : "");
    return say_table(r, heading, ctt_report_blame_cells);
}

static int say_scores(const struct ctt_report *r)
{
    char heading[192];

    snprintf(heading, sizeof(heading), "%s after 25/50/100%% of %" PRId64
             " validation clips, and whole clips lost and won against the "
             "original%s", ctt_score_word(r->several),
             r->stage[0].after.clips,
             r->several ? ", by their likeliest class" : "");
    return say_table(r, heading, ctt_report_score_cells);
}

/* The result in two tables. */
static int say_result(const struct ctt_report *r)
{
    char heading[128] = "";
    int rc;

    if (!isnan(r->stage[0].after.top1[0]))
        snprintf(heading, sizeof(heading), "; %s after 25/50/100%% of %" PRId64
                 " validation clips, and whole clips lost and won",
                 ctt_score_word(r->several), r->stage[0].after.clips);
    CTT_TRY(say_table(r, "where the bytes are", ctt_report_bytes_cells));
    ctt_tool_say("\nresult%s:", heading);
    CTT_TRY(say_table(r, NULL, ctt_report_result_cells));
out:
    return rc;
}

int ctt_compress_tells_all(const struct ctt_compress_cfg *c)
{
    return c->report || c->report_html;
}

int ctt_compress_say(const struct ctt_report *r, int all)
{
    int rc;

    if (!all)
        return say_result(r);
    CTT_TRY(say_table(r, "weights; error: what the cores miss before "
                      "retraining, 0: nothing, 1: as much as there is; dB: "
                      "results over their errors with int8",
                      ctt_report_weight_cells));
    CTT_TRY(say_table(r, "as stored, in bits per weight that is kept (not "
                      "pruned); entropy: of single symbols, so codes of "
                      "repeated ones may take less (below 1x)",
                      ctt_report_stored_cells));
    CTT_TRY(say_blame(r));
    CTT_TRY(say_table(r, "choices, made before training on weights that were "
                      "compressed at once; points: of top-1, won (+) or lost "
                      "(-) by bytes", ctt_report_choice_cells));
    CTT_TRY(say_table(r, "stages", ctt_report_stage_cells));
    if (!isnan(r->stage[0].after.top1[0]))
        CTT_TRY(say_scores(r));
out:
    return rc;
}
