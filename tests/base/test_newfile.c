/* SPDX-License-Identifier: Apache-2.0
 * test_newfile.c: a new file appears whole or not at all, whatever lies beside
 * it; and nothing waits for a FIFO. */
#include "tests/lib/check.h"
#include "base/newfile.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char dir[] = "/tmp/convtt-newfile-XXXXXX";

static const char *at(const char *name)
{
    static char path[4][64];
    static int k;

    k = (k + 1) % 4;
    snprintf(path[k], sizeof(path[k]), "%s/%s", dir, name);
    return path[k];
}

/* Whether a file holds exactly this text. */
static int holds(const char *name, const char *text)
{
    char got[64] = { 0 };
    FILE *f = fopen(at(name), "r");
    size_t n = f ? fread(got, 1, sizeof(got) - 1, f) : 0;

    if (f)
        fclose(f);
    return f && n == strlen(text) && strcmp(got, text) == 0;
}

static int there(const char *name)
{
    struct stat st;

    return lstat(at(name), &st) == 0;
}

static void test_replace(void)
{
    struct ctt_newfile *f = NULL;
    struct stat st;

    CHECK_OK(ctt_file_replace(at("a"), "old", 3));
    CU_ASSERT(holds("a", "old"));
    CU_ASSERT_EQUAL(chmod(at("a"), 0640), 0);
    CHECK_OK(ctt_newfile_open(at("a"), &f));
    CHECK_OK(ctt_newfile_write(f, "new", 3));
    CU_ASSERT(holds("a", "old") && there("a.convtt0.tmp"));
    CHECK_OK(ctt_newfile_finish(&f));
    CU_ASSERT(holds("a", "new") && !there("a.convtt0.tmp") && !f);
    CU_ASSERT(stat(at("a"), &st) == 0 && (st.st_mode & 0777) == 0640);
    CHECK_OK(ctt_newfile_open(at("a"), &f));
    CHECK_OK(ctt_newfile_write(f, "no", 2));
    ctt_newfile_drop(&f);
    CU_ASSERT(holds("a", "new") && !there("a.convtt0.tmp"));
}

/* Two writers of one path do not disturb each other. */
static void test_two(void)
{
    struct ctt_newfile *f = NULL, *g = NULL;

    CHECK_OK(ctt_newfile_open(at("two"), &f));
    CHECK_OK(ctt_newfile_open(at("two"), &g));
    CHECK_OK(ctt_newfile_write(f, "first", 5));
    CHECK_OK(ctt_newfile_write(g, "second", 6));
    CHECK_OK(ctt_newfile_finish(&f));
    CU_ASSERT(holds("two", "first"));
    CHECK_OK(ctt_newfile_finish(&g));
    CU_ASSERT(holds("two", "second"));
    CU_ASSERT(!there("two.convtt0.tmp") && !there("two.convtt1.tmp"));
}

static void die_writing(const char *path)
{
    struct ctt_newfile *f = NULL;

    if (ctt_newfile_open(path, &f) == 0 && ctt_newfile_write(f, "x", 1) == 0)
        raise(SIGKILL);
    _exit(1);
}

/* What a killed writer left goes, what a living one writes stays. */
static void test_orphans(void)
{
    struct ctt_newfile *f = NULL, *g = NULL;
    pid_t child;

    CHECK_OK(ctt_newfile_open(at("o"), &f));
    child = fork();
    CU_ASSERT_FATAL(child >= 0);
    if (child == 0)
        die_writing(at("o"));
    CU_ASSERT_EQUAL(waitpid(child, NULL, 0), child);
    CU_ASSERT(there("o.convtt0.tmp") && there("o.convtt1.tmp"));
    CHECK_OK(ctt_newfile_open(at("o"), &g));
    CU_ASSERT_STRING_EQUAL(ctt_newfile_temp(g), at("o.convtt1.tmp"));
    ctt_newfile_drop(&g);
    CU_ASSERT(there("o.convtt0.tmp") && !there("o.convtt1.tmp"));
    CHECK_OK(ctt_newfile_finish(&f));
    CU_ASSERT(holds("o", "") && !there("o.convtt0.tmp"));
}

