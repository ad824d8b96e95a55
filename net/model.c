/* SPDX-License-Identifier: Apache-2.0
 * model.c: a graph with its weights, labels, history and training state in
 * memory. */
#include "net/late.h"
#include "base/limits.h"
#include "net/op.h"

#include <string.h>

/* ---- the weights of an op ---- */

const char *ctt_weight_name(const struct ctt_node *n, int k)
{
    return k >= 0 && k < CTT_MAX_W ? ctt_ops[n->op].weight[k].name
                                   : NULL;
}

void ctt_weight_title(const struct ctt_node *n, int k,
                      char title[CTT_WEIGHT_NAME])
{
    const char *name = ctt_weight_name(n, k);
    size_t at = strlen(n->name);

    memcpy(title, n->name, at);
    title[at] = '.';
    strcpy(title + at + 1, name ? name : "?");
}

int ctt_weight_shape(const struct ctt_node *n, int k, int64_t dim[5])
{
    const struct ctt_tensor *w = &n->w[k];
    const int64_t all[5] = { w->n, w->d, w->h, w->w, w->c };

    if (ctt_is_kernel(n, k)) {
        memcpy(dim, all, sizeof(all));
        return 5;
    }
    dim[0] = ctt_volume(w);
    return 1;
}

/* ---- the model ---- */

int ctt_model_new(struct ctt_graph *g, struct ctt_model **out)
{
    struct ctt_model *m = NULL;
    int rc = 0;

    CTT_CHECK(g->sealed, CTT_EINVAL, "the graph is not sealed");
    CTT_TRY(ctt_memory_check("the weights", g->weights *
                             (int64_t)sizeof(*m->w)));
    m = ctt_calloc(1, sizeof(*m));
    CTT_TRY(m ? 0 : CTT_ENOMEM);
    m->w = ctt_calloc((size_t)g->weights, sizeof(*m->w));
    CTT_TRY(m->w ? 0 : CTT_ENOMEM);
    m->g = g;
    *out = m;
    return 0;
out:
    ctt_free(m);
    ctt_graph_free(&g);
    return rc;
}

/* Without a branch per number, as all numbers of a model are read. */
int ctt_all_finite(const float *w, int64_t n)
{
    uint32_t bad = 0;

#pragma omp simd reduction(| : bad)
    for (int64_t i = 0; i < n; i++) {
        uint32_t bits;

        memcpy(&bits, w + i, sizeof(bits));
        bad |= (bits & 0x7f800000) == 0x7f800000;
    }
    return !bad;
}

static int any_below_zero(const float *w, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (w[i] < 0)
            return 1;
    return 0;
}

static int weight_finite(const struct ctt_model *m, const struct ctt_node *n,
                         int k)
{
    enum { VARIANCE = 3 };
    const float *w = m->w + n->at[k];
    int64_t count = ctt_volume(&n->w[k]);
    char title[CTT_WEIGHT_NAME];
    int rc = 0;

    if (ctt_late_find(m->late, n, k))
        goto out;    /* looked at when it is read */
    ctt_weight_title(n, k, title);
    CTT_CHECK(ctt_all_finite(w, count), CTT_ENAN,
              "weight '%s' has a number that is not finite", title);
    CTT_CHECK(k != VARIANCE || !ctt_is_batch_norm(n) ||
              !any_below_zero(w, count), CTT_ENAN,
              "weight '%s' is a variance and has a negative number", title);
out:
    return rc;
}

int ctt_model_finite(const struct ctt_model *m)
{
    int rc = 0;

    for (int i = 0; i < m->g->count; i++)
        for (int k = 0; k < m->g->node[i].nw; k++)
            CTT_TRY(weight_finite(m, &m->g->node[i], k));
out:
    return rc;
}

void ctt_model_leaves(struct ctt_model *m, const struct ctt_tensor *t)
{
    int64_t bytes = ctt_volume(t) * (int64_t)sizeof(*m->w);

    m->untouched += bytes;
    ctt_memory_untouched(bytes);
}

void ctt_model_free(struct ctt_model **m)
{
    if (!*m)
        return;
    ctt_graph_free(&(*m)->g);
    ctt_free((*m)->label);
    ctt_state_free(&(*m)->train);
    ctt_free((*m)->history);
    ctt_free((*m)->decision);
    ctt_constraint_free(&(*m)->constraint);
    ctt_lates_leave(&(*m)->late);
    ctt_free((*m)->w);
    ctt_memory_untouched(-(*m)->untouched);
    ctt_free(*m);
    *m = NULL;
}

