/* SPDX-License-Identifier: Apache-2.0
 * test_pixels.c: normalise=clip and gamma: the values of frames against a plain
 * computation, dark and bright light, long streams, the text and the file. */
#include "net/file/file.h"
#include "net/pixels.h"
#include "base/random.h"
#include "tests/lib/check.h"
#include "tests/lib/clip.h"

#include <math.h>
#include <string.h>

enum { H = 7, W = 9, C = 3, FRAME = H * W * C, CLIP = 12 };

static uint8_t clip[CLIP][FRAME];

/* Noise about a picture that moves: values of 40 to 190. */
static void make_clip(void)
{
    for (int t = 0; t < CLIP; t++)
        for (int i = 0; i < FRAME; i++)
            clip[t][i] = (uint8_t)(40 + 5 * ((i / C + t) % 17) +
                                   (int)(ctt_random(3, (uint64_t)(t * FRAME +
                                                                  i)) % 70));
}

static struct ctt_input input(int normalise, float gamma)
{
    return (struct ctt_input){ .d = 1, .h = H, .w = W, .c = C,
        .std = { 1, 1, 1 }, .scale = 1, .normalise = normalise,
        .gamma = gamma };
}

static void next(struct ctt_pixels *p, const uint8_t *frame, float *out)
{
    ctt_pixels_next(p, frame, W * C);
    ctt_pixels_float(p, frame, H * W, C, out);
}

/* ---- values ---- */

/* What a frame's values are by the definition, in doubles, with all values of
 * the clip up to it at hand. */
static void expect(int t, double gamma, float *out)
{
    double sum = 0, squares = 0, n = (t + 1.0) * FRAME, mean, dev;

    for (int k = 0; k <= t; k++)
        for (int i = 0; i < FRAME; i++) {
            double u = pow(clip[k][i] / 255.0, gamma);
            sum += u;
            squares += u * u;
        }
    mean = sum / n;
    dev = sqrt(squares / n - mean * mean);
    for (int i = 0; i < FRAME; i++)
        out[i] = (float)((pow(clip[t][i] / 255.0, gamma) - mean) / dev);
}

static void values_follow_the_definition(void)
{
    static const float gammas[] = { 1, 0.45f, 2.2f };
    float got[FRAME], want[FRAME];

    for (size_t k = 0; k < CTT_LEN(gammas); k++) {
        struct ctt_input in = input(CTT_NORMALISE_CLIP, gammas[k]);
        struct ctt_pixels p;

        ctt_pixels_begin(&p, &in);
        for (int round = 0; round < 2; round++, ctt_pixels_reset(&p))
            for (int t = 0; t < CLIP; t++) {
                next(&p, clip[t], got);
                expect(t, (double)gammas[k], want);
                CHECK_CLOSE(got, want, FRAME, 2e-4);
            }
    }
}

/* gamma with a mean and std of the line, per channel; 0 stays 0, 255 1. */
static void gamma_alone(void)
{
    struct ctt_input in = input(CTT_NORMALISE_SET, 2.2f);
    uint8_t ends[FRAME] = { 0, 255, 128 };
    float out[FRAME];
    struct ctt_pixels p;

    ctt_pixels_begin(&p, &in);
    next(&p, ends, out);
    CU_ASSERT(out[0] == 0 && out[1] == 1);
    CU_ASSERT_DOUBLE_EQUAL((double)out[2], pow(128 / 255.0, 2.2), 1e-5);
    in.mean[2] = 0.25f;
    in.std[2] = 0.5f;
    ctt_pixels_begin(&p, &in);
    next(&p, ends, out);
    CU_ASSERT(out[0] == 0 && out[1] == 1);
    CU_ASSERT_DOUBLE_EQUAL((double)out[2],
                           (pow(128 / 255.0, 2.2) - 0.25) / 0.5, 1e-5);
}

/* A crop of a larger picture has the bits of the same pixels alone, and a
 * mirrored row the same values. */
