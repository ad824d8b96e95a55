/* SPDX-License-Identifier: Apache-2.0
 * own.c: a model from a safetensors file that convtt wrote, whose metadata has
 * its text and its labels. */
#include "exchange/exchange.h"
#include "exchange/weights/fill.h"
#include "base/json.h"

static int set_labels(const struct ctt_tensors *t, struct ctt_model *m)
{
    struct ctt_value *v = NULL;
    char **label = NULL;
    int rc, n = 0;

    CTT_TRY(ctt_json_parse(t->path, 1, t->labels, &v));
    if (ctt_json_kind(v) == '[')
        n = ctt_json_size(v);
    label = ctt_calloc((size_t)n + 1, sizeof(*label));
    CTT_TRY(label ? 0 : CTT_ENOMEM);
    for (int i = 0; i < n; i++) {
        label[i] = (char *)(uintptr_t)ctt_json_text(ctt_json_at(v, i));
        CTT_CHECK(label[i], CTT_EFORMAT, "%s: a label is no text", t->path);
    }
    CTT_CHECK(n == 0 || n == m->g->node[ctt_graph_output(m->g)].out.c,
              CTT_EFORMAT, "%s: %d labels for %lld classes", t->path, n,
              (long long)m->g->node[ctt_graph_output(m->g)].out.c);
    if (n)
        CTT_TRY(ctt_model_labels(m, label, n));
out:
    ctt_free(label);
    if (v)
        ctt_json_free(&v);
    return rc;
}

/* A model of the file's text, with zeros. */
static int own_model(const struct ctt_tensors *t, struct ctt_model **m)
{
    struct ctt_graph *g = NULL;
    int rc;

    CTT_TRY(ctt_net_parse(t->net, &g));
    rc = ctt_graph_light_known(g);
    if (rc < 0)
        ctt_graph_free(&g);
    CTT_TRY(rc);
    CTT_TRY(ctt_model_new(g, m));
out:
    return rc < 0 ? ctt_error(rc, "%s: %s", t->path, ctt_errmsg()) : rc;
}

int ctt_import_safetensors(const char *path, struct ctt_model **out)
{
    struct ctt_tensors *t = NULL;
    struct ctt_model *m = NULL;
    int rc;

    CTT_TRY(ctt_tensors_open(path, &t));
    CTT_CHECK(t->net, CTT_EFORMAT, "%s: has no model text: give a model to "
              "put the weights in, NAME.net, and --map", path);
    CTT_TRY(own_model(t, &m));
    if (t->labels)
        CTT_TRY(set_labels(t, m));
    CTT_TRY(ctt_tensors_fill(t, NULL, m));
    *out = m;
    m = NULL;
out:
    ctt_model_free(&m);
    ctt_tensors_free(&t);
    return rc;
}
