/* SPDX-License-Identifier: Apache-2.0
 * infer_renamed.c: whether the answers for a list are wrong because its
 * classes have the names of others: right answers after the best renaming. */
#include "tools/infer/infer_tool.h"
#include "base/statistics/statistics.h"
#include "tools/shared/tool.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { MOST = 1024, SHOWN = 4 };    /* classes */

int ctt_renamed_open(int classes, int **clips)
{
    size_t n = classes > 1 && classes <= MOST ? (size_t)classes : 0;

    *clips = ctt_calloc(n * n + 1, sizeof(**clips));
    return *clips ? 0 : CTT_ENOMEM;
}

void ctt_renamed_count(int classes, int *clips, int label, int answer)
{
    if (classes > 1 && classes <= MOST)
        clips[(size_t)label * (size_t)classes + (size_t)answer]++;
}

/* A label is matched to an answer, place 0 to none.  Counted from 1. */
struct match {
    const int *clips;
    int        n;
    int       *u, *v;    /* potentials of labels and of answers */
    int       *of;       /* the label of an answer; of[0]: the one to match */
    int       *from, *least, *done;
};

/* The assignment of least cost (Kuhn 1955; with potentials, Munkres 1957).
 * Adds the answer that costs least more to the tree that began at answer 0;
 * at: the last one.  Returns the new one. */
static int grow(struct match *m, int at)
{
    int i = m->of[at], next = 0, delta = INT_MAX;

    m->done[at] = 1;
    for (int j = 1; j <= m->n; j++) {
        int cost;

        if (m->done[j])
            continue;
        cost = -m->clips[(size_t)(i - 1) * (size_t)m->n + (size_t)j - 1] -
               m->u[i] - m->v[j];
        if (cost < m->least[j]) {
            m->least[j] = cost;
            m->from[j] = at;
        }
        if (m->least[j] < delta) {
            delta = m->least[j];
            next = j;
        }
    }
    for (int j = 0; j <= m->n; j++) {
        if (m->done[j]) {
            m->u[m->of[j]] += delta;
            m->v[j] -= delta;
        } else {
            m->least[j] -= delta;
        }
    }
    return next;
}

int ctt_renamed_best(int classes, const int *clips, int *answer)
{
    size_t n = (size_t)classes + 1;
    int *room = ctt_calloc(6 * n, sizeof(*room)), sum = 0;
    struct match m = { clips, classes, room, room + n, room + 2 * n,
                       room + 3 * n, room + 4 * n, room + 5 * n };

    if (!room)
        return CTT_ENOMEM;
    for (int i = 1; i <= classes; i++) {
        int at = 0;

        m.of[0] = i;
        memset(m.done, 0, n * sizeof(*m.done));
        for (size_t j = 0; j < n; j++)
            m.least[j] = INT_MAX;
        do {
            at = grow(&m, at);
        } while (m.of[at]);
        for (; at; at = m.from[at])
            m.of[at] = m.of[m.from[at]];
    }
    for (int j = 1; j <= classes; j++) {
        answer[m.of[j] - 1] = j - 1;
        sum += clips[(size_t)(m.of[j] - 1) * (size_t)classes + (size_t)j - 1];
    }
    ctt_free(room);
    return sum;
}

/* "1 is answered as 2, ...": the first labels that have another answer. */
static void list_renamed(int classes, const int *clips, const int *answer,
                         char *const *name, char *out, size_t size)
{
    size_t n = 0;
    int shown = 0;

    out[0] = '\0';
    for (int i = 0; i < classes && shown < SHOWN; i++) {
        if (answer[i] == i || !clips[(size_t)i * (size_t)classes +
                                     (size_t)answer[i]])
            continue;
        n += (size_t)snprintf(out + n, size - n, "%s'%.20s' is answered as "
                              "'%.20s'", shown ? ", " : "", name[i],
                              name[answer[i]]);
        shown++;
    }
}

int ctt_renamed_tell(int classes, const int *clips, char *const *name)
{
    double range[2], given;
    char some[SHOWN * 64 + 1];
    int rc = 0, *answer = NULL, all = 0, right = 0;

    for (int i = 0; i < classes * classes && classes <= MOST; i++) {
        all += clips[i];
        right += i % (classes + 1) == 0 ? clips[i] : 0;
    }
    if (!all)
        goto out;
    ctt_wilson((double)right / all, all, range);
    given = range[1];
    answer = ctt_calloc((size_t)classes, sizeof(*answer));
    CTT_TRY(answer ? 0 : CTT_ENOMEM);
    CTT_TRY(ctt_renamed_best(classes, clips, answer));
    ctt_wilson((double)rc / all, all, range);
    if (range[0] <= 0.5 || range[0] <= given)
        goto out;
    list_renamed(classes, clips, answer, name, some, sizeof(some));
    ctt_tool_warn("top-1 would be %.1f%% with other names of the classes (%s): "
                  "the labels are probably those of another list",
                  100.0 * rc / all, some);
out:
    ctt_free(answer);
    return rc < 0 ? rc : 0;
}
