/* SPDX-License-Identifier: Apache-2.0
 * import.c: an ONNX file becomes a model: inputs, nodes, answer. */
#include "exchange/import.h"
#include "exchange/onnx/ops.h"

#include <stdlib.h>
#include <string.h>

struct ctt_import {
    struct ctt_onnx   o;
    struct ctt_model *model;
    int               answer;    /* the value */
    struct ctt_onnx_place *place;    /* of the answer */
    const char       *left;
    int               needed;
};

/* ---- shapes of inputs ---- */

/* Numbers separated by commas, up to a blank or the end. */
static int parse_sizes(const char *s, int *rank, int64_t *dim)
{
    char *end;

    for (*rank = 0; *rank < CTT_ONNX_RANK; s = end + 1) {
        dim[*rank] = strtoll(s, &end, 10);
        if (end == s || dim[*rank] < 1 || dim[*rank] > CTT_MAX_SIZE)
            return 0;
        ++*rank;
        if (*end != ',')
            return *end == '\0' || *end == ' ';
    }
    return 0;
}

static int set_shape(struct ctt_onnx *o, const char *word, size_t n)
{
    const char *eq = memchr(word, '=', n);
    int64_t dim[CTT_ONNX_RANK];
    struct ctt_onnx_value *v;
    int rc = 0, k = 0, rank;
    const char *last = eq;

    for (; last && (last = memchr(last + 1, '=', (size_t)(word + n - last -
                                                          1)));)
        eq = last;
    while (eq && k < o->inputs &&
           (strlen(o->value[o->input[k]].name) != (size_t)(eq - word) ||
            strncmp(o->value[o->input[k]].name, word,
                    (size_t)(eq - word)) != 0))
        k++;
    CTT_CHECK(k < o->inputs && (eq || o->inputs == 1), CTT_EINVAL,
              "--input-shape %.*s: no input of that name; %s has '%s'", (int)n,
              word, o->path, o->inputs ? o->value[o->input[0]].name : "none");
    CTT_CHECK(parse_sizes(eq ? eq + 1 : word, &rank, dim), CTT_EINVAL,
              "--input-shape %.*s: sizes from 1 to %d, separated by commas",
              (int)n, word, CTT_MAX_SIZE);
    v = &o->value[o->input[k]];
    CTT_CHECK(!v->said || v->rank == rank, CTT_EINVAL, "--input-shape %.*s: "
              "the input has %d axes", (int)n, word, v->rank);
    for (int a = 0; a < rank; a++) {
        CTT_CHECK(!v->said || v->dim[a] < 0 || v->dim[a] == dim[a] || a == 0,
                  CTT_EINVAL, "--input-shape %.*s: size %d of the input is "
                  "%lld", (int)n, word, a + 1, (long long)v->dim[a]);
        v->dim[a] = dim[a];
    }
    v->rank = rank;
    v->said = 1;
out:
    return rc;
}

static int set_shapes(struct ctt_onnx *o, const char *s)
{
    int rc = 0;

    while (s && *s) {
        size_t n = strcspn(s, " ");

        if (n)
            CTT_TRY(set_shape(o, s, n));
        s += n + (s[n] == ' ');
    }
out:
    return rc;
}

/* The first size is that of a batch, of which 1 is taken if it varies. */
static int check_shape(const struct ctt_onnx *o, struct ctt_onnx_value *v)
{
    int rc = 0;

    CTT_CHECK(v->said, CTT_EINVAL, "%s: the shape of input '%s' is not said: "
              "give it with --input-shape %s=1,3,224,224 or the like", o->path,
              v->name, v->name);
    CTT_CHECK(v->rank > 0 && v->rank <= 5, CTT_EUNSUP, "%s: input '%s' has %d "
              "axes; 1 to 5 are possible", o->path, v->name, v->rank);
    if (v->dim[0] < 0)
        v->dim[0] = 1;
    for (int a = 0; a < v->rank; a++)
        CTT_CHECK(v->dim[a] > 0 && v->dim[a] <= CTT_MAX_SIZE, CTT_EINVAL,
                  "%s: size %d of input '%s' varies: give all with "
                  "--input-shape %s=1,3,224,224 or the like", o->path, a + 1,
                  v->name, v->name);
out:
    return rc;
}

