/* SPDX-License-Identifier: Apache-2.0
 * split.c: the splits of a data set and their usual spellings. */
#include "video/list/split.h"
#include "base/ctt.h"

#include <string.h>
#include <strings.h>

static const char *const spellings[][CTT_SPELLINGS] = {
    { "train", "training" },
    { "validation", "valid", "val", "validate", "dev" },
    { "test", "testing" },
};

int ctt_split_number(const char *split)
{
    for (size_t i = 0; i < CTT_LEN(spellings); i++)
        for (int j = 0; spellings[i][j]; j++)
            if (strcasecmp(spellings[i][j], split) == 0)
                return (int)i;
    return -1;
}

void ctt_split_spellings(const char *split, const char *out[CTT_SPELLINGS])
{
    int number = ctt_split_number(split), n = 0;
    const char *const *row = number >= 0 ? spellings[number] : NULL;

    out[n++] = split;
    for (int j = 0; row && row[j]; j++)
        if (strcasecmp(row[j], split) != 0)
            out[n++] = row[j];
    out[n] = NULL;
}

static int same_split(const char *a, const char *b)
{
    int n = ctt_split_number(a);

    return strcasecmp(a, b) == 0 || (n >= 0 && n == ctt_split_number(b));
}

/* The split of the row at p. */
static const char *split_of(const char *p, size_t at)
{
    const char *s;

    memcpy(&s, p + at, sizeof(s));
    return s ? s : "";
}

static void swap(char *a, char *b, size_t size)
{
    for (size_t k = 0; k < size; k++) {
        char was = a[k];

        a[k] = b[k];
        b[k] = was;
    }
}

int ctt_split_rows(void *row, int count, size_t size, size_t at,
                   const char *split)
{
    char *p = row, *to = row;
    int mixed = 0;

    for (int i = 1; i < count && !mixed; i++)
        mixed = !same_split(split_of(p, at),
                            split_of(p + (size_t)i * size, at));
    if (!mixed)
        return count;
    for (int i = 0; i < count; i++, p += size)
        if (same_split(split_of(p, at), split)) {
            swap(to, p, size);
            to += size;
        }
    return (int)((size_t)(to - (char *)row) / size);
}
