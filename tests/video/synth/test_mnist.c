/* SPDX-License-Identifier: Apache-2.0
 * test_mnist.c: idx files, sound and damaged, and Moving-MNIST held against a
 * literal writing of its rules. */
#include "base/random.h"
#include "tests/lib/check.h"
#include "tests/lib/clip.h"
#include "video/source.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { SIDE = 28, BYTES = SIDE * SIDE, HEAD = 16, IMAGES = 2500,
       FRAME = CTT_MNIST_SIDE * CTT_MNIST_SIDE, FRAMES = 40 };

static uint8_t idx[HEAD + IMAGES * BYTES];

static void put(uint8_t *p, uint32_t x)
{
    for (int i = 3; i >= 0; i--, x >>= 8)
        p[i] = (uint8_t)x;
}

/* Image i is black but for its first pixel, which says i. */
static void make_idx(uint32_t count)
{
    memset(idx, 0, sizeof(idx));
    put(idx, 0x803);
    put(idx + 4, count);
    put(idx + 8, SIDE);
    put(idx + 12, SIDE);
    for (int i = 0; i < IMAGES; i++)
        idx[HEAD + i * BYTES] = (uint8_t)(1 + i % 255);
}

static void write_gz(const char *name, size_t n)
{
    gzFile f = gzopen(clip_path("%s", name), "wb1");

    CU_ASSERT_FATAL(f != NULL);
    CU_ASSERT_EQUAL(gzwrite(f, idx, (unsigned)n), (int)n);
    CU_ASSERT_EQUAL(gzclose(f), Z_OK);
}

static struct ctt_mnist *open_some(const char *name)
{
    struct ctt_mnist *m = NULL;

    CHECK_OK(ctt_mnist_open(clip_path("%s", name), &m));
    return m;
}

/* ---- files ---- */

static void good_files(void)
{
    static const char *const folder[] = { "plain", "zipped", "tests" };
    struct ctt_mnist *m = NULL;

    make_idx(IMAGES);
    for (size_t i = 0; i < CTT_LEN(folder); i++)
        clip_folder(folder[i]);
    clip_file("plain/train-images-idx3-ubyte", idx, sizeof(idx));
    write_gz("zipped/train-images-idx3-ubyte.gz", sizeof(idx));
    write_gz("tests/t10k-images-idx3-ubyte.gz", sizeof(idx));
    clip_file("one", idx, sizeof(idx));
    write_gz("other", sizeof(idx));
    for (size_t i = 0; i < 2; i++) {
        m = open_some(folder[i]);
        CU_ASSERT_EQUAL(ctt_mnist_count(m), IMAGES);
        CU_ASSERT(strstr(ctt_mnist_file(m), "/train-images-idx3-ubyte")
                  != NULL);
        ctt_mnist_close(&m);
    }
    m = open_some("one");
    CU_ASSERT_STRING_EQUAL(ctt_mnist_file(m), clip_path("one"));
    ctt_mnist_close(&m);
    m = open_some("tests/t10k-images-idx3-ubyte.gz");
    ctt_mnist_close(&m);
    m = open_some("other");
    ctt_mnist_close(&m);
    CU_ASSERT_PTR_NULL(m);
    ctt_mnist_close(&m);
    CU_ASSERT_STRING_EQUAL(ctt_source_idx("mnist:a/b"), "a/b");
    CU_ASSERT_FALSE(ctt_source_is_drawn("mnist/a"));
}

static void refuse(const char *name, const char *says)
{
    struct ctt_mnist *m = NULL;
    int rc = ctt_mnist_open(clip_path("%s", name), &m);

    CU_ASSERT(rc < 0);
    CU_ASSERT_PTR_NULL(m);
    if (rc >= 0 || !strstr(ctt_errmsg(), says) ||
        !strstr(ctt_errmsg(), name) || strchr(ctt_errmsg(), '\n')) {
        printf("\n    %s: '%s' does not say '%s'", name,
               rc < 0 ? ctt_errmsg() : "success", says);
        CU_FAIL("message");
    }
}

/* The bytes of a gzip file with n cut off, and byte `at` changed if >= 0. */
static void damage(const char *from, const char *to, size_t cut, long at)
{
    size_t n;
    uint8_t *data = clip_bytes(clip_path("%s", from), &n);

    CU_ASSERT_FATAL(data != NULL && n > cut);
    if (at >= 0)
        data[(size_t)at < n ? (size_t)at : n - 1] ^= 0x55;
    clip_file(to, data, n - cut);
    ctt_free(data);
}

