/* SPDX-License-Identifier: Apache-2.0
 * sparse_cell.c: a sparse conv together with the LSTM that reads it and the
 * conv that is added to it: the gates are never stored. */
#include "device/cpu/conv/sparse/sparse.h"

static int is_floats(const struct ctt_tensor *t)
{
    return !t->data || t->dtype == CTT_F32;
}

int ctt_sparse_has_cell(const struct ctt_call *c)
{
    const struct ctt_also_lstm *l = &c->lstm;

    return l->node && !l->keep && !c->act && !c->in[1].data &&
           is_floats(&l->old) && is_floats(&l->h) && is_floats(&l->c);
}

int ctt_sparse_same_layout(const struct ctt_sparse_shape *a,
                           const struct ctt_sparse_shape *b)
{
    return memcmp(a->pitch, b->pitch, sizeof(a->pitch)) == 0 &&
           memcmp(a->phases, b->phases, sizeof(a->phases)) == 0 &&
           a->samples == b->samples && a->span == b->span;
}

struct part {
    const struct ctt_sparse_isa  *isa;
    const struct ctt_sparse_cell *k;
    int64_t                       registers;    /* registers of the first
                                                   conv */
};

/* Lays out the registers of both convs, numbered one after the other. */
static void lay_both(const void *arg, int64_t from, int64_t to)
{
    const struct part *p = arg;
    int64_t n = p->registers;

    if (from < n)
        p->isa->lay(&p->k->conv[0], from, to < n ? to : n);
    if (to > n)
        p->isa->lay(&p->k->conv[1], from > n ? from - n : 0, to - n);
}

static void cell_task(void *arg, int64_t task, int who)
{
    const struct part *p = arg;

    (void)who;
    p->isa->cell(p->k, task);
}

static void one_part(const struct ctt_sparse_isa *isa, struct ctt_dev *d,
                     struct ctt_sparse_cell *k, int64_t first, int64_t n,
                     int threads)
{
    int64_t blocks = (k->lstm->h.c + isa->lanes - 1) / isa->lanes, all = 0;
    struct part p = { isa, k, ctt_sparse_registers(isa, &k->conv[0]) };

    for (int i = 0; i < k->convs; i++) {
        ctt_sparse_part(isa, &k->conv[i], first, n);
        ctt_sparse_convert(isa, d, &k->conv[i], threads);
        all += ctt_sparse_registers(isa, &k->conv[i]);
    }
    ctt_dev_share(d, threads, all, lay_both, &p);
    ctt_dev_tasks(d, threads, k->conv[0].tiles * blocks, cell_task, &p);
}

static int alloc_cell(const struct ctt_sparse_isa *isa, struct ctt_dev *d,
                      struct ctt_sparse_cell *k)
{
    int64_t units = 0;
    int32_t *x;

    for (int i = 0; i < k->convs; i++)
        units += ctt_sparse_memory(isa, &k->conv[i]);
    x = ctt_dev_scratch(d, (size_t)units * sizeof(*x));
    for (int i = 0; i < k->convs && x; i++) {
        ctt_sparse_place(isa, &k->conv[i], x);
        x += ctt_sparse_memory(isa, &k->conv[i]);
    }
    return x ? 0 : CTT_ENOMEM;
}

int ctt_sparse_cell_run(const struct ctt_sparse_isa *isa, struct ctt_dev *d,
                        const struct ctt_call *c,
                        const struct ctt_sparse_shape *const s[2],
                        const struct ctt_sparse_weights *const k[2])
{
    const struct ctt_call pair = ctt_call_pair(c);
    struct ctt_sparse_cell all = { .lstm = &c->lstm,
                                   .convs = pair.node ? 2 : 1 };
    int64_t n = c->in[0].n, most = s[0]->samples;
    int threads = 1, rc = 0;

    for (int i = 0; i < all.convs; i++) {
        all.conv[i] = ctt_sparse_job(isa, i ? &pair : c, s[i], k[i]);
        if (ctt_sparse_threads(d, &all.conv[i]) > threads)
            threads = ctt_sparse_threads(d, &all.conv[i]);
    }
    CTT_TRY(alloc_cell(isa, d, &all));
    for (int64_t i = 0; i < n; i += most)
        one_part(isa, d, &all, i, n - i < most ? n - i : most, threads);
out:
    return rc;
}
