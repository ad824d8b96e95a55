/* SPDX-License-Identifier: Apache-2.0
 * bench_open.c: CPU time and memory of opening a model file, its first frame
 * and later ones: bench_open FILE [THREADS], one thread without THREADS. */
#include "infer/infer.h"
#include "base/clock.h"
#include "tools/shared/measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

enum { FRAMES = 15 };

static double cpu_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static long faults(void)
{
    struct rusage r;

    getrusage(RUSAGE_SELF, &r);
    return r.ru_minflt;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

static int answer(struct ctt_infer *m, struct ctt_session *s,
                  const uint8_t *frame, float *to)
{
    int rc = ctt_session_push(s, frame, 1);

    if (rc < 0)
        return rc;
    return ctt_infer_predicts(m) ? ctt_session_predict(s, 1, to)
                                 : ctt_session_read(s, to);
}

static int measure(const char *path, int threads)
{
    double begin = cpu_ms(), wall = ctt_milliseconds(), ms[FRAMES + 2];
    struct ctt_infer *m = NULL;
    struct ctt_session *s = NULL;
    const struct ctt_infer_input *in;
    uint8_t *frame = NULL;
    float *to = NULL;
    int rc = ctt_infer_open(path, "cpu", threads, &m);

    rc = rc < 0 ? rc : ctt_session_open(m, &s);
    ms[0] = cpu_ms() - begin;
    in = rc < 0 ? NULL : ctt_infer_wants(m);
    if (in) {
        size_t n = (size_t)in->h * (size_t)in->w * (size_t)in->c;
        size_t classes = (size_t)ctt_infer_classes(m);

        frame = calloc(n, 1);
        to = calloc(n > classes ? n : classes, sizeof(*to));
    }
    for (int i = 0; i <= FRAMES && rc >= 0 && frame && to; i++) {
        begin = cpu_ms();
        rc = answer(m, s, frame, to);
        ms[1 + i] = cpu_ms() - begin;
        wall = i ? wall : ctt_milliseconds() - wall;
    }
    if (rc < 0) {
        fprintf(stderr, "%s\n", ctt_infer_error());
    } else {
        qsort(ms + 2, FRAMES, sizeof(*ms), by_size);
        printf("%s: CPU ms: open %.1f, first frame %.1f, frame %.2f; wall ms "
               "to the first answer %.1f; MB: %.1f resident, %.1f at the peak; "
               "%ld minor faults\n", path, ms[0], ms[1], ms[2 + FRAMES / 2],
               wall, ctt_resident_mb(), ctt_peak_mb(), faults());
    }
    free(frame);
    free(to);
    ctt_session_close(&s);
    ctt_infer_close(&m);
    return rc;
}

int main(int argc, char **argv)
{
    int threads = argc == 3 ? atoi(argv[2]) : 1;

    if (argc < 2 || argc > 3 || threads < 1) {
        fprintf(stderr, "usage: bench_open FILE [THREADS]\n");
        return 2;
    }
    return measure(argv[1], threads) < 0;
}
