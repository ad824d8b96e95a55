/* SPDX-License-Identifier: Apache-2.0
 * test_damage.c: model files that are damaged, cut short or not such
 * files: an error that names the file and the thing, never a crash. */
#include "tests/lib/check.h"
#include "tests/lib/saved.h"
#include "net/file/h5.h"
#include "net/file/file.h"
#include "base/limits.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define TEXT "input x c=2\nconv y in=x out=3 bias=0\n"

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
    saved_refused(saved_path, CTT_EFORMAT, "the file is empty");
    for (int64_t from = 0; from < n; from += n / 23) {    /* zeros follow */
        saved_spill(saved_path, p, n);
        CU_ASSERT_EQUAL(truncate(saved_path, from), 0);
        CU_ASSERT_EQUAL(truncate(saved_path, n), 0);
        CU_ASSERT(ctt_model_load(saved_path, 1, &back) < 0);
    }
    saved_spill(saved_path, p, n - 1);
    saved_refused(saved_path, CTT_EFORMAT, "cut short");
    p[n / 2] ^= 1;
    saved_spill(saved_path, p, n);
    saved_refused(saved_path, CTT_EFORMAT, "damaged");
    ctt_free(p);
    ctt_model_free(&m);
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

static void test_not_a_model(void)
{
    saved_refused("/nowhere/x.h5", CTT_EIO, "No such file");
    saved_refused(saved_dir, CTT_EIO, "not a regular file");
    saved_refused("/dev/null", CTT_EIO, "not a regular file");
    saved_spill(saved_path, (const uint8_t *)"input x c=1\n", 12);
    saved_refused(saved_path, CTT_EFORMAT, "not a model file");
    saved_spill(saved_path, (const uint8_t *)TEXT TEXT, sizeof(TEXT TEXT));
    saved_refused(saved_path, CTT_EFORMAT, "not a model file (a text");
    saved_spill(saved_path, (const uint8_t *)"\x89HDF\r\n\x1a\n\0" TEXT, 32);
    saved_refused(saved_path, CTT_EFORMAT, "cut short");
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
    { "texts of convtt 0.1", test_old_texts },
    { "many labels", test_many_labels },
    { "bits flipped under the check", test_deep_flips },
    { "truncated", test_truncated },
    { "not a model", test_not_a_model },
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
