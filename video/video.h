/* SPDX-License-Identifier: Apache-2.0
 * video.h: what a model sees: clips on disk, listed, decoded, brought to the
 * rate and size that a model's input line asks for. */
#ifndef CTT_VIDEO_H
#define CTT_VIDEO_H

#include "net/graph.h"

/* ---- list*.c: datasets as the field stores them ---- */

struct ctt_item {
    char *path;      /* of the clip, as ctt_video_open takes it */
    char *id;        /* short name for tables: file name without folder */
    int   label;     /* index into the list's labels, or -1: not known */
};

struct ctt_list {
    struct ctt_item *item;
    int              count, room;
    char           **label;    /* class names, in the order of their numbers */
    int              labels;
    int              all, all_labels;    /* counts before a subset was taken */
};

/* Reads the clips at path, by what is there:
 *  - a folder in Something-Something V2's layout: labels.json and split.json
 *    (or something-something-v2-labels.json ...) in it, in its labels/ or
 *    above it, the videos in its 20bn-something-something-v2/, its videos/ or
 *    in it; class = template without brackets; or split.json itself;
 *  - a folder a class: path/split/class/clip or path/class/clip, where the
 *    latter has no split but "train";
 *  - a folder of clips and nothing else (label -1);
 *  - a folder like one of the last two, without splits, in which every clip's
 *    name has personNN_ in it, 01 to 25: KTH (Schuldt and others 2004), of
 *    which "train" is persons 01 to 16, "validation" and "test" 17 to 25;
 *  - a text list of lines "path label", "folder nframes label" or "folder
 *    offset nframes label", or just "path" (label -1), fields parted by space,
 *    tab, comma or semicolon and split at the last one, # comments; paths
 *    relative to the list's folder; labels are names, or numbers from 0, which
 *    are called as their clips' folder if each has one of its own, else "0",
 *    "1" ...; a classInd.txt beside the list (lines "number name") names them,
 *    and says at which number they begin;
 *  - one single clip (label -1).
 * split: "train", "validation" or "test"; other spellings of the same (val,
 * valid, ...) are tried; NULL: "train".  known: the label names a model was
 * trained with, or NULL: then they come from the data, and in "train" one
 * without any clip is an error; nknown CTT_LABELS_ANY (and known NULL): nobody
 * asks for labels, and that is none.  subset: a file of class names or numbers
 * to keep, a line each, numbered anew in that order, or NULL; with known, which
 * then are the subset's names, clips of other classes are left out.  The files
 * themselves are not opened here.  The order is that of the data, and sorted
 * in folders.  A split that is not there or has no such clips is CTT_EINVAL,
 * damaged lists are CTT_EFORMAT. */
enum { CTT_LABELS_ANY = -1 };
int  ctt_list_open(const char *path, const char *split, char *const *known,
                   int nknown, const char *subset, struct ctt_list **out);
void ctt_list_free(struct ctt_list **l);

/* ---- decode.c: any container and codec that FFmpeg reads ---- */

struct ctt_video;

enum { CTT_SIDE_MAX = 16384 };    /* of a picture */

/* path: a file, known by its content; a folder of numbered pictures, frame by
 * frame; or "folder#first+count" for a part of one, first counted from 0.
 * Damaged data is an error at the frame where it is met. */
int  ctt_video_open(const char *path, struct ctt_video **out);
void ctt_video_close(struct ctt_video **v);

/* 1 if the frames come from a folder of pictures, which has no times. */
int  ctt_video_timeless(const struct ctt_video *v);

/* Average frames a second, or 0 if the file does not say. */
float ctt_video_fps(const struct ctt_video *v);

/* A video holds two frames.  ahead decodes another one: 1 and its time in
 * seconds since the first one, never decreasing; at the end 0 and the time at
 * which the last one ends.  step makes it the current frame. */
int  ctt_video_ahead(struct ctt_video *v, double *t);
void ctt_video_step(struct ctt_video *v);

/* The current frame's size, and the quarter turns to the left after which it
 * stands upright. */
void ctt_video_size(const struct ctt_video *v, int *w, int *h, int *turns);

/* Writes the current frame, resized and not turned, as rows of stride bytes;
 * stride is a multiple of 64, and so is the address of data. */
int  ctt_video_scale(struct ctt_video *v, int w, int h, enum ctt_colour to,
                     uint8_t *data, int stride);

/* ---- frame.c: frames as a model wants them ---- */

/* Size of the stored frame for in: scale * (w, h), rounded, if fit=crop, else
 * (w, h); the model's frame is cut out of it, from the middle or, while
 * training, from elsewhere. */
void ctt_frame_size(const struct ctt_input *in, int *w, int *h);

/* A clip's frames at the model's rate: count x h x w x c bytes, rows packed.
 * h, w are ctt_frame_size's.  The frame at time k / fps is the one nearest to
 * it, the earlier of two; the count is the clip's duration times fps, rounded,
 * at least 1.  With fps 0, and from folders of pictures, each frame is taken,
 * and fps says the file's average rate (0: not known). */
struct ctt_frames {
    uint8_t *data;
    int      count, h, w, c;
    float    fps;
};

/* Decodes a whole clip, at most max frames (0: all, up to 2 GiB).  A clip that
 * is corrupt, empty or without video is an error that names it, and so is one
 * with a gap of over a minute between two frames.  One that was cut short is
 * not, if its container can do without the rest. */
int  ctt_frames_load(const char *path, const struct ctt_input *in, int max,
                     struct ctt_frames *out);
void ctt_frames_free(struct ctt_frames *f);

