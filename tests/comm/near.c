/* SPDX-License-Identifier: Apache-2.0
 * near.c: for test_bands_cli.sh: whether two model files hold the same text and
 * weights, but for rounding.
 * Usage: near A B MOST: status 1 if a number differs by more than MOST times
 * the largest of its weight or of 0.1. */
#include "net/file/file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int same_text(const struct ctt_model *a, const struct ctt_model *b)
{
    char *x = ctt_net_print(a->g), *y = ctt_net_print(b->g);
    int same = x && y && strcmp(x, y) == 0;

    ctt_free(x);
    ctt_free(y);
    return same;
}

/* The largest difference, as a share of the largest number. */
static double off(const float *a, const float *b, int64_t n)
{
    double most = 0.1, d = 0;

    for (int64_t i = 0; i < n; i++) {
        most = fmax(most, fabs((double)a[i]));
        d = fmax(d, fabs((double)a[i] - (double)b[i]));
    }
    return d / most;
}

static int compare(const struct ctt_model *a, const struct ctt_model *b,
                   double most)
{
    double worst = 0;
    int rc = 0;

    CTT_CHECK(same_text(a, b), CTT_EINVAL, "not the same text");
    for (int i = 0; i < a->g->count; i++)
        for (int k = 0; k < a->g->node[i].nw; k++) {
            const struct ctt_node *n = &a->g->node[i];

            worst = fmax(worst, off(a->w + n->at[k], b->w + n->at[k],
                                    ctt_volume(&n->w[k])));
        }
    printf("%.2g\n", worst);
    CTT_CHECK(worst <= most, CTT_EINVAL, "a weight differs by %.2g", worst);
out:
    return rc;
}

int main(int argc, char **argv)
{
    struct ctt_model *a = NULL, *b = NULL;
    int rc = 0;

    if (argc != 4)
        return 2;
    CTT_TRY(ctt_model_load(argv[1], 0, &a));
    CTT_TRY(ctt_model_load(argv[2], 0, &b));
    CTT_TRY(compare(a, b, atof(argv[3])));
out:
    if (rc < 0)
        fprintf(stderr, "near: %s\n", ctt_errmsg());
    ctt_model_free(&a);
    ctt_model_free(&b);
    return rc < 0;
}
