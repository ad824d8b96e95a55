/* SPDX-License-Identifier: Apache-2.0
 * text.c: reads a text file: its symbols, their vocabulary, its sentences. */
#include "video/text/text.h"
#include "base/newfile.h"
#include "base/visible.h"
#include "net/code/zip.h"
#include "video/list/listing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 1 << 29,    /* bytes of a file */
       WORD = 96,         /* bytes of a word; a longer one is unknown */
       EOS = 0, UNKNOWN = 1, SPECIAL = 2 };

struct piece { int at, count; };

struct ctt_text {
    int            *symbol;    /* names of all lines, with an end before and
                                  after each */
    int             count, room;
    struct ctt_names names;    /* in the order in which they came */
    int            *of;        /* of a name: its number in the vocabulary */
    int             vocab;     /* its size at most; 0: that of a model */
    struct piece   *piece;     /* per item of the list */
    int             pieces, piece_room;
    int             one;       /* they follow each other */
};

/* While a file is read. */
struct reading {
    const char      *path;     /* of the file */
    int              words;    /* else bytes */
    struct ctt_text *t;
};

static const char *path_behind(const char *path, int *words)
{
    size_t n = strlen(CTT_TEXT_WORDS), m = strlen(CTT_TEXT_BYTES);

    *words = strncmp(path, CTT_TEXT_WORDS, n) == 0;
    if (*words)
        return path + n;
    return strncmp(path, CTT_TEXT_BYTES, m) == 0 ? path + m : NULL;
}

int ctt_text_is(const char *path)
{
    int words;

    return path_behind(path, &words) != NULL;
}

int ctt_text_runs_on(const char *path)
{
    int words = 1;

    return path_behind(path, &words) != NULL && !words;
}

int ctt_text_is_one(const struct ctt_text *t)
{
    return t->one;
}

/* ---- symbols ---- */

static int put_symbol(struct ctt_text *t, int symbol)
{
    int *more = ctt_grown(t->symbol, &t->room, t->count, sizeof(*more));

    if (!more)
        return CTT_ENOMEM;
    t->symbol = more;
    t->symbol[t->count++] = symbol;
    return 0;
}

/* Adds n bytes of the text as one symbol.  Names show what a terminal would
 * obey, or not see. */
static int add_symbol(struct reading *r, const char *s, size_t n)
{
    char raw[WORD], name[4 * WORD];
    int symbol = UNKNOWN, rc = 0;

    if (n < sizeof(raw)) {
        memcpy(raw, s, n);
        raw[n] = '\0';
        ctt_visible(raw, 0, name, sizeof(name));
        if (*raw == ' ' || !*name)
            snprintf(name, sizeof(name), "\\x%02x", (unsigned char)*raw);
        CTT_TRY(symbol = ctt_names_add(&r->t->names, name));
    }
    CTT_CHECK(symbol != EOS, CTT_EFORMAT, "%s: has the word " CTT_TEXT_EOS
              ", which stands for a line end: remove or rename it", r->path);
    CTT_TRY(put_symbol(r->t, symbol));
out:
    return rc;
}

static int is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
}

/* The symbols of a line of n bytes, without its end. */
static int read_line(struct reading *r, const char *s, size_t n)
{
    int rc = 0;

    for (size_t i = 0, k; i < n; i = k) {
        k = i + 1;
        if (r->words && is_blank(s[i]))
            continue;
        if (!r->words && s[i] == '\r' && k == n)
            continue;
        while (r->words && k < n && !is_blank(s[k]))
            k++;
        CTT_TRY(add_symbol(r, s + i, k - i));
    }
out:
    return rc;
}

/* ---- sentences ---- */

/* The piece of `count` symbols behind the one at `at`, of a line of the list;
 * from: its place in the line if that has several, whose names then say that
 * they are one (ctt_name_group()), or -1.  The label is set when all symbols
 * are known. */
static int add_piece(const struct reading *r, struct ctt_list *l, int at,
                     int count, int line, int from)
{
    struct ctt_text *t = r->t;
    size_t size = strlen(r->path) + 40, n;
    char *name = ctt_calloc(size, 1);
    struct ctt_item *items;
    struct piece *pieces;
    int rc = name ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    items = ctt_grown(l->item, &l->room, l->count, sizeof(*items));
    CTT_TRY(items ? 0 : CTT_ENOMEM);
    l->item = items;
    pieces = ctt_grown(t->piece, &t->piece_room, t->pieces, sizeof(*pieces));
    CTT_TRY(pieces ? 0 : CTT_ENOMEM);
    t->piece = pieces;
    items[l->count] = (struct ctt_item){ .label = -1 };
    n = (size_t)snprintf(name, size, "%s:%d", r->path, line);
    if (from >= 0)
        snprintf(name + n, size - n, "#%d+%d", from, count);
    CTT_TRY(ctt_list_name(l, &items[l->count], name));
    t->piece[t->pieces++] = (struct piece){ at, count };
    l->count++;
out:
    ctt_free(name);
    return rc;
}

