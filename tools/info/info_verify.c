/* SPDX-License-Identifier: Apache-2.0
 * info_verify.c: convtt-info --verify: answers of an imported model, compared
 * with saved ones. */
#include "device/device.h"
#include "exchange/npz.h"
#include "tools/info/info_onnx.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* The largest difference, relative to the largest number of the answer. */
static const double tolerance = 1e-4;

struct verify {
    const struct ctt_import *import;
    const struct ctt_graph  *g;        /* the model's, or */
    struct ctt_graph        *before;   /* that without the last line */
    const struct ctt_npz    *z;
    struct ctt_dev          *dev;
    struct ctt_run          *run;
    void                    *w;
    int64_t                  samples;
};

/* "in_" and the input's name, of which other characters than letters and digits
 * are _; where there is one input, the first array that begins so. */
static const struct ctt_npz_array *find_input(const struct verify *v,
                                              const char *name)
{
    char key[64];
    int n = snprintf(key, sizeof(key), "in_%s", name), node;
    int64_t samples, numbers;
    const struct ctt_npz_array *a;

    for (int i = 0; i < n && i < (int)sizeof(key); i++)
        key[i] = (char)(isalnum((unsigned char)key[i]) || !key[i] ? key[i] :
                        '_');
    a = ctt_npz_find(v->z, key);
    for (int i = 0; !a && i < v->z->count &&
         !ctt_import_input(v->import, 1, &node, &samples, &numbers); i++)
        if (strncmp(v->z->array[i].name, "in_", 3) == 0)
            a = &v->z->array[i];
    return a;
}

/* A step has the frames of all samples. */
int ctt_info_put(const struct ctt_run *r, int node, int samples,
                 int64_t numbers, const float *x)
{
    int64_t frame = ctt_volume(&r->g->node[node].out);
    float *all = ctt_calloc((size_t)(samples * frame), sizeof(*all));
    int rc = all ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    for (int64_t t = 0; t < numbers / frame; t++) {
        for (int k = 0; k < samples; k++)
            memcpy(all + k * frame, x + k * numbers + t * frame,
                   (size_t)frame * sizeof(*all));
        CTT_TRY(ctt_run_put(r, node, (int)t, all, samples *
                            ctt_rows(&r->g->node[node].out)));
    }
out:
    ctt_free(all);
    return rc;
}

static int feed(const struct verify *v, int i, const char *path)
{
    const struct ctt_npz_array *a;
    int64_t samples, numbers;
    float *x = NULL;
    int node, rc = 0;
    const char *name = ctt_import_input(v->import, i, &node, &samples,
                                        &numbers);

    a = find_input(v, name);
    CTT_CHECK(a, CTT_EFORMAT, "%s: no array in_%s for the input '%s'", path,
              name, name);
    CTT_CHECK(a->count == samples * numbers, CTT_EFORMAT, "%s: %s has %lld "
              "numbers; the input '%s' has %lld", path, a->name,
              (long long)a->count, name, (long long)(samples * numbers));
    x = ctt_calloc((size_t)(v->samples * numbers), sizeof(*x));
    CTT_TRY(x ? 0 : CTT_ENOMEM);
    for (int64_t k = 0; k < v->samples; k++)
        ctt_import_feed(v->import, i, samples > 1 ? k : 0, a->x,
                        x + k * numbers);
    CTT_TRY(ctt_info_put(v->run, node, (int)v->samples, numbers, x));
out:
    ctt_free(x);
    return rc;
}

int ctt_info_steps(const struct ctt_graph *g)
{
    for (int i = 0; i < g->count; i++)
        if (g->node[i].op == CTT_OP_WINDOW)
            return g->node[i].attr.window.steps;
    return 1;
}

int ctt_info_run(struct ctt_run *r, int samples)
{
    int steps = ctt_info_steps(r->g), rc;

    CTT_TRY(ctt_run_steps(r, steps));
    if (r->g->clip == r->g->count)
        goto out;
    for (int k = 0; k < samples; k++)
        r->ask[k] = (struct ctt_ask){ k, steps - 1 };
    CTT_TRY(ctt_run_clip(r, samples));
out:
    return rc;
}

static int open_run(struct verify *v, const struct ctt_info_cfg *cfg)
{
    const struct ctt_model *m = ctt_import_model(v->import);
    int64_t samples, numbers;
    const float *w;
    int rc, node;

    v->samples = 1;
    for (int i = 0; ctt_import_input(v->import, i, &node, &samples,
                                     &numbers); i++)
        v->samples = samples > v->samples ? samples : v->samples;
    CTT_TRY(ctt_dev_open(cfg->device, cfg->threads, &v->dev));
    CTT_TRY(ctt_dev_show(v->dev, "weights", m->w, m->g->weights, &v->w, &w));
    CTT_TRY(ctt_run_open(&(struct ctt_run_spec){ .g = v->g, .dev = v->dev,
        .w = w, .samples = (int)v->samples, .steps = ctt_info_steps(v->g),
        .asks = v->g->clip < v->g->count ? (int)v->samples : 0 }, &v->run));
out:
    return rc;
}

/* The graph before a sigmoid or softmax in its last line, whose weights are the
 * same: after it large differences are small ones. */
