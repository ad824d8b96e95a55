/* SPDX-License-Identifier: Apache-2.0
 * data_pack.c: convtt-data pack and features: decodes clips into one file,
 * with the maps of a backbone if asked.
 *
 * Threads decode clips ahead of the one that is written next; the main thread
 * writes them in their order, so that the pack does not depend on the number of
 * threads.  Clips that wait are limited in number and bytes.  A clip for which
 * there was no memory is decoded again when it is the next, without others. */
#include "tools/data/data_tool.h"
#include "net/code/zip.h"
#include "net/file/file.h"
#include "base/limits.h"
#include "tools/data/data_maps.h"
#include "tools/shared/tool.h"
#include "video/source.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static int is_pack(const char *path)
{
    struct ctt_pack *p = NULL;
    int is = ctt_pack_open(path, &p) >= 0;

    ctt_pack_close(&p);
    return is;
}

const struct ctt_output_kind ctt_output_pack = {
    .name = "pack", .is = is_pack };

enum { THREADS = 256, AHEAD = 4 /* clips per thread */ };

/* Bytes of clips that wait to be written, or a quarter of the memory. */
static const int64_t WAITING = (int64_t)256 << 20;

/* A decoded clip, or why there is none. */
struct decoded {
    struct ctt_frames f;
    uint8_t *maps;
    uint64_t key;                /* under which the journal has it */
    char    *why;
    int      rc, ready;
    int      found;              /* in the journal */
};

struct packer {
    const struct ctt_data_cfg *c;
    const struct ctt_source   *s;
    const struct ctt_list     *list;
    struct decoded *ring;        /* clip i is at i % places */
    int             places, next, written, stop, bad;
    int             busy, alone; /* threads that decode; none may begin */
    int             threads;     /* that have a mapper of these */
    struct ctt_mapper *mapper[THREADS];
    const struct ctt_mapping *mapping;    /* NULL: no maps, nor a journal */
    struct ctt_journal *journal;
    int64_t         bytes, most; /* of the clips in the ring */
    pthread_mutex_t lock;
    pthread_cond_t  ready, room;
};

/* ---- decoding ---- */

static int64_t decoded_bytes(const struct packer *p, const struct ctt_frames *f)
{
    int64_t maps = p->mapping ? 2 * ctt_maps_size(&p->mapping->maps) : 0;

    return f->data ? f->count * ((int64_t)f->h * f->w * f->c + maps) : 0;
}

static void drop_decoded(struct decoded *d)
{
    ctt_frames_free(&d->f);
    ctt_free(d->maps);
    d->maps = NULL;
}

/* The clip that is written next may always be decoded, others only if there is
 * room for them. */
static int may_begin(const struct packer *p)
{
    return !p->alone && (p->next == p->written ||
           (p->next < p->written + p->places && p->bytes < p->most));
}

/* Takes the number of a clip to decode; -1: none is left. */
static int take_clip(struct packer *p)
{
    int i;

    pthread_mutex_lock(&p->lock);
    while (!p->stop && p->next < p->list->count && !may_begin(p))
        pthread_cond_wait(&p->room, &p->lock);
    i = p->stop || p->next >= p->list->count ? -1 : p->next++;
    p->busy += i >= 0;
    pthread_mutex_unlock(&p->lock);
    return i;
}

/* The clip from the journal, or decoded and sent through the backbone. */
static int decode_maps(const struct packer *p, struct ctt_mapper **m, int i,
                       struct decoded *d)
{
    int rc;

    CTT_TRY(ctt_source_key(p->s, i, &d->key));
    CTT_TRY(d->found = ctt_journal_find(p->journal, d->key, &d->f, &d->maps));
    if (d->found)
        goto out;
    if (!*m)
        CTT_TRY(ctt_mapper_open(p->mapping, m));
    CTT_TRY(ctt_source_frames(p->s, i, 0, p->c->max_frames, &d->f));
    rc = ctt_mapper_read(*m, &d->f, &d->maps);
    if (rc < 0)
        CTT_TRY(ctt_error(rc, "%s: %s", p->list->item[i].path, ctt_errmsg()));
out:
    return rc;
}

static struct decoded decode_item(const struct packer *p,
                                  struct ctt_mapper **m, int i)
{
    struct decoded d = { .ready = 1 };

    d.rc = p->mapping ? decode_maps(p, m, i, &d) :
           ctt_source_frames(p->s, i, 0, p->c->max_frames, &d.f);
    if (d.rc < 0) {
        drop_decoded(&d);
        d.why = ctt_strdup(ctt_errmsg());
    }
    return d;
}

static int lacks_memory(const struct decoded *d)
{
    return d->rc == CTT_ENOMEM || (d->rc < 0 && !d->why);
}

