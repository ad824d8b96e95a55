/* SPDX-License-Identifier: Apache-2.0
 * pack.c: reads packs: decoded clips in one file. */
#include "base/limits.h"
#include "base/newfile.h"
#include "net/op.h"
#include "video/list/listing.h"
#include "video/pack/packfile.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CLIPS_MAX = 1 << 26 };

/* ---- the tail, and the datasets that it locates ---- */

/* A dataset: its bytes, followed by a 0, and its place in the file. */
struct dataset {
    uint8_t *data;
    int64_t  at, size;
};

static int read_tail(const struct ctt_pack *p, int64_t size,
                     struct dataset *part, uint64_t *version,
                     uint64_t *check, uint64_t *sum)
{
    uint8_t tail[8 * CTT_PACK_TAIL];
    int64_t end = size - (int64_t)sizeof(tail), left = end;
    enum ctt_kind kind;
    int rc = 0;

    CTT_CHECK(end > 0, CTT_EFORMAT, "%s: not a pack", p->path);
    CTT_TRY(ctt_file_read_at(p->path, p->fd, end, tail, sizeof(tail)));
    kind = ctt_kind_of(tail, sizeof(tail));
    CTT_CHECK(kind == CTT_KIND_PACK || kind == CTT_KIND_OTHER, CTT_EFORMAT,
              "%s: %s, not a pack of clips", p->path, ctt_kind_word(kind));
    CTT_CHECK(kind == CTT_KIND_PACK, CTT_EFORMAT,
              "%s: not a pack, or cut short", p->path);
    *version = ctt_pack_get(tail + 8);
    CTT_CHECK(*version >= CTT_PACK_VERSION && *version <= CTT_PACK_LAST,
              CTT_EUNSUP, "%s: a pack of version %llu; this program reads %d "
              "to %d", p->path, (unsigned long long)*version,
              CTT_PACK_VERSION, CTT_PACK_LAST);
    for (int i = 0; i < CTT_PACK_PARTS; i++) {
        uint64_t at = ctt_pack_get(tail + 16 + 16 * i);
        uint64_t n = ctt_pack_get(tail + 24 + 16 * i);
        CTT_CHECK(n <= (uint64_t)left && at <= (uint64_t)end - n, CTT_EFORMAT,
                  "%s: damaged in its tail", p->path);
        part[i].at = (int64_t)at;
        part[i].size = (int64_t)n;
        left -= (int64_t)n;    /* datasets do not overlap */
    }
    *check = ctt_pack_get(tail + sizeof(tail) - 8);
    *sum = ctt_pack_sum(0, tail, sizeof(tail) - 8);
out:
    return rc;
}

/* *maps: 1 if the clips have maps. */
static int read_parts(struct ctt_pack *p, int64_t size, struct dataset *part,
                      int *maps)
{
    uint64_t version = 0;
    uint64_t check = 0, sum = 0;
    int rc;

    CTT_TRY(read_tail(p, size, part, &version, &check, &sum));
    version -= CTT_PACK_VERSION;
    p->list->several = (version & CTT_PACK_SEVERAL) != 0;
    *maps = (version & CTT_PACK_MAPS) != 0;
    for (int i = 0; i < CTT_PACK_PARTS; i++) {
        part[i].data = ctt_calloc((size_t)part[i].size + 1, 1);
        CTT_TRY(part[i].data ? 0 : CTT_ENOMEM);
        CTT_TRY(ctt_file_read_at(p->path, p->fd, part[i].at, part[i].data,
                                 part[i].size));
        sum = ctt_pack_sum(sum, part[i].data, (size_t)part[i].size);
    }
    CTT_CHECK(sum == check, CTT_EFORMAT, "%s: its index is damaged", p->path);
out:
    return rc;
}

