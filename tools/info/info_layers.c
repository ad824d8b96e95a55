/* SPDX-License-Identifier: Apache-2.0
 * info_layers.c: convtt-info --verify with ONNX Runtime: every value of an
 * imported model that both compute, in the order of the file. */
#include "base/random.h"
#include "device/device.h"
#include "exchange/ort.h"
#include "run/run.h"
#include "tools/info/info_onnx.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The largest difference, relative to the largest number of a value. */
static const double tolerance = 1e-4;

enum { INPUTS = 16 };

struct layers {
    const struct ctt_import *import;
    const struct ctt_graph  *g;
    const char              *path;
    struct ctt_dev          *dev;
    struct ctt_run          *run;
    void                    *w;
    struct ctt_ort          *ort;
    int                     *value, count;    /* values of the file */
    const char             **name;
    struct ctt_ort_input     in[INPUTS];
    int                      inputs, samples, compared;
    double                   worst;
    const char              *where;
};

/* ---- the model ---- */

/* Every value stays, and each node has its own kernel, unless an act works in
 * place. */
static int open_run(struct layers *l, const struct ctt_info_cfg *cfg)
{
    const struct ctt_model *m = ctt_import_model(l->import);
    const float *w;
    int rc, clip = l->g->clip < l->g->count;

    CTT_TRY(ctt_dev_open(cfg->device, cfg->threads, &l->dev));
    CTT_TRY(ctt_dev_show(l->dev, "weights", m->w, m->g->weights, &l->w, &w));
    CTT_TRY(ctt_run_open(&(struct ctt_run_spec){ .g = l->g, .dev = l->dev,
        .w = w, .samples = l->samples, .steps = ctt_info_steps(l->g),
        .asks = clip ? l->samples : 0, .train = 1 }, &l->run));
    l->run->train = 0;
    l->run->plain = CTT_RUN_NO_LSTM | CTT_RUN_NO_PAIR | CTT_RUN_NO_CHAIN;
out:
    return rc;
}

/* Random pictures, the same for both. */
static int make_input(struct layers *l, int i)
{
    struct ctt_ort_input *in = &l->in[i];
    int64_t samples, numbers;
    float *x;
    int rc = 0, node;

    in->name = ctt_import_input(l->import, i, &node, &samples, &numbers);
    in->dim = ctt_import_shape(l->import, i, &in->rank);
    in->count = samples * numbers;
    l->samples = samples > l->samples ? (int)samples : l->samples;
    x = ctt_calloc((size_t)in->count, sizeof(*x));
    CTT_TRY(x ? 0 : CTT_ENOMEM);
    for (int64_t k = 0; k < in->count; k++)
        x[k] = (float)(ctt_random((uint64_t)i, (uint64_t)k) >> 8) * 0x1p-24f;
    in->x = x;
    l->inputs++;
out:
    return rc;
}

static int make_inputs(struct layers *l)
{
    int64_t samples, numbers;
    int node, rc = 0;

    while (ctt_import_input(l->import, l->inputs, &node, &samples, &numbers)) {
        CTT_CHECK(l->inputs < INPUTS, CTT_EUNSUP, "%s: more than %d inputs",
                  l->path, INPUTS);
        CTT_TRY(make_input(l, l->inputs));
    }
out:
    return rc;
}

/* ---- the values ---- */

static int is_kept(const struct layers *l, int node)
{
    const struct ctt_slot *s = &l->run->slot[node];

    return s->act < 0 && s->quant < 0 && s->lstm < 0;
}

static int list_values(struct layers *l)
{
    struct ctt_import_layer a;
    int rc = 0, room = 0;

    for (int v = 0; ctt_import_layer(l->import, &v, &a); v++)
        room++;
    l->value = ctt_calloc((size_t)room + 1, sizeof(*l->value));
    l->name = ctt_calloc((size_t)room + 1, sizeof(*l->name));
    CTT_TRY(l->value && l->name ? 0 : CTT_ENOMEM);
    for (int v = 0; ctt_import_layer(l->import, &v, &a); v++)
        if (is_kept(l, a.node)) {
            l->name[l->count] = a.name;
            l->value[l->count++] = v;
        }
    CTT_CHECK(l->count, CTT_EUNSUP, "%s: no value to compare", l->path);
out:
    return rc;
}

