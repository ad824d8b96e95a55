/* SPDX-License-Identifier: Apache-2.0
 * lit.c: writes a model that tells dark from bright frames of 8x8 gray bytes,
 * FPS (10) a second, 0: all; between them it sees the background.  LAYERS (0)
 * convolutions that change nothing make it slower, MORE (0) classes that it
 * never sees its answers longer.  With HUGE (0) other than 0 the answer to a
 * frame that is not black is not finite.
 * Usage: lit MODEL.h5 [LAYERS [FPS [MORE [HUGE]]]]. */
#include "net/file/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT = 65536, CHANNELS = 64, CLASSES = 3, MORE = 2000 };

static const char begin[] =
    "input x h=8 w=8 c=1 colour=gray fps=%d mean=0 std=1\n"
    "conv f0 in=x out=64 kernel=3 pad=1\n";
static const char end[] =
    "pool p in=x kind=avg\n"
    "pool o in=f%d kind=avg\n"
    "concat a in=p,o\n"
    "conv y in=a out=%d\n";

/* By class: the answer to black, and the change for white. */
static const float line[CLASSES][2] = { { 10, -40 }, { -30, 40 }, { 0, 0 } };

static void write_text(char *text, int layers, int fps, int more)
{
    size_t n = (size_t)snprintf(text, TEXT, begin, fps);

    for (int i = 1; i <= layers; i++)
        n += (size_t)snprintf(text + n, TEXT - n, "conv f%d in=f%d out=64 "
                              "kernel=3 pad=1\n", i, i - 1);
    snprintf(text + n, TEXT - n, end, layers, CLASSES + more);
}

/* The other weights are small numbers, but the answer is not made of them. */
static void set_weights(struct ctt_model *m, int more, int huge)
{
    const struct ctt_node *y = &m->g->node[ctt_graph_output(m->g)];

    for (int64_t i = 0; i < m->g->weights; i++)
        m->w[i] = (float)(i * 7919 % 13 - 6) * 1e-3f;
    memset(m->w + y->at[0], 0, (size_t)(CLASSES + more) * (1 + CHANNELS) *
                               sizeof(float));
    for (int k = CLASSES; k < CLASSES + more; k++)
        m->w[y->at[1] + k] = -50;
    for (int k = 0; k < CLASSES; k++) {
        m->w[y->at[0] + k * (1 + CHANNELS)] = line[k][1];
        m->w[y->at[1] + k] = line[k][0];
    }
    if (huge)
        m->w[y->at[0] + 1 + CHANNELS] = m->w[y->at[1] + 1] = 3e38f;
}

int main(int argc, char **argv)
{
    static char text[TEXT];
    static char *label[CLASSES + MORE] = {
        "dark", "bright \"one\" $(touch harm)", "Background"
    }, name[MORE][32];
    int layers = argc > 2 ? atoi(argv[2]) : 0;
    int fps = argc > 3 ? atoi(argv[3]) : 10;
    int more = argc > 4 ? atoi(argv[4]) : 0;
    int huge = argc > 5 ? atoi(argv[5]) : 0, rc;
    struct ctt_graph *g = NULL;
    struct ctt_model *m = NULL;

    if (argc < 2 || layers < 0 || layers > 500 || fps < 0 || more < 0 ||
        more > MORE)
        return 99;
    for (int k = 0; k < more; k++) {
        snprintf(name[k], sizeof(name[k]), "never %d", k);
        label[CLASSES + k] = name[k];
    }
    write_text(text, layers, fps, more);
    CTT_TRY(ctt_net_parse(text, &g));
    CTT_TRY(ctt_model_new(g, &m));
    set_weights(m, more, huge);
    CTT_TRY(ctt_model_labels(m, label, CLASSES + more));
    CTT_TRY(ctt_model_save(argv[1], m));
out:
    if (rc < 0)
        fprintf(stderr, "lit: %s\n", ctt_errmsg());
    ctt_model_free(&m);
    return rc < 0;
}
