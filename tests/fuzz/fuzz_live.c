/* SPDX-License-Identifier: Apache-2.0
 * fuzz_live.c: any bytes, from a file or from a pipe, are an error in one line
 * or a stream whose frames add up and whose times never fall; damage in the
 * middle is left out.  A first line "!TEXT" makes the rest raw frames of the
 * form TEXT. */
#include "tests/fuzz/fuzz.h"
#include "tests/lib/clip.h"
#include "video/live/live.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* PIPE: bytes that a pipe of any system holds. */
enum { SIDE = 8, MOST = 200, PIPE = 4096 };

const char *const ctt_fuzz_words[] = {
    "!4x4xgray@25\n", "!2x2xrgb24@30\n", "!4x4xyuv420p@1000\n",
    "!16384x16384xbgr24@0.001\n", "@", "x", "\n", "\x1a\x45\xdf\xa3",
    "\x47\x40", "RIFF", "AVI LIST", "movi", "idx1", "\x1f\x43\xb6\x75",
    "\xff\xd8\xff", "\xff\xd9", "YUV4MPEG2 W8 H8 F12:1 C420\n", "FRAME\n",
    "#EXTM3U\n", "ffconcat version 1.0\nfile a\n", "\1\xb3", "\1\xb6",
    NULL
};

static const struct ctt_input in = { 1, SIDE, SIDE, 3, 12, { 0 }, { 1, 1, 1 },
                                     1.25f, CTT_FIT_CROP, CTT_RGB };

static void check_counts(const struct ctt_live_counts *c)
{
    FUZZ_CHECK(c->decoded == c->between + c->dropped + c->taken);
    FUZZ_CHECK(c->waiting >= 0 && c->waiting <= CTT_LIVE_QUEUE + 2);
    FUZZ_CHECK(c->dropped == 0 && c->taken <= c->steps && c->damaged >= 0);
}

/* Steps that came, or a negative error. */
static int count_frames(const struct ctt_live_set *set, const char *name)
{
    struct ctt_live_counts counts;
    struct ctt_live_frame f;
    struct ctt_live *l = NULL;
    double last = -1e9;
    int rc = ctt_live_open(set, &in, &l), n = 0;

    while (rc >= 0 && n < MOST && (rc = ctt_live_next(l, &f)) > 0) {
        FUZZ_CHECK(f.h == SIDE && f.w == SIDE && f.c == 3);
        FUZZ_CHECK(f.time >= last && f.skipped >= 0 && f.step >= 0);
        FUZZ_CHECK((f.fresh == CTT_FRESH_START) == (n == 0));
        FUZZ_CHECK(f.picture && f.picture_h > 0 && f.picture_w > 0);
        last = f.time;
        ctt_live_counts(l, &counts);
        check_counts(&counts);
        n++;
    }
    if (rc < 0) {
        FUZZ_CHECK(!strchr(ctt_errmsg(), '\n'));
        FUZZ_CHECK(strncmp(ctt_errmsg(), name, strlen(name)) == 0 ||
                   (!l && strncmp(ctt_errmsg(), "raw frames: ", 12) == 0));
    }
    ctt_live_close(&l);
    return rc < 0 ? rc : n;
}

/* Reads the same bytes through a pipe, up to its capacity. */
static void take_pipe(struct ctt_live_set set, const uint8_t *data, size_t n)
{
    int end[2], keep = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
    ssize_t put;

    FUZZ_CHECK(pipe(end) == 0);
    put = write(end[1], data, n < PIPE ? n : PIPE);
    FUZZ_CHECK(put == (ssize_t)(n < PIPE ? n : PIPE));
    close(end[1]);
    dup2(end[0], STDIN_FILENO);
    close(end[0]);
    set.source = "-";
    count_frames(&set, "standard input");
    close(STDIN_FILENO);
    if (keep >= 0) {
        dup2(keep, STDIN_FILENO);
        close(keep);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ctt_live_set set = { .timeout = 5, .want_picture = 1, .cut = 0.1,
                                .reset_after = 1 };
    const uint8_t *line = size ? memchr(data, '\n', size) : NULL;
    long live = ctt_live_blocks();
    char raw[64] = "", path[512];
    int n;

    if (line && *data == '!' && line - data < (int)sizeof(raw)) {
        memcpy(raw, data + 1, (size_t)(line - data) - 1);
        set.raw = raw;
        size -= (size_t)(line + 1 - data);
        data = line + 1;
    }
    snprintf(path, sizeof(path), "%s", ctt_scratch_put("a.live", data, size));
    set.source = path;
    n = count_frames(&set, path);
    FUZZ_CHECK(count_frames(&set, path) == n);
    take_pipe(set, data, size);
    FUZZ_CHECK(ctt_live_blocks() == live);
    return 0;
}

/* ---- seeds ---- */

static const struct ctt_fuzz_text texts[] = {
    FUZZ_TEXT("!2x2xgray@12\nabcdefghijklmnop"),
    FUZZ_TEXT("!2x1xrgb24@25\nabcdefghijklmnopqrstuvwxyz"),
    FUZZ_TEXT("!2x2xyuv420p@12\nabcdefghijklmnopqrstuvwx"),
    FUZZ_TEXT("YUV4MPEG2 W4 H4 F12:1 C420\nFRAME\n"
              "0123456789abcdefABCDEFGHFRAME\n0123456789abcdefABCDEFGH"),
};

/* Small clips, each whole and with a hole. */
static const struct { const char *name, *codec; } clips[] = {
    { "seed.ts", "mpeg2video" }, { "seed.mkv", "ffv1" },
    { "seed.avi", "mjpeg" }, { "seed.mjpeg", "mjpeg" },
    { "seed.webm", "libvpx-vp9" }, { "seed.mp4", "mpeg4" },
};

static size_t clip_seed(int i, int hole, uint8_t *p, size_t room)
{
    const char *path = ctt_scratch(clips[i].name);
    struct clip c = { .w = 16, .h = 16, .frames = 6, .fps = 12,
                      .codec = clips[i].codec, .key = 1 };
    size_t n;

    if (!clip_can(c.codec))
        return ctt_fuzz_text(texts, 1, 0, p, room);
    FUZZ_CHECK(clip_write(&c, path) >= 0);
    n = ctt_scratch_get(path, p, room);
    if (hole)
        memset(p + n / 2, 0, n / 8);
    return n;
}

size_t ctt_fuzz_seed(int i, uint8_t *p, size_t room)
{
    int n = 2 * (int)CTT_LEN(clips);

    if (i < n)
        return clip_seed(i / 2, i % 2, p, room);
    return ctt_fuzz_text(texts, CTT_LEN(texts), i - n, p, room);
}
