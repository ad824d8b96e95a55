/* SPDX-License-Identifier: Apache-2.0
 * test_pictures.c: a file that is a picture is a clip of one frame, whatever
 * its name and the model's rate; folders and lists of pictures. */
#include "tests/lib/check.h"
#include "tests/lib/clip.h"
#include "video/pictures.h"
#include "video/source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { W = 16, H = 12, ROOM = 4096 };

static unsigned grey(int x, int y)
{
    return (unsigned)(20 + 9 * x + 5 * y);
}

/* ---- pictures, written byte by byte ---- */

static uint8_t file[ROOM];
static size_t  size;

static void add(const void *p, size_t n)
{
    CU_ASSERT_FATAL(size + n <= ROOM);
    memcpy(file + size, p, n);
    size += n;
}

static void add_rows(int channels)
{
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++)
            for (int c = 0; c < channels; c++)
                add(&(uint8_t){ (uint8_t)grey(x, y) }, 1);
}

static void make_pgm(void)
{
    add("P5\n16 12\n255\n", 13);
    add_rows(1);
}

static void make_ppm(void)
{
    add("P6\n16 12\n255\n", 13);
    add_rows(3);
}

/* 24 bits a pixel, from the top row on (a negative height). */
static void make_bmp(void)
{
    static const uint8_t head[54] = { 'B', 'M', 0x76, 2, [10] = 54, [14] = 40,
        [18] = W, [22] = (uint8_t)-H, 255, 255, 255, 1, 0, 24, 0 };

    add(head, sizeof(head));
    add_rows(3);
}

static void put_word(uint8_t *p, uint32_t x)
{
    for (int i = 3; i >= 0; i--, x >>= 8)
        p[i] = (uint8_t)x;
}

static void add_chunk(const char *type, const uint8_t *data, size_t n)
{
    size_t from = size + 4;
    uint8_t word[4];

    put_word(word, (uint32_t)n);
    add(word, 4);
    add(type, 4);
    add(data, n);
    put_word(word, (uint32_t)crc32(0, file + from, (uInt)(n + 4)));
    add(word, 4);
}

static void make_png(void)
{
    uint8_t head[13] = { [3] = W, [7] = H, 8 }, rows[H * (W + 1)];
    uint8_t packed[ROOM / 2];
    uLongf n = sizeof(packed);

    for (int y = 0; y < H; y++) {
        rows[y * (W + 1)] = 0;
        for (int x = 0; x < W; x++)
            rows[y * (W + 1) + 1 + x] = (uint8_t)grey(x, y);
    }
    CU_ASSERT_EQUAL_FATAL(compress(packed, &n, rows, sizeof(rows)), Z_OK);
    add("\x89PNG\r\n\x1a\n", 8);
    add_chunk("IHDR", head, sizeof(head));
    add_chunk("IDAT", packed, n);
    add_chunk("IEND", head, 0);
}

static unsigned drawn(int i, int x, int y)
{
    (void)i;
    return 0x010101u * grey(x, y);
}

static void make_jpeg(void)
{
    const struct clip c = { .w = W, .h = H, .frames = 1, .codec = "mjpeg",
                            .fps = 25, .draw = drawn };
    uint8_t *data;

    CHECK_OK(clip_write(&c, clip_path("jpeg_%%d.jpg")));
    data = clip_bytes(clip_path("jpeg_1.jpg"), &size);
    CU_ASSERT_FATAL(data != NULL && size <= ROOM);
    memcpy(file, data, size);
    ctt_free(data);
}

/* off: how far a value may be from what was drawn. */
static const struct { const char *ending; void (*make)(void); int off; }
kinds[] = {
    { "pgm", make_pgm, 1 }, { "ppm", make_ppm, 1 }, { "bmp", make_bmp, 1 },
    { "png", make_png, 1 }, { "jpg", make_jpeg, 12 },
};

static void write_as(size_t kind, const char *name)
{
    size = 0;
    kinds[kind].make();
    clip_file(name, file, size);
}

/* ---- single pictures ---- */

static int farthest(const struct ctt_frames *f)
{
    int far = 0;

    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++)
            for (int c = 0; c < f->c; c++) {
                int d = f->data[(y * W + x) * f->c + c] - (int)grey(x, y);
                far = abs(d) > far ? abs(d) : far;
            }
    return far;
}

/* The name says nothing, and a % in it is no pattern: the pictures that it
 * would name are others. */
static void one_frame(void)
{
    static const char *const name[] = { "p.%s", "p%%03d.%s", "%s.mp4",
                                        "%s-without-ending" };
    static const float fps[] = { 0, 12, 60, 1000 };

    for (int i = 0; i < 2; i++)
        for (size_t k = 0; k < CTT_LEN(kinds); k++) {
            char other[64];
            snprintf(other, sizeof(other), "p%03d.%s", i, kinds[k].ending);
            clip_text(other, "not this one");
        }
    for (size_t k = 0; k < CTT_LEN(kinds); k++)
        for (size_t i = 0; i < CTT_LEN(name); i++) {
            char file_name[64];

            snprintf(file_name, sizeof(file_name), name[i], kinds[k].ending);
            write_as(k, file_name);
            for (size_t r = 0; r < CTT_LEN(fps); r++) {
                struct ctt_input in = clip_input(W, H, fps[r]);
                struct ctt_frames f = { 0 };

                CHECK_OK(ctt_frames_load(clip_path("%s", file_name), &in, 0,
                                         &f));
                CU_ASSERT_EQUAL_FATAL(f.count, 1);
                CU_ASSERT(f.fps == fps[r]);    /* 0: it states none */
                CHECK_OK(ctt_frames_whole(&f, file_name));
                CU_ASSERT(farthest(&f) <= kinds[k].off);
                ctt_frames_free(&f);
            }
        }
}

