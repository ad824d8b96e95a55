/* SPDX-License-Identifier: Apache-2.0
 * own.c: reads back a file of ONNX that convtt wrote.  Its properties hold the
 * text of the model, its initialisers the weights by name; then the model is
 * written again and compared with the file. */
#include "exchange/onnx/wire.h"
#include "exchange/write/emit.h"
#include "base/json.h"
#include "base/newfile.h"
#include "net/op.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* How such a file begins: version 8, by convtt. */
static const char beginning[] = "\x08\x08\x12\x06" "convtt";
enum { BEGINNING = sizeof(beginning) - 1 };

enum { MODEL_GRAPH = 7, MODEL_PROPERTY = 14, ENTRY_KEY = 1, ENTRY_TEXT = 2,
       GRAPH_TENSOR = 5, TENSOR_NAME = 8, TENSOR_RAW = 9 };

struct initialiser { struct ctt_wire name, raw; };

struct own {
    const char         *path;
    char               *image;
    int64_t             size, at;     /* at: compared so far */
    char               *net, *labels, *answer, *export;
    struct initialiser *t;            /* sorted by name */
    int                 count, room;
    struct ctt_model   *m;
};

static int64_t wire_bytes(const struct ctt_wire *w)
{
    return w->end - w->at;
}

/* Of a message the parts of two fields, empty if they are missing. */
static int two_parts(struct ctt_wire m, int a, int b, struct ctt_wire *first,
                     struct ctt_wire *second)
{
    struct ctt_field f;
    int rc;

    *first = *second = (struct ctt_wire){ m.path, m.at, m.at };
    while ((rc = ctt_wire_next(&m, &f)) > 0)
        if (f.type == CTT_WIRE_BYTES && (f.number == a || f.number == b))
            *(f.number == a ? first : second) = f.part;
    return rc;
}

/* ---- parts of the file ---- */

static int take_property(struct own *o, struct ctt_wire entry)
{
    const struct { const char *key; char **to; } known[] = {
        { "net", &o->net }, { "labels", &o->labels },
        { "answer", &o->answer }, { "export", &o->export },
    };
    struct ctt_wire key, text;
    int rc;

    CTT_TRY(two_parts(entry, ENTRY_KEY, ENTRY_TEXT, &key, &text));
    for (size_t i = 0; i < CTT_LEN(known); i++) {
        if ((size_t)wire_bytes(&key) != strlen(known[i].key) || *known[i].to ||
            memcmp(key.at, known[i].key, strlen(known[i].key)) != 0)
            continue;
        *known[i].to = ctt_calloc((size_t)wire_bytes(&text) + 1, 1);
        CTT_TRY(*known[i].to ? 0 : CTT_ENOMEM);
        memcpy(*known[i].to, text.at, (size_t)wire_bytes(&text));
    }
out:
    return rc;
}

static int take_graph(struct own *o, struct ctt_wire graph)
{
    struct initialiser *t;
    struct ctt_field f;
    int rc;

    while ((rc = ctt_wire_next(&graph, &f)) > 0) {
        if (f.number != GRAPH_TENSOR || f.type != CTT_WIRE_BYTES)
            continue;
        t = ctt_grown(o->t, &o->room, o->count, sizeof(*t));
        CTT_TRY(t ? 0 : CTT_ENOMEM);
        o->t = t;
        CTT_TRY(two_parts(f.part, TENSOR_NAME, TENSOR_RAW, &t[o->count].name,
                          &t[o->count].raw));
        o->count++;
    }
out:
    return rc;
}

static int by_initialiser(const void *a, const void *b)
{
    const struct ctt_wire *x = &((const struct initialiser *)a)->name;
    const struct ctt_wire *y = &((const struct initialiser *)b)->name;
    int64_t n = wire_bytes(x), m = wire_bytes(y);
    int order = memcmp(x->at, y->at, (size_t)(n < m ? n : m));

    return order ? order : (n > m) - (n < m);
}

static int take_file(struct own *o)
{
    const uint8_t *p = (const uint8_t *)o->image;
    struct ctt_wire w = { o->path, p, p + o->size };
    struct ctt_field f;
    int rc;

    while ((rc = ctt_wire_next(&w, &f)) > 0) {
        if (f.type == CTT_WIRE_BYTES && f.number == MODEL_PROPERTY)
            CTT_TRY(take_property(o, f.part));
        if (f.type == CTT_WIRE_BYTES && f.number == MODEL_GRAPH)
            CTT_TRY(take_graph(o, f.part));
    }
    CTT_TRY(rc);
    CTT_CHECK(o->net && o->labels && o->answer && o->export && o->count,
              CTT_EFORMAT, "%s: says nothing of a model", o->path);
    qsort(o->t, (size_t)o->count, sizeof(*o->t), by_initialiser);
out:
    return rc;
}

/* ---- weights ---- */

/* The bytes of the initialiser NODE/WEIGHT and what it is made of; NULL: there
 * is none of `count` numbers of that size. */
static const uint8_t *find_raw(const struct own *o, const struct ctt_node *n,
                               int k, const char *end, int size, int64_t count)
{
    char name[CTT_EMIT_NAME];
    struct initialiser key, *t;
    int length = snprintf(name, sizeof(name), "%.*s/%.8s%.6s", CTT_NAME - 1,
                          n->name, ctt_weight_name(n, k), end);

    key.name = (struct ctt_wire){ o->path, (const uint8_t *)name,
                                  (const uint8_t *)name + length };
    t = bsearch(&key, o->t, (size_t)o->count, sizeof(key), by_initialiser);
    return t && wire_bytes(&t->raw) == size * count ? t->raw.at : NULL;
}

/* The place in the file of number o, tap, i of a kernel; vectors are rows of
 * one. */
