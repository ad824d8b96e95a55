/* SPDX-License-Identifier: Apache-2.0
 * cfg.c: the table of the trainer's settings. */
#include "libtrain/step.h"

#include <string.h>

#define FIELD(f) offsetof(struct ctt_train_cfg, f)
#define MANY 1000000000

static const char *const optimizers[] = { "sgd", "adam", "adamw", NULL };
static const char *const schedules[] = { "constant", "step", "cosine", NULL };
static const char *const frame_losses[] = { "none", "all", "linear", "exp",
                                            NULL };

const struct ctt_opt ctt_train_opts[] = {
    { "out", CTT_STRING, FIELD(out), "", "the trained model", .letter = 'o',
      .arg = "FILE" },
    { "data", CTT_STRING, FIELD(data), "", "clips: a folder, a list or a pack",
      .letter = 'd', .arg = "PATH" },
    { "split", CTT_STRING, FIELD(split), "train", "part of the data to train "
      "on", .arg = "NAME" },
    { "val", CTT_STRING, FIELD(val), "", "clips to test on after an epoch; "
      "not given: --val-split of the data", .arg = "PATH" },
    { "val-split", CTT_STRING, FIELD(val_split), "validation", "part of the "
      "data to test on", .arg = "NAME" },
    { "classes", CTT_STRING, FIELD(classes), "", "names or numbers of the "
      "classes to keep, a line each", .arg = "FILE" },
    { "init", CTT_STRING, FIELD(init), "", "model whose weights to start from",
      .arg = "FILE" },
    { "epochs", CTT_INT, FIELD(epochs), "20", "times through the data", 1,
      100000, .arg = "N" },
    { "max-steps", CTT_INT, FIELD(max_steps), "0", "end after so many batches; "
      "0: no", 0, MANY, .arg = "N" },
    { "time-limit", CTT_FLOAT, FIELD(time_limit), "0", "end after so many "
      "minutes; 0: no", 0, 1e6, .arg = "MINUTES" },
    { "batch", CTT_INT, FIELD(batch), "16", "clips a step", 1, 4096,
      .letter = 'b', .arg = "N" },
    { "optimizer", CTT_CHOICE, FIELD(optimizer), "adamw", "rule",
      .choices = optimizers, .arg = "RULE" },
    { "lr", CTT_FLOAT, FIELD(lr), "0.001", "learning rate", 0, 1000 },
    { "momentum", CTT_FLOAT, FIELD(momentum), "0.9", "of sgd", 0, 0.9999 },
    { "beta1", CTT_FLOAT, FIELD(beta1), "0.9", "of adam: decay of the mean",
      0, 0.99999 },
    { "beta2", CTT_FLOAT, FIELD(beta2), "0.999", "of adam: decay of the mean "
      "square", 0, 0.999999 },
    { "eps", CTT_FLOAT, FIELD(eps), "1e-8", "of adam: added to the root",
      1e-30, 1 },
    { "weight-decay", CTT_FLOAT, FIELD(weight_decay), "1e-4", "of weights; "
      "biases and norms are left alone", 0, 10 },
    { "clip-norm", CTT_FLOAT, FIELD(clip_norm), "1", "longest gradient; 0: "
      "any", 0, 1e9 },
    { "schedule", CTT_CHOICE, FIELD(schedule), "cosine", "of the learning "
      "rate", .choices = schedules, .arg = "NAME" },
    { "warmup", CTT_FLOAT, FIELD(warmup), "0.5", "epochs of rising rate", 0,
      1000, .arg = "EPOCHS" },
    { "lr-end", CTT_FLOAT, FIELD(lr_end), "0", "cosine: the last rate, as a "
      "share of --lr", 0, 1 },
    { "step-epochs", CTT_INT, FIELD(step_epochs), "10", "step: epochs between "
      "two falls", 1, 100000, .arg = "N" },
    { "gamma", CTT_FLOAT, FIELD(gamma), "0.1", "step: factor of a fall", 0,
      1 },
    { "label-smooth", CTT_FLOAT, FIELD(label_smooth), "0", "share of the "
      "target given to all classes", 0, 0.9 },
    { "observe", CTT_STRING, FIELD(observe), "uniform:0.1-1", "ratios of a "
      "clip after which it is asked besides its end: uniform:A-B draws one, "
      "0.25,0.5 takes all, 1 none", .arg = "RATIOS" },
    { "observe-weight", CTT_FLOAT, FIELD(observe_weight), "1", "of the loss "
      "there", 0, 1000 },
    { "full-weight", CTT_FLOAT, FIELD(full_weight), "1", "of the loss at the "
      "end of the clip", 0, 1000 },
    { "frame-loss", CTT_CHOICE, FIELD(frame_loss), "none", "a loss at frames "
      "spread over the clip, at t of T weighted 1, t/T or exp(4t/T-4)",
      .choices = frame_losses, .arg = "KIND" },
    { "frame-asks", CTT_INT, FIELD(frame_asks), "8", "how many frames that "
      "is", 1, 256, .arg = "N" },
    { "buckets", CTT_STRING, FIELD(buckets), "auto", "groups of clips of like "
      "length: a number, or as many as pay", .arg = "N|auto" },
    { "jitter", CTT_FLAG, FIELD(jitter), "0", "cut the frame out at a random "
      "place (see scale= of the model's input)" },
    { "flip", CTT_FLAG, FIELD(flip), "0", "mirror half of the clips (wrong "
      "where left and right matter)" },
    { "brightness", CTT_FLOAT, FIELD(brightness), "0", "largest random change, "
      "of 0..1", 0, 1 },
    { "contrast", CTT_FLOAT, FIELD(contrast), "0", "largest random change of "
      "the factor 1", 0, 0.9 },
    { "workers", CTT_INT, FIELD(workers), "2", "threads that read clips", 1,
      256, .letter = 'j', .arg = "N" },
    { "cache", CTT_INT, FIELD(cache), "1024", "decoded frames kept in memory, "
      "a data set", 0, 1 << 24, .arg = "MIB" },
    { "min-frames", CTT_INT, FIELD(min_frames), "2", "shorter clips are bad",
      1, 100000, .arg = "N" },
    { "max-frames", CTT_INT, FIELD(max_frames), "0", "longer clips are cut; "
      "0: never", 0, 100000, .arg = "N" },
    { "strict", CTT_FLAG, FIELD(strict), "0", "a bad clip is an error" },
    { "val-every", CTT_INT, FIELD(val_every), "1", "epochs between two tests",
      1, 100000, .arg = "N" },
    { "val-batch", CTT_INT, FIELD(val_batch), "8", "clips a batch there", 1,
      4096, .arg = "N" },
    { "val-ratios", CTT_STRING, FIELD(val_ratios), "0.25,0.5,1", "observed "
      "ratios there; the last one decides", .arg = "RATIOS" },
    { "early-stop", CTT_INT, FIELD(early_stop), "0", "end after so many epochs "
      "without a better test; 0: no", 0, 100000, .arg = "EPOCHS" },
    { "checkpoint", CTT_STRING, FIELD(checkpoint), "", "file to go on from "
      "[OUT.ckpt, removed at the end]", .arg = "FILE" },
    { "checkpoint-every", CTT_INT, FIELD(checkpoint_every), "0", "batches "
      "between two; 0: an epoch", 0, MANY, .arg = "N" },
    { "resume", CTT_FLAG, FIELD(resume), "0", "go on from the checkpoint" },
    { "seed", CTT_INT, FIELD(seed), "1", "of everything random", 0, MANY },
    { "threads", CTT_INT, FIELD(threads), "0", "of the kernels; 0: all "
      "processors", 0, 4096, .letter = 't', .arg = "N" },
    { "device", CTT_STRING, FIELD(device), "cpu", "cpu, or ref: plain C",
      .arg = "NAME" },
    { "log-csv", CTT_STRING, FIELD(log_csv), "", "a row an epoch",
      .arg = "FILE" },
    { "log-json", CTT_STRING, FIELD(log_json), "", "a JSON object an epoch",
      .arg = "FILE" },
    { .name = NULL }
};

static int known_device(const char *name)
{
    for (int i = 0; name && ctt_dev_names[i]; i++)
        if (strcmp(ctt_dev_names[i], name) == 0)
            return 1;
    return 0;
}

int ctt_train_check(const struct ctt_train_cfg *cfg)
{
    struct ctt_point point[CTT_MAX_POINTS];
    struct ctt_asks asks;
    int n, rc = 0;

    CTT_TRY(ctt_asks_parse(cfg, &asks));
    CTT_CHECK(cfg->full_weight > 0 || asks.frames ||
              (cfg->observe_weight > 0 && asks.random + asks.points > 0),
              CTT_EINVAL, "--full-weight=0 and --observe leave no loss");
    rc = ctt_points_parse(cfg->val_ratios ? cfg->val_ratios : "1", point, &n);
    if (rc < 0)
        CTT_TRY(ctt_error(rc, "--val-ratios: %s", ctt_errmsg()));
    CTT_TRY(ctt_buckets_check(cfg->buckets, &n));
    CTT_CHECK(known_device(cfg->device), CTT_EINVAL, "--device: no choice '%s'",
              cfg->device ? cfg->device : "");
out:
    return rc;
}
