/* SPDX-License-Identifier: Apache-2.0
 * export.c: a model as a file of ONNX. */
#include "exchange/write/past.h"
#include "exchange/write/properties.h"
#include "base/newfile.h"
#include "net/op.h"
#include "net/rewrite/aux_head.h"
#include "net/rewrite/edit.h"

/* The model as a runtime sees it: without what only training needs. */
static int runtime_model(const struct ctt_model *m, struct ctt_model **out)
{
    struct ctt_model *plain = NULL;
    int rc;

    CTT_TRY(ctt_aux_head_drop_model(m, &plain));
    CTT_TRY(ctt_without_norms(plain, out));
    CTT_TRY(ctt_drop_unread(out));
out:
    ctt_model_free(&plain);
    return rc;
}

/* A value, or a window over pixels, that has a depth. */
static int has_depth(const struct ctt_node *n)
{
    struct ctt_slide s;

    if (n->op != CTT_OP_POOL && !ctt_is_conv(n))
        return n->out.d > 1;
    s = ctt_slide_of(n);
    return n->out.d > 1 || s.kernel[0] > 1 || s.pad[0] + s.after[0] > 0;
}

static void find_volumes(struct ctt_emit *x)
{
    const struct ctt_graph *g = x->m->g;

    for (int i = 0; i < g->count; i++)
        if (x->needed[i] && has_depth(&g->node[i]))
            x->volume[i >= g->clip] = 1;
}

/* Frames come as 1, c, h, w. */
static void add_frames(struct ctt_emit *x, int i)
{
    const struct ctt_node *n = &x->m->g->node[i];
    int deep = ctt_emit_deep(x, i);
    int64_t dim[CTT_EMIT_RANK];

    ctt_emit_input(x, n->name, CTT_EMIT_FLOAT, dim,
                   ctt_emit_shape_of(&n->out, n->out.d > 1, 1, dim));
    if (deep && n->out.d == 1)
        ctt_emit_reshape(x, n->name, dim, ctt_emit_shape_of(&n->out, 1, 1, dim),
                         ctt_emit_value(x, i).s);
}

/* Probabilities of an answer v of that name. */
static void add_softmax(struct ctt_emit *x, const char *v, const char *out)
{
    int several = x->m->g->several;

    ctt_emit_op(x, several ? "Sigmoid" : "Softmax", out, v, NULL);
    if (!several)
        ctt_emit_int(x, "axis", 1);
}

/* Classes go as 1, c, a frame as 1, c, h, w. */
static int add_answer(struct ctt_emit *x)
{
    int i = ctt_graph_output(x->m->g), rc = 0;
    const struct ctt_node *n = &x->m->g->node[i];
    int rank = ctt_rows(&n->out) == 1 ? 2 : 4 + (n->out.d > 1);
    struct ctt_emit_name logits = ctt_emit_temp(x);
    const char *shaped = x->set->softmax ? logits.s : n->name;
    int64_t dim[CTT_EMIT_RANK];

    CTT_CHECK(!x->set->softmax || rank == 2, CTT_EINVAL, "%s: a frame has no "
              "probabilities: leave --with-softmax out", n->name);
    if (ctt_emit_shape_of(&n->out, n->out.d > 1, 1, dim) == rank &&
        rank == 4 + ctt_emit_deep(x, i))
        ctt_emit_op(x, "Identity", shaped, ctt_emit_value(x, i).s, NULL);
    else
        ctt_emit_reshape(x, ctt_emit_value(x, i).s, dim, rank, shaped);
    if (x->set->softmax)
        add_softmax(x, shaped, n->name);
    ctt_emit_output(x, n->name, dim, rank);
out:
    return rc;
}

/* The frames are the first input, the answer is the first output. */
static int build_graph(struct ctt_emit *x)
{
    const struct ctt_graph *g = x->m->g;
    int rc = 0;

    for (int i = 0; i < g->count; i++)
        if (g->node[i].op == CTT_OP_INPUT)
            add_frames(x, i);
    CTT_TRY(ctt_emit_pasts(x));
    for (int i = 0; i < g->count; i++)
        if (x->needed[i] && g->node[i].op != CTT_OP_INPUT)
            CTT_TRY(ctt_emit_node(x, i));
    CTT_TRY(add_answer(x));
    ctt_emit_nexts(x);
    CTT_TRY(ctt_emit_properties(x));
out:
    return rc;
}

/* The first failed allocation of a part. */
static int parts_failed(const struct ctt_emit *x)
{
    const struct ctt_proto *part[] = { &x->node, &x->nodes, &x->inputs,
                                       &x->outputs, &x->properties, &x->pool };

    for (size_t i = 0; i < CTT_LEN(part); i++)
        if (part[i]->rc < 0)
            return part[i]->rc;
    return x->rc;
}

static void free_parts(struct ctt_emit *x)
{
    struct ctt_proto *part[] = { &x->node, &x->nodes, &x->inputs, &x->outputs,
                                 &x->properties, &x->pool };

    for (size_t i = 0; i < CTT_LEN(part); i++)
        ctt_proto_free(part[i]);
    ctt_free(x->tensor);
    ctt_free(x->past);
}

int ctt_emit_model(const struct ctt_model *m, const struct ctt_export *set,
                   const struct ctt_emit_sink *to)
{
    struct ctt_emit x = { .set = set };
    struct ctt_model *plain = NULL;
    char *needed = NULL;
    int rc;

    CTT_TRY(ctt_model_finite(m));
    CTT_TRY(runtime_model(m, &plain));
    x.m = plain;
    x.past = ctt_calloc((size_t)plain->g->count, sizeof(*x.past));
    x.needed = needed = ctt_calloc((size_t)plain->g->count, 1);
    CTT_TRY(x.past && needed ? 0 : CTT_ENOMEM);
    ctt_graph_needed(plain->g, ctt_graph_output(plain->g), needed);
    find_volumes(&x);
    CTT_TRY(build_graph(&x));
    CTT_TRY(parts_failed(&x));
    CTT_TRY(ctt_emit_save(&x, to));
out:
    free_parts(&x);
    ctt_free(needed);
    ctt_model_free(&plain);
    return rc;
}

static int write_bytes(void *f, const void *p, int64_t n)
{
    return ctt_newfile_write(f, p, n);
}

int ctt_export_onnx(const char *path, const struct ctt_model *m,
                    const struct ctt_export *set)
{
    struct ctt_newfile *f = NULL;
    int rc;

    CTT_TRY(ctt_newfile_open(path, &f));
    CTT_TRY(ctt_emit_model(m, set, &(struct ctt_emit_sink){ write_bytes, f }));
    CTT_TRY(ctt_newfile_finish(&f));
out:
    ctt_newfile_drop(&f);
    return rc;
}
