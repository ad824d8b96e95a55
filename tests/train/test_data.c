/* SPDX-License-Identifier: Apache-2.0
 * test_data.c: buckets, the order of clips, and the threads that load them. */
#include "libtrain/data/data.h"
#include "tests/lib/check.h"
#include "tests/lib/toy.h"

#include <math.h>
#include <sys/stat.h>

static struct ctt_data *open_toy(const char *path,
                                 const struct ctt_train_cfg *cfg)
{
    struct ctt_input in = clip_input();
    struct ctt_data *d = NULL;

    CHECK_OK(ctt_data_open(path, "train", &in, NULL, 0, cfg, NULL, &d));
    return d;
}

/* ---- buckets ---- */

/* A set of lengths without frames. */
static void fake(struct ctt_data *d, int clips, int (*length)(int i))
{
    memset(d, 0, sizeof(*d));
    d->clips = clips;
    d->clip = ctt_calloc((size_t)clips, sizeof(*d->clip));
    CU_ASSERT_FATAL(d->clip != NULL);
    for (int i = 0; i < clips; i++) {
        d->clip[i].item = i;
        d->clip[i].length = length(i);
        if (d->clip[i].length > d->longest)
            d->longest = d->clip[i].length;
    }
}

static int mixed(int i)
{
    return 20 + (int)(ctt_random(9, (uint64_t)i) % 41);
}

static int two_kinds(int i)
{
    return i % 2 ? 30 : 10;
}

static int all_alike(int i)
{
    (void)i;
    return 25;
}

static double padding(const struct ctt_data *d, const struct ctt_buckets *b)
{
    int64_t frames = 0, padded = 0;

    for (int i = 0; i < d->clips; i++) {
        int k = 0;
        while (b->bound[k] < d->clip[i].length)
            k++;
        CU_ASSERT_FATAL(k < b->count);
        frames += d->clip[i].length;
        padded += b->bound[k];
    }
    return 1 - (double)frames / (double)padded;
}

static void buckets_save_padding(void)
{
    struct ctt_buckets b, more;
    struct ctt_data d;

    fake(&d, 500, mixed);
    CHECK_OK(ctt_buckets_find(&d, 8, "auto", &b));
    CU_ASSERT(b.count > 1 && b.after < 0.5 * b.before);
    CU_ASSERT_DOUBLE_EQUAL(b.after, padding(&d, &b), 1e-12);
    for (int k = 1; k < b.count; k++)
        CU_ASSERT(b.bound[k] > b.bound[k - 1]);
    CU_ASSERT_EQUAL(b.bound[b.count - 1], d.longest);
    CHECK_OK(ctt_buckets_find(&d, 8, "1", &b));
    CU_ASSERT(b.count == 1 && b.after == b.before);
    for (int n = 2; n <= 8; n++) {
        char text[16];
        snprintf(text, sizeof(text), "%d", n);
        CHECK_OK(ctt_buckets_find(&d, 8, text, &more));
        CU_ASSERT_EQUAL(more.count, n);
        CU_ASSERT(more.after < b.after);
        b = more;
    }
    ctt_free(d.clip);
    fake(&d, 64, two_kinds);
    CHECK_OK(ctt_buckets_find(&d, 8, "auto", &b));
    CU_ASSERT(b.count == 2 && b.bound[0] == 10 && b.after == 0);
    CHECK_OK(ctt_buckets_find(&d, 64, "auto", &b));    /* less than a batch */
    CU_ASSERT_EQUAL(b.count, 1);
    ctt_free(d.clip);
    fake(&d, 64, all_alike);
    CHECK_OK(ctt_buckets_find(&d, 8, "5", &b));
    CU_ASSERT_EQUAL(b.count, 1);
    CU_ASSERT_EQUAL(ctt_buckets_find(&d, 8, "0", &b), CTT_EINVAL);
    CU_ASSERT_EQUAL(ctt_buckets_find(&d, 8, "many", &b), CTT_EINVAL);
    ctt_free(d.clip);
}

/* ---- the order ---- */

