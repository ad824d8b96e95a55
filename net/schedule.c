/* SPDX-License-Identifier: Apache-2.0
 * schedule.c: the strongly connected components of the step part (Tarjan 1972,
 * without recursion, since the depth of a graph comes from a file). */
#include "net/op.h"

#include <stdlib.h>

struct walk {
    const struct ctt_graph *g;
    int                     feedback;
    struct ctt_schedule    *s;
    int *index, *low, *stack, *path, *edge;    /* index 0: not seen yet */
    int  seen, depth, top, placed;
    char *open;
};

/* The k-th node that node i needs, or -1.  A lstm and the cell node that names
 * its second result belong together through the cell's input. */
static int needs(const struct walk *w, int i, int k)
{
    const struct ctt_node *n = &w->g->node[i];

    if (k > 0 && ctt_is_feedback(n, 1) && !w->feedback)
        k++;    /* the edge that is not followed */
    if (k < n->nin)
        return n->in[k];
    return k == n->nin && n->op == CTT_OP_STATE ? n->source : -1;
}

static void enter_node(struct walk *w, int i)
{
    w->index[i] = w->low[i] = ++w->seen;
    w->stack[w->top++] = i;
    w->open[i] = 1;
    w->path[w->depth] = i;
    w->edge[w->depth++] = 0;
}

static int by_number(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* The nodes entered since i are one component; sorts them into execution order.
 */
static void component(struct walk *w, int i)
{
    struct ctt_schedule *s = w->s;
    int first = w->placed, j;

    do {
        j = w->stack[--w->top];
        w->open[j] = 0;
        s->order[w->placed++] = j;
        s->of[j] = s->comps;
    } while (j != i);
    qsort(s->order + first, (size_t)(w->placed - first), sizeof(int),
          by_number);
    s->bound[s->comps] = w->placed - first > 1;
    s->first[s->comps++] = first;
    s->first[s->comps] = w->placed;
}

static void leave(struct walk *w)
{
    int i = w->path[--w->depth];

    if (w->depth > 0) {
        int up = w->path[w->depth - 1];
        if (w->low[i] < w->low[up])
            w->low[up] = w->low[i];
    }
    if (w->low[i] == w->index[i])
        component(w, i);
}

static void visit(struct walk *w, int root)
{
    enter_node(w, root);
    while (w->depth > 0) {
        int i = w->path[w->depth - 1];
        int j = needs(w, i, w->edge[w->depth - 1]++);
        if (j < 0)
            leave(w);
        else if (!w->index[j])
            enter_node(w, j);
        else if (w->open[j] && w->index[j] < w->low[i])
            w->low[i] = w->index[j];
    }
}

static int ints(int n, int **out)
{
    *out = ctt_calloc((size_t)n, sizeof(int));
    return *out ? 0 : CTT_ENOMEM;
}

int ctt_schedule_new(const struct ctt_graph *g, int feedback,
                     struct ctt_schedule **out)
{
    struct walk w = { .g = g, .feedback = feedback };
    int rc = 0, n = g->clip;

    w.s = ctt_calloc(1, sizeof(*w.s));
    w.open = ctt_calloc((size_t)n, 1);
    CTT_TRY(w.s && w.open ? 0 : CTT_ENOMEM);
    CTT_TRY(ints(n, &w.index));
    CTT_TRY(ints(n, &w.low));
    CTT_TRY(ints(n, &w.stack));
    CTT_TRY(ints(n, &w.path));
    CTT_TRY(ints(n, &w.edge));
    CTT_TRY(ints(n, &w.s->order));
    CTT_TRY(ints(n + 1, &w.s->first));
    CTT_TRY(ints(n + 1, &w.s->bound));
    CTT_TRY(ints(g->count, &w.s->of));
    for (int i = 0; i < n; i++)
        if (!w.index[i])
            visit(&w, i);
    for (int i = n; i < g->count; i++)
        w.s->of[i] = w.s->comps;
    *out = w.s;
    w.s = NULL;
out:
    ctt_schedule_free(&w.s);
    ctt_free(w.open);
    ctt_free(w.index);
    ctt_free(w.low);
    ctt_free(w.stack);
    ctt_free(w.path);
    ctt_free(w.edge);
    return rc;
}

void ctt_schedule_free(struct ctt_schedule **s)
{
    if (!*s)
        return;
    ctt_free((*s)->order);
    ctt_free((*s)->first);
    ctt_free((*s)->bound);
    ctt_free((*s)->of);
    ctt_free(*s);
    *s = NULL;
}
