/* SPDX-License-Identifier: Apache-2.0
 * data.c: convtt-data: makes clips, packs them, checks them, counts them. */
#include "net/file.h"
#include "tools/data_check.h"
#include "tools/data_mnist.h"
#include "tools/tool.h"
#include "video/source.h"

#include <stdio.h>
#include <string.h>

struct cfg {
    int   clips, size, seed, workers, max_frames, strict;
    const char *out, *model, *split, *classes;
    struct ctt_mnist_job mnist;
};

#define FIELD(f) offsetof(struct cfg, f)

/* What to do with data that is drawn instead of read from clips. */
static const char drawn_for[] = "convtt-data mnist";

static const struct ctt_opt synth_opts[] = {
    { "clips", CTT_INT, FIELD(clips), "1200", "how many", 1, 1000000,
      .arg = "N" },
    { "size", CTT_INT, FIELD(size), "96", "width and height, even", 16, 1024,
      .arg = "PIXELS" },
    { "seed", CTT_INT, FIELD(seed), "1", "same seed, same pixels", 0,
      1000000000 },
    { "workers", CTT_INT, FIELD(workers), "2", "threads", 1, 256,
      .letter = 'j', .arg = "N" },
    { .name = NULL }
};
static const struct ctt_opt mnist_opts[] = {
    { "sequences", CTT_INT, FIELD(mnist.sequences), "10000", "how many", 1,
      1 << 26, .letter = 'n', .arg = "N" },
    { "frames", CTT_INT, FIELD(mnist.frames), "20", "of each", 1, 4096,
      .arg = "T" },
    { "digits", CTT_INT, FIELD(mnist.digits), "2", "in each", 1,
      CTT_MNIST_DIGITS, .arg = "N" },
    { "split", CTT_STRING, FIELD(mnist.split), "train", "train, validation or "
      "test: each has sequences of its own", .arg = "NAME" },
    { "seed", CTT_INT, FIELD(mnist.seed), "1", "same seed, same sequences", 0,
      1000000000 },
    { .name = NULL }
};
static const struct ctt_opt pack_opts[] = {
    { "out", CTT_STRING, FIELD(out), NULL, "the pack", .letter = 'o',
      .arg = "FILE" },
    { "model", CTT_STRING, FIELD(model), NULL, "model or text whose input says "
      "size, rate and colour", .letter = 'm', .arg = "FILE" },
    { "split", CTT_STRING, FIELD(split), "train", "part of the data",
      .arg = "NAME" },
    { "classes", CTT_STRING, FIELD(classes), "", "names or numbers of the "
      "classes to keep, a line each", .arg = "FILE" },
    { "max-frames", CTT_INT, FIELD(max_frames), "0", "longer clips are cut; "
      "0: never", 0, 100000, .arg = "N" },
    { "strict", CTT_FLAG, FIELD(strict), "0", "a bad clip is an error" },
    { .name = NULL }
};
static const struct ctt_opt check_opts[] = {
    { "split", CTT_STRING, FIELD(split), "", "one part of the data; not "
      "given: all that there are", .arg = "NAME" },
    { "workers", CTT_INT, FIELD(workers), "2", "threads", 1, 256,
      .letter = 'j', .arg = "N" },
    { .name = NULL }
};
static const struct ctt_opt list_opts[] = {
    { "split", CTT_STRING, FIELD(split), "", "one part of the data; not "
      "given: all that there are", .arg = "NAME" },
    { "classes", CTT_STRING, FIELD(classes), "", "names or numbers of the "
      "classes to keep, a line each", .arg = "FILE" },
    { .name = NULL }
};

/* ---- synth ---- */

static void tell_done(void *arg, int i, int n)
{
    (void)arg;
    ctt_tool_progress(0, "clip %d of %d", i, n);
}

static int synth(const struct cfg *c, const char *path)
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

static int mnist(const struct cfg *c, const char *path)
{
    return ctt_mnist_pack(&c->mnist, path, c->out);
}

/* ---- pack ---- */

/* What a model file or a model text wants of its frames, and its classes. */
static int read_model(const char *path, struct ctt_input *in,
                      struct ctt_model **out)
{
    struct ctt_graph *g = NULL;
    char *text = NULL;
    int rc = 0;

    if (!ctt_tool_is_net(path)) {
        CTT_TRY(ctt_model_load(path, 0, out));
        *in = (*out)->g->node[ctt_graph_input((*out)->g)].attr.input;
        goto out;
    }
    CTT_TRY(ctt_net_read(path, &text));
    rc = ctt_net_parse(text, &g);
    if (rc < 0)
        CTT_TRY(ctt_error(rc, "%s: %s", path, ctt_errmsg()));
    *in = g->node[ctt_graph_input(g)].attr.input;
out:
    ctt_free(text);
    ctt_graph_free(&g);
    return rc;
}