static void every_clip_once(const struct ctt_data *d, int n, int shuffle,
                            const struct ctt_order *p)
{
    int *seen = ctt_calloc((size_t)d->clips, sizeof(int)), twice = 0, holes = 0;

    CU_ASSERT_FATAL(seen != NULL);
    for (int i = 0; i < p->batches * n; i++) {
        int c = p->clip[i];
        if (c < 0) {
            holes++;
            continue;
        }
        twice += seen[c]++ > 0;
        CU_ASSERT(d->clip[c].length <= p->steps[i / n]);
    }
    for (int i = 0; i < d->clips; i++)
        CU_ASSERT(seen[i] >= 1);
    CU_ASSERT_EQUAL(shuffle ? holes : twice, 0);
    CU_ASSERT_EQUAL(twice + holes, p->batches * n - d->clips);
    ctt_free(seen);
}

static void orders_hold_every_clip(void)
{
    static const int clips[] = { 1, 3, 7, 8, 9, 100, 333 };

    for (size_t i = 0; i < CTT_LEN(clips); i++)
        for (int n = 1; n <= 8; n += 7)
            for (int shuffle = 0; shuffle < 2; shuffle++) {
                struct ctt_order *p = NULL;
                struct ctt_buckets b;
                struct ctt_data d;

                fake(&d, clips[i], mixed);
                CHECK_OK(ctt_buckets_find(&d, n, "4", &b));
                CHECK_OK(ctt_order_new(&d, n, &p));
                ctt_order_make(&d, &b, shuffle, 42, p);
                every_clip_once(&d, n, shuffle, p);
                ctt_order_free(&p);
                ctt_free(d.clip);
            }
}

static void orders_differ_by_key_only(void)
{
    struct ctt_order *p = NULL, *q = NULL;
    struct ctt_buckets b;
    struct ctt_data d;
    size_t bytes;

    fake(&d, 200, mixed);
    CHECK_OK(ctt_buckets_find(&d, 8, "auto", &b));
    CHECK_OK(ctt_order_new(&d, 8, &p));
    CHECK_OK(ctt_order_new(&d, 8, &q));
    bytes = (size_t)p->batches * 8 * sizeof(int);
    ctt_order_make(&d, &b, 1, 1, p);
    ctt_order_make(&d, &b, 1, 1, q);
    CU_ASSERT(memcmp(p->clip, q->clip, bytes) == 0);
    ctt_order_make(&d, &b, 1, 2, q);
    CU_ASSERT(memcmp(p->clip, q->clip, bytes) != 0);
    ctt_order_free(&p);
    ctt_order_free(&q);
    ctt_free(d.clip);
}

/* ---- loading ---- */

/* A sum over every float of every batch, in order. */
static double all_batches(struct ctt_data *d, const struct ctt_augment *a,
                          int first, int *batches)
{
    struct ctt_loader *l = NULL;
    struct ctt_order *p = NULL;
    struct ctt_buckets b;
    struct ctt_batch batch;
    double sum = 0, wait = 0;
    int rc, frame = d->in.h * d->in.w * d->in.c;

    CHECK_OK(ctt_buckets_find(d, 4, "2", &b));
    CHECK_OK(ctt_order_new(d, 4, &p));
    ctt_order_make(d, &b, 1, 7, p);
    CHECK_OK(ctt_loader_open(d, 4, d->longest, &l));
    *batches = 0;
    ctt_loader_start(l, p, a, first);
    while ((rc = ctt_loader_next(l, &batch, &wait)) > 0) {
        for (int i = 0; i < batch.steps * batch.n * frame; i++)
            sum = sum * 0.999 + (double)batch.x[i] * (1 + i % 7);
        for (int j = 0; j < batch.n; j++)
            CU_ASSERT_EQUAL(batch.length[j], d->clip[batch.clip[j]].length);
        ++*batches;
        ctt_loader_done(l);
    }
    CHECK_OK(rc);
    CU_ASSERT(wait >= 0);
    ctt_loader_close(&l);
    ctt_order_free(&p);
    return sum;
}

