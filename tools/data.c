/* SPDX-License-Identifier: Apache-2.0
 * data.c: convtt-data: makes clips, packs them, checks them, counts them. */
#include "net/file.h"
#include "tools/data_opt.h"
#include "tools/tool.h"
#include "video/video.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

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

static int pack_clip(const struct ctt_data_cfg *c, struct ctt_pack *p,
                     const struct ctt_input *in, const struct ctt_item *item,
                     int *bad)
{
    struct ctt_frames f = { NULL, 0, 0, 0, 0, 0 };
    int rc = ctt_frames_load(item->path, in, c->max_frames, &f);

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
    struct ctt_model *m = NULL;
    struct ctt_list *l = NULL;
    struct ctt_pack *p = NULL;
    struct ctt_input in;
    int bad = 0, rc = 0;

    ctt_tool_catch();
    CTT_TRY(read_model(c->model, &in, &m));
    CTT_TRY(ctt_list_open(path, c->split, m && m->labels ? m->label : NULL,
                          m ? m->labels : 0, c->classes, &l));
    CTT_TRY(ctt_pack_create(c->out, &in, l->label, l->labels, &p));
    for (int i = 0; i < l->count; i++) {
        CTT_CHECK(!ctt_tool_stop(), CTT_EINVAL, "stopped; %s is not written",
                  c->out);
        CTT_TRY(pack_clip(c, p, &in, &l->item[i], &bad));
        ctt_tool_progress(0, "clip %d of %d", i + 1, l->count);
    }
    CTT_CHECK(bad < l->count, CTT_EFORMAT, "%s: no usable clip in %d", path,
              l->count);
    CTT_TRY(ctt_pack_finish(&p));
    ctt_tool_say("%s: %d clips, %d bad clips skipped", c->out, l->count - bad,
                 bad);
out:
    ctt_pack_close(&p);
    ctt_list_free(&l);
    ctt_model_free(&m);
    return rc;
}

/* ---- all splits there are ---- */

enum { SPLITS = 3 };
static const char *const splits[SPLITS] = { "train", "validation", "test" };

struct part { const char *name; struct ctt_list *l; };

static int same_list(const struct ctt_list *a, const struct ctt_list *b)
{
    if (a->count != b->count)
        return 0;
    for (int i = 0; i < a->count; i++)
        if (strcmp(a->item[i].path, b->item[i].path) != 0)
            return 0;
    return 1;
}

static int has_list(const struct part *part, int count,
                    const struct ctt_list *l)
{
    for (int i = 0; i < count; i++)
        if (same_list(part[i].l, l))
            return 1;
    return 0;
}

/* The splits at path, or the one that is asked for.  Data without splits gives
 * the same list for each name.  A split may be missing, but not unreadable. */
static int open_parts(const struct ctt_data_cfg *c, const char *path,
                      struct part part[SPLITS], int *count)
{
    int rc = 0;

    *count = 0;
    if (c->split) {
        part[0].name = c->split;
        CTT_TRY(ctt_list_open(path, c->split, NULL, 0, c->classes,
                              &part[0].l));
        *count = 1;
        goto out;
    }
    for (int i = 0; i < SPLITS; i++) {
        struct part *p = &part[*count];
        p->name = splits[i];
        rc = ctt_list_open(path, splits[i], NULL, 0, c->classes, &p->l);
        if (rc >= 0 && has_list(part, *count, p->l))
            ctt_list_free(&p->l);
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
        ctt_list_free(&part[i].l);
}

/* ---- check ---- */

struct checker {
    const struct ctt_list *l;
    char          **why;
    int             next, done, rc;
    pthread_mutex_t lock;
};

/* Frames as small as they go: what is looked for is whether they decode. */
static void *check_worker(void *arg)
{
    static const struct ctt_input in = { 1, 16, 16, 3, 0, { 0 },
        { 1, 1, 1 }, 1, CTT_FIT_STRETCH, CTT_RGB };
    struct checker *k = arg;

    for (;;) {
        struct ctt_frames f = { NULL, 0, 0, 0, 0, 0 };
        int i, rc;

        pthread_mutex_lock(&k->lock);
        i = k->next < k->l->count && !ctt_tool_stop() ? k->next++ : -1;
        pthread_mutex_unlock(&k->lock);
        if (i < 0)
            return NULL;
        rc = ctt_frames_load(k->l->item[i].path, &in, 0, &f);
        ctt_frames_free(&f);
        if (rc < 0 && rc != CTT_ENOMEM)
            k->why[i] = ctt_strdup(ctt_errmsg());
        pthread_mutex_lock(&k->lock);
        k->done++;
        k->rc = rc < 0 && !k->why[i] ? CTT_ENOMEM : k->rc;
        ctt_tool_progress(0, "clip %d of %d", k->done, k->l->count);
        pthread_mutex_unlock(&k->lock);
    }
}

static int check_list(const struct ctt_list *l, int workers, int *bad)
{
    struct checker k = { .l = l };
    pthread_t id[256];
    int n = 0, rc = 0;

    pthread_mutex_init(&k.lock, NULL);
    k.why = ctt_calloc((size_t)l->count + 1, sizeof(*k.why));
    CTT_TRY(k.why ? 0 : CTT_ENOMEM);
    while (n < workers &&
           pthread_create(&id[n], NULL, check_worker, &k) == 0)
        n++;
    if (n == 0)
        check_worker(&k);
    while (n > 0)
        pthread_join(id[--n], NULL);
    CTT_CHECK(!ctt_tool_stop(), CTT_EINVAL, "stopped");
    for (int i = 0; i < l->count; i++) {
        if (!k.why[i])
            continue;
        ctt_tool_say("%s", k.why[i]);
        ++*bad;
    }
    if (k.rc < 0)    /* the message is another thread's */
        CTT_TRY(ctt_error(k.rc, "out of memory: clips"));
out:
    for (int i = 0; k.why && i < l->count; i++)
        ctt_free(k.why[i]);
    ctt_free(k.why);
    pthread_mutex_destroy(&k.lock);
    return rc;
}

static int check(const struct ctt_data_cfg *c, const char *path)
{
    struct part part[SPLITS] = { { NULL, NULL } };
    int parts, bad = 0, all = 0, rc = 0;

    ctt_tool_catch();
    CTT_TRY(open_parts(c, path, part, &parts));
    for (int i = 0; i < parts; i++) {
        CTT_TRY(check_list(part[i].l, c->workers, &bad));
        all += part[i].l->count;
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
                      count_label(part[i].l, label));
    ctt_table_row(t, "%s", row);
}

static int list(const struct ctt_data_cfg *c, const char *path)
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
        unknown += count_label(part[i].l, NULL);
    }
    ctt_table_row(&t, "%s", head);
    for (int k = 0; k < part[0].l->labels; k++)
        count_row(&t, part, parts, part[0].l->label[k], part[0].l->label[k]);
    if (unknown)
        count_row(&t, part, parts, "(not known)", NULL);
    n = snprintf(head, sizeof(head), "all");
    for (int i = 0; i < parts; i++)
        n += snprintf(head + n, sizeof(head) - (size_t)n, "\t%d",
                      part[i].l->count);
    ctt_table_row(&t, "%s", head);
    CTT_TRY(ctt_table_print(&t));
out:
    close_parts(part);
    return rc;
}

/* ---- the commands ---- */

static const struct {
    int (*run)(const struct ctt_data_cfg *c, const char *path);
    int paths;    /* operands; the second one is out */
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
    if (first < 0)
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
