/* SPDX-License-Identifier: Apache-2.0
 * fuzz_tune.c: any file of times of convs is an error in one line, or a table
 * that is unchanged when written and read again; and with any table, a conv has
 * its correct results.  The input is the rows, or the whole file if it begins
 * with "convtt"; an @ at the beginning of a row is the key of the conv. */
#include "tests/fuzz/fuzz.h"
#include "device/tune.h"
#include "net/graph.h"
#include "base/random.h"

#include <math.h>
#include <string.h>

#define MACHINE "here"
#define FIRST "convtt " CTT_VERSION " times of convs: "

const char *const ctt_fuzz_words[] = {
    "\t", "\n", " ", "=", "@\t", "\n@\t", "direct\t", "dense\t", "winograd\t",
    "sparse\t", "int8\t", "bf16\t", "onednn\t", "direct=1", "-", "-1", "0",
    "dense=99999999999999999999", "=-1", "==", "\x7f", "\xff", "a",
    FIRST MACHINE "\n", NULL
};

/* ---- the conv ---- */

enum { SIDE = 8, DEEP = 16, VALUES = SIDE * SIDE * DEEP,
       WEIGHTS = DEEP * 9 * DEEP };

struct conv {
    struct ctt_graph *g;
    struct ctt_call   call;
    struct ctt_dev   *dev;
    void             *cache;
    float             x[VALUES], w[WEIGHTS], y[VALUES];
};

static float random_number(uint64_t key, int i)
{
    return (float)ctt_random(key, (uint64_t)i) * 0x1p-31f - 1;
}

/* Most of its weights are zeros, so that no provider of floats refuses it. */
static struct conv *open_conv(void)
{
    struct conv *v = ctt_calloc(1, sizeof(*v));
    const struct ctt_node *n;

    FUZZ_CHECK(v);
    for (int i = 0; i < VALUES; i++)
        v->x[i] = random_number(1, i);
    for (int i = 0; i < WEIGHTS; i++)
        v->w[i] = i % 4 ? 0 : random_number(2, i);
    FUZZ_CHECK(ctt_net_parse("input x h=8 w=8 c=16\nconv y in=x out=16 "
                             "kernel=1,3,3 pad=0,1,1 bias=0\n", &v->g) >= 0);
    n = &v->g->node[1];
    v->call = (struct ctt_call){ .node = n, .stamp = 1, .cache = &v->cache };
    v->call.in[0] = v->g->node[0].out;
    v->call.out = n->out;
    v->call.w[0].t = n->w[0];
    FUZZ_CHECK(ctt_volume(&n->w[0]) == WEIGHTS &&
               ctt_volume(&n->out) == VALUES);
    v->call.in[0].data = v->x;
    v->call.out.data = v->y;
    v->call.w[0].t.data = v->w;
    FUZZ_CHECK(ctt_dev_open("cpu", 1, &v->dev) >= 0);
    return v;
}

static void close_conv(struct conv *v)
{
    ctt_dev_forget(v->dev, &v->cache);
    ctt_dev_close(&v->dev);
    ctt_graph_free(&v->g);
    ctt_free(v);
}

static void run_conv(struct conv *v, struct ctt_tune *t)
{
    ctt_dev_tune(v->dev, t);
    ctt_dev_tuning(v->dev, CTT_TUNE_USE);
    FUZZ_CHECK(ctt_dev_run(v->dev, &v->call, CTT_FWD) >= 0);
}

/* With the table, results equal those by rule, up to rounding. */
static void check_conv(struct ctt_tune *t)
{
    struct conv *rule = open_conv(), *tuned = open_conv();

    run_conv(rule, NULL);
    run_conv(tuned, t);
    for (int i = 0; i < VALUES; i++)
        FUZZ_CHECK(fabsf(rule->y[i] - tuned->y[i]) < 1e-4f);
    close_conv(tuned);
    close_conv(rule);
}

/* ---- the file ---- */

static void conv_key(char key[CTT_TUNE_KEY])
{
    struct conv *v = open_conv();

    ctt_tune_key(v->dev, &v->call, key);
    close_conv(v);
}

/* Writes the file that the input stands for. */
static const char *make_file(const uint8_t *data, size_t size)
{
    static char text[CTT_FUZZ_ROOM * 2];
    char key[CTT_TUNE_KEY];
    size_t n = 0;

    if (size >= 6 && memcmp(data, "convtt", 6) == 0)
        return ctt_scratch_put("a.txt", data, size);
    conv_key(key);
    n = (size_t)snprintf(text, sizeof(text), "%s%s\n", FIRST, MACHINE);
    for (size_t i = 0; i < size && n + sizeof(key) < sizeof(text); i++)
        if (data[i] == '@' && (i == 0 || data[i - 1] == '\n'))
            n += (size_t)snprintf(text + n, sizeof(key), "%s", key);
        else
            text[n++] = (char)data[i];
    return ctt_scratch_put("a.txt", text, n);
}

