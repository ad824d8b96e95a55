/* SPDX-License-Identifier: Apache-2.0
 * test_prune_form.c: pruning of whole blocks and rows: what a unit is, that
 * each is whole, and that later stages keep them. */
#include "tests/lib/check.h"
#include "tests/lib/small.h"
#include "compress/compress.h"
#include "net/rewrite/edit.h"
#include "net/op.h"

#include <math.h>
#include <string.h>

static int groups_of(const struct ctt_node *n)
{
    return ctt_is_grouped(n) ? n->attr.conv.groups : 1;
}

/* How many units are pruned in part. */
static int broken(const struct ctt_model *m, const struct ctt_node *n, int form)
{
    int parts = 0;

    for (int64_t k = 0; k < ctt_units(form, &n->w[0], groups_of(n)); k++) {
        struct ctt_unit u = ctt_unit_at(form, &n->w[0], groups_of(n), k);
        int kept = ctt_unit_kept(&u, ctt_kept(&m->constraint, n->at[0]));

        parts += kept > 0 && kept < ctt_unit_size(&u);
    }
    return parts;
}

/* ---- units ---- */

/* Element by element: which unit it is of, by the definition of unit.h. */
static int64_t unit_of(int form, const struct ctt_tensor *t, int groups,
                       int64_t at)
{
    int64_t c = at % t->c, places = t->d * t->h * t->w;
    int64_t place = at / t->c % places, o = at / t->c / places;
    int64_t each = t->n / groups;

    if (form == CTT_PRUNE_BLOCK)
        return (o * places + place) * t->c + c / 4 * 4;
    if (form == CTT_PRUNE_ROW)
        return ((o / each * each + o % each / 16 * 16) * places + place) *
               t->c + c;
    return at;
}

/* Each element is in one unit, with all that stand with it. */
static void test_units(void)
{
    static const struct { struct ctt_tensor t; int groups; } of[] = {
        { { .n = 1, .d = 1, .h = 1, .w = 1, .c = 9 }, 1 },
        { { .n = 20, .d = 1, .h = 3, .w = 2, .c = 6 }, 1 },
        { { .n = 33, .d = 2, .h = 1, .w = 1, .c = 4 }, 1 },
        { { .n = 40, .d = 1, .h = 1, .w = 3, .c = 5 }, 2 },
        { { .n = 8, .d = 1, .h = 3, .w = 3, .c = 1 }, 8 },
    };

    for (size_t i = 0; i < CTT_LEN(of); i++)
        for (int form = 0; form < CTT_PRUNE_FORMS; form++) {
            const struct ctt_tensor *t = &of[i].t;
            int64_t all = ctt_volume(t), seen = 0, last = -1;
            uint8_t *in = ctt_calloc((size_t)all, 1);

            for (int64_t k = 0; k < ctt_units(form, t, of[i].groups); k++) {
                struct ctt_unit u = ctt_unit_at(form, t, of[i].groups, k);

                CU_ASSERT(u.at > last && ctt_unit_size(&u) > 0);
                last = u.at;
                CU_ASSERT_EQUAL(ctt_unit_kept(&u, in), 0);
                ctt_unit_keep(&u, in);
                for (int64_t at = 0; at < all; at++)
                    if (in[at] == 1) {
                        CU_ASSERT_EQUAL(unit_of(form, t, of[i].groups, at),
                                        u.at);
                        in[at] = 2;
                        seen++;
                    }
            }
            CU_ASSERT_EQUAL(seen, all);
            ctt_free(in);
        }
}

/* ---- pruning ---- */

static const char grouped_net[] =
    "input x h=6 w=6 c=8\n"
    "conv a in=x out=40 kernel=3 groups=2\n"
    "conv d in=a out=40 kernel=3 groups=40\n"
    "conv b in=d out=23\n"
    "deconv y in=b out=6 kernel=2\n";

/* Every unit is whole, the share is met with less than a unit more, and nothing
 * comes back. */
static void whole(const char *net, int form, int scope, int score)
{
    static const double share[] = { 0.1, 0.5, 0.777, 0.9 };
    struct ctt_model *m = small_model(net, 1);
    struct ctt_prune o = { .form = form, .scope = scope, .score = score };
    uint8_t *before = ctt_calloc((size_t)m->g->weights, 1);

    memset(before, 1, (size_t)m->g->weights);
    for (size_t s = 0; s < CTT_LEN(share); s++) {
        int64_t all = 0, pruned = 0;
        int weights = 0;

        CHECK_OK(ctt_prune(m, &o, share[s]));
        for (int i = 0; i < m->g->count; i++) {
            const struct ctt_node *n = &m->g->node[i];

            if (!ctt_is_conv(n))
                continue;
            CU_ASSERT_EQUAL(broken(m, n, form), 0);
            CU_ASSERT(small_pruned(m, n) < ctt_volume(&n->w[0]));
            weights++;
        }
        small_count(m, &all, &pruned);
        CU_ASSERT((double)pruned >= share[s] * (double)all - weights);
        CU_ASSERT((double)pruned <= share[s] * (double)all +
                                    (scope == CTT_PRUNE_LAYER ? weights : 1) *
                                    16);
        for (int64_t k = 0; k < m->g->weights; k++)
            CU_ASSERT_FATAL(before[k] || !m->constraint.keep[k]);
        memcpy(before, m->constraint.keep, (size_t)m->g->weights);
    }
    ctt_free(before);
    ctt_model_free(&m);
}

