/* SPDX-License-Identifier: Apache-2.0
 * repeat.c: lines of a model text that are read several times. */
#include "net/let.h"
#include "base/ctt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLANK " \t\r"

/* Turns of a loop, and bytes of a text that are read once more. */
enum { MOST_TURNS = 10000, MOST_AGAIN = 1 << 24 };

/* The rest of a line behind its first word, or NULL: it is another word. */
static const char *behind(const char *line, const char *word)
{
    size_t n = strlen(word);

    line += strspn(line, " \t");
    if (strncmp(line, word, n) != 0 ||
        (line[n] && !strchr(BLANK "\n#", line[n])))
        return NULL;
    return line + n + strspn(line + n, BLANK);
}

/* Moves *text behind the line "end" of a loop that is not read at all. */
static int skip_loop(const char **text, int *row)
{
    for (int open = 1; open; ) {
        if (!**text)
            return ctt_error(CTT_EFORMAT, "repeat: no line 'end' follows");
        open += (behind(*text, "repeat") != NULL) -
                (behind(*text, "end") != NULL);
        *text += strcspn(*text, "\n");
        *text += **text == '\n';
        ++*row;
    }
    return 0;
}

static void count_turn(struct ctt_lets *l, int let, int turn)
{
    snprintf(l->let[let].value, CTT_LET_VALUE, "%d", turn);
}

/* The line "repeat NAME=COUNT" behind its first word. */
static int begin_loop(struct ctt_repeats *r, struct ctt_lets *l,
                      const char *word, const char **text, int *row)
{
    const char *number = word + strcspn(word, "=");
    char *end;
    long count = *number ? strtol(number + 1, &end, 10) : -1;
    int rc = 0;

    CTT_CHECK(count >= 0 && count <= MOST_TURNS && end != number + 1 &&
              !end[strspn(end, BLANK)], CTT_EFORMAT, "repeat: '%s' is not "
              "NAME=COUNT with a count from 0 to %d", word, MOST_TURNS);
    CTT_CHECK(r->depth < CTT_LOOPS, CTT_EFORMAT, "repeat: more than %d inside "
              "each other", CTT_LOOPS);
    if (count == 0)
        return skip_loop(text, row);
    CTT_TRY(ctt_let_count(l, word, (size_t)(number - word)));
    count_turn(l, l->count - 1, 1);
    r->loop[r->depth++] = (struct ctt_loop){ *text, *row, 1, (int)count,
                                             l->count - 1 };
out:
    return rc;
}

/* The line "end": once more from the loop's first line, or past it. */
static int end_turn(struct ctt_repeats *r, struct ctt_lets *l,
                    const char **text, int *row)
{
    struct ctt_loop *loop;
    int rc = 0;

    CTT_CHECK(r->depth, CTT_EFORMAT, "end: no line 'repeat' before it");
    loop = &r->loop[r->depth - 1];
    r->again += *text - loop->body;
    CTT_CHECK(r->again <= MOST_AGAIN, CTT_EFORMAT, "repeat: the lines between "
              "'repeat' and 'end' are more than %d MiB with all their turns",
              MOST_AGAIN >> 20);
    if (loop->turn == loop->count) {
        l->count = loop->let;    /* the name is free again */
        r->depth--;
        goto out;
    }
    count_turn(l, loop->let, ++loop->turn);
    *text = loop->body;
    *row = loop->row;
out:
    return rc;
}

int ctt_repeat_line(struct ctt_repeats *r, struct ctt_lets *l, char *line,
                    const char **text, int *row)
{
    const char *loop = behind(line, "repeat"), *end = behind(line, "end");
    int rc = 0;

    CTT_CHECK(!r->depth || !behind(line, "let"), CTT_EFORMAT, "let: stands "
              "between 'repeat' and 'end'");
    CTT_CHECK(!end || !*end, CTT_EFORMAT, "end: '%s' follows, where nothing "
              "may", end);
    if (loop)
        CTT_TRY(begin_loop(r, l, loop, text, row));
    if (end)
        CTT_TRY(end_turn(r, l, text, row));
    rc = loop || end;
out:
    return rc;
}

int ctt_repeat_check(const struct ctt_repeats *r)
{
    if (r->depth)
        return ctt_error(CTT_EFORMAT, "repeat: no line 'end' follows");
    return 0;
}
