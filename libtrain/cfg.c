/* SPDX-License-Identifier: Apache-2.0
 * cfg.c: the table of the trainer's settings. */
#include "libtrain/predict/predict.h"

#include <string.h>

#define FIELD(f) offsetof(struct ctt_train_cfg, f)
#define MANY 1000000000
#define SEQUENCES 10000000    /* each takes some bytes in a list */

static const char *const optimizers[] = { "sgd", "adam", "adamw", NULL };
static const char *const schedules[] = { "constant", "step", "cosine",
                                          "sampled", NULL };
static const char *const tasks[] = { "recognise", "predict", NULL };
static const char *const amps[] = { "O0", "O1", "O2", NULL };
static const char *const amp_types[] = { "fp16", "bf16", NULL };
static const char *const frame_losses[] = { "none", "all", "linear", "exp",
                                            NULL };

const struct ctt_opt ctt_train_opts[] = {
    { "out", CTT_STRING, FIELD(out), "", "the trained model", .letter = 'o',
      .arg = "FILE" },
    { "data", CTT_STRING, FIELD(data), "", "clips: a folder, a list or a pack; "
      "mnist:DIR makes Moving-MNIST of the digits there", .letter = 'd',
      .arg = "PATH" },
    { "task", CTT_CHOICE, FIELD(task), "recognise", "say what a clip shows, or "
      "predict its next frames", .choices = tasks, .arg = "TASK" },
    { "input-frames", CTT_INT, FIELD(input_frames), "10", "predict: frames "
      "seen", 1, 4096, .arg = "N" },
    { "future-frames", CTT_INT, FIELD(future_frames), "10", "predict: frames "
      "after them", 1, 4096, .arg = "N" },
    { "loss", CTT_CHOICE, FIELD(loss), "l1l2", "predict: mean of |d| + d^2, or "
      "of d^2, over all frames but the first", .choices = ctt_predict_losses,
      .arg = "KIND" },
    { "sampling-start", CTT_STRING, FIELD(sampling_start), "auto", "predict: "
      "when future frames begin to be the model's own answers by chance: an "
      "epoch, auto: when the test loss stalls, or off",
      .arg = "auto|off|EPOCH" },
    { "sampling-patience", CTT_INT, FIELD(sampling_patience), "3", "tests "
      "without a smaller loss until then, and with --schedule=sampled so many "
      "again until the rate falls (3 is ours, for short runs; Su and others "
      "2020: 20)", 1, 100000, .arg = "TESTS" },
    { "sampling-decay", CTT_FLOAT, FIELD(sampling_decay), "0.05", "by which "
      "the share of true future frames falls an epoch from then on, down to "
      "0 (0.05 is ours; Su and others: 0.004)", 0, 1e6, .arg = "SHARE" },
    { "sequences", CTT_INT, FIELD(sequences), "10000", "mnist: sequences an "
      "epoch", 1, SEQUENCES, .arg = "N" },
    { "val-sequences", CTT_INT, FIELD(val_sequences), "3000", "mnist: "
      "sequences to test on", 1, SEQUENCES, .arg = "N" },
    { "digits", CTT_INT, FIELD(digits), "2", "mnist: digits a sequence", 1,
      CTT_MNIST_DIGITS, .arg = "N" },
    { "keep", CTT_STRING, FIELD(keep), "all", "windows of steps whose values "
      "are kept for the way back, the others are computed again: all, a "
      "number, or auto: as many as --memory allows", .arg = "N|all|auto" },
    { "window", CTT_INT, FIELD(window), "0", "steps a window; 0: the clip, in "
      "prediction 4, with --keep auto what suits", 0, 4096, .arg = "STEPS" },
    { "memory", CTT_STRING, FIELD(memory), "", "with --keep auto: most memory "
      "for values and gradients, such as 900M or 2G; not given: 3/4 of the "
      "machine's, or of what is free on the GPU", .arg = "SIZE" },
    { "amp", CTT_CHOICE, FIELD(amp), "O0", "mixed precision: O0: all fp32; O1: "
      "by op, weights kept in fp32; O2: every value in 16 bits but losses",
      .choices = amps, .arg = "LEVEL" },
    { "amp-type", CTT_CHOICE, FIELD(amp_type), "fp16", "of the 16 bits",
      .choices = amp_types, .arg = "TYPE" },
    { "amp-allow", CTT_STRING, FIELD(amp_allow), "", "ops or nodes that have "
      "16 bits as well, such as pool,n1; a node counts more than its op, and "
      "of the same --amp-deny more than this", .arg = "LIST" },
    { "amp-deny", CTT_STRING, FIELD(amp_deny), "", "ops or nodes that stay "
      "fp32", .arg = "LIST" },
    { "amp-plan", CTT_FLAG, FIELD(amp_plan), "0", "only say which values have "
      "which type, and why; needs no data" },
    { "loss-scale", CTT_STRING, FIELD(loss_scale), "", "factor of the loss, so "
      "that small gradients are seen: a number, or dynamic: 2^24, halved when "
      "one overflows (that step changes nothing), doubled after 2000 updates "
      "[fp16: dynamic, bf16: 1]", .arg = "N|dynamic" },
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
    { "max-steps", CTT_INT, FIELD(max_steps), "0", "end, with the "
      "schedule, after so many batches; 0: no", 0, MANY, .arg = "N" },
    { "time-limit", CTT_FLOAT, FIELD(time_limit), "0", "end after so many "
      "minutes, of which the schedule knows nothing; 0: no", 0, 1e6,
      .arg = "MINUTES" },
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
      "rate; sampled: as step, but only once sampling has started and the "
      "test loss stalls again (Su and others, with --optimizer=adam "
      "--clip-norm=3 --step-epochs=5 --gamma=0.98)", .choices = schedules,
      .arg = "NAME" },
    { "warmup", CTT_FLOAT, FIELD(warmup), "0.5", "epochs of rising rate", 0,
      1000, .arg = "EPOCHS" },
    { "lr-end", CTT_FLOAT, FIELD(lr_end), "0", "cosine: the last rate, as a "
      "share of --lr", 0, 1 },
    { "step-epochs", CTT_INT, FIELD(step_epochs), "10", "step, sampled: epochs "
      "between two falls", 1, 100000, .arg = "N" },
    { "gamma", CTT_FLOAT, FIELD(gamma), "0.1", "step, sampled: factor "
      "of a fall", 0, 1 },
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
    { "deterministic", CTT_FLAG, FIELD(deterministic), "0", "the same numbers "
      "for any number of threads; slower" },
    { "device", CTT_STRING, FIELD(device), "cpu", CTT_DEVICES_HELP,
      .arg = "NAME" },
    { "streams", CTT_INT, FIELD(streams), "1", "cuda: nodes that do not need "
      "each other run side by side, at most so many", 1, 8, .arg = "N" },
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

