/* SPDX-License-Identifier: Apache-2.0
 * info_compare.c: convtt-info --compare: size of models and, on clips, time and
 * accuracy. */
#include "base/clock.h"
#include "net/file/file.h"
#include "base/wilson.h"
#include "tools/shared/infer_rc.h"
#include "tools/info/info_tool.h"
#include "tools/shared/tool.h"
#include "video/source.h"

#include <stdio.h>

void ctt_info_macs(const struct ctt_graph *g, double *frame, double *answer)
{
    *frame = *answer = 0;
    for (int i = 0; i < g->count; i++)
        *(i < g->clip ? frame : answer) += (double)ctt_node_macs(g, i);
}

enum { RATIOS = 3, TIMED_CLIPS = 8, CELL = 48 };
static const double ratios[RATIOS] = { 0.25, 0.5, 1 };

struct measured {
    int    clips, skipped, right[RATIOS];
    double frame_ms, answer_ms;    /* one frame at a time, as from a camera */
};

struct meter {
    const struct ctt_info_cfg     *cfg;
    struct ctt_input      in;
    struct ctt_infer     *model;
    struct ctt_session   *session;
    struct ctt_source    *source;
    float                *probs;
    uint8_t              *frames;   /* of a clip, cropped to the model's size */
    size_t                room;
    int                   count;
    double                push_s, read_s;
    int                   pushes, reads;
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

static int ask_clip(struct meter *k, int label, struct measured *r)
{
    size_t frame = (size_t)(k->in.h * k->in.w * k->in.c);
    int at = 0, rc = 0;

    ctt_session_reset(k->session);
    for (int i = 0; i < RATIOS; i++) {
        int to = ctt_frames_seen(ratios[i], k->count);
        if (to > at)
            CTT_TRY(ctt_infer_rc(ctt_session_push(k->session, k->frames +
                                                  (size_t)at * frame,
                                                  to - at)));
        at = to;
        CTT_TRY(ctt_infer_rc(ctt_session_read(k->session, k->probs)));
        r->right[i] += best_class(k) == label;
    }
    r->clips++;
out:
    return rc;
}

static int time_clip(struct meter *k)
{
    size_t frame = (size_t)(k->in.h * k->in.w * k->in.c);
    int rc = 0;

    ctt_session_reset(k->session);
    for (int t = 0; t < k->count; t++) {
        double a = ctt_seconds(), b;
        CTT_TRY(ctt_infer_rc(ctt_session_push(k->session, k->frames +
                                              (size_t)t * frame, 1)));
        b = ctt_seconds();
        CTT_TRY(ctt_infer_rc(ctt_session_read(k->session, k->probs)));
        if (t == 0)
            continue;    /* the first one prepares */
        k->push_s += b - a;
        k->read_s += ctt_seconds() - b;
        k->pushes++;
        k->reads++;
    }
out:
    return rc;
}

static int measure_clip(struct meter *k, int i, struct measured *r)
{
    const struct ctt_item *item = &ctt_source_list(k->source)->item[i];
    struct ctt_frames f = { 0 };
    int rc = ctt_source_frames(k->source, i, 0, 0, &f);

    if (ctt_clip_is_bad(rc)) {
        ctt_tool_warn("%s (skipped)", ctt_errmsg());
        r->skipped++;
        rc = 0;
        goto out;
    }
    CTT_TRY(rc);
    CTT_TRY(crop_frames(k, &f));
    CTT_TRY(ask_clip(k, item->label, r));
    if (r->clips <= TIMED_CLIPS)
        CTT_TRY(time_clip(k));
out:
    ctt_frames_free(&f);
    return rc;
}

static int measure_model(const struct ctt_info_cfg *cfg, const char *path,
                         const struct ctt_model *m, struct measured *out)
{
    const struct ctt_source_set set = { .split = cfg->split,
        .classes = cfg->classes, .label = m->label, .labels = m->labels,
        .drawn_for = "--predict" };
    struct meter k = { .cfg = cfg };
    struct measured r = { .clips = 0 };
    int n, rc = 0;

    k.in = m->g->node[ctt_graph_input(m->g)].attr.input;
    CTT_TRY(ctt_infer_rc(ctt_infer_open(path, cfg->device, cfg->threads,
                                        &k.model)));
    CTT_TRY(ctt_infer_rc(ctt_session_open(k.model, &k.session)));
    CTT_TRY(ctt_source_open(cfg->data, &set, &k.in, &k.source));
    k.probs = ctt_calloc((size_t)ctt_infer_classes(k.model), sizeof(float));
    CTT_TRY(k.probs ? 0 : CTT_ENOMEM);
    n = ctt_source_list(k.source)->count;
    for (int i = 0; i < n; i++) {
        ctt_tool_progress(0, "%s: clip %d of %d", path, i + 1, n);
        CTT_TRY(measure_clip(&k, i, &r));
    }
    CTT_CHECK(r.clips, CTT_EFORMAT, "%s: no usable clip in %d", cfg->data, n);
    r.frame_ms = k.pushes ? 1e3 * k.push_s / k.pushes : 0;
    r.answer_ms = k.reads ? 1e3 * k.read_s / k.reads : 0;
    *out = r;
out:
    ctt_session_close(&k.session);
    ctt_infer_close(&k.model);
    ctt_source_close(&k.source);
    ctt_free(k.probs);
    ctt_free(k.frames);
    return rc;
}

/* ---- comparing ---- */

/* "85.0% (73.9-91.9)" at a ratio. */
static const char *accuracy(const struct measured *r, int ratio,
                            char text[CELL])
{
    double top1 = (double)r->right[ratio] / r->clips;
    char range[32];

    snprintf(text, CELL, "%.1f%% (%s)", 100 * top1,
             ctt_wilson_text(top1, r->clips, range, sizeof(range)));
    return text;
}

static int compare_row(const struct ctt_info_cfg *cfg, const char *path,
                       struct ctt_table *t)
{
    struct ctt_model *m = NULL;
    struct ctt_stored *s = NULL;
    struct measured r = { .clips = 0 };
    char params[32], macs[32], more[32], cell[RATIOS][CELL];
    double frame, answer;
    int64_t bytes;
    int count, rc = 0;

