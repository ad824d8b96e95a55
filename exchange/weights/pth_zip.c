/* SPDX-License-Identifier: Apache-2.0
 * pth_zip.c: a .pth of PyTorch 1.6 and later: a zip archive of data.pkl and
 * a file for each storage, all in one folder. */
#include "exchange/weights/pth.h"

#include <stdio.h>
#include <string.h>

static const struct ctt_zipped *file_of(const struct ctt_pth *s,
                                        const char *folder, const char *name)
{
    char path[2 * CTT_PTH_NAME];

    snprintf(path, sizeof(path), "%s/%s%s", s->folder, folder, name);
    return ctt_zip_find(&s->zip, path);
}

static int find_zipped(const struct ctt_pth *s, const char *key,
                       int64_t bytes, const uint8_t **data)
{
    const struct ctt_zipped *f = file_of(s, "data/", key);
    int rc = 0;

    CTT_CHECK(f && f->size == bytes, CTT_EFORMAT, "%s: storage %s has %lld "
              "bytes, and %lld are asked for", s->t->path, key,
              f ? (long long)f->size : 0LL, (long long)bytes);
    *data = f->data;
out:
    return rc;
}

/* The folder of the archive is that of its data.pkl. */
static int find_folder(struct ctt_pth *s)
{
    static const char end[] = "/data.pkl";
    int rc = 0, tail = (int)sizeof(end) - 1, found = 0;

    for (int i = 0; i < s->zip.count; i++) {
        const struct ctt_zipped *f = &s->zip.file[i];

        if (f->length < tail || f->length - tail >= CTT_PTH_NAME ||
            memcmp(f->name + f->length - tail, end, (size_t)tail) != 0)
            continue;
        snprintf(s->folder, CTT_PTH_NAME, "%.*s", f->length - tail, f->name);
        found++;
    }
    CTT_CHECK(found == 1, CTT_EFORMAT, "%s: an archive with %d files data.pkl: "
              "not one of torch.save()", s->t->path, found);
out:
    return rc;
}

int ctt_pth_read_zip(struct ctt_tensors *t)
{
    struct ctt_pth s = { .t = t, .find = find_zipped };
    const struct ctt_zipped *f;
    int rc;

    CTT_TRY(ctt_zip_open(t->path, t->image, t->size, &s.zip));
    CTT_TRY(find_folder(&s));
    f = file_of(&s, "", "byteorder");
    CTT_CHECK(!f || (f->size == 6 && memcmp(f->data, "little", 6) == 0),
              CTT_EUNSUP, "%s: its numbers are not little-endian", t->path);
    f = file_of(&s, "", "data.pkl");
    CTT_TRY(ctt_pickle_run(t->path, f->data, f->size, &s.k));
    CTT_TRY(ctt_pth_tensors(&s));
out:
    ctt_pickle_free(&s.k);
    ctt_zip_close(&s.zip);
    return rc;
}
