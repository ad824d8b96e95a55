/* SPDX-License-Identifier: Apache-2.0
 * video.h: clips: lists of them, decoding, and conversion to the rate and size
 * that the input line of a model states. */
#ifndef CTT_VIDEO_H
#define CTT_VIDEO_H

#include "net/pixels.h"

/* ---- list*.c: datasets as the field stores them ---- */

struct ctt_item {
    char *path;      /* of the clip, as ctt_video_open() takes it */
    char *id;        /* short name for tables: file name without folder */
    int   label;     /* index into the list's labels; -1: unknown */
    int   also;      /* where its further labels begin in the list's also[] */
    int   row;       /* of a pack: number of the clip in the file */
};

struct ctt_list {
    struct ctt_item *item;
    int              count, room;
    char           **label;    /* class names, by number */
    int              labels;
    int             *also;     /* further labels of clips, those of each ended
                                  by -1, as is place 0; NULL: there are none */
    int              alsos, also_room;
    int              several;  /* a clip of the data has several labels */
    int              all, all_labels;    /* counts without the subset */
    int              chosen;             /* labels that clips have */
    int              parted;   /* the data has splits, and these are clips of
                                  one */
    const char      *form;     /* layout found: "a folder per class" ... */
    struct ctt_pool_part *texts;    /* that hold all paths, ids and labels
                                       (names.h) */
};

/* The k-th label of a clip, from 0; -1: it has no more. */
static inline int ctt_item_label(const struct ctt_list *l,
                                 const struct ctt_item *item, int k)
{
    return k == 0 ? item->label : l->also ? l->also[item->also + k - 1] : -1;
}

/* 1 if a clip has that label. */
static inline int ctt_item_has(const struct ctt_list *l,
                               const struct ctt_item *item, int label)
{
    for (int k = 0, c; (c = ctt_item_label(l, item, k)) >= 0; k++)
        if (c == label)
            return 1;
    return 0;
}

/* Gives the last clip of l, item, a further label. */
int ctt_list_also(struct ctt_list *l, struct ctt_item *item, int label);

