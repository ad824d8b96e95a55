/* SPDX-License-Identifier: Apache-2.0
 * render.c: a frame as a model reads it, of the bytes of a stored one. */
#include "device/cpu/cpu.h"
#include "device/render.h"

/* A pixel and one number more. */
typedef float render_four __attribute__((vector_size(16)));

/* The pixels that a side reads; *most: those of a pixel. */
static struct ctt_taps render_reach(const struct ctt_taps *r, int to,
                                     int *most)
{
    int from = r[0].from, end = 0;

    *most = 1;
    for (int i = 0; i < to; i++) {
        from = r[i].from < from ? r[i].from : from;
        end = r[i].from + r[i].n > end ? r[i].from + r[i].n : end;
        *most = r[i].n > *most ? r[i].n : *most;
    }
    return (struct ctt_taps){ from, end - from };
}

/* The numbers of a row.  Vectorised, addresses go through vector registers,
 * which takes longer. */
#ifndef __clang__
#pragma GCC push_options
#pragma GCC optimize("no-tree-vectorize")
#endif
static void render_bytes(const struct ctt_render *r, const uint8_t *p,
                         int pixels, float *restrict to)
{
    const float (*table)[256] = r->paint->table;

    if (r->c == 1)
        for (int i = 0; i < pixels; i++)
            to[i] = table[0][p[i]];
    else
        for (int i = 0; i < pixels * 3; i += 3) {
            to[i] = table[0][p[i]];
            to[i + 1] = table[1][p[i + 1]];
            to[i + 2] = table[2][p[i + 2]];
        }
}

#ifndef __clang__
#pragma GCC pop_options
#endif

/* The weighed sum of n rows, `apart` floats from each other. */
static void render_rows(const float *w, int n, const float *from,
                        int64_t apart, int floats, float *restrict to)
{
    if (n == 2) {
        SIMD
        for (int i = 0; i < floats; i++)
            to[i] = w[0] * from[i] + w[1] * from[i + apart];
        return;
    }
    SIMD
    for (int i = 0; i < floats; i++)
        to[i] = w[0] * from[i];
    for (int j = 1; j < n; j++)
        SIMD
        for (int i = 0; i < floats; i++)
            to[i] += w[j] * from[j * apart + i];
}

static render_four render_load(const float *p)
{
    render_four v;

    memcpy(&v, p, sizeof(v));
    return v;
}

/* The mix of a pixel's channels, as columns. */
struct render_mix { render_four of[3], add; };

static struct render_mix render_mix_of(const struct ctt_paint *p)
{
    struct render_mix m;

    for (int k = 0; k < 3; k++)
        m.of[k] = (render_four){ p->of[0][k], p->of[1][k], p->of[2][k] };
    m.add = (render_four){ p->add[0], p->add[1], p->add[2] };
    return m;
}

static inline render_four render_mixed(const struct render_mix *m,
                                       render_four v)
{
    return m->of[0] * v[0] + m->of[1] * v[1] + m->of[2] * v[2] + m->add;
}

/* A pixel is the weighed sum of n of a row; behind those that count weights are
 * 0.  Constant arguments make it code without branches. */
static inline __attribute__((always_inline)) render_four
render_pixel(const float *w, int n, const float *from,
             const struct render_mix *m, int mixed)
{
    render_four v = w[0] * render_load(from);

    for (int j = 1; j < n; j++)
        v += w[j] * render_load(from + 3 * j);
    return mixed ? render_mixed(m, v) : v;
}

static inline __attribute__((always_inline)) void
render_pixels(const struct ctt_render *r, int n, int mixed, const float *row,
              float *restrict out)
{
    const struct render_mix m = render_mix_of(r->paint);
    const struct ctt_taps *reach = r->x;
    const float *w = r->wx;
    int most = r->most_x, last = r->w - 1;
    render_four v;

    for (int x = 0; x < last; x++, w += most, out += 3) {
        v = render_pixel(w, n, row + reach[x].from * 3, &m, mixed);
        memcpy(out, &v, sizeof(v));    /* and a number that is overwritten */
    }
    v = render_pixel(w, n, row + reach[last].from * 3, &m, mixed);
    memcpy(out, &v, 3 * sizeof(*out));
}

/* A row of the result, each pixel of at most n of a row. */
static void render_colour(const struct ctt_render *r, int n, const float *row,
                          float *out)
{
    if (n == 2 && r->paint->mixed)
        render_pixels(r, 2, 1, row, out);
    else if (n == 3 && r->paint->mixed)
        render_pixels(r, 3, 1, row, out);
    else if (n == 2)
        render_pixels(r, 2, 0, row, out);
    else
        render_pixels(r, n, r->paint->mixed, row, out);
}

static void render_gray(const struct ctt_render *r, int n, const float *row,
                        float *out)
{
    for (int x = 0; x < r->w; x++) {
        const float *w = r->wx + x * r->most_x;
        float sum = w[0] * row[r->x[x].from];

        for (int j = 1; j < n; j++)
            sum += w[j] * row[r->x[x].from + j];
        out[x] = sum;
    }
}

/* The part of row y that is filled. */
static void render_fill(const struct ctt_render *r, int y, float *out)
{
    const struct ctt_paint *p = r->paint;
    const struct render_mix m = render_mix_of(p);
    render_four v = { p->fill[0], p->fill[1], p->fill[2] };

    if (y < p->y || y >= p->y + p->h)
        return;
    if (p->mixed)
        v = render_mixed(&m, v);
    for (int i = p->x * r->c; i < (p->x + p->w) * r->c; i++)
        out[i] = v[i % r->c];
}

void K(render)(const struct ctt_render *r, const uint8_t *data, float *room,
               float *out)
{
    int most_x, most_y, shown = 0;
    struct ctt_taps x = render_reach(r->x, r->w, &most_x);
    struct ctt_taps y = render_reach(r->y, r->h, &most_y);
    int floats = x.n * r->c, behind = most_x * 3 + 1;
    float *row = room, *seen = room + floats + behind;

    memset(row + floats, 0, (size_t)behind * sizeof(*row));
    for (int i = 0; i < r->h; i++, out += r->w * r->c) {
        int from = r->y[i].from - y.from;

        for (; shown < from + r->y[i].n; shown++)
            render_bytes(r, data + ((int64_t)(y.from + shown) * r->stored_w +
                                    x.from) * r->c, x.n,
                         seen + (int64_t)shown * floats);
        render_rows(r->wy + i * r->most_y, r->y[i].n,
                    seen + (int64_t)from * floats, floats, floats, row);
        (r->c == 1 ? render_gray : render_colour)(r, most_x, row - x.from *
                                                  r->c, out);
        render_fill(r, i, out);
    }
}