static void batches_do_not_depend_on_workers(void)
{
    struct ctt_train_cfg cfg = clip_cfg();
    const struct ctt_augment a = { 1, 1, 0.2f, 0.2f, 99 }, other = { 1, 1,
        0.2f, 0.2f, 98 }, none = { 0 };
    double sum[4] = { 0 };
    int n, half;

    CHECK_OK(clips_pack(clip_path("toy.pack"), 0, 30));
    for (int k = 0; k < 3; k++) {
        struct ctt_data *d;
        cfg.workers = k == 1 ? 5 : 1;
        cfg.cache = k == 2 ? 0 : 64;
        d = open_toy(clip_path("toy.pack"), &cfg);
        CU_ASSERT_EQUAL(ctt_data_clips(d), 30);
        sum[k] = all_batches(d, &a, 0, &n);
        CU_ASSERT_EQUAL(n, 8);
        all_batches(d, &a, 3, &half);
        CU_ASSERT_EQUAL(half, 5);
        CU_ASSERT(all_batches(d, &other, 0, &n) != sum[k]);
        CU_ASSERT(all_batches(d, &none, 0, &n) != sum[k]);
        ctt_data_close(&d);
    }
    CU_ASSERT(sum[0] == sum[1] && sum[0] == sum[2]);
}

/* Without changes a frame is the middle of the stored one; after its end a
 * clip stands still. */
static void frames_are_cut_and_padded(void)
{
    struct ctt_train_cfg cfg = clip_cfg();
    const struct ctt_augment none = { 0 };
    struct ctt_data *d = open_toy(clip_path("toy.pack"), &cfg);
    struct ctt_loader *l = NULL;
    struct ctt_order *p = NULL;
    struct ctt_buckets b;
    struct ctt_batch batch;
    uint8_t stored[CLIP_SIZE * CLIP_SIZE * 3];
    float want[10 * 10 * 3];
    double wait = 0;

    CHECK_OK(ctt_buckets_find(d, 4, "1", &b));
    CHECK_OK(ctt_order_new(d, 4, &p));
    ctt_order_make(d, &b, 0, 0, p);
    CHECK_OK(ctt_loader_open(d, 4, d->longest, &l));
    ctt_loader_start(l, p, &none, 0);
    CU_ASSERT_EQUAL_FATAL(ctt_loader_next(l, &batch, &wait), 1);
    for (int j = 0; j < 4; j++)
        for (int t = 0; t < batch.steps; t++) {
            int i = batch.clip[j], last = batch.length[j] - 1;
            clip_draw(i, t < last ? t : last, stored);
            ctt_frame_float(stored, &d->in, 1, 1, 0, want);
            CHECK_CLOSE(batch.x + (t * 4 + j) * 300, want, 300, 0);
        }
    ctt_loader_close(&l);
    ctt_order_free(&p);
    ctt_data_close(&d);
}

/* Brightness and contrast are those of the picture, whatever the model's mean
 * and std: compare with changing the bytes' values. */
static void colours_change_the_picture(void)
{
    struct ctt_train_cfg cfg = clip_cfg();
    const struct ctt_augment a = { 0, 0, 0.1f, 0.3f, 5 };
    struct ctt_data *d = open_toy(clip_path("toy.pack"), &cfg);
    struct ctt_loader *l = NULL;
    struct ctt_order *p = NULL;
    struct ctt_buckets b;
    struct ctt_batch batch;
    uint8_t stored[CLIP_SIZE * CLIP_SIZE * 3];
    double wait = 0;

    CHECK_OK(ctt_buckets_find(d, 4, "1", &b));
    CHECK_OK(ctt_order_new(d, 4, &p));
    ctt_order_make(d, &b, 0, 0, p);
    CHECK_OK(ctt_loader_open(d, 4, d->longest, &l));
    ctt_loader_start(l, p, &a, 0);
    CU_ASSERT_EQUAL_FATAL(ctt_loader_next(l, &batch, &wait), 1);
    for (int j = 0; j < 4; j++) {
        uint64_t key = ctt_key(5, (uint64_t)batch.clip[j]);
        float gain = 1 + 0.3f * (2 * ctt_uniform(key, 3) - 1);
        float shift = 0.1f * (2 * ctt_uniform(key, 4) - 1);
        float want[300], plain;
        clip_draw(batch.clip[j], 0, stored);
        for (int k = 0; k < 300; k++) {
            int y = k / 30 + 1, x = k / 3 % 10 + 1;
            plain = stored[(y * CLIP_SIZE + x) * 3 + k % 3] / 255.0f;
            plain = gain * (plain - 0.5f) + 0.5f + shift;
            want[k] = (plain - 0.2f) / 0.3f;
        }
        CHECK_CLOSE(batch.x + j * 300, want, 300, 1e-5);
    }
    ctt_loader_close(&l);
    ctt_order_free(&p);
    ctt_data_close(&d);
}