/* One block: the pointers, then the texts. */
int ctt_model_labels(struct ctt_model *m, char *const *label, int labels)
{
    size_t room = (size_t)labels * sizeof(*label);
    char **copy = NULL, *text;

    for (int i = 0; i < labels; i++)
        room += strlen(label[i]) + 1;
    if (labels > 0 && !(copy = ctt_calloc(room, 1)))
        return CTT_ENOMEM;
    text = copy ? (char *)(copy + labels) : NULL;
    for (int i = 0; i < labels; i++) {
        copy[i] = strcpy(text, label[i]);
        text += strlen(text) + 1;
    }
    ctt_free(m->label);
    m->label = copy;
    m->labels = labels;
    return 0;
}

/* By its text, which gives the same graph. */
static int copy_graph(const struct ctt_graph *g, struct ctt_graph **out)
{
    char *text = ctt_net_print(g);
    int rc = text ? ctt_net_parse(text, out) : CTT_ENOMEM;

    ctt_free(text);
    return rc;
}

static int copy_state(const struct ctt_state *s, struct ctt_state **out)
{
    struct ctt_state *copy = NULL;
    int rc = 0;

    if (!s)
        return 0;
    CTT_TRY(ctt_state_new(&copy));
    if (s->settings)
        CTT_TRY((copy->settings = ctt_strdup(s->settings)) ? 0 : CTT_ENOMEM);
    for (int i = 0; i < s->count; i++)
        CTT_TRY(ctt_state_add(copy, s->array[i].name, s->array[i].size,
                              s->array[i].count, s->array[i].data));
    *out = copy;
    copy = NULL;
out:
    ctt_state_free(&copy);
    return rc;
}

int ctt_model_copy(const struct ctt_model *m, struct ctt_model **out)
{
    struct ctt_model *copy = NULL;
    struct ctt_graph *g = NULL;
    int rc = 0;

    CTT_TRY(copy_graph(m->g, &g));
    CTT_TRY(ctt_model_new(g, &copy));
    memcpy(copy->w, m->w, (size_t)m->g->weights * sizeof(*m->w));
    copy->late = ctt_lates_share(m->late);
    CTT_TRY(ctt_model_labels(copy, m->label, m->labels));
    CTT_TRY(ctt_constraint_copy(&m->constraint, m->g->weights,
                                &copy->constraint));
    if (m->history)
        CTT_TRY((copy->history = ctt_strdup(m->history)) ? 0 : CTT_ENOMEM);
    CTT_TRY(copy_state(m->train, &copy->train));
    *out = copy;
    copy = NULL;
out:
    ctt_model_free(&copy);
    return rc;
}

int ctt_weight_count(const struct ctt_graph *g)
{
    int count = 0;

    for (int i = 0; i < g->count; i++)
        count += g->node[i].nw;
    return count;
}

static int is_shared(const struct ctt_model *m, const struct ctt_node *n,
                     int k)
{
    const uint8_t *share = m->constraint.share;

    for (int64_t i = 0; share && i < ctt_volume(&n->w[k]); i++)
        if (share[n->at[k] + i])
            return 1;
    return 0;
}

struct ctt_weight ctt_model_weight(const struct ctt_model *m,
                                   const struct ctt_node *n, int k)
{
    struct ctt_weight w = { .t = n->w[k] };

    w.t.dtype = CTT_F32;
    w.late = ctt_late_find(m->late, n, k);
    if (w.late)
        return w;
    w.t.data = m->w + n->at[k];
    w.keep = ctt_kept(&m->constraint, n->at[k]);
    if (ctt_weight_kept(&w) == ctt_volume(&w.t))
        w.keep = NULL;
    if (is_shared(m, n, k))
        w.share = m->constraint.share + n->at[k];
    return w;
}

int ctt_model_weights(const struct ctt_model *m, struct ctt_weight **out)
{
    struct ctt_weight *w = ctt_calloc((size_t)ctt_weight_count(m->g),
                                      sizeof(*w));

    if (!w)
        return CTT_ENOMEM;
    *out = w;
    for (int i = 0; i < m->g->count; i++)
        for (int k = 0; k < m->g->node[i].nw; k++)
            *w++ = ctt_model_weight(m, &m->g->node[i], k);
    return 0;
}