static void test_whole(void)
{
    for (int form = 0; form < CTT_PRUNE_TWO; form++)
        for (int k = 0; k < 4; k++) {
            whole(small_net, form, k % 2, k / 2);
            whole(grouped_net, form, k % 2, k / 2);
        }
}

/* The units with the smallest mean square go, also a shorter one. */
static void test_order(void)
{
    static const char text[] = "input x h=1 w=1 c=6\nconv y in=x out=3\n";
    static const float w[18] = { 3, 3, 3, 3, 2, 2, 1, 1, 1, 1, 9, 9,
                                 0, 0, 0, 5, 2.4f, 2.4f };
    struct ctt_model *m = small_model(text, 4);
    const struct ctt_node *n = &m->g->node[1];
    struct ctt_prune o = { .form = CTT_PRUNE_BLOCK,
                           .scope = CTT_PRUNE_LAYER };

    memcpy(m->w + n->at[0], w, sizeof(w));
    CHECK_OK(ctt_prune(m, &o, 4.0 / 18));    /* means 9 4 1 81 6.25 5.76 */
    for (int k = 0; k < 18; k++)
        CU_ASSERT_EQUAL(m->constraint.keep[n->at[0] + k], k < 6 || k > 9);
    CHECK_OK(ctt_prune(m, &o, 8.0 / 18));
    CU_ASSERT_EQUAL(small_pruned(m, n), 8);
    CU_ASSERT(!m->constraint.keep[n->at[0] + 16] &&
              !m->constraint.keep[n->at[0] + 5]);
    /* What was pruned alone stays so, and is counted. */
    m->constraint.keep[n->at[0]] = 0;
    m->w[n->at[0]] = 0;
    CHECK_OK(ctt_prune(m, &o, 0.5));
    CU_ASSERT_EQUAL(small_pruned(m, n), 9);
    ctt_model_free(&m);
}

/* Blocks of a conv of which the two that stay are not the largest of `before`,
 * as far as there are two; *full: blocks of more than two. */
static int wrong_blocks(const struct ctt_model *m, const struct ctt_node *n,
                        const float *before, int *full)
{
    int bad = 0;

    for (int64_t k = 0;
         k < ctt_units(CTT_PRUNE_BLOCK, &n->w[0], groups_of(n)); k++) {
        struct ctt_unit u = ctt_unit_at(CTT_PRUNE_BLOCK, &n->w[0],
                                        groups_of(n), k);
        const uint8_t *keep = m->constraint.keep + n->at[0] + u.at;
        const float *w = before + n->at[0] + u.at;

        *full += ctt_unit_kept(&u, m->constraint.keep + n->at[0]) > 2;
        for (int i = 0; i < u.ins; i++)
            for (int j = 0; j < u.ins; j++)
                bad += keep[i] && !keep[j] && fabsf(w[i]) < fabsf(w[j]);
        bad += ctt_unit_kept(&u, m->constraint.keep + n->at[0]) <
               (u.ins < 2 ? u.ins : 2);
    }
    return bad;
}

/* 2:4: at half of the weights every block has two, and never less before, by
 * magnitude, in steps too, and with other zeros that would make half. */
static void test_two(void)
{
    static const double share[] = { 0.1, 0.3, 0.5 };

    for (int k = 0; k < 4; k++)
        for (int grouped = 0; grouped < 2; grouped++) {
            struct ctt_model *m = small_model(grouped ? grouped_net : small_net,
                                              1);
            struct ctt_prune o = { .form = CTT_PRUNE_TWO, .scope = k % 2,
                                   .score = k / 2, .floor = 0.2f };
            float *w = ctt_calloc((size_t)m->g->weights, sizeof(*w));
            int full = 0;

            memcpy(w, m->w, (size_t)m->g->weights * sizeof(*w));
            for (size_t s = 0; s < CTT_LEN(share); s++) {
                CHECK_OK(ctt_prune(m, &o, share[s]));
                full = 0;
                for (int i = 0; i < m->g->count; i++)
                    if (ctt_is_conv(&m->g->node[i]))
                        CU_ASSERT_EQUAL(wrong_blocks(m, &m->g->node[i], w,
                                                     &full), 0);
                CU_ASSERT_EQUAL(full == 0, share[s] >= 0.5);
            }
            ctt_free(w);
            ctt_model_free(&m);
        }
}

