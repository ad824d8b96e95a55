/* SPDX-License-Identifier: Apache-2.0
 * depth_plan.c: lists of the runs of positions in a step with recomputation,
 * how long each value and gradient lives then, and where it lies. */
#include "run/back/depth.h"
#include "run/back/pack.h"

#include <math.h>
#include <string.h>

/* ---- visits ---- */

static int push_visit(struct ctt_depth *d, int position, enum ctt_turn turn)
{
    struct ctt_visit *more = ctt_grown(d->visit, &d->room, d->visits,
                                       sizeof(*more));

    if (!more)
        return CTT_ENOMEM;
    d->visit = more;
    d->visit[d->visits++] = (struct ctt_visit){ position, turn, 0, 0 };
    return 0;
}

/* The values that are recomputed: those at the next cut; all that the backward
 * pass of the stages reads, and those at the next cut; or only what that pass
 * reads, as those are still there. */
enum redo { REDO_CUT, REDO_ALL, REDO_BACK };

enum { NEEDED = 1, THERE = 2 };

static void mark_needs(struct ctt_depth *d, int from, int to, enum redo what)
{
    for (int i = 0; i < d->count; i++) {
        int next = ctt_depth_crosses(d, i, d->cut[to]);

        d->mark[i] = (char)(ctt_depth_crosses(d, i, d->cut[from]) ||
                            d->fixed[i] || (next && what == REDO_BACK)
                            ? THERE : 0);
        if (next && what != REDO_BACK)
            d->mark[i] |= NEEDED;
    }
    for (int u = d->used[1][d->cut[from]];
         u < d->used[1][d->cut[to]] && what != REDO_CUT; u++)
        if (d->use[1][u].memory < d->count)
            d->mark[d->use[1][u].memory] |= NEEDED;
}

/* Marks the positions between two cuts that must run again. */
static void mark_redo(struct ctt_depth *d, int from, int to, enum redo what)
{
    mark_needs(d, from, to, what);
    for (int k = d->cut[to] - 1; k >= d->cut[from]; k--) {
        const struct ctt_use *u = d->use[0];

        d->redo[k] = 0;
        for (int j = d->used[0][k]; j < d->used[0][k + 1]; j++)
            d->redo[k] |= u[j].writes && d->mark[u[j].memory] == NEEDED;
        for (int j = d->used[0][k]; j < d->used[0][k + 1] && d->redo[k]; j++)
            if (u[j].writes && d->writer[u[j].memory] < k)
                d->mark[u[j].memory] = NEEDED;    /* it may add to what an
                                                     earlier one writes */
            else
                d->mark[u[j].memory] |= NEEDED;
    }
}

static int forth_again(struct ctt_depth *d, int from, int to, enum redo what)
{
    int rc = 0;

    mark_redo(d, from, to, what);
    for (int k = d->cut[from]; k < d->cut[to]; k++)
        if (d->redo[k])
            CTT_TRY(push_visit(d, k, CTT_AGAIN));
out:
    return rc;
}

static int go_back(struct ctt_depth *d, int from, int to)
{
    int rc = 0;

    for (int k = d->cut[to] - 1; k >= d->cut[from]; k--)
        CTT_TRY(push_visit(d, k, CTT_BACK));
out:
    return rc;
}

/* Stages first .. last of the chosen schedule; their depth is at most that of
 * the stages. */
static int follow_rotor(struct ctt_depth *d, const struct ctt_rotor_plan *p,
                  int first, int last, int slots)
{
    int at = ctt_rotor_choice(p, first, last, slots), rc = 0;
    int left = ctt_rotor_right(p, first, at, slots);
    int again = last < d->cuts - 1;

    if (at > first) {
        if (again)
            CTT_TRY(forth_again(d, first, at, REDO_CUT));
        CTT_TRY(follow_rotor(d, p, at, last, left));
        CTT_TRY(follow_rotor(d, p, first, at - 1, slots));
        goto out;
    }
    if (again)
        CTT_TRY(forth_again(d, first, first + 1,
                            first == last ? REDO_BACK : REDO_ALL));
    if (first < last)
        CTT_TRY(follow_rotor(d, p, first + 1, last, left));
    CTT_TRY(go_back(d, first, first + 1));
out:
    return rc;
}

