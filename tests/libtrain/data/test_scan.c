/* SPDX-License-Identifier: Apache-2.0
 * test_scan.c: clips that cannot be read when a set is opened, and those that
 * are others when they are read again. */
#include "tests/lib/allocs.h"
#include "tests/lib/reader.h"
#include "tests/lib/told.h"
#include "tests/lib/toy.h"

#include <fcntl.h>
#include <sys/stat.h>

static void write_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");

    CU_ASSERT_FATAL(f != NULL);
    fputs(text, f);
    CU_ASSERT_EQUAL(fclose(f), 0);
}

static void bad_clips_are_skipped(void)
{
    const struct ctt_synth s = { 12, 24, 1, 1 };
    const struct ctt_events ev = { .clip = on_clip };
    struct ctt_train_cfg cfg = clip_cfg();
    struct ctt_input in = clip_input();
    struct ctt_data *d = NULL;
    char list[512], a[128], b[128];

    snprintf(a, sizeof(a), "%s", clip_path("a.webm"));
    snprintf(b, sizeof(b), "%s", clip_path("set"));
    CHECK_OK(ctt_synth_write(&s, b, NULL, NULL));
    CHECK_OK(ctt_data_open(b, "train", &in, NULL, 0, &cfg, &ev, &d));
    CU_ASSERT(ctt_data_clips(d) > 0 && told == 0);
    snprintf(list, sizeof(list), "%s 0\n%s 1\n%s 1\n",
             d->list->item[0].path, a, d->list->item[1].path);
    ctt_data_close(&d);
    write_file(a, "this is no video");
    write_file(clip_path("list.txt"), list);
    CHECK_OK(ctt_data_open(clip_path("list.txt"), "train", &in, NULL, 0, &cfg,
                           &ev, &d));
    CU_ASSERT_EQUAL(ctt_data_clips(d), 2);
    CU_ASSERT_EQUAL(ctt_data_skipped(d), 1);
    CU_ASSERT_EQUAL(told, 1);
    CU_ASSERT(strstr(last_told, "a.webm") != NULL);
    ctt_data_close(&d);
    cfg.strict = 1;
    CU_ASSERT(ctt_data_open(clip_path("list.txt"), "train", &in, NULL, 0, &cfg,
                            &ev, &d) < 0);
    CU_ASSERT(strstr(ctt_errmsg(), "a.webm") != NULL);
    cfg.strict = 0;
    cfg.min_frames = 1000;
    CU_ASSERT_EQUAL(ctt_data_open(clip_path("list.txt"), "train", &in, NULL, 0,
                                  &cfg, &ev, &d), CTT_EFORMAT);
    CU_ASSERT(strstr(ctt_errmsg(), "no usable clip") != NULL);
}

/* Where memory ends while a clip is read, it is named, and what mends it. */
static void clip_without_memory_is_named(void)
{
    struct ctt_train_cfg cfg = clip_cfg();
    struct ctt_input in = clip_input();
    struct ctt_data *d = NULL;
    int rc = CTT_ENOMEM, named = 0;

    cfg.workers = 1;
    for (int k = 1; rc == CTT_ENOMEM && k < 400; k++) {
        ctt_fail_alloc(k);
        rc = ctt_data_open(clip_path("list.txt"), "train", &in, NULL, 0, &cfg,
                           NULL, &d);
        ctt_fail_alloc(0);
        named += rc == CTT_ENOMEM && strstr(ctt_errmsg(), "webm: out of mem") &&
                 strstr(ctt_errmsg(), "--max-frames");
    }
    CHECK_OK(rc);
    CU_ASSERT(named > 3);
    ctt_data_close(&d);
}

