/* SPDX-License-Identifier: Apache-2.0
 * infer_decide.c: answers once per clip, as soon as the thresholds of the model
 * allow it. */
#include "tools/infer/infer_tool.h"
#include "base/visible.h"
#include "tools/shared/infer_rc.h"
#include "tools/shared/tool.h"
#include "tools/shared/measure.h"

#include <stdio.h>

enum { TEXT = 4096 };    /* bytes of a name as it is shown, at most */

const char *const ctt_promise_words[] = { "auto", "marginal", "conditional",
                                          NULL };

/* A clip as it runs. */
struct clip {
    const struct ctt_item   *item;
    const struct ctt_frames *f;
    int                      seen;     /* frames */
    double                   ms;       /* computing time so far */
    struct ctt_infer_decision made;
};

static double share(const struct clip *c)
{
    return (double)c->made.frame / c->f->count;
}

/* A threshold that the last frame meets saves nothing. */
static int before_end(const struct clip *c)
{
    return c->made.early && c->made.frame < c->f->count;
}

/* ---- output ---- */

static void json_clip(const struct ctt_recogniser *r, const struct clip *c)
{
    printf("{\"file\":");
    ctt_json_put(stdout, c->item->path);
    printf(",\"frame\":%d,\"frames\":%d,\"seen\":%.4f,\"early\":%s",
           (int)c->made.frame, c->f->count, share(c),
           before_end(c) ? "true" : "false");
    if (c->f->fps > 0)
        printf(",\"seconds\":%.3f", (double)c->made.frame / (double)c->f->fps);
    if (ctt_recognise_label(r, c->item) >= 0) {
        printf(",\"label\":");
        ctt_json_put(stdout, r->label[c->item->label]);
    }
    printf(",\"class\":");
    ctt_json_put(stdout, r->label[c->made.answer]);
    printf(",\"confidence\":%.6f,\"ms\":%.3f}\n", (double)c->made.confidence,
           c->ms);
}

static void plain_clip(const struct ctt_recogniser *r, const struct clip *c)
{
    char text[TEXT];

    printf("%-*s %4d/%-4d", r->width,
           ctt_visible(c->item->id, 0, text, sizeof(text)),
           (int)c->made.frame, c->f->count);
    if (c->f->fps > 0)
        printf(" %6.2f s", (double)c->made.frame / (double)c->f->fps);
    printf("  %-5s  %5.1f%% %s\n", before_end(c) ? "early" : "end",
           100 * (double)c->made.confidence,
           ctt_visible(r->label[c->made.answer], 0, text, sizeof(text)));
}

static void say_clip(const struct ctt_recogniser *r, const struct clip *c)
{
    (r->set->json ? json_clip : plain_clip)(r, c);
    fflush(stdout);
}

static double fraction_of(int of, int n)
{
    return n ? (double)of / n : 0;
}

static void json_sums(const struct ctt_decide_sums *s)
{
    printf("{\"decided\":{\"clips\":%d,\"early\":%d,\"seen\":%.4f,"
           "\"saved\":%.4f", s->clips, s->early, s->seen / s->clips,
           1 - s->seen / s->clips);
    if (s->known)
        printf(",\"known\":%d,\"top1\":%.4f,\"top1_end\":%.4f,\"lost\":%.4f,"
               "\"won\":%.4f", s->known, fraction_of(s->right, s->known),
               fraction_of(s->right + s->lost - s->won, s->known),
               fraction_of(s->lost, s->known), fraction_of(s->won, s->known));
    printf("}}\n");
}

