/* SPDX-License-Identifier: Apache-2.0
 * infer_stream.h: the settings of convtt-infer --stream and --streams. */
#ifndef CTT_INFER_STREAM_H
#define CTT_INFER_STREAM_H

#include "infer/infer.h"
#include "base/ctt.h"
#include "video/live/live.h"

enum ctt_reset_on { CTT_RESET_NEVER, CTT_RESET_CUT };
extern const char *const ctt_behind_words[], *const ctt_reset_words[];

struct ctt_stream_set {
    int         on, realtime, behind, reset_on, reconnects;
    const char *list;    /* of --streams, or NULL */
    const char *raw, *background, *events, *exec, *draw;
    double      timeout, reset_after, sliding;         /* seconds */
    double      enter, leave;                          /* leave 0: by enter */
    double      smooth, least, merge, stats, limit;    /* seconds */
};

/* 1 if one of the two options was given. */
int ctt_stream_is_on(const struct ctt_stream_set *s);

/* Fails for settings that contradict each other, and for another number of
 * sources than one, or with a list any.  path: the model and the sources. */
int ctt_stream_check(const struct ctt_stream_set *s, char **path, int paths);

/* The sources, the operand behind the model or those of the list; nothing if
 * neither option is given.  Fails for a list that is wrong, and for output
 * files that cannot be written or that are read. */
int ctt_stream_sources(const struct ctt_stream_set *s, char **path,
                       struct ctt_live_list *out);

/* The settings of events for a model; CTT_EINVAL if it does not have the class
 * --background. */
int ctt_stream_events(const struct ctt_stream_set *s,
                      const struct ctt_infer *m, struct ctt_events_set *out);

/* Returns rc; in its message, if that begins with the path, is the public name
 * of that instead (ctt_live_name()): an address may have been meant for a clip
 * or a model, and have a password. */
int ctt_stream_redact(const char *path, int rc);

#endif
