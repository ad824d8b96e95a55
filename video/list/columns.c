/* SPDX-License-Identifier: Apache-2.0
 * columns.c: lists whose columns have names, in any order. */
#include "video/list/columns.h"
#include "video/list/split.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { SPELLINGS = 24, WORD = 64 };

/* How columns are called, by their letters and digits: "Start (s)" is starts.
 */
static const char *const spelling[CTT_COLUMNS][SPELLINGS] = {
    [CTT_COLUMN_PATH] = { "path", "filepath", "file", "filename", "videopath",
        "videofile", "video", "videoname", "vidname", "vid", "clippath",
        "clip", "clipname", "videoid", "vidid", "clipid", "youtubeid",
        "folder", "imagepath", "image", "name", "id" },
    [CTT_COLUMN_LABEL] = { "labelname", "classname", "label", "labels",
        "class", "categoryname", "category", "actionname", "action",
        "activity", "gesture", "target", "labelid", "classid", "categoryid",
        "actionid" },
    [CTT_COLUMN_START] = { "start", "starts", "startsec", "startsecs",
        "startseconds", "starttime", "starttimes", "starttimesec",
        "timestart", "tstart", "begin", "begins", "beginsec", "beginseconds",
        "begintime", "tbegin", "from", "froms" },
    [CTT_COLUMN_END] = { "end", "ends", "endsec", "endsecs", "endseconds",
        "endtime", "endtimes", "endtimesec", "timeend", "tend", "stop",
        "stops", "stopsec", "stopseconds", "stoptime", "tstop", "to", "tos",
        "until" },
    [CTT_COLUMN_FRAME] = { "startframe", "framestart", "beginframe",
        "framebegin", "firstframe", "fromframe" },
    [CTT_COLUMN_FRAME_END] = { "endframe", "frameend", "stopframe",
        "framestop", "toframe" },
    [CTT_COLUMN_SPLIT] = { "split", "subset", "set", "partition" },
};

/* How a column begins that names a time or frame, and what may follow. */
static const char *const times[] = { "start", "begin", "end", "stop", "tstart",
                                     "tend", "onset" };
static const char *const units[] = { "sec", "ms", "milli", "min", "time",
                                     "frame", "stamp", "idx", "index", "pos" };

void ctt_columns_init(struct ctt_columns *c)
{
    for (int k = 0; k < CTT_COLUMNS; k++) {
        c->place[k] = -1;
        c->rank[k] = SPELLINGS;
    }
    c->other = -1;
}

/* The letters and digits of a heading, as small letters. */
static void plain(const char *s, char out[WORD])
{
    size_t n = 0;

    for (; *s && n + 1 < WORD; s++)
        if (isalnum((unsigned char)*s))
            out[n++] = (char)tolower((unsigned char)*s);
    out[n] = 0;
}

/* 1 if the word is known; a better one than before is taken. */
static int find(struct ctt_columns *c, const char *word, int place)
{
    for (int k = 0; k < CTT_COLUMNS; k++)
        for (int i = 0; i < SPELLINGS && spelling[k][i]; i++) {
            if (strcmp(spelling[k][i], word) != 0)
                continue;
            if (i < c->rank[k]) {
                c->rank[k] = i;
                c->place[k] = place;
            }
            return 1;
        }
    return 0;
}

/* 1 if the word is one of `times` alone or with a unit, "endms", and not
 * "endpoint". */
static int is_time(const char *word)
{
    for (size_t i = 0; i < CTT_LEN(times); i++) {
        size_t n = strlen(times[i]);

        if (strncmp(word, times[i], n) != 0)
            continue;
        if (strcmp(word + n, "") == 0 || strcmp(word + n, "s") == 0)
            return 1;
        for (size_t k = 0; k < CTT_LEN(units); k++)
            if (strncmp(word + n, units[k], strlen(units[k])) == 0)
                return 1;
    }
    return 0;
}

void ctt_columns_name(struct ctt_columns *c, const char *name, int place)
{
    char word[WORD];

    plain(name, word);
    if (find(c, word, place))
        return;
    if (is_time(word))
        c->other = place;
}