int ctt_decide_say(const struct ctt_decide_sums *s, int json)
{
    struct ctt_table t = { NULL };

    if (!s->clips)
        return 0;
    if (json) {
        json_sums(s);
        return 0;
    }
    ctt_table_row(&t, "%s", s->known ? "clips\tearly\tframes seen\tsaved\t"
                  "known\ttop-1\tat the end\tlost\twon" :
                  "clips\tearly\tframes seen\tsaved");
    if (s->known)
        ctt_table_row(&t, "%d\t%d\t%.1f%%\t%.1f%%\t%d\t%.1f%%\t%.1f%%\t%.1f%%"
                      "\t%.1f%%", s->clips, s->early,
                      100 * s->seen / s->clips,
                      100 - 100 * s->seen / s->clips, s->known,
                      100 * fraction_of(s->right, s->known),
                      100 * fraction_of(s->right + s->lost - s->won, s->known),
                      100 * fraction_of(s->lost, s->known),
                      100 * fraction_of(s->won, s->known));
    else
        ctt_table_row(&t, "%d\t%d\t%.1f%%\t%.1f%%", s->clips, s->early,
                      100 * s->seen / s->clips,
                      100 - 100 * s->seen / s->clips);
    ctt_tool_say("\nearly: clips decided before their end; saved: frames that "
                 "need not be seen%s", s->known ? "; known: clips whose class "
                 "is known; lost: wrong early, right at the end; won: the "
                 "reverse" : "");
    return ctt_table_print(&t);
}

/* ---- clips ---- */

static int push_frames(struct ctt_recogniser *r, struct clip *c, int frames)
{
    const struct ctt_frames *f = c->f;
    size_t size = (size_t)f->w * (size_t)f->h * (size_t)f->c;
    int rc;

    CTT_TRY(ctt_recognise_push(r, f->data + (size_t)c->seen * size, frames,
                               &c->ms));
    c->seen += frames;
out:
    return rc;
}

/* Frame by frame, as from a camera. */
static int run_until_sure(struct ctt_recogniser *r, struct clip *c)
{
    int rc = 0;

    while (c->seen < c->f->count) {
        CTT_TRY(push_frames(r, c, 1));
        CTT_TRY(ctt_infer_rc(ctt_session_decided(r->session, &c->made)));
        if (rc)
            goto out;
    }
    CTT_TRY(ctt_infer_rc(ctt_session_end(r->session)));
    CTT_TRY(ctt_infer_rc(ctt_session_decided(r->session, &c->made)));
out:
    return rc;
}

/* The answer for the whole clip. */
static int run_to_end(struct ctt_recogniser *r, struct clip *c, int *answer)
{
    int rc = 0, left;

    while ((left = c->f->count - c->seen) > 0)
        CTT_TRY(push_frames(r, c, r->set->time ? 1 :
                            left < CTT_RECOGNISE_BATCH ? left :
                            CTT_RECOGNISE_BATCH));
    CTT_TRY(ctt_infer_rc(ctt_session_read(r->session, r->probs)));
    ctt_top(r->probs, r->classes, answer, 1);
out:
    return rc;
}

static int compare_with_end(struct ctt_recogniser *r, struct clip *c, int label)
{
    struct ctt_decide_sums *s = &r->decided;
    int rc = 0, end = c->made.answer, early;

    if (c->made.early)
        CTT_TRY(run_to_end(r, c, &end));
    ctt_renamed_count(r->classes, r->renamed, label, end);
    early = c->made.answer == label;
    s->known++;
    s->right += early;
    s->lost += end == label && !early;
    s->won += end != label && early;
out:
    return rc;
}

int ctt_decide_clip(struct ctt_recogniser *r, const struct ctt_item *item,
                    const struct ctt_frames *f)
{
    struct clip c = { .item = item, .f = f };
    struct ctt_decide_sums *s = &r->decided;
    int label = ctt_recognise_label(r, item), tenth, rc = 0;

    CTT_TRY(run_until_sure(r, &c));
    say_clip(r, &c);
    s->clips++;
    s->early += before_end(&c);
    s->seen += share(&c);
    tenth = (int)(10 * share(&c) - 1e-9);
    s->at[tenth]++;
    s->right_at[tenth] += label >= 0 && c.made.answer == label;
    if (label >= 0)
        CTT_TRY(compare_with_end(r, &c, label));
out:
    return rc;
}
