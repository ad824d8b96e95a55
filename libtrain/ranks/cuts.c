/* SPDX-License-Identifier: Apache-2.0
 * cuts.c: cuts of a training graph: between two components of its schedule, if
 * the passing values are neither aliases nor fused into the kernel of their
 * reader, and their gradients are added in the same order on both sides. */
#include "libtrain/ranks/pipeline.h"
#include "net/op.h"
#include "run/back/exec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of cut c, from 0: components 0 to c are before it. */
struct cuts {
    const struct ctt_graph *g;
    struct ctt_exec *x;
    const struct ctt_run *r;    /* of x: aliases and fused nodes */
    int     windows;
    int     comps;
    int    *comp;       /* per node; of the clip part: the last one */
    double *seconds;    /* per component, in any unit */
    char   *can;        /* per cut */
    int    *at;         /* per section: its first component */
};

/* ---- where ---- */

static void number_comps(struct cuts *a)
{
    const struct ctt_schedule *s = a->r->sched[0];

    a->comps = s->comps;
    for (int i = 0; i < a->g->count; i++)
        a->comp[i] = i < a->g->clip ? s->of[i] : s->comps - 1;
}

/* No cut separates nodes i and j. */
static void tie(struct cuts *a, int i, int j)
{
    int low = a->comp[i], high;

    if (j < 0)
        return;
    high = a->comp[j];
    for (int c = low < high ? low : high; c < (low > high ? low : high); c++)
        a->can[c] = 0;
}

/* Fused nodes stay together; so do a target and its loss, and the frames and
 * their first readers. */
static void tie_node(struct cuts *a, int i)
{
    const struct ctt_slot *s = &a->r->slot[i];
    const struct ctt_node *n = &a->g->node[i];

    tie(a, i, s->act);
    tie(a, i, s->lstm);
    tie(a, i, s->pair);
    tie(a, i, s->link);
    tie(a, i, n->cell);
    if (i + 1 == a->g->count)    /* the answer and its loss */
        tie(a, i, n->in[0]);
    if (s->plus_in_place)
        tie(a, i, n->in[1]);
    for (int k = 0; k < n->nin; k++)
        if (a->g->node[n->in[k]].op == CTT_OP_INPUT &&
            (n->in[k] != ctt_graph_input(a->g) || a->comp[i] == 1))
            tie(a, i, n->in[k]);
}

/* The number of nodes behind cut c that read node i; whether one of them reads
 * its value of some steps ago. */
static int readers_behind(const struct cuts *a, int c, int i, int *before)
{
    int n = 0;

    for (int j = 0; j < a->g->count; j++) {
        const struct ctt_node *x = &a->g->node[j];

        if (a->comp[j] <= c)
            continue;
        for (int k = 0; k < x->nin; k++)
            n += x->in[k] == i;
        *before |= (x->op == CTT_OP_STATE && x->source == i) ||
                   (x->op == CTT_OP_WINDOW && x->in[0] == i);
    }
    return n;
}

/* Whether all of a memory passes if this node does. */
static int passes_whole(const struct cuts *a, int i)
{
    const struct ctt_slot *s = &a->r->slot[i];

    return s->delay == 0 && ctt_volume(&a->g->node[i].out) ==
                            ctt_volume(&a->g->node[s->alias].out);
}

/* A passing value is whole and not quantised, as its readers would need its
 * scale, and no memory passes by two names, as its gradient is set from behind
 * and added to before.  With several windows the gradient of the carried state
 * is added before or after that of the readers: the same for one reader. */
static int can_pass(const struct cuts *a, int c, char *seen)
{
    memset(seen, 0, (size_t)a->g->count);
    for (int i = 0; i < a->g->clip; i++) {
        const struct ctt_slot *s = &a->r->slot[i];
        int before = 0, n;

        if (a->comp[i] > c)
            continue;
        n = readers_behind(a, c, i, &before);
        if (!n && !before)
            continue;
        if (!passes_whole(a, i) || seen[s->alias]++ ||
            a->g->node[i].out.scale > 0)
            return 0;
        if (a->windows && (before || (n > 1 && s->history > 0)))
            return 0;
    }
    return 1;
}

