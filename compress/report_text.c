/* SPDX-License-Identifier: Apache-2.0
 * report_text.c: a report as rows of text. */
#include "base/statistics/statistics.h"
#include "compress/report.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

/* ---- as text ---- */

static const char *percent3(const double a[CTT_ACCURACIES], char *s,
                            size_t size)
{
    if (isnan(a[0]))
        return "-";
    snprintf(s, size, "%.1f/%.1f/%.1f", 100 * a[0], 100 * a[1], 100 * a[2]);
    return s;
}

const char *ctt_report_score(const struct ctt_report *r)
{
    return r->several ? "mAP" : "top-1";
}

/* "\t71.2-83.0" for each accuracy. */
static const char *intervals(const struct ctt_report *r,
                             const struct ctt_score *s, char *text, size_t size)
{
    char one[32];
    size_t n = 0;

    if (isnan(s->top1[0]) || r->several)
        return "\t-\t-\t-";
    for (int k = 0; k < CTT_ACCURACIES && n < size; k++) {
        ctt_wilson_text(s->top1[k], s->clips, one, sizeof(one));
        n += (size_t)snprintf(text + n, size - n, "\t%s", one);
    }
    return text;
}

/* "lost \t won \t p", or, of the original, dashes. */
static const char *against(const struct ctt_score *s, int given, char *text,
                           size_t size)
{
    if (given || isnan(s->top1[0]))
        return "-\t-\t-";
    snprintf(text, size, "%" PRId64 "\t%" PRId64 "\t%.3g", s->lost, s->won,
             ctt_mcnemar(s->lost, s->won));
    return text;
}

int ctt_report_score_cells(const struct ctt_report *r, int row, char *text,
                           size_t size)
{
    const struct ctt_stage_row *s = r->stage + (row ? row - 1 : 0);
    char before[48], after[48], ranges[96], pair[64];

    if (row > r->stages)
        return 0;
    if (row == 0) {
        snprintf(text, size, "stage\tbefore retraining\t%s %%\t95%%: at "
                 "25%%\tat 50%%\tat 100%%\tlost\twon\tp", ctt_report_score(r));
        return 1;
    }
    snprintf(text, size, "%s\t%s\t%s%s\t%s", s->name,
             percent3(s->before, before, sizeof(before)),
             percent3(s->after.top1, after, sizeof(after)),
             intervals(r, &s->after, ranges, sizeof(ranges)),
             against(&s->after, row == 1, pair, sizeof(pair)));
    return 1;
}

enum { SPEED = 24 };

/* Measured values of a stage, in place of dashes. */
static void speed_text(const struct ctt_stage_row *s, char ram[SPEED],
                       char ms[SPEED], char faster[SPEED])
{
    if (s->ram)
        snprintf(ram, SPEED, "%.0f", (double)s->ram / 1000);
    if (!isnan(s->faster))
        snprintf(faster, SPEED, "%.2fx", s->faster);
    if (!isnan(s->ms))
        snprintf(ms, SPEED, "%.3f", s->ms);
    if (s->busy) {
        strcpy(faster, "busy");
        strcpy(ms, "busy");
    }
}

static const char *prunable_text(const struct ctt_stage_row *s,
                                 char text[SPEED])
{
    snprintf(text, SPEED, isnan(s->prunable) ? "-" : "%.1f",
             100 * s->prunable);
    return text;
}

int ctt_report_stage_cells(const struct ctt_report *r, int row, char *text,
                           size_t size)
{
    const struct ctt_stage_row *s = r->stage + (row ? row - 1 : 0);
    char prunable[SPEED], ram[SPEED] = "-", ms[SPEED] = "-";
    char faster[SPEED] = "-";

    if (row > r->stages)
        return 0;
    if (row == 0) {
        snprintf(text, size, "stage\tbytes\tsmaller\tparameters\t"
                 "pruned %% of all\tof prunable\tmult/frame\tnot pruned\t"
                 "RAM kB\tms/frame\t"
                 "faster");
        return 1;
    }
    speed_text(s, ram, ms, faster);
    snprintf(text, size, "%s\t%" PRId64 "\t%.1fx\t%" PRId64 "\t%.1f\t%s\t%"
             PRId64 "\t%" PRId64 "\t%s\t%s\t%s", s->name, s->bytes,
             (double)r->stage[0].bytes / (double)s->bytes, s->params,
             100 * s->pruned, prunable_text(s, prunable), s->macs,
             s->live_macs, ram, ms,
             faster);
    return 1;
}

