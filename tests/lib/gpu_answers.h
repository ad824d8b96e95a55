/* SPDX-License-Identifier: Apache-2.0
 * gpu_answers.h: models whose sessions on a GPU are tested, and what they
 * answer. */
#ifndef CTT_TEST_GPU_ANSWERS_H
#define CTT_TEST_GPU_ANSWERS_H

#include "net/model.h"
#include "tests/lib/stream.h"

/* models/early-convttlstm.net, which gpu_answers_main() reads; an encoder and a
 * decoder; depthwise convs. */
extern char      *gpu_early;
extern const char gpu_unet[], gpu_mobile[];

struct ctt_model *gpu_new_model(const char *text);
struct ctt_infer *gpu_open_model(struct ctt_model *model, const char *device);

enum { GPU_FRAMES = 11, GPU_MOST = 16 * 16 * 3, GPU_ANSWERS = 3 };

/* Answers after frames 1, 6 and 11, which come `chunk` at a time; returns their
 * length.  apart: the largest difference. */
int   gpu_answers(const struct ctt_infer *m, int chunk,
                  float y[GPU_ANSWERS][GPU_MOST]);
float gpu_apart(int n, float a[GPU_ANSWERS][GPU_MOST],
                float b[GPU_ANSWERS][GPU_MOST]);

/* On the simulated GPU; skipped without it. */
int gpu_answers_main(CU_SuiteInfo *suites);

#endif
