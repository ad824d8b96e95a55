/* SPDX-License-Identifier: Apache-2.0
 * formats.c: which of FFmpeg's formats a clip may have.  FFmpeg finds a format
 * by the content of a file; most of its 340 demuxers are not for the clips that
 * users have, and some open further files or addresses. */
#include "video/formats.h"

#include <string.h>

/* A demuxer with several names ("mov,mp4,m4a") is listed by the first one. */
static const struct group {
    const char *is;       /* kind of file, for messages; NULL: a clip */
    const char *names;
} groups[] = {
    /* Containers. */
    { NULL, "mov matroska avi mpeg mpegts ogg asf asf_o flv live_flv kux rm "
            "nut mxf gxf lxf dv wtv ty nsv nuv pva ivf ivr yuv4mpegpipe" },
    /* Of surveillance, scientific and high-speed cameras. */
    { NULL, "dhav ifv luodat iv8 nc msnwctcp smjpeg cine ser r3d" },
    /* Streams of a codec without a container. */
    { NULL, "h261 h263 h264 hevc vvc evc av1 obu m4v mpegvideo mjpeg "
            "mjpeg_2000 vc1 vc1test dirac dnxhd cavsvideo avs2 avs3 apv" },
    /* Cameras over HTTP: one JPEG after the other. */
    { NULL, "mpjpeg" },
    /* Pictures, animated ones too. */
    { NULL, "gif apng webp_anim jpegxl_anim bmp_pipe dds_pipe dpx_pipe "
            "exr_pipe gif_pipe hdr_pipe j2k_pipe jpeg_pipe jpegls_pipe "
            "jpegxl_pipe pam_pipe pbm_pipe pcx_pipe pfm_pipe pgm_pipe "
            "pgmyuv_pipe phm_pipe png_pipe ppm_pipe psd_pipe qoi_pipe sgi_pipe "
            "sunrast_pipe tiff_pipe webp_pipe" },
    /* Names of other files or addresses, perhaps in an endless loop. */
    { "a playlist", "hls applehttp dash webm_dash_manifest concat concatf imf "
                    "sdp rtsp rtp sap" },
    /* A series of files, by a pattern or as layers. */
    { "a pattern of pictures", "image2 image2pipe alias_pix brender_pix" },
    /* FFmpeg draws texts as videos; subtitles have no pictures. */
    { "a text", "tty bin xbin adf idf ffmetadata aqtitle ass jacosub lrc mcc "
                "microdvd mpl2 mpsub pjs realtext sami sbg scc srt stl "
                "subviewer subviewer1 tedcaptions vobsub vplayer webvtt "
                "svg_pipe xbm_pipe xpm_pipe" },
    { "a sound", "wav w64 mp3 flac aac ac3 eac3 aiff au caf dts mp2 ape wv tta "
                 "amr voc mpc mpc8 tak truehd libgme libopenmpt" },
};

/* The first word of a demuxer's name is one of these words. */
static int is_one_of(const char *name, const char *words)
{
    size_t n = strcspn(name, ","), m;

    for (; *words; words += m + strspn(words + m, " ")) {
        m = strcspn(words, " ");
        if (m == n && strncmp(name, words, n) == 0)
            return 1;
    }
    return 0;
}

int ctt_format_check(const char *name, const char *path)
{
    for (size_t i = 0; i < CTT_LEN(groups); i++) {
        if (!is_one_of(name, groups[i].names))
            continue;
        return groups[i].is ? ctt_error(CTT_EFORMAT, "%s: %s (%s), not a "
                                        "video", path, groups[i].is, name) : 0;
    }
    return ctt_error(CTT_EFORMAT, "%s: cannot be opened as a video: its format "
                     "(%s) is not one of those read", path, name);
}

/* Whole lines are usual, but the first bytes may end within a character. */
static int is_text(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)s[i] < ' ' && (!s[i] || !strchr("\t\n\r\f", s[i])))
            return 0;
    return n > 0;
}

static int starts(const char *s, size_t n, const char *with)
{
    return n >= strlen(with) && memcmp(s, with, strlen(with)) == 0;
}

int ctt_format_unknown(const char *start, size_t n, const char *path)
{
    const char *why = "cannot be opened as a video: its format is not known";

    if (n == 0)
        why = "cannot be opened as a video: an empty file";
    else if (is_text(start, n))
        why = starts(start, n, "#EXTM3U") ? "a playlist (m3u), not a video" :
              starts(start, n, "ffconcat") ?
              "a playlist (concat), not a video" : "a text, not a video";
    return ctt_error(CTT_EFORMAT, "%s: %s", path, why);
}

int ctt_format_is_picture(const char *name)
{
    size_t n = strlen(name), m = strlen("_pipe");

    return n > m && strcmp(name + n - m, "_pipe") == 0;
}

int ctt_format_is_timed(const char *name)
{
    return is_one_of(name, "matroska avi flv");
}

int ctt_format_enters(const char *name)
{
    return is_one_of(name, "mov matroska");
}
