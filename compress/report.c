/* SPDX-License-Identifier: Apache-2.0
 * report.c: what was done to a model and what came of it, as rows of text and
 * as JSON. */
#include "compress/compress.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static int is_conv(const struct ctt_node *n)
{
    return n->op == CTT_OP_CONV || n->op == CTT_OP_DECONV;
}

static void as_it_was(const struct ctt_model *m, int i,
                      struct ctt_weight_row *row)
{
    const struct ctt_node *n = &m->g->node[i];
    const struct ctt_tensor *w = &n->w[0];

    memcpy(row->name, n->name, sizeof(row->name));
    memcpy(row->shape, (int[]){ (int)w->n, (int)w->d, (int)w->h, (int)w->w,
                                (int)w->c }, sizeof(row->shape));
    row->cores = 1;
    row->params = row->params_after = row->kept = ctt_volume(w);
    row->macs = row->macs_after = ctt_node_macs(m->g, i);
}

int ctt_report_new(const struct ctt_model *m, struct ctt_report **out)
{
    struct ctt_report *r = ctt_calloc(1, sizeof(*r));
    int rc = 0;

    CTT_TRY(r ? 0 : CTT_ENOMEM);
    r->weight = ctt_calloc((size_t)m->g->count, sizeof(*r->weight));
    CTT_TRY(r->weight ? 0 : CTT_ENOMEM);
    for (int i = 0; i < m->g->count; i++)
        if (is_conv(&m->g->node[i]))
            as_it_was(m, i, &r->weight[r->weights++]);
    *out = r;
    r = NULL;
out:
    ctt_report_free(&r);
    return rc;
}

void ctt_report_free(struct ctt_report **r)
{
    if (!*r)
        return;
    ctt_free((*r)->stage);
    ctt_free((*r)->weight);
    ctt_free((*r)->stored);
    ctt_free(*r);
    *r = NULL;
}

/* ---- a stage ---- */

static int64_t live(const struct ctt_model *m, const struct ctt_node *n)
{
    int64_t sum = 0;

    for (int64_t k = 0; k < ctt_volume(&n->w[0]); k++)
        sum += !ctt_is_pruned(&m->constraint, n->at[0] + k);
    return sum;
}

static void count_macs(const struct ctt_model *m, struct ctt_stage_row *row)
{
    for (int i = 0; i < m->g->count; i++) {
        const struct ctt_node *n = &m->g->node[i];
        int64_t macs = ctt_node_macs(m->g, i);

        if (!is_conv(n))
            continue;
        if (i >= m->g->clip) {
            row->clip_macs += macs;
            continue;
        }
        row->macs += macs;
        row->live_macs += macs / ctt_volume(&n->w[0]) * live(m, n);
    }
}

static int add_row(struct ctt_report *r, struct ctt_stage_row **row)
{
    int room = r->stage_room ? 2 * r->stage_room : 8;

    if (r->stages == r->stage_room) {
        void *more = ctt_realloc(r->stage, (size_t)room * sizeof(*r->stage));
        if (!more)
            return CTT_ENOMEM;
        r->stage = more;
        r->stage_room = room;
    }
    *row = &r->stage[r->stages++];
    memset(*row, 0, sizeof(**row));
    for (int k = 0; k < CTT_ACCURACIES; k++)
        (*row)->before[k] = (*row)->after[k] = NAN;
    (*row)->ms = NAN;
    return 0;
}

int ctt_report_stage(struct ctt_report *r, const char *name,
                     const struct ctt_model *m, const char *path,
                     struct ctt_stage_row **row)
{
    struct ctt_stored *stored = NULL;
    struct ctt_stage_row *s;
    int64_t bytes;
    int count, rc = 0;

    CTT_TRY(ctt_model_stored(path, &stored, &count, &bytes));
    CTT_TRY(add_row(r, &s));
    snprintf(s->name, sizeof(s->name), "%s", name);
    s->bytes = bytes;
    s->params = ctt_model_params(m);
    s->pruned = ctt_pruned(m, NULL);
    count_macs(m, s);
    *row = s;
out:
    ctt_free(stored);
    return rc;
}

/* ---- what is stored of a weight ---- */

/* Whether stored weight s, "NAME.w", is the weight of node row->name or of one
 * of its cores "NAME.t1.w". */
static int belongs(const struct ctt_stored *s,
                   const struct ctt_weight_row *row)
{
    size_t n = strlen(row->name);

    if (strncmp(s->name, row->name, n) != 0)
        return 0;
    if (strcmp(s->name + n, ".w") == 0)
        return 1;
    return row->cores > 1 && strncmp(s->name + n, ".t", 2) == 0 &&
           s->name[n + 2] >= '1' && s->name[n + 2] <= '9' &&
           strcmp(s->name + n + 3, ".w") == 0;
}

