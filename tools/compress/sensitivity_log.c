/* SPDX-License-Identifier: Apache-2.0
 * sensitivity_log.c: the results of --sense in a file, a JSON line each. */
#include "tools/compress/sensitivity_log.h"
#include "tools/shared/line_log.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* WORD and REASON are what the formats that read them say. */
enum { LINE = 1024, WORD = 63, REASON = 111 };
_Static_assert(CTT_NAME <= WORD + 1 && CTT_REASON == REASON + 1,
               "texts that formats read");

struct ctt_sensitivity_log {
    const char          *path;
    struct ctt_line_log *lines;
};

/* ---- lines ---- */

int ctt_sensitivity_key_print(const struct ctt_sensitivity_key *k,
                              const char *begin, const char *more, char *line,
                              size_t size)
{
    return snprintf(line, size, "%s\"model\":\"%08" PRIx32 "\",%s"
                    "\"clips\":\"%08" PRIx32 "\",\"count\":%d,"
                    "\"device\":\"%s\",\"threads\":%d,"
                    "\"timed\":%d,\"machine\":\"%08" PRIx32 "\"}\n", begin,
                    k->model, more, k->data, k->clips, k->device, k->threads,
                    k->timed, k->machine);
}

static int print_point(const struct ctt_sensitivity *s,
                       const struct ctt_sensitivity_point *p, char *line)
{
    const struct ctt_change *c = &p->change;
    char why[CTT_REASON], faster[32], ram[32];
    int n = snprintf(line, LINE, "{\"weight\":\"%s\",\"option\":\"%s\","
                     "\"value\":%.17g,", s->weight[p->weight].name,
                     p->ladder->name, p->value);

    ctt_log_text(p->why, why, sizeof(why));
    ctt_log_number(p->faster, faster);
    ctt_log_number(p->ram, ram);
    if (why[0])
        return n + snprintf(line + n, LINE - (size_t)n, "\"why\":\"%s\"}\n",
                            why);
    return n + snprintf(line + n, LINE - (size_t)n,
                        "\"kl\":[%.17g,%.17g,%.17g],"
                        "\"lost\":[%.17g,%.17g,%.17g],\"bytes\":%" PRId64
                        ",\"faster\":%s,\"ram\":%s}\n", c->kl[0], c->kl[1],
                        c->kl[2], c->lost[0], c->lost[1], c->lost[2], p->bytes,
                        faster, ram);
}

/* ---- reading ---- */

/* What lines that are read go to. */
struct reading {
    struct ctt_sensitivity             *s;
    const struct ctt_sensitivity_extra *extra;
    int                          *known;
};

static int damaged(const char *path, int number)
{
    return ctt_error(CTT_EFORMAT, "%s:%d: is no result of --sense", path,
                     number);
}

static struct ctt_sensitivity_point *find(struct ctt_sensitivity *s,
                                          const char *weight,
                                          const char *option, double value)
{
    for (int i = 0; i < s->points; i++) {
        struct ctt_sensitivity_point *p = &s->point[i];

        if (fabs(p->value - value) < 1e-6 &&
            strcmp(p->ladder->name, option) == 0 &&
            strcmp(s->weight[p->weight].name, weight) == 0)
            return p;
    }
    return NULL;
}

/* What follows weight, option and value.  Returns whether it is complete. */
static int read_rest(const char *text, struct ctt_sensitivity_point *p)
{
    struct ctt_change *c = &p->change;
    int end = 0;

    if (sscanf(text, "\"why\":\"%111[^\"]\"}%n", p->why, &end) == 1 && end > 0)
        return text[end] == '\0';
    p->why[0] = '\0';
    if (sscanf(text, "\"kl\":[%lf,%lf,%lf],\"lost\":[%lf,%lf,%lf],\"bytes\":%"
               SCNd64 "%n", &c->kl[0], &c->kl[1], &c->kl[2], &c->lost[0],
               &c->lost[1], &c->lost[2], &p->bytes, &end) != 7 || end == 0)
        return 0;
    for (int k = 0; k < CTT_ACCURACIES; k++)
        if (!isfinite(c->kl[k]) || !isfinite(c->lost[k]))
            return 0;
    text = ctt_log_take(ctt_log_pass(text + end, ",\"faster\":"), &p->faster);
    p->ram = NAN;    /* an older log has none */
    if (ctt_log_pass(text, ",\"ram\":"))
        text = ctt_log_take(ctt_log_pass(text, ",\"ram\":"), &p->ram);
    return text && strcmp(text, "}") == 0;
}

