/* SPDX-License-Identifier: Apache-2.0
 * map.c: reads the text that names a tensor for each weight. */
#include "exchange/weights/fill.h"
#include "base/newfile.h"

#include <stdio.h>
#include <string.h>

enum { MAP_MOST = 1 << 24, WORDS = 3 };

/* Cuts a line into words; their number, at most WORDS + 1. */
static int cut_words(char *line, char *word[WORDS + 1])
{
    static const char blank[] = " \t\r";
    int n = 0;

    line[strcspn(line, "#")] = 0;
    for (char *p = line; n <= WORDS; n++) {
        p += strspn(p, blank);
        if (!*p)
            break;
        word[n] = p;
        p += strcspn(p, blank);
        if (*p)
            *p++ = 0;
    }
    return n;
}

static int is_all(const char *name)
{
    size_t n = strlen(name);

    return n > 2 && strcmp(name + n - 2, ".*") == 0;
}

static int add_line(const char *path, int number, char *line,
                    struct ctt_map *m)
{
    static const char *const flat[] = { [CTT_FLAT_CHW] = "chw",
                                        [CTT_FLAT_HWC] = "hwc" };
    char *word[WORDS + 1] = { NULL };
    struct ctt_map_line *p, row = { .line = number };
    int n = cut_words(line, word), rc = 0;

    if (n == 0)
        return 0;
    for (int i = CTT_FLAT_CHW; n == WORDS && i <= CTT_FLAT_HWC; i++)
        if (strcmp(flat[i], word[2]) == 0)
            row.flat = (enum ctt_flat)i;
    CTT_CHECK(n == 2 || (n == WORDS && row.flat), CTT_EFORMAT, "%s:%d: not "
              "NODE.WEIGHT and a name, and perhaps chw or hwc", path, number);
    CTT_CHECK(strcmp(word[0], "-") != 0 || (n == 2 && !is_all(word[1])),
              CTT_EFORMAT, "%s:%d: - leaves out one tensor, by its name alone",
              path, number);
    row.weight = word[0];
    row.name = word[1];
    row.all = is_all(row.weight);
    CTT_CHECK(row.all == is_all(row.name), CTT_EFORMAT, "%s:%d: NODE.* needs "
              "a name that ends in .*, and NODE.WEIGHT one that does not",
              path, number);
    CTT_CHECK(!row.all || strlen(row.name) + CTT_NAME <= CTT_MAP_NAME,
              CTT_EFORMAT, "%s:%d: a name above %d bytes", path, number,
              CTT_MAP_NAME - CTT_NAME);
    p = ctt_grown(m->row, &m->room, m->count, sizeof(*p));
    CTT_TRY(p ? 0 : CTT_ENOMEM);
    m->row = p;
    p[m->count++] = row;
out:
    return rc;
}

int ctt_map_read(const char *path, struct ctt_map *out)
{
    struct ctt_map m = { NULL, NULL, 0, 0 };
    int64_t size;
    int number = 0, rc;

    CTT_TRY(ctt_file_text(path, MAP_MOST, &m.text, &size));
    CTT_CHECK(!memchr(m.text, 0, (size_t)size), CTT_EFORMAT, "%s: no text: "
              "a 0 in it", path);
    for (char *line = m.text, *next; line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = 0;
        CTT_TRY(add_line(path, ++number, line, &m));
    }
    *out = m;
    m = (struct ctt_map){ NULL, NULL, 0, 0 };
out:
    ctt_map_free(&m);
    return rc;
}

void ctt_map_free(struct ctt_map *m)
{
    ctt_free(m->text);
    ctt_free(m->row);
    *m = (struct ctt_map){ NULL, NULL, 0, 0 };
}

static int is_of(const struct ctt_map_line *p, const char *weight)
{
    size_t node = strlen(p->weight) - 1;

    return strcmp(p->weight, weight) == 0 ||
           (p->all && strncmp(p->weight, weight, node) == 0 &&
            !strchr(weight + node, '.'));
}

struct ctt_map_line *ctt_map_find(const struct ctt_map *m, const char *weight,
                                  const char *name)
{
    for (int i = 0; i < m->count; i++)
        if ((!weight || is_of(&m->row[i], weight)) &&
            (!name || strcmp(m->row[i].name, name) == 0))
            return &m->row[i];
    return NULL;
}

const char *ctt_map_tensor(const struct ctt_map_line *p, const char *weight,
                           char text[CTT_MAP_NAME])
{
    static const char *const torch[][2] = {
        { "w", "weight" }, { "b", "bias" }, { "gamma", "weight" },
        { "beta", "bias" }, { "mean", "running_mean" }, { "var", "running_var" }
    };
    const char *word = strrchr(weight, '.') + 1;

    if (!p->all)
        return p->name;
    for (size_t i = 0; i < CTT_LEN(torch); i++)
        if (strcmp(torch[i][0], word) == 0) {
            word = torch[i][1];
            break;
        }
    snprintf(text, CTT_MAP_NAME, "%.*s%s", (int)strlen(p->name) - 1, p->name,
             word);
    return text;
}
