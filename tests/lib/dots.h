/* SPDX-License-Identifier: Apache-2.0
 * dots.h: tiny sequences to predict, for the tests of the trainer: a dot flies
 * through the frame and comes back on the other side. */
#ifndef CTT_TEST_DOTS_H
#define CTT_TEST_DOTS_H

#include "net/init.h"
#include "tests/lib/check.h"
#include "tests/lib/toy.h"

enum { SIDE = 16, SEEN = 4, AHEAD = 3, FRAMES = SEEN + AHEAD,
       PIXELS = SIDE * SIDE };

static const char dot_net[] =
    "input x h=16 w=16 c=1 mean=0.1 std=0.5 colour=gray\n"
    "conv e in=x out=6 kernel=3 pad=1\n"
    "act f in=e kind=relu\n"
    "convlstm h in=f hidden=8 kernel=3\n"
    "conv y in=h out=1 kernel=3 pad=1\n";

/* Sequence i, frame t. */
static inline uint8_t dot(int i, int t, int y, int x)
{
    uint64_t k = (uint64_t)i;
    int dy = (int)(ctt_random(1, k) % 5) - 2, dx = (int)(ctt_random(2, k) % 5);

    dx -= 2;
    dy += !dy && !dx;
    y = (y - (int)(ctt_random(3, k) % SIDE) - dy * t + 64 * SIDE) % SIDE;
    x = (x - (int)(ctt_random(4, k) % SIDE) - dx * t + 64 * SIDE) % SIDE;
    return y < 3 && x < 3 ? 255 : 0;
}

/* Sequences from .. from + clips - 1. */
static inline void dots_pack(const char *path, int from, int clips)
{
    static const char *const label[] = { "dot" };
    static uint8_t pixel[FRAMES * PIXELS];
    struct ctt_frames f = { pixel, FRAMES, SIDE, SIDE, 1, 0 };
    struct ctt_graph *g = NULL;
    struct ctt_pack *p = NULL;
    char id[32];

    CHECK_OK(ctt_net_parse(dot_net, &g));
    CHECK_OK(ctt_pack_create(path, &g->node[0].attr.input,
                             (char *const *)label, 1, &p));
    for (int i = from; i < from + clips; i++) {
        for (int k = 0; k < FRAMES * PIXELS; k++)
            pixel[k] = dot(i, k / PIXELS, k % PIXELS / SIDE, k % SIDE);
        snprintf(id, sizeof(id), "dot%d", i);
        CHECK_OK(ctt_pack_add(p, id, 0, &f));
    }
    CHECK_OK(ctt_pack_finish(&p));
    ctt_pack_close(&p);
    ctt_graph_free(&g);
}

static inline struct ctt_train_cfg dots_cfg(void)
{
    struct ctt_train_cfg c = clip_cfg();

    c.task = CTT_PREDICT;
    c.input_frames = SEEN;
    c.future_frames = AHEAD;
    c.epochs = 3;
    c.val_batch = 3;
    c.sampling_start = "0.5";
    c.sampling_decay = 0.4f;
    return c;
}

/* Settings of either task in mixed precision. */
static inline struct ctt_train_cfg amp_cfg(int task, int level)
{
    struct ctt_train_cfg c = task == CTT_PREDICT ? dots_cfg() : clip_cfg();

    c.amp = level;
    return c;
}

static inline struct ctt_data *dots_read(const char *path)
{
    struct ctt_train_cfg cfg = dots_cfg();
    struct ctt_data *d = NULL;
    struct ctt_graph *g = NULL;

    CHECK_OK(ctt_net_parse(dot_net, &g));
    CHECK_OK(ctt_data_open(path, "train", &g->node[0].attr.input, NULL, 0,
                           &cfg, NULL, &d));
    ctt_graph_free(&g);
    return d;
}

/* 18 sequences to train on and, from 100 on, 7 to test on. */
static struct ctt_data *dots, *dots_val;

static inline void dots_open(void)
{
    if (dots)
        return;
    dots_pack(clip_path("dots.pack"), 0, 18);
    dots_pack(clip_path("dots_val.pack"), 100, 7);
    dots = dots_read(clip_path("dots.pack"));
    dots_val = dots_read(clip_path("dots_val.pack"));
}

/* Removes the folder too. */
static inline int dots_clean(void)
{
    ctt_data_close(&dots);
    ctt_data_close(&dots_val);
    return clips_clean();
}

static inline struct ctt_model *dots_model(const char *text, int seed)
{
    struct ctt_graph *g = NULL;
    struct ctt_model *m = NULL;

    CHECK_OK(ctt_net_parse(text, &g));
    CHECK_OK(ctt_model_new(g, &m));
    ctt_init_weights(m, (uint64_t)seed);
    return m;
}

#endif
