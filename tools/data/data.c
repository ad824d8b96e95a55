/* SPDX-License-Identifier: Apache-2.0
 * data.c: convtt-data: generates, packs, checks and counts clips. */
#include "base/limits.h"
#include "base/visible.h"
#include "tools/data/data_tool.h"
#include "tools/shared/training.h"
#include "tools/shared/tool.h"
#include "video/source.h"
#include "video/text/text.h"

#include <stdio.h>
#include <string.h>

/* The command for drawn data, which the others do not take. */
static const char drawn_for[] = "convtt-data mnist";

/* ---- synth ---- */

static void tell_done(void *arg, int i, int n)
{
    (void)arg;
    CTT_PROGRESS(i, n, "clip %d of %d", i, n);
}

/* Few clips leave a split empty: each takes whole blocks of all classes. */
static void say_splits(const struct ctt_synth *s, const char *path)
{
    int n[3] = { 0 }, classes = ctt_synth_classes(s);

    for (int i = 0; i < s->clips + s->test; i++)
        n[ctt_synth_split(s, i)]++;
    ctt_tool_say("%s: %d clips of %d classes: %d to train, %d to validate, %d "
                 "to test", path, s->clips + s->test, classes, n[0], n[1],
                 n[2]);
    if (!n[1] || !n[2])
        ctt_tool_warn("%s: no clip %s; --clips %d or more has some of each "
                      "class", path, n[1] ? "to test" : n[2] ? "to validate" :
                      "to validate or to test", (s->test ? 2 : 3) * classes);
}

static int synth(const struct ctt_data_cfg *c, const char *path)
{
    struct ctt_synth s = { .clips = c->clips, .size = c->size,
        .workers = c->workers, .seed = (uint64_t)c->seed, .test = c->test };
    int rc = 0;

    CTT_TRY(ctt_synth_choose(&s, c->actions));
    CTT_TRY(ctt_synth_write(&s, path, tell_done, NULL));
    say_splits(&s, path);
out:
    return rc;
}

/* ---- mnist ---- */

static int mnist(const struct ctt_data_cfg *c, const char *path)
{
    return ctt_mnist_pack(&c->mnist, path, c->out);
}

/* ---- splits ---- */

enum { SPLITS = 3, FEW = 20 };    /* FEW: clips of a class */
static const char *const splits[SPLITS] = { "train", "validation", "test" };

struct split { const char *name; struct ctt_source *s; };

static const struct ctt_list *list_of(const struct split *part)
{
    return ctt_source_list(part->s);
}

static int same_list(const struct ctt_list *a, const struct ctt_list *b)
{
    if (a->count != b->count)
        return 0;
    for (int i = 0; i < a->count; i++)
        if (strcmp(a->item[i].path, b->item[i].path) != 0)
            return 0;
    return 1;
}

/* Returns 1 if part[count] has the same clips as an earlier part. */
static int is_repeated(const struct split *part, int count)
{
    for (int i = 0; i < count; i++)
        if (same_list(list_of(&part[i]), list_of(&part[count])))
            return 1;
    return 0;
}

/* whole: data without splits will do.  like: NULL, or a part whose classes it
 * must have. */
static int open_split_source(const struct ctt_data_cfg *c, const char *path,
                             int whole, const struct split *like,
                             struct split *part)
{
    const struct ctt_list *l = like ? list_of(like) : NULL;
    const struct ctt_source_set set = { .split = part->name,
        .strict = c->strict, .need_split = !whole,
        .label = l ? l->label : NULL, .labels = l ? l->labels :
        ctt_source_is_drawn(path) ? 0 : CTT_LABELS_ANY,
        .classes = c->classes, .any_input = 1, .drawn_for = drawn_for };

    return ctt_source_open(path, &set, &ctt_check_input, &part->s);
}

/* Opens --split, or all splits at path, or data without splits.  A split may be
 * missing, but must be readable. */
static int open_parts(const struct ctt_data_cfg *c, const char *path,
                      struct split part[SPLITS], int *count)
{
    int n = c->split ? 1 : SPLITS, rc = 0;

    *count = 0;
    for (int i = 0; i < n; i++) {
        struct split *p = &part[*count];
        p->name = c->split ? c->split : splits[i];
        rc = open_split_source(c, path, 0, NULL, p);
        if (rc >= 0 && is_repeated(part, *count))
            ctt_source_close(&p->s);
        else if (rc >= 0)
            ++*count;
        CTT_TRY(rc == CTT_ENOSPLIT && !c->split ? 0 : rc);
    }
    rc = 0;
    if (*count)
        goto out;
    part[0].name = splits[0];
    CTT_TRY(open_split_source(c, path, 1, NULL, &part[0]));
    part[0].name = "clips";
    *count = 1;
out:
    return rc;
}

