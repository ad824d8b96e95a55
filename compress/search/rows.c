/* SPDX-License-Identifier: Apache-2.0
 * rows.c: results of the search. */
#include "compress/search/search.h"

#include <string.h>

void ctt_budget_rows_free(struct ctt_budget_rows *all)
{
    while (all->rows > 0)
        ctt_free(all->row[--all->rows].mix);
    ctt_free(all->row);
    *all = (struct ctt_budget_rows){ NULL, 0, 0 };
}

const struct ctt_budget_row *
ctt_budget_rows_find(const struct ctt_budget_rows *all,
                     const struct ctt_budget_row *like)
{
    for (int i = all->rows - 1; i >= 0; i--) {
        const struct ctt_budget_row *r = &all->row[i];

        if (r->kind == like->kind && r->how == like->how &&
            r->steps == like->steps && strcmp(r->mix, like->mix) == 0)
            return r;
    }
    return NULL;
}

int ctt_budget_rows_add(struct ctt_budget_rows *all,
                        const struct ctt_budget_row *row)
{
    void *more = ctt_grown(all->row, &all->room, all->rows,
                           sizeof(*all->row));
    char *mix;

    if (!more)
        return CTT_ENOMEM;
    all->row = more;
    mix = ctt_strdup(row->mix);
    if (!mix)
        return CTT_ENOMEM;
    all->row[all->rows] = *row;
    all->row[all->rows++].mix = mix;
    return 0;
}
