/* SPDX-License-Identifier: Apache-2.0
 * file_read.c: reads a model file.  The file is not trusted: every size is
 * checked against the text of the net before it is used. */
#include "net/file/thresholds.h"
#include "net/file/h5.h"
#include "base/limits.h"
#include "net/code/code.h"
#include "net/file/store.h"
#include "net/file/texts.h"
#include "net/code/zip.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { OBJECTS = 64 };    /* of a file, besides weights */

/* Puts the path before the messages of other modules. */
#define IN_FILE(expr)                                                   \
    do {                                                                \
        rc = (expr);                                                    \
        if (rc < 0) {                                                   \
            rc = ctt_error(rc, "%s: %s", ctt_h5_path(f), ctt_errmsg()); \
            goto out;                                                   \
        }                                                               \
    } while (0)

/* ---- texts ---- */

/* The number of the first line in which two texts differ; 0: none. */
static int first_other(const char *a, const char *b)
{
    int line = 1;

    for (; *a == *b; a++, b++) {
        if (!*a)
            return 0;
        line += *a == '\n';
    }
    return line;
}

/* A program that reads only canonical texts (doc/format.md) must not meet
 * others. */
static int check_canonical(struct ctt_h5 *f, const struct ctt_graph *g,
                           const char *text)
{
    char *print = ctt_net_print(g);
    int rc = 0, line;

    IN_FILE(print ? 0 : CTT_ENOMEM);
    line = first_other(text, print);
    CTT_CHECK(!line, CTT_EFORMAT, "%s: net: line %d is not in canonical form",
              ctt_h5_path(f), line);
out:
    ctt_free(print);
    return rc;
}

