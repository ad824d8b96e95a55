/* SPDX-License-Identifier: Apache-2.0
 * map_data.c: the maps of a set of clips in memory, and as frames of bytes. */
#include "libtrain/recognise/map_data.h"
#include "base/half.h"
#include "libtrain/data/load.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Takes the maps of some frames of a clip. */
static void take_maps(void *arg, int clip, int k, int from, int n,
                      const float *x)
{
    struct ctt_map_set *s = arg;
    int64_t size = ctt_map_size(&s->map[k]);

    for (int t = 0; t < n; t++) {
        uint16_t *to = (uint16_t *)(void *)s->clip[clip] +
                       (from + t) * s->each + s->at[k];

        for (int64_t i = 0; i < size; i++)
            to[i] = ctt_f16_of(x[t * size + i]);
    }
}

static int hold_maps(struct ctt_map_set *s, int batch)
{
    const struct ctt_data *d = s->d;
    int64_t bytes = ctt_data_all_frames(d) * s->each * 2;
    int rc;

    CTT_TRY(ctt_memory_check("the maps of all clips and those of three "
                             "batches, which --head=conv is trained on,",
                             bytes + ctt_loader_bytes(s->each, batch,
                                                      d->longest)));
    s->clip = ctt_calloc((size_t)d->clips, sizeof(*s->clip));
    s->step = ctt_calloc((size_t)s->each, sizeof(*s->step));
    CTT_TRY(s->clip && s->step ? 0 : CTT_ENOMEM);
    for (int i = 0; i < d->clips; i++) {
        s->clip[i] = ctt_calloc((size_t)(d->clip[i].length * s->each), 2);
        CTT_TRY(s->clip[i] ? 0 : CTT_ENOMEM);
    }
out:
    return rc;
}

int ctt_map_set_open(struct ctt_map_set *s, const struct ctt_data *d,
                     const struct ctt_graph *g, int batch)
{
    int rc = 0;

    s->d = d;
    s->tap.take = take_maps;
    s->tap.arg = s;
    for (int k = 0; k < s->tap.maps; k++) {
        int state = ctt_graph_find(g, s->tap.state[k]);
        const struct ctt_node *n = &g->node[g->node[state].source];
        struct ctt_map *m = &s->map[k];

        *m = (struct ctt_map){ .d = n->out.d, .h = n->out.h, .w = n->out.w,
                               .c = n->out.c };
        snprintf(m->name, sizeof(m->name), "%s", n->name);
        s->at[k] = s->each;
        s->each += ctt_map_size(m);
    }
    CTT_CHECK(s->each <= CTT_MAX_SIZE, CTT_EUNSUP, "--head=conv: the maps of "
              "--nodes have %lld numbers a frame, more than %d: leave out the "
              "largest", (long long)s->each, CTT_MAX_SIZE);
    CTT_TRY(hold_maps(s, batch));
out:
    return rc;
}

void ctt_map_set_close(struct ctt_map_set *s)
{
    for (int i = 0; s->clip && i < s->d->clips; i++)
        ctt_free(s->clip[i]);
    ctt_free(s->clip);
    ctt_free(s->step);
    s->clip = NULL;
    s->step = NULL;
}

/* ---- bytes ---- */

/* Of a channel: the range of its numbers, and the sum of the squares of their
 * changes. */
struct spread { float least, most; double square; };

/* Adds a clip's numbers, of which the channel of number i is of[i]. */
static void spread_clip(const struct ctt_map_set *s, int clip, const int *of,
                     struct spread *spread, int *finite)
{
    const uint16_t *half = (const uint16_t *)(const void *)s->clip[clip];
    int64_t n = s->d->clip[clip].length * s->each;

    for (int64_t at = 0; at < n; at++) {
        struct spread *p = &spread[of[at % s->each]];
        float x = ctt_of_f16(half[at]);

        *finite &= isfinite(x) != 0;
        p->least = fminf(p->least, x);
        p->most = fmaxf(p->most, x);
        if (at >= s->each) {
            double d = (double)x - (double)ctt_of_f16(half[at - s->each]);

            p->square += d * d;
        }
    }
}

/* The place in the numbers of all maps of a pixel that stands for each number:
 * the first of its map. */