static void close_parts(struct split part[SPLITS])
{
    for (int i = 0; i < SPLITS; i++)
        ctt_source_close(&part[i].s);
}

/* The number of a class in another list, in which it mostly has the same. */
static int find_label(const struct ctt_list *l, int k, const char *name)
{
    if (k < l->labels && strcmp(l->label[k], name) == 0)
        return k;
    for (k = 0; k < l->labels; k++)
        if (strcmp(l->label[k], name) == 0)
            return k;
    return -1;
}

/* Numbers of clips per class of a split, and without a class (last). */
static int count_labels(const struct ctt_list *l, int **out)
{
    int *n = ctt_calloc((size_t)l->labels + 1, sizeof(*n));

    if (!n)
        return CTT_ENOMEM;
    for (int i = 0; i < l->count; i++) {
        n[l->labels] += l->item[i].label < 0;
        for (int k = 0, c; (c = ctt_item_label(l, &l->item[i], k)) >= 0; k++)
            n[c]++;
    }
    *out = n;
    return 0;
}

/* ---- check ---- */

/* Prints the kind of source found at the path. */
static void tell_found(const char *path, const struct split *part, int parts)
{
    const struct ctt_list *l = list_of(part);
    char text[256] = "";
    int n = 0;

    for (int i = 0; i < parts && parts > 1; i++)
        n += snprintf(text + n, sizeof(text) - (size_t)n, "%s%s %d",
                      i ? ", " : ": ", part[i].name, list_of(&part[i])->count);
    ctt_tool_say("%s: %s with %d class%s%s", path, l->form, l->labels,
                 ctt_es(l->labels), text);
    if (l->labels == 1)
        ctt_tool_warn("%s: one class: there is nothing to learn", path);
}

/* Names a class of the first part with too few clips to learn it, or to tell
 * how many are right. */
static int tell_few(const char *path, const struct split *part)
{
    const struct ctt_list *l = list_of(part);
    int *count = NULL, least = 0, few = 0, rc;

    CTT_TRY(count_labels(l, &count));
    for (int k = 0; k < l->labels; k++) {
        few += count[k] > 0 && count[k] < FEW;
        if (count[k] > 0 && (!count[least] || count[k] < count[least]))
            least = k;
    }
    if (few)
        ctt_tool_say("%s: %d class%s fewer than %d clips, the fewest '%s' "
                      "with %d; film each at least %d times, in several places",
                      path, few, few > 1 ? "es have" : " has", FEW,
                      l->label[least], count[least], FEW);
out:
    ctt_free(count);
    return rc;
}

/* Warns of clips of the last part that an earlier part has too. */
static int tell_shared(const struct split *part, int last,
                       uint64_t *const *sum)
{
    const struct ctt_list *b = list_of(&part[last]);
    int rc = 0, i = 0, k = 0;

    for (int e = 0; e < last; e++) {
        const struct ctt_list *a = list_of(&part[e]);
        CTT_TRY(ctt_sums_shared(sum[e], a->count, sum[last], b->count, &i,
                                &k));
        if (rc)
            ctt_tool_warn("%d clip%s of '%s' %s also in '%s', such as %s (%s)",
                          rc, ctt_s(rc), part[last].name,
                          rc > 1 ? "are" : "is", part[e].name,
                          b->item[k].path, a->item[i].path);
    }
    rc = 0;
out:
    return rc;
}

/* Checks the clips of a part and counts bad ones, with --strict also clips with
 * two classes. */
static int check_split(const struct ctt_data_cfg *c, const struct split *part,
                       uint64_t *sum, int *bad)
{
    struct ctt_duplicates r;
    int rc;

    CTT_TRY(ctt_check_clips(part->s, c->workers, sum, bad));
    CTT_TRY(ctt_list_duplicates(list_of(part), sum, 1, &r));
    ctt_tool_duplicates(part->name, &r);
    *bad += c->strict ? r.other : 0;
out:
    return rc;
}

/* Counts the clips of part k of classes that the first part has no clip of.
 * *name: one of these classes, or NULL. */
