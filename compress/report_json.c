/* SPDX-License-Identifier: Apache-2.0
 * report_json.c: a report as one JSON object. */
#include "compress/report.h"
#include "base/wilson.h"
#include "base/newfile.h"
#include "base/visible.h"

#include <inttypes.h>
#include <math.h>

static void json_number(FILE *f, const char *name, double x)
{
    if (!isfinite(x))
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

static void json_score(FILE *f, const struct ctt_score *s)
{
    double x[2];

    json_three(f, "top1", s->top1);
    if (isnan(s->top1[0]))
        return;
    fprintf(f, ", \"clips\": %" PRId64 ", \"top1_95\": [", s->clips);
    for (int k = 0; k < CTT_ACCURACIES; k++) {
        ctt_wilson(s->top1[k], s->clips, x);
        fprintf(f, "%s[%.6g, %.6g]", k ? ", " : "", x[0], x[1]);
    }
    fprintf(f, "], \"lost\": %" PRId64 ", \"won\": %" PRId64
            ", \"mcnemar_p\": %.6g", s->lost, s->won,
            ctt_mcnemar(s->lost, s->won));
}

static void json_stage(FILE *f, const struct ctt_stage_row *s)
{
    fprintf(f, "{\"stage\": \"%s\", \"bytes\": %" PRId64
            ", \"parameters\": %" PRId64 ", \"multiplications_a_frame\": %"
            PRId64 ", \"multiplications_not_pruned\": %" PRId64
            ", \"multiplications_an_answer\": %" PRId64, s->name, s->bytes,
            s->params, s->macs, s->live_macs, s->clip_macs);
    json_number(f, "pruned", s->pruned);
    json_number(f, "pruned_of_prunable", s->prunable);
    json_three(f, "top1_before_retraining", s->before);
    json_score(f, &s->after);
    fprintf(f, ", \"ram_bytes\": %" PRId64, s->ram);
    json_number(f, "ms_a_frame", s->ms);
    json_number(f, "faster", s->faster);
    fprintf(f, "}");
}

static void json_entropy(FILE *f, const struct ctt_weight_row *w)
{
    const struct ctt_entropy *e = &w->entropy;
    double kept = w->kept ? (double)w->kept : NAN;
    double bits = e->value_bits + e->gap_bits;

    fprintf(f, ", \"values\": %" PRId64, e->values);
    json_number(f, "bits_a_weight", 8 * (double)w->size / kept);
    json_number(f, "entropy_bits_a_value", e->value_bits / kept);
    json_number(f, "entropy_bits_a_gap", e->gap_bits / kept);
    json_number(f, "entropy_bytes", bits / 8);
    json_number(f, "over_entropy", bits > 0 ? 8 * (double)w->size / bits : NAN);
}

static void json_weight(FILE *f, const struct ctt_weight_row *w)
{
    fprintf(f, "{\"weight\": \"%s\", \"shape\": [%d, %d, %d, %d, %d], "
            "\"cores\": %d, \"chain\": \"%s\", \"ranks\": [", w->name,
            w->shape[0], w->shape[1], w->shape[2], w->shape[3], w->shape[4],
            w->cores, w->chain);
    for (int k = 0; k < w->cores - 1; k++)
        fprintf(f, "%s%d", k ? ", " : "", w->rank[k]);
    fprintf(f, "]");
    json_number(f, "error", w->error);
    fprintf(f, ", \"error_of\": \"%s\"", w->fitted ? "responses" : "weight");
    fprintf(f, ", \"parameters\": %" PRId64 ", \"parameters_after\": %" PRId64
            ", \"multiplications\": %" PRId64
            ", \"multiplications_after\": %" PRId64 ", \"kept\": %" PRId64
            ", \"bytes\": %" PRId64, w->params, w->params_after, w->macs,
            w->macs_after, w->kept, w->size);
    json_entropy(f, w);
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

/* The list of blame, if there is one. */
static void json_blame(FILE *f, const struct ctt_report *r)
{
    for (int i = 0; i < r->blames; i++) {
        const struct ctt_blame *b = &r->blame[i];

        fprintf(f, "%s\n  {\"conv\": \"%s\"", i ? "," : "],\n \"int8\": [",
                b->name);
        json_number(f, b->frames ? "frames_db" : "kl_nats", b->answer);
        json_number(f, "sqnr_alone_db", b->alone);
        json_number(f, "sqnr_behind_db", b->behind);
        fprintf(f, ", \"in_floats\": \"%s\"}", b->stays);
    }
}

/* The caller ends the list before, and this one. */
static void json_choices(FILE *f, const struct ctt_report *r)
{
    fprintf(f, "],\n \"choices\": [");
    for (int i = 0; i < r->choices; i++) {
        const struct ctt_choice *c = &r->choice[i];

        fprintf(f, "%s\n  {\"of\": \"%s\", \"candidate\": \"%s\", "
                "\"chosen\": %s, \"given_up\": \"%s\"", i ? "," : "", c->of,
                c->name, ctt_report_is_chosen(c) ? "true" : "false",
                c->given_up);
        json_number(f, "bytes", c->bytes ? (double)c->bytes : NAN);
        json_number(f, "ms_a_frame", c->ms);
        json_number(f, "faster", ctt_report_gain(r, c));
        json_number(f, "top1_lost", c->lost);
        fprintf(f, "}");
    }
}

/* The clips, and the proof; the caller ends its list. */
static void json_clips(FILE *f, const struct ctt_report *r)
{
    static const char *const names[] = { "as given", "compressed" };

    fprintf(f, "],\n \"clips\": [");
    for (int i = 0; i < r->sets; i++) {
        const struct ctt_clips *s = &r->clips[i];
        fprintf(f, "%s\n  {\"used_for\": \"%s\", \"path\": ", i ? "," : "",
                s->used_for);
        ctt_json_put(f, s->path);
        fprintf(f, ", \"split\": ");
        ctt_json_put(f, s->split);
        fprintf(f, ", \"clips\": %" PRId64 "}", s->clips);
    }
    fprintf(f, "],\n \"proof\": [");
    for (int i = 0; i < 2 && !isnan(r->proof[i].top1[0]); i++) {
        fprintf(f, "%s\n  {\"model\": \"%s\"", i ? "," : "", names[i]);
        json_score(f, &r->proof[i]);
        fprintf(f, "}");
    }
}

static int json_all(FILE *f, const void *report)
{
    const struct ctt_report *r = report;

    fprintf(f, CTT_REPORT_BEGIN " [0.25, 0.5, 1],\n \"stages\": [");
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
    json_blame(f, r);
    json_choices(f, r);
    json_clips(f, r);
    fprintf(f, "]}\n");
    return 0;
}

int ctt_report_json(const struct ctt_report *r, const char *path)
{
    return ctt_file_print(path, json_all, r);
}