/* Gives the elements of a weight that share a value the mean of theirs. */
static void hold_shared(const struct ctt_node *n, int k, const uint8_t *share,
                        float *w)
{
    double sum[CTT_MOST_CODES + 1] = { 0 };
    int64_t count[CTT_MOST_CODES + 1] = { 0 };

    for (int64_t i = 0; i < ctt_volume(&n->w[k]); i++) {
        sum[share[i]] += (double)w[i];
        count[share[i]]++;
    }
    for (int64_t i = 0; i < ctt_volume(&n->w[k]); i++)
        if (share[i])
            w[i] = (float)(sum[share[i]] / (double)count[share[i]]);
}

void ctt_model_hold(struct ctt_model *m)
{
    const struct ctt_constraint *c = &m->constraint;

    ctt_constraint_clear(c, m->g->weights, m->w);
    for (int i = 0; c->share && i < m->g->count; i++)
        for (int k = 0; k < m->g->node[i].nw; k++) {
            int64_t at = m->g->node[i].at[k];
            hold_shared(&m->g->node[i], k, c->share + at, m->w + at);
        }
}

int64_t ctt_model_params(const struct ctt_model *m)
{
    int64_t sum = 0;

    for (int i = 0; i < m->g->count; i++) {
        const struct ctt_node *n = &m->g->node[i];
        sum += ctt_node_params(n);
        for (int k = 0; m->constraint.keep && k < n->nw; k++)
            for (int64_t j = 0; j < ctt_volume(&n->w[k]); j++)
                sum -= ctt_is_pruned(&m->constraint, n->at[k] + j);
    }
    return sum;
}

/* ---- the training state ---- */

int ctt_state_new(struct ctt_state **out)
{
    struct ctt_state *s = ctt_calloc(1, sizeof(*s));

    if (!s)
        return CTT_ENOMEM;
    *out = s;
    return 0;
}

void ctt_state_free(struct ctt_state **s)
{
    if (!*s)
        return;
    for (int i = 0; i < (*s)->count; i++)
        if (!(*s)->array[i].lent)
            ctt_free((*s)->array[i].data);
    ctt_free((*s)->array);
    ctt_free((*s)->settings);
    ctt_free(*s);
    *s = NULL;
}

/* The name becomes the name of a dataset. */
static int check_array(const struct ctt_state *s, const char *name, int size,
                       int64_t count)
{
    int rc = 0;

    CTT_CHECK(name[0] && name[0] != '.' && strlen(name) < CTT_NAME &&
              !strpbrk(name, "/ \t\r\n") && strcmp(name, "index") != 0 &&
              strcmp(name, "settings") != 0, CTT_EINVAL,
              "'%s' is no name of an array", name);
    CTT_CHECK(!ctt_state_find(s, name), CTT_EINVAL, "array '%s' is there twice",
              name);
    CTT_CHECK((size == 1 || size == 4 || size == 8) && count >= 0 &&
              count <= INT64_MAX / 16, CTT_EINVAL,
              "array '%s': %lld elements of %d bytes", name, (long long)count,
              size);
out:
    return rc;
}

int ctt_state_lend(struct ctt_state *s, const char *name, int size,
                   int64_t count, const void *data)
{
    struct ctt_array a = { .size = size, .count = count, .lent = 1 };
    void *more;
    int rc = 0;

    CTT_TRY(check_array(s, name, size, count));
    more = ctt_grown(s->array, &s->room, s->count, sizeof(*s->array));
    CTT_TRY(more ? 0 : CTT_ENOMEM);
    s->array = more;
    strcpy(a.name, name);
    memcpy(&a.data, &data, sizeof(data));    /* read only */
    s->array[s->count++] = a;
out:
    return rc;
}

int ctt_state_add(struct ctt_state *s, const char *name, int size,
                  int64_t count, const void *data)
{
    void *own = NULL;
    int rc = 0;

    CTT_TRY(check_array(s, name, size, count));
    own = ctt_calloc((size_t)count, (size_t)size);
    CTT_TRY(own ? 0 : CTT_ENOMEM);
    if (data && count > 0)
        memcpy(own, data, (size_t)count * (size_t)size);
    CTT_TRY(ctt_state_lend(s, name, size, count, own));
    s->array[s->count - 1].lent = 0;
    own = NULL;
out:
    ctt_free(own);
    return rc;
}

const struct ctt_array *ctt_state_find(const struct ctt_state *s,
                                       const char *name)
{
    for (int i = 0; i < s->count; i++)
        if (strcmp(s->array[i].name, name) == 0)
            return &s->array[i];
    return NULL;
}
