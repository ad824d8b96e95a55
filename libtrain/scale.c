/* SPDX-License-Identifier: Apache-2.0
 * scale.c: the dynamic loss scale: halved when a gradient overflows, doubled
 * after CTT_SCALE_CLEAN updates without an overflow. */
#include "libtrain/amp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double start = 0x1p24, most = 0x1p40;

/* bf16 has the range of floats, so its gradients do not underflow. */
static const char *word_of(const struct ctt_train_cfg *cfg)
{
    if (cfg->loss_scale)
        return cfg->loss_scale;
    return ctt_amp_type(cfg) == CTT_F16 ? "dynamic" : "1";
}

/* A number, or 2^N, as the progress lines write a scale; 0: neither. */
static double scale_value(const char *word)
{
    int power = strncmp(word, "2^", 2) == 0;
    const char *digits = power ? word + 2 : word;
    char *end;
    double x = strtod(digits, &end);

    if (*digits < '0' || *digits > '9' || *end)
        return 0;
    if (!power)
        return x;
    return x == floor(x) ? exp2(x) : 0;
}

int ctt_scale_begin(const struct ctt_train_cfg *cfg, struct ctt_scale *s)
{
    const char *word = cfg->amp == CTT_O0 ? "1" : word_of(cfg);
    struct ctt_scale made = { .scale = start };
    int rc = 0;

    made.dynamic = strcmp(word, "dynamic") == 0;
    if (!made.dynamic) {
        made.scale = scale_value(word);
        CTT_CHECK(made.scale >= 1 && made.scale <= most, CTT_EINVAL,
                  "--loss-scale: bad value '%s' (dynamic, a number 1 to "
                  "1099511627776, or 2^0 to 2^40)", word);
    }
    *s = made;
out:
    return rc;
}

enum ctt_verdict ctt_scale_after(struct ctt_scale *s, int finite)
{
    if (!finite) {
        s->skips++;
        s->skipped++;
        s->clean = 0;
        if (s->dynamic)
            s->scale /= 2;
        return s->scale < 1 || s->skips >= CTT_SCALE_SKIPS ? CTT_COLLAPSED
                                                           : CTT_LEAVE;
    }
    s->skips = 0;
    if (++s->clean >= CTT_SCALE_CLEAN && s->dynamic) {
        s->clean = 0;
        s->scale = s->scale < most ? 2 * s->scale : most;
    }
    return CTT_TAKE;
}
