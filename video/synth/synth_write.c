/* SPDX-License-Identifier: Apache-2.0
 * synth_write.c: writes the generated clips in the layout of
 * Something-Something V2: VP9 in WebM, and lists in JSON. */
#include "base/newfile.h"
#include "video/disk.h"
#include "video/save.h"
#include "video/synth/synth.h"
#include "video/synth/synth_draw.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOLDER "20bn-something-something-v2"

enum { PATH_LEN = 4096, WORKERS = 256 };

/* ---- one video ---- */

static int video_write(const char *path, const struct ctt_frames *c)
{
    struct ctt_saver *s = NULL;
    int rc = 0;

    CTT_TRY(ctt_saver_open(path, CTT_SAVE_QUICK, c->w, c->h, CTT_SYNTH_FPS,
                           &s));
    for (int f = 0; f < c->count; f++)
        CTT_TRY(ctt_saver_frame(s, c->data + (size_t)f * c->h * c->w * 3));
    CTT_TRY(ctt_saver_finish(&s));
out:
    ctt_saver_close(&s);
    return rc;
}

/* ---- the lists ---- */

struct set {
    const struct ctt_synth *s;
    const char             *dir;
    struct ctt_caption     *caption;
    void                  (*done)(void *arg, int i, int n);
    void                   *arg;
    pthread_mutex_t         lock;
    int                     next, finished, rc;
    char                    message[512];
};

static int clips_of(const struct set *y)
{
    return y->s->clips + y->s->test;
}

/* A template with its placeholder replaced. */
static const char *sentence(int label, const char *with, char *text, size_t n)
{
    static const char hole[] = "[something]";
    char t[96], *at = strstr(ctt_synth_template(label, t, sizeof(t)), hole);

    snprintf(text, n, "%.*s%s%s", (int)(at - t), t, with,
             at + sizeof(hole) - 1);
    return text;
}

static void labels_print(FILE *f, const struct set *y, int split)
{
    int classes = ctt_synth_classes(y->s);
    char text[128];

    (void)split;
    fputs("{\n", f);
    for (int k = 0; k < classes; k++)
        fprintf(f, "\"%s\":\"%d\"%s\n",
                sentence(ctt_synth_class(y->s, k), "something", text,
                         sizeof(text)), k, k + 1 < classes ? "," : "");
    fputs("}\n", f);
}

static void item_print(FILE *f, const struct ctt_caption *c)
{
    char name[64], text[128], template[96];

    snprintf(name, sizeof(name), "%s %s", ctt_synth_colour[c->colour],
             ctt_synth_shape[c->shape]);
    fprintf(f, ",\"label\":\"%s\",\"template\":\"%s\","
            "\"placeholders\":[\"%s\"]",
            sentence(c->label, name, text, sizeof(text)),
            ctt_synth_template(c->label, template, sizeof(template)), name);
}

/* The test split is listed without classes. */
static void split_print(FILE *f, const struct set *y, int split)
{
    const char *mark = "[\n";

    for (int i = 0; i < clips_of(y); i++) {
        if (ctt_synth_split(y->s, i) != split)
            continue;
        fprintf(f, "%s{\"id\":\"%d\"", mark, i + 1);
        if (split != 2)
            item_print(f, &y->caption[i]);
        fputs("}", f);
        mark = ",\n";
    }
    fputs(*mark == '[' ? "[]\n" : "\n]\n", f);
}

static void answers_print(FILE *f, const struct set *y, int split)
{
    char text[128];

    for (int i = 0; i < clips_of(y); i++)
        if (ctt_synth_split(y->s, i) == split)
            fprintf(f, "%d;%s\n", i + 1,
                    sentence(y->caption[i].label, "something", text,
                             sizeof(text)));
}

static const struct list {
    const char *name;
    void      (*print)(FILE *f, const struct set *y, int split);
    int         split;
} lists[] = {
    { "labels.json", labels_print, 0 },    /* the same for all clips */
    { "test-answers.csv", answers_print, 2 },
    { "test.json", split_print, 2 },
    { "validation.json", split_print, 1 },
    { "train.json", split_print, 0 },
};

/* A list and the set that it lists. */
struct job {
    const struct set  *y;
    const struct list *l;
};

static int job_print(FILE *f, const void *job)
{
    const struct job *j = job;

    j->l->print(f, j->y, j->l->split);
    return 0;
}

static int list_write(const struct set *y, const struct list *l)
{
    const struct job j = { y, l };
    char path[PATH_LEN];

    snprintf(path, sizeof(path), "%s/%s", y->dir, l->name);
    return ctt_file_print(path, job_print, &j);
}

/* ---- the place ---- */