/* ---- the stages behind ---- */

/* Prunes 5 channels of a, 1 and 4 to 7, and drops what is dead: folding may
 * not move channels into other blocks. */
static void folded(int form, int left)
{
    static const char text[] =
        "input x h=4 w=4 c=4\n"
        "conv a in=x out=24 kernel=3 pad=0,1,1\nact r in=a kind=relu\n"
        "conv b in=r out=20\nact s in=b kind=relu\nconv y in=s out=7\n";
    struct ctt_model *m = small_model(text, 5), *to = NULL;
    const struct ctt_node *a = &m->g->node[ctt_graph_find(m->g, "a")];
    struct ctt_prune o = { .form = form };
    int64_t each = ctt_volume(&a->w[0]) / a->out.c;

    CHECK_OK(ctt_prune(m, &o, form == CTT_PRUNE_TWO ? 0.5 : 0.3));
    for (int64_t j = 0; j < a->out.c; j++) {
        if (j != 1 && (j < 4 || j > 7))
            continue;
        for (int64_t k = j * each; k < (j + 1) * each; k++)
            m->constraint.keep[a->at[0] + k] = 0;
        m->w[a->at[1] + j] = 0;
    }
    ctt_model_hold(m);
    CHECK_OK(ctt_drop_dead(m, &to));
    CU_ASSERT_EQUAL(to->g->node[ctt_graph_find(to->g, "a")].out.c, left);
    for (int i = 0; form == CTT_PRUNE_BLOCK && i < to->g->count; i++)
        if (ctt_is_conv(&to->g->node[i]))
            CU_ASSERT_EQUAL(broken(to, &to->g->node[i], form), 0);
    for (int i = 0; form == CTT_PRUNE_TWO && i < to->g->count; i++)
        if (ctt_is_conv(&to->g->node[i]))
            CU_ASSERT(ctt_units_whole(form, &to->g->node[i].w[0], 1,
                                      to->constraint.keep +
                                      to->g->node[i].at[0]));
    small_compare(m, to, 3, 1e-5);
    ctt_model_free(&to);
    ctt_model_free(&m);
}

/* Of blocks, channel 1 stays with its neighbours, as in 2:4; rows hold nothing
 * back. */
static void test_folded(void)
{
    folded(CTT_PRUNE_ANY, 19);
    folded(CTT_PRUNE_BLOCK, 20);
    folded(CTT_PRUNE_ROW, 19);
    folded(CTT_PRUNE_TWO, 20);
}

/* ctt_units_whole() tells a weight that was pruned in this form from others. */
static void test_tells(void)
{
    const struct ctt_tensor t = { .n = 3, .d = 1, .h = 1, .w = 2, .c = 6 };
    uint8_t keep[36];

    memset(keep, 1, sizeof(keep));
    CU_ASSERT(!ctt_units_whole(CTT_PRUNE_BLOCK, &t, 1, NULL));
    CU_ASSERT(!ctt_units_whole(CTT_PRUNE_BLOCK, &t, 1, keep));
    memset(keep + 12, 0, 12);    /* all of an output channel */
    CU_ASSERT(!ctt_units_whole(CTT_PRUNE_BLOCK, &t, 1, keep));
    memset(keep + 4, 0, 2);
    CU_ASSERT(ctt_units_whole(CTT_PRUNE_BLOCK, &t, 1, keep));
    CU_ASSERT(!ctt_units_whole(CTT_PRUNE_ROW, &t, 1, keep));
    keep[7] = 0;
    CU_ASSERT(!ctt_units_whole(CTT_PRUNE_BLOCK, &t, 1, keep));
    ctt_units_fill(CTT_PRUNE_BLOCK, &t, 1, keep);
    CU_ASSERT(keep[7] && !keep[5] && !keep[12]);
    CU_ASSERT(ctt_units_whole(CTT_PRUNE_BLOCK, &t, 1, keep));
    for (int k = 0; k < 36; k++)
        keep[k] = k % 6 % 4 < 2;    /* whole input channels are gone */
    CU_ASSERT(!ctt_units_whole(CTT_PRUNE_TWO, &t, 1, keep));
    keep[1] = 0;
    keep[3] = 1;
    CU_ASSERT(ctt_units_whole(CTT_PRUNE_TWO, &t, 1, keep));
    keep[2] = 1;
    CU_ASSERT(!ctt_units_whole(CTT_PRUNE_TWO, &t, 1, keep));
    keep[2] = keep[0] = keep[6] = keep[12] = keep[18] = 0;
    CU_ASSERT(!ctt_units_whole(CTT_PRUNE_TWO, &t, 1, keep));
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "units", test_units },
        { "what was pruned so", test_tells },
        { "whole", test_whole },
        { "two of four", test_two },
        { "order", test_order },
        { "folded", test_folded },
        CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = {
        { "prune forms", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL
    };

    return ctt_check_main(suites);
}
