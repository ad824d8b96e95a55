/* SPDX-License-Identifier: Apache-2.0
 * pth.c: makes files as torch.save() does. */
#include "tests/lib/pth.h"
#include "net/code/zip.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

void pth_add(struct pth_bytes *b, const void *p, size_t n)
{
    assert(n <= sizeof(b->p) - b->n);
    if (n)
        memcpy(b->p + b->n, p, n);
    b->n += n;
}

/* A number, lowest byte first. */
static void add_number(struct pth_bytes *b, uint64_t x, int bytes)
{
    for (; bytes > 0; bytes--, x >>= 8)
        pth_add(b, &(uint8_t){ (uint8_t)x }, 1);
}

static void add_string(struct pth_bytes *b, const char *s)
{
    pth_add(b, s, strlen(s));
}

/* ---- pickles ---- */

static void add_text(struct pth_bytes *b, const char *s)
{
    add_string(b, "X");
    add_number(b, strlen(s), 4);
    add_string(b, s);
}

static void add_int(struct pth_bytes *b, int x)
{
    add_string(b, "J");
    add_number(b, (uint64_t)x, 4);
}

static void add_tuple(struct pth_bytes *b, const int *x)
{
    add_string(b, "(");
    for (; *x >= 0; x++)
        add_int(b, *x);
    add_string(b, "t");
}

static void add_tensor(struct pth_bytes *b, const struct pth_tensor *t, int old)
{
    char class[80];

    snprintf(class, sizeof(class), "ctorch\n%s\n", t->class);
    add_text(b, t->name);
    add_string(b, "ctorch._utils\n_rebuild_tensor_v2\n((");
    add_text(b, "storage");
    add_string(b, class);
    add_text(b, t->key);
    add_text(b, "cpu");
    add_int(b, t->numbers);
    add_string(b, old ? "NtQ" : "tQ");
    add_int(b, t->offset);
    add_tuple(b, t->dim);
    add_tuple(b, t->stride);
    add_string(b, "\x89" "ccollections\nOrderedDict\n)RtR");
}

void pth_pickle(struct pth_bytes *b, const struct pth_tensor *t, int tensors,
                int old)
{
    add_string(b, "\x80\x02" "ccollections\nOrderedDict\n)Rq");
    add_number(b, 0, 1);
    add_string(b, "(");
    for (int i = 0; i < tensors; i++)
        add_tensor(b, &t[i], old);
    add_string(b, "u}");
    add_text(b, "_metadata");
    add_string(b, "h");
    add_number(b, 0, 1);
    add_string(b, "sb.");    /* an attribute */
}

/* ---- both forms ---- */

static void add_floats(struct pth_bytes *b, int n)
{
    for (int i = 0; i < n; i++)
        pth_add(b, &(float){ (float)i }, 4);
}

void pth_old(struct pth_bytes *b, const struct pth_tensor *t, int tensors,
             int a, int count_b)
{
    static const char magic[] =
        "\x80\x02\x8a\x0al\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.";

    pth_add(b, magic, sizeof(magic) - 1);
    add_string(b, "\x80\x02M\xe9\x03.\x80\x02}.");
    pth_pickle(b, t, tensors, 1);
    add_string(b, "\x80\x02](");
    add_text(b, "a");
    add_text(b, "b");
    add_string(b, "e.");
    add_number(b, (uint64_t)a, 8);
    add_floats(b, a);
    add_number(b, (uint64_t)count_b, 8);
    add_floats(b, count_b);
}

/* What an archive says of a file before its data and again in its list. */
static void add_facts(struct pth_bytes *b, const struct pth_bytes *data,
                      const char *name)
{
    add_number(b, 0, 8);    /* version .. time: stored as it is */
    add_number(b, 0, 2);
    add_number(b, ctt_crc32(0, data->p, 1, (int64_t)data->n), 4);
    add_number(b, data->n, 4);
    add_number(b, data->n, 4);
    add_number(b, strlen(name), 2);
}

static void add_file(struct pth_bytes *b, struct pth_bytes *list,
                     const char *name, const struct pth_bytes *data)
{
    size_t at = b->n;

    add_string(b, "PK\3\4");
    add_facts(b, data, name);
    add_number(b, 3, 2);
    add_string(b, name);
    add_string(b, "pad");
    pth_add(b, data->p, data->n);
    add_string(list, "PK\1\2");
    add_number(list, 0, 2);
    add_facts(list, data, name);
    add_number(list, 0, 12);
    add_number(list, at, 4);
    add_string(list, name);
}

void pth_zip(struct pth_bytes *b, const struct pth_bytes *pickle, int a,
             int count_b)
{
    static struct pth_bytes list, floats;
    size_t at;

    list.n = floats.n = 0;
    add_file(b, &list, "m/data.pkl", pickle);
    add_floats(&floats, a);
    add_file(b, &list, "m/data/a", &floats);
    floats.n = 0;
    add_floats(&floats, count_b);
    add_file(b, &list, "m/data/b", &floats);
    floats.n = 0;
    add_string(&floats, "little");
    add_file(b, &list, "m/byteorder", &floats);
    at = b->n;
    pth_add(b, list.p, list.n);
    add_string(b, "PK\5\6");
    add_number(b, 0, 4);
    add_number(b, 4, 2);
    add_number(b, 4, 2);
    add_number(b, list.n, 4);
    add_number(b, at, 4);
    add_number(b, 0, 2);
}