/* Lists the clips at path, which is one of:
 *  - a folder in Something-Something V2's layout: labels.json and split.json
 *    (or something-something-v2-labels.json ...) in it, in its labels/ or
 *    above it, the videos in its 20bn-something-something-v2/, its videos/ or
 *    in it; class = template without brackets; or split.json itself;
 *  - a csv file of Kinetics (Kay et al. 2017), whose first line has the
 *    columns youtube_id, time_start and time_end, or a folder with the files
 *    of its splits in it or in its annotations/; the clips are found by name:
 *    ID_000010_000020, or that part of ID if ID is longer than it;
 *  - the splits of HMDB51 (Kuehne et al. 2011): a folder with the files
 *    CLASS_test_splitK.txt, the folder above, or one of these; of UCF101
 *    (Soomro et al. 2012): a folder with trainlist01.txt ... or the folder
 *    above; "train2" and "test2" are those of split 2, "train" of split 1;
 *  - a folder per class: path/split/class/clip, or path/class/clip, which has
 *    no splits; path/split/clip has clips without classes;
 *  - a folder of clips and nothing else (label -1);
 *  - a folder like one of the last two, without splits, in which every clip's
 *    name contains personNN_, 01 to 25: KTH (Schuldt et al. 2004), where
 *    "train" is persons 01 to 16, "validation" and "test" 17 to 25;
 *  - a text list of lines "path label", "folder nframes label" or "folder
 *    offset nframes label", "video start end label" (seconds, or frames as
 *    "#300 #450" or below a heading with the word frame; the frame `end` is
 *    not part), or just "path" (label -1), with # comments; a line
 *    is split at its last space, tab, comma or semicolon; paths are relative
 *    to the list's folder, or to a folder in it, to the one above or to a
 *    folder in that, if the first clips are there; a video may be named
 *    without its extension; labels are names, or whole numbers, of which those
 *    that no clip has are no classes, and other numbers (-1) are an error.  A
 *    number is named by itself, "3"; numbers 0, 1 ... without a gap after the
 *    folders of their clips if each has one of its own, so that they are the
 *    places of the names; a classInd.txt beside the list (lines "number name")
 *    gives the names and the first number, and classes by folder to a list
 *    without labels;
 *  - such lists in which clips have several labels, written as one word: "a|b",
 *    numbers "0,3", and between blanks names "a,b" of which a part is a label
 *    elsewhere, too; in JSON an array.  Then list->several is set;
 *  - such a list whose first line names its columns (rows.h), separated by
 *    commas, semicolons or tabs, or a JSON array of objects with such keys, as
 *    Diving48 (Li et al. 2018) has, whose Diving48_vocab.json names classes,
 *    or the folder with its Diving48_V2_train.json ... in it or in its
 *    annotations/; without a list for "validation" that is "test";
 *  - a JSON file like those of ActivityNet (Heilbron et al. 2015) or Kinetics,
 *    or the folder with activity_net*.json: the segments of each video are
 *    clips, and the videos are found as those of Kinetics, or as v_ID;
 *  - a single clip (label -1).
 * split: "train", "validation" or "test"; other spellings of the same (val,
 * valid, ...) are tried; NULL: "train".  All clips of data without splits are
 * listed, and those of a list with one split only unless these are for
 * training and others are asked for.  known: the class names a model was
 * trained with.  A number in a list is the class of this name if the model has
 * numbers as names, or else the place of a class, in a list that has a 0 and
 * whose folders do not say otherwise; CTT_EINVAL shows both.  If NULL, they
 * come from the data, and a class without clips in "train" is an error, unless
 * nknown is CTT_LABELS_ANY: labels are not needed.  subset: NULL, or a file
 * with the names or numbers of the classes to keep, one per line, which also
 * numbers them; with known, they must be among the names of the model.  Clips
 * of other classes are dropped.  No clip is opened.  Clips keep the order of
 * the list; clips in folders are sorted.  CTT_ENOSPLIT if the split does not
 * exist, CTT_EINVAL if it has no clips of these classes or others than the
 * known ones, or if subset does not name classes of both, CTT_EFORMAT if a list
 * is damaged or a folder is empty. */
enum { CTT_LABELS_ANY = -1 };
int  ctt_list_open(const char *path, const char *split, char *const *known,
                   int nknown, const char *subset, struct ctt_list **out);
/* As ctt_list_open(), with further settings.  fps: frames per second of folders
 * of pictures without "@RATE", and then a folder of only numbered pictures is a
 * clip; 0: no rate.  background: NULL, or the name of a class for the gaps
 * before and between the parts of each video in a list (listing.h); CTT_EINVAL
 * if the list has no parts, unless the name is among those known.  own: path is
 * of this split alone, whatever other split all its clips are said to be of.
 * need: data without splits is CTT_ENOSPLIT. */
struct ctt_list_want {
    const char  *split;
    int          own, need;
    char *const *known;
    int          nknown;
    const char  *subset, *background;
    double       fps;
};
int  ctt_list_find(const char *path, const struct ctt_list_want *w,
                   struct ctt_list **out);
void ctt_list_free(struct ctt_list **l);

/* The frames of a clip after which it is asked at an observed ratio of 0..1:
 * max(1, floor(ratio * frames)), safe from the rounding of ratios. */
static inline int ctt_frames_seen(double ratio, int frames)
{
    int n = (int)(ratio * frames * (1 + 1e-9));

    return n > 1 ? n : 1;
}

/* ---- decode.c: the containers and codecs that FFmpeg reads ---- */

struct ctt_video;

enum { CTT_SIDE_MAX = 16384 };    /* pixels per side */