static void short_clips_are_bad_long_ones_cut(void)
{
    const struct ctt_events ev = { .clip = on_clip };
    struct ctt_train_cfg cfg = clip_cfg();
    struct ctt_input in = clip_input();
    struct ctt_data *d = NULL;
    int good = 0;

    cfg.min_frames = 7;
    cfg.max_frames = 9;
    for (int i = 0; i < 30; i++)
        good += clip_length(i) >= 7;
    told = 0;
    CHECK_OK(clips_pack(clip_path("toy.pack"), 0, 30));
    CHECK_OK(ctt_data_open(clip_path("toy.pack"), "train", &in, NULL, 0, &cfg,
                           &ev, &d));
    CU_ASSERT_EQUAL(ctt_data_clips(d), good);
    CU_ASSERT_EQUAL(told, 30 - good);
    CU_ASSERT_EQUAL(d->longest, 9);
    ctt_data_close(&d);
    in.fps = 30;
    CU_ASSERT_EQUAL(ctt_data_open(clip_path("toy.pack"), "train", &in, NULL, 0,
                                  &cfg, &ev, &d), CTT_EINVAL);
}

/* ---- clips that are read again ---- */

static char one[300], two[300], spare[320];

static void clip_goes(void)
{
    CU_ASSERT_EQUAL(rename(one, spare), 0);
}

static void copy_file(const char *from, const char *to)
{
    char line[700];

    snprintf(line, sizeof(line), "cp '%s' '%s'", from, to);
    CU_ASSERT_EQUAL(system(line), 0);
}

static void other_clip_comes(void)
{
    copy_file(one, spare);
    copy_file(two, one);
}

static void clip_is_copied_back(void)
{
    const struct timespec when[2] = { { 1000000000, 0 }, { 1000000000, 0 } };

    copy_file(one, spare);
    CU_ASSERT_EQUAL(utimensat(AT_FDCWD, one, when, 0), 0);
}

/* Opens the clips 0 and 2 of list.txt (1 is bad), whole or as sequences of 4
 * frames, changes the first file, reads them, and puts it back. */
static int read_again(int task, void (*change)(void))
{
    struct ctt_train_cfg cfg = clip_cfg();
    struct ctt_input in = clip_input();
    const struct ctt_augment none = { 0 };
    struct ctt_data *d = NULL;
    struct reader r;
    int rc;

    cfg.cache = 0;
    cfg.max_frames = 6;    /* of equal length */
    cfg.task = task;
    cfg.input_frames = cfg.future_frames = 2;
    CHECK_OK(ctt_data_open(clip_path("list.txt"), "train", &in, NULL, 0, &cfg,
                           NULL, &d));
    CU_ASSERT_FATAL(d->clips >= 2);
    CU_ASSERT_EQUAL(d->clip[0].length, d->clip[d->clips - 1].length);
    snprintf(one, sizeof(one), "%s", d->list->item[0].path);
    snprintf(two, sizeof(two), "%s", d->list->item[2].path);
    snprintf(spare, sizeof(spare), "%s.away", one);
    change();
    CHECK_OK(reader_open(&r, d, 2, "1", 0));
    rc = reader_run(&r, &none);
    reader_close(&r);
    ctt_data_close(&d);
    CU_ASSERT_EQUAL(rename(spare, one), 0);
    return rc;
}

static void ends_naming_it(int task, void (*change)(void), const char *why)
{
    CU_ASSERT(read_again(task, change) < 0);
    CU_ASSERT(strstr(ctt_errmsg(), strrchr(one, '/') + 1) != NULL);
    CU_ASSERT(strstr(ctt_errmsg(), why) != NULL);
    CU_ASSERT(strstr(ctt_errmsg(), "it was read before") != NULL);
}

/* A clip that vanishes after the scan ends the run, which names it; so does
 * another one of equal length in its place. */
static void other_clips_end_it(void)
{
    static const int tasks[] = { CTT_RECOGNISE, CTT_PREDICT };

    for (size_t i = 0; i < CTT_LEN(tasks); i++) {
        ends_naming_it(tasks[i], clip_goes, "");
        ends_naming_it(tasks[i], other_clip_comes, "another file");
        CHECK_OK(read_again(tasks[i], clip_is_copied_back));
    }
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "bad clips are skipped", bad_clips_are_skipped },
        { "a clip without memory", clip_without_memory_is_named },
        { "lengths are limited", short_clips_are_bad_long_ones_cut },
        { "other clips end it", other_clips_end_it },
        CU_TEST_INFO_NULL
    };

    return clips_main("scan", clips_clean, tests);
}
