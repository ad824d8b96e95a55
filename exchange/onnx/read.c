/* SPDX-License-Identifier: Apache-2.0
 * read.c: the messages of an ONNX file (onnx.proto3): model, graph, node,
 * attribute, shapes of values. */
#include "exchange/onnx/onnx.h"
#include "base/newfile.h"

#include <string.h>
#include <unistd.h>

/* Fields of the messages that are read. */
enum { MODEL_GRAPH = 7, MODEL_OPSET = 8, OPSET_DOMAIN = 1, OPSET_VERSION = 2,
       GRAPH_NODE = 1, GRAPH_CONSTANT = 5, GRAPH_INPUT = 11, GRAPH_OUTPUT = 12,
       GRAPH_VALUE = 13, GRAPH_SPARSE = 15, GRAPH_MOST = 16,
       NODE_INPUT = 1, NODE_OUTPUT = 2, NODE_NAME = 3, NODE_OP = 4,
       NODE_ATTR = 5, NODE_DOMAIN = 7, NODE_MOST = 8,
       ATTR_NAME = 1, ATTR_F = 2, ATTR_I = 3, ATTR_S = 4, ATTR_T = 5,
       ATTR_G = 6, ATTR_FLOATS = 7, ATTR_INTS = 8, ATTR_STRINGS = 9,
       ATTR_GRAPHS = 11, ATTR_REF = 21,
       VALUE_NAME = 1, VALUE_TYPE = 2, TYPE_TENSOR = 1, TENSOR_ELEM = 1,
       TENSOR_SHAPE = 2, SHAPE_DIM = 1, DIM_VALUE = 1 };

/* A string without a zero byte. */
static int read_text(struct ctt_onnx *o, const struct ctt_field *f,
                     const char **out)
{
    size_t n = (size_t)(f->part.end - f->part.at);
    int rc = 0;

    CTT_CHECK(f->type == CTT_WIRE_BYTES && (!n || !memchr(f->part.at, 0, n)),
              CTT_EFORMAT, "%s: damaged: a name is no text", o->path);
    *out = ctt_arena_text(&o->arena, f->part.at, n);
    CTT_TRY(*out ? 0 : CTT_ENOMEM);
out:
    return rc;
}

