/* SPDX-License-Identifier: Apache-2.0
 * test_lies.c: model files that lie, with every checksum right: an error that
 * names the file and the thing, never a crash. */
#include "tests/lib/check.h"
#include "tests/lib/saved.h"
#include "net/file/h5.h"
#include "net/code/zip.h"
#include "net/file/file.h"

#include <stdio.h>
#include <string.h>

#define TEXT "input x c=2\nconv y in=x out=3 bias=0\n"

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

static const struct lie all_lies[] = {
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
    { .text = "input x c=2 mean=auto\nconv y in=x out=3 bias=0\n",
      .version = 1, .says = "net: x: mean=auto", .code = CTT_EFORMAT },
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

static void test_lies(void)
{
    struct ctt_model *m = NULL;

    for (size_t i = 0; i < CTT_LEN(all_lies); i++) {
        write_lie(&all_lies[i], saved_path);
        saved_refused(saved_path, all_lies[i].code, all_lies[i].says);
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
        { "block f32 raw 5", 22, "its positions (block)" },
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
        saved_refused(saved_path, strncmp(bad[i].says, "no ", 3) ? CTT_EFORMAT
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
        saved_refused(saved_path, CTT_EFORMAT, says[i]);
    }
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
            saved_refused(saved_path, CTT_EFORMAT, lies[i].says);
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
        saved_refused(saved_path, CTT_EFORMAT, "is not in canonical form");
    }
    snprintf(text, sizeof(text), "%s", print);
    write_lie(&(struct lie){ .version = 1, .text = text, .as_is = 1 },
              saved_path);
    CHECK_OK(ctt_model_load(saved_path, 1, &m));
    ctt_model_free(&m);
    ctt_graph_free(&g);
    ctt_free(print);
}

static CU_TestInfo tests[] = {
    { "files that lie", test_lies },
    { "wrong payloads", test_wrong_payloads },
    { "plain dataset of another shape", test_plain_shape },
    { "texts of version 2", test_texts },
    { "not canonical", test_not_canonical },
    CU_TEST_INFO_NULL
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { .pName = "lies", .pTests = tests }, CU_SUITE_INFO_NULL
    };
    int rc = saved_start();

    return rc ? rc : saved_end(ctt_check_main(suites));
}
