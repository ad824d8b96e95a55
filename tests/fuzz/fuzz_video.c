/* SPDX-License-Identifier: Apache-2.0
 * fuzz_video.c: any bytes are an error in one line or a clip whose frames can
 * be read and resized within the limits, the same when they are read again.  An
 * input is a file; one that begins with a part, "%NAME", is the files of a
 * folder, of which "%!open NAME" is opened, and with "%!range FIRST+COUNT" a
 * range of its pictures. */
#include "tests/fuzz/fuzz.h"
#include "tests/lib/clip.h"
#include "video/save.h"
#include "video/video.h"

#include <ctype.h>
#include <string.h>
#include <sys/stat.h>

enum { PARTS = 8, SIDE = 8, MOST = 12 };

const char *const ctt_fuzz_words[] = {
    "#EXTM3U\n", "#EXTINF:10,\n", "#EXT-X-TARGETDURATION:10\n",
    "#EXT-X-ENDLIST\n", "ffconcat version 1.0\n", "file a\n", "file d/a\n",
    "duration 1e9\n", "file:///etc/passwd\n", "concat:a|a\n", "p%03d.jpg",
    "\x1a\x45\xdf\xa3", "ftyp", "moov", "mdat", "trak", "stsz", "stts", "mvhd",
    "tkhd", "elst", "RIFF", "AVI LIST", "idx1", "movi", "\x89PNG\r\n\x1a\n",
    "IHDR", "IDAT", "acTL", "fcTL", "GIF89a", "YUV4MPEG2 W8 H8 F12:1 C420\n",
    "FRAME\n", "\n%1.png\n", "\n%2.png\n", "\n%!open a\n", "\n%a\n",
    "\n%!range 0+2\n", "DURATION", "00:00:01.666000000",
    "\xff\xff\xff\xff", "\x7f\xff\xff\xff", "\x80\0", NULL
};

/* ---- checks ---- */

static const struct ctt_input inputs[] = {
    { 1, SIDE, SIDE, 3, 12, { 0 }, { 1, 1, 1 }, 1.25f, CTT_FIT_CROP, CTT_RGB },
    { 1, SIDE, 5, 1, 0, { 0 }, { 1, 1, 1 }, 1, CTT_FIT_PAD, CTT_GRAY },
};

/* An error names the path, of a range of pictures the folder. */
static void check_refused(const char *path)
{
    char file[512];

    snprintf(file, sizeof(file), "%.*s", (int)strcspn(path, "#"), path);
    ctt_fuzz_refused(file);
}

/* Through the reader, all frames that are left. */
static void check_frames(const char *path, const struct ctt_input *in)
{
    struct ctt_frames a = { 0 }, b = { 0 };
    int rc = ctt_frames_load(path, in, MOST, &a), again;

    if (rc < 0) {
        FUZZ_CHECK(!a.data);
        check_refused(path);
        return;
    }
    FUZZ_CHECK(a.count > 0 && a.count <= MOST && a.c == in->c);
    again = ctt_frames_load(path, in, MOST, &b);
    FUZZ_CHECK(again >= 0 && a.count == b.count && a.h == b.h && a.w == b.w);
    ctt_frames_free(&a);
    ctt_frames_free(&b);
}

/* Frame by frame: times never fall. */
static int check_video(const char *path)
{
    static _Alignas(64) uint8_t pixel[SIDE][64];
    struct ctt_video *v = NULL;
    double t = 0, last = 0;
    int rc = ctt_video_open(path, &v), w, h, turns;

    for (int i = 0; rc >= 0 && i < MOST; i++) {
        rc = ctt_video_ahead(v, &t);
        if (rc <= 0)
            break;
        FUZZ_CHECK(t >= last);
        last = t;
        ctt_video_step(v);
        ctt_video_size(v, &w, &h, &turns);
        FUZZ_CHECK(w > 0 && h > 0 && w <= CTT_SIDE_MAX && h <= CTT_SIDE_MAX &&
                   turns >= 0 && turns < 4);
        rc = ctt_video_scale(v, SIDE, SIDE, CTT_RGB, pixel[0], 64);
    }
    if (v)
        FUZZ_CHECK(ctt_video_fps(v) >= 0);
    if (rc < 0)
        check_refused(path);
    ctt_video_close(&v);
    return rc;
}

/* ---- an input ---- */

static int is_good(const char *name)
{
    for (const char *s = name; *s; s++)
        if (!isalnum((unsigned char)*s) && !strchr("._-", *s))
            return 0;
    return *name && *name != '.';
}

