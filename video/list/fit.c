/* SPDX-License-Identifier: Apache-2.0
 * fit.c: fits the classes of a list to those of a model and to a subset: by
 * their names or numbers. */
#include "video/list/list.h"
#include "video/disk.h"
#include "video/list/split.h"

#include <stdio.h>
#include <string.h>

enum { SUBSET_LIMIT = 1 << 22, NAME = 512 };

/* 1 if all names are numbers. */
static int are_numbers(const struct ctt_names *n)
{
    int value;

    for (int i = 0; i < n->count; i++)
        if (!ctt_text_number(n->name[i], &value))
            return 0;
    return 1;
}

void ctt_class_plain(const char *s, char *out, size_t room)
{
    size_t n = 0;

    for (; *s && n + 1 < room; s++)
        if (*s != '[' && *s != ']')
            out[n++] = *s;
    out[n] = 0;
}

/* The class that a line of the subset file names, or -1. */
static int subset_class(const struct ctt_listing *s, const char *word)
{
    int i = ctt_names_find(&s->names, word);
    char plain[NAME];

    if (i >= 0)
        return i;
    ctt_class_plain(word, plain, sizeof(plain));
    i = ctt_names_find(&s->names, plain);
    if (i < 0 && (!ctt_text_number(word, &i) || i >= s->names.count ||
                  are_numbers(&s->names)))
        i = -1;
    return i;
}

/* Adds the names of the classes in the subset file. */
static int read_subset(const struct ctt_listing *s, const char *subset,
                       struct ctt_names *keep)
{
    char *text = NULL, *at, *word;
    int rc = 0, line = 0, i;
    size_t size;

    rc = ctt_text_read(subset, SUBSET_LIMIT, &text, &size);
    CTT_TRY(ctt_clip_is_bad(rc) ? ctt_error(CTT_EINVAL, "%s", ctt_errmsg())
                                : rc);
    for (at = text; (word = ctt_text_line(&at, &line)) != NULL;) {
        if (*word == 0 || *word == '#')
            continue;
        i = subset_class(s, word);
        CTT_CHECK(i >= 0, CTT_EINVAL, "%s:%d: no class '%s' in %s", subset,
                  line, word, s->path);
        CTT_CHECK(ctt_names_find(keep, s->names.name[i]) < 0, CTT_EINVAL,
                  "%s:%d: class '%s' is listed twice", subset, line, word);
        CTT_TRY(ctt_names_add(keep, s->names.name[i]));
    }
    CTT_CHECK(keep->count > 0, CTT_EINVAL, "%s: no classes in it", subset);
    rc = 0;
out:
    ctt_free(text);
    return rc;
}

/* Adds class names; a repeated name is an error. */
static int take_known(char *const *known, int nknown, struct ctt_names *keep)
{
    int rc = 0;

    for (int i = 0; i < nknown; i++) {
        CTT_TRY(ctt_names_add(keep, known[i]));
        CTT_CHECK(rc == i, CTT_EINVAL, "class '%s' is listed twice",
                  known[i]);
    }
    rc = 0;
out:
    return rc;
}

/* The model's class for each class of the data, by the number that the data
 * gives it: the one of this name, or in this place; -1: none. */
static void match_numbers(const struct ctt_names *text,
                          const struct ctt_names *model, int *to)
{
    int named = are_numbers(model), numbers = are_numbers(text), number;
    char name[16];

    for (int i = 0; i < text->count; i++) {
        number = i;
        if (numbers)
            ctt_text_number(text->name[i], &number);
        snprintf(name, sizeof(name), "%d", number);
        to[i] = named ? ctt_names_find(model, name) :
                number < model->count ? number : -1;
    }
}

/* Whether the model lacks the name of a class that a clip has. */
static int lacks_a_name(const struct ctt_listing *s,
                        const struct ctt_names *model)
{
    for (int i = 0; i < s->list->count; i++) {
        int label = s->list->item[i].label;
        if (label >= 0 && ctt_names_find(model, s->names.name[label]) < 0)
            return 1;
    }
    return 0;
}

/* If the data or the model has only numbers, the data's numbers are those of
 * the model's classes: the data's classes get the model's names. */
