/* SPDX-License-Identifier: Apache-2.0
 * late.c: the list of weights that are read when they are needed, and the
 * memory of those that are. */
#include "net/late.h"
#include "net/op.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

/* data: its floats, or NULL. */
struct ctt_late {
    struct ctt_late_head head;
    struct ctt_lates *all;
    char              title[CTT_WEIGHT_NAME];
    int64_t           rows, floats;
    double           *scale;
    float            *data;
    int               users;
    atomic_int        staying;
    _Atomic(float *)  stays;    /* data, once it has its own size, or NULL */
};

/* idle: 1 if a weight without users may have data. */
struct ctt_lates {
    pthread_mutex_t  lock;
    ctt_late_read   *read;
    void           (*shut)(void *from);
    void            *from;
    int              models, count;
    int64_t          most;    /* floats of the largest */
    atomic_int       idle;
    struct ctt_late  of[];
};

int ctt_lates_new(int count, ctt_late_read *read, void (*shut)(void *from),
                  void *from, struct ctt_lates **out)
{
    struct ctt_lates *l = ctt_calloc(1, sizeof(*l) +
                                     (size_t)count * sizeof(l->of[0]));

    if (!l)
        return CTT_ENOMEM;
    pthread_mutex_init(&l->lock, NULL);
    l->read = read;
    l->shut = shut;
    l->from = from;
    l->models = 1;
    *out = l;
    return 0;
}

int ctt_lates_count(const struct ctt_lates *l)
{
    return l ? l->count : 0;
}

void *ctt_lates_from(const struct ctt_lates *l)
{
    return l->from;
}

/* Models with one list are changed by one thread. */
struct ctt_lates *ctt_lates_share(struct ctt_lates *l)
{
    if (l)
        l->models++;
    return l;
}

void ctt_lates_leave(struct ctt_lates **l)
{
    if (*l && --(*l)->models == 0) {
        for (int i = 0; i < (*l)->count; i++) {
            ctt_free((*l)->of[i].scale);
            ctt_free((*l)->of[i].data);
        }
        (*l)->shut((*l)->from);
        pthread_mutex_destroy(&(*l)->lock);
        ctt_free(*l);
    }
    *l = NULL;
}

struct ctt_late *ctt_late_find(struct ctt_lates *l, const struct ctt_node *n,
                               int k)
{
    char title[CTT_WEIGHT_NAME];

    if (!l || !ctt_is_kernel(n, k))
        return NULL;
    ctt_weight_title(n, k, title);
    for (int i = 0; i < l->count; i++)
        if (strcmp(l->of[i].title, title) == 0 &&
            l->of[i].floats == ctt_volume(&n->w[k]))
            return &l->of[i];
    return NULL;
}

int ctt_late_scale(struct ctt_late *w, const double *scale)
{
    size_t n = (size_t)w->rows;

    w->scale = ctt_calloc(n, sizeof(*scale));
    if (!w->scale)
        return CTT_ENOMEM;
    memcpy(w->scale, scale, n * sizeof(*scale));
    return 0;
}

/* Memory for a weight: of one that nobody has, as new pages take longer than
 * what is read into them; or new, for a weight of any size. */
static int find_room(struct ctt_late *w)
{
    for (int i = 0; i < w->all->count && !w->data; i++) {
        struct ctt_late *o = &w->all->of[i];

        if (!o->data || o->users || o->staying)
            continue;
        w->data = o->data;
        o->data = NULL;
    }
    if (!w->data)
        w->data = ctt_calloc_full((size_t)w->all->most, sizeof(*w->data));
    return w->data ? 0 : CTT_ENOMEM;
}

static int fill_late(struct ctt_late *w)
{
    int rc = 0;

    CTT_TRY(find_room(w));
    CTT_TRY(w->all->read(w->all->from, (int)(w - w->all->of), w->scale,
                         w->data));
out:
    if (rc < 0) {
        ctt_free(w->data);
        w->data = NULL;
    }
    return rc;
}

static int get_late(struct ctt_late *w, const float **out)
{
    int rc = 0;

    pthread_mutex_lock(&w->all->lock);
    if (!w->data)
        CTT_TRY(fill_late(w));
    w->users++;
    *out = w->data;
out:
    pthread_mutex_unlock(&w->all->lock);
    return rc;
}

/* Blocks are for the largest weight; one that stays gets its own size. */
static void settle(struct ctt_late *w)
{
    size_t bytes = (size_t)w->floats * sizeof(*w->data);
    float *own = w->floats < w->all->most ? ctt_calloc(bytes, 1) : NULL;

    if (own) {
        memcpy(own, w->data, bytes);
        ctt_free(w->data);
        w->data = own;
    }
    atomic_store(&w->stays, w->data);
}

static void put_late(struct ctt_late *w)
{
    pthread_mutex_lock(&w->all->lock);
    if (--w->users == 0 && w->staying && !w->stays)
        settle(w);
    w->all->idle = 1;
    pthread_mutex_unlock(&w->all->lock);
}

static void stay_late(struct ctt_late *w)
{
    atomic_store(&w->staying, 1);
}

static const float *stayed_late(const struct ctt_late *w)
{
    return atomic_load(&w->stays);
}

static const struct ctt_late_calls calls = {
    get_late, put_late, stay_late, stayed_late,
};

void ctt_lates_add(struct ctt_lates *l, const char *title,
                   const struct ctt_tensor *shape)
{
    struct ctt_late *w = &l->of[l->count++];

    w->head.calls = &calls;
    strcpy(w->title, title);
    w->all = l;
    w->rows = shape->n;
    w->floats = ctt_volume(shape);
    l->most = w->floats > l->most ? w->floats : l->most;
}

void ctt_lates_tidy(struct ctt_lates *l)
{
    if (!l || !atomic_load(&l->idle))
        return;
    pthread_mutex_lock(&l->lock);
    l->idle = 0;
    for (int i = 0; i < l->count; i++) {
        struct ctt_late *w = &l->of[i];

        if (w->users || w->staying)
            continue;
        ctt_free(w->data);
        w->data = NULL;
    }
    pthread_mutex_unlock(&l->lock);
    ctt_free_pages();
}
