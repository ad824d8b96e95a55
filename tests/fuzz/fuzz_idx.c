/* SPDX-License-Identifier: Apache-2.0
 * fuzz_idx.c: any file of digits is an error in one line or images from which
 * sequences are drawn, the same when it is read again; any pair of images and
 * labels is an error in one line or a set of clips.  The first byte of an input
 * says how the file is made of the rest; images that a header says there are
 * and the input lacks can be added as zeros. */
#include "tests/fuzz/fuzz.h"
#include "net/code/zip.h"
#include "video/source.h"

#include <stdio.h>

#include <string.h>

enum { HEAD = 16, IMAGE = 28 * 28, MOST = 64, FRAMES = 3, LABELS = 8 };

const char *const ctt_fuzz_words[] = {
    "\x1f\x8b\x08", "\x08\x03", "\x08\x01", "\x1c", "r", "z", "f", "d", "s",
    NULL
};

static void check_draws(const struct ctt_mnist *m)
{
    static uint8_t a[FRAMES][CTT_MNIST_SIDE][CTT_MNIST_SIDE];
    static uint8_t b[FRAMES][CTT_MNIST_SIDE][CTT_MNIST_SIDE];
    struct ctt_frames f = { 0 };

    for (int digits = 1; digits <= CTT_MNIST_DIGITS; digits += 4) {
        FUZZ_CHECK(ctt_mnist_draw(m, 7, 5, digits, FRAMES, a[0][0]) >= 0);
        FUZZ_CHECK(ctt_mnist_draw(m, 7, 5, digits, FRAMES, b[0][0]) >= 0);
        FUZZ_CHECK(memcmp(a, b, sizeof(a)) == 0);
    }
    FUZZ_CHECK(ctt_mnist_frames(m, 7, 5, 1, FRAMES, &f) >= 0 &&
               f.count == FRAMES);
    ctt_frames_free(&f);
}

static void try_file(const char *path)
{
    struct ctt_mnist *m = NULL, *again = NULL;

    if (ctt_mnist_open(path, &m) < 0) {
        FUZZ_CHECK(!m);
        ctt_fuzz_refused(path);
        return;
    }
    FUZZ_CHECK(ctt_mnist_count(m) > 0);
    FUZZ_CHECK(strncmp(ctt_mnist_file(m), path, strlen(path)) == 0);
    check_draws(m);
    FUZZ_CHECK(ctt_mnist_open(path, &again) >= 0);
    FUZZ_CHECK(ctt_mnist_count(m) == ctt_mnist_count(again));
    ctt_mnist_close(&m);
    ctt_mnist_close(&again);
}

/* Reads all splits of the folder s, whose files are made of the input: its
 * first bytes are the labels, the rest the images. */
static void open_set(const uint8_t *p, size_t n)
{
    static const char *const split[] = { "train", "validation", "test" };
    size_t labels = n > LABELS ? LABELS + p[7] % 32u : n;
    char path[600];

    labels = labels < n ? labels : n;
    ctt_scratch_put("s/train-labels-idx1-ubyte", p, labels);
    ctt_scratch_put("s/test-labels-idx1-ubyte.gz", p, labels);
    ctt_scratch_put("s/train-images-idx3-ubyte", p + labels, n - labels);
    ctt_scratch_put("s/test-images.idx3-ubyte", p + labels, n - labels);
    snprintf(path, sizeof(path), "digits:%s", ctt_scratch("s"));
    for (size_t i = 0; i < CTT_LEN(split); i++) {
        const struct ctt_source_set set = { .split = split[i],
                                            .any_input = 1 };
        const struct ctt_input in = { .d = 1 };
        struct ctt_source *s = NULL;
        struct ctt_frames f = { 0 };

        if (ctt_source_open(path, &set, &in, &s) < 0) {
            FUZZ_CHECK(!s);
            ctt_fuzz_refused(ctt_scratch("s"));
            continue;
        }
        for (int k = 0; k < ctt_source_list(s)->count; k++) {
            FUZZ_CHECK(ctt_source_frames(s, k, 0, 0, &f) >= 0);
            FUZZ_CHECK(f.count == 1);
            ctt_frames_free(&f);
        }
        ctt_source_close(&s);
    }
}

