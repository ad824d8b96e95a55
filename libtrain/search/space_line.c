/* SPDX-License-Identifier: Apache-2.0
 * space_line.c: a line of a search space: an option, its values, and its
 * condition. */
#include "libtrain/search/search.h"
#include "net/let.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BLANK " \t\r"

/* ---- options that may vary ---- */

static const struct { const char *name, *why; } fixed[] = {
    { "seed", "--repeats tries seeds" },
    { "folds", "--search validates on one set" },
    { "task", "all trials have one task" },
    { "split", "all trials see the same clips" },
    { "sequences", "all trials see as many sequences" },
    { "digits", "all trials see the same sequences" },
    { "input-frames", "all trials are compared on the same frames" },
    { "future-frames", "all trials are compared on the same frames" },
    { "val-ratios", "all trials are compared at the same ratios" },
    { "set", "a line '$NAME' varies one of its values" },
    { "pick", "it says which epoch of a trial counts" },
    { "dsd", "its phases do not fit epochs that are added" },
    { "deterministic", "a trial must not change when it is repeated" },
};

const char *ctt_space_fixed(const struct ctt_opt *o)
{
    if (o->name[0] == '$')
        return NULL;
    for (size_t i = 0; i < CTT_LEN(fixed); i++)
        if (strcmp(o->name, fixed[i].name) == 0)
            return fixed[i].why;
    if (o->tags & CTT_CFG_RESUME)
        return "it is the same for all trials";
    return o->tags & CTT_CFG_CLIPS ? "all trials see the same clips" : NULL;
}

/* ---- numbers ---- */

int ctt_setting_named(const struct ctt_setting *k)
{
    return k->opt->name[0] == '$';
}

/* Whether the option takes the value at all; what a model text names is checked
 * where the text is read. */
static int accepts_value(const struct ctt_setting *k, const char *value)
{
    struct ctt_train_cfg cfg = { .data = NULL };
    int rc = 0;

    if (!ctt_setting_named(k))
        return ctt_opt_set(ctt_train_opts, &cfg, k->opt->name, value);
    CTT_CHECK(!strchr(value, ',') && strlen(value) < CTT_LET_VALUE, CTT_EINVAL,
              "%s: '%s' has a comma or more than %d characters", k->opt->name,
              value, CTT_LET_VALUE - 1);
out:
    return rc;
}

static int is_number(const char *word, double *x)
{
    char *end;

    *x = strtod(word, &end);
    return end != word && !*end && isfinite(*x);
}

static int read_numbers(struct ctt_setting *k, char **rest)
{
    double *to[] = { &k->low, &k->high };
    int rc = 0;

    for (int i = 0; i < 2; i++) {
        const char *word = strtok_r(NULL, BLANK, rest);

        CTT_CHECK(word && strcmp(word, "if") != 0, CTT_EINVAL, "%s: LOW and "
                  "HIGH must follow", k->opt->name);
        CTT_CHECK(is_number(word, to[i]), CTT_EINVAL, "%s: '%s' is no number",
                  k->opt->name, word);
        CTT_TRY(accepts_value(k, word));
        k->words[i] = word;
    }
    CTT_CHECK(k->low < k->high, CTT_EINVAL, "%s: %s is not below %s",
              k->opt->name, k->words[0], k->words[1]);
out:
    return rc;
}

static int is_integer(const struct ctt_opt *o)
{
    return o->type == CTT_INT;
}

static int read_range(struct ctt_setting *k, char **rest)
{
    int rc = 0;

    CTT_CHECK(!is_integer(k->opt), CTT_EINVAL, "%s: is a whole number: int or "
              "choice", k->opt->name);
    CTT_CHECK(k->opt->type == CTT_FLOAT || ctt_setting_named(k), CTT_EINVAL,
              "%s: is no number: choice", k->opt->name);
    CTT_TRY(read_numbers(k, rest));
out:
    return rc;
}

static int read_log(struct ctt_setting *k, char **rest)
{
    int rc;

    CTT_TRY(read_range(k, rest));
    CTT_CHECK(k->low > 0, CTT_EINVAL, "%s: %s has no logarithm",
              k->opt->name, k->words[0]);
out:
    return rc;
}