/* Its path, or that of the part of it that is opened. */
static const char *put_folder(const struct ctt_chunk *c, int count)
{
    const struct ctt_chunk *open = ctt_chunk_find(c, count, "!open");
    const struct ctt_chunk *range = ctt_chunk_find(c, count, "!range");
    char name[96];

    ctt_scratch_clear("d");
    mkdir(ctt_scratch("d"), 0777);
    for (int i = 0; i < count; i++) {
        if (!is_good(c[i].name))
            continue;
        snprintf(name, sizeof(name), "d/%.47s", c[i].name);
        ctt_scratch_put(name, c[i].n ? (const void *)c[i].p : "", c[i].n);
    }
    snprintf(name, sizeof(name), "d");
    if (open && is_good(open->words))
        snprintf(name, sizeof(name), "d/%.60s", open->words);
    else if (range)
        snprintf(name, sizeof(name), "d#%.80s", range->words);
    return ctt_scratch(name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ctt_chunk c[PARTS];
    long live = ctt_live_blocks();
    int count = size && *data == '%' ? ctt_chunks(data, size, c, PARTS) : 0;
    char path[512];

    snprintf(path, sizeof(path), "%s", count ? put_folder(c, count) :
             ctt_scratch_put("a.webm", data, size));
    if (check_video(path) >= 0)
        for (size_t i = 0; i < CTT_LEN(inputs); i++)
            check_frames(path, &inputs[i]);
    FUZZ_CHECK(ctt_live_blocks() == live);
    return 0;
}

/* ---- seeds ---- */

static const struct ctt_fuzz_text texts[] = {
    FUZZ_TEXT("#EXTM3U\n#EXT-X-TARGETDURATION:10\n#EXTINF:10,\na.webm\n"),
    FUZZ_TEXT("ffconcat version 1.0\nfile a.webm\nfile a.webm\n"),
    FUZZ_TEXT("%!open b\n\n%b\n#EXTM3U\n#EXTINF:10,\nfile:///etc/passwd\n"),
    FUZZ_TEXT("%p%03d.jpg\nx\n%p001.jpg\ny"),
    FUZZ_TEXT("a text, which FFmpeg would draw as a video\n"),
    FUZZ_TEXT("YUV4MPEG2 W4 H4 F12:1 C420\nFRAME\n"
              "0123456789abcdefABCDEFGHFRAME\n0123456789abcdefABCDEFGH"),
    FUZZ_TEXT("P6 2 2 255 0123456789ab"),
    FUZZ_TEXT("GIF89a\1\0\1\0\x80\0\0\xff\xff\xff\0\0\0!\xf9\4\0\x0a\0\0\0,"
              "\0\0\0\0\1\0\1\0\0\2\2\x44\1\0;"),
};

/* Clips in containers that state their length, or how they are shown; each
 * whole and cut. */
static const struct {
    const char *name;
    struct clip clip;
} clips[] = {
    { "seed.webm", { .codec = "libvpx-vp9" } },
    { "seed.mkv", { .codec = "mpeg4", .sound = 0.2 } },
    { "seed.mp4", { .codec = "mpeg4", .turn = 90 } },
    { "fast.mp4", { .codec = "mpeg4", .how = "movflags=faststart" } },
    { "seed.mov", { .codec = "mjpeg", .pixel = { 4, 3 } } },
    { "seed.avi", { .codec = "mpeg4" } },
    { "seed.flv", { .codec = "flv" } },
};

static size_t clip_seed(int i, int cut, uint8_t *p, size_t room)
{
    const char *path = ctt_scratch(clips[i].name);
    struct clip c = clips[i].clip;
    size_t n;

    if (!clip_can(c.codec))
        return ctt_fuzz_text(texts, 1, 0, p, room);
    c.w = c.h = 16;
    c.frames = 4;
    c.fps = 12;
    FUZZ_CHECK(clip_write(&c, path) >= 0);
    n = ctt_scratch_get(path, p, room);
    return cut ? n * 2 / 3 : n;
}

/* folder: two numbered pictures, 2: of which one is opened. */
static size_t picture_seed(int folder, uint8_t *p, size_t room)
{
    static uint8_t pixel[4 * 4 * 3] = { 200 };
    const char *path = ctt_scratch("seed.png");
    uint8_t png[1024];
    size_t n, at = 0;

    FUZZ_CHECK(ctt_save_png(path, pixel, 4, 4, 3) >= 0);
    n = ctt_scratch_get(path, folder ? png : p, folder ? sizeof(png) : room);
    if (folder == 2)
        at = (size_t)snprintf((char *)p, room, "%%!range 1+1\n\n");
    for (int i = 1; folder && i <= 2; i++) {
        at += (size_t)snprintf((char *)p + at, room - at, "%%%d.png\n", i);
        memcpy(p + at, png, n);
        at += n;
        p[at++] = '\n';
    }
    return folder ? at : n;
}

size_t ctt_fuzz_seed(int i, uint8_t *p, size_t room)
{
    int n = (int)CTT_LEN(texts), more = n + 2 * (int)CTT_LEN(clips);

    if (i < n)
        return ctt_fuzz_text(texts, n, i, p, room);
    if (i < more)
        return clip_seed((i - n) / 2, (i - n) % 2, p, room);
    return i < more + 3 ? picture_seed(i - more, p, room) : 0;
}