static int pack_clip(const struct cfg *c, struct ctt_pack *p,
                     const struct ctt_source *s, int i, int *bad)
{
    const struct ctt_item *item = &ctt_source_list(s)->item[i];
    struct ctt_frames f = { NULL, 0, 0, 0, 0, 0 };
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

static int pack(const struct cfg *c, const char *path)
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

/* ---- all splits there are ---- */

enum { SPLITS = 3 };
static const char *const splits[SPLITS] = { "train", "validation", "test" };

struct part { const char *name; struct ctt_source *s; };

static const struct ctt_list *list_of(const struct part *part)
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

/* Whether part[count] lists the same as one of the parts before it. */
static int is_repeated(const struct part *part, int count)
{
    for (int i = 0; i < count; i++)
        if (same_list(list_of(&part[i]), list_of(&part[count])))
            return 1;
    return 0;
}

static int open_part(const struct cfg *c, const char *path, struct part *part)
{
    const struct ctt_source_set set = { .split = part->name,
        .need_split = c->split != NULL, .classes = c->classes, .any_input = 1,
        .drawn_for = drawn_for };

    return ctt_source_open(path, &set, &ctt_check_input, &part->s);
}

/* The splits at path, or the one that is asked for.  Data without splits gives
 * the same list for each name.  A split may be missing, but not unreadable. */
static int open_parts(const struct cfg *c, const char *path,
                      struct part part[SPLITS], int *count)
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
        struct part *p = &part[*count];
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

static void close_parts(struct part part[SPLITS])
{
    for (int i = 0; i < SPLITS; i++)
        ctt_source_close(&part[i].s);
}

/* ---- check ---- */

static int check(const struct cfg *c, const char *path)
{
    struct part part[SPLITS] = { { NULL, NULL } };
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

static void count_row(struct ctt_table *t, const struct part *part, int parts,
                      const char *name, const char *label)
{
    char row[1024];
    int n = snprintf(row, sizeof(row), "%.800s", name);

    for (int i = 0; i < parts; i++)
        n += snprintf(row + n, sizeof(row) - (size_t)n, "\t%d",
                      count_label(list_of(&part[i]), label));
    ctt_table_row(t, "%s", row);
}

static int list(const struct cfg *c, const char *path)
{
    struct part part[SPLITS] = { { NULL, NULL } };
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
    const char *word, *usage, *help;
    const struct ctt_opt *opts;
    int (*run)(const struct cfg *c, const char *path);
    int two;    /* paths, of which the second one is out */
} commands[] = {
    { "synth", "convtt-data synth OUT [OPTION...]\nMakes labelled clips, as "
      "Something-Something V2 lies on disk.", "makes labelled clips",
      synth_opts, synth },
    { "mnist", "convtt-data mnist IDX_DIR OUT.h5 [OPTION...]\nMakes "
      "Moving-MNIST: grey sequences of 64x64, a pack without classes, of "
      "the\ndigits in IDX_DIR/train-images-idx3-ubyte(.gz), or of IDX_DIR if "
      "it is a file.", "makes sequences of moving digits", mnist_opts, mnist,
      1 },
    { "pack", "convtt-data pack DATA -o OUT --model FILE [OPTION...]\nDecodes "
      "clips into one file that is read faster.", "decodes clips into one file",
      pack_opts, pack },
    { "check", "convtt-data check DATA [OPTION...]\nDecodes every clip and "
      "names the bad ones; the status is 1 if there are any.",
      "names bad clips", check_opts, check },
    { "list", "convtt-data list DATA [OPTION...]\nCounts the clips of each "
      "class and split.\nA folder whose clips all have personNN_ in their "
      "names has KTH's splits: persons\n01 to 16 train, 17 to 25 validation "
      "and test.", "counts clips", list_opts, list },
};

static int help(void)
{
    printf("Usage: convtt-data COMMAND ...\n\nCommands (--help after one shows "
           "its options):\n");
    for (size_t i = 0; i < CTT_LEN(commands); i++)
        printf("  %-8s%s\n", commands[i].word, commands[i].help);
    return 0;
}

static int run(size_t k, int argc, char **argv)
{
    struct cfg c;
    int first, done = 0, rc;

    memset(&c, 0, sizeof(c));
    first = ctt_opt_main(commands[k].opts, commands[k].usage, &c, argc, argv,
                         &done);
    if (done && first >= 0)
        return 0;
    if (first < 0)
        return ctt_tool_fail(CTT_EXIT_USAGE);
    if (argc - first != (commands[k].two ? 2 : 1))
        return ctt_tool_die(CTT_EXIT_USAGE, commands[k].two
                            ? "%s takes two paths (see --help)"
                            : "%s takes one path (see --help)",
                            commands[k].word);
    if (commands[k].two)
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
    for (size_t i = 0; i < CTT_LEN(commands); i++)
        if (strcmp(word, commands[i].word) == 0)
            return run(i, argc - 1, argv + 1);
    if (strcmp(word, "--help") == 0)
        return help();
    if (strcmp(word, "--version") == 0)
        return printf("convtt %s\n", CTT_VERSION) < 0;
    return ctt_tool_die(CTT_EXIT_USAGE, word[0]
                        ? "no command '%s' (see --help)"
                        : "no command given%s (see --help)", word);
}