static void rows_apart(void)
{
    enum { WIDE = W + 4 };
    struct ctt_input in = input(CTT_NORMALISE_CLIP, 0);
    static uint8_t wide[H * WIDE * C];
    float alone[FRAME], apart[FRAME];
    struct ctt_pixels p, q;

    ctt_pixels_begin(&p, &in);
    ctt_pixels_begin(&q, &in);
    for (int t = 0; t < CLIP; t++) {
        memset(wide, 255, sizeof(wide));
        for (int r = 0; r < H; r++)
            memcpy(wide + (r * WIDE + 2) * C, clip[t] + r * W * C, W * C);
        next(&p, clip[t], alone);
        ctt_pixels_next(&q, wide + 2 * C, WIDE * C);
        for (int r = 0; r < H; r++)
            ctt_pixels_float(&q, wide + (r * WIDE + 2) * C, W, C,
                             apart + r * W * C);
        CU_ASSERT(memcmp(alone, apart, sizeof(alone)) == 0);
        ctt_pixels_float(&p, clip[t] + (W - 1) * C, W, -C, apart);
        for (int x = 0; x < W; x++)
            CU_ASSERT(memcmp(apart + x * C, alone + (W - 1 - x) * C,
                             C * sizeof(float)) == 0);
    }
}

/* ---- light ---- */

static uint8_t lit(uint8_t v, double gain, double shift)
{
    return (uint8_t)lrint(fmin(fmax(v * gain + shift, 0), 255));
}

/* The root mean square by which values differ from those of the clip as it is,
 * in frames from `from` on. */
static double apart(int normalise, double gain, double shift, int from)
{
    struct ctt_input in = input(normalise, 1);
    float plain[FRAME], other[FRAME];
    struct ctt_pixels p, q;
    uint8_t frame[FRAME];
    double sum = 0;

    for (int k = 0; k < 3 && normalise == CTT_NORMALISE_SET; k++) {
        in.mean[k] = 0.45f;
        in.std[k] = 0.125f;
    }
    ctt_pixels_begin(&p, &in);
    ctt_pixels_begin(&q, &in);
    for (int t = 0; t < CLIP; t++) {
        for (int i = 0; i < FRAME; i++)
            frame[i] = lit(clip[t][i], gain, shift);
        next(&p, clip[t], plain);
        next(&q, frame, other);
        for (int i = 0; i < FRAME && t >= from; i++)
            sum += pow((double)plain[i] - (double)other[i], 2);
    }
    return sqrt(sum / ((CLIP - from) * FRAME));
}

/* Rounding to bytes and what is white differ, and nothing else. */
static void light_does_not_count(void)
{
    CU_ASSERT(apart(CTT_NORMALISE_CLIP, 0.3, 0, 0) < 0.05);
    CU_ASSERT(apart(CTT_NORMALISE_CLIP, 0.1, 2, 0) < 0.12);
    CU_ASSERT(apart(CTT_NORMALISE_CLIP, 0.5, 100, 0) < 0.05);
    CU_ASSERT(apart(CTT_NORMALISE_CLIP, 1.2, 20, 0) < 0.1);
    CU_ASSERT(apart(CTT_NORMALISE_CLIP, 1.6, 40, 0) < 0.6);
    CU_ASSERT(apart(CTT_NORMALISE_SET, 0.3, 0, 0) > 2);
    CU_ASSERT(apart(CTT_NORMALISE_SET, 1.6, 40, 0) > 1);
}

static void largest(const uint8_t *frame, float *out)
{
    struct ctt_input in = input(CTT_NORMALISE_CLIP, 1);
    float x[FRAME];
    struct ctt_pixels p;

    ctt_pixels_begin(&p, &in);
    *out = 0;
    for (int t = 0; t < 3; t++) {
        next(&p, frame, x);
        for (int i = 0; i < FRAME; i++)
            *out = fmaxf(*out, isfinite(x[i]) ? fabsf(x[i]) : INFINITY);
    }
}

