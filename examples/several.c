/* SPDX-License-Identifier: Apache-2.0
 * several.c: several streams as one batch, which end one after the other:
 *
 *     several MODEL FRAMES...
 *
 * Each operand is a file, FIFO or /dev/fd/N of raw frames as the model wants
 * them (see pipe.c). */
#include <convtt/infer.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 16 };

static struct ctt_infer *m;
static struct ctt_batch *b;

static int fail(const char *what, const char *why)
{
    fprintf(stderr, "several: %s: %s\n", what, why);
    ctt_batch_close(&b);
    ctt_infer_close(&m);
    return 1;
}

static void print_clip(const char *name, long frames, const float *p)
{
    int best = 0;

    for (int i = 1; i < ctt_infer_classes(m); i++)
        best = p[i] > p[best] ? i : best;
    printf("%s\t%ld\t%s\t%.3f\n", name, frames, ctt_infer_class(m, best),
           (double)p[best]);
}

int main(int argc, char **argv)
{
    static FILE *file[MOST];
    static unsigned char *room, *frame[MOST];
    static float *probs[MOST];
    int n = argc - 2, left = n, failed = 0;
    size_t bytes;

    if (n < 1 || n > MOST)
        return fprintf(stderr, "usage: several MODEL FRAMES...\n"), 2;
    if (ctt_infer_open(argv[1], "cpu", 1, &m) < 0 ||
        ctt_batch_open(m, n, &b) < 0)
        return fail(argv[1], ctt_infer_error());
    bytes = (size_t)ctt_infer_wants(m)->h * (size_t)ctt_infer_wants(m)->w *
            (size_t)ctt_infer_wants(m)->c;
    room = calloc((size_t)n, bytes);
    for (int i = 0, stream; i < n; i++) {
        file[i] = fopen(argv[i + 2], "rb");
        probs[i] = calloc((size_t)ctt_infer_classes(m) + 1, sizeof(float));
        if (!room || !probs[i] || !file[i])
            return fail(argv[i + 2], strerror(errno));
        if (ctt_batch_join(b, &stream) < 0)
            return fail(argv[i + 2], ctt_infer_error());
    }
    while (left > 0 && !failed) {
        left = 0;
        for (int i = 0; i < n; i++) {
            frame[i] = room + (size_t)i * bytes;
            if (fread(frame[i], bytes, 1, file[i]) != 1)
                frame[i] = NULL;
            left += frame[i] != NULL;
        }
        if (ctt_batch_push(b, (const uint8_t *const *)frame) < 0)
            failed = fail("push", ctt_infer_error());
    }
    if (!failed && ctt_batch_read(b, probs) < 0)
        failed = fail("read", ctt_infer_error());
    for (int i = 0; i < n && !failed; i++)
        print_clip(argv[i + 2], (long)ctt_batch_frames(b, i), probs[i]);
    ctt_batch_close(&b);
    ctt_infer_close(&m);
    return failed;
}