static void check_same(struct ctt_tune *a, struct ctt_tune *b)
{
    FUZZ_CHECK(ctt_tune_rows(a) == ctt_tune_rows(b));
    for (int i = 0; i < ctt_tune_rows(a); i++)
        FUZZ_CHECK(strcmp(ctt_tune_row(a, i), ctt_tune_row(b, i)) == 0);
}

/* A row may be found, and the next one is another key. */
static void check_row(struct ctt_tune *t, int i)
{
    const char *row = ctt_tune_row(t, i), *next = ctt_tune_row(t, i + 1);
    char key[CTT_TUNE_KEY], name[32], times[CTT_TUNE_TIMES];
    char again[CTT_TUNE_KEY + 32 + CTT_TUNE_TIMES];
    size_t n = strcspn(row, "\t");

    FUZZ_CHECK(n < sizeof(key));
    memcpy(key, row, n);
    key[n] = '\0';
    FUZZ_CHECK(ctt_tune_find(t, key, name, sizeof(name), times) == 1);
    snprintf(again, sizeof(again), "%s\t%s\t%s", key, name, times);
    FUZZ_CHECK(strcmp(again, row) == 0);
    FUZZ_CHECK(!next || strcmp(row, next) < 0);
    FUZZ_CHECK(!next || strncmp(row, next, n + 1) != 0);
}

/* The table replaces a file of times, and no other. */
static void check_write(const char *path, struct ctt_tune *t)
{
    static uint8_t before[CTT_FUZZ_ROOM * 2], after[CTT_FUZZ_ROOM * 2];
    size_t n = ctt_scratch_get(path, before, sizeof(before));
    struct ctt_tune *again = NULL;

    if (ctt_tune_write(path, MACHINE, t) < 0) {
        ctt_fuzz_refused(path);
        FUZZ_CHECK(ctt_scratch_get(path, after, sizeof(after)) == n &&
                   memcmp(before, after, n) == 0);
        return;
    }
    FUZZ_CHECK(ctt_tune_new(&again) >= 0);
    FUZZ_CHECK(ctt_tune_read(path, MACHINE, again) >= 0);
    check_same(t, again);
    ctt_tune_close(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    long live = ctt_live_blocks();
    const char *path = make_file(data, size);
    char name[32], times[CTT_TUNE_TIMES];
    struct ctt_tune *t = NULL;

    FUZZ_CHECK(ctt_tune_new(&t) >= 0);
    FUZZ_CHECK(ctt_tune_add(t, "a", "mine", "mine=1") == 0);
    if (ctt_tune_read(path, MACHINE, t) < 0) {
        ctt_fuzz_refused(path);
        FUZZ_CHECK(ctt_tune_rows(t) == 1);    /* all of a file or nothing */
    }
    for (int i = 0; i < ctt_tune_rows(t); i++)
        check_row(t, i);
    FUZZ_CHECK(ctt_tune_find(t, "a", name, sizeof(name), times) == 1 &&
               strcmp(name, "mine") == 0);    /* known entries stay */
    check_conv(t);
    check_write(path, t);
    ctt_tune_close(&t);
    FUZZ_CHECK(ctt_live_blocks() == live);
    return 0;
}

/* ---- seeds ---- */

static const struct ctt_fuzz_text texts[] = {
    FUZZ_TEXT("@\tdirect\tdirect=1 dense=2\n"),
    FUZZ_TEXT("@\tdense\tdense=1000 winograd=7000\n"),
    FUZZ_TEXT("@\twinograd\twinograd=1\nb c\td\t-\na\tb\tc=1\n"),
    FUZZ_TEXT("@\tsparse\tsparse=1 other=2 =3 x\n"),
    FUZZ_TEXT("@\tint8\tint8=1\n"),
    FUZZ_TEXT("@\tbf16\tbf16=1\n"),
    FUZZ_TEXT("@\tnone\tnone=99999999999999999999\n"),
    FUZZ_TEXT("@\tonednn\tonednn=12\n@\tdense\tdense=1\n"),
    FUZZ_TEXT("a\tb\n"),
    FUZZ_TEXT(FIRST MACHINE "\na\tb\tc=1\n"),
    FUZZ_TEXT(FIRST "elsewhere\na\tb\tc=1\n"),
    FUZZ_TEXT("convtt 0.1 times of clips\n"),
};

size_t ctt_fuzz_seed(int i, uint8_t *p, size_t room)
{
    return ctt_fuzz_text(texts, (int)CTT_LEN(texts), i, p, room);
}
