/* SPDX-License-Identifier: Apache-2.0
 * unit.c: units of elements of a weight that are pruned together. */
#include "net/unit.h"

#include <string.h>

static const struct { int outs, ins; } most[CTT_PRUNE_FORMS] = {
    [CTT_PRUNE_ANY] = { 1, 1 }, [CTT_PRUNE_BLOCK] = { 1, 4 },
    [CTT_PRUNE_ROW] = { 16, 1 }, [CTT_PRUNE_TWO] = { 1, 1 },
};

const char *const ctt_prune_forms[] = {
    CTT_PRUNE_WORDS, [CTT_PRUNE_FORMS] = NULL
};

static int64_t parts(int64_t n, int most_of_one)
{
    return (n + most_of_one - 1) / most_of_one;
}

static int part_length(int64_t n, int most_of_one, int64_t from)
{
    return (int)(n - from < most_of_one ? n - from : most_of_one);
}

int64_t ctt_units(enum ctt_prune_form f, const struct ctt_tensor *t,
                  int groups)
{
    return groups * parts(t->n / groups, most[f].outs) * t->d * t->h * t->w *
           parts(t->c, most[f].ins);
}

struct ctt_unit ctt_unit_at(enum ctt_prune_form f, const struct ctt_tensor *t,
                            int groups, int64_t k)
{
    int64_t across = parts(t->c, most[f].ins), places = t->d * t->h * t->w;
    int64_t each = t->n / groups, down = parts(each, most[f].outs);
    int64_t in = k % across * most[f].ins, place = k / across % places;
    int64_t row = k / across / places, out = row % down * most[f].outs;

    return (struct ctt_unit){
        .at = ((row / down * each + out) * places + place) * t->c + in,
        .stride = places * t->c, .outs = part_length(each, most[f].outs, out),
        .ins = part_length(t->c, most[f].ins, in)
    };
}

int ctt_unit_kept(const struct ctt_unit *u, const uint8_t *keep)
{
    int kept = 0;

    if (!keep)
        return ctt_unit_size(u);
    for (int o = 0; o < u->outs; o++)
        for (int i = 0; i < u->ins; i++)
            kept += keep[u->at + o * u->stride + i];
    return kept;
}

void ctt_unit_keep(const struct ctt_unit *u, uint8_t *keep)
{
    for (int o = 0; o < u->outs; o++)
        for (int i = 0; i < u->ins; i++)
            keep[u->at + o * u->stride + i] = 1;
}

/* 1 if an element is kept for one output channel and pruned for another: not
 * where whole input channels are gone. */
static int outputs_differ(const struct ctt_tensor *t, const uint8_t *keep)
{
    int64_t each = ctt_volume(t) / t->n;

    for (int64_t o = 1; o < t->n; o++)
        if (memcmp(keep, keep + o * each, (size_t)each) != 0)
            return 1;
    return 0;
}

/* Blocks of fewer than 4, at the end of a row, say nothing. */
static int is_two_of_four(const struct ctt_tensor *t, int groups,
                          const uint8_t *keep)
{
    int64_t units = ctt_units(CTT_PRUNE_BLOCK, t, groups), two = 0, full = 0;

    for (int64_t k = 0; k < units; k++) {
        struct ctt_unit u = ctt_unit_at(CTT_PRUNE_BLOCK, t, groups, k);
        int kept = ctt_unit_kept(&u, keep);

        if (kept > 2)
            return 0;
        full += ctt_unit_size(&u) == 4;
        two += ctt_unit_size(&u) == 4 && kept == 2;
    }
    return full > 0 && two * 4 >= full * 3 && outputs_differ(t, keep);
}

int ctt_units_whole(enum ctt_prune_form f, const struct ctt_tensor *t,
                    int groups, const uint8_t *keep)
{
    int64_t each = t->d * t->h * t->w * parts(t->c, most[f].ins);
    int64_t gone = 0, found = 0;

    if (f == CTT_PRUNE_TWO)
        return is_two_of_four(t, groups, keep);
    for (int64_t k = 0; k < ctt_units(f, t, groups); k++) {
        struct ctt_unit u = ctt_unit_at(f, t, groups, k);
        int kept = ctt_unit_kept(&u, keep);

        if (kept > 0 && kept < ctt_unit_size(&u))
            return 0;
        gone += kept == 0;
        if ((k + 1) % each == 0) {    /* the last one of these outputs */
            found |= gone > 0 && gone < each;
            gone = 0;
        }
    }
    return (int)found;
}

void ctt_units_fill(enum ctt_prune_form f, const struct ctt_tensor *t,
                    int groups, uint8_t *keep)
{
    for (int64_t k = 0; k < ctt_units(f, t, groups); k++) {
        struct ctt_unit u = ctt_unit_at(f, t, groups, k);

        if (ctt_unit_kept(&u, keep) > 0)
            ctt_unit_keep(&u, keep);
    }
}
