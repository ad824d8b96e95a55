/* SPDX-License-Identifier: Apache-2.0
 * bands.c: a graph of which each process has a band of the rows of every
 * image.  Images of the same height have the same bands. */
#include "net/rewrite/split_in.h"
#include "net/op.h"
#include "net/part.h"

#include <stdio.h>
#include <string.h>

/* band, per node: 1: its value is a band.  wants, per node: other forms in
 * which it is read: TO_WHOLE, TO_BAND. */
enum { TO_WHOLE = 1, TO_BAND = 2 };
struct making {
    const struct ctt_graph *g;
    struct ctt_edit        *e;
    int   part, parts;
    char *band, *wants;
};

/* ---- rows ---- */

/* The axis of rows of a conv or pool: sizes, rows of a window, stride and
 * padding. */
struct slide { int64_t in, out, kernel, stride, pad, after; };

static struct slide slide_of(const struct ctt_graph *g,
                             const struct ctt_node *n)
{
    struct ctt_slide s = ctt_slide_of(n);

    return (struct slide){ g->node[n->in[0]].out.h, n->out.h,
                           ctt_slide_span(&s, 1), s.stride[1], s.pad[1],
                           s.after[1] };
}

/* The rows that a part must add above and below its band of the input to
 * compute its band of the result; negative: it has more than it needs. */
struct ends { int64_t up, down; };

static struct ends ends_of(const struct slide *s, int part, int parts)
{
    int64_t first = ctt_part_first(s->out, part, parts);
    int64_t last = ctt_part_first(s->out, part + 1, parts) - 1;

    return (struct ends){
        ctt_part_first(s->in, part, parts) - (first * s->stride - s->pad),
        last * s->stride - s->pad + s->kernel -
        ctt_part_first(s->in, part + 1, parts) };
}

static int64_t dropped(int64_t more)
{
    return more < 0 ? -more : 0;
}

/* 1 if the rows that a part needs are in the bands beside its own, or padding.
 * */
static int is_near(const struct slide *s, int part, int parts)
{
    struct ends e = ends_of(s, part, parts);
    int64_t own = ctt_part_size(s->in, part, parts);

    if (part > 0 && e.up > ctt_part_size(s->in, part - 1, parts))
        return 0;
    if (part + 1 < parts && e.down > ctt_part_size(s->in, part + 1, parts))
        return 0;
    return dropped(e.up) + dropped(e.down) <= own;
}

/* Padding of a pool is no value, so rows of zeros cannot stand for it. */
static int can_slide(const struct making *a, const struct ctt_node *n)
{
    struct slide s = slide_of(a->g, n);
    int can = s.in >= a->parts &&
              (n->op == CTT_OP_CONV || (s.pad == 0 && s.after == 0));

    for (int r = 0; r < a->parts && can; r++)
        can = is_near(&s, r, a->parts);
    return can;
}

static int can_grow(const struct making *a, const struct ctt_node *n)
{
    int64_t in = a->g->node[n->in[0]].out.h;

    for (int r = 0; r < a->parts; r++)
        if (ctt_part_first(n->out.h, r, a->parts) !=
            n->attr.upsample.by[1] * ctt_part_first(in, r, a->parts))
            return 0;
    return 1;
}

/* ---- values that are bands ---- */

static int reads_band(const struct making *a, const struct ctt_node *n)
{
    for (int k = 0; k < ctt_node_inputs(n); k++)
        if (a->band[ctt_node_input(n, k)])
            return 1;
    return 0;
}

/* 0 if an input's rows are not those of the result: a pixel that counts for
 * all. */
static int same_rows(const struct making *a, const struct ctt_node *n)
{
    for (int k = 0; k < n->nin; k++)
        if (a->g->node[n->in[k]].out.h != n->out.h)
            return 0;
    return 1;
}

/* 1 if the node's value is a band, by the bands known so far.  A conv or pool
 * divides a whole value; dividing an op that computes each row from one row is
 * not worth it. */
