/* SPDX-License-Identifier: Apache-2.0
 * sweep.c: runs a program again and again, each time with another fault
 * (fault.h), and checks that nothing is lost.
 *
 * sweep -s SHIM -m FAULT [OPTION...] FOLDER -- PROGRAM ARGUMENT...
 *
 * Which events fail: -n N: so many, spread over all, 0: all; -u N: of the
 * allocations that the same calls ask for, so many, the first and the last
 * among them; -k N: the N-th.
 *
 * FOLDER/in holds the files that the program finds, among them older versions
 * of what it writes.  After each run with a fault
 *  - the program has ended with 0, or with 1 or 2 and one line of error, or by
 *    a signal if that is expected: of a kill, or in the table of -a;
 *  - each file is the old one or the new one, that of a run without a fault;
 *    after status 0 it is the new one, and so is standard output;
 *  - there is no other file, except after a signal; then the next run, which
 *    resumes if there is a checkpoint, gives the new files and no others. */
#include "tests/fault/compare.h"
#include "tests/fault/known.h"
#include "tests/fault/serve.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LIMIT = 120, LINE = 512, ARGUMENTS = 64 };  /* LIMIT: seconds of a run */

enum end { NOT_HIT, DONE, ERROR, KILLED, KNOWN, BAD, ENDS };

static const char *const faults[FAULT_COUNT] = {
    "none", "alloc", "alloc-on", "error", "short", "full", "stdout", "kill",
    "kill-after", "term", "kill-time", "term-time"
};

static struct {
    const char       *shim, *folder, *program, *resume, *reader;
    int               part, parts;
    enum fault        fault;
    long              sample, first, seed, each;
    struct known_list known;
    char              dir[FAULT_PATH];
    struct server     plain, again;    /* again: with arguments to resume */
    struct results    right;
    struct complaints bad;             /* of the run at hand */
    int64_t           events;
    long              ends[ENDS];
} t;

/* ---- runs ---- */

static char *said(const char *ending)
{
    char path[FAULT_PATH + 8];
    size_t size;

    snprintf(path, sizeof(path), "%s.%s", t.dir, ending);
    return tree_slurp(path, &size);
}

static int run_fault(struct server *s, enum fault kind, int64_t at,
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
             t.right.checkpoint ? t.right.checkpoint : "");
    if (t.right.checkpoint && t.resume && stat(path, &st) == 0)
        s = &t.again;
    if (run_fault(s, FAULT_NONE, INT64_MAX, &a) < 0 || a.status != 0) {
        char *err = said("err");
        complain(&t.bad, "the next run%s ended with %d: %.300s",
                 s == &t.again ? ", resumed," : "", status_of(&a), err);
        free(err);
        return;
    }
    tree_read(t.dir, &is);
    compare_files(&t.right, &is, COMPARE_FINISHED |
                  (s == &t.again ? COMPARE_RESUMED : 0), &t.bad);
    tree_free(&is);
}

static int is_term(void)
{
    return t.fault == FAULT_TERM || t.fault == FAULT_TERM_TIME;
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
        k = known_find(&t.known, t.fault, a, 0);
        if (k)
            k->times++;
        else
            complain(&t.bad, "status %d, standard error is not one line of "
                     "%s: %.600s", status, name, err);
    }
    free(err);
    return k ? KNOWN : ERROR;
}

static void check_output(void)
{
    char *out = said("out");

    compare_output(&t.right, out, &t.bad);
    free(out);
}

static enum end signalled(const struct fault_answer *a)
{
    int sig = WTERMSIG(a->status);
    struct known *k;

    if (sig == SIGKILL && t.fault >= FAULT_KILL)
        return KILLED;
    if (sig == SIGTERM && is_term())    /* the program does not catch it yet */
        return KILLED;
    k = known_find(&t.known, t.fault, a, 0);
    if (!k) {
        char *err = said("err");
        complain(&t.bad, "ended by signal %d: %.300s", sig, err);
        free(err);
        return BAD;
    }
    k->times++;
    return KNOWN;
}

/* 1 after status 0 with other results and nothing worse: a library that hides a
 * failure has a row whose reason begins with "hides". The reader must find the
 * written files complete. */
