/* SPDX-License-Identifier: Apache-2.0
 * int8_recipe.c: recipes with the stage INT8 on a small model. */
#include "tests/lib/int8_recipe.h"
#include "net/quant.h"
#include "tests/lib/check.h"
#include "tests/lib/saved.h"
#include "tests/lib/small.h"

const char int8_net[] =
    "input x h=6 w=6 c=16 mean=0.5 std=0.2\n"
    "conv a in=x out=24 kernel=3 pad=1\n"
    "norm n in=a kind=batch\n"
    "act r in=n kind=relu\n"
    "pool p in=r kind=max kernel=2\n"
    "convlstm h in=p hidden=8 kernel=3\n"
    "deconv u in=h out=6 kernel=2 stride=2\n"
    "conv y in=u out=5 kernel=3 pad=1\n";

int int8_sample(void *arg, const struct ctt_model *m, int clips,
                const int *node, int nodes, enum ctt_sampled what,
                void (*take)(void *to, int k, const float *row), void *to)
{
    CU_ASSERT(what == CTT_SAMPLE_ALL || what == CTT_SAMPLE_VALUES);
    return small_sample_any(arg, m, clips, node, nodes, what, take, to);
}

struct ctt_report *int8_report(const struct ctt_recipe *o,
                               const struct ctt_recipe_calls *calls,
                               const char *text, struct ctt_model **m)
{
    struct ctt_report *r = NULL;

    *m = small_model(text, 6);
    CHECK_OK(ctt_recipe_run(o, calls, saved_path, NULL, m, &r));
    return r;
}

struct ctt_model *int8_recipe(const struct ctt_recipe *o,
                              const struct ctt_recipe_calls *calls,
                              const char *text)
{
    struct ctt_model *m = NULL;
    struct ctt_report *r = int8_report(o, calls, text, &m);

    ctt_report_free(&r);
    return m;
}

int int8_convs(const struct ctt_graph *g)
{
    int n = 0;

    for (int i = 0; i < g->count; i++)
        n += ctt_is_int8(g, i);
    return n;
}
