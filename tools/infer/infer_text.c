/* SPDX-License-Identifier: Apache-2.0
 * infer_text.c: the answers of a model of text: how well it foresees each
 * sentence, and what it expects next. */
#include "base/json.h"
#include "tools/infer/infer_tool.h"
#include "tools/shared/infer_rc.h"
#include "tools/shared/tool.h"
#include "video/text/text.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

int ctt_recognises_text(const struct ctt_recogniser *r)
{
    int ends = 0, unknown = 0;

    for (int i = 0; i < r->classes; i++) {
        ends |= strcmp(r->label[i], CTT_TEXT_EOS) == 0;
        unknown |= strcmp(r->label[i], CTT_TEXT_UNKNOWN) == 0;
    }
    return ends && unknown;
}

/* Sums over sentences: -log p of the symbols in nats, how many. */
struct text_sum { double nats; int64_t symbols, unknown; };

static void add_text(struct text_sum *to, const struct text_sum *s)
{
    to->nats += s->nats;
    to->symbols += s->symbols;
    to->unknown += s->unknown;
}

/* Runs the symbols of a sentence; r->probs are then those of the symbol behind
 * it. */
static int run_sentence(struct ctt_recogniser *r, const struct ctt_frames *f,
                        int last, struct text_sum *s)
{
    int rc = 0;

    for (int t = 0; t < f->count; t++) {
        const uint8_t *p = f->data + t * CTT_TEXT_BYTES_EACH;
        int next = t + 1 < f->count
                       ? ctt_text_symbol(p + CTT_TEXT_BYTES_EACH) : last;
        float x = (float)ctt_text_symbol(p);

        CTT_TRY(ctt_infer_rc(ctt_session_push_float(r->session, &x, 1)));
        CTT_TRY(ctt_infer_rc(ctt_session_read(r->session, r->probs)));
        s->nats -= log((double)fmaxf(r->probs[next], FLT_MIN));
        s->symbols++;
        s->unknown += strcmp(r->label[next], CTT_TEXT_UNKNOWN) == 0;
    }
out:
    return rc;
}

static void say_sentence(const struct ctt_recogniser *r, const char *id,
                         const struct text_sum *s)
{
    struct ctt_json_out o = { stdout, "", 0 };
    double perplexity = exp(s->nats / (double)s->symbols);

    ctt_top(r->probs, r->classes, r->order, r->set->top);
    if (!r->set->json) {
        printf("%-*s %4lld symbols, perplexity %8.2f, then:", r->width, id,
               (long long)s->symbols, perplexity);
        for (int k = 0; k < r->set->top; k++)
            printf("%s %s %.1f%%", k ? "," : "", r->label[r->order[k]],
                   100 * (double)r->probs[r->order[k]]);
        printf("\n");
        return;
    }
    ctt_json_begin(&o, NULL, '{');
    ctt_json_put_text(&o, "sentence", id);
    ctt_json_put_int(&o, "symbols", s->symbols);
    ctt_json_put_real(&o, "perplexity", 6, perplexity);
    ctt_json_begin(&o, "next", '{');
    for (int k = 0; k < r->set->top; k++)
        ctt_json_put_real(&o, r->label[r->order[k]], 4,
                          (double)r->probs[r->order[k]]);
    ctt_json_finish(&o, '}');
    ctt_json_finish(&o, '}');
    printf("\n");
}

/* Runs the sentences of an operand, each from a state of zeros unless they are
 * one text. */
static int run_text(struct ctt_recogniser *r, const char *path,
                    struct text_sum *all)
{
    const struct ctt_source_set set = { .label = r->label,
        .labels = r->classes, .vocab = r->classes };
    struct ctt_source *s = NULL;
    struct ctt_frames f = { 0 };
    const struct ctt_list *l;
    int rc;

    CTT_TRY(ctt_source_open(path, &set, &r->in, &s));
    l = ctt_source_list(s);
    for (int i = 0; i < l->count; i++)
        r->width = ctt_say_width(r->width, l->item[i].id);
    for (int i = 0; i < l->count; i++) {
        struct text_sum one = { 0, 0, 0 };

        CTT_TRY(ctt_source_frames(s, i, 0, 0, &f));
        if (i == 0 || !ctt_text_runs_on(path))
            ctt_session_reset(r->session);
        CTT_TRY(run_sentence(r, &f, l->item[i].label, &one));
        say_sentence(r, l->item[i].id, &one);
        add_text(all, &one);
        ctt_frames_free(&f);
    }
out:
    ctt_frames_free(&f);
    ctt_source_close(&s);
    return rc;
}

static void say_text(const struct ctt_recogniser *r, const struct text_sum *s)
{
    struct ctt_json_out o = { stdout, "", 0 };
    double loss = s->nats / (double)s->symbols;

    if (!r->set->json) {
        printf("\n%lld symbols, %lld unknown: perplexity %.2f, loss %.4f "
               "(%.3f bits a symbol)\n", (long long)s->symbols,
               (long long)s->unknown, exp(loss), loss, loss / log(2));
        return;
    }
    ctt_json_begin(&o, NULL, '{');
    ctt_json_put_int(&o, "symbols", s->symbols);
    ctt_json_put_int(&o, "unknown", s->unknown);
    ctt_json_put_real(&o, "perplexity", 6, exp(loss));
    ctt_json_put_real(&o, "loss", 6, loss);
    ctt_json_finish(&o, '}');
    printf("\n");
}

/* Refuses options of answers about clips. */
static int check_texts(const struct ctt_infer_set *c, char **path, int paths)
{
    int rc = 0;

    CTT_CHECK(!ctt_stream_is_on(&c->stream) && !c->decide.on && !c->every &&
              !c->decide.calibrate && !c->wrong && !c->report_html &&
              !c->observe, CTT_EINVAL, "this model predicts symbols of text: "
              "--stream, --streams, --every, --decide, --calibrate, --observe, "
              "--report-html and --wrong are for clips");
    for (int i = 0; i < paths; i++)
        CTT_CHECK(ctt_text_is(path[i]), CTT_EINVAL, "%s: this model predicts "
                  "symbols of text: pass " CTT_TEXT_BYTES "FILE or "
                  CTT_TEXT_WORDS "FILE, as in its training", path[i]);
out:
    return rc;
}

int ctt_recognise_texts(struct ctt_recogniser *r, char **path, int paths)
{
    struct text_sum all = { 0, 0, 0 };
    int rc;

    CTT_TRY(check_texts(r->set, path, paths));
    for (int i = 0; i < paths; i++)
        CTT_TRY(run_text(r, path[i], &all));
    say_text(r, &all);
    if (2 * all.unknown > all.symbols)
        ctt_tool_warn("most symbols are not in the model's vocabulary: is the "
                      "text of the kind (%s or %s) and language of its "
                      "training?", CTT_TEXT_BYTES, CTT_TEXT_WORDS);
out:
    return rc;
}
