/* SPDX-License-Identifier: Apache-2.0
 * fuzz_text.c: any file is text without symbols, an error in one line, or
 * sentences of symbols that another vocabulary of the same words numbers alike.
 */
#include "tests/fuzz/fuzz.h"
#include "video/source.h"
#include "video/text/text.h"

#include <string.h>

const char *const ctt_fuzz_words[] = {
    "\n", " ", "\r\n", "\t", "<eos>", "<unk>", "\xef\xbb\xbf", "\xff\xfe",
    "\xc3\xa9", "\xff", "a", "\\xff", "\x01", NULL
};

static struct ctt_source *open_source(const char *path,
                                      const struct ctt_source_set *set)
{
    const struct ctt_input in = { .d = 1, .h = 1, .w = 1, .c = 1, .scale = 1,
                                  .std = { 1, 1, 1 } };
    struct ctt_source *s = NULL;

    if (ctt_source_open(path, set, &in, &s) < 0) {
        FUZZ_CHECK(!s);
        ctt_fuzz_refused(strchr(path, ':') + 1);
    }
    return s;
}

/* Sums of all pieces; every number is one of a label. */
static int64_t sum_of(const struct ctt_source *s)
{
    const struct ctt_list *l = ctt_source_list(s);
    int64_t sum = 0;

    FUZZ_CHECK(l->count > 0 && l->labels > 1);
    for (int i = 0; i < l->count; i++) {
        struct ctt_frames f = { 0 };

        FUZZ_CHECK(l->item[i].label >= 0 && l->item[i].label < l->labels);
        FUZZ_CHECK(ctt_source_frames(s, i, 0, 0, &f) >= 0 && f.count > 0);
        for (int k = 0; k < f.count; k++) {
            int x = ctt_text_symbol(f.data + k * CTT_TEXT_BYTES_EACH);

            FUZZ_CHECK(x < l->labels);
            sum = sum * 31 % 1000003 + x;
        }
        ctt_frames_free(&f);
    }
    return sum;
}

static void try_kind(const char *prefix, const char *file, int vocab,
                     int longest)
{
    struct ctt_source_set set = { .vocab = vocab, .longest = longest };
    struct ctt_source *s, *again;
    char path[600];

    snprintf(path, sizeof(path), "%s%s", prefix, file);
    s = open_source(path, &set);
    if (!s)
        return;
    set.label = ctt_source_list(s)->label;
    set.labels = ctt_source_list(s)->labels;
    again = open_source(path, &set);
    FUZZ_CHECK(!again || sum_of(s) == sum_of(again));
    FUZZ_CHECK(again || set.labels <= 2);    /* none is known */
    ctt_source_close(&again);
    ctt_source_close(&s);
}

/* The first byte chooses the sizes. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *file;

    ctt_fuzz_start();
    if (size < 1)
        return 0;
    file = ctt_scratch_put("a.txt", data + 1, size - 1);
    try_kind(CTT_TEXT_WORDS, file, 3 + data[0] % 16, data[0] >> 4);
    try_kind(CTT_TEXT_BYTES, file, 3 + data[0] % 16 * 20, data[0] >> 4);
    return 0;
}

size_t ctt_fuzz_seed(int i, uint8_t *p, size_t room)
{
    static const struct ctt_fuzz_text seeds[] = {
        FUZZ_TEXT("\xff" "In the beginning God\ncreated the heaven\n"),
        FUZZ_TEXT("\x21" "a b a c\r\n\r\n<unk> b\t c"),
        FUZZ_TEXT("\x21" "a b a <eos>"),
        FUZZ_TEXT("\x21" "a\0c b"),
        FUZZ_TEXT("\x02" "\xef\xbb\xbf" "caf\xc3\xa9 \xff\xfd \x01\n\n\n"),
        FUZZ_TEXT("\x30" "\xff\xfe" "a\0b\0"),
        FUZZ_TEXT("\x00" "\n \n"),
    };

    return ctt_fuzz_text(seeds, CTT_LEN(seeds), i, p, room);
}