/* ---- sets of pictures ---- */

static int frames_of(const struct ctt_source *s, const char *id)
{
    const struct ctt_list *l = ctt_source_list(s);
    struct ctt_frames f = { 0 };
    int n = 0;

    for (int i = 0; i < l->count; i++) {
        if (strcmp(l->item[i].id, id) != 0)
            continue;
        CHECK_OK(ctt_source_frames(s, i, 0, 0, &f));
        n += f.count;
        ctt_frames_free(&f);
    }
    return n;
}

/* Each file of a class is a clip, and so is each folder of numbered
 * pictures; a list says the same. */
static void sets(void)
{
    const struct ctt_source_set set = { .split = "train" };
    struct ctt_input in = clip_input(W, H, 12);
    struct ctt_source *s = NULL;
    char name[64];

    clip_folder("set");
    clip_folder("set/a");
    clip_folder("set/b");
    clip_folder("set/b/walk");
    for (size_t k = 0; k < CTT_LEN(kinds); k++) {
        snprintf(name, sizeof(name), "set/%s/p%zu.%s", k < 2 ? "a" : "b", k,
                 kinds[k].ending);
        write_as(k, name);
        snprintf(name, sizeof(name), "set/b/walk/img%zu.pgm", k);
        write_as(0, name);
    }
    clip_text("set.txt", "set/a/p0.pgm 0\nset/b/walk 1\nset/b/p4.jpg 1\n"
              "set/b/p3.png 1\nset/a/p1.ppm 0\nset/b/p2.bmp 1\n");
    for (int list = 0; list < 2; list++) {
        CHECK_OK(ctt_source_open(clip_path(list ? "set.txt" : "set"), &set,
                                 &in, &s));
        CU_ASSERT_EQUAL(ctt_source_list(s)->count, 6);
        CU_ASSERT_EQUAL(ctt_source_list(s)->labels, 2);
        for (size_t k = 0; k < CTT_LEN(kinds); k++) {
            snprintf(name, sizeof(name), "p%zu.%s", k, kinds[k].ending);
            CU_ASSERT_EQUAL(frames_of(s, name), 1);
        }
        CU_ASSERT_EQUAL(frames_of(s, "walk"), 5);
        ctt_source_close(&s);
    }
}

/* The frames of the folder, or the error. */
static int folder_frames(const char *folder, struct ctt_frames *f)
{
    struct ctt_input in = clip_input(W, H, 0);

    ctt_frames_free(f);
    *f = (struct ctt_frames){ 0 };
    return ctt_frames_load(clip_path("%s", folder), &in, 0, f);
}

/* Optical flow beside the frames is no frame; of two series of frames neither
 * is; numbers may be missing. */
static void series(void)
{
    static const char *const names[] = { "img_%05d.pgm", "flow_x_%05d.pgm",
                                         "flow_y_%05d.pgm" };
    struct ctt_frames f = { 0 };
    char name[96], form[64];

    clip_folder("flow");
    for (int k = 0; k < 3; k++)
        for (int i = 1; i <= 3 + k; i++) {
            snprintf(form, sizeof(form), "flow/%s", names[k]);
            snprintf(name, sizeof(name), form, 5 * i);
            write_as(0, name);
        }
    CHECK_OK(folder_frames("flow", &f));
    CU_ASSERT_EQUAL(f.count, 3);
    write_as(0, "flow/frame_1.pgm");
    ctt_check_refused(folder_frames("flow", &f), CTT_EFORMAT,
                      "several series of pictures: ");
    clip_folder("other");
    write_as(0, "other/flow_x_1.pgm");
    write_as(0, "other/flow_x_4.pgm");
    CHECK_OK(folder_frames("other", &f));
    CU_ASSERT_EQUAL(f.count, 2);
    write_as(0, "other/flow_y_1.pgm");
    ctt_check_refused(folder_frames("other", &f), CTT_EFORMAT,
                      "flow_x_*.pgm (2), flow_y_*.pgm (1)");
    ctt_frames_free(&f);
}

/* Zeros before some of the numbers only: each file has its own name. */
static void mixed_zeros(void)
{
    static const char *const names[] = { "f_1", "f_02", "f_003", "f_0004",
                                         "f_5" };
    struct ctt_pictures p = { NULL };
    struct ctt_frames f = { 0 };
    char name[96], *last = NULL;

    clip_folder("mixed");
    for (size_t i = 0; i < CTT_LEN(names); i++) {
        snprintf(name, sizeof(name), "mixed/%s.pgm", names[i]);
        write_as(0, name);
    }
    CHECK_OK(folder_frames("mixed", &f));
    CU_ASSERT_EQUAL(f.count, 5);
    CHECK_OK(folder_frames("mixed#1+3", &f));
    CU_ASSERT_EQUAL(f.count, 3);
    CHECK_OK(ctt_pictures_find(clip_path("mixed"), &p));
    CHECK_OK(ctt_pictures_name(&p, 3, &last));
    CU_ASSERT(strstr(last, "/f_0004.pgm") != NULL);
    ctt_free(last);
    ctt_pictures_clear(&p);
    write_as(0, "mixed/f_01.pgm");
    ctt_check_refused(folder_frames("mixed", &f), CTT_EFORMAT,
                      "two pictures have number 1");
    ctt_frames_free(&f);
}

static int clean(void)
{
    clip_clean();
    return 0;
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "one frame", one_frame }, { "sets", sets },
        { "series", series },
        { "mixed zeros", mixed_zeros }, CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = {
        { "pictures", NULL, clean, NULL, NULL, tests }, CU_SUITE_INFO_NULL
    };

    return ctt_check_main(suites);
}
