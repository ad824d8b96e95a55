/* SPDX-License-Identifier: Apache-2.0
 * paper.c: recurrent cells as the papers write them (Shi et al. 2015, Su et
 * al. 2020), slow and literal, in double, forward and back. */
#include "tests/lib/paper.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int set_conv(struct conv *v, int in, int out, int kernel, int at)
{
    v->in = in;
    v->out = out;
    v->w = at;
    v->b = at + out * kernel * kernel * in;
    return v->b + out;
}

int ctt_paper_open(struct paper *m, const struct cell *c)
{
    int at, wide = c->order ? c->rank : c->hidden;

    memset(m, 0, sizeof(*m));
    m->c = *c;
    m->lags = c->steps - c->order + 1;
    m->pixels = c->h * c->w;
    at = set_conv(&m->gates, c->in + wide, 4 * c->hidden, c->kernel, 0);
    for (int l = 0; l < c->order; l++)
        at = set_conv(&m->core[l], m->lags * c->hidden, c->rank, c->kernel, at);
    for (int l = 1; l < c->order; l++)
        at = set_conv(&m->chain[l], c->rank, c->rank, c->kernel, at);
    m->params = at;
    m->p = calloc((size_t)at, sizeof(double));
    m->dp = calloc((size_t)at, sizeof(double));
    return m->p && m->dp ? 0 : -1;
}

void ctt_paper_close(struct paper *m)
{
    free(m->p);
    free(m->dp);
}

/* With back = 0 a function adds to y; with back = 1 it adds to dx and to the
 * gradient of the parameters, given dy = y. */
static void conv_at(struct paper *m, const struct conv *v, int back, int pixel,
                    int tap, const double *x, double *y, double *dx)
{
    int k = m->c.kernel, r = pixel / m->c.w + tap / k - k / 2;
    int s = pixel % m->c.w + tap % k - k / 2;

    if (r < 0 || r >= m->c.h || s < 0 || s >= m->c.w)
        return;
    x += (r * m->c.w + s) * v->in;
    if (dx)
        dx += (r * m->c.w + s) * v->in;
    for (int o = 0; o < v->out; o++) {
        int at = v->w + (o * k * k + tap) * v->in;
        for (int i = 0; i < v->in && !back; i++)
            y[o] += m->p[at + i] * x[i];
        for (int i = 0; i < v->in && back; i++) {
            m->dp[at + i] += y[o] * x[i];
            dx[i] += y[o] * m->p[at + i];
        }
    }
}

static void convolve(struct paper *m, const struct conv *v, int back,
                     const double *x, double *y, double *dx)
{
    int taps = m->c.kernel * m->c.kernel;

    for (int p = 0; p < m->pixels; p++, y += v->out) {
        for (int o = 0; o < v->out; o++) {
            if (back)
                m->dp[v->b + o] += y[o];
            else
                y[o] += m->p[v->b + o];
        }
        for (int tap = 0; tap < taps; tap++)
            conv_at(m, v, back, p, tap, x, y, dx);
    }
}

/* Channels from .. from + n - 1 of `wide` are the n of `narrow`: written there,
 * or (back) added to narrow. */
static void copy_channels(const struct paper *m, double *wide, int in, int from,
                          double *narrow, int n, int back)
{
    for (int p = 0; p < m->pixels; p++)
        for (int i = 0; i < n; i++) {
            double *a = wide + p * in + from + i, *b = narrow + p * n + i;
            if (back)
                *b += *a;
            else
                *a = *b;
        }
}

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

/* Gates i, f, o, g of pixel p, channel j. */
static void gate(const struct paper *m, const double *z, int p, int j,
                 double g[4])
{
    for (int k = 0; k < 4; k++) {
        double v = z[(p * 4 + k) * m->c.hidden + j];
        g[k] = k < 3 ? sigmoid(v) : tanh(v);
    }
}

static void update_state(const struct paper *m, struct step *s,
                         const double *old)
{
    for (int p = 0; p < m->pixels; p++)
        for (int j = 0; j < m->c.hidden; j++) {
            int at = p * m->c.hidden + j;
            double g[4];
            gate(m, s->z, p, j, g);
            s->c[at] = g[1] * old[at] + g[0] * g[3];
            s->h[at] = g[2] * tanh(s->c[at]);
        }
}

static void update_back(const struct paper *m, const struct step *s,
                        const double *old, struct step *d, double *dold)
{
    for (int p = 0; p < m->pixels; p++)
        for (int j = 0; j < m->c.hidden; j++) {
            int at = p * m->c.hidden + j;
            double g[4], t = tanh(s->c[at]), dc;
            double *dz = d->z + p * 4 * m->c.hidden + j;
            gate(m, s->z, p, j, g);
            dc = d->c[at] + d->h[at] * g[2] * (1 - t * t);
            dz[0] = dc * g[3] * g[0] * (1 - g[0]);
            dz[m->c.hidden] = dc * old[at] * g[1] * (1 - g[1]);
            dz[2 * m->c.hidden] = d->h[at] * t * g[2] * (1 - g[2]);
            dz[3 * m->c.hidden] = dc * g[0] * (1 - g[3] * g[3]);
            dold[at] += dc * g[1];
        }
}

