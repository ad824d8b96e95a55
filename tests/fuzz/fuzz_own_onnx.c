/* SPDX-License-Identifier: Apache-2.0
 * fuzz_own_onnx.c: any file of ONNX that says to be convtt's is another one, or
 * a model that is written as the very file. */
#include "tests/fuzz/fuzz.h"
#include "exchange/exchange.h"
#include "net/init.h"

#include <string.h>

const char *const ctt_fuzz_words[] = {
    "convtt", "net", "labels", "answer", "export", "\"half\": true",
    "\"for\": \"tensorrt\"", "\"kind\": \"probabilities\"", "/w", "/b",
    "/half", "/int8", "/step", "/zero", "conv y in=x out=1", "\n", "[\"a\"]",
    "\x08\x08\x12\x06", NULL
};

static const struct { const char *net; struct ctt_export set; } nets[] = {
    { "input x h=1 w=1 c=2\nconv y in=x out=2\n", { 0, 0, 0 } },
    { "input x h=2 w=1 c=2\nstate s of=x\nadd a in=x,s\nconv e in=a out=2\n"
      "act f in=e kind=relu\nclip\nwindow v in=f steps=2\n"
      "pool p in=v kind=max\nconv y in=p out=2\n", { 1, 0, 1 } },
    { "input x h=1 w=1 c=2\nquant q in=x scale=0.5 zero=3\n"
      "conv y in=q out=2\n", { 0, CTT_EXPORT_TENSORRT, 0 } },
};

/* The settings are those of one of the seeds, or the file is another. */
static int written_again(const struct ctt_model *m, const char *path)
{
    static uint8_t a[CTT_FUZZ_ROOM], b[CTT_FUZZ_ROOM];
    const char *copy = ctt_scratch("copy.onnx");
    size_t n = ctt_scratch_get(path, a, sizeof(a));

    for (int i = 0; i < 8; i++) {
        const struct ctt_export set = { i & 1, i >> 1 & 1, i >> 2 };

        if (ctt_export_onnx(copy, m, &set) >= 0 &&
            ctt_scratch_get(copy, b, sizeof(b)) == n && memcmp(a, b, n) == 0)
            return 1;
    }
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    long live = ctt_live_blocks();
    struct ctt_model *m = NULL;
    const char *path;
    int rc;

    if (n > CTT_FUZZ_ROOM)
        return 0;
    path = ctt_scratch_put("a.onnx", p, n);
    rc = ctt_import_own_onnx(path, &m);
    FUZZ_CHECK(rc == 0 || rc == 1 || rc == CTT_ENOMEM);
    FUZZ_CHECK((rc == 1) == (m != NULL));
    FUZZ_CHECK(!m || written_again(m, path));
    ctt_model_free(&m);
    FUZZ_CHECK(ctt_live_blocks() == live);
    return 0;
}

size_t ctt_fuzz_seed(int i, uint8_t *p, size_t room)
{
    const char *path = ctt_scratch("seed.onnx");
    struct ctt_graph *g = NULL;
    struct ctt_model *m = NULL;

    if (i >= (int)CTT_LEN(nets))
        return 0;
    FUZZ_CHECK(ctt_net_parse(nets[i].net, &g) >= 0);
    FUZZ_CHECK(ctt_model_new(g, &m) >= 0);
    ctt_init_weights(m, 1);
    FUZZ_CHECK(ctt_export_onnx(path, m, &nets[i].set) >= 0);
    ctt_model_free(&m);
    return ctt_scratch_get(path, p, room);
}
