/* SPDX-License-Identifier: Apache-2.0
 * file_check.c: whether the bytes of a new model file hold the model. */
#include "net/file/decision.h"
#include "net/file/store.h"

#include <string.h>

/* NULL is a text of its own. */
static int same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static int same_labels(const struct ctt_model *a, const struct ctt_model *b)
{
    if (a->labels != b->labels)
        return 0;
    for (int i = 0; i < a->labels; i++)
        if (strcmp(a->label[i], b->label[i]) != 0)
            return 0;
    return 1;
}

/* The weights of a node, of one layout in both models: what is pruned, and the
 * codes and, unless they were compared, the bits of all others. */
static int same_node(const struct ctt_model *a, const struct ctt_model *b,
                     const struct ctt_node *n, int compared)
{
    const struct ctt_constraint *x = &a->constraint, *y = &b->constraint;

    for (int k = 0; k < n->nw; k++) {
        int64_t at = n->at[k], count = ctt_volume(&n->w[k]);
        if (!x->keep && !x->share && !y->keep && !y->share &&
            (compared || memcmp(a->w + at, b->w + at, (size_t)count *
                                sizeof(*a->w)) == 0))
            continue;
        for (int64_t j = at; j < at + count; j++) {
            int pruned = ctt_is_pruned(x, j);
            if (pruned != ctt_is_pruned(y, j) ||
                ctt_code(x, j) != ctt_code(y, j) ||
                (!pruned && !compared &&
                 memcmp(a->w + j, b->w + j, sizeof(*a->w)) != 0))
                return 0;
        }
    }
    return 1;
}

static int same_weights(const struct ctt_model *a, const struct ctt_model *b,
                        int compared)
{
    for (int i = 0; i < a->g->count; i++)
        if (!same_node(a, b, &a->g->node[i], compared))
            return 0;
    return 1;
}

static int same_array(const struct ctt_array *a, const struct ctt_array *b)
{
    return strcmp(a->name, b->name) == 0 && a->size == b->size &&
           a->count == b->count &&
           (a->count == 0 || a->data == b->data ||    /* was compared */
            memcmp(a->data, b->data, (size_t)(a->count * a->size)) == 0);
}

static int same_train(const struct ctt_state *a, const struct ctt_state *b)
{
    if (!a || !b)
        return a == b;
    if (!same_text(a->settings, b->settings) || a->count != b->count)
        return 0;
    for (int i = 0; i < a->count; i++)
        if (!same_array(&a->array[i], &b->array[i]))
            return 0;
    return 1;
}

int ctt_store_check(const char *path, const uint8_t *p, int64_t size,
                    const struct ctt_model *m)
{
    struct ctt_model *back = NULL;
    int rc = 0, compared, decides;

    CTT_TRY(ctt_model_load_like(path, p, size, m, &compared, &back));
    CTT_TRY(decides = ctt_model_decides(m));
    CTT_CHECK(same_labels(m, back) && same_weights(m, back, compared) &&
              same_text(m->history, back->history) &&
              same_text(decides ? m->decision : NULL, back->decision) &&
              same_train(m->train, back->train), CTT_EIO,
              "%s: not written: HDF5's file differs from the model", path);
out:
    ctt_model_free(&back);
    return rc;
}
