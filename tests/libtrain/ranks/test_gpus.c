/* SPDX-License-Identifier: Apache-2.0
 * test_gpus.c: which GPU each rank takes, on invented machines. */
#include "libtrain/ranks/gpus.h"
#include "tests/lib/check.h"

#include <stdio.h>
#include <string.h>

enum { MOST = 8 };

/* A rank: its machine, its node of memory, and the GPUs that it sees, by a
 * letter each; those from E on are near node 1. */
struct row { const char *rank[MOST]; int take[MOST]; };

static const struct row rows[] = {
    /* a GPU each, by the order of ranks; nothing is known of nodes */
    { { "0-ABCD", "0-ABCD", "0-ABCD", "0-ABCD" }, { 0, 1, 2, 3 } },
    { { "0-ABCD", "0-ABCD" }, { 0, 1 } },
    /* machines count by themselves, in whatever order their ranks are */
    { { "0-AB", "0-AB", "1-AB", "1-AB" }, { 0, 1, 0, 1 } },
    { { "0-AB", "1-AB", "0-AB", "1-AB" }, { 0, 0, 1, 1 } },
    /* more ranks than GPUs take turns */
    { { "0-AB", "0-AB", "0-AB", "0-AB", "0-AB" }, { 0, 1, 0, 1, 0 } },
    { { "0-A", "0-A" }, { 0, 0 } },
    /* near ones first, then any */
    { { "01ABEF", "00ABEF", "01ABEF", "00ABEF" }, { 2, 0, 3, 1 } },
    { { "01ABEF", "01ABEF", "01ABEF" }, { 2, 3, 0 } },
    { { "01AB", "00AB" }, { 1, 0 } },
    /* the launcher has given each its own */
    { { "0-A", "0-B", "0-C" }, { 0, 0, 0 } },
    /* who sees fewer chooses first */
    { { "0-AB", "0-A" }, { 1, 0 } },
    { { "01AE", "0-E" }, { 0, 0 } },
    /* none */
    { { "0-", "0-A" }, { -1, 0 } },
};

static void read_card(const char *text, struct ctt_gpu_card *c)
{
    c->machine = text[0] - '0';
    c->node = text[1] == '-' ? -1 : text[1] - '0';
    c->count = (int)strlen(text + 2);
    for (int k = 0; k < c->count; k++) {
        snprintf(c->gpu[k].id, sizeof(c->gpu[k].id), "%c", text[2 + k]);
        c->gpu[k].node = text[2 + k] >= 'E';
    }
}

static void ranks_take_gpus(void)
{
    for (size_t i = 0; i < CTT_LEN(rows); i++) {
        struct ctt_gpu_card card[MOST];
        int take[MOST], n = 0;

        for (; n < MOST && rows[i].rank[n]; n++)
            read_card(rows[i].rank[n], &card[n]);
        ctt_gpus_divide(card, n, take);
        for (int r = 0; r < n; r++)
            CU_ASSERT_EQUAL(take[r], rows[i].take[r]);
    }
}

static void processors_are_not_numbered(void)
{
    struct ctt_gpu gpu[CTT_GPUS];

    CU_ASSERT_EQUAL(ctt_gpus_list("cpu", gpu), 0);
    CU_ASSERT_EQUAL(ctt_gpus_list("abacus", gpu), CTT_EINVAL);
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "ranks take GPUs", ranks_take_gpus },
        { "processors are not numbered", processors_are_not_numbered },
        CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = {
        { "gpus", NULL, NULL, NULL, NULL, tests }, CU_SUITE_INFO_NULL
    };

    return ctt_check_main(suites);
}
