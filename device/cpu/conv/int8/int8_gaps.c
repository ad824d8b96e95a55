/* SPDX-License-Identifier: Apache-2.0
 * int8_gaps.c: a dilated conv of quantised values as one whose kernel has zeros
 * between its taps, which changes no sum of whole numbers. */
#include "device/cpu/conv/int8/int8_job.h"
#include "net/op.h"

#include <string.h>

/* Most taps and zeros for each tap.  (3x3 taps, 64 channels, 56 x 56 pixels,
 * AVX2, one thread: direct sums take 37 ms, in 64 groups 99; with 2.8 times the
 * taps kernels take 13 ms and 2.5.) */
enum { MOST = 8, MOST_GROUPED = 64 };

/* The call with such a kernel, which has no numbers yet; node: its own. */
static struct ctt_call filled_shape(const struct ctt_call *c,
                                    struct ctt_node *node)
{
    struct ctt_slide s = ctt_slide_of(c->node);
    struct ctt_call f = *c;
    int64_t span[3];

    *node = *c->node;
    for (int i = 0; i < 3; i++) {
        span[i] = ctt_slide_span(&s, i);
        node->attr.conv.kernel[i] = (int)span[i];
        node->attr.conv.dilation[i] = 1;
    }
    f.node = node;
    f.w[0].t.d = span[0];
    f.w[0].t.h = span[1];
    f.w[0].t.w = span[2];
    f.w[0].t.data = NULL;
    f.w[0].keep = f.w[0].share = NULL;
    return f;
}

int ctt_int8_may_fill(const struct ctt_call *c)
{
    struct ctt_node node;
    struct ctt_call f = filled_shape(c, &node);
    int64_t most = ctt_call_groups(c) > 1 ? MOST_GROUPED : MOST;

    return ctt_volume(&f.w[0].t) <= most * ctt_volume(&c->w[0].t) &&
           ctt_int8_best(&f);
}

/* Copies the taps of one output channel. */
static void fill_channel(const struct ctt_node *n, const struct ctt_tensor *w,
                         const struct ctt_tensor *to, int64_t o)
{
    const int *apart = n->attr.conv.dilation;
    const float *from = (const float *)w->data + o * ctt_volume(w) / w->n;
    float *y = (float *)to->data + o * ctt_volume(to) / to->n;

    for (int64_t t = 0; t < w->d * w->h * w->w; t++) {
        int64_t d = t / w->w / w->h * apart[0], h = t / w->w % w->h * apart[1];
        int64_t k = t % w->w * apart[2];

        memcpy(y + ((d * to->h + h) * to->w + k) * w->c, from + t * w->c,
               (size_t)w->c * sizeof(*y));
    }
}

int ctt_int8_fill(const struct ctt_call *c, struct ctt_int8_gaps *g,
                  struct ctt_call *out)
{
    struct ctt_tensor *to = &out->w[0].t;

    *out = filled_shape(c, &g->node);
    if (!g->w)
        g->w = ctt_calloc((size_t)ctt_volume(to), sizeof(*g->w));
    if (!g->w)
        return ctt_error(CTT_ENOMEM, "%s: out of memory", c->node->name);
    to->data = g->w;
    if (g->stamp == c->stamp && c->stamp)
        return 0;
    if (ctt_call_lacks(c))
        return CTT_CONV_LACKS;
    for (int64_t o = 0; o < to->n; o++)
        fill_channel(c->node, &c->w[0].t, to, o);
    g->stamp = c->stamp;
    return 0;
}
