/* SPDX-License-Identifier: Apache-2.0
 * test_tune.c: providers chosen by timing, with providers whose times are
 * known; and the table and the file that remember them. */
#include "tests/lib/check.h"
#include "device/cpu/conv/providers.h"
#include "device/tune.h"
#include "base/clock.h"
#include "base/newfile.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- providers that take a given time ---- */

enum { FIRST, SECOND, LAST, FAKES };

static double cost[FAKES];    /* ms */
static int    ran[FAKES], fails[FAKES], kept;

static int always(struct ctt_conv_ask *q)
{
    (void)q;
    return 1;
}

/* Adds row + 1 to a result that lies in its plus input; else writes it. */
static int spin(struct ctt_conv_ask *q, int row)
{
    const struct ctt_call *c = q->call;
    double end = ctt_milliseconds() + cost[row];
    float *y = c->out.data;
    int rc = 0, had;

    ran[row]++;
    CTT_CHECK(!fails[row], CTT_ENOMEM, "out of memory");
    had = *q->own != NULL;
    CTT_TRY(ctt_conv_own(q, 64) ? 0 : CTT_ENOMEM);
    kept += !had;
    while (ctt_milliseconds() < end)
        ;
    *y = c->in[1].data == y ? *y + 1 : (float)row + 1;
out:
    return rc;
}

static int run_first(struct ctt_conv_ask *q) { return spin(q, FIRST); }
static int run_second(struct ctt_conv_ask *q) { return spin(q, SECOND); }
static int run_last(struct ctt_conv_ask *q) { return spin(q, LAST); }

static void forget(void *own)
{
    kept--;
    ctt_free(own);
}

static const struct ctt_conv_provider first = {
    .name = "first", .can = always, .run = run_first, .forget = forget,
}, second = {
    .name = "second", .can = always, .run = run_second, .forget = forget,
}, last = {
    .name = "last", .can = always, .run = run_last, .forget = forget,
};
static const struct ctt_conv_provider *const fakes[] = { &first, &second,
                                                         &last, NULL };

/* ---- a call ---- */

static struct ctt_dev     *dev;
static struct ctt_conv_set set;
static struct ctt_node     node;
static struct ctt_call     call;
static void               *cache;
static float               x, y, w;

static struct ctt_tensor number(float *at)
{
    return (struct ctt_tensor){ .data = at, .n = 1, .d = 1, .h = 1, .w = 1,
                                .c = 1, .ld = 1 };
}

static void begin(double one, double two, struct ctt_tune *t)
{
    cost[FIRST] = one;
    cost[SECOND] = two;
    ran[FIRST] = ran[SECOND] = fails[FIRST] = fails[SECOND] = kept = 0;
    ran[LAST] = 0;
    y = 0;
    w = 1;
    node = (struct ctt_node){ .op = CTT_OP_CONV, .name = "c", .nin = 1 };
    call = (struct ctt_call){ .node = &node, .stamp = 1, .cache = &cache };
    call.in[0] = number(&x);
    call.w[0].t = number(&w);
    call.out = number(&y);
    CHECK_OK(ctt_dev_open("ref", 1, &dev));
    CHECK_OK(ctt_conv_open(&set, dev, fakes, NULL));
    ctt_dev_tune(dev, t);
}

static void end(void)
{
    if (cache)
        ctt_conv_forget(cache);
    cache = NULL;
    CU_ASSERT_EQUAL(kept, 0);
    ctt_conv_close(&set);
    ctt_dev_close(&dev);
}

/* Runs the call until nothing is unknown. */
static void measure(void)
{
    int left = 1;

    for (int i = 0; left && i < 200; i++) {
        ctt_dev_tuning(dev, CTT_TUNE_MEASURE);
        CHECK_OK(ctt_conv_fwd(&set, dev, &call));
        left = ctt_dev_tuning(dev, CTT_TUNE_USE);
    }
    CU_ASSERT_EQUAL(left, 0);
}

static float answer(void)
{
    CHECK_OK(ctt_conv_fwd(&set, dev, &call));
    return y;
}

static int unknown(void)
{
    ctt_dev_tuning(dev, CTT_TUNE_LOOK);
    CHECK_OK(ctt_conv_fwd(&set, dev, &call));
    return ctt_dev_tuning(dev, CTT_TUNE_USE);
}

/* ---- choosing ---- */

