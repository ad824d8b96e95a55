/* SPDX-License-Identifier: Apache-2.0
 * search_child.c: the processes that train the trials of a search: this program
 * with the settings of a trial.  OpenMP and HDF5 do not survive a fork, so each
 * executes the program anew. */
#define _GNU_SOURCE    /* sched_getaffinity() */
#include "tools/train/train_tool.h"
#include "comm/comm.h"
#include "libtrain/before.h"
#include "base/clock.h"
#include "base/newfile.h"
#include "tools/shared/tool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

enum { ARGUMENTS = CTT_OPT_MAX + 8, CANNOT_RUN = 127 };

int ctt_search_file(const struct ctt_search_run *r,
                    const struct ctt_search_job *job, const char *ending,
                    char path[CTT_SEARCH_PATH])
{
    char repeat[24] = "";
    int rc = 0;

    if (job->repeat)
        snprintf(repeat, sizeof(repeat), ".%d", job->repeat + 1);
    CTT_CHECK(snprintf(path, CTT_SEARCH_PATH, "%s/" CTT_SEARCH_STEM "%d%s.%s",
                       r->folder, job->trial + 1, repeat, ending) <
              CTT_SEARCH_PATH, CTT_EINVAL, "%s: name too long", r->folder);
out:
    return rc;
}

/* ---- its settings ---- */

struct paths { char out[CTT_SEARCH_PATH], checkpoint[CTT_SEARCH_PATH],
                    log[CTT_SEARCH_PATH], said[CTT_SEARCH_PATH]; };

static int processors(void)
{
    cpu_set_t all;

    return sched_getaffinity(0, sizeof(all), &all) == 0 ? CPU_COUNT(&all) : 1;
}

/* Options of the search itself get their defaults. */
static int leave_search(struct ctt_train_cfg *c)
{
    int rc = 0;

    for (const struct ctt_opt *o = ctt_train_opts; o->name; o++)
        if (strcmp(o->section, CTT_SEARCH_SECTION) == 0)
            CTT_TRY(ctt_opt_set(ctt_train_opts, c, o->name, o->dflt));
out:
    return rc;
}

static int settings_of(const struct ctt_search_run *r,
                       const struct ctt_search_job *job, struct paths *p,
                       struct ctt_train_cfg *c)
{
    const struct ctt_train_cfg *all = r->s->cfg;
    int threads = all->threads ? all->threads : processors(), rc;

    *c = *all;
    CTT_TRY(leave_search(c));
    CTT_TRY(ctt_search_file(r, job, "h5", p->out));
    CTT_TRY(ctt_search_file(r, job, "ckpt", p->checkpoint));
    CTT_TRY(ctt_search_file(r, job, "jsonl", p->log));
    CTT_TRY(ctt_search_file(r, job, "txt", p->said));
    c->out = p->out;
    c->checkpoint = p->checkpoint;
    c->log_json = p->log;
    c->test = c->report_html = NULL;
    c->threads = threads > all->jobs ? threads / all->jobs : 1;
    c->seed = all->seed + job->repeat;
    c->pause = r->s->epochs[job->rung];
    c->resume = access(p->checkpoint, F_OK) == 0 && access(p->log, F_OK) == 0;
    CTT_TRY(ctt_space_apply(r->space, &r->s->draw[job->trial], c));
out:
    return rc;
}

/* ---- its arguments ---- */

struct row { const struct ctt_opt *o; const struct ctt_train_cfg *c; };

/* " name=value". */
static int print_option(FILE *f, const void *arg)
{
    const struct row *r = arg;
    const struct ctt_opt one[2] = { *r->o };

    ctt_opt_print(one, r->c, f);
    return 0;
}

static int argument(const struct ctt_opt *o, const struct ctt_train_cfg *c,
                    char **out)
{
    char *text = NULL;
    size_t room;
    int rc;

    CTT_TRY(ctt_text_collect("--search", print_option, &(struct row){ o, c },
                             &text));
    if (o->type == CTT_FLAG)
        text[strcspn(text, "=")] = '\0';
    room = strlen(text) + 2;
    *out = ctt_calloc(room, 1);
    CTT_TRY(*out ? 0 : CTT_ENOMEM);
    snprintf(*out, room, "--%s", text + 1);
out:
    ctt_free(text);
    return rc;
}

static void free_arguments(char *argv[ARGUMENTS])
{
    for (int i = 0; i < ARGUMENTS; i++)
        ctt_free(argv[i]);
}

