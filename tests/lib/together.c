/* SPDX-License-Identifier: Apache-2.0
 * together.c: parts that are threads, which meet to read each other's memory.
 */
#include "tests/lib/together.h"

#include <pthread.h>
#include <string.h>

struct room {
    pthread_mutex_t lock;
    pthread_cond_t  news;
    int             parts, here, gone;
    int64_t         meetings;
    const char     *mine[TOGETHER_MOST];    /* memory that each shows the
                                               others */
};

struct one {
    struct ctt_group group;
    struct room     *room;
    int            (*f)(void *arg, const struct ctt_group *g);
    void            *arg;
    pthread_t        thread;
    int              rc;
    char             why[256];
};

/* Until all have come. */
static int wait_for_all(struct room *r)
{
    int64_t meeting;
    int rc = 0;

    pthread_mutex_lock(&r->lock);
    meeting = r->meetings;
    if (++r->here == r->parts) {
        r->here = 0;
        r->meetings++;
        pthread_cond_broadcast(&r->news);
    }
    while (r->meetings == meeting && !r->gone)
        pthread_cond_wait(&r->news, &r->lock);
    if (r->meetings == meeting)
        rc = ctt_error(CTT_EIO, "another part has ended");
    pthread_mutex_unlock(&r->lock);
    return rc;
}

static int show(struct one *o, const void *mine)
{
    o->room->mine[o->group.part] = mine;
    return wait_for_all(o->room);
}

static int thread_allgather(void *arg, const void *mine, int64_t n, void *all)
{
    struct one *o = arg;
    int rc;

    CTT_TRY(show(o, mine));
    for (int k = 0; k < o->room->parts; k++)
        memcpy((char *)all + k * n, o->room->mine[k], (size_t)n);
    CTT_TRY(wait_for_all(o->room));
out:
    return rc;
}

static int thread_alltoall(void *arg, const void *from, void *to, int64_t each)
{
    struct one *o = arg;
    int rc;

    CTT_TRY(show(o, from));
    for (int k = 0; k < o->room->parts; k++)
        memcpy((char *)to + k * each, o->room->mine[k] + o->group.part * each,
               (size_t)each);
    CTT_TRY(wait_for_all(o->room));
out:
    return rc;
}

static int thread_swap(void *arg, const struct ctt_swap *s)
{
    struct one *o = arg;
    int rc;

    CTT_TRY(show(o, s));
    for (int k = 0; k < 2; k++) {
        const struct ctt_swap *other;

        if (!s->takes[k])
            continue;
        other = (const void *)o->room->mine[o->group.part + (k ? 1 : -1)];
        CTT_CHECK(other->sends[!k] == s->takes[k], CTT_EINVAL,
                  "a part takes %lld bytes of %lld", (long long)s->takes[k],
                  (long long)other->sends[!k]);
        memcpy(s->from[k], other->to[!k], (size_t)s->takes[k]);
    }
    CTT_TRY(wait_for_all(o->room));
out:
    return rc;
}

static void *part_thread(void *arg)
{
    struct one *o = arg;

    o->rc = o->f(o->arg, &o->group);
    if (o->rc < 0)
        snprintf(o->why, sizeof(o->why), "%s", ctt_errmsg());
    pthread_mutex_lock(&o->room->lock);
    o->room->gone |= o->rc < 0;
    pthread_cond_broadcast(&o->room->news);
    pthread_mutex_unlock(&o->room->lock);
    return NULL;
}

int together_run(int parts, int (*f)(void *arg, const struct ctt_group *g),
                 void *arg)
{
    struct room r = { .lock = PTHREAD_MUTEX_INITIALIZER,
                      .news = PTHREAD_COND_INITIALIZER, .parts = parts };
    struct one one[TOGETHER_MOST];
    int rc = 0;

    for (int k = 0; k < parts; k++) {
        one[k] = (struct one){ .group = { k, parts, &one[k], thread_allgather,
                                          thread_alltoall,
                                          thread_swap },
                               .room = &r, .f = f, .arg = arg };
        if (pthread_create(&one[k].thread, NULL, part_thread, &one[k]) != 0)
            return ctt_error(CTT_EIO, "cannot start a thread");
    }
    for (int k = 0; k < parts; k++)
        pthread_join(one[k].thread, NULL);
    for (int k = 0; k < parts; k++)    /* failures caused by another part,
                                          last */
        if (one[k].rc < 0 && (rc == 0 || strstr(ctt_errmsg(), "has ended")))
            rc = ctt_error(one[k].rc, "part %d: %s", k, one[k].why);
    return rc;
}
