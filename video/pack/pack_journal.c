/* SPDX-License-Identifier: Apache-2.0
 * pack_journal.c: the clips of an unfinished pack, one record after the other,
 * in a file that the next run goes on with. */
#include "base/newfile.h"
#include "video/pack/packfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Words of a record before its frames and maps. */
enum { MAGIC, KEY, FRAMES, RATES, SEEN, STATED, BREAKS, UNREAD, SUM, WORDS };
enum { HEAD = 2 * 8, RECORD = 8 * WORDS };

static const char file_magic[] = "ctt-jrnl", clip_magic[] = "ctt-clip";

/* Where the record of a clip is. */
struct place { uint64_t key; int64_t at, frames; };

struct ctt_journal {
    char              *path;
    int                fd;
    int64_t            end;      /* of the last whole record */
    int64_t            frame, maps;    /* bytes */
    struct ctt_frames  like;     /* the size of frames */
    struct place      *place;    /* by key, of the clips of earlier runs */
    int                places, room;
};

/* ---- the file ---- */

static int append(struct ctt_journal *j, const void *data, int64_t n)
{
    const char *p = data;
    int rc = 0;

    for (int64_t done; n > 0; p += done, n -= done, j->end += done) {
        do
            done = pwrite(j->fd, p, (size_t)n, (off_t)j->end);
        while (done < 0 && errno == EINTR);
        CTT_CHECK(done > 0, ctt_file_code(errno), "%s: %s", j->path,
                  strerror(errno));
    }
out:
    return rc;
}

static int cut(struct ctt_journal *j, int64_t end)
{
    int rc = 0;

    CTT_CHECK(ftruncate(j->fd, (off_t)end) == 0, CTT_EIO, "%s: %s", j->path,
              strerror(errno));
    j->end = end;
out:
    return rc;
}

static int add_place(struct ctt_journal *j, const struct place *p)
{
    void *more = ctt_grown(j->place, &j->room, j->places, sizeof(*j->place));

    if (!more)
        return CTT_ENOMEM;
    j->place = more;
    j->place[j->places++] = *p;
    return 0;
}

/* Frames of a clip at most: those that a reader of packs takes. */
static int64_t most_frames(const struct ctt_journal *j)
{
    return CTT_PACK_CLIP_MAX / (j->maps > j->frame ? j->maps : j->frame);
}

/* The next record of the file: 1, or 0 where none is whole. */
static int read_place(struct ctt_journal *j, int64_t size)
{
    int64_t each = j->frame + j->maps, left = size - j->end - RECORD;
    uint8_t head[RECORD];
    struct place p;
    int rc;

    if (left < 0)
        return 0;
    CTT_TRY(ctt_file_read_at(j->path, j->fd, j->end, head, RECORD));
    p.key = ctt_pack_get(head + 8 * KEY);
    p.at = j->end;
    p.frames = (int64_t)ctt_pack_get(head + 8 * FRAMES);
    if (memcmp(head, clip_magic, 8) != 0 || p.frames <= 0 ||
        p.frames > most_frames(j) || p.frames > left / each)
        return 0;
    CTT_TRY(add_place(j, &p));
    j->end += RECORD + p.frames * each;
    rc = 1;
out:
    return rc;
}

static int compare_keys(const void *a, const void *b)
{
    uint64_t x = ((const struct place *)a)->key;
    uint64_t y = ((const struct place *)b)->key;

    return (x > y) - (x < y);
}

/* Reads the head of a file of that size: 1 if it has clips of these settings,
 * 0 if it is to be emptied.  A torn head is the beginning of one; any other
 * file is a stranger's. */
static int read_head(struct ctt_journal *j, int64_t size, const uint8_t *ours,
                     int *other)
{
    int64_t n = size < HEAD ? size : HEAD;
    uint8_t head[HEAD] = { 0 };
    int rc = 0;

    CTT_TRY(ctt_file_read_at(j->path, j->fd, 0, head, n));
    CTT_CHECK(memcmp(head, file_magic, n < 8 ? (size_t)n : 8) == 0, CTT_EIO,
              "%s: is there already and is no journal of a pack; remove it "
              "first", j->path);
    rc = n == HEAD && memcmp(head, ours, HEAD) == 0;
    *other = !rc && size > HEAD;
out:
    return rc;
}

/* Finds the records of earlier runs; a journal of other settings is emptied. */
static int read_journal(struct ctt_journal *j, uint64_t key, int *other)
{
    uint8_t ours[HEAD];
    struct stat st;
    int rc = 0;

    memcpy(ours, file_magic, 8);
    ctt_pack_put(ours + 8, key);
    CTT_CHECK(fstat(j->fd, &st) == 0 && S_ISREG(st.st_mode), CTT_EIO,
              "%s: not a file", j->path);
    CTT_TRY(read_head(j, st.st_size, ours, other));
    if (!rc) {
        CTT_TRY(cut(j, 0));
        return append(j, ours, HEAD);
    }
    j->end = HEAD;
    do
        CTT_TRY(read_place(j, st.st_size));
    while (rc);
    CTT_TRY(cut(j, j->end));
    if (j->places)
        qsort(j->place, (size_t)j->places, sizeof(*j->place), compare_keys);
out:
    return rc;
}

