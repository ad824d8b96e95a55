/* SPDX-License-Identifier: Apache-2.0
 * fuzz_file.c: any bytes are an error or a model, as a file, as the parts of a
 * file and as an encoded weight.  The first byte of an input says which. */
#include "tests/lib/fuzz.h"
#include "net/file.h"
#include "net/h5.h"
#include "net/code/code.h"
#include "net/random.h"
#include "net/code/zip.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char dir[64], path[80], other[80];

const char *const ctt_fuzz_words[] = {
    "all", "mask", "index", "f32", "raw", "deflate", "huffman", "0", "1", "24",
    "-1", "9223372036854775807", "99999999999999999999", "00000000", "c.w",
    "conv c in=x out=4\n", "out=1048576", "kernel=4096", "bias=0", "3,1,1,1,2",
    "\n", " ", "\x1f\x8b\x08", NULL
};

static void clean(void)
{
    unlink(path);
    unlink(other);
    rmdir(dir);
}

/* In memory where there is such a folder: every model read is also saved, and
 * a disk would be waited for. */
static void make_dir(void)
{
    if (path[0])
        return;
    strcpy(dir, "/dev/shm/convtt-fuzz-XXXXXX");
    if (!mkdtemp(dir)) {
        strcpy(dir, "/tmp/convtt-fuzz-XXXXXX");
        if (!mkdtemp(dir))
            exit(99);
    }
    atexit(clean);
    snprintf(path, sizeof(path), "%s/a.h5", dir);
    snprintf(other, sizeof(other), "%s/b.h5", dir);
}

static void spill(const uint8_t *p, size_t n)
{
    FILE *f = fopen(path, "wb");

    FUZZ_CHECK(f && fwrite(p, 1, n, f) == n);
    FUZZ_CHECK(fclose(f) == 0);
}

/* ---- checks ---- */

/* What was read can be saved and is then the same. */
static void check_model(const struct ctt_model *m)
{
    struct ctt_model *again = NULL;

    FUZZ_CHECK(ctt_model_params(m) >= 0);
    FUZZ_CHECK(ctt_model_save(other, m) >= 0);
    FUZZ_CHECK(ctt_model_load(other, 1, &again) >= 0);
    FUZZ_CHECK(again->g->weights == m->g->weights &&
               memcmp(again->w, m->w, (size_t)m->g->weights * 4) == 0);
    FUZZ_CHECK(!again->constraint.keep == !m->constraint.keep &&
               again->labels == m->labels);
    ctt_model_free(&again);
}

static void load(void)
{
    struct ctt_model *m = NULL;

    if (ctt_model_load(path, 1, &m) >= 0) {
        check_model(m);
    } else {
        FUZZ_CHECK(!m && strncmp(ctt_errmsg(), path, strlen(path)) == 0);
        FUZZ_CHECK(!strchr(ctt_errmsg(), '\n'));
    }
    ctt_model_free(&m);
}

/* 'f': the bytes of a file. */
static void as_file(const uint8_t *p, size_t n)
{
    spill(p, n);
    load();
}

/* 'p': its parts, each behind its length in two bytes: they come in a whole
 * file, so that what is tried is behind all checks of files. */
static const char *const parts[] = {
    "net", "index", "packed", "labels", "history", "train/settings",
    "train/index", "train/a", NULL
};

static int put_part(struct ctt_h5 *f, const char *name, const uint8_t *p,
                    size_t n)
{
    struct ctt_h5_shape s = { .size = 1, .rank = 1, .dim = { (int64_t)n } };
    int packed = strcmp(name, "packed") == 0 || strcmp(name, "train/a") == 0;
    uint8_t *zip = NULL;
    int rc;

    if (!packed) {
        FUZZ_CHECK(ctt_gzip((const char *)p, (int64_t)n, &zip, &s.dim[0]) >= 0);
        p = zip;
    }
    rc = ctt_h5_write(f, name, &s, p);
    ctt_free(zip);
    return rc;
}