static int count_strangers(const struct split *part, int k, int *out,
                           const char **name)
{
    const struct ctt_list *l = list_of(&part[k]), *first = list_of(part);
    int *count = NULL, rc;

    *out = 0;
    *name = NULL;
    CTT_TRY(count_labels(first, &count));
    for (int i = 0; i < l->count; i++) {
        int strange = 0;

        for (int j = 0, c; (c = ctt_item_label(l, &l->item[i], j)) >= 0; j++) {
            int at = find_label(first, c, l->label[c]);

            if (at >= 0 && count[at])
                continue;
            *name = l->label[c];
            strange = 1;
        }
        *out += strange;
    }
out:
    ctt_free(count);
    return rc;
}

/* Says why part k cannot test a model that learned the first part. */
static int check_labels(const struct ctt_data_cfg *c, const char *path,
                        const struct split *part, int k, int *bad)
{
    struct split again = { part[k].name, NULL };
    const char *name;
    int rc, refused, n;

    CTT_TRY(count_strangers(part, k, &n, &name));
    rc = open_split_source(c, path, 0, part, &again);
    refused = rc == CTT_EINVAL;
    CTT_TRY(refused ? 0 : rc);
    *bad += n ? n : refused;
    if (refused)
        ctt_tool_say("no model of '%s' has these labels: %s", part->name,
                     ctt_errmsg());
    else if (n)
        ctt_tool_say("%s, split '%s': no clip of class '%s', which '%s' has",
                     path, part->name, name, part[k].name);
    if (list_of(&part[k])->several && !list_of(part)->several) {
        ctt_tool_say("%s, split '%s': clips have several labels, those of "
                     "'%s' have one", path, part[k].name, part->name);
        ++*bad;
    }
    rc = 0;
out:
    ctt_source_close(&again.s);
    return rc;
}

static int check_clips(const struct ctt_data_cfg *c, const char *path)
{
    struct split part[SPLITS] = { { NULL, NULL } };
    uint64_t *sum[SPLITS] = { NULL };
    int parts, bad = 0, all = 0, rc = 0;

    ctt_tool_catch();
    if (ctt_text_is(path))
        return ctt_data_text(c, path, 0);
    CTT_TRY(open_parts(c, path, part, &parts));
    tell_found(path, part, parts);
    for (int i = 0; i < parts; i++) {
        int clips = list_of(&part[i])->count;
        sum[i] = ctt_calloc((size_t)clips, sizeof(*sum[i]));
        CTT_TRY(sum[i] ? 0 : CTT_ENOMEM);
        CTT_TRY(check_split(c, &part[i], sum[i], &bad));
        CTT_TRY(tell_shared(part, i, sum));
        if (i)
            CTT_TRY(check_labels(c, path, part, i, &bad));
        all += clips;
    }
    if (all && bad >= all)
        ctt_tool_say("%s: nothing in it can be used; each line of a list has "
                     "the path of a clip and its class", path);
    else
        CTT_TRY(tell_few(path, part));
    ctt_tool_say("%s: %d clip%s, %d bad", path, all, ctt_s(all), bad);
    rc = bad ? 1 : 0;
out:
    for (int i = 0; i < SPLITS; i++)
        ctt_free(sum[i]);
    close_parts(part);
    return rc;
}

/* ---- list ---- */

/* Adds the row of a class, which mostly has the number k in each part; NULL:
 * of the clips without one. */
static void count_row(struct ctt_table *t, const struct split *part, int parts,
                      int *const *count, int k, const char *name)
{
    char row[1024];
    int n = (int)strlen(ctt_visible(name ? name : "(not known)", 0, row, 801));

    for (int i = 0; i < parts; i++) {
        const struct ctt_list *l = list_of(&part[i]);
        int at = name ? find_label(l, k, name) : l->labels;
        n += snprintf(row + n, sizeof(row) - (size_t)n, "\t%d",
                      at < 0 ? 0 : count[i][at]);
    }
    ctt_table_row(t, "%s", row);
}

/* Adds the rows of the classes that part i has and no earlier one. */
static void count_classes(struct ctt_table *t, const struct split *part,
                          int parts, int *const *count, int i)
{
    const struct ctt_list *l = list_of(&part[i]);

    for (int k = 0; k < l->labels; k++) {
        int e = 0;

        while (e < i && find_label(list_of(&part[e]), k, l->label[k]) < 0)
            e++;
        if (e == i)
            count_row(t, part, parts, count, k, l->label[k]);
    }
}

