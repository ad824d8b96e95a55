/* SPDX-License-Identifier: Apache-2.0
 * thresholds.c: the text of the thresholds of classes, and which model they
 * belong to. */
#include "net/file/thresholds.h"
#include "base/newfile.h"

#include <inttypes.h>
#include <string.h>

static int print(FILE *f, const void *arg)
{
    const struct ctt_thresholds *t = arg;

    fprintf(f, "thresholds 1\nclips %" PRId64 "\nmodel %" PRId64 " %08" PRIx32
            "\nclasses %d\n", t->clips, t->weights, t->crc, t->classes);
    for (int k = 0; k < t->classes; k++)
        fprintf(f, "%.9g\n", (double)t->of[k]);
    return 0;
}

int ctt_thresholds_print(const struct ctt_thresholds *t, char **text)
{
    return ctt_text_collect("the text of thresholds", print, t, text);
}

static int parse(const char *p, struct ctt_thresholds *t)
{
    int n = 0;

    if (sscanf(p, "thresholds 1 clips %" SCNd64 " model %" SCNd64 " %8" SCNx32
               " classes %d%n", &t->clips, &t->weights, &t->crc, &t->classes,
               &n) != 4 || !n || t->clips < 1 || t->weights < 0 ||
        t->classes < 1 || t->classes > CTT_THRESHOLD_CLASSES)
        return 0;
    p += n;
    for (int k = 0; k < t->classes; k++, p += n) {
        n = 0;
        if (sscanf(p, "%f%n", &t->of[k], &n) != 1 || !n ||
            !(t->of[k] >= 0 && t->of[k] <= 1))
            return 0;
    }
    return 1;
}

/* As ctt_decision_parse(). */
int ctt_thresholds_parse(const char *text, struct ctt_thresholds *out)
{
    struct ctt_thresholds t = { .classes = 0 };
    char *again = NULL;
    int rc = 0;

    CTT_CHECK(strlen(text) < CTT_DECISION_TEXT && parse(text, &t), CTT_EFORMAT,
              "decision: not the thresholds of classes");
    CTT_TRY(ctt_thresholds_print(&t, &again));
    CTT_CHECK(strcmp(text, again) == 0, CTT_EFORMAT,
              "decision: not in canonical form");
    *out = t;
out:
    ctt_free(again);
    return rc;
}

int ctt_thresholds_sign(const struct ctt_model *m, struct ctt_thresholds *t)
{
    struct ctt_decision d;
    int rc;

    CTT_TRY(ctt_decision_sign(m, &d));
    t->weights = d.weights;
    t->crc = d.crc;
out:
    return rc;
}

int ctt_thresholds_hold(const struct ctt_thresholds *t,
                        const struct ctt_model *m)
{
    const struct ctt_decision d = { .weights = t->weights, .crc = t->crc };

    return ctt_decision_holds(&d, m);
}
