/* SPDX-License-Identifier: Apache-2.0
 * fuzz_pth.c: any file that is read as a .pth is an error in one line that
 * begins with its path, or weights that are finite.  The first byte of an input
 * says how the file is made: r, as it is; z, the pickle of an archive. */
#include "tests/fuzz/fuzz.h"
#include "exchange/exchange.h"
#include "tests/lib/pth.h"

#include <math.h>
#include <string.h>

enum { PICKLE_MOST = 4096, A = 7, B = 3, SEEDS = 4 };

const char *const ctt_fuzz_words[] = {
    "r", "z", "PK\3\4", "PK\1\2", "PK\5\6", "\x80\x02", "ccollections\n",
    "OrderedDict\n", "ctorch\nFloatStorage\n", "ctorch\nHalfStorage\n",
    "ctorch\nLongStorage\n", "ctorch._utils\n_rebuild_tensor_v2\n",
    "X\7\0\0\0storage", "X\1\0\0\0a", "(", ")", "t", "tQ", "R", "}", "]", "u",
    "s", "e", "b", "q\1", "h\1", "N", "\x88", "\x8a\1\1", "J\1\0\0\0",
    "\xff\xff\xff\x7f", ".", NULL
};

static const struct pth_tensor tensors[] = {
    { "y.w", "a", "FloatStorage", A, 1, { 2, 3, -1 }, { 1, 2, -1 } },
    { "y.b", "b", "FloatStorage", B, 1, { 2, -1 }, { 1, -1 } },
};

static void try_weights(const char *path)
{
    struct ctt_graph *g = NULL;
    struct ctt_model *m = NULL;
    int rc;

    FUZZ_CHECK(ctt_net_parse("input x h=1 w=1 c=3\nconv y in=x out=2\n", &g) >=
               0);
    FUZZ_CHECK(ctt_model_new(g, &m) >= 0);
    rc = ctt_import_weights(m, path, NULL);
    if (rc < 0 && rc != CTT_ENOMEM)
        ctt_fuzz_refused(path);
    for (int64_t i = 0; i < m->g->weights; i++)
        FUZZ_CHECK(isfinite(m->w[i]));
    ctt_model_free(&m);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    static struct pth_bytes file, pickle;
    long live = ctt_live_blocks();

    if (n == 0 || n > CTT_FUZZ_ROOM)
        return 0;
    if (*p == 'z' && n <= PICKLE_MOST) {
        file.n = pickle.n = 0;
        pth_add(&pickle, p + 1, n - 1);
        pth_zip(&file, &pickle, A, B);
        try_weights(ctt_scratch_put("a.pth", file.p, file.n));
    } else {
        try_weights(ctt_scratch_put("a.pth", p + 1, n - 1));
    }
    FUZZ_CHECK(ctt_live_blocks() == live);
    return 0;
}

/* An archive whose checksums are not given, so that what is changed in it is
 * read. */
static void leave_checksums_out(struct pth_bytes *b)
{
    for (size_t i = 0; i + 20 < b->n; i++)
        if (memcmp(b->p + i, "PK\1\2", 4) == 0)
            memset(b->p + i + 16, 0, 4);
}

static void make_seed(int i, struct pth_bytes *b)
{
    static struct pth_bytes pickle;

    pickle.n = 0;
    pth_pickle(&pickle, tensors, 2, 0);
    pth_add(b, i == 0 ? "z" : "r", 1);
    if (i == 0)
        pth_add(b, pickle.p, pickle.n);
    if (i == 1)
        pth_old(b, tensors, 2, A, B);
    if (i > 1)
        pth_zip(b, &pickle, A, B);
    if (i == 2)
        leave_checksums_out(b);
}

size_t ctt_fuzz_seed(int i, uint8_t *p, size_t room)
{
    static struct pth_bytes b;

    b.n = 0;
    if (i >= SEEDS)
        return 0;
    make_seed(i, &b);
    FUZZ_CHECK(b.n <= room);
    memcpy(p, b.p, b.n);
    return b.n;
}
