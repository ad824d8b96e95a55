/* SPDX-License-Identifier: Apache-2.0
 * report_json.c: a report as one JSON object. */
#include "base/statistics/statistics.h"
#include "compress/report.h"
#include "base/json.h"
#include "base/newfile.h"

#include <math.h>

static void put_three(struct ctt_json_out *o, const char *name,
                      const double a[CTT_ACCURACIES])
{
    if (isnan(a[0]))
        ctt_json_put_word(o, name, "null");
    else
        ctt_json_put_reals(o, name, 6, a, CTT_ACCURACIES);
}

static void put_intervals(struct ctt_json_out *o, const struct ctt_score *s)
{
    double x[2];

    ctt_json_begin(o, "top1_95", '[');
    for (int k = 0; k < CTT_ACCURACIES; k++) {
        ctt_wilson(s->top1[k], s->clips, x);
        ctt_json_put_reals(o, NULL, 6, x, 2);
    }
    ctt_json_finish(o, ']');
}

static void put_score(struct ctt_json_out *o, const struct ctt_report *r,
                      const struct ctt_score *s)
{
    put_three(o, r->several ? "map" : "top1", s->top1);
    if (isnan(s->top1[0]))
        return;
    ctt_json_put_int(o, "clips", s->clips);
    if (!r->several)
        put_intervals(o, s);
    ctt_json_put_int(o, "lost", s->lost);
    ctt_json_put_int(o, "won", s->won);
    ctt_json_put_real(o, "mcnemar_p", 6, ctt_mcnemar(s->lost, s->won));
}

static void put_stage(struct ctt_json_out *o, const struct ctt_report *r,
                      const struct ctt_stage_row *s)
{
    ctt_json_put_text(o, "stage", s->name);
    ctt_json_put_int(o, "bytes", s->bytes);
    ctt_json_put_int(o, "parameters", s->params);
    ctt_json_put_int(o, "multiplications_a_frame", s->macs);
    ctt_json_put_int(o, "multiplications_not_pruned", s->live_macs);
    ctt_json_put_int(o, "multiplications_an_answer", s->clip_macs);
    ctt_json_put_real(o, "pruned", 9, s->pruned);
    ctt_json_put_real(o, "pruned_of_prunable", 9, s->prunable);
    put_three(o, r->several ? "map_before_retraining"
                            : "top1_before_retraining", s->before);
    put_score(o, r, &s->after);
    ctt_json_put_int(o, "ram_bytes", s->ram);
    ctt_json_put_real(o, "ms_a_frame", 9, s->busy ? NAN : s->ms);
    ctt_json_put_real(o, "faster", 9, s->busy ? NAN : s->faster);
}

static void put_entropy(struct ctt_json_out *o, const struct ctt_weight_row *w)
{
    const struct ctt_entropy *e = &w->entropy;
    double kept = w->kept ? (double)w->kept : NAN;
    double bits = e->value_bits + e->gap_bits, stored = 8 * (double)w->size;

    ctt_json_put_int(o, "values", e->values);
    ctt_json_put_real(o, "bits_a_weight", 9, stored / kept);
    ctt_json_put_real(o, "entropy_bits_a_value", 9, e->value_bits / kept);
    ctt_json_put_real(o, "entropy_bits_a_gap", 9, e->gap_bits / kept);
    ctt_json_put_real(o, "entropy_bytes", 9, bits / 8);
    ctt_json_put_real(o, "over_entropy", 9, bits > 0 ? stored / bits : NAN);
}

static void put_ints(struct ctt_json_out *o, const char *name, const int *x,
                     int n)
{
    ctt_json_begin(o, name, '[');
    for (int i = 0; i < n; i++)
        ctt_json_put_int(o, NULL, x[i]);
    ctt_json_finish(o, ']');
}

static void put_weight(struct ctt_json_out *o, const struct ctt_weight_row *w)
{
    ctt_json_put_text(o, "weight", w->name);
    put_ints(o, "shape", w->shape, 5);
    ctt_json_put_int(o, "cores", w->cores);
    ctt_json_put_text(o, "chain", w->chain);
    put_ints(o, "ranks", w->rank, w->cores - 1);
    ctt_json_put_real(o, "error", 9, w->error);
    ctt_json_put_text(o, "error_of", w->fitted ? "responses" : "weight");
    ctt_json_put_int(o, "parameters", w->params);
    ctt_json_put_int(o, "parameters_after", w->params_after);
    ctt_json_put_int(o, "multiplications", w->macs);
    ctt_json_put_int(o, "multiplications_after", w->macs_after);
    ctt_json_put_int(o, "kept", w->kept);
    ctt_json_put_int(o, "bytes", w->size);
    put_entropy(o, w);
    ctt_json_put_text(o, "stored_as", w->encoding);
    ctt_json_put_text(o, "note", w->reason);
}

