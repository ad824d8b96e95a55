/* SPDX-License-Identifier: Apache-2.0
 * test_video_errors.c: what is not a clip, damaged clips, no memory. */
#include "tests/lib/check.h"
#include "tests/lib/clip.h"
#include "video/video.h"

#include <stdio.h>
#include <string.h>

static void refuse(const char *path, const char *says)
{
    struct ctt_input in = clip_input(8, 6, 12);
    struct ctt_frames f = { 0 };
    int rc = ctt_frames_load(path, &in, 0, &f);

    CU_ASSERT(rc < 0);
    CU_ASSERT_PTR_NULL(f.data);
    if (!strstr(ctt_errmsg(), path) || !strstr(ctt_errmsg(), says)) {
        printf("\n    '%s' does not say '%s'", ctt_errmsg(), says);
        CU_FAIL("message");
    }
    ctt_frames_free(&f);
}

static void test_no_clip(void)
{
    /* A WAV file's head: PCM, mono, 8000 Hz, 8 bits, 64 samples. */
    static const char wav[44 + 64] = "RIFF\x64\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0"
        "\x40\x1f\0\0\x40\x1f\0\0\1\0\x08\0data\x40\0\0";
    char noise[5000], words[600];

    for (size_t i = 0; i < sizeof(noise); i++)
        noise[i] = (char)(i * i * 31 + i / 7);
    clip_file("empty.mp4", "", 0);
    clip_file("noise.mp4", noise, sizeof(noise));
    clip_file("page.webm", "<html>404 not found</html>\n", 27);
    for (size_t i = 0; i < sizeof(words); i++)
        words[i] = i % 6 ? 'a' : ' ';
    clip_file("words.txt", words, sizeof(words));
    clip_file("sound.wav", wav, sizeof(wav));
    refuse(clip_path("missing.mp4"), "No such file");
    refuse(clip_path("empty.mp4"), "cannot be opened as a video");
    refuse(clip_path("noise.mp4"), "cannot be opened as a video");
    refuse(clip_path("page.webm"), "a text, not a video");
    refuse(clip_path("words.txt"), "a text, not a video");
    refuse(clip_path("sound.wav"), "a sound (wav), not a video");
}

/* An animated GIF is a clip of two frames; a WebP is one, or is said to be
 * animated, as FFmpeg has it; an MP4 of a shop is encrypted. */
static void test_special(void)
{
    static const uint8_t gif[] = "GIF89a\1\0\1\0\x80\0\0\0\0\0\xff\xff\xff"
        "\x21\xf9\4\0\x0a\0\0\0\x2c\0\0\0\0\1\0\1\0\0\2\2\x44\1\0"
        "\x21\xf9\4\0\x0a\0\0\0\x2c\0\0\0\0\1\0\1\0\0\2\2\x44\1\0\x3b";
    static const char webp[] = "RIFF\x30\0\0\0WEBPVP8X\x0a\0\0\0\2\0\0\0"
        "\x0f\0\0\x0f\0\0" "ANIM\6\0\0\0\0\0\0\0\0\0" "ANMF\0\0\0\0";
    const char *path = clip_path("drm.mp4"), *key =
        "00112233445566778899aabbccddeeff";
    struct ctt_input in = clip_input(8, 6, 0);
    struct ctt_frames f = { 0 };
    char how[160];

    clip_file("two.gif", gif, sizeof(gif) - 1);
    CHECK_OK(ctt_frames_load(clip_path("two.gif"), &in, 0, &f));
    CU_ASSERT_EQUAL(f.count, 2);
    ctt_frames_free(&f);
    clip_file("anim.webp", webp, sizeof(webp) - 1);
    refuse(clip_path("anim.webp"), "");
    CU_ASSERT(strstr(ctt_errmsg(), "an animated WebP") ||
              !strstr(ctt_errmsg(), "0x0"));
    snprintf(how, sizeof(how), "encryption_scheme=cenc-aes-ctr:"
             "encryption_key=%s:encryption_kid=%s", key, key);
    CHECK_OK(clip_write(&(struct clip){ .w = 48, .h = 32, .frames = 5,
                        .codec = "mpeg4", .fps = 12, .how = how }, path));
    refuse(path, "is encrypted (DRM): only a decrypted copy can be read");
}

