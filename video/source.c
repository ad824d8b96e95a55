/* SPDX-License-Identifier: Apache-2.0
 * source.c: sources of clips: one table row of functions per kind of source. */
#include "video/source.h"
#include "net/kind.h"
#include "net/code/zip.h"
#include "video/synth/digits.h"
#include "video/disk.h"
#include "video/pack/packfile.h"
#include "video/text/text.h"

#include <stdio.h>
#include <string.h>

struct kind {
    int (*is)(const char *path);
    int (*open)(struct ctt_source *s, const char *path,
                const struct ctt_source_set *set);
    int (*frames)(const struct ctt_source *s, int i, uint64_t seed, int max,
                  struct ctt_frames *out);
    int files;    /* each clip is a file, decoded frame by frame */
    int drawn;    /* clips are generated from a seed */
};

struct ctt_source {
    const struct kind     *kind;
    struct ctt_input       in;
    const struct ctt_list *list;
    struct ctt_list       *own;       /* list, unless it is the pack's */
    struct ctt_pack       *pack;
    struct ctt_mnist      *mnist;
    struct ctt_digits     *digit;
    struct ctt_text       *text;
    int64_t                first;     /* Moving-MNIST: number of sequence 0 */
    int                    digits, length;    /* per sequence */
    int                    strict;    /* cut short is an error */
    uint64_t              *state;     /* of each clip, or NULL: not noted */
};

/* The path behind a prefix, or NULL. */
static const char *after(const char *path, const char *prefix)
{
    size_t n = strlen(prefix);

    return strncmp(path, prefix, n) == 0 ? path + n : NULL;
}

int ctt_source_is_drawn(const char *path)
{
    return after(path, CTT_SOURCE_DRAWN) != NULL;
}

static int is_digits(const char *path)
{
    return after(path, CTT_SOURCE_DIGITS) != NULL;
}

const char *ctt_source_idx(const char *path)
{
    const char *drawn = after(path, CTT_SOURCE_DRAWN);

    return drawn ? drawn : after(path, CTT_SOURCE_DIGITS);
}

int ctt_source_is_lost(const char *path)
{
    return !ctt_source_idx(path) && (ctt_disk_kind(path) == CTT_DISK_NONE ||
                                     ctt_disk_special(path));
}

/* ---- Moving-MNIST ---- */

/* Names the sequences path#0, path#1 ... */
static int list_sequences(struct ctt_source *s, const char *path, int count)
{
    size_t room = strlen(path) + 16;
    struct ctt_list *l = ctt_calloc(1, sizeof(*l));
    char *name = ctt_calloc(room, 1);
    int rc = 0;

    s->list = s->own = l;
    CTT_TRY(l && name ? 0 : CTT_ENOMEM);
    l->form = "Moving-MNIST";
    l->item = ctt_calloc((size_t)count, sizeof(*l->item));
    CTT_TRY(l->item ? 0 : CTT_ENOMEM);
    l->room = l->all = count;
    while (l->count < count) {
        struct ctt_item *item = &l->item[l->count++];

        item->label = -1;
        snprintf(name, room, "%s#%d", path, l->count - 1);
        CTT_TRY(ctt_list_name(l, item, name));
        item->id = ctt_pool_add(&l->texts, "mnist");
        CTT_TRY(item->id ? 0 : CTT_ENOMEM);
    }
out:
    ctt_free(name);
    return rc;
}

static int mnist_open(struct ctt_source *s, const char *path,
                      const struct ctt_source_set *set)
{
    const char *dir = ctt_source_idx(path);
    int rc = 0;

    CTT_CHECK(set->labels == CTT_LABELS_ANY, CTT_EINVAL,
              "%s: has no classes, it is for %s", path, set->drawn_for);
    CTT_CHECK(!set->classes, CTT_EINVAL, "%s: has no classes", path);
    CTT_TRY(ctt_mnist_fits(dir, &s->in));
    CTT_TRY(ctt_mnist_first(set->split ? set->split : "test", &s->first));
    CTT_TRY(ctt_mnist_open(dir, &s->mnist));
    CTT_TRY(list_sequences(s, path, set->sequences));
    s->in.scale = 1;
    s->digits = set->digits;
    s->length = set->frames;
out:
    return rc;
}

static int mnist_frames(const struct ctt_source *s, int i, uint64_t seed,
                        int max, struct ctt_frames *out)
{
    int n = max > 0 && max < s->length ? max : s->length;

    return ctt_mnist_frames(s->mnist, seed, s->first + i, s->digits, n, out);
}

/* ---- pictures of idx files ---- */

