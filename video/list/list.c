/* SPDX-License-Identifier: Apache-2.0
 * list.c: lists clips and labels: detects the layout, numbers the labels, and
 * applies a subset of classes. */
#include "video/list/list.h"
#include "base/newfile.h"
#include "video/disk.h"
#include "video/part.h"
#include "video/list/split.h"

#include <stdio.h>
#include <string.h>

enum { SUBSET_LIMIT = 1 << 22 };

/* The last resort: path itself is a clip. */
static int single_clip(struct ctt_listing *s)
{
    int rc;

    s->list->form = "a clip";
    CTT_TRY(ctt_listing_add(s, "", s->path, -1));
    rc = 1;
out:
    return rc;
}

/* The readers of layouts that a folder may have; the first that returns 1 has
 * read it. */
static int (*const folder_forms[])(struct ctt_listing *) = {
    ctt_list_pictures, ctt_list_something, ctt_list_activity, ctt_list_objects,
    ctt_list_kinetics, ctt_list_hmdb, ctt_list_ucf, ctt_list_class,
};

/* And of files. */
static int (*const file_forms[])(struct ctt_listing *) = {
    ctt_list_something, ctt_list_activity, ctt_list_objects, ctt_list_kinetics,
    ctt_list_hmdb, ctt_list_text, single_clip,
};

/* Whether the path is the part of a file or folder that is there. */
static int is_part(const char *path, int *yes)
{
    struct ctt_part p;
    char *file = NULL;
    int rc;

    CTT_TRY(ctt_part_of(path, &file, &p));
    *yes = strcmp(file, path) != 0 && ctt_disk_kind(file) != CTT_DISK_NONE;
out:
    ctt_free(file);
    return rc;
}

static int read_listing(struct ctt_listing *s)
{
    enum ctt_disk_kind kind = ctt_disk_kind(s->path);
    const char *special = ctt_disk_special(s->path);
    int folder = kind == CTT_DISK_FOLDER, part = 0, rc = 0;
    size_t n = folder ? CTT_LEN(folder_forms) : CTT_LEN(file_forms);

    if (ctt_stream_is(s->path)) {
        CTT_TRY(ctt_list_text(s));
        CTT_CHECK(s->list->count > 0, CTT_EINVAL, "%s: no clips in it",
                  s->path);
        goto out;
    }
    if (kind == CTT_DISK_NONE)
        CTT_TRY(is_part(s->path, &part));
    if (part) {
        CTT_TRY(single_clip(s));
        goto out;
    }
    CTT_CHECK(kind != CTT_DISK_NONE, CTT_EIO, "%s: no such file or folder",
              s->path);
    CTT_CHECK(!special, CTT_EIO, "%s: %s, not a clip, a list or a folder",
              s->path, special);
    for (size_t i = 0; i < n && rc == 0; i++)
        CTT_TRY((folder ? folder_forms : file_forms)[i](s));
    CTT_CHECK(s->list->count > 0, CTT_EINVAL, "%s: no clips in it", s->path);
out:
    return rc;
}

/* 1 if all names are numbers. */
static int are_numbers(const struct ctt_names *n)
{
    int value;

    for (int i = 0; i < n->count; i++)
        if (!ctt_text_number(n->name[i], &value))
            return 0;
    return 1;
}

