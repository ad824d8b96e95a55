/* SPDX-License-Identifier: Apache-2.0
 * before.h: before a training: settings that are chosen automatically, and
 * checks of clips, settings and first steps. */
#ifndef CTT_BEFORE_H
#define CTT_BEFORE_H

#include "libtrain/train.h"

/* ---- auto.c: settings that are chosen automatically ---- */

/* 1 if the setting is the word CTT_CFG_WORD still. */
static inline int ctt_auto_lr(const struct ctt_train_cfg *cfg)
{
    return cfg->lr != cfg->lr;    /* NAN */
}
static inline int ctt_auto_batch(const struct ctt_train_cfg *cfg)
{
    return cfg->batch == CTT_OPT_WORD;
}

/* Replaces the words in cfg by numbers, and reports them to ev.
 *
 * batch: the largest power of two, up to the number of clips, with which the
 * training fits into memory; CTT_ENOMEM if none does.
 * lr: by a range test (lr_range.c).
 * shards, if a launcher has started the processes of wiring.comm and the
 * settings have none: one a process and, with --deterministic, at least 8, so
 * that up to 8 processes come to the same model; fewer than 8 if --batch allows
 * no more.  CTT_EINVAL: the processes cannot share a batch equally.
 *
 * m does not change.  A run that resumes (m->train) gets the numbers of the
 * checkpoint.  CTT_ESTOP if ctt_stopped(). */
int  ctt_train_auto(struct ctt_model *m, struct ctt_train_cfg *cfg,
                    struct ctt_data *train, struct ctt_data *val,
                    const struct ctt_events *ev);

/* The settings of a trial of some steps before a training: a constant rate, no
 * changes on the way, nothing that is resumed or written. */
struct ctt_train_cfg ctt_cfg_trial(const struct ctt_train_cfg *cfg);

/* ---- gpus.c ---- */

/* If cfg->device is a GPU, gives each rank of a machine a GPU of its own, which
 * ctt_dev_open() opens from now on.  line: the choice in words, or "".  Called
 * by all ranks; one rank changes nothing. */
int  ctt_train_gpus(const struct ctt_train_cfg *cfg, char *line, size_t size);

/* The value of CUDA_VISIBLE_DEVICES for a process that trains alone on the GPU
 * of this rank. */
const char *ctt_train_gpu(char *text, size_t size);

/* ---- ranks/strategy.c ---- */

/* CTT_EINVAL: a number of ranks that cannot share the work as the settings
 * ask. */
int  ctt_train_ranks_suit(const struct ctt_train_cfg *cfg);
/* 1 if --sync makes rank 0 the server of the others. */
int  ctt_train_has_server(const struct ctt_train_cfg *cfg);

/* ---- doctor.c, doctor_steps.c ---- */

/* The result of a check of clips, settings or first steps, and its remedy, an
 * option or a line of the model; "" if nothing looks wrong.  show: 1: worth a
 * line at each start. */
struct ctt_finding {
    const char *check;
    int         show;
    char        found[208], mends[160];
};
enum { CTT_CHECKS = 18 };
struct ctt_findings {
    int                count, wrong;
    struct ctt_finding row[CTT_CHECKS];
};

/* Runs the checks that need no training (val may be NULL) and, with deep, also
 * those that train a copy of m for some steps.  A check that does not apply to
 * the task gives no row.  CTT_ESTOP if ctt_stopped(). */
int ctt_doctor(const struct ctt_model *m, const struct ctt_train_cfg *cfg,
               struct ctt_data *train, struct ctt_data *val, int deep,
               struct ctt_findings *out);

/* Clips spread over a set: names, the middle frame of each as bytes
 * [clips][h, w, c], and the mean and deviation of its values, in 0..1.  looks:
 * 0 as they are, 1 as the augmentation of cfg changes them in the first epoch,
 * frames mixed with those of other clips, mean and deviation not; to be
 * freed. */
enum { CTT_CLIP_LOOKS = 16 };
struct ctt_clip_look {
    int      clips;
    const char *name[CTT_CLIP_LOOKS];    /* in the set */
    uint8_t *frame;
    double   mean[CTT_CLIP_LOOKS], dev[CTT_CLIP_LOOKS];
};
int  ctt_clip_looks(const struct ctt_data *d, const struct ctt_train_cfg *cfg,
                    struct ctt_clip_look out[2]);
void ctt_clip_looks_free(struct ctt_clip_look look[2]);

#endif