static int is_hidden(const struct fault_answer *a)
{
    char command[FAULT_PATH + LINE];
    struct known *k = known_find(&t.known, t.fault, a, 1);

    if (!k || t.bad.count > t.bad.others)
        return 0;
    snprintf(command, sizeof(command), "cd '%s' && %s > ../read 2>&1", t.dir,
             t.reader ? t.reader : "false");
    if (system(command) != 0)
        return 0;
    k->times++;
    memset(&t.bad, 0, sizeof(t.bad));
    return 1;
}

static enum end judge_run(const struct fault_answer *a, int hung)
{
    enum end end = DONE;
    struct tree is;

    if (hung) {
        complain(&t.bad, "did not end within %d s", LIMIT);
        return BAD;
    }
    if (WIFSIGNALED(a->status))
        end = signalled(a);
    else if (status_of(a) != 0)
        end = check_message(a);
    if (end == DONE)
        check_output();
    tree_read(t.dir, &is);
    compare_files(&t.right, &is, end == DONE ? COMPARE_FINISHED
                                 : end == ERROR ? 0 : COMPARE_UNKNOWN,
                  &t.bad);
    if (end == DONE && *t.bad.text && is_hidden(a)) {
        end = KNOWN;
        check_next();
    } else if (end != DONE &&
               (end != ERROR ||
                (t.right.checkpoint && tree_find(&is, t.right.checkpoint)))) {
        check_next();
    }
    tree_free(&is);
    return end;
}

static void reset(void)
{
    struct tree is;

    tree_read(t.dir, &is);
    tree_restore(t.dir, &is, &t.right.old);
    tree_free(&is);
}

static void sweep_event(int64_t k)
{
    struct fault_answer a;
    enum end end;
    int hung;

    reset();
    memset(&t.bad, 0, sizeof(t.bad));
    hung = run_fault(&t.plain, t.fault, k, &a);
    end = judge_run(&a, hung);
    if (end == DONE && !a.hit)
        end = NOT_HIT;
    if (*t.bad.text) {
        end = BAD;
        printf("BAD %s=%lld at %s: %s\n", faults[t.fault], (long long)k,
               a.where, t.bad.text);
        fflush(stdout);
    }
    t.ends[end]++;
}

/* ---- without a fault ---- */

static void require(int ok, const char *what)
{
    char *err;

    if (ok)
        return;
    err = said("err");
    printf("sweep: %s: %s: %s\n", t.folder, what, err);
    exit(99);
}

/* Learns the new files and the count of events from a run without a fault; a
 * second one must give the same files, and gives the time. */
static void learn(void)
{
    struct timespec from, to;
    struct fault_answer a;
    struct tree is;

    reset();
    require(run_fault(&t.plain, t.fault, INT64_MAX / 2, &a) == 0 &&
            a.status == 0, "a run without a fault fails");
    tree_read(t.dir, &t.right.new);
    t.right.output = said("out");
    t.events = t.fault <= FAULT_ALLOC_ON ? a.allocs : a.calls;
    reset();
    clock_gettime(CLOCK_MONOTONIC, &from);
    require(run_fault(&t.plain, FAULT_NONE, INT64_MAX, &a) == 0 &&
            a.status == 0, "a second run fails");
    clock_gettime(CLOCK_MONOTONIC, &to);
    if (fault_is_timed(t.fault))
        t.events = (to.tv_sec - from.tv_sec) * 1000000 +
                   (to.tv_nsec - from.tv_nsec) / 1000;
    tree_read(t.dir, &is);
    compare_files(&t.right, &is, COMPARE_FINISHED, &t.bad);
    tree_free(&is);
    check_output();
    require(!*t.bad.text, t.bad.text);
    require(t.events > 0, "has no such events");
}

/* ---- options ---- */

static void append_name(struct names *list, const char *name)
{
    if (list->count == COMPARE_NAMES) {
        fprintf(stderr, "sweep: too many -t or -l\n");
        exit(99);
    }
    list->name[list->count++] = name;
}

