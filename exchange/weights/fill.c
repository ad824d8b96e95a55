/* SPDX-License-Identifier: Apache-2.0
 * fill.c: sets the weights of a model from the tensors of a file.  Nothing goes
 * by order: each weight has a tensor by name, with the same shape. */
#include "exchange/exchange.h"
#include "exchange/weights/fill.h"
#include "net/op.h"

#include <string.h>

/* One reading. */
struct fill {
    const struct ctt_model   *m;
    const char               *map_path;    /* NULL: names are NODE.WEIGHT */
    struct ctt_map            map;
    const struct ctt_tensors *t;
    char                     *used;        /* by tensor */
    float                    *w;           /* the new weights */
};

/* ---- shapes ---- */

int ctt_torch_shape(const struct ctt_node *n, int k, int64_t dim[5])
{
    int rank = ctt_weight_shape(n, k, dim);
    int64_t ours[5];

    memcpy(ours, dim, sizeof(ours));
    if (rank == 1)
        return rank;
    for (int i = 2; i < 5; i++)
        dim[i] = ours[i - 1];
    dim[0] = n->op == CTT_OP_DECONV ? ours[4] : ours[0];
    dim[1] = n->op == CTT_OP_DECONV ? ours[0] : ours[4];
    return rank;
}

/* How a dense layer counts the numbers of an image.  image: which one was
 * reshaped, and is counted as chw; whole: of the image that the kernel of
 * a conv covers, in a tensor of two axes. */
struct dense { const struct ctt_tensor *image; enum ctt_flat whole; };

/* Axes of pixels may be left out where the kernel has one: from the front, as
 * a dense layer and a 2-D conv do. */
static int fits_shape(const struct ctt_named *f, const struct dense *d,
                      const int64_t *dim, int rank)
{
    int skipped = rank - f->rank, good = 1;

    if (d->whole && f->rank == 2)
        return f->dim[0] == dim[0] &&
               f->dim[1] == dim[1] * dim[2] * dim[3] * dim[4];
    if (rank == 1 || f->rank < 2 || skipped < 0)
        return f->rank == rank && f->dim[0] == dim[0];
    good = f->dim[0] == dim[0] && f->dim[1] == dim[1];
    for (int i = 2; i < 2 + skipped; i++)
        good &= dim[i] == 1;
    for (int i = 2; i < f->rank; i++)
        good &= f->dim[i] == dim[i + skipped];
    return good;
}

/* ---- layouts ---- */

/* The image that a dense layer's inputs were before a reshape, through nodes
 * that treat each number alone; NULL: it reads no such. */
static const struct ctt_tensor *flattened(const struct ctt_graph *g,
                                          const struct ctt_node *n)
{
    const struct ctt_node *from = &g->node[n->nin ? n->in[0] : 0];

    while (from->op == CTT_OP_ACT || from->op == CTT_OP_DROPOUT ||
           from->op == CTT_OP_QUANT)
        from = &g->node[from->in[0]];
    if (from->op != CTT_OP_RESHAPE || ctt_rows(&from->out) > 1)
        return NULL;
    from = &g->node[from->in[0]];
    return ctt_rows(&from->out) > 1 && from->out.c > 1 ? &from->out : NULL;
}

/* The number of an input in the file: chw counts pixels of a channel first. */
static int64_t input_of(const struct ctt_tensor *image, int64_t i)
{
    if (!image)
        return i;
    return i % image->c * ctt_rows(image) + i / image->c;
}

static void convert_whole(const struct ctt_tensor *w, const struct ctt_named *f,
                          enum ctt_flat flat, float *to)
{
    int64_t taps = w->d * w->h * w->w, index[CTT_NAMED_RANK] = { 0 };

    for (int64_t j = 0; j < ctt_volume(w); j++) {
        int64_t tap = j / w->c % taps, c = j % w->c;

        index[0] = j / w->c / taps;
        index[1] = flat == CTT_FLAT_CHW ? c * taps + tap : tap * w->c + c;
        to[j] = ctt_named_at(f, index);
    }
}