static void bad_files(void)
{
    size_t n;
    uint8_t *data;

    refuse("nothing", "no such file or folder");
    clip_folder("hollow");
    refuse("hollow", "no train-images-idx3-ubyte(.gz) in it");
    refuse("tests", "another file of images can be named itself");
    clip_file("empty", idx, 0);
    refuse("empty", "no idx file of images");
    clip_file("head", idx, 13);
    refuse("head", "ends in its header");
    clip_file("short", idx, HEAD + 1234 * BYTES + 5);
    refuse("short", "ends after 1234 of 2500 images");
    write_gz("short.gz", HEAD + 1234 * BYTES);
    refuse("short.gz", "ends after 1234 of 2500 images");
    data = clip_bytes(clip_path("other"), &n);
    ctt_free(data);
    damage("other", "cut.gz", n / 2, -1);
    refuse("cut.gz", "of 2500 images");
    for (size_t cut = 1; cut <= 8; cut++) {    /* of the sum and the length */
        damage("other", "end.gz", cut, -1);
        refuse("end.gz", "gzip data ends without its sum");
    }
    damage("other", "sum.gz", 0, (long)n - 6);
    refuse("sum.gz", "gzip data is damaged");
    damage("other", "middle.gz", 0, (long)n / 2);
    refuse("middle.gz", "middle.gz: ");
    put(idx, 0x801);
    clip_file("labels", idx, sizeof(idx));
    refuse("labels", "no idx file of images");
    make_idx(IMAGES - 1);
    clip_file("long", idx, sizeof(idx));
    refuse("long", "goes on after its 2499 images");
    make_idx(0);
    clip_file("none", idx, HEAD);
    refuse("none", "says it has 0 images");
    make_idx(0xffffffffu);
    clip_file("absurd", idx, sizeof(idx));
    refuse("absurd", "says it has 4294967295 images");
    make_idx(4000000);
    clip_file("many", idx, sizeof(idx));
    refuse("many", "ends after 2500 of 4000000 images");
    make_idx(IMAGES);
    put(idx + 12, 32);
    clip_file("wide", idx, sizeof(idx));
    refuse("wide", "images of 32x28, not 28x28");
    make_idx(IMAGES);
}

/* ---- sequences ---- */

/* One digit as the paper's rules say, in plain floating point: where the
 * corner is in each frame, and the image. */
static void literal(uint64_t seed, uint64_t i, uint64_t digit, int frames,
                    int *x, int *y, int *image)
{
    uint64_t at = (i * 16 + digit) * 32, k = 3;
    double px, py, vx, vy, a, b;

    *image = (int)(ctt_random(seed, at) / 4294967296.0 * IMAGES);
    px = ctt_random(seed, at + 1) / 4294967296.0;
    py = ctt_random(seed, at + 2) / 4294967296.0;
    do {
        uint32_t r = ctt_random(seed, at + k++);
        a = (r % 65536 + 0.5) / 32768 - 1;
        b = (r / 65536 + 0.5) / 32768 - 1;
    } while (sqrt(a * a + b * b) > 65535.0 / 65536);
    vx = cos(atan2(b, a));
    vy = sin(atan2(b, a));
    for (int t = 0; t < frames; t++) {
        px += 0.1 * vx;
        py += 0.1 * vy;
        if (px <= 0 || px >= 1) {
            px = px <= 0 ? 0 : 1;
            vx = -vx;
        }
        if (py <= 0 || py >= 1) {
            py = py <= 0 ? 0 : 1;
            vy = -vy;
        }
        x[t] = (int)(36 * px);
        y[t] = (int)(36 * py);
    }
}

/* Digits are single pixels here, so a frame says where they are.  Numbers next
 * to a whole one may be cut to either side of it. */
static void follows_the_rules(void)
{
    static uint8_t out[FRAMES * FRAME], want[FRAMES * FRAME];
    struct ctt_mnist *m = open_some("one");
    int x[FRAMES], y[FRAMES], image, wrong = 0;

    for (uint64_t i = 0; i < 300; i++) {
        int digits = 1 + (int)(i % CTT_MNIST_DIGITS);

        CHECK_OK(ctt_mnist_draw(m, 7, (int64_t)i, digits, FRAMES, out));
        memset(want, 0, sizeof(want));
        for (int k = 0; k < digits; k++) {
            literal(7, i, (uint64_t)k, FRAMES, x, y, &image);
            for (int t = 0; t < FRAMES; t++) {
                uint8_t *p = want + t * FRAME + y[t] * CTT_MNIST_SIDE + x[t];
                int grey = 1 + image % 255;
                *p = grey > *p ? (uint8_t)grey : *p;    /* the brighter one */
            }
        }
        for (int t = 0; t < FRAMES; t++)
            wrong += memcmp(out + t * FRAME, want + t * FRAME, FRAME) != 0;
    }
    CU_ASSERT(wrong <= 2);
    ctt_mnist_close(&m);
}

