/* SPDX-License-Identifier: Apache-2.0
 * host.c: host memory as the memory of the devices "cpu" and "ref". */
#include "device/cpu/cast.h"
#include "device/cpu/cpu.h"
#include "device/cpu/update.h"
#include "base/half.h"
#include "base/limits.h"
#include "net/quant.h"

#include <string.h>

static int host_alloc(struct ctt_dev *d, const char *what, int64_t bytes,
                      void **out)
{
    void *p = ctt_calloc((size_t)bytes, 1);
    int rc = 0;

    (void)d;
    CTT_CHECK(p, CTT_ENOMEM, "%s: %s", what, ctt_errmsg());
    *out = p;
out:
    return rc;
}

static void host_free(struct ctt_dev *d, void *p)
{
    (void)d;
    ctt_free(p);
}

static int64_t host_free_bytes(const struct ctt_dev *d)
{
    (void)d;
    return ctt_memory_left();
}

static int host_fill(struct ctt_dev *d, void *p, int byte, int64_t bytes)
{
    (void)d;
    memset(p, byte, (size_t)bytes);
    return 0;
}

static int host_copy(struct ctt_dev *d, enum ctt_direction way,
                     const void *from, void *to, int64_t bytes)
{
    (void)d;
    (void)way;
    memcpy(to, from, (size_t)bytes);
    return 0;
}

static int host_put(struct ctt_dev *d, const float *from,
                    const struct ctt_tensor *to)
{
    ctt_cast_put(d, from, to);
    return 0;
}

static int host_get(struct ctt_dev *d, const struct ctt_tensor *from, float *to)
{
    ctt_cast_get(d, from, to);
    return 0;
}

static int host_render(struct ctt_dev *d, const struct ctt_shots *s, float *x)
{
    int64_t frame = (int64_t)s->h * s->w * s->c;
    int64_t rows = s->stored / ((int64_t)s->stored_w * s->c);
    float *room = ctt_dev_scratch(d, (size_t)ctt_render_room(s->c, s->stored_w,
                                                             rows) *
                                     sizeof(*room));

    if (!room)
        return CTT_ENOMEM;
    for (int64_t i = 0; i < (int64_t)s->steps * s->n; i++, x += frame) {
        const uint8_t *p = ctt_shots_frame(s, s->block, i);
        struct ctt_render r = ctt_shots_clip(s, s->block, i % s->n);

        if (p)
            ctt_cpu_of(d)->isa->render(&r, p, room, x);
        else
            memset(x, 0, (size_t)frame * sizeof(*x));
    }
    return 0;
}

static int cast(struct ctt_dev *d, const float *from, enum ctt_dtype type,
                void *to, int64_t n)
{
    ctt_cast_to(d, from, type, to, n);
    return 0;
}

static int round8(struct ctt_dev *d, const float *x, int64_t rows,
                  int64_t each, float *y)
{
    PARALLEL(d, 4 * rows * each)
    for (int64_t r = 0; r < rows; r++)
        ctt_quant_floats(x + r * each, 1, each, y + r * each);
    return 0;
}

static int host_sum(struct ctt_dev *d, enum ctt_dtype type, const void *from,
                    void *to, int64_t n)
{
    ctt_cast_sum(d, type, from, to, n);
    return 0;
}

/* Stretch g of a tensor's rows. */
static struct ctt_tensor stretch(const struct ctt_tensor *t, int64_t groups,
                                 int64_t g)
{
    struct ctt_tensor s = *t;

    s.n = ctt_rows(t) / groups;
    s.d = s.h = s.w = 1;
    s.data = (char *)t->data + g * s.n * t->ld * ctt_dtype_size(t->dtype);
    return s;
}

static int group_sums(struct ctt_dev *d, const struct ctt_tensor *x,
                      int64_t groups, double *sums)
{
    (void)d;
    for (int64_t g = 0; g < groups; g++) {
        struct ctt_tensor t = stretch(x, groups, g);

        sums[g] = 0;
        for (int64_t i = 0; i < t.n; i++)
            for (int64_t j = 0; j < t.c; j++)
                sums[g] += (double)ctt_load(t.data, t.dtype, i * t.ld + j);
    }
    return 0;
}

static int group_fill(struct ctt_dev *d, const float *value, int64_t groups,
                      const struct ctt_tensor *y)
{
    (void)d;
    for (int64_t g = 0; g < groups; g++) {
        struct ctt_tensor t = stretch(y, groups, g);

        for (int64_t i = 0; i < t.n; i++)
            for (int64_t j = 0; j < t.c; j++)
                ctt_store(t.data, t.dtype, i * t.ld + j, value[g]);
    }
    return 0;
}

const struct ctt_dev_memory ctt_host_memory = {
    .shared = 1, .alloc = host_alloc, .free = host_free,
    .room = host_free_bytes, .fill = host_fill, .copy = host_copy,
};

const struct ctt_dev_numbers ctt_host_numbers = {
    .put = host_put, .get = host_get,
    .render = host_render, .cast = cast, .round8 = round8,
    .sum = host_sum, .group_sums = group_sums, .group_fill = group_fill,
};

const struct ctt_dev_optimizer ctt_host_optimizer = {
    .constrain = ctt_host_constrain, .update = ctt_host_update,
    .average = ctt_host_average,
};

const struct ctt_dev_order ctt_host_order = { .replay = NULL };
