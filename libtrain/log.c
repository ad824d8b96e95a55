/* SPDX-License-Identifier: Apache-2.0
 * log.c: the result of each epoch as CSV and JSON, for other programs. */
#include "libtrain/log.h"
#include "libtrain/before.h"
#include "libtrain/settings.h"
#include "libtrain/trainer.h"
#include "base/json.h"
#include "base/newfile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST = 1 << 30 };    /* bytes of a log that is continued */

struct ctt_log {
    FILE       *csv, *json;
    const char *csv_path, *json_path;
    char       *settings;    /* for the first row of a new JSON log */
    int         kind;    /* bits below: the task, mixed precision, a server
                            (--sync), several labels per clip, shards */
};

enum kind { INT, INT64, REAL, TEST };    /* TEST: a REAL of a test, which may
                                            not have taken place */

enum { BOTH = 1 << CTT_BOTH, RECOGNISE = 1 << CTT_RECOGNISE | BOTH,
       PREDICT = 1 << CTT_PREDICT, NEXT = 1 << CTT_NEXT,
       ANY = RECOGNISE | PREDICT | NEXT, AMP = 1 << 4,
       SERVED = 1 << 5, SEVERAL = 1 << 6, HEARD = 1 << 7 };

#define COLUMN(of, name, kind, field) { of, name, kind, \
    offsetof(struct ctt_epoch, field) }

static const struct { int of; const char *name; enum kind kind; size_t off; }
columns[] = {
    COLUMN(ANY, "epoch", INT, p.epoch),
    COLUMN(ANY, "step", INT64, p.step),
    COLUMN(ANY, "lr", REAL, p.lr),
    COLUMN(PREDICT, "true_frames", REAL, p.truth),
    COLUMN(ANY, "loss", REAL, p.loss),
    COLUMN(BOTH, "ahead_loss", REAL, p.ahead),
    COLUMN(BOTH, "ahead_weight", REAL, p.ahead_weight),
    COLUMN(RECOGNISE, "top1", REAL, p.top1),
    COLUMN(ANY, "val_loss", TEST, val.loss),
    COLUMN(RECOGNISE, "val_top1", TEST, val.top1),
    COLUMN(RECOGNISE, "val_top5", TEST, val.top5),
    COLUMN(RECOGNISE, "val_mean_loss", TEST, val.mean_loss),
    COLUMN(RECOGNISE, "val_mean_top1", TEST, val.mean_top1),
    COLUMN(PREDICT, "val_mse", TEST, val.mse),
    COLUMN(PREDICT, "val_psnr", TEST, val.psnr),
    COLUMN(PREDICT, "val_ssim", TEST, val.ssim),
    COLUMN(PREDICT, "val_ssim_range2", TEST, val.ssim2),
    COLUMN(ANY, "best", INT, best),
    COLUMN(ANY, "clips_a_second", REAL, p.clips_a_second),
    COLUMN(ANY, "wait", REAL, p.wait),
    COLUMN(AMP, "loss_scale", REAL, p.scale),
    COLUMN(AMP, "skipped", INT64, p.skipped),
    COLUMN(ANY, "seconds", REAL, p.seconds),
    COLUMN(RECOGNISE, "val_top1_low", TEST, val.top1_95[0]),
    COLUMN(RECOGNISE, "val_top1_high", TEST, val.top1_95[1]),
    COLUMN(SEVERAL, "val_map", TEST, val.map),
    COLUMN(SEVERAL, "val_mean_map", TEST, val.mean_map),
    COLUMN(SERVED, "stale_mean", REAL, p.stale_mean),
    COLUMN(SERVED, "stale_most", INT64, p.stale.most),
    COLUMN(SERVED, "dropped", INT64, p.stale.dropped),
    COLUMN(SERVED, "stale_0", INT64, p.stale.came[0]),
    COLUMN(SERVED, "stale_1", INT64, p.stale.came[1]),
    COLUMN(SERVED, "stale_2", INT64, p.stale.came[2]),
    COLUMN(SERVED, "stale_3", INT64, p.stale.came[3]),
    COLUMN(SERVED, "stale_4", INT64, p.stale.came[4]),
    COLUMN(SERVED, "stale_5", INT64, p.stale.came[5]),
    COLUMN(SERVED, "stale_6", INT64, p.stale.came[6]),
    COLUMN(SERVED, "stale_7", INT64, p.stale.came[7]),
    COLUMN(SERVED, "stale_8_up", INT64, p.stale.came[CTT_STALE]),
    COLUMN(HEARD, "noise_scale", REAL, p.noise),
};

/* The epoch of a line; 0: the heading of a table, or damaged. */
static int epoch_of(const char *path, const char *line, int json, int *epoch)
{
    struct ctt_value *v = NULL;
    int rc = 0;

    *epoch = json ? 0 : (int)strtol(line, NULL, 10);
    if (json)
        rc = ctt_json_parse(path, 1, line, &v);
    ctt_json_int(ctt_json_get(v, "epoch"), 0, INT_MAX, epoch);
    ctt_json_free(&v);
    return rc == CTT_EFORMAT ? 0 : rc;
}

/* Cuts a log off after that many epochs: at the first line that is of a later
 * one or has no end. */
