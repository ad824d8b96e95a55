/* SPDX-License-Identifier: Apache-2.0
 * pickle.c: a machine for pickles (Python, pickletools.py) that makes tensors
 * and dictionaries and refuses the rest by name. */
#include "exchange/weights/pickle.h"

#include <stdio.h>
#include <string.h>

enum { MARK = -1, MOST_VALUES = 1 << 24, MOST_MEMO = 1 << 24 };

/* The classes and functions that a pickle may name, before those of
 * storages, which are rows of ctt_numbers. */
enum { ORDERED_DICT, REBUILD_TENSOR, STORAGES };
static const char *const globals[][2] = {
    [ORDERED_DICT] = { "collections", "OrderedDict" },
    [REBUILD_TENSOR] = { "torch._utils", "_rebuild_tensor_v2" },
};

struct machine {
    const char        *path;
    const uint8_t     *p;
    int64_t            size, at;
    struct ctt_pickle *k;
    int               *stack, *memo;
    int                depth, stack_room, memos, memo_room;
    int                stopped;
};

/* ---- values ---- */

static int new_value(struct machine *m, struct ctt_pickled v, int *out)
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
static int add_member(struct machine *m, int to, int member)
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

static int bad_pickle(const struct machine *m)
{
    return ctt_error(CTT_EFORMAT, "%s: its pickle is damaged at byte %lld",
                     m->path, (long long)m->at);
}

static int push(struct machine *m, int value)
{
    int *p = ctt_grown(m->stack, &m->stack_room, m->depth, sizeof(*p));

    if (!p)
        return CTT_ENOMEM;
    m->stack = p;
    p[m->depth++] = value;
    return 0;
}

static int push_new(struct machine *m, struct ctt_pickled v)
{
    int value = 0, rc;

    CTT_TRY(new_value(m, v, &value));
    CTT_TRY(push(m, value));
out:
    return rc;
}

static int push_kind(struct machine *m, enum ctt_pickled_kind kind)
{
    return push_new(m, (struct ctt_pickled){ .kind = kind });
}

static int pop(struct machine *m, int *out)
{
    if (m->depth == 0 || m->stack[m->depth - 1] == MARK)
        return bad_pickle(m);
    *out = m->stack[--m->depth];
    return 0;
}

/* The value below `under` others, of that kind. */
static int look(struct machine *m, int under, enum ctt_pickled_kind kind,
                int *out)
{
    int at = m->depth - 1 - under;

    if (at < 0 || m->stack[at] == MARK ||
        m->k->value[m->stack[at]].kind != kind)
        return bad_pickle(m);
    *out = m->stack[at];
    return 0;
}

/* How many values lie above the last mark. */
static int above_mark(struct machine *m, int *out)
{
    int at = m->depth - 1;

    while (at >= 0 && m->stack[at] != MARK)
        at--;
    if (at < 0)
        return bad_pickle(m);
    *out = m->depth - 1 - at;
    return 0;
}

/* The n values on top become members of `to`. */
static int take_members(struct machine *m, int n, int to)
{
    int rc = 0;

    for (int i = m->depth - n; i < m->depth; i++) {
        if (m->stack[i] == MARK)
            return bad_pickle(m);
        CTT_TRY(add_member(m, to, m->stack[i]));
    }
    m->depth -= n;
out:
    return rc;
}

/* ---- instructions: what follows one in the pickle ---- */

static int bytes_of(struct machine *m, int64_t n, const uint8_t **p)
{
    if (n < 0 || n > m->size - m->at)
        return bad_pickle(m);
    *p = m->p + m->at;
    m->at += n;
    return 0;
}

static int unsigned_of(struct machine *m, int bytes, int64_t *out)
{
    const uint8_t *p = NULL;
    int rc;

    CTT_TRY(bytes_of(m, bytes, &p));
    *out = 0;
    for (int i = 0; i < bytes; i++)
        *out |= (int64_t)p[i] << 8 * i;
out:
    return rc;
}

/* A line of text, without its end. */
static int line_of(struct machine *m, const char **p, int *n)
{
    const uint8_t *from = m->p + m->at;
    const uint8_t *end = memchr(from, '\n', (size_t)(m->size - m->at));

    if (!end || end - from > 1000)
        return bad_pickle(m);
    *p = (const char *)from;
    *n = (int)(end - from);
    m->at += end - from + 1;
    return 0;
}

