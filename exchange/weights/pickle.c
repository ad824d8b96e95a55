/* SPDX-License-Identifier: Apache-2.0
 * pickle.c: the instructions of pickles (Python, pickletools.py) that make
 * tensors and dictionaries; the rest is refused by name. */
#include "exchange/weights/pickle_machine.h"

#include <stdio.h>
#include <string.h>

enum { MOST_MEMO = 1 << 24 };

/* The classes and functions that a pickle may name, before those of
 * storages, which are rows of ctt_numbers. */
enum { ORDERED_DICT, REBUILD_TENSOR, STORAGES };
static const char *const globals[][2] = {
    [ORDERED_DICT] = { "collections", "OrderedDict" },
    [REBUILD_TENSOR] = { "torch._utils", "_rebuild_tensor_v2" },
};

/* ---- instructions: numbers and texts ---- */

static int push_int(struct ctt_pkl *m, int bytes, int is_signed)
{
    int64_t x = 0;
    int rc;

    CTT_TRY(ctt_pkl_number(m, bytes, &x));
    if (is_signed)
        x = (int32_t)x;
    CTT_TRY(ctt_pkl_push_new(m, (struct ctt_pickled){ .kind = CTT_PICKLED_INT,
                                                      .number = x }));
out:
    return rc;
}

static int binint(struct ctt_pkl *m)  { return push_int(m, 4, 1); }
static int binint1(struct ctt_pkl *m) { return push_int(m, 1, 0); }
static int binint2(struct ctt_pkl *m) { return push_int(m, 2, 0); }

/* Of up to 8 bytes; the top bit of the last is the sign. */
static int long1(struct ctt_pkl *m)
{
    int64_t n = 0, x = 0;
    const uint8_t *p = NULL;
    int rc;

    CTT_TRY(ctt_pkl_number(m, 1, &n));
    CTT_TRY(ctt_pkl_bytes(m, n, &p));
    if (n > 8)
        return ctt_pkl_bad(m);
    for (int i = 0; i < n; i++)
        x |= (int64_t)((uint64_t)p[i] << 8 * i);
    if (n && n < 8 && p[n - 1] & 0x80)
        x -= INT64_C(1) << 8 * n;
    CTT_TRY(ctt_pkl_push_new(m, (struct ctt_pickled){ .kind = CTT_PICKLED_INT,
                                                      .number = x }));
out:
    return rc;
}

static int binunicode(struct ctt_pkl *m)
{
    const uint8_t *p = NULL;
    int64_t n = 0;
    int rc;

    CTT_TRY(ctt_pkl_number(m, 4, &n));
    CTT_TRY(ctt_pkl_bytes(m, n, &p));
    if (n > INT32_MAX || memchr(p, 0, (size_t)n))
        return ctt_pkl_bad(m);
    CTT_TRY(ctt_pkl_push_new(m, (struct ctt_pickled){ .kind = CTT_PICKLED_TEXT,
        .text = (const char *)p, .length = (int)n }));
out:
    return rc;
}

static int binfloat(struct ctt_pkl *m)
{
    const uint8_t *p = NULL;
    int rc;

    CTT_TRY(ctt_pkl_bytes(m, 8, &p));
    CTT_TRY(ctt_pkl_push(m, 0));
out:
    return rc;
}

static int none(struct ctt_pkl *m) { return ctt_pkl_push(m, 0); }

/* ---- instructions: collections ---- */

static int mark(struct ctt_pkl *m)
{
    return ctt_pkl_push(m, CTT_PKL_MARK);
}

static int empty_dict(struct ctt_pkl *m)
{
    return ctt_pkl_push_kind(m, CTT_PICKLED_DICT);
}

static int empty_list(struct ctt_pkl *m)
{
    return ctt_pkl_push_kind(m, CTT_PICKLED_LIST);
}

static int empty_tuple(struct ctt_pkl *m)
{
    return ctt_pkl_push_kind(m, CTT_PICKLED_TUPLE);
}

