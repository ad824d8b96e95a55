/* SPDX-License-Identifier: Apache-2.0
 * synth_class.c: the classes of the generated clips: their names and motions,
 * which of them are made, and the class and the split of each clip. */
#include "video/synth/synth.h"
#include "video/synth/synth_draw.h"

#include <stdio.h>
#include <string.h>

/* ---- six pairs ---- */

static const struct { const char *name; struct ctt_action act; }
alone[CTT_SYNTH_CLASSES] = {
    { "Moving [something] from left to right", { .leg = { { 1, 0, 0, 0 } } } },
    { "Moving [something] from right to left", { .leg = { { -1, 0, 0, 0 } } } },
    { "Moving [something] up", { .leg = { { 0, -1, 0, 0 } } } },
    { "Moving [something] down", { .leg = { { 0, 1, 0, 0 } } } },
    { "Moving [something] towards the camera", { .leg = { { 0, 0, 1, 0 } } } },
    { "Moving [something] away from the camera",
      { .leg = { { 0, 0, -1, 0 } } } },
    { "Turning [something] clockwise", { .leg = { { 0, 0, 0, 1 } } } },
    { "Turning [something] anticlockwise", { .leg = { { 0, 0, 0, -1 } } } },
    { "Tearing [something] into two pieces",
      { .prep = CTT_PREP_PULL, .late = 1 } },
    { "Pretending to be tearing [something]", { .prep = CTT_PREP_PULL } },
    { "Poking [something] so that it falls over",
      { .prep = CTT_PREP_POKE, .late = 1 } },
    { "Poking [something] so slightly that it does not fall",
      { .prep = CTT_PREP_POKE } },
};

/* The names of classes 2k and 2k + 1 together, and of those in an order. */
static const char *const set[CTT_SYNTH_PAIRS + 1] = {
    "across", "upward", "nearer", "turn", "tear", "poke", "order"
};

/* ---- movements in an order ---- */

/* Movements 2a and 2a + 1 are the two directions of axis a. */
enum { AXES = 4, STEPS = 2 * AXES, PER_AXES = 8, ORDER = 1 << CTT_SYNTH_PAIRS };

static const struct { const char *name; struct ctt_move move; }
step[STEPS] = {
    { "goes right", { 1, 0, 0, 0 } },     { "goes left", { -1, 0, 0, 0 } },
    { "goes up", { 0, -1, 0, 0 } },       { "goes down", { 0, 1, 0, 0 } },
    { "comes nearer", { 0, 0, 1, 0 } },   { "goes away", { 0, 0, -1, 0 } },
    { "turns clockwise", { 0, 0, 0, 1 } },
    { "turns anticlockwise", { 0, 0, 0, -1 } },
};

/* Class k of those in an order as its movements, -1 for none: none at all, one
 * alone, or one and then one of a neighbouring axis, in both orders. */
static void steps_of(int k, int leg[2])
{
    int axis, swap;

    leg[0] = k ? k - 1 : -1;
    leg[1] = -1;
    if (k <= STEPS)
        return;
    k -= STEPS + 1;
    axis = k / PER_AXES;
    swap = k >> 2 & 1;
    leg[swap] = 2 * axis + (k & 1);
    leg[!swap] = 2 * ((axis + 1) % AXES) + (k >> 1 & 1);
}

void ctt_synth_action(int label, struct ctt_action *a)
{
    int leg[2];

    if (label < CTT_SYNTH_CLASSES) {
        *a = alone[label].act;
        return;
    }
    *a = (struct ctt_action){ .ordered = 1 };
    steps_of(label - CTT_SYNTH_CLASSES, leg);
    for (int k = 0; k < 2; k++)
        if (leg[k] >= 0)
            a->leg[k] = step[leg[k]].move;
}

struct ctt_move ctt_synth_any(struct ctt_rng *r)
{
    return step[ctt_rng_below(r, STEPS)].move;
}

const char *ctt_synth_template(int label, char *text, size_t n)
{
    int leg[2];

    if (label < CTT_SYNTH_CLASSES) {
        snprintf(text, n, "%s", alone[label].name);
        return text;
    }
    steps_of(label - CTT_SYNTH_CLASSES, leg);
    snprintf(text, n, "[something] %s%s%s",
             leg[0] < 0 ? "stays where it is" : step[leg[0]].name,
             leg[1] < 0 ? "" : ", then ", leg[1] < 0 ? "" : step[leg[1]].name);
    return text;
}

/* ---- what is made ---- */

static unsigned actions_of(const struct ctt_synth *s)
{
    return s->actions ? s->actions : ORDER - 1;
}

int ctt_synth_choose(struct ctt_synth *s, const char *names)
{
    unsigned chosen = 0;
    int rc = 0;

    for (size_t n, k; *names; names += n + (names[n] == ',')) {
        n = strcspn(names, ",");
        for (k = 0; k < CTT_LEN(set); k++)
            if (strlen(set[k]) == n && memcmp(set[k], names, n) == 0)
                break;
        CTT_CHECK(k < CTT_LEN(set), CTT_EINVAL, "no action '%.*s': across, "
                  "upward, nearer, turn, tear, poke or order", (int)n, names);
        chosen |= 1u << k;
    }
    CTT_CHECK(!(chosen & ORDER) || chosen == ORDER, CTT_EINVAL,
              "action 'order' has such movements too: name it alone");
    s->actions = chosen;
out:
    return rc;
}

int ctt_synth_classes(const struct ctt_synth *s)
{
    int n = 0;

    if (actions_of(s) & ORDER)
        return CTT_SYNTH_ORDERED;
    for (unsigned a = actions_of(s); a; a >>= 1)
        n += 2 * (int)(a & 1);
    return n;
}

int ctt_synth_class(const struct ctt_synth *s, int k)
{
    int at = 0;

    if (actions_of(s) & ORDER)
        return CTT_SYNTH_CLASSES + k;
    for (unsigned a = actions_of(s); k >= 2 * (int)(a & 1); a >>= 1, at += 2)
        k -= 2 * (int)(a & 1);
    return at + k;
}

/* Each block of as many clips as there are classes contains each class once, in
 * random order. */
int ctt_synth_label(const struct ctt_synth *s, int i)
{
    int order[CTT_SYNTH_ORDERED], n = ctt_synth_classes(s), block = i / n;
    struct ctt_rng r = { ~s->seed, (uint64_t)block << 28 };

    for (int k = 0; k < n; k++) {
        int j = ctt_rng_below(&r, k + 1);
        order[k] = order[j];
        order[j] = ctt_synth_class(s, k);
    }
    return order[i % n];
}

/* Of eight blocks, six are for training, one for validation and one, unless
 * test clips follow, for test, so every split has the same share of each class.
 */
int ctt_synth_split(const struct ctt_synth *s, int i)
{
    int block = i / ctt_synth_classes(s) % 8;

    if (s->test)
        return i >= s->clips ? 2 : block == 1;
    return block == 1 ? 1 : block == 2 ? 2 : 0;
}
