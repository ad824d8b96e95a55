/* SPDX-License-Identifier: Apache-2.0
 * edit.c: changing a model line by line, and copying its weights to the result
 * by name. */
#include "net/append.h"
#include "net/late.h"
#include "net/rewrite/edit.h"
#include "net/op.h"

#include <stdarg.h>
#include <string.h>

/* A node's line after the changes so far. */
struct place {
    char *added;    /* lines added before it, each with its newline, or NULL */
    char *line;     /* its line, without newline; NULL: removed */
    char *after;    /* as added, after it */
    int   names;    /* the node that it has become a view of, or -1 */
};

struct ctt_edit {
    const struct ctt_graph *g;
    struct place           *place;    /* of g->count nodes, and of the end */
};

/* ---- the lines of a graph ---- */

/* Gives each node its line of the graph's text. */
static int take_lines(struct ctt_edit *e, char *text)
{
    int rc = 0;

    for (int i = 0; i < e->g->count; i++) {
        size_t len;

        if (i == e->g->clip)
            text += strlen("clip\n");
        len = strcspn(text, "\n");
        text[len] = '\0';
        e->place[i].line = ctt_strdup(text);
        CTT_TRY(e->place[i].line ? 0 : CTT_ENOMEM);
        text += len + 1;
    }
out:
    return rc;
}

/* 1 if a node has that name, or it and a dot at the beginning of its own. */
static int is_taken(const struct ctt_graph *g, const char *stem)
{
    size_t n = strlen(stem);

    for (int i = 0; i < g->count; i++)
        if (strncmp(g->node[i].name, stem, n) == 0 &&
            (!g->node[i].name[n] || g->node[i].name[n] == '.'))
            return 1;
    return 0;
}

void ctt_edit_stem(const struct ctt_graph *g, const char *wanted, char *stem,
                   size_t room)
{
    snprintf(stem, room, "%s", wanted);
    for (int k = 2; is_taken(g, stem); k++)
        snprintf(stem, room, "%s%d", wanted, k);
}

int ctt_edit_begin(const struct ctt_graph *g, struct ctt_edit **out)
{
    struct ctt_edit *e = ctt_calloc(1, sizeof(*e));
    char *text = NULL;
    int rc = e ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    CTT_CHECK(g->sealed, CTT_EINVAL, "the graph is not sealed");
    e->g = g;
    e->place = ctt_calloc((size_t)g->count + 1, sizeof(*e->place));
    CTT_TRY(e->place ? 0 : CTT_ENOMEM);
    for (int i = 0; i <= g->count; i++)
        e->place[i].names = -1;
    text = ctt_net_print(g);
    CTT_TRY(text ? 0 : CTT_ENOMEM);
    CTT_TRY(take_lines(e, text));
    *out = e;
    e = NULL;
out:
    ctt_free(text);
    ctt_edit_free(&e);
    return rc;
}

void ctt_edit_free(struct ctt_edit **e)
{
    if (!*e)
        return;
    for (int i = 0; (*e)->place && i <= (*e)->g->count; i++) {
        ctt_free((*e)->place[i].added);
        ctt_free((*e)->place[i].line);
        ctt_free((*e)->place[i].after);
    }
    ctt_free((*e)->place);
    ctt_free(*e);
    *e = NULL;
}

/* ---- changes ---- */

int ctt_edit_add(struct ctt_edit *e, int node, const char *fmt, ...)
{
    va_list ap;
    int rc;

    va_start(ap, fmt);
    rc = ctt_append_line(&e->place[node].added, fmt, ap);
    va_end(ap);
    return rc;
}

int ctt_edit_after(struct ctt_edit *e, int node, const char *fmt, ...)
{
    va_list ap;
    int rc;

    va_start(ap, fmt);
    rc = ctt_append_line(&e->place[node].after, fmt, ap);
    va_end(ap);
    return rc;
}

void ctt_edit_remove(struct ctt_edit *e, int node)
{
    ctt_free(e->place[node].line);
    e->place[node].line = NULL;
}

/* The start of the value of a key, or NULL.  Words are separated by spaces, and
 * no name or value contains a space or a '='. */
static char *value_of(char *line, const char *key)
{
    size_t n = strlen(key);

    for (char *s = strchr(line, ' '); s; s = strchr(s + 1, ' '))
        if (strncmp(s + 1, key, n) == 0 && s[n + 1] == '=')
            return s + n + 2;
    return NULL;
}

int ctt_edit_set(struct ctt_edit *e, int node, const char *key,
                 const char *value)
{
    char *line = e->place[node].line, *at = line ? value_of(line, key) : NULL;
    char *changed;
    size_t size;
    int rc = 0;

    CTT_CHECK(at, CTT_EFORMAT, "%s: has no %s=", e->g->node[node].name, key);
    size = strlen(line) + strlen(value) + 1;
    changed = ctt_calloc(size, 1);
    CTT_TRY(changed ? 0 : CTT_ENOMEM);
    snprintf(changed, size, "%.*s%s%s", (int)(at - line), line, value,
             at + strcspn(at, " "));
    ctt_free(line);
    e->place[node].line = changed;
out:
    return rc;
}

