/* SPDX-License-Identifier: Apache-2.0
 * predict_text.c: the texts of models/mnist-*.net with other frames, and with a
 * conv for each core of a tensor train. */
#include "bench/predict.h"
#include "net/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A layer of Conv-TT-LSTM as its cell expands, but with a conv for each core
 * (order = steps: each sees one past state). */
static void print_cores(FILE *f, const char *n, const char *in, int hidden,
                        int kernel, int order, int rank)
{
    char same[64];

    snprintf(same, sizeof(same), "kernel=1,%d,%d pad=0,%d,%d", kernel, kernel,
             kernel / 2, kernel / 2);
    fprintf(f, "conv %s.zx in=%s out=%d %s\n", n, in, 4 * hidden, same);
    for (int l = 0; l < order; l++) {
        fprintf(f, "state %s.s%d of=%s.q%d like=%s.zx c=%d delay=%d\n"
                "add %s.%c%d in=%s.s%d bias=1\n", n, l, n, l, n, rank,
                order - l, n, l ? 'p' : 'a', l, n, l);
        if (l > 0)
            fprintf(f, "conv %s.a%d in=%s.a%d plus=%s.p%d out=%d %s\n", n, l,
                    n, l - 1, n, l, rank, same);
    }
    fprintf(f, "conv %s.z in=%s.a%d plus=%s.zx out=%d %s bias=0\n"
            "state %s.c1 of=%s.c like=%s.z c=%d\n"
            "lstm %s in=%s.z,%s.c1\ncell %s.c in=%s\n", n, n, order - 1, n,
            4 * hidden, same, n, n, n, hidden, n, n, n, n, n);
    for (int l = 0; l < order; l++)
        fprintf(f, "conv %s.q%d in=%s out=%d %s bias=0\n", n, l, n, rank, same);
}

/* The one conv in these texts is the last layer. */
static void print_line(FILE *f, int size, int channels, int cores,
                       const char *line)
{
    char name[64], in[64];
    int hidden, kernel, order, steps, rank;

    if (sscanf(line, "input %63s", name) == 1)
        fprintf(f, "input %s h=%d w=%d c=%d\n", name, size, size, channels);
    else if (sscanf(line, "conv %63s in=%63s", name, in) == 2)
        fprintf(f, "conv %s in=%s out=%d\n", name, in, channels);
    else if (cores &&
             sscanf(line, "convttlstm %63s in=%63s hidden=%d kernel=%d "
                    "order=%d steps=%d rank=%d", name, in, &hidden, &kernel,
                    &order, &steps, &rank) == 7)
        print_cores(f, name, in, hidden, kernel, order, rank);
    else
        fprintf(f, "%s\n", line);
}

int bench_predict_graph(const char *dir, const char *name, int size,
                        int channels, int cores, struct ctt_graph **out)
{
    char path[1024], *text = NULL, *other = NULL;
    size_t used = 0;
    FILE *f = NULL;
    int rc = 0;

    snprintf(path, sizeof(path), "%s/mnist-%s.net", dir, name);
    CTT_TRY(ctt_net_read(path, &text));
    f = open_memstream(&other, &used);
    CTT_CHECK(f, CTT_ENOMEM, "out of memory");
    for (char *s = text, *next; *s; s = next) {
        next = s + strcspn(s, "\n");
        if (*next)
            *next++ = 0;
        print_line(f, size, channels, cores, s);
    }
    CTT_CHECK(fclose(f) == 0, CTT_ENOMEM, "out of memory");
    CTT_TRY(ctt_net_parse(other, out));
out:
    ctt_free(text);
    free(other);
    return rc;
}
