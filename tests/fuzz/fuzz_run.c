/* SPDX-License-Identifier: Apache-2.0
 * fuzz_run.c: any file is an error in one line, or the log of a training whose
 * rows and other lines are all counted, and of which the last row and equally
 * distant ones before it are kept. */
#include "tests/fuzz/fuzz.h"
#include "base/json.h"
#include "tools/info/info_tool.h"

#include <math.h>
#include <string.h>

const char *const ctt_fuzz_words[] = {
    "{\"epoch\":", "\"epoch\":1", "}\n", ",\"loss\":", ",\"val_loss\":",
    ",\"val_top1\":", ",\"val_top1_low\":", ",\"best\":1", ",\"lr\":1e-3",
    ",\"settings\":\" lr=1 batch=2\"", "null", "1e999", "-1e308", "nan", "\n",
    "\0", "{", "[", "\"", "\xff", NULL
};

enum { LINE = 1 << 16 };    /* as in info_run.c */

/* Lines as fgets() gives them. */
static int64_t count_log_lines(const uint8_t *p, size_t size)
{
    int64_t n = 0;

    for (size_t at = 0, begin = 0; at < size; at++)
        if (p[at] == '\n' || at + 1 == size || at + 2 - begin == LINE) {
            n++;
            begin = at + 1;
        }
    return n;
}

/* Rows are finite epochs; the last one is that of the last row. */
static void check_run_rows(const struct ctt_run_log *r)
{
    FUZZ_CHECK(r->n >= 0 && r->n <= CTT_RUN_EPOCHS && r->each > 0);
    FUZZ_CHECK((r->each & (r->each - 1)) == 0);
    FUZZ_CHECK(r->n == (r->epochs + r->each - 1) / r->each);
    for (int i = 0; i < r->n; i++)
        FUZZ_CHECK(isfinite(r->at[CTT_RUN_EPOCH][i]));
    for (int k = 0; k < CTT_RUN_COLUMNS && r->n; k++)
        FUZZ_CHECK(memcmp(&r->at[k][r->n - 1], &r->last[k],
                          sizeof(double)) == 0);
    FUZZ_CHECK(isnan(r->best[CTT_RUN_EPOCH]) || r->best[CTT_RUN_BEST] > 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    long live = ctt_live_blocks();
    const char *path = ctt_scratch_put("a.jsonl", data, size);
    struct ctt_run_log r;

    FUZZ_CHECK(ctt_run_log_read(&r, path) >= 0);
    FUZZ_CHECK(r.epochs + r.bad == count_log_lines(data, size));
    check_run_rows(&r);
    ctt_run_log_free(&r);
    FUZZ_CHECK(ctt_live_blocks() == live);
    return 0;
}

/* ---- seeds ---- */

static const struct ctt_fuzz_text texts[] = {
    FUZZ_TEXT("{\"epoch\":1,\"loss\":2.5,\"top1\":0.1,\"val_loss\":2.4,"
              "\"val_top1\":0.2,\"val_top1_low\":0.1,\"val_top1_high\":0.3,"
              "\"lr\":0.001,\"wait\":0.1,\"best\":1,\"seconds\":3,"
              "\"settings\":\" lr=0.001 batch=8\"}\n"
              "{\"epoch\":2,\"loss\":1.5,\"best\":0,\"of_tomorrow\":[1,{}]}\n"),
    FUZZ_TEXT("{\"epoch\":1,\"val_mse\":0.01,\"best\":1}\n{\"epoch\":2,\"lo"),
    FUZZ_TEXT("{\"epoch\":\"1\"}\n{\"epoch\":null}\n[1]\n\n"
              "{\"epoch\":1e999}\n"),
    FUZZ_TEXT("{\"epoch\":1,\"settings\":7}\n{\"epoch\":-1,\"settings\":\"\"}"),
    FUZZ_TEXT("epoch,step,loss\n1,2,3\n\0\n"),
};

/* Behind the texts: more rows than are kept. */
size_t ctt_fuzz_seed(int i, uint8_t *p, size_t room)
{
    static const char row[] = "{\"epoch\":1}\n";
    size_t n = 0;

    if (i != (int)CTT_LEN(texts))
        return ctt_fuzz_text(texts, (int)CTT_LEN(texts), i, p, room);
    for (int k = 0; k < CTT_RUN_EPOCHS + 900 && n + sizeof(row) < room; k++) {
        memcpy(p + n, row, sizeof(row) - 1);
        n += sizeof(row) - 1;
    }
    return n;
}
