/* SPDX-License-Identifier: Apache-2.0
 * info_compare.c: convtt-info --compare: size of models and, on clips, time and
 * accuracy. */
#include "base/clock.h"
#include "base/statistics/statistics.h"
#include "net/file/file.h"
#include "tools/bench/bench_tool.h"
#include "tools/shared/infer_rc.h"
#include "tools/shared/measure.h"
#include "tools/info/info_tool.h"
#include "tools/report/page.h"
#include "tools/shared/tool.h"
#include "video/source.h"

#include <math.h>
#include <stdio.h>

#define SIZES "model\tbytes\tparameters\tmult/frame\tmult/answer"

enum { RATIOS = CTT_COMPARE_SHARES, TIMED_CLIPS = 8, ROUNDS = 3, CELL = 48 };
const double ctt_compare_shares[RATIOS] = { 0.25, 0.5, 1 };

struct meter {
    const struct ctt_info_cfg     *cfg;
    const char           *path;
    struct ctt_model     *about;
    struct ctt_compared  *got;
    struct ctt_input      in;
    struct ctt_infer     *model;
    struct ctt_session   *session;
    struct ctt_source    *source;
    float                *probs;
    uint8_t              *frames;   /* of a clip, cropped to the model's size */
    size_t                room;
    int                   count;
    struct ctt_times      frame, answer;  /* means of a clip, one frame at a
                                             time, as from a camera */
    struct ctt_times      ratio;          /* to the first model in turn with
                                             it; its own to its first round */
};

/* Crops the middle of each stored frame. */
static int crop_frames(struct meter *k, const struct ctt_frames *f)
{
    size_t frame = (size_t)k->in.w * (size_t)k->in.h * (size_t)f->c;
    size_t stored = (size_t)f->w * (size_t)f->h * (size_t)f->c;

    if (frame * (size_t)f->count > k->room) {
        uint8_t *more = ctt_realloc(k->frames, frame * (size_t)f->count);
        if (!more)
            return CTT_ENOMEM;
        k->frames = more;
        k->room = frame * (size_t)f->count;
    }
    for (int t = 0; t < f->count; t++)
        ctt_frame_middle(f->data + (size_t)t * stored, f->w, f->h, &k->in,
                         k->frames + (size_t)t * frame);
    k->count = f->count;
    return 0;
}

static int best_class(const struct meter *k)
{
    int best = 0;

    for (int i = 1; i < ctt_infer_classes(k->model); i++)
        if (k->probs[i] > k->probs[best])
            best = i;
    return best;
}

static int ask_clip(struct meter *k, int label, int clip)
{
    struct ctt_compared *r = k->got;
    size_t frame = (size_t)(k->in.h * k->in.w * k->in.c);
    int at = 0, rc = 0;

    ctt_session_reset(k->session);
    for (int i = 0; i < RATIOS; i++) {
        int to = ctt_frames_seen(ctt_compare_shares[i], k->count);
        if (to > at)
            CTT_TRY(ctt_infer_rc(ctt_session_push(k->session, k->frames +
                                                  (size_t)at * frame,
                                                  to - at)));
        at = to;
        CTT_TRY(ctt_infer_rc(ctt_session_read(k->session, k->probs)));
        r->verdict[clip] |= (uint8_t)((best_class(k) == label) << i);
        r->right[i] += best_class(k) == label;
    }
    r->verdict[clip] |= CTT_COMPARE_READ;
    r->clips++;
out:
    return rc;
}

/* The mean times of a frame and of an answer, in milliseconds. */
static int time_clip(struct meter *k, double *frame, double *answer)
{
    size_t size = (size_t)(k->in.h * k->in.w * k->in.c);
    int rc = 0;

    *frame = *answer = 0;
    ctt_session_reset(k->session);
    for (int t = 0; t < k->count; t++) {
        double a = ctt_milliseconds(), b;
        CTT_TRY(ctt_infer_rc(ctt_session_push(k->session, k->frames +
                                              (size_t)t * size, 1)));
        b = ctt_milliseconds();
        CTT_TRY(ctt_infer_rc(ctt_session_read(k->session, k->probs)));
        if (t == 0 && k->count > 1)
            continue;    /* the first one prepares */
        *frame += b - a;
        *answer += ctt_milliseconds() - b;
    }
    *frame /= k->count > 1 ? k->count - 1 : 1;
    *answer /= k->count > 1 ? k->count - 1 : 1;
out:
    return rc;
}

/* Reads clip i; 0: it is bad. */
static int read_clip(struct meter *k, int i)
{
    struct ctt_frames f = { 0 };
    int rc = ctt_source_frames(k->source, i, 0, 0, &f);

    if (ctt_clip_is_bad(rc))
        return 0;
    CTT_TRY(rc);
    CTT_TRY(crop_frames(k, &f));
    rc = 1;
out:
    ctt_frames_free(&f);
    return rc;
}

