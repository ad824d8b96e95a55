/* SPDX-License-Identifier: Apache-2.0
 * test_pack_maps.c: maps beside the frames of a pack, whole, damaged, missing;
 * the journal of a pack that is not complete, whole and torn. */
#include "tests/lib/check.h"
#include "tests/lib/clip.h"
#include "video/pack/packfile.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { W = 4, H = 3, CLIPS = 5, EACH = 2 * (6 + 5) };

static char one[] = "one", two[] = "two";
static char *labels[] = { one, two };

static const struct ctt_maps maps = { 2, {
    { "a", 1, 1, 2, 3, 0x89abcdef }, { "b.c-d", 1, 1, 1, 5, 0 } } };

static const struct ctt_input input = { 1, H, W, 1, 0, { 0 }, { 1, 1, 1 }, 1,
                                        CTT_FIT_CROP, CTT_GRAY };

static int frames_of(int i) { return 2 + i; }

static void fill(int i, struct ctt_frames *f, uint8_t *map)
{
    static uint8_t pixel[CLIPS][W * H * 16];

    *f = (struct ctt_frames){ .data = pixel[i], .count = frames_of(i), .h = H,
        .w = W, .c = 1, .fps = 12.5f, .seen = 7, .stated = 9, .breaks = i,
        .unread = 1, .file_fps = 25 };
    for (int k = 0; k < f->count * W * H; k++)
        pixel[i][k] = (uint8_t)(i * 31 + k);
    for (int k = 0; k < f->count * EACH; k++)
        map[k] = (uint8_t)(i * 17 + 5 * k);
}

static int write_maps(const char *path, int without)
{
    uint8_t map[16 * EACH];
    struct ctt_pack *p = NULL;
    struct ctt_frames f;
    int rc;

    CTT_TRY(ctt_pack_create(path, &input, labels, 2, &p));
    CTT_TRY(ctt_pack_begin_maps(p, &maps));
    for (int i = 0; i < CLIPS; i++) {
        fill(i, &f, map);
        CTT_TRY(ctt_pack_add(p, i % 2 ? "x" : "y", i % 2, &f));
        if (i != without)
            CTT_TRY(ctt_pack_add_maps(p, map));
    }
    CTT_TRY(ctt_pack_finish(&p));
out:
    ctt_pack_close(&p);
    return rc;
}

/* Whether frames and maps of clip i are those that were written; each is that
 * or an error. */
static int is_whole(const struct ctt_pack *p, int i)
{
    struct ctt_frames want, f = { 0 };
    uint8_t map[16 * EACH], *got = NULL;
    int rc = ctt_pack_read(p, i, &f), good = rc >= 0;

    fill(i, &want, map);
    if (good)
        CU_ASSERT(f.count == want.count && memcmp(f.data, want.data, (size_t)
                  f.count * W * H) == 0);
    ctt_frames_free(&f);
    rc = ctt_pack_maps(p) ? ctt_pack_read_maps(p, i, &got) : CTT_EFORMAT;
    if (rc >= 0)
        CU_ASSERT(memcmp(got, map, (size_t)want.count * EACH) == 0);
    ctt_free(got);
    return good && rc >= 0;
}

static void test_round_trip(void)
{
    const char *path = clip_path("a.pack");
    struct ctt_pack *p = NULL;

    CHECK_OK(write_maps(path, -1));
    CHECK_OK(ctt_pack_open(path, &p));
    CU_ASSERT_PTR_NOT_NULL_FATAL(ctt_pack_maps(p));
    CU_ASSERT_EQUAL(memcmp(ctt_pack_maps(p), &maps, sizeof(maps)), 0);
    CU_ASSERT_EQUAL_FATAL(ctt_pack_list(p)->count, CLIPS);
    for (int i = 0; i < CLIPS; i++)
        CU_ASSERT(is_whole(p, i));
    ctt_pack_close(&p);
}

static void test_missing(void)
{
    const char *path = clip_path("b.pack");
    struct ctt_pack *p = NULL;

    ctt_check_refused(write_maps(path, 3), CTT_EINVAL, "clip 'x' has no maps");
    CU_ASSERT_EQUAL(access(path, F_OK), -1);
    CHECK_OK(ctt_pack_create(path, &input, labels, 2, &p));
    CU_ASSERT_PTR_NULL(ctt_pack_maps(p));
    ctt_pack_close(&p);
}

/* A byte that changed, or an end that is missing, is an error of the pack or of
 * a clip, or was HDF5's own. */