static int read_int(struct ctt_setting *k, char **rest)
{
    int rc = 0;

    CTT_CHECK(is_integer(k->opt) || k->opt->type == CTT_FLOAT ||
              ctt_setting_named(k), CTT_EINVAL, "%s: is no number: choice",
              k->opt->name);
    CTT_TRY(read_numbers(k, rest));
    for (int i = 0; i < 2; i++)
        CTT_CHECK((i ? k->high : k->low) == floor(i ? k->high : k->low),
                  CTT_EINVAL, "%s: %s is no whole number", k->opt->name,
                  k->words[i]);
out:
    return rc;
}

/* ---- choices ---- */

/* Words go into JSON and command lines as they are. */
static int is_plain(const char *word)
{
    for (; *word; word++)
        if (*word <= ' ' || *word > '~' || strchr("\"\\", *word))
            return 0;
    return 1;
}

static int add_choice(struct ctt_setting *k, const char *word)
{
    int rc = 0;

    CTT_CHECK(is_plain(word), CTT_EINVAL, "%s: '%s' has other characters than "
              "ASCII without \" and \\", k->opt->name, word);
    CTT_CHECK(k->choices < CTT_CHOICES, CTT_EINVAL, "%s: more than %d "
              "choices", k->opt->name, CTT_CHOICES);
    for (int i = 0; i < k->choices; i++)
        CTT_CHECK(strcmp(k->choice[i], word) != 0, CTT_EINVAL, "%s: '%s' "
                  "stands there twice", k->opt->name, word);
    CTT_TRY(accepts_value(k, word));
    k->choice[k->choices++] = word;
out:
    return rc;
}

/* Up to the word "if", which is passed, too. */
static int read_choices(struct ctt_setting *k, char **rest)
{
    const char *word;
    int rc = 0;

    while ((word = strtok_r(NULL, BLANK, rest)) && strcmp(word, "if") != 0)
        CTT_TRY(add_choice(k, word));
    CTT_CHECK(k->choices > 1, CTT_EINVAL, "%s: two choices are the fewest",
              k->opt->name);
    rc = word != NULL;
out:
    return rc;
}

/* ---- a line ---- */

static const struct {
    const char *word;
    int (*read)(struct ctt_setting *k, char **rest);    /* 1: passed "if" */
} kinds[] = {
    [CTT_SETTING_RANGE] = { "range", read_range },
    [CTT_SETTING_LOG] = { "log", read_log },
    [CTT_SETTING_INT] = { "int", read_int },
    [CTT_SETTING_CHOICE] = { "choice", read_choices },
};

static int values_kind(const char *word)
{
    for (size_t i = 0; i < CTT_LEN(kinds); i++)
        if (strcmp(word, kinds[i].word) == 0)
            return (int)i;
    return -1;
}

/* Reads the end of a line; passed: "if" has been read. */
static int read_when(struct ctt_setting *k, int passed, char **rest)
{
    const char *word = passed ? "if" : strtok_r(NULL, BLANK, rest);
    int rc = 0;

    k->when.of = -1;
    if (!word)
        goto out;
    CTT_CHECK(strcmp(word, "if") == 0, CTT_EINVAL, "%s: only 'if' may follow, "
              "not '%s'", k->opt->name, word);
    k->when_text = strtok_r(NULL, BLANK, rest);
    CTT_CHECK(k->when_text, CTT_EINVAL, "%s: a condition must follow 'if'",
              k->opt->name);
    word = strtok_r(NULL, BLANK, rest);
    CTT_CHECK(!word, CTT_EINVAL, "%s: one condition without blanks may follow "
              "'if', then nothing, not '%s'", k->opt->name, word);
out:
    return rc;
}

/* The row --set by the name of one of its values. */
static const struct ctt_opt *row_named(struct ctt_space *s, const char *name)
{
    struct ctt_opt *o = &s->named[s->count];

    *o = ctt_train_opts[ctt_opt_find(ctt_train_opts, "set")];
    o->name = name;
    return o;
}

static int option_of(struct ctt_space *s, const char *name,
                     struct ctt_setting *k)
{
    int row, rc = 0;

