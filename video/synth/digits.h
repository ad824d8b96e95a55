/* SPDX-License-Identifier: Apache-2.0
 * digits.h: data sets of idx files, as MNIST is published, whose pictures are
 * clips of one frame. */
#ifndef CTT_DIGITS_H
#define CTT_DIGITS_H

#include "video/list/listing.h"

struct ctt_digits;

/* Reads a split: the pictures and their labels.  path: a folder with the files
 * train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-images-idx3-ubyte and
 * t10k-labels-idx1-ubyte, each as it is or compressed (.gz); "test" may stand
 * for "t10k" and a dot for the last hyphen but one ("images.idx3").  All may
 * have a prefix, as those of EMNIST (Cohen et al. 2017) have; if there are
 * several in the folder, path names one: FOLDER/emnist-letters.
 * split: "train" is the training pictures without the last twelfth (of MNIST
 * 5,000 of 60,000), "validation" is that twelfth, "test" the other files; NULL:
 * "validation".  CTT_EINVAL if the split is none of these or the files have no
 * pictures for it, CTT_EIO if files are missing, CTT_EFORMAT if one is damaged.
 */
int  ctt_digits_open(const char *path, const char *split,
                     struct ctt_digits **out);
void ctt_digits_close(struct ctt_digits **d);

/* The size of all pictures. */
void ctt_digits_size(const struct ctt_digits *d, int *w, int *h);

/* Adds the pictures in their order to s->list: path FILE#NUMBER, counted from 0
 * in the file; and their classes to s->names: the values that occur among the
 * training labels, rising. */
int  ctt_digits_list(const struct ctt_digits *d, struct ctt_listing *s);

/* CTT_EINVAL unless the model takes gray frames in which a picture fits; path:
 * for the message. */
int  ctt_digits_fits(const struct ctt_digits *d, const char *path,
                     const struct ctt_input *in);

/* The picture of an item of the list, in the middle of a stored frame of this
 * input that is black where the picture ends.  Free it with
 * ctt_frames_free(). */
int  ctt_digits_frames(const struct ctt_digits *d, const struct ctt_item *item,
                       const struct ctt_input *in, struct ctt_frames *out);

#endif
