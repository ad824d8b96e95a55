/* SPDX-License-Identifier: Apache-2.0
 * ffmpeg.h: the files that call FFmpeg, decode.c, demux.c and save.c, as a
 * module (base/module.h): functions it provides to the program, and functions
 * of the program that it calls.  A row is result, name, parameters, arguments.
 */
#ifndef CTT_FFMPEG_H
#define CTT_FFMPEG_H

#include "base/limits.h"
#include "base/newfile.h"
#include "video/disk.h"
#include "video/part.h"
#include "video/pictures.h"
#include "video/save.h"
#include "video/stamps.h"
#include "video/live/stream.h"
#include "video/video.h"

/* The functions of video.h and save.h that FFmpeg implements.  OPENS load the
 * module, as every use begins with one; path names a clip or an output. */
#define CTT_FFMPEG_OPENS(X)                                                 \
    X(int, ctt_video_open, (const char *path, struct ctt_video **out),      \
      (path, out))                                                          \
    X(int, ctt_video_stream, (const char *path,                             \
                              const struct ctt_stream *how,                 \
                              struct ctt_video **out), (path, how, out))    \
    X(int, ctt_png_encode, (const char *path, const uint8_t *data, int w,   \
                            int h, int c, uint8_t **png, int64_t *size),    \
      (path, data, w, h, c, png, size))                                     \
    X(int, ctt_saver_open, (const char *path, enum ctt_save_kind kind,      \
                            int w, int h, double fps,                       \
                            struct ctt_saver **out),                        \
      (path, kind, w, h, fps, out))
#define CTT_FFMPEG_TELLS(X)                                                 \
    X(int, ctt_video_timeless, (const struct ctt_video *v), (v))            \
    X(float, ctt_video_fps, (const struct ctt_video *v), (v))               \
    X(int, ctt_video_ahead, (struct ctt_video *v, double *t), (v, t))       \
    X(int64_t, ctt_video_stated, (const struct ctt_video *v), (v))          \
    X(int64_t, ctt_video_seen, (const struct ctt_video *v), (v))            \
    X(int, ctt_video_scale, (struct ctt_video *v, int w, int h,             \
                             enum ctt_colour to, uint8_t *data,             \
                             int stride), (v, w, h, to, data, stride))      \
    X(int, ctt_saver_frame, (struct ctt_saver *s, const uint8_t *rgb),      \
      (s, rgb))                                                             \
    X(int, ctt_saver_hold, (struct ctt_saver *s, int frames), (s, frames))  \
    X(int, ctt_saver_finish, (struct ctt_saver **s), (s))
#define CTT_FFMPEG_DOES(X)                                                  \
    X(void, ctt_video_step, (struct ctt_video *v), (v))                     \
    X(void, ctt_video_told, (const struct ctt_video *v,                     \
                             struct ctt_stream_told *out), (v, out))        \
    X(void, ctt_video_size, (const struct ctt_video *v, int *w, int *h,     \
                             int *turns), (v, w, h, turns))

/* Functions of the program, besides struct ctt_host. */
#define CTT_FFMPEG_BORROWS(X)                                               \
    X(const struct ctt_limits *, ctt_limits, (void), ())                    \
    X(int64_t, ctt_memory_free, (void), ())                                 \
    X(int, ctt_memory_spare, (size_t size), (size))                         \
    X(int, ctt_stopped, (void), ())                                         \
    X(int, ctt_stamp_doubt, (const struct ctt_stamps *t, double stamp),      \
      (t, stamp))                                                           \
    X(double, ctt_stamp_time, (struct ctt_stamps *t, double stamp,           \
                               double later, int restarts),                 \
      (t, stamp, later, restarts))                                          \
    X(char *, ctt_strdup, (const char *s), (s))                             \
    X(int, ctt_file_open, (const char *path, int *fd, int64_t *size),       \
      (path, fd, size))                                                     \
    X(int, ctt_file_read_at, (const char *path, int fd, int64_t at,         \
                              void *to, int64_t n), (path, fd, at, to, n))  \
    X(int, ctt_file_replace, (const char *path, const void *p, int64_t n),  \
      (path, p, n))                                                         \
    X(int, ctt_newfile_open, (const char *path, struct ctt_newfile **out),  \
      (path, out))                                                          \
    X(int, ctt_newfile_write, (struct ctt_newfile *f, const void *p,        \
                               int64_t n), (f, p, n))                       \
    X(int, ctt_newfile_finish, (struct ctt_newfile **f), (f))               \
    X(const char *, ctt_path_ending, (const char *path), (path))            \
    X(int, ctt_part_of, (const char *path, char **file,                     \
                         struct ctt_part *out), (path, file, out))          \
    X(int, ctt_pictures_find, (const char *path, struct ctt_pictures *out), \
      (path, out))                                                          \
    X(int, ctt_pictures_pattern, (const char *path,                         \
                                  struct ctt_pictures *out, double *fps),   \
      (path, out, fps))                                                     \
    X(int, ctt_pictures_name, (const struct ctt_pictures *p, int i,         \
                               char **out), (p, i, out))

#define CTT_FFMPEG_MEMBER(type, name, takes, args) type (*name) takes;
struct ctt_ffmpeg {
    CTT_FFMPEG_OPENS(CTT_FFMPEG_MEMBER)
    CTT_FFMPEG_TELLS(CTT_FFMPEG_MEMBER)
    CTT_FFMPEG_DOES(CTT_FFMPEG_MEMBER)
    int  (*ctt_saver_can)(const char *path);
    void (*ctt_video_close)(struct ctt_video **v);
    void (*ctt_saver_close)(struct ctt_saver **s);
};
struct ctt_ffmpeg_host {
    CTT_FFMPEG_BORROWS(CTT_FFMPEG_MEMBER)
    void (*ctt_pictures_clear)(struct ctt_pictures *p);
    void (*ctt_newfile_drop)(struct ctt_newfile **f);
};

/* A row as an initialiser of its member. */
#define CTT_FFMPEG_VALUE(type, name, takes, args) .name = name,

#endif
