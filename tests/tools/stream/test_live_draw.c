/* SPDX-License-Identifier: Apache-2.0
 * test_live_draw.c: how much of a picture the answers cover that --draw writes
 * on it. */
#include "tests/lib/check.h"
#include "tests/lib/clip.h"
#include "tools/shared/picture.h"
#include "tools/stream/stream_tool.h"
#include "video/save.h"
#include "video/video.h"

#include <string.h>

enum { CLASSES = 40, FRAMES = 2 };

static char *names[CLASSES];
static float probs[CLASSES];
static int   order[CLASSES];

static int draw(const char *path, int w, int h, int top)
{
    uint8_t *white = ctt_calloc((size_t)w * (size_t)h, 3);
    struct ctt_drawn p = { .picture = white, .h = h, .w = w, .name = names,
                           .probs = probs, .order = order, .top = top };
    struct ctt_drawer *d = NULL;
    int rc = white ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    memset(white, 255, (size_t)w * (size_t)h * 3);
    CTT_TRY(ctt_drawer_open(path, 25, &d));
    for (int i = 0; i < FRAMES; i++)
        CTT_TRY(ctt_drawer_put(d, &p));
    CTT_TRY(ctt_drawer_finish(&d));
out:
    ctt_drawer_close(&d);
    ctt_free(white);
    return rc;
}

/* Rows that are dark at the right, from the lowest one on. */
static int covered(int w, int h, int top, int page_w, int page_h)
{
    const char *path = clip_path("drawn.mp4");
    struct ctt_input in = clip_input(page_w, page_h, 0);
    struct ctt_frames f = { 0 };
    int n = 0;

    CHECK_OK(draw(path, w, h, top));
    CHECK_OK(ctt_frames_load(path, &in, 0, &f));
    CU_ASSERT_EQUAL(f.count, FRAMES);
    for (const uint8_t *row = f.data; row && n < page_h; n++)
        if (row[((page_h - 1 - n) * page_w + page_w - 2) * 3] > 180)
            break;
    ctt_frames_free(&f);
    return n;
}

/* A row of a codec may be a bit darker or brighter than it was. */
static void check(int got, int want)
{
    CU_ASSERT(got >= want - 1 && got <= want + 1);
    if (got < want - 1 || got > want + 1)
        printf("\n    %d rows, not %d", got, want);
}

static void test_rows(void)
{
    for (int i = 0; i < CLASSES; i++) {
        names[i] = (char *)"i";
        order[i] = i;
    }
    check(covered(320, 240, 0, 320, 240), 0);
    check(covered(320, 240, 3, 320, 240), 3 * CTT_LETTER_H);
    check(covered(320, 240, 40, 320, 240), 6 * CTT_LETTER_H);
    check(covered(640, 480, 3, 640, 480), 3 * 2 * CTT_LETTER_H);
    check(covered(640, 480, 12, 640, 480), 12 * CTT_LETTER_H);
    check(covered(640, 48, 5, 640, 48), CTT_LETTER_H);
    check(covered(64, 48, 1, 320, 240), CTT_LETTER_H);
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "rows", test_rows }, CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = {
        { "draw", NULL, NULL, NULL, NULL, tests }, CU_SUITE_INFO_NULL
    };
    int rc;

    if (!ctt_saver_can("drawn.mp4"))
        return 77;
    rc = ctt_check_main(suites);
    clip_clean();
    return rc;
}