/* ---- bypassing a node ---- */

static int is_delayed(const struct ctt_graph *g, int node)
{
    for (int i = 0; i < g->count; i++)
        if (g->node[i].op == CTT_OP_STATE && g->node[i].source == node)
            return 1;
    return 0;
}

/* Makes the states that delay a node delay node `to`. */
static int redirect(struct ctt_edit *e, int node, int to)
{
    const struct ctt_graph *g = e->g;
    int rc = 0;

    for (int i = 0; i < g->count; i++)
        if (g->node[i].op == CTT_OP_STATE && g->node[i].source == node)
            CTT_TRY(ctt_edit_set(e, i, "of", g->node[to].name));
out:
    return rc;
}

/* Adds a view of all channels of node `to` under the name of `node`.  A view
 * whose rows are not contiguous cannot be reshaped, so it is sliced. */
static int add_name(struct ctt_edit *e, int node, int to)
{
    const struct ctt_node *n = &e->g->node[node];
    const struct ctt_tensor *x = &e->g->node[to].out, *y = &n->out;
    const char *in = e->g->node[n->in[0]].name;

    if (x->ld != x->c)
        return ctt_edit_add(e, node, "slice %s in=%s to=%lld", n->name, in,
                            (long long)y->c);
    return ctt_edit_add(e, node, "reshape %s in=%s d=%lld h=%lld w=%lld "
                        "c=%lld", n->name, in, (long long)y->d,
                        (long long)y->h, (long long)y->w, (long long)y->c);
}

/* The `fill` of the states that delay a node, as far as the edit has got; -1:
 * there is none. */
static int fill_of(const struct ctt_edit *e, int node)
{
    const char *name = e->g->node[node].name;

    for (int i = 0; i < e->g->count; i++) {
        const struct ctt_node *n = &e->g->node[i];
        const char *of = n->op == CTT_OP_STATE && e->place[i].line
                       ? value_of(e->place[i].line, "of") : NULL;

        if (of && strcspn(of, " \n") == strlen(name) &&
            strncmp(of, name, strlen(name)) == 0)
            return n->attr.state.fill;
    }
    return -1;
}

/* 1 if the states of one node may become states of the other. */
static int same_fill(const struct ctt_edit *e, int node, int to)
{
    int a = fill_of(e, node), b = fill_of(e, to);

    return a < 0 || b < 0 || a == b;
}

int ctt_edit_bypass(struct ctt_edit *e, int node)
{
    int to = e->g->node[node].in[0], rc = 0;

    while (e->place[to].names >= 0)
        to = e->place[to].names;
    if (is_delayed(e->g, node) &&
        (ctt_ops[e->g->node[to].op].memory == CTT_VIEW ||
         !same_fill(e, node, to)))
        return 0;
    CTT_TRY(redirect(e, node, to));
    CTT_TRY(add_name(e, node, to));
    ctt_edit_remove(e, node);
    e->place[node].names = to;
    rc = 1;
out:
    return rc;
}

/* ---- reading another node instead ---- */

/* Copies a list of names with `to` instead of `from`.  Returns whether `from`
 * was there. */
static int other_name(const char *list, const char *from, const char *to,
                       char *out, size_t size)
{
    size_t at = 0;
    int hits = 0;

    for (const char *s = list; at < size; s += strspn(s, ",")) {
        int n = (int)strcspn(s, ", ");
        int hit = (size_t)n == strlen(from) && memcmp(s, from, (size_t)n) == 0;

        at += (size_t)snprintf(out + at, size - at, "%s%.*s",
                               s == list ? "" : ",",
                               hit ? (int)strlen(to) : n, hit ? to : s);
        hits += hit;
        s += n;
        if (*s != ',')
            break;
    }
    return hits;
}

/* The keys whose values are names of nodes. */
static const char *const reads[] = { "in", "plus", "of", "like" };

int ctt_edit_unlink(struct ctt_edit *e, int node)
{
    const struct ctt_node *n = &e->g->node[node];
    char list[CTT_MAX_IN * CTT_NAME];
    int to = n->in[0], rc = 0;

    while (e->place[to].names >= 0)
        to = e->place[to].names;
    for (int i = 0; i < e->g->count; i++)
        for (size_t k = 0; e->place[i].line && k < CTT_LEN(reads); k++) {
            const char *was = value_of(e->place[i].line, reads[k]);

            if (was && other_name(was, n->name, e->g->node[to].name, list,
                                  sizeof(list)))
                CTT_TRY(ctt_edit_set(e, i, reads[k], list));
        }
    ctt_edit_remove(e, node);
    e->place[node].names = to;
    rc = 1;
out:
    return rc;
}