static int find_places(struct cuts *a)
{
    char *seen = ctt_calloc((size_t)a->g->count, 1);

    if (!seen)
        return CTT_ENOMEM;
    for (int c = 0; c + 1 < a->comps; c++)
        a->can[c] = 1;
    for (int i = 0; i < a->g->count; i++)
        tie_node(a, i);
    for (int c = 0; c + 1 < a->comps; c++)
        a->can[c] = a->can[c] && can_pass(a, c, seen);
    ctt_free(seen);
    return 0;
}

/* ---- how long ---- */

/* A step of training does each multiplication of a conv three times; the cost
 * of a value beside, in multiplications, is a guess. */
enum { PASSES = 3, VALUE = 16 };

static void estimate(struct cuts *a)
{
    for (int i = 0; i < a->g->count; i++) {
        const struct ctt_node *n = &a->g->node[i];

        a->seconds[a->comp[i]] += PASSES * (double)ctt_node_macs(a->g, i);
        if (ctt_ops[n->op].memory == CTT_COMPUTED)
            a->seconds[a->comp[i]] += VALUE * (double)ctt_volume(&n->out);
    }
}

/* Sections of components from 0 on, each as long as `most` allows; returns
 * their number. */
static int fill_sections(const struct cuts *a, double most, int *at)
{
    int n = 0, first = 0;

    while (first < a->comps) {
        double sum = 0;
        int end = -1;

        for (int k = first; k < a->comps; k++) {
            sum += a->seconds[k];
            if (sum > most)
                break;
            if (k + 1 == a->comps || a->can[k])
                end = k + 1;
        }
        if (end < 0)
            return a->comps + 1;    /* one is longer by itself */
        if (at)
            at[n] = first;
        n++;
        first = end;
    }
    return n;
}

static int places(const struct cuts *a)
{
    int n = 0;

    for (int c = 0; c + 1 < a->comps; c++)
        n += a->can[c];
    return n;
}

/* Cuts the section that can be cut and is longest once more, at the first
 * place. */
static void split_longest(const struct cuts *a, int n, int *at)
{
    double most = -1;
    int which = 0, where = 0;

    for (int s = 0; s < n; s++) {
        int end = s + 1 < n ? at[s + 1] : a->comps, cut = 0;
        double sum = 0;

        for (int k = at[s]; k < end; k++) {
            sum += a->seconds[k];
            if (!cut && k + 1 < end && a->can[k])
                cut = k + 1;
        }
        if (cut && sum > most) {
            most = sum;
            which = s;
            where = cut;
        }
    }
    memmove(at + which + 2, at + which + 1,
            (size_t)(n - which - 1) * sizeof(*at));
    at[which + 1] = where;
}

static int choose_cuts(struct cuts *a, int sections)
{
    double low = 0, high = 0;
    int rc = 0, n;

    CTT_CHECK(places(a) + 1 >= sections, CTT_EINVAL, "--stages: the model can "
              "be cut into %d section%s at most, not into %d%s", places(a) + 1,
              places(a) ? "s" : "", sections, a->g->clip < a->g->count
              ? "; what stands after clip is in the last" : "");
    for (int k = 0; k < a->comps; k++)
        high += a->seconds[k];
    for (int i = 0; i < 100; i++) {
        double most = (low + high) / 2;

        if (fill_sections(a, most, NULL) <= sections)
            high = most;
        else
            low = most;
    }
    for (n = fill_sections(a, high, a->at); n < sections; n++)
        split_longest(a, n, a->at);
out:
    return rc;
}

/* ---- by name ---- */

/* The nearest places, for an error. */
static void say_near(const struct cuts *a, int c, char *text, size_t size)
{
    const struct ctt_schedule *s = a->r->sched[0];
    size_t n = 0;
    int some = 0;

    text[0] = '\0';
    for (int far = 1; far < a->comps && some < 3; far++)
        for (int sign = -1; sign <= 1; sign += 2) {
            int k = c + sign * far;

            if (k < 0 || k + 1 >= a->comps || !a->can[k] || n >= size)
                continue;
            n += (size_t)snprintf(text + n, size - n, "%s%s", some++ ? ", " :
                                  "", a->g->node[s->order[s->first[k + 1]]]
                                  .name);
        }
}

