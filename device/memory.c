/* SPDX-License-Identifier: Apache-2.0
 * memory.c: the functions of memory.h: checks their arguments and calls the
 * device's own. */
#include "device/dev.h"
#include "base/half.h"

/* Refuses types that floats cannot be rounded to. */
static int check_type(enum ctt_dtype type)
{
    int rc = 0;

    CTT_CHECK(ctt_is_float_type(type), CTT_EUNSUP,
              "floats are not rounded to numbers of type %d (%s)", (int)type,
              ctt_dtype_word(type));
out:
    return rc;
}

static const struct ctt_dev_memory *memory_of(const struct ctt_dev *d)
{
    return d->kind->memory;
}

static const struct ctt_dev_numbers *num(const struct ctt_dev *d)
{
    return d->kind->numbers;
}

static const struct ctt_dev_order *order_of(const struct ctt_dev *d)
{
    return d->kind->order;
}

int ctt_dev_alloc(struct ctt_dev *d, const char *what, int64_t bytes,
                  void **out)
{
    int rc = 0;

    CTT_CHECK(bytes >= 0, CTT_EINVAL, "%s: %lld bytes", what,
              (long long)bytes);
    CTT_TRY(memory_of(d)->alloc(d, what, bytes > 0 ? bytes : 1, out));
out:
    return rc;
}

/* Adds the kind and size of a failed transfer to its message. */
static int moved(int rc, const char *what, int64_t bytes)
{
    return rc >= 0 ? rc : ctt_error(rc, "%s of %lld bytes: %s", what,
                                    (long long)bytes, ctt_errmsg());
}

void ctt_dev_free(struct ctt_dev *d, void **p)
{
    if (*p)
        memory_of(d)->free(d, *p);
    *p = NULL;
}

int64_t ctt_dev_room(const struct ctt_dev *d)
{
    return memory_of(d)->room(d);
}

int64_t ctt_dev_size(const struct ctt_dev *d)
{
    const struct ctt_dev_memory *m = memory_of(d);

    return m->size ? m->size(d) : 0;
}

int ctt_dev_shared(const struct ctt_dev *d)
{
    return memory_of(d)->shared;
}

enum ctt_dtype ctt_dev_bytes(const struct ctt_dev *d)
{
    return ctt_dev_shared(d) ? CTT_U8 : CTT_I8;
}

int ctt_dev_fill(struct ctt_dev *d, void *p, int byte, int64_t bytes)
{
    return bytes > 0 ? memory_of(d)->fill(d, p, byte, bytes) : 0;
}

int ctt_dev_clear(struct ctt_dev *d, void *p, int64_t bytes)
{
    return ctt_dev_fill(d, p, 0, bytes);
}

int ctt_dev_copy(struct ctt_dev *d, enum ctt_direction way, const void *from,
                 void *to, int64_t bytes)
{
    static const char *const words[] = {
        [CTT_TO_DEVICE] = "upload", [CTT_TO_HOST] = "download",
        [CTT_WITHIN] = "copy",
    };

    return bytes > 0 ? moved(memory_of(d)->copy(d, way, from, to, bytes),
                             words[way], bytes) : 0;
}

int ctt_dev_show(struct ctt_dev *d, const char *what, const float *x,
                 int64_t n, void **own, const float **where)
{
    int64_t bytes = n * (int64_t)sizeof(*x);
    void *p = NULL;
    int rc = 0;

    if (!ctt_dev_shared(d)) {
        CTT_TRY(ctt_dev_alloc(d, what, bytes, &p));
        CTT_TRY(ctt_dev_copy(d, CTT_TO_DEVICE, x, p, bytes));
        *own = p;
    }
    *where = p ? p : x;
    p = NULL;
out:
    if (p)
        ctt_dev_free(d, &p);
    return rc;
}

int ctt_dev_put(struct ctt_dev *d, const float *from,
                const struct ctt_tensor *to)
{
    int64_t n = ctt_volume(to);
    int rc = check_type(to->dtype);

    return rc >= 0 && n > 0 ? moved(num(d)->put(d, from, to), "upload",
                                    n * ctt_dtype_size(to->dtype)) : rc;
}

int ctt_dev_get(struct ctt_dev *d, const struct ctt_tensor *from, float *to)
{
    int64_t n = ctt_volume(from);

    return n > 0 ? moved(num(d)->get(d, from, to), "download",
                         n * ctt_dtype_size(from->dtype)) : 0;
}

int ctt_dev_cast(struct ctt_dev *d, const float *from, enum ctt_dtype type,
                 void *to, int64_t n)
{
    int rc = check_type(type);

    return rc >= 0 && n > 0 ? num(d)->cast(d, from, type, to, n) : rc;
}

int ctt_dev_round8(struct ctt_dev *d, const float *x, int64_t rows,
                   int64_t each, float *y)
{
    return rows > 0 && each > 0 ? num(d)->round8(d, x, rows, each, y) : 0;
}

