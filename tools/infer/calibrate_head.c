/* SPDX-License-Identifier: Apache-2.0
 * calibrate_head.c: the confidence head of a calibration. */
#include "tools/infer/infer_decide.h"
#include "infer/head.h"
#include "base/random.h"

const char *const ctt_head_words[] = { "auto", "on", "off", NULL };

/* With 300 clips a head saves more than the 100 that it takes from the
 * calibration (doc/bench/decisions.md). */
enum { AMPLE = 300, SHARE = 3, KEY = 2 };

int ctt_calibrate_wants_head(enum ctt_head_choice choice, int clips,
                             int classes)
{
    return choice == CTT_HEAD_ON ||
           (choice == CTT_HEAD_AUTO && clips >= AMPLE &&
            classes <= CTT_HEAD_CLASSES);
}

/* The first n of all clips become some of them, drawn at random. */
static void draw(struct ctt_answers *a, int n)
{
    for (int i = 0; i < n; i++) {
        uint64_t left = (uint64_t)(a->count - i);
        int k = i + (int)(ctt_key(KEY, (uint64_t)i) % left);
        struct ctt_answer *swap = a->of[i];

        a->of[i] = a->of[k];
        a->of[k] = swap;
    }
}

static int64_t take_rows(const struct ctt_answer *a, struct ctt_head_row *to)
{
    for (int k = 0; k < a->checks; k++)
        to[k] = (struct ctt_head_row){ .check = k, .answer = a->answer[k],
            .p = a->sure[k], .may = !ctt_answer_lost(a, k) };
    return a->checks;
}

int ctt_calibrate_head(struct ctt_answers *a, int classes,
                       struct ctt_head *out)
{
    struct ctt_head_row *row = NULL;
    int n = a->count / SHARE, rc = 0;
    int64_t rows = 0;

    CTT_CHECK(n > 0, CTT_EINVAL, "--head: %d clip%s, too few: %d at least",
              a->count, ctt_s(a->count), SHARE);
    CTT_CHECK(classes <= CTT_HEAD_CLASSES, CTT_EINVAL, "--head: a model of %d "
              "classes: at most %d", classes, CTT_HEAD_CLASSES);
    draw(a, n);
    for (int i = 0; i < n; i++)
        rows += a->of[i]->checks;
    row = ctt_calloc((size_t)rows, sizeof(*row));
    CTT_TRY(row ? 0 : CTT_ENOMEM);
    rows = 0;
    for (int i = 0; i < n; i++)
        rows += take_rows(a->of[i], row + rows);
    CTT_TRY(ctt_head_fit(row, rows, classes, out));
    rc = n;
out:
    ctt_free(row);
    return rc;
}
