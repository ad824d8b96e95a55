/* SPDX-License-Identifier: Apache-2.0
 * mpi.c: the module convtt-mpi.so: ranks that MPI connects, by MPI 3.0.  All
 * its calls come from the thread that opened it (MPI_THREAD_FUNNELED). */
#include "comm/kind.h"
#include "base/clock.h"
#include "base/module.h"

#include <limits.h>
#include <mpi.h>
#include <time.h>

/* Messages between two ranks: of each rank that which goes to it and that which
 * comes from it, or MPI_REQUEST_NULL; last: the rank that was served last. */
struct mpi_ranks {
    MPI_Comm     comm;
    int          ranks, last;
    MPI_Request *going, *coming;
};

static int world_ranks;
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
static int place_machine(MPI_Comm all, MPI_Comm near,
                         struct ctt_comm_place *p)
{
    int *first = ctt_calloc((size_t)p->ranks, sizeof(*first));
    int mine = p->rank, rc = 0;

    CTT_TRY(first ? 0 : CTT_ENOMEM);
    CTT_TRY(check_mpi("MPI_Bcast", MPI_Bcast(&mine, 1, MPI_INT, 0, near)));
    CTT_TRY(check_mpi("MPI_Allgather",
                      MPI_Allgather(&mine, 1, MPI_INT, first, 1, MPI_INT,
                                    all)));
    for (int r = 0; r < p->ranks; r++) {
        p->machines += first[r] == r;
        p->machine += first[r] == r && r < mine;
    }
out:
    ctt_free(first);
    return rc;
}

static int read_place(MPI_Comm all, struct ctt_comm_place *p)
{
    MPI_Comm near = MPI_COMM_NULL;
    int rc = 0;

    *p = (struct ctt_comm_place){ .ranks = 0 };
    MPI_Comm_rank(all, &p->rank);
    MPI_Comm_size(all, &p->ranks);
    CTT_TRY(check_mpi("MPI_Comm_split_type",
                      MPI_Comm_split_type(all, MPI_COMM_TYPE_SHARED, p->rank,
                                          MPI_INFO_NULL, &near)));
    MPI_Comm_rank(near, &p->near);
    MPI_Comm_size(near, &p->nears);
    CTT_TRY(place_machine(all, near, p));
out:
    if (near != MPI_COMM_NULL)
        MPI_Comm_free(&near);
    return rc;
}

static void close_ranks(struct mpi_ranks *m)
{
    ctt_free(m->going);
    ctt_free(m->coming);
    ctt_free(m);
}

static int open_ranks(MPI_Comm comm, void **on, struct ctt_comm_place *p)
{
    struct mpi_ranks *m = ctt_calloc(1, sizeof(*m));
    int rc;

    CTT_TRY(read_place(comm, p));
    CTT_TRY(m ? 0 : CTT_ENOMEM);
    m->comm = comm;
    m->ranks = p->ranks;
    m->going = ctt_calloc((size_t)p->ranks, sizeof(MPI_Request));
    m->coming = ctt_calloc((size_t)p->ranks, sizeof(MPI_Request));
    CTT_TRY(m->going && m->coming ? 0 : CTT_ENOMEM);
    for (int r = 0; r < p->ranks; r++)
        m->going[r] = m->coming[r] = MPI_REQUEST_NULL;
    *on = m;
    return 0;
out:
    if (m)
        close_ranks(m);
    return rc;
}

/* After an error MPI stays open: MPI_Finalize() would wait for the other ranks,
 * which wait for this one.  As it ends without it, the launcher ends all. */
static int open_mpi(void **on, struct ctt_comm_place *p)
{
    int was = 0, level = 0, rc = 0;

    MPI_Initialized(&was);
    CTT_CHECK(!was, CTT_EINVAL, "MPI is opened once a process");
    CTT_TRY(check_mpi("MPI_Init_thread",
                      MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED,
                                      &level)));
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CTT_TRY(check_mpi("MPI_Type_contiguous",
                      MPI_Type_contiguous(CTT_COMM_UNIT, MPI_BYTE, &unit)));
    CTT_TRY(check_mpi("MPI_Type_commit", MPI_Type_commit(&unit)));
    CTT_TRY(open_ranks(MPI_COMM_WORLD, on, p));
    world_ranks = p->ranks;
out:
    return rc;
}

static int split_mpi(void *on, int colour, void **part,
                     struct ctt_comm_place *p)
{
    const struct mpi_ranks *m = on;
    MPI_Comm comm = MPI_COMM_NULL;
    int rc;

