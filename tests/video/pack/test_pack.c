/* SPDX-License-Identifier: Apache-2.0
 * test_pack.c: decoded clips in one file: whole, damaged, half written, read
 * by many. */
#include "tests/lib/check.h"
#include "tests/lib/clip.h"
#include "video/video.h"

#include <fcntl.h>
#include <hdf5.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { W = 10, H = 6, C = 3, CLIPS = 7 };

static char *labels[] = { "moving left", "moving right", "" };

static struct ctt_input input(void)
{
    return (struct ctt_input){ .d = 1, .h = H - 1, .w = W - 2, .c = C,
        .fps = 12.5f, .mean = { 0.5f, 0.25f, 0.125f }, .std = { 1, 2, 3 },
        .scale = 1.25f, .fit = CTT_FIT_CROP, .colour = CTT_BGR };
}

/* Clip i has 3 + i frames of bytes that say where they are. */
static void fill(int i, struct ctt_frames *f)
{
    size_t n = (size_t)(3 + i) * W * H * C;

    *f = (struct ctt_frames){ .count = 3 + i, .h = H, .w = W, .c = C,
                              .fps = 29.97f + (float)i };
    f->data = ctt_calloc(n, 1);
    CU_ASSERT_PTR_NOT_NULL_FATAL(f->data);
    for (size_t k = 0; k < n; k++)
        f->data[k] = (uint8_t)(k * 7 + (size_t)i * 31 + k / 251);
}

static int add(struct ctt_pack *p, int i)
{
    struct ctt_frames f;
    char id[32];
    int rc;

    fill(i, &f);
    snprintf(id, sizeof(id), "clip %d.webm", i);
    rc = ctt_pack_add(p, id, i % 4 - 1, &f);
    ctt_frames_free(&f);
    return rc;
}

static int write_pack(const char *path)
{
    struct ctt_input in = input();
    struct ctt_pack *p = NULL;
    int rc;

    CTT_TRY(ctt_pack_create(path, &in, labels, 3, &p));
    for (int i = 0; i < CLIPS; i++)
        CTT_TRY(add(p, i));
    CTT_TRY(ctt_pack_finish(&p));
    CU_ASSERT_PTR_NULL(p);
out:
    ctt_pack_close(&p);
    return rc;
}

/* Whether clip i reads back as it was; rc: of the read. */
static int is_same(const struct ctt_pack *p, int i, int *rc)
{
    struct ctt_frames f = { 0 }, want;
    int same = 0;

    *rc = ctt_pack_read(p, i, &f);
    if (*rc < 0)
        return 0;
    fill(i, &want);
    same = f.count == want.count && f.w == W && f.h == H && f.c == C &&
           f.fps == want.fps && ctt_pack_length(p, i) == f.count &&
           memcmp(f.data, want.data, (size_t)f.count * W * H * C) == 0;
    ctt_frames_free(&want);
    ctt_frames_free(&f);
    return same;
}

static void test_round_trip(void)
{
    const char *path = clip_path("a.pack");
    const struct ctt_list *l;
    struct ctt_input in = input();
    const struct ctt_input *got;
    struct ctt_pack *p = NULL;
    int rc;

    CHECK_OK(write_pack(path));
    CU_ASSERT_EQUAL(access(clip_path("a.pack.convtt0.tmp"), F_OK), -1);
    CU_ASSERT_EQUAL(ctt_pack_is(path), 1);
    CHECK_OK(ctt_pack_open(path, &p));
    l = ctt_pack_list(p);
    CU_ASSERT_EQUAL_FATAL(l->count, CLIPS);
    CU_ASSERT_EQUAL_FATAL(l->labels, 3);
    for (int i = 0; i < 3; i++)
        CU_ASSERT_STRING_EQUAL(l->label[i], labels[i]);
    CU_ASSERT_STRING_EQUAL(l->item[6].id, "clip 6.webm");
    CU_ASSERT_STRING_EQUAL(l->item[6].path, "clip 6.webm");
    for (int i = 0; i < CLIPS; i++) {
        CU_ASSERT_EQUAL(l->item[i].label, i % 4 - 1);
        CU_ASSERT(is_same(p, i, &rc));
    }
    got = ctt_pack_input(p);
    CU_ASSERT(got->w == in.w && got->h == in.h && got->c == in.c &&
              got->fps == in.fps && got->scale == in.scale &&
              got->fit == in.fit && got->colour == in.colour);
    for (int i = 0; i < 3; i++)
        CU_ASSERT(got->mean[i] == in.mean[i] && got->std[i] == in.std[i]);
    ctt_pack_close(&p);
    CU_ASSERT_PTR_NULL(p);
}