/* A point that was measured again, because not all of it had been. */
static int is_timed_now(const struct ctt_sensitivity_point *was,
                        const struct ctt_sensitivity_point *now)
{
    return !was->why[0] && (isnan(was->faster) || isnan(was->ram)) &&
           !isnan(now->faster) && !isnan(now->ram);
}

/* A point of a weight or a value that there is no more is left out.  Returns
 * whether it was not known before. */
static int read_point(const char *line, struct ctt_sensitivity *s)
{
    struct ctt_sensitivity_point got = { .fit = NAN }, *p;
    char weight[WORD + 1], option[WORD + 1];
    int n = 0, was;

    if (sscanf(line, "{\"weight\":\"%63[^\"]\",\"option\":\"%63[^\"]\","
               "\"value\":%lf,%n", weight, option, &got.value, &n) != 3 || !n ||
        !read_rest(line + n, &got))
        return CTT_EFORMAT;
    p = find(s, weight, option, got.value);
    if (!p || (p->done && !is_timed_now(p, &got)))
        return 0;
    was = p->done;
    got.weight = p->weight;
    got.ladder = p->ladder;
    got.value = p->value;
    got.done = 1;
    *p = got;
    return !was;
}

static int is_extra(const char *line)
{
    return strncmp(line, CTT_BUDGET_LINE, strlen(CTT_BUDGET_LINE)) == 0;
}

static int read_line(void *arg, const char *path, int number, const char *line)
{
    struct reading *r = arg;
    int got;

    if (is_extra(line)) {
        got = r->extra ? r->extra->line(r->extra->arg, line) : 1;
        return got ? got : damaged(path, number);
    }
    got = read_point(line, r->s);
    if (got < 0)
        return damaged(path, number);
    *r->known += got;
    return 0;
}

/* ---- the log ---- */

int ctt_sensitivity_log_open(const char *path,
                             const struct ctt_sensitivity_key *key,
                             const struct ctt_sensitivity_extra *extra,
                             struct ctt_sensitivity *s, int *known,
                             struct ctt_sensitivity_log **out)
{
    struct ctt_sensitivity_log *log = ctt_calloc(1, sizeof(*log));
    struct reading r = { s, extra, known };
    char line[LINE];
    struct ctt_line_log_of of = { "--sense", CTT_SENSITIVITY_LOG_BEGIN, line,
        "is of another model, other clips, another device or other threads: "
        "name another --sense-log", &r, read_line };
    int rc = 0;

    *known = 0;
    CTT_TRY(log ? 0 : CTT_ENOMEM);
    log->path = path;
    ctt_sensitivity_key_print(key, CTT_SENSITIVITY_LOG_BEGIN, "", line,
                              sizeof(line));
    CTT_TRY(ctt_line_log_open(path, &of, &log->lines));
    *out = log;
    log = NULL;
out:
    ctt_sensitivity_log_close(&log);
    return rc;
}

void ctt_sensitivity_log_close(struct ctt_sensitivity_log **log)
{
    if (!*log)
        return;
    ctt_line_log_close(&(*log)->lines);
    ctt_free(*log);
    *log = NULL;
}

int ctt_sensitivity_log_line(struct ctt_sensitivity_log *log, const char *line)
{
    return ctt_line_log_add(log->lines, line);
}

int ctt_sensitivity_log_add(struct ctt_sensitivity_log *log,
                            const struct ctt_sensitivity *s, int point)
{
    char line[LINE];
    int n = print_point(s, &s->point[point], line);

    if (n >= LINE)
        return ctt_error(CTT_EINVAL, "%s: a line is too long", log->path);
    return ctt_line_log_add(log->lines, line);
}
