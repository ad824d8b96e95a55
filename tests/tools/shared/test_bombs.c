/* SPDX-License-Identifier: Apache-2.0
 * test_bombs.c: a small model that asks for more memory than there is ends
 * every program with one line that names the limit, in little memory. */
#define _DEFAULT_SOURCE    /* wait4 */
#include "net/file/file.h"
#include "tests/lib/check.h"
#include "tests/lib/clip.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* With sanitizers a program is larger. */
enum { MOST_KB = 600 * 1024 };

#define INPUT "input x h=64 w=64 c=1 colour=gray fps=6\n"
#define ANSWER "clip\nwindow v in=p steps=1\nconv y in=v out=2\n"

/* Terabytes of values: the file has 12000 weights. */
static const char values[] = INPUT
    "conv a in=x out=4096\nupsample u in=a by=99\nconv b in=u out=1\n"
    "pool p in=b kind=avg\n" ANSWER;

/* Gigabytes of history for one ask. */
static const char past[] = INPUT
    "conv p in=x out=64 kernel=3 pad=1\nclip\n"
    "window v in=p steps=4096 every=1000\npool q in=v kind=avg\n"
    "conv y in=q out=2\n";

/* Terabytes of weights, which only a text can ask for. */
static const char weights[] = INPUT
    "conv a in=x out=1048576\npool b in=a kind=avg\nconv p in=b out=1000000\n"
    ANSWER;

static char root[4096];    /* the folder of the programs */

static void model_file(const char *name, const char *text)
{
    struct ctt_graph *g = NULL;
    struct ctt_model *m = NULL;

    CHECK_OK(ctt_net_parse(text, &g));
    CHECK_OK(ctt_model_new(g, &m));
    ctt_check_fill(m->w, m->g->weights, 3);
    CHECK_OK(ctt_model_save(clip_path("%s", name), m));
    ctt_model_free(&m);
}

/* The child: runs a program in the folder of the files. */
static void become(char *line)
{
    char *arg[32], path[4200];
    int n = 0, log;

    for (char *s = line; n < 31 && (arg[n] = strtok_r(s, " ", &s)); n++)
        ;
    arg[n] = NULL;
    snprintf(path, sizeof(path), "%s/%s", root, arg[0]);
    if (chdir(clip_path(".")) != 0)
        _exit(98);
    log = open("log", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    dup2(log, STDERR_FILENO);
    log = open("/dev/null", O_WRONLY);
    dup2(log, STDOUT_FILENO);
    alarm(CTT_PATIENCE);    /* a program that hangs ends by a signal */
    execv(path, arg);
    _exit(99);
}

/* Runs it: it must fail, in little memory, with one line that has these
 * words. */
static void fails(const char *line, const char *words)
{
    char copy[512], said[1024] = "";
    struct rusage used = { 0 };
    int status = 0;
    FILE *f;
    pid_t id;

    snprintf(copy, sizeof(copy), "%s", line);
    id = fork();
    if (id == 0)
        become(copy);
    CU_ASSERT_FATAL(id > 0 && wait4(id, &status, 0, &used) == id);
    f = fopen(clip_path("log"), "r");
    CU_ASSERT_FATAL(f != NULL);
    said[fread(said, 1, sizeof(said) - 1, f)] = '\0';
    fclose(f);
    CU_ASSERT(WIFEXITED(status) && WEXITSTATUS(status) == 1);
    CU_ASSERT(strstr(said, words) != NULL);
    CU_ASSERT(strchr(said, '\n') == said + strlen(said) - 1);
    CU_ASSERT(used.ru_maxrss < MOST_KB);
    printf("\n    %s: %ld MB, %s", line, used.ru_maxrss >> 10, said);
}

#define LIMIT "fit into the memory limit of"

static void test_values(void)
{
    model_file("values.h5", values);
    clip_text("values.net", values);
    fails("convtt-info --plan values.net", LIMIT);
    fails("convtt-info --plan values.h5", LIMIT);
    fails("convtt-infer values.h5 nothere.webm", "values.h5: the model's");
    fails("convtt-infer values.h5 nothere.webm", LIMIT);
    fails("convtt-compress values.h5 -o out.h5 --prune 0.5", LIMIT);
    fails("convtt-train values.net -o out.h5 --data clips", LIMIT);
    fails("convtt-train --init values.h5 -o out.h5 --data clips", LIMIT);
}

static void test_past(void)
{
    model_file("past.h5", past);
    clip_text("past.net", past);
    fails("convtt-info --plan past.net --memory 1G", LIMIT);
    fails("convtt-infer past.h5 nothere.webm --memory 1G", "past.h5: ");
    fails("convtt-train past.net -o out.h5 --data clips --memory 1G", LIMIT);
}

static void test_weights(void)
{
    clip_text("weights.net", weights);
    fails("convtt-info weights.net", "the weights: 4");
    fails("convtt-info --plan weights.net", LIMIT);
    fails("convtt-train weights.net -o out.h5 --data clips", LIMIT);
}

/* The limit that the user gives counts, not only what the machine has. */
static void test_memory(void)
{
    static char list[2 << 20];

    for (size_t i = 0; i + 8 < sizeof(list); i += 8)
        memcpy(list + i, "a.mkv 0\n", 8);
    clip_text("list", list);
    fails("convtt-info --plan values.h5 --memory 1M",
          "limit of 1 MB (--memory)");
    fails("convtt-infer values.h5 a --memory 1M", "limit of 1 MB (--memory)");
    fails("convtt-compress values.h5 -o out.h5 --prune 0.5 --memory 1M",
          "limit of 1 MB (--memory)");
    fails("convtt-train values.net -o out.h5 --data clips --memory 1M",
          "limit of 1 MB (--memory)");
    fails("convtt-data list list --memory 1M", "limit of 1 MB (--memory)");
}

static void make_clips(void)
{
    clip_steady("a.mkv", 6, 6);
    clip_steady("b.mkv", 5, 6);    /* another clip */
    clip_text("clips", "a.mkv 0\nb.mkv 1\n");
}

static CU_TestInfo tests[] = {
    { "clips", make_clips },
    { "values", test_values },
    { "a long past", test_past },
    { "weights", test_weights },
    { "--memory", test_memory },
    CU_TEST_INFO_NULL
};

int main(void)
{
    int status;

    if (!getcwd(root, sizeof(root)) || access("convtt-infer", X_OK) != 0)
        return 99;
    status = ctt_check_main((CU_SuiteInfo[]){
        { .pName = "bombs", .pTests = tests }, CU_SUITE_INFO_NULL
    });
    clip_clean();
    return status;
}