/* The pixel of one digit, in 0..36 squared. */
static void find_pixel(const uint8_t *frame, int *x, int *y)
{
    int n = 0;

    for (int k = 0; k < FRAME; k++) {
        if (!frame[k])
            continue;
        *x = k % CTT_MNIST_SIDE;
        *y = k / CTT_MNIST_SIDE;
        n++;
    }
    CU_ASSERT(n == 1 && *x <= 36 && *y <= 36);
}

/* What anybody can see: the digits are anywhere, go anywhere, 3.6 pixels a
 * frame, reach the walls and turn there. */
static void spread_is_even(void)
{
    enum { N = 4000 };
    static uint8_t out[3 * FRAME];
    struct ctt_mnist *m = open_some("one");
    double x = 0, y = 0, dx = 0, dy = 0, far = 0;
    int walls = 0, quarter[4] = { 0 }, inner = 0;

    for (int i = 0; i < N; i++) {
        int a[3], b[3];

        CHECK_OK(ctt_mnist_draw(m, 3, i, 1, 3, out));
        for (int t = 0; t < 3; t++)
            find_pixel(out + t * FRAME, &a[t], &b[t]);
        x += a[0];
        y += b[0];
        dx += a[2] - a[0];
        dy += b[2] - b[0];
        walls += a[0] == 0 || a[0] == 36 || b[0] == 0 || b[0] == 36;
        if (a[0] < 8 || a[0] > 28 || b[0] < 8 || b[0] > 28)
            continue;
        quarter[(a[2] > a[0]) + 2 * (b[2] > b[0])]++;
        far += hypot(a[2] - a[0], b[2] - b[0]);
        inner++;
    }
    CU_ASSERT_DOUBLE_EQUAL(x / N, 17.5, 0.7);    /* four deviations */
    CU_ASSERT_DOUBLE_EQUAL(y / N, 17.5, 0.7);
    CU_ASSERT_DOUBLE_EQUAL(dx / N, 0, 0.35);
    CU_ASSERT_DOUBLE_EQUAL(dy / N, 0, 0.35);
    CU_ASSERT_DOUBLE_EQUAL(far / inner, 7.2, 0.1);
    for (int k = 0; k < 4; k++)
        CU_ASSERT_DOUBLE_EQUAL((double)quarter[k] / inner, 0.25, 0.06);
    /* 0.2 / pi reach a wall at the sides, 0.017 more are in pixel 0; so it is
     * above and below. */
    CU_ASSERT_DOUBLE_EQUAL((double)walls / N, 0.154, 0.023);
    ctt_mnist_close(&m);
}

static uint32_t sum_of(const uint8_t *p, size_t n)
{
    uint32_t sum = 2166136261u;

    while (n-- > 0)
        sum = (sum ^ *p++) * 16777619u;
    return sum;
}

struct drawer { const struct ctt_mnist *m; uint32_t sum[16]; };

static void *draw_all(void *arg)
{
    struct drawer *d = arg;
    uint8_t *out = malloc(FRAMES * FRAME);

    for (int i = 15; out && i >= 0; i--) {
        memset(out, 255, FRAMES * FRAME);
        if (ctt_mnist_draw(d->m, 5, i, 2, FRAMES, out) == 0)
            d->sum[i] = sum_of(out, FRAMES * FRAME);
    }
    free(out);
    return NULL;
}

