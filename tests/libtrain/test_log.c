/* SPDX-License-Identifier: Apache-2.0
 * test_log.c: the logs of a run that was killed and goes on have each epoch
 * once and whole lines only. */
#include "libtrain/log.h"
#include "base/newfile.h"
#include "tests/lib/check.h"
#include "tests/lib/clip.h"

#include <stdio.h>
#include <string.h>

static void write_rows(const struct ctt_train_cfg *cfg, int done, int first,
                       int last)
{
    struct ctt_log *l = NULL;

    CHECK_OK(ctt_log_open(cfg, 0, done, &l));
    for (int i = first; i <= last; i++) {
        struct ctt_epoch e = { .p = { .epoch = i, .step = 10 * i } };
        CHECK_OK(ctt_log_row(l, &e));
    }
    CHECK_OK(ctt_log_close(&l));
}

static void add_text(const char *path, const char *text)
{
    FILE *f = fopen(path, "a");

    CU_ASSERT_FATAL(f != NULL);
    fputs(text, f);
    fclose(f);
}

static int same_files(const char *a, const char *b)
{
    size_t n, m;
    uint8_t *p = clip_bytes(a, &n), *q = clip_bytes(b, &m);
    int same = n == m && memcmp(p, q, n) == 0;

    ctt_free(p);
    ctt_free(q);
    return same;
}

static struct ctt_train_cfg logs(const char *name)
{
    return (struct ctt_train_cfg){ .log_csv = clip_path("%s.csv", name),
                                   .log_json = clip_path("%s.json", name) };
}

/* Killed while it wrote the fourth row, and resumed after `done` epochs. */
static void test_resume(void)
{
    const struct ctt_train_cfg whole = logs("whole"), part = logs("part");

    write_rows(&whole, -1, 1, 12);
    for (int done = 0; done <= 3; done++) {
        write_rows(&part, -1, 1, 3);
        add_text(part.log_csv, "4,4");
        add_text(part.log_json, "{\"epoch\":4,\"st");
        write_rows(&part, done, done + 1, 12);
        CU_ASSERT(same_files(whole.log_csv, part.log_csv));
        CU_ASSERT(same_files(whole.log_json, part.log_json));
    }
}

/* Logs that were not there, or that were cut in the head line. */
static void test_empty(void)
{
    const struct ctt_train_cfg a = logs("a"), b = logs("b");

    write_rows(&a, 4, 5, 6);
    add_text(b.log_csv, "epoch,st");
    write_rows(&b, 4, 5, 6);
    CU_ASSERT(same_files(a.log_csv, b.log_csv));
    CU_ASSERT(same_files(a.log_json, b.log_json));
}

/* The first row alone has the settings that are not the default. */
static void test_settings(void)
{
    struct ctt_train_cfg c = { .data = NULL };
    char *text = NULL, *first;
    int64_t size;

    CHECK_OK(ctt_opt_defaults(ctt_train_opts, &c));
    c.log_json = clip_path("%s.json", "settings");
    c.batch = 77;
    write_rows(&c, -1, 1, 2);
    CHECK_OK(ctt_file_text(c.log_json, 1 << 20, &text, &size));
    first = strchr(text, '\n');
    CU_ASSERT_FATAL(first != NULL);
    *first = '\0';
    CU_ASSERT(strstr(text, "\"settings\":\" batch=77\"}") != NULL);
    CU_ASSERT(strstr(first + 1, "settings") == NULL);
    ctt_free(text);
}

/* The interval of an accuracy is at the end of a row; prediction has none, and
 * neither has an epoch without a test. */
static void test_interval(void)
{
    static const struct { int task, tested; const char *end; } row[] = {
        { CTT_RECOGNISE, 1, ",0.25,0.75\n" }, { CTT_RECOGNISE, 0, ",0,,\n" },
        { CTT_BOTH, 1, ",0.25,0.75\n" }, { CTT_PREDICT, 1, ",0\n" },
    };

    for (size_t r = 0; r < CTT_LEN(row); r++) {
        struct ctt_train_cfg cfg = logs("interval");
        struct ctt_epoch e = { .p = { .epoch = 1 }, .tested = row[r].tested,
                               .val = { .top1_95 = { 0.25, 0.75 } } };
        size_t n, end = strlen(row[r].end);
        struct ctt_log *l = NULL;
        uint8_t *text;

        cfg.task = row[r].task;
        CHECK_OK(ctt_log_open(&cfg, 0, -1, &l));
        CHECK_OK(ctt_log_row(l, &e));
        CHECK_OK(ctt_log_close(&l));
        text = clip_bytes(cfg.log_csv, &n);
        CU_ASSERT_FATAL(n > end);
        CU_ASSERT(memcmp(text + n - end, row[r].end, end) == 0);
        ctt_free(text);
    }
}

/* A line that a user has added, of any length, is no reason to cut. */
static void test_long_line(void)
{
    const struct ctt_train_cfg a = logs("long"), b = logs("long2");
    static char text[10000];

    memset(text, ' ', sizeof(text));
    text[0] = '#';
    text[sizeof(text) - 2] = '\n';
    text[sizeof(text) - 1] = '\0';
    for (int i = 0; i < 2; i++) {
        const struct ctt_train_cfg *cfg = i ? &b : &a;
        write_rows(cfg, -1, 1, 2);
        add_text(cfg->log_csv, text);
        write_rows(cfg, 2, 3, i ? 6 : 4);
    }
    write_rows(&b, 4, 5, 4);
    CU_ASSERT(same_files(a.log_csv, b.log_csv));
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "killed and resumed", test_resume }, { "no rows", test_empty },
        { "a long line", test_long_line }, { "interval", test_interval },
        { "settings", test_settings },
        CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = {
        { .pName = "log", .pTests = tests }, CU_SUITE_INFO_NULL
    };
    int rc = ctt_check_main(suites);

    clip_clean();
    return rc;
}
