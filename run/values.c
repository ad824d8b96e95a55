/* SPDX-License-Identifier: Apache-2.0
 * values.c: the values of the current window: their addresses, copies from and
 * to the program, and the history that is carried from window to window. */
#include "run/bind.h"
#include "run/place.h"
#include "base/half.h"

/* Bytes of a step's values. */
static int64_t step_bytes(const struct ctt_slot *s)
{
    return s->size * ctt_dtype_size(s->type);
}

/* Bytes that node i has before step 0.  Packed histories are aligned to 64
 * bytes each, as a node may have an odd number of 16-bit values. */
static int64_t old_bytes(const struct ctt_run *r, int i)
{
    const struct ctt_slot *s = &r->slot[i];

    return s->alias == i ? ctt_slot_before(s) * step_bytes(s) : 0;
}

/* The quantised form of the values in a node's memory. */
static const struct ctt_tensor *stored(const struct ctt_run *r, int i)
{
    int quant = r->slot[i].quant;

    return &r->g->node[quant < 0 ? i : quant].out;
}

static void set_form(const struct ctt_run *r, int node, struct ctt_tensor *t)
{
    t->scale = stored(r, node)->scale;
    t->zero = stored(r, node)->zero - (t->dtype == CTT_I8 ? CTT_I8_LESS : 0);
}

int ctt_run_zero(const struct ctt_run *r, int node)
{
    struct ctt_tensor t = { .dtype = r->slot[node].type };

    set_form(r, node, &t);
    return ctt_is_bytes(&t) ? t.zero & 0xff : 0;
}

/* The address of the node's value at step 0. */
static char *first_value(const struct ctt_run *r, int i)
{
    return r->base[r->slot[i].block] + r->slot[i].at;
}

int64_t ctt_run_history_bytes(const struct ctt_run *r)
{
    int64_t sum = 0;

    for (int i = 0; i < r->g->clip; i++)
        sum += ctt_align(old_bytes(r, i), 64);
    return sum;
}

/* Copies the kept steps before the cursor to `to`, of each step `some` bytes
 * from `at` on: the values of samples with this past. */
static int keep_part(const struct ctt_run *r, int i, int64_t past, int64_t at,
                     int64_t some, char *to)
{
    const struct ctt_slot *s = &r->slot[i];
    int64_t end = past + r->cursor, n = step_bytes(s);
    int64_t apart = INT64_C(1) << ctt_kept_shift(s, end);
    int rc = 0;

    for (int64_t step = 0; step < end; step += apart, to += n) {
        const char *from = first_value(r, i) + ctt_kept_at(s, past, step) * n;

        if (from != to)
            CTT_TRY(ctt_dev_copy(r->dev, CTT_WITHIN, from + at, to + at,
                                 some));
    }
out:
    return rc;
}

/* Copies the kept steps of a node, also within its own memory, since fewer
 * multiples are kept with more steps. */
static int keep_steps(const struct ctt_run *r, int i, char *to)
{
    int64_t n = step_bytes(&r->slot[i]), some = n / r->n;
    int rc = 0;

    if (r->slot[i].kept && !r->past_of)
        return keep_part(r, i, r->past, 0, n, to);
    for (int p = 0; r->slot[i].kept && p < r->n; p++)
        CTT_TRY(keep_part(r, i, r->past_of[p], p * some, some, to));
out:
    return rc;
}

/* Copies the last steps before the cursor and the kept steps of one node. */
static int save(const struct ctt_run *r, int i, char *to)
{
    const struct ctt_slot *s = &r->slot[i];
    int64_t n = s->history * step_bytes(s);
    int rc = 0;

    CTT_TRY(keep_steps(r, i, to));
    if (n)
        CTT_TRY(ctt_dev_copy(r->dev, CTT_WITHIN, first_value(r, i) + r->cursor *
                             step_bytes(s) - n, to + s->kept * step_bytes(s),
                             n));
out:
    return rc;
}

int ctt_run_save_history(const struct ctt_run *r, char *to)
{
    int rc = 0;

    for (int i = 0; i < r->g->clip; i++) {
        if (old_bytes(r, i))
            CTT_TRY(save(r, i, to));
        to += ctt_align(old_bytes(r, i), 64);
    }
out:
    return rc;
}

int ctt_run_load_history(struct ctt_run *r, const char *from)
{
    int rc = 0;

    for (int i = 0; i < r->g->clip; i++) {
        int64_t n = old_bytes(r, i);

        if (n && from)
            CTT_TRY(ctt_dev_copy(r->dev, CTT_WITHIN, from,
                                 first_value(r, i) - n, n));
        else if (n)
            CTT_TRY(ctt_dev_fill(r->dev, first_value(r, i) - n,
                                 ctt_run_zero(r, i), n));
        from = from ? from + ctt_align(n, 64) : NULL;
    }
out:
    return rc;
}

int ctt_run_is_first(const struct ctt_run *r, int node, int step)
{
    const struct ctt_node *n = &r->g->node[node];
    int any = r->past + step == 0;

    if (n->op != CTT_OP_STATE || n->attr.state.fill != CTT_FILL_FIRST)
        return 0;
    for (int p = 0; r->past_of && p < r->active; p++)
        any = (p && any) || r->past_of[p] + step == 0;
    return any;
}