static int add_pieces(const struct reading *r, struct ctt_list *l, int from,
                      int longest, int line)
{
    int last = r->t->count - 1, rc = 0;    /* the line's own end */
    int whole = last - from <= longest;

    for (int at = from; at < last; at += longest)
        CTT_TRY(add_piece(r, l, at, last - at < longest ? last - at : longest,
                          line, whole ? -1 : at - from));
out:
    return rc;
}

/* Lines are pieces; of one text all lines together. */
static int split_lines(struct reading *r, const char *text, int64_t size,
                      int longest, struct ctt_list *l)
{
    const char *end = text + size;
    int line = 0, rc = 0;

    CTT_TRY(put_symbol(r->t, EOS));
    for (const char *s = text; s < end; s++) {
        const char *stop = memchr(s, '\n', (size_t)(end - s));
        int from = r->t->count;

        stop = stop ? stop : end;
        line++;
        CTT_TRY(read_line(r, s, (size_t)(stop - s)));
        s = stop;
        if (r->t->count == from)
            continue;
        CTT_TRY(put_symbol(r->t, EOS));
        if (!r->t->one)
            CTT_TRY(add_pieces(r, l, from - 1, longest, line));
    }
    if (r->t->one)
        CTT_TRY(add_pieces(r, l, 0, longest, 1));
    CTT_CHECK(l->count, CTT_EFORMAT, "%s: no line has %s", r->path,
              r->words ? "words" : "characters");
out:
    return rc;
}

/* ---- the vocabulary ---- */

struct rank { int64_t times; int name; };

/* The most frequent first; of equal ones the first in the text. */
static int by_times(const void *a, const void *b)
{
    const struct rank *x = a, *y = b;

    if (x->times != y->times)
        return x->times > y->times ? -1 : 1;
    return x->name - y->name;
}

/* How often each name comes in n pieces, or in all. */
static void count_names(const struct ctt_text *t, const int *piece, int n,
                        int64_t *times)
{
    for (int i = 0; i < n; i++) {
        const struct piece *p = &t->piece[piece ? piece[i] : i];

        for (int k = 1; k <= p->count; k++)
            times[t->symbol[p->at + k]]++;
    }
}

/* Numbers the most frequent names of these pieces; label: their names. */
static int own_vocabulary(struct ctt_text *t, const int *piece, int pieces,
                          char **label, int *labels)
{
    int n = t->names.count;
    struct rank *rank = ctt_calloc((size_t)n + 1, sizeof(*rank));
    int64_t *times = ctt_calloc((size_t)n + 1, sizeof(*times));
    int rc = rank && times ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    count_names(t, piece, pieces, times);
    for (int k = 0; k < n; k++)
        rank[k] = (struct rank){ k < SPECIAL ? INT64_MAX : times[k], k };
    qsort(rank, (size_t)n, sizeof(*rank), by_times);
    *labels = 0;
    for (int k = 0; k < n; k++) {
        int in = k < t->vocab && rank[k].times;

        t->of[rank[k].name] = in ? k : UNKNOWN;
        if (in)
            label[(*labels)++] = t->names.name[rank[k].name];
    }
out:
    ctt_free(times);
    ctt_free(rank);
    return rc;
}

/* The same with the vocabulary of a model. */
static int their_vocabulary(const struct reading *r,
                            const struct ctt_text_set *set)
{
    const struct ctt_names *own = &r->t->names;
    int *of = r->t->of;
    struct ctt_names known = { NULL, 0, 0, NULL, 0, NULL };
    int rc = 0, unknown, found = 0;

    for (int k = 0; k < set->nknown; k++)
        CTT_TRY(ctt_names_add(&known, set->known[k]));
    unknown = ctt_names_find(&known, CTT_TEXT_UNKNOWN);
    CTT_CHECK(unknown >= 0 && ctt_names_find(&known, CTT_TEXT_EOS) >= 0,
              CTT_EINVAL, "%s: the model was not trained on text: among its "
              "%d classes are no " CTT_TEXT_EOS " and " CTT_TEXT_UNKNOWN,
              r->path, set->nknown);
    for (int k = 0; k < own->count; k++) {
        of[k] = ctt_names_find(&known, own->name[k]);
        found += k >= SPECIAL && of[k] >= 0;
        of[k] = of[k] < 0 ? unknown : of[k];
    }
    CTT_CHECK(found, CTT_EFORMAT, "%s: none of its %d %s is in the model's "
              "vocabulary (%s and %s are two kinds of symbols)", r->path,
              own->count - SPECIAL, r->words ? "words" : "characters",
              CTT_TEXT_BYTES, CTT_TEXT_WORDS);
out:
    ctt_names_clear(&known);
    return rc < 0 ? rc : 0;
}

