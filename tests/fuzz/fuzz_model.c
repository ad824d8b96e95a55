/* SPDX-License-Identifier: Apache-2.0
 * fuzz_model.c: any model file is an error in one line or a model that can be
 * saved and read again.  An input is the file's parts, "%NAME SIZE DIMENSIONS":
 * texts are compressed here, and each @ at the end of an index line becomes the
 * right checksum, so that inputs pass all checks of checksums.  Without a part
 * the input is the file itself, and only its own checksum is made right. */
#include "tests/fuzz/fuzz.h"
#include "net/late.h"
#include "net/file/decision.h"
#include "net/file/file.h"
#include "net/file/h5.h"
#include "net/code/zip.h"

#include <string.h>

enum { PARTS = 24, BYTES = 1 << 16, INDEX = 1 << 14 };

/* ---- the parts of a file ---- */

struct parts {
    struct ctt_chunk c[PARTS];
    int              count;
    uint8_t          stored[PARTS];    /* an array of the file */
};

static const struct ctt_chunk *find_part(const struct parts *s,
                                         const char *name)
{
    return ctt_chunk_find(s->c, s->count, name);
}

/* "4 3,1,1,1,2"; a row of bytes if it says nothing. */
static struct ctt_h5_shape part_shape(const struct ctt_chunk *c)
{
    struct ctt_h5_shape s = { .size = 1, .rank = 1, .dim = { (int64_t)c->n } };
    int64_t all;
    char *end;
    long size = strtol(c->words, &end, 10);

    if (end == c->words || (size != 1 && size != 4 && size != 8))
        return s;
    all = s.size = (int)size;
    for (s.rank = 0; s.rank < CTT_H5_RANK && *end; end += *end == ',') {
        const char *from = end;
        long n = strtol(from, &end, 10);
        if (end == from || n < 0 || n > BYTES || (all *= n) > BYTES)
            break;
        s.dim[s.rank++] = n;
    }
    if (s.rank == 0 || *end) {
        s.rank = 1;
        s.dim[0] = (int64_t)c->n / s.size;
    }
    return s;
}

/* The bytes of an array; behind the chunk's end they are zeros. */
static const uint8_t *part_bytes(const struct ctt_chunk *c,
                                 const struct ctt_h5_shape *s, int64_t *count)
{
    static uint64_t block[BYTES / 8];

    *count = 1;
    for (int i = 0; i < s->rank; i++)
        *count *= s->dim[i];
    memset(block, 0, sizeof(block));
    if (c->n)
        memcpy(block, c->p, c->n < sizeof(block) ? c->n : sizeof(block));
    return (const uint8_t *)block;
}

/* ---- checksums ---- */

/* Checksum of the weight or array in an index line, "NAME ...SIZE @"; *at:
 * offset in the part "packed". */
static uint32_t checksum(const struct parts *s, const char *line, size_t n,
                         const char *folder, int64_t *at)
{
    const struct ctt_chunk *packed = find_part(s, "packed"), *c;
    struct ctt_h5_shape shape;
    const uint8_t *p;
    int64_t size = 0, count;
    char name[64];

    snprintf(name, sizeof(name), "%s%.*s", folder, (int)strcspn(line, " \n"),
             line);
    c = find_part(s, name);
    if (c && !(packed && *folder == 'w')) {
        shape = part_shape(c);
        p = part_bytes(c, &shape, &count);
        return ctt_crc32(0, p, shape.size, count);
    }
    while (n > 2 && line[n - 3] != ' ')
        n--;
    if (n > 2)
        size = strtoll(line + n - 2, NULL, 10);
    if (!packed || size < 0 || size > (int64_t)packed->n - *at)
        return 0;
    *at += size;
    return ctt_crc32(0, packed->p + *at - size, 1, size);
}

