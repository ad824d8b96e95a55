/* SPDX-License-Identifier: Apache-2.0
 * infer_live.h: convtt-infer --stream and --streams: sources that may never
 * end, and what a model sees in them. */
#ifndef CTT_INFER_LIVE_H
#define CTT_INFER_LIVE_H

#include "net/graph.h"
#include "tools/infer/infer_opt.h"
#include "video/live/live.h"

/* Pointers stay the caller's. */
struct ctt_live_with {
    const struct ctt_infer_set   *set;
    const struct ctt_infer       *m;
    struct ctt_session           *session;    /* of the first source, and others
                                                 have such, too; NULL: they are
                                                 a batch */
    const struct ctt_input       *in;
    char *const                  *label;      /* the model's classes */
    int                           classes;
    const struct ctt_live_list *sources;
};

/* Runs until all sources have ended or failed, or until the user stops it, and
 * prints the counts.  A source of a list that fails is named in a line, the
 * others go on, and at the end that is CTT_EIO.  CTT_EINVAL: an option or a
 * source's name is wrong. */
int ctt_live_run(const struct ctt_live_with *with);

#endif
