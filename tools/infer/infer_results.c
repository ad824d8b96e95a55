/* SPDX-License-Identifier: Apache-2.0
 * infer_results.c: results of all clips, printed and as files. */
#include "tools/infer/infer_tool.h"
#include "tools/shared/tool.h"

#include <strings.h>

/* Returns 1 for a split that usually chooses the epoch of a training. */
static int chooses(const char *split)
{
    return split && (strncasecmp(split, "val", 3) == 0 ||
                     strcasecmp(split, "dev") == 0);
}

static int say_calibration(struct ctt_recogniser *r)
{
    int rc;

    CTT_TRY(ctt_calibrator_finish(r->calibrator, r->label, r->set->json));
    if (chooses(r->set->split))
        ctt_tool_warn("--split %s: if these clips chose the epoch of the "
                      "model, the guarantee does not hold", r->set->split);
out:
    return rc;
}

/* Accuracy and wrong clips, printed and as files. */
static int say_judged(struct ctt_recogniser *r)
{
    int clips = r->accuracy[r->ratios - 1].clips, rc;

    CTT_TRY(ctt_say_accuracy(r->accuracy, r->ratios, r->classes, r->set->json));
    if (!r->set->json)
        CTT_TRY(ctt_judged_say(&r->judged, r->label, clips));
    CTT_CHECK(clips || !r->set->wrong, CTT_EINVAL,
              "--wrong: no clip has a class of the model");
    if (r->set->wrong)
        CTT_TRY(ctt_judged_write(&r->judged, r->label, r->set->wrong));
    ctt_infer_report_write(r);
out:
    return rc;
}

/* Of clips with several labels. */
static int say_several(struct ctt_recogniser *r, const char *model)
{
    double map[CTT_RECOGNISE_RATIOS];
    int rc;

    if (r->set->decide.calibrate)
        return ctt_calibrate_classes(&r->kept, model, r->label,
                                     r->set->json);
    CTT_TRY(ctt_kept_map(&r->kept, map));
    CTT_TRY(ctt_say_precision(r->accuracy, map, r->ratios, r->set->json));
    r->report.map = map;
    ctt_infer_report_write(r);
out:
    return rc;
}

int ctt_recognise_say(struct ctt_recogniser *r, const char *model)
{
    int rc;

    if (!r->threshold)
        CTT_TRY(ctt_renamed_tell(r->classes, r->renamed, r->label));
    if (r->threshold)
        CTT_TRY(say_several(r, model));
    else if (r->calibrator)
        CTT_TRY(say_calibration(r));
    else if (r->set->decide.on) {
        CTT_TRY(ctt_decide_say(&r->decided, r->set->json));
        ctt_decide_report_write(r);
    }
    else
        CTT_TRY(say_judged(r));
out:
    return rc;
}
