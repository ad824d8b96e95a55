/* SPDX-License-Identifier: Apache-2.0
 * run.c: runs a fuzz target on damaged seeds for CTT_FUZZ_SECONDS (2) and
 * prints how many inputs that was.  Input k is the same in every run; with
 * CTT_FUZZ_INPUT=k only that one is run, and its last error is printed.  The
 * files in CTT_FUZZ_CORPUS, a folder, are seeds too: inputs that failed, or a
 * corpus of make fuzz. */
#include "tests/fuzz/fuzz.h"
#include "base/clock.h"
#include "base/random.h"

#include <dirent.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

enum { ROOM = CTT_FUZZ_ROOM, SEEDS = 1 << 14, MUTATIONS = 6 };

static struct { uint8_t *p; size_t n; } seed[SEEDS];
static int seeds;
static volatile sig_atomic_t now;    /* the input being tried */

/* Random numbers of input k. */
struct dice { uint64_t k, at; };

static size_t roll(struct dice *d, size_t sides)
{
    return sides ? ctt_random(d->k, d->at++) % sides : 0;
}

/* ---- mutations: each changes p[n], which has ROOM, and returns n ---- */

static size_t flip(struct dice *d, uint8_t *p, size_t n)
{
    if (n)
        p[roll(d, n)] ^= (uint8_t)(1u << roll(d, 8));
    return n;
}

static size_t overwrite(struct dice *d, uint8_t *p, size_t n)
{
    static const uint8_t odd[] = { 0, 1, 0x7f, 0x80, 0xff, ' ', '\n', '9' };

    if (n)
        p[roll(d, n)] = odd[roll(d, sizeof(odd))];
    return n;
}

static size_t remove_bytes(struct dice *d, uint8_t *p, size_t n)
{
    (void)p;
    return roll(d, n + 1);
}

static size_t delete_block(struct dice *d, uint8_t *p, size_t n)
{
    size_t at = roll(d, n), len = roll(d, n - at + 1);

    memmove(p + at, p + at + len, n - at - len);
    return n - len;
}

/* Makes room for len bytes at `at`; less where there is none. */
static size_t open_gap(uint8_t *p, size_t *n, size_t at, size_t len)
{
    if (len > ROOM - *n)
        len = ROOM - *n;
    memmove(p + at + len, p + at, *n - at);
    *n += len;
    return len;
}

static size_t duplicate(struct dice *d, uint8_t *p, size_t n)
{
    static uint8_t block[ROOM];
    size_t from = roll(d, n), len = roll(d, n - from < 300 ? n - from : 300);
    size_t to = roll(d, n + 1);

    memcpy(block, p + from, len);
    len = open_gap(p, &n, to, len);
    memcpy(p + to, block, len);
    return n;
}

static size_t splice(struct dice *d, uint8_t *p, size_t n)
{
    size_t s = roll(d, (size_t)seeds), from = roll(d, seed[s].n);
    size_t at = roll(d, n + 1), len = seed[s].n - from;

    if (len > ROOM - at)
        len = ROOM - at;
    memcpy(p + at, seed[s].p + from, len);
    return at + len;
}

static size_t insert_word(struct dice *d, uint8_t *p, size_t n)
{
    size_t words = 0, at = roll(d, n + 1), len;
    const char *w;

    while (ctt_fuzz_words[words])
        words++;
    w = ctt_fuzz_words[roll(d, words)];
    if (!w)
        return n;
    if (roll(d, 2)) {    /* in place of the word there */
        while (at > 0 && !strchr(" =,\n", p[at - 1]))
            at--;
        for (len = 0; at + len < n && !strchr(" =,\n", p[at + len]); len++)
            ;
        memmove(p + at, p + at + len, n - at - len);
        n -= len;
    }
    len = open_gap(p, &n, at, strlen(w));
    memcpy(p + at, w, len);
    return n;
}

static size_t (*const mutations[])(struct dice *, uint8_t *, size_t) = {
    flip, flip, overwrite, remove_bytes, delete_block, duplicate, splice,
    insert_word, insert_word
};

static void try_input(uint64_t k)
{
    static uint8_t buf[ROOM];
    struct dice d = { .k = k };
    int whole = k < (uint64_t)seeds;    /* the seeds come first */
    size_t s = whole ? k : roll(&d, (size_t)seeds), n = seed[s].n;
    uint8_t *exact;

    memcpy(buf, seed[s].p, n);
    for (size_t i = whole ? 0 : 1 + roll(&d, MUTATIONS); i > 0; i--)
        n = mutations[roll(&d, CTT_LEN(mutations))](&d, buf, n);
    exact = malloc(n ? n : 1);    /* so that a sanitizer sees its end */
    if (!exact)
        exit(99);
    memcpy(exact, buf, n);
    now = (sig_atomic_t)k;
    LLVMFuzzerTestOneInput(exact, n);
    free(exact);
}

/* ---- the run ---- */

static void add_seed(const uint8_t *p, size_t n)
{
    seed[seeds].p = malloc(n);
    if (!seed[seeds].p)
        exit(99);
    memcpy(seed[seeds].p, p, n);
    seed[seeds++].n = n;
}

static void add_corpus(const char *dir)
{
    static uint8_t buf[ROOM];
    struct dirent **name = NULL;
    int count = scandir(dir, &name, NULL, alphasort);
    char path[1024];
    size_t n;

    if (count < 0) {
        perror(dir);
        exit(99);
    }
    for (int i = 0; i < count; i++) {
        snprintf(path, sizeof(path), "%s/%s", dir, name[i]->d_name);
        n = name[i]->d_name[0] == '.' || seeds == SEEDS ? 0 :
            ctt_scratch_get(path, buf, ROOM);
        if (n > 0)
            add_seed(buf, n);
        free(name[i]);
    }
    free(name);
}

static void make_seeds(void)
{
    const char *corpus = getenv("CTT_FUZZ_CORPUS");
    static uint8_t buf[ROOM];
    size_t n;

    while (seeds < SEEDS && (n = ctt_fuzz_seed(seeds, buf, ROOM)) > 0)
        add_seed(buf, n);
    if (corpus && *corpus)
        add_corpus(corpus);
}

static void died(void)
{
    fprintf(stderr, "died at input %d; CTT_FUZZ_INPUT=%d tries it alone\n",
            (int)now, (int)now);
}

static void on_abort(int sig)
{
    died();
    signal(sig, SIG_DFL);
    raise(sig);
}

/* The sanitizers' hook, there only in their builds. */
void __sanitizer_set_death_callback(void (*f)(void)) __attribute__((weak));

int main(void)
{
    const char *limit = getenv("CTT_FUZZ_SECONDS");
    const char *one = getenv("CTT_FUZZ_INPUT");
    double end = ctt_seconds() + (limit ? atof(limit) : 2);
    uint64_t k = one ? strtoull(one, NULL, 10) : 0, first = k;

    if (__sanitizer_set_death_callback)
        __sanitizer_set_death_callback(died);
    signal(SIGABRT, on_abort);
    ctt_fuzz_start();
    make_seeds();
    do
        try_input(k++);
    while (!one && ctt_seconds() < end);
    if (one && ctt_errmsg()[0])
        printf("the last error: %s\n", ctt_errmsg());
    for (int i = 0; i < seeds; i++)
        free(seed[i].p);
    printf("%llu inputs from %d seeds\n", (unsigned long long)(k - first),
           seeds);
    return 0;
}
