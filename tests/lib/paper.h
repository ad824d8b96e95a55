/* SPDX-License-Identifier: Apache-2.0
 * paper.h: recurrent cells as the papers write them: a ring of past states, a
 * convolution per core over the states of its time window, a convolution for
 * all gates.  Tests compare the cells of the model language with them. */
#ifndef CTT_TEST_PAPER_H
#define CTT_TEST_PAPER_H

enum { MOST_STEPS = 9, MOST_CORES = 4 };

/* order 0: a ConvLSTM. */
struct cell {
    const char *word;
    int h, w, in, hidden, kernel, order, steps, rank, frames;
};

/* A convolution that keeps the size: kernel w[out][k][k][in] and biases b[out],
 * where they begin among the parameters. */
struct conv { int in, out, w, b; };

struct paper {
    struct cell c;
    int         lags, pixels, params;
    struct conv gates, core[MOST_CORES], chain[MOST_CORES];
    double     *p, *dp;    /* parameters, and their gradient */
};

/* The values of a step for the backward pass; gradients have the same
 * arrays. */
struct step {
    double *x, *h, *c, *z;             /* input, states, gates */
    double *seen[MOST_CORES];          /* a core's past states, concatenated */
    double *a[MOST_CORES];             /* results of the cores up to this one */
    double *xs;                        /* the input and the last a or state */
};

/* The steps of one sample, from s[1]; s[0] is the state before the first. */
struct tape {
    struct step s[MOST_STEPS + 1];
    double     *block;
};

/* -1: no memory. */
int  ctt_paper_open(struct paper *m, const struct cell *c);
void ctt_paper_close(struct paper *m);

int  ctt_tape_open(const struct paper *m, struct tape *t);
void ctt_tape_close(struct tape *t);

/* From the x of all steps. */
void ctt_paper_forward(struct paper *m, struct tape *t);

/* d holds the gradient of every h, else zeros; adds to dp. */
void ctt_paper_backward(struct paper *m, const struct tape *t, struct tape *d);

#endif