static int read_net(struct ctt_h5 *f, const char *text, struct ctt_graph **out)
{
    struct ctt_graph *g = NULL;
    int rc = ctt_net_parse(text, &g);

    if (rc >= 0 && ctt_graph_light_known(g) < 0)
        rc = CTT_EFORMAT;
    if (rc < 0)
        CTT_TRY(ctt_error(rc, "%s: net: %s", ctt_h5_path(f), ctt_errmsg()));
    CTT_TRY(check_canonical(f, g, text));
    *out = g;
    g = NULL;
out:
    ctt_graph_free(&g);
    return rc;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Labels name the values of the answer, each another one.  Sorts label. */
static int check_labels(const struct ctt_h5 *f, const struct ctt_model *m,
                        char **label, int labels)
{
    const struct ctt_node *n = &m->g->node[ctt_graph_output(m->g)];
    int rc = 0;

    CTT_CHECK(labels == n->out.c, CTT_EFORMAT, "%s: %d labels for %lld classes",
              ctt_h5_path(f), labels, (long long)n->out.c);
    qsort(label, (size_t)labels, sizeof(*label), by_text);
    for (int k = 1; k < labels; k++)
        CTT_CHECK(strcmp(label[k - 1], label[k]) != 0, CTT_EFORMAT,
                  "%s: two classes have the label '%s'", ctt_h5_path(f),
                  label[k]);
out:
    return rc;
}

/* Each label is followed by a 0. */
static int read_labels(struct ctt_h5 *f, char *text, int64_t n,
                       struct ctt_model *m)
{
    char **label = NULL;
    int rc = 0, labels = 0;

    if (!text)
        goto out;
    CTT_CHECK(n > 0 && text[n - 1] == '\0', CTT_EFORMAT,
              "%s: the last label does not end", ctt_h5_path(f));
    for (int64_t i = 0; i < n; i++)
        labels += text[i] == '\0';
    CTT_CHECK(labels <= ctt_limits()->classes, CTT_EFORMAT, "%s: %d labels "
              "are more than the limit of %d classes", ctt_h5_path(f), labels,
              ctt_limits()->classes);
    label = ctt_calloc((size_t)labels, sizeof(*label));
    IN_FILE(label ? 0 : CTT_ENOMEM);
    label[0] = text;
    for (int k = 1; k < labels; k++)
        label[k] = label[k - 1] + strlen(label[k - 1]) + 1;
    IN_FILE(ctt_model_labels(m, label, labels));
    CTT_TRY(check_labels(f, m, label, labels));
out:
    ctt_free(label);
    return rc;
}

static int read_decision(struct ctt_h5 *f, struct ctt_model *m)
{
    struct ctt_thresholds t;
    struct ctt_decision d;
    int rc;

    CTT_TRY(ctt_texts_one(f, CTT_STORE_DECISION, 0, CTT_DECISION_TEXT,
                          &m->decision));
    if (m->decision && m->g->several)
        IN_FILE(ctt_thresholds_parse(m->decision, &t));
    else if (m->decision)
        IN_FILE(ctt_decision_parse(m->decision, &d));
out:
    return rc;
}

/* ---- attributes ---- */

/* "0.12" < "1.2"; 0 if either is not such a version. */
static int newer(const char *a, const char *b)
{
    int major[2], minor[2];
    char more;

    if (sscanf(a, "%5d.%5d%c", &major[0], &minor[0], &more) != 2 ||
        sscanf(b, "%5d.%5d%c", &major[1], &minor[1], &more) != 2)
        return strcmp(a, b) != 0;
    return major[0] != major[1] ? major[0] > major[1] : minor[0] > minor[1];
}

static int read_attrs(struct ctt_h5 *f)
{
    char format[CTT_H5_TEXT], least[CTT_H5_TEXT];
    int rc = 0, version;

    CTT_TRY(ctt_h5_get_text(f, "format", format));
    CTT_CHECK(strcmp(format, CTT_STORE_FORMAT) == 0, CTT_EFORMAT,
              "%s: not a model file (format '%s')", ctt_h5_path(f), format);
    CTT_TRY(ctt_h5_get_int(f, "version", &version));
    CTT_TRY(ctt_h5_get_text(f, "least_reader", least));
    CTT_CHECK(version >= 1, CTT_EFORMAT, "%s: no version %d", ctt_h5_path(f),
              version);
    CTT_CHECK(!newer(least, CTT_VERSION), CTT_EUNSUP,
              "%s: needs convtt >= %s (this is %s)", ctt_h5_path(f), least,
              CTT_VERSION);
out:
    return rc;
}

/* ---- weights ---- */

/* The state of the loop over the weights. */
struct reader {
    struct ctt_h5          *f;
    struct ctt_model       *m;
    const struct ctt_model *like;    /* or NULL */
    uint8_t          *packed;    /* NULL: plain datasets */
    int64_t           at, size;  /* in packed */
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
    int rc = 0;

    s.rank = ctt_weight_shape(n, k, s.dim);
    strcpy(name + 2, e->s.name);
    CTT_CHECK(strcmp(e->s.positions, "all") == 0 &&
              strcmp(e->s.values, "f32") == 0 &&
              strcmp(e->s.bytes, "raw") == 0 && e->s.kept == e->s.params &&
              e->s.size == 4 * e->s.params, CTT_EFORMAT,
              "%s: weight '%s' is encoded, but there is no 'packed'",
              ctt_h5_path(j->f), e->s.name);
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
    j->packed = ctt_calloc((size_t)j->size, 1);
    IN_FILE(j->packed ? 0 : CTT_ENOMEM);
    CTT_TRY(ctt_h5_read(f, "packed", &s, j->packed));
    IN_FILE(ctt_constraint_mask(&j->m->constraint, j->m->g->weights));
    if (any_shared(e, count))
        IN_FILE(ctt_constraint_share(&j->m->constraint, j->m->g->weights));
out:
    return rc;
}

/* plain: 1 if the weights are plain datasets, which are compared if there is a
 * model `like`. */
static int read_weights(struct ctt_h5 *f, struct ctt_model *m,
                        const struct ctt_model *like,
                        const struct ctt_entry *e, int count, int *plain)
{
    struct reader j = { .f = f, .m = m, .like = like };
    int rc = 0, at = 0, packed;

    CTT_TRY(packed = ctt_h5_has(f, "packed"));
    *plain = !packed;
    if (packed)
        CTT_TRY(open_packed(&j, e, count));
    for (int i = 0; i < m->g->count; i++)
        for (int k = 0; k < m->g->node[i].nw; k++, at++)
            CTT_TRY((packed ? read_packed : read_plain)
                    (&j, &m->g->node[i], k, &e[at]));
    CTT_CHECK(j.at == j.size, CTT_EFORMAT,
              "%s: 'packed' has bytes of no weight", ctt_h5_path(f));
    if (packed)
        drop_unused(m, e, count);
out:
    ctt_free(j.packed);
    return rc;
}

/* ---- the training state ---- */

static int read_array(struct ctt_h5 *f, const struct ctt_array *a,
                      uint32_t crc, struct ctt_state *t)
{
    const struct ctt_h5_shape s = { .size = a->size, .rank = 1,
                                    .dim = { a->count } };
    char name[CTT_NAME + 8];
    void *data;
    int rc = 0;

    snprintf(name, sizeof(name), "train/%s", a->name);
    CTT_CHECK(a->count <= ctt_h5_bytes(f) / a->size, CTT_EFORMAT,
              "%s: %s is larger than the file", ctt_h5_path(f), name);
    IN_FILE(ctt_state_add(t, a->name, a->size, a->count, NULL));
    data = t->array[t->count - 1].data;
    CTT_TRY(ctt_h5_read(f, name, &s, data));
    CTT_CHECK(ctt_crc32(0, data, a->size, a->count) == crc, CTT_EFORMAT,
              "%s: %s is damaged (CRC-32)", ctt_h5_path(f), name);
out:
    return rc;
}

static int read_train(struct ctt_h5 *f, struct ctt_state **out)
{
    struct ctt_state *t = NULL;
    struct ctt_array a;
    char *text = NULL, *p;
    uint32_t crc;
    int rc = 0;

    CTT_TRY(ctt_h5_has(f, "train"));
    if (!rc)
        return 0;
    IN_FILE(ctt_state_new(&t));
    CTT_TRY(ctt_texts_one(f, "train/settings", 0, CTT_STORE_TEXT,
                          &t->settings));
    CTT_TRY(ctt_texts_one(f, "train/index", 1, CTT_STORE_TEXT, &text));
    p = text;
    while ((rc = ctt_index_parse_array(&p, &a, &crc)) > 0)
        CTT_TRY(read_array(f, &a, crc, t));
    if (rc < 0)
        CTT_TRY(ctt_error(rc, "%s: train/index: %s", ctt_h5_path(f),
                          ctt_errmsg()));
    *out = t;
    t = NULL;
out:
    ctt_state_free(&t);
    ctt_free(text);
    return rc;
}

/* ---- the whole ---- */

/* Before anything is allocated for the weights, the mask and the codes of their
 * size and the packed bytes. */
static int check_size(struct ctt_h5 *f, const struct ctt_graph *g)
{
    int64_t most = ctt_store_most(ctt_h5_bytes(f)), need;
    int rc = 0, packed;

    CTT_CHECK(g->weights <= most, CTT_EFORMAT, "%s: the net has %" PRId64
              " weights, more than a file of %" PRId64 " bytes holds",
              ctt_h5_path(f), g->weights, ctt_h5_bytes(f));
    CTT_TRY(packed = ctt_h5_has(f, "packed"));
    need = g->weights * (int64_t)sizeof(float) +
           (packed ? 2 * g->weights + ctt_h5_bytes(f) : 0);
    IN_FILE(ctt_memory_check("the weights", need));
out:
    return rc;
}

/* Reads the net and the index; the caller frees *e. */
static int read_head(struct ctt_h5 *f, const struct ctt_texts *t,
                     struct ctt_model **out, struct ctt_entry **e, int *count)
{
    struct ctt_graph *g = NULL;
    int rc = 0;

    CTT_TRY(read_net(f, t->text[CTT_TEXT_NET], &g));
    ctt_h5_expect(f, ctt_weight_count(g) + OBJECTS);
    CTT_TRY(check_size(f, g));
    IN_FILE(ctt_index_parse(t->text[CTT_TEXT_INDEX], g, e, count));
    rc = ctt_model_new(g, out);
    g = NULL;
    if (rc < 0)
        rc = ctt_error(rc, "%s: %s", ctt_h5_path(f), ctt_errmsg());
out:
    ctt_graph_free(&g);
    return rc;
}

/* Weights of two models are compared if their texts are the same. */
static int check_like(struct ctt_h5 *f, const char *text,
                      const struct ctt_model *like)
{
    char *print = ctt_net_print(like->g);
    int rc = print ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    CTT_CHECK(strcmp(print, text) == 0, CTT_EIO, "%s: not written: HDF5's file "
              "has another net", ctt_h5_path(f));
out:
    ctt_free(print);
    return rc;
}

/* Parts that are read beside the model. */
struct parts {
    int               with_train;
    const struct ctt_model *like;    /* see ctt_model_load_like(); or NULL */
    int               compared;
    struct ctt_entry *e;
    int               count;
};

/* Closes the file. */
static int read_parts(struct ctt_h5 **file, struct parts *p,
                      struct ctt_model **out)
{
    struct ctt_h5 *f = *file;
    struct ctt_model *m = NULL;
    struct ctt_texts t = { { NULL } };
    int rc = 0, plain;

    CTT_TRY(read_attrs(f));
    CTT_TRY(ctt_texts_read(f, &t));
    CTT_TRY(p->like ? check_like(f, t.text[CTT_TEXT_NET], p->like) : 0);
    CTT_TRY(read_head(f, &t, &m, &p->e, &p->count));
    CTT_TRY(read_weights(f, m, p->like, p->e, p->count, &plain));
    p->compared = p->like && plain;
    CTT_TRY(read_labels(f, t.text[CTT_TEXT_LABELS], t.size[CTT_TEXT_LABELS],
                        m));
    m->history = t.text[CTT_TEXT_HISTORY];
    t.text[CTT_TEXT_HISTORY] = NULL;
    CTT_TRY(read_decision(f, m));
    if (p->with_train)
        CTT_TRY(read_train(f, &m->train));
    *out = m;
    m = NULL;
out:
    ctt_texts_free(&t);
    ctt_model_free(&m);
    ctt_h5_close(file);
    return rc;
}

int ctt_model_load(const char *path, int with_train, struct ctt_model **out)
{
    struct parts p = { .with_train = with_train };
    struct ctt_h5 *f = NULL;
    int rc = 0;

    CTT_TRY(ctt_h5_open(path, &f));
    CTT_TRY(read_parts(&f, &p, out));
out:
    ctt_free(p.e);
    return rc;
}

static int load_image(const char *path, const uint8_t *image, int64_t size,
                      struct parts *p, struct ctt_model **out)
{
    struct ctt_h5 *f = NULL;
    int rc = 0;

    CTT_TRY(ctt_h5_open_image(path, image, size, &f));
    CTT_TRY(read_parts(&f, p, out));
out:
    ctt_free(p->e);
    return rc;
}

int ctt_model_load_image(const char *path, const uint8_t *p, int64_t size,
                         int with_train, struct ctt_model **out)
{
    struct parts all = { .with_train = with_train };

    return load_image(path, p, size, &all, out);
}

int ctt_model_load_like(const char *path, const uint8_t *p, int64_t size,
                        const struct ctt_model *like, int *compared,
                        struct ctt_model **out)
{
    struct parts all = { .with_train = 1, .like = like };
    int rc = load_image(path, p, size, &all, out);

    *compared = all.compared;
    return rc;
}

int ctt_model_stored(const char *path, struct ctt_stored **out, int *count,
                     int64_t *file_bytes)
{
    struct parts p = { .with_train = 0 };
    struct ctt_h5 *f = NULL;
    struct ctt_model *m = NULL;
    struct ctt_stored *s = NULL;
    int64_t bytes;
    int rc = 0;

    CTT_TRY(ctt_h5_open(path, &f));
    bytes = ctt_h5_bytes(f);
    CTT_TRY(read_parts(&f, &p, &m));
    s = ctt_calloc((size_t)p.count, sizeof(*s));
    if (!s)
        CTT_TRY(ctt_error(CTT_ENOMEM, "%s: %s", path, ctt_errmsg()));
    for (int i = 0; i < p.count; i++)
        s[i] = p.e[i].s;
    *file_bytes = bytes;
    *count = p.count;
    *out = s;
out:
    ctt_free(p.e);
    ctt_model_free(&m);
    return rc;
}
