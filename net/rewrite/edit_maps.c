/* SPDX-License-Identifier: Apache-2.0
 * edit_maps.c: maps of a model: the models that write and read them. */
#include "net/code/zip.h"
#include "net/rewrite/edit.h"
#include "net/rewrite/maps.h"

#include <stdio.h>
#include <string.h>

/* Lines are added under names that begin with a stem, maps or one with a number
 * where the model has that. */
enum { STEM = 16 };

static void find_stem(const struct ctt_graph *g, char *stem)
{
    ctt_edit_stem(g, "maps", stem, STEM);
}

int64_t ctt_map_size(const struct ctt_map *m)
{
    return m->d * m->h * m->w * m->c;
}

int64_t ctt_maps_size(const struct ctt_maps *m)
{
    int64_t n = 0;

    for (int k = 0; k < m->count; k++)
        n += ctt_map_size(&m->map[k]);
    return n;
}

int ctt_same_map(const struct ctt_map *a, const struct ctt_map *b)
{
    return strcmp(a->name, b->name) == 0 && a->d == b->d && a->h == b->h &&
           a->w == b->w && a->c == b->c && a->crc == b->crc;
}

/* The edited graph without what its last line does not need, as a model. */
static int swept_model(const struct ctt_edit *e, const struct ctt_model *m,
                       struct ctt_model **out)
{
    struct ctt_graph *all = NULL, *g = NULL;
    struct ctt_edit *less = NULL;
    int rc;

    CTT_TRY(ctt_edit_graph(e, &all));
    CTT_TRY(ctt_edit_begin(all, &less));
    CTT_TRY(ctt_edit_sweep(less));
    CTT_TRY(ctt_edit_graph(less, &g));
    g->several = 0;
    rc = ctt_model_with(g, m, out);
out:
    ctt_edit_free(&less);
    ctt_graph_free(&all);
    return rc;
}

/* The CRC-32 of what a node depends on: a model that ends behind it. */
static int sum_node(const struct ctt_model *m, const char *name, uint32_t *crc)
{
    struct ctt_model *part = NULL;
    struct ctt_edit *e = NULL;
    char *text = NULL, stem[STEM];
    int rc;

    find_stem(m->g, stem);
    CTT_TRY(ctt_edit_begin(m->g, &e));
    CTT_TRY(ctt_edit_add(e, m->g->count, "pool %s in=%s kind=avg", stem, name));
    CTT_TRY(swept_model(e, m, &part));
    text = ctt_net_print(part->g);
    CTT_TRY(text ? 0 : CTT_ENOMEM);
    *crc = ctt_crc32(0, text, 1, (int64_t)strlen(text));
    *crc = ctt_crc32(*crc, part->w, sizeof(*part->w), part->g->weights);
out:
    ctt_free(text);
    ctt_edit_free(&e);
    ctt_model_free(&part);
    return rc;
}

int ctt_listed_node(const struct ctt_graph *g, const char *name, int *out)
{
    char one[CTT_NAME];
    size_t n = strcspn(name, ",");
    int rc = 0, at = -1;

    if (n < sizeof(one)) {
        snprintf(one, sizeof(one), "%.*s", (int)n, name);
        at = ctt_graph_find(g, one);
    }
    CTT_CHECK(at >= 0, CTT_EINVAL, "--nodes: the backbone has no node '%.*s'",
              (int)n, name);
    *out = at;
out:
    return rc;
}

static int add_found(const struct ctt_model *m, const char *name,
                     struct ctt_maps *maps)
{
    struct ctt_map *x = &maps->map[maps->count];
    const struct ctt_node *n;
    int rc, at = 0;

    CTT_TRY(ctt_listed_node(m->g, name, &at));
    n = &m->g->node[at];
    CTT_CHECK(n->op != CTT_OP_INPUT, CTT_EINVAL, "--nodes: %s is the frame "
              "itself, which a pack has", n->name);
    for (int k = 0; k < maps->count; k++)
        CTT_CHECK(strcmp(maps->map[k].name, n->name) != 0, CTT_EINVAL,
                  "--nodes: %s is given twice", n->name);
    snprintf(x->name, sizeof(x->name), "%s", n->name);
    x->d = n->out.d;
    x->h = n->out.h;
    x->w = n->out.w;
    x->c = n->out.c;
    CTT_TRY(sum_node(m, x->name, &x->crc));
    maps->count++;
out:
    return rc;
}

int ctt_maps_find(const struct ctt_model *m, const char *nodes,
                  struct ctt_maps *out)
{
    int rc = 0;