static void *decode_clips(void *arg)
{
    struct packer *p = arg;
    struct ctt_mapper **m;
    int i;

    pthread_mutex_lock(&p->lock);
    m = &p->mapper[p->threads++];
    pthread_mutex_unlock(&p->lock);
    while ((i = take_clip(p)) >= 0) {
        struct decoded d = decode_item(p, m, i);
        pthread_mutex_lock(&p->lock);
        p->ring[i % p->places] = d;
        p->bytes += decoded_bytes(p, &d.f);
        p->busy--;
        pthread_cond_signal(&p->ready);
        pthread_mutex_unlock(&p->lock);
    }
    return NULL;
}

/* ---- writing ---- */

/* Waits for a thread, but not for long: a request to stop must be seen. */
static void await_thread(struct packer *p)
{
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 100 * 1000 * 1000;
    until.tv_sec += until.tv_nsec / (1000 * 1000 * 1000);
    until.tv_nsec %= 1000 * 1000 * 1000;
    pthread_cond_timedwait(&p->ready, &p->lock, &until);
}

static void close_mappers(struct packer *p)
{
    for (int i = 0; i < p->threads; i++)
        ctt_mapper_close(&p->mapper[i]);
}

/* Waits until no thread decodes, and drops what they hold: clips that wait will
 * be decoded again too. */
static void clear_ring(struct packer *p)
{
    pthread_mutex_lock(&p->lock);
    p->alone = 1;
    while (p->busy)
        await_thread(p);
    close_mappers(p);
    for (int i = 0; i < p->places; i++) {
        struct decoded *d = &p->ring[i];
        if (!d->f.data)
            continue;
        drop_decoded(d);
        d->rc = CTT_ENOMEM;
    }
    p->bytes = 0;
    pthread_mutex_unlock(&p->lock);
}

/* Decodes the next clip, for which there was no memory, once more. */
static void decode_again(struct packer *p, struct decoded *d)
{
    struct ctt_mapper *m = NULL;

    clear_ring(p);
    ctt_free(d->why);
    *d = decode_item(p, &m, p->written);
    ctt_mapper_close(&m);
    pthread_mutex_lock(&p->lock);
    p->bytes += decoded_bytes(p, &d->f);
    p->alone = 0;    /* release() wakes the threads */
    pthread_mutex_unlock(&p->lock);
}

/* Waits for the next clip and takes it out of the ring. */
static int await(struct packer *p, struct decoded *out)
{
    struct decoded *d = &p->ring[p->written % p->places];
    int rc = 0;

    pthread_mutex_lock(&p->lock);
    while (!d->ready && !ctt_tool_stop())
        await_thread(p);
    CTT_CHECK(!ctt_tool_stop(), CTT_ESTOP, "stopped; %s is not written",
              p->c->out);
    *out = *d;
    *d = (struct decoded){ .ready = 0 };
out:
    pthread_mutex_unlock(&p->lock);
    return rc;
}

/* Its memory is free again; threads may go on. */
static void release(struct packer *p, struct decoded *d)
{
    int64_t bytes = decoded_bytes(p, &d->f);

    drop_decoded(d);
    ctt_free(d->why);
    pthread_mutex_lock(&p->lock);
    p->bytes -= bytes;
    p->written++;
    pthread_cond_broadcast(&p->room);
    pthread_mutex_unlock(&p->lock);
}

/* The maps of the last clip of the pack. */
static int write_maps(struct packer *p, struct ctt_pack *out,
                      const struct decoded *d)
{
    int rc;

    CTT_TRY(ctt_pack_add_maps(out, d->maps));
    if (!d->found)
        CTT_TRY(ctt_journal_add(p->journal, d->key, &d->f, d->maps));
out:
    return rc;
}

static int write_good(struct packer *p, struct ctt_pack *out,
                      const struct decoded *d)
{
    const struct ctt_item *item = &p->list->item[p->written];
    int rc;

    if (ctt_frames_whole(&d->f, item->path) < 0)
        ctt_tool_warn("%s", ctt_errmsg());
    CTT_TRY(ctt_pack_add(out, item->id, item->label, &d->f));
    for (int k = 1, c; (c = ctt_item_label(p->list, item, k)) >= 0; k++)
        CTT_TRY(ctt_pack_also(out, c));
    if (p->mapping)
        CTT_TRY(write_maps(p, out, d));
out:
    return rc;
}

