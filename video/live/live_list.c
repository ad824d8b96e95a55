/* SPDX-License-Identifier: Apache-2.0
 * live_list.c: lists of live sources. */
#include "video/live/live.h"
#include "base/newfile.h"
#include "video/disk.h"

#include <string.h>

enum { LIST_LIMIT = 1 << 24 };    /* bytes */

/* The sign between name and source, with a blank or nothing around it: paths
 * and addresses have others. */
static char *find_sign(char *s)
{
    for (char *p = strchr(s, '='); p; p = strchr(p + 1, '='))
        if ((p == s || strchr(" \t", p[-1])) && (!p[1] || strchr(" \t", p[1])))
            return p;
    return NULL;
}

static int is_input(const char *source)
{
    return strcmp(source, "-") == 0;
}

static int is_standard(const char *path)
{
    return is_input(path) || strcmp(path, "/dev/stdin") == 0;
}

/* Takes over both strings, NULL is one without memory. */
static int add_source(struct ctt_live_list *s, char *name, char *source,
                      int line)
{
    struct ctt_live_item *more = NULL;

    if (name && source)
        more = ctt_grown(s->item, &s->room, s->count, sizeof(*more));
    if (!more) {
        ctt_free(name);
        ctt_free(source);
        return CTT_ENOMEM;
    }
    s->item = more;
    s->item[s->count++] = (struct ctt_live_item){ name, source, line };
    return 0;
}

/* The last one is no other one. */
static int check_last(const struct ctt_live_list *s)
{
    const struct ctt_live_item *n = &s->item[s->count - 1], *o;
    int rc = 0;

    for (o = s->item; o < n; o++) {
        CTT_CHECK(!is_input(n->source) || !is_input(o->source), CTT_EINVAL,
                  "%s:%d: standard input is given twice, line %d has it, too",
                  s->path, n->line, o->line);
        CTT_CHECK(strcmp(n->name, o->name) != 0, CTT_EINVAL, "%s:%d: '%s' is "
                  "the name of line %d, too: write NAME = SOURCE", s->path,
                  n->line, n->name, o->line);
    }
out:
    return rc;
}

/* name NULL: the source has no name of its own. */
static int add_stated(struct ctt_live_list *s, const char *dir,
                      const char *name, const char *text, int line)
{
    int whole = is_input(text) || ctt_live_is_address(text), rc = 0;
    char shown[CTT_LIVE_NAME], *source;

    CTT_CHECK(s->count < CTT_LIVE_SOURCES, CTT_EINVAL, "%s:%d: a list has at "
              "most %d streams", s->path, line, CTT_LIVE_SOURCES);
    CTT_CHECK(*text && (!name || *name), CTT_EINVAL, "%s:%d: NAME = SOURCE "
              "without a %s", s->path, line, *text ? "name" : "source");
    CTT_CHECK(!name || strlen(name) < CTT_LIVE_NAME, CTT_EINVAL, "%s:%d: a "
              "name of over %d bytes", s->path, line, CTT_LIVE_NAME - 1);
    CTT_CHECK(whole || !strstr(text, "://"), CTT_EINVAL, "%s:%d: an address "
              "begins with its scheme; a name before it needs blanks around "
              "the sign: NAME = SOURCE", s->path, line);
    CTT_CHECK(!is_input(text) || !is_standard(s->path), CTT_EINVAL, "%s:%d: "
              "standard input is the list", s->path, line);
    source = ctt_path_join(whole ? "" : dir, text);
    if (!name && source)
        name = ctt_live_name(source, shown, sizeof(shown));
    CTT_TRY(add_source(s, name ? ctt_strdup(name) : NULL, source, line));
    CTT_TRY(check_last(s));
out:
    return rc;
}

static int take_line(struct ctt_live_list *s, const char *dir, char *text,
                     int line)
{
    char *sign = find_sign(text);

    if (!sign)
        return add_stated(s, dir, NULL, text, line);
    *sign = '\0';
    return add_stated(s, dir, ctt_text_trim(text), ctt_text_trim(sign + 1),
                      line);
}

int ctt_live_list_one(const char *source, struct ctt_live_list *out)
{
    char name[CTT_LIVE_NAME];
    int rc;

    *out = (struct ctt_live_list){ .path = NULL };
    CTT_TRY(add_source(out,
                       ctt_strdup(ctt_live_name(source, name, sizeof(name))),
                       ctt_strdup(source), 1));
out:
    return rc;
}

int ctt_live_list_read(const char *path, struct ctt_live_list *out)
{
    int here = ctt_stream_named(path) || !strchr(path, '/'), line = 0, rc;
    char *text = NULL, *at, *s, *dir = NULL;
    struct ctt_live_list list = { .path = path };
    size_t size;

    CTT_TRY(ctt_text_read(path, LIST_LIMIT, &text, &size));
    dir = here ? ctt_strdup("") : ctt_path_dir(path);
    CTT_TRY(dir ? 0 : CTT_ENOMEM);
    for (at = text; (s = ctt_text_line(&at, &line)) != NULL;)
        if (*s && *s != '#')
            CTT_TRY(take_line(&list, dir, s, line));
    CTT_CHECK(list.count > 0, CTT_EINVAL, "%s: a list without a stream", path);
    *out = list;
    list = (struct ctt_live_list){ .path = NULL };
out:
    ctt_live_list_free(&list);
    ctt_free(text);
    ctt_free(dir);
    return rc;
}

void ctt_live_list_free(struct ctt_live_list *s)
{
    for (int i = 0; i < s->count; i++) {
        ctt_free(s->item[i].name);
        ctt_free(s->item[i].source);
    }
    ctt_free(s->item);
    *s = (struct ctt_live_list){ .path = NULL };
}
