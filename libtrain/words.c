/* SPDX-License-Identifier: Apache-2.0
 * words.c: the words in messages for what a training reads. */
#include "libtrain/train.h"
#include "video/text/text.h"

const char *ctt_word_clips(const struct ctt_train_cfg *cfg)
{
    static const char *const words[] = {
        [CTT_RECOGNISE] = "clips", [CTT_PREDICT] = "sequences",
        [CTT_BOTH] = "clips", [CTT_NEXT] = "lines",
    };
    int one = cfg->task == CTT_NEXT && cfg->data && ctt_text_runs_on(cfg->data);

    return one ? "windows" : words[cfg->task];
}

const char *ctt_word_frame(const struct ctt_train_cfg *cfg)
{
    return cfg->task == CTT_NEXT ? "symbol" : "frame";
}
