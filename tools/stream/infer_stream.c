/* SPDX-License-Identifier: Apache-2.0
 * infer_stream.c: the settings of convtt-infer --stream and --streams. */
#include "tools/stream/stream_tool.h"
#include "tools/shared/output.h"
#include "video/live/live.h"
#include "video/save.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

static const struct ctt_output_kind events_kind = {
    .name = "file of events", .begin = CTT_EVENT_LINE_BEGIN, .in_place = 1 };

const char *const ctt_behind_words[] = {
    [CTT_BEHIND_AUTO] = "auto", [CTT_BEHIND_DROP] = "drop",
    [CTT_BEHIND_WAIT] = "wait", [CTT_BEHIND_STRIDE] = "stride", NULL
};
const char *const ctt_reset_words[] = {
    [CTT_RESET_NEVER] = "never", [CTT_RESET_CUT] = "cut", NULL
};

/* The share of --threshold that --leave is unless it is given, and what
 * --threshold is then. */
#define LEAVE 0.8
#define ENTER 0.6

static double leave_of(const struct ctt_stream_set *s)
{
    return s->leave > 0 ? s->leave : LEAVE * s->enter;
}

/* None of the files that are written may be read. */
static int check_read(const struct ctt_stream_set *s, const char *path)
{
    const char *made[] = { s->events, s->draw };

    return ctt_tool_spares(made, (int)CTT_LEN(made),
                           strcmp(path, "-") == 0 ? "/dev/stdin" : path);
}

static int check_paths(const struct ctt_stream_set *s, const char *model,
                       const struct ctt_live_list *list)
{
    const char *made[] = { s->events, s->draw };
    int rc = 0;

    CTT_CHECK(!s->events || strcmp(s->events, "-") != 0, CTT_EINVAL, "--events "
              "is a file, not -: standard output has the events anyway");
    CTT_TRY(ctt_tool_apart(made, (int)CTT_LEN(made)));
    CTT_TRY(check_read(s, model));
    if (list->path)
        CTT_TRY(check_read(s, list->path));
    for (int i = 0; i < list->count; i++)
        CTT_TRY(check_read(s, list->item[i].source));
    CTT_TRY(ctt_output_check(s->events, &events_kind));
    if (s->draw) {
        CTT_CHECK(ctt_saver_can(s->draw), CTT_EINVAL, "--draw: %s: a video's "
                  "name ends in .mp4 or .webm, and FFmpeg must have an encoder "
                  "for it", s->draw);
        CTT_TRY(ctt_output_check(s->draw, &ctt_output_video));
    }
out:
    return rc;
}

int ctt_stream_is_on(const struct ctt_stream_set *s)
{
    return s->on || s->list;
}

int ctt_stream_check(const struct ctt_stream_set *s, char **path, int paths)
{
    char name[CTT_LIVE_NAME];
    int rc = 0;

    if (!ctt_stream_is_on(s))
        return 0;
    CTT_CHECK(!s->on || paths == 2, CTT_EINVAL, "--stream takes one source, "
              "not %d: %s", paths - 1,
              ctt_live_name(path[2], name, sizeof(name)));
    CTT_CHECK(!s->list || paths == 1, CTT_EINVAL, "--streams takes a model, "
              "and its sources from %s: %s", s->list,
              ctt_live_name(path[1], name, sizeof(name)));
    CTT_CHECK(leave_of(s) <= s->enter, CTT_EINVAL,
              "--leave=%g is above --threshold=%g", s->leave, s->enter);
out:
    return rc;
}

int ctt_stream_sources(const struct ctt_stream_set *s, char **path,
                       struct ctt_live_list *out)
{
    struct ctt_live_list list = { .path = NULL };
    int rc = 0;

    if (s->list)
        CTT_TRY(ctt_live_list_read(s->list, &list));
    else if (s->on)
        CTT_TRY(ctt_live_list_one(path[1], &list));
    CTT_TRY(check_paths(s, path[0], &list));
    *out = list;
    list = (struct ctt_live_list){ .path = NULL };
out:
    ctt_live_list_free(&list);
    return rc;
}

/* The number of a class by its name, in any case, or -1. */
static int class_of(const struct ctt_infer *m, const char *name)
{
    for (int i = 0; i < ctt_infer_classes(m); i++)
        if (strcasecmp(ctt_infer_class(m, i), name) == 0)
            return i;
    return -1;
}

/* 1 if thresholds of classes are not what all have without a calibration. */
static int is_calibrated(const float *threshold, int classes)
{
    for (int i = 0; threshold && i < classes; i++)
        if (threshold[i] != 0.5f)
            return 1;
    return 0;
}

int ctt_stream_events(const struct ctt_stream_set *s,
                      const struct ctt_infer *m, const float *threshold,
                      struct ctt_events_set *out)
{
    const char *name = s->background ? s->background : "background";
    int i = class_of(m, name), rc = 0;

    CTT_CHECK(i >= 0 || !s->background, CTT_EINVAL,
              "--background: the model has no class '%s' (convtt-info --all "
              "lists its classes)", s->background);
    *out = (struct ctt_events_set){ .classes = ctt_infer_classes(m),
        .background = i, .enter = s->enter, .leave = leave_of(s),
        .smooth = s->smooth, .least = s->least, .gap = s->merge,
        .enters = s->enter == ENTER && is_calibrated(threshold,
                  ctt_infer_classes(m)) ? threshold : NULL };
out:
    return rc;
}

int ctt_stream_redact(const char *path, int rc)
{
    size_t n = strlen(path);
    char name[CTT_LIVE_NAME], rest[CTT_LIVE_NAME];

    if (rc >= 0 || strncmp(ctt_errmsg(), path, n) != 0)
        return rc;
    snprintf(rest, sizeof(rest), "%s", ctt_errmsg() + n);
    return ctt_error(rc, "%s%s", ctt_live_name(path, name, sizeof(name)), rest);
}
