/* SPDX-License-Identifier: Apache-2.0
 * batch_places.c: which streams of a batch are in the run, and where. */
#include "infer/batch_internal.h"
#include "run/sample.h"

char *ctt_batch_park(const struct ctt_batch *b, int stream)
{
    return b->park + stream * b->bytes;
}

void ctt_batch_leave_place(struct ctt_batch *b, int stream)
{
    if (b->stream[stream].at != CTT_NOWHERE)
        b->who[b->stream[stream].at] = CTT_NOWHERE;
    b->stream[stream].at = CTT_NOWHERE;
    while (b->end > 0 && b->who[b->end - 1] == CTT_NOWHERE)
        b->end--;
}

static int park(struct ctt_batch *b, int stream)
{
    const struct ctt_batch_stream *s = &b->stream[stream];
    int rc = 0;

    if (s->frames > 0 && b->bytes)
        CTT_TRY(ctt_sample_save(b->run, s->at, CTT_WITHIN,
                                ctt_batch_park(b, stream)));
    ctt_batch_leave_place(b, stream);
out:
    return rc;
}

/* Moves the stream to a free place. */
static int seat(struct ctt_batch *b, int stream, int at)
{
    struct ctt_batch_stream *s = &b->stream[stream];
    int rc = 0;

    if (s->frames > 0)
        CTT_TRY(ctt_sample_load(b->run, at, s->frames, CTT_WITHIN,
                                ctt_batch_park(b, stream)));
    else
        CTT_TRY(ctt_sample_clear(b->run, at));
    s->at = at;
    b->who[at] = stream;
    b->end = at < b->end ? b->end : at + 1;
out:
    return rc;
}

/* First free place from `from` on. */
static int free_place(const struct ctt_batch *b, int from)
{
    while (from < b->end && b->who[from] != CTT_NOWHERE)
        from++;
    return from;
}

int ctt_batch_seat_all(struct ctt_batch *b, const void *const *wanted)
{
    int at = 0, rc = 0;

    for (int i = 0; i < b->streams; i++)
        if (wanted[i] && b->stream[i].at == CTT_NOWHERE) {
            at = free_place(b, at);
            CTT_TRY(seat(b, i, at));
        }
out:
    return rc;
}

int ctt_batch_seat_only(struct ctt_batch *b, const void *const *wanted)
{
    int rc = 0;

    for (int p = b->end - 1; p >= 0; p--)
        if (p < b->end && b->who[p] != CTT_NOWHERE && !wanted[b->who[p]])
            CTT_TRY(park(b, b->who[p]));
    CTT_TRY(ctt_batch_seat_all(b, wanted));
    for (int at = free_place(b, 0); at < b->end; at = free_place(b, at)) {
        int last = b->who[b->end - 1];
        CTT_TRY(park(b, last));
        CTT_TRY(seat(b, last, at));
    }
out:
    return rc;
}