/* Probabilities are compared with 1: ONNX Runtime rounds small ones to 0. */
static int compare(struct layers *l, const struct ctt_import_layer *a,
                   const float *theirs, const float *ours)
{
    double most = strstr(a->op, "Sigmoid") || strstr(a->op, "Softmax"), error;
    int rc = 0;

    for (int64_t i = 0; i < a->numbers; i++)
        most = fabs((double)theirs[i]) > most ? fabs((double)theirs[i]) : most;
    for (int64_t i = 0; i < a->numbers; i++) {
        error = fabs((double)theirs[i] - (double)ours[i]);
        error = error == 0 ? 0 : error / most;
        CTT_CHECK(error <= tolerance, CTT_EFORMAT, "%s: '%s' (%s) differs by "
                  "more than %g from ONNX Runtime: number %lld is %.7g there "
                  "and %.7g here", l->path, a->name, a->op, tolerance,
                  (long long)i, (double)theirs[i], (double)ours[i]);
        if (error > l->worst) {
            l->worst = error;
            l->where = a->name;
        }
    }
    l->compared++;
out:
    return rc;
}

/* One of the values that ONNX Runtime computed. */
static int take(void *arg, int i, const float *theirs)
{
    struct layers *l = arg;
    struct ctt_import_layer a;
    const struct ctt_tensor *t;
    float *x, *y;
    int rc, v = l->value[i];

    ctt_import_layer(l->import, &v, &a);
    t = &l->g->node[a.node].out;
    x = ctt_calloc((size_t)(l->samples * ctt_volume(t)), sizeof(*x));
    y = ctt_calloc((size_t)a.numbers, sizeof(*y));
    CTT_TRY(x && y ? 0 : CTT_ENOMEM);
    CTT_TRY(ctt_run_get(l->run, a.node, 0, l->samples * ctt_rows(t), x));
    for (int k = 0; k < l->samples; k++)
        ctt_import_take_layer(l->import, v, k, x + k * ctt_volume(t), y);
    CTT_TRY(compare(l, &a, theirs, y));
out:
    ctt_free(x);
    ctt_free(y);
    return rc;
}

static int compute(struct layers *l)
{
    int64_t samples, numbers;
    float *x = NULL;
    int rc = 0, node;

    for (int i = 0; i < l->inputs; i++) {
        ctt_import_input(l->import, i, &node, &samples, &numbers);
        ctt_free(x);
        x = ctt_calloc((size_t)(l->samples * numbers), sizeof(*x));
        CTT_TRY(x ? 0 : CTT_ENOMEM);
        for (int k = 0; k < l->samples; k++)
            ctt_import_feed(l->import, i, samples > 1 ? k : 0, l->in[i].x,
                            x + k * numbers);
        CTT_TRY(ctt_info_put(l->run, node, l->samples, numbers, x));
    }
    CTT_TRY(ctt_info_run(l->run, l->samples));
out:
    ctt_free(x);
    return rc;
}

static void close_layers(struct layers *l)
{
    ctt_ort_close(&l->ort);
    ctt_run_close(&l->run);
    if (l->w)
        ctt_dev_free(l->dev, &l->w);
    ctt_dev_close(&l->dev);
    for (int i = 0; i < l->inputs; i++) {
        float *x;

        memcpy(&x, &l->in[i].x, sizeof(x));
        ctt_free(x);
    }
    ctt_free(l->value);
    ctt_free(l->name);
}

int ctt_info_layers(const struct ctt_info_cfg *cfg,
                    const struct ctt_import *m)
{
    struct layers l = { .import = m, .g = ctt_import_model(m)->g,
                        .path = cfg->import, .samples = 1, .where = "" };
    const char *library = strcmp(cfg->verify, "onnxruntime") == 0 ?
                          "libonnxruntime.so" : cfg->verify;
    int rc;

    CTT_TRY(make_inputs(&l));
    CTT_TRY(open_run(&l, cfg));
    CTT_TRY(list_values(&l));
    CTT_TRY(ctt_ort_open(library, cfg->import, l.name, l.count, &l.ort));
    CTT_TRY(compute(&l));
    CTT_TRY(ctt_ort_run(l.ort, l.in, l.inputs, take, &l));
    printf("verified        %d values of ONNX Runtime, largest difference %.1e"
           "%s%s\n", l.compared, l.worst, *l.where ? " at " : "", l.where);
out:
    close_layers(&l);
    return rc;
}