static void as_parts(const uint8_t *p, size_t n)
{
    struct ctt_h5 *f = NULL;
    uint8_t *image = NULL;
    int64_t size = 0;

    FUZZ_CHECK(ctt_h5_new(path, 1 << 20, 16, &f) >= 0);
    FUZZ_CHECK(ctt_h5_put_text(f, "format", "convtt") >= 0 &&
               ctt_h5_put_text(f, "least_reader", "0.1") >= 0 &&
               ctt_h5_put_int(f, "version", 1) >= 0);
    for (int i = 0; parts[i] && n >= 2; i++) {
        size_t len = p[0] + 256u * p[1];
        len = len < n - 2 ? len : n - 2;
        if (strcmp(parts[i], "train/settings") == 0)
            FUZZ_CHECK(ctt_h5_group(f, "train", 3) >= 0);
        FUZZ_CHECK(put_part(f, parts[i], p + 2, len) >= 0);
        p += 2 + len;
        n -= 2 + len;
    }
    FUZZ_CHECK(ctt_h5_image(f, &image, &size) >= 0);
    spill(image, (size_t)size);
    ctt_free(image);
    ctt_h5_close(&f);
    load();
}

/* 'w': a weight: which coding, the counts of all and of kept numbers in two
 * bytes each, the payload. */
static void as_weight(const uint8_t *p, size_t n)
{
    struct ctt_coding how;
    int64_t count, kept, size = 0;
    uint8_t *keep, *keep2, *again = NULL;
    float *w, *w2;
    struct ctt_weight as = { .t = { .n = 1, .d = 1, .h = 1, .w = 1 } };

    if (n < 5)
        return;
    how.positions = ctt_coding_word(0, p[0] & 3);
    how.values = ctt_coding_word(1, 0);
    how.bytes = ctt_coding_word(2, p[0] >> 2 & 1);
    if (!how.positions || !how.bytes)
        return;
    count = 1 + p[1] + 256 * p[2];
    kept = p[3] + 256 * p[4];
    w = ctt_calloc((size_t)count, 4);
    w2 = ctt_calloc((size_t)count, 4);
    keep = ctt_calloc((size_t)count, 1);
    keep2 = ctt_calloc((size_t)count, 1);
    FUZZ_CHECK(w && w2 && keep && keep2);
    as.t.c = as.t.ld = count;
    as.t.data = w;
    as.keep = keep;
    if (ctt_decode(&how, p + 5, (int64_t)n - 5, &as.t, kept, w, keep) >= 0) {
        FUZZ_CHECK(ctt_encode(&how, &as, &again, &size) >= 0);
        FUZZ_CHECK(ctt_decode(&how, again, size, &as.t, kept, w2, keep2) >= 0);
        FUZZ_CHECK(memcmp(w, w2, (size_t)count * 4) == 0 &&
                   memcmp(keep, keep2, (size_t)count) == 0);
    }
    ctt_free(again);
    ctt_free(w);
    ctt_free(w2);
    ctt_free(keep);
    ctt_free(keep2);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct {
        char kind;
        void (*run)(const uint8_t *p, size_t n);
    } kinds[] = { { 'f', as_file }, { 'p', as_parts }, { 'w', as_weight } };
    long live = ctt_live_blocks();

    make_dir();
    for (size_t i = 0; size > 0 && i < CTT_LEN(kinds); i++)
        if (data[0] == kinds[i].kind)
            kinds[i].run(data + 1, size - 1);
    FUZZ_CHECK(ctt_live_blocks() == live);
    return 0;
}

/* ---- seeds ---- */

static struct ctt_model *make(int pruned)
{
    struct ctt_graph *g = NULL;
    struct ctt_model *m = NULL;
    char *label[] = { "one", "two" };

