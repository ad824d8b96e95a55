/* SPDX-License-Identifier: Apache-2.0
 * place.c: where the numbers of a value lie. */
#include "exchange/onnx/lines.h"

#include <string.h>

static int copy(struct ctt_onnx *o, const struct ctt_onnx_place *p,
                struct ctt_onnx_place **out)
{
    *out = ctt_arena_take(&o->arena, 1, sizeof(**out));
    if (!*out)
        return CTT_ENOMEM;
    if (p)
        **out = *p;
    return 0;
}

int ctt_place_new(struct ctt_onnx *o, int line, int rank, const int64_t *dim,
                  const int *in, struct ctt_onnx_place **out)
{
    struct ctt_onnx_place *p;
    int at[CTT_ONNX_RANK], rc;

    CTT_TRY(copy(o, NULL, &p));
    p->line = line;
    p->rank = rank;
    for (int d = 0; d < CTT_IN_DIMS; d++)
        for (int a = 0; a < rank; a++)
            if (in[a] == d && dim[a] != 1) {
                at[a] = p->atoms;
                p->atom[p->atoms++] = (struct ctt_onnx_atom){ dim[a], d };
            }
    for (int a = 0, k = 0; a < rank; a++)
        if ((p->cut[a] = dim[a] != 1) != 0)
            p->order[k++] = at[a];
    *out = p;
out:
    return rc;
}

int ctt_place_first(const struct ctt_onnx_place *p, int axis)
{
    int first = 0;

    for (int a = 0; a < axis; a++)
        first += p->cut[a];
    return first;
}

/* ---- other axes ---- */

/* Atom i becomes two, of which the outer one has this size. */
static int divide_atom(struct ctt_onnx_place *p, int i, int64_t outer)
{
    int at = 0, rc = 0;

    CTT_CHECK(p->atoms < CTT_PLACE_ATOMS, CTT_EUNSUP, "its axes are divided "
              "into more than %d factors", CTT_PLACE_ATOMS);
    memmove(&p->atom[i + 1], &p->atom[i],
            (size_t)(p->atoms - i) * sizeof(p->atom[0]));
    p->atom[i].size = outer;
    p->atom[i + 1].size /= outer;
    for (int k = 0; k < p->atoms; k++) {
        at = p->order[k] == i ? k : at;
        p->order[k] += p->order[k] > i;
    }
    memmove(&p->order[at + 1], &p->order[at],
            (size_t)(p->atoms - at) * sizeof(p->order[0]));
    p->order[at + 1] = i + 1;
    p->atoms++;
out:
    return rc;
}

/* Atoms that lie behind each other in both orders become one. */
static void unite(struct ctt_onnx_place *p)
{
    for (int k = 0; k + 1 < p->atoms;) {
        int i = p->order[k];

        if (p->order[k + 1] != i + 1 || p->atom[i].dim != p->atom[i + 1].dim) {
            k++;
            continue;
        }
        p->atom[i].size *= p->atom[i + 1].size;
        p->atoms--;
        memmove(&p->atom[i + 1], &p->atom[i + 2],
                (size_t)(p->atoms - i - 1) * sizeof(p->atom[0]));
        memmove(&p->order[k + 1], &p->order[k + 2],
                (size_t)(p->atoms - k - 1) * sizeof(p->order[0]));
        for (int j = 0; j < p->atoms; j++)
            p->order[j] -= p->order[j] > i + 1;
    }
}

/* Takes atoms from *k on for an axis of that size, and divides the last one if
 * it is larger. */
static int fill_axis(struct ctt_onnx_place *p, int axis, int64_t size, int *k)
{
    int rc = 0;

    p->cut[axis] = 0;
    while (size > 1) {
        int i = *k < p->atoms ? p->order[*k] : -1;
        int64_t have = i >= 0 ? p->atom[i].size : 0;

        CTT_CHECK(have && (size % have == 0 || have % size == 0), CTT_EUNSUP,
                  "the new axes divide the old ones where no row of them "
                  "ends");
        if (have > size)
            CTT_TRY(divide_atom(p, i, size));
        size /= have > size ? size : have;
        p->cut[axis]++;
        ++*k;
    }
out:
    return rc;
}

int ctt_place_reshape(struct ctt_onnx *o, const struct ctt_onnx_place *p,
                      int rank, const int64_t *dim,
                      struct ctt_onnx_place **out)
{
    struct ctt_onnx_place *q;
    int rc, k = 0;

    CTT_TRY(copy(o, p, &q));
    unite(q);
    q->rank = rank;
    for (int a = 0; a < rank; a++)
        CTT_TRY(fill_axis(q, a, dim[a], &k));
    *out = q;
out:
    return rc;
}

int ctt_place_permute(struct ctt_onnx *o, const struct ctt_onnx_place *p,
                      const int *perm, struct ctt_onnx_place **out)
{
    struct ctt_onnx_place *q;
    int rc, k = 0;

    CTT_TRY(copy(o, p, &q));
    for (int a = 0; a < p->rank; a++) {
        int first = ctt_place_first(p, perm[a]);

        q->cut[a] = p->cut[perm[a]];
        for (int i = 0; i < q->cut[a]; i++)
            q->order[k++] = p->order[first + i];
    }
    *out = q;
out:
    return rc;
}

