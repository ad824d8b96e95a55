/* SPDX-License-Identifier: Apache-2.0
 * source.h: sources of clips: the meaning of a path given by the user, the same
 * for all programs. */
#ifndef CTT_SOURCE_H
#define CTT_SOURCE_H

#include "video/part.h"
#include "video/video.h"

/* Prefix of the paths whose clips are drawn by random numbers: "mnist:DIR". */
#define CTT_SOURCE_DRAWN "mnist:"

/* 1 if path has that prefix. */
int  ctt_source_is_drawn(const char *path);

/* Prefix of the paths of data sets in idx files: "digits:DIR" (digits.h). */
#define CTT_SOURCE_DIGITS "digits:"

/* Where the idx files of a source are: DIR of "mnist:DIR" and "digits:DIR";
 * NULL: path is none of these. */
const char *ctt_source_idx(const char *path);

/* 1 if path can only be meant for a clip, and no file or folder is there. */
int  ctt_source_is_lost(const char *path);

/* The highest rate of folders of pictures. */
enum { CTT_SOURCE_FPS = CTT_PART_RATE };

/* Settings of a source.  Pointers stay the caller's. */
struct ctt_source_set {
    /* "train", "validation" or "test".  NULL: clips not trained on: "test" of
     * Moving-MNIST, else "validation", or all clips of data without splits. */
    const char  *split;
    int          own_split;   /* path is for this split alone, as own for
                                 ctt_list_find() */
    int          need_split;  /* the split was asked for by name: data without
                                 splits, as a pack, is CTT_ENOSPLIT; 0: all its
                                 clips are taken */
    const char  *classes;     /* a file of the classes to keep, as for
                                 ctt_list_open(), or NULL */
    char *const *label;       /* the model's classes */
    int          labels;      /* how many; 0: the data has its own classes;
                                 CTT_LABELS_ANY: none are needed, as for
                                 prediction */
    double       fps;         /* of folders of pictures in lists, as for
                                 ctt_list_find(); 0: none */
    const char  *background;  /* class of the gaps between the parts of a list,
                                 as for ctt_list_find(), or NULL; a source that
                                 is no list must not need it */
    int          any_input;   /* frames of a pack may differ from the input */
    int          strict;      /* a clip that was cut short is an error */
    int          vocab;       /* above 0: path is text, of which so many symbols
                                 are told from others; 0: it is not */
    int          longest;     /* symbols of a clip of text at most */
    int          windows;     /* of text: as of struct ctt_text_set */

    /* For drawn sources: number of sequences in the list, digits and frames
     * per sequence. */
    int          sequences, digits, frames;
    const char  *drawn_for;   /* for the error message where classes are
                                 needed: the option or command for them */
};

/* For the manual pages: forms of a path, and their splits. */
#define CTT_SOURCE_FORMS \
    "    a folder in the layout of Something-Something V2,\n" \
    "    a folder with one subfolder per class,\n" \
    "    a list with one line \"path label\" per clip\n" \
    "        (\"path,label\" if names contain blanks),\n" \
    "        or \"video start end label\" per part of a video,\n" \
    "    a list whose first line names its columns, in any order,\n" \
    "    the JSON file of ActivityNet or Diving48, or one like them,\n" \
    "    a csv file of Kinetics, or a folder with its files,\n" \
    "    the folder of HMDB51 or UCF101, or of their lists,\n" \
    "    a pack made by convtt-data pack,\n" \
    "    digits:DIR, the pictures of MNIST, Fashion-MNIST or EMNIST,\n" \
    "    mnist:DIR, Moving-MNIST generated from the MNIST digits in DIR, or\n" \
    "    text:FILE or words:FILE, lines of text (convtt-train --task next).\n\n"
