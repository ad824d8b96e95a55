/* SPDX-License-Identifier: Apache-2.0
 * layers.c: which nodes --freeze and --lr-scale are about. */
#include "libtrain/layers.h"
#include "net/op.h"

#include <stdlib.h>
#include <string.h>

/* An item of a list that commas separate: a pattern, and the text behind its
 * '=', which ends at `end`. */
struct item { const char *at, *end; size_t pattern; };

/* Moves to the next item of the list; 0: there is none. */
static int next_item(const char **list, struct item *e)
{
    if (!*list)
        return 0;
    e->at = *list;
    e->end = e->at + strcspn(e->at, ",");
    e->pattern = strcspn(e->at, "=,");
    *list = *e->end ? e->end + 1 : NULL;
    return 1;
}

static int matches(const struct item *e, const struct ctt_node *n)
{
    char pattern[CTT_NAME], cell[CTT_NAME];

    if (!n->nw || e->pattern >= sizeof(pattern))
        return 0;
    memcpy(pattern, e->at, e->pattern);
    pattern[e->pattern] = '\0';
    strcpy(cell, n->name);
    cell[strcspn(cell, ".")] = '\0';
    return ctt_glob(pattern, n->name) || ctt_glob(pattern, cell);
}

/* The number of the first item that matches, from 1, or 0. */
static int find_item(const char *list, const struct ctt_node *n)
{
    struct item e;

    for (int k = 1; next_item(&list, &e); k++)
        if (matches(&e, n))
            return k;
    return 0;
}

int ctt_is_frozen(const struct ctt_train_cfg *cfg, const struct ctt_node *n)
{
    return find_item(cfg->freeze, n) > 0;
}

void ctt_freeze(struct ctt_graph *g, const struct ctt_train_cfg *cfg)
{
    for (int i = 0; i < g->count; i++) {
        struct ctt_node *n = &g->node[i];

        if (!ctt_is_frozen(cfg, n))
            continue;
        n->frozen = 1;
        n->fixed = (1u << n->nw) - 1;
    }
}

int ctt_lr_scales(const struct ctt_train_cfg *cfg)
{
    const char *list = cfg->lr_scale;
    struct item e;
    int count = 0;

    while (next_item(&list, &e))
        count++;
    return count;
}

int ctt_lr_scale_of(const struct ctt_train_cfg *cfg, const struct ctt_node *n)
{
    return find_item(cfg->lr_scale, n);
}

double ctt_lr_scale(const struct ctt_train_cfg *cfg, int k)
{
    const char *list = cfg->lr_scale;
    struct item e = { .at = "" };

    while (k-- > 0 && next_item(&list, &e))
        ;
    return strtod(e.at + e.pattern + 1, NULL);
}

/* ---- checks ---- */

static int check_factor(const struct item *e)
{
    const char *s = e->at + e->pattern;
    char *end = NULL;
    double x = *s == '=' ? strtod(s + 1, &end) : 0;
    int rc = 0;

    CTT_CHECK(end == e->end && x > 0 && x <= 1000, CTT_EINVAL,
              "--lr-scale: bad value '%.*s' (PATTERN=FACTOR, a factor above "
              "0, up to 1000)", (int)(e->end - e->at), e->at);
out:
    return rc;
}

static int check_list(const char *option, const char *list,
                      const struct ctt_graph *g)
{
    struct item e;
    int rc = 0;

    while (next_item(&list, &e)) {
        int found = 0;
        for (int i = 0; i < g->count; i++)
            found |= matches(&e, &g->node[i]);
        CTT_CHECK(found, CTT_EINVAL, "--%s: '%.*s' matches no node with "
                  "weights", option, (int)e.pattern, e.at);
    }
out:
    return rc;
}

static int check_names(const char *list)
{
    struct item e;
    int rc = 0;

    while (next_item(&list, &e))
        CTT_CHECK(e.at + e.pattern == e.end, CTT_EINVAL, "--freeze: '%.*s' has "
                  "a '=', which is for --lr-scale", (int)(e.end - e.at), e.at);
out:
    return rc;
}

/* A rate of its own where nothing is trained would do nothing. */
static int check_trained(const struct ctt_graph *g,
                         const struct ctt_train_cfg *cfg)
{
    const char *list = cfg->lr_scale;
    struct item e;
    int rc = 0;

    while (next_item(&list, &e)) {
        int trained = 0;
        for (int i = 0; i < g->count; i++)
            trained |= matches(&e, &g->node[i]) &&
                       !ctt_is_frozen(cfg, &g->node[i]);
        CTT_CHECK(trained, CTT_EINVAL, "--lr-scale: --freeze stops all nodes "
                  "that '%.*s' matches", (int)e.pattern, e.at);
    }
out:
    return rc;
}

int ctt_train_layers(const struct ctt_graph *g,
                     const struct ctt_train_cfg *cfg)
{
    const char *list = cfg->lr_scale;
    struct item e;
    int rc = 0, left = 0;

    while (next_item(&list, &e))
        CTT_TRY(check_factor(&e));
    CTT_TRY(check_list("lr-scale", cfg->lr_scale, g));
    CTT_TRY(check_names(cfg->freeze));
    CTT_TRY(check_list("freeze", cfg->freeze, g));
    CTT_TRY(check_trained(g, cfg));
    for (int i = 0; i < g->count; i++)
        left += g->node[i].nw && !ctt_is_frozen(cfg, &g->node[i]);
    CTT_CHECK(left || !cfg->freeze, CTT_EINVAL,
              "--freeze leaves no weight to train");
out:
    return rc;
}