/* A copy of an index with the checksums in place of each @. */
static char *complete_part(const struct parts *s, const struct ctt_chunk *c,
                           const char *folder, size_t *size)
{
    char *out = ctt_calloc(INDEX, 1), *text = ctt_chunk_text(c);
    int64_t at = 0;

    FUZZ_CHECK(out);
    *size = 0;
    for (const char *line = text; *line && *size < INDEX - 16;) {
        size_t n = strcspn(line, "\n"), some = n, left = INDEX - 16 - *size;
        int asks = n > 1 && line[n - 1] == '@';

        some = some - (size_t)asks < left ? some - (size_t)asks : left;
        memcpy(out + *size, line, some);
        *size += some;
        if (asks)
            *size += (size_t)snprintf(out + *size, 9, "%08x", (unsigned)
                                      checksum(s, line, n - 1, folder, &at));
        line += n;
        if (*line == '\n')
            out[(*size)++] = *line++;
    }
    ctt_free(text);
    return out;
}

/* ---- the file ---- */

static void put_packed(struct ctt_h5 *f, const char *name, const void *p,
                       size_t n)
{
    struct ctt_h5_shape s = { .size = 1, .rank = 1 };
    uint8_t *zip = NULL;

    FUZZ_CHECK(ctt_gzip(p, (int64_t)n, &zip, &s.dim[0]) >= 0);
    ctt_h5_write(f, name, &s, zip);
    ctt_free(zip);
}

/* Text of a part, which the caller frees: a net in the one form allowed in a
 * file, but unchanged if the part is "raw" or no net; an index with its
 * checksums. */
static char *text_of(const struct parts *s, const struct ctt_chunk *c,
                     size_t *n)
{
    char *text, *printed = NULL;
    struct ctt_graph *g = NULL;

    if (strcmp(c->name, "index") == 0 || strcmp(c->name, "train/index") == 0)
        return complete_part(s, c, *c->name == 't' ? "train/" : "w/", n);
    text = ctt_chunk_text(c);
    *n = c->n;
    if (strcmp(c->name, "net") == 0 && strcmp(c->words, "raw") != 0 &&
        ctt_net_parse(text, &g) >= 0) {
        printed = ctt_net_print(g);
        FUZZ_CHECK(printed);
        *n = strlen(printed);
        ctt_free(text);
    }
    ctt_graph_free(&g);
    return printed ? printed : text;
}

static const char *const joined[] = { "net", "labels", "history", "index" };

static int is_joined(const char *name)
{
    for (size_t i = 0; i < CTT_LEN(joined); i++)
        if (strcmp(joined[i], name) == 0)
            return 1;
    return 0;
}

/* "%texts": the four texts in one dataset, after the line that tells their
 * sizes, or another line. */
static void put_texts(const struct parts *s, struct ctt_h5 *f,
                      const struct ctt_chunk *c)
{
    static char all[CTT_FUZZ_ROOM], body[CTT_FUZZ_ROOM];
    size_t at = 0, end = 0, n;

    for (size_t i = 0; i < CTT_LEN(joined); i++) {
        const struct ctt_chunk *one = find_part(s, joined[i]);
        char *text = one ? text_of(s, one, &n) : NULL;
        if (!text || end + n > sizeof(body)) {
            ctt_free(text);
            continue;
        }
        at += (size_t)snprintf(all + at, 64, "%s%s %zu", at ? " " : "",
                               joined[i], n);
        memcpy(body + end, text, n);
        end += n;
        ctt_free(text);
    }
    if (*c->words)
        at = (size_t)snprintf(all, sizeof(all), "%s", c->words);
    if (at + 1 + end > sizeof(all))
        return;
    all[at++] = '\n';
    memcpy(all + at, body, end);
    put_packed(f, c->name, all, at + end);
}

/* HDF5 gives "" and "." as a part of a name a meaning, which model files have
 * no use for. */
static int is_plain_name(const char *name)
{
    size_t n = strcspn(name, "/");

    if (n == 0 || (n == 1 && *name == '.'))
        return 0;
    return !name[n] || is_plain_name(name + n + 1);
}

/* A second part of the same name, or a name that HDF5 does not take, is left
 * out. */
static void put_array(struct parts *s, struct ctt_h5 *f, int k)
{
    const struct ctt_chunk *c = &s->c[k];
    struct ctt_h5_shape shape = part_shape(c);
    int64_t count;
    size_t n;

    if (is_joined(c->name) && find_part(s, "texts"))
        return;
    if (strcmp(c->name, "texts") == 0) {
        put_texts(s, f, c);
    } else if (is_joined(c->name) || strcmp(c->name, "train/settings") == 0 ||
               strcmp(c->name, "train/index") == 0 ||
               strcmp(c->name, "decision") == 0) {
        char *text = text_of(s, c, &n);
        put_packed(f, c->name, text, n);
        ctt_free(text);
    } else if (is_plain_name(c->name) && *c->name != '!') {
        const uint8_t *p = part_bytes(c, &shape, &count);
        s->stored[k] = ctt_h5_write(f, c->name, &shape, p) >= 0;
    }
}

