/* SPDX-License-Identifier: Apache-2.0
 * fit.c: fits the classes of a list to those of a model and to a subset: by
 * their names or numbers. */
#include "video/list/list.h"
#include "base/letters.h"
#include "base/warn.h"
#include "video/disk.h"
#include "video/list/split.h"

#include <stdio.h>
#include <string.h>

enum {
    SUBSET_LIMIT = 1 << 22, NAME = 512,
    SHOWN = 6, TABLE = SHOWN * 64 + 16    /* classes in a message */
};

static int is_number(const char *name)
{
    int value;

    return ctt_text_number(name, &value);
}

/* How many of the names are numbers. */
static int count_numbers(const struct ctt_names *n)
{
    int count = 0;

    for (int i = 0; i < n->count; i++)
        count += is_number(n->name[i]);
    return count;
}

/* The first classes for a message: names, each behind its number if that is
 * another text; number: NULL: there are none. */
static const char *table(const struct ctt_names *name,
                         const struct ctt_names *number, char out[TABLE])
{
    size_t n = 0;

    out[0] = '\0';
    for (int i = 0; i < name->count && i < SHOWN; i++) {
        const char *x = number && i < number->count ? number->name[i] : "";

        x = strcmp(x, name->name[i]) == 0 ? "" : x;
        n += (size_t)snprintf(out + n, TABLE - n, "%s%s%s%.48s",
                              i ? ", " : "", x, *x ? " " : "", name->name[i]);
    }
    if (name->count > SHOWN)
        snprintf(out + n, TABLE - n, " ... (%d)", name->count);
    return out;
}

/* Whether one of the names looks like this one and is not. */
static int has_twin(const struct ctt_names *n, const char *name)
{
    for (int i = 0; i < n->count; i++)
        if (ctt_letters_differ_in_form(n->name[i], name))
            return 1;
    return 0;
}

#define TWIN "that writes its accents in the other form of Unicode (NFC, NFD)"

/* The data in a message: its path, and the split if it has some. */
static const char *where(const struct ctt_listing *s, char out[NAME])
{
    if (s->parted)
        snprintf(out, NAME, "%.400s, split '%.60s'", s->path, s->split);
    return s->parted ? out : s->path;
}

/* Labels that are no classes of the model.  name: of one, or NULL: why. */
static int refuse(const struct ctt_listing *s, const struct ctt_names *model,
                  const char *name, const char *why)
{
    char list[TABLE], known[TABLE], one[160], data[NAME];

    if (name && has_twin(model, name))
        return ctt_error(CTT_EINVAL, "%s: class '%.60s' is none of the model's "
                         "%d classes, which have one " TWIN "; write both the "
                         "same way", where(s, data), name, model->count);
    snprintf(one, sizeof(one), "class '%.60s' is none of the model's %d "
             "classes", name ? name : "", model->count);
    return ctt_error(CTT_EINVAL, "%s: %s; labels of the list: %s; classes of "
                     "the model: %s", where(s, data), name ? one : why,
                     table(&s->names, &s->numbers, list),
                     table(model, NULL, known));
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
    int i = ctt_names_find(&s->names, word), number;
    char plain[NAME];

    if (i >= 0)
        return i;
    ctt_class_plain(word, plain, sizeof(plain));
    i = ctt_names_find(&s->names, plain);
    if (i >= 0 || !ctt_text_number(word, &number))
        return i;
    if (s->numbers.count)
        return ctt_names_find(&s->numbers, word);
    return number < s->names.count && !count_numbers(&s->names) ? number : -1;
}

/* The class of the list or of the model (NULL: none) that a line of the subset
 * file names, or NULL: a list with labels need not have every class of its
 * model. */
static const char *chosen_class(const struct ctt_listing *s,
                                const struct ctt_names *model,
                                const char *word)
{
    int i = subset_class(s, word);
    char plain[NAME];

    if (i >= 0)
        return s->names.name[i];
    if (s->names.count == 0)
        return NULL;
    ctt_class_plain(word, plain, sizeof(plain));
    i = ctt_names_find(model, word);
    i = i < 0 ? ctt_names_find(model, plain) : i;
    return i < 0 ? NULL : model->name[i];
}

/* Adds the names of the classes in the subset file. */
static int read_subset(const struct ctt_listing *s,
                       const struct ctt_names *model, const char *subset,
                       struct ctt_names *keep)
{
    const char *name;
    char *text = NULL, *at, *word;
    int rc = 0, line = 0;
    size_t size;

