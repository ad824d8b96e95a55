/* SPDX-License-Identifier: Apache-2.0
 * lint_print.c: the facts of --lint: receptive field, memory and energy. */
#include "tools/info/lint_inside.h"
#include "net/op.h"
#include "tools/shared/tool.h"

static void field_text(const struct ctt_receptive *f, char text[48])
{
    if (!f->frames)
        snprintf(text, 48, "-\t-");
    else if (f->frames == CTT_FIELD_ALL)
        snprintf(text, 48, "%lldx%lld\tall", (long long)f->h, (long long)f->w);
    else
        snprintf(text, 48, "%lldx%lld\t%lld", (long long)f->h, (long long)f->w,
                 (long long)f->frames);
}

/* Microjoules of each type. */
static void add_energy(const struct lint *l, int i, double uj[CTT_LINT_TYPES])
{
    for (int k = 0; k < CTT_LINT_TYPES; k++)
        uj[k] += 1e-6 * ctt_lint_energy(l->cost, l->m->g->count, i,
                                        (enum ctt_lint_type)k);
}

static void add_row(const struct lint *l, int i, struct ctt_table *t)
{
    const struct ctt_node *n = &l->m->g->node[i];
    const struct ctt_layer_cost *c = &l->cost[i];
    double uj[CTT_LINT_TYPES] = { 0 };
    char field[48], cell[3][24];
    const char *start;

    add_energy(l, i, uj);
    field_text(&l->field[i], field);
    snprintf(cell[0], sizeof(cell[0]), "%.1f", 1e-3 * ctt_lint_weight_bytes(c));
    snprintf(cell[1], sizeof(cell[1]), "%.1f", 4e-3 * (c->values + c->past));
    snprintf(cell[2], sizeof(cell[2]), "%.1f", 1e-3 * ctt_lint_train_bytes(c));
    ctt_table_row(t, "%d\t%s\t%s\t%.*s\t%s\t%s\t%s\t%s\t%.2f\t%.2f\t%.2f\t"
                  "%.2f", ctt_lint_line(l, i, &start), n->name,
                  ctt_ops[n->op].name,
                  (int)strcspn(field, "\t"), field,
                  field + strcspn(field, "\t") + 1, cell[0], cell[1], cell[2],
                  uj[CTT_LINT_FP32], uj[CTT_LINT_FP16], uj[CTT_LINT_INT8],
                  uj[CTT_LINT_AS_IS]);
}

static void add_sums(const struct lint *l, struct ctt_table *t)
{
    double weights = 0, values = 0, train = 0, uj[CTT_LINT_TYPES] = { 0 };

    for (int i = 0; i < l->m->g->count; i++) {
        weights += 1e-3 * ctt_lint_weight_bytes(&l->cost[i]);
        values += 4e-3 * (l->cost[i].values + l->cost[i].past);
        train += 1e-3 * ctt_lint_train_bytes(&l->cost[i]);
        add_energy(l, i, uj);
    }
    ctt_table_row(t, "\tall\t\t\t\t%.1f\t%.1f\t%.1f\t%.2f\t%.2f\t%.2f\t%.2f",
                  weights, values, train, uj[CTT_LINT_FP32],
                  uj[CTT_LINT_FP16], uj[CTT_LINT_INT8], uj[CTT_LINT_AS_IS]);
}

int ctt_lint_say_costs(const struct lint *l)
{
    const struct ctt_graph *g = l->m->g;
    const struct ctt_tensor *x = &g->node[ctt_graph_input(g)].out;
    const struct ctt_receptive *f = &l->field[ctt_graph_output(g)];
    struct ctt_table t = { NULL, 0, 0, 0 };
    char all[48] = "";
    int rc;

    printf("receptive field %lld x %lld of %lld x %lld pixels, ",
           (long long)f->h, (long long)f->w, (long long)x->h, (long long)x->w);
    if (f->frames == CTT_FIELD_ALL)
        printf("all frames before\n\n");
    else
        printf("%lld frame%s\n\n", (long long)f->frames, ctt_s(f->frames));
    ctt_table_row(&t, "line\tnode\tword\tfield\tframes\tweights kB\tvalues kB\t"
                  "training kB\tuJ fp32\tuJ fp16\tuJ int8\tuJ as it is");
    for (int i = 0; i < g->count; i++)
        if (ctt_ops[g->node[i].op].memory != CTT_VIEW)
            add_row(l, i, &t);
    add_sums(l, &t);
    CTT_TRY(ctt_table_print(&t));
    if (l->plan.s.run)
        snprintf(all, sizeof(all), " (%.1f kB in all)",
                 1e-3 * (double)l->plan.s.run->values);
    printf("values: of a frame, and of earlier ones that are read again; nodes "
           "share\nmemory at run time%s.  training: weight, gradient and two "
           "moments;\nvalue and gradient of a step of a clip.  uJ: energy of a "
           "frame and answer by\ncounts of products and of bytes read and "
           "written, with the figures of Horowitz\n(2014) for 45 nm: they "
           "compare types, and say nothing of this machine.  as it\nis: "
           "without pruned weights, in the model's types.\n",
           all);
out:
    return rc;
}
