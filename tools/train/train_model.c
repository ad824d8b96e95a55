/* SPDX-License-Identifier: Apache-2.0
 * train_model.c: adapts a model to the data and to the weights it starts from.
 */
#include "tools/train/train_tool.h"
#include "tools/shared/output.h"
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

/* Sets the key of a node that has the number of classes, and says so. */
static int fit_node(struct ctt_edit *e, const struct ctt_node *n, int i,
                    const char *key, long long was, int classes, int symbols)
{
    char number[16];
    int rc;

    snprintf(number, sizeof(number), "%d", classes);
    CTT_TRY(ctt_edit_set(e, i, key, number));
    ctt_tool_say("%s: %s=%lld is now %d, the %s", n->name, key, was, classes,
                 symbols ? "size of the vocabulary" : "number of classes");
out:
    return rc;
}

int ctt_fit_classes(struct ctt_graph **g, int classes, int symbols)
{
    int answer = classifier(*g), rc = 0, fits;
    const struct ctt_node *last = &(*g)->node[answer], *n;
    struct ctt_graph *fitted = NULL;
    struct ctt_edit *e = NULL;

    fits = last->out.c == classes;
    CTT_CHECK(fits || last->op == CTT_OP_CONV, CTT_EINVAL,
              "%s: answers %lld classes, the data has %d", last->name,
              (long long)last->out.c, classes);
    CTT_TRY(ctt_edit_begin(*g, &e));
    for (int i = 0; i < (*g)->count; i++) {
        n = &(*g)->node[i];
        if (!symbols || !ctt_node_is_table(*g, i) ||
            n->attr.embed.vocab == classes)
            continue;
        CTT_TRY(fit_node(e, n, i, "vocab", n->attr.embed.vocab, classes, 1));
    }
    if (!fits)
        CTT_TRY(fit_node(e, last, answer, "out", last->out.c, classes,
                         symbols));
    CTT_TRY(ctt_edit_graph(e, &fitted));
    ctt_edit_free(&e);
    ctt_graph_free(g);
    *g = fitted;
out:
    ctt_edit_free(&e);
    return rc;
}

/* Writes which nodes of g have weights that are not all in `from`, or are
 * `fresh`: at most as many names as fit, then dots. */
static void list_new(const struct ctt_graph *from, const struct ctt_graph *g,
                     int fresh, char *text, size_t size)
{
    size_t at = 0;

    text[0] = '\0';
    for (int i = 0; i < g->count; i++) {
        const struct ctt_node *n = &g->node[i];

        if (i != fresh && ctt_weights_found(from, n) == n->nw)
            continue;
        if (at + strlen(n->name) + 8 > size) {
            snprintf(text + at, size - at, ", ...");
            return;
        }
        at += (size_t)snprintf(text + at, size - at, "%s%s",
                               at ? ", " : "; new: ", n->name);
    }
}

/* ---- classes in another order ---- */

/* The class of `from` that is called like class i of m, or -1. */
static int class_of(const struct ctt_model *from, const struct ctt_model *m,
                    int i)
{
    int k = i;    /* most often */

    if (strcmp(from->label[k], m->label[i]) == 0)
        return k;
    for (k = 0; k < from->labels; k++)
        if (strcmp(from->label[k], m->label[i]) == 0)
            return k;
    return -1;
}

/* How the classes of two models with as many of them differ.  of[i]: the class
 * of `from` that is class i of m. */
enum classes { SAME, TURNED, OTHERS };

static enum classes compare_classes(const struct ctt_model *from,
                                    const struct ctt_model *m, int *of)
{
    enum classes found = SAME;

    for (int i = 0; i < m->labels; i++) {
        of[i] = class_of(from, m, i);
        if (of[i] < 0)
            return OTHERS;
        found = of[i] == i ? found : TURNED;
    }
    return found;
}

/* Puts row of[i] of an array of `rows` rows in the place of row i. */
static int turn_rows(void *array, size_t size, const int *of, int rows)
{
    char *was = ctt_calloc(size, 1), *to = array;
    size_t each = size / (size_t)rows;

    if (!was)
        return CTT_ENOMEM;
    memcpy(was, array, size);
    for (int i = 0; i < rows; i++)
        memcpy(to + (size_t)i * each, was + (size_t)of[i] * each, each);
    ctt_free(was);
    return 0;
}

/* Sorts the weights of a classifier, whose rows are classes, and their
 * constraints. */