static int has_folder(const struct parts *s, const char *folder)
{
    int n = 0;

    for (int i = 0; i < s->count; i++)
        n += strncmp(s->c[i].name, folder, strlen(folder)) == 0;
    return n;
}

static void put_head(const struct parts *s, struct ctt_h5 *f)
{
    const struct ctt_chunk *format = find_part(s, "!format");
    const struct ctt_chunk *least = find_part(s, "!least_reader");
    const struct ctt_chunk *version = find_part(s, "!version");
    char text[CTT_H5_TEXT];

    snprintf(text, sizeof(text), "%.60s", format ? format->words : "convtt");
    FUZZ_CHECK(ctt_h5_put_text(f, "format", text) >= 0);
    snprintf(text, sizeof(text), "%.60s", least ? least->words : "0.1");
    FUZZ_CHECK(ctt_h5_put_text(f, "least_reader", text) >= 0);
    FUZZ_CHECK(ctt_h5_put_int(f, "version",
                              version ? atoi(version->words) : 1) >= 0);
    if (has_folder(s, "w/"))
        FUZZ_CHECK(ctt_h5_group(f, "w", PARTS) >= 0);
    if (has_folder(s, "train/"))
        FUZZ_CHECK(ctt_h5_group(f, "train", PARTS) >= 0);
}

/* The arrays in the file equal the written ones. */
static void check_arrays(const struct parts *s, const char *path,
                         const uint8_t *image, int64_t size)
{
    struct ctt_h5 *f = NULL;
    int64_t count;

    FUZZ_CHECK(ctt_h5_open_image(path, image, size, &f) >= 0);
    for (int i = 0; i < s->count; i++) {
        struct ctt_h5_shape shape = part_shape(&s->c[i]);
        const uint8_t *p = part_bytes(&s->c[i], &shape, &count);

        FUZZ_CHECK(!s->stored[i] ||
                   ctt_h5_check(f, s->c[i].name, &shape, p) >= 0);
    }
    ctt_h5_close(&f);
}

static const char *make_file(struct parts *s)
{
    const char *path = ctt_scratch("a.h5");
    struct ctt_h5 *f = NULL;
    uint8_t *image = NULL;
    int64_t size = 0;

    FUZZ_CHECK(ctt_h5_new(path, 1 << 21, 4 * PARTS, &f) >= 0);
    put_head(s, f);
    for (int i = 0; i < s->count; i++)
        put_array(s, f, i);
    FUZZ_CHECK(ctt_h5_image(f, &image, &size) >= 0);
    check_arrays(s, path, image, size);
    ctt_scratch_put("a.h5", image, (size_t)size);
    ctt_free(image);
    ctt_h5_close(&f);
    return path;
}

/* ---- checks ---- */

static int same_string(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "") == 0;
}

static void check_train(const struct ctt_state *a, const struct ctt_state *b)
{
    FUZZ_CHECK(!a == !b);
    if (!a)
        return;
    FUZZ_CHECK(a->count == b->count && same_string(a->settings, b->settings));
    for (int i = 0; i < a->count; i++) {
        const struct ctt_array *x = &a->array[i], *y = &b->array[i];
        FUZZ_CHECK(strcmp(x->name, y->name) == 0 && x->size == y->size &&
                   x->count == y->count);
        FUZZ_CHECK(memcmp(x->data, y->data, (size_t)(x->count * x->size)) == 0);
    }
}

static void check_same(const struct ctt_model *m,
                       const struct ctt_model *again)
{
    const struct ctt_constraint *a = &again->constraint, *b = &m->constraint;
    size_t weights = (size_t)m->g->weights;

    FUZZ_CHECK(again->g->weights == m->g->weights &&
               memcmp(again->w, m->w, weights * 4) == 0);
    FUZZ_CHECK(!a->keep == !b->keep && !a->share == !b->share);
    FUZZ_CHECK(!b->keep || memcmp(a->keep, b->keep, weights) == 0);
    FUZZ_CHECK(!b->share || memcmp(a->share, b->share, weights) == 0);
    FUZZ_CHECK(again->labels == m->labels);
    for (int i = 0; i < m->labels; i++)
        FUZZ_CHECK(strcmp(m->label[i], again->label[i]) == 0);
    FUZZ_CHECK(same_string(m->history, again->history));
    check_train(m->train, again->train);
}

