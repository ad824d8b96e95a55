/* SPDX-License-Identifier: Apache-2.0
 * test_file.c: models in memory and in files, whole and damaged. */
#include "tests/check.h"
#include "net/file.h"
#include "net/h5.h"
#include "net/random.h"
#include "net/zip.h"

#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char net[] =
    "input x h=12 w=12 c=3 fps=12 mean=0.45 std=0.25\n"
    "conv c1 in=x out=8 kernel=3 stride=2 pad=1\n"
    "norm n1 in=c1 kind=batch\n"
    "convlstm h in=n1 hidden=6\n"
    "clip\n"
    "window v in=h steps=3\n"
    "add s in=v bias=1\n"
    "conv c2 in=s out=5 kernel=3,6,6\n"
    "norm n2 in=c2 kind=layer\n"
    "deconv y in=n2 out=4\n";

#define TEXT "input x c=2\nconv y in=x out=3 bias=0\n"

static char dir[] = "/tmp/convtt-file-XXXXXX";
static char path[sizeof(dir) + 8], other[sizeof(dir) + 8];

/* ---- models to save ---- */

static float noise(uint64_t i)
{
    return (float)(int32_t)ctt_random(3, i) * 0x1p-34f;
}

static struct ctt_model *make(const char *text)
{
    struct ctt_graph *g = NULL;
    struct ctt_model *m = NULL;

    CHECK_OK(ctt_net_parse(text, &g));
    CHECK_OK(ctt_model_new(g, &m));
    for (int i = 0; i < m->g->count; i++) {
        const struct ctt_node *n = &m->g->node[i];
        for (int k = 0; k < n->nw; k++)
            for (int64_t j = 0; j < ctt_volume(&n->w[k]); j++)
                m->w[n->at[k] + j] = noise((uint64_t)(n->at[k] + j));
    }
    return m;
}

static void name_it(struct ctt_model *m)
{
    char *label[] = { "pushing something", "", "a\nb", "\303\251" };

    CHECK_OK(ctt_model_labels(m, label, 4));
    m->history = ctt_strdup("trained 3 epochs\npruned 0.9\n");
}

/* The first weight is pruned whole, the second not at all. */
static void prune(struct ctt_model *m)
{
    m->keep = ctt_calloc((size_t)m->g->weights, 1);
    memset(m->keep, 1, (size_t)m->g->weights);
    for (int i = 0, at = 0; i < m->g->count; i++) {
        const struct ctt_node *n = &m->g->node[i];
        for (int k = 0; k < n->nw; k++, at++)
            for (int64_t j = n->at[k]; j < n->at[k] + ctt_volume(&n->w[k]);
                 j++) {
                m->keep[j] = at == 1 || (at && ctt_random(9, (uint64_t)j)
                                         < UINT32_MAX / 10);
                m->w[j] = m->keep[j] ? m->w[j] : 0;
            }
    }
}

static void train(struct ctt_model *m)
{
    static const float odd[] = { NAN, -INFINITY, -0.0f, 1e-42f };
    static const int64_t big[] = { INT64_MIN, -1, INT64_MAX };

    CHECK_OK(ctt_state_new(&m->train));
    m->train->settings = ctt_strdup("epochs=3\nseed=7\n");
    CHECK_OK(ctt_state_add(m->train, "moment1", 4, m->g->weights, m->w));
    CHECK_OK(ctt_state_add(m->train, "odd", 4, 4, odd));
    CHECK_OK(ctt_state_add(m->train, "cursor", 8, 3, big));
    CHECK_OK(ctt_state_add(m->train, "order", 1, 5, "\0\1\2\377x"));
    CHECK_OK(ctt_state_add(m->train, "none", 4, 0, NULL));
}

/* ---- equality ---- */

static int same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static int same_train(const struct ctt_state *a, const struct ctt_state *b)
{
    if (!a || !b)
        return a == b;
    if (!same_text(a->settings, b->settings) || a->count != b->count)
        return 0;
    for (int i = 0; i < a->count; i++) {
        const struct ctt_array *x = &a->array[i], *y = &b->array[i];
        if (strcmp(x->name, y->name) || x->size != y->size ||
            x->count != y->count ||
            memcmp(x->data, y->data, (size_t)(x->count * x->size)))
            return 0;
    }
    return 1;
}

static int same_keep(const struct ctt_model *a, const struct ctt_model *b)
{
    if (!a->keep || !b->keep)
        return a->keep == b->keep;
    for (int i = 0; i < a->g->count; i++) {
        const struct ctt_node *n = &a->g->node[i];
        for (int k = 0; k < n->nw; k++)
            if (memcmp(a->keep + n->at[k], b->keep + n->at[k],
                       (size_t)ctt_volume(&n->w[k])))
                return 0;
    }
    return 1;
}