static void the_faster(void)
{
    struct ctt_tune *t = NULL;

    CHECK_OK(ctt_tune_new(&t));
    begin(0.2, 0.05, t);
    CU_ASSERT_EQUAL(unknown(), 1);
    CU_ASSERT_EQUAL(ran[FIRST] + ran[SECOND], 0);
    CU_ASSERT_EQUAL(answer(), 1);    /* not measured: the rule's */
    measure();
    CU_ASSERT(ran[FIRST] > 3 && ran[SECOND] > 3);
    CU_ASSERT_EQUAL(ran[LAST], 0);
    CU_ASSERT_EQUAL(kept, 1);        /* what the other kept is freed */
    CU_ASSERT_EQUAL(answer(), 2);
    CU_ASSERT_STRING_EQUAL(ctt_conv_impl(cache, CTT_FWD), "second");
    CU_ASSERT_PTR_NOT_NULL(strstr(ctt_conv_why(cache, CTT_FWD),
                                  "measured: second 0.0"));
    CU_ASSERT_EQUAL(unknown(), 0);
    end();
    begin(0.2, 0.05, t);             /* another call of that key */
    CU_ASSERT_EQUAL(unknown(), 0);
    CU_ASSERT_EQUAL(answer(), 2);
    ctt_dev_deterministic(dev, 1);
    CU_ASSERT(ctt_conv_fwd(&set, dev, &call) < 0);    /* by rule: none */
    end();
    ctt_tune_close(&t);
}

static void not_by_noise(void)
{
    struct ctt_tune *t = NULL;

    CHECK_OK(ctt_tune_new(&t));
    begin(0.5, 0.495, t);
    measure();
    CU_ASSERT_EQUAL(answer(), 1);
    end();
    ctt_tune_close(&t);
}

static void slow_ones(void)
{
    struct ctt_tune *t = NULL;

    CHECK_OK(ctt_tune_new(&t));
    begin(0.05, 40, t);
    measure();
    CU_ASSERT_EQUAL(ran[SECOND], 1);
    CU_ASSERT_EQUAL(answer(), 1);
    end();
    ctt_tune_close(&t);
}

/* Each call is computed once, whoever does. */
static void in_place(void)
{
    struct ctt_tune *t = NULL;

    CHECK_OK(ctt_tune_new(&t));
    begin(0.1, 0.02, t);
    node.plus = 1;
    call.in[1] = call.out;
    for (int i = 1; i < 20; i++) {
        ctt_dev_tuning(dev, CTT_TUNE_MEASURE);
        CU_ASSERT_EQUAL(answer(), (float)i);
    }
    end();
    ctt_tune_close(&t);
}

static void failing_ones(void)
{
    struct ctt_tune *t = NULL;

    CHECK_OK(ctt_tune_new(&t));
    begin(0.05, 0.01, t);
    fails[SECOND] = 1;
    measure();
    CU_ASSERT_EQUAL(ran[SECOND], 1);
    CU_ASSERT_EQUAL(answer(), 1);
    end();
    begin(0.05, 0.01, t);
    fails[FIRST] = 1;                /* the rule's: an error */
    ctt_dev_tuning(dev, CTT_TUNE_MEASURE);
    CU_ASSERT(ctt_conv_fwd(&set, dev, &call) < 0);
    end();
    ctt_tune_close(&t);
}

/* ---- what a choice holds for ---- */

enum { OUTS = 8, INS = 16 };
static float kernel[OUTS * INS];

static void key_of(char key[CTT_TUNE_KEY])
{
    begin(1, 1, NULL);
    call.in[0].c = INS;
    call.out.c = OUTS;
    call.w[0].t = number(kernel);
    call.w[0].t.n = OUTS;
    call.w[0].t.c = INS;
    ctt_tune_key(dev, &call, key);
    end();
}

/* As many zeros in whole blocks are another key, and in other places not. */
static void zeros(void)
{
    char full[CTT_TUNE_KEY], blocks[CTT_TUNE_KEY], apart[CTT_TUNE_KEY];
    char others[CTT_TUNE_KEY];

    for (int i = 0; i < OUTS * INS; i++)
        kernel[i] = 1;
    key_of(full);
    CU_ASSERT_PTR_NOT_NULL(strstr(full, " full 10 blocks 10 "));
    for (int i = 0; i < OUTS * INS; i++)
        kernel[i] = (float)(i / 4 % 2);
    key_of(blocks);
    CU_ASSERT_PTR_NOT_NULL(strstr(blocks, " full 5 blocks 5 "));
    for (int i = 0; i < OUTS * INS; i++)
        kernel[i] = (float)(i % 2);
    key_of(apart);
    CU_ASSERT_PTR_NOT_NULL(strstr(apart, " full 5 blocks 10 "));
    for (int i = 0; i < OUTS * INS; i++)
        kernel[i] = (float)(i % 4 > 1);
    key_of(others);
    CU_ASSERT_STRING_EQUAL(apart, others);
}

