/* SPDX-License-Identifier: Apache-2.0
 * import.c: an ONNX file becomes a model: nodes, answer. */
#include "exchange/import.h"
#include "exchange/onnx/ops.h"

#include <string.h>

struct ctt_import {
    struct ctt_onnx   o;
    struct ctt_model *model;
    int               answer;    /* the value */
    struct ctt_onnx_place *place;    /* of the answer */
    const char       *left;
    int               needed;
};

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
    CTT_TRY(ctt_onnx_set_shapes(o, job->shapes));
    CTT_TRY(find_answer(o, job->output, &m->answer));
    CTT_TRY(fold_constants(o));
    CTT_TRY(ctt_onnx_patterns(o));
    ctt_onnx_mark(o, m->answer);
    CTT_TRY(ctt_onnx_make_inputs(o));
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