static void test_input(void)
{
    const char *path = clip_steady("input.mkv", 3, 12);
    struct ctt_input bad[4];
    struct ctt_frames f = { 0 };

    for (int i = 0; i < 4; i++)
        bad[i] = clip_input(8, 6, 12);
    bad[0].w = 0;
    bad[1].h = CTT_SIDE_MAX + 1;
    bad[2].c = 4;
    bad[3].fps = -1;
    for (int i = 0; i < 4; i++)
        CU_ASSERT_EQUAL(ctt_frames_load(path, &bad[i], 0, &f), CTT_EINVAL);
}

/* Loads what may be damaged: frames, or an error that names it. */
static int try_load(const char *path, int most)
{
    struct ctt_input in = clip_input(8, 6, 0);
    struct ctt_frames f = { 0 };
    int rc = ctt_frames_load(path, &in, 0, &f);

    CU_ASSERT(rc < 0 || (f.count > 0 && f.count <= most));
    CU_ASSERT(rc == 0 || strstr(ctt_errmsg(), path));
    ctt_frames_free(&f);
    return rc;
}

static void test_damage(void)
{
    static const char *const codec[][2] = { { "mpeg4", "mp4" },
        { "libvpx-vp9", "webm" }, { "ffv1", "mkv" }, { "mpeg4", "avi" } };
    const char *bad = clip_path("damaged");
    long live = ctt_live_blocks();
    uint32_t random = 1;

    for (size_t c = 0; c < CTT_LEN(codec); c++) {
        const char *path = clip_path("whole.%s", codec[c][1]);
        int refused = 0;
        size_t n;
        uint8_t *p;
        if (!clip_can(codec[c][0]))
            continue;
        CHECK_OK(clip_write(&(struct clip){ .w = 48, .h = 32, .frames = 20,
                            .codec = codec[c][0], .fps = 12 }, path));
        p = clip_bytes(path, &n);
        for (int i = 0; i < 40; i++) {
            clip_file("damaged", p, n * (size_t)i / 40);
            refused += try_load(bad, 20) < 0;
        }
        CU_ASSERT(refused > 0);
        for (int i = 0; i < 60; i++) {
            size_t k = (random = random * 1664525 + 1013904223) % n;
            uint8_t was = p[k];
            p[k] ^= (uint8_t)(1 + (random >> 24) % 255);
            clip_file("damaged", p, n);
            try_load(bad, 1 << 20);
            p[k] = was;
        }
        ctt_free(p);
    }
    CU_ASSERT_EQUAL(ctt_live_blocks(), live);
}

/* Every k-th allocation fails. */
static void test_memory(void)
{
    const char *path = clip_steady("memory.mkv", 40, 12);
    struct ctt_input in = clip_input(8, 6, 12);
    struct ctt_frames f = { 0 };
    long live = ctt_live_blocks();
    int rc = CTT_ENOMEM, k = 0;

    while (rc == CTT_ENOMEM && k < 100) {
        ctt_fail_alloc(++k);
        rc = ctt_frames_load(path, &in, 0, &f);
        ctt_fail_alloc(0);
        CU_ASSERT_EQUAL(ctt_live_blocks(), live + (rc == 0));
    }
    CU_ASSERT_EQUAL(rc, 0);
    CU_ASSERT(k > 5);
    CU_ASSERT_EQUAL(f.count, 40);
    ctt_frames_free(&f);
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "no clips", test_no_clip }, { "special", test_special },
        { "bad input", test_input }, { "damage", test_damage },
        { "memory", test_memory },
        { NULL, NULL } };
    static CU_SuiteInfo suites[] = {
        { "errors", NULL, NULL, NULL, NULL, tests },
        { NULL, NULL, NULL, NULL, NULL, NULL } };
    int rc = ctt_check_main(suites);

    clip_clean();
    return rc;
}