/* ---- inputs ---- */

/* The first needed node that reads a value. */
static const struct ctt_onnx_node *reader_of(const struct ctt_onnx *o,
                                             int value)
{
    for (int i = 0; i < o->nodes; i++)
        for (int k = 0; k < o->node[i].nin && o->node[i].needed; k++)
            if (o->node[i].in[k] == value)
                return &o->node[i];
    return NULL;
}

/* Channels are axis 1, unless a Transpose brings the last one there, perhaps
 * behind operators on single numbers. */
static int is_last(const struct ctt_onnx *o, int value)
{
    static const char *const plain[] = { "Add", "Cast", "Div", "Identity",
                                         "Mul", "Sub" };
    int rank = o->value[value].rank, same = 1;
    const struct ctt_onnx_node *n;
    const int64_t *perm;
    int64_t count;

    for (int step = 0; step < 8 && same; step++) {
        n = reader_of(o, value);
        if (!n || !n->nout || n->out[0] < 0)
            return 0;
        perm = ctt_onnx_ints(n, "perm", &count);
        if (strcmp(n->op, "Transpose") == 0)
            return rank > 2 && perm && count == rank && perm[0] == 0 &&
                   perm[1] == rank - 1;
        same = 0;
        for (size_t i = 0; i < CTT_LEN(plain); i++)
            same |= strcmp(n->op, plain[i]) == 0;
        value = n->out[0];
    }
    return 0;
}

/* A clip of pictures is a window over frames. */
static int input_line(struct ctt_onnx *o, const int64_t size[CTT_IN_DIMS],
                      int *line)
{
    int64_t frame[CTT_IN_DIMS], steps = size[CTT_IN_D];
    int rc, clip = steps > 1 && steps <= 4096 && size[CTT_IN_C] <= 3 &&
                   o->inputs == 1;

    memcpy(frame, size, sizeof(frame));
    frame[CTT_IN_D] = clip ? 1 : steps;
    CTT_TRY(ctt_onnx_emit(o, "input", 0, NULL, frame, line));
    CTT_TRY(ctt_onnx_keys(o, *line, " d=%lld h=%lld w=%lld c=%lld",
                          (long long)frame[1], (long long)frame[2],
                          (long long)frame[3], (long long)frame[4]));
    if (!clip)
        goto out;
    CTT_TRY(ctt_onnx_emit(o, "window", 1, line, size, line));
    CTT_TRY(ctt_onnx_keys(o, *line, " steps=%lld", (long long)steps));
out:
    return rc;
}

static int make_input(struct ctt_onnx *o, struct ctt_onnx_value *v)
{
    int64_t size[CTT_IN_DIMS] = { 1, 1, 1, 1, 1 };
    int in[CTT_ONNX_RANK], last = is_last(o, (int)(v - o->value)), rc, line;

    for (int a = 0; a < v->rank; a++) {
        in[a] = a == 0 ? CTT_IN_N : last ? CTT_IN_C - (v->rank - 1 - a) :
                a == 1 ? CTT_IN_C : CTT_IN_W - (v->rank - 1 - a);
        if (a)
            size[in[a]] = v->dim[a];
    }
    o->at = v->name;
    CTT_TRY(input_line(o, size, &line));
    CTT_TRY(ctt_place_new(o, line, v->rank, v->dim, in, &v->place));
    v->known = CTT_ONNX_LIVE;
    v->t = (struct ctt_onnx_tensor){ .type = CTT_ONNX_FLOAT, .rank = v->rank };
    memcpy(v->t.dim, v->dim, sizeof(v->dim));
    CTT_TRY(ctt_onnx_count(v->name, v->rank, v->dim, &v->t.count));
    o->line[line].shared = v->readers > 1;
out:
    return rc;
}

