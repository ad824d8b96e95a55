/* SPDX-License-Identifier: Apache-2.0
 * sensed.h: a small model whose options have all been measured. */
#ifndef CTT_TEST_SENSED_H
#define CTT_TEST_SENSED_H

#include "compress/stage.h"
#include "tests/lib/check.h"
#include "tests/lib/small.h"

#include <stdio.h>
#include <string.h>

/* Whether it fails so, with a message that contains `says`. */
static inline int fails(int rc, int code, const char *says)
{
    if (rc == code && strstr(ctt_errmsg(), says))
        return 1;
    printf("\n    %d, not %d with '%s': %s", rc, code, says, ctt_errmsg());
    return 0;
}

static const char sensed_net[] =
    "input x h=8 w=8 c=4 mean=0.5 std=0.2\n"
    "conv a in=x out=24 kernel=3 pad=1\nnorm n in=a kind=batch\n"
    "act r in=n kind=relu\nconvlstm h in=r hidden=16 kernel=3\n"
    "pool p in=h kind=avg\nconv y in=p out=5\n";

static inline int change(void *arg, const struct ctt_model *m,
                         struct ctt_change *out)
{
    (void)arg;
    (void)m;
    *out = (struct ctt_change){ { 0.1, 0.1, 0.1 }, { 0 } };
    return 0;
}

static inline struct ctt_sensitivity *sensed(const struct ctt_model *m)
{
    struct ctt_recipe_calls recipe = { .sample = NULL };
    struct ctt_sensitivity_calls calls = { .recipe = &recipe,
                                           .change = change };
    struct ctt_sensitivity *s = NULL;

    CHECK_OK(ctt_sensitivity_new(m, &s));
    CHECK_OK(ctt_sensitivity_run(s, &calls, "test_sensed.tmp"));
    return s;
}

static inline const struct ctt_sensitivity_point *
point(const struct ctt_sensitivity *s, const char *weight, const char *option,
      double value)
{
    for (int i = 0; i < s->points; i++) {
        const struct ctt_sensitivity_point *p = &s->point[i];

        if (strcmp(s->weight[p->weight].name, weight) == 0 &&
            strcmp(p->ladder->name, option) == 0 && p->value == value)
            return p;
    }
    CU_FAIL_FATAL("no such point");
    return NULL;
}

static inline struct ctt_recipe defaults(void)
{
    struct ctt_opt tab[CTT_OPT_MAX + 1] = { { .name = NULL } };
    struct ctt_recipe o = { .epochs = 0 };
    int n = ctt_recipe_options(0, tab, CTT_OPT_MAX);

    CU_ASSERT_FATAL(n > 0);
    tab[n] = (struct ctt_opt){ .name = NULL };
    CHECK_OK(ctt_opt_defaults(tab, &o));
    return o;
}

#endif