static int cut_log(const char *path, int json, int done)
{
    char *text = NULL, *line, *end;
    int64_t size;
    int epoch, rc;

    CTT_TRY(ctt_file_text(path, MOST, &text, &size));
    for (line = text; (end = strchr(line, '\n')) != NULL; line = end + 1) {
        *end = '\0';
        CTT_TRY(epoch_of(path, line, json, &epoch));
        if (epoch > done)
            break;
    }
    CTT_CHECK(truncate(path, line - text) == 0, CTT_EIO, "%s: %s", path,
              strerror(errno));
out:
    ctt_free(text);
    return rc;
}

/* A log file is locked before it is changed: the run that writes it keeps it.
 */
static int begin_log(const char *path, int json, int fd, int done)
{
    struct stat st;
    int rc = 0;

    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        return 0;
    CTT_TRY(ctt_file_lock(fd, path));
    if (done >= 0)
        CTT_TRY(cut_log(path, json, done));
    else
        CTT_CHECK(ftruncate(fd, 0) == 0, CTT_EIO, "%s: %s", path,
                  strerror(errno));
out:
    return rc;
}

static int open_one(const char *path, int json, int done, FILE **out)
{
    int fd, rc = 0;

    if (!path)
        return 0;
    fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    CTT_CHECK(fd >= 0, CTT_EIO, "%s: %s", path, strerror(errno));
    CTT_TRY(begin_log(path, json, fd, done));
    *out = fdopen(fd, "a");
    CTT_CHECK(*out, CTT_ENOMEM, "%s: out of memory", path);
    fd = -1;
out:
    if (fd >= 0)
        close(fd);
    return rc;
}

static void head(const struct ctt_log *l)
{
    const char *comma = "";

    for (size_t i = 0; i < CTT_LEN(columns); i++)
        if (columns[i].of & l->kind) {
            fprintf(l->csv, "%s%s", comma, columns[i].name);
            comma = ",";
        }
    fputc('\n', l->csv);
}

/* The columns of a run. */
static int kind_of(const struct ctt_train_cfg *cfg, int several)
{
    return 1 << cfg->task | (cfg->amp != CTT_O0 ? AMP : 0) |
           (ctt_train_has_server(cfg) ? SERVED : 0) | (several ? SEVERAL : 0) |
           (ctt_noise_is_known(cfg) ? HEARD : 0);
}

void ctt_log_values(const struct ctt_train_cfg *cfg, int several,
                    const struct ctt_epoch *e,
                    void (*take)(void *arg, const char *name, double x),
                    void *arg)
{
    for (size_t i = 0; i < CTT_LEN(columns); i++) {
        const void *p = (const char *)e + columns[i].off;
        enum kind kind = columns[i].kind;

        if ((columns[i].of & kind_of(cfg, several)) &&
            (kind != TEST || e->tested))
            take(arg, columns[i].name, kind == INT ? *(const int *)p :
                 kind == INT64 ? (double)*(const int64_t *)p
                               : *(const double *)p);
    }
}

int ctt_log_open(const struct ctt_train_cfg *cfg, int several, int done,
                 struct ctt_log **out)
{
    struct ctt_log *l = ctt_calloc(1, sizeof(*l));
    int rc = l ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    l->kind = kind_of(cfg, several);
    l->csv_path = cfg->log_csv;
    l->json_path = cfg->log_json;
    CTT_TRY(open_one(l->csv_path, 0, done, &l->csv));
    CTT_TRY(open_one(l->json_path, 1, done, &l->json));
    if (l->json && done <= 0)
        CTT_TRY(ctt_settings_changed(cfg, &l->settings));
    if (l->csv && fseek(l->csv, 0, SEEK_END) == 0 && ftell(l->csv) == 0)
        head(l);
    *out = l;
    l = NULL;
out:
    ctt_log_close(&l);
    return rc;
}

static void put_csv(FILE *f, enum kind kind, const void *p, int tested)
{
    if (kind == INT)
        fprintf(f, "%d", *(const int *)p);
    else if (kind == INT64)
        fprintf(f, "%lld", (long long)*(const int64_t *)p);
    else if ((kind != TEST || tested) && isfinite(*(const double *)p))
        fprintf(f, "%.6g", *(const double *)p);
}

static void put_json(struct ctt_json_out *o, const char *name, enum kind kind,
                     const void *p, int tested)
{
    if (kind == INT || kind == INT64)
        ctt_json_put_int(o, name, kind == INT ? *(const int *)p
                                              : *(const int64_t *)p);
    else
        ctt_json_put_real(o, name, 6, kind == TEST && !tested ? NAN
                                      : *(const double *)p);
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
    struct ctt_json_out o = { l->json, "", 0 };
    const char *comma = "";
    int rc = 0;

    if (l->json)
        ctt_json_begin(&o, NULL, '{');
    for (size_t i = 0; i < CTT_LEN(columns); i++) {
        const void *p = (const char *)e + columns[i].off;

        if (!(columns[i].of & l->kind))
            continue;
        if (l->csv) {
            fputs(comma, l->csv);
            put_csv(l->csv, columns[i].kind, p, e->tested);
        }
        if (l->json)
            put_json(&o, columns[i].name, columns[i].kind, p, e->tested);
        comma = ",";
    }
    if (l->csv) {
        fputc('\n', l->csv);
        CTT_TRY(flush(l->csv, l->csv_path));
    }
    if (l->json) {
        if (l->settings)
            ctt_json_put_text(&o, "settings", l->settings);
        ctt_free(l->settings);
        l->settings = NULL;
        fputs("}\n", l->json);
        CTT_TRY(flush(l->json, l->json_path));
    }
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
    ctt_free((*l)->settings);
    ctt_free(*l);
    *l = NULL;
    return rc;
}