/* Fields of each number below `most`. */
static int count_fields(struct ctt_wire w, int most, int64_t count[])
{
    struct ctt_field f;
    int rc;

    memset(count, 0, (size_t)most * sizeof(*count));
    while ((rc = ctt_wire_next(&w, &f)) > 0)
        if (f.number < most)
            count[f.number]++;
    return rc;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* ---- attributes ---- */

/* Numbers of a repeated field, packed or not, in both passes: with `to` NULL
 * they are counted. */
static int walk_numbers(struct ctt_wire w, int number, float *fs, int64_t *is,
                        int64_t *count)
{
    struct ctt_field f;
    int rc;

    *count = 0;
    while ((rc = ctt_wire_next(&w, &f)) > 0) {
        struct ctt_wire p = f.part;
        uint64_t v = f.value;

        if (f.number != number)
            continue;
        if (f.type != CTT_WIRE_BYTES) {
            if (fs)
                fs[*count] = ctt_wire_float(f.part.at);
            if (is)
                is[*count] = ctt_wire_signed(v);
            ++*count;
            continue;
        }
        for (; p.at < p.end; ++*count) {
            if (number == ATTR_FLOATS) {
                if (p.end - p.at < 4)
                    return ctt_error(CTT_EFORMAT, "%s: damaged: an attribute "
                                     "has part of a number", p.path);
                if (fs)
                    fs[*count] = ctt_wire_float(p.at);
                p.at += 4;
            } else {
                CTT_TRY(ctt_wire_varint(&p, &v));
                if (is)
                    is[*count] = ctt_wire_signed(v);
            }
        }
    }
out:
    return rc;
}

/* A field that is not packed has the type of its number. */
static int check_numbers(struct ctt_onnx *o, struct ctt_wire w)
{
    struct ctt_field f;
    int rc;

    while ((rc = ctt_wire_next(&w, &f)) > 0)
        CTT_CHECK(!(f.number == ATTR_FLOATS && f.type != CTT_WIRE_BYTES &&
                    f.type != CTT_WIRE_FIXED32) &&
                  !(f.number == ATTR_INTS && f.type != CTT_WIRE_BYTES &&
                    f.type != CTT_WIRE_VARINT) &&
                  !(f.number == ATTR_F && f.type != CTT_WIRE_FIXED32),
                  CTT_EFORMAT, "%s: damaged: an attribute has numbers of "
                  "another type", o->path);
out:
    return rc;
}

static int read_attr_numbers(struct ctt_onnx *o, struct ctt_wire w,
                        struct ctt_onnx_attr *a)
{
    float *fs;
    int64_t *is;
    int rc;

    CTT_TRY(check_numbers(o, w));
    CTT_TRY(walk_numbers(w, ATTR_FLOATS, NULL, NULL, &a->floats));
    CTT_TRY(walk_numbers(w, ATTR_INTS, NULL, NULL, &a->ints));
    fs = ctt_arena_take(&o->arena, a->floats, sizeof(*fs));
    is = ctt_arena_take(&o->arena, a->ints, sizeof(*is));
    CTT_TRY(fs && is ? 0 : CTT_ENOMEM);
    CTT_TRY(walk_numbers(w, ATTR_FLOATS, fs, NULL, &a->floats));
    CTT_TRY(walk_numbers(w, ATTR_INTS, NULL, is, &a->ints));
    a->fs = fs;
    a->is = is;
out:
    return rc;
}

static int read_attr_field(struct ctt_onnx *o, const struct ctt_field *f,
                           struct ctt_onnx_attr *a)
{
    struct ctt_onnx_tensor *t;
    const char *none = NULL;
    int rc = 0;

    switch (f->number) {
    case ATTR_NAME:
        return read_text(o, f, &a->name);
    case ATTR_S:
        if (f->part.at < f->part.end &&
            memchr(f->part.at, 0, (size_t)(f->part.end - f->part.at)))
            return 0;    /* bytes, which no operator here reads */
        return read_text(o, f, &a->s);
    case ATTR_F:
        a->f = ctt_wire_float(f->part.at);
        break;
    case ATTR_I:
        a->i = ctt_wire_signed(f->value);
        break;
    case ATTR_T:
        CTT_CHECK(f->type == CTT_WIRE_BYTES, CTT_EFORMAT, "%s: damaged: an "
                  "attribute is no tensor", o->path);
        t = ctt_arena_take(&o->arena, 1, sizeof(*t));
        CTT_TRY(t ? 0 : CTT_ENOMEM);
        a->t = t;
        return ctt_onnx_read_tensor(o, f->part, &none, t);
    case ATTR_G: case ATTR_GRAPHS:
        a->graph = 1;
        break;
    case ATTR_STRINGS: case ATTR_REF:
        a->strings = 1;
        break;
    }
out:
    return rc;
}

static int read_attr(struct ctt_onnx *o, struct ctt_wire w,
                     struct ctt_onnx_attr *a)
{
    struct ctt_wire all = w;
    struct ctt_field f;
    int rc;

    *a = (struct ctt_onnx_attr){ .name = "", .s = NULL };
    CTT_TRY(read_attr_numbers(o, all, a));
    while ((rc = ctt_wire_next(&w, &f)) > 0)
        CTT_TRY(read_attr_field(o, &f, a));
out:
    return rc;
}

/* ---- nodes ---- */

static int read_end(struct ctt_onnx *o, const struct ctt_field *f, int *list,
                    int *count)
{
    const char *name = "";
    int rc, v = -1;

    CTT_TRY(read_text(o, f, &name));
    if (*name)
        CTT_TRY(v = ctt_onnx_value_of(o, name));
    list[(*count)++] = v;
    rc = 0;
out:
    return rc;
}

static int read_node_field(struct ctt_onnx *o, const struct ctt_field *f,
                           struct ctt_onnx_node *n)
{
    switch (f->number) {
    case NODE_INPUT:
        return read_end(o, f, n->in, &n->nin);
    case NODE_OUTPUT:
        return read_end(o, f, n->out, &n->nout);
    case NODE_NAME:
        return read_text(o, f, &n->name);
    case NODE_OP:
        return read_text(o, f, &n->op);
    case NODE_DOMAIN:
        return read_text(o, f, &n->domain);
    case NODE_ATTR:
        if (f->type != CTT_WIRE_BYTES)
            return ctt_error(CTT_EFORMAT, "%s: damaged: an attribute of %s",
                             o->path, n->name);
        return read_attr(o, f->part, &n->attr[n->attrs++]);
    default:
        return 0;
    }
}

/* A node without a name has that of its first result. */
static int read_node(struct ctt_onnx *o, struct ctt_wire w)
{
    struct ctt_onnx_node *n = &o->node[o->nodes++];
    int64_t count[NODE_MOST];
    struct ctt_field f;
    int rc;

    *n = (struct ctt_onnx_node){ .name = "", .op = "", .domain = "" };
    CTT_TRY(count_fields(w, NODE_MOST, count));
    n->in = ctt_arena_take(&o->arena, count[NODE_INPUT], sizeof(*n->in));
    n->out = ctt_arena_take(&o->arena, count[NODE_OUTPUT], sizeof(*n->out));
    n->attr = ctt_arena_take(&o->arena, count[NODE_ATTR], sizeof(*n->attr));
    CTT_TRY(n->in && n->out && n->attr ? 0 : CTT_ENOMEM);
    while ((rc = ctt_wire_next(&w, &f)) > 0)
        CTT_TRY(read_node_field(o, &f, n));
    CTT_TRY(rc);
    for (int i = 0; !*n->name && i < n->nout; i++)
        if (n->out[i] >= 0)
            n->name = o->value[n->out[i]].name;
    if (strcmp(n->domain, "ai.onnx") == 0)
        n->domain = "";
out:
    return rc;
}

/* ---- shapes of values ---- */

static int read_dim(struct ctt_wire w, int64_t *out)
{
    struct ctt_field f;
    int rc;

    *out = -1;
    while ((rc = ctt_wire_next(&w, &f)) > 0)
        if (f.number == DIM_VALUE && ctt_wire_signed(f.value) > 0)
            *out = ctt_wire_signed(f.value);
    return rc;
}

static int read_value_shape(struct ctt_wire w, struct ctt_onnx_value *v)
{
    struct ctt_field f;
    int rc;

    v->rank = 0;
    v->said = 1;
    while ((rc = ctt_wire_next(&w, &f)) > 0) {
        if (f.number != SHAPE_DIM)
            continue;
        if (v->rank == CTT_ONNX_RANK) {
            v->said = 0;    /* more axes than any operator here knows */
            return 0;
        }
        CTT_TRY(read_dim(f.part, &v->dim[v->rank++]));
    }
out:
    return rc;
}

static int read_type(struct ctt_wire w, struct ctt_onnx_value *v)
{
    struct ctt_field f, g;
    int rc;

    while ((rc = ctt_wire_next(&w, &f)) > 0) {
        struct ctt_wire t = f.part;

        if (f.number != TYPE_TENSOR || f.type != CTT_WIRE_BYTES)
            continue;
        while ((rc = ctt_wire_next(&t, &g)) > 0) {
            if (g.number == TENSOR_ELEM)
                v->type = (int)least((int64_t)(g.value & 0xff), 255);
            if (g.number == TENSOR_SHAPE)
                CTT_TRY(read_value_shape(g.part, v));
        }
        CTT_TRY(rc);
    }
out:
    return rc;
}

/* A ValueInfoProto: the value of its name. */
static int read_value(struct ctt_onnx *o, struct ctt_wire w, int *out)
{
    struct ctt_wire again = w;
    const char *name = NULL;
    struct ctt_field f;
    int rc;

    while ((rc = ctt_wire_next(&w, &f)) > 0)
        if (f.number == VALUE_NAME)
            CTT_TRY(read_text(o, &f, &name));
    CTT_TRY(rc);
    CTT_CHECK(name && *name, CTT_EFORMAT, "%s: damaged: a value without a "
              "name", o->path);
    CTT_TRY(*out = ctt_onnx_value_of(o, name));
    while ((rc = ctt_wire_next(&again, &f)) > 0)
        if (f.number == VALUE_TYPE && f.type == CTT_WIRE_BYTES)
            CTT_TRY(read_type(f.part, &o->value[*out]));
out:
    return rc;
}

/* ---- the graph ---- */

static int read_constant(struct ctt_onnx *o, struct ctt_wire w)
{
    struct ctt_onnx_tensor t;
    const char *name = NULL;
    int rc, i;

    CTT_TRY(ctt_onnx_read_tensor(o, w, &name, &t));
    CTT_CHECK(name && *name, CTT_EFORMAT, "%s: damaged: a constant without a "
              "name", o->path);
    CTT_TRY(i = ctt_onnx_value_of(o, name));
    CTT_CHECK(o->value[i].known == CTT_ONNX_NEW, CTT_EFORMAT, "%s: the "
              "constant '%s' is there twice", o->path, name);
    o->value[i].known = CTT_ONNX_CONSTANT;
    o->value[i].t = t;
    rc = 0;
out:
    return rc;
}

static int read_graph_field(struct ctt_onnx *o, const struct ctt_field *f)
{
    int rc, v = 0;

    CTT_CHECK(f->type == CTT_WIRE_BYTES || f->number > GRAPH_SPARSE ||
              f->number < GRAPH_NODE, CTT_EFORMAT, "%s: damaged: a field of "
              "the graph", o->path);
    switch (f->number) {
    case GRAPH_NODE:
        return read_node(o, f->part);
    case GRAPH_CONSTANT:
        return read_constant(o, f->part);
    case GRAPH_SPARSE:
        return ctt_error(CTT_EUNSUP, "%s: has sparse constants; write them as "
                         "dense ones", o->path);
    case GRAPH_INPUT:
        CTT_TRY(read_value(o, f->part, &v));
        o->input[o->inputs++] = v;
        break;
    case GRAPH_OUTPUT:
        CTT_TRY(read_value(o, f->part, &v));
        o->output[o->outputs++] = v;
        break;
    case GRAPH_VALUE:
        return read_value(o, f->part, &v);
    }
    rc = 0;
out:
    return rc;
}

static int read_graph(struct ctt_onnx *o, struct ctt_wire w)
{
    int64_t count[GRAPH_MOST];
    struct ctt_field f;
    int rc;

    CTT_CHECK(!o->node, CTT_EFORMAT, "%s: has two graphs", o->path);
    CTT_TRY(count_fields(w, GRAPH_MOST, count));
    CTT_CHECK(count[GRAPH_NODE] < 1 << 22, CTT_EFORMAT, "%s: more than %d "
              "nodes", o->path, 1 << 22);
    o->node = ctt_arena_take(&o->arena, count[GRAPH_NODE], sizeof(*o->node));
    o->input = ctt_arena_take(&o->arena, count[GRAPH_INPUT],
                              sizeof(*o->input));
    o->output = ctt_arena_take(&o->arena, count[GRAPH_OUTPUT],
                               sizeof(*o->output));
    CTT_TRY(o->node && o->input && o->output ? 0 : CTT_ENOMEM);
    while ((rc = ctt_wire_next(&w, &f)) > 0)
        CTT_TRY(read_graph_field(o, &f));
out:
    return rc;
}

/* The version of the standard operators; others are known by their nodes. */
static int read_opset(struct ctt_onnx *o, struct ctt_wire w)
{
    const char *domain = "";
    int64_t version = 0;
    struct ctt_field f;
    int rc;

    while ((rc = ctt_wire_next(&w, &f)) > 0) {
        if (f.number == OPSET_DOMAIN)
            CTT_TRY(read_text(o, &f, &domain));
        if (f.number == OPSET_VERSION)
            version = ctt_wire_signed(f.value);
    }
    CTT_TRY(rc);
    if (*domain && strcmp(domain, "ai.onnx") != 0)
        goto out;
    CTT_CHECK(version >= CTT_ONNX_OLDEST && version <= CTT_ONNX_NEWEST,
              CTT_EUNSUP, "%s: operators of version %lld; versions %d to %d "
              "are known", o->path, (long long)version, CTT_ONNX_OLDEST,
              CTT_ONNX_NEWEST);
    o->opset = (int)version;
out:
    return rc;
}

static int read_model(struct ctt_onnx *o, struct ctt_wire w)
{
    struct ctt_wire graph = w;
    struct ctt_field f;
    int rc;

    while ((rc = ctt_wire_next(&w, &f)) > 0)
        if (f.number == MODEL_OPSET && f.type == CTT_WIRE_BYTES)
            CTT_TRY(read_opset(o, f.part));
    CTT_TRY(rc);
    while ((rc = ctt_wire_next(&graph, &f)) > 0)
        if (f.number == MODEL_GRAPH && f.type == CTT_WIRE_BYTES)
            CTT_TRY(read_graph(o, f.part));
    CTT_TRY(rc);
    CTT_CHECK(o->node, CTT_EFORMAT, "%s: no ONNX file, or one without a graph",
              o->path);
    CTT_CHECK(o->opset, CTT_EFORMAT, "%s: says no version of its operators",
              o->path);
out:
    return rc;
}

/* An external file is opened beside the model, so o->path must stay. */
int ctt_onnx_read(const char *path, struct ctt_onnx *o)
{
    int fd = -1, rc;

    o->path = path;
    CTT_TRY(ctt_file_open(path, &fd, &o->size));
    CTT_CHECK(o->size < CTT_ONNX_FILE_MOST, CTT_EFORMAT, "%s: has %lld bytes; "
              "an ONNX file has less than 2 GiB", path, (long long)o->size);
    o->file = ctt_calloc((size_t)o->size + 1, 1);
    CTT_TRY(o->file ? 0 : CTT_ENOMEM);
    CTT_TRY(ctt_file_read_at(path, fd, 0, o->file, o->size));
    CTT_TRY(read_model(o, (struct ctt_wire){ path, o->file,
                                             o->file + o->size }));
    CTT_TRY(ctt_onnx_check(o));
out:
    if (fd >= 0)
        close(fd);
    return rc;
}

void ctt_onnx_free(struct ctt_onnx *o)
{
    ctt_free(o->file);
    ctt_arena_free(&o->data);
    ctt_arena_free(&o->arena);
    *o = (struct ctt_onnx){ .path = NULL };
}