/* Any HDF5 tool can read it. */
static void test_hdf5(void)
{
    hid_t f = H5Fopen(clip_path("a.pack"), H5F_ACC_RDONLY, H5P_DEFAULT);
    hid_t d = H5Dopen2(f, "clip/4", H5P_DEFAULT), s = H5Dget_space(d);
    struct ctt_frames want;
    hsize_t dim[4] = { 0 };
    int64_t index[CLIPS][5];
    uint8_t *got;

    fill(4, &want);
    CU_ASSERT_EQUAL_FATAL(H5Sget_simple_extent_dims(s, dim, NULL), 4);
    CU_ASSERT(dim[0] == 7 && dim[1] == H && dim[2] == W && dim[3] == C);
    got = ctt_calloc(7 * W * H * C, 1);
    CU_ASSERT(H5Dread(d, H5T_NATIVE_UINT8, H5S_ALL, H5S_ALL, H5P_DEFAULT,
                      got) >= 0);
    CU_ASSERT_EQUAL(memcmp(got, want.data, 7 * W * H * C), 0);
    ctt_free(got);
    ctt_frames_free(&want);
    H5Sclose(s);
    H5Dclose(d);
    d = H5Dopen2(f, "index", H5P_DEFAULT);
    CU_ASSERT(H5Dread(d, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT,
                      index) >= 0);
    CU_ASSERT(index[4][0] == -1 && index[4][1] == 7);
    H5Dclose(d);
    H5Fclose(f);
}

/* The same clips give the same bytes. */
static void test_same_bytes(void)
{
    size_t n, m;
    uint8_t *a, *b;

    CHECK_OK(write_pack(clip_path("b.pack")));
    a = clip_bytes(clip_path("a.pack"), &n);
    b = clip_bytes(clip_path("b.pack"), &m);
    CU_ASSERT(n == m && memcmp(a, b, n) == 0);
    ctt_free(a);
    ctt_free(b);
}

static void test_refused(void)
{
    struct ctt_input in = input();
    struct ctt_pack *p = NULL;
    struct ctt_frames f;

    clip_text("text", "not a pack at all\n");
    clip_text("empty", "");
    CU_ASSERT_EQUAL(ctt_pack_is(clip_path("text")), 0);
    CU_ASSERT_EQUAL(ctt_pack_is(clip_path("empty")), 0);
    CU_ASSERT_EQUAL(ctt_pack_is(clip_path("none")), 0);
    CU_ASSERT_EQUAL(ctt_pack_is(clip_path(".")), 0);
    CU_ASSERT_EQUAL(ctt_pack_open(clip_path("none"), &p), CTT_EIO);
    CU_ASSERT_PTR_NOT_NULL(strstr(ctt_errmsg(), "none: No such file"));
    CU_ASSERT_EQUAL(ctt_pack_open(clip_path("text"), &p), CTT_EFORMAT);
    CU_ASSERT_PTR_NOT_NULL(strstr(ctt_errmsg(), "text: not a pack"));
    CU_ASSERT_EQUAL(ctt_pack_create(clip_path("none/x"), &in, labels, 3, &p),
                    CTT_EIO);
    CU_ASSERT_PTR_NOT_NULL(strstr(ctt_errmsg(), "none/x: "));
    CU_ASSERT_PTR_NULL(p);

    CHECK_OK(ctt_pack_create(clip_path("c.pack"), &in, labels, 3, &p));
    fill(0, &f);
    CU_ASSERT_EQUAL(ctt_pack_add(p, "x", 3, &f), CTT_EINVAL);
    CU_ASSERT_EQUAL(ctt_pack_add(p, "x", -2, &f), CTT_EINVAL);
    f.h--;
    CU_ASSERT_EQUAL(ctt_pack_add(p, "x", 0, &f), CTT_EINVAL);
    ctt_frames_free(&f);
    CU_ASSERT_EQUAL(ctt_pack_finish(&p), CTT_EINVAL);    /* no clips */
    CU_ASSERT_PTR_NULL(p);
    CU_ASSERT_EQUAL(access(clip_path("c.pack"), F_OK), -1);
    CU_ASSERT_EQUAL(access(clip_path("c.pack.convtt0.tmp"), F_OK), -1);
}

/* Opens what may be damaged: an error that names it, or clips each of which
 * is either an error or right. */
