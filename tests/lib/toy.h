/* SPDX-License-Identifier: Apache-2.0
 * toy.h: tiny data sets for the tests of the trainer: a bright square that
 * moves right, left, down or up, packed in one file. */
#ifndef CTT_TEST_TOY_H
#define CTT_TEST_TOY_H

#include "libtrain/train.h"
#include "net/init.h"
#include "base/random.h"
#include "tests/lib/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CLIP_SIZE = 12, CLIP_CLASSES = 4, CLIP_SHORTEST = 5 };

static const char *const clip_labels[CLIP_CLASSES] = { "right", "left", "down",
                                                       "up" };

/* The length of clip i: 5 to 12 frames. */
static inline int clip_length(int i)
{
    return CLIP_SHORTEST + (int)(ctt_random(77, (uint64_t)i) % 8);
}

static inline void clip_draw(int i, int t, uint8_t *frame)
{
    static const int dx[] = { 1, -1, 0, 0 }, dy[] = { 0, 0, 1, -1 };
    int label = i % CLIP_CLASSES, n = CLIP_SIZE;
    int x0 = (int)(ctt_random(5, (uint64_t)i) % CLIP_SIZE) + dx[label] * t;
    int y0 = (int)(ctt_random(6, (uint64_t)i) % CLIP_SIZE) + dy[label] * t;

    for (int k = 0; k < n * n * 3; k++)
        frame[k] = (uint8_t)(20 + ctt_random((uint64_t)i, (uint64_t)
                                             (t * n * n * 3 + k)) % 16);
    for (int y = 0; y < 4; y++)
        for (int x = 0; x < 4; x++)
            memset(frame + (((y0 + y + 2 * n) % n) * n +
                            (x0 + x + 2 * n) % n) * 3, 230, 3);
}

static inline int clip_add(struct ctt_pack *p, int i)
{
    struct ctt_frames f = { NULL, clip_length(i), CLIP_SIZE, CLIP_SIZE, 3,
                            12 };
    size_t frame = (size_t)(f.h * f.w * f.c);
    char id[32];
    int rc = 0;

    f.data = ctt_calloc((size_t)f.count, frame);
    CTT_TRY(f.data ? 0 : CTT_ENOMEM);
    for (int t = 0; t < f.count; t++)
        clip_draw(i, t, f.data + (size_t)t * frame);
    snprintf(id, sizeof(id), "clip%d", i);
    CTT_TRY(ctt_pack_add(p, id, i % CLIP_CLASSES, &f));
out:
    ctt_free(f.data);
    return rc;
}

/* The input of a model of 10x10 frames, cropped from 12x12. */
static inline struct ctt_input clip_input(void)
{
    return (struct ctt_input){ 1, 10, 10, 3, 12, { 0.2f, 0.2f, 0.2f },
        { 0.3f, 0.3f, 0.3f }, 1.2f, CTT_FIT_CROP, CTT_RGB };
}

static inline int clips_pack(const char *path, int from, int clips)
{
    struct ctt_input in = clip_input();
    struct ctt_pack *p = NULL;
    int rc = 0;

    CTT_TRY(ctt_pack_create(path, &in, (char *const *)clip_labels,
                            CLIP_CLASSES, &p));
    for (int i = from; i < from + clips; i++)
        CTT_TRY(clip_add(p, i));
    CTT_TRY(ctt_pack_finish(&p));
out:
    ctt_pack_close(&p);
    return rc;
}

/* A folder that the test removes at its end. */
static char clip_dir[64];

static inline int clips_dir(void)
{
    snprintf(clip_dir, sizeof(clip_dir), "/tmp/ctt_clips_XXXXXX");
    return mkdtemp(clip_dir) ? 0 : -1;
}

static inline int clips_clean(void)
{
    char line[128];

    snprintf(line, sizeof(line), "rm -rf '%s'", clip_dir);
    return system(line);
}