int ctt_report_result_cells(const struct ctt_report *r, int row, char *text,
                            size_t size)
{
    const struct ctt_stage_row *s = r->stage + (row ? row - 1 : 0);
    char score[48], pair[64], scores[128] = "", prunable[SPEED];
    char ram[SPEED] = "-", ms[SPEED] = "-", faster[SPEED] = "-";
    int scored = !isnan(r->stage[0].after.top1[0]);

    if (row > r->stages)
        return 0;
    if (row == 0) {
        if (scored)
            snprintf(scores, sizeof(scores), "\t%s %%\tlost\twon\tp",
                     ctt_report_score(r));
        snprintf(text, size, "stage\tbytes\tsmaller\tpruned %% of all\t"
                 "of prunable%s\tRAM kB\tms/frame\tfaster", scores);
        return 1;
    }
    speed_text(s, ram, ms, faster);
    if (scored)
        snprintf(scores, sizeof(scores), "\t%s\t%s",
                 percent3(s->after.top1, score, sizeof(score)),
                 against(&s->after, row == 1, pair, sizeof(pair)));
    snprintf(text, size, "%s\t%" PRId64 "\t%.1fx\t%.1f\t%s%s\t%s\t%s\t"
             "%s", s->name, s->bytes,
             (double)r->stage[0].bytes / (double)s->bytes, 100 * s->pruned,
             prunable_text(s, prunable), scores, ram, ms, faster);
    return 1;
}

int ctt_report_proof_cells(const struct ctt_report *r, int row, char *text,
                           size_t size)
{
    static const char *const names[] = { "original", "compressed" };
    const struct ctt_score *s = &r->proof[row == 2];
    char after[48], ranges[96], pair[64];

    if (row > 2 || isnan(s->top1[0]))
        return 0;
    if (row == 0) {
        snprintf(text, size, "model\t%s %%\t95%%: at 25%%\tat 50%%\t"
                 "at 100%%\tlost\twon\tp", ctt_report_score(r));
        return 1;
    }
    snprintf(text, size, "%s\t%s%s\t%s", names[row - 1],
             percent3(s->top1, after, sizeof(after)),
             intervals(r, s, ranges, sizeof(ranges)),
             against(s, row == 1, pair, sizeof(pair)));
    return 1;
}

static void shape_text(const struct ctt_weight_row *w, char *s, size_t size)
{
    size_t n = (size_t)snprintf(s, size, "%d", w->shape[0]);

    for (int k = 1; k < 5 && n < size; k++)
        if (k == 4 || w->shape[k] > 1)
            n += (size_t)snprintf(s + n, size - n, "x%d", w->shape[k]);
}

static void rank_text(const struct ctt_weight_row *w, char *s, size_t size)
{
    size_t n = 0;

    s[0] = '\0';
    for (int k = 0; k < w->cores - 1 && n < size; k++)
        n += (size_t)snprintf(s + n, size - n, "%s%d", k ? "," : "",
                              w->rank[k]);
}

static int any_fitted(const struct ctt_report *r)
{
    for (int i = 0; i < r->weights; i++)
        if (r->weight[i].fitted)
            return 1;
    return 0;
}

int ctt_report_weight_cells(const struct ctt_report *r, int row, char *text,
                            size_t size)
{
    const struct ctt_weight_row *w = r->weight + (row ? row - 1 : 0);
    char shape[64], rank[64], error[24] = "-";

    if (row > r->weights)
        return 0;
    if (row == 0) {
        snprintf(text, size, "weight\tshape\tcores\tranks\terror of %s\t"
                 "parameters\tafter\tmult/frame\tafter\tnote",
                 any_fitted(r) ? "results" : "weights");
        return 1;
    }
    shape_text(w, shape, sizeof(shape));
    rank_text(w, rank, sizeof(rank));
    if (w->cores > 1)
        snprintf(error, sizeof(error), "%.4f", w->error);
    snprintf(text, size, "%s\t%s\t%s\t%s\t%s\t%" PRId64 "\t%" PRId64 "\t%"
             PRId64 "\t%" PRId64 "\t%s%s%s", w->name, shape,
             w->cores > 1 ? w->chain : "-", w->cores > 1 ? rank : "-", error,
             w->params, w->params_after, w->macs, w->macs_after,
             w->fitted ? "error of its results on clips" : "",
             w->fitted && w->reason[0] ? "; " : "", w->reason);
    return 1;
}