/* The class that a line of the subset file names, or -1. */
static int subset_class(const struct ctt_listing *s, const char *word)
{
    char plain[512];
    size_t n = 0;
    int i = ctt_names_find(&s->names, word);

    if (i >= 0)
        return i;
    for (const char *p = word; *p && n + 1 < sizeof(plain); p++)
        if (*p != '[' && *p != ']')
            plain[n++] = *p;
    plain[n] = 0;
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

/* The model's class for each class of the data, by the numbers that the data
 * gives its classes: the one of this name, or in this place; -1: none. */
static void match_numbers(const struct ctt_listing *s,
                          const struct ctt_names *model, int *to)
{
    const struct ctt_names *text = s->numbers.count ? &s->numbers : &s->names;
    int named = are_numbers(model), numbers = are_numbers(text), number;
    char name[16];

    for (int i = 0; i < s->names.count; i++) {
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
    int numbers = are_numbers(&s->names), rc = 0, *to = NULL;

    if (!s->numeric || !lacks_a_name(s, model) ||
        !(numbers || are_numbers(model)))
        goto out;
    to = ctt_calloc((size_t)s->names.count + 1, sizeof(*to));
    CTT_TRY(to ? 0 : CTT_ENOMEM);
    match_numbers(s, model, to);
    for (int i = 0; i < s->list->count; i++) {
        struct ctt_item *item = &s->list->item[i];
        int was = item->label;
        if (was < 0)
            continue;
        item->label = to[was];
        CTT_CHECK(to[was] >= 0, CTT_EINVAL, "%s: class number %s is none of "
                  "the model's %d", s->path, s->numbers.count ?
                  s->numbers.name[was] : s->names.name[was], model->count);
    }
    ctt_names_clear(&s->names);
    for (int i = 0; i < model->count; i++)
        CTT_TRY(ctt_names_add(&s->names, model->name[i]));
    rc = 0;
out:
    ctt_free(to);
    return rc;
}

/* The new number of each class of the data, or -1. */
static int renumber(const struct ctt_listing *s, const struct ctt_names *keep,
                    int subset, int *map)
{
    int rc = 0;

    for (int i = 0; i < s->names.count; i++)
        map[i] = ctt_names_find(keep, s->names.name[i]);
    for (int i = 0; i < s->list->count && !subset; i++) {
        int label = s->list->item[i].label;
        CTT_CHECK(label < 0 || map[label] >= 0, CTT_EINVAL,
                  "%s: class '%s' is none of the model's %d classes", s->path,
                  s->names.name[label], keep->count);
    }
out:
    return rc;
}

/* Drops clips of classes that are not kept; unlabelled clips stay. */
static void filter(struct ctt_list *l, const int *map)
{
    int n = 0;

    for (int i = 0; i < l->count; i++) {
        struct ctt_item *item = &l->item[i];
        if (item->label >= 0 && map[item->label] < 0) {
            ctt_free(item->path);
            ctt_free(item->id);
            continue;
        }
        if (item->label >= 0)
            item->label = map[item->label];
        l->item[n++] = *item;
    }
    l->count = n;
}

/* In training every class needs a clip. */
static int check_classes(const struct ctt_listing *s,
                         const struct ctt_names *keep)
{
    int labelled = 0, rc = 0;
    int *seen = ctt_calloc((size_t)keep->count + 1, sizeof(*seen));

    CTT_TRY(seen ? 0 : CTT_ENOMEM);
    for (int i = 0; i < s->list->count; i++) {
        if (s->list->item[i].label >= 0) {
            seen[s->list->item[i].label] = 1;
            labelled = 1;
        }
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
static int finish(struct ctt_listing *s, struct ctt_names *keep, int known,
                  int subset)
{
    struct ctt_list *l = s->list;
    int *map = ctt_calloc((size_t)s->names.count + 1, sizeof(*map));
    int rc = map ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    l->all = l->count;
    l->all_labels = s->names.count;
    CTT_TRY(renumber(s, keep, subset, map));
    filter(l, map);
    CTT_CHECK(l->count > 0, CTT_EINVAL, "%s: no clip of the requested "
              "classes", s->path);
    if (!known && ctt_split_number(s->split) == 0)
        CTT_TRY(check_classes(s, keep));
    l->label = keep->name;
    l->labels = keep->count;
    keep->name = NULL;
    keep->count = 0;
out:
    ctt_free(map);
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
    CTT_TRY(finish(s, &keep, known || nknown == CTT_LABELS_ANY,
                   subset != NULL));
out:
    ctt_names_clear(&keep);
    ctt_names_clear(&chosen);
    return rc;
}

/* 1 if the name is among those of a model's classes. */
static int has_class(const struct ctt_list_want *w, const char *name)
{
    for (int i = 0; w->known && i < w->nknown; i++)
        if (strcmp(w->known[i], name) == 0)
            return 1;
    return 0;
}

int ctt_list_find(const char *path, const struct ctt_list_want *w,
                  struct ctt_list **out)
{
    struct ctt_listing s = { .path = path, .fps = w->fps, .own = w->own,
                             .split = w->split ? w->split : "train" };
    int rc = 0;

    s.list = ctt_calloc(1, sizeof(*s.list));
    if (w->background)
        s.others = ctt_calloc(1, sizeof(*s.others));
    CTT_TRY(s.list && (s.others || !w->background) ? 0 : CTT_ENOMEM);
    CTT_TRY(read_listing(&s));
    CTT_TRY(ctt_listing_rate(&s));
    if (w->background)
        CTT_TRY(ctt_listing_background(&s, w->background,
                                       !has_class(w, w->background)));
    CTT_TRY(ctt_listing_fit(&s, w->known, w->nknown, w->subset));
    *out = s.list;
    s.list = NULL;
out:
    ctt_names_clear(&s.names);
    ctt_names_clear(&s.numbers);
    ctt_list_free(&s.list);
    ctt_list_free(&s.others);
    return rc;
}

int ctt_list_open(const char *path, const char *split, char *const *known,
                  int nknown, const char *subset, struct ctt_list **out)
{
    const struct ctt_list_want w = { .split = split, .known = known,
                                     .nknown = nknown, .subset = subset };

    return ctt_list_find(path, &w, out);
}
