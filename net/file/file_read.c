/* SPDX-License-Identifier: Apache-2.0
 * file_read.c: reads a model file.  The file is not trusted: every size is
 * checked against the text of the net before it is used. */
#include "net/file/thresholds.h"
#include "net/file/h5.h"
#include "base/limits.h"
#include "net/file/store.h"
#include "net/file/texts.h"
#include "net/code/zip.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { OBJECTS = 64 };    /* of a file, besides weights */

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

    CTT_IN_FILE(f, print ? 0 : CTT_ENOMEM);
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
    CTT_IN_FILE(f, label ? 0 : CTT_ENOMEM);
    label[0] = text;
    for (int k = 1; k < labels; k++)
        label[k] = label[k - 1] + strlen(label[k - 1]) + 1;
    CTT_IN_FILE(f, ctt_model_labels(m, label, labels));
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
        CTT_IN_FILE(f, ctt_thresholds_parse(m->decision, &t));
    else if (m->decision)
        CTT_IN_FILE(f, ctt_decision_parse(m->decision, &d));
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

/* ---- the training state ---- */

/* An array that `like` has, too, is compared with it. */
static int read_array(struct ctt_h5 *f, const struct ctt_array *a,
                      uint32_t crc, const struct ctt_state *like,
                      struct ctt_state *t)
{
    const struct ctt_h5_shape s = { .size = a->size, .rank = 1,
                                    .dim = { a->count } };
    const struct ctt_array *is = like ? ctt_state_find(like, a->name) : NULL;
    char name[CTT_NAME + 8];
    void *data;
    int rc = 0;

    snprintf(name, sizeof(name), "train/%s", a->name);
    CTT_CHECK(a->count <= ctt_h5_bytes(f) / a->size, CTT_EFORMAT,
              "%s: %s is larger than the file", ctt_h5_path(f), name);
    if (is && is->size == a->size && is->count == a->count) {
        CTT_IN_FILE(f, ctt_state_lend(t, a->name, a->size, a->count, is->data));
        CTT_TRY(ctt_h5_check(f, name, &s, is->data));
    } else {
        CTT_IN_FILE(f, ctt_state_add(t, a->name, a->size, a->count, NULL));
        CTT_TRY(ctt_h5_read(f, name, &s, t->array[t->count - 1].data));
    }
    data = t->array[t->count - 1].data;
    CTT_CHECK(ctt_crc32(0, data, a->size, a->count) == crc, CTT_EFORMAT,
              "%s: %s is damaged (CRC-32)", ctt_h5_path(f), name);
out:
    return rc;
}

static int read_train(struct ctt_h5 *f, const struct ctt_state *like,
                      struct ctt_state **out)
{
    struct ctt_state *t = NULL;
    struct ctt_array a;
    char *text = NULL, *p;
    uint32_t crc;
    int rc = 0;

    CTT_TRY(ctt_h5_has(f, "train"));
    if (!rc)
        return 0;
    CTT_IN_FILE(f, ctt_state_new(&t));
    CTT_TRY(ctt_texts_one(f, "train/settings", 0, CTT_STORE_TEXT,
                          &t->settings));
    CTT_TRY(ctt_texts_one(f, "train/index", 1, CTT_STORE_TEXT, &text));
    p = text;
    while ((rc = ctt_index_parse_array(&p, &a, &crc)) > 0)
        CTT_TRY(read_array(f, &a, crc, like, t));
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

static int check_count(struct ctt_h5 *f, const struct ctt_graph *g)
{
    int64_t most = ctt_store_most(ctt_h5_bytes(f));
    int rc = 0;

    CTT_CHECK(g->weights <= most, CTT_EFORMAT, "%s: the net has %" PRId64
              " weights, more than a file of %" PRId64 " bytes holds",
              ctt_h5_path(f), g->weights, ctt_h5_bytes(f));
out:
    return rc;
}

/* The longest list of positions: of a pruned weight its kept elements. */
static int64_t most_listed(const struct ctt_entry *e, int count)
{
    int64_t most = 0;

    for (int i = 0; i < count; i++)
        if (e[i].s.kept < e[i].s.params && e[i].s.kept > most)
            most = e[i].s.kept;
    return most * (int64_t)sizeof(uint32_t);
}

/* Before anything is allocated for the weights, for positions while they are
 * decoded and, unless that is one by one, the mask and the codes of their size
 * and the packed bytes. */
static int check_size(struct ctt_h5 *f, const struct ctt_graph *g,
                      const struct ctt_entry *e, int count)
{
    int late = ctt_h5_is_late(f) && ctt_graph_ahead(g) < 0, rc = 0, packed;
    int64_t need = g->weights * (int64_t)sizeof(float);

    CTT_TRY(packed = ctt_h5_has(f, "packed"));
    if (packed)
        need += most_listed(e, count);
    if (packed && !late)
        need += 2 * g->weights + ctt_h5_bytes(f);
    CTT_IN_FILE(f, ctt_memory_check("the weights", need));
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
    CTT_TRY(check_count(f, g));
    CTT_IN_FILE(f, ctt_index_parse(t->text[CTT_TEXT_INDEX], g, e, count));
    CTT_TRY(check_size(f, g, *e, *count));
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
    CTT_TRY(ctt_store_weights(f, m, p->like, p->e, p->count, &plain));
    p->compared = p->like && plain;
    CTT_TRY(read_labels(f, t.text[CTT_TEXT_LABELS], t.size[CTT_TEXT_LABELS],
                        m));
    m->history = t.text[CTT_TEXT_HISTORY];
    t.text[CTT_TEXT_HISTORY] = NULL;
    CTT_TRY(read_decision(f, m));
    if (p->with_train)
        CTT_TRY(read_train(f, p->like ? p->like->train : NULL, &m->train));
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

int ctt_model_load_late(const char *path, struct ctt_model **out)
{
    struct parts p = { .with_train = 0 };
    struct ctt_h5 *f = NULL;
    int rc = 0;

    CTT_TRY(ctt_h5_open_late(path, &f));
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
