/* SPDX-License-Identifier: Apache-2.0
 * fold.c: the parts of a set for cross-validation (Stone 1974), stratified by
 * class. */
#include "libtrain/data/fold.h"
#include "libtrain/chance.h"
#include "libtrain/data/bucket.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ---- groups of clips ---- */

static uint64_t number_of(const char *s, size_t n)
{
    uint64_t key = n + 1;

    for (size_t i = 0; i < n; i++)
        key = ctt_key(key, (unsigned char)s[i]);
    return key | 1;
}

static size_t digits(const char *s)
{
    size_t n = 0;

    while (isdigit((unsigned char)s[n]))
        n++;
    return n;
}

uint64_t ctt_name_group(const char *name)
{
    static const char person[] = "person";
    const size_t n = sizeof(person) - 1;
    const char *part = strrchr(name, '#');

    for (const char *s = name; (s = strstr(s, person)) != NULL; s += n)
        if (digits(s + n))
            return number_of(s, n + digits(s + n));
    for (const char *s = name; (s = strstr(s, "_g")) != NULL; s += 2)
        if (digits(s + 2) && s[2 + digits(s + 2)] == '_')
            return number_of(name, (size_t)(s - name) + 2 + digits(s + 2));
    if (part && part[1 + digits(part + 1)])    /* a number alone is a picture */
        return number_of(name, (size_t)(part - name));
    return 0;
}

/* Clips with the same key belong together. */
struct tie { uint64_t key; int kind, clip; };

static int by_key(const void *a, const void *b)
{
    const struct tie *x = a, *y = b;

    if (x->kind != y->kind)
        return x->kind - y->kind;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x->clip - y->clip;
}

static int root_of(int *up, int i)
{
    while (up[i] != i)
        i = up[i] = up[up[i]];
    return i;
}

/* root[i]: the first clip of the group of clip i. */
static int find_groups(const struct ctt_data *d, int *root)
{
    struct tie *t = ctt_calloc(2 * (size_t)d->clips + 1, sizeof(*t));
    int n = 0;

    if (!t)
        return CTT_ENOMEM;
    for (int i = 0; i < d->clips; i++) {
        const struct ctt_clip *c = &d->clip[i];
        uint64_t group = ctt_name_group(d->list->item[c->item].id);

        root[i] = i;
        if (c->sum)
            t[n++] = (struct tie){ c->sum, 0, i };
        if (group)
            t[n++] = (struct tie){ group, 1, i };
    }
    qsort(t, (size_t)n, sizeof(*t), by_key);
    for (int k = 1; k < n; k++)
        if (t[k].key == t[k - 1].key && t[k].kind == t[k - 1].kind) {
            int a = root_of(root, t[k].clip), b = root_of(root, t[k - 1].clip);
            root[a > b ? a : b] = a > b ? b : a;
        }
    for (int i = 0; i < d->clips; i++)
        root[i] = root_of(root, i);
    ctt_free(t);
    return 0;
}

enum { RUNS = 10 };

/* group: the first clip of each clip's group, which becomes that one's run. */
static int cut_runs(const struct ctt_data *d, int *group)
{
    size_t labels = (size_t)d->list->labels;
    int *all = ctt_calloc(2 * labels + 2, sizeof(*all));
    int *seen = all ? all + labels + 1 : NULL;

    if (!all)
        return CTT_ENOMEM;
    for (int i = 0; i < d->clips; i++)
        all[d->clip[i].label + 1]++;
    for (int i = 0; i < d->clips; i++) {
        int c = d->clip[i].label + 1, run = seen[c]++ * RUNS / all[c];

        group[i] = group[i] == i ? run : group[group[i]];
    }
    ctt_free(all);
    return 0;
}

int ctt_groups_find(const struct ctt_data *d, int *group)
{
    int rc, n = 0;

    CTT_TRY(find_groups(d, group));
    for (int i = 0; i < d->clips; i++)
        n += group[i] == i;
    if (2 * n <= d->clips)
        return n;
    CTT_TRY(cut_runs(d, group));
    return 0;
out:
    return rc;
}