/* Settings of one task; to give them for another is a mistake. */
static const struct { const char *name; int task; } only[] = {
    { "observe", CTT_RECOGNISE }, { "observe-weight", CTT_RECOGNISE },
    { "full-weight", CTT_RECOGNISE }, { "frame-loss", CTT_RECOGNISE },
    { "frame-asks", CTT_RECOGNISE }, { "label-smooth", CTT_RECOGNISE },
    { "classes", CTT_RECOGNISE }, { "val-ratios", CTT_RECOGNISE },
    { "buckets", CTT_RECOGNISE }, { "input-frames", CTT_PREDICT },
    { "future-frames", CTT_PREDICT }, { "loss", CTT_PREDICT },
    { "sampling-start", CTT_PREDICT }, { "sampling-patience", CTT_PREDICT },
    { "sampling-decay", CTT_PREDICT },
};

/* Whether nobody asked for another value. */
static int is_plain(const char *name, const struct ctt_train_cfg *cfg)
{
    int k = ctt_opt_find(ctt_train_opts, name);

    return k >= 0 && ctt_opt_is_default(&ctt_train_opts[k], cfg);
}

static int check_task(const struct ctt_train_cfg *cfg)
{
    int rc = 0;

    for (size_t i = 0; i < CTT_LEN(only); i++)
        CTT_CHECK(cfg->task == only[i].task || is_plain(only[i].name, cfg),
                  CTT_EINVAL, "--%s is of --task=%s", only[i].name,
                  tasks[only[i].task]);
    CTT_CHECK(cfg->task == CTT_PREDICT || cfg->schedule != CTT_SAMPLED,
              CTT_EINVAL, "--schedule=sampled is of --task=predict");
out:
    return rc;
}