static int leave_last(struct verify *v)
{
    const struct ctt_node *out = &v->g->node[ctt_graph_output(v->g)];
    char *text = NULL, *line;
    int rc = 0;

    if (out->op != CTT_OP_SOFTMAX && !(out->op == CTT_OP_ACT &&
                                       out->attr.act.kind == CTT_ACT_SIGMOID))
        goto out;
    if (out->in[0] != ctt_graph_output(v->g) - 1)
        goto out;
    CTT_TRY((text = ctt_net_print(v->g)) ? 0 : CTT_ENOMEM);
    line = strstr(text, out->name);
    while (line && strncmp(line + strlen(out->name), " in=", 4) != 0)
        line = strstr(line + 1, out->name);
    while (line && line > text && line[-1] != '\n')
        line--;
    if (line)
        *line = '\0';
    CTT_TRY(ctt_net_parse(text, &v->before));
    v->g = v->before;
out:
    ctt_free(text);
    return rc;
}

static int answer(const struct verify *v, const char *path, float *y)
{
    const struct ctt_node *out = &v->g->node[ctt_graph_output(v->g)];
    int64_t each = ctt_volume(&out->out), samples, numbers;
    float *x = ctt_calloc((size_t)(v->samples * each), sizeof(*x));
    int rc = x ? 0 : CTT_ENOMEM, node;

    CTT_TRY(rc);
    for (int i = 0; ctt_import_input(v->import, i, &node, &samples,
                                     &numbers); i++)
        CTT_TRY(feed(v, i, path));
    CTT_TRY(ctt_info_run(v->run, (int)v->samples));
    CTT_TRY(ctt_run_get(v->run, ctt_graph_output(v->g), 0, v->samples *
                        ctt_rows(&out->out), x));
    for (int64_t k = 0; k < v->samples; k++)
        ctt_import_take(v->import, k, x + k * each, y);
out:
    ctt_free(x);
    return rc;
}

/* The last operator of the other program's file, over n classes. */
static void apply(const char *function, int64_t n, float *y)
{
    double top = (double)y[0], sum = 0;

    for (int64_t i = 0; i < n; i++)
        top = (double)y[i] > top ? (double)y[i] : top;
    for (int64_t i = 0; i < n; i++)
        sum += exp((double)y[i] - top);
    for (int64_t i = 0; i < n; i++)
        if (strcmp(function, "softmax") == 0)
            y[i] = (float)(exp((double)y[i] - top) / sum);
        else if (strcmp(function, "logsoftmax") == 0)
            y[i] = (float)((double)y[i] - top - log(sum));
        else
            y[i] = (float)(1 / (1 + exp(-(double)y[i])));
}

static int compare(const char *path, const struct ctt_npz_array *a,
                   const float *y)
{
    double most = 0, worst = 0, error;
    int64_t first = -1;
    int rc = 0;

    for (int64_t i = 0; i < a->count; i++)
        most = fabs((double)a->x[i]) > most ? fabs((double)a->x[i]) : most;
    for (int64_t i = 0; i < a->count; i++) {
        error = fabs((double)y[i] - (double)a->x[i]);
        error = error == 0 ? 0 : error / most;
        if (!(error <= tolerance) && first < 0)
            first = i;
        worst = error > worst ? error : worst;
    }
    CTT_CHECK(first < 0, CTT_EFORMAT, "%s: the answer differs by more than "
              "%g: number %lld of %s is %.7g there and %.7g here (largest "
              "difference %.1e)", path, tolerance, (long long)first, a->name,
              (double)a->x[first], (double)y[first], worst);
    printf("verified        %lld numbers of %s, largest difference %.1e\n",
           (long long)a->count, a->name, worst);
out:
    return rc;
}

static int check_answer(struct verify *v, const struct ctt_info_cfg *cfg)
{
    const struct ctt_npz_array *a = ctt_npz_find(v->z, "pre");
    int64_t n = ctt_import_answer(v->import);
    const char *path = cfg->verify;
    struct ctt_import_about about;
    float *y = ctt_calloc((size_t)n + 1, sizeof(*y));
    int rc = y ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    ctt_import_about(v->import, &about);
    if (a && !about.left)
        CTT_TRY(leave_last(v));
    a = a && (about.left || v->before) ? a : ctt_npz_find(v->z, "out_0");
    CTT_TRY(open_run(v, cfg));
    CTT_CHECK(a, CTT_EFORMAT, "%s: no array out_0", path);
    CTT_CHECK(a->count == n, CTT_EFORMAT, "%s: %s has %lld numbers; the answer "
              "has %lld", path, a->name, (long long)a->count, (long long)n);
    CTT_TRY(answer(v, path, y));
    for (int64_t k = 0; about.left && strcmp(a->name, "pre") != 0 &&
         k < v->samples; k++)
        apply(about.left, n / v->samples, y + k * (n / v->samples));
    CTT_TRY(compare(path, a, y));
out:
    ctt_free(y);
    return rc;
}

int ctt_info_verify(const struct ctt_info_cfg *cfg,
                    const struct ctt_import *m)
{
    struct verify v = { .import = m, .g = ctt_import_model(m)->g };
    struct ctt_npz *z = NULL;
    int rc;

    CTT_TRY(ctt_npz_open(cfg->verify, &z));
    v.z = z;
    CTT_TRY(check_answer(&v, cfg));
out:
    ctt_run_close(&v.run);
    if (v.w)
        ctt_dev_free(v.dev, &v.w);
    ctt_dev_close(&v.dev);
    ctt_graph_free(&v.before);
    ctt_npz_close(&z);
    return rc;
}
