/* SPDX-License-Identifier: Apache-2.0
 * pth_old.c: a .pth of PyTorch up to 1.5: pickles of a number, the version,
 * facts about the machine, the tensors and a list of keys; then the storages in
 * the order of that list, each with how many numbers it has. */
#include "exchange/weights/pth.h"

#include <stdlib.h>
#include <string.h>

/* ---- storages by their keys ---- */

static int by_key(const void *a, const void *b)
{
    const struct ctt_pickled *x = ((const struct ctt_old_storage *)a)->key;
    const struct ctt_pickled *y = ((const struct ctt_old_storage *)b)->key;
    int less = x->length < y->length ? x->length : y->length;
    int order = memcmp(x->text, y->text, (size_t)less);

    return order ? order : x->length - y->length;
}

static struct ctt_old_storage *storage_of(const struct ctt_pth *s,
                                          const struct ctt_pickled *key)
{
    const struct ctt_old_storage k = { key, NULL, 0 };

    return s->olds ? bsearch(&k, s->old, (size_t)s->olds, sizeof(k), by_key) :
                     NULL;
}

static int find_old(const struct ctt_pth *s, const char *key, int64_t bytes,
                    const uint8_t **data)
{
    const struct ctt_pickled v = { .kind = CTT_PICKLED_TEXT, .text = key,
                                   .length = (int)strlen(key) };
    const struct ctt_old_storage *o = storage_of(s, &v);
    int rc = 0;

    CTT_CHECK(o && o->data && o->bytes == bytes, CTT_EFORMAT, "%s: storage %s "
              "has %lld bytes, and %lld are asked for", s->t->path, key,
              o && o->data ? (long long)o->bytes : 0LL, (long long)bytes);
    *data = o->data;
out:
    return rc;
}

/* The storages that tensors name, each once, so far without a place. */
static int list_storages(struct ctt_pth *s)
{
    const struct ctt_pickle *k = &s->k;
    int n = 0;

    s->old = ctt_calloc((size_t)k->values, sizeof(*s->old));
    if (!s->old)
        return CTT_ENOMEM;
    for (int i = 0; i < k->values; i++)
        if (k->value[i].kind == CTT_PICKLED_STORAGE)
            s->old[n++].key = &k->value[i];
    qsort(s->old, (size_t)n, sizeof(*s->old), by_key);
    for (int i = 0; i < n; i++)
        if (s->olds == 0 || by_key(&s->old[s->olds - 1], &s->old[i]) != 0)
            s->old[s->olds++] = s->old[i];
    return 0;
}

/* The storage of that key begins at *at, where *at then ends. */
static int place_storage(struct ctt_pth *s, const struct ctt_pickled *key,
                         int64_t *at)
{
    const struct ctt_tensors *t = s->t;
    struct ctt_old_storage *o;
    uint64_t numbers = 0, size;
    int rc = 0;

    CTT_CHECK(key->kind == CTT_PICKLED_TEXT && t->size - *at >= 8, CTT_EFORMAT,
              "%s: a storage is missing", t->path);
    o = storage_of(s, key);
    CTT_CHECK(o && !o->data, CTT_EFORMAT, "%s: storage %.*s has no tensor, or "
              "stands twice", t->path, key->length, key->text);
    for (int i = 0; i < 8; i++)
        numbers |= (uint64_t)t->image[*at + i] << 8 * i;
    *at += 8;
    size = (uint64_t)o->key->type->size;
    CTT_CHECK(numbers <= (uint64_t)(t->size - *at) / size, CTT_EFORMAT,
              "%s: storage %.*s ends behind the file", t->path, key->length,
              key->text);
    o->data = t->image + *at;
    o->bytes = (int64_t)(numbers * size);
    *at += o->bytes;
out:
    return rc;
}

static int place_storages(struct ctt_pth *s, const struct ctt_pickle *keys,
                          int64_t at)
{
    const struct ctt_pickled *list = &keys->value[keys->root];
    int rc;

    CTT_TRY(list_storages(s));
    CTT_CHECK(list->kind == CTT_PICKLED_LIST, CTT_EFORMAT, "%s: no list of "
              "storages", s->t->path);
    for (int k = list->first; k >= 0; k = keys->link[k].next)
        CTT_TRY(place_storage(s, &keys->value[keys->link[k].value], &at));
    CTT_CHECK(at == s->t->size, CTT_EFORMAT, "%s: %lld bytes behind the last "
              "storage", s->t->path, (long long)(s->t->size - at));
out:
    return rc;
}

/* ---- pickles ---- */

/* Runs the pickle at *at, and moves *at behind it. */
static int next_pickle(const struct ctt_tensors *t, int64_t *at,
                       struct ctt_pickle *k)
{
    int rc;

    ctt_pickle_free(k);
    CTT_TRY(ctt_pickle_run(t->path, t->image + *at, t->size - *at, k));
    *at += k->bytes;
out:
    return rc;
}

static int skip_head(const struct ctt_tensors *t, int64_t *at)
{
    enum { VERSION = 1001 };
    struct ctt_pickle k = { .root = 0 };
    int rc;

    *at = CTT_PTH_MAGIC_BYTES;
    CTT_TRY(next_pickle(t, at, &k));
    CTT_CHECK(k.value[k.root].kind == CTT_PICKLED_INT &&
              k.value[k.root].number == VERSION, CTT_EUNSUP, "%s: not version "
              "%d of torch.save()", t->path, VERSION);
    CTT_TRY(next_pickle(t, at, &k));
out:
    ctt_pickle_free(&k);
    return rc;
}

int ctt_pth_read_old(struct ctt_tensors *t)
{
    struct ctt_pth s = { .t = t, .find = find_old };
    struct ctt_pickle keys = { .root = 0 };
    int64_t at;
    int rc;

    CTT_TRY(skip_head(t, &at));
    CTT_TRY(next_pickle(t, &at, &s.k));
    CTT_TRY(next_pickle(t, &at, &keys));
    CTT_TRY(place_storages(&s, &keys, at));
    CTT_TRY(ctt_pth_tensors(&s));
out:
    ctt_pickle_free(&s.k);
    ctt_pickle_free(&keys);
    ctt_free(s.old);
    return rc;
}