/* Says how the largest part of the weight is stored. */
static void sum_stored(struct ctt_report *r, struct ctt_weight_row *row)
{
    int64_t largest = -1;

    row->kept = row->size = 0;
    for (int i = 0; i < r->nstored; i++) {
        const struct ctt_stored *s = &r->stored[i];
        if (!belongs(s, row))
            continue;
        row->kept += s->kept;
        row->size += s->size;
        if (s->params > largest) {
            largest = s->params;
            snprintf(row->encoding, sizeof(row->encoding), "%s %s %s",
                     s->positions, s->values, s->bytes);
        }
    }
}

int ctt_report_stored(struct ctt_report *r, const char *path)
{
    struct ctt_stored *stored = NULL;
    int64_t bytes;
    int count, rc = ctt_model_stored(path, &stored, &count, &bytes);

    if (rc < 0)
        return rc;
    ctt_free(r->stored);
    r->stored = stored;
    r->nstored = count;
    for (int i = 0; i < r->weights; i++)
        sum_stored(r, &r->weight[i]);
    return 0;
}

/* ---- as text ---- */

static const char *percent3(const double a[CTT_ACCURACIES], char *s,
                            size_t size)
{
    if (isnan(a[0]))
        return "-";
    snprintf(s, size, "%.1f/%.1f/%.1f", 100 * a[0], 100 * a[1], 100 * a[2]);
    return s;
}

int ctt_report_stage_cells(const struct ctt_report *r, int row, char *text,
                           size_t size)
{
    const struct ctt_stage_row *s = r->stage + (row ? row - 1 : 0);
    char before[48], after[48], ms[24] = "-";

    if (row > r->stages)
        return 0;
    if (row == 0) {
        snprintf(text, size, "stage\tbytes\tsmaller\tparameters\tpruned %%\t"
                 "mult a frame\tnot pruned\ttop-1 %% before\t"
                 "and after retraining\tms a frame");
        return 1;
    }
    if (!isnan(s->ms))
        snprintf(ms, sizeof(ms), "%.3f", s->ms);
    snprintf(text, size, "%s\t%" PRId64 "\t%.1fx\t%" PRId64 "\t%.1f\t%" PRId64
             "\t%" PRId64 "\t%s\t%s\t%s", s->name, s->bytes,
             (double)r->stage[0].bytes / (double)s->bytes, s->params,
             100 * s->pruned, s->macs, s->live_macs,
             percent3(s->before, before, sizeof(before)),
             percent3(s->after, after, sizeof(after)), ms);
    return 1;
}

static void shape_text(const struct ctt_weight_row *w, char *s, size_t size)
{
    size_t n = (size_t)snprintf(s, size, "%d", w->shape[0]);

    for (int k = 1; k < 5 && n < size; k++)
        if (k == 4 || w->shape[k] > 1)
            n += (size_t)snprintf(s + n, size - n, "x%d", w->shape[k]);
}

static void rank_text(const struct ctt_weight_row *w, const char *between,
                      char *s, size_t size)
{
    size_t n = 0;

    s[0] = '\0';
    for (int k = 0; k < w->cores - 1 && n < size; k++)
        n += (size_t)snprintf(s + n, size - n, "%s%d", k ? between : "",
                              w->rank[k]);
}

int ctt_report_weight_cells(const struct ctt_report *r, int row, char *text,
                            size_t size)
{
    const struct ctt_weight_row *w = r->weight + (row ? row - 1 : 0);
    char shape[64], rank[64], error[24] = "-";

    if (row > r->weights)
        return 0;
    if (row == 0) {
        snprintf(text, size, "weight\tshape\tcores\tranks\terror\tparameters\t"
                 "after\tkept\tmult\tafter\tbytes\tstored as\tnote");
        return 1;
    }
    shape_text(w, shape, sizeof(shape));
    rank_text(w, ",", rank, sizeof(rank));
    if (w->cores > 1)
        snprintf(error, sizeof(error), "%.4f", w->error);
    snprintf(text, size, "%s\t%s\t%s\t%s\t%s\t%" PRId64 "\t%" PRId64 "\t%"
             PRId64 "\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t%s\t%s", w->name,
             shape, w->cores > 1 ? w->chain : "-", w->cores > 1 ? rank : "-",
             error, w->params, w->params_after, w->kept, w->macs,
             w->macs_after, w->size, w->encoding, w->reason);
    return 1;
}

