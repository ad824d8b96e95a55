/* SPDX-License-Identifier: Apache-2.0
 * test_cores.c: how ranks of a machine divide its processors; a comm that is
 * NULL. */
#include "comm/comm.h"
#include "comm/cores.h"
#include "tests/lib/check.h"

#include <stdlib.h>
#include <string.h>

extern char **environ;

enum { MOST = 16 };

/* Two nodes of so many cores with two threads each, numbered as Linux does on
 * most machines: the second threads of all cores come last. */
static int machine(int cores, struct ctt_core *core)
{
    for (int i = 0; i < 4 * cores; i++) {
        int first = i % (2 * cores);

        core[i] = (struct ctt_core){ i, first / cores, first };
    }
    return 4 * cores;
}

static void parts_are_neighbours(void)
{
    static const struct { int parts, k, count, cpu[4]; } rows[] = {
        { 4, 0, 2, { 0, 4 } }, { 4, 1, 2, { 1, 5 } }, { 4, 3, 2, { 3, 7 } },
        { 2, 0, 4, { 0, 4, 1, 5 } }, { 2, 1, 4, { 2, 6, 3, 7 } },
        { 8, 5, 1, { 6 } }, { 3, 0, 2, { 0, 4 } }, { 3, 1, 3, { 1, 5, 2 } },
        { 9, 0, 0, { 0 } }, { 16, 15, 0, { 0 } },
    };

    for (size_t i = 0; i < CTT_LEN(rows); i++) {
        struct ctt_core core[MOST];
        int first = -1, n = machine(2, core);

        n = ctt_cores_cut(core, n, rows[i].k, rows[i].parts, &first);
        CU_ASSERT_EQUAL_FATAL(n, rows[i].count);
        for (int k = 0; k < n; k++)
            CU_ASSERT_EQUAL(core[first + k].cpu, rows[i].cpu[k]);
    }
}

/* Each processor is in one part, and parts differ by one at most. */
static void parts_are_all(void)
{
    for (int parts = 1; parts <= 12; parts++) {
        int seen[MOST] = { 0 };

        for (int k = 0; k < parts; k++) {
            struct ctt_core core[MOST];
            int first, n = machine(3, core);
            int count = ctt_cores_cut(core, n, k, parts, &first);

            CU_ASSERT(count == n / parts || count == n / parts + 1);
            for (int i = 0; i < count; i++)
                seen[core[first + i].cpu]++;
        }
        for (int i = 0; i < 12; i++)
            CU_ASSERT_EQUAL(seen[i], 1);
    }
}

static void null_is_one_rank(void)
{
    const struct ctt_comm_place *p = ctt_comm_place(NULL);
    int64_t calls = ctt_comm_calls(NULL);
    struct ctt_comm *part = NULL;
    int mine = 7, all = 0, threads = 0;

    CU_ASSERT(p->rank == 0 && p->ranks == 1 && p->nears == 1 &&
              p->machines == 1);
    CHECK_OK(ctt_comm_allgather(NULL, &mine, sizeof(mine), &all));
    CU_ASSERT_EQUAL(all, 7);
    mine = 8;
    CHECK_OK(ctt_comm_alltoall(NULL, &mine, &all, sizeof(mine)));
    CU_ASSERT_EQUAL(all, 8);
    CU_ASSERT_EQUAL(ctt_comm_calls(NULL), calls + 4);
    CHECK_OK(ctt_comm_split(NULL, 3, &part));
    mine = 9;
    CHECK_OK(ctt_comm_allgather(part, &mine, sizeof(mine), &all));
    CU_ASSERT(all == 9 && ctt_comm_place(part)->ranks == 1);
    ctt_comm_close(&part);
    CU_ASSERT_EQUAL(ctt_comm_calls(NULL), calls + 8);
    ctt_comm_abort(NULL, 1);
    CHECK_OK(ctt_comm_share(NULL, 1, &threads));
    CU_ASSERT_EQUAL(threads, 0);    /* nobody to share with */
}

/* What a launcher has set is left out, whoever it is, and nothing else. */
static void others_are_alone(void)
{
    static const char *const theirs[] = {
        "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "PMI_SIZE", "PMI_RANK",
        "SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "PMIX_RANK",
    };
    int kept = 0, n = 0;
    char **list;

    for (size_t i = 0; i < CTT_LEN(theirs); i++)
        CU_ASSERT(unsetenv(theirs[i]) == 0);
    while (environ[n])
        n++;
    for (size_t i = 0; i < CTT_LEN(theirs); i++)
        CU_ASSERT(setenv(theirs[i], "1", 1) == 0);
    CU_ASSERT(setenv("PMIX_RANK_NOT", "1", 1) == 0);
    list = ctt_comm_environment();
    CU_ASSERT_FATAL(list != NULL);
    for (int k = 0; list[k]; k++) {
        for (size_t i = 0; i < CTT_LEN(theirs); i++) {
            size_t m = strlen(theirs[i]);

            CU_ASSERT(strncmp(list[k], theirs[i], m) != 0 || list[k][m] != '=');
        }
        kept++;
    }
    CU_ASSERT_EQUAL(kept, n + 1);
    ctt_free(list);
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "parts are neighbours", parts_are_neighbours },
        { "parts are all", parts_are_all },
        { "null is one rank", null_is_one_rank },
        { "others are alone", others_are_alone },
        CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = {
        { "cores", NULL, NULL, NULL, NULL, tests }, CU_SUITE_INFO_NULL
    };

    return ctt_check_main(suites);
}