/* ---- nodes without effect ---- */

int ctt_edit_sweep(struct ctt_edit *e)
{
    const struct ctt_graph *g = e->g;
    char *needed = ctt_calloc((size_t)g->count, 1);

    if (!needed)
        return CTT_ENOMEM;
    ctt_graph_needed(g, ctt_graph_output(g), needed);
    for (int i = 0; i < g->count; i++)
        if (!needed[i] && g->node[i].op != CTT_OP_INPUT)
            ctt_edit_remove(e, i);
    ctt_free(needed);
    return 0;
}

/* ---- the result ---- */

static size_t room_for(const struct ctt_edit *e)
{
    size_t room = sizeof("clip\nseveral\n");

    for (int i = 0; i <= e->g->count; i++) {
        const struct place *p = &e->place[i];

        room += p->added ? strlen(p->added) : 0;
        room += p->line ? strlen(p->line) + 1 : 0;
        room += p->after ? strlen(p->after) : 0;
    }
    return room;
}

int ctt_edit_graph(const struct ctt_edit *e, struct ctt_graph **out)
{
    size_t room = room_for(e), at = 0;
    char *text = ctt_calloc(room, 1);
    int rc = text ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    for (int i = 0; i <= e->g->count; i++) {
        const struct place *p = &e->place[i];
        int clip = i == e->g->clip && i < e->g->count;

        at += (size_t)snprintf(text + at, room - at, "%s%s%s%s%s",
                               clip ? "clip\n" : "", p->added ? p->added : "",
                               p->line ? p->line : "", p->line ? "\n" : "",
                               p->after ? p->after : "");
    }
    if (e->g->several)
        snprintf(text + at, room - at, "several\n");
    CTT_TRY(ctt_net_parse(text, out));
out:
    ctt_free(text);
    return rc;
}

static int same_weight(const struct ctt_node *a, const struct ctt_node *b,
                       int k)
{
    const struct ctt_tensor *x = &a->w[k], *y = &b->w[k];

    return strcmp(ctt_weight_name(a, k), ctt_weight_name(b, k)) == 0 &&
           x->n == y->n && x->d == y->d && x->h == y->h && x->w == y->w &&
           x->c == y->c;
}

static int move_node(const struct ctt_model *from, const struct ctt_node *a,
                     struct ctt_model *to, const struct ctt_node *b)
{
    int moved = 0;

    for (int k = 0; k < a->nw && k < b->nw; k++) {
        int64_t count = ctt_volume(&a->w[k]);

        if (!same_weight(a, b, k))
            continue;
        moved++;
        if (ctt_late_find(from->late, a, k)) {
            ctt_model_leaves(to, &b->w[k]);
            continue;
        }
        memcpy(to->w + b->at[k], from->w + a->at[k],
               (size_t)count * sizeof(*to->w));
        ctt_constraint_carry(&from->constraint, a->at[k], count,
                             &to->constraint, b->at[k]);
    }
    return moved;
}

int ctt_weights_found(const struct ctt_graph *g, const struct ctt_node *n)
{
    int at = ctt_graph_find(g, n->name), found = 0;

    for (int k = 0; at >= 0 && k < n->nw && k < g->node[at].nw; k++)
        found += same_weight(&g->node[at], n, k);
    return found;
}

int ctt_model_move(const struct ctt_model *from, struct ctt_model *to)
{
    int moved = 0, rc = 0;

    CTT_TRY(ctt_constraint_match(&from->constraint, to->g->weights,
                                 &to->constraint));
    for (int i = 0; i < to->g->count; i++) {
        const struct ctt_node *b = &to->g->node[i];
        int at = ctt_graph_find(from->g, b->name);

        if (at >= 0)
            moved += move_node(from, &from->g->node[at], to, b);
    }
    rc = moved;
out:
    return rc;
}

int ctt_model_with(struct ctt_graph *g, const struct ctt_model *m,
                   struct ctt_model **out)
{
    struct ctt_model *to = NULL;
    int rc = 0;

    CTT_TRY(ctt_model_new(g, &to));
    CTT_TRY(ctt_model_labels(to, m->label, m->labels));
    if (m->history)
        CTT_TRY((to->history = ctt_strdup(m->history)) ? 0 : CTT_ENOMEM);
    to->late = ctt_lates_share(m->late);
    CTT_TRY(ctt_model_move(m, to));
    *out = to;
    to = NULL;
    rc = 0;
out:
    ctt_model_free(&to);
    return rc;
}

int ctt_edit_model(const struct ctt_edit *e, const struct ctt_model *m,
                   struct ctt_model **out)
{
    struct ctt_graph *g = NULL;
    int rc = 0;

    CTT_TRY(ctt_edit_graph(e, &g));
    CTT_TRY(ctt_model_with(g, m, out));
out:
    return rc;
}
