/* SPDX-License-Identifier: Apache-2.0
 * ffmpeg.c: in the program, the functions that FFmpeg does: the first one that
 * is called loads the module. */
#include "video/ffmpeg.h"
#include "base/module.h"

#include <stdatomic.h>

static const struct ctt_ffmpeg_host host = {
    CTT_FFMPEG_BORROWS(CTT_FFMPEG_VALUE)
    .ctt_pictures_clear = ctt_pictures_clear,
    .ctt_newfile_drop = ctt_newfile_drop,
};

static _Atomic(const struct ctt_ffmpeg *) module;

static int need(const char *path)
{
    const void *what;
    int rc = 0;

    if (atomic_load(&module))
        goto out;
    rc = ctt_module_load("ffmpeg", &host, &what);
    if (rc < 0)
        CTT_TRY(ctt_error(rc, "%s: %s", path, ctt_errmsg()));
    atomic_store(&module, (const struct ctt_ffmpeg *)what);
out:
    return rc;
}

#define OPEN(type, name, takes, args)                  \
    type name takes                                    \
    {                                                  \
        int rc = need(path);                           \
                                                       \
        return rc < 0 ? rc : atomic_load(&module)->name args; \
    }
#define TELL(type, name, takes, args)                  \
    type name takes                                    \
    {                                                  \
        return atomic_load(&module)->name args;        \
    }
#define DO(type, name, takes, args)                    \
    type name takes                                    \
    {                                                  \
        atomic_load(&module)->name args;               \
    }
CTT_FFMPEG_OPENS(OPEN)
CTT_FFMPEG_TELLS(TELL)
CTT_FFMPEG_DOES(DO)

int ctt_saver_can(const char *path)
{
    return need(path) >= 0 && atomic_load(&module)->ctt_saver_can(path);
}

void ctt_video_close(struct ctt_video **v)
{
    if (*v)
        atomic_load(&module)->ctt_video_close(v);
}

void ctt_saver_close(struct ctt_saver **s)
{
    if (*s)
        atomic_load(&module)->ctt_saver_close(s);
}
