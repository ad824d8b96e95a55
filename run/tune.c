/* SPDX-License-Identifier: Apache-2.0
 * tune.c: measures which kernels of a run are the fastest. */
#include "run/run.h"

/* Passes at most: every kernel of a call ends long before. */
enum { PASSES = 400 };

/* One pass over the values in memory, from the start of a clip. */
static int pass(struct ctt_run *r, int steps)
{
    int rc = 0;

    ctt_run_reset(r);
    CTT_TRY(ctt_run_make_room(r, steps));
    CTT_TRY(ctt_run_steps(r, steps));
    if (r->g->clip == r->g->count)
        goto out;
    r->ask[0] = (struct ctt_ask){ 0, r->cursor - 1 };
    CTT_TRY(ctt_run_clip(r, 1));
out:
    return rc;
}

int ctt_run_tune(struct ctt_run *r, int steps)
{
    int rc = 0, left;

    if (!ctt_dev_tune_begin(r->dev))
        return 0;
    ctt_dev_tuning(r->dev, CTT_TUNE_LOOK);
    CTT_TRY(pass(r, steps));
    left = ctt_dev_tuning(r->dev, CTT_TUNE_MEASURE);
    for (int i = 0; left && i < PASSES; i++) {
        CTT_TRY(pass(r, steps));
        left = ctt_dev_tuning(r->dev, CTT_TUNE_MEASURE);
    }
out:
    ctt_dev_tuning(r->dev, CTT_TUNE_USE);
    ctt_dev_tune_end(r->dev);
    ctt_run_reset(r);
    /* oneDNN, which was timed, has ended them; once chosen it does again. */
    return rc < 0 ? rc : ctt_dev_own_threads(r->dev);
}