#define CTT_SOURCE_RULES \
    "A picture (PNG, JPEG, PPM, PGM, BMP, TIFF, WebP ...) is a clip of one " \
    "frame, wherever a video may be; its content decides, not its name. In " \
    "lists and in the folder of a class, a folder of numbered pictures is " \
    "one clip and a picture is one clip. digits:DIR reads the idx files " \
    "train-images-idx3-ubyte, train-labels-idx1-ubyte and those of t10k or " \
    "test, also as .gz; the last twelfth of the training pictures (5,000 of " \
    "MNIST's 60,000) is the split validation, the rest train, and the t10k " \
    "files are test. Its classes are named by their numbers; the model's " \
    "frame is gray and has the pictures' size, or is larger, the rest " \
    "black. Of several sets in DIR, digits:DIR/emnist-letters names one.\n\n" \
    "The paths in a list are relative to its folder; if the first clips are " \
    "not there, to a folder in it, to the folder above, or to a folder in " \
    "that. Labels are names or numbers, of which those without a clip are no " \
    "classes; a classInd.txt beside the list names the numbers. A list " \
    "without labels has only paths; paths and labels may be quoted. A clip " \
    "may have several labels in one word, as numbers 0,3 or names run|jump; " \
    "between blanks also run,jump if a part of it is a label elsewhere, too. " \
    "A video may be named without its extension. The start and the " \
    "end of a part are seconds (12.5 17), or frames, counted from 0, behind " \
    "# (#300 #450) or below a heading with start_frame; the frame at the " \
    "end is not part. VIDEO#t=12.5,17, VIDEO#300+150 (150 frames) and " \
    "FOLDER#@25 (pictures, 25 a second) are such paths, too; --fps states " \
    "the rate of pictures whose path does not, and makes one clip of a " \
    "folder with nothing but numbered pictures. A part that " \
    "ends a second or more after the video is said to be cut short.\n\n" \
    "Columns with names are separated by commas, semicolons or tabs; a field " \
    "may be quoted. They are path (or file, video, clip, id ...), label " \
    "(class, action ...), start and end in seconds (start_s, start_time, " \
    "t_start ...) or start_frame and end_frame, and split (subset), of " \
    "which other splits than the one asked for are left out; other columns " \
    "do not matter. A label run|jump is two. A JSON array of objects with " \
    "such keys is read alike, where several labels are an array, " \
    "as that of Diving48, whose classes Diving48_vocab.json beside it names. " \
    "A JSON file of ActivityNet is given itself or by its folder; its videos " \
    "are called v_ID or ID.\n\n" \
    "Clips " \
    "of Kinetics are found by name (ID_000010_000020 or ID, any extension; " \
    "of an ID that is longer, that part) up to three folders below the " \
    "list, or below the folder above a folder called annotations. " \
    "HMDB51 and UCF101 have three splits " \
    "each: train and test are those of the first, train2 and test2 those of " \
    "the second; validation is test. If all clips of a folder have " \
    "personNN_ in their names, KTH's splits apply: persons 01 to 16 for " \
    "training, 17 to 25 for validation and test. A pack has no splits.\n\n" \
    "A split that does not exist is refused, also a name that is given for " \
    "data without splits, and so is one whose labels do not fit: no other " \
    "clips take its place. A list that names one split for all its clips is " \
    "taken as it is, unless these are for training and others are asked for. " \
    "A folder called test, validation or train is a split if it has folders, " \
    "or if another split is beside it; otherwise it is a class.\n\n" \
    "A number is the same class in every list: classes of a list with " \
    "numbers are named by them, gaps included, and another list's numbers " \
    "are these names. Only numbers 0, 1, 2 ... without a gap are named after " \
    "the folders of their clips, if each has one of its own. For a model " \
    "with names, a number is the place of a name, counted from 0, in a list " \
    "that has a 0; other labels that the model lacks are refused."

struct ctt_source;