/* Our order is out, kd, kh, kw, in. */
static void convert_kernel(const struct ctt_node *n, const struct ctt_named *f,
                           const struct ctt_tensor *image, float *to)
{
    const struct ctt_tensor *w = &n->w[0];
    int in_first = n->op == CTT_OP_DECONV;
    int64_t at[3 + CTT_NAMED_RANK] = { 0 };    /* index, after unused ones */
    int64_t *index = at + 3, *last = index + f->rank - 1;

    for (int64_t j = 0; j < ctt_volume(w); j++) {
        int64_t tap = j / w->c % (w->d * w->h * w->w);

        /* Axes that the file leaves out have one place, 0. */
        *last = tap % w->w;
        last[-1] = tap / w->w % w->h;
        last[-2] = tap / w->w / w->h;
        index[!in_first] = input_of(image, j % w->c);
        index[in_first] = j / w->c / (w->d * w->h * w->w);
        to[j] = ctt_named_at(f, index);
    }
}

static void convert(const struct ctt_node *n, int k, const struct ctt_named *f,
                    const struct dense *d, float *to)
{
    if (d->whole && f->rank == 2)
        convert_whole(&n->w[k], f, d->whole, to);
    else if (ctt_is_kernel(n, k))
        convert_kernel(n, f, d->image, to);
    else
        for (int64_t j = 0; j < f->dim[0]; j++)
            to[j] = ctt_named_at(f, &j);
}

/* ---- one weight ---- */

/* Only a map knows how a dense layer counts what was an image. */
static int check_flat(const struct fill *f, const struct ctt_map_line *line,
                      const struct ctt_tensor *image, int whole)
{
    int rc = 0;

    CTT_CHECK(!image || line->flat, CTT_EFORMAT, "%s:%d: %s reads an image of "
              "%lld x %lld x %lld numbers: add chw if the file counts them "
              "channel by channel, as torch does, or hwc", f->map_path,
              line->line, line->weight, (long long)image->h,
              (long long)image->w, (long long)image->c);
    CTT_CHECK(image || whole || !line->flat, CTT_EFORMAT, "%s:%d: %s reads no "
              "image through a reshape, and no whole one: leave the third word "
              "out", f->map_path, line->line, line->weight);
out:
    return rc;
}

/* The tensor's name, by the map if there is one. */
static int tensor_name(struct fill *f, const struct ctt_node *n, int k,
                       const char *title, struct dense *d,
                       char text[CTT_MAP_NAME], const char **name)
{
    const struct ctt_tensor *from = NULL;
    struct ctt_map_line *line = NULL;
    int rc = 0, whole = 0;

    *d = (struct dense){ NULL, CTT_FLAT_NOT };
    *name = title;
    if (!f->map_path)
        return 0;
    line = ctt_map_find(&f->map, title, NULL);
    CTT_CHECK(line, CTT_EFORMAT, "%s: no line for %s", f->map_path, title);
    if (ctt_is_kernel(n, k) && ctt_volume(&n->w[k]) ==
        n->w[k].n * n->w[k].c)
        from = flattened(f->m->g, n);
    else if (ctt_is_kernel(n, k))
        whole = n->op == CTT_OP_CONV && ctt_rows(&n->out) == 1;
    /* A line for all weights of a node is about its kernel, if it has one. */
    if (ctt_is_kernel(n, k) || !line->all || !ctt_is_kernel(n, 0))
        CTT_TRY(check_flat(f, line, from, whole));
    d->image = line->flat == CTT_FLAT_CHW ? from : NULL;
    d->whole = whole ? line->flat : CTT_FLAT_NOT;
    *name = ctt_map_tensor(line, title, text);
    line->used = 1;
out:
    return rc;
}

