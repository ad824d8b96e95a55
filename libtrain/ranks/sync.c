/* SPDX-License-Identifier: Apache-2.0
 * sync.c: parses --sync. */
#include "libtrain/ranks/sync.h"
#include "libtrain/train.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char        *word;    /* with "=": a number follows */
    enum ctt_sync_kind kind;
} words[] = {
    { "all", CTT_SYNC_ALL },
    { "central", CTT_SYNC_CENTRAL },
    { "backup=", CTT_SYNC_CENTRAL },
    { "async", CTT_SYNC_ASYNC },
};

enum { MOST = 1 << 16 };    /* workers that are not waited for */

static int parse_backup(const char *text, int *out)
{
    char *end;
    long n = strtol(text, &end, 10);
    int rc = 0;

    CTT_CHECK(end > text && !*end && n > 0 && n <= MOST, CTT_EINVAL,
              "--sync=backup=%s: not a number from 1 to %d", text, MOST);
    *out = (int)n;
out:
    return rc;
}

int ctt_sync_parse(const struct ctt_train_cfg *cfg, struct ctt_sync *out)
{
    const char *text = cfg->sync && *cfg->sync ? cfg->sync : words[0].word;
    size_t i = 0, n;
    int rc = 0;

    n = strcspn(text, "=");
    n += text[n] == '=';
    while (i < CTT_LEN(words) && (strlen(words[i].word) != n ||
                                  strncmp(words[i].word, text, n) != 0))
        i++;
    CTT_CHECK(i < CTT_LEN(words), CTT_EINVAL,
              "--sync=%s: not all, central, backup=B or async", text);
    *out = (struct ctt_sync){ .kind = words[i].kind };
    if (text[n - 1] == '=')
        CTT_TRY(parse_backup(text + n, &out->backup));
    else
        CTT_CHECK(!text[n], CTT_EINVAL, "--sync=%s: no number is wanted", text);
out:
    return rc;
}
