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
    size_t n = (size_t)e->s.params;
    struct ctt_decoded out = { to, ctt_calloc(n, 1), NULL };
    int rc = 0;

    if (ctt_coding_shares(e->s.values))
        out.share = ctt_calloc(n, 1);
    CTT_TRY(out.keep && (out.share || !ctt_coding_shares(e->s.values))
            ? 0 : CTT_ENOMEM);
    CTT_TRY(ctt_decode(&how, in, e->s.size, shape, e->s.kept, &out));
out:
    if (rc < 0)
        rc = ctt_error(rc, "%s: weight '%s': %s", path, e->s.name,
                       ctt_errmsg());
    ctt_free(out.keep);
    ctt_free(out.share);
    return rc;
}

/* Checks again what was checked when the model was opened: the file may have
 * been written over.  One that was replaced is still there. */
static int read_late(void *arg, int i, float *to)
{
    const struct from *f = arg;
    const struct place *p = &f->of[i];
    const struct ctt_entry *e = &p->e;
    uint8_t *coded = NULL;
    void *raw = to;
    int rc = 0;

    if (!p->plain)
        raw = coded = ctt_calloc((size_t)e->s.size, 1);
    CTT_TRY(raw ? 0 : CTT_ENOMEM);
    CTT_TRY(ctt_file_read_at(f->path, f->fd, p->at, raw, e->s.size));
    CTT_CHECK(ctt_crc32(0, raw, 1, e->s.size) == e->crc, CTT_EFORMAT,
              "%s: weight '%s' is damaged, or the file has changed since it "
              "was opened (CRC-32)", f->path, e->s.name);
    if (coded)
        CTT_TRY(ctt_store_decode(f->path, e, coded, &p->shape, to));
    CTT_CHECK(ctt_all_finite(to, e->s.params), CTT_ENAN,
              "%s: weight '%s' has a number that is not finite", f->path,
              e->s.name);
out:
    ctt_free(coded);
    return rc;
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
}
