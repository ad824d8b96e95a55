/* SPDX-License-Identifier: Apache-2.0
 * sweep.c: runs a program again and again, each time with another fault
 * (fault.h), and checks that nothing is lost.
 *
 * sweep -s SHIM -m FAULT [OPTION...] FOLDER -- PROGRAM ARGUMENT...
 *
 * FOLDER/in holds the files that the program finds, among them older versions
 * of what it writes.  After each run with a fault
 *  - the program has ended with 0, or with 1 or 2 and one line of error, or by
 *    a signal if that is expected: of a kill, or in the table of -a;
 *  - each file is the old one or the new one, that of a run without a fault;
 *    after status 0 it is the new one, and so is standard output;
 *  - there is no other file, except after a signal; then the next run, which
 *    resumes if there is a checkpoint, gives the new files and no others. */
#include "tests/fault/serve.h"
#include "tests/fault/tree.h"

#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LIMIT = 30, MANY = 64, LINE = 512 };    /* LIMIT: seconds of a run */

enum end { NOT_HIT, DONE, ERROR, KILLED, KNOWN, BAD, ENDS };

static const char *const faults[FAULT_COUNT] = {
    "none", "alloc", "alloc-on", "error", "short", "full", "stdout", "kill",
    "kill-after", "kill-time"
};

/* A row of -a: what a library does after a failed allocation, and why. */
struct known {
    char *text;
    int   times;
};

static struct {
    const char    *shim, *folder, *program, *checkpoint, *resume, *reader;
    const char    *timed[MANY], *log[MANY];
    int            timed_count, log_count, exact, part, parts;
    enum fault     fault;
    long           sample, first, seed;
    struct known   known[MANY];
    int            known_count;
    char           dir[FAULT_PATH];
    struct server  plain, again;      /* again: with the arguments to resume */
    struct tree    in, new;
    char          *out;               /* standard output without a fault */
    int64_t        events;
    long           ends[ENDS];
} t;

/* ---- what is wrong ---- */

static char complaint[4096];
static int complaints, others;    /* others: of these, results that differ */

static void content(void)
{
    *complaint = 0;
    complaints = others = 0;
}

static void wrong(const char *fmt, ...)
{
    size_t n = strlen(complaint);
    va_list ap;

    complaints++;
    va_start(ap, fmt);
    if (n + 2 < sizeof(complaint)) {
        strcpy(complaint + n, n ? "; " : "");
        n = strlen(complaint);
        vsnprintf(complaint + n, sizeof(complaint) - n, fmt, ap);
    }
    va_end(ap);
}

/* ---- files ---- */

static int listed(const char *const *list, int count, const char *name)
{
    for (int i = 0; i < count; i++)
        if (strcmp(list[i], name) == 0)
            return 1;
    return 0;
}

/* The text without its numbers, in new memory. */
static char *masked(const char *s)
{
    char *p = malloc(strlen(s) + 1), *to = p;

    if (!p)
        exit(99);
    for (; *s; s++)
        if (!strchr("0123456789.eE+-", *s))
            *to++ = *s;
    *to = 0;
    return p;
}

static int masked_same(const char *a, const char *b)
{
    char *x = masked(a), *y = masked(b);
    int same = strcmp(x, y) == 0;

    free(x);
    free(y);
    return same;
}

/* Whether each line of a log is, but for its numbers, one of the new log; the
 * last may be cut short if the program did not finish. */
static int log_whole(const char *s, const char *new, int finished)
{
    char *a = masked(s), *b = masked(new), *line, *end;
    int whole = 1;

    for (line = a; *line && whole; line = end + 1) {
        end = strchr(line, '\n');
        if (!end) {
            whole = !finished;
            break;
        }
        *end = 0;
        whole = strstr(b, line) != NULL;
    }
    free(a);
    free(b);
    return whole;
}

/* finished: the program says that all is written; resumed: after an earlier
 * run. */
static int file_right(const struct tree_file *f, int finished, int resumed)
{
    const struct tree_file *old = tree_find(&t.in, f->name);
    const struct tree_file *new = tree_find(&t.new, f->name);

    if (tree_same(f, new) || (!finished && tree_same(f, old)))
        return 1;
    if (new && listed(t.timed, t.timed_count, f->name))
        return masked_same(f->data, new->data);
    if (new && listed(t.log, t.log_count, f->name))
        return finished && !resumed ? masked_same(f->data, new->data)
                                    : log_whole(f->data, new->data, finished);
    return 0;
}