/* Times the models in turn on clip i, so that a slow phase of the machine
 * affects all of them.  first: the times of the first model in the first
 * round. */
static int time_round(struct meter *k, int models, int i, double *first)
{
    double frame, answer, against = 0;
    int rc = 0;

    for (int m = 0; m < models; m++) {
        rc = read_clip(&k[m], i);
        if (rc <= 0)
            break;
        CTT_TRY(time_clip(&k[m], &frame, &answer));
        if (m == 0 && !*first)
            *first = frame;
        if (m == 0)
            against = frame;
        CTT_TRY(ctt_times_add(&k[m].frame, frame));
        CTT_TRY(ctt_times_add(&k[m].answer, answer));
        CTT_TRY(ctt_times_add(&k[m].ratio, frame / (m ? against : *first)));
    }
out:
    return rc < 0 ? rc : 0;
}

static int time_models(struct meter *k, int models)
{
    int n = ctt_source_list(k->source)->count, rc = 0;
    double first[TIMED_CLIPS] = { 0 };

    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < n && i < TIMED_CLIPS; i++)
            CTT_TRY(time_round(k, models, i, &first[i]));
out:
    return rc;
}

static int measure_clip(struct meter *k, int i)
{
    const struct ctt_item *item = &ctt_source_list(k->source)->item[i];
    int rc = read_clip(k, i);

    if (rc == 0)
        ctt_tool_warn("%s (skipped)", ctt_errmsg());
    return rc <= 0 ? rc : ask_clip(k, item->label, i);
}

static int measure_model(struct meter *k)
{
    int n = ctt_source_list(k->source)->count, rc;

    k->got->verdict = ctt_calloc((size_t)n + 1, 1);
    k->got->items = n;
    CTT_TRY(k->got->verdict ? 0 : CTT_ENOMEM);
    for (int i = 0; i < n; i++) {
        CTT_PROGRESS(i, n, "%s: clip %d of %d", k->path, i + 1, n);
        CTT_TRY(measure_clip(k, i));
    }
    CTT_CHECK(k->got->clips, CTT_EFORMAT, "%s: no usable clip in %d",
              k->cfg->data, n);
out:
    return rc;
}

static int open_meter(struct meter *k, const struct ctt_info_cfg *cfg,
                      const char *path)
{
    int rc;

    k->cfg = cfg;
    k->path = path;
    CTT_TRY(ctt_model_load(path, 0, &k->about));
    if (!cfg->data)
        goto out;
    k->in = k->about->g->node[ctt_graph_input(k->about->g)].attr.input;
    CTT_TRY(ctt_infer_rc(ctt_infer_open(path, cfg->device, cfg->threads,
                                        &k->model)));
    CTT_TRY(ctt_infer_rc(ctt_session_open(k->model, &k->session)));
    CTT_TRY(ctt_source_open(cfg->data, &(struct ctt_source_set){
        .split = cfg->split, .classes = cfg->classes,
        .need_split = strcmp(cfg->split, "validation") != 0,
        .label = k->about->label, .labels = k->about->labels,
        .drawn_for = "--predict" }, &k->in, &k->source));
    k->probs = ctt_calloc((size_t)ctt_infer_classes(k->model), sizeof(float));
    CTT_TRY(k->probs ? 0 : CTT_ENOMEM);
out:
    return rc;
}

static void close_meter(struct meter *k)
{
    ctt_session_close(&k->session);
    ctt_infer_close(&k->model);
    ctt_source_close(&k->source);
    ctt_model_free(&k->about);
    ctt_free(k->probs);
    ctt_free(k->frames);
    ctt_free(k->frame.ms);
    ctt_free(k->answer.ms);
    ctt_free(k->ratio.ms);
}

/* ---- comparing ---- */

/* "85.0% (73.9-91.9)" at a ratio. */
static const char *accuracy(const struct ctt_compared *r, int ratio,
                            char text[CELL])
{
    double top1 = (double)r->right[ratio] / r->clips;
    char range[32];

    snprintf(text, CELL, "%.1f%% (%s)", 100 * top1,
             ctt_wilson_text(top1, r->clips, range, sizeof(range)));
    return text;
}

/* Milliseconds, or "busy" if others used the processor. */
static const char *median(double ms, char text[CELL])
{
    if (isfinite(ms))
        snprintf(text, CELL, "%.3f", ms);
    else
        snprintf(text, CELL, "busy");
    return text;
}

static double median_of(struct ctt_times *times, int steady)
{
    return steady ? ctt_times_spread(times).median : NAN;
}