static void put_stored(struct ctt_json_out *o, const struct ctt_stored *s)
{
    ctt_json_put_text(o, "name", s->name);
    ctt_json_put_text(o, "positions", s->positions);
    ctt_json_put_text(o, "values", s->values);
    ctt_json_put_text(o, "coding", s->bytes);
    ctt_json_put_int(o, "parameters", s->params);
    ctt_json_put_int(o, "kept", s->kept);
    ctt_json_put_int(o, "bytes", s->size);
}

static void put_blame(struct ctt_json_out *o, const struct ctt_blame *b)
{
    ctt_json_put_text(o, "conv", b->name);
    ctt_json_put_real(o, b->frames ? "frames_db" : "kl_nats", 9, b->answer);
    ctt_json_put_real(o, "sqnr_alone_db", 9, b->alone);
    ctt_json_put_real(o, "sqnr_behind_db", 9, b->behind);
    ctt_json_put_text(o, "in_floats", b->stays);
}

static void put_choice(struct ctt_json_out *o, const struct ctt_report *r,
                       const struct ctt_choice *c)
{
    ctt_json_put_text(o, "of", c->of);
    ctt_json_put_text(o, "candidate", c->name);
    ctt_json_put_word(o, "chosen", ctt_report_is_chosen(c) ? "true" : "false");
    ctt_json_put_text(o, "given_up", c->given_up);
    ctt_json_put_real(o, "bytes", 9, c->bytes ? (double)c->bytes : NAN);
    ctt_json_put_real(o, "ms_a_frame", 9, c->busy ? NAN : c->ms);
    ctt_json_put_real(o, "faster", 9, c->busy ? NAN : ctt_report_gain(r, c));
    ctt_json_put_real(o, "top1_lost", 9, c->lost);
}

static void put_clips(struct ctt_json_out *o, const struct ctt_clips *s)
{
    ctt_json_put_text(o, "used_for", s->used_for);
    ctt_json_put_text(o, "path", s->path);
    ctt_json_put_text(o, "split", s->split);
    ctt_json_put_int(o, "clips", s->clips);
}

static void put_proof(struct ctt_json_out *o, const struct ctt_report *r,
                      const char *name, const struct ctt_score *s)
{
    ctt_json_put_text(o, "model", name);
    put_score(o, r, s);
}

/* Lists, each in a line of its own, with a row a line. */
static void begin_list(struct ctt_json_out *o, const char *name)
{
    fputs(",\n ", o->f);
    o->more = 0;
    ctt_json_begin(o, name, '[');
}

#define LIST(o, name, count, put) do {                  \
        begin_list(o, name);                            \
        for (int i = 0; i < (count); i++) {             \
            ctt_json_begin_row(o, "\n  ");              \
            put;                                        \
            ctt_json_finish(o, '}');                    \
        }                                               \
        ctt_json_finish(o, ']');                        \
    } while (0)

static int print_report(FILE *f, const void *report)
{
    static const char *const names[] = { "original", "compressed" };
    static const double observed[] = { 0.25, 0.5, 1 };
    const struct ctt_report *r = report;
    struct ctt_json_out o = { f, " ", 0 };
    int proofs = 0;

    while (proofs < 2 && !isnan(r->proof[proofs].top1[0]))
        proofs++;
    ctt_json_begin(&o, NULL, '{');
    ctt_json_put_reals(&o, "observed", 3, observed, 3);
    LIST(&o, "stages", r->stages, put_stage(&o, r, &r->stage[i]));
    LIST(&o, "weights", r->weights, put_weight(&o, &r->weight[i]));
    LIST(&o, "stored", r->nstored, put_stored(&o, &r->stored[i]));
    if (r->blames)
        LIST(&o, "int8", r->blames, put_blame(&o, &r->blame[i]));
    LIST(&o, "choices", r->choices, put_choice(&o, r, &r->choice[i]));
    LIST(&o, "clips", r->sets, put_clips(&o, &r->clips[i]));
    LIST(&o, "proof", proofs, put_proof(&o, r, names[i], &r->proof[i]));
    ctt_json_finish(&o, '}');
    fputc('\n', f);
    return 0;
}

int ctt_report_json(const struct ctt_report *r, const char *path)
{
    return ctt_file_print(path, print_report, r);
}