    rc = ctt_text_read(subset, SUBSET_LIMIT, &text, &size);
    CTT_TRY(ctt_clip_is_bad(rc) ? ctt_error(CTT_EINVAL, "%s", ctt_errmsg())
                                : rc);
    for (at = text; (word = ctt_text_line(&at, &line)) != NULL;) {
        if (*word == 0 || *word == '#')
            continue;
        name = chosen_class(s, model, word);
        CTT_CHECK(name, CTT_EINVAL, "%s:%d: no class '%s' in %s%s", subset,
                  line, word, s->path, has_twin(&s->names, word) ?
                  ", but one " TWIN : "");
        CTT_CHECK(ctt_names_find(keep, name) < 0, CTT_EINVAL,
                  "%s:%d: class '%s' is listed twice", subset, line, word);
        CTT_TRY(ctt_names_add(keep, name));
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

/* Where the k-th label of a clip is; NULL: it has no more. */
static int *place(const struct ctt_list *l, int clip, int k)
{
    struct ctt_item *item = &l->item[clip];
    int *at = k == 0 ? &item->label : l->also ? &l->also[item->also + k - 1]
                                              : NULL;

    return at && *at >= 0 ? at : NULL;
}

/* How many labels of clips are named like a class of the model; *all: of how
 * many. */
static int count_known(const struct ctt_listing *s,
                       const struct ctt_names *model, int *all)
{
    int known = 0;

    *all = 0;
    for (int i = 0; i < s->list->count; i++)
        for (int k = 0, *c; (c = place(s->list, i, k)) != NULL; k++, ++*all)
            known += ctt_names_find(model, s->names.name[*c]) >= 0;
    return known;
}

/* Whether each number of the data is the place of the model's class that has
 * the name of its folder; only numbers 0, 1 ... have such names. */
static int are_places(const struct ctt_listing *s,
                      const struct ctt_names *model)
{
    for (int i = 0; i < s->numbers.count; i++)
        if (ctt_names_find(model, s->names.name[i]) != i)
            return 0;
    return 1;
}

/* The model's class for each number of the data, and for others places behind
 * them.  A model whose classes are numbers has the one of this name.  Otherwise
 * a number is a place, in data that have a 0: without one, they may count from
 * 1. */
static int match_numbers(const struct ctt_listing *s,
                         const struct ctt_names *number,
                         const struct ctt_names *model, int *to)
{
    int named = count_numbers(model) > 0, others = 0, rc = 0, value;

    if (!named && ctt_names_find(number, "0") < 0)
        CTT_TRY(refuse(s, model, NULL, "numbers are the places of classes only "
                       "in a list that has a 0, write the names"));
    for (int i = 0; i < number->count; i++) {
        ctt_text_number(number->name[i], &value);
        to[i] = named ? ctt_names_find(model, number->name[i]) :
                value < model->count ? value : -1;
        if (to[i] < 0)
            to[i] = model->count + others++;
    }
out:
    return rc;
}

/* Whether the names of the list, those of the folders of its numbers, are the
 * model's, so that the numbers say nothing.  Without a subset, which leaves
 * places behind, both must say the same. */
static int names_decide(const struct ctt_listing *s,
                        const struct ctt_names *model, int subset)
{
    int all, known = count_known(s, model, &all), rc = 0;

    if (!subset && known == all && !are_places(s, model))
        CTT_TRY(refuse(s, model, NULL, "the numbers and the folders of its "
                       "clips are different classes, write the names"));
    rc = known > 0 || all == 0;
out:
    return rc;
}

/* Gives the labels of clips the model's classes.  Those behind them are for a
 * subset, which may leave their clips out. */
static int map_labels(const struct ctt_listing *s,
                      const struct ctt_names *number,
                      const struct ctt_names *model, int subset,
                      const int *to)
{
    int rc = 0;

    for (int i = 0; i < s->list->count; i++)
        for (int k = 0, *c; (c = place(s->list, i, k)) != NULL; k++) {
            if (to[*c] >= model->count && !subset)
                CTT_TRY(refuse(s, model, number->name[*c], NULL));
            *c = to[*c];
        }
out:
    return rc;
}

/* Makes the model's classes the list's, and behind them its other numbers. */
static int take_model(struct ctt_listing *s, const struct ctt_names *model,
                      const int *to, int named)
{
    struct ctt_names was = s->numbers.count ? s->numbers : s->names;
    struct ctt_names *other = s->numbers.count ? &s->names : &s->numbers;
    char text[16];
    int rc = 0;

    ctt_names_clear(other);
    memset(&s->names, 0, sizeof(s->names));
    memset(&s->numbers, 0, sizeof(s->numbers));
    for (int i = 0; i < model->count; i++) {
        snprintf(text, sizeof(text), "%d", i);
        CTT_TRY(ctt_names_add(&s->names, model->name[i]));
        CTT_TRY(ctt_names_add(&s->numbers, named ? model->name[i] : text));
    }
    for (int i = 0; i < was.count; i++) {
        if (to[i] < model->count)
            continue;
        CTT_TRY(ctt_names_add(&s->names, was.name[i]));
        CTT_TRY(ctt_names_add(&s->numbers, was.name[i]));
    }
    rc = 0;
out:
    ctt_names_clear(&was);
    return rc;
}

/* Gives the data's classes the model's names by their numbers, where they have
 * no names of it. */
static int adopt_numbers(struct ctt_listing *s, const struct ctt_names *model,
                         int subset)
{
    const struct ctt_names *number = s->numbers.count ? &s->numbers : &s->names;
    int rc = 0, *to = NULL, named = count_numbers(model) > 0;
    char known[TABLE];

    if (!s->numeric || count_numbers(number) < number->count)
        goto out;
    if (!named)
        CTT_TRY(names_decide(s, model, subset));
    if (rc > 0)
        goto out;
    to = ctt_calloc((size_t)number->count + 1, sizeof(*to));
    CTT_TRY(to ? 0 : CTT_ENOMEM);
    CTT_TRY(match_numbers(s, number, model, to));
    CTT_TRY(map_labels(s, number, model, subset, to));
    if (!named)
        ctt_warn("%s: its numbers are taken as the places of the model's "
                 "classes, from 0: %s", s->path, table(model, NULL, known));
    CTT_TRY(take_model(s, model, to, named));
    rc = 0;
out:
    ctt_free(to);
    return rc < 0 ? rc : 0;
}

/* Gives a clip the numbers of its classes in keep; those that are not chosen
 * go, and of a clip that has none left label is -1.  chosen: NULL: all. */
static int renumber_clip(const struct ctt_listing *s, int clip,
                         const struct ctt_names *keep,
                         const struct ctt_names *chosen)
{
    int rc = 0, n = 0, all = 0, *c;

    for (; (c = place(s->list, clip, all)) != NULL; all++) {
        const char *name = s->names.name[*c];
        int to = chosen && ctt_names_find(chosen, name) < 0 ? -1 :
                 ctt_names_find(keep, name);

        if (to < 0 && !chosen)
            CTT_TRY(refuse(s, keep, name, NULL));
        if (to >= 0)
            *place(s->list, clip, n++) = to;
    }
    if (n < all)
        *place(s->list, clip, n) = -1;
out:
    return rc;
}

/* Gives clips the numbers of their classes in keep.  Those of classes that are
 * not chosen are dropped; unlabelled clips stay. */
static int renumber(const struct ctt_listing *s, const struct ctt_names *keep,
                    const struct ctt_names *chosen)
{
    struct ctt_list *l = s->list;
    int rc = 0, n = 0;

    for (int i = 0; i < l->count; i++) {
        int labelled = l->item[i].label >= 0;

        CTT_TRY(renumber_clip(s, i, keep, chosen));
        if (!labelled || l->item[i].label >= 0)
            l->item[n++] = l->item[i];
    }
    l->count = n;
out:
    return rc;
}

/* Counts the labels that clips have; in training every class needs a clip. */
static int check_classes(const struct ctt_listing *s,
                         const struct ctt_names *keep, int all)
{
    int labelled = 0, rc = 0;
    char data[NAME];
    int *seen = ctt_calloc((size_t)keep->count + 1, sizeof(*seen));

    CTT_TRY(seen ? 0 : CTT_ENOMEM);
    for (int i = 0; i < s->list->count; i++)
        for (int k = 0, *c; (c = place(s->list, i, k)) != NULL; k++) {
            labelled += !seen[*c];
            seen[*c] = 1;
        }
    s->list->chosen = labelled;
    for (int i = 0; i < keep->count && labelled && all; i++)
        if (!seen[i])
            CTT_TRY(ctt_error(CTT_EFORMAT, "%s: no clip of class '%s'",
                              where(s, data), keep->name[i]));
out:
    ctt_free(seen);
    return rc;
}

/* Makes keep the list's labels.  chosen: NULL: clips of all of them. */
static int relabel(struct ctt_listing *s, const struct ctt_names *keep,
                   int known, const struct ctt_names *chosen)
{
    char data[NAME];
    struct ctt_list *l = s->list;
    int rc;

    l->all = l->count;
    CTT_TRY(renumber(s, keep, chosen));
    CTT_CHECK(l->count > 0, CTT_EINVAL, "%s: no clip of the requested "
              "classes", where(s, data));
    CTT_TRY(check_classes(s, keep, !known && ctt_split_number(s->split) == 0));
    CTT_TRY(ctt_list_labels(l, keep->name, keep->count));
out:
    return rc;
}

int ctt_listing_fit(struct ctt_listing *s, char *const *known, int nknown,
                    const char *subset)
{
    struct ctt_names keep = { 0 }, chosen = { 0 };
    int rc = 0;

    s->list->all_labels = s->names.count;
    if (known) {
        CTT_TRY(take_known(known, nknown, &keep));
        CTT_TRY(adopt_numbers(s, &keep, subset != NULL));
    }
    if (subset)
        CTT_TRY(read_subset(s, &keep, subset, &chosen));
    if (!known)
        CTT_TRY(take_known(subset ? chosen.name : s->names.name,
                           subset ? chosen.count : s->names.count, &keep));
    for (int i = 0; known && i < chosen.count; i++)
        CTT_CHECK(ctt_names_find(&keep, chosen.name[i]) >= 0, CTT_EINVAL,
                  "%s: the model was not trained with class '%s'%s", subset,
                  chosen.name[i], has_twin(&keep, chosen.name[i]) ?
                  ", but with one " TWIN : "");
    CTT_TRY(relabel(s, &keep, known || nknown == CTT_LABELS_ANY,
                    subset ? &chosen : NULL));
out:
    ctt_names_clear(&keep);
    ctt_names_clear(&chosen);
    return rc;
}
