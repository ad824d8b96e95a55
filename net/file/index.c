/* SPDX-License-Identifier: Apache-2.0
 * index.c: the index of a model file: a line of text per weight, and per array
 * of the training state. */
#include "net/file/store.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- words and numbers ---- */

/* Cuts the next word off; NULL at the end of the line. */
static char *word(char **p)
{
    char *s = *p;

    if (!s)
        return NULL;
    *p = strchr(s, ' ');
    if (*p)
        *(*p)++ = '\0';
    return s;
}

/* Cuts the next line off; NULL at the end of the text. */
static char *next_line(char **p)
{
    char *s = *p, *end = strchr(s, '\n');

    if (!end)
        return NULL;
    *end = '\0';
    *p = end + 1;
    return s;
}

static int parse_count(const char *s, int64_t *out)
{
    if (!s || !*s || s[strspn(s, "0123456789")])
        return 0;
    errno = 0;
    *out = strtoll(s, NULL, 10);
    return errno == 0;
}

/* Eight digits, the last word of a line. */
static int checksum(char *s, const char *rest, uint32_t *out)
{
    if (!s || rest || strlen(s) != 8 || s[strspn(s, "0123456789abcdef")])
        return 0;
    *out = (uint32_t)strtoul(s, NULL, 16);
    return 1;
}

static int copy_word(char *to, size_t room, const char *s)
{
    if (!s || !*s || strlen(s) >= room)
        return 0;
    strcpy(to, s);
    return 1;
}

/* ---- weights ---- */

static void print_shape(const struct ctt_node *n, int k, char *s, size_t room)
{
    int64_t dim[5];
    int rank = ctt_weight_shape(n, k, dim), at = 0;

    for (int i = 0; i < rank; i++)
        at += snprintf(s + at, room - (size_t)at, "%s%" PRId64, i ? "," : "",
                       dim[i]);
}

int ctt_index_print(const struct ctt_node *n, int k, const struct ctt_entry *e,
                    char line[CTT_STORE_LINE])
{
    char shape[128];

    print_shape(n, k, shape, sizeof(shape));
    return snprintf(line, CTT_STORE_LINE, "%s %s %s %s %s %" PRId64 " %" PRId64
                    " %08" PRIx32 "\n", e->s.name, shape, e->s.positions,
                    e->s.values, e->s.bytes, e->s.kept, e->s.size, e->crc);
}

/* Parses the words after name and shape. */
static int parse_coding(char *p, struct ctt_entry *e)
{
    struct ctt_stored *s = &e->s;
    char *last;

    if (!copy_word(s->positions, sizeof(s->positions), word(&p)) ||
        !copy_word(s->values, sizeof(s->values), word(&p)) ||
        !copy_word(s->bytes, sizeof(s->bytes), word(&p)) ||
        !parse_count(word(&p), &s->kept) || !parse_count(word(&p), &s->size))
        return 0;
    last = word(&p);
    return checksum(last, p, &e->crc) && s->kept <= s->params;
}

static int parse_entry(char *line, const struct ctt_node *n, int k,
                       struct ctt_entry *e)
{
    char want[128], *name, *shape;
    int rc = 0;

    ctt_weight_title(n, k, e->s.name);
    e->s.params = ctt_volume(&n->w[k]);
    CTT_CHECK(line, CTT_EFORMAT, "weight '%s' is missing", e->s.name);
    name = word(&line);
    shape = word(&line);
    CTT_CHECK(strcmp(name, e->s.name) == 0, CTT_EFORMAT,
              "weight '%.60s' stands where the net has '%s'", name, e->s.name);
    print_shape(n, k, want, sizeof(want));
    CTT_CHECK(shape && strcmp(shape, want) == 0, CTT_EFORMAT,
              "weight '%s' has shape %.80s but the net says %s", name,
              shape ? shape : "", want);
    CTT_CHECK(parse_coding(line, e), CTT_EFORMAT,
              "weight '%s': its line of the index is damaged", name);
out:
    return rc;
}

int ctt_index_parse(char *text, const struct ctt_graph *g,
                    struct ctt_entry **out, int *count)
{
    struct ctt_entry *e = NULL;
    int rc = 0, n = 0, at = 0;

    for (int i = 0; i < g->count; i++)
        n += g->node[i].nw;
    e = ctt_calloc((size_t)n, sizeof(*e));
    CTT_TRY(e ? 0 : CTT_ENOMEM);
    for (int i = 0; i < g->count; i++)
        for (int k = 0; k < g->node[i].nw; k++)
            CTT_TRY(parse_entry(next_line(&text), &g->node[i], k, &e[at++]));
    CTT_CHECK(*text == '\0', CTT_EFORMAT, "weight '%.*s' is not in the net",
              (int)strcspn(text, " \n"), text);
    *out = e;
    *count = n;
    e = NULL;
out:
    ctt_free(e);
    return rc;
}

/* ---- arrays ---- */

int ctt_index_print_array(const struct ctt_array *a, uint32_t crc,
                          char line[CTT_STORE_LINE])
{
    return snprintf(line, CTT_STORE_LINE, "%s %d %" PRId64 " %08" PRIx32 "\n",
                    a->name, a->size, a->count, crc);
}

int ctt_index_parse_array(char **text, struct ctt_array *a, uint32_t *crc)
{
    char *p = next_line(text), *last;
    int64_t size = 0;
    int rc = 1;

    if (!p) {
        CTT_CHECK(**text == '\0', CTT_EFORMAT, "its last line does not end");
        return 0;
    }
    CTT_CHECK(copy_word(a->name, sizeof(a->name), word(&p)) &&
              parse_count(word(&p), &size) &&
              parse_count(word(&p), &a->count) &&
              (size == 1 || size == 4 || size == 8), CTT_EFORMAT,
              "a line is damaged");
    last = word(&p);
    CTT_CHECK(checksum(last, p, crc), CTT_EFORMAT, "a line is damaged");
    a->size = (int)size;
out:
    return rc;
}