static int is_checkpoint(const char *name)
{
    return t.checkpoint && strcmp(t.checkpoint, name) == 0;
}

/* unknown: files of other names may lie there. */
static void check_files(const struct tree *is, int finished, int resumed,
                        int unknown)
{
    for (int i = 0; i < is->count; i++) {
        const struct tree_file *f = &is->file[i];

        if (is_checkpoint(f->name) && !finished)
            continue;    /* the next run tells */
        if (!tree_find(&t.in, f->name) && !tree_find(&t.new, f->name)) {
            if (!unknown)
                wrong("%s is left behind", f->name);
        } else if (!file_right(f, finished, resumed)) {
            int old = tree_same(f, tree_find(&t.in, f->name));

            others += !old;
            wrong("%s is %s", f->name, old ? "the old one"
                                           : "neither old nor new");
        }
    }
    for (int i = 0; i < t.new.count; i++)
        if (finished && !tree_find(is, t.new.file[i].name))
            wrong("%s is missing", t.new.file[i].name);
    for (int i = 0; i < t.in.count; i++)
        if (!tree_find(is, t.in.file[i].name) &&
            tree_find(&t.new, t.in.file[i].name))
            wrong("%s is lost", t.in.file[i].name);
}

/* ---- runs ---- */

static char *said(const char *ending)
{
    char path[FAULT_PATH + 8];
    size_t size;

    snprintf(path, sizeof(path), "%s.%s", t.dir, ending);
    return tree_slurp(path, &size);
}

static int run(struct server *s, enum fault kind, int64_t at,
               struct fault_answer *out)
{
    struct fault_order order = { .kind = kind, .at = at };

    memcpy(order.dir, t.dir, sizeof(order.dir));
    memset(out, 0, sizeof(*out));
    return serve_run(s, &order, LIMIT, out);
}

static int status_of(const struct fault_answer *a)
{
    return WIFEXITED(a->status) ? WEXITSTATUS(a->status)
                                : 128 + WTERMSIG(a->status);
}

/* The next run, with no fault, puts everything right. */
static void check_next(void)
{
    char path[FAULT_PATH + 300];
    struct fault_answer a;
    struct server *s = &t.plain;
    struct tree is;
    struct stat st;

    snprintf(path, sizeof(path), "%s/%s", t.dir,
             t.checkpoint ? t.checkpoint : "");
    if (t.checkpoint && t.resume && stat(path, &st) == 0)
        s = &t.again;
    if (run(s, FAULT_NONE, INT64_MAX, &a) < 0 || a.status != 0) {
        char *err = said("err");
        wrong("the next run%s ended with %d: %.300s",
              s == &t.again ? ", resumed," : "", status_of(&a), err);
        free(err);
        return;
    }
    tree_read(t.dir, &is);
    check_files(&is, 1, s == &t.again, 0);
    tree_free(&is);
}

/* The innermost function that is not of libc or of C++'s runtime: where the
 * program crashed, or else where the allocation failed. */
static void blamed(const struct fault_answer *a, char to[FAULT_WHERE])
{
    static const char *const passed[] = { "?", "shim.so", "libc.so",
                                          "libstdc++.so", "libgcc_s.so" };
    const char *crash = strstr(a->where, " CRASH "), *p = a->where;
    size_t n, i;

    strcpy(to, "");
    for (p = crash ? crash + strlen(" CRASH ") : p; *p && !*to;
         p += n + (p[n] == ' ')) {
        n = strcspn(p, " ");
        for (i = 0; i < sizeof(passed) / sizeof(*passed); i++)
            if (strncmp(p, passed[i], strlen(passed[i])) == 0)
                break;
        if (i == sizeof(passed) / sizeof(*passed))
            snprintf(to, FAULT_WHERE, "%.*s", (int)n, p);
    }
}

/* The row of a library that did not survive a failed allocation or, if `hides`,
 * that hid it.  Nothing excuses other faults. */
static struct known *find_known(const struct fault_answer *a, int hides)
{
    char where[FAULT_WHERE];

    if (t.fault != FAULT_ALLOC && t.fault != FAULT_ALLOC_ON)
        return NULL;
    blamed(a, where);
    for (int i = 0; i < t.known_count; i++) {
        char *end = strchr(t.known[i].text, '|');
        size_t n = strcspn(t.known[i].text, " \t|");
        char key[LINE];

        snprintf(key, sizeof(key), "%.*s", (int)n, t.known[i].text);
        if (end && hides == (strncmp(end, "| hides", 7) == 0) &&
            strstr(hides ? a->where : where, key))
            return &t.known[i];
    }
    return NULL;
}