static void die_claiming(const char *path)
{
    struct ctt_newfile *f = NULL;

    if (ctt_newfile_claim(path, &f) == 0)
        raise(SIGKILL);
    _exit(1);
}

/* A path has one owner, by whatever name, until that gives it up or dies. */
static void test_claim(void)
{
    struct ctt_newfile *f = NULL, *g = NULL;
    int status = 0;
    pid_t child = fork();

    CU_ASSERT_FATAL(child >= 0);
    if (child == 0)
        die_claiming(at("c"));
    CU_ASSERT_EQUAL(waitpid(child, &status, 0), child);
    CU_ASSERT(WIFSIGNALED(status) && there("c.convtt.lock"));
    CHECK_OK(ctt_newfile_claim(at("c"), &f));
    ctt_check_refused(ctt_newfile_claim(at("c"), &g), CTT_EIO,
                      "another program");
    CU_ASSERT_EQUAL(symlink("c", at("to-c")), 0);
    ctt_check_refused(ctt_newfile_claim(at("to-c"), &g), CTT_EIO,
                      "another program");
    CHECK_OK(ctt_file_replace(at("c"), "new", 3));
    ctt_check_refused(ctt_newfile_claim(at("c"), &g), CTT_EIO,
                      "another program");
    ctt_newfile_drop(&f);
    CU_ASSERT(!there("c.convtt.lock") && holds("c", "new"));
    CHECK_OK(ctt_newfile_claim(at("to-c"), &g));
    ctt_newfile_drop(&g);
    CU_ASSERT_EQUAL(symlink("victim", at("c.convtt.lock")), 0);
    ctt_check_refused(ctt_newfile_claim(at("c"), &g), CTT_EIO,
                      "cannot write");
    CU_ASSERT(!there("victim"));
}

/* Links at temporary names are not followed; a link at the path is kept. */
static void test_links(void)
{
    CHECK_OK(ctt_file_replace(at("victim"), "safe", 4));
    CU_ASSERT_EQUAL(symlink("victim", at("l.convtt0.tmp")), 0);
    CU_ASSERT_EQUAL(mkfifo(at("l.convtt1.tmp"), 0600), 0);
    CHECK_OK(ctt_file_replace(at("l"), "new", 3));
    CU_ASSERT(holds("l", "new") && holds("victim", "safe"));
    CU_ASSERT(there("l.convtt0.tmp") && there("l.convtt1.tmp"));
    CU_ASSERT_EQUAL(symlink("l", at("to-l")), 0);
    CHECK_OK(ctt_file_replace(at("to-l"), "by link", 7));
    CU_ASSERT(holds("l", "by link"));
    CU_ASSERT_EQUAL(readlink(at("to-l"), (char[8]){ 0 }, 8), 1);
}

static void test_refused(void)
{
    struct ctt_newfile *f = NULL;

    ctt_check_refused(ctt_newfile_open(at("none/x"), &f), CTT_EIO,
                      "none/x: ");
    ctt_check_refused(ctt_newfile_open(dir, &f), CTT_EIO,
                      "not a regular file");
    CU_ASSERT_EQUAL(mkfifo(at("pipe"), 0600), 0);
    ctt_check_refused(ctt_file_replace(at("pipe"), "", 0), CTT_EIO,
              "not a regular file");
}

/* None of these waits. */
static void test_open(void)
{
    int64_t size = 0;
    int fd = -1;

    alarm(CTT_PATIENCE);
    ctt_check_refused(ctt_file_open(at("pipe"), &fd, &size), CTT_EIO,
                      "not a regular");
    ctt_check_refused(ctt_stream_open(at("pipe"), &fd, &size), CTT_EIO,
              "not a regular");
    ctt_check_refused(ctt_file_open("/dev/zero", &fd, &size), CTT_EIO,
                      "not a regular");
    ctt_check_refused(ctt_file_open(dir, &fd, &size), CTT_EIO,
                      "not a regular");
    ctt_check_refused(ctt_file_open(at("none"), &fd, &size), CTT_EIO,
                      "No such file");
    CHECK_OK(ctt_file_open(at("a"), &fd, &size));
    CU_ASSERT_EQUAL(size, 3);
    close(fd);
    alarm(0);
}

