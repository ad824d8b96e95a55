/* SPDX-License-Identifier: Apache-2.0
 * ffmpeg_open.c: the symbol that the program loads FFmpeg's module by, and the
 * functions that the module borrows. */
#include "video/ffmpeg.h"
#include "base/module.h"

static struct ctt_ffmpeg_host host;

#define BORROW(type, name, takes, args) \
    type name takes                     \
    {                                   \
        return host.name args;          \
    }
CTT_FFMPEG_BORROWS(BORROW)

void ctt_pictures_clear(struct ctt_pictures *p)
{
    host.ctt_pictures_clear(p);
}

void ctt_newfile_drop(struct ctt_newfile **f)
{
    host.ctt_newfile_drop(f);
}

/* The module's other names are hidden. */
__attribute__((visibility("default"))) ctt_module_get ctt_module_ffmpeg;
const void *ctt_module_ffmpeg(const struct ctt_host *h)
{
    static const struct ctt_ffmpeg gives = {
        CTT_FFMPEG_OPENS(CTT_FFMPEG_VALUE)
        CTT_FFMPEG_TELLS(CTT_FFMPEG_VALUE)
        CTT_FFMPEG_DOES(CTT_FFMPEG_VALUE)
        .ctt_saver_can = ctt_saver_can,
        .ctt_video_close = ctt_video_close,
        .ctt_saver_close = ctt_saver_close,
    };

    if (h->version != CTT_MODULE_VERSION)
        return NULL;
    ctt_host_set(h);
    host = *(const struct ctt_ffmpeg_host *)h->more;
    return &gives;
}
