/* SPDX-License-Identifier: Apache-2.0
 * test_hook.c: commands for events: what is too long, what fails, what is
 * left in the background, and what runs too long. */
#include "tools/stream/stream_tool.h"
#include "base/clock.h"
#include "tests/lib/check.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* FOREVER: seconds of a command that somebody has to end; PATIENCE: of this
 * test, on the slowest machine. */
enum { FOREVER = 1000, PATIENCE = 60 };

static char *const nothing[] = { NULL };
static char file[4096];
static char variable[sizeof(file) + 2];
static char *const with_file[] = { variable, NULL };

static void nap(void)
{
    nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
}

/* Runs the command, which knows the file as $F, and waits for its end. */
static int64_t failures_of(const char *command, double limit, double seconds)
{
    struct ctt_hook *h = NULL;
    int64_t failed;

    CHECK_OK(ctt_hook_open(command, limit, &h));
    CU_ASSERT_EQUAL(ctt_hook_run(h, "an event\n", with_file), 1);
    ctt_hook_wait(h, seconds);
    failed = ctt_hook_failed(h);
    CU_ASSERT_EQUAL(ctt_hook_look(h), 0);
    ctt_hook_close(&h);
    return failed;
}

static void test_status(void)
{
    CU_ASSERT_EQUAL(failures_of("exit 0", PATIENCE, PATIENCE), 0);
    CU_ASSERT_EQUAL(failures_of("exit 3", PATIENCE, PATIENCE), 1);
    CU_ASSERT_EQUAL(failures_of("kill -TERM $$", PATIENCE, PATIENCE), 1);
    CU_ASSERT_EQUAL(failures_of("sleep 1000", 0.1, PATIENCE), 1);
    CU_ASSERT_EQUAL(failures_of("sleep 1000", FOREVER, 0.1), 1);
}

/* What this process inherited does not win over what the event says, nor does
 * it look like a part of that. */
static void test_inherited(void)
{
    char *const event[] = { variable, (char[]){ "CONVTT_CLASS=new" }, NULL };
    struct ctt_hook *h = NULL;

    CU_ASSERT_EQUAL(setenv("CONVTT_CLASS", "old", 1), 0);
    CU_ASSERT_EQUAL(setenv("CONVTT_OTHER", "old", 1), 0);
    CHECK_OK(ctt_hook_open("test \"$CONVTT_CLASS\" = new && "
                           "test \"${CONVTT_OTHER-none}\" = none && "
                           "test -n \"$PATH\" && test -n \"$F\"", PATIENCE,
                           &h));
    CU_ASSERT_EQUAL(ctt_hook_run(h, "", event), 1);
    ctt_hook_wait(h, PATIENCE);
    CU_ASSERT_EQUAL(ctt_hook_failed(h), 0);
    ctt_hook_close(&h);
    unsetenv("CONVTT_CLASS");
    unsetenv("CONVTT_OTHER");
}

/* Why a command failed, which ends by itself or is ended. */
static void test_why(void)
{
    static const struct { const char *command, *why; double limit; } row[] = {
        { "exit 3", "a command ended with status 3", PATIENCE },
        { "/nowhere/at/all 2> /dev/null", "status 127: the shell does not find "
          "it", PATIENCE },
        { "/dev/null 2> /dev/null", "status 126: it is there", PATIENCE },
        { "kill -TERM $$", "ended by signal 15", PATIENCE },
        { "sleep 1000", "took more than 0.1 s", 0.1 },
    };

    for (size_t i = 0; i < CTT_LEN(row); i++) {
        struct ctt_hook *h = NULL;
        char why[128] = "";

        CHECK_OK(ctt_hook_open(row[i].command, row[i].limit, &h));
        CU_ASSERT_EQUAL(ctt_hook_run(h, "", nothing), 1);
        ctt_hook_wait(h, PATIENCE);
        CU_ASSERT_EQUAL(ctt_hook_tell(h, why, sizeof(why)), 1);
        CU_ASSERT_PTR_NOT_NULL(strstr(why, row[i].why));
        CU_ASSERT_EQUAL(ctt_hook_tell(h, why, sizeof(why)), 0);
        ctt_hook_close(&h);
    }
}