    CTT_TRY(ctt_model_load(path, 0, &m));
    CTT_TRY(ctt_model_stored(path, &s, &count, &bytes));
    ctt_info_macs(m->g, &frame, &answer);
    ctt_tool_count((double)ctt_model_params(m), params, sizeof(params));
    ctt_tool_count(frame, macs, sizeof(macs));
    ctt_tool_count(answer, more, sizeof(more));
    if (!cfg->data) {
        ctt_table_row(t, "%s\t%lld\t%s\t%s\t%s", path, (long long)bytes,
                      params, macs, more);
        goto out;
    }
    CTT_TRY(measure_model(cfg, path, m, &r));
    ctt_table_row(t, "%s\t%lld\t%s\t%s\t%s\t%.3f\t%.3f\t%s\t%s\t%s", path,
                  (long long)bytes, params, macs, more, r.frame_ms,
                  r.answer_ms, accuracy(&r, 0, cell[0]),
                  accuracy(&r, 1, cell[1]), accuracy(&r, 2, cell[2]));
out:
    ctt_free(s);
    ctt_model_free(&m);
    return rc;
}

int ctt_info_compare(const struct ctt_info_cfg *cfg, char **path, int count)
{
    struct ctt_table t = { NULL, 0, 0, 0 };
    int rc = 0;

    ctt_table_row(&t, "%s%s", "model\tbytes\tparameters\tmult/frame\t"
                  "mult/answer", cfg->data ? "\tms/frame\tms/answer\t"
                  "top-1 at 25%\tat 50%\tat 100%" : "");
    for (int i = 0; i < count; i++)
        CTT_TRY(compare_row(cfg, path[i], &t));
    CTT_TRY(ctt_table_print(&t));
out:
    ctt_table_free(&t);
    return rc;
}
