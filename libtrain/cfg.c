/* SPDX-License-Identifier: Apache-2.0
 * cfg.c: the table of the trainer's settings. */
#include "device/device.h"
#include "libtrain/predict/predict.h"
#include "libtrain/search/search_opt.h"
#include "libtrain/ranks/shards.h"
#include "base/limits_opt.h"
#include "base/span.h"
#include "video/source.h"

#define FIELD(f) offsetof(struct ctt_train_cfg, f)
#define LIMIT(member) FIELD(limits.member)
#define TELLING(member) FIELD(telling.member)
#define MANY 1000000000
#define SEQUENCES 10000000    /* each takes some bytes in a list */

/* Conditions that several rows share. */
#define RECOGNISE "task=recognise|task=both"
#define PREDICT "task=predict"
#define NEXT "task=next"
#define PICTURES "task!=next"
#define MIXED "amp=O1|amp=O2"
#define AUGMENT "Augmentation in training"
/* An amount that --augment sets unless it is given. */
#define PRESET "preset"
#define PRESET_TAGS .word = PRESET, .tags = STEP | QUIET
#define MNIST "data=mnist:*|val=mnist:*"
#define LAYERWISE "optimizer=lars|optimizer=larc"
#define STEPS "schedule=step|schedule=sampled"

enum { COMMON = CTT_OPT_COMMON, RESUME = CTT_CFG_RESUME,
       QUIET = CTT_OPT_QUIET,
       TRAINER = CTT_CFG_TRAINER, STEP = CTT_CFG_STEP,
       CLIPS = CTT_CFG_CLIPS };

static const char *const optimizers[] = {
    [CTT_SGD] = "sgd", [CTT_ADAM] = "adam", [CTT_ADAMW] = "adamw",
    [CTT_NESTEROV] = "nesterov", [CTT_RMSPROP] = "rmsprop",
    [CTT_ADAGRAD] = "adagrad", [CTT_LARS] = "lars", [CTT_LARC] = "larc", NULL
};
static const char *const schedules[] = { "constant", "step", "cosine",
                                          "sampled", NULL };
static const char *const tasks[] = { "recognise", "predict", "both", "next",
                                     NULL };
static const char *const readings[] = { "auto", "motion", "maps", "both",
                                        NULL };    /* enum ctt_head_part */
static const char *const off_on[] = { "off", "on", NULL };
static const char *const augments[] = { "off", "light", "strong", NULL };
static const char *const amps[] = { "O0", "O1", "O2", NULL };
static const char *const amp_types[] = { "fp16", "bf16", NULL };
static const char *const affinities[] = { "auto", "none", NULL };
static const char *const ways[] = { "auto", "mpi", "nccl", NULL };
static const char *const weightings[] = { "none", "balanced", NULL };
static const char *const samplers[] = { "plain", "balanced", NULL };
static const char *const picks[] = { "auto", "best", "last", "ema", "ema-last",
                                     NULL };
const char *const ctt_search_methods[] = { "asha", "halving", "median",
                                           "random", NULL };
static const char *const frame_losses[] = { "none", "all", "linear", "exp",
                                            NULL };