/* Frame by frame, for streams: 1 and a frame in data (h x w x c bytes of
 * ctt_frame_size), or 0 at the end. */
struct ctt_reader;
int  ctt_reader_open(const char *path, const struct ctt_input *in,
                     struct ctt_reader **out);
int  ctt_reader_next(struct ctt_reader *r, uint8_t *data);
void ctt_reader_close(struct ctt_reader **r);

/* Cuts (x, y) .. (x + in->w, y + in->h) out of a stored frame, mirrored if
 * flip, and writes (value / 255 - mean) / std, in->h x in->w x in->c. */
void ctt_frame_float(const uint8_t *data, const struct ctt_input *in, int x,
                     int y, int flip, float *out);
/* The same from the middle of a stored frame of w x h, which may also be the
 * model's size already. */
void ctt_frame_middle(const uint8_t *data, int w, int h,
                      const struct ctt_input *in, float *out);

/* ---- pack.c: decoded frames in one HDF5 file, faster than decoding ---- */

struct ctt_pack;
/* For writing: made beside and renamed by finish; close before that removes
 * it. */
int  ctt_pack_create(const char *path, const struct ctt_input *in,
                     char *const *label, int labels, struct ctt_pack **out);
int  ctt_pack_add(struct ctt_pack *p, const char *id, int label,
                  const struct ctt_frames *f);
int  ctt_pack_finish(struct ctt_pack **p);    /* also frees it on failure */
/* For reading.  is: 1 if the file at path is of HDF5's, which data given to us
 * is in a pack only. */
int  ctt_pack_is(const char *path);
int  ctt_pack_open(const char *path, struct ctt_pack **out);
/* The list of the clips in it (path = the id), owned by the pack, and the
 * input settings its frames were made for. */
const struct ctt_list  *ctt_pack_list(const struct ctt_pack *p);
const struct ctt_input *ctt_pack_input(const struct ctt_pack *p);
/* Fail, saying what differs, if the frames are not stored as a model of this
 * input wants them; and if the classes are not the model's, where those of a
 * model without names are called 0, 1 ...; a pack without any is of all. */
int  ctt_pack_fits(const struct ctt_pack *p, const struct ctt_input *in);
int  ctt_pack_same_labels(const struct ctt_pack *p, char *const *label,
                          int labels);
int  ctt_pack_length(const struct ctt_pack *p, int i);    /* frames */
/* Clip i; several threads may read at once.  One whose bytes are damaged is an
 * error. */
int  ctt_pack_read(const struct ctt_pack *p, int i, struct ctt_frames *out);
void ctt_pack_close(struct ctt_pack **p);

/* ---- mnist.c: Moving-MNIST, digits that bounce in a box ---- */

/* The data of Srivastava and others (2015), made from the digits of LeCun and
 * others (1998): 64x64 grey frames (a byte a pixel, black 0) on which digits of
 * 28x28 move.  The corner of each is at (x, y) * 36, cut to whole pixels, x and
 * y in [0, 1]: drawn there uniformly, with a direction drawn uniformly, it goes
 * 0.1 a frame, also before the first one; beyond 0 or 1 it is put back there
 * and that part of its direction turns.  Where digits overlap the brighter
 * pixel counts.  The digits are those of the training images, in every split.
 */
enum { CTT_MNIST_SIDE = 64, CTT_MNIST_DIGITS = 9 /* most */ };
struct ctt_mnist;

/* Reads all images of a folder's train-images-idx3-ubyte, or of path itself if
 * it is a file; it may be compressed by gzip, and then may end in .gz. */
int  ctt_mnist_open(const char *path, struct ctt_mnist **out);
void ctt_mnist_close(struct ctt_mnist **m);
int  ctt_mnist_count(const struct ctt_mnist *m);           /* images */
const char *ctt_mnist_file(const struct ctt_mnist *m);     /* what was read */

/* Fails if these are not the frames that a model wants; path: what follows
 * "mnist:". */
int  ctt_mnist_fits(const char *path, const struct ctt_input *in);

/* The sequences of all splits have numbers of their own: the k-th one of
 * "train" (its other spellings too), "validation" or "test" is number *first +
 * k, k < 2^48. */
int  ctt_mnist_first(const char *split, int64_t *first);

/* Draws sequence i of seed: out[frames][64][64].  The same seed and i give the
 * same bytes in any thread and on any machine.  digits: 1 to CTT_MNIST_DIGITS.
 */
int  ctt_mnist_draw(const struct ctt_mnist *m, uint64_t seed, int64_t i,
                    int digits, int frames, uint8_t *out);
/* The same as a clip; free it with ctt_frames_free. */
int  ctt_mnist_frames(const struct ctt_mnist *m, uint64_t seed, int64_t i,
                      int digits, int frames, struct ctt_frames *out);

/* ---- synth.c: labelled clips made here, for the demo and the tests ---- */

struct ctt_synth {
    int      clips, size, workers;
    uint64_t seed;
};
enum { CTT_SYNTH_CLASSES = 12 };
extern const char *const ctt_synth_template[CTT_SYNTH_CLASSES];

/* Draws clip i (class, frames, everything) into memory: RGB, 12 frames a
 * second.  The same seed and i give the same bytes. */
int ctt_synth_clip(const struct ctt_synth *s, int i, struct ctt_frames *out,
                   int *label);

/* Writes the set into dir as Something-Something V2 does; done(arg, i, n) is
 * called after each clip. */
int ctt_synth_write(const struct ctt_synth *s, const char *dir,
                    void (*done)(void *arg, int i, int n), void *arg);

#endif
