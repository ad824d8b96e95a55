/* SPDX-License-Identifier: Apache-2.0
 * fuzz_options.c: any words are an error in one line or settings of the trainer
 * that print as words which give the same settings.  An input is a word a
 * line. */
#include "tests/fuzz/fuzz.h"
#include "libtrain/train.h"
#include "base/opt.h"

#include <string.h>

enum { WORDS = 32, TEXT = 1 << 14 };

const char *const ctt_fuzz_words[] = {
    "--", "-", "=", "\n", "\n--", "--epochs=", "--lr=", "--observe=",
    "--val-ratios=", "--buckets=", "--task=predict", "--schedule=",
    "--loss-scale=", "--loss-scale\ndynamic", "--keep=", "--memory=",
    "--sampling-start=", "--amp-allow=", "--amp-follow=", "--amp-deny=",
    "--flip", "--jitter",
    "--random-gamma=", "--contrast=", "--brightness=", "--augment=",
    "--crop-area=", "--speed=", "--mixup=", "preset", "strong",
    "random:2", "points:0.25,0.5,1", "0.5", "1", "0", "-1", "2147483648",
    "1e39", "1e-39", "nan", "inf", "0x10", "auto", "all", "2^24", "1.5G",
    "conv,lstm", "cosine", ",", ":", "99999999999999999999", NULL
};

static const struct ctt_program program = { .name = "convtt-train",
                                            .opts = ctt_train_opts };

/* Words that only print are not tried. */
static int is_answer(const char *word)
{
    return strncmp(word, "--help", 6) == 0 || strcmp(word, "-h") == 0 ||
           strcmp(word, "--version") == 0;
}

/* " name=value" for each setting; the caller frees it. */
static char *print_settings(const struct ctt_train_cfg *cfg)
{
    char *text = ctt_calloc(TEXT + CTT_FUZZ_ROOM, 1);
    FILE *f;

    FUZZ_CHECK(text);
    f = fmemopen(text, TEXT + CTT_FUZZ_ROOM - 1, "w");
    FUZZ_CHECK(f);
    for (const struct ctt_opt *o = ctt_train_opts; o->name; o++) {
        struct ctt_opt one[2] = { *o };
        ctt_opt_print(one, cfg, f);
        fputc('\n', f);
    }
    FUZZ_CHECK(fclose(f) == 0);
    return text;
}

/* The settings' text, parsed word by word, gives the same settings. */
static void check_text(const struct ctt_train_cfg *cfg)
{
    struct ctt_train_cfg again;
    struct ctt_opt_seen seen = { { 0 } };
    char *text = print_settings(cfg), *copy = ctt_strdup(text), *second;

    FUZZ_CHECK(copy);
    memset(&again, 0, sizeof(again));
    FUZZ_CHECK(ctt_opt_defaults(ctt_train_opts, &again) >= 0);
    for (char *s = copy, *end; *s; s = end) {
        end = s + strcspn(s, "\n");
        if (*end)
            *end++ = 0;
        if (*s)
            FUZZ_CHECK(ctt_opt_word(ctt_train_opts, &again, s + 1, &seen) >=
                       0);
    }
    second = print_settings(&again);
    FUZZ_CHECK(strcmp(text, second) == 0);
    ctt_free(text);
    ctt_free(copy);
    ctt_free(second);
}

static void parse_words(int argc, char **argv)
{
    struct ctt_train_cfg cfg;
    int done = 0, rc;

    memset(&cfg, 0, sizeof(cfg));
    rc = ctt_opt_main(&program, &cfg, argc, argv, &done);
    FUZZ_CHECK(!done);
    if (rc >= 0) {
        FUZZ_CHECK(rc >= 1 && rc <= argc);
        check_text(&cfg);
        rc = ctt_opt_check(ctt_train_opts, &cfg);
    }
    if (rc >= 0)
        rc = ctt_train_check(&cfg);
    FUZZ_CHECK(rc >= 0 || (ctt_errmsg()[0] && !strchr(ctt_errmsg(), '\n')));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char name[] = "convtt-train";
    char *text = ctt_calloc(size + 1, 1), *argv[WORDS + 2] = { name };
    long live = ctt_live_blocks();
    int argc = 1;

    FUZZ_CHECK(text);
    if (size)
        memcpy(text, data, size);
    for (char *s = text, *end; *s && argc <= WORDS; s = end) {
        end = s + strcspn(s, "\n");
        if (*end)
            *end++ = 0;
        if (*s && !is_answer(s))
            argv[argc++] = s;
    }
    parse_words(argc, argv);
    FUZZ_CHECK(ctt_live_blocks() == live);
    ctt_free(text);
    return 0;
}

static const struct ctt_fuzz_text texts[] = {
    FUZZ_TEXT("--data=x\n--epochs\n3\n--lr=1e-3\n--schedule=cosine\n--flip\n"),
    FUZZ_TEXT("--task=predict\n--input-frames=5\n--future-frames=5\n"
              "--sampling-start=auto\n--sampling-decay=0.01\n"),
    FUZZ_TEXT("--observe=random:2,0.5\n--val-ratios=0.25,0.5,1\n--buckets=4\n"
              "--amp=O1\n--amp-allow=conv\n--loss-scale=1024\nmodel.net\n"),
    FUZZ_TEXT("--keep=auto\n--memory=1.5G\n--window=3\n--\n--x\n"),
};

size_t ctt_fuzz_seed(int i, uint8_t *p, size_t room)
{
    return ctt_fuzz_text(texts, CTT_LEN(texts), i, p, room);
}