/* Inputs that the answer does not depend on are left out. */
static int make_inputs(struct ctt_onnx *o)
{
    int kept = 0, rc = 0;

    for (int i = 0; i < o->inputs; i++)
        if (o->value[o->input[i]].readers)
            o->input[kept++] = o->input[i];
    o->inputs = kept;
    CTT_CHECK(kept, CTT_EUNSUP, "%s: the answer depends on no input", o->path);
    for (int i = 0; i < kept; i++) {
        CTT_TRY(check_shape(o, &o->value[o->input[i]]));
        CTT_TRY(make_input(o, &o->value[o->input[i]]));
    }
out:
    return rc;
}

/* ---- the answer ---- */

static int find_answer(struct ctt_onnx *o, const char *name, int *out)
{
    int rc = 0;

    CTT_CHECK(name || o->outputs == 1, CTT_EINVAL, "%s: has %d outputs: name "
              "the answer with --answer, such as '%s'", o->path, o->outputs,
              o->value[o->output[0]].name);
    *out = name ? ctt_onnx_find(o, name) : o->output[0];
    CTT_CHECK(*out >= 0 && (o->value[*out].maker >= 0 ||
                            o->value[*out].input), CTT_EINVAL, "--answer %s: "
              "%s computes no such value", name, o->path);
out:
    return rc;
}

static int pixels_of(const struct ctt_onnx_line *l)
{
    return l->size[CTT_IN_D] * l->size[CTT_IN_H] * l->size[CTT_IN_W] != 1;
}

/* A softmax or sigmoid of classes at the end is left to the program that reads
 * the answer. */
static void leave_function(struct ctt_import *m, struct ctt_onnx_place *p)
{
    struct ctt_onnx_line *l = &m->o.line[p->line];
    int soft = strcmp(l->word, "softmax") == 0 ||
               strcmp(l->word, "logsoftmax") == 0;
    int sigmoid = strcmp(l->word, "act") == 0 &&
                  strcmp(l->keys, " kind=sigmoid") == 0;

    if (!(soft || sigmoid) || l->shared || pixels_of(l) ||
        strcmp(m->o.line[l->in[0]].word, "input") == 0)
        return;
    m->left = soft ? l->word : "sigmoid";
    m->o.several = sigmoid;
    l->aside = 1;
    p->line = l->in[0];
}

/* Lines that the answer does not need stand aside; inputs stay. */
static void leave_unneeded(struct ctt_onnx *o, int answer)
{
    for (int i = 0; i < o->lines; i++)
        o->line[i].aside |= i > answer || strcmp(o->line[i].word, "input") != 0
                            ? 2 : 0;
    o->line[answer].aside &= ~2;
    for (int i = answer; i >= 0; i--)
        for (int k = 0; k < o->line[i].nin && !o->line[i].aside; k++)
            o->line[o->line[i].in[k]].aside &= ~2;
}

/* Numbers of an answer stand in the order of the file, if they can. */
static int straighten(struct ctt_onnx *o, struct ctt_onnx_value *v,
                      struct ctt_onnx_place **out)
{
    struct ctt_op_image m;
    int rc;

    CTT_TRY(ctt_op_solid(o, v->place, out));
    v->place = *out;
    rc = ctt_op_image(o, v, &m);
    if (rc >= 0)
        rc = ctt_op_straight(o, &m);
    if (rc >= 0)
        *out = m.p;
    rc = rc == CTT_EUNSUP ? 0 : rc;
out:
    return rc;
}

/* LogSoftmax is no word of the language, and is known at the end only. */
static int check_words(struct ctt_onnx *o)
{
    int rc = 0;

    for (int i = 0; i < o->lines; i++)
        CTT_CHECK(o->line[i].aside || strcmp(o->line[i].word, "logsoftmax"),
                  CTT_EUNSUP, "%s: %s: LogSoftmax is known only for one pixel "
                  "at the end", o->path, o->line[i].name);
out:
    return rc;
}

