/* SPDX-License-Identifier: Apache-2.0
 * mix.c: selects per sample one of two inputs: an observed frame or one that is
 * fed back. */
#include "device/cpu/cpu.h"

#include <string.h>

/* Input of sample i: 0 or 1; 0 without a second input. */
static int chosen_input(const struct ctt_call *c, int64_t i)
{
    return c->in[1].data && *ctt_row(&c->in[2], i) == 0;
}

static void mix_rows(const void *arg, int64_t from, int64_t to)
{
    const struct ctt_call *c = arg;
    int64_t each = ctt_rows(&c->out) / c->out.n;

    for (int64_t r = from; r < to; r++)
        ctt_put(ctt_row(&c->out, r), ctt_row(&c->in[chosen_input(c, r / each)],
                                             r), c->out.c, 0);
}

int K(mix_fwd)(struct ctt_dev *d, const struct ctt_call *c)
{
    ctt_dev_rows(d, (double)ctt_volume(&c->out), ctt_rows(&c->out), mix_rows,
                 c);
    return 0;
}

/* Adds the gradient to the chosen input; the other one gets 0. */
static void pass_gradient(const struct ctt_call *c, int k, int64_t r, int mine)
{
    float *dx = ctt_row(&c->din[k], r);

    if (mine)
        ctt_put(dx, ctt_row(&c->dout, r), c->out.c, c->add >> k & 1);
    else if (!(c->add >> k & 1))
        memset(dx, 0, (size_t)c->out.c * sizeof(float));
}

int K(mix_bwd)(struct ctt_dev *d, const struct ctt_call *c)
{
    int64_t rows = ctt_rows(&c->out), each = rows / c->out.n;

    for (int k = 0; k < 2; k++) {
        if (!c->din[k].data)
            continue;
        PARALLEL(d, ctt_volume(&c->out))
        for (int64_t r = 0; r < rows; r++)
            pass_gradient(c, k, r, chosen_input(c, r / each) == k);
    }
    return 0;
}