static int arguments(const struct ctt_search_run *r,
                     const struct ctt_train_cfg *c, char *argv[ARGUMENTS])
{
    const char *const last[] = { "--", r->j->text };
    int n = 0, rc;

    argv[n] = ctt_strdup("convtt-train");
    CTT_TRY(argv[n++] ? 0 : CTT_ENOMEM);
    for (const struct ctt_opt *o = ctt_train_opts; o->name; o++)
        if (!ctt_opt_is_default(o, c))
            CTT_TRY(argument(o, c, &argv[n++]));
    for (size_t i = 0; i < CTT_LEN(last) && r->j->text; i++) {
        argv[n] = ctt_strdup(last[i]);
        CTT_TRY(argv[n++] ? 0 : CTT_ENOMEM);
    }
out:
    return rc;
}

/* ---- a process ---- */

/* Runs in the child process, with async-signal-safe calls only.  The child does
 * not outlive its parent. */
static void become(char **argv, char **env, int in, int said, pid_t parent)
{
#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
    if (getppid() == parent && dup2(in, STDIN_FILENO) >= 0 &&
        dup2(said, STDOUT_FILENO) >= 0 && dup2(said, STDERR_FILENO) >= 0)
        execve("/proc/self/exe", argv, env);
    _exit(CANNOT_RUN);
}

int ctt_search_folder(const struct ctt_search_run *r)
{
    int rc = 0;

    CTT_CHECK(mkdir(r->folder, 0777) == 0 || errno == EEXIST, CTT_EIO,
              "%s: %s", r->folder, strerror(errno));
out:
    return rc;
}

/* The environment of a trial, which is one process, whatever has started this
 * one; of several ranks each has a GPU, which `gpu` then says. */
static char **environment(const struct ctt_search_run *r, char *gpu,
                          size_t size)
{
    static const char name[] = "CUDA_VISIBLE_DEVICES=";
    char **env = ctt_comm_environment();
    int n = 0, kept = 0;

    if (!env || r->place->ranks == 1)
        return env;
    for (; env[n]; n++)
        if (strncmp(env[n], name, sizeof(name) - 1) != 0)
            env[kept++] = env[n];
    snprintf(gpu, size, "%s", name);
    ctt_train_gpu(gpu + sizeof(name) - 1, size - sizeof(name) + 1);
    env[kept++] = gpu;
    env[kept] = NULL;
    return env;
}

