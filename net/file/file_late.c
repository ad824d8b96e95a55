/* SPDX-License-Identifier: Apache-2.0
 * file_late.c: the weights of a model file that are read when they are needed:
 * where they lie, and how they become floats. */
#include "net/file/store.h"
#include "net/code/code.h"
#include "net/code/zip.h"
#include "net/file/h5.h"
#include "net/late.h"
#include "net/op.h"
#include "base/newfile.h"

#include <inttypes.h>
#include <unistd.h>

/* Floats of the smallest weight that stays in the file. */
static int64_t least = INT64_C(1) << 14;

struct from {
    char *path;
    int   fd, count;
    struct place {
        struct ctt_entry  e;
        struct ctt_tensor shape;
        int64_t           at;
        int               plain;    /* floats as they are in memory */
    } of[];
};

int64_t ctt_late_least(int64_t floats)
{
    int64_t old = least;

    least = floats;
    return old;
}

int ctt_store_decode(const char *path, const struct ctt_entry *e,
                     const uint8_t *in, const struct ctt_tensor *shape,
                     float *to)
{
    const struct ctt_coding how = { e->s.positions, e->s.values, e->s.bytes };
    const struct ctt_decoded out = { to, NULL, NULL };
    int rc = ctt_decode(&how, in, e->s.size, shape, e->s.kept, &out);

    if (rc < 0)
        rc = ctt_error(rc, "%s: weight '%s': %s", path, e->s.name,
                       ctt_errmsg());
    return rc;
}

/* Some rows, output channels, of a weight: looked at and scaled. */
static int end_rows(const struct from *f, const struct place *p, int64_t first,
                    int64_t rows, const double *scale, float *row)
{
    int64_t each = p->e.s.params / p->shape.n;
    int rc = 0;

    CTT_CHECK(ctt_all_finite(row, rows * each), CTT_ENAN,
              "%s: weight '%s' has a number that is not finite", f->path,
              p->e.s.name);
    for (int64_t o = first; scale && o < first + rows; o++, row += each) {
        double by = scale[o];
#pragma omp simd
        for (int64_t i = 0; i < each; i++)
            row[i] = (float)(row[i] * by);
    }
out:
    return rc;
}

/* The file may have been written over since its blocks were looked at.  One
 * that was replaced is still there. */
static int check_late(const struct from *f, const struct ctt_entry *e,
                      uint32_t crc)
{
    int rc = 0;

    CTT_CHECK(crc == e->crc, CTT_EFORMAT, "%s: weight '%s' is damaged, or the "
              "file has changed since it was opened (CRC-32)", f->path,
              e->s.name);
out:
    return rc;
}

/* Some rows at a time, so that they are in the cache until they are done. */
static int read_floats(const struct from *f, const struct place *p,
                       const double *scale, float *to)
{
    enum { FLOATS = 1 << 14 };
    int64_t rows = p->shape.n, each = p->e.s.params / rows, n;
    uint32_t crc = 0;
    int rc = 0, bad = 0;

    for (int64_t o = 0; o < rows; o += n, to += n * each) {
        n = FLOATS / each < 1 ? 1 : FLOATS / each;
        n = n < rows - o ? n : rows - o;
        CTT_TRY(ctt_file_read_at(f->path, f->fd, p->at + 4 * o * each, to,
                                 4 * n * each));
        crc = ctt_crc32(crc, to, 4, n * each);
        if (!bad)
            bad = end_rows(f, p, o, n, scale, to);
    }
    CTT_TRY(check_late(f, &p->e, crc));    /* the reason why they are bad */
    rc = bad;
out:
    return rc;
}

static int read_coded(const struct from *f, const struct place *p,
                      const double *scale, float *to)
{
    const struct ctt_entry *e = &p->e;
    uint8_t *coded = ctt_calloc_full((size_t)e->s.size, 1);
    int rc = 0;

    CTT_TRY(coded ? 0 : CTT_ENOMEM);
    CTT_TRY(ctt_file_read_at(f->path, f->fd, p->at, coded, e->s.size));
    CTT_TRY(check_late(f, e, ctt_crc32(0, coded, 1, e->s.size)));
    CTT_TRY(ctt_store_decode(f->path, e, coded, &p->shape, to));
    CTT_TRY(end_rows(f, p, 0, p->shape.n, scale, to));
out:
    ctt_free(coded);
    return rc;
}

static int read_late(void *arg, int i, const double *scale, float *to)
{
    const struct from *f = arg;
    const struct place *p = &f->of[i];

    return (p->plain ? read_floats : read_coded)(f, p, scale, to);
}

static void shut_late(void *arg)
{
    struct from *f = arg;

    if (f->fd >= 0)
        close(f->fd);
    ctt_free(f->path);
    ctt_free(f);
}

int ctt_store_late_begin(struct ctt_h5 *f, int count, struct ctt_model *m)
{
    struct from *from = ctt_calloc(1, sizeof(*from) +
                                   (size_t)count * sizeof(from->of[0]));
    int rc = 0;

    CTT_IN_FILE(f, from ? 0 : CTT_ENOMEM);
    from->fd = -1;
    from->path = ctt_strdup(ctt_h5_path(f));
    CTT_IN_FILE(f, from->path ? 0 : CTT_ENOMEM);
    CTT_TRY(ctt_h5_fd(f, &from->fd));
    CTT_IN_FILE(f, ctt_lates_new(count, read_late, shut_late, from, &m->late));
    from = NULL;
out:
    if (from)
        shut_late(from);
    return rc;
}

int ctt_store_is_late(const struct ctt_model *m, const struct ctt_node *n,
                      int k)
{
    const uint16_t one = 1;

    return m->late && n->op == CTT_OP_CONV && ctt_is_kernel(n, k) &&
           ctt_volume(&n->w[k]) >= least && *(const uint8_t *)&one;
}

void ctt_store_late_add(struct ctt_model *m, const struct ctt_entry *e,
                        const struct ctt_tensor *shape, int64_t at, int plain)
{
    struct from *f = ctt_lates_from(m->late);

    f->of[f->count++] = (struct place){ *e, *shape, at, plain };
    ctt_lates_add(m->late, e->s.name, shape);
    ctt_model_leaves(m, shape);
}
