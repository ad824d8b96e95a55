/* SPDX-License-Identifier: Apache-2.0
 * train_board.c: --log-tensorboard: the epochs of a training, its weights, and
 * the clips that it is most wrong about. */
#include "tools/train/train_tool.h"
#include "exchange/board.h"
#include "tools/shared/tool.h"

#include <string.h>

enum { TAG = 320 };

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

void ctt_train_board_close(struct ctt_training *j)
{
    give_up(j, ctt_board_close(&j->board));
}