/* 1 if the folder has the labels of made clips, which are written first. */
static int is_ours(const struct set *y)
{
    const struct job j = { y, &lists[0] };
    char path[PATH_LEN], *want = NULL, *got = NULL;
    size_t size;
    int rc = 0;

    snprintf(path, sizeof(path), "%s/%s", y->dir, lists[0].name);
    if (access(path, F_OK) != 0)
        return 0;
    CTT_TRY(ctt_text_collect(path, job_print, &j, &want));
    CTT_TRY(ctt_text_read(path, 1 << 16, &got, &size));
    rc = strcmp(got, want) == 0;
out:
    ctt_free(want);
    ctt_free(got);
    return ctt_is_lack(rc) ? rc : rc > 0;
}

static int check_free(const char *path)
{
    int rc = 0;

    CTT_CHECK(access(path, F_OK) != 0, CTT_EIO, "%s: is there already, and is "
              "not of clips made with these --actions; name a new folder",
              path);
out:
    return rc;
}

static const char *clip_path(const struct set *y, int i, char path[PATH_LEN])
{
    snprintf(path, PATH_LEN, "%s/" FOLDER "/%d.webm", y->dir, i + 1);
    return path;
}

/* Only made clips are replaced by others. */
static int check_place(const struct set *y)
{
    char path[PATH_LEN];
    int ours = is_ours(y), rc = 0;

    if (ours)
        return ours < 0 ? ours : 0;
    for (size_t k = 0; k < CTT_LEN(lists); k++) {
        snprintf(path, sizeof(path), "%s/%s", y->dir, lists[k].name);
        CTT_TRY(check_free(path));
    }
    for (int i = 0; i < clips_of(y); i++)
        CTT_TRY(check_free(clip_path(y, i, path)));
out:
    return rc;
}

/* ---- the set ---- */

static int clip_write(struct set *y, int i)
{
    char path[PATH_LEN];
    struct ctt_frames f = { 0 };
    int rc = 0;

    CTT_TRY(ctt_synth_make(y->s, i, &f, &y->caption[i]));
    CTT_TRY(video_write(clip_path(y, i, path), &f));
out:
    ctt_free(f.data);
    return rc;
}

/* Writes the next clip until none is left or one has failed.  Error messages
 * are per thread, so the first one is kept for the caller. */
static void *write_clips(void *arg)
{
    struct set *y = arg;
    int i, rc;

    pthread_mutex_lock(&y->lock);
    while (y->rc >= 0 && y->next < clips_of(y)) {
        i = y->next++;
        pthread_mutex_unlock(&y->lock);
        rc = clip_write(y, i);
        pthread_mutex_lock(&y->lock);
        if (rc < 0 && y->rc >= 0) {
            y->rc = rc;
            snprintf(y->message, sizeof(y->message), "%s", ctt_errmsg());
        } else if (rc >= 0 && y->done) {
            y->done(y->arg, y->finished++, clips_of(y));
        }
    }
    pthread_mutex_unlock(&y->lock);
    return NULL;
}

/* This thread writes clips too, so a thread that cannot start is no error. */
static int set_make(struct set *y)
{
    pthread_t thread[WORKERS];
    int n = 0;

    while (n + 1 < y->s->workers && n < WORKERS &&
           !pthread_create(&thread[n], NULL, write_clips, y))
        n++;
    write_clips(y);
    while (n)
        pthread_join(thread[--n], NULL);
    return y->rc < 0 ? ctt_error(y->rc, "%s", y->message) : 0;
}

static int folder_make(const char *path)
{
    if (!mkdir(path, 0777) || errno == EEXIST)
        return 0;
    return ctt_error(CTT_EIO, "%s: cannot create this folder: %s", path,
                     strerror(errno));
}

int ctt_synth_write(const struct ctt_synth *s, const char *dir,
                    void (*done)(void *arg, int i, int n), void *arg)
{
    struct set y = { .s = s, .dir = dir, .done = done, .arg = arg };
    char path[PATH_LEN];
    int rc = 0;

    pthread_mutex_init(&y.lock, NULL);
    CTT_CHECK(s->clips > 0 && s->clips <= 1000000 && s->test >= 0 &&
              s->test <= 1000000, CTT_EINVAL, "%d and %d clips: 1 to 1000000 "
              "can be made", s->clips, s->test);
    CTT_CHECK(strlen(dir) < PATH_LEN - 64, CTT_EINVAL,
              "%.60s...: path too long", dir);
    CTT_TRY(check_place(&y));
    CTT_TRY(folder_make(dir));
    snprintf(path, sizeof(path), "%s/" FOLDER, dir);
    CTT_TRY(folder_make(path));
    y.caption = ctt_calloc((size_t)clips_of(&y), sizeof(*y.caption));
    if (!y.caption) {
        rc = CTT_ENOMEM;
        goto out;
    }
    CTT_TRY(list_write(&y, &lists[0]));
    CTT_TRY(set_make(&y));
    for (size_t k = 1; k < CTT_LEN(lists); k++)
        CTT_TRY(list_write(&y, &lists[k]));
out:
    pthread_mutex_destroy(&y.lock);
    ctt_free(y.caption);
    return rc;
}
