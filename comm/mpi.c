/* SPDX-License-Identifier: Apache-2.0
 * mpi.c: the module convtt-mpi.so: ranks that MPI connects, by MPI 3.0.  All
 * its calls come from the thread that opened it (MPI_THREAD_FUNNELED). */
#include "comm/kind.h"
#include "net/module.h"

#include <mpi.h>

static int world_ranks;

/* An error of the module's, in MPI's words. */
static int check(const char *what, int status)
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
    CTT_TRY(check("MPI_Bcast", MPI_Bcast(&mine, 1, MPI_INT, 0, near)));
    CTT_TRY(check("MPI_Allgather", MPI_Allgather(&mine, 1, MPI_INT, first, 1,
                                                 MPI_INT, MPI_COMM_WORLD)));
    for (int r = 0; r < p->ranks; r++) {
        p->machines += first[r] == r;
        p->machine += first[r] == r && r < mine;
    }
out:
    ctt_free(first);
    return rc;
}

static int place(struct ctt_comm_place *p)
{
    MPI_Comm near = MPI_COMM_NULL;
    int rc = 0;

    *p = (struct ctt_comm_place){ .ranks = 0 };
    MPI_Comm_rank(MPI_COMM_WORLD, &p->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &p->ranks);
    CTT_TRY(check("MPI_Comm_split_type",
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

static int open_mpi(struct ctt_comm_place *p)
{
    int was = 0, level = 0, rc = 0;

    MPI_Initialized(&was);
    CTT_CHECK(!was, CTT_EINVAL, "MPI is opened once a process");
    CTT_TRY(check("MPI_Init_thread",
                  MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level)));
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    rc = place(p);
    world_ranks = p->ranks;
    if (rc < 0)
        MPI_Finalize();
out:
    return rc;
}

/* `bytes` of a row whose next one begins `stride` bytes on. */
static int row_type(int64_t bytes, int64_t stride, MPI_Datatype *out)
{
    MPI_Datatype plain = MPI_DATATYPE_NULL;
    int rc = 0;

    *out = MPI_DATATYPE_NULL;
    CTT_TRY(check("MPI_Type_contiguous",
                  MPI_Type_contiguous((int)bytes, MPI_BYTE, &plain)));
    CTT_TRY(check("MPI_Type_create_resized",
                  MPI_Type_create_resized(plain, 0, (MPI_Aint)stride, out)));
    CTT_TRY(check("MPI_Type_commit", MPI_Type_commit(out)));
out:
    if (plain != MPI_DATATYPE_NULL)
        MPI_Type_free(&plain);
    return rc;
}

/* One piece of each row, of tell or of trade: count of type. */
typedef int move_fn(const char *from, int bytes, int count, MPI_Datatype type,
                    char *to);

static int tell_piece(const char *from, int bytes, int count,
                      MPI_Datatype type, char *to)
{
    return check("MPI_Allgather",
                 MPI_Allgather(from, bytes, MPI_BYTE, to, count, type,
                               MPI_COMM_WORLD));
}

static int trade_piece(const char *from, int bytes, int count,
                       MPI_Datatype type, char *to)
{
    (void)bytes;
    return check("MPI_Alltoall", MPI_Alltoall(from, count, type, to, count,
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

static int tell(const void *mine, int64_t n, void *all)
{
    return in_pieces(tell_piece, mine, all, n);
}

static int trade(const void *from, void *to, int64_t each)
{
    return in_pieces(trade_piece, from, to, each);
}

static void end_all(void)
{
    if (world_ranks > 1)
        MPI_Abort(MPI_COMM_WORLD, 1);
}

static void close_mpi(void)
{
    MPI_Finalize();
}

static const struct ctt_comm_kind kind = {
    open_mpi, tell, trade, end_all, close_mpi,
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