static int has_tests_to_count(const struct ctt_train_cfg *cfg)
{
    return ctt_sampling_waits(cfg) || cfg->schedule == CTT_SAMPLED;
}

static int samples(const struct ctt_train_cfg *cfg)
{
    return !ctt_sampling_off(cfg);
}

static int draws_data(const struct ctt_train_cfg *cfg)
{
    return cfg->data && ctt_mnist_path(cfg->data);
}

static int draws(const struct ctt_train_cfg *cfg)
{
    return draws_data(cfg) || (cfg->val && ctt_mnist_path(cfg->val));
}

static int mixes(const struct ctt_train_cfg *cfg)
{
    return cfg->amp != CTT_O0;
}

static int on_gpu(const struct ctt_train_cfg *cfg)
{
    return cfg->device && strcmp(cfg->device, "cuda") == 0;
}

/* Settings that do nothing without another one. */
static const struct {
    const char *name;
    int       (*used)(const struct ctt_train_cfg *cfg);
    const char *with;
} needs[] = {
    { "sampling-patience", has_tests_to_count,
      "--sampling-start=auto or --schedule=sampled" },
    { "sampling-decay", samples, "--sampling-start=auto or an epoch" },
    { "sequences", draws_data, "--data=mnist:DIR" },
    { "val-sequences", draws, "mnist:DIR" },
    { "digits", draws, "mnist:DIR" },
    { "amp-type", mixes, "--amp=O1 or O2" },
    { "amp-allow", mixes, "--amp=O1 or O2" },
    { "amp-deny", mixes, "--amp=O1 or O2" },
    { "loss-scale", mixes, "--amp=O1 or O2" },
    { "streams", on_gpu, "--device=cuda" },
};

static int check_needs(const struct ctt_train_cfg *cfg)
{
    int rc = 0;

    for (size_t i = 0; i < CTT_LEN(needs); i++)
        CTT_CHECK(needs[i].used(cfg) || is_plain(needs[i].name, cfg),
                  CTT_EINVAL, "--%s: goes with %s", needs[i].name,
                  needs[i].with);
out:
    return rc;
}

static int check_predict(const struct ctt_train_cfg *cfg)
{
    int frames = cfg->input_frames + cfg->future_frames, rc = 0;

    CTT_TRY(ctt_sampling_check(cfg));
    CTT_CHECK(cfg->schedule != CTT_SAMPLED || samples(cfg), CTT_EINVAL,
              "--schedule=sampled: goes with --sampling-start=auto or an "
              "epoch");
    CTT_CHECK(!cfg->max_frames || cfg->max_frames >= frames, CTT_EINVAL,
              "--max-frames=%d: a sequence has %d frames", cfg->max_frames,
              frames);
out:
    return rc;
}

static int check_recognise(const struct ctt_train_cfg *cfg)
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
out:
    return rc;
}

static int (*const checks[])(const struct ctt_train_cfg *) = {
    [CTT_RECOGNISE] = check_recognise, [CTT_PREDICT] = check_predict,
};

int ctt_train_check(const struct ctt_train_cfg *cfg)
{
    struct ctt_memory memory;
    struct ctt_scale scale;
    int rc = 0;

    CTT_TRY(check_task(cfg));
    CTT_TRY(checks[cfg->task](cfg));
    CTT_TRY(check_needs(cfg));
    CTT_TRY(ctt_memory_parse(cfg, &memory));
    CTT_TRY(ctt_scale_begin(cfg, &scale));
    CTT_CHECK(known_device(cfg->device), CTT_EINVAL, "--device: no choice '%s'",
              cfg->device ? cfg->device : "");
out:
    return rc;
}
