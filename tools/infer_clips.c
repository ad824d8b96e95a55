/* SPDX-License-Identifier: Apache-2.0
 * infer_clips.c: clips of lists, of packs, and Moving-MNIST, all alike. */
#include "tools/infer_clips.h"

#include <stdio.h>
#include <string.h>

struct ctt_clips {
    struct ctt_input       in;
    struct ctt_list       *own;      /* else the list is the pack's */
    struct ctt_pack       *pack;
    struct ctt_mnist      *mnist;
    const struct ctt_list *list;
    int64_t                first;    /* number of the first sequence */
    int                    digits, seed;
};

/* ---- Moving-MNIST ---- */

/* A list of the sequences, so that each has a name. */
static int list_sequences(const char *path, int count, struct ctt_list **out)
{
    struct ctt_list *l = ctt_calloc(1, sizeof(*l));
    size_t room = strlen(path) + 16;
    int rc = l ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    l->item = ctt_calloc((size_t)count, sizeof(*l->item));
    CTT_TRY(l->item ? 0 : CTT_ENOMEM);
    l->room = l->all = count;
    while (l->count < count) {
        struct ctt_item *item = &l->item[l->count++];
        char number[16];

        snprintf(number, sizeof(number), "#%d", l->count - 1);
        item->label = -1;
        item->id = ctt_strdup(number);
        item->path = ctt_calloc(room, 1);
        CTT_TRY(item->id && item->path ? 0 : CTT_ENOMEM);
        snprintf(item->path, room, "%s%s", path, number);
    }
    *out = l;
    l = NULL;
out:
    ctt_list_free(&l);
    return rc;
}

static int open_mnist(struct ctt_clips *o, const char *path,
                      const struct ctt_clips_cfg *c)
{
    const char *dir = ctt_mnist_path(path);
    int rc = 0;

    CTT_CHECK(c->sequences > 0, CTT_EINVAL,
              "%s: has no classes, it is for --predict", path);
    CTT_CHECK(!c->classes, CTT_EINVAL, "%s: has no classes", path);
    CTT_TRY(ctt_mnist_fits(dir, &o->in));
    CTT_TRY(ctt_mnist_first(c->split ? c->split : "test", &o->first));
    CTT_TRY(ctt_mnist_open(dir, &o->mnist));
    CTT_TRY(list_sequences(path, c->sequences, &o->own));
    o->digits = c->digits;
    o->seed = c->seed;
    o->list = o->own;
out:
    return rc;
}

/* ---- all kinds ---- */

static int open_pack(struct ctt_clips *o, const char *path,
                     const struct ctt_clips_cfg *c)
{
    int rc = 0;

    CTT_CHECK(!c->classes, CTT_EINVAL, "%s: a pack has its classes already",
              path);
    CTT_CHECK(!c->split, CTT_EINVAL, "%s: a pack has no parts (--split)",
              path);
    CTT_TRY(ctt_pack_open(path, &o->pack));
    o->list = ctt_pack_list(o->pack);
    CTT_TRY(ctt_pack_fits(o->pack, &o->in));
    if (c->labels > 0)
        CTT_TRY(ctt_pack_same_labels(o->pack, c->label, c->labels));
out:
    return rc;
}

static int open_split(struct ctt_clips *o, const char *path, const char *split,
                      const struct ctt_clips_cfg *c)
{
    return ctt_list_open(path, split, c->labels > 0 ? c->label : NULL,
                         c->labels, c->classes, &o->own);
}

static int open_list(struct ctt_clips *o, const char *path,
                     const struct ctt_clips_cfg *c)
{
    int rc = open_split(o, path, c->split ? c->split : "validation", c);

    if (rc == CTT_EINVAL && !c->split)    /* a folder that has no splits */
        rc = open_split(o, path, "train", c);
    o->list = o->own;
    return rc;
}

int ctt_clips_open(const char *path, const struct ctt_clips_cfg *c,
                   const struct ctt_input *in, struct ctt_clips **out)
{
    struct ctt_clips *o = ctt_calloc(1, sizeof(*o));
    int rc = o ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    o->in = *in;
    if (ctt_mnist_path(path))
        CTT_TRY(open_mnist(o, path, c));
    else if (ctt_pack_is(path))
        CTT_TRY(open_pack(o, path, c));
    else
        CTT_TRY(open_list(o, path, c));
    *out = o;
    o = NULL;
out:
    ctt_clips_close(&o);
    return rc;
}

void ctt_clips_close(struct ctt_clips **c)
{
    if (!*c)
        return;
    ctt_list_free(&(*c)->own);
    ctt_pack_close(&(*c)->pack);
    ctt_mnist_close(&(*c)->mnist);
    ctt_free(*c);
    *c = NULL;
}

const struct ctt_list *ctt_clips_list(const struct ctt_clips *c)
{
    return c->list;
}

int ctt_clips_load(const struct ctt_clips *c, int i, int max,
                   struct ctt_frames *out)
{
    int rc;

    if (c->mnist)
        return ctt_mnist_frames(c->mnist, (uint64_t)c->seed, c->first + i,
                                c->digits, max, out);
    if (!c->pack)
        return ctt_frames_load(c->list->item[i].path, &c->in, max, out);
    rc = ctt_pack_read(c->pack, i, out);
    if (rc >= 0 && max > 0 && out->count > max)
        out->count = max;
    return rc;
}

/* ---- frame by frame ---- */

struct ctt_feed {
    struct ctt_reader *reader;    /* or */
    struct ctt_frames  f;
    int                next;
};

int ctt_feed_open(const struct ctt_clips *c, int i, struct ctt_feed **out)
{
    struct ctt_feed *f = ctt_calloc(1, sizeof(*f));
    int rc = f ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    if (c->pack)
        CTT_TRY(ctt_clips_load(c, i, 0, &f->f));
    else
        CTT_TRY(ctt_reader_open(c->list->item[i].path, &c->in, &f->reader));
    *out = f;
    f = NULL;
out:
    ctt_feed_close(&f);
    return rc;
}

int ctt_feed_next(struct ctt_feed *f, uint8_t *data)
{
    size_t size = (size_t)f->f.h * (size_t)f->f.w * (size_t)f->f.c;

    if (f->reader)
        return ctt_reader_next(f->reader, data);
    if (f->next == f->f.count)
        return 0;
    memcpy(data, f->f.data + (size_t)f->next++ * size, size);
    return 1;
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
