/* SPDX-License-Identifier: Apache-2.0
 * lines.c: the lines of the model to be written, and their text. */
#include "exchange/onnx/lines.h"
#include "net/append.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- names ---- */

enum { NAME_MOST = 36 };    /* of a name before its number */

static int name_taken(const struct ctt_onnx *o, const char *name)
{
    for (int i = 0; i < o->lines; i++)
        if (strcmp(o->line[i].name, name) == 0)
            return 1;
    return 0;
}

/* The end of a name of ONNX says more than its beginning, which is a path of
 * scopes. */
static void make_name(const struct ctt_onnx *o, const char *word,
                      char name[CTT_NAME])
{
    static const char legal[] = "abcdefghijklmnopqrstuvwxyz"
        "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
    const char *from = o->at && *o->at ? o->at : word;
    size_t n = strlen(from), kept = 0;
    char plain[NAME_MOST + 1];

    from += n > NAME_MOST ? n - NAME_MOST : 0;
    while (*from == '.' || *from == '-' || *from == '/')
        from++;
    for (; *from; from++)
        plain[kept++] = strchr(legal, *from) ? *from :
                        *from == '/' ? '.' : '_';
    plain[kept] = '\0';
    snprintf(name, CTT_NAME, "%s", kept ? plain : word);
    for (int i = o->lines; name_taken(o, name); i++)
        snprintf(name, CTT_NAME, "%.*s-%d", NAME_MOST, kept ? plain : word, i);
}

/* ---- lines ---- */

int ctt_onnx_emit(struct ctt_onnx *o, const char *word, int nin, const int *in,
                  const int64_t size[CTT_IN_DIMS], int *line)
{
    struct ctt_onnx_line l = { .word = word, .nin = nin }, *more;
    int rc = 0, room = o->line_room;

    CTT_CHECK(nin <= CTT_MAX_IN, CTT_EUNSUP, "more than %d inputs",
              CTT_MAX_IN);
    for (int d = CTT_IN_D; d < CTT_IN_DIMS; d++)
        CTT_CHECK(size[d] > 0 && size[d] <= CTT_MAX_SIZE, CTT_EUNSUP,
                  "a value with an axis of %lld; 1 to %d are possible",
                  (long long)size[d], CTT_MAX_SIZE);
    if (o->lines == room) {
        room = room ? 2 * room : 64;
        more = ctt_arena_take(&o->arena, room, sizeof(*more));
        CTT_TRY(more ? 0 : CTT_ENOMEM);
        if (o->lines)
            memcpy(more, o->line, (size_t)o->lines * sizeof(*more));
        o->line = more;
        o->line_room = room;
    }
    memcpy(l.size, size, sizeof(l.size));
    for (int k = 0; k < nin; k++)
        l.in[k] = in[k];
    make_name(o, word, l.name);
    o->line[o->lines] = l;
    *line = o->lines++;
out:
    return rc;
}

int ctt_onnx_keys(struct ctt_onnx *o, int line, const char *fmt, ...)
{
    char *keys = o->line[line].keys;
    size_t used = strlen(keys);
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = vsnprintf(keys + used, CTT_ONNX_KEYS - used, fmt, ap);
    va_end(ap);
    return n >= 0 && (size_t)n < CTT_ONNX_KEYS - used ? 0 :
           ctt_error(CTT_EUNSUP, "keys too long for a line");
}

int ctt_onnx_vector(struct ctt_onnx *o, int64_t n, const double *from,
                    double x, double **out)
{
    double *v = ctt_arena_take(&o->arena, n, sizeof(*v));

    if (!v)
        return CTT_ENOMEM;
    for (int64_t i = 0; i < n; i++)
        v[i] = from ? from[i] : x;
    *out = v;
    return 0;
}

/* ---- the text ---- */

/* mean= and std= of an input with factors.  A frame's value is (v - mean) / std
 * for v in 0..1; where that would be an odd range, the file takes bytes. */
static void input_keys(const struct ctt_onnx_line *l, char keys[128])
{
    int64_t c = l->size[CTT_IN_C];
    double mean[3] = { 0 }, std[3] = { 0 }, unit = 1;

    keys[0] = '\0';
    if (!l->scale)
        return;
    for (int64_t i = 0; i < 3; i++) {
        std[i] = 1 / l->scale[i < c ? i : 0];
        mean[i] = -l->shift[i < c ? i : 0] * std[i];
        unit = fabs(mean[i]) > 2 || std[i] > 2 ? 255 : unit;
    }
    snprintf(keys, 128, " mean=%.9g,%.9g,%.9g std=%.9g,%.9g,%.9g",
             mean[0] / unit, mean[1] / unit, mean[2] / unit, std[0] / unit,
             std[1] / unit, std[2] / unit);
}

