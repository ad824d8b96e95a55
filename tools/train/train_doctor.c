/* SPDX-License-Identifier: Apache-2.0
 * train_doctor.c: output of the checks of clips and settings.
 */
#include "tools/train/train_tool.h"
#include "libtrain/before.h"
#include "tools/shared/output.h"
#include "tools/shared/picture.h"
#include "tools/shared/tool.h"
#include "video/save.h"

enum { COLUMNS = 4, ROWS = 2 * CTT_CLIP_LOOKS / COLUMNS };

int ctt_doctor_glance(const struct ctt_model *m,
                      const struct ctt_train_cfg *cfg, struct ctt_data *train,
                      struct ctt_data *val)
{
    struct ctt_findings all;
    int rc;

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

/* A clip above itself as augmentation changes it, four clips in a row. */
static int write_sheet(const struct ctt_train_cfg *cfg,
                       const struct ctt_input *in, const struct ctt_data *d)
{
    size_t frame = (size_t)in->h * (size_t)in->w * (size_t)in->c;
    struct ctt_clip_look look[2] = { { 0 } };
    struct ctt_sheet s = { NULL };
    int rc;

    CTT_TRY(ctt_clip_looks(d, cfg, look));
    CTT_TRY(ctt_sheet_open(&s, in, COLUMNS, ROWS, in->c));
    ctt_sheet_clear(&s);
    for (int i = 0; i < look[0].clips; i++)
        for (int k = 0; k < 2; k++)
            ctt_sheet_put(&s, i % COLUMNS, 2 * (i / COLUMNS) + k,
                          look[k].frame + (size_t)i * frame);
    CTT_TRY(ctt_save_png(cfg->sheet, s.data, s.w, s.h, s.c));
    ctt_tool_say("%s written: %d clips, each above itself as augmentation "
                 "changes it", cfg->sheet, look[0].clips);
out:
    ctt_sheet_close(&s);
    ctt_clip_looks_free(look);
    return rc;
}

int ctt_doctor_table(const struct ctt_model *m,
                     const struct ctt_train_cfg *cfg, struct ctt_data *train,
                     struct ctt_data *val)
{
    const struct ctt_input *in =
        &m->g->node[ctt_graph_input(m->g)].attr.input;
    struct ctt_table t = { NULL, 0, 0, 0 };
    struct ctt_findings all;
    int rc;

    CTT_TRY(ctt_doctor(m, cfg, train, val, 1, &all));
    ctt_table_row(&t, "check\tlooks\tfound");
    for (int i = 0; i < all.count; i++)
        ctt_table_row(&t, "%s\t%s\t%s", all.row[i].check,
                      all.row[i].mends[0] ? "wrong" : "fine",
                      all.row[i].found);
    CTT_TRY(ctt_table_print(&t));
    for (int i = 0; i < all.count; i++)
        if (all.row[i].mends[0])
            ctt_tool_say("warning: %s: fix: %s", all.row[i].check,
                         all.row[i].mends);
    if (cfg->sheet)
        CTT_TRY(write_sheet(cfg, in, train));
    if (all.wrong)
        ctt_tool_say("%d of %d checks found a problem", all.wrong, all.count);
    else
        ctt_tool_say("%d checks: all fine", all.count);
    rc = all.wrong;
out:
    return rc;
}

int ctt_doctor_check(const struct ctt_train_cfg *cfg,
                     const struct ctt_input *in)
{
    int rc = 0;

    if (!cfg->sheet)
        goto out;
    CTT_CHECK(in->c != 2, CTT_EUNSUP, "%s: frames of two channels have no "
              "colour", cfg->sheet);
    CTT_CHECK(!ctt_sheet_too_large(in, COLUMNS, ROWS), CTT_EINVAL,
              "%s: picture too large", cfg->sheet);
    CTT_TRY(ctt_output_check(cfg->sheet, &ctt_output_picture));
out:
    return rc;
}