/* What does not fit into a pipe at once says so, also if all are busy. */
static void test_too_long(void)
{
    char *text = ctt_calloc(1, CTT_HOOK_TEXT + 2);
    struct ctt_hook *h = NULL;

    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    memset(text, 'x', CTT_HOOK_TEXT + 1);
    text[CTT_HOOK_TEXT + 1] = '\0';
    CHECK_OK(ctt_hook_open("exec sleep 1000", FOREVER, &h));
    ctt_check_refused(ctt_hook_run(h, text, nothing), CTT_EIO,
                      "an event of 65537 bytes");
    for (int i = 0; i < CTT_HOOK_ROOM; i++)
        CU_ASSERT_EQUAL(ctt_hook_run(h, "", nothing), 1);
    CU_ASSERT_EQUAL(ctt_hook_run(h, "", nothing), 0);
    ctt_check_refused(ctt_hook_run(h, text, nothing), CTT_EIO,
                      "an event of 65537 bytes");
    CU_ASSERT_EQUAL(ctt_hook_look(h), CTT_HOOK_ROOM);
    ctt_hook_close(&h);
    ctt_free(text);
}

/* The process whose number is in the file; 0: none yet. */
static pid_t written(void)
{
    FILE *f = fopen(file, "r");
    int id = 0;

    if (f && fscanf(f, "%d", &id) != 1)
        id = 0;
    if (f)
        fclose(f);
    return id;
}

/* 1 if a process runs: one that is dead may wait for its new parent. */
static int runs(pid_t id)
{
    char path[64], state = 'X';
    FILE *f;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)id);
    f = fopen(path, "r");
    if (f && fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
        state = 'X';
    if (f)
        fclose(f);
    return state != 'X' && state != 'Z';
}

static void await_end_of(pid_t id)
{
    double start = ctt_seconds();

    while (runs(id) && ctt_seconds() - start < PATIENCE)
        nap();
    CU_ASSERT(!runs(id));
    if (runs(id))
        kill(id, SIGKILL);
}

/* The shell ends by itself, well or not, or is ended. */
static void test_background(void)
{
    const char *last[] = { "exit 0", "exit 3", "wait" };

    for (int i = 0; i < (int)CTT_LEN(last); i++) {
        double start = ctt_seconds();
        struct ctt_hook *h = NULL;
        char command[128];

        snprintf(command, sizeof(command), "sleep 1000 & echo $! > \"$F\"; %s",
                 last[i]);
        CU_ASSERT_EQUAL(truncate(file, 0), 0);
        CHECK_OK(ctt_hook_open(command, FOREVER, &h));
        CU_ASSERT_EQUAL(ctt_hook_run(h, "", with_file), 1);
        while (!written() && ctt_seconds() - start < PATIENCE)
            nap();
        CU_ASSERT_FATAL(written() > 0);
        ctt_hook_wait(h, i < 2 ? PATIENCE : 0);
        CU_ASSERT_EQUAL(ctt_hook_failed(h), i > 0);
        await_end_of(written());
        ctt_hook_close(&h);
    }
}

/* As a second Ctrl-C ends them, of several hooks. */
static void test_all(void)
{
    struct ctt_hook *h[3] = { NULL };

    for (int i = 0; i < 3; i++) {
        CHECK_OK(ctt_hook_open("exec sleep 1000", FOREVER, &h[i]));
        CU_ASSERT_EQUAL(ctt_hook_run(h[i], "", nothing), 1);
        CU_ASSERT_EQUAL(ctt_hook_run(h[i], "", nothing), 1);
    }
    ctt_hook_kill_all();
    for (int i = 0; i < 3; i++) {
        double start = ctt_seconds();

        ctt_hook_wait(h[i], PATIENCE);
        CU_ASSERT_EQUAL(ctt_hook_failed(h[i]), 2);
        CU_ASSERT(ctt_seconds() - start < PATIENCE);
        ctt_hook_close(&h[i]);
    }
}

static int set_up(void)
{
    const char *folder = getenv("TMPDIR");
    int fd;

    snprintf(file, sizeof(file), "%s/test_hook.XXXXXX",
             folder && *folder ? folder : "/tmp");
    fd = mkstemp(file);
    snprintf(variable, sizeof(variable), "F=%s", file);
    return fd < 0 || close(fd);
}

static int clean_up(void)
{
    return unlink(file);
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "status", test_status }, { "inherited", test_inherited },
        { "reasons", test_why },
        { "too long", test_too_long },
        { "all at once", test_all },
        { "background", test_background },
        CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = {
        { "hook", set_up, clean_up, NULL, NULL, tests }, CU_SUITE_INFO_NULL
    };

    return ctt_check_main(suites);
}
