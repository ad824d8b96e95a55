/* SPDX-License-Identifier: Apache-2.0
 * tool.c: error lines, progress, tables and signals of the programs. */
#include "tools/tool.h"
#include "net/clock.h"
#include "video/video.h"

#include <ctype.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *program = "convtt";
static int shown;                    /* columns of the line on the terminal */
static double last_line;             /* when it was written */
static volatile sig_atomic_t stop;

/* libgomp reads its settings before main, so they are set for a second start.
 * A thread that waits spins for milliseconds by default; where another program
 * wants the processors too, a model with a loop over frames then trains ten
 * times slower, and not measurably faster where none does. */
static void wait_briefly(char **argv)
{
    if (getenv("OMP_WAIT_POLICY") || getenv("GOMP_SPINCOUNT"))
        return;
    if (setenv("GOMP_SPINCOUNT", "2000", 1) == 0)
        execv("/proc/self/exe", argv);    /* if not, as it is */
}

void ctt_tool_start(const char *name, char **argv)
{
    wait_briefly(argv);
    signal(SIGXFSZ, SIG_IGN);    /* a file limit is a failed write */
    program = name;
    last_line = ctt_seconds();
    setvbuf(stdout, NULL, _IOLBF, 0);
}

static void clear_line(void)
{
    if (shown)
        fprintf(stderr, "\r%*s\r", shown, "");
    shown = 0;
}

int ctt_tool_fail(int status)
{
    clear_line();
    fprintf(stderr, "%s: %s\n", program, ctt_errmsg());
    return status;
}

int ctt_tool_die(int status, const char *fmt, ...)
{
    va_list ap;

    clear_line();
    fprintf(stderr, "%s: ", program);
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fputc('\n', stderr);
    return status;
}

int ctt_tool_end(int status)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return status;
    return ctt_tool_die(CTT_EXIT_FAIL, "standard output cannot be written");
}

void ctt_tool_warn(const char *fmt, ...)
{
    va_list ap;

    clear_line();
    fprintf(stderr, "%s: warning: ", program);
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fputc('\n', stderr);
}

void ctt_tool_progress(int last, const char *fmt, ...)
{
    int terminal = isatty(STDERR_FILENO), n;
    double now = ctt_seconds();
    char line[512];
    va_list ap;

    if (!last && now - last_line < (terminal ? 0.1 : 10))
        return;
    last_line = now;
    va_start(ap, fmt);
    n = vsnprintf(line, sizeof(line), fmt, ap);
    va_end(ap);
    n = n < (int)sizeof(line) ? n : (int)sizeof(line) - 1;
    if (!terminal) {
        fprintf(stderr, "%s\n", line);
        return;
    }
    fprintf(stderr, "\r%s%*s%s", line, shown > n ? shown - n : 0, "",
            last ? "\n" : "");
    fflush(stderr);
    shown = last ? 0 : n;
}

void ctt_tool_say(const char *fmt, ...)
{
    va_list ap;

    clear_line();
    va_start(ap, fmt);
    vprintf(fmt, ap);
    va_end(ap);
    putchar('\n');
}

/* ---- signals ---- */

static void on_signal(int sig)
{
    stop = sig;
}

void ctt_tool_catch(void)
{
    struct sigaction a = { .sa_handler = on_signal };

    a.sa_flags = (int)SA_RESETHAND;    /* the second one ends the program */
    sigemptyset(&a.sa_mask);
    sigaction(SIGINT, &a, NULL);
    sigaction(SIGTERM, &a, NULL);
}

int ctt_tool_stop(void)
{
    return stop;
}

/* ---- tables ---- */

void ctt_table_row(struct ctt_table *t, const char *fmt, ...)
{
    char line[1024], **more;
    va_list ap;

    more = ctt_grown(t->row, &t->room, t->rows, sizeof(*more));
    if (!more) {
        t->rc = CTT_ENOMEM;
        return;
    }
    t->row = more;
    va_start(ap, fmt);
    vsnprintf(line, sizeof(line), fmt, ap);
    va_end(ap);
    t->row[t->rows] = ctt_strdup(line);
    if (!t->row[t->rows])
        t->rc = CTT_ENOMEM;
    else
        t->rows++;
}

enum { COLUMNS = 40 };

