/* SPDX-License-Identifier: Apache-2.0
 * bench_load.c: bench_load [SIDE [MS]]: the processor's time of a thread that
 * loads clips of 16 colour frames of SIDE x SIDE pixels (64), cut out of stored
 * ones that are 1.125 times as large, by preset of --augment: the least of 9
 * epochs.  Then the share of the time that a model of MS milliseconds of a
 * processor a clip (1) waits for that thread, but for the first batch of each
 * of 3 epochs, and a sum of all numbers that tells whether they are the same.
 * At last the floor: the time to read the bytes and to write the floats. */
#include "bench/measure.h"
#include "net/code/zip.h"
#include "tests/lib/reader.h"
#include "tests/lib/toy.h"

#include <time.h>

enum { FRAMES = 16, PACKED = 96, BATCH = 8, EPOCHS = 9 };

static double processor_ms(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

/* Slopes, edges and noise, as a camera's. */
static void draw(int i, int t, int side, uint8_t *p)
{
    for (int y = 0; y < side; y++)
        for (int x = 0; x < side; x++)
            for (int k = 0; k < 3; k++)
                *p++ = (uint8_t)(40 + 20 * k + (x + t) % 64 + y / 2 +
                                 ((x + i) / 16 % 2 ^ y / 24 % 2) * 50 +
                                 (int)(ctt_random((uint64_t)i, (uint64_t)
                                                  (y * side + x + t)) % 9));
}

static int pack(const char *path, const struct ctt_input *in)
{
    struct ctt_frames f = { NULL, FRAMES, 0, 0, 3, 12 };
    struct ctt_pack *p = NULL;
    char id[16];
    int rc = 0;

    ctt_frame_size(in, &f.w, &f.h);
    f.data = ctt_calloc(FRAMES, (size_t)f.w * (size_t)f.h * 3);
    CTT_TRY(f.data ? 0 : CTT_ENOMEM);
    CTT_TRY(ctt_pack_create(path, in, (char *const *)clip_labels, CLIP_CLASSES,
                            &p));
    for (int i = 0; i < PACKED; i++) {
        for (int t = 0; t < FRAMES; t++)
            draw(i, t, f.w, f.data + (size_t)t * (size_t)f.w *
                 (size_t)f.h * 3);
        snprintf(id, sizeof(id), "clip%d", i);
        CTT_TRY(ctt_pack_add(p, id, i % CLIP_CLASSES, &f));
    }
    CTT_TRY(ctt_pack_finish(&p));
out:
    ctt_pack_close(&p);
    ctt_free(f.data);
    return rc;
}

/* -0 and 0 are one number. */
static uint32_t sum_batch(uint32_t sum, const struct ctt_batch *b,
                          const struct ctt_input *in)
{
    int64_t n = (int64_t)b->steps * b->n * in->h * in->w * in->c;

    for (int64_t i = 0; i < n; i++) {
        float x = b->x[i] + 0.0f;
        sum = ctt_crc32(sum, &x, sizeof(x), 1);
    }
    return sum;
}

static void begin_epoch(struct reader *r, struct ctt_data *d,
                        const struct ctt_train_cfg *cfg, int e)
{
    struct ctt_augment a = ctt_augment_of(cfg, (uint64_t)e % 3 + 1);

    r->order->a = a;
    ctt_order_make(d, &r->buckets, 1, 7, r->order);
    reader_start(r, &a, 0);
}

static int measure_load(struct reader *r, struct ctt_data *d,
                        const struct ctt_train_cfg *cfg, double *best)
{
    struct ctt_batch b;
    int rc = 0;

    for (int e = 0; e < EPOCHS; e++) {
        double start = processor_ms(CLOCK_PROCESS_CPUTIME_ID);

        begin_epoch(r, d, cfg, e);
        while ((rc = reader_next(r, &b)) > 0)
            ctt_loader_done(r->loader);
        CTT_TRY(rc);
        start = processor_ms(CLOCK_PROCESS_CPUTIME_ID) - start;
        *best = e && start > *best ? *best : start;
    }
out:
    return rc;
}

/* The model computes for `ms` of its own thread's time. */
static int measure_wait(struct reader *r, struct ctt_data *d,
                        const struct ctt_train_cfg *cfg, double ms,
                        double *share)
{
    double all = 0, waited = 0;
    struct ctt_batch b;
    int rc = 0;

    for (int e = 0; e < 3; e++) {
        double start = 0;

        begin_epoch(r, d, cfg, e);
        for (int k = 0; (rc = reader_next(r, &b)) > 0; k++) {
            double from = processor_ms(CLOCK_THREAD_CPUTIME_ID);

            if (k == 0) {
                start = ctt_seconds();
                r->wait = 0;
            }
            while (processor_ms(CLOCK_THREAD_CPUTIME_ID) < from + ms * b.n)
                ;
            ctt_loader_done(r->loader);
        }
        CTT_TRY(rc);
        all += ctt_seconds() - start;
        waited += r->wait;
    }
    *share = waited / all;
out:
    return rc;
}

static int measure(struct ctt_data *d, const char *name,
                   const struct ctt_train_cfg *cfg, double ms)
{
    double best = 0, share = 0;
    struct ctt_batch b;
    struct reader r;
    uint32_t sum = 0;
    int rc = 0;

    CTT_TRY(reader_open(&r, d, BATCH, "1", 1));
    CTT_TRY(ctt_augment_mixes(cfg) ? ctt_loader_mixes(r.loader) : 0);
    CTT_TRY(measure_load(&r, d, cfg, &best));
    CTT_TRY(measure_wait(&r, d, cfg, ms, &share));
    begin_epoch(&r, d, cfg, 0);
    while ((rc = reader_next(&r, &b)) > 0) {
        sum = sum_batch(sum, &b, &d->in);
        ctt_loader_done(r.loader);
    }
    printf("%-18s %7.3f ms a clip, %4.1f%% waited   %08x\n", name,
           best / PACKED, 100 * share, sum);
out:
    reader_close(&r);
    return rc;
}

/* Bytes read and floats written, one for one, as the compiler likes it. */
static int measure_floor(const struct ctt_data *d)
{
    int64_t n = (int64_t)d->stored_h * d->stored_w * 3 * FRAMES;
    int64_t floats = (int64_t)d->in.h * d->in.w * 3 * FRAMES;
    uint8_t *p = ctt_calloc((size_t)n, BATCH * 3);
    float *x = ctt_calloc((size_t)floats, BATCH * 3 * sizeof(*x));
    double best = 1e9;
    int rc = 0;

    CTT_TRY(p && x ? 0 : CTT_ENOMEM);
    for (int e = 0; e < EPOCHS; e++) {
        double start = processor_ms(CLOCK_PROCESS_CPUTIME_ID);

        for (int k = 0; k < BATCH * 3; k++)
            for (int64_t i = 0; i < floats; i++)
                x[k * floats + i] = (float)p[k * n + i];
        start = processor_ms(CLOCK_PROCESS_CPUTIME_ID) - start;
        best = start < best ? start : best;
    }
    printf("%-18s %7.3f ms a clip\n", "read and write", best / (BATCH * 3));
out:
    ctt_free(p);
    ctt_free(x);
    return rc;
}

int main(int argc, char **argv)
{
    static const struct { const char *name; int preset, of; } rows[] = {
        { "off", CTT_AUGMENT_OFF, 0 }, { "light", CTT_AUGMENT_LIGHT, 0 },
        { "strong", CTT_AUGMENT_STRONG, 0 },
        { "strong, no mixing", CTT_AUGMENT_STRONG, 1 },
    };
    struct ctt_input in = clip_input();
    struct ctt_train_cfg cfg = clip_cfg();
    struct ctt_data *d = NULL;
    double ms = argc > 2 ? atof(argv[2]) : 1;
    char path[] = "/tmp/bench_loadXXXXXX";
    int rc, f = mkstemp(path);

    in.h = in.w = argc > 1 ? atoi(argv[1]) : 64;
    in.scale = 1.125f;
    cfg.workers = 1;
    CTT_TRY(f < 0 ? CTT_EIO : close(f));
    CTT_TRY(pack(path, &in));
    CTT_TRY(ctt_data_open(path, "train", &in, NULL, 0, &cfg, NULL, &d));
    for (size_t i = 0; i < CTT_LEN(rows); i++) {
        cfg.augment = rows[i].preset;
        cfg.mixup = cfg.cutmix = rows[i].of ? 0 : NAN;
        CTT_TRY(measure(d, rows[i].name, &cfg, ms));
    }
    CTT_TRY(measure_floor(d));
out:
    if (rc < 0)
        fprintf(stderr, "%s\n", ctt_errmsg());
    ctt_data_close(&d);
    unlink(path);
    return rc < 0;
}