    name += strncmp(name, "--", 2) == 0 ? 2 : 0;
    row = ctt_opt_find(ctt_train_opts, name);
    CTT_CHECK(s->count < CTT_SETTINGS, CTT_EINVAL, "more than %d settings",
              CTT_SETTINGS);
    CTT_CHECK(row >= 0 || name[0] == '$', CTT_EINVAL, "'%s' is no option of "
              "convtt-train", name);
    k->opt = row < 0 ? row_named(s, name) : &ctt_train_opts[row];
    CTT_CHECK(!ctt_space_fixed(k->opt), CTT_EINVAL, "--%s cannot vary: %s",
              name, ctt_space_fixed(k->opt));
    for (int i = 0; i < s->count; i++)
        CTT_CHECK(strcmp(s->setting[i].opt->name, name) != 0, CTT_EINVAL,
                  "%s%s stands in line %d already", row < 0 ? "" : "--", name,
                  s->setting[i].line);
out:
    return rc;
}

/* Adds the bytes of a setting of --set, with its longest value. */
static int count_set(struct ctt_space *s, const struct ctt_setting *k)
{
    size_t longest = CTT_NUMBER;
    int rc = 0;

    if (!ctt_setting_named(k))
        goto out;
    for (int i = 0; i < k->choices; i++)
        longest = strlen(k->choice[i]) > longest ? strlen(k->choice[i])
                                                 : longest;
    s->set += strlen(k->opt->name) + longest + 2;
    CTT_CHECK(s->set < CTT_SET_TEXT, CTT_EINVAL, "%s: names and values of "
              "--set are longer than %d characters together", k->opt->name,
              CTT_SET_TEXT - 1);
out:
    return rc;
}

/* A # after a blank, or first, begins a comment. */
static void cut_comment(char *text)
{
    for (char *p = text; (p = strchr(p, '#')) != NULL; p++)
        if (p == text || strchr(BLANK, p[-1])) {
            *p = '\0';
            return;
        }
}

/* ---- limits of the network ---- */

static const char *const mosts[CTT_MOSTS] = {
    [CTT_MOST_MACS] = "multiplications", [CTT_MOST_PARAMS] = "parameters",
};

static int read_most(struct ctt_space *s, char **rest)
{
    const char *word = strtok_r(NULL, BLANK, rest);
    const char *number = strtok_r(NULL, BLANK, rest);
    double x;
    char *end;
    int k = 0, rc = 0;

    while (k < CTT_MOSTS && word && strcmp(word, mosts[k]) != 0)
        k++;
    CTT_CHECK(word && k < CTT_MOSTS, CTT_EINVAL, "at-most: '%s' is none of "
              "%s and %s", word ? word : "", mosts[0], mosts[1]);
    CTT_CHECK(s->most[k] == 0, CTT_EINVAL, "at-most %s stands twice", word);
    x = strtod(number ? number : "", &end);
    x *= *end == 'k' ? 1e3 : *end == 'M' ? 1e6 : 1;
    end += *end == 'k' || *end == 'M';
    CTT_CHECK(number && !strpbrk(number, "xX") && !*end && x >= 1 &&
              x <= 1e15 && !strtok_r(NULL, BLANK, rest), CTT_EINVAL,
              "at-most %s: one number from 1 must follow, such as 500k or 24M",
              word);
    s->most[k] = x;
out:
    return rc;
}

static int read_setting(struct ctt_space *s, char *text, int line)
{
    struct ctt_setting k = { .line = line };
    char *rest = NULL, *name, *word;
    int kind, rc = 0;

    cut_comment(text);
    name = strtok_r(text, BLANK, &rest);
    if (!name)
        goto out;
    if (strcmp(name, "at-most") == 0)
        return read_most(s, &rest);
    CTT_TRY(option_of(s, name, &k));
    word = strtok_r(NULL, BLANK, &rest);
    CTT_CHECK(word && (kind = values_kind(word)) >= 0, CTT_EINVAL, "%s: '%s' "
              "is none of range, log, int and choice", k.opt->name,
              word ? word : "");
    k.kind = (enum ctt_setting_kind)kind;
    CTT_TRY(kinds[kind].read(&k, &rest));
    CTT_TRY(read_when(&k, rc == 1, &rest));
    CTT_TRY(count_set(s, &k));
    s->setting[s->count++] = k;
out:
    return rc < 0 ? rc : 0;
}

int ctt_space_line(struct ctt_space *s, char *text, int line)
{
    int rc = read_setting(s, text, line);

    return rc < 0 ? ctt_error(rc, "%s:%d: %s", s->path, line, ctt_errmsg()) : 0;
}