struct column { int width, number; };

static int cell_length(const char *s)
{
    return (int)strcspn(s, "\t");
}

static int is_number(const char *s)
{
    return isdigit((unsigned char)*s) || *s == '-' || *s == '+' || *s == '.';
}

/* How many characters a terminal shows: bytes that continue a UTF-8 character
 * take no place. */
static int shown_length(const char *s, int n)
{
    int k = 0;

    for (int i = 0; i < n; i++)
        k += ((unsigned char)s[i] & 0xC0) != 0x80;
    return k;
}

static void measure(const struct ctt_table *t, struct column *col)
{
    for (int r = 0; r < t->rows; r++) {
        const char *s = t->row[r];
        for (int c = 0; c < COLUMNS; c++) {
            int n = cell_length(s), k = shown_length(s, n);
            if (k > col[c].width)
                col[c].width = k;
            if (r > 0 && n && !is_number(s))
                col[c].number = 0;
            if (!s[n])
                break;
            s += n + 1;
        }
    }
}

static void print_row(const char *s, const struct column *col)
{
    for (int c = 0; c < COLUMNS; c++) {
        int n = cell_length(s), pad = col[c].width - shown_length(s, n);

        printf("%s%*s%.*s", c ? "  " : "", col[c].number ? pad : 0, "", n, s);
        if (!s[n])
            break;
        printf("%*s", col[c].number ? 0 : pad, "");
        s += n + 1;
    }
    putchar('\n');
}

int ctt_table_print(struct ctt_table *t)
{
    struct column col[COLUMNS] = { { 0, 0 } };
    int rc = t->rc;

    for (int c = 1; c < COLUMNS; c++)
        col[c].number = 1;
    clear_line();
    measure(t, col);
    for (int r = 0; r < t->rows; r++)
        print_row(t->row[r], col);
    ctt_table_free(t);
    return rc;
}

void ctt_table_free(struct ctt_table *t)
{
    for (int r = 0; r < t->rows; r++)
        ctt_free(t->row[r]);
    ctt_free(t->row);
    memset(t, 0, sizeof(*t));
}

const char *ctt_tool_count(double n, char *buf, size_t size)
{
    static const struct { double unit; const char *word; } units[] = {
        { 1e9, " G" }, { 1e6, " M" }, { 1e3, " k" },
    };

    for (size_t i = 0; i < CTT_LEN(units); i++) {
        if (n >= units[i].unit) {
            double x = n / units[i].unit;
            int digits = x < 10 ? 2 : x < 100 ? 1 : 0;
            snprintf(buf, size, "%.*f%s", digits, x, units[i].word);
            return buf;
        }
    }
    snprintf(buf, size, "%.0f", n);
    return buf;
}

int ctt_tool_is_net(const char *path)
{
    size_t n = strlen(path);

    return n > 4 && strcmp(path + n - 4, ".net") == 0;
}

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* The folder that a path lies in; 0 if there is none. */
static int folder_of(const char *path, struct stat *out)
{
    size_t n = (size_t)(last_part(path) - path);
    char *folder = ctt_calloc(n + 2, 1);
    int there;

    if (!folder)
        return 0;
    memcpy(folder, path, n);
    folder[n] = '.';
    there = stat(folder, out) == 0;
    ctt_free(folder);
    return there;
}

static int same_inode(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* What is not there yet is known by its folder and name. */
int ctt_tool_same_file(const char *a, const char *b)
{
    struct stat x, y;
    int here, there;

    if (!a || !b)
        return 0;
    here = stat(a, &x) == 0;
    there = stat(b, &y) == 0;
    if (here && there)
        return same_inode(&x, &y);
    return here == there && strcmp(last_part(a), last_part(b)) == 0 &&
           folder_of(a, &x) && folder_of(b, &y) && same_inode(&x, &y);
}

int ctt_tool_reads(const char *data, const char *file)
{
    const char *dir = data ? ctt_mnist_path(data) : NULL;
    struct stat x, y;

    if (!file || !dir)
        return ctt_tool_same_file(data, file);
    return ctt_tool_same_file(dir, file) ||
           (strstr(last_part(file), "-images-idx") && stat(dir, &x) == 0 &&
            folder_of(file, &y) && same_inode(&x, &y));
}