static int is_band(const struct making *a, const struct ctt_node *n)
{
    enum ctt_rows_rule rule = ctt_ops[n->op].rows;

    if (rule == CTT_ROWS_WHOLE || n->out.h < a->parts)
        return 0;
    if (rule == CTT_ROWS_SLIDES)
        return can_slide(a, n);
    return reads_band(a, n) && (rule == CTT_ROWS_SAME ? same_rows(a, n)
                                                      : can_grow(a, n));
}

/* A state reads a later node, so this repeats until nothing changes. */
static void find_bands(const struct making *a)
{
    memset(a->band, 1, (size_t)a->g->count);
    for (int changed = 1; changed; ) {
        changed = 0;
        for (int i = 0; i < a->g->count; i++)
            if (a->band[i] && !is_band(a, &a->g->node[i])) {
                a->band[i] = 0;
                changed = 1;
            }
    }
}

static int check_bands(const struct making *a)
{
    int rc = 0, any = 0;

    CTT_TRY(ctt_split_check(a->g));
    for (int i = 0; i < a->g->count; i++) {
        const struct ctt_node *n = &a->g->node[i];

        any |= a->band[i] && ctt_is_conv(n);
        CTT_CHECK(n->op != CTT_OP_DECONV || !reads_band(a, n), CTT_EUNSUP,
                  "%s: a deconv adds to rows of other bands; upsample and a "
                  "conv do not", n->name);
    }
    CTT_CHECK(any, CTT_EUNSUP, "no conv has enough rows for %d bands",
              a->parts);
out:
    return rc;
}

/* ---- the text ---- */

/* The name of a node's value in the form of a band or of the whole. */
static void name_as(const struct making *a, int node, int band,
                    char name[CTT_NAME])
{
    if (a->band[node] == band) {
        snprintf(name, CTT_NAME, "%s", a->g->node[node].name);
        return;
    }
    a->wants[node] |= band ? TO_BAND : TO_WHOLE;
    snprintf(name, CTT_NAME, "split.%s.%d", band ? "band" : "whole", node);
}

/* Sets a key whose value names nodes. */
static int set_names(struct making *a, int node, const char *key,
                     const int *of, int count)
{
    char list[CTT_MAX_IN * (CTT_NAME + 1)] = "", name[CTT_NAME];

    for (int k = 0; k < count; k++) {
        size_t n = strlen(list);

        name_as(a, of[k], a->band[node], name);
        snprintf(list + n, sizeof(list) - n, "%s%s", k ? "," : "", name);
    }
    return count ? ctt_edit_set(a->e, node, key, list) : 0;
}

/* Adds a halo; above, below: rows that the part gives to its neighbours. */
static int add_halo(struct making *a, int node, const struct slide *s,
                    const char *in)
{
    struct ends own = ends_of(s, a->part, a->parts);
    int64_t above = 0, below = 0;

    if (a->part > 0)
        above = ends_of(s, a->part - 1, a->parts).down;
    if (a->part + 1 < a->parts)
        below = ends_of(s, a->part + 1, a->parts).up;
    return ctt_edit_add(a->e, node, "halo split.halo.%d in=%s up=%lld "
                        "down=%lld above=%lld below=%lld", node, in,
                        (long long)own.up, (long long)own.down,
                        (long long)(above > 0 ? above : 0),
                        (long long)(below > 0 ? below : 0));
}