/* A black, a white, and a black clip with noise of a byte's step. */
static void one_value(void)
{
    uint8_t frame[FRAME];
    float most;

    memset(frame, 0, sizeof(frame));
    largest(frame, &most);
    CU_ASSERT(most == 0);
    memset(frame, 255, sizeof(frame));
    largest(frame, &most);
    CU_ASSERT(most < 1e-4f);
    for (int i = 0; i < FRAME; i++)
        frame[i] = (uint8_t)(ctt_random(5, (uint64_t)i) % 2);
    largest(frame, &most);
    CU_ASSERT(most > 0.2f && most < 0.3f);    /* half a step of two */
}

/* ---- long streams ---- */

/* The recurrence of doc/format.md, of frames of one value v: their mean and
 * mean square are 257 v and its square. */
struct forgetting { uint64_t mean, square; int frames; };

static void forget(struct forgetting *f, uint64_t v)
{
    uint64_t u = 257 * v;

    if (f->frames == 256) {
        f->mean -= f->mean / 256;
        f->square -= f->square / 256;
    } else {
        f->frames++;
    }
    f->mean += u << 32;
    f->square += u * u << 16;
}

static void streams_forget(void)
{
    struct ctt_input in = input(CTT_NORMALISE_CLIP, 1);
    struct forgetting f = { 0, 0, 0 };
    uint8_t frame[FRAME];
    struct ctt_pixels p;

    ctt_pixels_begin(&p, &in);
    for (int t = 0; t < 20000; t++) {
        uint8_t v = t < 10000 ? 20 + t % 7 : 200 + t % 3;
        memset(frame, v, sizeof(frame));
        ctt_pixels_next(&p, frame, W * C);
        forget(&f, v);
        CU_ASSERT_FATAL(p.mean == f.mean && p.square == f.square);
        if (t == 255)
            CU_ASSERT_DOUBLE_EQUAL((double)p.in.mean[0], 23 / 255.0, 1e-3);
        if (t == 10255)    /* half way and more */
            CU_ASSERT((double)p.in.mean[0] > 130 / 255.0);
    }
    CU_ASSERT_DOUBLE_EQUAL((double)p.in.mean[0], 201 / 255.0, 1e-4);
    CU_ASSERT_DOUBLE_EQUAL((double)p.in.std[0], 2 / 255.0, 1e-7);
    memset(frame, 255, sizeof(frame));
    for (int t = 0; t < 20000; t++)
        ctt_pixels_next(&p, frame, W * C);
    CU_ASSERT_DOUBLE_EQUAL((double)p.in.mean[2], 1, 1e-6);
}

/* The largest frame that is allowed overflows no sum: as many bytes of 255 as
 * the blocks of a thousandth of it, many times. */
static void large_frames(void)
{
    struct ctt_input in = input(CTT_NORMALISE_CLIP, 0);
    uint8_t *row = ctt_calloc(1 << 20, 1);
    struct ctt_pixels p;

    CU_ASSERT_FATAL(row != NULL);
    memset(row, 255, 1 << 20);
    in.c = 1;
    in.w = 1 << 20;
    in.h = 1 << 10;
    ctt_pixels_begin(&p, &in);
    ctt_pixels_next(&p, row, 0);    /* the same row again and again */
    CU_ASSERT(p.mean == UINT64_C(65535) << 32);
    CU_ASSERT(p.square == UINT64_C(65535) * 65535 << 16);
    ctt_free(row);
}

/* ---- the text and the file ---- */

