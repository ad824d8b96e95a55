/* SPDX-License-Identifier: Apache-2.0
 * train_model.c: adapts a model to the data and to the weights it starts from.
 */
#include "tools/train/train_tool.h"
#include "net/rewrite/edit.h"
#include "tools/shared/tool.h"

#include <stdio.h>
#include <string.h>

/* The node whose channels the answer has: of a pool or act the one before. */
static int classifier(const struct ctt_graph *g)
{
    int i = ctt_graph_output(g);

    while (g->node[i].op == CTT_OP_POOL || g->node[i].op == CTT_OP_ACT)
        i = g->node[i].in[0];
    return i;
}

int ctt_fit_classes(struct ctt_graph **g, int classes)
{
    int answer = classifier(*g), rc = 0;
    const struct ctt_node *last = &(*g)->node[answer];
    struct ctt_graph *fitted = NULL;
    struct ctt_edit *e = NULL;
    char number[16];

    if (last->out.c == classes)
        return 0;
    CTT_CHECK(last->op == CTT_OP_CONV, CTT_EINVAL,
              "%s: answers %lld classes, the data has %d", last->name,
              (long long)last->out.c, classes);
    snprintf(number, sizeof(number), "%d", classes);
    CTT_TRY(ctt_edit_begin(*g, &e));
    CTT_TRY(ctt_edit_set(e, answer, "out", number));
    CTT_TRY(ctt_edit_graph(e, &fitted));
    ctt_tool_say("%s: out=%lld is now %d, the number of classes", last->name,
                 (long long)last->out.c, classes);
    ctt_edit_free(&e);
    ctt_graph_free(g);
    *g = fitted;
out:
    ctt_edit_free(&e);
    return rc;
}

/* Writes which nodes of g have weights that are not all in `from`: at most as
 * many names as fit, then dots. */
static void list_new(const struct ctt_graph *from, const struct ctt_graph *g,
                     char *text, size_t size)
{
    size_t at = 0;

    text[0] = '\0';
    for (int i = 0; i < g->count; i++) {
        const struct ctt_node *n = &g->node[i];

        if (ctt_weights_found(from, n) == n->nw)
            continue;
        if (at + strlen(n->name) + 8 > size) {
            snprintf(text + at, size - at, ", ...");
            return;
        }
        at += (size_t)snprintf(text + at, size - at, "%s%s",
                               at ? ", " : "; new: ", n->name);
    }
}

int ctt_take_weights(struct ctt_model *m, const char *path)
{
    struct ctt_model *from = NULL;
    char new[256];
    int taken, all = 0, rc = 0;

    CTT_TRY(ctt_model_load(path, 0, &from));
    CTT_TRY(taken = ctt_model_move(from, m));
    for (int i = 0; i < m->g->count; i++)
        all += m->g->node[i].nw;
    CTT_CHECK(taken, CTT_EINVAL, "%s: has no weight of the model's names and "
              "shapes", path);
    list_new(from->g, m->g, new, sizeof(new));
    ctt_tool_say("%d of %d weights taken from %s%s", taken, all, path, new);
out:
    ctt_model_free(&from);
    return rc;
}