static int same(const struct ctt_model *a, const struct ctt_model *b)
{
    char *ta = ctt_net_print(a->g), *tb = ctt_net_print(b->g);
    int ok = same_text(ta, tb) && a->labels == b->labels &&
             same_text(a->history, b->history) && same_keep(a, b) &&
             memcmp(a->w, b->w, (size_t)a->g->weights * 4) == 0;

    for (int i = 0; ok && i < a->labels; i++)
        ok = same_text(a->label[i], b->label[i]);
    ctt_free(ta);
    ctt_free(tb);
    return ok && same_train(a->train, b->train);
}

/* ---- files as bytes ---- */

static uint8_t *slurp(const char *name, int64_t *n)
{
    FILE *f = fopen(name, "rb");
    uint8_t *p;

    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    fseek(f, 0, SEEK_END);
    *n = ftell(f);
    rewind(f);
    p = ctt_calloc((size_t)*n, 1);
    CU_ASSERT_EQUAL((int64_t)fread(p, 1, (size_t)*n, f), *n);
    fclose(f);
    return p;
}

static void spill(const char *name, const uint8_t *p, int64_t n)
{
    FILE *f = fopen(name, "wb");

    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    CU_ASSERT_EQUAL((int64_t)fwrite(p, 1, (size_t)n, f), n);
    CU_ASSERT_EQUAL(fclose(f), 0);
}

/* An error in one line that names the file. */
static void check_refused(const char *name, int code, const char *says)
{
    struct ctt_model *m = NULL;
    int rc = ctt_model_load(name, 1, &m);

    if (rc != code || !strstr(ctt_errmsg(), says) ||
        strncmp(ctt_errmsg(), name, strlen(name)) ||
        strchr(ctt_errmsg(), '\n'))
        printf("\n    %d, wanted %d, %s: %s", rc, code, says, ctt_errmsg());
    CU_ASSERT_EQUAL(rc, code);
    CU_ASSERT_PTR_NULL(m);
    CU_ASSERT_PTR_NOT_NULL(strstr(ctt_errmsg(), says));
    CU_ASSERT(strncmp(ctt_errmsg(), name, strlen(name)) == 0);
    CU_ASSERT_PTR_NULL(strchr(ctt_errmsg(), '\n'));
    ctt_model_free(&m);
}

/* ---- what is kept ---- */

enum { NAMES = 1, PRUNED = 2, TRAIN = 4 };

static struct ctt_model *variant(int what)
{
    struct ctt_model *m = make(net);

    if (what & NAMES)
        name_it(m);
    if (what & PRUNED)
        prune(m);
    if (what & TRAIN)
        train(m);
    return m;
}