/* The machine's text names all providers: a build without one of them must not
 * take over what one with it found. */
static void builds(void)
{
    char text[CTT_MACHINE + 1], names[CTT_MACHINE] = "";
    const char *found;

    memset(text, 'x', sizeof(text));
    ctt_dev_cpu.machine(text, sizeof(text));
    CU_ASSERT(strlen(text) < CTT_MACHINE);    /* not cut there */
    for (int i = 0; ctt_cpu_providers[i]; i++) {
        strcat(names, i ? " " : ": ");
        strcat(names, ctt_cpu_providers[i]->name);
    }
    found = strstr(text, names);
    CU_ASSERT(found && strlen(found) == strlen(names));
}

/* ---- the file ---- */

static const char file[] = "test_tune.txt", other[] = "test_tune_other.txt";
#define HEAD "convtt " CTT_VERSION " times of convs: here\n"

static int rows_of(const char *path)
{
    struct ctt_tune *t = NULL;
    int rows;

    CHECK_OK(ctt_tune_new(&t));
    ctt_tune_read(path, "here", t);
    rows = ctt_tune_rows(t);
    ctt_tune_close(&t);
    return rows;
}

static void round_trip(void)
{
    char name[32], times[CTT_TUNE_TIMES];
    struct ctt_tune *t = NULL, *two = NULL;

    unlink(file);
    CHECK_OK(ctt_tune_new(&t));
    CHECK_OK(ctt_tune_new(&two));
    CU_ASSERT_EQUAL(ctt_tune_add(t, "b 1", "x", "x=1"), 0);
    CU_ASSERT_EQUAL(ctt_tune_add(t, "a 2", "y", "y=2 x=3"), 0);
    CU_ASSERT_EQUAL(ctt_tune_add(two, "c", "z", "z=4"), 0);
    CHECK_OK(ctt_tune_write(file, "here", t));
    CHECK_OK(ctt_tune_write(file, "here", two));    /* both writers' rows */
    CU_ASSERT_EQUAL(rows_of(file), 3);
    CU_ASSERT_EQUAL(ctt_tune_find(two, "a 2", name, sizeof(name), times), 1);
    CU_ASSERT_STRING_EQUAL(name, "y");
    CU_ASSERT_STRING_EQUAL(times, "y=2 x=3");
    CU_ASSERT_EQUAL(ctt_tune_find(two, "a", name, sizeof(name), times), 0);
    CU_ASSERT(ctt_tune_read(file, "elsewhere", t) < 0);
    CU_ASSERT(ctt_tune_write("no/folder/f", "here", t) < 0);
    ctt_tune_close(&t);
    ctt_tune_close(&two);
    unlink(file);
}

static void damaged(void)
{
    static const char *const texts[] = {
        "", "\n", HEAD "a\tb\tc=1", HEAD "\n", HEAD "a\tb\n",
        HEAD "a\tb\tc\td\n", HEAD "\tb\tc=1\n", HEAD "a\t\tc=1\n",
        HEAD "a\tb\tc=1\na\tb\n", HEAD "a\001\tb\tc=1\n",
        HEAD "a\xff\tb\tc=1\n", "convtt 0 times of convs: here\na\tb\tc=1\n",
    };
    static const char good[] = HEAD "a\tb\tc=1\n";

    for (size_t i = 0; i < CTT_LEN(texts); i++) {
        CHECK_OK(ctt_file_replace(file, texts[i], (int64_t)strlen(texts[i])));
        CU_ASSERT_EQUAL(rows_of(file), 0);
    }
    CHECK_OK(ctt_file_replace(file, good, sizeof(good)));    /* a NUL */
    CU_ASSERT_EQUAL(rows_of(file), 0);
    CHECK_OK(ctt_file_replace(file, good, sizeof(good) - 1));
    CU_ASSERT_EQUAL(rows_of(file), 1);
    unlink(other);
    CU_ASSERT_EQUAL(symlink(file, other), 0);
    CU_ASSERT_EQUAL(rows_of(other), 0);
    unlink(other);
    CU_ASSERT_EQUAL(mkfifo(other, 0600), 0);
    CU_ASSERT_EQUAL(rows_of(other), 0);
    unlink(other);
    unlink(file);
}

