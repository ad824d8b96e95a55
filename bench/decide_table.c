/* SPDX-License-Identifier: Apache-2.0
 * decide_table.c: reads the table of convtt-infer --calibrate --answers. */
#include "bench/decide_table.h"
#include "tools/infer/infer_tool.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 1 << 14, TEXTS = 4, FIELDS = 7 };

/* Cuts a line into fields, of which some are quoted; returns their number. */
static int split_fields(char *s, char *field[FIELDS])
{
    int n = 0;

    while (n < FIELDS) {
        char *to = s;
        int quoted = *s == '"';

        field[n++] = to;
        s += quoted;
        while (*s && (quoted || (*s != ',' && *s != '\n'))) {
            if (quoted && *s == '"' && *++s != '"')
                break;
            *to++ = *s++;
        }
        quoted = *s == ',';
        s += *s != '\0';
        *to = '\0';
        if (!quoted)
            break;
    }
    return n;
}

/* The names of classes so far. */
struct names { char *of[CTT_HEAD_CLASSES]; int count; };

/* The number of a class, which is a new one if it has none. */
static int name_index(struct names *n, const char *name)
{
    int i = 0, rc = 0;

    while (i < n->count && strcmp(n->of[i], name) != 0)
        i++;
    if (i < n->count)
        return i;
    CTT_CHECK(i < CTT_HEAD_CLASSES, CTT_EUNSUP, "more than %d classes", i);
    CTT_TRY((n->of[i] = ctt_strdup(name)) ? 0 : CTT_ENOMEM);
    rc = n->count++;
out:
    return rc;
}

/* Takes a line: check 0 begins a clip. */
static int add_line(char *line, int row, const char *path, struct names *names,
                    struct ctt_answers *all)
{
    char *f[FIELDS];
    struct ctt_answer *a = NULL;
    int rc = 0, k;

    CTT_CHECK(split_fields(line, f) == FIELDS, CTT_EFORMAT,
              "%s:%d: not %d fields", path, row, FIELDS);
    if (atoi(f[5]) == 1)
        CTT_TRY(ctt_answers_add(all, f[0], &a));
    CTT_CHECK(all->count > 0, CTT_EFORMAT, "%s:%d: not check 1", path, row);
    a = all->of[all->count - 1];
    k = a->checks;
    CTT_CHECK(k < CTT_DECISION_CHECKS && atoi(f[5]) == ctt_decision_frame(k) &&
              atoi(f[4]) >= atoi(f[5]), CTT_EFORMAT, "%s:%d: no check after "
              "frame %s", path, row, f[5]);
    a->frames = atoi(f[4]);
    CTT_TRY(a->label = name_index(names, f[1]));
    CTT_TRY(a->end = name_index(names, f[2]));
    CTT_TRY(a->answer[k] = name_index(names, f[3]));
    a->sure[k] = strtof(f[6], NULL);
    a->checks++;
    rc = 0;
out:
    return rc;
}

static int read_answers(const char *path, FILE *f, struct names *names,
                        struct ctt_answers *all)
{
    char line[LINE];
    int rc = 0, row = 1;

    CTT_CHECK(fgets(line, LINE, f) && strncmp(line, CTT_ANSWERS_BEGIN,
              sizeof(CTT_ANSWERS_BEGIN) - 1) == 0, CTT_EFORMAT,
              "%s: not a table of --answers", path);
    while (fgets(line, LINE, f))
        CTT_TRY(add_line(line, ++row, path, names, all));
out:
    return rc;
}

int decide_read(const char *path, struct decide_clips *out)
{
    static const struct ctt_head none = { 0 };
    struct ctt_answers all = { NULL };
    struct names names = { .count = 0 };
    FILE *f = fopen(path, "r");
    int rc = 0;

    CTT_CHECK(f, CTT_EIO, "%s: %s", path, strerror(errno));
    CTT_TRY(read_answers(path, f, &names, &all));
    CTT_TRY(ctt_answers_trials(&all, &none, &out->t));
    out->frames = ctt_calloc((size_t)all.count + 1, sizeof(*out->frames));
    CTT_TRY(out->frames ? 0 : CTT_ENOMEM);
    for (int i = 0; i < all.count; i++)
        out->frames[i] = all.of[i]->frames;
    out->answers = all;
    out->classes = names.count;
    all = (struct ctt_answers){ NULL };
out:
    for (int i = 0; i < names.count; i++)
        ctt_free(names.of[i]);
    ctt_answers_free(&all);
    if (f)
        fclose(f);
    return rc;
}

void decide_free(struct decide_clips *c)
{
    ctt_answers_trials_free(&c->t);
    ctt_answers_free(&c->answers);
    ctt_free(c->frames);
}