static int digits_list(struct ctt_source *s, const char *dir,
                       const struct ctt_source_set *set)
{
    struct ctt_listing l = { .path = dir };
    int rc;

    l.split = set->split ? set->split : "validation";
    l.list = s->own = ctt_calloc(1, sizeof(*l.list));
    CTT_TRY(s->own ? 0 : CTT_ENOMEM);
    s->list = s->own;
    CTT_TRY(ctt_digits_list(s->digit, &l));
    CTT_TRY(ctt_listing_fit(&l, set->labels > 0 ? set->label : NULL,
                            set->labels, set->classes));
out:
    ctt_listing_clear(&l);
    return rc;
}

static int digits_open(struct ctt_source *s, const char *path,
                       const struct ctt_source_set *set)
{
    const char *dir = ctt_source_idx(path);
    int rc;

    CTT_TRY(ctt_digits_open(dir, set->split, &s->digit));
    if (set->any_input) {
        s->in = (struct ctt_input){ .d = 1, .c = 1, .std = { 1, 1, 1 },
                                    .scale = 1, .colour = CTT_GRAY };
        ctt_digits_size(s->digit, &s->in.w, &s->in.h);
    }
    CTT_TRY(ctt_digits_fits(s->digit, dir, &s->in));
    CTT_TRY(digits_list(s, dir, set));
out:
    return rc;
}

static int digits_frames(const struct ctt_source *s, int i, uint64_t seed,
                         int max, struct ctt_frames *out)
{
    (void)seed;
    (void)max;
    return ctt_digits_frames(s->digit, &s->list->item[i], &s->in, out);
}

/* ---- packs ---- */

static int pack_open(struct ctt_source *s, const char *path,
                     const struct ctt_source_set *set)
{
    int rc = 0;

    CTT_CHECK(!set->need_split || !set->split, CTT_ENOSPLIT,
              "%s: a pack has no splits (--split)", path);
    CTT_TRY(ctt_pack_open(path, &s->pack));
    s->list = ctt_pack_list(s->pack);
    if (!set->any_input)
        CTT_TRY(ctt_pack_fits(s->pack, &s->in));
    CTT_TRY(ctt_pack_choose(s->pack, set->labels > 0 ? set->label : NULL,
                            set->labels, set->classes));
out:
    return rc;
}

static int pack_frames(const struct ctt_source *s, int i, uint64_t seed,
                       int max, struct ctt_frames *out)
{
    int rc = ctt_pack_read(s->pack, i, out);

    (void)seed;
    if (rc >= 0 && max > 0 && out->count > max)
        out->count = max;
    return rc;
}

/* ---- text ---- */

static int text_open(struct ctt_source *s, const char *path,
                     const struct ctt_source_set *set)
{
    int rc = 0;

    CTT_CHECK(set->vocab, CTT_EINVAL, "%s: text, which is for models of "
              "--task=next", path);
    CTT_CHECK(!set->need_split || !set->split, CTT_ENOSPLIT,
              "%s: text has no splits (--split)", path);
    CTT_CHECK(s->in.d * s->in.h * s->in.w * s->in.c == 1, CTT_EINVAL,
              "%s: a symbol is one number, the model's input has %dx%dx%d: its "
              "first line is 'input x c=1'", path, s->in.w, s->in.h, s->in.c);
    s->list = s->own = ctt_calloc(1, sizeof(*s->own));
    CTT_TRY(s->own ? 0 : CTT_ENOMEM);
    CTT_TRY(ctt_text_open(path, &(struct ctt_text_set){
        .known = set->label, .nknown = set->labels > 0 ? set->labels : 0,
        .vocab = set->vocab, .longest = set->longest,
        .windows = set->windows }, s->own, &s->text));
out:
    return rc;
}

static int text_frames(const struct ctt_source *s, int i, uint64_t seed,
                       int max, struct ctt_frames *out)
{
    (void)seed;
    (void)max;
    return ctt_text_frames(s->text, i, out);
}

/* ---- folders, lists and single clips ---- */

static int list_is(const char *path)
{
    (void)path;
    return 1;
}

static int list_open(struct ctt_source *s, const char *path,
                     const struct ctt_source_set *set)
{
    const struct ctt_list_want w = { .own = set->own_split,
        .split = set->split ? set->split : "validation",
        .need = set->split && set->need_split, .fps = set->fps,
        .known = set->labels > 0 ? set->label : NULL, .nknown = set->labels,
        .subset = set->classes, .background = set->background };
    int rc = ctt_input_check(&s->in);

    CTT_TRY(rc);
    rc = ctt_list_find(path, &w, &s->own);
    if (rc == CTT_ENOSPLIT && !set->split)
        rc = ctt_error(rc, "%s; --split names one", ctt_errmsg());
    s->list = s->own;
out:
    return rc;
}

