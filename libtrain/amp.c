/* SPDX-License-Identifier: Apache-2.0
 * amp.c: which values have 16 bits: applies the lists of ops.def and of the
 * settings to a graph until nothing changes. */
#include "libtrain/amp.h"
#include "net/op.h"

#include <stdarg.h>
#include <string.h>

/* The lists of the settings, in rising priority, and what a node is in: the
 * rule of its name overrides that of its op. */
enum list { ALLOW, FOLLOW, DENY, LISTS };
enum { UNSAID, OF_OP, OF_NODE = OF_OP + LISTS };
static const char *const list_names[LISTS] = { "amp-allow", "amp-follow",
                                               "amp-deny" };

struct planner {
    const struct ctt_graph     *g;
    const struct ctt_train_cfg *cfg;
    unsigned char              *rule;    /* per node */
    char                       *half;    /* per node: 1: 16 bits, so far */
};

enum ctt_dtype ctt_amp_type(const struct ctt_train_cfg *cfg)
{
    static const enum ctt_dtype types[] = { CTT_F16, CTT_BF16 };

    return types[cfg->amp_type];
}

/* ---- the properties of a node ---- */

static int only_names(enum ctt_opcode op)
{
    return ctt_ops[op].memory == CTT_VIEW;
}

/* The node whose memory a name stands for. */
static int owner(const struct ctt_graph *g, int i)
{
    for (int k = 0; k < g->count && only_names(g->node[i].op); k++)
        i = ctt_viewed(&g->node[i]);
    return i;
}

static int reads_values(const struct ctt_graph *g, int reader, int k, int i)
{
    const struct ctt_node *n = &g->node[reader];

    return !only_names(n->op) && owner(g, n->in[k]) == i;
}

/* 1 if node j needs the values of node i unrounded. */
static int takes_exactly(const struct ctt_graph *g, int j, int i)
{
    const struct ctt_node *n = &g->node[j];

    for (int k = 0; k < n->nin; k++)
        if (ctt_ops[n->op].exact >> k & 1 && reads_values(g, j, k, i))
            return 1;
    return 0;
}

/* The node that needs the values of node i unrounded (labels, weights), or
 * -1. */
static int taken_exactly(const struct ctt_graph *g, int i)
{
    if (ctt_ops[g->node[i].op].list == CTT_FLOATS)
        return i;
    for (int j = 0; j < g->count && g->node[i].op == CTT_OP_INPUT; j++)
        if (takes_exactly(g, j, i))
            return j;
    return -1;
}

/* ---- the lists of the settings ---- */

static void raise_rule(struct planner *p, int node, int rule)
{
    if (p->rule[node] < rule)
        p->rule[node] = (unsigned char)rule;
}

static int set_op(struct planner *p, enum list list, int op)
{
    const char *option = list_names[list];
    int rc = 0;

    CTT_CHECK(!only_names((enum ctt_opcode)op), CTT_EINVAL,
              "--%s: '%s' only names the memory of another node", option,
              ctt_ops[op].name);
    CTT_CHECK(list == DENY || ctt_ops[op].list != CTT_FLOATS, CTT_EINVAL,
              "--%s: '%s' stays fp32: the loss scale is its gradient", option,
              ctt_ops[op].name);
    for (int i = 0; i < p->g->count; i++)
        if ((int)p->g->node[i].op == op)
            raise_rule(p, i, OF_OP + list);
out:
    return rc;
}

static int set_node(struct planner *p, enum list list, const char *name)
{
    const char *option = list_names[list];
    int i = ctt_graph_find(p->g, name), rc = 0;

    CTT_CHECK(i >= 0, CTT_EINVAL, "--%s: '%s' is no op and no node", option,
              name);
    CTT_CHECK(!only_names(p->g->node[i].op), CTT_EINVAL, "--%s: '%s' only "
              "names the memory of '%s'", option, name,
              p->g->node[owner(p->g, i)].name);
    CTT_CHECK(list == DENY || taken_exactly(p->g, i) < 0, CTT_EINVAL,
              "--%s: '%s' stays fp32, because of %s", option, name,
              p->g->node[taken_exactly(p->g, i)].name);
    raise_rule(p, i, OF_NODE + list);
out:
    return rc;
}

static int read_list(struct planner *p, enum list list, const char *text)
{
    char word[CTT_NAME];
    int rc = 0;

    for (const char *s = text ? text : ""; *s; s += *s == ',') {
        size_t n = strcspn(s, ",");
        int op;

        CTT_CHECK(n > 0 && n < sizeof(word), CTT_EINVAL,
                  "--%s: '%s' is no list of ops and nodes", list_names[list],
                  text);
        memcpy(word, s, n);
        word[n] = '\0';
        s += n;
        op = ctt_op_find(word);
        CTT_TRY(op >= 0 ? set_op(p, list, op) : set_node(p, list, word));
    }
out:
    return rc;
}

/* ---- a node's type, by the types of the other nodes ---- */

