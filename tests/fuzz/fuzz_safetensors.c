/* SPDX-License-Identifier: Apache-2.0
 * fuzz_safetensors.c: any file that is read as safetensors is an error in one
 * line that begins with its path, or weights that are finite; a file of convtt
 * that is read as a model is written as one that is read as the same model.
 * The first byte of an input says how the file is made: r, as it is; h, of
 * a header, before which its length stands and behind which as many bytes as
 * the second byte times 4. */
#include "tests/fuzz/fuzz.h"
#include "exchange/exchange.h"

#include <math.h>
#include <string.h>

enum { LENGTH = 8, DATA = 256 * 4 };

const char *const ctt_fuzz_words[] = {
    "r", "h", "{", "}", "\"y.w\":{\"dtype\":\"F32\",\"shape\":[", "F16", "BF16",
    "F64", "I64", "BOOL", "\"data_offsets\":[", "\"__metadata__\":{",
    "\"net\":", "\"labels\":", "[\\\"a\\\"]", "0,8", "8,12", "1,2",
    "\"y.b\"", "\"y.w\"",
    "input x h=1 w=1 c=2\\nconv y in=x out=1\\n", "1099511627776",
    "\\u0000", "-1", ",", ":", NULL
};

static struct ctt_model *dense_model(void)
{
    struct ctt_graph *g = NULL;
    struct ctt_model *m = NULL;

    FUZZ_CHECK(ctt_net_parse("input x h=1 w=1 c=2\nconv y in=x out=1\n", &g) >=
               0);
    FUZZ_CHECK(ctt_model_new(g, &m) >= 0);
    return m;
}

static void refused(const char *path, int rc)
{
    if (rc != CTT_ENOMEM)
        ctt_fuzz_refused(path);
}

static void try_weights(const char *path)
{
    struct ctt_model *m = dense_model();
    int rc = ctt_import_weights(m, path, NULL);

    if (rc < 0)
        refused(path, rc);
    for (int64_t i = 0; i < m->g->weights; i++)
        FUZZ_CHECK(isfinite(m->w[i]));
    ctt_model_free(&m);
}

static void try_model(const char *path)
{
    struct ctt_model *m = NULL, *again = NULL;
    const char *copy = ctt_scratch("copy.safetensors");
    int rc = ctt_import_safetensors(path, &m);

    if (rc < 0) {
        FUZZ_CHECK(!m);
        refused(path, rc);
        return;
    }
    FUZZ_CHECK(ctt_export_safetensors(copy, m) >= 0);
    FUZZ_CHECK(ctt_import_safetensors(copy, &again) >= 0);
    FUZZ_CHECK(m->g->weights == again->g->weights &&
               memcmp(m->w, again->w, (size_t)m->g->weights *
                      sizeof(*m->w)) == 0);
    FUZZ_CHECK(m->labels == again->labels);
    ctt_model_free(&m);
    ctt_model_free(&again);
}

static size_t make_file(const uint8_t *p, size_t n, uint8_t *file)
{
    size_t data = 4 * (size_t)p[0];

    for (int i = 0; i < LENGTH; i++)
        file[i] = (uint8_t)((uint64_t)(n - 1) >> 8 * i);
    memcpy(file + LENGTH, p + 1, n - 1);
    for (size_t i = 0; i < data; i++)
        file[LENGTH + n - 1 + i] = (uint8_t)(i % 64);
    return LENGTH + n - 1 + data;
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    static uint8_t file[CTT_FUZZ_ROOM + LENGTH + DATA];
    long live = ctt_live_blocks();
    const char *path;

    if (n < 2 || n > CTT_FUZZ_ROOM)
        return 0;
    if (*p == 'h')
        path = ctt_scratch_put("a.safetensors", file,
                               make_file(p + 1, n - 1, file));
    else
        path = ctt_scratch_put("a.safetensors", p + 1, n - 1);
    try_weights(path);
    try_model(path);
    FUZZ_CHECK(ctt_live_blocks() == live);
    return 0;
}

#define FIELD(name, type, shape, at) \
    "\"" name "\":{\"dtype\":\"" type "\",\"shape\":[" shape "]," \
    "\"data_offsets\":[" at "]}"
#define BOTH FIELD("y.w", "F32", "1,2", "0,8") "," \
    FIELD("y.b", "F32", "1", "8,12") "}"

static const struct ctt_fuzz_text texts[] = {
    FUZZ_TEXT("h\3{" BOTH),
    FUZZ_TEXT("h\3{\"__metadata__\":{\"net\":\"input x h=1 w=1 c=2\\n"
              "conv y in=x out=1\\n\",\"labels\":\"[\\\"a\\\"]\"}," BOTH "  "),
    FUZZ_TEXT("h\7{" FIELD("y.w", "BF16", "1,2,1", "0,4") ","
              FIELD("n", "I64", "", "4,12") "," FIELD("y.b", "F64", "1",
                                                      "12,20")
              "," FIELD("z", "F16", "2,2", "20,28") "}"),
    FUZZ_TEXT("h\0{\"__metadata__\":{\"net\":\"input x h=2 w=2 c=1\\n"
              "conv y in=x out=1048576 kernel=1,2,2\\n\"}}"),
    FUZZ_TEXT("r\2\0\0\0\0\0\0\0{}"), FUZZ_TEXT("r\xff\xff\xff\xff\0\0\0\0{}"),
};

size_t ctt_fuzz_seed(int i, uint8_t *p, size_t room)
{
    return ctt_fuzz_text(texts, CTT_LEN(texts), i, p, room);
}
