/* SPDX-License-Identifier: Apache-2.0
 * pickle_machine.c: values, the stack and the bytes of the machine that runs
 * a pickle. */
#include "exchange/weights/pickle_machine.h"

#include <string.h>

enum { MOST_VALUES = 1 << 24 };

/* ---- values ---- */

int ctt_pkl_value(struct ctt_pkl *m, struct ctt_pickled v, int *out)
{
    struct ctt_pickle *k = m->k;
    struct ctt_pickled *p;
    int rc = 0;

    CTT_CHECK(k->values < MOST_VALUES, CTT_EFORMAT, "%s: more than %d values "
              "in its pickle", m->path, MOST_VALUES);
    p = ctt_grown(k->value, &k->value_room, k->values, sizeof(*p));
    CTT_TRY(p ? 0 : CTT_ENOMEM);
    k->value = p;
    v.first = v.last = -1;
    p[k->values] = v;
    *out = k->values++;
out:
    return rc;
}

/* Adds a member to a tuple, list or dictionary. */
static int add_member(struct ctt_pkl *m, int to, int member)
{
    struct ctt_pickle *k = m->k;
    struct ctt_pickled *v = &k->value[to];
    struct ctt_link *p = NULL;
    int rc = 0;

    CTT_CHECK(k->links < MOST_VALUES, CTT_EFORMAT, "%s: more than %d members "
              "in its pickle", m->path, MOST_VALUES);
    p = ctt_grown(k->link, &k->link_room, k->links, sizeof(*p));
    CTT_TRY(p ? 0 : CTT_ENOMEM);
    k->link = p;
    p[k->links] = (struct ctt_link){ member, -1 };
    if (v->last >= 0)
        p[v->last].next = k->links;
    else
        v->first = k->links;
    v->last = k->links++;
    v->count++;
out:
    return rc;
}

const struct ctt_pickled *ctt_pickle_member(const struct ctt_pickle *k,
                                            const struct ctt_pickled *v,
                                            int i)
{
    int at = v->first;

    while (at >= 0 && i-- > 0)
        at = k->link[at].next;
    return &k->value[at < 0 ? 0 : k->link[at].value];
}

int ctt_pickled_is(const struct ctt_pickled *v, const char *text)
{
    return v->kind == CTT_PICKLED_TEXT &&
           v->length == (int)strlen(text) &&
           memcmp(v->text, text, (size_t)v->length) == 0;
}

/* ---- the stack ---- */

int ctt_pkl_bad(const struct ctt_pkl *m)
{
    return ctt_error(CTT_EFORMAT, "%s: its pickle is damaged at byte %lld",
                     m->path, (long long)m->at);
}

int ctt_pkl_push(struct ctt_pkl *m, int value)
{
    int *p = ctt_grown(m->stack, &m->stack_room, m->depth, sizeof(*p));

    if (!p)
        return CTT_ENOMEM;
    m->stack = p;
    p[m->depth++] = value;
    return 0;
}

int ctt_pkl_push_new(struct ctt_pkl *m, struct ctt_pickled v)
{
    int value = 0, rc;

    CTT_TRY(ctt_pkl_value(m, v, &value));
    CTT_TRY(ctt_pkl_push(m, value));
out:
    return rc;
}

int ctt_pkl_push_kind(struct ctt_pkl *m, enum ctt_pickled_kind kind)
{
    return ctt_pkl_push_new(m, (struct ctt_pickled){ .kind = kind });
}

int ctt_pkl_pop(struct ctt_pkl *m, int *out)
{
    if (m->depth == 0 || m->stack[m->depth - 1] == CTT_PKL_MARK)
        return ctt_pkl_bad(m);
    *out = m->stack[--m->depth];
    return 0;
}

/* The value below `under` others, of that kind. */
int ctt_pkl_look(struct ctt_pkl *m, int under, enum ctt_pickled_kind kind,
                int *out)
{
    int at = m->depth - 1 - under;

    if (at < 0 || m->stack[at] == CTT_PKL_MARK ||
        m->k->value[m->stack[at]].kind != kind)
        return ctt_pkl_bad(m);
    *out = m->stack[at];
    return 0;
}

/* How many values lie above the last mark. */
int ctt_pkl_above_mark(struct ctt_pkl *m, int *out)
{
    int at = m->depth - 1;

    while (at >= 0 && m->stack[at] != CTT_PKL_MARK)
        at--;
    if (at < 0)
        return ctt_pkl_bad(m);
    *out = m->depth - 1 - at;
    return 0;
}

/* The n values on top become members of `to`. */
int ctt_pkl_take(struct ctt_pkl *m, int n, int to)
{
    int rc = 0;

    for (int i = m->depth - n; i < m->depth; i++) {
        if (m->stack[i] == CTT_PKL_MARK)
            return ctt_pkl_bad(m);
        CTT_TRY(add_member(m, to, m->stack[i]));
    }
    m->depth -= n;
out:
    return rc;
}

/* ---- bytes ---- */

int ctt_pkl_bytes(struct ctt_pkl *m, int64_t n, const uint8_t **p)
{
    if (n < 0 || n > m->size - m->at)
        return ctt_pkl_bad(m);
    *p = m->p + m->at;
    m->at += n;
    return 0;
}

int ctt_pkl_number(struct ctt_pkl *m, int bytes, int64_t *out)
{
    const uint8_t *p = NULL;
    int rc;

    CTT_TRY(ctt_pkl_bytes(m, bytes, &p));
    *out = 0;
    for (int i = 0; i < bytes; i++)
        *out |= (int64_t)p[i] << 8 * i;
out:
    return rc;
}

/* A line of text, without its end. */
int ctt_pkl_line(struct ctt_pkl *m, const char **p, int *n)
{
    const uint8_t *from = m->p + m->at;
    const uint8_t *end = memchr(from, '\n', (size_t)(m->size - m->at));

    if (!end || end - from > 1000)
        return ctt_pkl_bad(m);
    *p = (const char *)from;
    *n = (int)(end - from);
    m->at += end - from + 1;
    return 0;
}
