/* SPDX-License-Identifier: Apache-2.0
 * sensitivity_log.c: the results of --sense in a file, a JSON line each. */
#include "tools/compress/compress_tool.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LINE = 1024 };

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

struct line {
    const struct ctt_sensitivity       *s;
    const struct ctt_sensitivity_point *p;
};

static int print_point(FILE *f, const void *arg)
{
    const struct line *l = arg;
    const struct ctt_sensitivity_point *p = l->p;
    struct ctt_json_out o = { f, "", 0 };

    ctt_json_begin(&o, NULL, '{');
    ctt_json_put_text(&o, "weight", l->s->weight[p->weight].name);
    ctt_json_put_text(&o, "option", p->ladder->name);
    ctt_json_put_real(&o, "value", 17, p->value);
    if (p->why[0]) {
        ctt_log_reason(&o, "why", p->why);
    } else {
        ctt_json_put_reals(&o, "kl", 17, p->change.kl, CTT_ACCURACIES);
        ctt_json_put_reals(&o, "lost", 17, p->change.lost, CTT_ACCURACIES);
        ctt_json_put_int(&o, "bytes", p->bytes);
        ctt_json_put_real(&o, "faster", 17, p->faster);
        ctt_json_put_int(&o, "busy", p->busy);
        ctt_json_put_real(&o, "ram", 17, p->ram);
    }
    ctt_json_finish(&o, '}');
    fputc('\n', f);
    return 0;
}

/* ---- reading ---- */

/* The target of lines that are read. */
struct reading {
    struct ctt_sensitivity             *s;
    const struct ctt_sensitivity_extra *extra;
    int                          *known;
};

static struct ctt_sensitivity_point *find_point(struct ctt_sensitivity *s,
                                                const char *weight,
                                                const char *option,
                                                double value)
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

/* All but weight and option: 1; 0: it is not complete. */
static int read_results(const struct ctt_value *v,
                        struct ctt_sensitivity_point *p)
{
    const struct ctt_value *why = ctt_json_get(v, "why");
    struct ctt_change *c = &p->change;
    int good = 1;

    if (!ctt_json_real(ctt_json_get(v, "value"), NAN, &p->value))
        return 0;
    if (why) {
        snprintf(p->why, sizeof(p->why), "%s",
                 ctt_json_text(why) ? ctt_json_text(why) : "");
        return p->why[0] != '\0';
    }
    p->ram = NAN;    /* an older log has none */
    ctt_json_real(ctt_json_get(v, "ram"), NAN, &p->ram);
    ctt_json_int(ctt_json_get(v, "busy"), 0, 1, &p->busy);
    if (!ctt_json_reals(ctt_json_get(v, "kl"), NAN, c->kl, CTT_ACCURACIES) ||
        !ctt_json_reals(ctt_json_get(v, "lost"), NAN, c->lost,
                        CTT_ACCURACIES) ||
        !ctt_json_int64(ctt_json_get(v, "bytes"), 0, &p->bytes) ||
        !ctt_json_real(ctt_json_get(v, "faster"), NAN, &p->faster))
        return 0;
    for (int k = 0; k < CTT_ACCURACIES; k++)
        good &= isfinite(c->kl[k]) && isfinite(c->lost[k]);
    return good;
}

/* A point that was measured again, because not all of it had been. */
static int is_timed_now(const struct ctt_sensitivity_point *was,
                        const struct ctt_sensitivity_point *now)
{
    return !was->why[0] && (isnan(was->faster) || isnan(was->ram)) &&
           !isnan(now->faster) && !isnan(now->ram);
}

/* Takes a line: 1; 0: it is damaged.  A point of a weight or a value that there
 * is no more is left out. */
static int read_point(const struct ctt_value *v, struct reading *r)
{
    struct ctt_sensitivity_point got = { .fit = NAN }, *p;
    const char *weight = ctt_json_text(ctt_json_get(v, "weight"));
    const char *option = ctt_json_text(ctt_json_get(v, "option"));

    if (!weight || !option || !read_results(v, &got))
        return 0;
    p = find_point(r->s, weight, option, got.value);
    if (!p || (p->done && !is_timed_now(p, &got)))
        return 1;
    *r->known += !p->done;
    got.weight = p->weight;
    got.ladder = p->ladder;
    got.value = p->value;
    got.done = 1;
    *p = got;
    return 1;
}

static int read_result(void *arg, const struct ctt_value *v)
{
    struct reading *r = arg;

    if (!ctt_json_get(v, "budget"))
        return read_point(v, r);
    return r->extra ? r->extra->line(r->extra->arg, v) : 1;
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
        "name another --sense-log", &r, read_result };
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
    return ctt_line_log_print(log->lines, print_point,
                              &(struct line){ s, &s->point[point] });
}