/* Copies `some` bytes of each step from `at` on. */
static int copy_first(const struct ctt_run *r, int state, int step, int64_t at,
                      int64_t some)
{
    int of = r->slot[state].alias, rc = 0;
    int64_t n = step_bytes(&r->slot[of]);
    char *from = first_value(r, of) + step * n + at;

    for (int k = 1; k <= r->slot[state].delay; k++)
        CTT_TRY(ctt_dev_copy(r->dev, CTT_WITHIN, from, from - k * n, some));
out:
    return rc;
}

int ctt_run_copy_first(const struct ctt_run *r, int state, int step)
{
    int64_t n = step_bytes(&r->slot[r->slot[state].alias]), some = n / r->n;
    int rc = 0;

    if (!r->past_of)
        return copy_first(r, state, step, 0, n);
    for (int p = 0; p < r->active; p++)
        if (r->past_of[p] + step == 0)
            CTT_TRY(copy_first(r, state, step, p * some, some));
out:
    return rc;
}

void ctt_run_reset(struct ctt_run *r)
{
    /* a failure is reported by the next call */
    ctt_run_load_history(r, NULL);
    r->cursor = 0;
    r->past = 0;
    r->asks = 0;
}

void *ctt_run_value(const struct ctt_run *r, int node, int step)
{
    const struct ctt_slot *s = &r->slot[node];

    if (node >= r->g->clip)
        step = 0;
    return first_value(r, node) + (step - s->delay) * step_bytes(s) +
           s->off * ctt_dtype_size(s->type);
}

/* Moves the history to the front, in pieces that do not overlap. */
static int slide(struct ctt_run *r, int node)
{
    const struct ctt_slot *s = &r->slot[node];
    int64_t by = r->cursor * step_bytes(s), n = s->history * step_bytes(s);
    char *to = first_value(r, node) - n;
    int rc = 0;

    if (s->alias != node)
        goto out;
    CTT_TRY(keep_steps(r, node, first_value(r, node) - old_bytes(r, node)));
    for (int64_t i = 0, some; i < n; i += some) {
        some = n - i < by ? n - i : by;
        CTT_TRY(ctt_dev_copy(r->dev, CTT_WITHIN, to + i + by, to + i, some));
    }
out:
    return rc;
}

int ctt_run_make_room(struct ctt_run *r, int steps)
{
    int rc = 0;

    CTT_CHECK(steps > 0 && steps <= r->room, CTT_EINVAL,
              "%d steps do not fit a window of %d", steps, r->room);
    if (r->cursor + steps <= r->room)
        goto out;
    CTT_CHECK(r->slides, CTT_EINVAL, "%d steps are more than the window's %d",
              r->cursor + steps, r->room);
    for (int i = 0; i < r->g->clip; i++)
        CTT_TRY(slide(r, i));
    for (int p = 0; r->past_of && p < r->n; p++)
        r->past_of[p] += r->cursor;
    r->past += r->cursor;
    r->cursor = 0;
out:
    return rc;
}

struct ctt_tensor ctt_run_tensor(const struct ctt_run *r, int node, int step,
                                 int64_t n)
{
    struct ctt_tensor t = r->g->node[node].out;

    t.n = 1;
    t.ld = r->slot[node].ld;
    t.dtype = r->slot[node].type;
    set_form(r, node, &t);
    t.data = ctt_run_value(r, node, step);
    if (node >= r->g->clip)    /* step is an ask */
        t.data = (char *)t.data +
                 step * ctt_rows(&t) * t.ld * ctt_dtype_size(t.dtype);
    t.n = n;
    return t;
}

/* The value as rows of one pixel each. */
static struct ctt_tensor value_rows(const struct ctt_run *r, int node, int step,
                                    int64_t rows)
{
    int at = node < r->g->clip ? step : 0;
    struct ctt_tensor t = ctt_run_tensor(r, node, at, rows);

    t.d = t.h = t.w = 1;
    return t;
}

/* Names the node in the message of an error. */
static int of_node(const struct ctt_run *r, int node, int rc)
{
    return rc >= 0 ? rc : ctt_error(rc, "%s: %s", r->g->node[node].name,
                                    ctt_errmsg());
}

int ctt_run_put(const struct ctt_run *r, int node, int step,
                const float *from, int64_t rows)
{
    struct ctt_tensor t = value_rows(r, node, step, rows);

    return of_node(r, node, ctt_dev_put(r->dev, from, &t));
}

int ctt_run_get(const struct ctt_run *r, int node, int step, int64_t rows,
                float *to)
{
    struct ctt_tensor t = value_rows(r, node, step, rows);

    return of_node(r, node, ctt_dev_get(r->dev, &t, to));
}

int ctt_run_sums(const struct ctt_run *r, int node, int step, int64_t rows,
                 int64_t groups, double *sums)
{
    struct ctt_tensor t = value_rows(r, node, step, rows);

    return ctt_dev_group_sums(r->dev, &t, groups, sums);
}
