/* SPDX-License-Identifier: Apache-2.0
 * squeeze.c: the words of --squeeze. */
#include "libtrain/ranks/squeeze.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char        *word;    /* with "=": a number follows */
    struct ctt_squeeze is;
    double             least, most;
} words[] = {
    { "none", { CTT_SQUEEZE_NONE, CTT_F32, 0 }, 0, 0 },
    { "bf16", { CTT_SQUEEZE_HALF, CTT_BF16, 0 }, 0, 0 },
    { "fp16", { CTT_SQUEEZE_HALF, CTT_F16, 0 }, 0, 0 },
    { "threshold=", { CTT_SQUEEZE_THRESHOLD, CTT_F32, 0 }, 1e-30, 1e30 },
    { "share=", { CTT_SQUEEZE_SHARE, CTT_F32, 0 }, 1e-4, 0.5 },
};

static int read_float(const char *text, double least, double most, float *out)
{
    char *end;
    double x = strtod(text, &end);
    int rc = 0;

    CTT_CHECK(end > text && !*end && x >= least && x <= most, CTT_EINVAL,
              "'%s' is no number from %g to %g", text, least, most);
    *out = (float)x;
out:
    return rc;
}

int ctt_squeeze_parse(const char *text, struct ctt_squeeze *out)
{
    size_t i = 0, n;
    int rc = 0;

    text = text && *text ? text : "none";
    n = strcspn(text, "=");
    n += text[n] == '=';
    while (i < CTT_LEN(words) && (strlen(words[i].word) != n ||
                                  strncmp(words[i].word, text, n) != 0))
        i++;
    CTT_CHECK(i < CTT_LEN(words), CTT_EINVAL, "--squeeze=%s: not none, bf16, "
              "fp16, threshold=T or share=P", text);
    *out = words[i].is;
    if (!text[n] && words[i].most == 0)
        goto out;
    rc = read_float(text + n, words[i].least, words[i].most, &out->value);
    if (rc < 0)
        ctt_error(rc, "--squeeze=%s: %s", text, ctt_errmsg());
out:
    return rc;
}