static void find_channels(const struct ctt_map_set *s, int *of)
{
    for (int k = 0; k < s->tap.maps; k++) {
        for (int64_t i = 0; i < ctt_map_size(&s->map[k]); i++)
            of[s->at[k] + i] = (int)(s->at[k] + i % s->map[k].c);
    }
}

/* Each step is no smaller than what lets all numbers fit into 256 bytes. */
static void find_steps(const struct ctt_map_set *s, const struct spread *spread)
{
    int64_t changes = ctt_data_all_frames(s->d) - s->d->clips;

    for (int k = 0; k < s->tap.maps; k++) {
        int64_t c = s->map[k].c, n = ctt_map_size(&s->map[k]) / c * changes;

        for (int64_t i = s->at[k]; i < s->at[k] + c; i++) {
            const struct spread *p = &spread[i];
            double change = n > 0 ? sqrt(p->square / (double)n) : 0;
            double least = ((double)p->most - (double)p->least) / 255;

            s->step[i] = (float)fmax(fmax(change / CTT_MAP_CHANGE, least),
                                     1e-12);
        }
    }
}

/* Byte i is written where a number that was read before stood. */
static void round_clip(const struct ctt_map_set *s, const int *of,
                        const struct spread *spread, int clip)
{
    const uint16_t *half = (const uint16_t *)(const void *)s->clip[clip];
    int64_t n = s->d->clip[clip].length * s->each;

    for (int64_t at = 0; at < n; at++) {
        int c = of[at % s->each];
        float middle = (spread[c].least + spread[c].most) / 2;
        float x = (ctt_of_f16(half[at]) - middle) / s->step[c] + 128;

        s->clip[clip][at] = (uint8_t)lrintf(fminf(fmaxf(x, 0), 255));
    }
}

int ctt_map_set_bytes(struct ctt_map_set *s)
{
    size_t each = (size_t)s->each;
    int *of = ctt_calloc(each, sizeof(*of)), finite = 1, rc = 0, label;
    struct spread *spread = ctt_calloc(each, sizeof(*spread));

    CTT_TRY(of && spread ? 0 : CTT_ENOMEM);
    find_channels(s, of);
    for (size_t i = 0; i < each; i++)
        spread[i] = (struct spread){ INFINITY, -INFINITY, 0 };
    for (int i = 0; i < s->d->clips; i++) {
        spread_clip(s, i, of, spread, &finite);
        CTT_CHECK(finite, CTT_ENAN, "%s: the backbone computes a number that "
                  "a 16-bit float does not hold", ctt_data_clip(s->d, i,
                  &label));
    }
    find_steps(s, spread);
    for (int i = 0; i < s->d->clips; i++)
        round_clip(s, of, spread, i);
out:
    ctt_free(of);
    ctt_free(spread);
    return rc;
}

/* ---- the set ---- */

int ctt_map_set_data(const struct ctt_map_set *s, const struct ctt_input *in,
                     struct ctt_data *out)
{
    const struct ctt_data *d = s->d;
    int rc = 0;

    *out = (struct ctt_data){ .source = d->source, .list = d->list, .in = *in,
        .clips = d->clips, .longest = d->longest, .workers = d->workers };
    ctt_frame_size(in, &out->stored_w, &out->stored_h);
    out->clip = ctt_calloc((size_t)d->clips, sizeof(*out->clip));
    out->kept = ctt_calloc((size_t)d->list->count + 1, sizeof(*out->kept));
    CTT_TRY(out->clip && out->kept ? 0 : CTT_ENOMEM);
    memcpy(out->clip, d->clip, (size_t)d->clips * sizeof(*out->clip));
    for (int i = 0; i < d->clips; i++)
        out->kept[d->clip[i].item].f = (struct ctt_frames){
            .data = s->clip[i], .count = d->clip[i].length, .h = in->h,
            .w = in->w, .c = in->c };
out:
    if (rc < 0)
        ctt_map_set_done(out);
    return rc;
}

void ctt_map_set_done(struct ctt_data *d)
{
    ctt_free(d->clip);
    ctt_free(d->kept);
    d->clip = NULL;
    d->kept = NULL;
}
