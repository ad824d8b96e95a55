/* SPDX-License-Identifier: Apache-2.0
 * split.c: the weights of a part of a graph, and those of the whole. */
#include "net/split.h"

#include <string.h>

void ctt_split_take(const struct ctt_split *s, const float *whole, float *part)
{
    if (!s->piece)
        memcpy(part, whole, (size_t)s->g->weights * sizeof(*part));
    for (int i = 0; i < s->pieces; i++) {
        const struct ctt_piece *p = &s->piece[i];

        for (int64_t k = 0; k < p->count; k++)
            memcpy(part + p->part + k * p->part_apart,
                   whole + p->whole + k * p->whole_apart,
                   (size_t)p->run * sizeof(*part));
    }
}

void ctt_split_give(const struct ctt_split *s, const float *part, float *whole)
{
    if (!s->piece)
        memcpy(whole, part, (size_t)s->g->weights * sizeof(*whole));
    for (int i = 0; i < s->pieces; i++) {
        const struct ctt_piece *p = &s->piece[i];

        for (int64_t k = 0; k < p->count; k++)
            memcpy(whole + p->whole + k * p->whole_apart,
                   part + p->part + k * p->part_apart,
                   (size_t)p->run * sizeof(*whole));
    }
}

void ctt_split_free(struct ctt_split **s)
{
    if (!*s)
        return;
    ctt_graph_free(&(*s)->g);
    ctt_free((*s)->partial);
    ctt_free((*s)->piece);
    ctt_free(*s);
    *s = NULL;
}