/* The number was found on x86-64 and must come out everywhere. */
static void same_everywhere(void)
{
    static uint8_t out[FRAMES * FRAME];
    struct ctt_mnist *m = open_some("zipped");
    struct drawer d[2] = { { m, { 0 } }, { m, { 0 } } };
    pthread_t id[2];
    uint32_t all = 0;

    for (int k = 0; k < 2; k++)
        CU_ASSERT_EQUAL_FATAL(pthread_create(&id[k], NULL, draw_all, &d[k]),
                              0);
    for (int k = 0; k < 2; k++)
        pthread_join(id[k], NULL);
    for (int i = 0; i < 16; i++) {
        CHECK_OK(ctt_mnist_draw(m, 5, i, 2, FRAMES, out));
        CU_ASSERT_EQUAL(d[0].sum[i], sum_of(out, sizeof(out)));
        CU_ASSERT_EQUAL(d[1].sum[i], d[0].sum[i]);
        CU_ASSERT(i == 0 || d[0].sum[i] != d[0].sum[i - 1]);
        all = all * 31 + d[0].sum[i];
    }
    CU_ASSERT_EQUAL(all, 1453974220u);
    ctt_mnist_close(&m);
}

/* More frames begin like fewer; another seed is another sequence. */
static void prefixes_and_seeds(void)
{
    static uint8_t a[FRAMES * FRAME], b[FRAMES * FRAME];
    struct ctt_mnist *m = open_some("one");
    int64_t last = ((int64_t)1 << 54) - 1;

    CHECK_OK(ctt_mnist_draw(m, 5, last, 3, FRAMES, a));
    CHECK_OK(ctt_mnist_draw(m, 5, last, 3, 10, b));
    CU_ASSERT(memcmp(a, b, 10 * FRAME) == 0);
    CHECK_OK(ctt_mnist_draw(m, 6, last, 3, FRAMES, b));
    CU_ASSERT(memcmp(a, b, sizeof(a)) != 0);
    CU_ASSERT_EQUAL(ctt_mnist_draw(m, 5, 0, 0, 1, a), CTT_EINVAL);
    CU_ASSERT_EQUAL(ctt_mnist_draw(m, 5, 0, 10, 1, a), CTT_EINVAL);
    CU_ASSERT_EQUAL(ctt_mnist_draw(m, 5, 0, 1, 0, a), CTT_EINVAL);
    CU_ASSERT_EQUAL(ctt_mnist_draw(m, 5, -1, 1, 1, a), CTT_EINVAL);
    CU_ASSERT_EQUAL(ctt_mnist_draw(m, 5, last + 1, 1, 1, a), CTT_EINVAL);
    ctt_mnist_close(&m);
}

/* Numbers of the splits do not meet. */
static void splits_are_apart(void)
{
    static const char *const same[][2] = { { "train", "training" },
        { "validation", "val" }, { "test", "testing" } };
    int64_t a, b, last = -((int64_t)1 << 48);

    for (size_t i = 0; i < CTT_LEN(same); i++) {
        CHECK_OK(ctt_mnist_first(same[i][0], &a));
        CHECK_OK(ctt_mnist_first(same[i][1], &b));
        CU_ASSERT_EQUAL(a, b);
        CU_ASSERT_EQUAL(a, last + ((int64_t)1 << 48));
        last = a;
    }
    CU_ASSERT_EQUAL(ctt_mnist_first("other", &a), CTT_EINVAL);
    CU_ASSERT(strstr(ctt_errmsg(), "no split 'other'") != NULL);
}

static void allocations_fail(void)
{
    long live = ctt_live_blocks(), k = 1;
    struct ctt_mnist *m = NULL;
    char path[512];
    int rc = -1;

    snprintf(path, sizeof(path), "%s", clip_path("zipped"));
    for (; rc < 0 && k < 100; k++) {
        ctt_fail_alloc(k);
        rc = ctt_mnist_open(path, &m);
        ctt_fail_alloc(0);
        CU_ASSERT(rc == 0 || (rc == CTT_ENOMEM && !m));
        ctt_mnist_close(&m);
        CU_ASSERT_EQUAL(ctt_live_blocks(), live);
    }
    CU_ASSERT(rc == 0 && k > 6);
}

static int clean(void)
{
    clip_clean();
    return 0;
}

int main(void)
{
    CU_TestInfo files[] = {
        { "sound", good_files }, { "damaged", bad_files }, CU_TEST_INFO_NULL
    };
    CU_TestInfo sequences[] = {
        { "follow the rules", follows_the_rules },
        { "spread evenly", spread_is_even },
        { "are the same everywhere", same_everywhere },
        { "prefixes and seeds", prefixes_and_seeds },
        { "splits are apart", splits_are_apart },
        { "allocations fail", allocations_fail }, CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = {
        { "idx files", NULL, NULL, NULL, NULL, files },
        { "sequences", NULL, clean, NULL, NULL, sequences },
        CU_SUITE_INFO_NULL
    };

    return ctt_check_main(suites);
}