int ctt_journal_open(const char *pack, uint64_t key, int64_t maps,
                     const struct ctt_frames *frame, struct ctt_journal **out,
                     int *clips)
{
    static const char ending[] = ".journal";
    struct ctt_journal *j = ctt_calloc(1, sizeof(*j));
    size_t room = strlen(pack) + sizeof(ending);
    int rc = j ? 0 : CTT_ENOMEM, other = 0;

    CTT_TRY(rc);
    j->fd = -1;
    j->like = *frame;
    j->frame = (int64_t)frame->h * frame->w * frame->c;
    j->maps = maps;
    j->path = ctt_calloc(room, 1);
    CTT_TRY(j->path ? 0 : CTT_ENOMEM);
    snprintf(j->path, room, "%s%s", pack, ending);
    j->fd = open(j->path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC |
                 O_NONBLOCK, 0666);
    CTT_CHECK(j->fd >= 0, ctt_file_code(errno), "%s: %s", j->path,
              strerror(errno));
    CTT_TRY(ctt_file_lock(j->fd, j->path));
    CTT_TRY(read_journal(j, key, &other));
    *clips = other ? -1 : j->places;
    *out = j;
    j = NULL;
out:
    ctt_journal_close(&j, 0);
    return rc;
}

void ctt_journal_close(struct ctt_journal **journal, int done)
{
    struct ctt_journal *j = *journal;

    if (!j)
        return;
    if (done)
        unlink(j->path);
    if (j->fd >= 0)
        close(j->fd);
    ctt_free(j->place);
    ctt_free(j->path);
    ctt_free(j);
    *journal = NULL;
}

/* ---- clips ---- */

static uint64_t record_sum(const uint8_t *head, const uint8_t *frames,
                           size_t n, const uint8_t *maps, size_t m)
{
    uint64_t sum = ctt_pack_sum(0, head, 8 * SUM);

    return ctt_pack_sum(ctt_pack_sum(sum, frames, n), maps, m);
}

static void put_rates(const struct ctt_frames *f, uint8_t *to)
{
    uint32_t rate[2];

    memcpy(&rate[0], &f->fps, 4);
    memcpy(&rate[1], &f->file_fps, 4);
    ctt_pack_put(to, (uint64_t)rate[1] << 32 | rate[0]);
}

static void get_rates(uint64_t x, struct ctt_frames *f)
{
    uint32_t rate[2] = { (uint32_t)x, (uint32_t)(x >> 32) };

    memcpy(&f->fps, &rate[0], 4);
    memcpy(&f->file_fps, &rate[1], 4);
}

int ctt_journal_add(struct ctt_journal *j, uint64_t key,
                    const struct ctt_frames *f, const uint8_t *maps)
{
    int64_t frames = f->count * j->frame, n = f->count * j->maps;
    uint8_t head[RECORD];
    int rc = 0;

    CTT_CHECK(f->count <= most_frames(j), CTT_EUNSUP, "%s: %d frames; a pack "
              "has clips of %lld at most: --max-frames cuts them", j->path,
              f->count, (long long)most_frames(j));
    memcpy(head, clip_magic, 8);
    ctt_pack_put(head + 8 * KEY, key);
    ctt_pack_put(head + 8 * FRAMES, (uint64_t)f->count);
    put_rates(f, head + 8 * RATES);
    ctt_pack_put(head + 8 * SEEN, (uint64_t)f->seen);
    ctt_pack_put(head + 8 * STATED, (uint64_t)f->stated);
    ctt_pack_put(head + 8 * BREAKS, (uint64_t)f->breaks);
    ctt_pack_put(head + 8 * UNREAD, (uint64_t)f->unread);
    ctt_pack_put(head + 8 * SUM, record_sum(head, f->data, (size_t)frames,
                                            maps, (size_t)n));
    CTT_TRY(append(j, head, RECORD));
    CTT_TRY(append(j, f->data, frames));
    CTT_TRY(append(j, maps, n));
out:
    return rc;
}

/* Reads a record; 0 if its checksum is another. */
static int read_record(const struct ctt_journal *j, const struct place *p,
                       struct ctt_frames *f, uint8_t **out)
{
    int64_t frames = p->frames * j->frame, n = p->frames * j->maps;
    uint8_t head[RECORD], *data = ctt_calloc((size_t)frames, 1);
    uint8_t *maps = ctt_calloc((size_t)n, 1);
    int rc = data && maps ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    CTT_TRY(ctt_file_read_at(j->path, j->fd, p->at, head, RECORD));
    CTT_TRY(ctt_file_read_at(j->path, j->fd, p->at + RECORD, data, frames));
    CTT_TRY(ctt_file_read_at(j->path, j->fd, p->at + RECORD + frames, maps,
                             n));
    if (ctt_pack_get(head + 8 * SUM) !=
        record_sum(head, data, (size_t)frames, maps, (size_t)n))
        goto out;
    *f = j->like;
    f->count = (int)p->frames;
    get_rates(ctt_pack_get(head + 8 * RATES), f);
    f->seen = (int64_t)ctt_pack_get(head + 8 * SEEN);
    f->stated = (int64_t)ctt_pack_get(head + 8 * STATED);
    f->breaks = (int64_t)ctt_pack_get(head + 8 * BREAKS);
    f->unread = (int64_t)ctt_pack_get(head + 8 * UNREAD);
    f->data = data;
    *out = maps;
    return 1;
out:
    ctt_free(data);
    ctt_free(maps);
    return rc;
}

int ctt_journal_find(const struct ctt_journal *j, uint64_t key,
                     struct ctt_frames *f, uint8_t **maps)
{
    const struct place want = { .key = key };
    const struct place *p = j->places ? bsearch(&want, j->place,
        (size_t)j->places, sizeof(want), compare_keys) : NULL;

    return p ? read_record(j, p, f, maps) : 0;
}
