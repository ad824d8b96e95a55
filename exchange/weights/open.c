/* SPDX-License-Identifier: Apache-2.0
 * open.c: opens a file of weights, whatever its form. */
#include "exchange/weights/tensors.h"
#include "base/newfile.h"

#include <stdlib.h>
#include <string.h>

/* Two of one name would let a reader choose. */
static int sort_tensors(struct ctt_tensors *t)
{
    int rc = 0;

    if (t->count)
        qsort(t->tensor, (size_t)t->count, sizeof(*t->tensor), ctt_named_order);
    for (int i = 1; i < t->count; i++)
        CTT_CHECK(ctt_named_order(&t->tensor[i - 1], &t->tensor[i]) != 0,
                  CTT_EFORMAT, "%s: two tensors have the name %s", t->path,
                  t->tensor[i].name);
out:
    return rc;
}

/* A pickle without an archive could be anything: only that of torch.save(). */
static int read_tensors(struct ctt_tensors *t)
{
    const uint8_t *p = t->image;
    int rc = 0;

    if (t->size > 4 && memcmp(p, "PK\3\4", 4) == 0)
        return ctt_pth_read_zip(t);
    if (t->size > CTT_PTH_MAGIC_BYTES &&
        memcmp(p, CTT_PTH_MAGIC, CTT_PTH_MAGIC_BYTES) == 0)
        return ctt_pth_read_old(t);
    CTT_CHECK(t->size > 9 && p[8] == '{', CTT_EFORMAT, "%s: neither "
              "safetensors nor a .pth of torch.save()", t->path);
    CTT_TRY(ctt_safetensors_read(t));
out:
    return rc;
}

int ctt_tensors_open(const char *path, struct ctt_tensors **out)
{
    struct ctt_tensors *t = ctt_calloc(1, sizeof(*t));
    char *text = NULL;
    int rc;

    CTT_TRY(t ? 0 : CTT_ENOMEM);
    CTT_TRY((t->path = ctt_strdup(path)) ? 0 : CTT_ENOMEM);
    CTT_TRY(ctt_file_text(path, INT64_MAX - 1, &text, &t->size));
    t->image = (uint8_t *)text;
    CTT_TRY(read_tensors(t));
    CTT_TRY(sort_tensors(t));
    *out = t;
    t = NULL;
out:
    ctt_tensors_free(&t);
    return rc;
}