static void count_rows(struct ctt_table *t, const struct split *part,
                       int parts, int *const *count)
{
    char head[256], foot[256], split[61];
    int n = snprintf(head, sizeof(head), "class");
    int m = snprintf(foot, sizeof(foot), "all"), unknown = 0;

    for (int i = 0; i < parts; i++) {
        const struct ctt_list *l = list_of(&part[i]);
        n += snprintf(head + n, sizeof(head) - (size_t)n, "\t%s",
                      ctt_visible(part[i].name, 0, split, sizeof(split)));
        m += snprintf(foot + m, sizeof(foot) - (size_t)m, "\t%d", l->count);
        unknown += count[i][l->labels];
    }
    ctt_table_row(t, "%s", head);
    for (int i = 0; i < parts; i++)
        count_classes(t, part, parts, count, i);
    if (unknown)
        count_row(t, part, parts, count, 0, NULL);
    ctt_table_row(t, "%s", foot);
}

static int list(const struct ctt_data_cfg *c, const char *path)
{
    struct split part[SPLITS] = { { NULL, NULL } };
    struct ctt_table t = { NULL, 0, 0, 0 };
    int *count[SPLITS] = { NULL }, parts, rc = 0;

    if (ctt_text_is(path))
        return ctt_data_text(c, path, 1);
    CTT_TRY(open_parts(c, path, part, &parts));
    for (int i = 0; i < parts; i++)
        CTT_TRY(count_labels(list_of(&part[i]), &count[i]));
    count_rows(&t, part, parts, count);
    CTT_TRY(ctt_table_print(&t));
out:
    for (int i = 0; i < SPLITS; i++)
        ctt_free(count[i]);
    ctt_table_free(&t);
    close_parts(part);
    return rc;
}

/* ---- the commands ---- */

static const struct {
    int (*run)(const struct ctt_data_cfg *c, const char *path);
    int paths;    /* number of operands; the second one is c->out */
} commands[CTT_DATA_COMMANDS] = {
    [CTT_DATA_SYNTH] = { synth, 1 }, [CTT_DATA_MNIST] = { mnist, 2 },
    [CTT_DATA_PACK] = { ctt_data_pack, 1 },
    [CTT_DATA_FEATURES] = { ctt_data_features, 1 },
    [CTT_DATA_CHECK] = { check_clips, 1 }, [CTT_DATA_LIST] = { list, 1 },
};

static const char *word_of(int k)
{
    return strrchr(ctt_data_program.commands[k].name, ' ') + 1;
}

static int run_command(int k, int argc, char **argv)
{
    struct ctt_data_cfg c;
    int first, done = 0, rc;

    memset(&c, 0, sizeof(c));
    first = ctt_opt_main(&ctt_data_program.commands[k], &c, argc, argv, &done);
    if (done && first >= 0)
        return ctt_tool_end(0);
    ctt_tool_tell(&c.telling);
    if (first < 0 || ctt_limits_set(&c.limits) < 0)
        return ctt_tool_fail(CTT_EXIT_USAGE);
    if (argc - first != commands[k].paths)
        return ctt_tool_die(CTT_EXIT_USAGE, "%s takes %s (see --help)",
                            word_of(k), commands[k].paths == 1 ? "one path"
                                                               : "two paths");
    if (commands[k].paths == 2)
        c.out = argv[first + 1];
    if (c.size % 2)
        return ctt_tool_die(CTT_EXIT_USAGE, "--size: %d is not even", c.size);
    rc = commands[k].run(&c, argv[first]);
    return rc < 0 ? ctt_tool_fail(ctt_tool_status(rc)) : ctt_tool_end(rc);
}

int main(int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : "", *meant = NULL;
    int most = 0;

    ctt_tool_start("convtt-data", argv);
    for (int k = 0; k < CTT_DATA_COMMANDS; k++)
        if (strcmp(word, word_of(k)) == 0)
            return run_command(k, argc - 1, argv + 1);
    if (ctt_opt_answer(&ctt_data_program, word))
        return ctt_tool_end(0);
    for (int k = 0; k < CTT_DATA_COMMANDS; k++)
        if (ctt_opt_meant(word, strlen(word), word_of(k), &most))
            meant = word_of(k);
    if (meant)
        return ctt_tool_die(CTT_EXIT_USAGE, "no command '%s': is %s meant?",
                            word, meant);
    return ctt_tool_die(CTT_EXIT_USAGE, word[0]
                        ? "no command '%s' (see --help)"
                        : "no command given%s (see --help)", word);
}
