/* SPDX-License-Identifier: Apache-2.0
 * file.h: the HDF5 file of a model (doc/format.md). */
#ifndef CTT_FILE_H
#define CTT_FILE_H

#include "net/model.h"

/* Reads a model file; with_train: with its /train section, if there is one.
 * CTT_EFORMAT if it is damaged or not a model, CTT_EUNSUP if it needs a newer
 * convtt, CTT_EIO if it cannot be read; every message names the file. */
int  ctt_model_load(const char *path, int with_train, struct ctt_model **out);

/* The same for inference: the kernels of convs of at least ctt_late_least()
 * floats stay in the file, which is kept open (net/late.h), and there is no
 * mask.  ctt_late_least: sets that number and returns the old one, for tests.
 * A model with the line `ahead` is read as a whole. */
int     ctt_model_load_late(const char *path, struct ctt_model **out);
int64_t ctt_late_least(int64_t floats);

/* The same from the bytes of a file, p[size]; path is used in messages. */
int  ctt_model_load_image(const char *path, const uint8_t *p, int64_t size,
                          int with_train, struct ctt_model **out);

/* The same with its training state, where `like` should be in the file, so that
 * the weights need not be in memory a third time: plain ones are compared with
 * those of `like`, are 0 in *out, and *compared is 1.  CTT_EIO if text or
 * weights differ. */
int  ctt_model_load_like(const char *path, const uint8_t *p, int64_t size,
                         const struct ctt_model *like, int *compared,
                         struct ctt_model **out);

/* Writes a model file under a temporary name and renames it, so that path is at
 * any time the complete old file or the complete new one.  Before that, the
 * bytes to be written are loaded and compared with m: CTT_EIO unless they are
 * the same.  A decision that was not calibrated for this very model is not
 * written. */
int  ctt_model_save(const char *path, const struct ctt_model *m);

/* Saves the model for inference, without the line `ahead` and the nodes that
 * only it needs (net/rewrite/aux_head.h).  A model without that line is saved
 * as it is; else the file has no training state. */
int  ctt_model_save_inference(const char *path, const struct ctt_model *m);

/* ctt_model_save() to a new file that is open, which the caller finishes or
 * drops. */
struct ctt_newfile;
int  ctt_model_put(struct ctt_newfile *f, const struct ctt_model *m);

/* The storage of one weight in a file, for reports. */
struct ctt_stored {
    char    name[CTT_WEIGHT_NAME];  /* "c1.w" */
    char    positions[16], values[16], bytes[16];    /* its codings */
    int64_t params, kept, size;     /* elements, those not pruned, bytes */
};

/* Reads and checks the whole file: an array of *count weights, which the caller
 * frees with ctt_free, and the size of the file. */
int  ctt_model_stored(const char *path, struct ctt_stored **out, int *count,
                      int64_t *file_bytes);

#endif
