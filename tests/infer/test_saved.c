/* SPDX-License-Identifier: Apache-2.0
 * test_saved.c: a stream that was saved and restored goes on as if it had not
 * been; and no other file is taken. */
#include "tests/lib/stream.h"
#include "net/code/zip.h"
#include "tests/lib/clip.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* FRAMES, CRC: places in a file (doc/format.md). */
enum { HEADER = 80, FRAMES = 32, CRC = 68, CUT = 17, ANSWER = 2 * FRAME };

static const char spread[] = STREAM_INPUT
    "conv e in=x out=4 kernel=3 pad=1 stride=2\n"
    "clip\n"
    "window v in=e steps=3 spread=1\n"
    "conv q in=v out=6 kernel=2,3,3\n"
    "pool p in=q kind=avg\n"
    "conv y in=p out=4\n";
static const char first[] = STREAM_INPUT
    "state p of=x delay=2 fill=first\n"
    "mul n in=p,x\n"
    "conv e in=n out=4 kernel=3 pad=1 stride=2\n"
    "pool g in=e kind=avg\n"
    "conv y in=g out=3\n";

static const char *const texts[] = {
    stream_plain, stream_clip, stream_fused, stream_int8, stream_ahead,
    stream_part, stream_light, spread, first,
};

/* Pushes frames from..to-1, a chunk at once. */
static void feed(struct ctt_session *s, int from, int to, int chunk)
{
    for (int t = from; t < to; t += chunk)
        CHECK_OK(ctt_session_push(s, stream_bytes + t * FRAME,
                                  chunk < to - t ? chunk : to - t));
}

static void answer(const struct ctt_infer *m, struct ctt_session *s,
                   float *out)
{
    memset(out, 0, ANSWER * sizeof(*out));
    CHECK_OK(ctt_infer_predicts(m) ? ctt_session_predict(s, 2, out)
                                   : ctt_session_read(s, out));
}

/* The answer to all frames, and how far it is from the first one: then it
 * depends on what comes after the cut. */
static void test_sessions(const char *device)
{
    static float at_cut[ANSWER], there[ANSWER], all[ANSWER], got[ANSWER];

    for (size_t k = 0; k < CTT_LEN(texts); k++) {
        struct ctt_infer *m = stream_open(texts[k], device);
        const char *path = clip_path("saved");
        struct ctt_session *a = NULL, *b = NULL;

        for (int cut = 1; cut <= CUT; cut += 4) {
            CHECK_OK(ctt_session_open(m, &a));
            CHECK_OK(ctt_session_open(m, &b));
            feed(a, 0, cut, 1);
            CHECK_OK(ctt_session_save(a, path));
            feed(b, 5, 12, 1);
            CHECK_OK(ctt_session_restore(b, path));
            CU_ASSERT_EQUAL(ctt_session_frames(b), cut);
            answer(m, a, at_cut);
            answer(m, b, there);
            CU_ASSERT(memcmp(at_cut, there, sizeof(there)) == 0);
            CHECK_OK(ctt_session_restore(a, path));
            feed(a, cut, LONG, 1);
            answer(m, a, all);
            CHECK_OK(ctt_session_restore(b, path));
            feed(b, cut, LONG, 1);
            answer(m, b, got);
            CU_ASSERT(memcmp(all, got, sizeof(got)) == 0);
            ctt_session_close(&b);
            ctt_session_close(&a);
            CHECK_OK(ctt_session_open(m, &a));
            feed(a, 0, LONG, 1);
            answer(m, a, got);
            CU_ASSERT(memcmp(all, got, sizeof(got)) == 0);
            CU_ASSERT(memcmp(all, at_cut, sizeof(all)) != 0);
            ctt_session_close(&a);
        }
        ctt_infer_close(&m);
    }
}

static void test_ref(void)
{
    test_sessions("ref");
}

static void test_cpu(void)
{
    test_sessions("cpu");
    if (getenv("CTT_MODULES"))    /* a simulated GPU (tests/sim) */
        test_sessions("cuda");
}