static int take_input(struct ctt_pack *p, char *text, int maps)
{
    const struct ctt_opt *tab = ctt_ops[CTT_OP_INPUT].attr;
    union ctt_attr attr = { 0 };
    char *word, *more = NULL;
    struct ctt_opt_seen seen = { { 0 } };
    int rc;

    if (maps)
        CTT_TRY(ctt_pack_take_maps(text, &p->maps));
    CTT_TRY(ctt_opt_defaults(tab, &attr));
    for (word = strtok_r(text, " ", &more); word;
         word = strtok_r(NULL, " ", &more))
        CTT_TRY(ctt_opt_word(tab, &attr, word, &seen));
    p->in = attr.input;
    CTT_CHECK(p->in.w > 0 && p->in.w <= CTT_SIDE_MAX && p->in.h > 0 &&
              p->in.h <= CTT_SIDE_MAX && (p->in.c == 1 || p->in.c == 3),
              CTT_EFORMAT, "frames of %dx%dx%d", p->in.w, p->in.h, p->in.c);
    ctt_frame_size(&p->in, &p->w, &p->h);
out:
    return rc < 0 ? ctt_error(rc, "%s: %s", p->path, ctt_errmsg()) : rc;
}

static int count_strings(const struct dataset *x)
{
    int64_t n = 0;

    for (int64_t i = 0; i < x->size; i++)
        n += x->data[i] == 0;
    return n <= CLIPS_MAX && (x->size == 0 || x->data[x->size - 1] == 0) ?
           (int)n : -1;
}

static int take_labels(struct ctt_pack *p, const struct dataset *x)
{
    const char *s = (const char *)x->data;
    struct ctt_list *l = p->list;
    int n = count_strings(x), rc = 0;

    CTT_CHECK(n >= 0, CTT_EFORMAT, "%s: bad class names", p->path);
    CTT_CHECK(n <= ctt_limits()->classes, CTT_EFORMAT,
              "%s: more than %d classes", p->path, ctt_limits()->classes);
    l->label = ctt_calloc((size_t)n + 1, sizeof(*l->label));
    CTT_TRY(l->label ? 0 : CTT_ENOMEM);
    for (; l->labels < n; s += strlen(s) + 1) {
        l->label[l->labels] = ctt_pool_add(&l->texts, s);
        CTT_TRY(l->label[l->labels] ? 0 : CTT_ENOMEM);
        l->labels++;
    }
    l->all_labels = n;
out:
    return rc;
}

static int take_items(struct ctt_pack *p, const struct dataset *x)
{
    const char *s = (const char *)x->data;
    struct ctt_list *l = p->list;
    int n = count_strings(x), rc = 0;

    CTT_CHECK(n > 0, CTT_EFORMAT, "%s: no clips in it", p->path);
    l->item = ctt_calloc((size_t)n, sizeof(*l->item));
    CTT_TRY(l->item ? 0 : CTT_ENOMEM);
    l->room = n;
    for (; l->count < n; s += strlen(s) + 1) {
        struct ctt_item *item = &l->item[l->count++];
        item->row = l->count - 1;
        item->path = item->id = ctt_pool_add(&l->texts, s);
        CTT_TRY(item->path ? 0 : CTT_ENOMEM);
    }
    l->all = n;
    l->form = "a pack";
out:
    return rc;
}

/* Clip i's entry, checked against the file's size. */
static int take_entry(struct ctt_pack *p, int i, int64_t size)
{
    const int64_t *x = p->index[i];
    int64_t frame = (int64_t)p->h * p->w * p->in.c;
    int64_t maps = 2 * ctt_maps_size(&p->maps);
    int64_t most = maps > frame ? maps : frame;
    int rc = 0;

    CTT_CHECK(x[CTT_PACK_LABEL] >= -1 &&
              x[CTT_PACK_LABEL] < p->list->labels &&
              x[CTT_PACK_FRAMES] > 0 &&
              x[CTT_PACK_FRAMES] <= CTT_PACK_CLIP_MAX / most &&
              x[CTT_PACK_FRAMES] <= size / most &&
              x[CTT_PACK_AT] >= 0 &&
              x[CTT_PACK_AT] <= size - x[CTT_PACK_FRAMES] * frame &&
              x[CTT_PACK_MAP_AT] >= 0 &&
              x[CTT_PACK_MAP_AT] <= size - x[CTT_PACK_FRAMES] * maps &&
              x[CTT_PACK_FPS] >= 0 && x[CTT_PACK_FPS] < CTT_PACK_CLIP_MAX << 24,
              CTT_EFORMAT, "%s: a bad index entry for clip '%s'", p->path,
              p->list->item[i].id);
    p->list->item[i].label = (int)x[CTT_PACK_LABEL];
out:
    return rc;
}

