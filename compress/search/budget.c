/* SPDX-License-Identifier: Apache-2.0
 * budget.c: limits of costs and top-1, read from text, and costs as text. */
#include "compress/search/budget.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const ctt_cost_words[] = { "bytes", "ms", "macs", "ram", NULL };

/* The words for top-1, in the order of the tests. */
static const struct { const char *word; int share; } tops[] = {
    { "top1@25", 0 }, { "top1@50", 1 }, { "top1@100", 2 }, { "top1", 2 },
};

/* A number with k, M or G behind it; NAN: it is none. */
static double scaled_number(const char *text)
{
    static const struct { const char *unit; double times; } units[] = {
        { "", 1 }, { "k", 1e3 }, { "M", 1e6 }, { "G", 1e9 },
    };
    char *end;
    double x = strtod(text, &end);

    for (size_t i = 0; end != text && i < CTT_LEN(units); i++)
        if (strcmp(end, units[i].unit) == 0)
            return isfinite(x) ? x * units[i].times : NAN;
    return NAN;
}

static int read_top1(const char *word, const char *value, int share,
                     struct ctt_budget *b)
{
    char *end;
    double x = strtod(value, &end);
    int rc = 0;

    CTT_CHECK(end != value && !*end && fabs(x) <= 100, CTT_EINVAL,
              "--budget: %s=%s is not -100 to 100 points", word, value);
    CTT_CHECK(isnan(b->loss[share]) && isnan(b->floor[share]), CTT_EINVAL,
              "--budget: %s is limited twice", word);
    if (value[0] == '-' || x == 0)
        b->loss[share] = fabs(x) / 100;
    else
        b->floor[share] = x / 100;
out:
    return rc;
}

static int read_cost(const char *word, const char *value, double *most)
{
    double x = scaled_number(value);
    int rc = 0;

    CTT_CHECK(x > 0, CTT_EINVAL, "--budget: %s=%s is not a number above 0",
              word, value);
    CTT_CHECK(isinf(*most), CTT_EINVAL, "--budget: %s is limited twice", word);
    *most = x;
out:
    return rc;
}

static int read_part(const char *word, const char *value,
                     struct ctt_budget *b)
{
    for (size_t i = 0; i < CTT_LEN(tops); i++)
        if (strcmp(word, tops[i].word) == 0)
            return read_top1(word, value, tops[i].share, b);
    for (int k = 0; k < CTT_COSTS; k++)
        if (strcmp(word, ctt_cost_words[k]) == 0)
            return read_cost(word, value, &b->most[k]);
    if (strcmp(word, "energy") == 0)
        return ctt_error(CTT_EINVAL, "--budget: energy is not measured, as "
                         "there is no counter of it; limit ms");
    return ctt_error(CTT_EINVAL, "--budget: '%s' is none of top1, top1@25, "
                     "top1@50, top1@100, bytes, ms, macs and ram", word);
}

int ctt_budget_read(const char *text, struct ctt_budget *b)
{
    char *copy = ctt_strdup(text), *rest = NULL;
    int rc = copy ? 0 : CTT_ENOMEM, n = 0, commas = 1;

    for (const char *c = text; *c; c++)
        commas += *c == ',';
    for (int k = 0; k < CTT_COSTS; k++)
        b->most[k] = INFINITY;
    for (int k = 0; k < CTT_ACCURACIES; k++)
        b->loss[k] = b->floor[k] = NAN;
    for (char *w = copy ? strtok_r(copy, ",", &rest) : NULL; w && rc >= 0;
         w = strtok_r(NULL, ",", &rest), n++) {
        char *value = strchr(w, '=');

        CTT_CHECK(value, CTT_EINVAL, "--budget: '%s' is not NAME=NUMBER", w);
        *value = '\0';
        rc = read_part(w, value + 1, b);
    }
    CTT_TRY(rc);
    CTT_CHECK(n > 0, CTT_EINVAL, "--budget: nothing is limited");
    CTT_CHECK(n == commas, CTT_EINVAL, "--budget: '%s' has a comma without a "
              "limit", text);
out:
    ctt_free(copy);
    return rc;
}

int ctt_budget_has_cost(const struct ctt_budget *b)
{
    for (int k = 0; k < CTT_COSTS; k++)
        if (!isinf(b->most[k]))
            return 1;
    return 0;
}

int ctt_budget_has_time(const struct ctt_budget *b)
{
    return !isinf(b->most[CTT_COST_MS]) || !isinf(b->most[CTT_COST_RAM]);
}

int ctt_costs_meet(const double most[CTT_COSTS], const double cost[CTT_COSTS])
{
    for (int k = 0; k < CTT_COSTS; k++)
        if (!isinf(most[k]) && !(cost[k] <= most[k]))
            return 0;
    return 1;
}

const char *ctt_costs_print(const double cost[CTT_COSTS], char *text,
                            size_t size)
{
    size_t n = (size_t)snprintf(text, size, "%.0f bytes",
                                cost[CTT_COST_BYTES]);

    if (!isnan(cost[CTT_COST_MS]) && n < size)
        n += (size_t)snprintf(text + n, size - n, ", %.4g ms",
                              cost[CTT_COST_MS]);
    if (!isnan(cost[CTT_COST_RAM]) && n < size)
        n += (size_t)snprintf(text + n, size - n, ", %.0f kB of memory",
                              cost[CTT_COST_RAM] / 1000);
    if (n < size)
        snprintf(text + n, size - n, ", %.3g M multiplications",
                 cost[CTT_COST_MACS] / 1e6);
    return text;
}