/* The list has the vocabulary as labels. */
static int set_labels(const struct ctt_text *t, struct ctt_list *l,
                      char *const *label, int labels)
{
    int rc;

    ctt_free(l->label);
    CTT_TRY(ctt_list_labels(l, label, labels));
    for (int i = 0; i < l->count; i++)
        l->item[i].label = t->of[t->symbol[t->piece[i].at +
                                           t->piece[i].count]];
    l->all = l->count;
    l->all_labels = l->chosen = l->labels;
out:
    return rc;
}

int ctt_text_recount(struct ctt_text *t, const int *piece, int pieces,
                     struct ctt_list *l)
{
    char **label = ctt_calloc((size_t)t->names.count + 1, sizeof(*label));
    int labels, rc = label ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    if (t->vocab) {
        CTT_TRY(own_vocabulary(t, piece, pieces, label, &labels));
        CTT_TRY(set_labels(t, l, label, labels));
    }
out:
    ctt_free(label);
    return rc;
}

static int take_vocabulary(struct reading *r, const struct ctt_text_set *set,
                           struct ctt_list *l)
{
    struct ctt_text *t = r->t;
    int rc = 0;

    t->of = ctt_calloc((size_t)t->names.count + 1, sizeof(*t->of));
    CTT_TRY(t->of ? 0 : CTT_ENOMEM);
    t->vocab = set->nknown ? 0 : set->vocab;
    if (!set->nknown)
        return ctt_text_recount(t, NULL, t->pieces, l);
    CTT_TRY(their_vocabulary(r, set));
    CTT_TRY(set_labels(t, l, set->known, set->nknown));
out:
    return rc;
}

/* ---- a file ---- */

int ctt_text_open(const char *path, const struct ctt_text_set *set,
                  struct ctt_list *list, struct ctt_text **out)
{
    struct reading r = { .t = ctt_calloc(1, sizeof(*r.t)) };
    char *text = NULL;
    int64_t size, mark;
    int longest, rc = r.t ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    r.path = path_behind(path, &r.words);
    r.t->one = set->windows && !r.words;
    longest = r.t->one ? CTT_TEXT_WINDOW : CTT_TEXT_LONGEST;
    CTT_TRY(ctt_file_text(r.path, MOST, &text, &size));
    mark = (int64_t)ctt_mark_utf8(text, (size_t)size);
    CTT_CHECK(!ctt_mark_utf16(text, (size_t)size), CTT_EFORMAT,
              "%s: text of UTF-16; UTF-8, or any other with one byte for a "
              "blank and a line end, is read", r.path);
    CTT_CHECK(!r.words || !memchr(text, '\0', (size_t)size), CTT_EFORMAT,
              "%s: has a NUL byte, which no word has; remove it", r.path);
    CTT_TRY(ctt_names_add(&r.t->names, CTT_TEXT_EOS));
    CTT_TRY(ctt_names_add(&r.t->names, CTT_TEXT_UNKNOWN));
    CTT_TRY(split_lines(&r, text + mark, size - mark,
                        set->longest ? set->longest : longest, list));
    CTT_TRY(take_vocabulary(&r, set, list));
    list->form = r.words ? "words of a text" : "characters of a text";
    *out = r.t;
    r.t = NULL;
out:
    ctt_text_close(&r.t);
    ctt_free(text);
    return rc < 0 ? rc : 0;
}

void ctt_text_close(struct ctt_text **t)
{
    if (!*t)
        return;
    ctt_free((*t)->symbol);
    ctt_free((*t)->piece);
    ctt_free((*t)->of);
    ctt_names_clear(&(*t)->names);
    ctt_free(*t);
    *t = NULL;
}

int ctt_text_frames(const struct ctt_text *t, int i, struct ctt_frames *out)
{
    const struct piece *p = &t->piece[i];
    uint8_t *data = ctt_calloc((size_t)p->count, CTT_TEXT_BYTES_EACH);

    if (!data)
        return CTT_ENOMEM;
    for (int k = 0; k < p->count * CTT_TEXT_BYTES_EACH; k++)
        data[k] = (uint8_t)(t->of[t->symbol[p->at + k / CTT_TEXT_BYTES_EACH]]
                            >> 8 * (k % CTT_TEXT_BYTES_EACH));
    *out = (struct ctt_frames){ .data = data, .count = p->count, .h = 1, .w = 1,
        .c = CTT_TEXT_BYTES_EACH, .seen = p->count, .stated = p->count };
    return 0;
}

uint32_t ctt_text_crc(const struct ctt_text *t)
{
    uint32_t crc = 0;

    for (int i = 0; i < t->count; i++)
        crc = ctt_crc32(crc, &t->of[t->symbol[i]], (int)sizeof(*t->of), 1);
    return crc;
}
