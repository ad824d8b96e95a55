/* SPDX-License-Identifier: Apache-2.0
 * space.c: a search space: its file, and the conditions between its settings.
 */
#include "libtrain/search/search.h"
#include "base/newfile.h"
#include "base/visible.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 1 << 16 };    /* bytes of a file */

/* ---- conditions ---- */

/* "=" and the like between the name and the rest. */
static const struct { const char *word; int number, turned; } signs[] = {
    { "!=", 0, 1 }, { "=", 0, 0 }, { "<", 1, 0 }, { ">", 1, 1 },
};

static int find_setting(const struct ctt_space *s, const char *name, size_t n)
{
    for (int i = 0; i < s->count; i++)
        if (strlen(s->setting[i].opt->name) == n &&
            memcmp(s->setting[i].opt->name, name, n) == 0)
            return i;
    return -1;
}

/* Words of a condition, separated by |. */
static int read_among(const struct ctt_setting *of, const char *text,
                      uint32_t *among)
{
    int rc = 0;

    CTT_CHECK(of->kind == CTT_SETTING_CHOICE, CTT_EINVAL, "%s is a number: "
              "'<' or '>' compares it", of->opt->name);
    for (size_t n; ; text += n + 1) {
        int found = 0;

        n = strcspn(text, "|");
        for (int i = 0; i < of->choices; i++)
            if (strlen(of->choice[i]) == n &&
                memcmp(of->choice[i], text, n) == 0) {
                *among |= UINT32_C(1) << i;
                found = 1;
            }
        CTT_CHECK(found, CTT_EINVAL, "%s is never '%.*s'", of->opt->name,
                  (int)n, text);
        if (!text[n])
            break;
    }
out:
    return rc;
}

static int read_bound(const struct ctt_setting *of, const char *text,
                      double *bound)
{
    char *end;
    int rc = 0;

    CTT_CHECK(of->kind != CTT_SETTING_CHOICE, CTT_EINVAL, "%s has choices: "
              "'=' or '!=' compares them", of->opt->name);
    *bound = strtod(text, &end);
    CTT_CHECK(end != text && !*end && *bound > of->low && *bound < of->high,
              CTT_EINVAL, "'%s' is no number between %s and %s, where %s "
              "varies", text, of->words[0], of->words[1], of->opt->name);
out:
    return rc;
}

static int read_when(const struct ctt_space *s, struct ctt_setting *k)
{
    const char *text = k->when_text;
    size_t n = strcspn(text, "!=<>"), i = 0;
    const struct ctt_setting *of;
    int at, rc = 0;

    while (i < CTT_LEN(signs) &&
           strncmp(text + n, signs[i].word, strlen(signs[i].word)) != 0)
        i++;
    CTT_CHECK(i < CTT_LEN(signs), CTT_EINVAL, "'%s' is no condition: "
              "NAME=VALUE, NAME!=VALUE, NAME<NUMBER or NAME>NUMBER", text);
    at = find_setting(s, text, n);
    CTT_CHECK(at >= 0, CTT_EINVAL, "if '%.*s': nothing here sets it", (int)n,
              text);
    of = &s->setting[at];
    text += n + strlen(signs[i].word);
    if (signs[i].number) {
        CTT_TRY(read_bound(of, text, &k->when.bound));
        k->when.more = signs[i].turned;
    } else {
        uint32_t all;

        CTT_TRY(read_among(of, text, &k->when.among));    /* has choices */
        all = UINT32_MAX >> (32 - of->choices);
        if (signs[i].turned)
            k->when.among ^= all;
        CTT_CHECK(k->when.among && k->when.among != all, CTT_EINVAL, "'%s' "
                  "holds %s", k->when_text, k->when.among ? "always" : "never");
    }
    k->when.of = at;
out:
    return rc;
}

/* A chain of conditions is no longer than the list unless it is a circle. */
static int check_circle(const struct ctt_space *s, int i)
{
    int at = s->setting[i].when.of, rc = 0;

    for (int n = 0; at >= 0; n++, at = s->setting[at].when.of)
        CTT_CHECK(at != i && n < s->count, CTT_EINVAL, "%s depends on itself, "
                  "by %s", s->setting[i].opt->name, s->setting[i].when_text);
out:
    return rc;
}

static int read_conditions(struct ctt_space *s)
{
    int rc = 0, i = 0;

    for (; i < s->count; i++)
        if (s->setting[i].when_text)
            CTT_TRY(read_when(s, &s->setting[i]));
    for (i = 0; i < s->count; i++)
        CTT_TRY(check_circle(s, i));
out:
    return rc < 0 ? ctt_error(rc, "%s:%d: %s", s->path, s->setting[i].line,
                              ctt_errmsg()) : 0;
}

/* ---- the file ---- */

void ctt_space_free(struct ctt_space **s)
{
    if (*s)
        ctt_free((*s)->text);
    ctt_free(*s);
    *s = NULL;
}

static int read_lines(struct ctt_space *s)
{
    int rc = 0, line = 1;

    for (char *p = s->text, *end; p; p = end, line++) {
        end = strchr(p, '\n');
        if (end)
            *end++ = '\0';
        CTT_TRY(ctt_space_line(s, p, line));
    }
    CTT_CHECK(s->count, CTT_EINVAL, "%s: lists no setting", s->path);
    CTT_TRY(read_conditions(s));
out:
    return rc;
}

int ctt_space_parse(const char *path, const char *text, size_t n,
                    struct ctt_space **out)
{
    struct ctt_space *s = ctt_calloc(1, sizeof(*s));
    size_t mark = ctt_mark_utf8(text, n);
    int rc = s ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    s->path = path;
    CTT_CHECK(n < MOST && !memchr(text, '\0', n), CTT_EINVAL,
              "%s: is no text of a search space", path);
    s->text = ctt_calloc(n + 1, 1);
    CTT_TRY(s->text ? 0 : CTT_ENOMEM);
    memcpy(s->text, text + mark, n - mark);
    CTT_TRY(read_lines(s));
    *out = s;
    s = NULL;
out:
    ctt_space_free(&s);
    return rc;
}

int ctt_space_read(const char *path, struct ctt_space **out)
{
    char *text = NULL;
    int64_t size;
    int rc;

    CTT_TRY(ctt_file_text(path, MOST, &text, &size));
    CTT_TRY(ctt_space_parse(path, text, (size_t)size, out));
out:
    ctt_free(text);
    return rc;
}