/* Lost, won and p of whole clips, or, of the first model, dashes. */
static void against_first(const struct ctt_compared *first,
                          const struct ctt_compared *got, char cell[3][CELL])
{
    struct ctt_compared_pair n = ctt_compare_pair(first, got, RATIOS - 1);

    snprintf(cell[0], CELL, got == first ? "-" : "%d", n.lost);
    snprintf(cell[1], CELL, got == first ? "-" : "%d", n.won);
    snprintf(cell[2], CELL, got == first ? "-" : "%.3g",
             ctt_mcnemar(n.lost, n.won));
}

static int compare_row(struct meter *k, const struct ctt_compared *first,
                       int steady, struct ctt_table *t)
{
    const struct ctt_model *m = k->about;
    struct ctt_compared *got = k->got;
    struct ctt_stored *s = NULL;
    char params[32], macs[32], more[32], cell[RATIOS + 5][CELL];
    double answer;
    int count, rc = 0;

    CTT_TRY(ctt_model_stored(k->path, &s, &count, &got->bytes));
    ctt_graph_macs(m->g, &got->macs, &answer);
    got->path = k->path;
    got->params = (double)ctt_model_params(m);
    got->ms = median_of(&k->frame, steady && k->cfg->data);
    ctt_tool_count(got->params, params, sizeof(params));
    ctt_tool_count(got->macs, macs, sizeof(macs));
    ctt_tool_count(answer, more, sizeof(more));
    if (!k->cfg->data) {
        ctt_table_row(t, "%s\t%lld\t%s\t%s\t%s", k->path, (long long)got->bytes,
                      params, macs, more);
        goto out;
    }
    CTT_TRY(measure_model(k));
    against_first(first, got, cell + RATIOS + 2);
    ctt_table_row(t, "%s\t%lld\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s"
                  "\t%s", k->path, (long long)got->bytes, params, macs, more,
                  median(got->ms, cell[3]),
                  median(median_of(&k->answer, steady), cell[4]),
                  accuracy(got, 0, cell[0]), accuracy(got, 1, cell[1]),
                  accuracy(got, 2, cell[2]), cell[5],
                  cell[6], cell[7]);
out:
    ctt_free(s);
    return rc;
}

/* The same at the shares before the end, which early recognition is about. */
static void say_early(const struct ctt_compared *first,
                      const struct ctt_compared *got)
{
    char line[80 * RATIOS] = "";
    size_t n = 0;

    for (int k = 0; k < RATIOS - 1; k++) {
        struct ctt_compared_pair p = ctt_compare_pair(first, got, k);

        n += (size_t)snprintf(line + n, sizeof(line) - n, "%s at %g%% of each "
                              "clip %d lost, %d won, p = %.2g", k ? "," : "",
                              100 * ctt_compare_shares[k], p.lost, p.won,
                              ctt_mcnemar(p.lost, p.won));
    }
    ctt_tool_say("%s:%s", got->path, line);
}

int ctt_info_compare(const struct ctt_info_cfg *cfg, char **path, int count)
{
    struct ctt_table t = { NULL, 0, 0, 0 };
    struct meter *k = ctt_calloc((size_t)count, sizeof(*k));
    struct ctt_compared *got = ctt_calloc((size_t)count, sizeof(*got));
    int rc = k && got ? 0 : CTT_ENOMEM, steady = 1;

    CTT_TRY(rc);
    ctt_table_row(&t, cfg->data ? SIZES "\tms/frame\tms/answer\ttop-1 at 25%%"
                                        "\tat 50%%\tat 100%%\tlost\twon\tp"
                            : SIZES);
    for (int i = 0; i < count; i++)
        CTT_TRY(ctt_tool_spares(&cfg->report_html, 1, path[i]));
    CTT_TRY(ctt_output_check(cfg->report_html, &ctt_output_page));
    for (int i = 0; i < count; i++) {
        k[i].got = &got[i];
        CTT_TRY(open_meter(&k[i], cfg, path[i]));
    }
    if (cfg->data)
        CTT_TRY(time_models(k, count));
    for (int i = 0; cfg->data && i < count; i++)
        steady = steady && ctt_ratios_steady(&k[i].ratio);
    for (int i = 0; i < count; i++)
        CTT_TRY(compare_row(&k[i], got, steady, &t));
    CTT_TRY(t.rc);
    ctt_compare_page(cfg->report_html, got, count, &t);
    CTT_TRY(ctt_table_print(&t));
    if (cfg->data && count > 1)
        ctt_tool_say("lost, won: whole clips that only %s has right, and only "
                     "the other model; p: McNemar's test, above 0.05 it may be "
                     "chance",
                     path[0]);
    for (int i = 1; cfg->data && i < count; i++)
        say_early(&got[0], &got[i]);
out:
    for (int i = 0; got && i < count; i++)
        ctt_free(got[i].verdict);
    ctt_free(got);
    for (int i = 0; k && i < count; i++)
        close_meter(&k[i]);
    ctt_free(k);
    ctt_table_free(&t);
    return rc;
}