static int adopt_numbers(struct ctt_listing *s, const struct ctt_names *model)
{
    const struct ctt_names *text = s->numbers.count ? &s->numbers : &s->names;
    int rc = 0, *to = NULL;

    if (!s->numeric || !lacks_a_name(s, model) ||
        !(are_numbers(&s->names) || are_numbers(model)))
        goto out;
    to = ctt_calloc((size_t)text->count + 1, sizeof(*to));
    CTT_TRY(to ? 0 : CTT_ENOMEM);
    match_numbers(text, model, to);
    for (int i = 0; i < s->list->count; i++) {
        int *label = &s->list->item[i].label, was = *label;

        *label = was < 0 ? was : to[was];
        CTT_CHECK(was < 0 || *label >= 0, CTT_EINVAL, "%s: class number %s is "
                  "none of the model's %d", s->path, text->name[was],
                  model->count);
    }
    ctt_names_clear(&s->names);
    for (int i = 0; i < model->count; i++)
        CTT_TRY(ctt_names_add(&s->names, model->name[i]));
    rc = 0;
out:
    ctt_free(to);
    return rc;
}

/* Gives clips the numbers of their classes in keep.  Those of other classes are
 * dropped if there is a subset; unlabelled clips stay. */
static int renumber(const struct ctt_listing *s, const struct ctt_names *keep,
                    int subset)
{
    struct ctt_list *l = s->list;
    int rc = 0, n = 0;

    for (int i = 0; i < l->count; i++) {
        struct ctt_item item = l->item[i];
        const char *name = item.label < 0 ? NULL : s->names.name[item.label];

        if (name)
            item.label = ctt_names_find(keep, name);
        CTT_CHECK(!name || item.label >= 0 || subset, CTT_EINVAL, "%s: class "
                  "'%s' is none of the model's %d classes", s->path, name,
                  keep->count);
        if (!name || item.label >= 0)
            l->item[n++] = item;
    }
    l->count = n;
out:
    return rc;
}

/* In training every class needs a clip. */
static int check_classes(const struct ctt_listing *s,
                         const struct ctt_names *keep)
{
    int labelled = 0, rc = 0;
    int *seen = ctt_calloc((size_t)keep->count + 1, sizeof(*seen));

    CTT_TRY(seen ? 0 : CTT_ENOMEM);
    for (int i = 0; i < s->list->count; i++) {
        if (s->list->item[i].label < 0)
            continue;
        seen[s->list->item[i].label] = 1;
        labelled = 1;
    }
    for (int i = 0; i < keep->count && labelled; i++)
        if (!seen[i])
            CTT_TRY(ctt_error(CTT_EFORMAT, "%s: no clip of class '%s'",
                              s->path, keep->name[i]));
out:
    ctt_free(seen);
    return rc;
}

/* Makes keep the list's labels. */
static int relabel(struct ctt_listing *s, const struct ctt_names *keep,
                   int known, int subset)
{
    struct ctt_list *l = s->list;
    int rc;

    l->all = l->count;
    l->all_labels = s->names.count;
    CTT_TRY(renumber(s, keep, subset));
    CTT_CHECK(l->count > 0, CTT_EINVAL, "%s: no clip of the requested "
              "classes", s->path);
    if (!known && ctt_split_number(s->split) == 0)
        CTT_TRY(check_classes(s, keep));
    CTT_TRY(ctt_list_labels(l, keep->name, keep->count));
out:
    return rc;
}

int ctt_listing_fit(struct ctt_listing *s, char *const *known, int nknown,
                    const char *subset)
{
    struct ctt_names keep = { 0 }, chosen = { 0 };
    int rc = 0;

    if (known) {
        CTT_TRY(take_known(known, nknown, &keep));
        CTT_TRY(adopt_numbers(s, &keep));
    }
    if (subset)
        CTT_TRY(read_subset(s, subset, &chosen));
    if (!known)
        CTT_TRY(take_known(subset ? chosen.name : s->names.name,
                           subset ? chosen.count : s->names.count, &keep));
    for (int i = 0; known && i < chosen.count; i++)
        CTT_CHECK(ctt_names_find(&keep, chosen.name[i]) >= 0, CTT_EINVAL,
                  "%s: the model was not trained with class '%s'", subset,
                  chosen.name[i]);
    CTT_TRY(relabel(s, &keep, known || nknown == CTT_LABELS_ANY,
                    subset != NULL));
out:
    ctt_names_clear(&keep);
    ctt_names_clear(&chosen);
    return rc;
}
