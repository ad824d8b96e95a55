/* SPDX-License-Identifier: Apache-2.0
 * values.c: the named values of a checkpoint in tests. */
#include "tests/lib/values.h"
#include "tests/lib/check.h"

#include <stdlib.h>
#include <string.h>

/* The layout of version 4, as doc/format.md has it. */
static const char *const place[] = {
    "version", "step", "epoch", "batch", "best-epoch", "updates", "clips",
    "weights", "sampling-start", "sampling-stalled", "sampling-falls",
    "loss-scale-clean", "loss-scale-skips", "loss-scale-skipped",
};
static const char *const sums[] = {
    "sum-loss", "sum-weight", "sum-right", "sum-clips", "best-loss",
    "best-top1", "best-top5", "best-mse", "best-psnr", "best-ssim",
    "best-ssim2", "sampling-best", "loss-scale",
};

static struct ctt_array *decoded_values(const struct ctt_state *s)
{
    for (int i = 0; i < s->count; i++)
        if (strcmp(s->array[i].name, "values") == 0)
            return &s->array[i];
    CU_FAIL_FATAL("no values");
    return NULL;
}

/* The caller frees it. */
static char *text_of(const struct ctt_state *s)
{
    const struct ctt_array *a = decoded_values(s);
    char *text = ctt_calloc((size_t)a->count + 1, 1);

    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    memcpy(text, a->data, (size_t)a->count);
    return text;
}

/* The line of a name within the text, or its end. */
static char *find_line(char *text, const char *name)
{
    size_t n = strlen(name);

    while (*text && (strncmp(text, name, n) != 0 || text[n] != '='))
        text += strcspn(text, "\n") + 1;
    return text;
}

/* Text after the name's '='. */
static const char *text_value(char *text, const char *name)
{
    const char *line = find_line(text, name);

    CU_ASSERT_FATAL(*line != '\0');
    return line + strlen(name) + 1;
}

double value_of(const struct ctt_state *s, const char *name)
{
    char *text = text_of(s);
    double x = strtod(text_value(text, name), NULL);

    ctt_free(text);
    return x;
}

void value_line(struct ctt_state *s, const char *name, const char *line)
{
    struct ctt_array *a = decoded_values(s);
    char *text = text_of(s), *at = find_line(text, name);
    const char *rest = at + strcspn(at, "\n") + (*at != '\0');
    size_t before = (size_t)(at - text), n = strlen(line), after = strlen(rest);
    char *made = ctt_calloc(before + n + after + 1, 1);

    CU_ASSERT_PTR_NOT_NULL_FATAL(made);
    memcpy(made, text, before);
    memcpy(made + before, line, n);
    memcpy(made + before + n, rest, after);
    ctt_free(text);
    ctt_free(a->data);
    a->data = made;
    a->count = (int64_t)(before + n + after);
}

void values_as_version_4(struct ctt_state *s)
{
    struct ctt_array *a = decoded_values(s);
    int64_t p[CTT_LEN(place)];
    double r[CTT_LEN(sums)];
    char *text = text_of(s);

    for (size_t i = 0; i < CTT_LEN(place); i++)
        p[i] = strtoll(text_value(text, place[i]), NULL, 10);
    for (size_t i = 0; i < CTT_LEN(sums); i++)
        r[i] = strtod(text_value(text, sums[i]), NULL);
    CU_ASSERT_EQUAL(p[0], 5);
    p[0] = 4;
    ctt_free(text);
    ctt_free(a->data);
    *a = s->array[--s->count];
    CHECK_OK(ctt_state_add(s, "place", 8, CTT_LEN(place), p));
    CHECK_OK(ctt_state_add(s, "sums", 8, CTT_LEN(sums), r));
}