/* Several frames at once give windows that are full in other places. */
static void test_chunks(void)
{
    static float all[ANSWER], got[ANSWER];

    for (size_t k = 0; k < CTT_LEN(texts); k++) {
        struct ctt_infer *m = stream_open(texts[k], "ref");
        const char *path = clip_path("saved");
        struct ctt_session *s = NULL;

        CHECK_OK(ctt_session_open(m, &s));
        feed(s, 0, LONG, 1);
        answer(m, s, all);
        for (int chunk = 2; chunk < 8; chunk++) {
            ctt_session_reset(s);
            for (int t = 0; t < LONG; t += chunk) {
                feed(s, t, t + chunk < LONG ? t + chunk : LONG, chunk);
                CHECK_OK(ctt_session_save(s, path));
                if (t / chunk % 2)
                    CHECK_OK(ctt_session_restore(s, path));
            }
            answer(m, s, got);
            CU_ASSERT(memcmp(all, got, sizeof(got)) == 0);
        }
        ctt_session_close(&s);
        ctt_infer_close(&m);
    }
}

/* From a session to a batch and back, with a place in the run and without. */
static void test_batch(void)
{
    static float all[ANSWER], got[ANSWER];

    for (size_t k = 0; k < CTT_LEN(texts); k++) {
        struct ctt_infer *m = stream_open(texts[k], "ref");
        const char *path = clip_path("saved");
        struct ctt_session *s = NULL;
        struct ctt_batch *b = NULL;
        int stream;

        CHECK_OK(ctt_session_open(m, &s));
        CHECK_OK(ctt_batch_open(m, 2, &b));
        CHECK_OK(ctt_batch_join(b, &stream));
        CHECK_OK(ctt_batch_join(b, &stream));
        feed(s, 0, LONG, 1);
        answer(m, s, all);
        ctt_session_reset(s);
        for (int t = 0; t < LONG; t++) {
            const uint8_t *x[] = { stream_bytes, stream_bytes + t * FRAME };
            if (t % 3 == 2) {
                CHECK_OK(ctt_session_push(s, x[1], 1));
                CHECK_OK(ctt_session_save(s, path));
                continue;
            }
            if (t)
                CHECK_OK(ctt_batch_restore(b, 1, path));
            CU_ASSERT_EQUAL(ctt_batch_frames(b, 1), t);
            CHECK_OK(ctt_batch_push(b, x));
            if (t % 2)    /* parks it */
                CHECK_OK(ctt_batch_push(b, (const uint8_t *[]){ x[0], NULL }));
            CHECK_OK(ctt_batch_save(b, 1, path));
            CHECK_OK(ctt_session_restore(s, path));
        }
        answer(m, s, got);
        CU_ASSERT(memcmp(all, got, sizeof(got)) == 0);
        ctt_batch_close(&b);
        ctt_session_close(&s);
        ctt_infer_close(&m);
    }
}

/* ---- files that are refused ---- */

static long file_of(const char *path, char **p)
{
    FILE *f = fopen(path, "rb");
    long n;

    CU_ASSERT_FATAL(f != NULL);
    fseek(f, 0, SEEK_END);
    n = ftell(f);
    rewind(f);
    *p = malloc((size_t)n);
    CU_ASSERT_EQUAL(fread(*p, 1, (size_t)n, f), (size_t)n);
    fclose(f);
    return n;
}

static void put_file(const char *path, const char *p, long n)
{
    FILE *f = fopen(path, "wb");

    CU_ASSERT_FATAL(f != NULL);
    CU_ASSERT_EQUAL(fwrite(p, 1, (size_t)n, f), (size_t)n);
    fclose(f);
}

/* Every byte is damaged, every length cut: an error, and the stream is as it
 * was. */