/* A file of another kind stays; an empty one is replaced. */
static void keeps_others(struct ctt_tune *t)
{
    char text[8] = "";
    FILE *f = fopen(other, "w");

    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    fputs("clips\n", f);
    fclose(f);
    CU_ASSERT_EQUAL(ctt_tune_write(other, "here", t), CTT_EIO);
    f = fopen(other, "r");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    CU_ASSERT_PTR_NOT_NULL(fgets(text, sizeof(text), f));
    CU_ASSERT_STRING_EQUAL(text, "clips\n");
    fclose(f);
    f = fopen(other, "w");
    fclose(f);
    CHECK_OK(ctt_tune_write(other, "here", t));
    CU_ASSERT_EQUAL(rows_of(other), 1);
    unlink(other);
}

/* A link is not written through either, nor a folder that others write. */
static void not_ours(void)
{
    struct ctt_tune *t = NULL;
    char path[4096], here[2048];

    CHECK_OK(ctt_tune_new(&t));
    CU_ASSERT_EQUAL(symlink(file, other), 0);
    CU_ASSERT_EQUAL(ctt_tune_add(t, "a", "b", "c=1"), 0);
    CU_ASSERT(ctt_tune_write(other, "here", t) < 0);
    CU_ASSERT(access(file, F_OK) != 0);
    unlink(other);
    keeps_others(t);
    ctt_tune_close(&t);
    CU_ASSERT_PTR_NOT_NULL_FATAL(getcwd(here, sizeof(here) - 20));
    strcat(here, "/test_tune_caches");
    setenv("XDG_CACHE_HOME", here, 1);
    CU_ASSERT(ctt_tune_place("here", 0, path, sizeof(path)) < 0);
    CHECK_OK(ctt_tune_place("here", 1, path, sizeof(path)));
    strcat(here, "/convtt");
    CU_ASSERT_EQUAL(chmod(here, 0777), 0);
    CU_ASSERT(ctt_tune_place("here", 1, path, sizeof(path)) < 0);
    rmdir(here);
    *strrchr(here, '/') = '\0';
    rmdir(here);
    setenv("XDG_CACHE_HOME", "relative", 1);
    unsetenv("HOME");
    CU_ASSERT(ctt_tune_place("here", 1, path, sizeof(path)) < 0);
}

/* Whatever allocation fails, the answer is right or there is an error, and all
 * memory is freed. */
static void no_memory(void)
{
    long live = ctt_live_blocks();

    for (long k = 1; k < 40; k++) {
        struct ctt_tune *t = NULL;

        begin(0.02, 0.01, NULL);
        ctt_fail_alloc(k);
        if (ctt_tune_open("cpu", file, &t) == 0) {
            ctt_dev_tune(dev, t);
            ctt_dev_tune_begin(dev);
            ctt_dev_tuning(dev, CTT_TUNE_MEASURE);
            for (int i = 0; i < 80; i++)
                if (ctt_conv_fwd(&set, dev, &call) == 0)
                    CU_ASSERT(y > 0);
            ctt_dev_tune_end(dev);
        }
        ctt_fail_alloc(0);
        end();
        ctt_tune_close(&t);
        unlink(file);
    }
    CU_ASSERT_EQUAL(ctt_live_blocks(), live);
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "the faster provider computes the call", the_faster },
        { "a difference like noise chooses nothing", not_by_noise },
        { "slow providers are given up at once", slow_ones },
        { "a result in its plus input is added to once", in_place },
        { "providers that fail are given up", failing_ones },
        { "the shares of zeros and of blocks of them", zeros },
        { "the providers of a build", builds },
        { "the file of two writers", round_trip },
        { "damaged files are ignored as a whole", damaged },
        { "only files and folders of this user", not_ours },
        { "the k-th allocation fails", no_memory },
        CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = {
        { .pName = "tune", .pTests = tests }, CU_SUITE_INFO_NULL
    };

    return ctt_check_main(suites);
}