int ctt_columns_list(const struct ctt_columns *c)
{
    const int *at = c->place;

    return at[CTT_COLUMN_PATH] >= 0 &&
           (at[CTT_COLUMN_LABEL] >= 0 || at[CTT_COLUMN_START] >= 0 ||
            at[CTT_COLUMN_FRAME] >= 0);
}

int ctt_columns_are_ids(const struct ctt_columns *c)
{
    const int *at = c->place;

    return at[CTT_COLUMN_PATH] >= 0 && at[CTT_COLUMN_START] >= 0 &&
           at[CTT_COLUMN_END] >= 0 &&
           strcmp(spelling[CTT_COLUMN_PATH][c->rank[CTT_COLUMN_PATH]],
                  "youtubeid") == 0;
}

int ctt_columns_check(const struct ctt_columns *c, const char *path,
                      int number, char *const *name)
{
    const int *at = c->place;
    int rc = 0, one = -1;

    for (int k = CTT_COLUMN_START; k <= CTT_COLUMN_FRAME; k += 2) {
        if (at[k] >= 0 && at[k + 1] >= 0)
            goto out;
        one = at[k] >= 0 ? at[k] : at[k + 1] >= 0 ? at[k + 1] : one;
    }
    CTT_CHECK(one < 0, CTT_EFORMAT, "%s:%d: the column '%s' has no other one "
              "that is its %s", path, number, name[one],
              one == at[CTT_COLUMN_START] || one == at[CTT_COLUMN_FRAME] ?
              "end" : "begin");
    CTT_CHECK(c->other < 0, CTT_EFORMAT, "%s:%d: the column '%s' is not known; "
              "times are called start and end (seconds), or start_frame and "
              "end_frame", path, number, name[c->other]);
out:
    return rc;
}

static int is_given(const char *s)
{
    return s && *s;
}

int ctt_columns_add(struct ctt_lines *t, char *const value[CTT_COLUMNS],
                    int number)
{
    struct ctt_line *l = ctt_grown(t->line, &t->room, t->count, sizeof(*l));
    int rc = l ? 0 : CTT_ENOMEM, any = 0, frames;

    CTT_TRY(rc);
    t->line = l;
    for (int k = 0; k < CTT_COLUMNS; k++)
        any |= is_given(value[k]);
    if (!any)
        goto out;    /* as spreadsheets leave them behind */
    CTT_CHECK(is_given(value[CTT_COLUMN_PATH]), CTT_EFORMAT, "%s:%d: no path "
              "or id", t->path, number);
    l = &t->line[t->count++];
    *l = (struct ctt_line){ .path = value[CTT_COLUMN_PATH], .value = -1,
        .number = number, .label = value[CTT_COLUMN_LABEL],
        .split = value[CTT_COLUMN_SPLIT], .start = value[CTT_COLUMN_START],
        .end = value[CTT_COLUMN_END] };
    frames = is_given(value[CTT_COLUMN_FRAME]) +
             is_given(value[CTT_COLUMN_FRAME_END]);
    if (frames > is_given(l->start) + is_given(l->end)) {
        l->start = value[CTT_COLUMN_FRAME];
        l->end = value[CTT_COLUMN_FRAME_END];
        l->frames = 1;
    }
    if (!is_given(l->start) && !is_given(l->end))
        l->start = l->end = NULL;
out:
    return rc;
}

int ctt_columns_choose(struct ctt_lines *t, const char *split)
{
    int n = t->count, rc = 0, first = -1;

    t->count = ctt_split_rows(t->line, n, sizeof(*t->line),
                              offsetof(struct ctt_line, split), split);
    t->others = n - t->count;
    CTT_CHECK(t->count || !n, CTT_EINVAL, "%s: no clip of the split '%s'; the "
              "first is of '%s'", t->path, split, t->line[0].split);
    for (int i = 0; i < t->count; i++) {
        t->labelled |= is_given(t->line[i].label);
        if (first < 0 && !is_given(t->line[i].label))
            first = i;
    }
    CTT_CHECK(!t->labelled || first < 0, CTT_EFORMAT, "%s:%d: no label",
              t->path, t->line[first].number);
    for (int i = 0; i < t->count && !t->labelled; i++)
        t->line[i].label = NULL;
out:
    return rc;
}