/* rc, an error of opening the clip at path, which may be a file of ours. */
static int no_clip(const char *path, int rc)
{
    enum ctt_kind kind = ctt_clip_is_bad(rc) &&
                         ctt_disk_kind(path) == CTT_DISK_FILE ?
                         ctt_kind_at(path) : CTT_KIND_OTHER;

    return kind == CTT_KIND_OTHER ? rc :
           ctt_error(rc, "%s: %s, not a clip%s", path, ctt_kind_word(kind),
                     kind == CTT_KIND_PACK ? "; it is given by its own path"
                                           : "");
}

static int list_frames(const struct ctt_source *s, int i, uint64_t seed,
                       int max, struct ctt_frames *out)
{
    const char *path = s->list->item[i].path;

    (void)seed;
    return no_clip(path, ctt_frames_load(path, &s->in, max, out));
}

/* ---- all kinds ---- */

/* The first row whose is() returns 1 is used. */
static const struct kind kinds[] = {
    { ctt_source_is_drawn, mnist_open, mnist_frames, .drawn = 1 },
    { is_digits, digits_open, digits_frames, .files = 0 },
    { ctt_text_is, text_open, text_frames, .files = 0 },
    { ctt_pack_is, pack_open, pack_frames, .files = 0 },
    { list_is, list_open, list_frames, .files = 1 },
};

/* A pack has the class that its list was given, or none. */
static int check_background(const struct ctt_source *s, const char *path,
                            const struct ctt_source_set *set)
{
    int has = !set->background || s->kind->files, rc = 0;

    for (int i = 0; !has && i < set->labels; i++)
        has = strcmp(set->label[i], set->background) == 0;
    CTT_CHECK(has, CTT_EINVAL, "%s: not a list with parts of videos, which "
              "have something between them (--background)", path);
out:
    return rc;
}

int ctt_source_open(const char *path, const struct ctt_source_set *set,
                    const struct ctt_input *in, struct ctt_source **out)
{
    const struct kind *kind = kinds;
    struct ctt_source *s = ctt_calloc(1, sizeof(*s));
    int rc = s ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    while (!kind->is(path))
        kind++;
    s->kind = kind;
    s->in = *in;
    s->strict = set->strict;
    CTT_CHECK(!set->vocab || ctt_text_is(path), CTT_EINVAL, "%s: no text: "
              "--task=next reads " CTT_TEXT_BYTES "FILE or " CTT_TEXT_WORDS
              "FILE", path);
    CTT_TRY(check_background(s, path, set));
    CTT_TRY(kind->open(s, path, set));
    *out = s;
    s = NULL;
out:
    ctt_source_close(&s);
    return rc;
}

void ctt_source_close(struct ctt_source **s)
{
    if (!*s)
        return;
    ctt_list_free(&(*s)->own);
    ctt_pack_close(&(*s)->pack);
    ctt_mnist_close(&(*s)->mnist);
    ctt_digits_close(&(*s)->digit);
    ctt_text_close(&(*s)->text);
    ctt_free((*s)->state);
    ctt_free(*s);
    *s = NULL;
}

const struct ctt_list *ctt_source_list(const struct ctt_source *s)
{
    return s->list;
}

const struct ctt_input *ctt_source_input(const struct ctt_source *s)
{
    return &s->in;
}

int ctt_source_files(const struct ctt_source *s)
{
    return s->kind->files;
}

int ctt_source_parted(const struct ctt_source *s)
{
    return s->digit != NULL || s->list->parted;
}

int ctt_source_drawn(const struct ctt_source *s)
{
    return s->kind->drawn;
}

const struct ctt_text *ctt_source_text(const struct ctt_source *s)
{
    return s->text;
}

int ctt_source_recount(struct ctt_source *s, const int *item, int items)
{
    return s->text ? ctt_text_recount(s->text, item, items, s->own) : 0;
}

static uint32_t crc_text(uint32_t crc, const char *s)
{
    return ctt_crc32(crc, s, 1, (int64_t)strlen(s) + 1);
}