static void test_damage(void)
{
    long live = ctt_live_blocks();
    int bad = 0, tried = 0;
    size_t n;
    uint8_t *bytes = clip_bytes(clip_path("a.pack"), &n);

    for (size_t i = 0; i < n; i += n - i < 1500 ? 1 : 5) {
        struct ctt_pack *p = NULL;
        int good = 1;

        bytes[i] ^= 0x41;
        clip_file("d.pack", bytes, n);
        bytes[i] ^= 0x41;
        tried++;
        if (ctt_pack_open(clip_path("d.pack"), &p) < 0)
            good = 0;
        for (int k = 0; p && k < ctt_pack_list(p)->count; k++)
            good &= is_whole(p, k);
        bad += !good;
        ctt_pack_close(&p);
    }
    ctt_free(bytes);
    printf("%d of %d noticed ", bad, tried);
    CU_ASSERT(tried > 1000 && bad > 300);
    CU_ASSERT_EQUAL(ctt_live_blocks(), live);
}

/* What a line of a map must not say. */
static void test_lines(void)
{
    static const char *const bad[] = {
        "h=1", "h=1\n", "h=1\nmap", "h=1\nmop a 1 1 1 1 0",
        "h=1\nmap a 1 1 1 1", "h=1\nmap a 1 1 1 1 0 0", "h=1\nmap a 0 1 1 1 0",
        "h=1\nmap a -1 1 1 1 0", "h=1\nmap a 1 1 1 0x1 0",
        "h=1\nmap a 65536 65536 1 1 0", "h=1\nmap a 4294967297 1 1 1 0",
        "h=1\nmap a 1 1 1 1 100000000", "h=1\nmap a 1 1 1 1 g",
        "h=1\nmap a23456789012345678901234567890123456789012345678 1 1 1 1 0",
        "h=1\nmap a 1 1 1 1 0\n", "h=1\nmap a 1 1 1 1 0\nmap b",
    };
    char text[1024], many[1024] = "h=1";
    struct ctt_maps m;

    for (size_t i = 0; i < CTT_LEN(bad); i++) {
        m = (struct ctt_maps){ .count = 0 };
        snprintf(text, sizeof(text), "%s", bad[i]);
        CU_ASSERT_EQUAL(ctt_pack_take_maps(text, &m), CTT_EFORMAT);
    }
    for (int k = 0; k <= CTT_MAX_IN; k++) {
        CU_ASSERT_EQUAL(k > 0, strchr(many, '\n') != NULL);
        snprintf(many + strlen(many), sizeof(many) - strlen(many),
                 "\nmap m%d 1 2 3 4 0000%04x", k, k);
        m = (struct ctt_maps){ .count = 0 };
        memcpy(text, many, sizeof(many));
        CU_ASSERT_EQUAL(ctt_pack_take_maps(text, &m),
                        k < CTT_MAX_IN ? 0 : CTT_EFORMAT);
        if (k >= CTT_MAX_IN)
            break;
        CU_ASSERT_EQUAL(m.count, k + 1);
        CU_ASSERT_STRING_EQUAL(text, "h=1");
        CHECK_OK(ctt_pack_print_maps(&m, text, sizeof(text)));
        CU_ASSERT(strncmp(text, "h=1\nmap m0 1 2 3 4 00000000", 27) == 0);
        ctt_check_refused(ctt_pack_print_maps(&m, text, strlen(text) + 9),
                          CTT_EINVAL, "too long");
    }
}

static void test_memory(void)
{
    long live = ctt_live_blocks();
    int rc = CTT_ENOMEM, k = 0;

    while (rc == CTT_ENOMEM && k < 500) {
        struct ctt_pack *p = NULL;
        uint8_t *map = NULL;

        ctt_fail_alloc(++k);
        rc = ctt_pack_open(clip_path("a.pack"), &p);
        if (rc >= 0)
            rc = ctt_pack_read_maps(p, 1, &map);
        ctt_fail_alloc(0);
        ctt_free(map);
        ctt_pack_close(&p);
        CU_ASSERT_EQUAL(ctt_live_blocks(), live);
    }
    CU_ASSERT(rc == 0 && k > 5);
}

/* ---- the journal ---- */

static int open_it(uint64_t key, struct ctt_journal **j, int *clips)
{
    const struct ctt_frames like = { .h = H, .w = W, .c = 1 };

    return ctt_journal_open(clip_path("j"), key, EACH, &like, j, clips);
}

