/* SPDX-License-Identifier: Apache-2.0
 * test_text.c: text files as sequences of symbols: odd and damaged ones, and
 * vocabularies of models. */
#include "video/text/text.h"
#include "tests/lib/check.h"
#include "video/list/listing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char file[64];

static void write_file(const char *text, size_t n)
{
    FILE *f = fopen(file, "wb");

    CU_ASSERT_FATAL(f != NULL);
    CU_ASSERT_EQUAL(fwrite(text, 1, n, f), n);
    fclose(f);
}

static int open_text(const char *prefix, const struct ctt_text_set *set,
                     struct ctt_list *l, struct ctt_text **t)
{
    char path[96];

    snprintf(path, sizeof(path), "%s%s", prefix, file);
    memset(l, 0, sizeof(*l));
    return ctt_text_open(path, set, l, t);
}

static void free_list(struct ctt_list *l)
{
    ctt_pool_clear(&l->texts);
    ctt_free(l->item);
    ctt_free(l->label);
}

/* All symbols of a text by their names: those of a piece, then its label in
 * brackets. */
static void say(const struct ctt_list *l, const struct ctt_text *t, char *to,
                size_t size)
{
    size_t n = 0;

    to[0] = '\0';
    for (int i = 0; i < l->count; i++) {
        struct ctt_frames f;

        CHECK_OK(ctt_text_frames(t, i, &f));
        for (int k = 0; k < f.count && n < size; k++)
            n += (size_t)snprintf(to + n, size - n, "%s ",
                     l->label[ctt_text_symbol(f.data +
                                              k * CTT_TEXT_BYTES_EACH)]);
        if (n < size)
            n += (size_t)snprintf(to + n, size - n, "[%s] ",
                                  l->label[l->item[i].label]);
        ctt_free(f.data);
    }
}

#define TEXT(s) s, sizeof(s) - 1

static void sentences_are_lines(void)
{
    static const struct {
        const char *prefix, *text;
        size_t      n;
        int         vocab, longest, labels;
        const char *want;
    } cases[] = {
        { "words:", TEXT("a b\nb c b\n"), 100, 0, 5,
          "<eos> a b [<eos>] <eos> b c b [<eos>] " },
        { "words:", TEXT("\n\n a\t b \r\n\r\n  \nb"), 100, 0, 4,
          "<eos> a b [<eos>] <eos> b [<eos>] " },
        { "words:", TEXT("\xef\xbb\xbf" "a <unk> b a"), 100, 0, 4,
          "<eos> a <unk> b a [<eos>] " },
        { "words:", TEXT("a b a c"), 3, 0, 3,    /* the rest is unknown */
          "<eos> a <unk> a <unk> [<eos>] " },
        { "words:", TEXT("a b c d e\n"), 100, 2, 7,
          "<eos> a [b] b c [d] d e [<eos>] " },
        { "words:", TEXT("\xfd\xff z\xc3\xa9 \x01"), 100, 0, 5,
          "<eos> \\xfd\\xff z\xc3\xa9 \\x01 [<eos>] " },
        { "text:", TEXT("ab a\r\n\\\xc3\n"), 100, 0, 7,
          "<eos> a b \\x20 a [<eos>] <eos> \\ \\xc3 [<eos>] " },
        { "text:", TEXT("a\0b\n"), 100, 0, 5,
          "<eos> a \\x00 b [<eos>] " },
    };

    for (size_t i = 0; i < CTT_LEN(cases); i++) {
        struct ctt_text_set set = { .vocab = cases[i].vocab,
                                    .longest = cases[i].longest };
        struct ctt_text *t = NULL;
        struct ctt_list l;
        char got[400];

        write_file(cases[i].text, cases[i].n);
        CHECK_OK(open_text(cases[i].prefix, &set, &l, &t));
        if (t) {
            say(&l, t, got, sizeof(got));
            CU_ASSERT_STRING_EQUAL(got, cases[i].want);
            CU_ASSERT_EQUAL(l.labels, cases[i].labels);
        }
        ctt_text_close(&t);
        free_list(&l);
    }
}

/* Windows of three symbols go on over line ends, and begin with the symbol that
 * the one before foresees last; words stay sentences. */
static void windows_are_one_text(void)
{
    struct ctt_text_set set = { .vocab = 100, .longest = 3, .windows = 1 };
    static const char *const names[] = { "#0+3", "#3+3", "#6+1" };
    struct ctt_text *t = NULL;
    char got[200], name[96];
    struct ctt_list l;

    write_file(TEXT("ab\r\n\ncab\n"));
    CHECK_OK(open_text("text:", &set, &l, &t));
    CU_ASSERT_FATAL(t != NULL);
    say(&l, t, got, sizeof(got));
    CU_ASSERT_STRING_EQUAL(got, "<eos> a b [<eos>] <eos> c a [b] b [<eos>] ");
    CU_ASSERT_EQUAL_FATAL(l.count, 3);
    for (int i = 0; i < l.count; i++) {
        snprintf(name, sizeof(name), "%s:1%s", file, names[i]);
        CU_ASSERT_STRING_EQUAL(l.item[i].id, name);
    }
    CU_ASSERT(ctt_text_is_one(t));
    ctt_text_close(&t);
    free_list(&l);
    write_file(TEXT("a b\n\nc\n"));
    CHECK_OK(open_text("words:", &set, &l, &t));
    CU_ASSERT_FATAL(t != NULL);
    say(&l, t, got, sizeof(got));
    CU_ASSERT_STRING_EQUAL(got, "<eos> a b [<eos>] <eos> c [<eos>] ");
    snprintf(name, sizeof(name), "%s:3", file);    /* the line of the file */
    CU_ASSERT_STRING_EQUAL(l.item[1].id, name);
    CU_ASSERT(!ctt_text_is_one(t));
    ctt_text_close(&t);
    free_list(&l);
}