    *out = (struct ctt_maps){ .count = 0 };
    CTT_CHECK(m->g->clip == m->g->count, CTT_EUNSUP, "the backbone has a line "
              "'clip'; maps are those of a model of frames");
    for (const char *s = nodes; ; s += strcspn(s, ",") + 1) {
        CTT_CHECK(out->count < CTT_MAX_IN, CTT_EINVAL, "--nodes: more than %d",
                  CTT_MAX_IN);
        CTT_TRY(add_found(m, s, out));
        if (!s[strcspn(s, ",")])
            break;
    }
out:
    return rc;
}

/* The model up to the maps: their means make them needed. */
static int cut_behind(const struct ctt_model *m, const struct ctt_maps *maps,
                      struct ctt_model **out)
{
    char list[CTT_MAX_IN * 2 * STEM] = "", stem[STEM];
    struct ctt_edit *e = NULL;
    int rc, end = m->g->count;

    find_stem(m->g, stem);
    CTT_TRY(ctt_edit_begin(m->g, &e));
    for (int k = 0; k < maps->count; k++) {
        CTT_TRY(ctt_edit_add(e, end, "pool %s.p%d in=%s kind=avg", stem, k,
                             maps->map[k].name));
        snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%s.p%d",
                 k ? "," : "", stem, k);
    }
    if (maps->count > 1)
        CTT_TRY(ctt_edit_add(e, end, "concat %s in=%s", stem, list));
    CTT_TRY(swept_model(e, m, out));
out:
    ctt_edit_free(&e);
    return rc;
}

/* The values before step 0 in the states of a node, which is the same in all
 * of them. */
static const char *fill_of(const struct ctt_graph *g, const char *name)
{
    int at = ctt_graph_find(g, name);

    for (int i = 0; i < g->count; i++)
        if (g->node[i].op == CTT_OP_STATE && g->node[i].source == at)
            return g->node[i].attr.state.fill ? "first" : "zero";
    return "zero";
}

/* States delay the maps, so a run keeps these. */
int ctt_maps_model(const struct ctt_model *m, const struct ctt_maps *maps,
                   struct ctt_model **out)
{
    struct ctt_model *part = NULL, *kept = NULL;
    struct ctt_edit *e = NULL;
    char stem[STEM];
    int rc, last;

    find_stem(m->g, stem);
    CTT_TRY(cut_behind(m, maps, &part));
    last = ctt_graph_output(part->g);
    CTT_TRY(ctt_edit_begin(part->g, &e));
    for (int k = 0; k < maps->count; k++)
        CTT_TRY(ctt_edit_add(e, last, "state %s.s%d of=%s fill=%s", stem, k,
                             maps->map[k].name,
                             fill_of(part->g, maps->map[k].name)));
    CTT_TRY(ctt_edit_model(e, part, &kept));
    CTT_TRY(ctt_without_norms(kept, out));
out:
    ctt_edit_free(&e);
    ctt_model_free(&part);
    ctt_model_free(&kept);
    return rc;
}

int ctt_maps_node(const struct ctt_graph *g, int k)
{
    const char *last = g->node[ctt_graph_output(g)].name;
    char name[CTT_NAME];

    /* The output begins with the stem. */
    snprintf(name, sizeof(name), "%.*s.s%d", (int)strcspn(last, "."), last, k);
    return g->node[ctt_graph_find(g, name)].source;
}

/* 1 if the last node of m needs its first input. */
static int reads_frames(const struct ctt_graph *g, int *reads)
{
    char *needed = ctt_calloc((size_t)g->count, 1);

    if (!needed)
        return CTT_ENOMEM;
    ctt_graph_needed(g, ctt_graph_output(g), needed);
    *reads = needed[ctt_graph_input(g)];
    ctt_free(needed);
    return 0;
}

int ctt_maps_reader(const struct ctt_model *m, const struct ctt_maps *maps,
                    struct ctt_model **out)
{
    struct ctt_model *part = NULL;
    struct ctt_edit *e = NULL;
    int rc, reads = 0;

    CTT_TRY(ctt_edit_begin(m->g, &e));
    for (int k = 0; k < maps->count; k++) {
        const struct ctt_map *x = &maps->map[k];
        int at = ctt_graph_find(m->g, x->name);

        CTT_TRY(ctt_edit_add(e, at, "input %s d=%lld h=%lld w=%lld c=%lld",
                             x->name, (long long)x->d, (long long)x->h,
                             (long long)x->w, (long long)x->c));
        ctt_edit_remove(e, at);
    }
    CTT_TRY(swept_model(e, m, &part));
    CTT_TRY(reads_frames(part->g, &reads));
    rc = !reads;
    if (!reads) {
        *out = part;
        part = NULL;
    }
out:
    ctt_edit_free(&e);
    ctt_model_free(&part);
    return rc;
}