/* 1 if clip i is found, whole; 0: it is not. */
static int has_clip(const struct ctt_journal *j, int i)
{
    struct ctt_frames want, f = { 0 };
    uint8_t map[16 * EACH], *got = NULL;
    int rc = ctt_journal_find(j, 1000 + (uint64_t)(i * 7 % CLIPS), &f, &got);

    CU_ASSERT(rc >= 0);
    fill(i, &want, map);
    if (rc > 0) {
        CU_ASSERT(f.count == want.count && f.fps == want.fps &&
                  f.seen == 7 && f.stated == 9 && f.breaks == i &&
                  f.unread == 1 && f.file_fps == 25 && f.w == W && f.h == H);
        CU_ASSERT_EQUAL(memcmp(f.data, want.data, (size_t)want.count * W * H),
                        0);
        CU_ASSERT_EQUAL(memcmp(got, map, (size_t)want.count * EACH), 0);
    }
    ctt_frames_free(&f);
    ctt_free(got);
    return rc > 0;
}

static void write_journal(void)
{
    struct ctt_journal *j = NULL;
    int clips = -1;

    unlink(clip_path("j.journal"));
    CHECK_OK(open_it(5, &j, &clips));
    CU_ASSERT_EQUAL(clips, 0);
    for (int i = 0; i < CLIPS; i++) {
        uint8_t map[16 * EACH];
        struct ctt_frames f;

        fill(i, &f, map);
        CHECK_OK(ctt_journal_add(j, 1000 + (uint64_t)(i * 7 % CLIPS), &f,
                                 map));
    }
    ctt_journal_close(&j, 0);
}

static void test_journal(void)
{
    struct ctt_journal *j = NULL, *other = NULL;
    int clips;

    write_journal();
    CHECK_OK(open_it(5, &j, &clips));
    CU_ASSERT_EQUAL(clips, CLIPS);
    for (int i = 0; i < CLIPS; i++)
        CU_ASSERT_EQUAL(has_clip(j, i), 1);
    CU_ASSERT_EQUAL(ctt_journal_find(j, 1, NULL, NULL), 0);
    CU_ASSERT_EQUAL(open_it(5, &other, &clips), CTT_EIO);    /* locked */
    ctt_journal_close(&j, 0);
    CHECK_OK(open_it(6, &j, &clips));    /* other settings */
    CU_ASSERT_EQUAL(clips, -1);
    CU_ASSERT_EQUAL(has_clip(j, 0), 0);
    ctt_journal_close(&j, 1);
    CU_ASSERT_EQUAL(access(clip_path("j.journal"), F_OK), -1);
}

/* Cut at any byte, whole clips stay and others can be added behind them. */
static void test_torn(void)
{
    size_t n;
    uint8_t *bytes;
    int most = 0;

    write_journal();
    bytes = clip_bytes(clip_path("j.journal"), &n);
    for (size_t cut = 0; cut <= n; cut += 3) {
        struct ctt_journal *j = NULL;
        struct ctt_frames f;
        uint8_t map[16 * EACH];
        int clips;

        clip_file("j.journal", bytes, cut);
        CHECK_OK(open_it(5, &j, &clips));
        for (int i = 0; i < CLIPS; i++)
            CU_ASSERT_EQUAL(has_clip(j, i), i < clips);
        fill(clips % CLIPS, &f, map);
        CHECK_OK(ctt_journal_add(j, 1000 + (uint64_t)(clips * 7 % CLIPS), &f,
                                 map));
        ctt_journal_close(&j, 0);
        most = clips;
        CHECK_OK(open_it(5, &j, &clips));
        CU_ASSERT_EQUAL(clips, most + 1);
        CU_ASSERT_EQUAL(has_clip(j, most % CLIPS), 1);
        ctt_journal_close(&j, 0);
    }
    CU_ASSERT(most >= CLIPS - 1);
    ctt_free(bytes);
}

/* A byte that changed loses clips, and never gives others. */
static void test_journal_damage(void)
{
    long live = ctt_live_blocks();
    int lost = 0, tried = 0;
    size_t n;
    uint8_t *bytes = NULL;

    write_journal();
    bytes = clip_bytes(clip_path("j.journal"), &n);
    for (size_t at = 0; at < n; at++, tried++) {
        struct ctt_journal *j = NULL;
        int clips, found = 0;

        bytes[at] ^= 0x82;
        clip_file("j.journal", bytes, n);
        bytes[at] ^= 0x82;
        if (at < 8) {    /* not known as a journal */
            CU_ASSERT_EQUAL(open_it(5, &j, &clips), CTT_EIO);
            lost++;
            continue;
        }
        CHECK_OK(open_it(5, &j, &clips));
        CU_ASSERT_EQUAL(clips < 0, at < 16);
        for (int i = 0; i < CLIPS; i++)
            found += has_clip(j, i);
        lost += found < CLIPS;
        ctt_journal_close(&j, 0);
    }
    CU_ASSERT_EQUAL(lost, tried);
    ctt_free(bytes);
    CU_ASSERT_EQUAL(ctt_live_blocks(), live);
}