int ctt_dev_sum(struct ctt_dev *d, enum ctt_dtype type, const void *from,
                void *to, int64_t n)
{
    int rc = check_type(type);

    return rc >= 0 && n > 0 ? num(d)->sum(d, type, from, to, n) : rc;
}

int ctt_dev_group_sums(struct ctt_dev *d, const struct ctt_tensor *x,
                       int64_t groups, double *sums)
{
    return groups > 0 ? num(d)->group_sums(d, x, groups, sums) : 0;
}

int ctt_dev_group_fill(struct ctt_dev *d, const float *value, int64_t groups,
                       const struct ctt_tensor *y)
{
    int rc = check_type(y->dtype);

    return rc >= 0 && groups > 0 ? num(d)->group_fill(d, value, groups, y)
                                 : rc;
}

int ctt_dev_sync(struct ctt_dev *d)
{
    return memory_of(d)->sync ? memory_of(d)->sync(d) : 0;
}

int ctt_dev_pin(struct ctt_dev *d, void *p, int64_t bytes)
{
    return memory_of(d)->pin && bytes > 0 ? memory_of(d)->pin(d, p, bytes) : 0;
}

void ctt_dev_unpin(struct ctt_dev *d, void *p)
{
    if (memory_of(d)->unpin && p)
        memory_of(d)->unpin(d, p);
}

int ctt_dev_prefetch(struct ctt_dev *d, const float *from, int64_t n)
{
    return memory_of(d)->prefetch ? moved(memory_of(d)->prefetch(d, from, n),
                                          "upload ahead",
                                          n * (int64_t)sizeof(*from)) : 0;
}

int ctt_dev_render(struct ctt_dev *d, const struct ctt_shots *s, float *x)
{
    return moved(num(d)->render(d, s, x), "upload of frames", s->bytes);
}

int ctt_dev_transfer(struct ctt_dev *d, enum ctt_direction way,
                     const void *from, void *to, int64_t bytes, void **place)
{
    if (!memory_of(d)->transfer || bytes <= 0)
        return ctt_dev_copy(d, way, from, to, bytes);
    return moved(memory_of(d)->transfer(d, way, from, to, bytes, place),
                 way == CTT_TO_HOST ? "download" : "upload", bytes);
}

int ctt_dev_transfer_follow(struct ctt_dev *d, void *place)
{
    return place ? memory_of(d)->transfer_follow(d, place) : 0;
}

int ctt_dev_transfer_wait(struct ctt_dev *d, void *place)
{
    return place ? memory_of(d)->transfer_wait(d, place) : 0;
}

void ctt_dev_transfer_drop(struct ctt_dev *d, void **place)
{
    if (*place)
        memory_of(d)->transfer_drop(d, *place);
    *place = NULL;
}

/* A profile and the search for NaN need each call, so nothing is recorded. */
static int records(const struct ctt_dev *d)
{
    return order_of(d)->replay && !ctt_dev_is_timed(d) && !d->blame;
}

int ctt_dev_replay(struct ctt_dev *d, void **place)
{
    return records(d) ? order_of(d)->replay(d, place) : 0;
}

int ctt_dev_recorded(struct ctt_dev *d, void **place, int rc)
{
    return records(d) ? order_of(d)->recorded(d, place, rc) : rc;
}

int ctt_dev_repeat(struct ctt_dev *d, void **place, int (*work)(void *arg),
                   void *arg)
{
    int rc = ctt_dev_replay(d, place);

    if (rc == 0) {
        rc = work(arg);
        rc = ctt_dev_recorded(d, place, rc < 0 ? rc : 0);
        if (rc == 1)
            rc = work(arg);
    }
    return rc < 0 ? rc : 0;
}

void ctt_dev_drop(struct ctt_dev *d, void **place)
{
    if (*place)
        order_of(d)->drop(d, *place);
    *place = NULL;
}

int ctt_dev_stream_count(const struct ctt_dev *d)
{
    return order_of(d)->lane && !ctt_dev_is_timed(d) && !d->blame
           ? d->streams : 1;
}

void ctt_dev_stream(struct ctt_dev *d, int stream)
{
    if (order_of(d)->lane)
        order_of(d)->lane(d, stream);
}

int ctt_dev_wait(struct ctt_dev *d, int stream, int other)
{
    return order_of(d)->wait && stream != other ?
           order_of(d)->wait(d, stream, other) : 0;
}

int ctt_dev_constrain(struct ctt_dev *d, const struct ctt_flat *f,
                      double *square_sum)
{
    return d->kind->optimizer->constrain(d, f, square_sum);
}

int ctt_dev_update(struct ctt_dev *d, const struct ctt_flat *f,
                   const struct ctt_rule *rule)
{
    return d->kind->optimizer->update(d, f, rule);
}

int ctt_dev_average(struct ctt_dev *d, const float *w, float share,
                    float *average, int64_t n)
{
    return n > 0 ? d->kind->optimizer->average(d, w, share, average, n) : 0;
}