/* path: a file, whose format is detected; a folder of numbered pictures, one
 * per frame; or a part of one of these (part.h), to which MP4 and Matroska are
 * entered at a key frame before it.  Of a part in seconds the first frame is
 * the one shown then, and at least one is given; a part that begins after the
 * end of the video is CTT_EFORMAT.
 * A file that is a picture is a clip of one frame.
 * The file is a video by its content, whatever its name; playlists and other
 * files that name further files are refused (formats.c), and nothing but the
 * file, or the pictures of the folder, is opened.  Damaged data is an error
 * only at the frame that contains it.  CTT_EFORMAT if the clip exceeds a limit
 * of struct ctt_limits; CTT_ESTOP if the user asked to stop. */
int  ctt_video_open(const char *path, struct ctt_video **out);
void ctt_video_close(struct ctt_video **v);

/* 1 if the clip is a picture or a folder of pictures without a rate, whose
 * frames have no times. */
int  ctt_video_timeless(const struct ctt_video *v);

/* Average frame rate in frames per second; 0: the file does not state it. */
float ctt_video_fps(const struct ctt_video *v);

/* A video holds two frames, the current and the next.  ctt_video_ahead()
 * decodes the next one: 1 and its time in seconds since the first frame (of a
 * part: since its begin, the first frame may be before), never
 * decreasing; at the end 0 and the time at which the last frame ends.
 * ctt_video_step() makes it the current frame. */
int  ctt_video_ahead(struct ctt_video *v, double *t);
void ctt_video_step(struct ctt_video *v);

/* Frames given so far; and at the end how many there should be: more than
 * were decoded if the container says so, as that of a clip which was cut short.
 * These count: the table of samples of MP4, the number of frames of AVI, the
 * durations that Matroska and FLV state. A duration must exceed the frames by
 * more than 1.5 times the longest time between two of them (0.5 times if the
 * file is also shorter than the size that it states in Matroska and AVI), since
 * muxers round it and the last frame may stay longer.  Of a part those that it
 * has beyond the end of the video, if it is a second or more.  INT64_MAX: the
 * clip ends within a frame, and its container says no number. */
int64_t ctt_video_seen(const struct ctt_video *v);
int64_t ctt_video_stated(const struct ctt_video *v);

/* The current frame's size in square pixels, that is, the shape in which it is
 * to be shown: a frame whose pixels are not square is as much wider or higher.
 * turns: the counterclockwise quarter turns that make it upright. */
void ctt_video_size(const struct ctt_video *v, int *w, int *h, int *turns);

/* Writes the current frame, resized but not rotated, as rows of stride bytes;
 * stride and the address of data are multiples of 64. */
int  ctt_video_scale(struct ctt_video *v, int w, int h, enum ctt_colour to,
                     uint8_t *data, int stride);

/* ---- frame.c: frames in the size and rate of a model ---- */

/* Size of a stored frame: scale * (w, h), rounded, if fit=crop, else (w, h).
 * The model's frame is a crop of it, from the middle or, with --jitter in
 * training, from a random position. */
void ctt_frame_size(const struct ctt_input *in, int *w, int *h);

/* CTT_EINVAL if no clip can be decoded for this input line. */
int  ctt_input_check(const struct ctt_input *in);

/* A clip's frames at the model's rate: count x h x w x c bytes, rows packed; h
 * and w as from ctt_frame_size().  Frame k is the decoded frame nearest to time
 * k / fps, the earlier one of two; count is the clip's duration times fps,
 * rounded, at least 1.  If the model's fps is 0, and for pictures and folders
 * of them, every frame is used, and fps is the file's average rate (0:
 * unknown).  file_fps is that rate of the file (0: unknown, as in a pack).
 * seen, stated: ctt_video_seen() and ctt_video_stated() where the file was
 * decoded to its end; else equal.  breaks: of its times and packets.  unread:
 * bytes of other files that are joined to it. */
