/* SPDX-License-Identifier: Apache-2.0
 * rank.c: a library that is preloaded into one of several processes.  There
 * CTT_RANK_FAULT=KIND:K makes one message fail, kills the process in a step or
 * when it has written a checkpoint, or changes the sum of gradients that it
 * gets; the file "struck" then appears.  "hurry" makes its clock run so fast
 * that each step is worth a line of progress; "cpu" makes it another processor.
 * Where there is no K-th one, it says so when the program ends. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

/* FAIL counts messages, SAVE checkpoints; the other kinds before HURRY count
 * exchanges of gradients, one per step (libtrain/ranks/exchange.c). */
enum kind { NONE, FAIL, KILL, KILL_AFTER, SPOIL, SAVE, HURRY, CPU, KINDS };

static const char *const names[] = {
    [FAIL] = "fail", [KILL] = "kill", [KILL_AFTER] = "kill-after",
    [SPOIL] = "spoil", [SAVE] = "save", [HURRY] = "hurry", [CPU] = "cpu",
};
static enum kind kind;
static long at, messages, exchanges, saves;
static int spoils;    /* the sum of this exchange is still to come */

__attribute__((constructor)) static void read_fault(void)
{
    const char *text = getenv("CTT_RANK_FAULT");
    char word[16];

    if (!text)
        return;
    if (sscanf(text, "%15[a-z-]:%ld", word, &at) != 2)
        _exit(99);
    for (kind = FAIL; kind < KINDS && strcmp(names[kind], word) != 0; kind++)
        ;
    if (kind == KINDS)
        _exit(99);
}

static long count_of(enum kind k)
{
    return k == FAIL ? messages : k == SAVE ? saves : exchanges;
}

__attribute__((destructor)) static void report_unreached(void)
{
    if (kind && kind < HURRY && at > count_of(kind))
        fprintf(stderr, "not reached: %ld messages, %ld exchanges\n", messages,
                exchanges);
}

static int strikes(enum kind when)
{
    if (kind != when || count_of(when) != at)
        return 0;
    close(creat("struck", 0666));
    return 1;
}

static int message_fails(void)
{
    messages++;
    return strikes(FAIL);
}

static void kill_if(enum kind when)
{
    if (strikes(when))
        raise(SIGKILL);
}

int MPI_Alltoall(const void *from, int n, MPI_Datatype type, void *to, int m,
                 MPI_Datatype into, MPI_Comm comm)
{
    int rc;

    exchanges++;
    kill_if(KILL);
    if (message_fails())
        return MPI_ERR_OTHER;
    rc = PMPI_Alltoall(from, n, type, to, m, into, comm);
    kill_if(KILL_AFTER);
    spoils = strikes(SPOIL);
    return rc;
}

int MPI_Allgather(const void *from, int n, MPI_Datatype type, void *to, int m,
                  MPI_Datatype into, MPI_Comm comm)
{
    int rc;

    if (message_fails())
        return MPI_ERR_OTHER;
    rc = PMPI_Allgather(from, n, type, to, m, into, comm);
    if (spoils)
        ((unsigned char *)to)[3] ^= 0x80;    /* the sign of the first */
    spoils = 0;
    return rc;
}

int MPI_Bcast(void *p, int n, MPI_Datatype type, int root, MPI_Comm comm)
{
    return message_fails() ? MPI_ERR_OTHER : PMPI_Bcast(p, n, type, root, comm);
}

int MPI_Isend(const void *p, int n, MPI_Datatype type, int to, int tag,
              MPI_Comm comm, MPI_Request *r)
{
    return message_fails() ? MPI_ERR_OTHER : PMPI_Isend(p, n, type, to, tag,
                                                        comm, r);
}

int MPI_Irecv(void *p, int n, MPI_Datatype type, int from, int tag,
              MPI_Comm comm, MPI_Request *r)
{
    return message_fails() ? MPI_ERR_OTHER : PMPI_Irecv(p, n, type, from, tag,
                                                        comm, r);
}

int rename(const char *from, const char *to)
{
    size_t n = strlen(to);
    int rc = renameat(AT_FDCWD, from, AT_FDCWD, to);

    if (n > 5 && strcmp(to + n - 5, ".ckpt") == 0)
        saves++;
    kill_if(SAVE);
    return rc;
}

int clock_gettime(clockid_t id, struct timespec *t)
{
    int rc = (int)syscall(SYS_clock_gettime, id, t);

    if (rc == 0 && kind == HURRY && id == CLOCK_MONOTONIC)
        t->tv_sec = t->tv_sec % 100000 * at + t->tv_nsec / (1000000000 / at);
    return rc;
}

int uname(struct utsname *u)
{
    int rc = (int)syscall(SYS_uname, u);

    if (kind == CPU)
        u->machine[0] = '?';
    return rc;
}
