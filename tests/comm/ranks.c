/* SPDX-License-Identifier: Apache-2.0
 * ranks.c: what each rank of test_comm.sh does: tell, trade and messages
 * against what plain loops expect, among all and in parts.  Usage: ranks KIND
 * RANKS, or ranks KIND RANKS abort: then the last rank ends all, which wait for
 * it. */
#include "comm/comm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of a rank; the last ones are more than one piece. */
static const int64_t sizes[] = { 0, 1, 8, 4099, (1 << 24) + 5 };

enum { TURNS = 5 };

static unsigned char byte_of(int from, int to, int64_t i)
{
    return (unsigned char)(i * 31 + i / 251 + from * 7 + to * 101);
}

static void fill(unsigned char *p, int from, int to, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        p[i] = byte_of(from, to, i);
}

/* 0 if they are those of (from, to). */
static int differ(const unsigned char *p, int from, int to, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (p[i] != byte_of(from, to, i))
            return 1;
    return 0;
}

static int try_size(struct ctt_comm *c, int64_t n, unsigned char *a,
                    unsigned char *b)
{
    const struct ctt_comm_place *p = ctt_comm_place(c);
    int wrong = 0, rc;

    fill(a, p->rank, 0, n);
    memset(b, 0xee, (size_t)(p->ranks * n));
    CTT_TRY(ctt_comm_allgather(c, a, n, b));
    for (int r = 0; r < p->ranks; r++)
        wrong += differ(b + r * n, r, 0, n);
    for (int r = 0; r < p->ranks; r++)
        fill(a + r * n, p->rank, r, n);
    memset(b, 0xee, (size_t)(p->ranks * n));
    CTT_TRY(ctt_comm_alltoall(c, a, b, n));
    for (int r = 0; r < p->ranks; r++)
        wrong += differ(b + r * n, r, p->rank, n);
    CTT_CHECK(!wrong, CTT_EINVAL, "%lld bytes: %d rows are wrong",
              (long long)n, wrong);
out:
    return rc;
}

static int try_all(struct ctt_comm *c, int ranks)
{
    size_t room = (size_t)(sizes[CTT_LEN(sizes) - 1] * ranks);
    unsigned char *a = ctt_calloc(room, 1), *b = ctt_calloc(room, 1);
    int rc = 0;

    CTT_TRY(a && b ? 0 : CTT_ENOMEM);
    for (size_t i = 0; i < CTT_LEN(sizes); i++)
        CTT_TRY(try_size(c, sizes[i], a, b));
out:
    ctt_free(a);
    ctt_free(b);
    return rc;
}

/* ---- messages ---- */

/* What rank 0 says to another one in turn t, and hears back one longer. */
static int64_t said(int t, int rank)
{
    return CTT_COMM_UNIT * (t == TURNS - 1 ? 300001 : 1 + t * 7 + rank);
}

static int64_t heard(int t, int rank)
{
    return said(t, rank) + CTT_COMM_UNIT;
}

/* Answers what rank 0 says, turn by turn. */
static int answer(struct ctt_comm *c, unsigned char *in, unsigned char *out)
{
    int me = ctt_comm_place(c)->rank, wrong = 0, from, rc = 0;

    for (int t = 0; t < TURNS; t++) {
        CTT_TRY(ctt_comm_recv(c, 0, in, said(t, me)));
        CTT_TRY(ctt_comm_wait(c, &from));
        wrong += from != 0 || differ(in, t, me, said(t, me));
        fill(out, me, t, heard(t, me));
        CTT_TRY(ctt_comm_send(c, 0, out, heard(t, me)));
    }
    /* `out` stays as it is until rank 0 says that it has it. */
    CTT_TRY(ctt_comm_recv(c, 0, in, CTT_COMM_UNIT));
    CTT_TRY(ctt_comm_wait(c, &from));
    CTT_CHECK(!wrong, CTT_EINVAL, "%d messages of rank 0 are wrong", wrong);
out:
    return rc;
}

/* One turn with a rank. */
static int say(struct ctt_comm *c, int rank, int t, unsigned char *in,
               unsigned char *out)
{
    int64_t n = t < TURNS ? said(t, rank) : CTT_COMM_UNIT;
    int rc = 0;

    if (t < TURNS)
        CTT_TRY(ctt_comm_recv(c, rank, in, heard(t, rank)));
    fill(out, t, rank, n);
    CTT_TRY(ctt_comm_send(c, rank, out, n));
out:
    return rc;
}

/* Each of the others is in a turn of its own, and is told the next one as soon
 * as its answer is there. */
