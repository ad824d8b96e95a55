/* SPDX-License-Identifier: Apache-2.0
 * weight.c: the forms of a weight: which are legal, and their values. */
#include "net/weight.h"

#include <stdio.h>

enum { MOST_CODES = 256 };

/* The parts that a form needs, by the type of its elements; weights cannot have
 * a type without a row here. */
enum need { NEVER, MAYBE, ALWAYS };

static const struct form {
    enum ctt_dtype type;
    enum need      scale, codebook;
} forms[] = {
    { CTT_F32,  NEVER,  NEVER },
    { CTT_F16,  NEVER,  NEVER },
    { CTT_BF16, NEVER,  NEVER },
    { CTT_I8,   ALWAYS, NEVER },
    { CTT_U8,   MAYBE,  ALWAYS },
};

static const struct form *find_form(enum ctt_dtype type)
{
    for (size_t i = 0; i < CTT_LEN(forms); i++)
        if (forms[i].type == type)
            return &forms[i];
    return NULL;
}

int64_t ctt_weight_kept(const struct ctt_weight *w)
{
    int64_t n = ctt_volume(&w->t), kept = n;

    for (int64_t i = 0; w->keep && i < n; i++)
        kept -= !w->keep[i];
    return kept;
}

static int check_extra(const struct ctt_weight *w, const char *part,
                       enum need need, int there)
{
    const char *type = ctt_dtype_word(w->t.dtype);
    int rc = 0;

    CTT_CHECK(need != ALWAYS || there, CTT_EINVAL,
              "a weight of %s numbers has no %s", type, part);
    CTT_CHECK(need != NEVER || !there, CTT_EINVAL,
              "a weight of %s numbers has a %s", type, part);
out:
    return rc;
}

static int check_codes(const struct ctt_weight *w)
{
    const uint8_t *code = w->t.data;
    int64_t n = w->codebook ? ctt_volume(&w->t) : 0;
    int rc = 0;

    for (int64_t i = 0; i < n; i++)
        CTT_CHECK(code[i] < w->codes, CTT_EINVAL,
                  "number %lld of a weight is code %d of %d", (long long)i,
                  code[i], w->codes);
out:
    return rc;
}

int ctt_weight_check(const struct ctt_weight *w)
{
    const struct form *f = find_form(w->t.dtype);
    int rc = 0;

    CTT_CHECK(f, CTT_EINVAL, "numbers of type %d (%s) are no weights",
              (int)w->t.dtype, ctt_dtype_word(w->t.dtype));
    CTT_CHECK((w->t.data || w->late) && ctt_volume(&w->t) > 0 &&
              w->t.ld == w->t.c, CTT_EINVAL,
              "a weight has no numbers, or not in a row");
    CTT_TRY(check_extra(w, "scale", f->scale, w->scale != NULL));
    CTT_TRY(check_extra(w, "codebook", f->codebook, w->codebook != NULL));
    CTT_CHECK(w->codebook ? w->codes > 0 && w->codes <= MOST_CODES
                          : w->codes == 0, CTT_EINVAL,
              "a weight has a codebook of %d numbers", w->codes);
    CTT_TRY(check_codes(w));
out:
    return rc;
}

float ctt_weight_value(const struct ctt_weight *w, int64_t i)
{
    float x;

    if (w->keep && !w->keep[i])
        return 0;
    x = w->codebook ? w->codebook[((const uint8_t *)w->t.data)[i]]
                    : ctt_load(w->t.data, w->t.dtype, i);
    return w->scale ? w->scale[i / (ctt_volume(&w->t) / w->t.n)] * x : x;
}

int ctt_weight_floats(const struct ctt_weight *w, float *out)
{
    int rc = 0;

    CTT_TRY(ctt_weight_check(w));
    for (int64_t i = 0; i < ctt_volume(&w->t); i++)
        out[i] = ctt_weight_value(w, i);
out:
    return rc;
}

void ctt_weight_form(const struct ctt_weight *w, char text[CTT_WEIGHT_FORM])
{
    int64_t n = ctt_volume(&w->t), kept = ctt_weight_kept(w);
    int at = snprintf(text, CTT_WEIGHT_FORM, "%s",
                      ctt_dtype_word(w->t.dtype));

    if (w->codebook)
        at += snprintf(text + at, CTT_WEIGHT_FORM - (size_t)at, " of %d",
                       w->codes);
    if (kept < n)
        snprintf(text + at, CTT_WEIGHT_FORM - (size_t)at, ", %.3g%% kept",
                 100 * (double)kept / (double)n);
}
