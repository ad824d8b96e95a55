/* SPDX-License-Identifier: Apache-2.0
 * test_damage.c: model files that are damaged, cut short, not such files, or
 * that lie: an error that names the file and the thing, never a crash. */
#include "tests/lib/check.h"
#include "tests/lib/saved.h"
#include "net/h5.h"
#include "net/limits.h"
#include "net/code/zip.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define TEXT "input x c=2\nconv y in=x out=3 bias=0\n"

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

/* No byte is without a check. */
static void test_flips(void)
{
    for (int what = 0; what <= (NAMES | TRAIN | PRUNED | SHARED); what++) {
        struct ctt_model *m = saved_variant(what), *back = NULL;
        int64_t n, step;
        uint8_t *p;
        int fd;

        CHECK_OK(ctt_model_save(saved_path, m));
        p = saved_slurp(saved_path, &n);
        fd = open(saved_path, O_WRONLY);
        step = n / 1500 + 1;
        for (int64_t i = 0; i < n; i += i < 512 || i > n - 20 ? 1 : step) {
            uint8_t bad = p[i] ^ (uint8_t)(1u << (uint64_t)i % 8);
            CU_ASSERT_EQUAL(pwrite(fd, &bad, 1, i), 1);
            CU_ASSERT(ctt_model_load(saved_path, 1, &back) < 0);
            CU_ASSERT(strncmp(ctt_errmsg(), saved_path, strlen(saved_path))
                      == 0);
            CU_ASSERT_EQUAL(pwrite(fd, p + i, 1, i), 1);
        }
        CHECK_OK(ctt_model_load(saved_path, 1, &back));
        CU_ASSERT(saved_same(m, back));
        close(fd);
        ctt_model_free(&back);
        ctt_model_free(&m);
        ctt_free(p);
    }
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

static void test_truncated(void)
{
    struct ctt_model *m = saved_variant(NAMES | TRAIN | PRUNED), *back = NULL;
    int64_t n;
    uint8_t *p;

    CHECK_OK(ctt_model_save(saved_path, m));
    p = saved_slurp(saved_path, &n);
    for (int64_t i = n - 1; i >= 0; i -= i < 100 ? 1 : 97) {
        CU_ASSERT_EQUAL(truncate(saved_path, i), 0);
        CU_ASSERT(ctt_model_load(saved_path, 1, &back) < 0);
        CU_ASSERT(strncmp(ctt_errmsg(), saved_path, strlen(saved_path)) == 0);
    }
    check_refused(saved_path, CTT_EFORMAT, "the file is empty");
    for (int64_t from = 0; from < n; from += n / 23) {    /* zeros follow */
        saved_spill(saved_path, p, n);
        CU_ASSERT_EQUAL(truncate(saved_path, from), 0);
        CU_ASSERT_EQUAL(truncate(saved_path, n), 0);
        CU_ASSERT(ctt_model_load(saved_path, 1, &back) < 0);
    }
    saved_spill(saved_path, p, n - 1);
    check_refused(saved_path, CTT_EFORMAT, "cut short");
    p[n / 2] ^= 1;
    saved_spill(saved_path, p, n);
    check_refused(saved_path, CTT_EFORMAT, "damaged");
    ctt_free(p);
    ctt_model_free(&m);
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

static void test_not_a_model(void)
{
    check_refused("/nowhere/x.h5", CTT_EIO, "No such file");
    check_refused(saved_dir, CTT_EIO, "not a regular file");
    check_refused("/dev/null", CTT_EIO, "not a regular file");
    saved_spill(saved_path, (const uint8_t *)"input x c=1\n", 12);
    check_refused(saved_path, CTT_EFORMAT, "not a model file");
    saved_spill(saved_path, (const uint8_t *)TEXT TEXT, sizeof(TEXT TEXT));
    check_refused(saved_path, CTT_EFORMAT, "not a model file (no HDF5");
    saved_spill(saved_path, (const uint8_t *)"\x89HDF\r\n\x1a\n\0" TEXT, 32);
    check_refused(saved_path, CTT_EFORMAT, "cut short");
}

/* ---- files that lie, with every checksum right ---- */

struct lie {
    const char *format, *least, *text, *index, *labels;
    int         version;
    const char *says;
    int         code, as_is;    /* the text is not made canonical */
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

/* The canonical form of a text, or the text itself if it has none. */
static void put_net(struct ctt_h5 *f, const char *text, int as_is)
{
    struct ctt_graph *g = NULL;
    char *print = as_is || ctt_net_parse(text, &g) < 0 ? ctt_strdup(text) :
                  ctt_net_print(g);

    put_text(f, "net", print, (int64_t)strlen(print));
    ctt_graph_free(&g);
    ctt_free(print);
}

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
    put_net(f, l->text ? l->text : TEXT, l->as_is);
    if (l->labels)
        put_text(f, "labels", l->labels, (int64_t)strlen(l->labels));
    put_text(f, "index", l->index ? l->index : line,
             (int64_t)strlen(l->index ? l->index : line));
    put_bytes(f, "packed", ones, 24);
    put_text(f, "from_the_future", "x", 1);
    CHECK_OK(ctt_h5_image(f, &image, &size));
    saved_spill(name, image, size);
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
        write_lie(&lies[i], saved_path);
        check_refused(saved_path, lies[i].code, lies[i].says);
    }
    write_lie(&good, saved_path);
    CHECK_OK(ctt_model_load(saved_path, 1, &m));
    CU_ASSERT_PTR_NULL(m->constraint.keep);
    CU_ASSERT_EQUAL(m->w[5], 1.0f);
    ctt_model_free(&m);
    write_lie(&(struct lie){ .version = 7 }, saved_path);    /* legible */
    CHECK_OK(ctt_model_load(saved_path, 1, &m));
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
        { "all int9 raw 6", 24, "no values 'int9'" },
        { "all f32 huffman 6", 24, "no bytes 'huffman'" },
    };
    char line[256];

    for (size_t i = 0; i < CTT_LEN(bad); i++) {
        const struct lie l = { .version = 1, .index = line };
        snprintf(line, sizeof(line), "y.w 3,1,1,1,2 %s %d %08x\n", bad[i].how,
                 bad[i].size, (unsigned)ctt_crc32(0, ones, 1, bad[i].size));
        write_lie(&l, saved_path);
        check_refused(saved_path, strncmp(bad[i].says, "no ", 3) ? CTT_EFORMAT
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
        CHECK_OK(ctt_h5_new(saved_path, 1 << 16, 8, &f));
        CHECK_OK(ctt_h5_put_text(f, "format", "convtt"));
        CHECK_OK(ctt_h5_put_text(f, "least_reader", "0.1"));
        CHECK_OK(ctt_h5_put_int(f, "version", 1));
        put_net(f, TEXT, 0);
        put_text(f, "index", LINE, (int64_t)strlen(LINE));
        CHECK_OK(ctt_h5_group(f, "w", 1));
        CHECK_OK(ctt_h5_write(f, "w/y.w", &shapes[i], x));
        CHECK_OK(ctt_h5_image(f, &image, &size));
        saved_spill(saved_path, image, size);
        ctt_free(image);
        ctt_h5_close(&f);
        check_refused(saved_path, CTT_EFORMAT, says[i]);
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

    CHECK_OK(ctt_h5_open(saved_path, &f));
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

    CHECK_OK(ctt_h5_new(saved_path, 1 << 16, parts, &f));
    CHECK_OK(ctt_h5_put_text(f, "format", "convtt"));
    CHECK_OK(ctt_h5_put_text(f, "least_reader", "0.1"));
    CHECK_OK(ctt_h5_put_int(f, "version", 1));
    for (int i = 0; i < parts; i++)
        CHECK_OK(ctt_h5_write(f, part[i].name, &part[i].s, part[i].p));
    CHECK_OK(ctt_h5_image(f, &image, &size));
    saved_spill(saved_path, image, size);
    ctt_free(image);
    ctt_h5_close(&f);
}

/* Damage that the checks of the whole file and of HDF5 do not see, since the
 * file was made with it: what is inside has checks of its own, except for the
 * time and the system in the header of a gzip member. */
static void test_deep_flips(void)
{
    struct part part[] = {
        { "texts" }, { "packed" }
    };
    struct ctt_model *m = saved_variant(NAMES | PRUNED | SHARED);
    struct ctt_model *back = NULL;
    int parts = CTT_LEN(part), refused = 0, tried = 0;

    CHECK_OK(ctt_model_save(saved_path, m));
    take_parts(part, parts);
    write_parts(part, parts);
    CHECK_OK(ctt_model_load(saved_path, 1, &back));
    CU_ASSERT(saved_same(m, back));
    ctt_model_free(&back);
    for (int k = 0; k < parts; k++) {
        for (int64_t i = 0; i < part[k].s.dim[0]; i += 3, tried++) {
            part[k].p[i] ^= 0x10;
            write_parts(part, parts);
            part[k].p[i] ^= 0x10;
            if (ctt_model_load(saved_path, 1, &back) < 0)
                refused++;
            else
                CU_ASSERT(saved_same(m, back));
            ctt_model_free(&back);
        }
    }
    for (int k = 0; k < parts; k++)
        ctt_free(part[k].p);
    CU_ASSERT(refused > tried * 9 / 10);
    ctt_model_free(&m);
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

/* The texts of version 2, whose first line is checked before anything else. */
static void test_texts(void)
{
    static const struct { const char *head, *tail, *says; } lies[] = {
        { "net %d index %d\n", "", NULL },
        { "net %d index %d\n", "x", "texts goes on after its texts" },
        { "net %d labels 0 index %d\n", "", "the last label does not end" },
        { "net %d history 0 index %d\n", "", NULL },
        { "net %d\n", "", "texts has no 'index'" },
        { "index %d\n", "", "texts has no 'net'" },
        { "net %d index 9%d\n", "", "texts ends in its 'index'" },
        { "net 0%d index %d\n", "", "the first line of texts is damaged" },
        { "net -%d index %d\n", "", "the first line of texts is damaged" },
        { "net 9999999999999%d index %d\n", "", "the first line of texts" },
        { "net  %d index %d\n", "", "the first line of texts is damaged" },
        { "net %d  index %d\n", "", "the first line of texts is damaged" },
        { "net %d index %d net 1\n", "", "the first line of texts" },
        { "index %d net %d\n", "", "the first line of texts is damaged" },
        { "", "", "the first line of texts is damaged" },
    };
    struct ctt_graph *g = NULL;
    struct ctt_model *m = NULL;
    char text[1024], line[256], *print;

    CHECK_OK(ctt_net_parse(TEXT, &g));
    print = ctt_net_print(g);
    snprintf(line, sizeof(line), "y.w 3,1,1,1,2 all f32 raw 6 24 %08x\n",
             (unsigned)ctt_crc32(0, ones, 1, 24));
    for (size_t i = 0; i < CTT_LEN(lies); i++) {
        struct ctt_h5 *f = NULL;
        uint8_t *image = NULL;
        int64_t size;
        int n = snprintf(text, sizeof(text), lies[i].head, (int)strlen(print),
                         (int)strlen(line));

        n += snprintf(text + n, sizeof(text) - (size_t)n, "%s%s%s", print, line,
                      lies[i].tail);
        CHECK_OK(ctt_h5_new(saved_path, 1 << 16, 8, &f));
        CHECK_OK(ctt_h5_put_text(f, "format", "convtt"));
        CHECK_OK(ctt_h5_put_text(f, "least_reader", "0.2"));
        CHECK_OK(ctt_h5_put_int(f, "version", 2));
        put_text(f, "texts", text, n);
        put_bytes(f, "packed", ones, 24);
        CHECK_OK(ctt_h5_image(f, &image, &size));
        saved_spill(saved_path, image, size);
        ctt_free(image);
        ctt_h5_close(&f);
        if (lies[i].says) {
            check_refused(saved_path, CTT_EFORMAT, lies[i].says);
        } else {
            CHECK_OK(ctt_model_load(saved_path, 0, &m));
            ctt_model_free(&m);
        }
    }
    ctt_free(print);
    ctt_graph_free(&g);
}

/* A net that means the same as the canonical one, but is written otherwise. */
static void test_not_canonical(void)
{
    static const char *const texts[] = {
        "%s# a comment\n", "\n%s", "%s\n",
        "input x c=2\nconv y in=x out=3 bias=0\n",
    };
    struct ctt_graph *g = NULL;
    struct ctt_model *m = NULL;
    char text[1024], *print;

    CHECK_OK(ctt_net_parse(TEXT, &g));
    print = ctt_net_print(g);
    for (size_t i = 0; i < CTT_LEN(texts); i++) {
        const struct lie l = { .version = 1, .text = text, .as_is = 1 };
        snprintf(text, sizeof(text), texts[i], print);
        write_lie(&l, saved_path);
        check_refused(saved_path, CTT_EFORMAT, "is not in canonical form");
    }
    snprintf(text, sizeof(text), "%s", print);
    write_lie(&(struct lie){ .version = 1, .text = text, .as_is = 1 },
              saved_path);
    CHECK_OK(ctt_model_load(saved_path, 1, &m));
    ctt_model_free(&m);
    ctt_graph_free(&g);
    ctt_free(print);
}

/* As convtt 0.1 wrote it: who adds a key to an operation, after the others and
 * with a default that means the same as before, must let this form be read. */
static void test_old_texts(void)
{
    static const char text[] =
        "input x d=1 h=8 w=8 c=3 fps=12 mean=0.5,0.5,0.5 std=0.25,0.25,0.25 "
        "scale=1 fit=crop colour=rgb\n"
        "conv a in=x out=4 kernel=1,3,3 stride=1,1,1 pad=0,1,1 bias=1\n"
        "norm b in=a kind=batch eps=1e-05 momentum=0.1\n"
        "act c in=b kind=relu\n"
        "state s of=e like=c c=4 delay=2\n"
        "mul d in=c,s\n"
        "add e in=d,c bias=1 minus=0\n"
        "pool f in=e kind=max kernel=1,2,2 stride=1,2,2 pad=0,0,0\n"
        "upsample g in=f by=1,2,2\n"
        "dropout h in=g rate=0.5\n"
        "slice i in=h from=1 to=3\n"
        "concat j in=i,h\n"
        "deconv k in=j out=2 kernel=1,3,3 stride=1,1,1 pad=0,1,1 bias=0\n"
        "clip\n"
        "window v in=k steps=2 every=1\n"
        "reshape y in=v d=1 h=1 w=1 c=256\n";
    struct ctt_graph *g = NULL;
    char *print;

    CHECK_OK(ctt_net_parse(text, &g));
    print = ctt_net_print(g);
    CU_ASSERT_STRING_EQUAL(print, text);
    ctt_graph_free(&g);
    ctt_free(print);
}

/* Labels are counted before memory is requested for each. */
static void test_many_labels(void)
{
    int64_t n = ctt_limits()->classes + 1;
    struct ctt_model *m = saved_variant(0);
    char **label = ctt_calloc((size_t)n, sizeof(*label));

    for (int64_t i = 0; i < n; i++)
        label[i] = "";
    CHECK_OK(ctt_model_save(saved_path, m));
    CHECK_OK(ctt_model_labels(m, label, (int)n));
    ctt_check_refused(ctt_model_save(saved_path, m), CTT_EFORMAT,
                      "more than the limit of");
    ctt_free(label);
    ctt_model_free(&m);
    CHECK_OK(ctt_model_load(saved_path, 1, &m));    /* the old file stays */
    CU_ASSERT_EQUAL(m->labels, 0);
    ctt_model_free(&m);
}

static CU_TestInfo tests[] = {
    { "bits flipped", test_flips },
    { "not canonical", test_not_canonical },
    { "texts of convtt 0.1", test_old_texts },
    { "texts of version 2", test_texts },
    { "many labels", test_many_labels },
    { "bits flipped under the check", test_deep_flips },
    { "truncated", test_truncated },
    { "not a model", test_not_a_model },
    { "files that lie", test_lies },
    { "wrong payloads", test_wrong_payloads },
    { "plain dataset of another shape", test_plain_shape },
    CU_TEST_INFO_NULL
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { .pName = "damage", .pTests = tests }, CU_SUITE_INFO_NULL
    };
    int rc = saved_start();

    return rc ? rc : saved_end(ctt_check_main(suites));
}