struct ctt_frames {
    uint8_t *data;
    int      count, h, w, c;
    float    fps;
    int64_t  seen, stated, breaks, unread;
    float    file_fps;
};

/* 0, or CTT_EFORMAT if the clip at path was cut short, where the message says
 * how many frames it has and should have, or has breaks or unread bytes. */
int  ctt_frames_whole(const struct ctt_frames *f, const char *path);

/* 1 if rc says that the process lacks memory or open files, whatever it reads;
 * the run then ends. */
static inline int ctt_is_lack(int rc)
{
    return rc == CTT_ENOMEM || rc == CTT_ELACK;
}

/* 1 if rc is an error of the clip, which is then skipped, and not a lack or the
 * user's request to stop, which end the run. */
static inline int ctt_clip_is_bad(int rc)
{
    return rc < 0 && !ctt_is_lack(rc) && rc != CTT_ESTOP;
}

/* CTT_EFORMAT if the frames of the clip at path take more bytes than one clip
 * may: 2 GiB, or a quarter of the limit of memory. */
int  ctt_frames_fit(const char *path, int64_t bytes);

/* Decodes a whole clip, at most max frames (0: all that ctt_frames_fit()).  A
 * clip that is corrupt, empty, has no video or a gap of over a minute between
 * two frames is an error that names it.  A truncated clip whose container can
 * be read without the rest is no error; ctt_frames_whole() tells. */
int  ctt_frames_load(const char *path, const struct ctt_input *in, int max,
                     struct ctt_frames *out);
void ctt_frames_free(struct ctt_frames *f);

/* Reads frame by frame.  next: 1 and a stored frame in data (h x w x c bytes),
 * or 0 at the end; whole: then as ctt_frames_whole(). */
struct ctt_reader;
int  ctt_reader_open(const char *path, const struct ctt_input *in,
                     struct ctt_reader **out);
int  ctt_reader_next(struct ctt_reader *r, uint8_t *data);
int  ctt_reader_whole(const struct ctt_reader *r);
void ctt_reader_close(struct ctt_reader **r);

/* Crops (x, y) .. (x + w, y + h) out of a stored frame of a model's input: next
 * lets p see it, the next frame of its stream; float then writes the values
 * that p has for it, mirrored if flip, h x w x c of them. */
void ctt_frame_next(struct ctt_pixels *p, const uint8_t *data, int x, int y);
void ctt_frame_float(const uint8_t *data, const struct ctt_pixels *p, int x,
                     int y, int flip, float *out);
/* The bytes in the middle of a frame of w x h, which is the size of a stored
 * frame or already that of the model: in->h x in->w x in->c. */
void ctt_frame_middle(const uint8_t *data, int w, int h,
                      const struct ctt_input *in, uint8_t *out);

/* ---- same.c: which clips occur in two sets, or twice in one ---- */

/* A checksum of the frames, never 0. */
uint64_t ctt_frames_sum(const struct ctt_frames *f);

/* How many of the m checksums in b occur among the n in a; 0 in either stands
 * for a clip that is not compared.  If there are any, b[*k] = a[*i] is the
 * first. */
int ctt_sums_shared(const uint64_t *a, int n, const uint64_t *b, int m, int *i,
                    int *k);

/* How many clips have the same frames as an earlier one, and the same class or
 * another one; the paths of the first two of each kind, and their classes. */
struct ctt_duplicates {
    int  same, other;
    char twins[1024], rivals[1024];
};

/* Finds them in a list from the checksum of each clip, 0 for one that is not
 * compared.  labels 0: as if the clips had no classes. */
int ctt_list_duplicates(const struct ctt_list *l, const uint64_t *sum,
                        int labels, struct ctt_duplicates *out);

/* ---- pack*.c: decoded frames in one HDF5 file, faster than decoding ---- */

struct ctt_maps;    /* net/rewrite/maps.h */
struct ctt_pack;
/* For writing: a temporary file beside path, renamed by finish.  close before
 * that removes it. */