static int try_pack(const char *path)
{
    struct ctt_pack *p = NULL;
    int rc = ctt_pack_open(path, &p), bad = rc < 0, one;

    CU_ASSERT(rc == 0 || strstr(ctt_errmsg(), path));
    for (int i = 0; p && i < ctt_pack_list(p)->count; i++) {
        int same = is_same(p, i, &one);
        CU_ASSERT(same || one < 0);
        CU_ASSERT(same || strstr(ctt_errmsg(), path));
        bad |= !same;
    }
    ctt_pack_close(&p);
    return bad;
}

static void test_damage(void)
{
    const char *path = clip_path("d.pack");
    long live = ctt_live_blocks();
    int found = 0, tried = 0;
    uint8_t *p;
    size_t n;

    p = clip_bytes(clip_path("a.pack"), &n);
    for (size_t i = 0; i < n; i += 1 + i % 13) {
        p[i] ^= 0x55;
        clip_file("d.pack", p, n);
        found += try_pack(path);
        ctt_pack_is(path);
        p[i] ^= 0x55;
        tried++;
    }
    for (int i = 0; i < 64; i++) {
        clip_file("d.pack", p, n * (size_t)i / 64);
        CU_ASSERT(try_pack(path));
    }
    ctt_free(p);
    CU_ASSERT(tried > 500 && found > tried / 2);
    CU_ASSERT_EQUAL(ctt_live_blocks(), live);
}

/* 1 if the list and the input of the pack at path are those that were written;
 * where it is refused, too. */
static int is_listed(const char *path)
{
    struct ctt_input in = input();
    struct ctt_pack *p = NULL;
    const struct ctt_list *l;
    const struct ctt_input *got;
    int same;

    if (ctt_pack_open(path, &p) < 0)
        return 1;
    l = ctt_pack_list(p);
    got = ctt_pack_input(p);
    same = l->count == CLIPS && l->labels == 3 && got->fps == in.fps &&
           memcmp(got->mean, in.mean, sizeof(in.mean)) == 0 &&
           memcmp(got->std, in.std, sizeof(in.std)) == 0 &&
           got->fit == in.fit && got->colour == in.colour &&
           got->h == in.h && got->w == in.w && got->scale == in.scale;
    for (int i = 0; same && i < 3; i++)
        same = strcmp(l->label[i], labels[i]) == 0;
    for (int i = 0; same && i < CLIPS; i++) {
        char id[32];
        snprintf(id, sizeof(id), "clip %d.webm", i);
        same = l->item[i].label == i % 4 - 1 &&
               strcmp(l->item[i].id, id) == 0;
    }
    ctt_pack_close(&p);
    return same;
}

/* Each bit of the end: a flip is noticed, or it is one of HDF5's own, which
 * nothing here reads, as all that is read is the same. */
static void test_bits(void)
{
    enum { WHOLE = 512, END = 8192, STEP = 61 };    /* bytes, bits */
    const char *path = clip_path("bits.pack");
    int fd, noticed = 0, own = 0;
    size_t n, from;
    uint8_t *p = clip_bytes(clip_path("a.pack"), &n);

    clip_file("bits.pack", p, n);
    fd = open(path, O_WRONLY);
    from = n > END ? 8 * (n - END) : 0;
    for (size_t i = from; i < 8 * n; i += i / 8 + WHOLE < n ? STEP : 1) {
        uint8_t was = p[i / 8], now = (uint8_t)(was ^ 1u << i % 8);
        CU_ASSERT_EQUAL(pwrite(fd, &now, 1, (off_t)(i / 8)), 1);
        CU_ASSERT(is_listed(path));
        if (try_pack(path))
            noticed++;
        else
            own++;
        CU_ASSERT_EQUAL(pwrite(fd, &was, 1, (off_t)(i / 8)), 1);
    }
    close(fd);
    ctt_free(p);
    CU_ASSERT(noticed > 100);
    printf("%d bits noticed, %d are HDF5's own ", noticed, own);
}

/* A disk that is full: here, a limit on the size of files. */
static void test_full(void)
{
    const char *path = clip_path("a.pack");
    const char *part = clip_path("a.pack.convtt0.tmp");
    struct rlimit all, some;
    int failed = 0;
    size_t n, m;
    uint8_t *before = clip_bytes(path, &n), *after;

    signal(SIGXFSZ, SIG_IGN);
    CU_ASSERT_EQUAL_FATAL(getrlimit(RLIMIT_FSIZE, &all), 0);
    for (size_t room = 0; room < 300000; room += room < 259000 ? 37000 :
         1500) {
        some = all;
        some.rlim_cur = room;
        setrlimit(RLIMIT_FSIZE, &some);
        if (write_pack(path) < 0) {
            failed++;
            CU_ASSERT_PTR_NOT_NULL(strstr(ctt_errmsg(), "File too large"));
            CU_ASSERT_PTR_NOT_NULL(strstr(ctt_errmsg(), path));
        }
        setrlimit(RLIMIT_FSIZE, &all);
        CU_ASSERT_EQUAL(access(part, F_OK), -1);
    }
    signal(SIGXFSZ, SIG_DFL);
    CU_ASSERT(failed >= 15);
    after = clip_bytes(path, &m);    /* nothing is lost */
    CU_ASSERT(n == m && memcmp(before, after, n) == 0);
    ctt_free(before);
    ctt_free(after);
}

