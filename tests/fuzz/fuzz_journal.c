/* SPDX-License-Identifier: Apache-2.0
 * fuzz_journal.c: any file in the place of a pack's journal is refused, and
 * stays, or has whole clips, behind which others can be added.  An input is the
 * clips of a journal: key, number of frames, checksum (@: the right one), and
 * bytes; without them it is the file itself. */
#include "tests/fuzz/fuzz.h"
#include "video/pack/packfile.h"

#include <string.h>

enum { CLIPS = 8, FRAME = 2, MAPS = 6, HEAD = 16, SUM = 64, RECORD = 72,
       SETTINGS = 5, OWN = 77 };

const char *const ctt_fuzz_words[] = {
    "\n%clip 1 1 @\n", "\n%clip 3 2 @\n", "\n%clip ", "ctt-jrnl", "ctt-clip",
    "%0 ", "@", "0", "-1", "268435456", "268435457", "9223372036854775807",
    "77", NULL
};

static const struct ctt_frames like = { .h = 1, .w = FRAME, .c = 1 };

/* ---- a journal of clips ---- */

/* Appends a record, whose bytes are those of frames and then of maps. */
static void put_clip(uint8_t *file, size_t *n, const struct ctt_chunk *c)
{
    uint8_t head[RECORD] = "ctt-clip";
    char *more = NULL;
    uint64_t sum;
    long long frames;
    size_t pixels;

    ctt_pack_put(head + 8, strtoull(c->words, &more, 10));
    frames = strtoll(more, &more, 10);
    ctt_pack_put(head + 16, (uint64_t)frames);
    pixels = frames > 0 && frames <= (long long)(c->n / FRAME) ?
             (size_t)frames * FRAME : 0;
    sum = ctt_pack_sum(0, head, SUM);
    sum = ctt_pack_sum(sum, c->p, pixels);
    sum = ctt_pack_sum(sum, c->p + pixels, c->n - pixels);
    ctt_pack_put(head + SUM, strchr(more, '@') ? sum : strtoull(more, NULL,
                                                                10));
    memcpy(file + *n, head, RECORD);
    memcpy(file + *n + RECORD, c->p, c->n);
    *n += RECORD + c->n;
}

/* ---- checks ---- */

static struct ctt_journal *reopen(int want)
{
    struct ctt_journal *j = NULL;
    int clips;

    FUZZ_CHECK(ctt_journal_open(ctt_scratch("a"), SETTINGS, MAPS, &like, &j,
                                &clips) >= 0);
    FUZZ_CHECK(clips == want);
    return j;
}

/* Whether a clip is there; its bytes are all read. */
static int find_clip(const struct ctt_journal *j, uint64_t key)
{
    struct ctt_frames f = { 0 };
    uint8_t *maps = NULL;
    int rc = ctt_journal_find(j, key, &f, &maps);

    FUZZ_CHECK(rc >= 0);
    if (rc) {
        FUZZ_CHECK(f.count > 0 && f.w == FRAME && f.h == 1 && f.c == 1);
        ctt_pack_sum(ctt_pack_sum(0, f.data, (size_t)f.count * FRAME), maps,
                     (size_t)f.count * MAPS);
    }
    ctt_frames_free(&f);
    ctt_free(maps);
    return rc;
}

/* A clip behind others is counted; without others, which may have its key, it
 * is found. */
static void add_clip(struct ctt_journal *j, int clips)
{
    static uint8_t pixel[FRAME], maps[MAPS];
    struct ctt_frames f = like;

    f.count = 1;
    f.data = pixel;
    FUZZ_CHECK(ctt_journal_add(j, OWN, &f, maps) >= 0);
    ctt_journal_close(&j, 0);
    j = reopen((clips > 0 ? clips : 0) + 1);
    FUZZ_CHECK(clips > 0 || find_clip(j, OWN));
    ctt_journal_close(&j, 1);
}

/* A file that is refused is as it was. */
static void check_refused(const char *path, const uint8_t *p, size_t n)
{
    static uint8_t now[2 * CTT_FUZZ_ROOM];

    ctt_fuzz_refused(path);
    FUZZ_CHECK(n && ctt_scratch_get(path, now, sizeof(now)) == n &&
               memcmp(now, p, n) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t file[CTT_FUZZ_ROOM + CLIPS * RECORD + HEAD];
    long live = ctt_live_blocks();
    struct ctt_chunk c[CLIPS];
    int count = ctt_chunks(data, size, c, CLIPS), clips = 0;
    struct ctt_journal *j = NULL;
    const char *path;
    size_t n = HEAD;

    memcpy(file, "ctt-jrnl", 8);
    ctt_pack_put(file + 8, SETTINGS);
    for (int i = 0; i < count; i++)
        put_clip(file, &n, &c[i]);
    path = count ? ctt_scratch_put("a.journal", file, n)
                 : ctt_scratch_put("a.journal", data, size);
    if (ctt_journal_open(ctt_scratch("a"), SETTINGS, MAPS, &like, &j, &clips)
        >= 0) {
        FUZZ_CHECK(clips <= (int)(n + size) / RECORD);
        for (uint64_t key = 0; key < 8; key++)
            find_clip(j, key);
        add_clip(j, clips);
    } else {
        FUZZ_CHECK(!j);
        check_refused(path, count ? file : data, count ? n : size);
    }
    FUZZ_CHECK(ctt_live_blocks() == live);
    return 0;
}

/* ---- seeds ---- */

static const struct ctt_fuzz_text texts[] = {
    FUZZ_TEXT("%clip 1 1 @\n01abcdef"),
    FUZZ_TEXT("%clip 3 2 @\n0123abcdefghijkl\n%clip 1 1 5\n01abcdef"),
    FUZZ_TEXT("%clip 77 1 @\n01abcdef\n%clip 2 1 @\n01ab"),
    FUZZ_TEXT("ctt-jrnl\5\0\0\0\0\0\0\0ctt-clip\1\0\0\0\0\0\0\0"),
    FUZZ_TEXT("ctt-jrnl\6\0\0\0\0\0\0\0ctt-clip"),
    FUZZ_TEXT("clips/1.avi moves\n"),
};

size_t ctt_fuzz_seed(int i, uint8_t *p, size_t room)
{
    return ctt_fuzz_text(texts, CTT_LEN(texts), i, p, room);
}
