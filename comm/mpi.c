/* SPDX-License-Identifier: Apache-2.0
 * mpi.c: the module convtt-mpi.so: ranks that MPI connects, by MPI 3.0.  All
 * its calls come from the thread that opened it (MPI_THREAD_FUNNELED). */
#include "comm/kind.h"
#include "base/clock.h"
#include "base/module.h"

#include <limits.h>
#include <mpi.h>
#include <time.h>

static int world_ranks;

/* Messages between two ranks: of each rank that which goes to it and that which
 * comes from it, or MPI_REQUEST_NULL. */
static MPI_Request *going, *coming;
static MPI_Datatype unit;    /* CTT_COMM_UNIT bytes */

/* A wait looks this long without a break, as the time between two steps of a
 * server is short, and then sleeps between looks: processors may be few. */
#define LOOKS 1e-3
enum { SLEEP = 50000 };    /* nanoseconds */

/* An error of the module's, in MPI's words. */
static int check_mpi(const char *what, int status)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int n, rc = 0;

    if (status != MPI_SUCCESS)
        MPI_Error_string(status, text, &n);
    CTT_CHECK(status == MPI_SUCCESS, CTT_EIO, "%s: %s", what, text);
out:
    return rc;
}

/* Each machine is known by the lowest of its ranks. */
static int place_machine(MPI_Comm near, struct ctt_comm_place *p)
{
    int *first = ctt_calloc((size_t)p->ranks, sizeof(*first));
    int mine = p->rank, rc = 0;

    CTT_TRY(first ? 0 : CTT_ENOMEM);
    CTT_TRY(check_mpi("MPI_Bcast", MPI_Bcast(&mine, 1, MPI_INT, 0, near)));
    CTT_TRY(check_mpi("MPI_Allgather",
                      MPI_Allgather(&mine, 1, MPI_INT, first, 1, MPI_INT,
                                    MPI_COMM_WORLD)));
    for (int r = 0; r < p->ranks; r++) {
        p->machines += first[r] == r;
        p->machine += first[r] == r && r < mine;
    }
out:
    ctt_free(first);
    return rc;
}

static int read_place(struct ctt_comm_place *p)
{
    MPI_Comm near = MPI_COMM_NULL;
    int rc = 0;

    *p = (struct ctt_comm_place){ .ranks = 0 };
    MPI_Comm_rank(MPI_COMM_WORLD, &p->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &p->ranks);
    CTT_TRY(check_mpi("MPI_Comm_split_type",
                      MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED,
                                          p->rank, MPI_INFO_NULL, &near)));
    MPI_Comm_rank(near, &p->near);
    MPI_Comm_size(near, &p->nears);
    CTT_TRY(place_machine(near, p));
out:
    if (near != MPI_COMM_NULL)
        MPI_Comm_free(&near);
    return rc;
}

static void close_messages(void)
{
    ctt_free(going);
    ctt_free(coming);
    going = coming = NULL;
}

static int open_messages(int ranks)
{
    int rc = 0;

    going = ctt_calloc((size_t)ranks, sizeof(MPI_Request));
    coming = ctt_calloc((size_t)ranks, sizeof(MPI_Request));
    CTT_TRY(going && coming ? 0 : CTT_ENOMEM);
    for (int r = 0; r < ranks; r++)
        going[r] = coming[r] = MPI_REQUEST_NULL;
    CTT_TRY(check_mpi("MPI_Type_contiguous",
                      MPI_Type_contiguous(CTT_COMM_UNIT, MPI_BYTE, &unit)));
    CTT_TRY(check_mpi("MPI_Type_commit", MPI_Type_commit(&unit)));
out:
    if (rc < 0)
        close_messages();
    return rc;
}

/* After an error MPI stays open: MPI_Finalize() would wait for the other ranks,
 * which wait for this one.  As it ends without it, the launcher ends all. */
static int open_mpi(struct ctt_comm_place *p)
{
    int was = 0, level = 0, rc = 0;

    MPI_Initialized(&was);
    CTT_CHECK(!was, CTT_EINVAL, "MPI is opened once a process");
    CTT_TRY(check_mpi("MPI_Init_thread",
                      MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED,
                                      &level)));
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CTT_TRY(read_place(p));
    CTT_TRY(open_messages(p->ranks));
    world_ranks = p->ranks;
out:
    return rc;
}

/* `bytes` of a row whose next one begins `stride` bytes on. */
static int row_type(int64_t bytes, int64_t stride, MPI_Datatype *out)
{
    MPI_Datatype plain = MPI_DATATYPE_NULL;
    int rc = 0;

    *out = MPI_DATATYPE_NULL;
    CTT_TRY(check_mpi("MPI_Type_contiguous",
                      MPI_Type_contiguous((int)bytes, MPI_BYTE, &plain)));
    CTT_TRY(check_mpi("MPI_Type_create_resized",
                      MPI_Type_create_resized(plain, 0, (MPI_Aint)stride,
                                              out)));
    CTT_TRY(check_mpi("MPI_Type_commit", MPI_Type_commit(out)));
out:
    if (plain != MPI_DATATYPE_NULL)
        MPI_Type_free(&plain);
    return rc;
}