/* ---- lives ---- */

struct lives {
    struct ctt_packed *item;
    int               *now;    /* per memory: its current life, or -1 */
};

static void begin_life(struct ctt_depth *d, struct lives *l, int memory, int t)
{
    d->life[d->lives].memory = memory;
    l->item[d->lives] = (struct ctt_packed){ ctt_align(d->size[memory], 64), 0,
                                             t, t };
    l->now[memory] = d->lives++;
}

/* Values begin to live when the first position that writes them runs, gradients
 * when they are first touched. */
static void live_through(struct ctt_depth *d, struct lives *l, int t)
{
    struct ctt_visit *v = &d->visit[t];
    int b = v->turn == CTT_BACK;

    v->life = d->lives;
    for (int u = d->used[b][v->position]; u < d->used[b][v->position + 1]; u++)
    {
        int m = d->use[b][u].memory, now = l->now[m];

        if (d->fixed[m] || !d->size[m])
            continue;
        if (now < 0 || (d->use[b][u].writes && d->writer[m] == v->position &&
                        l->item[now].from < t))
            begin_life(d, l, m, t);
        l->item[l->now[m]].to = t;
    }
    v->lives = d->lives - v->life;
}

/* The most lives of a plan. */
static size_t most_lives(const struct ctt_depth *d)
{
    size_t n = 2 * (size_t)d->count;

    for (int t = 0; t < d->visits; t++) {
        int b = d->visit[t].turn == CTT_BACK, k = d->visit[t].position;

        n += (size_t)(d->used[b][k + 1] - d->used[b][k]);
    }
    return n;
}

/* Places everything; sets bytes. */
static int place_lives(struct ctt_depth *d)
{
    size_t most = most_lives(d);
    struct lives l = { .item = ctt_calloc(most, sizeof(*l.item)),
                       .now = ctt_calloc(2 * (size_t)d->count,
                                         sizeof(*l.now)) };
    int rc = 0;

    ctt_free(d->life);
    d->life = ctt_calloc(most, sizeof(*d->life));
    CTT_TRY(d->life && l.item && l.now ? 0 : CTT_ENOMEM);
    d->lives = 0;
    for (int m = 0; m < 2 * d->count; m++) {
        l.now[m] = -1;
        if (d->fixed[m] && d->size[m]) {
            begin_life(d, &l, m, 0);
            l.item[l.now[m]].to = d->visits;
        }
    }
    for (int t = 0; t < d->visits; t++)
        live_through(d, &l, t);
    d->bytes = ctt_pack(l.item, d->lives);
    CTT_TRY(d->bytes < 0 ? (int)d->bytes : 0);
    for (int i = 0; i < d->lives; i++)
        d->life[i].at = l.item[i].at;
out:
    ctt_free(l.item);
    ctt_free(l.now);
    return rc;
}

static int begin_plan(struct ctt_depth *d)
{
    int rc = 0;

    d->visits = 0;
    for (int k = 0; k < d->positions; k++)
        CTT_TRY(push_visit(d, k, CTT_FORTH));
out:
    return rc;
}

/* ---- plans ---- */

static int each_once(struct ctt_depth *d)
{
    int rc = 0;

    CTT_TRY(begin_plan(d));
    for (int k = d->cuts - 1; k >= 0; k--) {
        if (k < d->cuts - 1)
            CTT_TRY(forth_again(d, k, k + 1, REDO_BACK));
        CTT_TRY(go_back(d, k, k + 1));
    }
    CTT_TRY(place_lives(d));
out:
    return rc;
}

int ctt_depth_plan_all(struct ctt_depth *d)
{
    int rc = 0;

    CTT_TRY(begin_plan(d));
    CTT_TRY(go_back(d, 0, d->cuts));
    CTT_TRY(place_lives(d));
out:
    return rc;
}

/* ---- the chain ---- */