static double *next_block(double **block, int floats)
{
    double *p = *block;

    *block += floats;
    return p;
}

int ctt_tape_open(const struct paper *m, struct tape *t)
{
    int px = m->pixels, hid = m->c.hidden, all = (m->c.frames + 1) * px *
        (m->c.in + 6 * hid + m->gates.in +
         m->c.order * (m->lags * hid + m->c.rank));
    double *b = calloc((size_t)all, sizeof(double));

    t->block = b;
    for (int i = 0; b && i <= m->c.frames; i++) {
        struct step *s = &t->s[i];
        s->x = next_block(&b, px * m->c.in);
        s->h = next_block(&b, px * hid);
        s->c = next_block(&b, px * hid);
        s->z = next_block(&b, px * 4 * hid);
        s->xs = next_block(&b, px * m->gates.in);
        for (int l = 0; l < m->c.order; l++) {
            s->seen[l] = next_block(&b, px * m->lags * hid);
            s->a[l] = next_block(&b, px * m->c.rank);
        }
    }
    return t->block ? 0 : -1;
}

void ctt_tape_close(struct tape *t)
{
    free(t->block);
}

/* Core l reads the states ring[(oldest + l + 0 .. lags - 1) % steps]: the first
 * core the oldest ones, each next core one step later. */
static const double *cores(struct paper *m, struct step *s, double *const *ring,
                           int oldest)
{
    int n = m->c.order;

    for (int l = 0; l < n; l++) {
        for (int i = 0; i < m->lags; i++)
            copy_channels(m, s->seen[l], m->core[l].in, i * m->c.hidden,
                          ring[(oldest + l + i) % m->c.steps], m->c.hidden, 0);
        convolve(m, &m->core[l], 0, s->seen[l], s->a[l], NULL);
        if (l > 0)
            convolve(m, &m->chain[l], 0, s->a[l - 1], s->a[l], NULL);
    }
    return n ? s->a[n - 1] : NULL;
}

void ctt_paper_forward(struct paper *m, struct tape *t)
{
    double *ring[16];
    int wide = m->gates.in - m->c.in;

    for (int i = 0; i < m->c.steps; i++)
        ring[i] = t->s[0].h;
    for (int i = 1; i <= m->c.frames; i++) {
        struct step *s = &t->s[i];
        int oldest = m->c.order ? (i - 1) % m->c.steps : 0;
        const double *a = cores(m, s, ring, oldest);

        copy_channels(m, s->xs, m->gates.in, 0, s->x, m->c.in, 0);
        copy_channels(m, s->xs, m->gates.in, m->c.in, a ? (double *)a : s[-1].h,
                      wide, 0);
        convolve(m, &m->gates, 0, s->xs, s->z, NULL);
        update_state(m, s, s[-1].c);
        if (m->c.order)
            ring[oldest] = s->h;
    }
}

/* Backward pass of the states that core l read in step i, to the steps that
 * computed them. */
static void cores_back(struct paper *m, const struct tape *t, struct tape *d,
                       int i)
{
    for (int l = m->c.order - 1; l >= 0; l--) {
        struct step *s = (struct step *)&t->s[i], *e = &d->s[i];

        if (l > 0)
            convolve(m, &m->chain[l], 1, s->a[l - 1], e->a[l], e->a[l - 1]);
        convolve(m, &m->core[l], 1, s->seen[l], e->a[l], e->seen[l]);
        for (int k = 0; k < m->lags; k++) {
            int when = i - m->c.steps + l + k;
            copy_channels(m, e->seen[l], m->core[l].in, k * m->c.hidden,
                          d->s[when < 0 ? 0 : when].h, m->c.hidden, 1);
        }
    }
}

void ctt_paper_backward(struct paper *m, const struct tape *t, struct tape *d)
{
    int wide = m->gates.in - m->c.in, n = m->c.order;

    for (int i = m->c.frames; i > 0; i--) {
        struct step *e = &d->s[i];

        update_back(m, &t->s[i], t->s[i - 1].c, e, e[-1].c);
        convolve(m, &m->gates, 1, t->s[i].xs, e->z, e->xs);
        copy_channels(m, e->xs, m->gates.in, m->c.in, n ? e->a[n - 1] : e[-1].h,
                      wide, 1);
        cores_back(m, t, d, i);
    }
}