int  ctt_pack_create(const char *path, const struct ctt_input *in,
                     char *const *label, int labels, struct ctt_pack **out);
int  ctt_pack_add(struct ctt_pack *p, const char *id, int label,
                  const struct ctt_frames *f);
int  ctt_pack_also(struct ctt_pack *p, int label);    /* of the last clip */
/* begin: before the first clip, that all will have these maps.  add: those of
 * the last clip, 16-bit floats, lowest byte first, of all maps frame by
 * frame. */
int  ctt_pack_begin_maps(struct ctt_pack *p, const struct ctt_maps *maps);
int  ctt_pack_add_maps(struct ctt_pack *p, const uint8_t *maps);
int  ctt_pack_finish(struct ctt_pack **p);    /* also frees it on failure */
/* For reading.  is: 1 if the file at path is HDF5; of all data sources only
 * packs are. */
int  ctt_pack_is(const char *path);
int  ctt_pack_open(const char *path, struct ctt_pack **out);
/* The list of the clips in it (path = the id), owned by the pack, and the
 * input settings its frames were made for. */
const struct ctt_list  *ctt_pack_list(const struct ctt_pack *p);
const struct ctt_input *ctt_pack_input(const struct ctt_pack *p);
/* fits: an error that says what differs unless the frames are stored as this
 * input requires. */
int  ctt_pack_fits(const struct ctt_pack *p, const struct ctt_input *in);
/* Fits the list of the pack to the classes of a model and to a subset of the
 * classes, with the arguments and errors of ctt_list_open().  The pack's
 * classes are found by their names; where the pack or the model has only
 * numbers 0, 1 ... as names, by their numbers. */
int  ctt_pack_choose(struct ctt_pack *p, char *const *known, int nknown,
                     const char *subset);
int  ctt_pack_length(const struct ctt_pack *p, int i);    /* frames */
/* Reads clip i of the list; several threads may do so at once.  Damaged bytes
 * are an error. */
int  ctt_pack_read(const struct ctt_pack *p, int i, struct ctt_frames *out);
/* The maps that it has, or NULL; those of a clip, as ctt_pack_add_maps() got
 * them, which the caller frees. */
const struct ctt_maps *ctt_pack_maps(const struct ctt_pack *p);
int  ctt_pack_read_maps(const struct ctt_pack *p, int i, uint8_t **out);
void ctt_pack_close(struct ctt_pack **p);

/* ---- pack_journal.c ---- */

/* Clips of a pack that is being made, in the file PACK.journal beside it: if
 * the program is killed, the next run takes them from there.  Of every clip its
 * key, its frames, its maps, and a checksum. */
struct ctt_journal;

/* Opens the journal of a pack, or begins it anew if it is of other settings
 * (key); CTT_EIO if the file is no journal.  Bytes of the maps of a frame, and
 * an empty frame of the pack's size.  *clips: how many it has, or -1: clips of
 * other settings are gone. */
int  ctt_journal_open(const char *pack, uint64_t key, int64_t maps,
                      const struct ctt_frames *frame, struct ctt_journal **out,
                      int *clips);

/* Finds a clip by its key: 1 and what is to be freed, or 0: it is not there, or
 * damaged.  Several threads may do so at once. */
int  ctt_journal_find(const struct ctt_journal *j, uint64_t key,
                      struct ctt_frames *f, uint8_t **maps);
/* CTT_EUNSUP: the clip is longer than a pack may have. */
int  ctt_journal_add(struct ctt_journal *j, uint64_t key,
                     const struct ctt_frames *f, const uint8_t *maps);

/* done: the pack is written, so the journal is removed. */
void ctt_journal_close(struct ctt_journal **j, int done);

/* ---- mnist.c: Moving-MNIST, digits that bounce in a frame ---- */

