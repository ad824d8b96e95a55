/* SPDX-License-Identifier: Apache-2.0
 * onnx_made.c: ONNX files made of a text. */
#include "tests/lib/onnx_made.h"
#include "base/newfile.h"
#include "exchange/write/proto.h"
#include "tests/lib/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the text ---- */

struct made_tensor *made_tensor(struct made *m, const char *name, int rank,
                                const int64_t *dim)
{
    struct made_tensor *t = &m->tensor[m->tensors++];

    CU_ASSERT_FATAL(m->tensors <= 2 * MADE_LINES);
    memset(t, 0, sizeof(*t));
    snprintf(t->name, sizeof(t->name), "%s", name);
    t->rank = rank;
    t->count = 1;
    for (int a = 0; a < rank; a++)
        t->count *= t->dim[a] = dim[a];
    t->x = ctt_calloc((size_t)t->count + 1, sizeof(float));
    CU_ASSERT_FATAL(t->x != NULL);
    return t;
}

struct made_tensor *made_find(struct made *m, const char *name)
{
    for (int i = 0; i < m->tensors; i++)
        if (strcmp(m->tensor[i].name, name) == 0)
            return &m->tensor[i];
    return NULL;
}

static int read_dims(const char *s, int64_t *dim)
{
    int rank = 0;
    char *end;

    for (; rank < MADE_RANK && *s; s = *end == ',' ? end + 1 : end) {
        dim[rank++] = strtoll(s, &end, 10);
        CU_ASSERT_FATAL(end > s);
    }
    return rank;
}

/* in, w and i: name, shape, perhaps numbers. */
static void read_tensor(struct made *m, const char *kind, char *save)
{
    char *name = strtok_r(NULL, " ", &save), *shape = strtok_r(NULL, " ",
                                                               &save);
    char *numbers = strtok_r(NULL, " ", &save), *end;
    int64_t dim[MADE_RANK];
    struct made_tensor *t;

    t = made_tensor(m, name, read_dims(shape && *shape != '-' ? shape : "",
                                       dim), dim);
    t->whole = strcmp(kind, "u") == 0 ? 2 : strcmp(kind, "i") == 0;
    ctt_check_fill(t->x, t->count, (uint64_t)m->tensors + 70);
    for (int64_t i = 0; numbers && i < t->count; i++, numbers = end + 1)
        t->x[i] = strtof(numbers, &end);
}

static int read_ends(char *list, char end[MADE_ENDS][MADE_WORD])
{
    char *save = NULL;
    int n = 0;

    for (char *s = strtok_r(list, ",", &save); s;
         s = strtok_r(NULL, ",", &save))
        snprintf(end[n++], MADE_WORD, "%s", strcmp(s, "_") ? s : "");
    return n;
}

static void read_node(struct made_line *l, const char *op, char *save)
{
    char *in = strtok_r(NULL, " ", &save), *out;

    snprintf(l->op, sizeof(l->op), "%s", op);
    l->nin = strcmp(in, "->") ? read_ends(in, l->in) : 0;
    if (l->nin)
        strtok_r(NULL, " ", &save);    /* -> */
    out = strtok_r(NULL, " ", &save);
    l->nout = read_ends(out, l->out);
    snprintf(l->attrs, sizeof(l->attrs), "%s", save ? save : "");
}

static int is_tensor(const char *word)
{
    return strcmp(word, "in") == 0 ||
           (word[1] == '\0' && strchr("wiu", word[0]) != NULL);
}

void made_open(struct made *m, const char *text)
{
    char *copy = ctt_strdup(text), *lines = NULL;

    CU_ASSERT_FATAL(copy != NULL);
    memset(m, 0, sizeof(*m));
    for (char *s = strtok_r(copy, "\n", &lines); s;
         s = strtok_r(NULL, "\n", &lines)) {
        struct made_line *l = &m->line[m->lines++];
        char *save = NULL, *word = strtok_r(s, " ", &save);

        CU_ASSERT_FATAL(m->lines < MADE_LINES);
        snprintf(l->op, sizeof(l->op), "%s", word);
        if (is_tensor(word))
            read_tensor(m, word, save);
        else if (strcmp(word, "out") == 0)
            l->nin = read_ends(strtok_r(NULL, " ", &save), l->in);
        else
            read_node(l, word, save);
    }
    ctt_free(copy);
}

void made_close(struct made *m)
{
    for (int i = 0; i < m->tensors; i++)
        ctt_free(m->tensor[i].x);
    memset(m, 0, sizeof(*m));
}

const char *made_attr(const struct made_line *l, const char *name,
                      char text[MADE_WORD])
{
    size_t n = strlen(name);

    for (const char *s = l->attrs; *s; s += strcspn(s, " "), s += *s == ' ')
        if (strncmp(s, name, n) == 0 && s[n] == '=') {
            snprintf(text, MADE_WORD, "%.*s", (int)strcspn(s + n + 1, " "),
                     s + n + 1);
            return text;
        }
    text[0] = '\0';
    return text;
}

void made_ints(const struct made_line *l, const char *name, int n, int64_t none,
               int64_t *out)
{
    char text[MADE_WORD], *end = text;

    made_attr(l, name, text);
    for (int i = 0; i < n; i++) {
        out[i] = *end ? strtoll(end, &end, 10) : none;
        end += *end == ',';
    }
}

/* ---- the file ---- */

enum { FLOAT = 1, UINT8 = 2, INT64 = 7 };

static void put_entry(struct ctt_proto *tensor, const char *key,
                      const char *value)
{
    struct ctt_proto e = { .rc = 0 };

    ctt_proto_text(&e, 1, key);
    ctt_proto_text(&e, 2, value);
    ctt_proto_message(tensor, 13, &e);
    ctt_proto_free(&e);
}