uint32_t ctt_source_crc(const struct ctt_source *s, int classes)
{
    uint32_t crc = s->mnist ? ctt_mnist_crc(s->mnist)
                 : s->text  ? ctt_text_crc(s->text) : 0;
    const struct ctt_list *l = s->list;

    for (int i = 0; i < l->labels && classes; i++)
        crc = crc_text(crc, l->label[i]);
    for (int i = 0; i < l->count; i++) {
        crc = crc_text(crc, l->item[i].id);
        if (classes)
            crc = ctt_crc32(crc, &l->item[i].label,
                            (int)sizeof(l->item[i].label), 1);
        for (int k = 1, c; classes && (c = ctt_item_label(l, &l->item[i], k))
                           >= 0; k++)
            crc = ctt_crc32(crc, &c, (int)sizeof(c), 1);
    }
    return crc;
}

int ctt_source_same(const struct ctt_source *a, int i,
                    const struct ctt_source *b, int k)
{
    return a->first == b->first &&
           strcmp(a->list->item[i].path, b->list->item[k].path) == 0;
}

int ctt_source_state(const struct ctt_source *s, int i, uint64_t *out)
{
    struct ctt_part part;
    char *file = NULL;
    int rc = 0;

    *out = 0;
    if (s->kind->files)
        rc = ctt_part_of(s->list->item[i].path, &file, &part);
    if (file)
        *out = ctt_disk_state(file);
    ctt_free(file);
    return ctt_is_lack(rc) ? rc : 0;    /* reading it says what is wrong */
}

int ctt_source_key(const struct ctt_source *s, int i, uint64_t *out)
{
    const char *path = s->list->item[i].path;
    uint64_t state = 0;
    int rc;

    CTT_TRY(ctt_source_state(s, i, &state));
    if (s->pack)
        state = ctt_pack_key(s->pack, i);
    *out = ctt_pack_sum(state, path, strlen(path));
out:
    return rc;
}

int ctt_source_note(struct ctt_source *s)
{
    int rc = 0;

    s->state = ctt_calloc((size_t)s->list->count + 1, sizeof(*s->state));
    CTT_TRY(s->state ? 0 : CTT_ENOMEM);
    for (int i = 0; i < s->list->count; i++)
        CTT_TRY(ctt_source_state(s, i, &s->state[i]));
out:
    return rc;
}

int ctt_source_changed(const struct ctt_source *s, int i)
{
    uint64_t now;
    int rc;

    CTT_TRY(ctt_source_state(s, i, &now));
    rc = s->state && s->state[i] && s->state[i] != now;
out:
    return rc;
}

int ctt_source_frames(const struct ctt_source *s, int i, uint64_t seed,
                      int max, struct ctt_frames *out)
{
    int rc = s->kind->frames(s, i, seed, max, out);

    if (rc < 0 || !s->strict)
        return rc;
    rc = ctt_frames_whole(out, s->list->item[i].path);
    if (rc < 0)
        ctt_frames_free(out);
    return rc;
}

const struct ctt_maps *ctt_source_maps(const struct ctt_source *s)
{
    return s->pack ? ctt_pack_maps(s->pack) : NULL;
}

int ctt_source_read_maps(const struct ctt_source *s, int i, uint8_t **out)
{
    return ctt_pack_read_maps(s->pack, i, out);
}

/* ---- frame by frame ---- */

struct ctt_feed {
    int                strict;
    struct ctt_reader *reader;    /* NULL: the whole clip is in f */
    struct ctt_frames  f;
    int                next;
};

int ctt_feed_open(const struct ctt_source *s, int i, uint64_t seed,
                  struct ctt_feed **out)
{
    struct ctt_feed *f = ctt_calloc(1, sizeof(*f));
    const char *path = s->kind->files ? s->list->item[i].path : NULL;
    int rc = f ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    f->strict = s->strict;
    if (path)
        CTT_TRY(no_clip(path, ctt_reader_open(path, &s->in, &f->reader)));
    else
        CTT_TRY(ctt_source_frames(s, i, seed, 0, &f->f));
    *out = f;
    f = NULL;
out:
    ctt_feed_close(&f);
    return rc;
}

int ctt_feed_next(struct ctt_feed *f, uint8_t *data)
{
    size_t size = (size_t)f->f.h * (size_t)f->f.w * (size_t)f->f.c;

    if (f->reader) {
        int rc = ctt_reader_next(f->reader, data);
        return rc || !f->strict ? rc : ctt_feed_whole(f);
    }
    if (f->next == f->f.count)
        return 0;
    memcpy(data, f->f.data + (size_t)f->next++ * size, size);
    return 1;
}

int ctt_feed_whole(const struct ctt_feed *f)
{
    return f->reader ? ctt_reader_whole(f->reader) : 0;
}

void ctt_feed_close(struct ctt_feed **f)
{
    if (!*f)
        return;
    ctt_reader_close(&(*f)->reader);
    ctt_frames_free(&(*f)->f);
    ctt_free(*f);
    *f = NULL;
}