static int64_t file_place(const struct ctt_node *n, int k, int64_t j)
{
    const struct ctt_tensor *w = &n->w[k];
    int64_t taps = w->d * w->h * w->w, i = j % w->c, tap = j / w->c % taps;
    int64_t o = j / w->c / taps;

    if (!ctt_is_kernel(n, k))
        return j;
    return (n->op == CTT_OP_DECONV ? i * w->n + o : o * w->c + i) * taps + tap;
}

static int take_weight(struct own *o, const struct ctt_node *n, int k)
{
    int64_t count = ctt_volume(&n->w[k]), each = count / n->w[k].n;
    float *w = o->m->w + n->at[k];
    const uint8_t *f32 = find_raw(o, n, k, "", 4, count);
    const uint8_t *f16 = find_raw(o, n, k, "/half", 2, count);
    const uint8_t *q = find_raw(o, n, k, "/int8", 1, count);
    const uint8_t *step = find_raw(o, n, k, "/step", 4, n->w[k].n);

    for (int64_t j = 0; j < count; j++) {
        int64_t at = file_place(n, k, j);

        if (f32)
            w[j] = ctt_wire_float(f32 + 4 * at);
        else if (f16)
            w[j] = ctt_of_f16((uint16_t)(f16[2 * at] | f16[2 * at + 1] << 8));
        else if (q && step)
            w[j] = (float)(int8_t)q[at] * ctt_wire_float(step + 4 * (j / each));
        else
            return ctt_error(CTT_EFORMAT, "%s: a weight of %s is missing",
                             o->path, n->name);
    }
    return 0;
}

/* Each number has at least a byte in the file, so that a text cannot ask for
 * more memory than that. */
static int make_model(struct own *o)
{
    struct ctt_graph *g = NULL;
    int64_t numbers = 0;
    int rc;

    CTT_TRY(ctt_net_parse(o->net, &g));
    for (int i = 0; i < g->count; i++)
        numbers += ctt_node_params(&g->node[i]);
    CTT_CHECK(numbers <= o->size, CTT_EFORMAT, "%s: weights are missing",
              o->path);
    rc = ctt_model_new(g, &o->m);
    g = NULL;
    CTT_TRY(rc);
    for (int i = 0; i < o->m->g->count; i++)
        for (int k = 0; k < o->m->g->node[i].nw; k++)
            CTT_TRY(take_weight(o, &o->m->g->node[i], k));
out:
    ctt_graph_free(&g);
    return rc;
}

static int take_labels(struct own *o)
{
    struct ctt_value *v = NULL;
    char **label = NULL;
    int rc, n;

    CTT_TRY(ctt_json_parse(o->path, 1, o->labels, &v));
    n = ctt_json_size(v);
    label = ctt_calloc((size_t)n + 1, sizeof(*label));
    CTT_TRY(label ? 0 : CTT_ENOMEM);
    for (int i = 0; i < n; i++) {
        label[i] = (char *)(uintptr_t)ctt_json_text(ctt_json_at(v, i));
        CTT_CHECK(label[i], CTT_EFORMAT, "%s: a label is no text", o->path);
    }
    if (n)
        CTT_TRY(ctt_model_labels(o->m, label, n));
out:
    ctt_free(label);
    if (v)
        ctt_json_free(&v);
    return rc;
}

/* ---- written again ---- */

static int compare_bytes(void *arg, const void *p, int64_t n)
{
    struct own *o = arg;

    if (n > o->size - o->at || memcmp(o->image + o->at, p, (size_t)n) != 0)
        return ctt_error(CTT_EFORMAT, "%s: was changed", o->path);
    o->at += n;
    return 0;
}

static int write_again(struct own *o)
{
    const struct ctt_export set = {
        .half = strstr(o->export, "\"half\": true") != NULL,
        .target = strstr(o->export, "\"for\": \"tensorrt\"") ?
                  CTT_EXPORT_TENSORRT : CTT_EXPORT_ANY,
        .softmax = strstr(o->answer, "\"kind\": \"probabilities\"") != NULL,
    };
    int rc;

    CTT_TRY(ctt_emit_model(o->m, &set,
                           &(struct ctt_emit_sink){ compare_bytes, o }));
    CTT_CHECK(o->at == o->size, CTT_EFORMAT, "%s: was changed", o->path);
out:
    return rc;
}

static int begins_so(const char *path)
{
    char p[BEGINNING];
    int64_t size;
    int fd = -1, rc;

    CTT_TRY(ctt_file_open(path, &fd, &size));
    if (size >= BEGINNING) {
        CTT_TRY(ctt_file_read_at(path, fd, 0, p, BEGINNING));
        rc = memcmp(p, beginning, BEGINNING) == 0;
    } else {
        rc = 0;
    }
out:
    if (fd >= 0)
        close(fd);
    return rc;
}

int ctt_import_own_onnx(const char *path, struct ctt_model **out)
{
    struct own o = { .path = path };
    int rc;

    CTT_TRY(begins_so(path));
    if (!rc)
        goto out;
    CTT_TRY(ctt_file_text(path, INT32_MAX, &o.image, &o.size));
    CTT_TRY(take_file(&o));
    CTT_TRY(make_model(&o));
    CTT_TRY(take_labels(&o));
    CTT_TRY(write_again(&o));
    *out = o.m;
    o.m = NULL;
    rc = 1;
out:
    ctt_model_free(&o.m);
    ctt_free(o.image);
    ctt_free(o.net);
    ctt_free(o.labels);
    ctt_free(o.answer);
    ctt_free(o.export);
    ctt_free(o.t);
    return rc == CTT_ENOMEM || rc == CTT_EIO || rc >= 0 ? rc : 0;
}
