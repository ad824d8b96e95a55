/* SPDX-License-Identifier: Apache-2.0
 * info_watch.c: convtt-info --watch: the curves of a training that is under
 * way, as text. */
#include "tools/info/info_tool.h"
#include "base/newfile.h"
#include "tools/shared/tool.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

/* Characters: of a plot, and of the numbers before it. */
enum { ROWS = 10, COLS = 200, NUMBERS = 9, LEAST_COLS = 20, USUAL = 80 };

/* Two curves of a log: columns of its rows, -1: none; percent: shares. */
struct plot { const char *title; int training, validation, percent; };

static const struct plot plots[] = {
    { "loss", CTT_RUN_LOSS, CTT_RUN_VAL_LOSS, 0 },
    { "top-1", CTT_RUN_TOP1, CTT_RUN_VAL_TOP1, 1 },
    { "error of predicted frames", -1, CTT_RUN_VAL_MSE, 0 },
};

static int terminal_columns(void)
{
    struct winsize w;

    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col ? w.ws_col
                                                                 : USUAL;
}

/* Widens a range by the numbers of a column; 1: it has some. */
static int widen(const struct ctt_run_log *r, int column, double *low,
                 double *high)
{
    int some = 0;

    for (int i = 0; column >= 0 && i < r->n; i++)
        if (isfinite(r->at[column][i])) {
            *low = fmin(*low, r->at[column][i]);
            *high = fmax(*high, r->at[column][i]);
            some = 1;
        }
    return some;
}

/* Where y is from low to high, 0 to 1; halves, as the range of numbers of a log
 * may be no number. */
static double height_of(double y, double low, double high)
{
    double x = (y / 2 - low / 2) / (high / 2 - low / 2);

    return x >= 0 && x <= 1 ? x : x > 1;
}

/* Sets the letter at each number of a column; later epochs win. */
static void put_curve(const struct ctt_run_log *r, int column, char letter,
                      double low, double high, int cols,
                      char grid[ROWS][COLS + 1])
{
    for (int i = 0; column >= 0 && i < r->n; i++) {
        double y = r->at[column][i];
        int x = r->n > 1 ? (int)((int64_t)i * (cols - 1) / (r->n - 1)) : 0;
        int up = (int)(height_of(y, low, high) * (ROWS - 1) + 0.5);

        if (isfinite(y))
            grid[ROWS - 1 - up][x] = letter;
    }
}

static void put_number(double y, int percent)
{
    if (percent)
        printf("%*.1f%%", NUMBERS - 1, 100 * y);
    else
        printf("%*.4g", NUMBERS, y);
}

static void draw(const struct ctt_run_log *r, const struct plot *p, int cols)
{
    double low = INFINITY, high = -INFINITY;
    int training = widen(r, p->training, &low, &high);
    int validation = widen(r, p->validation, &low, &high);
    char grid[ROWS][COLS + 1];

    if (!training && !validation)
        return;
    if (high <= low)
        high = low + fmax(fabs(low), 1e-6);
    memset(grid, ' ', sizeof(grid));
    put_curve(r, p->training, 't', low, high, cols, grid);
    put_curve(r, p->validation, 'v', low, high, cols, grid);
    printf("\n%*s %s%s%s\n", NUMBERS, "", p->title,
           training ? ", t: training" : "",
           validation ? ", v: validation" : "");
    for (int y = 0; y < ROWS; y++) {
        if (y % 3 == 0)
            put_number(high - (high / (ROWS - 1) - low / (ROWS - 1)) * y,
                       p->percent);
        else
            printf("%*s", NUMBERS, "");
        printf(" |%.*s\n", cols, grid[y]);
    }
    printf("%*s +", NUMBERS, "");
    for (int x = 0; x < cols; x++)
        putchar('-');
    printf("\n%*s  %-*.0f%.0f\n", NUMBERS, "", cols - 5,
           r->at[CTT_RUN_EPOCH][0], r->last[CTT_RUN_EPOCH]);
}

static void draw_all(const struct ctt_run_log *r, int running)
{
    int cols = terminal_columns() - NUMBERS - 3;
    const double *best = r->best;

    cols = cols < LEAST_COLS ? LEAST_COLS : cols > COLS ? COLS : cols;
    printf("%s: %lld epoch%s%s", r->name, (long long)r->epochs,
           ctt_s(r->epochs), running ? ", running" : "");
    if (isfinite(best[CTT_RUN_EPOCH]) && isfinite(best[CTT_RUN_VAL_TOP1]))
        printf("; best: epoch %.0f, %.1f%%", best[CTT_RUN_EPOCH],
               100 * best[CTT_RUN_VAL_TOP1]);
    if (r->n && isfinite(r->last[CTT_RUN_SECONDS]))
        printf("; %.0f s in all", r->last[CTT_RUN_SECONDS]);
    printf("\n");
    for (size_t i = 0; i < CTT_LEN(plots) && r->n; i++)
        draw(r, &plots[i], cols);
}

/* 1 if a training has the log open: it has locked it. */
static int is_running(const char *path, int *running)
{
    int64_t size;
    int fd, rc;

    CTT_TRY(ctt_file_open(path, &fd, &size));
    *running = flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    close(fd);
out:
    return rc;
}

static int show(const char *path, int terminal, int *running)
{
    struct ctt_run_log r;
    int rc;

    CTT_TRY(is_running(path, running));    /* before the rows are read */
    rc = ctt_run_log_read(&r, path);
    if (rc >= 0 && !*running && !r.n)
        rc = ctt_error(CTT_EFORMAT, "%s: has no row of a training: --watch "
                       "takes what convtt-train --log-json writes", path);
    if (rc >= 0) {
        printf("%s", terminal ? "\033[H\033[J" : "");
        draw_all(&r, *running);
        fflush(stdout);
    }
    ctt_run_log_free(&r);
out:
    return rc;
}

int ctt_info_watch(const char *path)
{
    const struct timespec second = { 1, 0 };
    int terminal = isatty(STDOUT_FILENO), running = 1, rc = 0;

    ctt_tool_catch();
    while (running && !ctt_tool_stop()) {
        CTT_TRY(show(path, terminal, &running));
        if (!terminal)
            break;
        if (running)
            nanosleep(&second, NULL);
    }
out:
    return rc;
}