static int write_clip(struct packer *p, struct ctt_pack *out,
                      const struct decoded *d)
{
    const struct ctt_item *item = &p->list->item[p->written];
    int rc = 0;

    if (d->rc >= 0)
        return write_good(p, out, d);
    CTT_CHECK(d->rc != CTT_ESTOP, CTT_ESTOP, "stopped; %s is not written",
              p->c->out);
    CTT_CHECK(!lacks_memory(d), CTT_ENOMEM, "%s: out of memory for its frames: "
              "--max-frames cuts long clips, fewer --workers take less, "
              "--memory sets the limit",
              item->path);
    CTT_CHECK(!p->c->strict && !ctt_is_lack(d->rc) && d->rc != CTT_ENAN, d->rc,
              "%s", d->why);
    ctt_tool_warn("%s (skipped)", d->why);
    p->bad++;
out:
    return rc;
}

static void tell_packed(const struct packer *p)
{
    int done = p->written, all = p->list->count;

    CTT_PROGRESS(done, all, "clip %d of %d", done, all);
}

static int write_clips(struct packer *p, struct ctt_pack *out)
{
    int rc = 0;

    while (p->written < p->list->count) {
        struct decoded d = { .ready = 0 };
        CTT_TRY(await(p, &d));
        if (lacks_memory(&d))
            decode_again(p, &d);
        rc = write_clip(p, out, &d);
        release(p, &d);
        CTT_TRY(rc);
        tell_packed(p);
    }
out:
    return rc;
}

/* Starts the threads, writes their clips and waits for their end. */
static int run_packer(struct packer *p, struct ctt_pack *out)
{
    pthread_t id[THREADS];
    int n = 0, rc = 0;

    while (n < p->c->workers && n < THREADS &&
           pthread_create(&id[n], NULL, decode_clips, p) == 0)
        n++;
    CTT_CHECK(n, CTT_ENOMEM, "no thread can be started");
    CTT_TRY(write_clips(p, out));
out:
    pthread_mutex_lock(&p->lock);
    p->stop = 1;
    pthread_cond_broadcast(&p->room);
    pthread_mutex_unlock(&p->lock);
    while (n > 0)
        pthread_join(id[--n], NULL);
    return rc;
}

static int pack_clips(struct packer p, struct ctt_pack *out, int *bad)
{
    int rc = 0;

    if (p.most > ctt_limits()->memory / 4)
        p.most = ctt_limits()->memory / 4;
    pthread_mutex_init(&p.lock, NULL);
    pthread_cond_init(&p.ready, NULL);
    pthread_cond_init(&p.room, NULL);
    p.ring = ctt_calloc((size_t)p.places, sizeof(*p.ring));
    CTT_TRY(p.ring ? 0 : CTT_ENOMEM);
    CTT_TRY(run_packer(&p, out));
    *bad = p.bad;
out:
    close_mappers(&p);
    for (int i = 0; p.ring && i < p.places; i++) {
        drop_decoded(&p.ring[i]);
        ctt_free(p.ring[i].why);
    }
    ctt_free(p.ring);
    pthread_cond_destroy(&p.room);
    pthread_cond_destroy(&p.ready);
    pthread_mutex_destroy(&p.lock);
    return rc;
}

/* ---- the commands ---- */

/* Settings on which a clip of the pack depends, and its maps.  Of a map the
 * members, as other bytes may stand between them; all of an input are of
 * four bytes. */
static uint32_t settings_sum(const struct packer *p)
{
    const struct ctt_input *in = &p->mapping->in;
    const struct ctt_maps *maps = &p->mapping->maps;
    const int most = p->c->max_frames;
    uint32_t sum = ctt_crc32(0, in, 1, (int64_t)sizeof(*in));

    for (int k = 0; k < maps->count; k++) {
        const struct ctt_map *m = &maps->map[k];
        const int64_t more[] = { m->d, m->h, m->w, m->c, m->crc };

        sum = ctt_crc32(sum, m->name, 1, (int64_t)strlen(m->name) + 1);
        sum = ctt_crc32(sum, more, (int)sizeof(*more), CTT_LEN(more));
    }
    return ctt_crc32(sum, &most, (int)sizeof(most), 1);
}

static int open_journal(struct packer *p)
{
    struct ctt_frames frame = { .c = p->mapping->in.c };
    int rc, clips = 0;

    ctt_frame_size(&p->mapping->in, &frame.w, &frame.h);
    CTT_TRY(ctt_journal_open(p->c->out, settings_sum(p), 2 *
        ctt_maps_size(&p->mapping->maps), &frame, &p->journal, &clips));
    if (clips < 0)
        ctt_tool_say("%s.journal is begun anew: the journal is of other "
                     "settings", p->c->out);
    if (clips > 0)
        ctt_tool_say("%s.journal has %d clip%s of a run that did not end",
                     p->c->out, clips, ctt_s(clips));
out:
    return rc;
}

/* Reads the input settings of a model file or text, and the model of a file. */
static int read_model(const char *path, struct ctt_input *in,
                      struct ctt_model **out)
{
    struct ctt_graph *g = NULL;
    int rc = 0;