/* ---- the folds ---- */

/* Clips that belong together, in the order in which they get a fold. */
struct unit { int size, turn, first; };    /* first: of its members */

static int large_first(const void *a, const void *b)
{
    const struct unit *x = a, *y = b;

    return x->size != y->size ? y->size - x->size : x->turn - y->turn;
}

struct folding {
    const struct ctt_data *d;
    int          folds, labels, units;
    int         *root, *member, *work;    /* [clips] */
    struct unit *unit;
    int         *of;              /* [folds][labels]: clips so far */
    int         *all;             /* [folds] */
};

/* Lists the units and their clips. */
static void find_units(struct folding *f)
{
    int *next = f->work, at = 0;

    memset(next, 0, (size_t)f->d->clips * sizeof(*next));
    for (int i = 0; i < f->d->clips; i++)
        next[f->root[i]]++;
    for (int i = 0; i < f->d->clips; i++)
        if (next[i]) {
            int size = next[i];
            f->unit[f->units++] = (struct unit){ size, 0, at };
            next[i] = at;
            at += size;
        }
    for (int i = 0; i < f->d->clips; i++)
        f->member[next[f->root[i]]++] = i;
}

/* Large units first, units of one size in random order. */
static void order_units(struct folding *f, uint64_t key)
{
    for (int k = 0; k < f->units; k++)
        f->work[k] = k;
    ctt_shuffle(f->work, f->units, key);
    for (int k = 0; k < f->units; k++)
        f->unit[k].turn = f->work[k];
    qsort(f->unit, (size_t)f->units, sizeof(*f->unit), large_first);
}

/* The k-th label of the i-th clip of a unit, or -1. */
static int label_of(const struct folding *f, const struct unit *u, int i, int k)
{
    if (f->d->symbols)    /* whatever its vocabulary will be */
        return k ? -1 : 0;
    return ctt_clip_label(f->d, &f->d->clip[f->member[u->first + i]], k);
}

/* The fold with the fewest clips of the unit's classes, then with the fewest
 * clips: so none stays empty while another one gets a second unit. */
static int choose_fold(const struct folding *f, const struct unit *u)
{
    int64_t least = INT64_MAX;
    int best = 0;

    for (int k = 0; k < f->folds; k++) {
        int64_t cost = 0;
        for (int i = 0; i < u->size; i++)
            for (int j = 0, c; (c = label_of(f, u, i, j)) >= 0; j++)
                cost += f->of[k * f->labels + c];
        if (cost < least || (cost == least && f->all[k] < f->all[best])) {
            least = cost;
            best = k;
        }
    }
    return best;
}

static void assign_unit(struct folding *f, const struct unit *u, int *fold)
{
    int k = choose_fold(f, u);

    for (int i = 0; i < u->size; i++) {
        fold[f->member[u->first + i]] = k;
        for (int j = 0, c; (c = label_of(f, u, i, j)) >= 0; j++)
            f->of[k * f->labels + c]++;
        f->all[k]++;
    }
}

static int folding_open(struct folding *f)
{
    size_t clips = (size_t)f->d->clips, folds = (size_t)f->folds;

    f->root = ctt_calloc(clips, sizeof(*f->root));
    f->member = ctt_calloc(clips, sizeof(*f->member));
    f->work = ctt_calloc(clips, sizeof(*f->work));
    f->unit = ctt_calloc(clips, sizeof(*f->unit));
    f->of = ctt_calloc(folds * (size_t)f->labels, sizeof(*f->of));
    f->all = ctt_calloc(folds, sizeof(*f->all));
    return f->root && f->member && f->work && f->unit && f->of && f->all
           ? 0 : CTT_ENOMEM;
}

static void folding_close(struct folding *f)
{
    ctt_free(f->root);
    ctt_free(f->member);
    ctt_free(f->work);
    ctt_free(f->unit);
    ctt_free(f->of);
    ctt_free(f->all);
}