/* path: "text:FILE" or "words:FILE"; "mnist:DIR", Moving-MNIST generated from
 * the digits in DIR;
 * "digits:DIR", the pictures there as clips of one frame; a pack; or what
 * ctt_list_open() reads.  in: the model's input settings.  Opens the pack
 * or the digits, but no clip of a list.  CTT_ENOSPLIT if there is no such
 * split, CTT_EINVAL if the frames or classes do not meet the set, CTT_EIO if
 * path cannot be read, CTT_EFORMAT if it is damaged; the message names it. */
int  ctt_source_open(const char *path, const struct ctt_source_set *set,
                     const struct ctt_input *in, struct ctt_source **out);
void ctt_source_close(struct ctt_source **s);

/* The clips, valid until the source is closed.  Its labels are the model's if
 * that has any. */
const struct ctt_list *ctt_source_list(const struct ctt_source *s);

/* The input settings of stored frames: the model's, but scale 1 for drawn
 * frames, which have no margin to crop. */
const struct ctt_input *ctt_source_input(const struct ctt_source *s);

/* 1 if each clip is a file at the path in the list. */
int  ctt_source_files(const struct ctt_source *s);

/* 1 if the data has splits, and the clips are those of one. */
int  ctt_source_parted(const struct ctt_source *s);

/* 1 if clips are drawn: there are 2^48 of them, the list has the first ones. */
int  ctt_source_drawn(const struct ctt_source *s);

/* The text, or NULL: the clips are frames.  The clips of a text are sentences
 * (video/text/text.h). */
struct ctt_text;
const struct ctt_text *ctt_source_text(const struct ctt_source *s);

/* Makes the vocabulary of a text that of these items (ctt_text_recount()). */
int  ctt_source_recount(struct ctt_source *s, const int *item, int items);

/* A CRC-32 that tells the clips from others: of the images of drawn digits, the
 * symbols of text, the names of the classes, and the id and the class of each
 * clip in the order of the list, as doc/format.md has it.  classes 0: without
 * the classes.  Folders do not matter. */
uint32_t ctt_source_crc(const struct ctt_source *s, int classes);

/* 1 if clip i of a is clip k of b. */
int  ctt_source_same(const struct ctt_source *a, int i,
                     const struct ctt_source *b, int k);

/* *out: ctt_disk_state() of the file or folder of clip i; 0 for clips that are
 * not files. */
int ctt_source_state(const struct ctt_source *s, int i, uint64_t *out);

/* *out: a number of clip i as it is now: of its path and state, or of its
 * frames in a pack. */
int ctt_source_key(const struct ctt_source *s, int i, uint64_t *out);

/* note: notes the states of all clips.  changed: 1 if clip i was there then and
 * is gone or was written since. */
int ctt_source_note(struct ctt_source *s);
int ctt_source_changed(const struct ctt_source *s, int i);

/* Loads the frames of clip i, at most max (0: all); CTT_EFORMAT if it was cut
 * short and the set was strict, else ctt_frames_whole() tells. seed and i
 * determine what is drawn; other sources ignore seed. Several threads may load
 * at once. Free them with ctt_frames_free(). */
int  ctt_source_frames(const struct ctt_source *s, int i, uint64_t seed,
                       int max, struct ctt_frames *out);

/* The maps that the clips come with (ctt_pack_maps()), or NULL; those of clip
 * i, as ctt_pack_read_maps(). */
const struct ctt_maps *ctt_source_maps(const struct ctt_source *s);
int  ctt_source_read_maps(const struct ctt_source *s, int i, uint8_t **out);

/* The frames of clip i one by one.  next: 1 and a stored frame in data, or 0 at
 * the end; whole: then as ctt_frames_whole().  Files are decoded frame by
 * frame, other clips are loaded at open. */
struct ctt_feed;
int  ctt_feed_open(const struct ctt_source *s, int i, uint64_t seed,
                   struct ctt_feed **out);
int  ctt_feed_next(struct ctt_feed *f, uint8_t *data);
int  ctt_feed_whole(const struct ctt_feed *f);
void ctt_feed_close(struct ctt_feed **f);

#endif
