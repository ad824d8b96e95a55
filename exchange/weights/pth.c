/* SPDX-License-Identifier: Apache-2.0
 * pth.c: the tensors of the pickle of a .pth: those of a dictionary, by name.
 */
#include "exchange/weights/pth.h"
#include "net/graph.h"

#include <stdio.h>
#include <string.h>

enum { DEPTH_MOST = 8, VISITS_MOST = 1 << 24 };

/* Dimensions or strides: a tuple of whole numbers. */
static int numbers_of(const struct ctt_pickle *k, const struct ctt_pickled *v,
                      int64_t *out)
{
    int n = 0;

    if (v->kind != CTT_PICKLED_TUPLE || v->count > CTT_NAMED_RANK)
        return -1;
    for (int at = v->first; at >= 0; at = k->link[at].next, n++) {
        const struct ctt_pickled *x = &k->value[k->link[at].value];

        if (x->kind != CTT_PICKLED_INT || x->number < 0)
            return -1;
        out[n] = x->number;
    }
    return n;
}

/* Whether the last number of a tensor, too, is one of those of its storage. */
static int fits(const struct ctt_named *n, int64_t offset, int64_t numbers)
{
    int64_t left = numbers - 1 - offset;

    if (ctt_named_volume(n) == 0)
        return 1;
    for (int i = 0; i < n->rank && left >= 0; i++)
        if (n->dim[i] > 1) {
            if (n->stride[i] > left / (n->dim[i] - 1))
                return 0;
            left -= n->stride[i] * (n->dim[i] - 1);
        }
    return left >= 0;
}

static int add_tensor(struct ctt_pth *s, const char *name,
                      const struct ctt_pickled *v)
{
    const struct ctt_pickled *of = ctt_pickle_member(&s->k, v, 0);
    const struct ctt_pickled *offset = ctt_pickle_member(&s->k, v, 1);
    struct ctt_named n = { .name = (char *)(uintptr_t)name, .type = of->type };
    char key[CTT_PTH_NAME];
    int rc = 0, strides;

    n.rank = numbers_of(&s->k, ctt_pickle_member(&s->k, v, 2), n.dim);
    strides = numbers_of(&s->k, ctt_pickle_member(&s->k, v, 3), n.stride);
    CTT_CHECK(of->kind == CTT_PICKLED_STORAGE && n.rank >= 0 &&
              strides == n.rank && offset->kind == CTT_PICKLED_INT &&
              offset->number >= 0 && of->number >= 0 &&
              of->number <= CTT_MAX_VOLUME && of->length < CTT_PTH_NAME &&
              ctt_named_volume(&n) >= 0, CTT_EFORMAT, "%s: %s has no right "
              "shape", s->t->path, name);
    CTT_CHECK(fits(&n, offset->number, of->number), CTT_EFORMAT, "%s: %s ends "
              "behind its storage", s->t->path, name);
    snprintf(key, sizeof(key), "%.*s", of->length, of->text);
    CTT_TRY(s->find(s, key, of->number * of->type->size, &n.data));
    n.data += ctt_named_volume(&n) ? offset->number * of->type->size : 0;
    CTT_TRY(ctt_tensors_add(s->t, &n));
out:
    return rc;
}

/* All tensors in a dictionary and in those inside of it, whose names then are
 * the names of the dictionaries and their own with dots between. */
static int add_dict(struct ctt_pth *s, const char *prefix,
                    const struct ctt_pickled *dict, int depth)
{
    const struct ctt_pickle *k = &s->k;
    char name[CTT_PTH_NAME];
    int rc = 0;

    for (int at = dict->first; at >= 0; at = k->link[k->link[at].next].next) {
        const struct ctt_pickled *key = &k->value[k->link[at].value];
        const struct ctt_pickled *v =
            &k->value[k->link[k->link[at].next].value];

        CTT_CHECK(s->visits++ < VISITS_MOST, CTT_EFORMAT, "%s: more than %d "
                  "entries", s->t->path, VISITS_MOST);
        if (key->kind != CTT_PICKLED_TEXT)
            continue;
        CTT_CHECK((size_t)snprintf(name, sizeof(name), "%s%.*s", prefix,
                                   key->length, key->text) < sizeof(name) - 1,
                  CTT_EFORMAT, "%s: a name of more than %d bytes", s->t->path,
                  CTT_PTH_NAME - 2);
        if (v->kind == CTT_PICKLED_TENSOR)
            CTT_TRY(add_tensor(s, name, v));
        if (v->kind != CTT_PICKLED_DICT)
            continue;
        CTT_CHECK(depth < DEPTH_MOST, CTT_EFORMAT, "%s: more than %d "
                  "dictionaries in each other", s->t->path, DEPTH_MOST);
        snprintf(name + strlen(name), 2, ".");
        CTT_TRY(add_dict(s, name, v, depth + 1));
    }
out:
    return rc;
}

int ctt_pth_tensors(struct ctt_pth *s)
{
    const struct ctt_pickled *root = &s->k.value[s->k.root];
    int rc = 0;

    CTT_CHECK(root->kind == CTT_PICKLED_DICT, CTT_EUNSUP, "%s: holds no "
              "state_dict: save model.state_dict() by torch.save()",
              s->t->path);
    CTT_TRY(add_dict(s, "", root, 1));
out:
    return rc;
}
