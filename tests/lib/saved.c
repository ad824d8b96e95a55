/* SPDX-License-Identifier: Apache-2.0
 * saved.c: models to save, their equality, and files as bytes. */
#include "tests/lib/saved.h"
#include "tests/lib/check.h"
#include "base/random.h"
#include "net/file/file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

char saved_dir[32], saved_path[48], saved_other[48];

static const char net[] =
    "input x h=12 w=12 c=3 fps=12 mean=0.45 std=0.25\n"
    "conv c1 in=x out=8 kernel=3 stride=2 pad=1\n"
    "norm n1 in=c1 kind=batch\n"
    "convlstm h in=n1 hidden=6\n"
    "clip\n"
    "window v in=h steps=3\n"
    "add s in=v bias=1\n"
    "conv c2 in=s out=5 kernel=3,6,6\n"
    "norm n2 in=c2 kind=layer\n"
    "deconv y in=n2 out=4\n";

static float noise(uint64_t i)
{
    return (float)(int32_t)ctt_random(3, i) * 0x1p-34f;
}

struct ctt_model *saved_make(const char *text)
{
    struct ctt_graph *g = NULL;
    struct ctt_model *m = NULL;

    CHECK_OK(ctt_net_parse(text, &g));
    CHECK_OK(ctt_model_new(g, &m));
    for (int i = 0; i < m->g->count; i++) {
        const struct ctt_node *n = &m->g->node[i];
        for (int k = 0; k < n->nw; k++)
            for (int64_t j = 0; j < ctt_volume(&n->w[k]); j++)
                m->w[n->at[k] + j] = noise((uint64_t)(n->at[k] + j));
    }
    return m;
}

void saved_name(struct ctt_model *m)
{
    char *label[] = { "pushing something", "", "a\nb", "\303\251" };

    CHECK_OK(ctt_model_labels(m, label, 4));
    m->history = ctt_strdup("trained 3 epochs\npruned 0.9\n");
}

/* The first weight is pruned whole, the second not at all. */
void saved_prune(struct ctt_model *m)
{
    uint8_t *keep;

    CHECK_OK(ctt_constraint_mask(&m->constraint, m->g->weights));
    keep = m->constraint.keep;
    for (int i = 0, at = 0; i < m->g->count; i++) {
        const struct ctt_node *n = &m->g->node[i];
        for (int k = 0; k < n->nw; k++, at++)
            for (int64_t j = n->at[k]; j < n->at[k] + ctt_volume(&n->w[k]);
                 j++) {
                keep[j] = at == 1 || (at && ctt_random(9, (uint64_t)j)
                                      < UINT32_MAX / 10);
                m->w[j] = keep[j] ? m->w[j] : 0;
            }
    }
}

void saved_share(struct ctt_model *m)
{
    const struct ctt_node *n = &m->g->node[ctt_graph_find(m->g, "c2")];

    CHECK_OK(ctt_constraint_share(&m->constraint, m->g->weights));
    for (int64_t j = n->at[0]; j < n->at[0] + ctt_volume(&n->w[0]); j++)
        if (!ctt_is_pruned(&m->constraint, j))
            m->constraint.share[j] = (uint8_t)(1 + ctt_random(4, (uint64_t)j)
                                               % 6);
    ctt_model_hold(m);
}

void saved_train(struct ctt_model *m)
{
    static const float odd[] = { NAN, -INFINITY, -0.0f, 1e-42f };
    static const int64_t big[] = { INT64_MIN, -1, INT64_MAX };

    CHECK_OK(ctt_state_new(&m->train));
    m->train->settings = ctt_strdup("epochs=3\nseed=7\n");
    CHECK_OK(ctt_state_add(m->train, "moment1", 4, m->g->weights, m->w));
    CHECK_OK(ctt_state_add(m->train, "odd", 4, 4, odd));
    CHECK_OK(ctt_state_add(m->train, "cursor", 8, 3, big));
    CHECK_OK(ctt_state_add(m->train, "order", 1, 5, "\0\1\2\377x"));
    CHECK_OK(ctt_state_add(m->train, "none", 4, 0, NULL));
}

/* ---- equality ---- */