/* In the order of their sections, as --help=all lists them. */
const struct ctt_opt ctt_train_opts[] = {
    { "data", CTT_STRING, FIELD(data), "", "training clips: a folder, a list "
      "or a pack; digits:DIR: the pictures of MNIST in DIR; mnist:DIR: "
      "Moving-MNIST sequences made from them; for language models text:FILE, "
      "the bytes of a text from its begin to its end (a line end is <eos>; "
      "empty lines, and a CR before a line end, are left out), and words:FILE, "
      "lines of words, each a sentence of its own",
      .letter = 'd', .arg = "PATH",
      .section = "Data", .tags = COMMON | RESUME },
    { "val", CTT_STRING, FIELD(val), "", "validation clips, or none; not "
      "given: --val-split of --data or, if it has no splits, a fifth of its "
      "clips. PATH is as for --data, but a folder per class needs no splits",
      .arg = "PATH",
      .section = "Data", .tags = COMMON | RESUME },
    { "test", CTT_STRING, FIELD(test), "", "held-out clips, named like those "
      "of --val, that are scored once, after the model is written; not given: "
      "split test of --data", .arg = "PATH", .section = "Data",
      .needs = "folds=0", .tags = RESUME | TRAINER },
    { "split", CTT_STRING, FIELD(split), "train", "split of --data to train "
      "on", .arg = "NAME", .section = "Data", .tags = STEP },
    { "val-split", CTT_STRING, FIELD(val_split), "validation", "split to "
      "validate on", .arg = "NAME", .section = "Data", .tags = CLIPS },
    { "classes", CTT_STRING, FIELD(classes), "", "file with the names or "
      "numbers of the classes to use, one per line", .arg = "FILE",
      .section = "Data", .needs = RECOGNISE, .tags = CLIPS | RESUME },
    { "background", CTT_STRING, FIELD(background), "", "add a class of this "
      "name for the time before and between the parts of videos in a list; "
      "the time after the last part is left out", .arg = "NAME",
      .section = "Data", .needs = RECOGNISE, .tags = CLIPS | RESUME },
    { "fps", CTT_FLOAT, FIELD(fps), "0", "frames per second of folders of "
      "pictures whose path states none (FOLDER#@25); 0: every picture is a "
      "frame", 0, CTT_SOURCE_FPS, .arg = "RATE", .section = "Data",
      .tags = CLIPS | RESUME },
    { "min-frames", CTT_INT, FIELD(min_frames), "1", "skip clips with fewer "
      "frames", 1, 100000, .arg = "N", .section = "Data", .tags = CLIPS },
    { "vocab", CTT_INT, FIELD(vocab), "10000", "the N most frequent symbols of "
      "text:FILE or words:FILE are told from each other, <eos> and <unk> for "
      "line ends and the rest among them; --init: its model's", 3,
      1 << 16, .arg = "N", .section = "Data", .needs = NEXT,
      .tags = STEP | TRAINER },
    { "max-frames", CTT_INT, FIELD(max_frames), "0", "cut longer clips to N "
      "frames, lines of words:FILE into pieces of N symbols, text:FILE into "
      "windows of N; 0: no limit, for words 512, for text 128", 0, 100000,
      .arg = "N", .section = "Data", .tags = CLIPS },
    { "strict", CTT_FLAG, FIELD(strict), "0", "fail, instead of skipping a "
      "clip, if one cannot be read, was cut short, joined or has two classes",
      .section = "Data", .tags = CLIPS | RESUME },
    { "buckets", CTT_STRING, FIELD(buckets), "auto", "groups of clips of "
      "similar length from which batches are drawn: auto: as many as save "
      "time; N: at most so many; N,N,..: the most frames of each, in rising "
      "order, to which its clips are padded", .arg = "auto|N|N,N,..",
      .section = "Data", .needs = RECOGNISE "|" NEXT, .tags = STEP },
    { "sampler", CTT_CHOICE, FIELD(sampler), "plain", "clips of an epoch: "
      "plain takes each once; balanced draws all classes equally often and "
      "repeats clips of small classes with new augmentation",
      .choices = samplers, .section = "Data", .needs = RECOGNISE,
      .tags = STEP | QUIET },
    { "workers", CTT_INT, FIELD(workers), "2", "threads that decode clips", 1,
      256, .letter = 'j', .arg = "N", .section = "Data",
      .tags = CLIPS | RESUME },
    { "cache", CTT_INT, FIELD(cache), "1024", "most memory for decoded frames "
      "per data set; other uses of memory come first", 0, 1 << 24, .arg = "MIB",
      .section = "Data", .tags = CLIPS | RESUME },
    { "sequences", CTT_INT, FIELD(sequences), "10000", "sequences per epoch",
      1, SEQUENCES, .arg = "N", .section = "Data",
      .needs = "data=mnist:*", .tags = TRAINER },
    { "val-sequences", CTT_INT, FIELD(val_sequences), "3000", "validation "
      "sequences", 1, SEQUENCES, .arg = "N", .section = "Data",
      .needs = MNIST, .tags = RESUME | TRAINER },
    { "digits", CTT_INT, FIELD(digits), "2", "digits per sequence", 1,
      CTT_MNIST_DIGITS, .arg = "N", .section = "Data",
      .needs = MNIST, .tags = TRAINER },

    { "augment", CTT_CHOICE, FIELD(augment), "light", "random changes of each "
      "clip in each epoch: light suits any data, strong suits few clips; an "
      "option of this section replaces one of its values", .choices = augments,
      .section = AUGMENT, .needs = RECOGNISE, .tags = STEP | QUIET },
    { "rand-augment", CTT_INT, FIELD(rand_augment), "0", "instead of the "
      "values of --augment, change each clip in N ways drawn from "
      "--crop-area, --crop-aspect, --speed, --start, --brightness, "
      "--contrast, --random-gamma, --saturation and --erase, all at "
      "--magnitude (Cubuk and others 2020); options of these that are given "
      "are not drawn; 0: off", 0, 9, .arg = "N", .section = AUGMENT,
      .needs = RECOGNISE, .tags = STEP | QUIET },
    { "magnitude", CTT_FLOAT, FIELD(magnitude), "5", "strength of the changes "
      "of --rand-augment", 0.1, CTT_MAGNITUDES, .arg = "M", .section = AUGMENT,
      .needs = "rand-augment", .tags = STEP | QUIET },
    { "jitter", CTT_FLAG, FIELD(jitter), "0", "crop frames at a "
      "random position (see scale= of the model's input)", .section = AUGMENT,
      .needs = PICTURES,
      .tags = STEP },
    { "flip", CTT_FLAG, FIELD(flip), "0", "mirror half of the "
      "clips (wrong if left and right matter)", .section = AUGMENT,
      .needs = PICTURES,
      .tags = STEP },
    { "crop-area", CTT_FLOAT, FIELD(crop_area), PRESET, "least area of a crop "
      "at a random position, as a share of the model's frame, to whose size "
      "it is resized; crops may be as much larger, up to the stored frame",
      0.25, 1, .arg = "SHARE", .section = AUGMENT,
      .needs = PICTURES, PRESET_TAGS },
    { "crop-aspect", CTT_FLOAT, FIELD(crop_aspect), PRESET, "most widening or "
      "heightening of such a crop, as a factor", 1, 2, .arg = "R",
      .section = AUGMENT,
      .needs = PICTURES, PRESET_TAGS },
    { "speed", CTT_FLOAT, FIELD(speed), PRESET, "a clip is played 1/S to S "
      "times as fast by selection of its frames", 1, 4, .arg = "S",
      .section = AUGMENT, .needs = RECOGNISE, PRESET_TAGS },
    { "start", CTT_FLOAT, FIELD(start), PRESET, "largest share of a clip that "
      "is cut off at its beginning", 0, 0.9, .arg = "SHARE", .section = AUGMENT,
      .needs = RECOGNISE, PRESET_TAGS },
    { "brightness", CTT_FLOAT, FIELD(brightness), PRESET, "largest "
      "random offset of a clip's values, in units of their standard deviation",
      0, 10, .section = AUGMENT,
      .needs = PICTURES, PRESET_TAGS },
    { "contrast", CTT_FLOAT, FIELD(contrast), PRESET, "largest "
      "random deviation from 1 of the contrast factor, which spreads a clip's "
      "values about their mean; nothing is clipped", 0, 0.9,
      .section = AUGMENT,
      .needs = PICTURES, PRESET_TAGS },
    { "random-gamma", CTT_FLOAT, FIELD(random_gamma), PRESET, "raise a clip's "
      "values, scaled between its darkest and brightest, to a random power of "
      "1/(1+G) to 1+G; mean and deviation stay", 0, 4, .arg = "G",
      .section = AUGMENT,
      .needs = PICTURES, PRESET_TAGS },
    { "saturation", CTT_FLOAT, FIELD(saturation), PRESET, "largest random "
      "deviation from 1 of the factor that spreads the three channels of a "
      "pixel about their mean", 0, 1, .section = AUGMENT,
      .needs = PICTURES, PRESET_TAGS },
    { "grey", CTT_FLOAT, FIELD(grey), PRESET, "share of the clips whose "
      "channels become their mean", 0, 1, .arg = "SHARE", .section = AUGMENT,
      .needs = PICTURES,
      PRESET_TAGS },
    { "erase", CTT_FLOAT, FIELD(erase), PRESET, "share of the clips in which a "
      "rectangle, the same in all frames, becomes their mean (Zhong and others "
      "2020)", 0, 1, .arg = "SHARE", .section = AUGMENT, .needs = RECOGNISE,
      PRESET_TAGS },
    { "mixup", CTT_FLOAT, FIELD(mixup), PRESET, "mix clips of a batch in "
      "pairs, with their labels, by shares of a beta distribution of (A, A) "
      "(Zhang and others 2018); 0: none", 0, 1, .arg = "A", .section = AUGMENT,
      .needs = RECOGNISE, PRESET_TAGS },
    { "cutmix", CTT_FLOAT, FIELD(cutmix), PRESET, "the same, but with a "
      "rectangle of one clip in the other (Yun and others 2019); with --mixup "
      "each is for half of the pairs", 0, 1, .arg = "A", .section = AUGMENT,
      .needs = RECOGNISE, PRESET_TAGS },

    { "task", CTT_CHOICE, FIELD(task), "recognise", "recognise: classify "
      "clips; predict: predict their next frames; both: classify, and learn "
      "to predict the next frame by the model's line 'ahead', which the "
      "trained model does not have; next: predict the next symbol of text",
      .choices = tasks, .section = "Model",
      .tags = TRAINER },
    { "init", CTT_STRING, FIELD(init), "", "start from the weights of this "
      "model file or ONNX file", .arg = "FILE", .section = "Model",
      .tags = COMMON | RESUME | TRAINER },
    { "backbone", CTT_STRING, FIELD(backbone), "", "train only a linear "
      "classifier of the features of this model, given in place of a model "
      "text; the weights of a text (.net) are random: a control", .arg = "FILE",
      .section = "Model", .needs = "task=recognise", .tags = COMMON | TRAINER },
    { "nodes", CTT_STRING, FIELD(nodes), "s8,s16", "nodes of --backbone whose "
      "maps the head reads", .arg = "NAME,...", .section = "Model",
      .needs = "backbone", .tags = TRAINER },
    { "reads", CTT_CHOICE, FIELD(reads), "auto", "what the head reads of "
      "them: motion, their changes over 1/6 and 1/3 of a second; maps, "
      "themselves; both; auto: whatever tells the clips of a group best by a "
      "fit to the other groups", .choices = readings, .section = "Model",
      .needs = "backbone", .tags = TRAINER },
    { "set", CTT_STRING, FIELD(set), "", "values in place of those that the "
      "lines 'let' of the model text name, such as width=32,rank=4",
      .arg = "NAME=VALUE,...", .section = "Model", .needs = "!backbone",
      .tags = TRAINER },
    { "freeze", CTT_STRING, FIELD(freeze), "", "nodes whose weights do not "
      "change, such as conv1,h*; batch norms among them use their running "
      "statistics", .arg = "PATTERNS", .section = "Model", .needs = "dsd=0",
      .tags = STEP | TRAINER },
    { "seed", CTT_INT, FIELD(seed), "1", "seed of all random numbers", 0, MANY,
      .section = "Model", .tags = STEP },

    { "epochs", CTT_INT, FIELD(epochs), "20", "passes over the training data",
      1, 100000, .arg = "N", .section = "Optimiser",
      .tags = COMMON | RESUME | TRAINER },
    { "max-steps", CTT_INT, FIELD(max_steps), "0", "stop after N batches, "
      "where the learning rate schedule ends, too; 0: no limit", 0, MANY,
      .arg = "N", .section = "Optimiser", .tags = RESUME | TRAINER },
    { "time-limit", CTT_FLOAT, FIELD(time_limit), "0", "stop after this many "
      "minutes, where --schedule cosine ends, too; 0: no limit", 0, 1e6,
      .arg = "MINUTES", .section = "Optimiser", .tags = RESUME | TRAINER },
    { "batch", CTT_INT, FIELD(batch), "16", "clips per batch; convtt-train: "
      "auto is the largest power of two that fits into --memory, up to the "
      "number of clips", 1, 4096, .word = CTT_CFG_WORD, .letter = 'b',
      .arg = "N", .section = "Optimiser", .tags = STEP },
    { "shards", CTT_INT, FIELD(shards), "1", "compute a batch in this many "
      "equal parts, one after the other, and add their gradients (gradient "
      "accumulation); values take the memory of one part, and batch norms, "
      "--mixup and --cutmix work within it; a power of two that divides "
      "--batch; several processes divide the shards equally and have 8, or "
      "one each, if none are given", 1, CTT_MAX_SHARDS, .arg = "N",
      .section = "Optimiser", .tags = STEP },
    { "squeeze", CTT_STRING, FIELD(squeeze), "none", "compression of the "
      "gradients that processes send: bf16, fp16: 16-bit numbers, each sum "
      "rounded; share=P: the values of largest magnitude, this share of each "
      "gradient, rounded to powers of two of one number; threshold=T: values "
      "of magnitude T or more, as T, 2T, 4T and so on; share and threshold "
      "keep the rest for later; fp16 requires the loss scale of --amp",
      .arg = "none|bf16|fp16|share=P|threshold=T", .section = "Optimiser",
      .tags = STEP | TRAINER | QUIET },
    { "sync", CTT_STRING, FIELD(sync), "all", "cooperation of several "
      "processes: all: each has the whole sum of gradients and the same "
      "weights; otherwise process 0 keeps the weights and workers send it "
      "gradients: central waits for all of a batch; backup=B drops the last "
      "B; async takes each gradient as it comes, of a batch of its own; "
      "backup and async require --deterministic off",
      .arg = "all|central|backup=B|async", .section = "Optimiser",
      .tags = STEP | TRAINER | QUIET },
    { "stages", CTT_STRING, FIELD(stages), "", "several processes: each has a "
      "section of the model, and the shards of a batch pass through all of "
      "them; auto: sections of about equal time, one for each process; N: so "
      "many, and each N processes have shards of their own; NAME,..: the first "
      "nodes of all sections but the first; the result is that of one process "
      "with as many --shards", .arg = "auto|N|NAME,..",
      .section = "Optimiser", .tags = RESUME | TRAINER },
    { "bands", CTT_INT, FIELD(bands), "0", "groups of N processes, which share "
      "the shards of a batch: each process computes a band of the rows of "
      "every image of its group; the result is that of one process with as "
      "many --shards, but for rounding; 0: off", 0, CTT_MAX_SHARDS, .arg = "N",
      .section = "Optimiser", .tags = RESUME | TRAINER },
    { "filters", CTT_INT, FIELD(filters), "0", "the same with a part of the "
      "filters of every conv in place of a band", 0, CTT_MAX_SHARDS,
      .arg = "N", .section = "Optimiser", .tags = RESUME | TRAINER },
    { "sync-norm", CTT_FLAG, FIELD(sync_norm), "0", "several processes: batch "
      "norms have the statistics of the whole batch, not of a shard; each "
      "process, or group of them, has one shard", .section = "Optimiser",
      .tags = STEP | TRAINER | QUIET },
    { "optimizer", CTT_CHOICE, FIELD(optimizer), "adamw", "update rule",
      .choices = optimizers, .section = "Optimiser", .tags = STEP },
    { "lr", CTT_FLOAT, FIELD(lr), "0.001", "learning rate; convtt-train: auto "
      "is a tenth of the rate of lowest loss in 100 steps of a copy of the "
      "model at rising rates (range test, Smith 2017)", 0, 1000,
      .word = CTT_CFG_WORD, .section = "Optimiser", .tags = STEP | COMMON },
    { "lr-scale", CTT_STRING, FIELD(lr_scale), "", "factors of the learning "
      "rate by node, such as conv*=0.1,y=2; the first pattern that matches "
      "counts", .arg = "PATTERN=FACTOR,...", .section = "Optimiser",
      .tags = STEP | TRAINER },
    { "momentum", CTT_FLOAT, FIELD(momentum), "0.9", "momentum", 0, 0.9999,
      .section = "Optimiser", .needs = "optimizer=sgd|optimizer=nesterov|"
      LAYERWISE, .tags = STEP },
    { "trust", CTT_FLOAT, FIELD(trust), "0.02", "a step changes the kernel of "
      "a conv by this share of its own norm, times --lr with lars (You and "
      "others 2017), and with larc no more than at the rate --lr", 1e-6, 1,
      .arg = "SHARE", .section = "Optimiser", .needs = LAYERWISE,
      .tags = STEP },
    { "beta1", CTT_FLOAT, FIELD(beta1), "0.9", "decay of the mean gradient",
      0, 0.99999, .section = "Optimiser",
      .needs = "optimizer=adam|optimizer=adamw", .tags = STEP },
    { "beta2", CTT_FLOAT, FIELD(beta2), "0.999", "decay of the mean squared "
      "gradient", 0, 0.999999, .section = "Optimiser",
      .needs = "optimizer=adam|optimizer=adamw|optimizer=rmsprop",
      .tags = STEP },
    { "weight-decay", CTT_FLOAT, FIELD(weight_decay), "1e-4", "decay of "
      "weights; biases and norms are not decayed", 0, 10,
      .section = "Optimiser", .tags = STEP },
    { "clip-norm", CTT_FLOAT, FIELD(clip_norm), "1", "scale gradients down to "
      "this norm; 0: no limit; --squeeze=share and threshold scale each "
      "shard's gradient to this norm divided by the root of their number", 0,
      1e9, .section = "Optimiser", .tags = STEP },
    { "schedule", CTT_CHOICE, FIELD(schedule), "cosine", "learning rate "
      "schedule; sampled is for prediction: as step, but only once scheduled "
      "sampling has started and the validation loss stalls again",
      .choices = schedules, .section = "Optimiser", .tags = STEP },
    { "warmup", CTT_FLOAT, FIELD(warmup), "0.5", "epochs over which the "
      "learning rate rises to --lr", 0, 1000, .arg = "EPOCHS",
      .section = "Optimiser", .tags = STEP },
    { "lr-end", CTT_FLOAT, FIELD(lr_end), "0", "last learning rate, as a "
      "fraction of --lr", 0, 1, .section = "Optimiser",
      .needs = "schedule=cosine", .tags = STEP },
    { "step-epochs", CTT_INT, FIELD(step_epochs), "10", "epochs between two "
      "decreases of the learning rate", 1, 100000, .arg = "N",
      .section = "Optimiser", .needs = STEPS, .tags = STEP },
    { "gamma", CTT_FLOAT, FIELD(gamma), "0.1", "factor of each decrease", 0, 1,
      .section = "Optimiser", .needs = STEPS, .tags = STEP },
    { "label-smooth", CTT_FLOAT, FIELD(label_smooth), "0", "fraction of the "
      "target distribution spread over all classes", 0, 0.9,
      .section = "Optimiser", .needs = RECOGNISE, .tags = STEP },
    { "class-weights", CTT_CHOICE, FIELD(class_weights), "none", "balanced: "
      "weight the loss of a clip by 1 / the number of clips of its class",
      .choices = weightings, .section = "Optimiser", .needs = RECOGNISE,
      .tags = STEP | CTT_OPT_QUIET },
    { "teacher", CTT_STRING, FIELD(teacher), "", "distillation: learn also "
      "the answers of this model, or the mean answers of several; teachers "
      "may be larger but have the same input line", .arg = "FILE,...",
      .section = "Optimiser", .needs = RECOGNISE, .tags = STEP },
    { "distil", CTT_FLOAT, FIELD(distil), "0.7", "share of the loss with the "
      "teacher's answers as the target; the labels have the rest (Hinton and "
      "others 2015); convtt-compress: without --teacher the given model "
      "teaches; 0: no distillation", 0, 1, .arg = "SHARE",
      .section = "Optimiser", .needs = RECOGNISE, .tags = STEP },
    { "self-distil", CTT_FLOAT, FIELD(self_distil), "0", "share of the loss "
      "of early answers with the model's own answer at the end of the clip as "
      "the target; 0: off", 0, 1, .arg = "SHARE", .section = "Optimiser",
      .needs = RECOGNISE, .tags = STEP | CTT_OPT_QUIET },
    { "distil-temperature", CTT_FLOAT, FIELD(temperature), "4", "divisor of "
      "the logits of target answers and of the answers compared with them; "
      "above 1 the classes that are not the answer count more", 0.01, 1000,
      .arg = "T", .section = "Optimiser", .needs = RECOGNISE, .tags = STEP },
    { "ema", CTT_FLOAT, FIELD(ema), "0", "average the weights over the "
      "updates: after each update the average keeps this share of itself, "
      "such as 0.99 (less at first) (Polyak and Juditsky 1992); 0: off", 0,
      0.999999, .arg = "DECAY", .section = "Optimiser",
      .tags = STEP | CTT_OPT_QUIET },
    { "dsd", CTT_FLOAT, FIELD(dsd), "0", "dense-sparse-dense training: from "
      "half to 80% of the steps this share of each convolution's weights, the "
      "smallest, is zero; afterwards the learning rate is a tenth (Han and "
      "others 2017); 0: off", 0, 0.99, .arg = "SHARE", .section = "Optimiser",
      .tags = STEP | TRAINER },

    { "doctor", CTT_FLAG, FIELD(doctor), "0", "check the clips, the settings "
      "and the first steps of learning, print the findings and remedies, and "
      "exit without training a model", .section = "Validation",
      .needs = "!resume !amp-plan", .tags = COMMON | RESUME | TRAINER },
    { "baselines", CTT_CHOICE, FIELD(baselines), "on", "print beside the "
      "result what is right without a network: the largest class, and linear "
      "answers from one frame and from differences of frames",
      .choices = off_on, .section = "Validation", .needs = RECOGNISE,
      .tags = RESUME | TRAINER },
    { "folds", CTT_INT, FIELD(folds), "0", "cross-validation: train N models, "
      "OUT.fold1.h5 and so on, each on all but one of N parts of the clips, "
      "and print mean and deviation over the parts; 0: off", 0, 100,
      .arg = "N", .section = "Validation", .needs = RECOGNISE " !doctor "
      "!amp-plan", .tags = TRAINER | CTT_OPT_QUIET },
    { "val-every", CTT_INT, FIELD(val_every), "1", "epochs between two "
      "validations", 1, 100000, .arg = "N", .section = "Validation",
      .tags = STEP | RESUME },
    { "val-batch", CTT_INT, FIELD(val_batch), "8", "clips per validation "
      "batch; of text:FILE it is 1", 1, 4096, .arg = "N",
      .section = "Validation",
      .tags = CLIPS | RESUME },
    { "val-ratios", CTT_STRING, FIELD(val_ratios), "0.25,0.5,1", "observed "
      "ratios at which accuracy is measured; its mean over them selects the "
      "best epoch", .arg = "RATIOS", .section = "Validation",
      .needs = RECOGNISE, .tags = TRAINER },
    { "pick", CTT_CHOICE, FIELD(pick), "auto", "weights that become the "
      "model: of the epoch with the best validation, of the last epoch, or "
      "the average of --ema at one of them; validation tests the same "
      "weights; auto: ema with --ema, otherwise best", .choices = picks,
      .section = "Validation", .tags = TRAINER | CTT_OPT_QUIET },
    { "early-stop", CTT_INT, FIELD(early_stop), "0", "stop after this many "
      "epochs without a better validation; 0: never", 0, 100000,
      .arg = "EPOCHS", .section = "Validation", .tags = RESUME | TRAINER },

    CTT_SEARCH_ROWS(FIELD, RESUME | TRAINER | QUIET),

    { "observe", CTT_STRING, FIELD(observe), "uniform:0.1-1", "observed "
      "ratios of a clip at which the loss is computed besides its end: "
      "uniform:A-B draws one per clip, 0.25,0.5 uses both, 1 none",
      .arg = "RATIOS", .section = "Early observation", .needs = RECOGNISE,
      .tags = STEP },
    { "frame-loss", CTT_CHOICE, FIELD(frame_loss), "none", "additional loss at "
      "frames spread over the clip; at frame t of T its weight is 1 (all), "
      "t/T (linear) or exp(4t/T-4) (exp)", .choices = frame_losses,
      .section = "Early observation", .needs = RECOGNISE, .tags = STEP },
    { "frame-asks", CTT_INT, FIELD(frame_asks), "8", "number of frames for "
      "--frame-loss", 1, 256, .arg = "N", .section = "Early observation",
      .needs = RECOGNISE, .tags = STEP },

    { "input-frames", CTT_INT, FIELD(input_frames), "10", "observed frames per "
      "sequence", 1, 4096, .arg = "N", .section = "Prediction",
      .needs = PREDICT, .tags = TRAINER },
    { "future-frames", CTT_INT, FIELD(future_frames), "10", "predicted frames "
      "per sequence", 1, 4096, .arg = "N", .section = "Prediction",
      .needs = PREDICT, .tags = TRAINER },
    { "loss", CTT_CHOICE, FIELD(loss), "l1l2", "mean of |d| + d^2, or of d^2, "
      "over all frames except the first", .choices = ctt_predict_losses,
      .section = "Prediction", .needs = PREDICT,
      .tags = TRAINER },
    { "sampling-start", CTT_STRING, FIELD(sampling_start), "auto", "start of "
      "scheduled sampling, which replaces true input frames by predictions at "
      "random: an epoch, auto (when the validation loss stalls), or off",
      .arg = "auto|off|EPOCH", .section = "Prediction", .needs = PREDICT,
      .tags = TRAINER },
    { "sampling-patience", CTT_INT, FIELD(sampling_patience), "3",
      "validations without a lower loss before sampling starts, and with "
      "--schedule=sampled again before the learning rate decreases", 1,
      100000, .arg = "N", .section = "Prediction",
      .needs = PREDICT " sampling-start=auto|schedule=sampled",
      .tags = TRAINER },
    { "sampling-decay", CTT_FLOAT, FIELD(sampling_decay), "0.05", "decrease "
      "per epoch of the probability of a true frame, from 1 down to 0", 0, 1e6,
      .arg = "SHARE", .section = "Prediction",
      .needs = PREDICT " sampling-start!=off", .tags = TRAINER },
    { "ahead-weight", CTT_STRING, FIELD(ahead_weight), "1", "weight of the "
      "mean square error of the next frame beside the loss of the answer; "
      "FROM:TO changes evenly from the first step to the last",
      .arg = "FROM[:TO]", .section = "Prediction", .needs = "task=both",
      .tags = TRAINER },

    { "amp", CTT_CHOICE, FIELD(amp), "O0", "mixed precision: O0 computes in "
      "fp32, O1 in 16 bits where the op allows it, with weights in fp32, O2 in "
      "16 bits except for losses", .choices = amps,
      .section = "Mixed precision", .tags = STEP },
    { "amp-type", CTT_CHOICE, FIELD(amp_type), "fp16", "16-bit type",
      .choices = amp_types, .section = "Mixed precision",
      .needs = MIXED, .tags = STEP },
    { "amp-allow", CTT_STRING, FIELD(amp_allow), "", "additional ops or nodes "
      "in 16 bits, such as pool,n1; node names override ops, --amp-deny "
      "overrides --amp-follow, which overrides --amp-allow", .arg = "LIST",
      .section = "Mixed precision", .needs = MIXED, .tags = STEP },
    { "amp-follow", CTT_STRING, FIELD(amp_follow), "", "ops or nodes that have "
      "16 bits where all of their inputs have", .arg = "LIST",
      .section = "Mixed precision", .needs = MIXED, .tags = STEP },
    { "amp-deny", CTT_STRING, FIELD(amp_deny), "", "ops or nodes to keep in "
      "fp32", .arg = "LIST", .section = "Mixed precision", .needs = MIXED,
      .tags = STEP },
    { "loss-scale", CTT_STRING, FIELD(loss_scale), "", "factor on the loss "
      "against underflow of gradients: a number, 2^N, or dynamic, which "
      "starts at 2^24, halves when a gradient overflows (and skips that step) "
      "and doubles after 2000 updates [fp16: dynamic, bf16: 1]",
      .arg = "N|2^N|dynamic", .section = "Mixed precision", .needs = MIXED,
      .tags = STEP },
    { "amp-plan", CTT_FLAG, FIELD(amp_plan), "0", "print the type of each "
      "value and its reason, and exit; with --data also, of 20 steps in fp32, "
      "the share of each value and gradient that 16 bits lose",
      .section = "Mixed precision", .tags = RESUME | TRAINER },

    { "keep", CTT_STRING, FIELD(keep), "all", "windows of time steps whose "
      "values stay in memory for backpropagation: all, a number, or auto: as "
      "many as fit in 3/4 of the memory that --memory leaves (on a GPU: of "
      "its memory, without --memory); the others are recomputed; offload=N "
      "keeps N (2) and copies the others out and back during other windows; "
      "auto does so, too, where that is faster, with --offload or a GPU; depth "
      "recomputes nodes of the model, for 1.3 to 1.5 times the time, and "
      "auto does where windows do not fit; the result is the same, bit for "
      "bit, with the same --window", .arg = "N|all|auto|depth|offload[=N]",
      .section = "Memory", .tags = STEP | RESUME },
    { "offload", CTT_STRING, FIELD(offload), "", "folder of the file for "
      "offloaded values; the file has no name there and ends with the "
      "program; each step writes and reads it, which wears a disk [GPU: the "
      "host's memory, otherwise $TMPDIR or the folder of --out]", .arg = "DIR",
      .section = "Memory", .needs = "keep=auto|keep=offload*",
      .tags = STEP | RESUME },
    { "window", CTT_INT, FIELD(window), "0", "time steps per window; 0: the "
      "clip, in prediction 4 unless half of a GPU's memory holds the clip, "
      "with --keep=auto the best fit", 0, 4096,
      .arg = "STEPS", .section = "Memory", .tags = STEP | RESUME },

    { "device", CTT_STRING, FIELD(device), "cpu", ctt_dev_help,
      .choices = ctt_dev_names,
      .section = "Device", .tags = RESUME },
    { "threads", CTT_INT, FIELD(threads), "0", "threads that compute; 0: one "
      "per processor, divided among the processes of a machine", 0, 4096,
      .letter = 't', .arg = "N", .section = "Device", .tags = RESUME },
    { "affinity", CTT_CHOICE, FIELD(affinity), "auto", "several processes "
      "that may use the same processors: auto gives each neighbouring "
      "processors of its own, none leaves the choice to the system",
      .choices = affinities, .section = "Device", .tags = RESUME | TRAINER },
    { "stall", CTT_INT, FIELD(stall), "300", "end all processes if one has "
      "finished no step, batch of a test or, with --search, exchange of "
      "orders for so long; 0: never", 0, 1000000, .arg = "SECONDS",
      .section = "Device", .tags = RESUME | TRAINER },
    { "comm", CTT_CHOICE, FIELD(comm_by), "auto", "exchange of gradients "
      "between the GPUs of several processes: nccl: from GPU to GPU, by the "
      "library NCCL, one GPU per process; mpi: through the host; auto: nccl "
      "if each process has a GPU of its own and the library is there, "
      "otherwise mpi; the result is the same", .choices = ways,
      .section = "Device", .needs = "device=cuda sync=all !stages",
      .tags = RESUME | TRAINER },
    { "deterministic", CTT_CHOICE, FIELD(deterministic), "on", "on: the "
      "result is the same, bit for bit, for every number of threads and for "
      "each run on the same kind of GPU; off: the result may differ",
      .choices = off_on,
      .section = "Device" },
    { "tf32", CTT_FLAG, FIELD(tf32), "0", "a GPU's tensor cores multiply "
      "floats, rounded to TF32 (10 bits); sums stay floats", .section =
      "Device", .needs = "device=cuda", .tags = STEP },
    { "streams", CTT_INT, FIELD(streams), "1", "number of CUDA streams, on "
      "which independent nodes run in parallel", 1, 8, .arg = "N",
      .section = "Device", .needs = "device=cuda", .tags = RESUME },

    CTT_LIMIT_ROWS(LIMIT, RESUME),
    CTT_TELLING_ROWS(TELLING, RESUME),

    { "out", CTT_STRING, FIELD(out), "", "the trained model", .letter = 'o',
      .arg = "FILE", .section = "Output", .tags = COMMON | RESUME | TRAINER },
    { "resume", CTT_FLAG, FIELD(resume), "0", "continue from the checkpoint",
      .section = "Output", .tags = STEP | COMMON | RESUME },
    { "licence", CTT_STRING, FIELD(licence), "", "licence of the model, which "
      "stands in its history: a name of SPDX such as CC-BY-4.0", .arg = "NAME",
      .section = "Output", .tags = TRAINER | QUIET },
    { "checkpoint", CTT_STRING, FIELD(checkpoint), "", "checkpoint file "
      "[OUT.ckpt, removed at the end]", .arg = "FILE", .section = "Output",
      .tags = STEP | RESUME },
    { "checkpoint-every", CTT_INT, FIELD(checkpoint_every), "0", "batches "
      "between two checkpoints; 0: one per epoch", 0, MANY, .arg = "N",
      .section = "Output", .tags = STEP | RESUME },
    { "pause", CTT_INT, FIELD(pause), "0", "stop after N of --epochs, with "
      "the learning rates of all of them and a checkpoint for --resume, and "
      "test on validation clips only, as trials of --search do; 0: off", 0,
      100000, .arg = "EPOCHS", .section = "Output",
      .needs = "!folds !doctor !amp-plan", .tags = RESUME | TRAINER | QUIET },
    { "report-html", CTT_STRING, FIELD(report_html), "", "page for a browser: "
      "curves, result, confusion matrix, the clips that are most wrong; "
      "written anew after each epoch; with --search its trials; with --doctor "
      "the findings, and clips as they are and as augmentation changes them",
      .arg = "FILE", .section = "Output", .needs = "folds=0 !amp-plan",
      .tags = RESUME | TRAINER },
    { "profile", CTT_STRING, FIELD(profile), "", CTT_PROFILE_HELP,
      .arg = "FILE", .section = "Output",
      .needs = "!folds !search !doctor !amp-plan", .tags = RESUME | TRAINER },
    { "log-csv", CTT_STRING, FIELD(log_csv), "", "log with one CSV row per "
      "epoch; val_top1_low to val_top1_high is the 95% confidence interval of "
      "val_top1; noise_scale, with --shards, the gradient noise scale in "
      "clips: batches far larger learn little more (McCandlish and others "
      "2018)",
      .arg = "FILE", .section = "Output", .tags = RESUME | TRAINER },
    { "log-json", CTT_STRING, FIELD(log_json), "", "log with one JSON object "
      "per epoch", .arg = "FILE", .section = "Output",
      .tags = RESUME | TRAINER },
    { "log-tensorboard", CTT_STRING, FIELD(log_tensorboard), "", "folder of "
      "this run's events for TensorBoard: the columns of --log-csv as curves, "
      "how each weight is spread, the clips that are most wrong", .arg = "DIR",
      .section = "Output", .needs = "folds=0 !doctor !amp-plan",
      .tags = RESUME | TRAINER },
    { .name = NULL }
};
