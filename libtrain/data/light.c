/* SPDX-License-Identifier: Apache-2.0
 * light.c: how bright frames are, and the change of that in augmentation. */
#include "libtrain/data/light.h"

#include <math.h>

enum { VALUES = 256 };

/* Neighbours often have one value, and a processor adds to a number only after
 * the last addition to it: so they are counted in WAYS histograms. */
enum { WAYS = 4 };
struct counts { uint32_t n[WAYS][3][VALUES]; };

static void count_row(const uint8_t *p, int pixels, int channels,
                      struct counts *to)
{
    if (channels == 3)
        for (int i = 0; i < pixels; i++, p += 3) {
            to->n[i % WAYS][0][p[0]]++;
            to->n[i % WAYS][1][p[1]]++;
            to->n[i % WAYS][2][p[2]]++;
        }
    else
        for (int i = 0; i < pixels; i++)
            for (int c = 0; c < channels; c++)
                to->n[i % WAYS][c][p[i * channels + c]]++;
}

/* Frames of a clip have less than 2^32 bytes (ctt_frames_fit()). */
void ctt_light_add(struct ctt_light *l, const struct ctt_input *in, int x,
                   int y, const struct ctt_frames *f, int most)
{
    int n = most && f->count > most ? most : f->count;
    size_t row = (size_t)f->w * (size_t)f->c;
    struct counts own = { .n = { { { 0 } } } };

    for (int k = 0; k < n; k++) {
        size_t t = (size_t)((int64_t)k * f->count / n);
        const uint8_t *p = f->data + (t * (size_t)f->h + (size_t)y) * row +
                           (size_t)x * (size_t)f->c;
        for (int r = 0; r < in->h; r++, p += row)
            count_row(p, in->w, in->c, &own);
    }
    for (int k = 0; k < WAYS; k++)
        for (int c = 0; c < 3; c++)
            for (int v = 0; v < VALUES; v++)
                l->n[c][v] += own.n[k][c][v];
}

void ctt_light_join(struct ctt_light *l, const struct ctt_light *other)
{
    for (int c = 0; c < 3; c++)
        for (int v = 0; v < VALUES; v++)
            l->n[c][v] += other->n[c][v];
}

/* Sums of values that are all the same are rounded. */
static const double NOTHING = 1e-9;

/* Mean and deviation of value[v], weighted by how often v occurs. */
static void moments(const struct ctt_light *l, int from, int to,
                    const double value[VALUES], double *mean, double *dev)
{
    double n = 0, sum = 0, squares = 0;

    for (int v = 0; v < VALUES; v++) {
        uint64_t count = 0;
        for (int c = from; c < to; c++)
            count += l->n[c][v];
        n += (double)count;
        sum += (double)count * value[v];
    }
    *mean = n > 0 ? sum / n : 0;
    for (int v = 0; v < VALUES; v++)
        for (int c = from; c < to; c++)
            squares += (double)l->n[c][v] * (value[v] - *mean) *
                       (value[v] - *mean);
    *dev = n > 0 ? sqrt(squares / n) : 0;
    if (*dev < NOTHING)
        *dev = 0;
}

static void plain(const struct ctt_pixels *p, double value[VALUES])
{
    for (int v = 0; v < VALUES; v++)
        value[v] = p->light[v] / (double)CTT_PIXELS_WHITE;
}

void ctt_light_mean(const struct ctt_light *l, const struct ctt_pixels *p,
                    int from, int to, double *mean, double *dev)
{
    double value[VALUES];

    plain(p, value);
    moments(l, from, to, value, mean, dev);
}

double ctt_light_share(const struct ctt_light *l, int from, int to)
{
    uint64_t all = 0, those = 0;

    for (int c = 0; c < 3; c++)
        for (int v = 0; v < VALUES; v++) {
            all += l->n[c][v];
            those += v >= from && v <= to ? l->n[c][v] : 0;
        }
    return all ? (double)those / (double)all : 0;
}

/* The darkest and the brightest value of a clip. */
static void range(const struct ctt_light *l, int *lo, int *hi)
{
    *lo = VALUES - 1;
    *hi = 0;
    for (int c = 0; c < 3; c++)
        for (int v = 0; v < VALUES; v++)
            if (l->n[c][v]) {
                *lo = v < *lo ? v : *lo;
                *hi = v > *hi ? v : *hi;
            }
}

/* Bends values between the clip's darkest and brightest, and sets them back to
 * its mean and deviation. */
static void bend(const struct ctt_light *clip, double power, double mean,
                 double dev, double value[VALUES])
{
    double m, s, least, most;
    int lo, hi;

    range(clip, &lo, &hi);
    least = value[lo];
    most = value[hi];
    if (hi <= lo || most <= least)
        return;
    for (int v = lo; v <= hi; v++)
        value[v] = pow((value[v] - least) / (most - least), power);
    moments(clip, 0, 3, value, &m, &s);
    for (int v = lo; v <= hi; v++)
        value[v] = mean + (value[v] - m) * dev / s;
}

void ctt_tint_values(const struct ctt_light *clip, const struct ctt_pixels *p,
                     const struct ctt_tint *k, double value[256])
{
    double mean, dev;

    plain(p, value);
    moments(clip, 0, 3, value, &mean, &dev);
    if (k->bend != 1)
        bend(clip, (double)k->bend, mean, dev, value);
    for (int v = 0; v < VALUES; v++)
        value[v] = (double)k->gain * (value[v] - mean) + mean +
                   (double)k->shift * dev;
}

void ctt_tint_table(const double value[256], const struct ctt_pixels *p,
                    struct ctt_paint *paint)
{
    for (int c = 0; c < p->in.c; c++)
        for (int v = 0; v < VALUES; v++)
            paint->table[c][v] = (float)((value[v] - (double)p->in.mean[c]) /
                                         (double)p->in.std[c]);
}

void ctt_light_fill(const struct ctt_light *clip, const double value[256],
                    double mean[3])
{
    double dev;

    for (int c = 0; c < 3; c++)
        moments(clip, c, c + 1, value, &mean[c], &dev);
}

void ctt_colour_mix(const struct ctt_input *in, float factor,
                    struct ctt_paint *p)
{
    p->mixed = in->c == 3 && factor != 1;
    for (int c = 0; p->mixed && c < 3; c++) {
        p->add[c] = (factor - 1) * in->mean[c] / in->std[c];
        for (int k = 0; k < 3; k++) {
            float part = (1 - factor) / 3 + (c == k ? factor : 0);
            p->of[c][k] = part * in->std[k] / in->std[c];
            p->add[c] += (1 - factor) / 3 * in->mean[k] / in->std[c];
        }
    }
}
