/* SPDX-License-Identifier: Apache-2.0
 * fuzz_space.c: any text is an error in one line that begins with the file, or
 * a search space whose trials are settings that the trainer takes; and any
 * lines behind the head of its log are results of it or none.  An input is the
 * space and, after a line "%log", the log's lines. */
#include "tests/fuzz/fuzz.h"
#include "libtrain/search/search.h"

#include <string.h>

#define NAME "space.txt"

const char *const ctt_fuzz_words[] = {
    "lr log 1e-4 1e-1\n", "batch choice 4 8\n", "optimizer choice sgd adamw\n",
    "momentum range 0.5 0.9", "frame-asks int 2 9", " if optimizer=sgd",
    " if lr<0.01", " if lr>0.01", "!=", "=", "|", "<", ">", "#", " ", "\n",
    "range", "log", "int", "choice", "if", "--", "1e-300", "1e300", "nan",
    "inf", "0", "1", "-1", "99999999999", "\r\n", "\xef\xbb\xbf", "\t",
    "\n%log\n", "{\"trial\":1,\"seed\":1,\"settings\":{", "},\"epochs\":1,",
    "\"curve\":[0.5],\"loss\":[1],\"best\":1,\"score\":0.5,\"seconds\":1}",
    "\"curve\":[null],\"loss\":[null],", "\"failed\":\"x\"", "[]", "null",
    "{\"won\":1,\"seed\":1}", NULL
};

static struct ctt_train_cfg space_settings(void)
{
    struct ctt_train_cfg c = { .data = NULL };

    FUZZ_CHECK(ctt_opt_defaults(ctt_train_opts, &c) >= 0);
    c.search = NAME;
    c.trials = 4;
    c.epochs = 3;
    c.repeats = 2;
    return c;
}

static void check_draws(const struct ctt_space *s)
{
    for (int i = 0; i < 8; i++) {
        struct ctt_train_cfg c = space_settings();
        struct ctt_draw d;

        ctt_space_draw(s, 1, i, &d);
        FUZZ_CHECK(ctt_space_apply(s, &d, &c) >= 0);
        for (int k = 0; k < s->count; k++)
            FUZZ_CHECK(!d.text[k] || (d.at[k] >= 0 && d.at[k] <= 1));
    }
}

/* Whatever the lines are, the search goes on or has ended. */
static void read_log(const struct ctt_space *space, char *text)
{
    struct ctt_train_cfg c = space_settings();
    struct ctt_search *s = NULL;
    struct ctt_search_job job;
    char *rest = NULL;
    struct ctt_weighed w;
    int rc, taken = 0;

    FUZZ_CHECK(ctt_search_new(space, &c, &s) >= 0);
    for (char *line = strtok_r(text, "\n", &rest); line;
         line = strtok_r(NULL, "\n", &rest)) {
        rc = ctt_search_take(s, line);
        FUZZ_CHECK(rc == 0 || rc == 1);
        taken += rc;
    }
    FUZZ_CHECK(s->results <= taken);
    rc = ctt_search_next(s, &job);
    FUZZ_CHECK(rc == 0 || (rc == 1 && job.trial < c.trials &&
                           job.rung < s->rungs));
    FUZZ_CHECK(ctt_search_winner(s, &job) >= 0);
    FUZZ_CHECK(ctt_search_weigh(s, &w) >= 0);
    ctt_search_free(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char cut[] = "\n%log\n";
    char *text = ctt_calloc(size + 1, 1), *log;
    long live = ctt_live_blocks();
    struct ctt_space *s = NULL;
    size_t n;

    FUZZ_CHECK(text);
    if (size)
        memcpy(text, data, size);
    log = strstr(text, cut);
    n = log ? (size_t)(log - text) : size;
    if (ctt_space_parse(NAME, text, n, &s) >= 0) {
        check_draws(s);
        read_log(s, log ? log + sizeof(cut) - 1 : text + size);
    } else {
        FUZZ_CHECK(!s && strncmp(ctt_errmsg(), NAME, strlen(NAME)) == 0 &&
                   !strchr(ctt_errmsg(), '\n'));
    }
    ctt_space_free(&s);
    FUZZ_CHECK(ctt_live_blocks() == live);
    ctt_free(text);
    return 0;
}

/* ---- seeds ---- */

/* The last text holds the first trials of seed 1. */
static const struct ctt_fuzz_text texts[] = {
    FUZZ_TEXT("lr log 1e-4 1e-1\nbatch choice 4 8\n# a comment\n"),
    FUZZ_TEXT("optimizer choice sgd adam adamw\r\n"
              "momentum range 0.5 0.99 if optimizer=sgd\n"
              "beta2 range 0.9 0.999 if optimizer!=sgd # no\n"),
    FUZZ_TEXT("frame-loss choice none linear exp\n"
              "frame-asks int 2 9 if frame-loss=linear|exp\n"
              "warmup int 0 3\nlr-end range 0 0.1 if warmup>1\n"),
    FUZZ_TEXT("lr log 1e-3 1 if weight-decay<1e-4\n"
              "weight-decay log 1e-6 1e-3 if beta1<0.5\n"
              "beta1 range 0 0.9 if lr>0.1"),
    FUZZ_TEXT("jitter choice 0 1\nflip choice 0 1\n%log\n"
              "{\"trial\":1,\"seed\":1,\"settings\":{\"jitter\":\"1\","
              "\"flip\":\"1\"},\"epochs\":1,\"curve\":[0.5],\"loss\":[1.5],"
              "\"best\":1,\"score\":0.5,\"seconds\":1.5}\n"
              "{\"trial\":2,\"seed\":1,\"settings\":{\"jitter\":\"1\","
              "\"flip\":\"1\"},\"epochs\":1,\"curve\":[],\"loss\":[],"
              "\"best\":0,\"score\":null,"
              "\"failed\":\"a \\\"b\\\"\",\"seconds\":2}\n"
              "{\"trial\":1,\"seed\":1,\"settings\":{\"jitter\":\"1\","
              "\"flip\":\"1\"},\"epochs\":3,\"curve\":[0.5,null,0.6],"
              "\"loss\":[1.5,null,1],\"best\":3,\"score\":0.6,"
              "\"seconds\":3}\n{\"won\":1,\"seed\":1}\n"),
};

size_t ctt_fuzz_seed(int i, uint8_t *p, size_t room)
{
    return ctt_fuzz_text(texts, CTT_LEN(texts), i, p, room);
}
