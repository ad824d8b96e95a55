/* SPDX-License-Identifier: Apache-2.0
 * attr.c: attributes of nodes by name. */
#include "exchange/onnx/onnx.h"

#include <string.h>

const struct ctt_onnx_attr *ctt_onnx_attr(const struct ctt_onnx_node *n,
                                          const char *name)
{
    for (int i = 0; i < n->attrs; i++)
        if (strcmp(n->attr[i].name, name) == 0)
            return &n->attr[i];
    return NULL;
}

int64_t ctt_onnx_int(const struct ctt_onnx_node *n, const char *name,
                     int64_t none)
{
    const struct ctt_onnx_attr *a = ctt_onnx_attr(n, name);

    return a ? a->i : none;
}

float ctt_onnx_float(const struct ctt_onnx_node *n, const char *name,
                     float none)
{
    const struct ctt_onnx_attr *a = ctt_onnx_attr(n, name);

    return a ? a->f : none;
}

const char *ctt_onnx_word(const struct ctt_onnx_node *n, const char *name,
                          const char *none)
{
    const struct ctt_onnx_attr *a = ctt_onnx_attr(n, name);

    return a && a->s ? a->s : none;
}

const int64_t *ctt_onnx_ints(const struct ctt_onnx_node *n, const char *name,
                             int64_t *count)
{
    const struct ctt_onnx_attr *a = ctt_onnx_attr(n, name);

    *count = a ? a->ints : 0;
    return a && a->ints ? a->is : NULL;
}

int ctt_onnx_axis(int64_t axis, int rank, int *out)
{
    int rc = 0;

    CTT_CHECK(axis >= -rank && axis < rank, CTT_EUNSUP, "axis %lld of %d",
              (long long)axis, rank);
    *out = (int)(axis < 0 ? axis + rank : axis);
out:
    return rc;
}

int ctt_onnx_axes(const struct ctt_onnx *o, const struct ctt_onnx_node *n,
                  int k, int rank, unsigned none, unsigned *out)
{
    const struct ctt_onnx_tensor *t = ctt_onnx_constant(o, n, k);
    const struct ctt_onnx_attr *a = ctt_onnx_attr(n, "axes");
    int64_t count = t ? t->count : a ? a->ints : 0;
    int rc = 0, axis = 0;

    CTT_CHECK(t || !ctt_onnx_in(o, n, k), CTT_EUNSUP, "axes that are no "
              "constant");
    *out = count ? 0 : none;
    for (int64_t i = 0; i < count; i++) {
        CTT_TRY(ctt_onnx_axis(t ? ctt_onnx_whole(t, i) : a->is[i], rank,
                              &axis));
        *out |= 1u << axis;
    }
out:
    return rc;
}

static int has_word(const char *words, const char *word)
{
    size_t n = strlen(word);

    for (; words; words = strchr(words, ' ')) {
        words += *words == ' ';
        if (strncmp(words, word, n) == 0 && (words[n] == ' ' || !words[n]))
            return 1;
    }
    return 0;
}

int ctt_onnx_knows(const struct ctt_onnx_node *n, const char *words)
{
    int rc = 0;

    for (int i = 0; i < n->attrs; i++)
        CTT_CHECK(has_word(words, n->attr[i].name), CTT_EUNSUP, "%s: an "
                  "attribute that is not known here", n->attr[i].name);
out:
    return rc;
}
