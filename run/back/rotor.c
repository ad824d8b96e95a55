/* SPDX-License-Identifier: Apache-2.0
 * rotor.c: the fastest schedule of recomputation for a chain of stages, by
 * dynamic programming over first stage, last stage and memory (Beaumont,
 * Eyraud-Dubois, Herrmann, Joly and Shilova 2019). */
#include "run/back/depth.h"

#include <math.h>

struct choice { float time; int at; };

/* best: [last][first][slots], first <= last. */
struct ctt_rotor_plan {
    const struct ctt_rotor *c;
    double                  slot;    /* bytes */
    struct choice          *best;
};

static struct choice *choice_of(const struct ctt_rotor_plan *p, int first,
                                int last, int slots)
{
    int pair = last * (last + 1) / 2 + first;

    return p->best + (int64_t)pair * (CTT_ROTOR_SLOTS + 1) + slots;
}

/* A need is rounded up, so a plan never needs more than it says. */
static int slots_of(const struct ctt_rotor_plan *p, int64_t bytes)
{
    double n = ceil((double)bytes / p->slot);

    return n > CTT_ROTOR_SLOTS ? CTT_ROTOR_SLOTS + 1 : (int)n;
}

static int64_t larger_need(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Stages whose first pass is still to come: it ends with the last stage. */
static int is_first_pass(const struct ctt_rotor_plan *p, int last)
{
    return last == p->c->stages - 1;
}

/* Keeps all values of stage `first`. */
static void keep_all(const struct ctt_rotor_plan *p, int first, int last,
                     int slots, struct choice *b)
{
    const struct ctt_rotor *c = p->c;
    int64_t need = larger_need(c->full[first] + c->grad[last + 1],
                               c->back[first]);
    double time = is_first_pass(p, last) ? 0
                : first == last ? c->again[first] : c->ahead[first];
    int left = slots - slots_of(p, c->saved[first]);

    if (slots_of(p, need) > slots || (first < last && left < 0))
        return;
    if (first < last)
        time += choice_of(p, first + 1, last, left)->time;
    if (time < b->time)
        *b = (struct choice){ (float)time, first };
}

int ctt_rotor_right(const struct ctt_rotor_plan *p, int first, int at,
                    int slots)
{
    int64_t held = at > first ? p->c->cut[at] : p->c->saved[first];

    return slots - slots_of(p, held);
}

/* Keeps what lies at one cut. */
static void keep_cuts(const struct ctt_rotor_plan *p, int first, int last,
                      int slots, struct choice *b)
{
    const struct ctt_rotor *c = p->c;
    double forth = 0;

    for (int at = first + 1; at <= last; at++) {
        int64_t before = at - 1 > first ? c->cut[at - 1] : 0;
        int left = ctt_rotor_right(p, first, at, slots);
        double time;

        if (slots_of(p, before + c->thru[at - 1] + c->grad[last + 1]) > slots)
            break;
        forth += is_first_pass(p, last) ? 0 : c->ahead[at - 1];
        if (left < 0)
            continue;
        time = forth + choice_of(p, at, last, left)->time +
               choice_of(p, first, at - 1, slots)->time;
        if (time < b->time)
            *b = (struct choice){ (float)time, at };
    }
}

int ctt_rotor_solve(const struct ctt_rotor *c, int64_t bytes,
                    struct ctt_rotor_plan **out)
{
    struct ctt_rotor_plan *p = ctt_calloc(1, sizeof(*p));
    size_t pairs = (size_t)c->stages * ((size_t)c->stages + 1) / 2;
    int rc = p ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    p->c = c;
    p->slot = (double)larger_need(bytes, 1) / CTT_ROTOR_SLOTS;
    p->best = ctt_calloc(pairs * (CTT_ROTOR_SLOTS + 1), sizeof(*p->best));
    CTT_TRY(p->best ? 0 : CTT_ENOMEM);
    for (int length = 1; length <= c->stages; length++)
        for (int i = 0; i + length <= c->stages; i++)
            for (int m = 0; m <= CTT_ROTOR_SLOTS; m++) {
                struct choice *b = choice_of(p, i, i + length - 1, m);

                *b = (struct choice){ (float)INFINITY, -1 };
                keep_all(p, i, i + length - 1, m, b);
                keep_cuts(p, i, i + length - 1, m, b);
            }
    *out = p;
    p = NULL;
out:
    ctt_rotor_free(&p);
    return rc;
}

void ctt_rotor_free(struct ctt_rotor_plan **p)
{
    if (*p)
        ctt_free((*p)->best);
    ctt_free(*p);
    *p = NULL;
}

int ctt_rotor_choice(const struct ctt_rotor_plan *p, int first, int last,
                     int slots)
{
    return choice_of(p, first, last, slots)->at;
}

double ctt_rotor_time(const struct ctt_rotor_plan *p, int first, int last,
                      int slots)
{
    return choice_of(p, first, last, slots)->time;
}