    CTT_TRY(check_mpi("MPI_Comm_split",
                      MPI_Comm_split(m->comm, colour, 0, &comm)));
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    CTT_TRY(open_ranks(comm, part, p));
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
typedef int move_fn(const struct mpi_ranks *m, const char *from, int bytes,
                    int count, MPI_Datatype type, char *to);

static int gather_piece(const struct mpi_ranks *m, const char *from, int bytes,
                        int count, MPI_Datatype type, char *to)
{
    return check_mpi("MPI_Allgather",
                     MPI_Allgather(from, bytes, MPI_BYTE, to, count, type,
                                   m->comm));
}

static int swap_piece(const struct mpi_ranks *m, const char *from, int bytes,
                      int count, MPI_Datatype type, char *to)
{
    (void)bytes;
    return check_mpi("MPI_Alltoall", MPI_Alltoall(from, count, type, to, count,
                                                  type, m->comm));
}

/* Rows of one piece have no gaps, and no type of their own. */
static int in_pieces(move_fn *move, const struct mpi_ranks *m,
                     const char *from, char *to, int64_t n)
{
    MPI_Datatype row = MPI_DATATYPE_NULL;
    int rc = 0;

    if (n <= CTT_COMM_PIECE)
        return n ? move(m, from, (int)n, (int)n, MPI_BYTE, to) : 0;
    for (int64_t at = 0; at < n; at += CTT_COMM_PIECE) {
        int bytes = n - at < CTT_COMM_PIECE ? (int)(n - at) : CTT_COMM_PIECE;

        CTT_TRY(row_type(bytes, n, &row));
        CTT_TRY(move(m, from + at, bytes, 1, row, to + at));
        MPI_Type_free(&row);
    }
out:
    if (row != MPI_DATATYPE_NULL)
        MPI_Type_free(&row);
    return rc;
}

static int allgather(void *on, const void *mine, int64_t n, void *all)
{
    return in_pieces(gather_piece, on, mine, all, n);
}

static int alltoall(void *on, const void *from, void *to, int64_t each)
{
    return in_pieces(swap_piece, on, from, to, each);
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

static int send_to(void *on, int to, const void *p, int64_t n)
{
    struct mpi_ranks *m = on;
    int count = 0, rc;

    CTT_TRY(units(n, &count));
    CTT_TRY(wait_send(&m->going[to]));
    CTT_TRY(check_mpi("MPI_Isend", MPI_Isend(p, count, unit, to, 0,
                                             m->comm, &m->going[to])));
out:
    return rc;
}

static int recv_from(void *on, int from, void *p, int64_t n)
{
    struct mpi_ranks *m = on;
    int count = 0, rc;

    CTT_TRY(units(n, &count));
    CTT_TRY(check_mpi("MPI_Irecv", MPI_Irecv(p, count, unit, from, 0,
                                             m->comm, &m->coming[from])));
out:
    return rc;
}

/* Sets *there if a message has come, looking first behind the rank that was
 * served last, so that no rank is left waiting.  Returns the number of messages
 * that are expected. */
static int look_round(struct mpi_ranks *m, int *from, int *there)
{
    int waits = 0, rc = 0;

    for (int i = 1; i <= m->ranks && !*there; i++) {
        int r = (m->last + i) % m->ranks;

        if (m->coming[r] == MPI_REQUEST_NULL)
            continue;
        waits++;
        CTT_TRY(check_mpi("MPI_Test", MPI_Test(&m->coming[r], there,
                                               MPI_STATUS_IGNORE)));
        if (*there)
            m->last = *from = r;
    }
    rc = waits;
out:
    return rc;
}

static int wait_any(void *on, int *from)
{
    const struct timespec nap = { .tv_nsec = SLEEP };
    double since = ctt_seconds();
    int there = 0, rc = 0;

    while (!there) {
        CTT_TRY(look_round(on, from, &there));
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

/* A part is also closed after an error, when nobody may take what is under way;
 * what has been taken needs no wait. */
static void close_mpi(void *on)
{
    struct mpi_ranks *m = on;
    int world = m->comm == MPI_COMM_WORLD;

    for (int r = 0; r < m->ranks; r++)
        if (world)
            wait_send(&m->going[r]);
        else if (m->going[r] != MPI_REQUEST_NULL)
            MPI_Request_free(&m->going[r]);
    if (world)
        MPI_Type_free(&unit);
    else
        MPI_Comm_free(&m->comm);
    close_ranks(m);
    if (world)
        MPI_Finalize();
}

static const struct ctt_comm_kind kind = {
    open_mpi, split_mpi, allgather, alltoall, send_to, recv_from, wait_any,
    end_all, close_mpi,
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
