/* SPDX-License-Identifier: Apache-2.0
 * data_maps.c: runs of a backbone: maps of frames as 16-bit floats. */
#include "tools/data/data_maps.h"
#include "base/half.h"
#include "net/file/file.h"
#include "run/run.h"
#include "tools/data/data_tool.h"
#include "tools/shared/tool.h"

#include <math.h>

enum { WINDOW = 2 };    /* frames that are computed together */

int ctt_mapping_open(const char *path, const char *nodes,
                     struct ctt_mapping *out)
{
    struct ctt_model *m = NULL;
    int rc = 0;

    CTT_CHECK(!ctt_tool_is_net(path), CTT_EINVAL, "%s: a text has no weights: "
              "--backbone needs a model file", path);
    CTT_TRY(ctt_tool_load(path, &m));
    rc = ctt_model_finite(m);
    if (rc >= 0)
        rc = ctt_maps_find(m, nodes, &out->maps);
    if (rc >= 0)
        rc = ctt_maps_model(m, &out->maps, &out->m);
    if (rc < 0)
        CTT_TRY(ctt_error(rc, "%s: %s", path, ctt_errmsg()));
    out->in = out->m->g->node[ctt_graph_input(out->m->g)].attr.input;
out:
    ctt_model_free(&m);
    return rc;
}

void ctt_mapping_close(struct ctt_mapping *p)
{
    ctt_model_free(&p->m);
}

struct ctt_mapper {
    const struct ctt_mapping *p;
    struct ctt_dev    *dev;
    struct ctt_run    *r;
    struct ctt_pixels  pixels;
    int64_t            frame;     /* numbers of one */
    float             *x;         /* [WINDOW][frame] */
    float             *y;         /* [WINDOW][largest map] */
};

int ctt_mapper_open(const struct ctt_mapping *p, struct ctt_mapper **out)
{
    struct ctt_mapper *m = ctt_calloc(1, sizeof(*m));
    int64_t most = 0;
    int rc = m ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    m->p = p;
    m->frame = (int64_t)p->in.h * p->in.w * p->in.c;
    for (int k = 0; k < p->maps.count; k++)
        if (ctt_map_size(&p->maps.map[k]) > most)
            most = ctt_map_size(&p->maps.map[k]);
    CTT_TRY(ctt_dev_open("cpu", 1, &m->dev));
    CTT_TRY(ctt_run_open(&(struct ctt_run_spec){ .g = p->m->g, .dev = m->dev,
        .w = p->m->w, .samples = 1, .steps = WINDOW }, &m->r));
    m->x = ctt_calloc((size_t)(WINDOW * m->frame), sizeof(*m->x));
    m->y = ctt_calloc((size_t)(WINDOW * most), sizeof(*m->y));
    CTT_TRY(m->x && m->y ? 0 : CTT_ENOMEM);
    *out = m;
    m = NULL;
out:
    ctt_mapper_close(&m);
    return rc;
}

void ctt_mapper_close(struct ctt_mapper **mapper)
{
    struct ctt_mapper *m = *mapper;

    if (!m)
        return;
    ctt_run_close(&m->r);
    ctt_dev_close(&m->dev);
    ctt_free(m->x);
    ctt_free(m->y);
    ctt_free(m);
    *mapper = NULL;
}

/* Frames of the model out of n stored ones. */
static void put_frames(struct ctt_mapper *m, const struct ctt_frames *f,
                       int from, int n)
{
    size_t stored = (size_t)f->h * (size_t)f->w * (size_t)f->c;
    int x = (f->w - m->p->in.w) / 2, y = (f->h - m->p->in.h) / 2;

    for (int t = 0; t < n; t++) {
        const uint8_t *p = f->data + (size_t)(from + t) * stored;

        ctt_frame_next(&m->pixels, p, x, y);
        ctt_frame_float(p, &m->pixels, x, y, 0, m->x + t * m->frame);
    }
}

/* The numbers of a map of one frame. */
static int store_map(const struct ctt_map *map, const float *from, uint8_t *to)
{
    int64_t n = ctt_map_size(map);
    int rc = 0;

    for (int64_t i = 0; i < n; i++) {
        uint16_t bits = ctt_f16_of(from[i]);

        CTT_CHECK(isfinite(ctt_of_f16(bits)), CTT_ENAN, "%s computes a number "
                  "that a 16-bit float does not hold", map->name);
        to[2 * i] = (uint8_t)bits;
        to[2 * i + 1] = (uint8_t)(bits >> 8);
    }
out:
    return rc;
}

/* The maps of the last n steps. */
static int get_maps(struct ctt_mapper *m, int n, uint8_t *out)
{
    const struct ctt_maps *maps = &m->p->maps;
    int64_t each = 2 * ctt_maps_size(maps), at = 0;
    int rc = 0;

    for (int k = 0; k < maps->count; k++) {
        int node = ctt_maps_node(m->r->g, k);
        int64_t size = ctt_map_size(&maps->map[k]);

        CTT_TRY(ctt_run_get(m->r, node, m->r->cursor - n, n *
                            ctt_rows(&m->r->g->node[node].out), m->y));
        for (int t = 0; t < n; t++)
            CTT_TRY(store_map(&maps->map[k], m->y + t * size, out + t * each +
                              at));
        at += 2 * size;
    }
out:
    return rc;
}

int ctt_mapper_read(struct ctt_mapper *m, const struct ctt_frames *f,
                    uint8_t **out)
{
    int input = ctt_graph_input(m->r->g), rc;
    int64_t rows = ctt_rows(&m->r->g->node[input].out);
    int64_t each = 2 * ctt_maps_size(&m->p->maps);
    uint8_t *maps = NULL;

    CTT_TRY(ctt_frames_fit("maps", f->count * each));
    maps = ctt_calloc((size_t)(f->count * each), 1);
    CTT_TRY(maps ? 0 : CTT_ENOMEM);
    ctt_pixels_begin(&m->pixels, &m->p->in);
    ctt_run_reset(m->r);
    for (int t = 0; t < f->count; t += WINDOW) {
        int n = f->count - t < WINDOW ? f->count - t : WINDOW;

        put_frames(m, f, t, n);
        CTT_TRY(ctt_run_make_room(m->r, n));
        CTT_TRY(ctt_run_put(m->r, input, m->r->cursor, m->x, n * rows));
        CTT_TRY(ctt_run_steps(m->r, n));
        CTT_TRY(get_maps(m, n, maps + t * each));
    }
    *out = maps;
    maps = NULL;
out:
    ctt_free(maps);
    return rc;
}
