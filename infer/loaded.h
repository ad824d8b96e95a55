/* SPDX-License-Identifier: Apache-2.0
 * loaded.h: a loaded model, as its sessions see it. */
#ifndef CTT_LOADED_H
#define CTT_LOADED_H

#include "infer/inside.h"
#include "net/file/decision.h"

enum { CTT_INFER_DIGITS = 12 };

struct ctt_share;

struct ctt_infer {
    struct ctt_model      *model;
    char                  *path, *device;
    int                    threads;
    enum ctt_dtype         multiply;
    int                    tf32;        /* with fp32: multiply is rounded */
    struct ctt_share      *share;       /* engine.h; NULL: the device's memory
                                           is the program's */
    uint64_t               print;       /* saved.c: what a saved stream names
                                           the model by; 0: not known yet */
    struct ctt_tune       *tune;        /* NULL: kernels are chosen by rule */
    struct ctt_decision    decision;
    int                    has_decision, holds;    /* the file has a decision;
                                                      it is for this model */
    int                    decides;     /* sessions do */
    int                    input, output, classes;
    int                    predicts;    /* the output is a frame */
    int                    several;     /* classes do not exclude each other */
    float                 *threshold;   /* of each class then, or NULL */
    int64_t                clips;       /* that these were found on; 0: none */
    char                 (*number)[CTT_INFER_DIGITS];    /* names of classes
                                                            without labels */
    struct ctt_infer_input wants;
};

/* The word of ctt_infer_multiply(). */
const char *ctt_infer_type(const struct ctt_infer *m);

/* CTT_EINVAL for a NULL pointer; needs an int rc and a label out. */
#define GIVEN(p) CTT_CHECK(p, CTT_EINVAL, "%s: %s is NULL", __func__, #p)

/* Puts the model's file before the message of an error. */
int ctt_infer_blame(const struct ctt_infer *m, int rc);

#endif