/* The labels of clip i besides the first, from the bits of its row. */
static int take_bits(struct ctt_pack *p, int i, const uint8_t *bits, int words)
{
    struct ctt_item *item = &p->list->item[i];
    int rc = 0;

    for (int k = 0; k < 64 * words; k++) {
        int has = ctt_pack_get(bits + 8 * (k / 64)) >> k % 64 & 1;

        CTT_CHECK(k < p->list->labels ? k != item->label || has : !has,
                  CTT_EFORMAT, "%s: bad labels of clip '%s'", p->path,
                  item->id);
        if (has && k != item->label)
            CTT_TRY(ctt_list_also(p->list, item, k));
    }
    CTT_CHECK(!item->also || item->label >= 0, CTT_EFORMAT,
              "%s: bad labels of clip '%s'", p->path, item->id);
out:
    return rc;
}

static int take_index(struct ctt_pack *p, const struct dataset *x, int64_t size)
{
    int n = p->list->count, rc = 0;
    int each = ctt_pack_words(&p->maps, p->list->several, p->list->labels);
    int fixed = ctt_pack_fixed(&p->maps);

    CTT_CHECK(x->size == (int64_t)n * each * 8,
              CTT_EFORMAT, "%s: %d clips, but an index of %lld bytes",
              p->path, n, (long long)x->size);
    p->index = ctt_calloc((size_t)n, sizeof(*p->index));
    CTT_TRY(p->index ? 0 : CTT_ENOMEM);
    for (int i = 0; i < n; i++) {
        const uint8_t *row = x->data + 8 * (int64_t)i * each;

        for (int j = 0; j < fixed; j++)
            p->index[i][j] = (int64_t)ctt_pack_get(row + 8 * j);
        CTT_TRY(take_entry(p, i, size));
        CTT_TRY(take_bits(p, i, row + 8 * fixed, each - fixed));
    }
out:
    return rc;
}

/* ---- opening ---- */

int ctt_pack_is(const char *path)
{
    static const uint8_t sign[8] = { 0x89, 'H', 'D', 'F', 13, 10, 26, 10 };
    uint8_t start[8];
    int64_t size;
    int fd = -1, is;

    is = ctt_file_open(path, &fd, &size) == 0 && pread(fd, start, 8, 0) == 8 &&
         memcmp(start, sign, 8) == 0;
    if (fd >= 0)
        close(fd);
    return is;
}

int ctt_pack_open_fd(const char *path, int fd, struct ctt_pack **out)
{
    struct dataset part[CTT_PACK_PARTS] = { { 0 } };
    struct ctt_pack *p = NULL;
    struct stat st;
    int rc, maps = 0;

    CTT_TRY(ctt_pack_new(path, &p));
    p->fd = fd;
    fd = -1;
    CTT_CHECK(fstat(p->fd, &st) == 0, CTT_EIO, "%s: %s", path,
              strerror(errno));
    CTT_TRY(read_parts(p, st.st_size, part, &maps));
    CTT_TRY(take_input(p, (char *)part[CTT_PACK_INPUT].data, maps));
    CTT_TRY(take_labels(p, &part[CTT_PACK_LABELS]));
    CTT_TRY(take_items(p, &part[CTT_PACK_IDS]));
    CTT_TRY(take_index(p, &part[CTT_PACK_INDEX], st.st_size));
    *out = p;
    p = NULL;
out:
    for (int i = 0; i < CTT_PACK_PARTS; i++)
        ctt_free(part[i].data);
    ctt_pack_free(&p);
    if (fd >= 0)
        close(fd);
    return rc;
}

