/* SPDX-License-Identifier: Apache-2.0
 * file_weights.c: reads the weights of a model file, plain or coded. */
#include "net/file/store.h"
#include "net/late.h"
#include "net/code/code.h"
#include "net/code/zip.h"
#include "net/file/h5.h"

#include <inttypes.h>
#include <string.h>

/* The state of the loop over the weights. */
struct reader {
    struct ctt_h5          *f;
    struct ctt_model       *m;
    const struct ctt_model *like;    /* or NULL */
    uint8_t          *packed;    /* NULL: plain datasets, or late */
    int64_t           at, size;  /* in packed */
    int64_t           place;     /* of packed in a file opened late */
};

static int check_crc(struct ctt_h5 *f, const struct ctt_entry *e, uint32_t crc)
{
    if (crc == e->crc)
        return 0;
    return ctt_error(CTT_EFORMAT, "%s: weight '%s' is damaged (CRC-32 %08"
                     PRIx32 ", not %08" PRIx32 ")", ctt_h5_path(f), e->s.name,
                     crc, e->crc);
}

static int read_plain(struct reader *j, const struct ctt_node *n, int k,
                      const struct ctt_entry *e)
{
    struct ctt_h5_shape s = { .size = 4 };
    char name[CTT_WEIGHT_NAME + 2] = "w/";
    const float *w = (j->like ? j->like : j->m)->w + n->at[k];
    int64_t place = 0;
    int rc = 0;

    s.rank = ctt_weight_shape(n, k, s.dim);
    strcpy(name + 2, e->s.name);
    CTT_CHECK(strcmp(e->s.positions, "all") == 0 &&
              strcmp(e->s.values, "f32") == 0 &&
              strcmp(e->s.bytes, "raw") == 0 && e->s.kept == e->s.params &&
              e->s.size == 4 * e->s.params, CTT_EFORMAT,
              "%s: weight '%s' is encoded, but there is no 'packed'",
              ctt_h5_path(j->f), e->s.name);
    if (ctt_store_is_late(j->m, n, k))
        CTT_TRY(ctt_h5_place(j->f, name, &s, &place));
    if (place) {
        ctt_store_late_add(j->m, e, &n->w[k], place, 1);
        goto out;
    }
    CTT_TRY(j->like ? ctt_h5_check(j->f, name, &s, w)
                    : ctt_h5_read(j->f, name, &s, j->m->w + n->at[k]));
    CTT_TRY(check_crc(j->f, e, ctt_crc32(0, w, 4, e->s.params)));
out:
    return rc;
}

static int read_packed(struct reader *j, const struct ctt_node *n, int k,
                       const struct ctt_entry *e)
{
    const struct ctt_coding how = { e->s.positions, e->s.values, e->s.bytes };
    const uint8_t *in = j->packed + j->at;
    struct ctt_constraint *c = &j->m->constraint;
    const struct ctt_decoded to = {
        j->m->w + n->at[k], c->keep + n->at[k],
        c->share ? c->share + n->at[k] : NULL };
    int rc = 0;

    CTT_CHECK(e->s.size <= j->size - j->at, CTT_EFORMAT,
              "%s: weight '%s' ends behind 'packed'", ctt_h5_path(j->f),
              e->s.name);
    CTT_TRY(check_crc(j->f, e, ctt_crc32(0, in, 1, e->s.size)));
    rc = ctt_decode(&how, in, e->s.size, &n->w[k], e->s.kept, &to);
    if (rc < 0)
        CTT_TRY(ctt_error(rc, "%s: weight '%s': %s", ctt_h5_path(j->f),
                          e->s.name, ctt_errmsg()));
    j->at += e->s.size;
out:
    return rc;
}