/* ---- bad clips ---- */

static int told;
static char last_told[256];

static void on_clip(void *arg, const char *what)
{
    (void)arg;
    told++;
    snprintf(last_told, sizeof(last_told), "%s", what);
}

static void write_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");

    CU_ASSERT_FATAL(f != NULL);
    fputs(text, f);
    CU_ASSERT_EQUAL(fclose(f), 0);
}

static void bad_clips_are_skipped(void)
{
    const struct ctt_synth s = { 12, 24, 1, 1 };
    const struct ctt_events ev = { .clip = on_clip };
    struct ctt_train_cfg cfg = clip_cfg();
    struct ctt_input in = clip_input();
    struct ctt_data *d = NULL;
    char list[512], a[128], b[128];

    snprintf(a, sizeof(a), "%s", clip_path("a.webm"));
    snprintf(b, sizeof(b), "%s", clip_path("set"));
    CHECK_OK(ctt_synth_write(&s, b, NULL, NULL));
    CHECK_OK(ctt_data_open(b, "train", &in, NULL, 0, &cfg, &ev, &d));
    CU_ASSERT(ctt_data_clips(d) > 0 && told == 0);
    snprintf(list, sizeof(list), "%s 0\n%s 1\n%s 1\n",
             d->list->item[0].path, a, d->list->item[1].path);
    ctt_data_close(&d);
    write_file(a, "this is no video");
    write_file(clip_path("list.txt"), list);
    CHECK_OK(ctt_data_open(clip_path("list.txt"), "train", &in, NULL, 0, &cfg,
                           &ev, &d));
    CU_ASSERT_EQUAL(ctt_data_clips(d), 2);
    CU_ASSERT_EQUAL(ctt_data_skipped(d), 1);
    CU_ASSERT_EQUAL(told, 1);
    CU_ASSERT(strstr(last_told, "a.webm") != NULL);
    ctt_data_close(&d);
    cfg.strict = 1;
    CU_ASSERT(ctt_data_open(clip_path("list.txt"), "train", &in, NULL, 0, &cfg,
                            &ev, &d) < 0);
    CU_ASSERT(strstr(ctt_errmsg(), "a.webm") != NULL);
    cfg.strict = 0;
    cfg.min_frames = 1000;
    CU_ASSERT_EQUAL(ctt_data_open(clip_path("list.txt"), "train", &in, NULL, 0,
                                  &cfg, &ev, &d), CTT_EFORMAT);
    CU_ASSERT(strstr(ctt_errmsg(), "no usable clip") != NULL);
}

static void short_clips_are_bad_long_ones_cut(void)
{
    const struct ctt_events ev = { .clip = on_clip };
    struct ctt_train_cfg cfg = clip_cfg();
    struct ctt_input in = clip_input();
    struct ctt_data *d = NULL;
    int good = 0;

    cfg.min_frames = 7;
    cfg.max_frames = 9;
    for (int i = 0; i < 30; i++)
        good += clip_length(i) >= 7;
    told = 0;
    CHECK_OK(ctt_data_open(clip_path("toy.pack"), "train", &in, NULL, 0, &cfg,
                           &ev, &d));
    CU_ASSERT_EQUAL(ctt_data_clips(d), good);
    CU_ASSERT_EQUAL(told, 30 - good);
    CU_ASSERT_EQUAL(d->longest, 9);
    ctt_data_close(&d);
    in.fps = 30;
    CU_ASSERT_EQUAL(ctt_data_open(clip_path("toy.pack"), "train", &in, NULL, 0,
                                  &cfg, &ev, &d), CTT_EINVAL);
}