static void test_round_trip(void)
{
    for (int what = 0; what < 8; what++) {
        struct ctt_model *m = variant(what), *back = NULL, *copy = NULL;
        int64_t n1, n2;
        uint8_t *a, *b;

        CHECK_OK(ctt_model_save(path, m));
        CHECK_OK(ctt_model_load(path, 1, &back));
        CU_ASSERT(same(m, back));
        CHECK_OK(ctt_model_copy(m, &copy));
        CU_ASSERT(same(m, copy));
        CHECK_OK(ctt_model_save(other, copy));
        a = slurp(path, &n1);
        b = slurp(other, &n2);
        CU_ASSERT(n1 == n2 && memcmp(a, b, (size_t)n1) == 0);
        ctt_free(a);
        ctt_free(b);
        ctt_model_free(&m);
        ctt_model_free(&back);
        ctt_model_free(&copy);
    }
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

/* Weights that are not numbers come back as they are. */
static void test_odd_weights(void)
{
    for (int pruned = 0; pruned < 2; pruned++) {
        struct ctt_model *m = variant(pruned ? PRUNED : 0), *back = NULL;
        float *b = m->w + m->g->node[1].at[1];

        b[0] = NAN;
        b[1] = -INFINITY;
        b[2] = -0.0f;
        CHECK_OK(ctt_model_save(path, m));
        CHECK_OK(ctt_model_load(path, 0, &back));
        CU_ASSERT(same(m, back));
        ctt_model_free(&m);
        ctt_model_free(&back);
    }
}

/* A saved state that nobody asks for is not read, and a file without is less
 * by it. */
static void test_strip(void)
{
    struct ctt_model *m = variant(NAMES | TRAIN), *back = NULL;
    struct stat full, less;

    CHECK_OK(ctt_model_save(path, m));
    CHECK_OK(ctt_model_load(path, 0, &back));
    CU_ASSERT_PTR_NULL(back->train);
    CHECK_OK(ctt_model_save(other, back));
    CU_ASSERT_EQUAL(stat(path, &full) | stat(other, &less), 0);
    CU_ASSERT(less.st_size < full.st_size - 4 * m->g->weights);
    ctt_state_free(&m->train);
    CU_ASSERT(same(m, back));
    ctt_model_free(&m);
    ctt_model_free(&back);
}

static void test_params(void)
{
    struct ctt_model *m = variant(0);
    int64_t all = 0;

    for (int i = 0; i < m->g->count; i++)
        all += ctt_node_params(&m->g->node[i]);
    CU_ASSERT_EQUAL(ctt_model_params(m), all);
    prune(m);
    CU_ASSERT(ctt_model_params(m) < all / 5);
    memset(m->keep, 1, (size_t)m->g->weights);
    CU_ASSERT_EQUAL(ctt_model_params(m), all);
    ctt_model_free(&m);
}

static void test_stored(void)
{
    struct ctt_model *m = variant(PRUNED | NAMES);
    struct ctt_stored *s = NULL;
    int64_t bytes, kept = 0, size = 0;
    struct stat st;
    int n;

    CHECK_OK(ctt_model_save(path, m));
    CHECK_OK(ctt_model_stored(path, &s, &n, &bytes));
    CU_ASSERT_EQUAL(n, 16);
    CU_ASSERT_STRING_EQUAL(s[0].name, "c1.w");
    CU_ASSERT_EQUAL(s[0].kept, 0);
    CU_ASSERT_EQUAL(s[0].size, 1);
    CU_ASSERT_STRING_EQUAL(s[1].name, "c1.b");
    CU_ASSERT_STRING_EQUAL(s[1].positions, "all");
    CU_ASSERT_STRING_EQUAL(s[5].name, "n1.var");
    for (int i = 0; i < n; i++) {
        kept += s[i].kept;
        size += s[i].size;
    }
    CU_ASSERT_EQUAL(kept, ctt_model_params(m));
    CU_ASSERT_EQUAL(stat(path, &st), 0);
    CU_ASSERT_EQUAL(bytes, st.st_size);
    CU_ASSERT(bytes <= size + 4096 + 32 * n);
    ctt_free(s);
    ctt_model_free(&m);
}

/* A net of many weights; the whole file counts, texts and all. */
static void test_overhead(void)
{
    static const char text[] =
        "input x h=32 w=32 c=3\n"
        "convttlstm a in=x hidden=16 kernel=5 order=3 steps=3 rank=8\n"
        "resblock b in=a out=24 stride=2\nresblock c in=b out=24\n"
        "convttlstm d in=c hidden=16 kernel=5 order=3 steps=3 rank=8\n"
        "clip\nwindow v in=d steps=8\nconv e in=v out=32 kernel=3\n"
        "pool p in=e kind=avg\nconv y in=p out=12\n";
    struct ctt_model *m = make(text);
    struct ctt_stored *s = NULL;
    int64_t bytes, size = 0, kept = 0;
    int n;

    name_it(m);
    prune(m);
    CHECK_OK(ctt_model_save(path, m));
    CHECK_OK(ctt_model_stored(path, &s, &n, &bytes));
    for (int i = 0; i < n; i++) {
        size += s[i].size;
        kept += s[i].kept;
    }
    CU_ASSERT(bytes <= size + 4096 + 32 * n);
    CU_ASSERT(size < kept * 5);    /* positions take less than a byte each */
    ctt_free(s);
    ctt_model_free(&m);
}

/* ---- damage ---- */

/* No byte is without a check. */
static void test_flips(void)
{
    for (int what = 0; what <= (NAMES | TRAIN | PRUNED); what++) {
        struct ctt_model *m = variant(what), *back = NULL;
        int64_t n, step;
        uint8_t *p;
        int fd;

        CHECK_OK(ctt_model_save(path, m));
        p = slurp(path, &n);
        fd = open(path, O_WRONLY);
        step = n / 1500 + 1;
        for (int64_t i = 0; i < n; i += i < 512 || i > n - 20 ? 1 : step) {
            uint8_t bad = p[i] ^ (uint8_t)(1u << (uint64_t)i % 8);
            CU_ASSERT_EQUAL(pwrite(fd, &bad, 1, i), 1);
            CU_ASSERT(ctt_model_load(path, 1, &back) < 0);
            CU_ASSERT(strncmp(ctt_errmsg(), path, strlen(path)) == 0);
            CU_ASSERT_EQUAL(pwrite(fd, p + i, 1, i), 1);
        }
        CHECK_OK(ctt_model_load(path, 1, &back));
        CU_ASSERT(same(m, back));
        close(fd);
        ctt_model_free(&back);
        ctt_model_free(&m);
        ctt_free(p);
    }
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

static void test_truncated(void)
{
    struct ctt_model *m = variant(NAMES | TRAIN | PRUNED), *back = NULL;
    int64_t n;
    uint8_t *p;

    CHECK_OK(ctt_model_save(path, m));
    p = slurp(path, &n);
    for (int64_t i = n - 1; i >= 0; i -= i < 100 ? 1 : 97) {
        CU_ASSERT_EQUAL(truncate(path, i), 0);
        CU_ASSERT(ctt_model_load(path, 1, &back) < 0);
        CU_ASSERT(strncmp(ctt_errmsg(), path, strlen(path)) == 0);
    }
    check_refused(path, CTT_EFORMAT, "the file is empty");
    for (int64_t from = 0; from < n; from += n / 23) {    /* zeros follow */
        spill(path, p, n);
        CU_ASSERT_EQUAL(truncate(path, from), 0);
        CU_ASSERT_EQUAL(truncate(path, n), 0);
        CU_ASSERT(ctt_model_load(path, 1, &back) < 0);
    }
    spill(path, p, n - 1);
    check_refused(path, CTT_EFORMAT, "cut short");
    p[n / 2] ^= 1;
    spill(path, p, n);
    check_refused(path, CTT_EFORMAT, "damaged");
    ctt_free(p);
    ctt_model_free(&m);
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

static void test_not_a_model(void)
{
    check_refused("/nowhere/x.h5", CTT_EIO, "No such file");
    check_refused(dir, CTT_EIO, "not a regular file");
    check_refused("/dev/null", CTT_EIO, "not a regular file");
    spill(path, (const uint8_t *)"input x c=1\n", 12);
    check_refused(path, CTT_EFORMAT, "not a model file");
    spill(path, (const uint8_t *)TEXT TEXT, sizeof(TEXT TEXT));
    check_refused(path, CTT_EFORMAT, "not a model file (no HDF5");
    spill(path, (const uint8_t *)"\x89HDF\r\n\x1a\n\0" TEXT, 32);
    check_refused(path, CTT_EFORMAT, "cut short");
}

/* ---- files that lie, with every checksum right ---- */

struct lie {
    const char *format, *least, *text, *index, *labels;
    int         version;
    const char *says;
    int         code;
};

static void put_bytes(struct ctt_h5 *f, const char *name, const void *p,
                      int64_t n)
{
    const struct ctt_h5_shape s = { .size = 1, .rank = 1, .dim = { n } };

    CHECK_OK(ctt_h5_write(f, name, &s, p));
}

static void put_text(struct ctt_h5 *f, const char *name, const char *text,
                     int64_t n)
{
    uint8_t *zip = NULL;
    int64_t size;

    CHECK_OK(ctt_gzip(text, n, &zip, &size));
    put_bytes(f, name, zip, size);
    ctt_free(zip);
}

#define LINE "y.w 3,1,1,1,2 all f32 raw 6 24 e29d0b6b\n"

/* The weights of all these files. */
static const uint8_t ones[] = {
    0, 0, 0x80, 0x3f, 0, 0, 0x80, 0x3f, 0, 0, 0x80, 0x3f,
    0, 0, 0x80, 0x3f, 0, 0, 0x80, 0x3f, 0, 0, 0x80, 0x3f
};

static const struct lie good = {
    "convtt", "0.1", TEXT, NULL, NULL, 1, NULL, 0
};

static void write_lie(const struct lie *l, const char *name)
{
    struct ctt_h5 *f = NULL;
    uint8_t *image = NULL;
    char line[256];
    int64_t size;

    snprintf(line, sizeof(line), "y.w 3,1,1,1,2 all f32 raw 6 24 %08x\n",
             (unsigned)ctt_crc32(0, ones, 1, 24));
    CHECK_OK(ctt_h5_new(name, 1 << 16, 8, &f));
    CHECK_OK(ctt_h5_put_text(f, "format", l->format ? l->format : "convtt"));
    CHECK_OK(ctt_h5_put_text(f, "least_reader", l->least ? l->least : "0.1"));
    CHECK_OK(ctt_h5_put_int(f, "version", l->version));
    put_text(f, "net", l->text ? l->text : TEXT,
             (int64_t)strlen(l->text ? l->text : TEXT));
    if (l->labels)
        put_text(f, "labels", l->labels, (int64_t)strlen(l->labels));
    put_text(f, "index", l->index ? l->index : line,
             (int64_t)strlen(l->index ? l->index : line));
    put_bytes(f, "packed", ones, 24);
    put_text(f, "from_the_future", "x", 1);
    CHECK_OK(ctt_h5_image(f, &image, &size));
    spill(name, image, size);
    ctt_free(image);
    ctt_h5_close(&f);
}

#define BIG "input x c=1048576\nconv y in=x out=1048576 bias=0\n"

static void test_lies(void)
{
    static const struct lie lies[] = {
        { .format = "other", .version = 1, .says = "format 'other'",
          .code = CTT_EFORMAT },
        { .least = "99.0", .version = 9, .says = "needs convtt >= 99.0",
          .code = CTT_EUNSUP },
        { .version = 0, .says = "no version 0", .code = CTT_EFORMAT },
        { .text = "input x c=2\nconv y in=z out=3\n", .version = 1,
          .says = "net: line 2: y: no node 'z'", .code = CTT_EFORMAT },
        { .text = "input x c=2\nconv y in=x out=3 bias=0 kernel=1,3,3 pad=1\n",
          .version = 1, .code = CTT_EFORMAT,
          .says = "weight 'y.w' has shape 3,1,1,1,2 but the net says "
                  "3,1,3,3,2" },
        { .text = "input x c=2\nconv z in=x out=3 bias=0\n", .version = 1,
          .says = "weight 'y.w' stands where the net has 'z.w'",
          .code = CTT_EFORMAT },
        { .text = "input x c=2\nconv y in=x out=3\n", .version = 1,
          .says = "weight 'y.b' is missing", .code = CTT_EFORMAT },
        { .text = "input x c=2\nact y in=x kind=relu\n", .version = 1,
          .says = "weight 'y.w' is not in the net", .code = CTT_EFORMAT },
        { .text = BIG, .version = 1, .says = "more than a file of",
          .code = CTT_EFORMAT },
        { .index = "y.w 3,1,1,1,2 all f32 raw 6 24 00000000\n", .version = 1,
          .says = "weight 'y.w' is damaged", .code = CTT_EFORMAT },
        { .index = "y.w 3,1,1,1,2 all f32 raw 6 24\n", .version = 1,
          .says = "its line of the index", .code = CTT_EFORMAT },
        { .index = "y.w 3,1,1,1,2 all f32 raw 7 24 00000000\n", .version = 1,
          .says = "its line of the index", .code = CTT_EFORMAT },
        { .index = "y.w 3,1,1,1,2 all f32 raw -6 24 00000000\n", .version = 1,
          .says = "its line of the index", .code = CTT_EFORMAT },
        { .index = "y.w 3,1,1,1,2 all f32 raw 6 9223372036854775807 "
                   "00000000\n", .version = 1,
          .says = "ends behind 'packed'", .code = CTT_EFORMAT },
        { .index = "y.w 3,1,1,1,2 all f32 raw 6 99223372036854775807 "
                   "00000000\n", .version = 1,
          .says = "its line of the index", .code = CTT_EFORMAT },
        { .index = "y.w", .version = 1, .says = "weight 'y.w' is missing",
          .code = CTT_EFORMAT },
        { .index = "\n", .version = 1, .says = "weight '' stands",
          .code = CTT_EFORMAT },
        { .labels = "no end", .version = 1, .says = "last label",
          .code = CTT_EFORMAT },
    };
    struct ctt_model *m = NULL;

    for (size_t i = 0; i < CTT_LEN(lies); i++) {
        write_lie(&lies[i], path);
        check_refused(path, lies[i].code, lies[i].says);
    }
    write_lie(&good, path);
    CHECK_OK(ctt_model_load(path, 1, &m));
    CU_ASSERT_PTR_NULL(m->keep);
    CU_ASSERT_EQUAL(m->w[5], 1.0f);
    ctt_model_free(&m);
    write_lie(&(struct lie){ .version = 7 }, path);    /* newer, but legible */
    CHECK_OK(ctt_model_load(path, 1, &m));
    ctt_model_free(&m);
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

/* Each coding with a right checksum over wrong bytes. */
static void test_wrong_payloads(void)
{
    static const struct { const char *how; int size; const char *says; } bad[]
    = {
        { "all f32 raw 5", 20, "its positions (all)" },
        { "mask f32 raw 5", 21, "its positions (mask)" },
        { "index f32 raw 5", 21, "its positions (index)" },
        { "all f32 raw 6", 23, "its values are missing" },
        { "index f32 raw 1", 24, "24 bytes are too many" },
        { "all f32 raw 6", 20, "its values are missing" },
        { "index f32 raw 5", 22, "'packed' has bytes of no weight" },
        { "all f32 deflate 6", 24, "damaged" },
        { "2:4 f32 raw 6", 24, "no positions '2:4'" },
        { "all int8 raw 6", 24, "no values 'int8'" },
        { "all f32 huffman 6", 24, "no bytes 'huffman'" },
    };
    char line[256];

    for (size_t i = 0; i < CTT_LEN(bad); i++) {
        const struct lie l = { .version = 1, .index = line };
        snprintf(line, sizeof(line), "y.w 3,1,1,1,2 %s %d %08x\n", bad[i].how,
                 bad[i].size, (unsigned)ctt_crc32(0, ones, 1, bad[i].size));
        write_lie(&l, path);
        check_refused(path, strncmp(bad[i].says, "no ", 3) ? CTT_EFORMAT
                                                           : CTT_EUNSUP,
                      bad[i].says);
    }
}

/* A plain dataset of another shape than index and net say. */
static void test_plain_shape(void)
{
    static const struct ctt_h5_shape shapes[] = {
        { .size = 4, .rank = 1, .dim = { 6 } },
        { .size = 4, .rank = 5, .dim = { 2, 1, 1, 1, 3 } },
        { .size = 8, .rank = 5, .dim = { 3, 1, 1, 1, 2 } },
    };
    static const char *const says[] = {
        "w/y.w is of another shape", "w/y.w is of another shape",
        "w/y.w does not hold numbers of its kind"
    };
    static const int64_t x[6] = { 0 };
    uint8_t *image = NULL;
    int64_t size;

    for (size_t i = 0; i < CTT_LEN(shapes); i++) {
        struct ctt_h5 *f = NULL;
        CHECK_OK(ctt_h5_new(path, 1 << 16, 8, &f));
        CHECK_OK(ctt_h5_put_text(f, "format", "convtt"));
        CHECK_OK(ctt_h5_put_text(f, "least_reader", "0.1"));
        CHECK_OK(ctt_h5_put_int(f, "version", 1));
        put_text(f, "net", TEXT, (int64_t)strlen(TEXT));
        put_text(f, "index", LINE, (int64_t)strlen(LINE));
        CHECK_OK(ctt_h5_group(f, "w", 1));
        CHECK_OK(ctt_h5_write(f, "w/y.w", &shapes[i], x));
        CHECK_OK(ctt_h5_image(f, &image, &size));
        spill(path, image, size);
        ctt_free(image);
        ctt_h5_close(&f);
        check_refused(path, CTT_EFORMAT, says[i]);
    }
}

/* The parts of a file whose contents are convtt's own, to write it again. */
struct part {
    const char         *name;
    uint8_t            *p;
    struct ctt_h5_shape s;
};

static void take_parts(struct part *part, int parts)
{
    struct ctt_h5 *f = NULL;

    CHECK_OK(ctt_h5_open(path, &f));
    for (int i = 0; i < parts; i++) {
        CHECK_OK(ctt_h5_shape(f, part[i].name, &part[i].s));
        part[i].p = ctt_calloc((size_t)part[i].s.dim[0], 1);
        CHECK_OK(ctt_h5_read(f, part[i].name, &part[i].s, part[i].p));
    }
    ctt_h5_close(&f);
}

static void write_parts(const struct part *part, int parts)
{
    struct ctt_h5 *f = NULL;
    uint8_t *image = NULL;
    int64_t size;

    CHECK_OK(ctt_h5_new(path, 1 << 16, parts, &f));
    CHECK_OK(ctt_h5_put_text(f, "format", "convtt"));
    CHECK_OK(ctt_h5_put_text(f, "least_reader", "0.1"));
    CHECK_OK(ctt_h5_put_int(f, "version", 1));
    for (int i = 0; i < parts; i++)
        CHECK_OK(ctt_h5_write(f, part[i].name, &part[i].s, part[i].p));
    CHECK_OK(ctt_h5_image(f, &image, &size));
    spill(path, image, size);
    ctt_free(image);
    ctt_h5_close(&f);
}

/* Damage that the checks of the whole file and of HDF5 do not see, since the
 * file was made with it: what is inside has checks of its own, except for the
 * time and the system in the header of a gzip member. */
static void test_deep_flips(void)
{
    struct part part[] = {
        { "net" }, { "labels" }, { "history" }, { "index" }, { "packed" }
    };
    struct ctt_model *m = variant(NAMES | PRUNED), *back = NULL;
    int parts = CTT_LEN(part), refused = 0, tried = 0;

    CHECK_OK(ctt_model_save(path, m));
    take_parts(part, parts);
    write_parts(part, parts);
    CHECK_OK(ctt_model_load(path, 1, &back));
    CU_ASSERT(same(m, back));
    ctt_model_free(&back);
    for (int k = 0; k < parts; k++) {
        for (int64_t i = 0; i < part[k].s.dim[0]; i += 3, tried++) {
            part[k].p[i] ^= 0x10;
            write_parts(part, parts);
            part[k].p[i] ^= 0x10;
            if (ctt_model_load(path, 1, &back) < 0)
                refused++;
            else
                CU_ASSERT(same(m, back));
            ctt_model_free(&back);
        }
    }
    for (int k = 0; k < parts; k++)
        ctt_free(part[k].p);
    CU_ASSERT(refused > tried * 9 / 10);
    ctt_model_free(&m);
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

/* ---- writing ---- */

/* Files in dir. */
static int count_files(void)
{
    char command[64 + sizeof(dir)];
    FILE *f;
    int n = -1;

    snprintf(command, sizeof(command), "ls -A %s | wc -l", dir);
    f = popen(command, "r");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    CU_ASSERT_EQUAL(fscanf(f, "%d", &n), 1);
    pclose(f);
    return n;
}

static void test_unwritable(void)
{
    static const char *const bad[] = {
        "/nowhere/x.h5", "/dev/null/x.h5", "/dev/full", "/dev/null", "/tmp",
        "/proc/x.h5"
    };
    struct ctt_model *m = variant(0);

    for (size_t i = 0; i < CTT_LEN(bad); i++) {
        CU_ASSERT_EQUAL(ctt_model_save(bad[i], m), CTT_EIO);
        CU_ASSERT(strncmp(ctt_errmsg(), bad[i], strlen(bad[i])) == 0);
    }
    ctt_model_free(&m);
}

/* The disk is full after some bytes: the old file stays, the new one goes. */
static void test_full(void)
{
    struct ctt_model *m = variant(PRUNED), *n = variant(NAMES), *back = NULL;
    struct rlimit old, less;
    int files;

    CHECK_OK(ctt_model_save(path, m));
    files = count_files();
    signal(SIGXFSZ, SIG_IGN);
    CU_ASSERT_EQUAL(getrlimit(RLIMIT_FSIZE, &old), 0);
    less = old;
    for (rlim_t most = 0; most < 4096; most += 1000) {
        less.rlim_cur = most;
        CU_ASSERT_EQUAL(setrlimit(RLIMIT_FSIZE, &less), 0);
        int rc = ctt_model_save(path, n);
        CU_ASSERT_EQUAL(setrlimit(RLIMIT_FSIZE, &old), 0);
        CU_ASSERT_EQUAL(rc, CTT_EIO);
        CU_ASSERT_PTR_NOT_NULL(strstr(ctt_errmsg(), "cannot write"));
    }
    signal(SIGXFSZ, SIG_DFL);
    CU_ASSERT_EQUAL(count_files(), files);
    CHECK_OK(ctt_model_load(path, 1, &back));
    CU_ASSERT(same(m, back));
    ctt_model_free(&m);
    ctt_model_free(&n);
    ctt_model_free(&back);
}

/* Permissions and links stay. */
static void test_replace(void)
{
    struct ctt_model *m = variant(0), *back = NULL;
    char link[sizeof(dir) + 8];
    struct stat st;

    snprintf(link, sizeof(link), "%s/link", dir);
    unlink(path);
    CHECK_OK(ctt_model_save(path, m));
    CU_ASSERT_EQUAL(chmod(path, 0640), 0);
    CU_ASSERT_EQUAL(symlink("a.h5", link), 0);
    name_it(m);
    CHECK_OK(ctt_model_save(link, m));
    CU_ASSERT_EQUAL(lstat(link, &st), 0);
    CU_ASSERT(S_ISLNK(st.st_mode));
    CU_ASSERT_EQUAL(stat(path, &st), 0);
    CU_ASSERT_EQUAL(st.st_mode & 07777, 0640);
    CHECK_OK(ctt_model_load(path, 1, &back));
    CU_ASSERT(same(m, back));
    ctt_model_free(&m);
    ctt_model_free(&back);
    unlink(link);
}

/* Killed at any moment, the file is one of those saved. */
static void test_killed(void)
{
    struct ctt_model *a = variant(PRUNED), *b = variant(NAMES), *back = NULL;
    char command[64 + sizeof(dir)];

    CHECK_OK(ctt_model_save(path, a));
    for (int i = 0; i < 20; i++) {
        pid_t child = fork();
        CU_ASSERT_FATAL(child >= 0);
        while (child == 0)
            if (ctt_model_save(path, b) < 0 || ctt_model_save(path, a) < 0)
                _exit(1);
        nanosleep(&(struct timespec){ .tv_nsec = 1000000 + 700000 * i },
                  NULL);
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        CHECK_OK(ctt_model_load(path, 1, &back));
        CU_ASSERT(same(a, back) || same(b, back));
        ctt_model_free(&back);
    }
    ctt_model_free(&a);
    ctt_model_free(&b);
    snprintf(command, sizeof(command), "rm -f %s/*.tmp*", dir);
    CU_ASSERT_EQUAL(system(command), 0);
}

/* ---- memory ---- */

static void test_no_memory(void)
{
    struct ctt_model *m = variant(NAMES | TRAIN | PRUNED), *back = NULL;
    long live = ctt_live_blocks(), k;
    int rc = CTT_ENOMEM, files;

    CHECK_OK(ctt_model_save(path, m));
    files = count_files();
    for (k = 1; rc == CTT_ENOMEM; k++) {
        ctt_fail_alloc(k);
        rc = ctt_model_load(path, 1, &back);
        ctt_fail_alloc(0);
        CU_ASSERT((rc == 0) == (back != NULL));
        CU_ASSERT(rc == 0 || ctt_live_blocks() == live);
    }
    CHECK_OK(rc);
    CU_ASSERT(k > 50 && same(m, back));
    ctt_model_free(&back);
    for (rc = CTT_ENOMEM, k = 1; rc == CTT_ENOMEM; k++) {
        ctt_fail_alloc(k);
        rc = ctt_model_save(path, m);
        ctt_fail_alloc(0);
        CU_ASSERT_EQUAL(ctt_live_blocks(), live);
    }
    CHECK_OK(rc);
    CU_ASSERT(k > 50);
    CU_ASSERT_EQUAL(count_files(), files);
    for (rc = CTT_ENOMEM, k = 1; rc == CTT_ENOMEM; k++) {
        ctt_fail_alloc(k);
        rc = ctt_model_copy(m, &back);
        ctt_fail_alloc(0);
        CU_ASSERT(rc == 0 || (!back && ctt_live_blocks() == live));
    }
    CHECK_OK(rc);
    CU_ASSERT(same(m, back));
    ctt_model_free(&back);
    ctt_model_free(&m);
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

static void test_state(void)
{
    static const char *const bad[] = {
        "", ".x", "a/b", "a b", "index", "settings", "once",
        "a2345678901234567890123456789012345678901234567890"
    };
    struct ctt_state *s = NULL;

    CHECK_OK(ctt_state_new(&s));
    CHECK_OK(ctt_state_add(s, "once", 4, 2, NULL));
    for (size_t i = 0; i < CTT_LEN(bad); i++)
        CU_ASSERT_EQUAL(ctt_state_add(s, bad[i], 4, 2, NULL), CTT_EINVAL);
    CU_ASSERT_EQUAL(ctt_state_add(s, "x", 2, 2, NULL), CTT_EINVAL);
    CU_ASSERT_EQUAL(ctt_state_add(s, "x", 4, -1, NULL), CTT_EINVAL);
    CU_ASSERT_EQUAL(s->count, 1);
    CU_ASSERT_PTR_NOT_NULL(ctt_state_find(s, "once"));
    CU_ASSERT_PTR_NULL(ctt_state_find(s, "x"));
    ctt_state_free(&s);
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

static CU_TestInfo tests[] = {
    { "round trip", test_round_trip },
    { "weights that are no numbers", test_odd_weights },
    { "training state left out", test_strip },
    { "parameters", test_params },
    { "what is stored", test_stored },
    { "overhead", test_overhead },
    { "bits flipped", test_flips },
    { "bits flipped under the check", test_deep_flips },
    { "truncated", test_truncated },
    { "not a model", test_not_a_model },
    { "files that lie", test_lies },
    { "wrong payloads", test_wrong_payloads },
    { "plain dataset of another shape", test_plain_shape },
    { "unwritable", test_unwritable },
    { "full disk", test_full },
    { "permissions and links", test_replace },
    { "killed", test_killed },
    { "out of memory", test_no_memory },
    { "training state", test_state },
    CU_TEST_INFO_NULL
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { .pName = "file", .pTests = tests }, CU_SUITE_INFO_NULL
    };
    char command[64 + sizeof(dir)];
    int rc;

    if (!mkdtemp(dir))
        return 99;
    snprintf(path, sizeof(path), "%s/a.h5", dir);
    snprintf(other, sizeof(other), "%s/b.h5", dir);
    rc = ctt_check_main(suites);
    snprintf(command, sizeof(command), "rm -rf %s", dir);
    return system(command) == 0 ? rc : 99;
}