static int same_bytes(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static int same_train(const struct ctt_state *a, const struct ctt_state *b)
{
    if (!a || !b)
        return a == b;
    if (!same_bytes(a->settings, b->settings) || a->count != b->count)
        return 0;
    for (int i = 0; i < a->count; i++) {
        const struct ctt_array *x = &a->array[i], *y = &b->array[i];
        if (strcmp(x->name, y->name) || x->size != y->size ||
            x->count != y->count ||
            memcmp(x->data, y->data, (size_t)(x->count * x->size)))
            return 0;
    }
    return 1;
}

static int same_mask(const struct ctt_model *a, const struct ctt_model *b)
{
    const struct ctt_constraint *ca = &a->constraint, *cb = &b->constraint;

    if (!ca->keep != !cb->keep || !ca->share != !cb->share)
        return 0;
    if (ca->share && memcmp(ca->share, cb->share, (size_t)a->g->weights))
        return 0;
    for (int i = 0; i < a->g->count; i++) {
        const struct ctt_node *n = &a->g->node[i];
        for (int k = 0; k < n->nw; k++)
            if (ca->keep && memcmp(ctt_kept(ca, n->at[k]),
                                   ctt_kept(cb, n->at[k]),
                                   (size_t)ctt_volume(&n->w[k])))
                return 0;
    }
    return 1;
}

int saved_same(const struct ctt_model *a, const struct ctt_model *b)
{
    char *ta = ctt_net_print(a->g), *tb = ctt_net_print(b->g);
    int ok = same_bytes(ta, tb) && a->labels == b->labels &&
             same_bytes(a->history, b->history) && same_mask(a, b) &&
             memcmp(a->w, b->w, (size_t)a->g->weights * 4) == 0;

    for (int i = 0; ok && i < a->labels; i++)
        ok = same_bytes(a->label[i], b->label[i]);
    ctt_free(ta);
    ctt_free(tb);
    return ok && same_train(a->train, b->train);
}

/* ---- files as bytes ---- */

uint8_t *saved_slurp(const char *name, int64_t *n)
{
    FILE *f = fopen(name, "rb");
    uint8_t *p;

    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    fseek(f, 0, SEEK_END);
    *n = ftell(f);
    rewind(f);
    p = ctt_calloc((size_t)*n, 1);
    CU_ASSERT_EQUAL((int64_t)fread(p, 1, (size_t)*n, f), *n);
    fclose(f);
    return p;
}

void saved_spill(const char *name, const uint8_t *p, int64_t n)
{
    FILE *f = fopen(name, "wb");

    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    CU_ASSERT_EQUAL((int64_t)fwrite(p, 1, (size_t)n, f), n);
    CU_ASSERT_EQUAL(fclose(f), 0);
}

struct ctt_model *saved_variant(int what)
{
    struct ctt_model *m = saved_make(net);

    if (what & NAMES)
        saved_name(m);
    if (what & PRUNED)
        saved_prune(m);
    if (what & SHARED)
        saved_share(m);
    if (what & TRAIN)
        saved_train(m);
    return m;
}

/* ---- the folder ---- */

int saved_start(void)
{
    strcpy(saved_dir, "/tmp/convtt-file-XXXXXX");
    if (!mkdtemp(saved_dir))
        return 99;
    snprintf(saved_path, sizeof(saved_path), "%s/a.h5", saved_dir);
    snprintf(saved_other, sizeof(saved_other), "%s/b.h5", saved_dir);
    return 0;
}

int saved_end(int rc)
{
    char command[64];

    snprintf(command, sizeof(command), "rm -rf %s", saved_dir);
    return system(command) == 0 ? rc : 99;
}

void saved_refused(const char *name, int code, const char *says)
{
    struct ctt_model *m = NULL;
    int rc = ctt_model_load(name, 1, &m);

    if (rc != code || !strstr(ctt_errmsg(), says) ||
        strncmp(ctt_errmsg(), name, strlen(name)) ||
        strchr(ctt_errmsg(), '\n'))
        printf("\n    %d, wanted %d, %s: %s", rc, code, says, ctt_errmsg());
    CU_ASSERT_EQUAL(rc, code);
    CU_ASSERT_PTR_NULL(m);
    CU_ASSERT_PTR_NOT_NULL(strstr(ctt_errmsg(), says));
    CU_ASSERT(strncmp(ctt_errmsg(), name, strlen(name)) == 0);
    CU_ASSERT_PTR_NULL(strchr(ctt_errmsg(), '\n'));
    ctt_model_free(&m);
}