    if (!ctt_tool_is_net(path)) {
        CTT_TRY(ctt_model_load(path, 0, out));
        *in = (*out)->g->node[ctt_graph_input((*out)->g)].attr.input;
        goto out;
    }
    CTT_TRY(ctt_tool_net_plain(path, &g));
    *in = g->node[ctt_graph_input(g)].attr.input;
out:
    ctt_graph_free(&g);
    return rc;
}

static int open_packed(const struct ctt_data_cfg *c, const char *path,
                      const struct ctt_model *m, const struct ctt_input *in,
                      struct ctt_source **s)
{
    const struct ctt_source_set set = { .split = c->split,
        .need_split = strcmp(c->split, "train") != 0, .strict = c->strict,
        .classes = c->classes, .fps = (double)c->fps,
        .background = c->background, .drawn_for = "convtt-data mnist",
        .label = m ? m->label : NULL, .labels = m ? m->labels : 0 };
    int rc = ctt_source_open(path, &set, in, s);

    if (rc == CTT_EINVAL && m && m->labels)
        rc = ctt_error(rc, "%s; if the clips are for another model, give a "
                       "text (convtt-info --net %s), of which only the input "
                       "line counts", ctt_errmsg(), c->model);
    return rc;
}

/* Decodes the clips into a pack; with a mapping, of which m is not, also the
 * maps. */
static int make_pack(const struct ctt_data_cfg *c, const char *path,
                     const struct ctt_model *m, const struct ctt_input *in,
                     const struct ctt_mapping *mapping)
{
    struct packer p = { .c = c, .places = AHEAD * c->workers, .most = WAITING,
                        .mapping = mapping };
    struct ctt_source *s = NULL;
    struct ctt_pack *out = NULL;
    int bad = 0, rc = 0;

    CTT_TRY(open_packed(c, path, m, in, &s));
    p.s = s;
    p.list = ctt_source_list(s);
    if (mapping)
        CTT_TRY(open_journal(&p));
    CTT_TRY(ctt_pack_create(c->out, in, p.list->label, p.list->labels, &out));
    if (mapping)
        CTT_TRY(ctt_pack_begin_maps(out, &mapping->maps));
    CTT_TRY(pack_clips(p, out, &bad));
    CTT_CHECK(bad < p.list->count, CTT_EFORMAT, "%s: no usable clip in %d",
              path, p.list->count);
    CTT_TRY(ctt_pack_finish(&out));
    ctt_journal_close(&p.journal, 1);
    ctt_tool_warned();
    ctt_tool_say("%s: %d clip%s, %d bad clip%s skipped", c->out,
                 p.list->count - bad, ctt_s(p.list->count - bad), bad,
                 ctt_s(bad));
out:
    ctt_journal_close(&p.journal, 0);
    ctt_pack_close(&out);
    ctt_source_close(&s);
    return rc;
}

static int check_out(const struct ctt_data_cfg *c, const char *path)
{
    int rc = 0;

    CTT_CHECK(!ctt_tool_reads(path, c->out), CTT_EINVAL,
              "%s: given for two files", c->out);
    CTT_TRY(ctt_output_check(c->out, &ctt_output_pack));
out:
    return rc;
}

int ctt_data_pack(const struct ctt_data_cfg *c, const char *path)
{
    struct ctt_model *m = NULL;
    struct ctt_input in;
    int rc;

    ctt_tool_catch();
    CTT_TRY(check_out(c, path));
    CTT_TRY(read_model(c->model, &in, &m));
    CTT_TRY(make_pack(c, path, m, &in, NULL));
out:
    ctt_model_free(&m);
    return rc;
}

/* What is read must not be the journal either. */
static int check_journal(const struct ctt_data_cfg *c, const char *path)
{
    const char *const read[] = { path, c->backbone };
    size_t room = strlen(c->out) + sizeof(".journal");
    char *journal = ctt_calloc(room, 1);
    int rc = journal ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    snprintf(journal, room, "%s.journal", c->out);
    for (size_t i = 0; i < CTT_LEN(read); i++)
        CTT_TRY(ctt_tool_spares((const char *const[]){ journal }, 1, read[i]));
out:
    ctt_free(journal);
    return rc;
}

int ctt_data_features(const struct ctt_data_cfg *c, const char *path)
{
    struct ctt_mapping mapping = { .m = NULL };
    int rc;

    ctt_tool_catch();
    CTT_TRY(check_out(c, path));
    CTT_TRY(check_journal(c, path));
    CTT_TRY(ctt_mapping_open(c->backbone, c->nodes, &mapping));
    CTT_TRY(make_pack(c, path, NULL, &mapping.in, &mapping));
out:
    ctt_mapping_close(&mapping);
    return rc;
}
