/* SPDX-License-Identifier: Apache-2.0
 * train_job.h: a run of convtt-train: its settings, model and clips. */
#ifndef CTT_TRAIN_JOB_H
#define CTT_TRAIN_JOB_H

#include "libtrain/train.h"
#include "base/newfile.h"
#include "tools/train/teachers.h"

struct ctt_training {
    struct ctt_train_cfg cfg;
    const char       *text;         /* path of the model text, or NULL */
    char              ckpt[4096];
    int               own_ckpt;     /* not named by --checkpoint */
    struct ctt_graph *g;            /* of the text, until m is created */
    struct ctt_model *m;
    struct ctt_teachers teachers;
    struct ctt_data  *data, *val;
    struct ctt_data  *test;         /* of --test, or NULL */
    struct ctt_newfile *claim[2];   /* on the model and the checkpoint */
    int               status;       /* of the program if it fails now */
};

void ctt_training_close(struct ctt_training *j);

/* Loads the checkpoint, the model text, or the model of --init, and the
 * teachers; fails as what it reads does. */
int  ctt_training_start(struct ctt_training *j);

/* The input line of the model. */
void ctt_training_input(const struct ctt_training *j, struct ctt_input *in);

/* The training graph and the types of its values, which the caller frees; a
 * wrong word of --amp-allow or --amp-deny is wrong usage. */
int  ctt_training_types(struct ctt_training *j, struct ctt_graph **g,
                        struct ctt_amp_plan **p);

/* Tells whatever is wrong without the clips, before they are read. */
int  ctt_training_check(struct ctt_training *j);

/* ctt_data_open() with the model's input and labels. */
int  ctt_training_data(struct ctt_training *j, const char *path,
                       const char *split, struct ctt_data **out);

/* Prints how many clips of how many classes, or sequences, d has. */
void ctt_training_tell(const struct ctt_training *j, const char *what,
                       const struct ctt_data *d);

/* Creates the model of the text, with the classes of the data if it has any,
 * unless there is one. */
int  ctt_training_model(struct ctt_training *j);

/* Claims the model and the checkpoint, and checks that all outputs may be
 * replaced. */
int  ctt_training_claim(struct ctt_training *j);

/* After the start is open: the model and the clips of a run. */
int  ctt_training_begin(struct ctt_training *j);

#endif
