/* SPDX-License-Identifier: Apache-2.0
 * predict_cli.h: convtt-infer --predict run by the tests: models and clips, the
 * printed text, and the expected frames. */
#ifndef CTT_TEST_PREDICT_CLI_H
#define CTT_TEST_PREDICT_CLI_H

#include "infer/infer.h"
#include "net/file/file.h"
#include "tests/lib/check.h"
#include "tests/lib/clip.h"
#include "video/video.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { H = 16, W = 12, FRAME = H * W, SEEN = 4, NEXT = 6, ALL = SEEN + NEXT,
       SHORT = 8 };

static const char predictor[] =
    "input x h=16 w=12 c=1 colour=gray fps=5 mean=0.2 std=0.5\n"
    "convlstm l in=x hidden=3 kernel=3\n"
    "conv o in=l out=1\n"
    "act y in=o kind=sigmoid\n";
static const char in_colour[] =
    "input x h=16 w=12 c=3 colour=bgr fps=5\n"
    "convlstm l in=x hidden=3 kernel=3\n"
    "conv y in=l out=3\n";
static const char classifier[] =
    "input x h=16 w=12 c=1 colour=gray fps=5 mean=0.2 std=0.5\n"
    "convlstm l in=x hidden=3 kernel=3\n"
    "pool p in=l kind=avg\n"
    "conv y in=p out=3\n";
static const char digits[] =
    "input x h=64 w=64 c=1 colour=gray\n"
    "conv y in=x out=1 kernel=3 pad=1\n";

/* The model for clips cut out of larger frames. */
static const char scaled[] =
    "input x h=64 w=64 c=1 colour=gray scale=1.25\n"
    "conv y in=x out=1 kernel=3 pad=1\n";

static inline const char *model_file(const char *name, const char *text)
{
    struct ctt_graph *g = NULL;
    struct ctt_model *m = NULL;

    CHECK_OK(ctt_net_parse(text, &g));
    CHECK_OK(ctt_model_new(g, &m));
    ctt_check_fill(m->w, m->g->weights, 3);
    CHECK_OK(ctt_model_save(clip_path("%s", name), m));
    ctt_model_free(&m);
    return clip_path("%s", name);
}

static inline unsigned colours(int i, int x, int y)
{
    return (unsigned)((x * 7 + i * 20) % 256) << 16 |
           (unsigned)((y * 9 + i * 11) % 256) << 8 |
           (unsigned)((x * y + i * 5) % 256);
}

static inline void make_files(void)
{
    struct clip c = { .w = 32, .h = 24, .frames = ALL + 2, .codec = "ffv1",
                      .fps = 5, .draw = colours };

    CHECK_OK(clip_write(&c, clip_path("long.mkv")));
    c.frames = SHORT;
    CHECK_OK(clip_write(&c, clip_path("short.mkv")));
    c.frames = SEEN;
    CHECK_OK(clip_write(&c, clip_path("seen.mkv")));
    c.frames = SEEN - 1;
    CHECK_OK(clip_write(&c, clip_path("less.mkv")));
    clip_text("in", "");
    clip_text("bad.mkv", "this is no video");
    model_file("p.ctt", predictor);
    model_file("colour.ctt", in_colour);
    model_file("c.ctt", classifier);
    model_file("d.ctt", digits);
    model_file("s.ctt", scaled);
}

/* ---- the program ---- */

static char *printed, *complained;

static inline char *slurp(const char *name)
{
    size_t n;

    return (char *)clip_bytes(clip_path("%s", name), &n);
}

/* Runs convtt-infer in the folder of the files and returns its status.  env: a
 * variable to set, or "". */
static inline int run_with(const char *env, const char *args)
{
    char here[1024], line[4096];
    int status;

    if (!getcwd(here, sizeof(here)))
        exit(99);
    snprintf(line, sizeof(line), "cd %s && env %s '%s/convtt-infer' "
             "--threads 1 --device ref %s > out 2> err < in", clip_path("."),
             env, here, args);
    status = system(line);
    ctt_free(printed);
    ctt_free(complained);
    printed = slurp("out");
    complained = slurp("err");
    return WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}

static inline int run(const char *args)
{
    return run_with("", args);
}

/* Checks that the program fails with that status and one line that contains
 * this. */
static inline void says(int status, int want, const char *text)
{
    char *end = strchr(complained, '\n');

    if (status != want || !strstr(complained, text))
        printf("\n    status %d: '%s', expected %d, '%s'", status, complained,
               want, text);
    CU_ASSERT_EQUAL(status, want);
    CU_ASSERT(strstr(complained, text) != NULL);
    CU_ASSERT(end && end[1] == 0);
}

/* ---- expected results ---- */

struct want {
    struct ctt_frames f;
    float truth[ALL * FRAME], guess[NEXT * FRAME];    /* 0..1 */
};

static inline void expect(const char *clip, struct want *w)
{
    static float x[SEEN * FRAME];
    struct ctt_input in = { .d = 1, .h = H, .w = W, .c = 1, .fps = 5,
        .mean = { 0.2f, 0.2f, 0.2f }, .std = { 0.5f, 0.5f, 0.5f },
        .scale = 1, .colour = CTT_GRAY };
    struct ctt_infer *m = NULL;
    struct ctt_session *s = NULL;
    struct ctt_pixels p;

    ctt_pixels_begin(&p, &in);
    CHECK_OK(ctt_frames_load(clip_path("%s", clip), &in, ALL, &w->f));
    for (int i = 0; i < w->f.count * FRAME; i++)
        w->truth[i] = (float)w->f.data[i] / 255;
    for (int i = 0; i < SEEN; i++)
        ctt_frame_float(w->f.data + i * FRAME, &p, 0, 0, 0, x + i * FRAME);
    CHECK_OK(ctt_infer_open(clip_path("p.ctt"), "ref", 1, &m));
    CHECK_OK(ctt_session_open(m, &s));
    CHECK_OK(ctt_session_push_float(s, x, SEEN));
    CHECK_OK(ctt_session_predict(s, NEXT, w->guess));
    for (int i = 0; i < NEXT * FRAME; i++) {
        w->guess[i] = w->guess[i] * 0.5f + 0.2f;
        w->guess[i] = fminf(fmaxf(w->guess[i], 0), 1);
    }
    ctt_session_close(&s);
    ctt_infer_close(&m);
}

static inline struct want *both(void)
{
    static struct want w[2];

    ctt_frames_free(&w[0].f);
    ctt_frames_free(&w[1].f);
    expect("long.mkv", &w[0]);
    expect("short.mkv", &w[1]);
    return w;
}

#define PREDICT "--predict 6 --input-frames 4 "

/* Runs the suite, whose first case is make_files, in the build folder, and
 * removes the files; returns the exit status of main. */
static inline int predict_main(CU_SuiteInfo *suites)
{
    int status;

    if (access("convtt-infer", X_OK) != 0)
        return 99;
    status = ctt_check_main(suites);
    ctt_free(printed);
    ctt_free(complained);
    clip_clean();
    return status;
}

#endif
