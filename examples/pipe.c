/* SPDX-License-Identifier: Apache-2.0
 * pipe.c: recognises frames from a pipe:
 *
 *     ffmpeg -i CLIP -vf scale=W:H -f rawvideo -pix_fmt rgb24 - | pipe MODEL
 *
 * Without a model on the left, `pipe MODEL size` prints W and H. */
#include <convtt/infer.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fail(const char *what)
{
    fprintf(stderr, "pipe: %s: %s\n", what, ctt_infer_error());
    return 1;
}

static int print_answer(const struct ctt_infer *m, long frame,
                        const float *probs)
{
    int best = 0;

    for (int i = 1; i < ctt_infer_classes(m); i++)
        best = probs[i] > probs[best] ? i : best;
    return printf("%ld\t%s\t%.3f\n", frame, ctt_infer_class(m, best),
                  (double)probs[best]) < 0 || fflush(stdout);
}

int main(int argc, char **argv)
{
    struct ctt_infer *m = NULL;
    struct ctt_session *s = NULL;
    const struct ctt_infer_input *in;
    unsigned char *frame = NULL;
    float *probs = NULL;
    size_t bytes;
    int failed = 0;

    if (argc < 2)
        return fprintf(stderr, "usage: pipe MODEL [size] < FRAMES\n"), 2;
    if (ctt_infer_open(argv[1], "cpu", 1, &m) < 0)
        return fail(argv[1]);
    in = ctt_infer_wants(m);
    if (argc > 2 && strcmp(argv[2], "size") == 0) {
        printf("%d %d\n", in->w, in->h);
        ctt_infer_close(&m);
        return 0;
    }
    bytes = (size_t)in->h * (size_t)in->w * (size_t)in->c;
    frame = malloc(bytes);
    probs = malloc(sizeof(*probs) * (size_t)(ctt_infer_classes(m) + 1));
    if (!frame || !probs || ctt_session_open(m, &s) < 0)
        failed = fail("no session");
    while (!failed && fread(frame, bytes, 1, stdin) == 1) {
        if (ctt_session_push(s, frame, 1) < 0 ||
            ctt_session_read(s, probs) < 0)
            failed = fail("frame");
        else
            failed = print_answer(m, (long)ctt_session_frames(s), probs);
    }
    ctt_session_close(&s);
    ctt_infer_close(&m);
    free(frame);
    free(probs);
    return failed;
}