int ctt_report_stored_cells(const struct ctt_report *r, int row, char *text,
                            size_t size)
{
    const struct ctt_weight_row *w = r->weight + (row ? row - 1 : 0);
    const struct ctt_entropy *e = &w->entropy;
    double kept = w->kept ? (double)w->kept : 1;
    double bits = e->value_bits + e->gap_bits;
    char over[24] = "-";

    if (row > r->weights)
        return 0;
    if (row == 0) {
        snprintf(text, size, "weight\tkept\tdifferent\tbytes\tbits each\t"
                 "entropy: value\tgap\tover entropy\tstored as");
        return 1;
    }
    if (bits > 0)
        snprintf(over, sizeof(over), "%.2fx", 8 * (double)w->size / bits);
    snprintf(text, size, "%s\t%" PRId64 "\t%" PRId64 "\t%" PRId64
             "\t%.2f\t%.2f\t%.2f\t%s\t%s", w->name, w->kept, e->values,
             w->size, 8 * (double)w->size / kept, e->value_bits / kept,
             e->gap_bits / kept, over, w->encoding);
    return 1;
}

int ctt_report_bytes_cells(const struct ctt_report *r, int row, char *text,
                           size_t size)
{
    const struct ctt_weight_row *w = r->weight + (row ? row - 1 : 0);
    char shape[64], rank[64];

    if (row > r->weights)
        return 0;
    if (row == 0) {
        snprintf(text, size, "weight\tshape\tcores\tranks\tkept\tbytes\t"
                 "stored as\tnote");
        return 1;
    }
    shape_text(w, shape, sizeof(shape));
    rank_text(w, rank, sizeof(rank));
    snprintf(text, size, "%s\t%s\t%s\t%s\t%" PRId64 "\t%" PRId64 "\t%s\t%s%s%s",
             w->name, shape, w->cores > 1 ? w->chain : "-",
             w->cores > 1 ? rank : "-", w->kept, w->size, w->encoding,
             w->fitted ? "error of its results on clips" : "",
             w->fitted && w->reason[0] ? "; " : "", w->reason);
    return 1;
}

static const char *text_of(const char *form, double x, char *text, size_t size)
{
    if (isnan(x))
        return "-";
    snprintf(text, size, form, x);
    return text;
}

int ctt_report_blame_cells(const struct ctt_report *r, int row, char *text,
                           size_t size)
{
    const struct ctt_blame *b = r->blame + (row ? row - 1 : 0);
    char alone[32], behind[32], answer[32];

    if (row > r->blames || row > CTT_BLAME_LINES || !r->blames)
        return 0;
    if (row == 0) {
        snprintf(text, size, "conv\t%s\tdB alone\tdB behind the others\tnote",
                 b->frames ? "dB of frames" : "KL of classes");
        return 1;
    }
    snprintf(text, size, "%s\t%s\t%s\t%s\t%s", b->name,
             text_of(b->frames ? "%.1f" : "%.2g", b->answer, answer,
                     sizeof(answer)),
             text_of("%.1f", b->alone, alone, sizeof(alone)),
             text_of("%.1f", b->behind, behind, sizeof(behind)), b->stays);
    return 1;
}

/* Candidate `row`, from 1, of those that had others; NULL: there are fewer. */
static const struct ctt_choice *choice_at(const struct ctt_report *r, int row)
{
    for (int i = 0; i < r->choices; i++)
        if (ctt_report_had_choice(r, i) && --row == 0)
            return &r->choice[i];
    return NULL;
}

int ctt_report_choice_cells(const struct ctt_report *r, int row, char *text,
                            size_t size)
{
    const struct ctt_choice *c = choice_at(r, row ? row : 1);
    char bytes[32] = "-", ms[32], faster[32], gain[32];
    const char *note, *busy = c && c->busy ? "busy" : NULL;

    if (!c)
        return 0;
    if (row == 0) {
        snprintf(text, size, "choice of\tcandidate\tbytes\tms/frame\tfaster\t"
                 "points\tnote");
        return 1;
    }
    if (c->bytes)
        snprintf(bytes, sizeof(bytes), "%" PRId64, c->bytes);
    note = c->given_up[0] ? "given up: " : c->chosen ? "chosen" : "";
    snprintf(text, size, "%s\t%s\t%s\t%s\t%s\t%s\t%s%s", c->of, c->name,
             bytes, busy ? busy : text_of("%.4f", c->ms, ms, sizeof(ms)),
             busy ? busy : text_of("%.2fx", ctt_report_gain(r, c), faster,
                                   sizeof(faster)),
             text_of("%+.1f", 0 - 100 * c->lost, gain, sizeof(gain)), note,
             c->given_up);
    return 1;
}