/* Runs a suite of tests with a folder of clips, which clean removes; returns
 * the exit status of main. */
static inline int clips_main(const char *name, int (*clean)(void),
                             CU_TestInfo *tests)
{
    CU_SuiteInfo suites[] = {
        { name, NULL, clean, NULL, NULL, tests }, CU_SUITE_INFO_NULL
    };

    return clips_dir() < 0 ? 99 : ctt_check_main(suites);
}

/* The path of a file in the folder; the text is valid for 8 calls. */
static inline const char *clip_path(const char *name)
{
    static char path[8][128];
    static int k;

    k = (k + 1) % 8;
    snprintf(path[k], sizeof(path[k]), "%s/%s", clip_dir, name);
    return path[k];
}

/* The model's answer needs the order of the frames. */
static const char clip_net[] =
    "input x h=10 w=10 c=3 fps=12 mean=0.2 std=0.3 scale=1.2\n"
    "conv e in=x out=8 kernel=3 stride=2 pad=1\n"
    "norm n in=e kind=batch\n"
    "act f in=n kind=relu\n"
    "convlstm h in=f hidden=8 kernel=3\n"
    "pool p in=h kind=avg\n"
    "dropout d in=p rate=0.1\n"
    "conv y in=d out=4\n";

/* A smaller one that answers at every step. */
static const char clip_net_lstm[] =
    "input x h=10 w=10 c=3 fps=12 mean=0.2 std=0.3 scale=1.2\n"
    "conv e in=x out=6 kernel=3 stride=3 pad=0\n"
    "convlstm h in=e hidden=6 kernel=3\n"
    "pool p in=h kind=avg\n"
    "conv y in=p out=4\n";

/* The first with an answer after the clip. */
static const char clip_net_end[] =
    "input x h=10 w=10 c=3 fps=12 mean=0.2 std=0.3 scale=1.2\n"
    "conv e in=x out=8 kernel=3 stride=2 pad=1\n"
    "act f in=e kind=relu\n"
    "convlstm h in=f hidden=8 kernel=3\n"
    "clip\n"
    "window v in=h steps=3 every=2\n"
    "conv c in=v out=8 kernel=3,3,3 pad=0,1,1\n"
    "act r in=c kind=relu\n"
    "pool p in=r kind=avg\n"
    "conv y in=p out=4\n";

static inline int clip_model(const char *text, int seed, struct ctt_model **m)
{
    struct ctt_graph *g = NULL;
    int rc = 0;

    CTT_TRY(ctt_net_parse(text, &g));
    CTT_TRY(ctt_model_new(g, m));
    rc = ctt_model_labels(*m, (char *const *)clip_labels, CLIP_CLASSES);
    if (rc < 0)
        ctt_model_free(m);
    else
        ctt_init_weights(*m, (uint64_t)seed);
out:
    return rc;
}

static inline struct ctt_train_cfg clip_cfg(void)
{
    struct ctt_train_cfg c;

    memset(&c, 0, sizeof(c));
    ctt_opt_defaults(ctt_train_opts, &c);
    c.device = "ref";
    c.threads = 1;
    c.batch = 4;
    c.val_batch = 4;
    return c;
}

/* 22 clips to train on and, from 100 on, 10 to test on; once. */
static inline void clips_open(const struct ctt_train_cfg *cfg,
                              struct ctt_data **train, struct ctt_data **val)
{
    struct ctt_input in = clip_input();

    if (*train)
        return;
    CHECK_OK(clips_pack(clip_path("train.pack"), 0, 22));
    CHECK_OK(clips_pack(clip_path("val.pack"), 100, 10));
    CHECK_OK(ctt_data_open(clip_path("train.pack"), "train", &in, NULL, 0, cfg,
                           NULL, train));
    CHECK_OK(ctt_data_open(clip_path("val.pack"), "train", &in, NULL, 0, cfg,
                           NULL, val));
}

#endif
