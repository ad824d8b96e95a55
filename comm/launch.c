/* SPDX-License-Identifier: Apache-2.0
 * launch.c: which launcher started this process, by its variables. */
#include "comm/kind.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* The first whose variable is set counts: Open MPI's mpirun sets PMIX_RANK too,
 * and within a job of Slurm its variables are set as well. */
static const struct {
    const char *ranks, *rank;
} launchers[] = {
    { "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK" },    /* Open MPI */
    { "PMI_SIZE", "PMI_RANK" },                            /* MPICH */
    { "SLURM_STEP_NUM_TASKS", "SLURM_PROCID" },            /* srun */
    { NULL, "PMIX_RANK" },                                 /* any PMIx */
};

extern char **environ;

/* 1 if a text of the environment sets the variable. */
static int sets(const char *text, const char *name)
{
    size_t n = name ? strlen(name) : 0;

    return n && strncmp(text, name, n) == 0 && text[n] == '=';
}

char **ctt_comm_environment(void)
{
    size_t n = 0, kept = 0;
    char **list;

    while (environ && environ[n])
        n++;
    list = ctt_calloc(n + 2, sizeof(*list));
    for (size_t k = 0; list && k < n; k++) {
        int theirs = 0;

        for (size_t i = 0; i < CTT_LEN(launchers); i++)
            theirs |= sets(environ[k], launchers[i].ranks) ||
                      sets(environ[k], launchers[i].rank);
        if (!theirs)
            list[kept++] = environ[k];
    }
    return list;
}

/* Leaves *out as it is where the variable is not set. */
static int read_variable(const char *name, int least, int *out)
{
    const char *text = name ? getenv(name) : NULL;
    char *end;
    long n;
    int rc = 0;

    if (!text)
        goto out;
    errno = 0;
    n = strtol(text, &end, 10);
    CTT_CHECK(end != text && !*end && !errno && n >= least && n <= INT_MAX,
              CTT_EINVAL, "%s: '%.32s' is no number from %d", name, text,
              least);
    *out = (int)n;
out:
    return rc;
}

int ctt_launch_find(struct ctt_launch *l)
{
    size_t i = 0;
    int rc = 0;

    *l = (struct ctt_launch){ .rank = -1 };
    for (; i < CTT_LEN(launchers) && !l->name; i++) {
        const char *name = launchers[i].ranks;

        if (!name)
            name = launchers[i].rank;
        if (!getenv(name))
            continue;
        l->name = name;
        CTT_TRY(read_variable(launchers[i].ranks, 1, &l->ranks));
        CTT_TRY(read_variable(launchers[i].rank, 0, &l->rank));
    }
out:
    return rc;
}

int ctt_launch_check(const struct ctt_launch *l, const struct ctt_comm_place *p)
{
    int rc = 0;

    CTT_CHECK(!l->ranks || l->ranks == p->ranks, CTT_EUNSUP,
              "%s: the launcher started %d processes, but the MPI of "
              "convtt-mpi.so sees %d: it is not the launcher's", l->name,
              l->ranks, p->ranks);
    CTT_CHECK(l->rank < 0 || l->rank == p->rank, CTT_EUNSUP,
              "%s: this is process %d of the launcher, but rank %d of the MPI "
              "of convtt-mpi.so: it is not the launcher's", l->name, l->rank,
              p->rank);
out:
    return rc;
}