static int make_tuple(struct ctt_pkl *m, int n)
{
    struct ctt_pickled v = { .kind = CTT_PICKLED_TUPLE };
    int t = 0, rc;

    if (n > m->depth)
        return ctt_pkl_bad(m);
    CTT_TRY(ctt_pkl_value(m, v, &t));
    CTT_TRY(ctt_pkl_take(m, n, t));
    CTT_TRY(ctt_pkl_push(m, t));
out:
    return rc;
}

static int tuple1(struct ctt_pkl *m) { return make_tuple(m, 1); }
static int tuple2(struct ctt_pkl *m) { return make_tuple(m, 2); }
static int tuple3(struct ctt_pkl *m) { return make_tuple(m, 3); }

/* Takes the mark away, too. */
static int tuple(struct ctt_pkl *m)
{
    int n = 0, t = 0, rc;

    CTT_TRY(ctt_pkl_above_mark(m, &n));
    CTT_TRY(make_tuple(m, n));
    t = m->stack[m->depth - 1];
    m->depth -= 2;
    CTT_TRY(ctt_pkl_push(m, t));
out:
    return rc;
}

/* n values go into the collection of that kind below them (and a mark). */
static int extend(struct ctt_pkl *m, int n, int marked,
                  enum ctt_pickled_kind kind)
{
    int to = 0, rc;

    CTT_TRY(ctt_pkl_look(m, n + marked, kind, &to));
    if (kind == CTT_PICKLED_DICT && n % 2)
        return ctt_pkl_bad(m);
    CTT_TRY(ctt_pkl_take(m, n, to));
    m->depth -= marked;
out:
    return rc;
}

static int setitem(struct ctt_pkl *m)
{
    return extend(m, 2, 0, CTT_PICKLED_DICT);
}

static int append_item(struct ctt_pkl *m)
{
    return extend(m, 1, 0, CTT_PICKLED_LIST);
}

static int setitems(struct ctt_pkl *m)
{
    int n = 0, rc = ctt_pkl_above_mark(m, &n);

    return rc < 0 ? rc : extend(m, n, 1, CTT_PICKLED_DICT);
}

static int appends(struct ctt_pkl *m)
{
    int n = 0, rc = ctt_pkl_above_mark(m, &n);

    return rc < 0 ? rc : extend(m, n, 1, CTT_PICKLED_LIST);
}

/* ---- instructions: the memo ---- */

static int put_memo(struct ctt_pkl *m, int bytes)
{
    int64_t at = 0;
    int *p, rc;

    CTT_TRY(ctt_pkl_number(m, bytes, &at));
    if (m->depth == 0 || m->stack[m->depth - 1] == CTT_PKL_MARK ||
        at > m->memos || at >= MOST_MEMO)
        return ctt_pkl_bad(m);    /* they are numbered from 0 on */
    p = ctt_grown(m->memo, &m->memo_room, m->memos, sizeof(*p));
    CTT_TRY(p ? 0 : CTT_ENOMEM);
    m->memo = p;
    p[at] = m->stack[m->depth - 1];
    m->memos += at == m->memos;
out:
    return rc;
}

static int get_memo(struct ctt_pkl *m, int bytes)
{
    int64_t at = 0;
    int rc;

    CTT_TRY(ctt_pkl_number(m, bytes, &at));
    if (at >= m->memos)
        return ctt_pkl_bad(m);
    CTT_TRY(ctt_pkl_push(m, m->memo[at]));
out:
    return rc;
}

static int binput(struct ctt_pkl *m)      { return put_memo(m, 1); }
static int long_binput(struct ctt_pkl *m) { return put_memo(m, 4); }
static int binget(struct ctt_pkl *m)      { return get_memo(m, 1); }
static int long_binget(struct ctt_pkl *m) { return get_memo(m, 4); }

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