/* ---- instructions: numbers and texts ---- */

static int push_int(struct machine *m, int bytes, int is_signed)
{
    int64_t x = 0;
    int rc;

    CTT_TRY(unsigned_of(m, bytes, &x));
    if (is_signed)
        x = (int32_t)x;
    CTT_TRY(push_new(m, (struct ctt_pickled){ .kind = CTT_PICKLED_INT,
                                              .number = x }));
out:
    return rc;
}

static int binint(struct machine *m)  { return push_int(m, 4, 1); }
static int binint1(struct machine *m) { return push_int(m, 1, 0); }
static int binint2(struct machine *m) { return push_int(m, 2, 0); }

/* Of up to 8 bytes; the top bit of the last is the sign. */
static int long1(struct machine *m)
{
    int64_t n = 0, x = 0;
    const uint8_t *p = NULL;
    int rc;

    CTT_TRY(unsigned_of(m, 1, &n));
    CTT_TRY(bytes_of(m, n, &p));
    if (n > 8)
        return bad_pickle(m);
    for (int i = 0; i < n; i++)
        x |= (int64_t)((uint64_t)p[i] << 8 * i);
    if (n && n < 8 && p[n - 1] & 0x80)
        x -= INT64_C(1) << 8 * n;
    CTT_TRY(push_new(m, (struct ctt_pickled){ .kind = CTT_PICKLED_INT,
                                              .number = x }));
out:
    return rc;
}

static int binunicode(struct machine *m)
{
    const uint8_t *p = NULL;
    int64_t n = 0;
    int rc;

    CTT_TRY(unsigned_of(m, 4, &n));
    CTT_TRY(bytes_of(m, n, &p));
    if (n > INT32_MAX || memchr(p, 0, (size_t)n))
        return bad_pickle(m);
    CTT_TRY(push_new(m, (struct ctt_pickled){ .kind = CTT_PICKLED_TEXT,
        .text = (const char *)p, .length = (int)n }));
out:
    return rc;
}

static int binfloat(struct machine *m)
{
    const uint8_t *p = NULL;
    int rc;

    CTT_TRY(bytes_of(m, 8, &p));
    CTT_TRY(push(m, 0));
out:
    return rc;
}

static int none(struct machine *m) { return push(m, 0); }

/* ---- instructions: collections ---- */

static int mark(struct machine *m)        { return push(m, MARK); }
static int empty_dict(struct machine *m)  { return push_kind(m,
                                            CTT_PICKLED_DICT); }
static int empty_list(struct machine *m)  { return push_kind(m,
                                            CTT_PICKLED_LIST); }
static int empty_tuple(struct machine *m) { return push_kind(m,
                                            CTT_PICKLED_TUPLE); }

static int make_tuple(struct machine *m, int n)
{
    struct ctt_pickled v = { .kind = CTT_PICKLED_TUPLE };
    int t = 0, rc;

    if (n > m->depth)
        return bad_pickle(m);
    CTT_TRY(new_value(m, v, &t));
    CTT_TRY(take_members(m, n, t));
    CTT_TRY(push(m, t));
out:
    return rc;
}

static int tuple1(struct machine *m) { return make_tuple(m, 1); }
static int tuple2(struct machine *m) { return make_tuple(m, 2); }
static int tuple3(struct machine *m) { return make_tuple(m, 3); }

/* Takes the mark away, too. */
static int tuple(struct machine *m)
{
    int n = 0, t = 0, rc;

    CTT_TRY(above_mark(m, &n));
    CTT_TRY(make_tuple(m, n));
    t = m->stack[m->depth - 1];
    m->depth -= 2;
    CTT_TRY(push(m, t));
out:
    return rc;
}

/* n values go into the collection of that kind below them (and a mark). */
static int extend(struct machine *m, int n, int marked,
                  enum ctt_pickled_kind kind)
{
    int to = 0, rc;

