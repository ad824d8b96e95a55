/* SPDX-License-Identifier: Apache-2.0
 * data.c: convtt-data: generates, packs, checks and counts clips. */
#include "net/file.h"
#include "tools/data_check.h"
#include "tools/data_opt.h"
#include "tools/files.h"
#include "tools/table.h"
#include "tools/tool.h"
#include "video/source.h"

#include <stdio.h>
#include <string.h>

/* The command for drawn data, which the others do not take. */
static const char drawn_for[] = "convtt-data mnist";

/* ---- synth ---- */

static void tell_done(void *arg, int i, int n)
{
    (void)arg;
    ctt_tool_progress(0, "clip %d of %d", i, n);
}

static int synth(const struct ctt_data_cfg *c, const char *path)
{
    struct ctt_synth s = { c->clips, c->size, c->workers, (uint64_t)c->seed };
    int rc = 0;

    CTT_TRY(ctt_synth_write(&s, path, tell_done, NULL));
    ctt_tool_say("%s: %d clips of %d classes", path, c->clips,
                 CTT_SYNTH_CLASSES);
out:
    return rc;
}

/* ---- mnist ---- */

static int mnist(const struct ctt_data_cfg *c, const char *path)
{
    return ctt_mnist_pack(&c->mnist, path, c->out);
}

/* ---- pack ---- */

/* Reads the input settings of a model file or text, and the model of a file. */
static int read_model(const char *path, struct ctt_input *in,
                      struct ctt_model **out)
{
    struct ctt_graph *g = NULL;
    int rc = 0;

    if (!ctt_tool_is_net(path)) {
        CTT_TRY(ctt_model_load(path, 0, out));
        *in = (*out)->g->node[ctt_graph_input((*out)->g)].attr.input;
        goto out;
    }
    CTT_TRY(ctt_tool_net(path, &g));
    *in = g->node[ctt_graph_input(g)].attr.input;
out:
    ctt_graph_free(&g);
    return rc;
}

static int pack_clip(const struct ctt_data_cfg *c, struct ctt_pack *p,
                     const struct ctt_source *s, int i, int *bad)
{
    const struct ctt_item *item = &ctt_source_list(s)->item[i];
    struct ctt_frames f = { 0 };
    int rc = ctt_source_frames(s, i, 0, c->max_frames, &f);

    if (rc < 0 && rc != CTT_ENOMEM && !c->strict) {
        ctt_tool_warn("%s (skipped)", ctt_errmsg());
        ++*bad;
        rc = 0;
        goto out;
    }
    CTT_TRY(rc);
    CTT_TRY(ctt_pack_add(p, item->id, item->label, &f));
out:
    ctt_frames_free(&f);
    return rc;
}

static int pack(const struct ctt_data_cfg *c, const char *path)
{
    struct ctt_source_set set = { .split = c->split, .classes = c->classes,
                                  .drawn_for = drawn_for };
    struct ctt_model *m = NULL;
    struct ctt_source *s = NULL;
    const struct ctt_list *l;
    struct ctt_pack *p = NULL;
    struct ctt_input in;
    int bad = 0, rc = 0;

    ctt_tool_catch();
    CTT_TRY(read_model(c->model, &in, &m));
    if (m) {
        set.label = m->label;
        set.labels = m->labels;
    }
    CTT_TRY(ctt_source_open(path, &set, &in, &s));
    l = ctt_source_list(s);
    CTT_TRY(ctt_pack_create(c->out, &in, l->label, l->labels, &p));
    for (int i = 0; i < l->count; i++) {
        CTT_CHECK(!ctt_tool_stop(), CTT_EINVAL, "stopped; %s is not written",
                  c->out);
        CTT_TRY(pack_clip(c, p, s, i, &bad));
        ctt_tool_progress(0, "clip %d of %d", i + 1, l->count);
    }
    CTT_CHECK(bad < l->count, CTT_EFORMAT, "%s: no usable clip in %d", path,
              l->count);
    CTT_TRY(ctt_pack_finish(&p));
    ctt_tool_say("%s: %d clips, %d bad clips skipped", c->out, l->count - bad,
                 bad);
out:
    ctt_pack_close(&p);
    ctt_source_close(&s);
    ctt_model_free(&m);
    return rc;
}

/* ---- splits ---- */

enum { SPLITS = 3 };
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

/* 1 if part[count] has the same clips as one of the parts before it. */
static int is_repeated(const struct split *part, int count)
{
    for (int i = 0; i < count; i++)
        if (same_list(list_of(&part[i]), list_of(&part[count])))
            return 1;
    return 0;
}

static int open_part(const struct ctt_data_cfg *c, const char *path,
                     struct split *part)
{
    const struct ctt_source_set set = { .split = part->name,
        .need_split = c->split != NULL, .classes = c->classes, .any_input = 1,
        .drawn_for = drawn_for };

    return ctt_source_open(path, &set, &ctt_check_input, &part->s);
}

/* Opens --split, or all splits at path.  Data without splits has the same clips
 * for each name.  A split may be missing, but must be readable. */
static int open_parts(const struct ctt_data_cfg *c, const char *path,
                      struct split part[SPLITS], int *count)
{
    int rc = 0;