static int options(int argc, char **argv)
{
    int o;

    while ((o = getopt(argc, argv, "+s:m:n:u:k:S:p:a:c:r:R:t:l:x")) != -1) {
        switch (o) {
        case 's': t.shim = optarg; break;
        case 'n': t.sample = atol(optarg); break;    /* 0: all */
        case 'u': t.each = atol(optarg); break;
        case 'k': t.first = atol(optarg); break;     /* this one only */
        case 'S': t.seed = atol(optarg); break;
        case 'a': known_read(optarg, &t.known); break;
        case 'c': t.right.checkpoint = optarg; break;
        case 'r': t.resume = optarg; break;
        case 'R': t.reader = optarg; break;    /* reader of the written files */
        case 't': append_name(&t.right.timed, optarg); break;
        case 'l': append_name(&t.right.log, optarg); break;
        case 'x': t.right.exact = 1; break;    /* no times are printed */
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

static void start_server(char **argv)
{
    char *more[ARGUMENTS] = { NULL }, in[FAULT_PATH];
    int n = 0;

    t.program = argv[0];
    snprintf(in, sizeof(in), "%.400s/in", t.folder);
    tree_read(in, &t.right.old);
    snprintf(t.dir, sizeof(t.dir), "%.400s/%s.%d", t.folder, faults[t.fault],
             t.part);
    mkdir(t.dir, 0777);
    serve_start(&t.plain, t.shim, argv);
    if (!t.resume)
        return;
    for (; argv[n] && n < ARGUMENTS - 2; n++)
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
            sweep_event(1 + from + (int64_t)(r >> 8) % (to - from));
    }
}

/* ---- one of each kind ---- */

struct event { uint64_t stack; int64_t at; };

static int by_stack(const void *a, const void *b)
{
    const struct event *x = a, *y = b;

    if (x->stack != y->stack)
        return x->stack < y->stack ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

static int by_place(const void *a, const void *b)
{
    const struct event *x = a, *y = b;

    return (x->at > y->at) - (x->at < y->at);
}

/* All allocations with the calls that ask for them; the caller frees them. */
static struct event *read_events(int64_t *count)
{
    struct fault_answer a;
    struct event *e;
    char path[FAULT_PATH + 8];
    uint64_t *stack;
    size_t size;

    reset();
    require(run_fault(&t.plain, FAULT_STACKS, 0, &a) == 0 && a.status == 0,
            "a run that is watched fails");
    snprintf(path, sizeof(path), "%s.stacks", t.dir);
    stack = (uint64_t *)(void *)tree_slurp(path, &size);
    *count = (int64_t)(size / sizeof(*stack));
    e = calloc((size_t)*count + 1, sizeof(*e));
    require(e && *count > 0, "no allocations were seen");
    for (int64_t i = 0; i < *count; i++)
        e[i] = (struct event){ stack[i], i + 1 };
    free(stack);
    remove(path);
    return e;
}

/* Keeps t.each of `same` events of one kind, evenly spread. */
static int64_t thin(const struct event *e, int64_t same, struct event *to)
{
    int64_t n = same < t.each ? same : t.each;

    for (int64_t i = 0; i < n; i++)
        to[i] = e[n > 1 ? i * (same - 1) / (n - 1) : 0];
    return n;
}

static void each_kind(void)
{
    int64_t count, kept = 0, kinds = 0;
    struct event *e = read_events(&count);

    qsort(e, (size_t)count, sizeof(*e), by_stack);
    for (int64_t i = 0, n; i < count; i += n, kinds++) {
        for (n = 1; i + n < count && e[i + n].stack == e[i].stack;)
            n++;
        kept += thin(e + i, n, e + kept);
    }
    qsort(e, (size_t)kept, sizeof(*e), by_place);
    for (int64_t i = 0; i < kept; i++)
        if (i % t.parts == t.part)
            sweep_event(e[i].at);
    printf("KINDS %lld\n", (long long)kinds);
    free(e);
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
    start_server(argv + at + 2);
    learn();
    if (t.first > 0)
        sweep_event(t.first);
    else if (t.each > 0)
        each_kind();
    else
        all();
    known_print(&t.known);
    printf("SUM %lld events, %ld success, %ld error, %ld killed, %ld known, "
           "%ld bad, %ld not reached\n", (long long)t.events, t.ends[DONE],
           t.ends[ERROR], t.ends[KILLED], t.ends[KNOWN], t.ends[BAD],
           t.ends[NOT_HIT]);
    serve_end(&t.plain);
    serve_end(&t.again);
    return t.ends[BAD] > 0;
}