/* The parts of one text, the last of which is fold 0. */
static int cut_text(const struct ctt_data *d, int folds, int *fold)
{
    int rc = 0;

    CTT_CHECK(d->clips >= folds, CTT_EINVAL, "--folds=%d: the text has %d "
              "windows", folds, d->clips);
    for (int i = 0; i < d->clips; i++)
        fold[i] = folds - 1 - (int)((int64_t)i * folds / d->clips);
out:
    return rc;
}

int ctt_folds_make(const struct ctt_data *d, int folds, uint64_t seed,
                   int *fold)
{
    struct folding f = { .d = d, .folds = folds, .labels = d->list->labels };
    int rc;

    if (d->one)
        return cut_text(d, folds, fold);
    CTT_TRY(folding_open(&f));
    CTT_TRY(find_groups(d, f.root));
    find_units(&f);
    order_units(&f, ctt_key(seed, CTT_KEY_FOLD));
    CTT_CHECK(f.units >= folds, CTT_EINVAL, "--folds=%d: the %d clips are %d "
              "groups that belong together", folds, d->clips, f.units);
    for (int k = 0; k < f.units; k++)
        assign_unit(&f, &f.unit[k], fold);
out:
    folding_close(&f);
    return rc;
}

/* ---- a fold as a set ---- */

/* The clips of fold k, or with rest all others. */
static int open_fold(const struct ctt_data *d, const int *fold, int k, int rest,
                     struct ctt_data **out)
{
    struct ctt_data *p = ctt_calloc(1, sizeof(*p));
    int rc = p ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    *p = *d;
    p->clips = p->longest = 0;
    p->skipped *= rest;    /* of the set, which counts them once */
    p->clip = ctt_calloc((size_t)d->clips, sizeof(*p->clip));
    CTT_TRY(p->clip ? 0 : CTT_ENOMEM);
    for (int i = 0; i < d->clips; i++)
        if ((fold[i] == k) != rest) {
            p->clip[p->clips++] = d->clip[i];
            p->longest = d->clip[i].length > p->longest ? d->clip[i].length
                                                        : p->longest;
        }
    *out = p;
    p = NULL;
out:
    ctt_fold_close(&p);
    return rc;
}

int ctt_fold_open(const struct ctt_data *d, const struct ctt_train_cfg *cfg,
                  int k, struct ctt_data **train, struct ctt_data **val)
{
    int *fold = ctt_calloc((size_t)d->clips, sizeof(*fold));
    struct ctt_data *most = NULL;
    int rc = fold ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    CTT_TRY(ctt_folds_make(d, cfg->folds, (uint64_t)cfg->seed, fold));
    CTT_TRY(open_fold(d, fold, k, 1, &most));
    CTT_TRY(open_fold(d, fold, k, 0, val));
    *train = most;
    most = NULL;
out:
    ctt_fold_close(&most);
    ctt_free(fold);
    return rc;
}

int ctt_folds_count(struct ctt_data *const *set, int sets)
{
    const struct ctt_data *d = set[0];
    int *item = NULL, rc = 0;

    if (!d->symbols)
        return 0;
    item = ctt_calloc((size_t)d->clips, sizeof(*item));
    CTT_TRY(item ? 0 : CTT_ENOMEM);
    for (int i = 0; i < d->clips; i++)
        item[i] = d->clip[i].item;
    CTT_TRY(ctt_source_recount(d->source, item, d->clips));
    for (int k = 0; k < sets; k++)
        for (int i = 0; i < set[k]->clips; i++) {
            struct ctt_clip *c = &set[k]->clip[i];

            c->label = d->list->item[c->item].label;
        }
out:
    ctt_free(item);
    return rc;
}

void ctt_fold_close(struct ctt_data **d)
{
    if (*d)
        ctt_free((*d)->clip);
    ctt_free(*d);
    *d = NULL;
}