/* The data set of Srivastava et al. (2015), generated from the digits of LeCun
 * et al. (1998): 64x64 gray frames (one byte per pixel, black 0) on which
 * digits of 28x28 move.  The top left corner of a digit is at (x, y) * 36,
 * rounded down to pixels, with x, y in [0, 1].  Position and direction are
 * drawn uniformly; it moves by 0.1 per frame, also before the first one.
 * Beyond 0 or 1 the coordinate is clamped and that component of the direction
 * changes its sign. Where digits overlap, the brighter pixel counts.  All
 * splits use the digits of the training images. */
enum { CTT_MNIST_SIDE = 64, CTT_MNIST_DIGITS = 9 /* most */ };
struct ctt_mnist;

/* Reads all images of train-images-idx3-ubyte (or .gz) in the folder path, or
 * of path itself if it is a file; either may be compressed by gzip. */
int  ctt_mnist_open(const char *path, struct ctt_mnist **out);
void ctt_mnist_close(struct ctt_mnist **m);
int  ctt_mnist_count(const struct ctt_mnist *m);           /* images */
const char *ctt_mnist_file(const struct ctt_mnist *m);    /* its idx file */
uint32_t ctt_mnist_crc(const struct ctt_mnist *m);    /* CRC-32 of the images */

/* Fails if a model with this input requires other frames; path: DIR of
 * "mnist:DIR", for the message. */
int  ctt_mnist_fits(const char *path, const struct ctt_input *in);

/* Each split has its own range of sequence numbers: sequence k < 2^48 of
 * "train", "validation" or "test" (in any spelling) has number *first + k. */
int  ctt_mnist_first(const char *split, int64_t *first);

/* Draws sequence i of seed: out[frames][64][64].  The same seed and i give the
 * same bytes in any thread and on any machine.  digits: 1 to CTT_MNIST_DIGITS.
 */
int  ctt_mnist_draw(const struct ctt_mnist *m, uint64_t seed, int64_t i,
                    int digits, int frames, uint8_t *out);
/* The same as a clip; free it with ctt_frames_free. */
int  ctt_mnist_frames(const struct ctt_mnist *m, uint64_t seed, int64_t i,
                      int digits, int frames, struct ctt_frames *out);

/* ---- synth*.c: generated labelled clips, for the demo and the tests ---- */

/* test: clips of the test split, which follow the others; 0: an eighth of
 * these.  actions: bit k stands for classes 2k and 2k + 1, the bit after those
 * for the classes that are two movements in an order; 0: all pairs. */
struct ctt_synth {
    int      clips, size, workers;
    uint64_t seed;
    int      test;
    unsigned actions;
};
enum { CTT_SYNTH_CLASSES = 12, CTT_SYNTH_PAIRS = CTT_SYNTH_CLASSES / 2,
       CTT_SYNTH_ORDERED = 41 };

/* Sets s->actions from names separated by commas, "across,tear"; CTT_EINVAL
 * lists the names.  The number of classes that it makes. */
int ctt_synth_choose(struct ctt_synth *s, const char *names);
int ctt_synth_classes(const struct ctt_synth *s);

/* The split of clip i: 0 train, 1 validation, 2 test. */
int ctt_synth_split(const struct ctt_synth *s, int i);

/* Generates clip i in memory: its class, and frames in RGB, 12 per second.  The
 * same seed and i give the same bytes. */
int ctt_synth_clip(const struct ctt_synth *s, int i, struct ctt_frames *out,
                   int *label);

/* Writes all clips and lists into dir, in the layout of Something-Something V2.
 * CTT_EIO if one of these files is there already, unless the labels in dir are
 * those of made clips: a set replaces only such a one.  Calls done(arg, i, n)
 * after each clip: i of n were written before it. */
int ctt_synth_write(const struct ctt_synth *s, const char *dir,
                    void (*done)(void *arg, int i, int n), void *arg);

#endif