/* The same without a mask, of a file opened late. */
static int read_apart(struct reader *j, const struct ctt_node *n, int k,
                      const struct ctt_entry *e)
{
    uint8_t *in = NULL;
    int rc = 0;

    CTT_CHECK(e->s.size <= j->size - j->at, CTT_EFORMAT,
              "%s: weight '%s' ends behind 'packed'", ctt_h5_path(j->f),
              e->s.name);
    if (ctt_store_is_late(j->m, n, k)) {
        ctt_store_late_add(j->m, e, &n->w[k], j->place + j->at, 0);
    } else {
        in = ctt_calloc((size_t)e->s.size, 1);
        CTT_IN_FILE(j->f, in ? 0 : CTT_ENOMEM);
        CTT_TRY(ctt_h5_copy(j->f, j->place + j->at, e->s.size, in));
        CTT_TRY(check_crc(j->f, e, ctt_crc32(0, in, 1, e->s.size)));
        CTT_TRY(ctt_store_decode(ctt_h5_path(j->f), e, in, &n->w[k],
                                 j->m->w + n->at[k]));
    }
    j->at += e->s.size;
out:
    ctt_free(in);
    return rc;
}

static int any_pruned(const struct ctt_entry *e, int count)
{
    for (int i = 0; i < count; i++)
        if (e[i].s.kept < e[i].s.params)
            return 1;
    return 0;
}

/* Removes the constraints that constrain nothing. */
static void drop_unused(struct ctt_model *m, const struct ctt_entry *e,
                        int count)
{
    struct ctt_constraint *c = &m->constraint;

    if (!any_pruned(e, count)) {
        ctt_free(c->keep);
        c->keep = NULL;
    }
    if (!ctt_constraint_shares(c, m->g->weights)) {
        ctt_free(c->share);
        c->share = NULL;
    }
}

static int any_shared(const struct ctt_entry *e, int count)
{
    for (int i = 0; i < count; i++)
        if (ctt_coding_shares(e[i].s.values))
            return 1;
    return 0;
}

static int open_packed(struct reader *j, const struct ctt_entry *e, int count)
{
    struct ctt_h5 *f = j->f;
    struct ctt_h5_shape s;
    int rc = 0;

    CTT_TRY(ctt_h5_shape(f, "packed", &s));
    CTT_CHECK(s.rank == 1 && s.size == 1, CTT_EFORMAT,
              "%s: packed is not a row of bytes", ctt_h5_path(f));
    j->size = s.dim[0];
    if (j->m->late)
        CTT_TRY(ctt_h5_place(f, "packed", &s, &j->place));
    if (j->place)
        return 0;
    j->packed = ctt_calloc((size_t)j->size, 1);
    CTT_IN_FILE(f, j->packed ? 0 : CTT_ENOMEM);
    CTT_TRY(ctt_h5_read(f, "packed", &s, j->packed));
    CTT_IN_FILE(f, ctt_constraint_mask(&j->m->constraint, j->m->g->weights));
    if (any_shared(e, count))
        CTT_IN_FILE(f, ctt_constraint_share(&j->m->constraint,
                                            j->m->g->weights));
out:
    return rc;
}

int ctt_store_weights(struct ctt_h5 *f, struct ctt_model *m,
                      const struct ctt_model *like, const struct ctt_entry *e,
                      int count, int *plain)
{
    struct reader j = { .f = f, .m = m, .like = like };
    int (*read)(struct reader *, const struct ctt_node *, int,
                const struct ctt_entry *) = read_plain;
    int rc = 0, at = 0, packed;

    if (ctt_h5_is_late(f) && ctt_graph_ahead(m->g) < 0)
        CTT_TRY(ctt_store_late_begin(f, count, m));
    CTT_TRY(packed = ctt_h5_has(f, "packed"));
    *plain = !packed;
    if (packed)
        CTT_TRY(open_packed(&j, e, count));
    if (packed)
        read = j.place ? read_apart : read_packed;
    for (int i = 0; i < m->g->count; i++)
        for (int k = 0; k < m->g->node[i].nw; k++, at++)
            CTT_TRY(read(&j, &m->g->node[i], k, &e[at]));
    CTT_CHECK(j.at == j.size, CTT_EFORMAT,
              "%s: 'packed' has bytes of no weight", ctt_h5_path(f));
    if (packed && !j.place)
        drop_unused(m, e, count);
    if (!ctt_lates_count(m->late))    /* the file need not stay open */
        ctt_lates_leave(&m->late);
out:
    ctt_free(j.packed);
    return rc;
}
