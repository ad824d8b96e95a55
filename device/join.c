/* SPDX-License-Identifier: Apache-2.0
 * join.c: the processes that share a graph, and sums over them. */
#include "device/dev.h"
#include "net/part.h"

static int join_to(struct ctt_dev *d, const struct ctt_group *group,
                   const struct ctt_group **to)
{
    int rc = 0;

    CTT_CHECK(!group || group->parts == 1 || ctt_dev_shared(d), CTT_EUNSUP,
              "the device %s does not pass values between processes: cpu does",
              d->kind->name);
    *to = group;
out:
    return rc;
}

int ctt_dev_join(struct ctt_dev *d, const struct ctt_group *group)
{
    return join_to(d, group, &d->group);
}

int ctt_dev_join_norms(struct ctt_dev *d, const struct ctt_group *group)
{
    return join_to(d, group, &d->norms);
}

int ctt_dev_norms(const struct ctt_dev *d)
{
    return d->norms ? d->norms->parts : 1;
}

int ctt_dev_norms_tell(struct ctt_dev *d, const double *mine, int64_t n,
                       double *all)
{
    return d->norms->tell(d->norms->arg, mine, n * (int64_t)sizeof(*mine), all);
}

int ctt_dev_parts(const struct ctt_dev *d)
{
    return d->group ? d->group->parts : 1;
}

int ctt_dev_part(const struct ctt_dev *d)
{
    return d->group ? d->group->part : 0;
}

int ctt_dev_check_parts(const struct ctt_dev *d, const struct ctt_call *c)
{
    const struct ctt_node *n = c->node;
    int parts = n->attr.collect.parts, part = n->attr.collect.part, rc = 0;

    if (n->op == CTT_OP_COLLECT)
        CTT_CHECK(parts == ctt_dev_parts(d) && part == ctt_dev_part(d),
                  CTT_EUNSUP, "%s: this is for part %d of %d, and part %d of "
                  "%d computes it", n->name, part, parts, ctt_dev_part(d),
                  ctt_dev_parts(d));
out:
    return rc;
}

/* Floats of a slice, of which each part adds up one. */
static int64_t slice_of(const struct ctt_dev *d, int64_t n)
{
    return ctt_align(ctt_part_most(n, ctt_dev_parts(d)), 16);
}

int64_t ctt_dev_total_room(const struct ctt_dev *d, int64_t n)
{
    return 2 * ctt_dev_parts(d) * slice_of(d, n);
}

static void sum_slices(float *slice, int64_t each, int parts)
{
    for (int k = 1; k < parts; k++) {
        const float *from = slice + k * each;

        for (int64_t i = 0; i < each; i++)
            slice[i] += from[i];
    }
}

int ctt_dev_total(struct ctt_dev *d, float *x, int64_t n, float *room)
{
    const struct ctt_group *g = d->group;
    int parts = ctt_dev_parts(d), rc = 0;
    int64_t each = slice_of(d, n), bytes = each * (int64_t)sizeof(float);
    float *other = room + parts * each;

    if (parts == 1)
        goto out;
    memcpy(room, x, (size_t)n * sizeof(float));
    memset(room + n, 0, (size_t)(parts * each - n) * sizeof(float));
    CTT_TRY(g->trade(g->arg, room, other, bytes));
    sum_slices(other, each, parts);
    CTT_TRY(g->tell(g->arg, other, bytes, room));
    memcpy(x, room, (size_t)n * sizeof(float));
out:
    return rc;
}
