/* SPDX-License-Identifier: Apache-2.0
 * bench_comm.c: the exchange of gradients alone, without a training (Lin and Wu
 * 2018), in turns with MPI_Allreduce of the same floats:
 *     mpirun -np 2 bench_comm [--runs N] [--squeeze HOW] [FLOATS...]
 * A run lasts from a barrier to the end of the last rank.  MPI adds in an order
 * of its own, so its sum may have other bits with another number of ranks.
 * HOW: as convtt-train has it; each rank has one shard then. */
#include "libtrain/ranks/exchange.h"
#include "libtrain/ranks/gather.h"
#include "base/random.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 1000, WARM = 3, KINDS = 3 };

/* One rank's memory, and the times of the runs. */
struct bench {
    struct ctt_comm    *comm;
    struct ctt_squeeze  how;
    struct ctt_exchange x;
    struct ctt_gather   gather;
    float  *in, *out;
    int64_t floats;
    double  seconds[KINDS][MOST];
    int     runs;
};

/* Timed functions. copy: lower bound of one rank's work, to put its floats into
 * memory that others read and to read the sum. */
static int copy_once(struct bench *b)
{
    size_t bytes = (size_t)(b->floats * b->x.size);

    memcpy(b->x.whole, b->in, bytes);
    memcpy(b->out, b->x.whole, bytes);
    return 0;
}

static int ours(struct bench *b)
{
    if (ctt_squeeze_is_sparse(&b->how)) {
        memcpy(ctt_gather_place(&b->gather, 0), b->in,
               (size_t)b->floats * sizeof(float));
        return ctt_gather_run(&b->gather, (uint64_t)b->gather.batches, 1,
                              b->out);
    }
    return ctt_exchange_run(&b->x);
}

static int mpi(struct bench *b)
{
    int rc = MPI_Allreduce(b->in, b->out, (int)b->floats, MPI_FLOAT, MPI_SUM,
                           MPI_COMM_WORLD);

    return rc == MPI_SUCCESS ? 0 : ctt_error(CTT_EIO, "MPI_Allreduce fails");
}

static int (*const kinds[KINDS])(struct bench *b) = { ours, mpi, copy_once };

