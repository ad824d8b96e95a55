/* SPDX-License-Identifier: Apache-2.0
 * widen_window.c: the window op on numbers of 16 bits.  A window looks at a few
 * steps of a long history, so it makes no float copy of that. */
#include "device/cpu/cast.h"
#include "device/cpu/cpu.h"
#include "device/cpu/widen.h"
#include "base/half.h"

#include <omp.h>

/* Address of row r at step `at` of a tensor that has all steps. */
static void *row_at(const struct ctt_call *c, const struct ctt_tensor *t,
                    int64_t at, int64_t r)
{
    return (char *)t->data +
           (at * c->stride + r * t->ld) * ctt_dtype_size(t->dtype);
}

/* Step shown by image k of the result. */
static int64_t image_place(const struct ctt_call *c, int64_t k)
{
    return ctt_window_at(&c->node->attr.window, &c->place, k % c->out.d,
                         c->ask[k / c->out.d].step);
}

/* Converts n numbers from one type to another. */
static void convert_run(const struct ctt_cast *f, enum ctt_dtype from,
                        const void *x, enum ctt_dtype to, void *y, int64_t n)
{
    int64_t a = ctt_dtype_size(from), b = ctt_dtype_size(to);
    float v[CTT_PIECE];

    if (from == to) {
        memcpy(y, x, (size_t)(n * a));
        return;
    }
    for (int64_t j = 0; j < n; j += CTT_PIECE) {
        int64_t len = ctt_piece(n, j);
        f->from(from, (const char *)x + j * a, v, len);
        f->to(v, to, (char *)y + j * b, len);
    }
}

struct gathering { const struct ctt_cast *f; const struct ctt_call *c; };

static void gather_images(const void *arg, int64_t from, int64_t last)
{
    const struct ctt_cast *f = ((const struct gathering *)arg)->f;
    const struct ctt_call *c = ((const struct gathering *)arg)->c;
    const struct ctt_tensor *x = &c->in[0], *y = &c->out;
    int64_t area = y->h * y->w, size = ctt_dtype_size(y->dtype);
    int64_t once = x->ld == y->c && y->ld == y->c ? area : 1;

    for (int64_t k = from; k < last; k++) {
        int64_t at = image_place(c, k);
        int64_t first = c->ask[k / y->d].sample * area;
        for (int64_t r = 0; r < area; r += once) {
            char *to = (char *)y->data + (k * area + r) * y->ld * size;
            if (at == CTT_WINDOW_NONE)
                memset(to, ctt_is_bytes(y) ? y->zero : 0,
                       (size_t)(once * y->c * size));
            else
                convert_run(f, x->dtype, row_at(c, x, at, first + r), y->dtype,
                            to, once * y->c);
        }
    }
}

static int window_forward(struct ctt_dev *d, const struct ctt_call *c)
{
    ctt_dev_rows(d, (double)ctt_volume(&c->out) / 2, c->out.n * c->out.d,
                 gather_images, &(struct gathering){ ctt_cast_of(d), c });
    return 0;
}

/* Sums of one pixel for every sample and step, contiguous for a step, and flags
 * of the nonempty ones. */
struct sums {
    int64_t samples, count;
    float  *sum;
    char   *hit;
};

/* Adds a pixel's gradients of all asks, several of which may show one step. */
static void add_pixel(const struct ctt_cast *f, const struct ctt_call *c,
                      int64_t r, const struct sums *s)
{
    const struct ctt_tensor *dx = &c->din[0], *dy = &c->dout;
    int64_t area = c->out.h * c->out.w, n = c->out.c;
    int64_t size = ctt_dtype_size(dy->dtype);
    float v[CTT_PIECE];

    for (int64_t k = 0; k < c->out.n * c->out.d; k++) {
        int64_t place = image_place(c, k), sample = c->ask[k / c->out.d].sample;
        int64_t at;
        const char *from = (const char *)dy->data +
                           (k * area + r) * dy->ld * size;
        if (place == CTT_WINDOW_NONE)
            continue;
        at = (place - ctt_window_first(&c->place)) * s->samples + sample;
        if (!s->hit[at])
            f->from(dx->dtype, row_at(c, dx, place, sample * area + r),
                    s->sum + at * n, n);
        s->hit[at] = 1;
        for (int64_t j = 0; j < n; j += CTT_PIECE) {
            int64_t len = ctt_piece(n, j);
            f->from(dy->dtype, from + j * size, v, len);
            ctt_put(s->sum + at * n + j, v, len, 1);
        }
    }
}

static void round_pixel(const struct ctt_cast *f, const struct ctt_call *c,
                        int64_t r, const struct sums *s)
{
    const struct ctt_tensor *dx = &c->din[0];
    int64_t area = c->out.h * c->out.w, n = c->out.c;

    for (int64_t at = 0; at < s->count; at++)
        if (s->hit[at])
            f->to(s->sum + at * n, dx->dtype,
                  row_at(c, dx, ctt_window_first(&c->place) +
                         at / s->samples, at % s->samples * area + r), n);
    memset(s->hit, 0, (size_t)s->count);
}

/* Count of samples times steps that a gradient may reach. */
static int64_t places(const struct ctt_call *c)
{
    int64_t first = ctt_window_first(&c->place), last = first;

    for (int64_t i = 0; i < c->out.n; i++)
        last = c->ask[i].step > last ? c->ask[i].step : last;
    return (last - first + 1) * c->din[0].n;
}

static int window_backward(struct ctt_dev *d, const struct ctt_call *c)
{
    const struct ctt_cast *f = ctt_cast_of(d);
    int64_t count = places(c), area = c->out.h * c->out.w;
    int64_t floats = ctt_align(count * c->out.c, 16);
    int64_t each = floats * (int64_t)sizeof(float) + ctt_align(count, 64);
    char *room;

    if (!c->din[0].data)
        return 0;
    room = ctt_widen_scratch(d, (size_t)(each * d->threads));
    if (!room)
        return CTT_ENOMEM;
    memset(room, 0, (size_t)(each * d->threads));
    PARALLEL(d, ctt_volume(&c->out))
    for (int64_t r = 0; r < area; r++) {
        char *mine = room + omp_get_thread_num() * each;
        struct sums s = { c->din[0].n, count, (float *)(void *)mine,
                          mine + floats * (int64_t)sizeof(float) };
        add_pixel(f, c, r, &s);
        round_pixel(f, c, r, &s);
    }
    return 0;
}

int ctt_widen_window(struct ctt_dev *d, const struct ctt_call *c,
                     enum ctt_pass pass)
{
    return pass == CTT_FWD ? window_forward(d, c) : window_backward(d, c);
}