static int ask(struct ctt_comm *c, int ranks, unsigned char *in,
               unsigned char *out, int64_t room)
{
    int turn[64] = { 0 }, wrong = 0, from = 0, rc = 0;

    for (int r = 1; r < ranks; r++)
        CTT_TRY(say(c, r, 0, in + r * room, out + r * room));
    for (int n = 0; n < (ranks - 1) * TURNS; n++) {
        unsigned char *got;

        CTT_TRY(ctt_comm_wait(c, &from));
        CTT_CHECK(from > 0 && from < ranks && turn[from] < TURNS, CTT_EINVAL,
                  "an answer of rank %d", from);
        got = in + from * room;
        wrong += differ(got, from, turn[from], heard(turn[from], from));
        turn[from]++;
        CTT_TRY(say(c, from, turn[from], got, out + from * room));
    }
    CTT_CHECK(!wrong, CTT_EINVAL, "%d answers are wrong", wrong);
out:
    return rc;
}

static int try_messages(struct ctt_comm *c, int ranks)
{
    int rank = ctt_comm_place(c)->rank, rc;
    int64_t room = heard(TURNS - 1, 0);
    size_t all = (size_t)room * (size_t)(rank ? 1 : ranks);
    unsigned char *in = ctt_calloc(all, 1), *out = ctt_calloc(all, 1);
    char one = 0, from[64];

    CTT_TRY(in && out ? 0 : CTT_ENOMEM);
    CTT_TRY(rank ? answer(c, in, out) : ask(c, ranks, in, out, room));
    CTT_TRY(ctt_comm_allgather(c, &one, 1, from));    /* beside messages */
out:
    ctt_free(in);
    ctt_free(out);
    return rc;
}

/* ---- all ---- */

/* All are on the machine of the test. */
static int try_place(const struct ctt_comm_place *p, int ranks)
{
    int rc = 0;

    CTT_CHECK(p->ranks == ranks && p->nears == ranks && p->near == p->rank &&
              p->machine == 0 && p->machines == 1, CTT_EINVAL,
              "rank %d of %d, near %d of %d, machine %d of %d", p->rank,
              p->ranks, p->near, p->nears, p->machine, p->machines);
out:
    return rc;
}

/* Every second rank: the same in a part, with messages under way in the whole;
 * a part of a part; calls are counted in the whole. */
static int try_split(struct ctt_comm *c, int ranks)
{
    const struct ctt_comm_place *p = ctt_comm_place(c);
    struct ctt_comm *part = NULL, *alone = NULL;
    int mine = (ranks - p->rank % 2 + 1) / 2, rc;
    int64_t calls;

    CTT_TRY(ctt_comm_split(c, p->rank % 2, &part));
    CTT_TRY(try_place(ctt_comm_place(part), mine));
    CTT_CHECK(ctt_comm_place(part)->rank == p->rank / 2, CTT_EINVAL,
              "rank %d is rank %d of its part", p->rank,
              ctt_comm_place(part)->rank);
    calls = ctt_comm_calls(c);
    CTT_TRY(try_all(part, mine));
    CTT_CHECK(ctt_comm_calls(c) > calls && ctt_comm_calls(part) ==
              ctt_comm_calls(c), CTT_EINVAL, "calls of a part do not count");
    CTT_TRY(try_messages(part, mine));
    CTT_TRY(ctt_comm_split(part, ctt_comm_place(part)->rank, &alone));
    CTT_TRY(try_place(ctt_comm_place(alone), 1));
    CTT_TRY(try_all(alone, 1));
    CTT_TRY(try_messages(c, ranks));
out:
    if (alone)
        ctt_comm_close(&alone);
    if (part)
        ctt_comm_close(&part);
    return rc;
}

int main(int argc, char **argv)
{
    struct ctt_comm *c = NULL, *second = NULL;
    int ranks, rc = 0;
    char one = 0, all[64];

    if (argc < 3)
        return 2;
    ranks = atoi(argv[2]);
    CTT_TRY(ctt_comm_open(argv[1], &c));
    CTT_TRY(try_place(ctt_comm_place(c), ranks));
    if (argc > 3) {
        if (ctt_comm_place(c)->rank == ranks - 1)
            ctt_comm_abort(c, 1);
        CTT_TRY(ctt_comm_allgather(c, &one, 1, all));
        return 0;
    }
    CTT_TRY(try_all(c, ranks));
    CTT_TRY(try_messages(c, ranks));
    CTT_TRY(try_split(c, ranks));
    if (strcmp(argv[1], "mpi") == 0)
        CTT_CHECK(ctt_comm_open("mpi", &second) == CTT_EINVAL, CTT_EINVAL,
                  "MPI opens twice");
    printf("rank %d\n", ctt_comm_place(c)->rank);
    rc = 0;
out:
    if (rc < 0)
        fprintf(stderr, "ranks: %s\n", ctt_errmsg());
    ctt_comm_close(&c);
    return rc < 0;
}
