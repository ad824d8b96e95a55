/* SPDX-License-Identifier: Apache-2.0
 * test_progress.c: lines of progress: how often, the share, the time left; as
 * JSON; none if they are not wanted.  The clock is this file's. */
#include "tests/lib/check.h"
#include "tools/shared/tool.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

static double now = 1000;

int clock_gettime(clockid_t clock, struct timespec *t)
{
    (void)clock;
    t->tv_sec = (time_t)now;
    t->tv_nsec = (long)(1e9 * (now - (double)t->tv_sec));
    return 0;
}

static char said[4096];

/* Ten units of work, one in so many seconds; `said` is the text on stderr. */
static void work_on(int form, int quiet, double seconds, double left)
{
    struct ctt_telling how = { form, quiet };
    FILE *f = tmpfile();
    int was = dup(STDERR_FILENO);

    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    fflush(stderr);
    dup2(fileno(f), STDERR_FILENO);
    ctt_tool_tell(&how);
    ctt_progress_begin();
    for (int i = 0; i <= 10; i++, now += seconds) {
        struct ctt_work w = { i, 10, left };

        ctt_tool_progress(&w, "clip\n%d", i);
    }
    ctt_tool_note("a note");
    fflush(stderr);
    dup2(was, STDERR_FILENO);
    close(was);
    rewind(f);
    memset(said, 0, sizeof(said));
    CU_ASSERT(fread(said, 1, sizeof(said) - 1, f) < sizeof(said));
    fclose(f);
    now += 1000;
}

/* A line each ten seconds; controls are escaped. */
static void test_lines(void)
{
    work_on(CTT_TELL_AUTO, 0, 5, NAN);
    CU_ASSERT_STRING_EQUAL(said,
        "clip\\n2, 20% done, 0:40 left\nclip\\n4, 40% done, 0:30 left\n"
        "clip\\n6, 60% done, 0:20 left\nclip\\n8, 80% done, 0:10 left\n"
        "clip\\n10, 100% done, 0:00 left\nconvtt: a note\n");
    work_on(CTT_TELL_AUTO, 0, 6000, 3723);
    CU_ASSERT_PTR_NOT_NULL(strstr(said, "clip\\n5, 50% done, 1:02:03 left\n"));
    work_on(CTT_TELL_AUTO, 0, 0.5, NAN);
    CU_ASSERT_STRING_EQUAL(said, "convtt: a note\n");
}

static void test_json(void)
{
    work_on(CTT_TELL_JSON, 0, 0.5, NAN);
    CU_ASSERT_STRING_EQUAL(said,
        "{\"progress\":\"clip\\u000a2\",\"share\":0.2000,\"left_s\":4.0}\n"
        "{\"progress\":\"clip\\u000a4\",\"share\":0.4000,\"left_s\":3.0}\n"
        "{\"progress\":\"clip\\u000a6\",\"share\":0.6000,\"left_s\":2.0}\n"
        "{\"progress\":\"clip\\u000a8\",\"share\":0.8000,\"left_s\":1.0}\n"
        "{\"progress\":\"clip\\u000a10\",\"share\":1.0000,\"left_s\":0.0}\n"
        "convtt: a note\n");
}

static void test_none(void)
{
    work_on(CTT_TELL_OFF, 0, 100, NAN);
    CU_ASSERT_STRING_EQUAL(said, "convtt: a note\n");
    work_on(CTT_TELL_AUTO, 1, 100, NAN);
    CU_ASSERT_STRING_EQUAL(said, "");
}

/* Work of unknown size, and none. */
static void test_unknown(void)
{
    struct ctt_telling how = { CTT_TELL_JSON, 0 };
    struct ctt_work w = { 0, 0, 5 };
    FILE *f = tmpfile();
    int was = dup(STDERR_FILENO);

    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    dup2(fileno(f), STDERR_FILENO);
    ctt_tool_tell(&how);
    ctt_tool_progress(&w, "a");
    now += 100;
    ctt_tool_progress(NULL, "b");
    fflush(stderr);
    dup2(was, STDERR_FILENO);
    close(was);
    rewind(f);
    memset(said, 0, sizeof(said));
    CU_ASSERT(fread(said, 1, sizeof(said) - 1, f) > 0);
    CU_ASSERT_STRING_EQUAL(said,
        "{\"progress\":\"a\",\"share\":null,\"left_s\":null}\n"
        "{\"progress\":\"b\",\"share\":null,\"left_s\":null}\n");
    fclose(f);
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "lines", test_lines },
        { "as JSON", test_json },
        { "none", test_none },
        { "unknown", test_unknown },
        CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = {
        { "progress", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL
    };

    return ctt_check_main(suites);
}
