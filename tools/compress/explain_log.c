/* SPDX-License-Identifier: Apache-2.0
 * explain_log.c: the results of --explain in a file, a JSON line each. */
#include "tools/compress/compress_tool.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LINE = 2048, NUMBERS = 1 + 3 * CTT_ACCURACIES };

/* ---- lines ---- */

/* The numbers of a gain, in the order of a line. */
static double *number_at(struct ctt_gain *g, int k)
{
    double *const of[] = { g->kl, g->top1, g->error, &g->kl_error };

    return of[k / CTT_ACCURACIES] + k % CTT_ACCURACIES;
}

static void put_gain(struct ctt_json_out *o, const char *name,
                     struct ctt_gain g)
{
    ctt_json_begin(o, name, '[');
    for (int k = 0; k < NUMBERS; k++)
        ctt_json_put_real(o, NULL, 17, *number_at(&g, k));
    ctt_json_finish(o, ']');
}

struct line { const struct ctt_explain *e; const struct ctt_explain_point *p; };

static int print_point(FILE *f, const void *arg)
{
    const struct line *l = arg;
    struct ctt_json_out o = { f, "", 0 };

    ctt_json_begin(&o, NULL, '{');
    ctt_json_put_text(&o, "weight", ctt_explain_weight_name(l->e, l->p));
    ctt_json_put_text(&o, "what", ctt_explain_kind_name(l->p));
    put_gain(&o, "back", l->p->back);
    put_gain(&o, "trained", l->p->trained);
    ctt_json_put_int(&o, "bytes", l->p->bytes);
    ctt_json_put_real(&o, "faster", 17, l->p->faster);
    ctt_json_put_int(&o, "busy", l->p->busy);
    ctt_log_reason(&o, "why", l->p->why);
    ctt_json_finish(&o, '}');
    fputc('\n', f);
    return 0;
}

/* ---- reading ---- */

/* The target of lines that are read. */
struct reading {
    struct ctt_explain *e;
    int                *known;
};

static int read_gain(const struct ctt_value *v, struct ctt_gain *g)
{
    int good = ctt_json_kind(v) == '[' && ctt_json_size(v) == NUMBERS;

    for (int k = 0; k < NUMBERS && good; k++)
        good = ctt_json_real(ctt_json_at(v, k), NAN, number_at(g, k));
    return good;
}

/* All but weight and what was done: 1; 0: it is not complete. */
static int read_results(const struct ctt_value *v, struct ctt_explain_point *p)
{
    const char *why = ctt_json_text(ctt_json_get(v, "why"));

    snprintf(p->why, sizeof(p->why), "%s", why ? why : "");
    ctt_json_int(ctt_json_get(v, "busy"), 0, 1, &p->busy);    /* or an older log
                                                               */
    return why && read_gain(ctt_json_get(v, "back"), &p->back) &&
           read_gain(ctt_json_get(v, "trained"), &p->trained) &&
           ctt_json_int64(ctt_json_get(v, "bytes"), INT64_MIN, &p->bytes) &&
           ctt_json_real(ctt_json_get(v, "faster"), NAN, &p->faster);
}

static struct ctt_explain_point *find_point(struct ctt_explain *e,
                                            const char *weight,
                                            const char *what)
{
    for (int i = 0; i < e->points; i++) {
        struct ctt_explain_point *p = &e->point[i];

        if (strcmp(ctt_explain_weight_name(e, p), weight) == 0 &&
            strcmp(ctt_explain_kind_name(p), what) == 0)
            return p;
    }
    return NULL;
}

/* A point that there is no more is left out. */
static int read_result(void *arg, const struct ctt_value *v)
{
    const char *weight = ctt_json_text(ctt_json_get(v, "weight"));
    const char *what = ctt_json_text(ctt_json_get(v, "what"));
    struct ctt_explain_point got = { .done = 1 }, *p;
    struct reading *r = arg;

    if (!weight || !what || !read_results(v, &got))
        return 0;
    p = find_point(r->e, weight, what);
    if (!p || p->done)
        return 1;
    got.weight = p->weight;
    got.kind = p->kind;
    *p = got;
    ++*r->known;
    return 1;
}

/* ---- the log ---- */

int ctt_explain_log_open(const char *path, const struct ctt_explain_key *key,
                         struct ctt_explain *e, int *known,
                         struct ctt_line_log **out)
{
    struct reading r = { e, known };
    char line[LINE], more[96];
    struct ctt_line_log_of of = { "--explain", CTT_EXPLAIN_LOG_BEGIN, line,
        "is of other models, clips, settings or another device: name another "
        "--explain-log", &r, read_result };

    *known = 0;
    snprintf(more, sizeof(more), "\"dense\":\"%08" PRIx32 "\",\"how\":\"%08"
             PRIx32 "\",", key->dense, key->how);
    ctt_sensitivity_key_print(&key->of, CTT_EXPLAIN_LOG_BEGIN, more, line,
                              sizeof(line));
    return ctt_line_log_open(path, &of, out);
}

int ctt_explain_log_add(struct ctt_line_log *log, const struct ctt_explain *e,
                        int point)
{
    return ctt_line_log_print(log, print_point,
                              &(struct line){ e, &e->point[point] });
}
