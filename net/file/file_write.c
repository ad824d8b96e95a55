/* SPDX-License-Identifier: Apache-2.0
 * file_write.c: writes a model file, under a temporary name that is renamed. */
#include "net/file/decision.h"
#include "net/file/h5.h"
#include "base/newfile.h"
#include "net/op.h"
#include "net/quant.h"
#include "net/rewrite/aux_head.h"
#include "net/code/code.h"
#include "net/file/store.h"
#include "net/file/texts.h"
#include "net/code/zip.h"

#include <inttypes.h>
#include <string.h>

/* ---- the contents of the file ---- */

/* An array of bytes that grows when it is appended to. */
struct buffer {
    uint8_t *p;
    int64_t  size, room;
};

static int append(struct buffer *b, const void *p, int64_t n)
{
    void *q;

    if (n == 0)    /* p may be NULL, and b->p */
        return 0;
    if (b->size + n > b->room) {
        int64_t room = 2 * (b->size + n) + 4096;
        q = ctt_realloc(b->p, (size_t)room);
        if (!q)
            return CTT_ENOMEM;
        b->p = q;
        b->room = room;
    }
    memcpy(b->p + b->size, p, (size_t)n);
    b->size += n;
    return 0;
}

/* A dataset to be written; own is freed with the list. */
struct item {
    char                name[CTT_WEIGHT_NAME + 8];
    struct ctt_h5_shape shape;
    const void         *data;
    void               *own;
};

/* All contents are prepared before HDF5 is called, so that no allocation can
 * fail in between. */
struct image {
    const char             *path;
    const struct ctt_model *m;
    struct item            *item;
    int                     count, room;
    int64_t                 bytes;
    int                     is_packed;
    struct buffer           index, packed, train;
};

static void free_image(struct image *j)
{
    for (int i = 0; i < j->count; i++)
        ctt_free(j->item[i].own);
    ctt_free(j->item);
    ctt_free(j->index.p);
    ctt_free(j->packed.p);
    ctt_free(j->train.p);
}

static int add_dataset(struct image *j, const char *name,
                       const struct ctt_h5_shape *shape, const void *data,
                       void *own)
{
    struct item *it;
    int64_t n = shape->size;
    void *more;

    more = ctt_grown(j->item, &j->room, j->count, sizeof(*j->item));
    if (!more)
        return CTT_ENOMEM;
    j->item = more;
    for (int i = 0; i < shape->rank; i++)
        n *= shape->dim[i];
    j->bytes += n;
    it = &j->item[j->count++];
    *it = (struct item){ .shape = *shape, .data = data, .own = own };
    snprintf(it->name, sizeof(it->name), "%s", name);
    return 0;
}

static int add_vector(struct image *j, const char *name, int size,
                      int64_t count, const void *data, void *own)
{
    const struct ctt_h5_shape s = { .size = size, .rank = 1,
                                    .dim = { count } };

    return add_dataset(j, name, &s, data, own);
}

/* ---- texts ---- */

static int add_text(struct image *j, const char *name, const void *text,
                    int64_t n, int64_t most)
{
    uint8_t *zip = NULL;
    int64_t size = 0;
    int rc = 0;

    CTT_CHECK(n <= most, CTT_EINVAL, "%s: %" PRId64 " bytes of text are more "
              "than %" PRId64, name, n, most);
    CTT_TRY(ctt_gzip(text ? text : "", n, &zip, &size));
    CTT_TRY(add_vector(j, name, 1, size, zip, zip));
    zip = NULL;
out:
    ctt_free(zip);
    return rc;
}

static int add_string(struct image *j, const char *name, const char *text,
                      int64_t most)
{
    return text ? add_text(j, name, text, (int64_t)strlen(text), most) : 0;
}

/* Each label is followed by a 0. */
static int join_labels(const struct ctt_model *m, struct buffer *b)
{
    int rc = 0;

    for (int i = 0; i < m->labels; i++)
        CTT_TRY(append(b, m->label[i], (int64_t)strlen(m->label[i]) + 1));
out:
    return rc;
}

static int add_texts(struct image *j)
{
    char *net = ctt_net_print(j->m->g), *history = j->m->history;
    char *index = j->index.p ? (char *)j->index.p : (char[1]){ 0 };
    struct buffer labels = { NULL };
    struct ctt_texts t = { { NULL } };
    uint8_t *zip = NULL;
    int64_t size = 0;
    int rc = net ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    CTT_TRY(join_labels(j->m, &labels));
    t = (struct ctt_texts){
        .text = { net, (char *)labels.p, history, index },
        .size = { (int64_t)strlen(net), labels.size,
                  history ? (int64_t)strlen(history) : 0, j->index.size } };
    CTT_TRY(ctt_texts_pack(&t, &zip, &size));
    CTT_TRY(add_vector(j, "texts", 1, size, zip, zip));
    zip = NULL;
out:
    ctt_free(zip);
    ctt_free(labels.p);
    ctt_free(net);
    return rc;
}