static int make_answer(struct ctt_import *m)
{
    struct ctt_onnx *o = &m->o;
    struct ctt_onnx_value *v = &o->value[m->answer];
    struct ctt_onnx_place *p;
    int rc;

    o->at = v->name;
    CTT_CHECK(v->known == CTT_ONNX_LIVE, CTT_EUNSUP, "%s: the answer '%s' "
              "depends on no input", o->path, v->name);
    p = ctt_arena_take(&o->arena, 1, sizeof(*p));
    CTT_TRY(p ? 0 : CTT_ENOMEM);
    *p = *v->place;
    v->place = p;
    leave_function(m, p);
    CTT_TRY(straighten(o, v, &p));
    if (strcmp(o->line[p->line].word, "input") == 0)
        CTT_TRY(ctt_op_line(o, "add", p, &p));
    m->place = p;
    leave_unneeded(o, p->line);
out:
    return rc;
}

/* ---- the whole ---- */

/* Constants that are nodes, before patterns look for numbers. */
static int fold_constants(struct ctt_onnx *o)
{
    int rc = 0;

    for (int i = 0; i < o->nodes; i++)
        if (!*o->node[i].domain && strcmp(o->node[i].op, "Constant") == 0) {
            rc = ctt_onnx_fold(o, &o->node[i]);
            rc = rc == CTT_EUNSUP ? 0 : rc;    /* named if it is needed */
            CTT_TRY(rc);
        }
out:
    return rc;
}

static int translate(struct ctt_import *m)
{
    struct ctt_onnx *o = &m->o;
    int rc = 0;

    for (int i = 0; i < o->nodes; i++) {
        struct ctt_onnx_node *n = &o->node[i];

        if (!n->needed)
            continue;
        m->needed += !ctt_onnx_folds(o, n);
        CTT_TRY(ctt_onnx_translate(o, n));
    }
out:
    return rc;
}

static int import(struct ctt_import *m, const struct ctt_import_job *job)
{
    struct ctt_onnx *o = &m->o;
    int rc;

    CTT_TRY(ctt_onnx_read(job->path, o));
    CTT_TRY(set_shapes(o, job->shapes));
    CTT_TRY(find_answer(o, job->output, &m->answer));
    CTT_TRY(fold_constants(o));
    CTT_TRY(ctt_onnx_patterns(o));
    ctt_onnx_mark(o, m->answer);
    CTT_TRY(make_inputs(o));
    CTT_TRY(translate(m));
    if (o->faults)
        goto out;
    CTT_TRY(make_answer(m));
    CTT_TRY(check_words(o));
    CTT_TRY(ctt_onnx_model(o, &m->model));
out:
    return rc;
}

/* The bytes of the file are in the weights then. */
int ctt_import_open(const struct ctt_import_job *job, struct ctt_import **out)
{
    struct ctt_import *m = ctt_calloc(1, sizeof(*m));
    int rc = m ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    CTT_TRY(import(m, job));
    ctt_free(m->o.file);
    m->o.file = NULL;
    ctt_arena_free(&m->o.data);
    *out = m;
    m = NULL;
out:
    ctt_import_close(&m);
    return rc;
}

void ctt_import_close(struct ctt_import **m)
{
    if (!*m)
        return;
    ctt_onnx_free(&(*m)->o);
    ctt_model_free(&(*m)->model);
    ctt_free(*m);
    *m = NULL;
}

struct ctt_model *ctt_import_model(const struct ctt_import *m)
{
    return m->model;
}

struct ctt_model *ctt_import_release(struct ctt_import **m)
{
    struct ctt_model *model = (*m)->model;

    (*m)->model = NULL;
    ctt_import_close(m);
    return model;
}

int ctt_import_fault(const struct ctt_import *m, int i,
                     struct ctt_import_fault *out)
{
    if (i >= m->o.faults)
        return 0;
    *out = (struct ctt_import_fault){ m->o.fault[i].node, m->o.fault[i].op,
                                      m->o.fault[i].reason };
    return 1;
}

void ctt_import_about(const struct ctt_import *m, struct ctt_import_about *out)
{
    *out = (struct ctt_import_about){ m->o.nodes, m->needed, m->left };
}

/* ---- the order of numbers ---- */

/* 1 if samples are an axis of their own, and how many there are. */
static int64_t samples_of(const struct ctt_onnx_place *p)
{
    int64_t n = 1;

    for (int i = 0; i < p->atoms; i++)
        n *= p->atom[i].dim == CTT_IN_N ? p->atom[i].size : 1;
    return n;
}