static int cut_at(struct cuts *a, const char *name, int section)
{
    int node = ctt_graph_find(a->g, name), rc = 0, c;
    char near[160];

    CTT_CHECK(node >= 0, CTT_EINVAL, "--stages: no node %s", name);
    CTT_CHECK(node < a->g->clip, CTT_EINVAL, "--stages: %s stands after clip, "
              "all of which is in the last section", name);
    c = a->comp[node] - 1;
    if (c < 0 || !a->can[c]) {
        say_near(a, c, near, sizeof(near));
        CTT_CHECK(0, CTT_EINVAL, "--stages: no section can begin with %s; near "
                  "it: %s", name, near[0] ? near : "none");
    }
    CTT_CHECK(c + 1 > a->at[section - 1], CTT_EINVAL, "--stages: %s stands "
              "before the section that comes before it", name);
    a->at[section] = c + 1;
out:
    return rc;
}

static int cut_by_name(struct cuts *a, const char *text, int sections)
{
    char *names = ctt_strdup(text), *rest = NULL, *name;
    int n = 1, rc = names ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    for (name = strtok_r(names, ",", &rest); name;
         name = strtok_r(NULL, ",", &rest), n++) {
        CTT_CHECK(n < sections, CTT_EINVAL, "--stages=%s are more than %d, one "
                  "for each process", text, sections);
        CTT_TRY(cut_at(a, name, n));
    }
    CTT_CHECK(n == sections, CTT_EINVAL, "--stages=%s are %d; there are %d "
              "processes", text, n, sections);
out:
    ctt_free(names);
    return rc;
}

static int is_count(const char *text)
{
    return *text && !text[strspn(text, "0123456789")];
}

int ctt_cuts_count(const char *text, int ranks)
{
    int n = 2;

    if (strcmp(text, "auto") == 0)
        return ranks;
    if (is_count(text))
        return strlen(text) < 5 ? atoi(text) : 0;
    for (; *text; text++)
        n += *text == ',';
    return n;
}

/* ---- all ---- */

static int open_cuts(struct cuts *a)
{
    size_t n = (size_t)a->g->count;
    int rc = 0;

    for (int i = 0; i < a->g->count; i++)
        for (int k = 0; k < a->g->node[i].nin; k++)
            CTT_CHECK(!ctt_is_feedback(&a->g->node[i], k), CTT_EUNSUP,
                      "--stages: %s reads what the model answers, so all of it "
                      "is one component", a->g->node[i].name);
    CTT_TRY(ctt_exec_sketch(&(struct ctt_run_spec){ .g = a->g, .samples = 1,
        .steps = 2, .asks = a->g->clip < a->g->count },
        &(struct ctt_memory){ .window = a->windows, .keep = CTT_KEEP_ALL },
        &a->x));
    a->r = a->x->r;
    a->comp = ctt_calloc(n, sizeof(*a->comp));
    a->seconds = ctt_calloc(n, sizeof(*a->seconds));
    a->can = ctt_calloc(n, 1);
    a->at = ctt_calloc(n + 1, sizeof(*a->at));
    CTT_TRY(a->comp && a->seconds && a->can && a->at ? 0 : CTT_ENOMEM);
    number_comps(a);
    CTT_TRY(find_places(a));
    estimate(a);
out:
    return rc;
}

int ctt_cuts_find(const struct ctt_graph *g, const char *text, int sections,
                  int windows, int *number)
{
    struct cuts a = { .g = g, .windows = windows };
    int rc;

    CTT_TRY(open_cuts(&a));
    if (strcmp(text, "auto") == 0 || is_count(text))
        CTT_TRY(choose_cuts(&a, sections));
    else
        CTT_TRY(cut_by_name(&a, text, sections));
    for (int i = 0; i < g->count; i++)
        for (int s = 0; s < sections && a.comp[i] >= a.at[s]; s++)
            number[i] = s;
out:
    ctt_exec_close(&a.x);
    ctt_free(a.comp);
    ctt_free(a.seconds);
    ctt_free(a.can);
    ctt_free(a.at);
    return rc;
}