static int global(struct ctt_pkl *m)
{
    char module[1024], name[1024];
    const char *a = NULL, *b = NULL;
    int n = 0, row, rc;

    CTT_TRY(ctt_pkl_line(m, &a, &n));
    snprintf(module, sizeof(module), "%.*s", n, a);
    CTT_TRY(ctt_pkl_line(m, &b, &n));
    snprintf(name, sizeof(name), "%.*s", n, b);
    row = find_global(module, name);
    CTT_CHECK(row >= 0, CTT_EUNSUP, "%s: its pickle asks for %s.%s; only a "
              "state_dict of tensors is read: torch.save(model.state_dict(), "
              "..)", m->path, module, name);
    CTT_TRY(ctt_pkl_push_new(m, (struct ctt_pickled){
        .kind = CTT_PICKLED_GLOBAL, .number = row }));
out:
    return rc;
}

/* ("storage", class, key, place, count[, None]) */
static int binpersid(struct ctt_pkl *m)
{
    const struct ctt_pickled *of, *type, *key, *count;
    int at = 0, rc;

    CTT_TRY(ctt_pkl_look(m, 0, CTT_PICKLED_TUPLE, &at));
    of = &m->k->value[at];
    type = ctt_pickle_member(m->k, of, 1);
    key = ctt_pickle_member(m->k, of, 2);
    count = ctt_pickle_member(m->k, of, 4);
    if (!ctt_pickled_is(ctt_pickle_member(m->k, of, 0), "storage") ||
        type->kind != CTT_PICKLED_GLOBAL || type->number < STORAGES ||
        key->kind != CTT_PICKLED_TEXT || count->kind != CTT_PICKLED_INT ||
        ctt_pickle_member(m->k, of, 5)->kind != CTT_PICKLED_NONE)
        return ctt_pkl_bad(m);
    m->depth--;
    CTT_TRY(ctt_pkl_push_new(m, (struct ctt_pickled){
        .kind = CTT_PICKLED_STORAGE, .number = count->number,
        .text = key->text, .length = key->length,
        .type = &ctt_numbers[type->number - STORAGES] }));
out:
    return rc;
}

/* A call: its arguments are kept as members of what it makes. */
static int reduce(struct ctt_pkl *m)
{
    int args = 0, of = 0, rc;

    CTT_TRY(ctt_pkl_look(m, 0, CTT_PICKLED_TUPLE, &args));
    CTT_TRY(ctt_pkl_look(m, 1, CTT_PICKLED_GLOBAL, &of));
    m->depth -= 2;
    if (m->k->value[of].number == REBUILD_TENSOR) {
        m->k->value[args].kind = CTT_PICKLED_TENSOR;
        return ctt_pkl_push(m, args);
    }
    if (m->k->value[of].number != ORDERED_DICT || m->k->value[args].count)
        return ctt_pkl_bad(m);
    CTT_TRY(ctt_pkl_push_kind(m, CTT_PICKLED_DICT));
out:
    return rc;
}

/* The attributes of an object, here of a dictionary: left out. */
static int build(struct ctt_pkl *m)
{
    int drop = 0, of = 0, rc;

    CTT_TRY(ctt_pkl_pop(m, &drop));
    CTT_TRY(ctt_pkl_look(m, 0, CTT_PICKLED_DICT, &of));
out:
    return rc;
}

static int proto(struct ctt_pkl *m)
{
    int64_t version = 0;
    int rc;

    CTT_TRY(ctt_pkl_number(m, 1, &version));
    CTT_CHECK(version == 2, CTT_EUNSUP, "%s: a pickle of protocol %lld; "
              "torch.save() writes 2", m->path, (long long)version);
out:
    return rc;
}

static int stop(struct ctt_pkl *m)
{
    int rc = ctt_pkl_pop(m, &m->k->root);

    m->stopped = 1;
    return rc;
}

static int (*const instructions[256])(struct ctt_pkl *m) = {
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
    struct ctt_pkl m = { .path = path, .p = p, .size = size, .k = &k };
    int zero, rc;

    CTT_TRY(ctt_pkl_value(&m, (struct ctt_pickled){ .kind = CTT_PICKLED_NONE },
                      &zero));
    while (!m.stopped) {
        int64_t op = 0;

        CTT_TRY(ctt_pkl_number(&m, 1, &op));
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