/* One line, of the program itself; a library that ends it with its own message
 * is in the table of -a. */
static enum end check_message(const struct fault_answer *a)
{
    int status = status_of(a);
    char *err = said("err"), *end = strchr(err, '\n');
    const char *name = strrchr(t.program, '/');

    struct known *k = NULL;
    int clean;

    name = name ? name + 1 : t.program;
    clean = (status == 1 || status == 2) && end && !end[1] &&
            strncmp(err, name, strlen(name)) == 0 && err[strlen(name)] == ':';
    if (!clean) {
        k = find_known(a, 0);
        if (k)
            k->times++;
        else
            wrong("status %d, standard error is not one line of %s: %.600s",
                  status, name, err);
    }
    free(err);
    return k ? KNOWN : ERROR;
}

static void check_output(void)
{
    char *out = said("out");

    if (t.exact ? strcmp(out, t.out) != 0 : !masked_same(out, t.out)) {
        others++;
        wrong("status 0, but standard output is another");
    }
    free(out);
}

static enum end signalled(const struct fault_answer *a)
{
    int sig = WTERMSIG(a->status);
    struct known *k;

    if (sig == SIGKILL && t.fault >= FAULT_KILL)
        return KILLED;
    k = find_known(a, 0);
    if (!k) {
        char *err = said("err");
        wrong("ended by signal %d: %.300s", sig, err);
        free(err);
        return BAD;
    }
    k->times++;
    return KNOWN;
}

/* After status 0 with other results, and nothing worse: a library that hides a
 * failure, with a row whose reason begins with "hides".  What was written must
 * be whole, as the reader finds. */
static int is_hidden(const struct fault_answer *a)
{
    char command[FAULT_PATH + LINE];
    struct known *k = find_known(a, 1);

    if (!k || complaints > others)
        return 0;
    snprintf(command, sizeof(command), "cd '%s' && %s > ../read 2>&1", t.dir,
             t.reader ? t.reader : "false");
    if (system(command) != 0)
        return 0;
    k->times++;
    content();
    return 1;
}

static enum end judge(const struct fault_answer *a, int hung)
{
    enum end end = DONE;
    struct tree is;

    if (hung) {
        wrong("did not end within %d s", LIMIT);
        return BAD;
    }
    if (WIFSIGNALED(a->status))
        end = signalled(a);
    else if (status_of(a) != 0)
        end = check_message(a);
    if (end == DONE)
        check_output();
    tree_read(t.dir, &is);
    check_files(&is, end == DONE, 0, end != DONE && end != ERROR);
    if (end == DONE && *complaint && is_hidden(a)) {
        end = KNOWN;
        check_next();
    } else if (end != DONE &&
               (end != ERROR ||
                (t.checkpoint && tree_find(&is, t.checkpoint)))) {
        check_next();
    }
    tree_free(&is);
    return end;
}

static void reset(void)
{
    struct tree is;

    tree_read(t.dir, &is);
    tree_restore(t.dir, &is, &t.in);
    tree_free(&is);
}

static void one(int64_t k)
{
    struct fault_answer a;
    enum end end;
    int hung;

    reset();
    content();
    hung = run(&t.plain, t.fault, k, &a);
    end = judge(&a, hung);
    if (end == DONE && !a.hit)
        end = NOT_HIT;
    if (*complaint) {
        end = BAD;
        printf("BAD %s=%lld at %s: %s\n", faults[t.fault], (long long)k,
               a.where, complaint);
        fflush(stdout);
    }
    t.ends[end]++;
}

/* ---- without a fault ---- */

static void need(int ok, const char *what)
{
    char *err;

    if (ok)
        return;
    err = said("err");
    printf("sweep: %s: %s: %s\n", t.folder, what, err);
    exit(99);
}

/* What a run without a fault gives: the new files, and how many events; a
 * second one must give the same, and how long it takes. */
static void learn(void)
{
    struct timespec from, to;
    struct fault_answer a;
    struct tree is;

    reset();
    need(run(&t.plain, t.fault, INT64_MAX / 2, &a) == 0 && a.status == 0,
         "a run without a fault fails");
    tree_read(t.dir, &t.new);
    t.out = said("out");
    t.events = t.fault <= FAULT_ALLOC_ON ? a.allocs : a.calls;
    reset();
    clock_gettime(CLOCK_MONOTONIC, &from);
    need(run(&t.plain, FAULT_NONE, INT64_MAX, &a) == 0 && a.status == 0,
         "a second run fails");
    clock_gettime(CLOCK_MONOTONIC, &to);
    if (t.fault == FAULT_KILL_TIME)
        t.events = (to.tv_sec - from.tv_sec) * 1000000 +
                   (to.tv_nsec - from.tv_nsec) / 1000;
    tree_read(t.dir, &is);
    check_files(&is, 1, 0, 0);
    tree_free(&is);
    check_output();
    need(!*complaint, complaint);
    need(t.events > 0, "has no such events");
}

