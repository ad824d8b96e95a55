/* SPDX-License-Identifier: Apache-2.0
 * cores.c: the processors of a machine among its ranks. */
#define _GNU_SOURCE
#include "comm/cores.h"
#include "comm/comm.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- an order of processors ---- */

static int by_place(const void *a, const void *b)
{
    const struct ctt_core *x = a, *y = b;

    if (x->node != y->node)
        return x->node < y->node ? -1 : 1;
    if (x->core != y->core)
        return x->core < y->core ? -1 : 1;
    return x->cpu < y->cpu ? -1 : x->cpu > y->cpu;
}

int ctt_cores_cut(struct ctt_core *core, int n, int k, int parts, int *first)
{
    qsort(core, (size_t)n, sizeof(*core), by_place);
    *first = (int)((int64_t)n * k / parts);
    if (n < parts)
        return 0;
    return (int)((int64_t)n * (k + 1) / parts) - *first;
}

/* ---- processors in /sys ---- */

/* The first number in a file of /sys, or a default without the file. */
static int number_of(const char *path, int without)
{
    FILE *f = fopen(path, "re");
    int n;

    if (!f)
        return without;
    if (fscanf(f, "%d", &n) != 1)
        n = without;
    fclose(f);
    return n;
}

/* Whether a list such as 0-3,8 has the number. */
static int lists(FILE *f, int cpu)
{
    int from, to, n;

    while ((n = fscanf(f, "%d-%d", &from, &to)) > 0) {
        if (cpu >= from && cpu <= (n > 1 ? to : from))
            return 1;
        if (getc(f) != ',')
            break;
    }
    return 0;
}

static int node_of(int cpu)
{
    char path[64];
    int has = 0, node = 0;

    for (; !has; node++) {
        FILE *f;

        snprintf(path, sizeof(path), "/sys/devices/system/node/node%d/cpulist",
                 node);
        f = fopen(path, "re");
        if (!f)
            return 0;
        has = lists(f, cpu);
        fclose(f);
    }
    return node - 1;
}

static int list_cores(const cpu_set_t *set, struct ctt_core *core)
{
    char path[96];
    int n = 0;

    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, set))
            continue;
        snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/topology/"
                 "thread_siblings_list", cpu);
        core[n++] = (struct ctt_core){ cpu, node_of(cpu),
                                       number_of(path, cpu) };
    }
    return n;
}

/* ---- among ranks ---- */

/* A rank: its machine, and the processors that it may use. */
struct card { int machine; cpu_set_t set; };

/* The number of ranks with the same card, and of those before this one. */
static int alike(const struct card *card, int ranks, int rank, int *before)
{
    int n = 0;

    *before = 0;
    for (int r = 0; r < ranks; r++)
        if (card[r].machine == card[rank].machine &&
            CPU_EQUAL(&card[r].set, &card[rank].set)) {
            n++;
            *before += r < rank;
        }
    return n;
}

static int bind_to(const struct ctt_core *core, int n)
{
    cpu_set_t set;
    int rc = 0;

    CPU_ZERO(&set);
    for (int i = 0; i < n; i++)
        CPU_SET(core[i].cpu, &set);
    CTT_CHECK(sched_setaffinity(0, sizeof(set), &set) == 0, CTT_EIO,
              "--affinity: %s", strerror(errno));
out:
    return rc;
}

/* k of `parts` that may use this set. */
static int divide(const cpu_set_t *set, int k, int parts, int bind,
                  int *threads)
{
    struct ctt_core *core = ctt_calloc(CPU_SETSIZE, sizeof(*core));
    int first, n, rc = core ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    n = ctt_cores_cut(core, list_cores(set, core), k, parts, &first);
    if (bind && n >= *threads && parts > 1 && n > 0)
        CTT_TRY(bind_to(core + first, n));
    if (!*threads)
        *threads = n > 0 ? n : 1;
out:
    ctt_free(core);
    return rc;
}

int ctt_comm_share(struct ctt_comm *c, int bind, int *threads)
{
    const struct ctt_comm_place *p = ctt_comm_place(c);
    struct card mine, *all = ctt_calloc((size_t)p->ranks, sizeof(*all));
    int parts, before, rc = all ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    memset(&mine, 0, sizeof(mine));
    mine.machine = p->machine;
    if (sched_getaffinity(0, sizeof(mine.set), &mine.set) != 0)
        CPU_ZERO(&mine.set);    /* more than the set holds: nobody is bound */
    CTT_TRY(ctt_comm_allgather(c, &mine, sizeof(mine), all));
    parts = alike(all, p->ranks, p->rank, &before);
    if (p->ranks > 1 && CPU_COUNT(&mine.set))
        CTT_TRY(divide(&mine.set, before, parts, bind, threads));
out:
    ctt_free(all);
    return rc;
}

int ctt_comm_node(void)
{
    cpu_set_t set;
    int node = -1;

    if (sched_getaffinity(0, sizeof(set), &set) != 0)
        return -1;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        int here = CPU_ISSET(cpu, &set) ? node_of(cpu) : node;

        if (node >= 0 && here != node)
            return -1;
        node = here;
    }
    return node;
}