    FUZZ_CHECK(ctt_net_parse("input x c=4\nconv c in=x out=9\n"
                             "norm n in=c kind=batch\nact y in=n kind=relu\n",
                             &g) >= 0);
    FUZZ_CHECK(ctt_model_new(g, &m) >= 0);
    FUZZ_CHECK(ctt_model_labels(m, label, 2) >= 0);
    FUZZ_CHECK(ctt_state_new(&m->train) >= 0);
    FUZZ_CHECK(ctt_state_add(m->train, "a", 1, 5, "12345") >= 0);
    m->constraint.keep = pruned ? ctt_calloc((size_t)m->g->weights, 1) : NULL;
    for (int64_t i = 0; i < m->g->weights; i++) {
        m->w[i] = (float)ctt_random(5, (uint64_t)i) * 0x1p-32f;
        if (pruned)
            m->constraint.keep[i] = ctt_random(6, (uint64_t)i) < UINT32_MAX / 5;
    }
    return m;
}

static size_t file_seed(int pruned, uint8_t *p, size_t room)
{
    struct ctt_model *m = make(pruned);
    size_t n;
    FILE *f;

    make_dir();
    FUZZ_CHECK(ctt_model_save(path, m) >= 0);
    f = fopen(path, "rb");
    FUZZ_CHECK(f && room > 1);
    p[0] = 'f';
    n = fread(p + 1, 1, room - 1, f);
    fclose(f);
    ctt_model_free(&m);
    return n + 1;
}

static size_t put_text(uint8_t *p, size_t n, const char *s)
{
    size_t len = strlen(s);

    p[n] = (uint8_t)len;
    p[n + 1] = (uint8_t)(len >> 8);
    memcpy(p + n + 2, s, len);
    return n + 2 + len;
}

/* A net of one conv, its weight raw; the checksums are right. */
static size_t parts_seed(uint8_t *p)
{
    static const char ones[] = "??????????????????????????";    /* 24 and 2 */
    char index[256];
    size_t n = 1;

    p[0] = 'p';
    snprintf(index, sizeof(index), "c.w 3,1,1,1,2 all f32 raw 6 24 %08x\n",
             (unsigned)ctt_crc32(0, ones, 1, 24));
    n = put_text(p, n, "input x c=2\nconv c in=x out=3 bias=0\n");
    n = put_text(p, n, index);
    n = put_text(p, n, ones + 2);
    n = put_text(p, n, "one");
    p[n - 5] = 4;    /* with the 0 that ends it */
    p[n++] = 0;
    n = put_text(p, n, "a line\n");
    n = put_text(p, n, "epochs=3\n");
    snprintf(index, sizeof(index), "a 1 4 %08x\n",
             (unsigned)ctt_crc32(0, "data", 1, 4));
    n = put_text(p, n, index);
    return put_text(p, n, "data");
}

static size_t weight_seed(int i, uint8_t *p)
{
    const struct ctt_coding how = {
        ctt_coding_word(0, i & 3), ctt_coding_word(1, 0),
        ctt_coding_word(2, i >> 2 & 1)
    };
    struct ctt_model *m = make(1);
    struct ctt_weight w;
    int64_t n = 0, kept = 0, count = 9 * 4;
    uint8_t *q = NULL;

    for (int64_t k = 0; k < count; k++) {
        m->constraint.keep[k] |= (i & 3) == 0;
        kept += m->constraint.keep[k];
    }
    p[0] = 'w';
    p[1] = (uint8_t)i;
    p[2] = (uint8_t)(count - 1);
    p[3] = p[5] = 0;
    p[4] = (uint8_t)kept;
    w = ctt_model_weight(m, &m->g->node[1], 0);
    FUZZ_CHECK(ctt_encode(&how, &w, &q, &n) >= 0);
    memcpy(p + 6, q, (size_t)n);
    ctt_free(q);
    ctt_model_free(&m);
    return (size_t)n + 6;
}

size_t ctt_fuzz_seed(int i, uint8_t *p, size_t room)
{
    static const int codings[] = { 0, 1, 2, 4, 5, 6 };

    if (i < 2)
        return file_seed(i, p, room);
    if (i < 6)    /* more often than the others, which are quicker */
        return parts_seed(p);
    if (i < 6 + (int)CTT_LEN(codings))
        return weight_seed(codings[i - 6], p);
    return 0;
}
