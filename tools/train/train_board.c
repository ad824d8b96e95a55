/* SPDX-License-Identifier: Apache-2.0
 * train_board.c: --log-tensorboard: the epochs of a training, its weights, and
 * the clips that it is most wrong about. */
#include "tools/train/train_tool.h"
#include "base/visible.h"
#include "exchange/board.h"
#include "tools/shared/measure.h"
#include "tools/shared/tool.h"
#include "video/save.h"

#include <string.h>

enum { TAG = 1600, TEXT = 320, FRAMES = 8 };

/* Events are no more written after an error: the training goes on. */
static void give_up(struct ctt_training *j, int rc)
{
    if (rc >= 0)
        return;
    ctt_tool_warn("--log-tensorboard: %s; no more events are written",
                  ctt_errmsg());
    ctt_board_close(&j->board);
    j->board_lost = 1;
}

static void take_value(void *arg, const char *name, double x)
{
    struct ctt_board *b = arg;
    int tested = strncmp(name, "val_", 4) == 0;
    char tag[TAG];

    if (strcmp(name, "epoch") == 0 || strcmp(name, "step") == 0)
        return;
    snprintf(tag, sizeof(tag), "%s/%s", tested ? "validation" : "training",
             name + (tested ? 4 : 0));
    ctt_board_number(b, tag, x);
}

static void put_points(struct ctt_board *b, const struct ctt_metrics *val)
{
    char tag[TAG];

    for (int k = 0; k < val->points; k++) {
        const struct ctt_point *p = &val->point[k];

        if (p->frames)
            snprintf(tag, sizeof(tag), "early/top1 after %d frames", p->frames);
        else
            snprintf(tag, sizeof(tag), "early/top1 at %g%%", 100 * p->ratio);
        ctt_board_number(b, tag, ctt_metrics_top1(val, k));
    }
}

void ctt_train_board_epoch(struct ctt_training *j, const struct ctt_epoch *e,
                           const struct ctt_metrics *val)
{
    if (j->board_lost)
        return;
    if (!j->board)    /* a new run, or one that is resumed */
        give_up(j, ctt_board_open(j->cfg.log_tensorboard, e->p.epoch > 1
                                  ? e->p.step : 0, &j->board));
    if (!j->board)
        return;
    ctt_log_values(&j->cfg, j->m->g->several, e, take_value, j->board);
    if (val)
        put_points(j->board, val);
    j->board_step = e->p.step;
}

void ctt_train_board_weights(struct ctt_training *j, const struct ctt_model *m)
{
    const struct ctt_graph *g = m->g;
    char name[CTT_WEIGHT_NAME], tag[TAG];

    for (int i = 0; i < g->count && j->board; i++)
        for (int k = 0; ctt_weight_name(&g->node[i], k); k++) {
            struct ctt_weight w = ctt_model_weight(m, &g->node[i], k);

            ctt_weight_title(&g->node[i], k, name);
            snprintf(tag, sizeof(tag), "weights/%s", name);
            ctt_board_spread(j->board, tag, w.t.data,
                             ctt_volume(&w.t));
        }
    if (j->board)
        give_up(j, ctt_board_write(j->board, j->board_step));
}

/* Frames beside each other as one picture. */
static uint8_t *join_frames(const struct ctt_strip *s)
{
    size_t row = (size_t)s->w * (size_t)s->c;
    uint8_t *all = ctt_calloc((size_t)s->frames * (size_t)s->h, row);

    for (int y = 0; all && y < s->h; y++)
        for (int k = 0; k < s->frames; k++)
            memcpy(all + (size_t)(y * s->frames + k) * row,
                   s->data + (size_t)(k * s->h + y) * row, row);
    return all;
}

static int put_clip(struct ctt_training *j, int number, int clip)
{
    const struct ctt_metrics *m = j->page.on_val;
    const float *z = m->answer + ((size_t)(clip + 1) * (size_t)m->points - 1) *
                                 (size_t)m->classes;
    struct ctt_strip s = { NULL, 0, 0, 0, 0 };
    uint8_t *all = NULL, *png = NULL;
    char text[TEXT], shown[4 * TEXT], tag[TAG];
    const char *id;
    int label, answer, rc;
    int64_t size;

    id = ctt_data_clip(j->val, clip, &label);
    ctt_top(z, m->classes, &answer, 1);
    snprintf(text, sizeof(text), "%d %.120s, %.80s, answered as %.80s",
             number, id, j->page.label[label], j->page.label[answer]);
    CTT_TRY(ctt_data_strip(j->val, clip, FRAMES, &s));
    CTT_TRY((all = join_frames(&s)) ? 0 : CTT_ENOMEM);
    CTT_TRY(ctt_png_encode(j->cfg.log_tensorboard, all, s.frames * s.w, s.h,
                           s.c, &png, &size));
    snprintf(tag, sizeof(tag), "wrong clips/%s",
             ctt_visible(text, 0, shown, sizeof(shown)));
    ctt_board_picture(j->board, tag, png, size, s.frames * s.w, s.h, s.c);
out:
    ctt_free(s.data);
    ctt_free(all);
    ctt_free(png);
    return ctt_clip_is_bad(rc) ? 0 : rc;
}

int ctt_train_board_clips(struct ctt_training *j)
{
    int clip[CTT_WORST], n, rc = 0;

    if (!j->board || !j->page.on_val || !j->page.on_val->answer)
        goto out;
    n = ctt_train_worst(&j->page, clip);
    for (int k = 0; k < n; k++)
        CTT_TRY(put_clip(j, k + 1, clip[k]));
    if (n)
        give_up(j, ctt_board_write(j->board, j->board_step));
out:
    return rc;
}

void ctt_train_board_close(struct ctt_training *j)
{
    give_up(j, ctt_board_close(&j->board));
}