/* Moves one piece of each row: count of type. */
typedef int move_fn(const char *from, int bytes, int count, MPI_Datatype type,
                    char *to);

static int gather_piece(const char *from, int bytes, int count,
                      MPI_Datatype type, char *to)
{
    return check_mpi("MPI_Allgather",
                     MPI_Allgather(from, bytes, MPI_BYTE, to, count, type,
                                   MPI_COMM_WORLD));
}

static int swap_piece(const char *from, int bytes, int count,
                       MPI_Datatype type, char *to)
{
    (void)bytes;
    return check_mpi("MPI_Alltoall", MPI_Alltoall(from, count, type, to, count,
                                                  type, MPI_COMM_WORLD));
}

/* Rows of one piece have no gaps, and no type of their own. */
static int in_pieces(move_fn *move, const char *from, char *to, int64_t n)
{
    MPI_Datatype row = MPI_DATATYPE_NULL;
    int rc = 0;

    if (n <= CTT_COMM_PIECE)
        return n ? move(from, (int)n, (int)n, MPI_BYTE, to) : 0;
    for (int64_t at = 0; at < n; at += CTT_COMM_PIECE) {
        int bytes = n - at < CTT_COMM_PIECE ? (int)(n - at) : CTT_COMM_PIECE;

        CTT_TRY(row_type(bytes, n, &row));
        CTT_TRY(move(from + at, bytes, 1, row, to + at));
        MPI_Type_free(&row);
    }
out:
    if (row != MPI_DATATYPE_NULL)
        MPI_Type_free(&row);
    return rc;
}

static int allgather(const void *mine, int64_t n, void *all)
{
    return in_pieces(gather_piece, mine, all, n);
}

static int alltoall(const void *from, void *to, int64_t each)
{
    return in_pieces(swap_piece, from, to, each);
}

/* A send to a rank that has answered the last one is at its end. */
static int wait_send(MPI_Request *r)
{
    return check_mpi("MPI_Wait", MPI_Wait(r, MPI_STATUS_IGNORE));
}

static int units(int64_t n, int *out)
{
    int rc = 0;

    CTT_CHECK(n % CTT_COMM_UNIT == 0 && n / CTT_COMM_UNIT <= INT_MAX,
              CTT_EINVAL, "a message of %lld bytes", (long long)n);
    *out = (int)(n / CTT_COMM_UNIT);
out:
    return rc;
}

static int send_to(int to, const void *p, int64_t n)
{
    int count = 0, rc;

    CTT_TRY(units(n, &count));
    CTT_TRY(wait_send(&going[to]));
    CTT_TRY(check_mpi("MPI_Isend", MPI_Isend(p, count, unit, to, 0,
                                             MPI_COMM_WORLD, &going[to])));
out:
    return rc;
}

static int recv_from(int from, void *p, int64_t n)
{
    int count = 0, rc;

    CTT_TRY(units(n, &count));
    CTT_TRY(check_mpi("MPI_Irecv", MPI_Irecv(p, count, unit, from, 0,
                                             MPI_COMM_WORLD, &coming[from])));
out:
    return rc;
}

/* Sets *there if a message has come, looking first behind the rank that was
 * served last, so that no rank is left waiting.  Returns the number of messages
 * that are expected. */
static int look_round(int *from, int *there)
{
    static int last;
    int waits = 0, rc = 0;

    for (int i = 1; i <= world_ranks && !*there; i++) {
        int r = (last + i) % world_ranks;

        if (coming[r] == MPI_REQUEST_NULL)
            continue;
        waits++;
        CTT_TRY(check_mpi("MPI_Test", MPI_Test(&coming[r], there,
                                               MPI_STATUS_IGNORE)));
        if (*there)
            last = *from = r;
    }
    rc = waits;
out:
    return rc;
}

static int wait_any(int *from)
{
    const struct timespec nap = { .tv_nsec = SLEEP };
    double since = ctt_seconds();
    int there = 0, rc = 0;

    while (!there) {
        CTT_TRY(look_round(from, &there));
        CTT_CHECK(rc > 0, CTT_EINVAL, "no message is expected");
        if (!there && ctt_seconds() - since > LOOKS)
            nanosleep(&nap, NULL);
    }
out:
    return rc < 0 ? rc : 0;
}

static void end_all(int status)
{
    if (world_ranks > 1)
        MPI_Abort(MPI_COMM_WORLD, status);
}

static void close_mpi(void)
{
    for (int r = 0; r < world_ranks; r++)
        wait_send(&going[r]);
    MPI_Type_free(&unit);
    close_messages();
    MPI_Finalize();
}

static const struct ctt_comm_kind kind = {
    open_mpi, allgather, alltoall, send_to, recv_from, wait_any, end_all,
    close_mpi,
};

__attribute__((visibility("default")))
const void *ctt_module_mpi(const struct ctt_host *host);

const void *ctt_module_mpi(const struct ctt_host *host)
{
    if (host->version != CTT_MODULE_VERSION)
        return NULL;
    ctt_host_set(host);
    return &kind;
}
