/* SPDX-License-Identifier: Apache-2.0
 * explain_log.c: the results of --explain in a file, a JSON line each. */
#include "tools/compress/explain_log.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* WORD and REASON are what the formats that read them say. */
enum { LINE = 2048, WORD = 63, REASON = 111, NUMBERS = 1 + 3 * CTT_ACCURACIES };
_Static_assert(CTT_NAME <= WORD + 1 && CTT_REASON == REASON + 1,
               "texts that formats read");

/* ---- lines ---- */

/* The numbers of a gain, in the order of a line. */
static double *number_at(struct ctt_gain *g, int k)
{
    double *const of[] = { g->kl, g->top1, g->error, &g->kl_error };

    return of[k / CTT_ACCURACIES] + k % CTT_ACCURACIES;
}

static int print_gain(const char *name, struct ctt_gain g, char *to,
                      size_t size)
{
    int n = snprintf(to, size, "\"%s\":[", name);

    for (int k = 0; k < NUMBERS; k++) {
        char number[32];

        ctt_log_number(*number_at(&g, k), number);
        n += snprintf(to + n, size - (size_t)n, "%s%s", k ? "," : "", number);
    }
    return n + snprintf(to + n, size - (size_t)n, "],");
}

static int print_point(const struct ctt_explain *e,
                       const struct ctt_explain_point *p, char line[LINE])
{
    char why[CTT_REASON], faster[32];
    int n = snprintf(line, LINE, "{\"weight\":\"%s\",\"what\":\"%s\",",
                     ctt_explain_weight_name(e, p), ctt_explain_kind_name(p));

    ctt_log_text(p->why, why, sizeof(why));
    ctt_log_number(p->faster, faster);
    n += print_gain("back", p->back, line + n, LINE - (size_t)n);
    n += print_gain("trained", p->trained, line + n, LINE - (size_t)n);
    return n + snprintf(line + n, LINE - (size_t)n, "\"bytes\":%" PRId64
                        ",\"faster\":%s,\"why\":\"%s\"}\n", p->bytes, faster,
                        why);
}

/* ---- reading ---- */

/* What lines that are read go to. */
struct reading {
    struct ctt_explain *e;
    int                *known;
};

static const char *take_gain(const char *p, const char *name,
                             struct ctt_gain *g)
{
    p = ctt_log_pass(ctt_log_pass(ctt_log_pass(p, "\""), name), "\":[");
    for (int k = 0; k < NUMBERS; k++)
        p = ctt_log_take(k ? ctt_log_pass(p, ",") : p, number_at(g, k));
    return ctt_log_pass(p, "],");
}

/* What follows weight and what was done.  Returns whether it is complete. */
static int read_rest(const char *text, struct ctt_explain_point *p)
{
    char why[REASON + 2];
    int n = 0;

    text = take_gain(text, "back", &p->back);
    text = take_gain(text, "trained", &p->trained);
    if (!text || sscanf(text, "\"bytes\":%" SCNd64 ",\"faster\":%n", &p->bytes,
                        &n) != 1 || !n)
        return 0;
    text = ctt_log_pass(ctt_log_take(text + n, &p->faster), ",\"why\":\"");
    if (!text)
        return 0;
    n = (int)strcspn(text, "\"");
    if (n > REASON || strcmp(text + n, "\"}") != 0)
        return 0;
    snprintf(why, sizeof(why), "%.*s", n, text);
    memcpy(p->why, why, (size_t)n + 1);
    return 1;
}

static struct ctt_explain_point *find(struct ctt_explain *e,
                                      const char *weight, const char *what)
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
static int read_line(void *arg, const char *path, int number, const char *line)
{
    struct reading *r = arg;
    struct ctt_explain_point got = { .done = 1 }, *p;
    char weight[WORD + 1], what[WORD + 1];
    int n = 0;

    if (sscanf(line, "{\"weight\":\"%63[^\"]\",\"what\":\"%63[^\"]\",%n",
               weight, what, &n) != 2 || !n || !read_rest(line + n, &got))
        return ctt_error(CTT_EFORMAT, "%s:%d: is no result of --explain", path,
                         number);
    p = find(r->e, weight, what);
    if (!p || p->done)
        return 0;
    got.weight = p->weight;
    got.kind = p->kind;
    *p = got;
    (*r->known)++;
    return 0;
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
        "--explain-log", &r, read_line };

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
    char line[LINE];
    int n = print_point(e, &e->point[point], line);

    if (n >= LINE)
        return ctt_error(CTT_EINVAL, "--explain: a line is too long");
    return ctt_line_log_add(log, line);
}
