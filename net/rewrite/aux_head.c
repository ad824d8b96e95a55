/* SPDX-License-Identifier: Apache-2.0
 * aux_head.c: the line `ahead` of a model, and the model without it. */
#include "net/rewrite/aux_head.h"
#include "net/rewrite/edit.h"
#include "net/op.h"

int ctt_aux_head_find(const struct ctt_graph *g)
{
    for (int i = 0; i < g->count; i++)
        if (g->node[i].op == CTT_OP_AHEAD)
            return i;
    return -1;
}

/* It predicts a frame, once, and nothing is made of it. */
static int check(const struct ctt_graph *g, int ahead)
{
    const struct ctt_tensor *a = &g->node[ctt_graph_input(g)].out;
    const struct ctt_tensor *b = &g->node[ahead].out;
    const char *name = g->node[ahead].name;
    int rc = 0;

    CTT_CHECK(a->d == b->d && a->h == b->h && a->w == b->w && a->c == b->c,
              CTT_EFORMAT, "%s: predicts the next frame, %lldx%lldx%lldx%lld, "
              "and is %lldx%lldx%lldx%lld", name, (long long)a->d,
              (long long)a->h, (long long)a->w, (long long)a->c,
              (long long)b->d, (long long)b->h, (long long)b->w,
              (long long)b->c);
    CTT_CHECK(g->clip < 0 || ahead < g->clip, CTT_EFORMAT,
              "%s: 'ahead' stands before 'clip'", name);
    CTT_CHECK(ahead != ctt_graph_output(g), CTT_EFORMAT,
              "%s: 'ahead' cannot be the answer, which the last line is", name);
    for (int i = ahead + 1; i < g->count; i++) {
        CTT_CHECK(g->node[i].op != CTT_OP_AHEAD, CTT_EFORMAT,
                  "%s: 'ahead' stands twice", g->node[i].name);
        for (int k = 0; k < g->node[i].nin; k++)
            CTT_CHECK(g->node[i].in[k] != ahead, CTT_EFORMAT,
                      "%s: nothing can read '%s', which is for training only",
                      g->node[i].name, name);
    }
out:
    return rc;
}

/* Gives a node the next rank; what only passes values between processes does
 * not count, so that all other nodes have the rank that they have in one. */
static void rank_node(struct ctt_node *n, int *next)
{
    n->rank = *next;
    *next += !ctt_is_exchange(n);
}

/* The nodes that the answer needs are ranked first, as if the others were not
 * there. */
static void rank(struct ctt_graph *g, const char *needed)
{
    int next = 0;

    for (int i = 0; i < g->count; i++) {
        g->node[i].aside = needed && !needed[i];
        if (!g->node[i].aside)
            rank_node(&g->node[i], &next);
    }
    for (int i = 0; i < g->count; i++)
        if (g->node[i].aside)
            rank_node(&g->node[i], &next);
}

int ctt_aux_head_settle(struct ctt_graph *g)
{
    int ahead = ctt_aux_head_find(g), rc = 0;
    char *needed = NULL;

    if (ahead >= 0) {
        CTT_TRY(check(g, ahead));
        needed = ctt_calloc((size_t)g->count, 1);
        CTT_TRY(needed ? 0 : CTT_ENOMEM);
        ctt_graph_needed(g, ctt_graph_output(g), needed);
        needed[ctt_graph_input(g)] = 1;
    }
    rank(g, needed);
out:
    ctt_free(needed);
    return rc;
}

int ctt_aux_head_drop(const struct ctt_graph *g, struct ctt_graph **out)
{
    struct ctt_edit *e = NULL;
    int rc;

    CTT_TRY(ctt_edit_begin(g, &e));
    for (int i = 0; i < g->count; i++)
        if (g->node[i].aside)
            ctt_edit_remove(e, i);
    CTT_TRY(ctt_edit_graph(e, out));
out:
    ctt_edit_free(&e);
    return rc;
}

int ctt_aux_head_drop_model(const struct ctt_model *m, struct ctt_model **out)
{
    struct ctt_graph *g = NULL;
    int rc;

    CTT_TRY(ctt_aux_head_drop(m->g, &g));
    CTT_TRY(ctt_model_with(g, m, out));
out:
    return rc;
}

int ctt_aux_head_drop_from(struct ctt_model **m)
{
    struct ctt_model *plain = NULL;
    int rc = 0;

    if (ctt_aux_head_find((*m)->g) < 0)
        goto out;
    CTT_TRY(ctt_aux_head_drop_model(*m, &plain));
    ctt_model_free(m);
    *m = plain;
out:
    return rc;
}

int ctt_aux_head_save(const char *path, struct ctt_model *m)
{
    struct ctt_model *plain = NULL;
    int rc = 0;

    if (ctt_aux_head_find(m->g) < 0)
        return ctt_model_save(path, m);
    CTT_TRY(ctt_aux_head_drop_model(m, &plain));
    CTT_TRY(ctt_model_save(path, plain));
out:
    ctt_model_free(&plain);
    return rc;
}