static int check_tensor(const struct fill *f, const struct ctt_node *n, int k,
                        const char *title, const char *name,
                        const struct dense *d, const struct ctt_named *tensor)
{
    char theirs[CTT_NAMED_SHAPE], ours[CTT_NAMED_SHAPE];
    int64_t dim[5];
    int rank = ctt_torch_shape(n, k, dim), rc = 0;

    CTT_CHECK(tensor, CTT_EFORMAT, "%s: no tensor %s, for %s", f->t->path,
              name, title);
    CTT_CHECK(tensor->type->load, CTT_EFORMAT, "%s: %s holds whole numbers "
              "(%s), for %s", f->t->path, name, tensor->type->word, title);
    CTT_CHECK(!d->whole || tensor->rank == 2, CTT_EFORMAT, "%s: %s, for %s, "
              "has %d axes, which are in order: leave the third word of its "
              "line in %s out", f->t->path, name, title, tensor->rank,
              f->map_path);
    CTT_CHECK(fits_shape(tensor, d, dim, rank), CTT_EFORMAT, "%s: %s has the "
              "shape %s, and %s needs %s", f->t->path, name,
              ctt_named_shape(tensor->dim, tensor->rank, theirs), title,
              ctt_named_shape(dim, rank, ours));
    CTT_CHECK(!f->used[tensor - f->t->tensor]++, CTT_EFORMAT, "%s: %s stands "
              "for two weights, the second is %s", f->t->path, name, title);
out:
    return rc;
}

static int fill_weight(struct fill *f, const struct ctt_node *n, int k)
{
    const struct ctt_named *tensor;
    struct dense dense;
    char title[CTT_WEIGHT_NAME], text[CTT_MAP_NAME];
    const char *name;
    int rc;

    ctt_weight_title(n, k, title);
    CTT_TRY(tensor_name(f, n, k, title, &dense, text, &name));
    tensor = ctt_tensors_find(f->t, name);
    CTT_TRY(check_tensor(f, n, k, title, name, &dense, tensor));
    convert(n, k, tensor, &dense, f->w + n->at[k]);
out:
    return rc;
}

/* ---- all ---- */

/* A tensor that nobody reads could be a layer that the model lacks.  Whole
 * numbers count batches (num_batches_tracked). */
static int check_rest(const struct fill *f)
{
    int rc = 0;

    for (int i = 0; i < f->map.count; i++)
        CTT_CHECK(f->map.row[i].used || strcmp(f->map.row[i].weight, "-") == 0,
                  CTT_EFORMAT, "%s:%d: the model has no weight %s, or a line "
                  "above names it", f->map_path, f->map.row[i].line,
                  f->map.row[i].weight);
    for (int i = 0; i < f->t->count; i++) {
        const struct ctt_named *n = &f->t->tensor[i];

        CTT_CHECK(f->used[i] || !n->type->load ||
                  (f->map_path && ctt_map_find(&f->map, "-", n->name)),
                  CTT_EFORMAT, "%s: no weight is %s; if that is right, a map "
                  "says so: - %s", f->t->path, n->name, n->name);
    }
out:
    return rc;
}

static int fill_all(struct fill *f)
{
    const struct ctt_graph *g = f->m->g;
    int rc = 0;

    f->w = ctt_calloc((size_t)g->weights + 1, sizeof(*f->w));
    f->used = ctt_calloc((size_t)f->t->count + 1, 1);
    CTT_TRY(f->w && f->used ? 0 : CTT_ENOMEM);
    for (int i = 0; i < g->count; i++)
        for (int k = 0; k < g->node[i].nw; k++)
            CTT_TRY(fill_weight(f, &g->node[i], k));
    CTT_TRY(check_rest(f));
out:
    return rc;
}

static void swap_weights(struct ctt_model *m, struct fill *f)
{
    float *w = m->w;

    m->w = f->w;
    f->w = w;
}

int ctt_tensors_fill(const struct ctt_tensors *t, const char *map,
                     struct ctt_model *m)
{
    struct fill f = { .m = m, .map_path = map, .t = t };
    int rc = 0;

    if (map)
        CTT_TRY(ctt_map_read(map, &f.map));
    CTT_TRY(fill_all(&f));
    swap_weights(m, &f);
    rc = ctt_model_finite(m);
    if (rc < 0) {
        swap_weights(m, &f);
        CTT_TRY(ctt_error(rc, "%s: %s", t->path, ctt_errmsg()));
    }
out:
    ctt_map_free(&f.map);
    ctt_free(f.w);
    ctt_free(f.used);
    return rc;
}

int ctt_import_weights(struct ctt_model *m, const char *path, const char *map)
{
    struct ctt_tensors *t = NULL;
    int rc;

    CTT_TRY(ctt_tensors_open(path, &t));
    CTT_TRY(ctt_tensors_fill(t, map, m));
out:
    ctt_tensors_free(&t);
    return rc;
}