static int time_kind(struct bench *b, int kind, double *seconds)
{
    double mine;
    int rc;

    MPI_Barrier(MPI_COMM_WORLD);
    mine = MPI_Wtime();
    rc = kinds[kind](b);
    mine = MPI_Wtime() - mine;
    MPI_Allreduce(&mine, seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return rc;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double quantile(const struct bench *b, int kind, double share)
{
    return 1e3 * b->seconds[kind][(int)(share * (b->runs - 1) + 0.5)];
}

/* Bytes that a rank sends. */
static double sent(const struct bench *b)
{
    double all = 2 * (double)b->floats * (double)b->x.size;

    if (ctt_squeeze_is_sparse(&b->how))
        all *= ctt_gather_share(&b->gather);
    return all * (b->x.ranks - 1) / b->x.ranks;
}

static void print_row(const struct bench *b)
{
    printf("| %lld | %d | %.3f, %.3f | %.3f, %.3f | %.2f | %.2f | %.3f "
           "| %.1f |\n", (long long)b->floats, b->x.ranks, quantile(b, 0, 0.5),
           quantile(b, 0, 0.99), quantile(b, 1, 0.5), quantile(b, 1, 0.99),
           quantile(b, 0, 0.5) / quantile(b, 1, 0.5),
           quantile(b, 0, 0.5) / quantile(b, 2, 0.5),
           1e-6 * sent(b), 1e-6 * sent(b) / quantile(b, 0, 0.5));
}

static int measure_size(struct bench *b)
{
    int rc = 0;

    for (int i = -WARM; i < b->runs; i++)
        for (int k = 0; k < KINDS; k++)
            CTT_TRY(time_kind(b, k, &b->seconds[k][i < 0 ? 0 : i]));
    for (int k = 0; k < KINDS; k++)
        qsort(b->seconds[k], (size_t)b->runs, sizeof(double), by_value);
    if (ctt_comm_place(b->comm)->rank == 0)
        print_row(b);
out:
    return rc;
}

/* All memory is written, so that none is the system's page of zeros.  Sums stay
 * 0, but sparse gradients need numbers. */
static void fill_input(struct bench *b)
{
    memset(b->x.whole, 0, (size_t)(b->floats * b->x.size));
    for (int64_t i = 0; i < b->floats; i++)
        b->in[i] = b->gather.n ? (float)ctt_random(1, (uint64_t)i) -
                                 2147483648.f : 0;
}

static int open_size(struct bench *b, int64_t floats)
{
    int rc;

    b->floats = floats;
    CTT_TRY(ctt_exchange_open(b->comm, ctt_join_of(b->how.type), floats,
                              &b->x));
    if (ctt_squeeze_is_sparse(&b->how))
        CTT_TRY(ctt_gather_open(b->comm, &b->how, b->x.ranks, floats,
                                &b->gather));
    b->in = ctt_calloc((size_t)floats, sizeof(float));
    b->out = ctt_calloc((size_t)floats, sizeof(float));
    CTT_TRY(b->in && b->out ? 0 : CTT_ENOMEM);
    fill_input(b);
    CTT_TRY(measure_size(b));
out:
    ctt_exchange_close(&b->x);
    ctt_gather_close(&b->gather);
    ctt_free(b->in);
    ctt_free(b->out);
    b->in = b->out = NULL;
    return rc;
}

/* From the demo's small weights to all of early-convttlstm and ResNet-18. */
static const char *const sizes[] = { "1024", "65536", "562316", "2690000",
                                     "11690000", NULL };

static int all(struct bench *b, const char *const *list)
{
    int rc = 0;

    if (ctt_comm_place(b->comm)->rank == 0)
        printf("| floats | ranks | ours: median, p99 ms | MPI_Allreduce | ours "
               "/ MPI | ours / copy | MB a rank | GB/s |\n"
               "|---|---|---|---|---|---|---|---|\n");
    for (; *list; list++) {
        int64_t n = strtoll(*list, NULL, 10);

        CTT_CHECK(n > 0 && n < 1 << 30, CTT_EINVAL, "%s: not 1 to %d floats",
                  *list, (1 << 30) - 1);
        CTT_TRY(open_size(b, n));
    }
out:
    return rc;
}

/* Reads options, each with a value; *list: the following arguments. */
static int options(const char *const **list, struct bench *b)
{
    const char *const *p = *list;
    int rc = 0;

    b->runs = 100;
    for (; p[0] && p[1] && strncmp(p[0], "--", 2) == 0; p += 2)
        if (strcmp(p[0], "--runs") == 0)
            b->runs = atoi(p[1]);
        else if (strcmp(p[0], "--squeeze") == 0)
            CTT_TRY(ctt_squeeze_parse(p[1], &b->how));
        else
            break;
    CTT_CHECK(b->runs > 0 && b->runs <= MOST, CTT_EINVAL, "--runs: 1 to %d",
              MOST);
    *list = p;
out:
    return rc;
}

static int open_comm(char **argv, struct bench *b)
{
    const char *const *list = (const char *const *)argv + 1;
    int rc;

    CTT_TRY(options(&list, b));
    CTT_TRY(ctt_comm_open("mpi", &b->comm));
    CTT_CHECK(ctt_comm_place(b->comm)->ranks > 1, CTT_EINVAL,
              "one rank exchanges nothing: mpirun -np 2 bench_comm");
    CTT_TRY(all(b, *list ? list : sizes));
out:
    return rc;
}

int main(int argc, char **argv)
{
    static struct bench b;
    int rc = open_comm(argv, &b);

    (void)argc;
    if (rc < 0)
        fprintf(stderr, "bench_comm: %s\n", ctt_errmsg());
    if (rc < 0 && b.comm)
        ctt_comm_abort(b.comm, 1);
    ctt_comm_close(&b.comm);
    return rc < 0;
}