int ctt_pack_open(const char *path, struct ctt_pack **out)
{
    int64_t size;
    int rc, fd;

    CTT_TRY(ctt_file_open(path, &fd, &size));
    CTT_TRY(ctt_pack_open_fd(path, fd, out));
out:
    return rc;
}

const struct ctt_list *ctt_pack_list(const struct ctt_pack *p)
{
    return p->list;
}

const struct ctt_input *ctt_pack_input(const struct ctt_pack *p)
{
    return &p->in;
}

static const char *choice(const char *name, int value)
{
    const struct ctt_opt *tab = ctt_ops[CTT_OP_INPUT].attr;

    return tab[ctt_opt_find(tab, name)].choices[value];
}

int ctt_pack_fits(const struct ctt_pack *p, const struct ctt_input *in)
{
    int w, h, rc = 0;

    ctt_frame_size(in, &w, &h);
    CTT_CHECK(p->w == w && p->h == h && p->in.c == in->c, CTT_EINVAL,
              "%s: packed as %dx%dx%d, the model wants %dx%dx%d", p->path,
              p->w, p->h, p->in.c, w, h, in->c);
    CTT_CHECK(p->in.fps == in->fps, CTT_EINVAL, "%s: packed at %g frames a "
              "second, the model wants %g", p->path, (double)p->in.fps,
              (double)in->fps);
    CTT_CHECK(p->in.fit == in->fit, CTT_EINVAL, "%s: packed with fit=%s, the "
              "model wants fit=%s", p->path, choice("fit", p->in.fit),
              choice("fit", in->fit));
    CTT_CHECK(p->in.colour == in->colour, CTT_EINVAL, "%s: packed with "
              "colour=%s, the model wants colour=%s", p->path,
              choice("colour", p->in.colour), choice("colour", in->colour));
out:
    return rc;
}

int ctt_pack_choose(struct ctt_pack *p, char *const *known, int nknown,
                    const char *subset)
{
    struct ctt_list *l = p->list;
    struct ctt_listing s = { .path = p->path, .split = "test", .numeric = 1,
                             .list = l };
    int rc = 0;

    for (int i = 0; i < l->labels; i++) {
        CTT_TRY(ctt_names_add(&s.names, l->label[i]));
        CTT_CHECK(rc == i, CTT_EFORMAT, "%s: class '%s' is listed twice",
                  p->path, l->label[i]);
    }
    ctt_free(l->label);
    l->label = NULL;
    l->labels = 0;
    CTT_TRY(ctt_listing_fit(&s, known, nknown, subset));
out:
    ctt_listing_clear(&s);
    return rc;
}

int ctt_pack_length(const struct ctt_pack *p, int i)
{
    return (int)p->index[p->list->item[i].row][CTT_PACK_FRAMES];
}

uint64_t ctt_pack_key(const struct ctt_pack *p, int i)
{
    return (uint64_t)p->index[p->list->item[i].row][CTT_PACK_SUM];
}

int ctt_pack_read(const struct ctt_pack *p, int i, struct ctt_frames *out)
{
    const int64_t *x = p->index[p->list->item[i].row];
    struct ctt_frames f = { .count = (int)x[CTT_PACK_FRAMES], .h = p->h,
        .w = p->w, .c = p->in.c,
        .fps = (float)((double)x[CTT_PACK_FPS] / CTT_PACK_FPS_UNIT) };
    size_t size = (size_t)f.count * f.h * f.w * f.c;
    int rc = 0;

    CTT_TRY(ctt_frames_fit(p->list->item[i].path, (int64_t)size));
    f.data = ctt_calloc(size, 1);
    CTT_TRY(f.data ? 0 : CTT_ENOMEM);
    CTT_TRY(ctt_file_read_at(p->path, p->fd, x[CTT_PACK_AT], f.data,
                             (int64_t)size));
    CTT_CHECK(ctt_pack_sum(0, f.data, size) == (uint64_t)x[CTT_PACK_SUM],
              CTT_EFORMAT, "%s: clip '%s' is damaged", p->path,
              p->list->item[i].id);
    *out = f;
    f.data = NULL;
out:
    ctt_frames_free(&f);
    return rc;
}
