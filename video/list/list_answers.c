/* SPDX-License-Identifier: Apache-2.0
 * list_answers.c: the classes of clips that a split of Something-Something V2
 * lists without them: test-answers.csv beside test.json, lines "id;class". */
#include "video/list/list.h"
#include "base/limits.h"
#include "video/disk.h"

#include <stdio.h>
#include <string.h>

enum { LIMIT = 1 << 28 };

/* NAME-answers.csv beside NAME.json, or NULL if there is none. */
static int find_answers(const char *split, char **out)
{
    size_t stem = strlen(split) - strlen(ctt_path_ending(split));
    size_t room = stem + sizeof("-answers.csv");
    char *path = ctt_calloc(room, 1);

    *out = NULL;
    if (!path)
        return CTT_ENOMEM;
    snprintf(path, room, "%.*s-answers.csv", (int)stem, split);
    if (ctt_disk_kind(path) == CTT_DISK_FILE)
        *out = path;
    else
        ctt_free(path);
    return 0;
}

/* The ids of a file, and the number of each one's class. */
struct answers {
    struct ctt_names id;
    int             *label;
    int              room;
};

static int add(struct answers *a, const char *id, int label)
{
    int rc = 0, *more = ctt_grown(a->label, &a->room, a->id.count,
                                  sizeof(*more));

    CTT_TRY(more ? 0 : CTT_ENOMEM);
    a->label = more;
    CTT_TRY(ctt_names_add(&a->id, id));
    a->label[rc] = label;
out:
    return rc;
}

static int read_answers(const struct ctt_listing *s, const char *path,
                        char *text, struct answers *a)
{
    int rc = 0, number = 0;

    for (char *line; (line = ctt_text_line(&text, &number)); ) {
        char *class = strchr(line, ';'), plain[CTT_CLASS_NAME];
        int label;
        if (*line == '\0')
            continue;
        CTT_CHECK(class, CTT_EFORMAT, "%s:%d: not 'id;class'", path, number);
        *class++ = '\0';
        ctt_list_plain(ctt_text_trim(class), plain);
        label = ctt_names_find(&s->names, plain);
        CTT_CHECK(label >= 0, CTT_EFORMAT, "%s:%d: the labels have no class "
                  "'%s'", path, number, class);
        CTT_TRY(add(a, ctt_text_trim(line), label));
    }
out:
    return rc;
}

int ctt_list_answers(struct ctt_listing *s, const char *split)
{
    struct answers a = { { 0 }, NULL, 0 };
    char *path = NULL, *text = NULL;
    size_t size;
    int rc;

    CTT_TRY(find_answers(split, &path));
    if (!path)
        goto out;
    CTT_TRY(ctt_text_read(path, LIMIT, &text, &size));
    CTT_TRY(read_answers(s, path, text, &a));
    for (int i = 0; i < s->list->count; i++) {
        struct ctt_item *item = &s->list->item[i];
        int k = item->label < 0 ? ctt_names_find(&a.id, item->path) : -1;
        if (k >= 0)
            item->label = a.label[k];
    }
    rc = 0;
out:
    ctt_names_clear(&a.id);
    ctt_free(a.label);
    ctt_free(path);
    ctt_free(text);
    return rc;
}
