/* SPDX-License-Identifier: Apache-2.0
 * split.c: the splits of a data set and their usual spellings. */
#include "video/list/split.h"
#include "base/ctt.h"

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

int ctt_split_same(const char *a, const char *b)
{
    int n = ctt_split_number(a);

    return strcasecmp(a, b) == 0 || (n >= 0 && n == ctt_split_number(b));
}