static int turn_classes(struct ctt_model *m, int node, const int *of)
{
    const struct ctt_node *n = &m->g->node[node];
    int rows = (int)n->out.c, rc = 0;

    for (int k = 0; k < n->nw; k++) {
        size_t count = (size_t)ctt_volume(&n->w[k]);

        CTT_TRY(turn_rows(m->w + n->at[k], count * sizeof(*m->w), of, rows));
        if (m->constraint.keep)
            CTT_TRY(turn_rows(m->constraint.keep + n->at[k], count, of, rows));
        if (m->constraint.share)
            CTT_TRY(turn_rows(m->constraint.share + n->at[k], count, of,
                              rows));
    }
out:
    return rc;
}

/* Makes the rows of the classifier of `from` those of m's classes.  *fresh: the
 * classifier of m if its classes are others, or -1. */
static int fit_rows(struct ctt_model *from, const struct ctt_model *m,
                    const char *path, int *fresh)
{
    int last = classifier(m->g), rc = 0, *of = NULL, at;
    const struct ctt_node *n = &m->g->node[last];
    enum classes found;

    *fresh = -1;
    at = ctt_graph_find(from->g, n->name);
    if (at < 0 || m->labels != from->labels || !ctt_weights_found(from->g, n))
        goto out;
    of = ctt_calloc((size_t)m->labels + 1, sizeof(*of));
    CTT_TRY(of ? 0 : CTT_ENOMEM);
    found = compare_classes(from, m, of);
    if (found == OTHERS) {
        *fresh = last;
        ctt_tool_say("%s: its classes are others, %s stays new", path,
                     n->name);
    } else if (found == TURNED) {
        CTT_CHECK(n->op == CTT_OP_CONV && from->g->node[at].op == n->op &&
                  n->out.c == m->labels, CTT_EINVAL, "%s: its classes are in "
                  "another order, and the last layer, %s, is no conv: "
                  "--classes with a file of its classes gives the data their "
                  "order",
                  path, n->name);
        CTT_TRY(turn_classes(from, at, of));
        ctt_tool_say("%s: its classes are in another order, the rows of %s "
                     "follow their names", path, n->name);
    }
out:
    ctt_free(of);
    return rc;
}

/* Copies the weights of a node of a model whose layout is that of m, before a
 * file's came in: these are not constrained. */
static void keep_fresh(struct ctt_model *m, int node, const float *w)
{
    const struct ctt_node *n = &m->g->node[node];

    for (int k = 0; k < n->nw; k++) {
        size_t count = (size_t)ctt_volume(&n->w[k]);

        memcpy(m->w + n->at[k], w + n->at[k], count * sizeof(*w));
        if (m->constraint.keep)
            memset(m->constraint.keep + n->at[k], 1, count);
        if (m->constraint.share)
            memset(m->constraint.share + n->at[k], 0, count);
    }
}

int ctt_model_load_finite(const char *path, struct ctt_model **out)
{
    struct ctt_model *m = NULL;
    int rc;

    CTT_TRY(ctt_tool_load(path, &m));
    rc = ctt_model_finite(m);
    if (rc < 0)
        CTT_TRY(ctt_error(rc, "%s: %s", path, ctt_errmsg()));
    *out = m;
    m = NULL;
out:
    ctt_model_free(&m);
    return rc;
}

int ctt_take_weights(struct ctt_model *m, const char *path)
{
    size_t size = (size_t)m->g->weights * sizeof(float);
    float *first = ctt_calloc(size + 1, 1);
    struct ctt_model *from = NULL;
    int taken, all = 0, rc = first ? 0 : CTT_ENOMEM, fresh;
    char new[256];

    CTT_TRY(rc);
    memcpy(first, m->w, size);
    CTT_TRY(ctt_model_load_finite(path, &from));
    CTT_TRY(fit_rows(from, m, path, &fresh));
    CTT_TRY(taken = ctt_model_move(from, m));
    for (int i = 0; i < m->g->count; i++)
        all += m->g->node[i].nw;
    if (fresh >= 0) {
        keep_fresh(m, fresh, first);
        taken -= ctt_weights_found(from->g, &m->g->node[fresh]);
    }
    CTT_CHECK(taken, CTT_EINVAL, "%s: has no weight of the model's names and "
              "shapes", path);
    list_new(from->g, m->g, fresh, new, sizeof(new));
    ctt_tool_say("%d of %d weights taken from %s%s", taken, all, path, new);
out:
    ctt_model_free(&from);
    ctt_free(first);
    return rc;
}