/* ---- other dimensions ---- */

static void drop_atom(struct ctt_onnx_place *p, int i)
{
    int k = 0, axis = 0;

    while (p->order[k] != i)
        k++;
    while (ctt_place_first(p, axis) + p->cut[axis] <= k)
        axis++;
    p->cut[axis]--;
    p->atoms--;
    memmove(&p->atom[i], &p->atom[i + 1],
            (size_t)(p->atoms - i) * sizeof(p->atom[0]));
    memmove(&p->order[k], &p->order[k + 1],
            (size_t)(p->atoms - k) * sizeof(p->order[0]));
    for (int j = 0; j < p->atoms; j++)
        p->order[j] -= p->order[j] > i;
}

int ctt_place_drop(struct ctt_onnx *o, const struct ctt_onnx_place *p,
                   unsigned dims, int line, struct ctt_onnx_place **out)
{
    struct ctt_onnx_place *q;
    int rc;

    CTT_TRY(copy(o, p, &q));
    for (int i = q->atoms - 1; i >= 0; i--)
        if (dims >> q->atom[i].dim & 1)
            drop_atom(q, i);
    q->line = line;
    memset(q->low, 0, sizeof(q->low));
    memset(q->high, 0, sizeof(q->high));
    *out = q;
out:
    return rc;
}

int ctt_place_add(struct ctt_onnx_place *p, int axis, int dim, int64_t size)
{
    int k = ctt_place_first(p, axis) + p->cut[axis], i = 0, rc = 0;

    if (size == 1)
        return 0;
    CTT_CHECK(p->atoms < CTT_PLACE_ATOMS, CTT_EUNSUP, "its axes are divided "
              "into more than %d factors", CTT_PLACE_ATOMS);
    while (i < p->atoms && p->atom[i].dim <= dim)
        i++;
    memmove(&p->atom[i + 1], &p->atom[i],
            (size_t)(p->atoms - i) * sizeof(p->atom[0]));
    p->atom[i] = (struct ctt_onnx_atom){ size, dim };
    for (int j = 0; j < p->atoms; j++)
        p->order[j] += p->order[j] >= i;
    memmove(&p->order[k + 1], &p->order[k],
            (size_t)(p->atoms - k) * sizeof(p->order[0]));
    p->order[k] = i;
    p->cut[axis]++;
    p->atoms++;
out:
    return rc;
}

/* ---- constants along the axes ---- */

unsigned ctt_place_dims(const struct ctt_onnx_place *p, int axis, int *whole)
{
    int first = ctt_place_first(p, axis), own = 0;
    unsigned dims = 0;

    for (int k = first; k < first + p->cut[axis]; k++)
        dims |= 1u << p->atom[p->order[k]].dim;
    for (int i = 0; i < p->atoms; i++)
        own += dims >> p->atom[i].dim & 1;
    *whole = own == p->cut[axis];
    return dims;
}

void ctt_place_strides(const struct ctt_onnx_place *p, const int64_t *axis,
                       int64_t stride[CTT_PLACE_ATOMS])
{
    for (int a = 0, k = 0; a < p->rank; k += p->cut[a++]) {
        int64_t step = axis[a];

        for (int j = k + p->cut[a] - 1; j >= k; j--) {
            stride[p->order[j]] = step;
            step *= p->atom[p->order[j]].size;
        }
    }
}

int ctt_place_offsets(struct ctt_onnx *o, const struct ctt_onnx_place *p,
                      const int64_t stride[CTT_PLACE_ATOMS], int dim,
                      int64_t size, int64_t **out)
{
    int64_t *at = ctt_arena_take(&o->arena, size, sizeof(*at));
    int rc = at ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    for (int64_t i = 0; i < size; i++) {
        int64_t rest = i;

        for (int k = p->atoms - 1; k >= 0; k--)
            if (p->atom[k].dim == dim) {
                at[i] += rest % p->atom[k].size * stride[k];
                rest /= p->atom[k].size;
            }
    }
    *out = at;
out:
    return rc;
}

/* ---- comparison ---- */

int ctt_place_same(const struct ctt_onnx_place *a,
                   const struct ctt_onnx_place *b)
{
    struct ctt_onnx_place x = *a, y = *b;

    unite(&x);
    unite(&y);
    if (x.atoms != y.atoms)
        return 0;
    for (int i = 0; i < x.atoms; i++)
        if (x.atom[i].size != y.atom[i].size ||
            x.atom[i].dim != y.atom[i].dim || x.order[i] != y.order[i])
            return 0;
    return 1;
}

int ctt_place_padded(const struct ctt_onnx_place *p)
{
    int all = 0;

    for (int d = 0; d < CTT_IN_DIMS; d++)
        all |= p->low[d] | p->high[d];
    return all;
}