/* A pipe that was passed on purpose is read. */
static void test_stream(void)
{
    int64_t size = 0;
    int end[2], fd = -1;
    char path[32], got[3];

    CU_ASSERT_EQUAL_FATAL(pipe(end), 0);
    CU_ASSERT_EQUAL(write(end[1], "abc", 3), 3);
    close(end[1]);
    snprintf(path, sizeof(path), "/dev/fd/%d", end[0]);
    CHECK_OK(ctt_stream_open(path, &fd, &size));
    CU_ASSERT(size == -1 && read(fd, got, 3) == 3 &&
              memcmp(got, "abc", 3) == 0);
    close(fd);
    close(end[0]);
}

/* Of two that write a log, the second is refused; a device is no log. */
static void test_lock(void)
{
    int fd[2], zero[2];

    for (int i = 0; i < 2; i++) {
        fd[i] = open(at("log"), O_WRONLY | O_CREAT | O_APPEND, 0666);
        zero[i] = open("/dev/null", O_WRONLY);
        CU_ASSERT_FATAL(fd[i] >= 0 && zero[i] >= 0);
        CHECK_OK(ctt_file_lock(zero[i], "/dev/null"));
    }
    CHECK_OK(ctt_file_lock(fd[0], "log"));
    CHECK_OK(ctt_file_lock(fd[0], "log"));
    ctt_check_refused(ctt_file_lock(fd[1], "log"), CTT_EIO,
                      "log: another program is running that writes it");
    close(fd[0]);
    CHECK_OK(ctt_file_lock(fd[1], "log"));
    close(fd[1]);
    close(zero[0]);
    close(zero[1]);
    remove(at("log"));
}

static int print_word(FILE *f, const void *word)
{
    fputs(word, f);
    return *(const char *)word == 'b' ? ctt_error(CTT_EUNSUP, "bad word") : 0;
}

/* A text is collected whole; an error of its writer, or memory that is out,
 * leaves the file as it was. */
static void test_print(void)
{
    char *text = NULL;

    CHECK_OK(ctt_text_collect("it", print_word, "good", &text));
    CU_ASSERT_STRING_EQUAL(text, "good");
    ctt_free(text);
    text = NULL;
    CHECK_OK(ctt_text_collect("it", print_word, "", &text));
    CU_ASSERT_STRING_EQUAL(text, "");
    ctt_free(text);
    text = NULL;
    CU_ASSERT_EQUAL(ctt_text_collect("it", print_word, "bad", &text),
                    CTT_EUNSUP);
    ctt_fail_alloc(1);
    CU_ASSERT_EQUAL(ctt_text_collect("it", print_word, "good", &text),
                    CTT_ENOMEM);
    ctt_fail_alloc(0);
    CU_ASSERT_STRING_EQUAL(ctt_errmsg(), "it: out of memory");
    CU_ASSERT_PTR_NULL(text);
    CHECK_OK(ctt_file_print(at("p"), print_word, "good"));
    CU_ASSERT(ctt_file_print(at("p"), print_word, "bad") < 0);
    CU_ASSERT(holds("p", "good"));
    remove(at("p"));
}

static CU_TestInfo tests[] = {
    { "a text is collected", test_print },
    { "a file is replaced or stays", test_replace },
    { "two writers of a path", test_two },
    { "files of killed writers", test_orphans },
    { "one owner", test_claim },
    { "a log that is locked", test_lock },
    { "links", test_links },
    { "paths that cannot be written", test_refused },
    { "nothing waits", test_open },
    { "a pipe on purpose", test_stream },
    CU_TEST_INFO_NULL
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { .pName = "newfile", .pTests = tests }, CU_SUITE_INFO_NULL
    };
    char command[64];
    int rc;

    if (!mkdtemp(dir))
        return 99;
    rc = ctt_check_main(suites);
    snprintf(command, sizeof(command), "rm -rf %s", dir);
    if (system(command) != 0)
        return 99;
    return rc ? rc : ctt_live_blocks() != 0;
}