static void test_journal_refused(void)
{
    struct ctt_journal *j = NULL;
    int clips;

    unlink(clip_path("j.journal"));
    CU_ASSERT_EQUAL(symlink("elsewhere", clip_path("j.journal")), 0);
    CU_ASSERT_EQUAL(open_it(5, &j, &clips), CTT_EIO);
    CU_ASSERT_PTR_NOT_NULL(strstr(ctt_errmsg(), "j.journal: "));
    CU_ASSERT_EQUAL(access(clip_path("elsewhere"), F_OK), -1);
    unlink(clip_path("j.journal"));
}

/* A file that is no journal stays as it was. */
static void test_journal_foreign(void)
{
    static const char *const text[] = { "x", "ctt-jrn_", "clips/1.avi moves\n",
        "ctt-clip, and more than the head of a journal has", "ctt-jrx" };
    struct ctt_journal *j = NULL;
    int clips;

    for (size_t i = 0; i < CTT_LEN(text); i++) {
        size_t n;
        uint8_t *now;

        clip_text("j.journal", text[i]);
        ctt_check_refused(open_it(5, &j, &clips), CTT_EIO, "j.journal: is "
                          "there already and is no journal of a pack");
        now = clip_bytes(clip_path("j.journal"), &n);
        CU_ASSERT(n == strlen(text[i]) && memcmp(now, text[i], n) == 0);
        ctt_free(now);
    }
    unlink(clip_path("j.journal"));
}

/* Opens a journal of one record that states so many frames, of which each and
 * its maps have so many bytes, in a file of that size. */
static int forge(int64_t frames, int64_t w, int64_t of_map, int64_t size)
{
    const struct ctt_frames like = { .h = 1, .w = (int)w, .c = 1 };
    uint8_t head[2 * 8 + 9 * 8] = "ctt-jrnl";
    struct ctt_journal *j = NULL;
    int clips = -1;

    ctt_pack_put(head + 8, 5);
    memcpy(head + 16, "ctt-clip", 8);
    ctt_pack_put(head + 32, (uint64_t)frames);
    clip_file("j.journal", head, sizeof(head));
    CU_ASSERT_EQUAL(truncate(clip_path("j.journal"), (off_t)(sizeof(head) +
                    (uint64_t)size)), 0);
    CHECK_OK(ctt_journal_open(clip_path("j"), 5, of_map, &like, &j, &clips));
    ctt_journal_close(&j, 1);
    return clips;
}

/* Frames and maps may have 2 GiB each; sizes beyond this, or beyond the file,
 * end it, and are not written either. */
static void test_journal_forged(void)
{
    const int64_t unit = 1 << 27;    /* 16 of them: 2 GiB */
    static const int64_t bad[] = { 0, -1, INT64_MIN, INT64_MAX, 101,
                                   INT64_C(1) << 60 };
    const struct ctt_frames like = { .h = 1, .w = 1, .c = 1 }, longer = {
        .count = 17, .h = 1, .w = 1, .c = 1 };
    struct ctt_journal *j = NULL;
    int clips;

    CU_ASSERT_EQUAL(forge(100, 3, 4, 700), 1);
    CU_ASSERT_EQUAL(forge(100, 3, 4, 699), 0);
    for (size_t i = 0; i < CTT_LEN(bad); i++)
        CU_ASSERT_EQUAL(forge(bad[i], 3, 4, 700), 0);
    CU_ASSERT_EQUAL(forge(16, unit, unit, 32 * unit), 1);
    CU_ASSERT_EQUAL(forge(17, unit, unit, 34 * unit), 0);
    CU_ASSERT_EQUAL(forge(17, 1, unit, 34 * unit), 0);
    CHECK_OK(ctt_journal_open(clip_path("j"), 5, unit, &like, &j, &clips));
    ctt_check_refused(ctt_journal_add(j, 1, &longer, NULL), CTT_EUNSUP,
                      "17 frames; a pack has clips of 16 at most");
    ctt_journal_close(&j, 1);
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "round trip", test_round_trip }, { "missing maps", test_missing },
        { "damage", test_damage }, { "lines", test_lines },
        { "memory", test_memory }, { "journal", test_journal },
        { "torn journal", test_torn },
        { "damaged journal", test_journal_damage },
        { "refused journal", test_journal_refused },
        { "foreign journal", test_journal_foreign },
        { "forged journal", test_journal_forged }, { NULL, NULL } };
    static CU_SuiteInfo suites[] = {
        { "maps", NULL, NULL, NULL, NULL, tests },
        { NULL, NULL, NULL, NULL, NULL, NULL } };
    int rc = ctt_check_main(suites);

    clip_clean();
    return rc;
}