/* A clip that vanishes after it has been counted is an empty place. */
static void vanished_clips_are_told(void)
{
    struct ctt_train_cfg cfg = clip_cfg();
    struct ctt_input in = clip_input();
    const struct ctt_augment none = { 0 };
    struct ctt_data *d = NULL;
    struct ctt_loader *l = NULL;
    struct ctt_order *p = NULL;
    struct ctt_buckets b;
    struct ctt_batch batch;
    char old[300], path[320];
    double wait = 0;

    cfg.cache = 0;
    CHECK_OK(ctt_data_open(clip_path("list.txt"), "train", &in, NULL, 0, &cfg,
                           NULL, &d));
    CU_ASSERT_EQUAL_FATAL(d->clips, 2);
    snprintf(old, sizeof(old), "%s", d->list->item[0].path);
    snprintf(path, sizeof(path), "%s.away", old);
    CU_ASSERT_EQUAL_FATAL(rename(old, path), 0);
    CHECK_OK(ctt_buckets_find(d, 2, "1", &b));
    CHECK_OK(ctt_order_new(d, 2, &p));
    ctt_order_make(d, &b, 0, 0, p);
    CHECK_OK(ctt_loader_open(d, 2, d->longest, &l));
    ctt_loader_start(l, p, &none, 0);
    CU_ASSERT_EQUAL_FATAL(ctt_loader_next(l, &batch, &wait), 1);
    CU_ASSERT(batch.bad && strstr(batch.bad, strrchr(old, '/') + 1));
    CU_ASSERT_EQUAL(!batch.length[0] + !batch.length[1], 1);
    ctt_loader_done(l);
    d->strict = 1;
    ctt_loader_start(l, p, &none, 0);
    CU_ASSERT(ctt_loader_next(l, &batch, &wait) < 0);
    CU_ASSERT(strstr(ctt_errmsg(), strrchr(old, '/') + 1) != NULL);
    ctt_loader_close(&l);
    ctt_order_free(&p);
    ctt_data_close(&d);
    CU_ASSERT_EQUAL(rename(path, old), 0);
}

/* ---- memory ---- */

static int open_everything(void)
{
    struct ctt_train_cfg cfg = clip_cfg();
    const struct ctt_augment none = { 0 };
    struct ctt_input in = clip_input();
    struct ctt_data *d = NULL;
    struct ctt_loader *l = NULL;
    struct ctt_order *p = NULL;
    struct ctt_buckets b;
    struct ctt_batch batch;
    double wait = 0;
    int rc;

    cfg.cache = 0;
    CTT_TRY(ctt_data_open(clip_path("toy.pack"), "train", &in, NULL, 0, &cfg,
                          NULL, &d));
    CTT_TRY(ctt_buckets_find(d, 4, "auto", &b));
    CTT_TRY(ctt_order_new(d, 4, &p));
    ctt_order_make(d, &b, 1, 1, p);
    CTT_TRY(ctt_loader_open(d, 4, d->longest, &l));
    ctt_loader_start(l, p, &none, 0);
    while ((rc = ctt_loader_next(l, &batch, &wait)) > 0)
        ctt_loader_done(l);
out:
    ctt_loader_close(&l);
    ctt_order_free(&p);
    ctt_data_close(&d);
    return rc;
}

static void allocations_fail(void)
{
    long live = ctt_live_blocks(), k = 1, done = 0;

    for (; !done && k < 3000; k++) {
        int rc;

        ctt_fail_alloc(k);
        rc = open_everything();
        ctt_fail_alloc(0);
        CU_ASSERT(rc <= 0);
        CU_ASSERT_EQUAL(ctt_live_blocks(), live);
        done = rc == 0;
    }
    CU_ASSERT(k > 20 && done);
}

static int clean(void)
{
    char line[128];

    snprintf(line, sizeof(line), "rm -rf '%s'", clip_dir);
    return system(line);
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "buckets save padding", buckets_save_padding },
        { "orders hold every clip", orders_hold_every_clip },
        { "orders differ by key only", orders_differ_by_key_only },
        { "workers do not matter", batches_do_not_depend_on_workers },
        { "frames are cut and padded", frames_are_cut_and_padded },
        { "colours change the picture", colours_change_the_picture },
        { "bad clips are skipped", bad_clips_are_skipped },
        { "lengths are limited", short_clips_are_bad_long_ones_cut },
        { "vanished clips are told", vanished_clips_are_told },
        { "allocations fail", allocations_fail },
        CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = {
        { "data", NULL, clean, NULL, NULL, tests }, CU_SUITE_INFO_NULL
    };

    if (clips_dir() < 0)
        return 99;
    return ctt_check_main(suites);
}
