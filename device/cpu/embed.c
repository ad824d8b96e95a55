/* SPDX-License-Identifier: Apache-2.0
 * embed.c: a row of a table for each symbol. */
#include "device/cpu/cpu.h"

#include <string.h>

/* The number of the symbol of a row, which check_symbols() found in the
 * table. */
static int64_t symbol_of(const struct ctt_call *c, int64_t r)
{
    return (int64_t)*ctt_row(&c->in[0], r);
}

static int check_symbols(const struct ctt_call *c)
{
    int64_t rows = ctt_rows(&c->in[0]);
    int vocab = c->node->attr.embed.vocab, rc = 0;

    for (int64_t r = 0; r < rows; r++) {
        float x = *ctt_row(&c->in[0], r);
        CTT_CHECK(x >= 0 && x < (float)vocab, CTT_EINVAL,
                  "%s: no symbol %g among %d", c->node->name, (double)x, vocab);
    }
out:
    return rc;
}

static void look_up(const void *arg, int64_t from, int64_t to)
{
    const struct ctt_call *c = arg;
    const float *table = c->w[0].t.data;

    for (int64_t r = from; r < to; r++)
        memcpy(ctt_row(&c->out, r), table + symbol_of(c, r) * c->out.c,
               (size_t)c->out.c * sizeof(float));
}

int K(embed_fwd)(struct ctt_dev *d, const struct ctt_call *c)
{
    int rc;

    CTT_TRY(check_symbols(c));
    ctt_dev_rows(d, (double)ctt_volume(&c->out) / 2, ctt_rows(&c->out),
                 look_up, c);
out:
    return rc;
}

/* Adds the gradients of some channels of all rows, in their order: symbols may
 * be equal, so threads share channels. */
static void sum_channels(const struct ctt_call *c, int64_t from, int64_t to)
{
    int64_t rows = ctt_rows(&c->dout);

    for (int64_t r = 0; r < rows; r++) {
        float *dw = (float *)c->dw[0].data + symbol_of(c, r) * c->out.c;
        const float *dy = ctt_row(&c->dout, r);

        SIMD for (int64_t j = from; j < to; j++)
            dw[j] += dy[j];
    }
}

/* Its input has no gradient (ctt_shape_embed()). */
int K(embed_bwd)(struct ctt_dev *d, const struct ctt_call *c)
{
    enum { EACH = 16 };
    int64_t parts = (c->out.c + EACH - 1) / EACH;

    if (!c->dw[0].data)
        return 0;
    PARALLEL(d, ctt_volume(&c->dout) / 2)
    for (int64_t k = 0; k < parts; k++)
        sum_channels(c, k * EACH,
                     (k + 1) * EACH < c->out.c ? (k + 1) * EACH : c->out.c);
    return 0;
}