static void set_reason(char *why, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static void set_reason(char *why, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(why, CTT_AMP_WHY, fmt, ap);
    va_end(ap);
}

static const char *name(const struct planner *p, int i)
{
    return p->g->node[i].name;
}

static int white(const struct planner *p, int i, char *why)
{
    (void)p;
    (void)i;
    set_reason(why, "white list");
    return 1;
}

static int black(const struct planner *p, int i, char *why)
{
    (void)p;
    (void)i;
    set_reason(why, "black list");
    return 0;
}

/* An input has 16 bits if all of its readers have. */
static int input(const struct planner *p, int i, char *why)
{
    for (int j = 0; j < p->g->count; j++)
        for (int k = 0; k < p->g->node[j].nin && !p->half[j]; k++)
            if (reads_values(p->g, j, k, i)) {
                set_reason(why, "read by %s", name(p, j));
                return 0;
            }
    set_reason(why, "all readers take it");
    return 1;
}

/* Says in the reason that the statistics of an op are always floats. */
static const char *statistics(const struct ctt_node *n)
{
    return ctt_ops[n->op].list == CTT_STATISTICS ? "; statistics fp32" : "";
}

static int grey(const struct planner *p, int i, char *why)
{
    const struct ctt_node *n = &p->g->node[i];
    const char *more = statistics(n);

    if (n->op == CTT_OP_INPUT)
        return input(p, i, why);
    for (int k = 0; k < n->nin; k++)
        if (!(ctt_ops[n->op].exact >> k & 1) && !p->half[n->in[k]]) {
            set_reason(why, "follows %s%s", name(p, n->in[k]), more);
            return 0;
        }
    set_reason(why, "follows %s%s", name(p, n->in[0]), more);
    return 1;
}

static int (*const lists[])(const struct planner *, int, char *) = {
    [CTT_WHITE] = white, [CTT_BLACK] = black, [CTT_GREY] = grey,
    [CTT_STATISTICS] = grey, [CTT_FLOATS] = black,
};

static int everything(const struct planner *p, int i, char *why)
{
    set_reason(why, "--amp=O2%s", statistics(&p->g->node[i]));
    return 1;
}

static int exactly(const struct planner *p, int i, int taker, char *why)
{
    if (taker == i)
        set_reason(why, "black list");
    else
        set_reason(why, "counts in %s", name(p, taker));
    return 0;
}

/* By the settings. */
static int listed(const struct planner *p, int i, char *why)
{
    enum list list = (enum list)((p->rule[i] - OF_OP) % LISTS);

    if (list == FOLLOW)
        return grey(p, i, why);
    set_reason(why, "--%s", list_names[list]);
    return list == ALLOW;
}

/* 1: 16 bits. */
static int decide_half(const struct planner *p, int i, char *why)
{
    int of = owner(p->g, i), taker = taken_exactly(p->g, i);

    if (p->cfg->amp == CTT_O0) {
        set_reason(why, "--amp=O0");
        return 0;
    }
    if (of != i) {
        set_reason(why, "memory of %s", name(p, of));
        return p->half[of];
    }
    if (taker >= 0)
        return exactly(p, i, taker, why);
    if (p->rule[i])
        return listed(p, i, why);
    if (p->cfg->amp == CTT_O2)
        return everything(p, i, why);
    return lists[ctt_ops[p->g->node[i].op].list](p, i, why);
}

/* ---- the plan ---- */

/* A state reads a later node, so all nodes begin with 16 bits and become floats
 * until nothing changes.  The reason is the one at that moment, as later two
 * nodes could give each other as the reason. */
static void settle_types(struct planner *p, struct ctt_amp_plan *a)
{
    memset(p->half, 1, (size_t)p->g->count);
    for (int changed = 1; changed; ) {
        changed = 0;
        for (int i = 0; i < p->g->count; i++)
            if (p->half[i] && !decide_half(p, i, a->why[i])) {
                p->half[i] = 0;
                changed = 1;
            }
    }
    for (int i = 0; i < p->g->count; i++)
        a->type[i] = p->half[i] ? ctt_amp_type(p->cfg) : CTT_F32;
}

static int new_plan(int count, struct ctt_amp_plan **out)
{
    struct ctt_amp_plan *a = ctt_calloc(1, sizeof(*a));
    int rc = a ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    a->type = ctt_calloc((size_t)count, sizeof(*a->type));
    a->why = ctt_calloc((size_t)count, sizeof(*a->why));
    CTT_TRY(a->type && a->why ? 0 : CTT_ENOMEM);
    *out = a;
    a = NULL;
out:
    ctt_amp_free(&a);
    return rc;
}

void ctt_amp_free(struct ctt_amp_plan **a)
{
    if (!*a)
        return;
    ctt_free((*a)->type);
    ctt_free((*a)->why);
    ctt_free(*a);
    *a = NULL;
}

int ctt_amp_plan(const struct ctt_graph *g, const struct ctt_train_cfg *cfg,
                 struct ctt_amp_plan **out)
{
    struct planner p = { .g = g, .cfg = cfg };
    struct ctt_amp_plan *a = NULL;
    int rc = 0;

    p.rule = ctt_calloc((size_t)g->count, sizeof(*p.rule));
    p.half = ctt_calloc((size_t)g->count, sizeof(*p.half));
    CTT_TRY(p.rule && p.half ? 0 : CTT_ENOMEM);
    CTT_TRY(read_list(&p, ALLOW, cfg->amp_allow));
    CTT_TRY(read_list(&p, FOLLOW, cfg->amp_follow));
    CTT_TRY(read_list(&p, DENY, cfg->amp_deny));
    CTT_TRY(new_plan(g->count, &a));
    settle_types(&p, a);
    *out = a;
out:
    ctt_free(p.rule);
    ctt_free(p.half);
    return rc;
}

const enum ctt_dtype *ctt_amp_types(const struct ctt_amp_plan *p,
                                    const struct ctt_train_cfg *cfg)
{
    return cfg->amp == CTT_O0 ? NULL : p->type;
}
