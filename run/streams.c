/* SPDX-License-Identifier: Apache-2.0
 * streams.c: assigns each call to the stream that computed one of its inputs
 * last (list scheduling by data dependence). */
#include "run/streams.h"

#include <string.h>

/* The last calls that touched a memory: their tickets; 0: none. */
struct ctt_streams_memory {
    int  writer;                        /* stream */
    long written;
    long read[CTT_STREAMS_MOST];          /* by each stream since then */
};

int ctt_streams_new(int memories, struct ctt_streams **out)
{
    struct ctt_streams *l = ctt_calloc(1, sizeof(*l));
    int rc = l ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    l->memories = memories;
    l->memory = ctt_calloc((size_t)memories + 1, sizeof(*l->memory));
    CTT_TRY(l->memory ? 0 : CTT_ENOMEM);
    *out = l;
    l = NULL;
out:
    ctt_streams_free(&l);
    return rc;
}

void ctt_streams_free(struct ctt_streams **l)
{
    if (!*l)
        return;
    ctt_free((*l)->memory);
    ctt_free(*l);
    *l = NULL;
}

int ctt_streams_begin(struct ctt_streams *l, struct ctt_dev *d)
{
    int rc = 0;

    ctt_dev_in_a_row(d, 1);
    l->streams = ctt_dev_stream_count(d);
    if (l->streams > CTT_STREAMS_MOST)
        l->streams = CTT_STREAMS_MOST;
    if (l->streams < 2)
        goto out;
    l->ticket = 0;
    memset(l->last, 0, sizeof(l->last));
    memset(l->seen, 0, sizeof(l->seen));
    memset(l->memory, 0, (size_t)l->memories * sizeof(*l->memory));
    for (int k = 1; k < l->streams; k++)
        CTT_TRY(ctt_dev_wait(d, k, 0));
out:
    return rc;
}

/* The stream whose last call wrote a memory that this call touches, so that no
 * wait is needed; otherwise the one that has been idle longest. */
static int choose_stream(const struct ctt_streams *l, const struct ctt_touch *t)
{
    int best = 0;

    for (int i = 0; i < t->count; i++) {
        const struct ctt_streams_memory *m = &l->memory[t->at[i].memory];
        if (m->written && m->written == l->last[m->writer])
            return m->writer;
    }
    for (int k = 1; k < l->streams; k++)
        if (l->last[k] < l->last[best])
            best = k;
    return best;
}

/* Makes a stream wait for the call of that ticket in another stream, unless it
 * has waited for that call already. */
static int wait_for_call(struct ctt_streams *l, struct ctt_dev *d, int stream,
                         int other, long ticket)
{
    int rc = 0;

    if (stream == other || l->seen[stream][other] >= ticket)
        goto out;
    CTT_TRY(ctt_dev_wait(d, stream, other));
    l->seen[stream][other] = l->last[other];
out:
    return rc;
}

static int wait_for_users(struct ctt_streams *l, struct ctt_dev *d, int stream,
                          const struct ctt_streams_memory *m, int writes)
{
    int rc = 0;

    CTT_TRY(wait_for_call(l, d, stream, m->writer, m->written));
    for (int k = 0; k < l->streams && writes; k++)
        CTT_TRY(wait_for_call(l, d, stream, k, m->read[k]));
out:
    return rc;
}

static void note_call(struct ctt_streams *l, int stream,
                      const struct ctt_touch *t)
{
    l->last[stream] = ++l->ticket;
    for (int i = 0; i < t->count; i++) {
        struct ctt_streams_memory *m = &l->memory[t->at[i].memory];

        if (!t->at[i].writes) {
            m->read[stream] = l->ticket;
            continue;
        }
        memset(m->read, 0, sizeof(m->read));
        m->writer = stream;
        m->written = l->ticket;
    }
}

int ctt_streams_call(struct ctt_streams *l, struct ctt_dev *d,
                     const struct ctt_touch *t)
{
    int stream, rc = 0;

    if (l->streams < 2)
        goto out;
    stream = choose_stream(l, t);
    for (int i = 0; i < t->count; i++)
        CTT_TRY(wait_for_users(l, d, stream, &l->memory[t->at[i].memory],
                               t->at[i].writes));
    note_call(l, stream, t);
    ctt_dev_stream(d, stream);
out:
    return rc;
}

int ctt_streams_end(struct ctt_streams *l, struct ctt_dev *d, int rc)
{
    int bad = 0;

    ctt_dev_in_a_row(d, 0);
    if (l->streams < 2)
        return rc;
    ctt_dev_stream(d, 0);
    for (int k = 1; k < l->streams && bad >= 0; k++)
        bad = ctt_dev_wait(d, 0, k);
    l->streams = 0;
    return rc < 0 ? rc : bad;
}