/* A conv or pool of a band: without padding of rows, which a halo is. */
static int set_slide(struct making *a, int node)
{
    const struct ctt_node *n = &a->g->node[node];
    struct ctt_slide all = ctt_slide_of(n);
    struct slide s = slide_of(a->g, n);
    char text[64], in[CTT_NAME];
    int rc = 0, moves = 0;

    for (int r = 0; r < a->parts; r++) {
        struct ends e = ends_of(&s, r, a->parts);

        moves |= e.up || e.down;
    }
    name_as(a, n->in[0], 1, in);
    if (moves) {
        CTT_TRY(add_halo(a, node, &s, in));
        snprintf(in, sizeof(in), "split.halo.%d", node);
    }
    CTT_TRY(ctt_edit_set(a->e, node, "in", in));
    snprintf(text, sizeof(text), "%d,0,%d", all.pad[0], all.pad[2]);
    CTT_TRY(ctt_edit_set(a->e, node, "pad", text));
    snprintf(text, sizeof(text), "%d,0,%d", all.after[0], all.after[2]);
    if (memcmp(all.pad, all.after, sizeof(all.pad)) != 0)
        CTT_TRY(ctt_edit_set(a->e, node, "after", text));
out:
    return rc;
}

static int set_node(struct making *a, int node)
{
    const struct ctt_node *n = &a->g->node[node];
    int slides = a->band[node] && ctt_ops[n->op].rows == CTT_ROWS_SLIDES;
    int rc = 0, like;

    if (n->op == CTT_OP_STATE && n->attr.state.like &&
        *n->attr.state.like) {
        like = ctt_graph_find(a->g, n->attr.state.like);
        if (like >= 0)    /* not looked at if `of` stands before */
            CTT_TRY(set_names(a, node, "like", &like, 1));
    }
    if (slides)
        CTT_TRY(set_slide(a, node));
    else
        CTT_TRY(set_names(a, node, "in", n->in, n->nin - n->plus));
    CTT_TRY(set_names(a, node, "plus", n->in + n->nin - n->plus, n->plus));
out:
    return rc;
}

static int add_collect(struct making *a, int node)
{
    const struct ctt_node *n = &a->g->node[node];
    int band = a->wants[node] == TO_BAND;

    return ctt_edit_after(a->e, node, "collect split.%s.%d in=%s of=rows "
                          "pass=%s part=%d parts=%d all=%lld",
                          band ? "band" : "whole", node, n->name,
                          band ? "backward" : "forward", a->part, a->parts,
                          (long long)n->out.h);
}

static int make_text(struct making *a)
{
    int last = a->g->count - 1, rc = 0;

    for (int i = 0; i < a->g->count; i++)
        CTT_TRY(set_node(a, i));
    if (a->band[last])
        a->wants[last] = TO_WHOLE;
    for (int i = 0; i < a->g->count; i++)
        if (a->wants[i])
            CTT_TRY(add_collect(a, i));
out:
    return rc;
}

/* ---- the result ---- */

static void describe(const struct making *a, struct ctt_split *s)
{
    int first = 0;

    memcpy(s->partial, a->band, (size_t)a->g->count);
    ctt_split_describe(a->g, s);
    while (!a->band[first])
        first++;
    for (int i = first; i < a->g->count && !s->whole; i++)
        if (!a->band[i] && a->g->node[i].op != CTT_OP_INPUT)
            s->whole = a->g->node[i].name;
}

int ctt_split_bands(const struct ctt_graph *g, int part, int parts,
                    struct ctt_split **out)
{
    struct making a = { .g = g, .part = part, .parts = parts };
    struct ctt_split *s = NULL;
    size_t n = (size_t)g->count;
    int rc;

    CTT_TRY(ctt_split_new(g, &s));
    a.band = ctt_calloc(n, 1);
    a.wants = ctt_calloc(n, 1);
    CTT_TRY(a.band && a.wants ? 0 : CTT_ENOMEM);
    find_bands(&a);
    CTT_TRY(check_bands(&a));
    CTT_TRY(ctt_edit_begin(g, &a.e));
    CTT_TRY(make_text(&a));
    CTT_TRY(ctt_edit_graph(a.e, &s->g));
    describe(&a, s);
    *out = s;
    s = NULL;
out:
    ctt_split_free(&s);
    ctt_edit_free(&a.e);
    ctt_free(a.band);
    ctt_free(a.wants);
    return rc;
}