static void test_damaged(void)
{
    struct ctt_infer *m = stream_open(stream_clip, "ref");
    const char *path = clip_path("damaged");
    struct ctt_session *s = NULL;
    float want[ANSWER], got[ANSWER];
    char *p = NULL;
    long n;

    CHECK_OK(ctt_session_open(m, &s));
    feed(s, 0, 9, 1);
    CHECK_OK(ctt_session_save(s, path));
    answer(m, s, want);
    n = file_of(path, &p);
    CU_ASSERT(n > HEADER && n - HEADER <= ctt_session_bytes(s));
    for (long i = 0; i < n; i += i < HEADER ? 1 : 97) {
        p[i] ^= 0x21;
        put_file(path, p, n);
        CU_ASSERT(ctt_session_restore(s, path) < 0);
        CU_ASSERT(strstr(ctt_infer_error(), path) != NULL);
        p[i] ^= 0x21;
        put_file(path, p, i);
        CU_ASSERT_EQUAL(ctt_session_restore(s, path), CTT_EFORMAT);
    }
    p[14] = '2';
    put_file(path, p, n);
    stream_refused(ctt_session_restore(s, path), CTT_EFORMAT,
                   "by another version");
    answer(m, s, got);
    CU_ASSERT(memcmp(want, got, sizeof(float[4])) == 0);
    free(p);
    ctt_session_close(&s);
    ctt_infer_close(&m);
}

/* A file of n bytes that states other frames, with the checksum that it then
 * needs. */
static void forge(const char *path, char *p, long n, int64_t frames)
{
    uint32_t crc = 0;

    memcpy(p + FRAMES, &frames, sizeof(frames));
    memcpy(p + CRC, &crc, sizeof(crc));
    crc = ctt_crc32(0, p, 1, n);
    memcpy(p + CRC, &crc, sizeof(crc));
    put_file(path, p, n);
}

/* A stream that states more frames than anybody saw is refused, or goes on as
 * one that is as old, whatever the window keeps of it. */
static void test_forged(void)
{
    static const int64_t much[] = { 1 << 20, INT64_C(1) << 40,
        (INT64_C(1) << 48) - 1, INT64_C(1) << 48 };
    static const int64_t wrong[] = { -1, (INT64_C(1) << 48) + 1, INT64_MAX,
        INT64_MIN };
    static float got[ANSWER];

    for (size_t k = 0; k < 2 * CTT_LEN(texts); k++) {
        struct ctt_infer *m = stream_open(texts[k / 2], k % 2 ? "cpu" : "ref");
        const char *path = clip_path("forged");
        struct ctt_session *s = NULL;
        char *p = NULL;
        long n;

        CHECK_OK(ctt_session_open(m, &s));
        feed(s, 0, CUT, 1);
        CHECK_OK(ctt_session_save(s, path));
        n = file_of(path, &p);
        for (size_t i = 0; i < CTT_LEN(much); i++) {
            forge(path, p, n, much[i]);
            CHECK_OK(ctt_session_restore(s, path));
            feed(s, 0, LONG, 1);
            CU_ASSERT_EQUAL(ctt_session_frames(s), much[i] + LONG);
            answer(m, s, got);
        }
        for (size_t i = 0; i < CTT_LEN(wrong); i++) {
            forge(path, p, n, wrong[i]);
            stream_refused(ctt_session_restore(s, path), CTT_EFORMAT,
                           "out of range");
        }
        free(p);
        ctt_session_close(&s);
        ctt_infer_close(&m);
    }
}