static int64_t more_bytes(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Bytes of a stage's values in its forward pass at position k, if those that
 * are marked stay to its end. */
static int64_t forward_bytes(const struct ctt_depth *d, int from, int to, int k)
{
    int64_t sum = 0;

    for (int i = 0; i < d->count; i++)
        if (d->size[i] && !d->fixed[i] && d->writer[i] >= from &&
            d->writer[i] <= k && (d->mark[i] || d->reader[i] >= k))
            sum += d->size[i];
    return k < to ? sum : 0;
}

/* Bytes of the gradients of a position. */
static int64_t gradient_bytes(const struct ctt_depth *d, const int *low,
                              const int *high, int k)
{
    int64_t sum = 0;

    for (int i = 0; i < d->count; i++)
        if (!d->fixed[i] && low[i] <= k && k <= high[i])
            sum += d->size[d->count + i];
    return sum;
}

/* The positions between which a node's gradient lives. */
static void gradient_ends(const struct ctt_depth *d, int *low, int *high)
{
    for (int i = 0; i < d->count; i++) {
        low[i] = d->positions;
        high[i] = -1;
    }
    for (int k = 0; k < d->positions; k++)
        for (int u = d->used[1][k]; u < d->used[1][k + 1]; u++) {
            int i = d->use[1][u].memory - d->count;

            if (i >= 0) {
                low[i] = low[i] < k ? low[i] : k;
                high[i] = k;
            }
        }
}

static void fill_stage(struct ctt_depth *d, struct ctt_rotor *c, int s,
                       const int *low, const int *high)
{
    int from = d->cut[s], to = d->cut[s + 1];

    for (int i = 0; i < d->count; i++)
        d->mark[i] = (char)ctt_depth_crosses(d, i, to);
    for (int k = from; k < to; k++)
        c->thru[s] = more_bytes(c->thru[s], forward_bytes(d, from, to, k));
    for (int u = d->used[1][from]; u < d->used[1][to]; u++)
        if (d->use[1][u].memory < d->count)
            d->mark[d->use[1][u].memory] = 1;
    c->saved[s] = forward_bytes(d, from, to, to - 1);
    for (int k = from; k < to; k++) {
        c->full[s] = more_bytes(c->full[s], forward_bytes(d, from, to, k));
        c->back[s] = more_bytes(c->back[s], c->saved[s] +
                            gradient_bytes(d, low, high, k));
        c->ahead[s] += d->cost[0][k];
    }
    for (int i = 0; i < d->count; i++)
        if (ctt_depth_crosses(d, i, from)) {
            c->cut[s] += d->size[i];
            c->grad[s] += d->size[d->count + i];
        }
    mark_redo(d, s, s + 1, REDO_BACK);
    for (int k = from; k < to; k++)
        c->again[s] += d->redo[k] ? d->cost[0][k] : 0;
}

static int fill_chain(struct ctt_depth *d, struct ctt_rotor *c)
{
    size_t n = (size_t)d->count;
    int *low = ctt_calloc(n, sizeof(*low)), *high = ctt_calloc(n, sizeof(*low));
    int rc = low && high ? 0 : CTT_ENOMEM;

    memset(c, 0, sizeof(*c));
    c->stages = d->cuts;
    if (rc == 0)
        gradient_ends(d, low, high);
    for (int s = 0; s < d->cuts && rc == 0; s++)
        fill_stage(d, c, s, low, high);
    ctt_free(low);
    ctt_free(high);
    return rc;
}

/* Bytes that are there all the time. */
static int64_t fixed_bytes(const struct ctt_depth *d)
{
    int64_t sum = 0;

    for (int m = 0; m < 2 * d->count; m++)
        sum += d->fixed[m] ? ctt_align(d->size[m], 64) : 0;
    return sum;
}

/* The schedule of the chain for so many slots. */
static int chain_plan(struct ctt_depth *d, const struct ctt_rotor_plan *p,
                      int slots)
{
    int rc = 0;

    CTT_TRY(begin_plan(d));
    CTT_TRY(follow_rotor(d, p, 0, d->cuts - 1, slots));
    CTT_TRY(place_lives(d));
out:
    return rc;
}

/* The next fewer slots whose schedule takes longer, by at least 1/64 of a
 * forward pass; 0: there are none.  *time: of the schedule before, and then of
 * this one. */
static int next_slots(const struct ctt_depth *d, const struct ctt_rotor_plan *p,
                      int slots, double forward, double *time)
{
    double before = *time;

    while (--slots > 0) {
        *time = ctt_rotor_time(p, 0, d->cuts - 1, slots);
        if (!(*time < INFINITY))
            return 0;
        if (before < 0 || *time >= before + forward / 64)
            return slots;
    }
    return 0;
}

static double cost_of(const struct ctt_depth *d, int back)
{
    double sum = 0;

    for (int k = 0; k < d->positions; k++)
        sum += d->cost[back][k];
    return sum;
}

/* A stage's sizes are upper bounds, so a schedule for more than there is may
 * fit: the fastest ones are tried first. */
int ctt_depth_plan_within(struct ctt_depth *d, int64_t bytes)
{
    struct ctt_rotor c;
    struct ctt_rotor_plan *p = NULL;
    double time = -1;
    int slots = CTT_ROTOR_SLOTS + 1, rc = 0;

    CTT_TRY(fill_chain(d, &c));
    CTT_TRY(ctt_rotor_solve(&c, (bytes - fixed_bytes(d)) / 3 * 4, &p));
    do {
        slots = next_slots(d, p, slots, cost_of(d, 0), &time);
        CTT_TRY(slots ? chain_plan(d, p, slots) : 1);
    } while (slots && d->bytes > bytes);
out:
    ctt_rotor_free(&p);
    return rc;
}

/* One recomputation of each stage, with the number of cuts that needs the
 * fewest bytes.  best, all: room for the cuts. */
static int equal_parts(struct ctt_depth *d, int *best, int *all)
{
    size_t n = (size_t)d->cuts + 1;
    int cuts = d->cuts, some = 0, rc = 0;
    int64_t least = INT64_MAX;

    memcpy(all, d->cut, n * sizeof(*all));
    for (;; ctt_depth_merge(d)) {
        CTT_TRY(each_once(d));
        if (d->bytes < least) {
            least = d->bytes;
            some = d->cuts;
            memcpy(best, d->cut, (size_t)(some + 1) * sizeof(*best));
        }
        if (d->cuts == 1)
            break;
    }
    memcpy(d->cut, best, (size_t)(some + 1) * sizeof(*best));
    d->cuts = some;
    CTT_TRY(each_once(d));
out:
    memcpy(d->cut, all, n * sizeof(*all));
    d->cuts = cuts;
    return rc;
}

/* Schedules of the chain that recompute for at most `most`: the one with the
 * fewest bytes, if they are less than d->bytes.  *slots 0: none. */
static int fewer_bytes(struct ctt_depth *d, struct ctt_rotor_plan *p,
                       double most, int *slots)
{
    double forward = cost_of(d, 0), time = -1;
    int64_t least = d->bytes;
    int at = CTT_ROTOR_SLOTS + 1, rc = 0;

    *slots = 0;
    while ((at = next_slots(d, p, at, forward, &time)) && time <= most) {
        CTT_TRY(chain_plan(d, p, at));
        if (d->bytes < least) {
            least = d->bytes;
            *slots = at;
        }
    }
out:
    return rc;
}

int ctt_depth_plan_few(struct ctt_depth *d, double share)
{
    size_t n = (size_t)d->cuts + 1;
    int *all = ctt_calloc(n, sizeof(*all)), *best = ctt_calloc(n, sizeof(*all));
    struct ctt_rotor_plan *p = NULL;
    struct ctt_rotor c;
    int slots, rc = all && best ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    CTT_TRY(equal_parts(d, best, all));
    CTT_TRY(fill_chain(d, &c));
    CTT_TRY(ctt_rotor_solve(&c, (d->bytes - fixed_bytes(d)) / 4 * 5, &p));
    CTT_TRY(fewer_bytes(d, p, share * (cost_of(d, 0) + cost_of(d, 1)), &slots));
    if (slots)
        CTT_TRY(chain_plan(d, p, slots));
    else
        CTT_TRY(equal_parts(d, best, all));
out:
    ctt_rotor_free(&p);
    ctt_free(all);
    ctt_free(best);
    return rc;
}

double ctt_depth_times(const struct ctt_depth *d)
{
    double once = 0, all = 0;

    for (int t = 0; t < d->visits; t++) {
        const struct ctt_visit *v = &d->visit[t];
        double cost = d->cost[v->turn == CTT_BACK][v->position];

        all += cost;
        once += v->turn == CTT_AGAIN ? 0 : cost;
    }
    return once > 0 ? all / once : 1;
}