/* Two writers of one path: each pack is whole, and the last one stays. */
static void test_two(void)
{
    const char *path = clip_path("two.pack");
    struct ctt_pack *p[2] = { NULL, NULL };
    struct ctt_input in = input();
    int rc;

    for (int k = 0; k < 2; k++)
        CHECK_OK(ctt_pack_create(path, &in, labels, 3, &p[k]));
    for (int i = 0; i < CLIPS; i++)
        CHECK_OK(add(p[i % 2], i));
    for (int k = 0; k < 2; k++) {
        struct ctt_pack *back = NULL;
        CHECK_OK(ctt_pack_finish(&p[k]));
        CHECK_OK(ctt_pack_open(path, &back));
        CU_ASSERT_EQUAL(ctt_pack_list(back)->count, CLIPS / 2 + 1 - k);
        CU_ASSERT_STRING_EQUAL(ctt_pack_list(back)->item[0].id,
                               k ? "clip 1.webm" : "clip 0.webm");
        CU_ASSERT(!is_same(back, 1, &rc) && rc >= 0);    /* it is clip 2 + k */
        ctt_pack_close(&back);
    }
    CU_ASSERT_EQUAL(access(clip_path("two.pack.convtt0.tmp"), F_OK), -1);
    CU_ASSERT_EQUAL(access(clip_path("two.pack.convtt1.tmp"), F_OK), -1);
}

/* Bytes that changed on the way to the disk: the old pack stays. */
static void test_changed(void)
{
    const char *path = clip_path("a.pack");
    struct ctt_input in = input();
    struct ctt_pack *p = NULL;
    size_t n, m;
    uint8_t *before = clip_bytes(path, &n), *after;
    int fd;

    CHECK_OK(ctt_pack_create(path, &in, labels, 3, &p));
    for (int i = 0; i < CLIPS; i++)
        CHECK_OK(add(p, i));
    fd = open(clip_path("a.pack.convtt0.tmp"), O_WRONLY);
    for (off_t at = 4096; at < 8192; at += 64)
        CU_ASSERT_EQUAL(pwrite(fd, "?", 1, at), 1);
    close(fd);
    ctt_check_refused(ctt_pack_finish(&p), CTT_EFORMAT, "is damaged");
    after = clip_bytes(path, &m);
    CU_ASSERT(n == m && memcmp(before, after, n) == 0);
    CU_ASSERT_EQUAL(access(clip_path("a.pack.convtt0.tmp"), F_OK), -1);
    ctt_free(before);
    ctt_free(after);
}

static int write_one(const char *path, const struct ctt_frames *f)
{
    struct ctt_input in = input();
    struct ctt_pack *p = NULL;
    int rc;

    CTT_TRY(ctt_pack_create(path, &in, labels, 3, &p));
    CTT_TRY(ctt_pack_add(p, "one", 0, f));
    CTT_TRY(ctt_pack_finish(&p));
out:
    ctt_pack_close(&p);
    return rc;
}

static int read_one(const char *path)
{
    struct ctt_frames f = { 0 };
    struct ctt_pack *p = NULL;
    int rc;

    CTT_TRY(ctt_pack_open(path, &p));
    CTT_TRY(ctt_pack_read(p, 0, &f));
out:
    ctt_frames_free(&f);
    ctt_pack_close(&p);
    return rc;
}

/* Every k-th allocation fails, while writing and while reading. */
static void test_memory(void)
{
    const char *path = clip_path("m.pack");
    struct ctt_frames f;
    int rc, k;
    long live;

    fill(1, &f);
    live = ctt_live_blocks();
    for (int reading = 0; reading < 2; reading++) {
        for (k = 0, rc = CTT_ENOMEM; rc == CTT_ENOMEM && k < 500;) {
            ctt_fail_alloc(++k);
            rc = reading ? read_one(path) : write_one(path, &f);
            ctt_fail_alloc(0);
            CU_ASSERT_EQUAL(ctt_live_blocks(), live);
            CU_ASSERT(reading || rc == 0 || access(path, F_OK) == -1);
        }
        CU_ASSERT_EQUAL(rc, 0);
        CU_ASSERT(k > 10);
    }
    ctt_frames_free(&f);
}