static void text_is(const char *keys, const char *want)
{
    char text[256], line[256];
    struct ctt_graph *g = NULL;
    char *out;

    snprintf(text, sizeof(text), "input x h=4 w=4 c=3 %s\npool p in=x kind=avg"
             "\nconv y in=p out=2\n", keys);
    CHECK_OK(ctt_net_parse(text, &g));
    out = ctt_net_print(g);
    CU_ASSERT_FATAL(out != NULL);
    snprintf(line, sizeof(line), "colour=rgb%s\n", want);
    if (!strstr(out, line))
        printf("\n    '%s' has no '%s'", out, line);
    CU_ASSERT(strstr(out, line) != NULL);
    ctt_free(out);
    ctt_graph_free(&g);
}

/* A default is left out, so texts from before are canonical. */
static void texts(void)
{
    text_is("", "");
    text_is("normalise=set gamma=1", "");
    text_is("gamma=0.5 normalise=clip", " normalise=clip gamma=0.5");
    text_is("normalise=clip mean=0 std=1,1,1", " normalise=clip");
    text_is("mean=auto gamma=2.2", " gamma=2.2");
}

static void refused_texts(void)
{
    static const struct { const char *keys, *says; } row[] = {
        { "gamma=0", "gamma" }, { "gamma=nan", "gamma" },
        { "gamma=-1", "gamma" }, { "gamma=11", "gamma" },
        { "gamma=inf", "gamma" }, { "gamma=auto", "gamma" },
        { "normalise=auto", "normalise" }, { "normalise=", "normalise" },
        { "normalise=clip mean=auto", "leave mean= and std= out" },
        { "normalise=clip std=auto", "leave mean= and std= out" },
        { "normalise=clip mean=0.5", "leave mean= and std= out" },
        { "normalise=clip std=1,1,2", "leave mean= and std= out" },
        { "normalise=clip d=1048576", "more than 2^30 values" },
    };

    for (size_t i = 0; i < CTT_LEN(row); i++) {
        struct ctt_graph *g = NULL;
        char text[256];

        snprintf(text, sizeof(text), "input x h=64 w=64 c=3 %s\n"
                 "conv y in=x out=2\n", row[i].keys);
        CU_ASSERT(ctt_net_parse(text, &g) < 0);
        if (!strstr(ctt_errmsg(), row[i].says))
            printf("\n    %s: '%s'", row[i].keys, ctt_errmsg());
        CU_ASSERT(strstr(ctt_errmsg(), row[i].says) != NULL);
        ctt_graph_free(&g);
    }
}

static void file(void)
{
    const char *path = clip_path("light.ctt");
    struct ctt_graph *g = NULL;
    struct ctt_model *m = NULL, *back = NULL;
    const struct ctt_input *in;

    CHECK_OK(ctt_net_parse("input x h=4 w=4 c=3 normalise=clip gamma=0.45\n"
                           "pool p in=x kind=avg\nconv y in=p out=2\n", &g));
    CU_ASSERT_EQUAL(ctt_pixels_reversible(&g->node[0]), CTT_EUNSUP);
    CU_ASSERT(strstr(ctt_errmsg(), "x: a model that predicts") != NULL);
    CHECK_OK(ctt_model_new(g, &m));
    CHECK_OK(ctt_model_save(path, m));
    CHECK_OK(ctt_model_load(path, 0, &back));
    in = &back->g->node[0].attr.input;
    CU_ASSERT(in->normalise == CTT_NORMALISE_CLIP && in->gamma == 0.45f);
    ctt_model_free(&m);
    ctt_model_free(&back);
}

static CU_TestInfo tests[] = {
    { "the definition", values_follow_the_definition },
    { "gamma alone", gamma_alone },
    { "rows apart", rows_apart },
    { "dark and bright", light_does_not_count },
    { "one value", one_value },
    { "long streams", streams_forget },
    { "large frames", large_frames },
    { "texts", texts },
    { "refused texts", refused_texts },
    { "file", file },
    CU_TEST_INFO_NULL
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { .pName = "pixels", .pTests = tests }, CU_SUITE_INFO_NULL
    };
    int status;

    make_clip();
    status = ctt_check_main(suites);
    clip_clean();
    return status;
}
