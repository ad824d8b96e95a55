/* SPDX-License-Identifier: Apache-2.0
 * log.c: what each epoch came to, for other programs. */
#include "libtrain/state.h"

#include <errno.h>
#include <math.h>
#include <string.h>

struct ctt_log { FILE *csv, *json; const char *csv_path, *json_path; };

enum kind { INT, INT64, REAL, TEST };    /* TEST: a REAL if it was measured */

#define COLUMN(name, kind, field) { name, kind, \
    offsetof(struct ctt_epoch, field) }

static const struct { const char *name; enum kind kind; size_t off; }
columns[] = {
    COLUMN("epoch", INT, p.epoch),
    COLUMN("step", INT64, p.step),
    COLUMN("lr", REAL, p.lr),
    COLUMN("loss", REAL, p.loss),
    COLUMN("top1", REAL, p.top1),
    COLUMN("val_loss", TEST, val_loss),
    COLUMN("val_top1", TEST, val_top1),
    COLUMN("val_top5", TEST, val_top5),
    COLUMN("best", INT, best),
    COLUMN("clips_a_second", REAL, p.clips_a_second),
    COLUMN("wait", REAL, p.wait),
    COLUMN("seconds", REAL, p.seconds),
};

static int open_one(const char *path, int more, FILE **out)
{
    FILE *f;
    int rc = 0;

    if (!path)
        return 0;
    f = fopen(path, more ? "a" : "w");
    CTT_CHECK(f, CTT_EIO, "%s: %s", path, strerror(errno));
    *out = f;
out:
    return rc;
}

int ctt_log_open(const char *csv, const char *json, int more,
                 struct ctt_log **out)
{
    struct ctt_log *l = ctt_calloc(1, sizeof(*l));
    int rc = l ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    l->csv_path = csv;
    l->json_path = json;
    CTT_TRY(open_one(csv, more, &l->csv));
    CTT_TRY(open_one(json, more, &l->json));
    if (l->csv && fseek(l->csv, 0, SEEK_END) == 0 && ftell(l->csv) == 0)
        for (size_t i = 0; i < CTT_LEN(columns); i++)
            fprintf(l->csv, "%s%s", columns[i].name,
                    i + 1 < CTT_LEN(columns) ? "," : "\n");
    *out = l;
    l = NULL;
out:
    ctt_log_close(&l);
    return rc;
}

/* none: what stands for a number that there is not. */
static void put(FILE *f, enum kind kind, const void *p, int tested,
                const char *none)
{
    if (kind == INT)
        fprintf(f, "%d", *(const int *)p);
    else if (kind == INT64)
        fprintf(f, "%lld", (long long)*(const int64_t *)p);
    else if ((kind == TEST && !tested) || !isfinite(*(const double *)p))
        fputs(none, f);
    else
        fprintf(f, "%.6g", *(const double *)p);
}

static int flush(FILE *f, const char *path)
{
    int rc = 0;

    CTT_CHECK(fflush(f) == 0 && !ferror(f), CTT_EIO, "%s: %s", path,
              strerror(errno));
out:
    return rc;
}

int ctt_log_row(struct ctt_log *l, const struct ctt_epoch *e)
{
    int rc = 0;

    for (size_t i = 0; i < CTT_LEN(columns); i++) {
        const void *p = (const char *)e + columns[i].off;
        int last = i + 1 == CTT_LEN(columns);

        if (l->csv) {
            put(l->csv, columns[i].kind, p, e->tested, "");
            fputc(last ? '\n' : ',', l->csv);
        }
        if (l->json) {
            fprintf(l->json, "%s\"%s\":", i ? "," : "{", columns[i].name);
            put(l->json, columns[i].kind, p, e->tested, "null");
            fputs(last ? "}\n" : "", l->json);
        }
    }
    if (l->csv)
        CTT_TRY(flush(l->csv, l->csv_path));
    if (l->json)
        CTT_TRY(flush(l->json, l->json_path));
out:
    return rc;
}

int ctt_log_close(struct ctt_log **l)
{
    int rc = 0;

    if (!*l)
        return 0;
    if ((*l)->csv && fclose((*l)->csv) != 0)
        rc = ctt_error(CTT_EIO, "%s: %s", (*l)->csv_path, strerror(errno));
    if ((*l)->json && fclose((*l)->json) != 0)
        rc = ctt_error(CTT_EIO, "%s: %s", (*l)->json_path, strerror(errno));
    ctt_free(*l);
    *l = NULL;
    return rc;
}