/* A loaded model can be copied and saved, and is then unchanged. */
static void check_saved_again(const struct ctt_model *m)
{
    const char *other = ctt_scratch("b.h5");
    struct ctt_model *again = NULL;
    int decides = ctt_model_decides(m);

    FUZZ_CHECK(decides >= 0);
    FUZZ_CHECK(ctt_model_params(m) >= 0);
    FUZZ_CHECK(ctt_model_copy(m, &again) >= 0);
    check_same(m, again);
    FUZZ_CHECK(!again->decision);
    ctt_model_free(&again);
    FUZZ_CHECK(ctt_model_save(other, m) >= 0);
    FUZZ_CHECK(ctt_model_load(other, 1, &again) >= 0);
    check_same(m, again);
    FUZZ_CHECK(same_string(decides ? m->decision : NULL, again->decision));
    ctt_model_free(&again);
}

/* Kernels that stay in the file are those of the model m, if that could be
 * loaded. */
static void check_late(const char *path, const struct ctt_model *m)
{
    int64_t old = ctt_late_least(1);
    struct ctt_model *late = NULL;
    const float *x;

    if (ctt_model_load_late(path, &late) < 0)
        FUZZ_CHECK(!m && !late);
    for (int i = 0; late && i < late->g->count; i++) {
        const struct ctt_node *n = &late->g->node[i];
        struct ctt_late *w = ctt_late_find(late->late, n, 0);
        int rc = w ? ctt_late_get(w, &x) : CTT_ENAN;

        FUZZ_CHECK(!m || rc >= 0 || rc == CTT_ENAN);
        if (rc >= 0 && m)
            FUZZ_CHECK(memcmp(x, m->w + n->at[0], sizeof(*x) *
                              (size_t)ctt_volume(&n->w[0])) == 0);
        if (rc >= 0)
            ctt_late_put(w);
    }
    ctt_model_free(&late);
    ctt_late_least(old);
}

static void load_and_check(const char *path)
{
    struct ctt_model *m = NULL;
    struct ctt_stored *s = NULL;
    int64_t size = 0;
    int count = 0, ok;

    ok = ctt_model_stored(path, &s, &count, &size) >= 0;
    FUZZ_CHECK(!ok || (size > 0 && count >= 0));
    ctt_free(s);
    if (ctt_model_load(path, 1, &m) >= 0) {
        FUZZ_CHECK(ok);    /* without /train there is less to be wrong */
        check_saved_again(m);
    } else {
        FUZZ_CHECK(!m);
        ctt_fuzz_refused(path);
    }
    check_late(path, m);
    ctt_model_free(&m);
}

/* A file with the signature of HDF5 and a last line gets its checksum, so that
 * HDF5 meets forged bytes. */
static const char *put_file(const uint8_t *p, size_t n)
{
    static uint8_t file[CTT_FUZZ_ROOM];
    char end[CTT_H5_END];

    if (n <= CTT_H5_END || n > sizeof(file) || p[0] != 0x89 ||
        p[n - 1] != '\n')
        return ctt_scratch_put("a.h5", p, n);
    memcpy(file, p, n);
    ctt_h5_end(p, (int64_t)n - CTT_H5_END, end);
    memcpy(file + n - CTT_H5_END, end, CTT_H5_END);
    return ctt_scratch_put("a.h5", file, n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    long live = ctt_live_blocks();
    struct parts s = { .count = 0 };

    s.count = ctt_chunks(data, size, s.c, PARTS);
    load_and_check(s.count ? make_file(&s) : put_file(data, size));
    FUZZ_CHECK(ctt_live_blocks() == live);
    return 0;
}

/* HDF5 1.10 leaks small blocks when it refuses a forged file: HDF5 as a library
 * of its own, and as a part of the program. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libhdf5\nleak:^H5\n";
}