static int append_line(const struct ctt_onnx *o, const struct ctt_onnx_line *l,
                       char **text)
{
    char in[CTT_MAX_LINE] = "", light[128];
    size_t used = 0;

    for (int k = 0; k < l->nin && used < sizeof(in); k++)
        used += (size_t)snprintf(in + used, sizeof(in) - used, "%s%s",
                                 k ? "," : " in=", o->line[l->in[k]].name);
    input_keys(l, light);
    return ctt_append(text, "%s %s%s%s%s%s", l->word, l->name, in, l->keys,
                  light, l->nw == 1 && (strcmp(l->word, "conv") == 0 ||
                                 strcmp(l->word, "deconv") == 0) ?
                  " bias=0" : "");
}

/* A reader of a window runs once a clip. */
static int append_part(const struct ctt_onnx *o, const struct ctt_onnx_line *l,
                       char **text)
{
    int rc = 0;

    if (strcmp(l->word, "window") == 0)
        CTT_TRY(ctt_append(text, "clip"));
    CTT_TRY(append_line(o, l, text));
out:
    return rc;
}

/* ---- weights ---- */

static double weight_number(const struct ctt_onnx_weight *w, int64_t at)
{
    return w->t->type == CTT_ONNX_FLOAT ?
           (double)ctt_wire_float(w->t->data + 4 * at) :
           ctt_onnx_number(w->t, at);
}

static int64_t offset(const struct ctt_onnx_weight *w, int k, int64_t i)
{
    return w->off[k] ? w->off[k][i] : 0;
}

/* The row of input channels at out, d, h, w; at: their offset or -1. */
static void fill_inputs(const struct ctt_onnx_weight *w, int64_t out,
                        int64_t at, float *to)
{
    int64_t in = w->dim[4], groups = w->groups > 1 ? w->groups : 1;
    int64_t own = out / (w->dim[0] / groups);
    double scale = w->scale ? w->scale[out] : 1;

    for (int64_t i = 0; i < in; i++) {
        int64_t k = offset(w, 4, i);

        if (w->pick)
            to[i] = w->pick[i] == out;
        else if (at < 0 || k < 0 || i / (in / groups) != own)
            to[i] = 0;
        else
            to[i] = (float)(weight_number(w, at + k) * scale);
    }
}

static void fill_kernel(const struct ctt_onnx_weight *w, float *to)
{
    for (int64_t o = 0; o < w->dim[0]; o++)
        for (int64_t d = 0; d < w->dim[1]; d++)
            for (int64_t h = 0; h < w->dim[2]; h++)
                for (int64_t x = 0; x < w->dim[3]; x++, to += w->dim[4]) {
                    int64_t a = offset(w, 1, d), b = offset(w, 2, h);
                    int64_t c = offset(w, 3, x);

                    fill_inputs(w, o, a < 0 || b < 0 || c < 0 ? -1 :
                             offset(w, 0, o) + a + b + c, to);
                }
}

static void fill_weight(const struct ctt_onnx_weight *w, float *to)
{
    if (!w->vec) {
        fill_kernel(w, to);
        return;
    }
    for (int64_t i = 0; i < w->dim[0]; i++)
        to[i] = (float)w->vec[i];
}

/* The parser's node of a line has the weights that its description has. */
static int check_weight(const struct ctt_node *n, int k,
                        const struct ctt_onnx_weight *w)
{
    int64_t dim[5] = { 0 };
    int rc = 0, dims = ctt_weight_shape(n, k, dim);

    for (int i = 0; i < dims; i++)
        CTT_CHECK(dim[i] == w->dim[i], CTT_EFORMAT, "%s: a weight of another "
                  "shape", n->name);
out:
    return rc;
}

static int fill_model(const struct ctt_onnx *o, struct ctt_model *m)
{
    int rc = 0, i = 0;

    for (int k = 0; k < o->lines; k++) {
        const struct ctt_onnx_line *l = &o->line[k];
        const struct ctt_node *n = &m->g->node[i];

        if (l->aside)
            continue;
        CTT_CHECK(i < m->g->count && strcmp(n->name, l->name) == 0 &&
                  n->nw == l->nw, CTT_EFORMAT, "%s: a line of other weights",
                  l->name);
        for (int j = 0; j < l->nw; j++) {
            CTT_TRY(check_weight(n, j, &l->w[j]));
            fill_weight(&l->w[j], m->w + n->at[j]);
        }
        i++;
    }
out:
    return rc;
}

int ctt_onnx_model(struct ctt_onnx *o, struct ctt_model **out)
{
    struct ctt_graph *g = NULL;
    char *text = NULL;
    int rc = 0;

    for (int i = 0; i < o->lines; i++)
        if (!o->line[i].aside)
            CTT_TRY(append_part(o, &o->line[i], &text));
    if (o->several)
        CTT_TRY(ctt_append(&text, "several"));
    CTT_TRY(ctt_net_parse(text ? text : "", &g));
    CTT_TRY(ctt_model_new(g, out));
    CTT_TRY(fill_model(o, *out));
    CTT_TRY(ctt_model_finite(*out));
out:
    if (rc < 0)
        ctt_error(rc == CTT_EINVAL ? CTT_EFORMAT : rc, "%s: %s", o->path,
                  ctt_errmsg());
    ctt_free(text);
    return rc;
}
