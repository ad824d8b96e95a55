/* SPDX-License-Identifier: Apache-2.0
 * check.c: whether a graph can be computed at all, and what its answer needs.
 */
#include "exchange/onnx/onnx.h"

/* Inputs that have a constant are that constant, as in old files. */
static int check_inputs(struct ctt_onnx *o)
{
    int kept = 0, rc = 0;

    for (int i = 0; i < o->inputs; i++) {
        struct ctt_onnx_value *v = &o->value[o->input[i]];

        CTT_CHECK(!v->input, CTT_EFORMAT, "%s: the input '%s' is there twice",
                  o->path, v->name);
        v->input = 1;
        if (v->known != CTT_ONNX_CONSTANT)
            o->input[kept++] = o->input[i];
    }
    o->inputs = kept;
    CTT_CHECK(o->outputs > 0, CTT_EFORMAT, "%s: has no output", o->path);
out:
    return rc;
}

static int check_made_once(struct ctt_onnx *o, int node)
{
    const struct ctt_onnx_node *n = &o->node[node];
    int rc = 0;

    for (int k = 0; k < n->nout; k++) {
        struct ctt_onnx_value *v = n->out[k] < 0 ? NULL :
                                   &o->value[n->out[k]];

        if (!v)
            continue;
        CTT_CHECK(v->maker < 0 && !v->input && v->known == CTT_ONNX_NEW,
                  CTT_EFORMAT, "%s: node '%s' makes '%s', which is there "
                  "already", o->path, n->name, v->name);
        v->maker = node;
    }
out:
    return rc;
}

/* Nodes stand in an order in which they can be computed, so that there is no
 * cycle. */
static int check_read(const struct ctt_onnx *o, int node)
{
    const struct ctt_onnx_node *n = &o->node[node];
    int rc = 0;

    for (int k = 0; k < n->nin; k++) {
        const struct ctt_onnx_value *v = n->in[k] < 0 ? NULL :
                                         &o->value[n->in[k]];

        if (!v || v->input || v->known == CTT_ONNX_CONSTANT)
            continue;
        CTT_CHECK(v->maker >= 0, CTT_EFORMAT, "%s: node '%s' reads '%s', "
                  "which nothing makes", o->path, n->name, v->name);
        CTT_CHECK(v->maker < node, CTT_EFORMAT, "%s: node '%s' reads '%s', "
                  "which is made behind it: a cycle, or nodes out of order",
                  o->path, n->name, v->name);
    }
out:
    return rc;
}

int ctt_onnx_check(struct ctt_onnx *o)
{
    int rc;

    CTT_TRY(check_inputs(o));
    for (int i = 0; i < o->nodes; i++)
        CTT_TRY(check_made_once(o, i));
    for (int i = 0; i < o->nodes; i++)
        CTT_TRY(check_read(o, i));
    for (int i = 0; i < o->outputs; i++) {
        const struct ctt_onnx_value *v = &o->value[o->output[i]];

        CTT_CHECK(v->maker >= 0 || v->input || v->known == CTT_ONNX_CONSTANT,
                  CTT_EFORMAT, "%s: nothing makes the output '%s'", o->path,
                  v->name);
    }
out:
    return rc;
}

void ctt_onnx_mark(struct ctt_onnx *o, int answer)
{
    for (int i = 0; i < o->values; i++)
        o->value[i].readers = i == answer;
    for (int i = o->nodes - 1; i >= 0; i--) {
        struct ctt_onnx_node *n = &o->node[i];

        n->needed = 0;
        for (int k = 0; k < n->nout; k++)
            n->needed |= n->out[k] >= 0 && o->value[n->out[k]].readers > 0;
        for (int k = 0; k < n->nin && n->needed; k++)
            if (n->in[k] >= 0)
                o->value[n->in[k]].readers++;
    }
}