/* Adds zeros up to the size that a header of few images asks for. */
static size_t pad_input(const uint8_t *p, size_t n, uint8_t *out)
{
    size_t want = n;

    memcpy(out, p, n);
    if (n >= HEAD && p[4] == 0 && p[5] == 0 && p[6] == 0 && p[7] <= MOST)
        want = HEAD + (size_t)p[7] * IMAGE;
    if (want <= n)
        return n;
    memset(out + n, 0, want - n);
    return want;
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    static uint8_t file[CTT_FUZZ_ROOM + HEAD + MOST * IMAGE];
    long live = ctt_live_blocks();
    uint8_t *zip = NULL;
    int64_t size;
    int kind = n ? *p : 0;

    if (n == 0 || n > CTT_FUZZ_ROOM)
        return 0;
    n = kind == 'r' || kind == 's' ? n - 1 : pad_input(p + 1, n - 1, file);
    if (kind == 's') {         /* a data set */
        open_set(p + 1, n);
    } else if (kind == 'r') {  /* as it is */
        try_file(ctt_scratch_put("a", p + 1, n));
    } else if (kind == 'z') {  /* compressed */
        FUZZ_CHECK(ctt_gzip((const char *)file, (int64_t)n, &zip, &size) >= 0);
        try_file(ctt_scratch_put("a", zip, (size_t)size));
        if (size > 8)          /* without its checksum */
            try_file(ctt_scratch_put("a", zip, (size_t)size - 8));
        ctt_free(zip);
    } else if (kind == 'd') {    /* in a folder */
        ctt_scratch_put("d/train-images-idx3-ubyte.gz", file, n);
        try_file(ctt_scratch("d"));
    } else {
        try_file(ctt_scratch_put("a", file, n));
    }
    FUZZ_CHECK(ctt_live_blocks() == live);
    return 0;
}

#define HEADER "\0\0\x8\3\0\0\0\2\0\0\0\x1c\0\0\0\x1c"

static const struct ctt_fuzz_text texts[] = {
    FUZZ_TEXT("f" HEADER "some pixels"), FUZZ_TEXT("z" HEADER "some pixels"),
    FUZZ_TEXT("r" HEADER), FUZZ_TEXT("d" HEADER),
    FUZZ_TEXT("r\0\0\x8\1\0\0\0\2"),
    FUZZ_TEXT("s\0\0\x8\1\0\0\0\xd\1\2\1\2\1\2\1\2\1\2\1\2\1"
              "\0\0\x8\3\0\0\0\xd\0\0\0\1\0\0\0\2"
              "abcdefghijklmnopqrstuvwxyz"),
    FUZZ_TEXT("f\0\0\x8\3\0\0\0\2\0\0\0\x1c\0\0\0\x10"),
    FUZZ_TEXT("f\0\0\x8\3\xff\0\0\2\0\0\0\x1c\0\0\0\x1c"),
};

/* The last one: a small gzip as it is. */
size_t ctt_fuzz_seed(int i, uint8_t *p, size_t room)
{
    static uint8_t plain[HEAD + 2 * IMAGE];
    uint8_t *zip = NULL;
    int64_t n = 0;

    if (i != (int)CTT_LEN(texts))
        return ctt_fuzz_text(texts, CTT_LEN(texts), i, p, room);
    memcpy(plain, HEADER, HEAD);
    FUZZ_CHECK(ctt_gzip((const char *)plain, sizeof(plain), &zip, &n) >= 0);
    FUZZ_CHECK((size_t)n + 1 <= room);
    *p = 'r';
    memcpy(p + 1, zip, (size_t)n);
    ctt_free(zip);
    return (size_t)n + 1;
}