/* ---- options ---- */

static void read_known(const char *path)
{
    size_t size;
    char *text = tree_slurp(path, &size), *line = text, *end;

    for (; (end = strchr(line, '\n')) && t.known_count < MANY; line = end + 1) {
        *end = 0;
        if (*line && *line != '#')
            t.known[t.known_count++].text = line;
    }
}

static int options(int argc, char **argv)
{
    int o;

    while ((o = getopt(argc, argv, "+s:m:n:k:S:p:a:c:r:R:t:l:x")) != -1) {
        switch (o) {
        case 's': t.shim = optarg; break;
        case 'n': t.sample = atol(optarg); break;    /* 0: all */
        case 'k': t.first = atol(optarg); break;     /* this one only */
        case 'S': t.seed = atol(optarg); break;
        case 'a': read_known(optarg); break;
        case 'c': t.checkpoint = optarg; break;
        case 'r': t.resume = optarg; break;
        case 'R': t.reader = optarg; break;    /* reads what was written */
        case 't': t.timed[t.timed_count++ % MANY] = optarg; break;
        case 'l': t.log[t.log_count++ % MANY] = optarg; break;
        case 'x': t.exact = 1; break;    /* standard output has no times */
        case 'p':
            if (sscanf(optarg, "%d/%d", &t.part, &t.parts) != 2)
                return -1;
            break;
        case 'm':
            while (t.fault < FAULT_COUNT &&
                   strcmp(faults[t.fault], optarg) != 0)
                t.fault++;
            break;
        default: return -1;
        }
    }
    t.parts = t.parts < 1 ? 1 : t.parts;
    return t.shim && t.fault && t.fault < FAULT_COUNT &&
           argc - optind >= 3 && strcmp(argv[optind + 1], "--") == 0 ? optind
                                                                     : -1;
}

static void start(char **argv)
{
    char *more[MANY] = { NULL }, in[FAULT_PATH];
    int n = 0;

    t.program = argv[0];
    snprintf(in, sizeof(in), "%.400s/in", t.folder);
    tree_read(in, &t.in);
    snprintf(t.dir, sizeof(t.dir), "%.400s/%s.%d", t.folder, faults[t.fault],
             t.part);
    mkdir(t.dir, 0777);
    serve_start(&t.plain, t.shim, argv);
    if (!t.resume)
        return;
    for (; argv[n] && n < MANY - 2; n++)
        more[n] = argv[n];
    more[n] = (char *)t.resume;
    serve_start(&t.again, t.shim, more);
}

/* Evenly spread with a pseudorandom place in each interval (the generator of
 * POSIX' rand(), which is the same everywhere). */
static void all(void)
{
    int64_t count = t.sample > 0 && t.sample < t.events ? t.sample : t.events;
    uint32_t r = (uint32_t)t.seed;

    for (int64_t i = 0; i < count; i++) {
        int64_t from = i * t.events / count, to = (i + 1) * t.events / count;

        r = r * 1103515245u + 12345u;
        if (i % t.parts == t.part)
            one(1 + from + (int64_t)(r >> 8) % (to - from));
    }
}

int main(int argc, char **argv)
{
    int at = options(argc, argv);

    if (at < 0) {
        fprintf(stderr, "sweep: bad usage\n");
        return 99;
    }
    signal(SIGPIPE, SIG_IGN);
    t.folder = argv[at];
    start(argv + at + 2);
    learn();
    if (t.first > 0)
        one(t.first);
    else
        all();
    for (int i = 0; i < t.known_count; i++)
        if (t.known[i].times > 0)
            printf("KNOWN %d %s\n", t.known[i].times, t.known[i].text);
    printf("SUM %lld events, %ld success, %ld error, %ld killed, %ld known, "
           "%ld bad, %ld not reached\n", (long long)t.events, t.ends[DONE],
           t.ends[ERROR], t.ends[KILLED], t.ends[KNOWN], t.ends[BAD],
           t.ends[NOT_HIT]);
    serve_end(&t.plain);
    serve_end(&t.again);
    return t.ends[BAD] > 0;
}
