/* SPDX-License-Identifier: Apache-2.0
 * train_doctor.c: output of the checks of clips and settings.
 */
#include "tools/train/train_tool.h"
#include "libtrain/before.h"
#include "base/statistics/statistics.h"
#include "tools/report/page.h"
#include "tools/shared/tool.h"

enum { WIDE = 15 };    /* points, as of 40 clips */

int ctt_doctor_glance(const struct ctt_model *m,
                      const struct ctt_train_cfg *cfg, struct ctt_data *train,
                      struct ctt_data *val)
{
    struct ctt_findings all;
    int rc;

    if (cfg->task == CTT_NEXT)    /* it looks at frames */
        return 0;
    CTT_TRY(ctt_doctor(m, cfg, train, val, 0, &all));
    for (int i = 0; i < all.count; i++) {
        const struct ctt_finding *f = &all.row[i];
        if (f->mends[0])
            ctt_tool_say("warning: %s: %s; fix: %s", f->check,
                         f->found, f->mends);
        else if (f->show)
            ctt_tool_say("%s: %s", f->check, f->found);
    }
    if (all.wrong)
        ctt_tool_say("--doctor checks more than that");
out:
    return rc;
}

/* ---- the page ---- */

struct page {
    const struct ctt_train_cfg *cfg;
    const struct ctt_table     *checks;
    const struct ctt_findings  *all;
    const struct ctt_input     *in;
    const struct ctt_data      *clips;
};

/* A frame of a clip as it is, and as augmentation changes it: pair, room for
 * both. */
static int put_pair(FILE *f, const struct page *p,
                    const struct ctt_clip_look look[2], int i, uint8_t *pair)
{
    const struct ctt_input *in = p->in;
    size_t pixels = (size_t)in->h * (size_t)in->w, c = (size_t)in->c;
    int turned = in->colour == CTT_BGR && c == 3;

    for (size_t k = 0; k < 2 * pixels * c; k++) {
        size_t channel = k % c, from = k - channel;

        from = from % (pixels * c) + (turned ? 2 - channel : channel);
        pair[k] = look[k >= pixels * c].frame[(size_t)i * pixels * c + from];
    }
    return ctt_page_strip(f, &(struct ctt_page_clip){ p->cfg->report_html,
        look[0].name[i], NULL, pair, 2, in->w, in->h, in->c }, NULL);
}

static int put_clips(FILE *f, const struct page *p)
{
    struct ctt_clip_look look[2] = { { 0 } };
    uint8_t *pair = ctt_calloc((size_t)p->in->h * (size_t)p->in->w,
                               2 * (size_t)p->in->c);
    int rc;

    CTT_TRY(pair ? 0 : CTT_ENOMEM);
    CTT_TRY(ctt_clip_looks(p->clips, p->cfg, look));
    ctt_page_section(f, "Clips", "A frame of each, as it is and as "
                     "augmentation changes it.");
    for (int i = 0; i < look[0].clips; i++) {
        fprintf(f, "<figure>\n");
        CTT_TRY(put_pair(f, p, look, i, pair));
        fprintf(f, "</figure>\n");
    }
out:
    ctt_free(pair);
    ctt_clip_looks_free(look);
    return rc;
}

static int print_checks(FILE *f, const void *arg)
{
    const struct page *p = arg;
    int rc = 0;

    ctt_page_begin(f, "Checks before a training");
    ctt_page_table(f, "What was found", p->checks);
    for (int i = 0; i < p->all->count; i++)
        if (p->all->row[i].mends[0])
            ctt_page_section(f, p->all->row[i].check, p->all->row[i].mends);
    if (ctt_cfg_recognises(p->cfg) && p->in->c != 2)
        CTT_TRY(put_clips(f, p));
    ctt_page_end(f);
out:
    return rc;
}

/* The precision that an accuracy on the validation clips will have. */
static void say_interval(int clips)
{
    double range[2], wide;

    ctt_wilson(0.5, clips, range);
    wide = 50 * (range[1] - range[0]);
    ctt_tool_say("an accuracy on %d validation clip%s is known to within %.0f "
                 "points or better (95%%)%s", clips, ctt_s(clips), wide,
                 wide > WIDE ? ": with so few, --folds 5 tests on all" : "");
}

int ctt_doctor_table(const struct ctt_model *m,
                     const struct ctt_train_cfg *cfg, struct ctt_data *train,
                     struct ctt_data *val)
{
    struct ctt_table t = { NULL, 0, 0, 0 };
    struct ctt_findings all;
    int rc;

    CTT_TRY(ctt_doctor(m, cfg, train, val, 1, &all));
    ctt_table_row(&t, "check\tlooks\tfound");
    for (int i = 0; i < all.count; i++)
        ctt_table_row(&t, "%s\t%s\t%s", all.row[i].check,
                      all.row[i].mends[0] ? "wrong" : "fine",
                      all.row[i].found);
    ctt_page_write(cfg->report_html, print_checks, &(struct page){
        cfg, &t, &all, &m->g->node[ctt_graph_input(m->g)].attr.input, train });
    CTT_TRY(ctt_table_print(&t));
    for (int i = 0; i < all.count; i++)
        if (all.row[i].mends[0])
            ctt_tool_say("warning: %s: fix: %s", all.row[i].check,
                         all.row[i].mends);
    if (all.wrong)
        ctt_tool_say("%d of %d checks found a problem", all.wrong, all.count);
    else
        ctt_tool_say("%d checks: all fine", all.count);
    if (val && ctt_cfg_recognises(cfg))
        say_interval(ctt_data_clips(val));
    rc = all.wrong;
out:
    return rc;
}