static void put_elsewhere(struct ctt_proto *tensor, const struct made *m,
                          int64_t bytes)
{
    char number[32];

    put_entry(tensor, "location", m->location);
    snprintf(number, sizeof(number), "%lld", (long long)m->offset);
    put_entry(tensor, "offset", number);
    snprintf(number, sizeof(number), "%lld", (long long)bytes);
    put_entry(tensor, "length", number);
    ctt_proto_int(tensor, 14, 1);
}

static void put_tensor(struct ctt_proto *graph, const struct made *m,
                       const struct made_tensor *t)
{
    struct ctt_proto p = { .rc = 0 }, raw = { .rc = 0 };

    for (int a = 0; a < t->rank; a++)
        ctt_proto_int(&p, 1, t->dim[a]);
    ctt_proto_int(&p, 2, t->whole == 2 ? UINT8 : t->whole ? INT64 : FLOAT);
    ctt_proto_text(&p, 8, t->name);
    for (int64_t i = 0; i < t->count; i++) {
        int64_t x = (int64_t)t->x[i];

        if (t->whole)    /* the lowest byte first, as ONNX wants it */
            ctt_proto_add(&raw, &x, t->whole == 2 ? 1 : 8);
        else
            ctt_proto_add(&raw, &t->x[i], 4);
    }
    if (m->location && !t->whole)
        put_elsewhere(&p, m, raw.n);
    else
        ctt_proto_bytes(&p, 9, raw.p, raw.n);
    ctt_proto_message(graph, 5, &p);
    ctt_proto_free(&raw);
    ctt_proto_free(&p);
}

/* A ValueInfoProto; rank < 0: without a shape. */
static void put_value(struct ctt_proto *graph, int field, const char *name,
                      int rank, const int64_t *dim)
{
    struct ctt_proto v = { .rc = 0 }, type = v, tensor = v, shape = v;

    for (int a = 0; a < rank; a++) {
        struct ctt_proto d = { .rc = 0 };

        ctt_proto_int(&d, 1, dim[a]);
        ctt_proto_message(&shape, 1, &d);
        ctt_proto_free(&d);
    }
    ctt_proto_int(&tensor, 1, FLOAT);
    if (rank >= 0)
        ctt_proto_message(&tensor, 2, &shape);
    ctt_proto_message(&type, 1, &tensor);
    ctt_proto_text(&v, 1, name);
    ctt_proto_message(&v, 2, &type);
    ctt_proto_message(graph, field, &v);
    ctt_proto_free(&shape);
    ctt_proto_free(&tensor);
    ctt_proto_free(&type);
    ctt_proto_free(&v);
}

static void put_attr(struct ctt_proto *node, char *word)
{
    struct ctt_proto a = { .rc = 0 };
    char *value = strchr(word, '='), *end;

    *value++ = '\0';
    ctt_proto_text(&a, 1, word);
    if (strchr(value, ',')) {
        for (; *value; value = *end == ',' ? end + 1 : end)
            ctt_proto_int(&a, 8, strtoll(value, &end, 10));
    } else if (strpbrk(value, "0123456789") == value || *value == '-') {
        if (strchr(value, '.'))
            ctt_proto_float(&a, 2, strtof(value, NULL));
        else
            ctt_proto_int(&a, 3, strtoll(value, NULL, 10));
    } else {
        ctt_proto_bytes(&a, 4, value, (int64_t)strlen(value));
    }
    ctt_proto_message(node, 5, &a);
    ctt_proto_free(&a);
}

static void put_node(struct ctt_proto *graph, const struct made_line *l)
{
    struct ctt_proto n = { .rc = 0 };
    char attrs[256], *save = NULL;

    for (int k = 0; k < l->nin; k++)
        ctt_proto_bytes(&n, 1, l->in[k], (int64_t)strlen(l->in[k]));
    for (int k = 0; k < l->nout; k++)
        ctt_proto_text(&n, 2, l->out[k]);
    ctt_proto_text(&n, 4, l->op);
    snprintf(attrs, sizeof(attrs), "%s", l->attrs);
    for (char *s = strtok_r(attrs, " ", &save); s;
         s = strtok_r(NULL, " ", &save))
        put_attr(&n, s);
    ctt_proto_message(graph, 1, &n);
    ctt_proto_free(&n);
}

static void put_graph(const struct made *m, struct ctt_proto *graph)
{
    int tensor = 0;

    for (int i = 0; i < m->lines; i++) {
        const struct made_line *l = &m->line[i];
        const struct made_tensor *t = &m->tensor[tensor];

        if (strcmp(l->op, "out") == 0)
            put_value(graph, 12, l->in[0], -1, NULL);
        else if (strcmp(l->op, "in") == 0)
            put_value(graph, 11, t->name, t->rank, t->dim);
        else if (is_tensor(l->op))
            put_tensor(graph, m, t);
        else
            put_node(graph, l);
        tensor += is_tensor(l->op);
    }
}

uint8_t *made_file(const struct made *m, int opset, int64_t *size)
{
    struct ctt_proto model = { .rc = 0 }, graph = model, set = model;

    put_graph(m, &graph);
    ctt_proto_int(&set, 2, opset);
    ctt_proto_int(&model, 1, 8);
    ctt_proto_message(&model, 7, &graph);
    ctt_proto_message(&model, 8, &set);
    CU_ASSERT_FATAL(model.rc == 0 && graph.rc == 0);
    ctt_proto_free(&graph);
    ctt_proto_free(&set);
    *size = model.n;
    return model.p;
}

void made_write(const struct made *m, int opset, const char *path)
{
    int64_t size;
    uint8_t *file = made_file(m, opset, &size);

    CHECK_OK(ctt_file_replace(path, file, size));
    ctt_free(file);
}