/* ---- as JSON; names have no characters that need quoting ---- */

static void json_number(FILE *f, const char *name, double x)
{
    if (isnan(x))
        fprintf(f, ", \"%s\": null", name);
    else
        fprintf(f, ", \"%s\": %.9g", name, x);
}

static void json_three(FILE *f, const char *name,
                       const double a[CTT_ACCURACIES])
{
    if (isnan(a[0]))
        fprintf(f, ", \"%s\": null", name);
    else
        fprintf(f, ", \"%s\": [%.6g, %.6g, %.6g]", name, a[0], a[1], a[2]);
}

static void json_stage(FILE *f, const struct ctt_stage_row *s)
{
    fprintf(f, "{\"stage\": \"%s\", \"bytes\": %" PRId64
            ", \"parameters\": %" PRId64 ", \"multiplications_a_frame\": %"
            PRId64 ", \"multiplications_not_pruned\": %" PRId64
            ", \"multiplications_an_answer\": %" PRId64, s->name, s->bytes,
            s->params, s->macs, s->live_macs, s->clip_macs);
    json_number(f, "pruned", s->pruned);
    json_three(f, "top1_before_retraining", s->before);
    json_three(f, "top1", s->after);
    json_number(f, "ms_a_frame", s->ms);
    fprintf(f, "}");
}

static void json_weight(FILE *f, const struct ctt_weight_row *w)
{
    char rank[64];

    rank_text(w, ", ", rank, sizeof(rank));
    fprintf(f, "{\"weight\": \"%s\", \"shape\": [%d, %d, %d, %d, %d], "
            "\"cores\": %d, \"chain\": \"%s\", \"ranks\": [%s]", w->name,
            w->shape[0], w->shape[1], w->shape[2], w->shape[3], w->shape[4],
            w->cores, w->chain, rank);
    json_number(f, "error", w->error);
    fprintf(f, ", \"parameters\": %" PRId64 ", \"parameters_after\": %" PRId64
            ", \"multiplications\": %" PRId64
            ", \"multiplications_after\": %" PRId64 ", \"kept\": %" PRId64
            ", \"bytes\": %" PRId64, w->params, w->params_after, w->macs,
            w->macs_after, w->kept, w->size);
    fprintf(f, ", \"stored_as\": \"%s\", \"note\": \"%s\"}", w->encoding,
            w->reason);
}

static void json_stored(FILE *f, const struct ctt_stored *s)
{
    fprintf(f, "{\"name\": \"%s\", \"positions\": \"%s\", \"values\": \"%s\", "
            "\"coding\": \"%s\", \"parameters\": %" PRId64 ", \"kept\": %"
            PRId64 ", \"bytes\": %" PRId64 "}", s->name, s->positions,
            s->values, s->bytes, s->params, s->kept, s->size);
}

static void json_all(FILE *f, const struct ctt_report *r)
{
    fprintf(f, "{\"observed\": [0.25, 0.5, 1],\n \"stages\": [");
    for (int i = 0; i < r->stages; i++) {
        fprintf(f, "%s\n  ", i ? "," : "");
        json_stage(f, &r->stage[i]);
    }
    fprintf(f, "],\n \"weights\": [");
    for (int i = 0; i < r->weights; i++) {
        fprintf(f, "%s\n  ", i ? "," : "");
        json_weight(f, &r->weight[i]);
    }
    fprintf(f, "],\n \"stored\": [");
    for (int i = 0; i < r->nstored; i++) {
        fprintf(f, "%s\n  ", i ? "," : "");
        json_stored(f, &r->stored[i]);
    }
    fprintf(f, "]}\n");
}

int ctt_report_json(const struct ctt_report *r, const char *path)
{
    size_t size = strlen(path) + 8;
    char *beside = ctt_calloc(size, 1);
    struct stat old;
    FILE *f = NULL;
    int rc = 0, bad;

    CTT_TRY(beside ? 0 : CTT_ENOMEM);
    CTT_CHECK(stat(path, &old) < 0 || S_ISREG(old.st_mode), CTT_EIO,
              "%s: not a regular file", path);
    snprintf(beside, size, "%s.part", path);
    f = fopen(beside, "w");
    CTT_CHECK(f, CTT_EIO, "%s: %s", path, strerror(errno));
    json_all(f, r);
    bad = ferror(f);
    bad |= fclose(f);
    bad = bad || rename(beside, path) != 0;
    if (bad) {
        rc = ctt_error(CTT_EIO, "%s: %s", path, strerror(errno));
        remove(beside);
    }
out:
    ctt_free(beside);
    return rc;
}