const char *ctt_import_input(const struct ctt_import *m, int i, int *node,
                             int64_t *samples, int64_t *numbers)
{
    const struct ctt_onnx_value *v;
    const struct ctt_onnx_line *l;

    if (i >= m->o.inputs)
        return NULL;
    v = &m->o.value[m->o.input[i]];
    l = &m->o.line[v->place->line];
    l = l->nin ? &m->o.line[l->in[0]] : l;
    *node = ctt_graph_find(m->model->g, l->name);
    *samples = samples_of(v->place);
    *numbers = v->t.count / *samples;
    return v->name;
}

int64_t ctt_import_answer(const struct ctt_import *m)
{
    return m->o.value[m->answer].t.count;
}

/* Calls move(file's index, memory's index) for the numbers of sample k. */
static void walk(const struct ctt_onnx_place *p, int64_t k, int back,
                 const float *from, float *to)
{
    int64_t stride[CTT_PLACE_ATOMS], step = 1, count = 1;

    for (int i = p->atoms - 1; i >= 0; i--) {
        stride[p->order[i]] = step;
        step *= p->atom[p->order[i]].size;
        count *= p->atom[i].dim == CTT_IN_N ? 1 : p->atom[i].size;
    }
    for (int64_t i = 0; i < count; i++) {
        int64_t rest = i, sample = k, at = 0;

        for (int a = p->atoms - 1; a >= 0; a--) {
            int64_t *digits = p->atom[a].dim == CTT_IN_N ? &sample : &rest;

            at += *digits % p->atom[a].size * stride[a];
            *digits /= p->atom[a].size;
        }
        to[back ? at : i] = from[back ? i : at];
    }
}

void ctt_import_feed(const struct ctt_import *m, int i, int64_t k,
                     const float *from, float *to)
{
    const struct ctt_onnx_value *v = &m->o.value[m->o.input[i]];
    const struct ctt_onnx_line *l = &m->o.line[v->place->line];
    int64_t n = v->t.count / samples_of(v->place), c = l->size[CTT_IN_C];

    l = l->nin ? &m->o.line[l->in[0]] : l;
    walk(v->place, k, 0, from, to);
    for (int64_t j = 0; j < n && l->scale; j++)
        to[j] = (float)((double)to[j] * l->scale[j % c] + l->shift[j % c]);
}

void ctt_import_take(const struct ctt_import *m, int64_t k, const float *from,
                     float *to)
{
    walk(m->place, k, 1, from, to);
}

const int64_t *ctt_import_shape(const struct ctt_import *m, int i, int *rank)
{
    const struct ctt_onnx_value *v = &m->o.value[m->o.input[i]];

    *rank = v->t.rank;
    return v->t.dim;
}

/* ---- values inside ---- */

/* Values of bytes are no floats in the file. */
static int is_layer(const struct ctt_import *m, const struct ctt_onnx_value *v)
{
    const struct ctt_onnx_line *l;

    if (v->known != CTT_ONNX_LIVE || v->maker < 0 || !v->readers ||
        (m->left && v == &m->o.value[m->answer]) ||
        ctt_place_padded(v->place) ||
        strcmp(m->o.node[v->maker].op, "QuantizeLinear") == 0)
        return 0;
    l = &m->o.line[v->place->line];
    return !l->aside && l->nin && l->folds == v->folds;
}

int ctt_import_layer(const struct ctt_import *m, int *value,
                     struct ctt_import_layer *out)
{
    for (; *value < m->o.values; ++*value) {
        const struct ctt_onnx_value *v = &m->o.value[*value];

        if (!is_layer(m, v))
            continue;
        *out = (struct ctt_import_layer){ v->name, m->o.node[v->maker].op,
            ctt_graph_find(m->model->g, m->o.line[v->place->line].name),
            v->t.count };
        return 1;
    }
    return 0;
}

void ctt_import_take_layer(const struct ctt_import *m, int value, int64_t k,
                           const float *from, float *to)
{
    walk(m->o.value[value].place, k, 1, from, to);
}