    *count = 0;
    if (c->split) {
        part[0].name = c->split;
        CTT_TRY(open_part(c, path, &part[0]));
        *count = 1;
        goto out;
    }
    for (int i = 0; i < SPLITS; i++) {
        struct split *p = &part[*count];
        p->name = splits[i];
        rc = open_part(c, path, p);
        if (rc >= 0 && is_repeated(part, *count))
            ctt_source_close(&p->s);
        else if (rc >= 0)
            ++*count;
        if (rc < 0 && rc != CTT_EINVAL)
            goto out;
    }
    if (*count)
        rc = 0;
out:
    return rc;
}

static void close_parts(struct split part[SPLITS])
{
    for (int i = 0; i < SPLITS; i++)
        ctt_source_close(&part[i].s);
}

/* ---- check ---- */

static int check(const struct ctt_data_cfg *c, const char *path)
{
    struct split part[SPLITS] = { { NULL, NULL } };
    int parts, bad = 0, all = 0, rc = 0;

    ctt_tool_catch();
    CTT_TRY(open_parts(c, path, part, &parts));
    for (int i = 0; i < parts; i++) {
        CTT_TRY(ctt_check_clips(part[i].s, c->workers, &bad));
        all += list_of(&part[i])->count;
    }
    ctt_tool_say("%s: %d clips, %d bad", path, all, bad);
    rc = bad ? 1 : 0;
out:
    close_parts(part);
    return rc;
}

/* ---- list ---- */

static int count_label(const struct ctt_list *l, const char *label)
{
    int n = 0;

    for (int i = 0; i < l->count; i++)
        if (label ? l->item[i].label >= 0 &&
                    strcmp(l->label[l->item[i].label], label) == 0
                  : l->item[i].label < 0)
            n++;
    return n;
}

static void count_row(struct ctt_table *t, const struct split *part, int parts,
                      const char *name, const char *label)
{
    char row[1024];
    int n = snprintf(row, sizeof(row), "%.800s", name);

    for (int i = 0; i < parts; i++)
        n += snprintf(row + n, sizeof(row) - (size_t)n, "\t%d",
                      count_label(list_of(&part[i]), label));
    ctt_table_row(t, "%s", row);
}

static int list(const struct ctt_data_cfg *c, const char *path)
{
    struct split part[SPLITS] = { { NULL, NULL } };
    struct ctt_table t = { NULL, 0, 0, 0 };
    char head[256];
    int parts, n, unknown = 0, rc = 0;

    CTT_TRY(open_parts(c, path, part, &parts));
    n = snprintf(head, sizeof(head), "class");
    for (int i = 0; i < parts; i++) {
        n += snprintf(head + n, sizeof(head) - (size_t)n, "\t%.60s",
                      part[i].name);
        unknown += count_label(list_of(&part[i]), NULL);
    }
    ctt_table_row(&t, "%s", head);
    for (int k = 0; k < list_of(part)->labels; k++)
        count_row(&t, part, parts, list_of(part)->label[k],
                  list_of(part)->label[k]);
    if (unknown)
        count_row(&t, part, parts, "(not known)", NULL);
    n = snprintf(head, sizeof(head), "all");
    for (int i = 0; i < parts; i++)
        n += snprintf(head + n, sizeof(head) - (size_t)n, "\t%d",
                      list_of(&part[i])->count);
    ctt_table_row(&t, "%s", head);
    CTT_TRY(ctt_table_print(&t));
out:
    close_parts(part);
    return rc;
}

/* ---- the commands ---- */

static const struct {
    int (*run)(const struct ctt_data_cfg *c, const char *path);
    int paths;    /* number of operands; the second one is c->out */
} commands[CTT_DATA_COMMANDS] = {
    [CTT_DATA_SYNTH] = { synth, 1 }, [CTT_DATA_MNIST] = { mnist, 2 },
    [CTT_DATA_PACK] = { pack, 1 }, [CTT_DATA_CHECK] = { check, 1 },
    [CTT_DATA_LIST] = { list, 1 },
};

static const char *word_of(int k)
{
    return strrchr(ctt_data_program.commands[k].name, ' ') + 1;
}

static int run(int k, int argc, char **argv)
{
    struct ctt_data_cfg c;
    int first, done = 0, rc;

    memset(&c, 0, sizeof(c));
    first = ctt_opt_main(&ctt_data_program.commands[k], &c, argc, argv, &done);
    if (done && first >= 0)
        return 0;
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
    return rc < 0 ? ctt_tool_fail(CTT_EXIT_FAIL) : ctt_tool_end(rc);
}

int main(int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : "";

    ctt_tool_start("convtt-data", argv);
    for (int k = 0; k < CTT_DATA_COMMANDS; k++)
        if (strcmp(word, word_of(k)) == 0)
            return run(k, argc - 1, argv + 1);
    if (ctt_opt_answer(&ctt_data_program, word))
        return 0;
    return ctt_tool_die(CTT_EXIT_USAGE, word[0]
                        ? "no command '%s' (see --help)"
                        : "no command given%s (see --help)", word);
}
