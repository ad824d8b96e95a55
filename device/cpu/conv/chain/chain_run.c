/* SPDX-License-Identifier: Apache-2.0
 * chain_run.c: chains of convs: a band of all of them in a task. */
#include "device/cpu/conv/chain/chain.h"

#include <assert.h>

/* A conv of a band: its job with the band's shape, its rows, and its input
 * values of a sample. */
struct piece {
    const struct ctt_int8_isa   *isa;
    struct ctt_int8_job          j;
    const struct ctt_chain_band *band;
    char                        *x;
    int64_t                      sample;
};

/* ---- values ---- */

/* Bytes of a pixel in the layout of the values, and of a line. */
static int64_t pixel_bytes(const struct piece *v)
{
    return v->j.pixel * v->isa->bytes;
}

static int64_t line_bytes(const struct piece *v)
{
    return v->j.size[2] * pixel_bytes(v);
}

/* Stored byte of padding: the value 0. */
static int zero_byte(const struct piece *v)
{
    return v->isa->bytes == 1 ? v->j.c->in[0].zero : 0;
}

static void blank_line(const struct piece *v, char *line, int is_there)
{
    int64_t left = v->j.c->node->attr.conv.pad[2] * pixel_bytes(v);
    int64_t n = v->j.in[2] * pixel_bytes(v);

    if (!is_there)
        left = line_bytes(v), n = 0;
    memset(line, zero_byte(v), (size_t)left);
    memset(line + left + n, zero_byte(v), (size_t)(line_bytes(v) - left - n));
}

/* Fills the padding around the values between two convs. */
static void fill_padding(const struct piece *v)
{
    const int *pad = v->j.c->node->attr.conv.pad;
    char *line = v->x;

    for (int64_t d = 0; d < v->j.size[0]; d++)
        for (int64_t h = 0; h < v->band->high; h++, line += line_bytes(v)) {
            int64_t row = v->band->top + h;
            int is_there = d >= pad[0] && d < pad[0] + v->j.in[0] &&
                           row >= 0 && row < v->j.in[1];
            if (!is_there || v->j.size[2] > v->j.in[2])
                blank_line(v, line, is_there);
        }
}

/* Lays out the first conv's values of a band, with their padding. */
static void lay_first(const struct piece *v)
{
    struct ctt_int8_job j = v->j;

    j.x = v->x;
    j.first = v->sample;
    j.top = v->band->from * j.c->node->attr.conv.stride[1];
    j.size[1] = v->band->high;
    for (int64_t l = 0; l < j.size[0] * j.size[1]; l++)
        v->isa->lay(&j, l);
}

/* ---- sums ---- */

/* Address of the window of a row of the result. */
static char *window_at(const struct piece *v, int64_t d, int64_t row)
{
    const int *stride = v->j.c->node->attr.conv.stride;
    int64_t line = d * stride[0];

    if (v->j.x)
        return (char *)v->j.x + ((v->sample * v->j.in[0] + line) *
               v->j.in[1] + row * stride[1]) * v->j.in[2] * pixel_bytes(v);
    line = line * v->band->high + (row - v->band->from) * stride[1];
    return v->x + line * line_bytes(v);
}

/* Address of a row of the values. */
static char *value_row(const struct piece *v, int64_t d, int64_t row)
{
    const int *pad = v->j.c->node->attr.conv.pad;
    int64_t line = (d + pad[0]) * v->band->high + row - v->band->top;

    return v->x + line * line_bytes(v) + pad[2] * pixel_bytes(v);
}

/* Computes n rows of an image's result, into the values of `to`, or into the
 * call's result if it is NULL. */
static void compute(struct piece *v, int64_t d, int64_t row, int64_t n,
                    const struct piece *to)
{
    struct ctt_int8_job *j = &v->j;
    const struct ctt_tensor *y = &j->c->out;

    j->x = window_at(v, d, row);
    j->size[1] = v->band->high;
    j->first_row = ((v->sample * y->d + d) * y->h + row) * y->w;
    j->first_plane = d;
    j->top = row * j->c->node->attr.conv.stride[1];
    j->out[0] = 1;
    j->out[1] = n;
    j->rows = j->chunk = n * y->w;
    j->chunks = 1;
    j->gap = to ? to->j.size[2] - y->w : 0;
    j->to = to ? value_row(to, d, row) - j->first_row / y->w *
                 (y->w + j->gap) * y->ld * ctt_dtype_size(y->dtype) : NULL;
    for (int64_t b = 0; b < j->blocks; b++)
        v->isa->task(j, b, 0);
}

static void compute_band(const struct piece *of, const struct piece *to)
{
    int64_t rows = of->band->to - of->band->from;

    for (int64_t d = 0; d < of->j.c->out.d && rows > 0; d++) {
        struct piece v = *of;
        compute(&v, d, of->band->from, rows, to);
    }
}

/* ---- bands ---- */

static void band_task(void *arg, int64_t at, int who)
{
    const struct ctt_chain *p = arg;
    struct ctt_chain_band band[CTT_CHAIN_CONVS];
    struct piece v[2];
    char *room = p->room + who * p->bytes;
    int64_t high = p->conv[p->convs - 1].job.out[1];
    int64_t from = at % p->bands * p->rows;

    ctt_chain_bands(p, from, from + p->rows < high ? from + p->rows : high,
                    band);
    for (int k = 0; k < p->convs; k++) {
        v[k % 2] = (struct piece){ p->conv[k].isa, p->conv[k].job, &band[k],
                                   room, at / p->bands };
        room += ctt_chain_bytes(p, k, band[k].high);
        if (k > 0) {
            fill_padding(&v[k % 2]);
            compute_band(&v[(k - 1) % 2], &v[k % 2]);
        } else if (!v[0].j.x)
            lay_first(&v[0]);
    }
    assert(room <= p->room + (who + 1) * p->bytes);
    compute_band(&v[(p->convs - 1) % 2], NULL);
}

void ctt_chain_run(struct ctt_dev *d, struct ctt_chain *p)
{
    ctt_dev_tasks(d, p->threads, p->bands * p->conv[0].job.c->in[0].n,
                  band_task, p);
}