/* An unfinished pack is closed even if there is no memory left. */
static void test_abandon(void)
{
    struct ctt_input in = input();
    struct ctt_pack *p = NULL;

    CHECK_OK(ctt_pack_create(clip_path("u.pack"), &in, labels, 3, &p));
    CU_ASSERT_EQUAL(H5Fget_obj_count(H5F_OBJ_ALL, H5F_OBJ_FILE), 1);
    ctt_fail_alloc(1);
    ctt_pack_close(&p);
    ctt_fail_alloc(0);
    CU_ASSERT_EQUAL(H5Fget_obj_count(H5F_OBJ_ALL, H5F_OBJ_FILE), 0);
    CU_ASSERT(access(clip_path("u.pack"), F_OK) == -1);
}

/* ---- clips in two sets ---- */

enum { SUMS = 3000 };

/* Against a search through all pairs; 0 is never found. */
static void test_shared(void)
{
    static uint64_t a[SUMS], b[SUMS];
    int want = 0, first = -1, i = -1, k = -1;

    for (int j = 0; j < SUMS; j++) {
        a[j] = (uint64_t)j * 7 % 1000 << (j % 3 ? 40 : 0);
        b[j] = (uint64_t)j * 11 % 1500 << (j % 2 ? 40 : 0);
    }
    for (int j = 0; j < SUMS; j++) {
        int at = 0;
        while (at < SUMS && (a[at] != b[j] || !b[j]))
            at++;
        want += at < SUMS;
        if (at < SUMS && first < 0)
            first = j;
    }
    CU_ASSERT(want > 100 && want < SUMS);
    CU_ASSERT_EQUAL(ctt_sums_shared(a, SUMS, b, SUMS, &i, &k), want);
    CU_ASSERT_EQUAL(k, first);
    CU_ASSERT(i >= 0 && a[i] == b[k]);
    CU_ASSERT_EQUAL(ctt_sums_shared(a, 0, b, SUMS, &i, &k), 0);
    CU_ASSERT_EQUAL(ctt_sums_shared(a, SUMS, b, 0, &i, &k), 0);
}

/* One byte, or another number of frames, is another clip. */
static void test_frames_sum(void)
{
    struct ctt_frames f, g;
    uint64_t sum;

    fill(1, &f);
    fill(1, &g);
    sum = ctt_frames_sum(&f);
    CU_ASSERT(sum != 0 && sum == ctt_frames_sum(&g));
    g.data[g.count * g.h * g.w * g.c - 1] ^= 1;
    CU_ASSERT(sum != ctt_frames_sum(&g));
    f.count--;
    CU_ASSERT(sum != ctt_frames_sum(&f));
    f.count++;
    ctt_frames_free(&f);
    ctt_frames_free(&g);
}

/* ---- several readers ---- */

static void *read_all(void *pack)
{
    const struct ctt_pack *p = pack;
    size_t wrong = 0;
    int rc;

    for (int k = 0; k < 40; k++)
        for (int i = 0; i < CLIPS; i++)
            wrong += !is_same(p, (i + k) % CLIPS, &rc);
    return (void *)wrong;
}

static void test_threads(void)
{
    struct ctt_pack *p = NULL;
    pthread_t thread[4];
    void *wrong;

    CHECK_OK(ctt_pack_open(clip_path("a.pack"), &p));
    for (int i = 0; i < 4; i++)
        CU_ASSERT_EQUAL_FATAL(pthread_create(&thread[i], NULL, read_all, p),
                              0);
    for (int i = 0; i < 4; i++) {
        pthread_join(thread[i], &wrong);
        CU_ASSERT_PTR_NULL(wrong);
    }
    ctt_pack_close(&p);
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "round trip", test_round_trip }, { "HDF5", test_hdf5 },
        { "same bytes", test_same_bytes },
        { "refused", test_refused }, { "damage", test_damage },
        { "bits", test_bits },
        { "full disk", test_full }, { "clips in two sets", test_shared },
        { "sums of frames", test_frames_sum },
        { "two writers", test_two }, { "changed bytes", test_changed },
        { "memory", test_memory }, { "abandoned", test_abandon },
        { "threads", test_threads }, { NULL, NULL } };
    static CU_SuiteInfo suites[] = {
        { "pack", NULL, NULL, NULL, NULL, tests },
        { NULL, NULL, NULL, NULL, NULL, NULL } };
    int rc = ctt_check_main(suites);

    clip_clean();
    return rc;
}