static int begin_child(const struct ctt_search_run *r, char **argv,
                       const char *said, pid_t *id)
{
    char gpu[128], **env = environment(r, gpu, sizeof(gpu));
    int in = -1, fd = -1, rc = env ? 0 : CTT_ENOMEM;
    pid_t parent = getpid();

    CTT_TRY(rc);
    in = open("/dev/null", O_RDONLY | O_CLOEXEC);
    fd = open(said, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    CTT_CHECK(in >= 0 && fd >= 0, CTT_EIO, "%s: %s", said, strerror(errno));
    *id = fork();
    if (*id == 0)
        become(argv, env, in, fd, parent);
    CTT_CHECK(*id > 0, CTT_EIO, "no further process: %s", strerror(errno));
out:
    ctt_free(env);
    if (in >= 0)
        close(in);
    if (fd >= 0)
        close(fd);
    return rc;
}

int ctt_search_spawn(const struct ctt_search_run *r,
                     const struct ctt_search_job *job,
                     struct ctt_search_child *child)
{
    struct paths *p = ctt_calloc(1, sizeof(*p));
    char *argv[ARGUMENTS] = { NULL };
    struct ctt_train_cfg c;
    pid_t id = 0;
    int rc = p ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    CTT_TRY(settings_of(r, job, p, &c));
    CTT_TRY(arguments(r, &c, argv));
    CTT_TRY(ctt_search_folder(r));
    CTT_TRY(begin_child(r, argv, p->said, &id));
    *child = (struct ctt_search_child){ .busy = 1, .id = id, .job = *job,
                                        .began = ctt_seconds() };
out:
    free_arguments(argv);
    ctt_free(p);
    return rc;
}

/* ---- the result ---- */

/* The last error line of the child's output, without the program's name; "": it
 * has none, or was stopped. */
static void last_error(const char *path, char *line, size_t size)
{
    static const char name[] = "convtt-train: ";
    static const char *const not[] = { "warning: ", "stopped" };
    char text[2048], *at = text + sizeof(name) - 1;
    FILE *f = fopen(path, "re");

    line[0] = '\0';
    while (f && fgets(text, sizeof(text), f))
        if (strncmp(text, name, sizeof(name) - 1) == 0 &&
            strncmp(at, not[0], strlen(not[0])) != 0 &&
            strncmp(at, not[1], strlen(not[1])) != 0)
            snprintf(line, size, "%.*s", (int)strcspn(at, "\n"), at);
    if (f)
        fclose(f);
}

/* 1 if an error is that of a disk without room, which says nothing of the
 * settings of a trial. */
static int is_of_room(const char *line)
{
    static const int errors[] = { ENOSPC, EDQUOT, EFBIG };

    for (size_t i = 0; i < CTT_LEN(errors); i++)
        if (strstr(line, strerror(errors[i])))
            return 1;
    return 0;
}

/* How many clips a trial could not read, as it said for each set; the last of
 * them in line. */
static int count_lost(const char *path, char *line, size_t size)
{
    static const char before[] = "convtt-train: warning: ";
    static const char one[] = " (skipped)", all[] = " bad clips skipped";
    char text[2048], *end;
    FILE *f = fopen(path, "re");
    int n = 0;

    line[0] = '\0';
    while (f && fgets(text, sizeof(text), f)) {
        if ((end = strstr(text, all)) != NULL) {
            while (end > text && end[-1] >= '0' && end[-1] <= '9')
                end--;
            n += atoi(end);
        } else if (strncmp(text, before, sizeof(before) - 1) == 0 &&
                   (end = strstr(text, one)) != NULL)
            snprintf(line, size, "%.*s", (int)(end - text) -
                     (int)sizeof(before) + 1, text + sizeof(before) - 1);
    }
    if (f)
        fclose(f);
    return n;
}

/* Its line if a trial, which ended well, had fewer clips than the search. */
static int judge_clips(const struct ctt_search_run *r, const char *said,
                       char **failed)
{
    const struct ctt_training *j = r->j;
    char line[1024], why[1200];
    int more = count_lost(said, line, sizeof(line)), rc = 0;

    more -= ctt_data_skipped(j->data) + ctt_data_skipped(j->val);
    if (more <= 0)
        goto out;
    snprintf(why, sizeof(why), "%d clip%s lost that the search could read; "
             "the last one skipped: %s", more, ctt_s(more), line);
    *failed = ctt_strdup(why);
    rc = *failed ? 0 : CTT_ENOMEM;
out:
    return rc;
}

int ctt_search_judge(const struct ctt_search_run *r,
                     const struct ctt_search_job *job, int status,
                     char **failed)
{
    char said[CTT_SEARCH_PATH], line[1024];
    int rc;

    *failed = NULL;
    CTT_TRY(ctt_search_file(r, job, "txt", said));
    CTT_CHECK(!WIFSIGNALED(status), CTT_EIO, "trial %d was killed by signal "
              "%d; the same command goes on (what it said is in %s)",
              job->trial + 1, WTERMSIG(status), said);
    if (WEXITSTATUS(status) == 0)
        return judge_clips(r, said, failed);
    CTT_CHECK(WEXITSTATUS(status) != CANNOT_RUN, CTT_EIO, "trial %d: "
              "/proc/self/exe cannot be run", job->trial + 1);
    last_error(said, line, sizeof(line));
    CTT_CHECK(line[0], CTT_EIO, "trial %d was stopped; the same command goes "
              "on", job->trial + 1);
    CTT_CHECK(!is_of_room(line), CTT_EIO, "trial %d: %s; with more room the "
              "same command goes on", job->trial + 1, line);
    *failed = ctt_strdup(line);
    rc = *failed ? 0 : CTT_ENOMEM;
out:
    return rc;
}

int ctt_search_look(struct ctt_search_child *child)
{
    pid_t got = child->id ? waitpid(child->id, &child->status, WNOHANG) : 0;

    if (got == 0 || (got < 0 && errno == EINTR))
        return 0;
    if (got < 0)    /* its status is lost */
        child->status = SIGKILL;
    child->id = 0;
    child->ended = 1;
    child->seconds = ctt_seconds() - child->began;
    return 1;
}

void ctt_search_stop(struct ctt_search_run *r)
{
    int how = r->stopped ? SIGTERM : SIGKILL;

    for (int i = 0; r->child && i < r->places; i++)
        if (r->child[i].id)
            kill(r->child[i].id, how);
    for (int i = 0; r->child && i < r->places; i++) {
        while (r->child[i].id && waitpid(r->child[i].id, NULL, 0) < 0 &&
               errno == EINTR)
            ;
        r->child[i].id = 0;
    }
}

void ctt_search_clear(const struct ctt_search_run *r)
{
    DIR *d = opendir(r->folder);

    for (struct dirent *e; d && (e = readdir(d)) != NULL; )
        if (strncmp(e->d_name, CTT_SEARCH_STEM,
                    sizeof(CTT_SEARCH_STEM) - 1) == 0)
            unlinkat(dirfd(d), e->d_name, 0);
    if (d) {
        closedir(d);
        rmdir(r->folder);
    }
}