/* Longer words than a name may be are unknown; so a file without blanks has one
 * symbol, and as bytes it is cut. */
static void huge_lines_are_cut(void)
{
    enum { HUGE = 100000 };
    static char text[HUGE];
    struct ctt_text_set set = { .vocab = 10 };
    struct ctt_text *t = NULL;
    struct ctt_list l;
    char got[64];

    memset(text, 'x', sizeof(text));
    write_file(text, sizeof(text));
    CHECK_OK(open_text("text:", &set, &l, &t));
    CU_ASSERT_EQUAL(l.count, (HUGE + 1 + CTT_TEXT_LONGEST - 1) /
                             CTT_TEXT_LONGEST);
    ctt_text_close(&t);
    free_list(&l);
    CHECK_OK(open_text("words:", &set, &l, &t));
    CU_ASSERT_EQUAL(l.count, 1);
    say(&l, t, got, sizeof(got));
    CU_ASSERT_STRING_EQUAL(got, "<eos> <unk> [<eos>] ");
    ctt_text_close(&t);
    free_list(&l);
}

/* The vocabulary of a model gives the numbers; text of other symbols is
 * refused. */
static void vocabularies_of_models(void)
{
    static char *known[] = { "b", "<unk>", "<eos>", "a" };
    static char *clips[] = { "run", "jump" };
    struct ctt_text_set set = { .known = known, .nknown = 4 };
    struct ctt_text *t = NULL;
    struct ctt_list l;
    char got[200];

    write_file(TEXT("a b c\n"));
    CHECK_OK(open_text("words:", &set, &l, &t));
    CU_ASSERT_EQUAL(l.labels, 4);
    CU_ASSERT_EQUAL(l.item[0].label, 2);
    say(&l, t, got, sizeof(got));
    CU_ASSERT_STRING_EQUAL(got, "<eos> a b <unk> [<eos>] ");
    ctt_text_close(&t);
    free_list(&l);
    write_file(TEXT("d e\n"));
    CU_ASSERT_EQUAL(open_text("words:", &set, &l, &t), CTT_EFORMAT);
    CU_ASSERT(strstr(ctt_errmsg(), "none of its 2 words is in") != NULL);
    free_list(&l);
    set = (struct ctt_text_set){ .known = clips, .nknown = 2 };
    CU_ASSERT_EQUAL(open_text("words:", &set, &l, &t), CTT_EINVAL);
    CU_ASSERT(strstr(ctt_errmsg(), "was not trained on text") != NULL);
    free_list(&l);
}

static void bad_files_are_named(void)
{
    static const struct { const char *text; size_t n; const char *why; }
    cases[] = {
        { TEXT(""), "no line has words" },
        { TEXT("\n \r\n\n"), "no line has words" },
        { TEXT("\xff\xfe" "a\0"), "UTF-16" },
        { TEXT("a b\0c"), "NUL" },
        { TEXT("a b <eos>\n"), "the word <eos>" },
    };
    struct ctt_text_set set = { .vocab = 10 };
    struct ctt_text *t = NULL;
    struct ctt_list l;

    for (size_t i = 0; i < CTT_LEN(cases); i++) {
        write_file(cases[i].text, cases[i].n);
        CU_ASSERT_EQUAL(open_text("words:", &set, &l, &t), CTT_EFORMAT);
        CU_ASSERT(strstr(ctt_errmsg(), cases[i].why) != NULL);
        CU_ASSERT(strstr(ctt_errmsg(), file) != NULL);
        free_list(&l);
    }
    unlink(file);
    CU_ASSERT_EQUAL(open_text("words:", &set, &l, &t), CTT_EIO);
    free_list(&l);
}

/* The k-th allocation fails. */
static void memory_may_end(void)
{
    struct ctt_text_set set = { .vocab = 10 };
    struct ctt_text *t = NULL;
    struct ctt_list l;
    int rc = CTT_ENOMEM;

    write_file(TEXT("a b c\nb c d\n"));
    for (long k = 1; rc == CTT_ENOMEM && k < 200; k++) {
        ctt_fail_alloc(k);
        rc = open_text("words:", &set, &l, &t);
        ctt_fail_alloc(0);
        CU_ASSERT(rc == CTT_ENOMEM || k > 5);
        ctt_text_close(&t);
        free_list(&l);
    }
    CU_ASSERT(rc >= 0);
}

static int open_file(void)
{
    int fd;

    snprintf(file, sizeof(file), "test_text.XXXXXX");
    fd = mkstemp(file);
    if (fd < 0)
        return -1;
    close(fd);
    return 0;
}

static int remove_file(void)
{
    unlink(file);
    return 0;
}

static CU_TestInfo tests[] = {
    { "sentences are lines", sentences_are_lines },
    { "windows are one text", windows_are_one_text },
    { "huge lines are cut", huge_lines_are_cut },
    { "vocabularies of models", vocabularies_of_models },
    { "bad files are named", bad_files_are_named },
    { "memory may end", memory_may_end },
    CU_TEST_INFO_NULL
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { "text", open_file, remove_file, NULL, NULL, tests },
        CU_SUITE_INFO_NULL
    };

    return ctt_check_main(suites);
}