    CTT_TRY(look(m, n + marked, kind, &to));
    if (kind == CTT_PICKLED_DICT && n % 2)
        return bad_pickle(m);
    CTT_TRY(take_members(m, n, to));
    m->depth -= marked;
out:
    return rc;
}

static int setitem(struct machine *m)
{
    return extend(m, 2, 0, CTT_PICKLED_DICT);
}

static int append_item(struct machine *m)
{
    return extend(m, 1, 0, CTT_PICKLED_LIST);
}

static int setitems(struct machine *m)
{
    int n = 0, rc = above_mark(m, &n);

    return rc < 0 ? rc : extend(m, n, 1, CTT_PICKLED_DICT);
}

static int appends(struct machine *m)
{
    int n = 0, rc = above_mark(m, &n);

    return rc < 0 ? rc : extend(m, n, 1, CTT_PICKLED_LIST);
}

/* ---- instructions: the memo ---- */

static int put_memo(struct machine *m, int bytes)
{
    int64_t at = 0;
    int *p, rc;

    CTT_TRY(unsigned_of(m, bytes, &at));
    if (m->depth == 0 || m->stack[m->depth - 1] == MARK || at > m->memos ||
        at >= MOST_MEMO)
        return bad_pickle(m);    /* they are numbered from 0 on */
    p = ctt_grown(m->memo, &m->memo_room, m->memos, sizeof(*p));
    CTT_TRY(p ? 0 : CTT_ENOMEM);
    m->memo = p;
    p[at] = m->stack[m->depth - 1];
    m->memos += at == m->memos;
out:
    return rc;
}

static int get_memo(struct machine *m, int bytes)
{
    int64_t at = 0;
    int rc;

    CTT_TRY(unsigned_of(m, bytes, &at));
    if (at >= m->memos)
        return bad_pickle(m);
    CTT_TRY(push(m, m->memo[at]));
out:
    return rc;
}

static int binput(struct machine *m)      { return put_memo(m, 1); }
static int long_binput(struct machine *m) { return put_memo(m, 4); }
static int binget(struct machine *m)      { return get_memo(m, 1); }
static int long_binget(struct machine *m) { return get_memo(m, 4); }

/* ---- instructions: globals ---- */

/* The row of a global: of `globals`, or STORAGES and the row of ctt_numbers;
 * -1: none. */
static int find_global(const char *module, const char *name)
{
    for (int i = 0; i < STORAGES; i++)
        if (strcmp(globals[i][0], module) == 0 &&
            strcmp(globals[i][1], name) == 0)
            return i;
    for (int i = 0; strcmp(module, "torch") == 0 && ctt_numbers[i].word; i++)
        if (ctt_numbers[i].storage && strcmp(ctt_numbers[i].storage, name) == 0)
            return STORAGES + i;
    return -1;
}

static int global(struct machine *m)
{
    char module[1024], name[1024];
    const char *a = NULL, *b = NULL;
    int n = 0, row, rc;

    CTT_TRY(line_of(m, &a, &n));
    snprintf(module, sizeof(module), "%.*s", n, a);
    CTT_TRY(line_of(m, &b, &n));
    snprintf(name, sizeof(name), "%.*s", n, b);
    row = find_global(module, name);
    CTT_CHECK(row >= 0, CTT_EUNSUP, "%s: its pickle asks for %s.%s; only a "
              "state_dict of tensors is read: torch.save(model.state_dict(), "
              "..)", m->path, module, name);
    CTT_TRY(push_new(m, (struct ctt_pickled){ .kind = CTT_PICKLED_GLOBAL,
                                              .number = row }));
out:
    return rc;
}

/* ("storage", class, key, place, count[, None]) */
static int binpersid(struct machine *m)
{
    const struct ctt_pickled *of, *type, *key, *count;
    int at = 0, rc;

    CTT_TRY(look(m, 0, CTT_PICKLED_TUPLE, &at));
    of = &m->k->value[at];
    type = ctt_pickle_member(m->k, of, 1);
    key = ctt_pickle_member(m->k, of, 2);
    count = ctt_pickle_member(m->k, of, 4);
    if (!ctt_pickled_is(ctt_pickle_member(m->k, of, 0), "storage") ||
        type->kind != CTT_PICKLED_GLOBAL || type->number < STORAGES ||
        key->kind != CTT_PICKLED_TEXT || count->kind != CTT_PICKLED_INT ||
        ctt_pickle_member(m->k, of, 5)->kind != CTT_PICKLED_NONE)
        return bad_pickle(m);
    m->depth--;
    CTT_TRY(push_new(m, (struct ctt_pickled){ .kind = CTT_PICKLED_STORAGE,
        .number = count->number, .text = key->text, .length = key->length,
        .type = &ctt_numbers[type->number - STORAGES] }));
out:
    return rc;
}