static void test_others(void)
{
    struct ctt_infer *m = stream_open(stream_clip, "cpu"), *other;
    struct ctt_session *s = NULL, *o = NULL;
    struct ctt_batch *b = NULL;
    char path[256], none[256];

    snprintf(path, sizeof(path), "%s", clip_path("other"));
    snprintf(none, sizeof(none), "%s", clip_path("none"));
    CHECK_OK(ctt_session_open(m, &s));
    CHECK_OK(ctt_session_save(s, path));    /* no frames */
    feed(s, 0, 3, 3);
    CHECK_OK(ctt_session_restore(s, path));
    CU_ASSERT_EQUAL(ctt_session_frames(s), 0);
    feed(s, 0, 3, 3);
    CHECK_OK(ctt_session_save(s, path));
    other = stream_open(stream_light, "cpu");
    CHECK_OK(ctt_session_open(other, &o));
    stream_refused(ctt_session_restore(o, path), CTT_EINVAL,
                   "with another model than");
    ctt_session_close(&o);
    ctt_infer_close(&other);
    stream_refused(ctt_session_restore(s, none), CTT_EIO, "none");
    stream_refused(ctt_session_save(s, "/nowhere/at/all"), CTT_EIO,
                   "/nowhere/at/all");
    stream_refused(ctt_session_save(NULL, path), CTT_EINVAL, "s is NULL");
    stream_refused(ctt_session_save(s, NULL), CTT_EINVAL, "path is NULL");
    stream_refused(ctt_session_restore(NULL, path), CTT_EINVAL, "s is NULL");
    stream_refused(ctt_session_restore(s, NULL), CTT_EINVAL, "path is NULL");
    CHECK_OK(ctt_batch_open(m, 2, &b));
    stream_refused(ctt_batch_save(b, 0, path), CTT_EINVAL, "no stream 0");
    stream_refused(ctt_batch_restore(b, 1, path), CTT_EINVAL, "no stream 1");
    stream_refused(ctt_batch_save(NULL, 0, path), CTT_EINVAL, "b is NULL");
    stream_refused(ctt_batch_restore(NULL, 0, path), CTT_EINVAL, "b is NULL");
    CU_ASSERT(ctt_session_bytes(NULL) == 0 && ctt_batch_bytes(NULL) == 0);
    CU_ASSERT(ctt_session_bytes(s) > FRAME * (int)sizeof(float));
    CU_ASSERT(ctt_batch_bytes(b) > 2 * FRAME * (int)sizeof(float));
    ctt_batch_close(&b);
    ctt_session_close(&s);
    ctt_infer_close(&m);
}

/* Only a saved stream, or a file without a byte, is replaced: no text, no
 * model, and not where a link leads. */
static void test_replaced(void)
{
    struct ctt_infer *m = stream_open(stream_plain, "cpu");
    struct ctt_session *s = NULL;
    struct ctt_batch *b = NULL;
    uint8_t *got;
    size_t n;
    int stream;
    static const struct { const char *name, *text; } kept[] = {
        { "words", "these are words, and a lot of them\n" }, { "x", "x" },
        { "model", "\x89HDF\r\n\x1a\n" "0123456789" },
    };

    CHECK_OK(ctt_session_open(m, &s));
    CHECK_OK(ctt_batch_open(m, 1, &b));
    CHECK_OK(ctt_batch_join(b, &stream));
    feed(s, 0, 3, 3);
    for (size_t i = 0; i < CTT_LEN(kept); i++) {
        const char *path = clip_path("%s", kept[i].name);
        const char *link = clip_path("link%zu", i);
        clip_text(kept[i].name, kept[i].text);
        CU_ASSERT_EQUAL(symlink(path, link), 0);
        stream_refused(ctt_session_save(s, path), CTT_EINVAL, "not replaced");
        stream_refused(ctt_batch_save(b, 0, path), CTT_EINVAL, "not replaced");
        stream_refused(ctt_session_save(s, link), CTT_EINVAL, "not replaced");
        got = clip_bytes(path, &n);
        CU_ASSERT(n == strlen(kept[i].text) &&
                  memcmp(got, kept[i].text, n) == 0);
        ctt_free(got);
    }
    clip_text("bare", "");
    CHECK_OK(ctt_session_save(s, clip_path("bare")));
    CHECK_OK(ctt_batch_save(b, 0, clip_path("bare")));
    CHECK_OK(ctt_session_save(s, clip_path("bare")));
    CHECK_OK(ctt_session_restore(s, clip_path("bare")));
    ctt_batch_close(&b);
    ctt_session_close(&s);
    ctt_infer_close(&m);
}

static CU_TestInfo tests[] = {
    { "plain C", test_ref },
    { "processor", test_cpu },
    { "several frames at once", test_chunks },
    { "session and batch", test_batch },
    { "damaged files", test_damaged },
    { "forged files", test_forged },
    { "other files", test_others }, { "replaced", test_replaced },
    CU_TEST_INFO_NULL
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { .pName = "saved", .pTests = tests }, CU_SUITE_INFO_NULL
    };

    return stream_main(suites);
}