/* Thresholds of another model are worth nothing. */
static int add_decision(struct image *j)
{
    int rc;

    CTT_TRY(ctt_model_decides(j->m));
    if (rc > 0)
        CTT_TRY(add_string(j, CTT_STORE_DECISION, j->m->decision,
                           CTT_DECISION_TEXT));
out:
    return rc;
}

/* ---- weights ---- */

static int add_line(struct image *j, const struct ctt_node *n, int k,
                    const struct ctt_coding *how, int64_t kept, int64_t size,
                    uint32_t crc)
{
    struct ctt_entry e = { .s = { .kept = kept, .size = size }, .crc = crc };
    char line[CTT_STORE_LINE];

    ctt_weight_title(n, k, e.s.name);
    strcpy(e.s.positions, how->positions);
    strcpy(e.s.values, how->values);
    strcpy(e.s.bytes, how->bytes);
    return append(&j->index, line, ctt_index_print(n, k, &e, line));
}

/* A dataset that any HDF5 tool reads. */
static int add_plain(struct image *j, const struct ctt_node *n, int k)
{
    static const struct ctt_coding plain = { "all", "f32", "raw" };
    struct ctt_h5_shape s = { .size = 4 };
    const float *w = j->m->w + n->at[k];
    int64_t count = ctt_volume(&n->w[k]);
    char name[CTT_WEIGHT_NAME + 2] = "w/";
    int rc = 0;

    s.rank = ctt_weight_shape(n, k, s.dim);
    ctt_weight_title(n, k, name + 2);
    CTT_TRY(add_dataset(j, name, &s, w, NULL));
    CTT_TRY(add_line(j, n, k, &plain, count, 4 * count,
                     ctt_crc32(0, w, 4, count)));
out:
    return rc;
}

static int add_packed(struct image *j, const struct ctt_node *n, int k)
{
    const struct ctt_weight w = ctt_model_weight(j->m, n, k);
    struct ctt_coding how;
    uint8_t *bytes = NULL;
    int64_t size = 0;
    int rc = 0;

    CTT_TRY(ctt_encode_best(&w, &how, &bytes, &size));
    CTT_TRY(append(&j->packed, bytes, size));
    CTT_TRY(add_line(j, n, k, &how, ctt_weight_kept(&w), size,
                     ctt_crc32(0, bytes, 1, size)));
out:
    ctt_free(bytes);
    return rc;
}

static int has_low_byte(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof(bits));
    return (bits & 0xff) != 0;
}

static int low_bytes(const float *w, int64_t n)
{
    for (int64_t k = 0; k < n; k++)
        if (has_low_byte(w[k]))
            return 1;
    return 0;
}

/* 1 if the model has convs and the lowest byte of all their weights is 0, or
 * the weights are the whole numbers that a conv of quantised values multiplies.
 * */
static int is_rounded(const struct ctt_model *m)
{
    int convs = 0;

    for (int i = 0; i < m->g->count; i++) {
        const struct ctt_node *n = &m->g->node[i];
        if (!ctt_is_conv(n))
            continue;
        convs++;
        if (ctt_is_int8(m->g, i) ? !ctt_quant_is(m->w + n->at[0], n->w[0].n,
                                                 ctt_volume(&n->w[0]) /
                                                 n->w[0].n)
                                 : low_bytes(m->w + n->at[0],
                                             ctt_volume(&n->w[0])))
            return 0;
    }
    return convs > 0;
}

/* 1 if coding saves bytes: any weight is pruned or shared, or all were
 * rounded. */
static int is_packed(const struct ctt_model *m)
{
    int64_t all = 0;

    for (int i = 0; i < m->g->count; i++)
        all += ctt_node_params(&m->g->node[i]);
    return ctt_model_params(m) < all ||
           ctt_constraint_shares(&m->constraint, m->g->weights) ||
           is_rounded(m);
}

static int add_weights(struct image *j)
{
    const struct ctt_graph *g = j->m->g;
    int rc = 0;

    for (int i = 0; i < g->count; i++)
        for (int k = 0; k < g->node[i].nw; k++)
            CTT_TRY((j->is_packed ? add_packed : add_plain)(j, &g->node[i], k));
    if (j->is_packed)
        CTT_TRY(add_vector(j, "packed", 1, j->packed.size, j->packed.p, NULL));
out:
    return rc;
}