/* A call: its arguments are kept as members of what it makes. */
static int reduce(struct machine *m)
{
    int args = 0, of = 0, rc;

    CTT_TRY(look(m, 0, CTT_PICKLED_TUPLE, &args));
    CTT_TRY(look(m, 1, CTT_PICKLED_GLOBAL, &of));
    m->depth -= 2;
    if (m->k->value[of].number == REBUILD_TENSOR) {
        m->k->value[args].kind = CTT_PICKLED_TENSOR;
        return push(m, args);
    }
    if (m->k->value[of].number != ORDERED_DICT || m->k->value[args].count)
        return bad_pickle(m);
    CTT_TRY(push_kind(m, CTT_PICKLED_DICT));
out:
    return rc;
}

/* The attributes of an object, here of a dictionary: left out. */
static int build(struct machine *m)
{
    int drop = 0, of = 0, rc;

    CTT_TRY(pop(m, &drop));
    CTT_TRY(look(m, 0, CTT_PICKLED_DICT, &of));
out:
    return rc;
}

static int proto(struct machine *m)
{
    int64_t version = 0;
    int rc;

    CTT_TRY(unsigned_of(m, 1, &version));
    CTT_CHECK(version == 2, CTT_EUNSUP, "%s: a pickle of protocol %lld; "
              "torch.save() writes 2", m->path, (long long)version);
out:
    return rc;
}

static int stop(struct machine *m)
{
    int rc = pop(m, &m->k->root);

    m->stopped = 1;
    return rc;
}

static int (*const instructions[256])(struct machine *m) = {
    [0x80] = proto,      ['.'] = stop,        ['('] = mark,
    ['N'] = none,        [0x88] = none,       [0x89] = none,
    ['G'] = binfloat,    ['J'] = binint,      ['K'] = binint1,
    ['M'] = binint2,     [0x8a] = long1,      ['X'] = binunicode,
    ['}'] = empty_dict,  [']'] = empty_list,  [')'] = empty_tuple,
    ['t'] = tuple,       [0x85] = tuple1,     [0x86] = tuple2,
    [0x87] = tuple3,     ['s'] = setitem,     ['u'] = setitems,
    ['a'] = append_item,      ['e'] = appends,     ['q'] = binput,
    ['r'] = long_binput, ['h'] = binget,      ['j'] = long_binget,
    ['c'] = global,      ['Q'] = binpersid,   ['R'] = reduce,
    ['b'] = build,
};

int ctt_pickle_run(const char *path, const uint8_t *p, int64_t size,
                   struct ctt_pickle *out)
{
    struct ctt_pickle k = { .root = 0 };
    struct machine m = { .path = path, .p = p, .size = size, .k = &k };
    int zero, rc;

    CTT_TRY(new_value(&m, (struct ctt_pickled){ .kind = CTT_PICKLED_NONE },
                      &zero));
    while (!m.stopped) {
        int64_t op = 0;

        CTT_TRY(unsigned_of(&m, 1, &op));
        CTT_CHECK(instructions[op], CTT_EUNSUP, "%s: its pickle has the "
                  "instruction 0x%02x, which no state_dict needs", path,
                  (unsigned)op);
        CTT_TRY(instructions[op](&m));
    }
    k.bytes = m.at;
    *out = k;
    k = (struct ctt_pickle){ .root = 0 };
out:
    ctt_free(m.stack);
    ctt_free(m.memo);
    ctt_pickle_free(&k);
    return rc;
}

void ctt_pickle_free(struct ctt_pickle *k)
{
    ctt_free(k->value);
    ctt_free(k->link);
    *k = (struct ctt_pickle){ .root = 0 };
}
