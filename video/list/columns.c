/* SPDX-License-Identifier: Apache-2.0
 * columns.c: the names of columns, by the words that strangers use for them. */
#include "video/list/rows.h"

#include <ctype.h>
#include <string.h>

enum { WORD = 64 };

const struct ctt_words ctt_words_usual = { .of = {
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
} };

/* How a column begins that names a time or frame, and what may follow. */
static const char *const times[] = { "start", "begin", "end", "stop", "tstart",
                                     "tend", "onset" };
static const char *const units[] = { "sec", "ms", "milli", "min", "time",
                                     "frame", "stamp", "idx", "index", "pos" };

/* The letters and digits of n bytes of a heading, as small letters. */
static void plain(const char *s, size_t n, char out[WORD])
{
    size_t k = 0;

    for (size_t i = 0; i < n && k + 1 < WORD; i++)
        if (isalnum((unsigned char)s[i]))
            out[k++] = (char)tolower((unsigned char)s[i]);
    out[k] = 0;
}

/* The column of that word, and the number of the word; -1: none. */
static int find_word(const struct ctt_words *w, const char *word, int *rank)
{
    for (int k = 0; k < CTT_COLUMNS; k++)
        for (*rank = 0; *rank < CTT_COLUMN_WORDS && w->of[k][*rank]; ++*rank)
            if (strcmp(w->of[k][*rank], word) == 0)
                return k;
    return -1;
}

int ctt_column_of(const struct ctt_words *words, const char *name, size_t n)
{
    char word[WORD];
    int rank;

    plain(name, n, word);
    return find_word(words, word, &rank);
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

void ctt_columns_init(struct ctt_columns *c, const struct ctt_words *words)
{
    *c = (struct ctt_columns){ .words = words };
    for (int k = 0; k < CTT_COLUMNS; k++) {
        c->place[k] = -1;
        c->rank[k] = CTT_COLUMN_WORDS;
    }
}

int ctt_columns_name(struct ctt_columns *c, const char *name, int place)
{
    char word[WORD];
    int k, rank;

    plain(name, strlen(name), word);
    k = find_word(c->words, word, &rank);
    if (k < 0 && is_time(word))
        c->other = name;
    if (k >= 0 && rank == c->rank[k])
        c->again[k] = name;
    if (k < 0 || rank >= c->rank[k])
        return -1;
    c->again[k] = NULL;
    c->rank[k] = rank;
    c->place[k] = place;
    c->name[k] = name;
    return k;
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
           strcmp(c->words->of[CTT_COLUMN_PATH][c->rank[CTT_COLUMN_PATH]],
                  "youtubeid") == 0;
}

int ctt_columns_check(const struct ctt_columns *c, const char *path, int line)
{
    const int *at = c->place;
    int rc = 0, one = -1;

    for (int k = 0; k < CTT_COLUMNS; k++)
        CTT_CHECK(!c->again[k], CTT_EFORMAT, "%s:%d: the columns '%s' and '%s' "
                  "have one name: leave one out", path, line, c->name[k],
                  c->again[k]);
    for (int k = CTT_COLUMN_START; k <= CTT_COLUMN_FRAME; k += 2) {
        if (at[k] >= 0 && at[k + 1] >= 0)
            goto out;
        one = at[k] >= 0 ? k : at[k + 1] >= 0 ? k + 1 : one;
    }
    CTT_CHECK(one < 0, CTT_EFORMAT, "%s:%d: the column '%s' has no other one "
              "that is its %s", path, line, c->name[one],
              one == CTT_COLUMN_START || one == CTT_COLUMN_FRAME ? "end" :
              "begin");
    CTT_CHECK(!c->other, CTT_EFORMAT, "%s:%d: the column '%s' is not known; "
              "times are called start and end (seconds), or start_frame and "
              "end_frame", path, line, c->other);
out:
    return rc;
}