/* ---- the training state ---- */

static int add_train(struct image *j, const struct ctt_state *s)
{
    char name[CTT_NAME + 8], line[CTT_STORE_LINE];
    int rc = 0;

    CTT_TRY(add_string(j, "train/settings", s->settings, CTT_STORE_TEXT));
    for (int i = 0; i < s->count; i++) {
        const struct ctt_array *a = &s->array[i];
        uint32_t crc = ctt_crc32(0, a->data, a->size, a->count);
        snprintf(name, sizeof(name), "train/%s", a->name);
        CTT_TRY(add_vector(j, name, a->size, a->count, a->data, NULL));
        CTT_TRY(append(&j->train, line, ctt_index_print_array(a, crc, line)));
    }
    CTT_TRY(add_text(j, "train/index", j->train.p, j->train.size,
                     CTT_STORE_TEXT));
out:
    return rc;
}

/* ---- the file in memory ---- */

static int put_all(struct image *j, struct ctt_h5 *f)
{
    int rc = 0;

    CTT_TRY(ctt_h5_put_text(f, "format", CTT_STORE_FORMAT));
    CTT_TRY(ctt_h5_put_int(f, "version", CTT_STORE_VERSION));
    CTT_TRY(ctt_h5_put_text(f, "least_reader", CTT_STORE_LEAST));
    CTT_TRY(ctt_h5_put_text(f, "made_by", "convtt " CTT_VERSION));
    if (!j->is_packed)
        CTT_TRY(ctt_h5_group(f, "w", j->count));
    if (j->m->train)
        CTT_TRY(ctt_h5_group(f, "train", j->m->train->count + 2));
    for (int i = 0; i < j->count; i++)
        CTT_TRY(ctt_h5_write(f, j->item[i].name, &j->item[i].shape,
                             j->item[i].data));
out:
    return rc;
}

static int make_image(struct image *j, uint8_t **out, int64_t *size)
{
    struct ctt_h5 *f = NULL;
    int rc = 0;

    j->is_packed = is_packed(j->m);
    CTT_TRY(add_weights(j));
    CTT_TRY(add_texts(j));
    CTT_TRY(add_decision(j));
    if (j->m->train)
        CTT_TRY(add_train(j, j->m->train));
    CTT_TRY(ctt_h5_new(j->path, j->bytes, j->count, &f));
    CTT_TRY(put_all(j, f));
    CTT_TRY(ctt_h5_image(f, out, size));
out:
    ctt_h5_close(&f);
    return rc;
}

/* ---- the whole ---- */

/* Messages about HDF5 contain the path already. */
static int image_of(const char *path, const struct ctt_model *m, uint8_t **out,
                    int64_t *size)
{
    struct image j = { .path = path, .m = m };
    int rc = make_image(&j, out, size);

    free_image(&j);
    if (rc < 0 && strncmp(ctt_errmsg(), path, strlen(path)) != 0)
        rc = ctt_error(rc, "%s: %s", path, ctt_errmsg());
    return rc;
}

int ctt_model_put(struct ctt_newfile *f, const struct ctt_model *m)
{
    const char *path = ctt_newfile_path(f);
    uint8_t *image = NULL;
    int64_t size = 0;
    int rc = 0;

    CTT_TRY(ctt_graph_light_known(m->g));
    CTT_TRY(image_of(path, m, &image, &size));
    CTT_TRY(ctt_store_check(path, image, size, m));
    CTT_TRY(ctt_newfile_put(f, image, size));
out:
    ctt_free(image);
    return rc;
}

int ctt_model_save(const char *path, const struct ctt_model *m)
{
    struct ctt_newfile *f = NULL;
    int rc = 0;

    CTT_TRY(ctt_newfile_open(path, &f));
    CTT_TRY(ctt_model_put(f, m));
    CTT_TRY(ctt_newfile_finish(&f));
out:
    ctt_newfile_drop(&f);
    return rc;
}

int ctt_model_save_inference(const char *path, const struct ctt_model *m)
{
    struct ctt_model *plain = NULL;
    int rc = 0;

    if (ctt_graph_ahead(m->g) < 0)
        return ctt_model_save(path, m);
    CTT_TRY(ctt_aux_head_drop_model(m, &plain));
    CTT_TRY(ctt_model_save(path, plain));
out:
    ctt_model_free(&plain);
    return rc;
}
