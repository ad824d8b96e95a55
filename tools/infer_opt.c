/* SPDX-License-Identifier: Apache-2.0
 * infer_opt.c: the options and the manual page of convtt-infer. */
#include "device/device.h"
#include "net/limits_opt.h"
#include "net/unit.h"
#include "tools/infer_files.h"
#include "tools/infer_opt.h"
#include "video/source.h"

#include <string.h>

#define FIELD(f) offsetof(struct ctt_infer_set, f)
#define LIMIT(member) FIELD(limits.member)

/* Conditions that several rows share. */
#define PREDICTS "predict"
#define ANSWERS "!predict !bench"
#define RUNS "!bench"
#define BENCH "bench"

/* Of the column tags: has no effect unless an operand is mnist:DIR. */
enum { COMMON = CTT_OPT_COMMON, MNIST = CTT_OPT_OWN };

static const char *const tune_words[] = { "off", "on", NULL };

static const struct ctt_opt opts[] = {
    { "observe", CTT_STRING, FIELD(observe), "", "answer after these ratios of "
      "a clip [0.25,0.5,1]", .letter = 'o', .arg = "R,...",
      .section = "Recognition", .needs = ANSWERS " !every", .tags = COMMON },
    { "every", CTT_INT, FIELD(every), "0", "answer after every N frames, and "
      "at the end", 0, 1 << 20, .letter = 'e', .arg = "N",
      .section = "Recognition", .needs = ANSWERS, .tags = COMMON },
    { "top", CTT_INT, FIELD(top), "3", "show the K most likely classes", 1,
      1 << 20, .letter = 'k', .arg = "K", .section = "Recognition",
      .needs = ANSWERS, .tags = COMMON },

    { "predict", CTT_INT, FIELD(predict.count), "0", "predict the next N "
      "frames", 0, 4096, .letter = 'p', .arg = "N", .section = "Prediction",
      .needs = RUNS, .tags = COMMON },
    { "input-frames", CTT_INT, FIELD(predict.seen), "10", "observed frames per "
      "clip, before those to predict", 1, 4096, .arg = "N",
      .section = "Prediction", .needs = PREDICTS, .tags = COMMON },
    { "windows", CTT_INT, FIELD(predict.windows), "0", "windows of "
      "--input-frames and --predict frames to measure per clip, one after the "
      "other from its start, as the test of convtt-train does; 0: all", 0,
      1000000, .arg = "N", .section = "Prediction", .needs = PREDICTS },
    { "strip", CTT_STRING, FIELD(predict.strip), "", "write a PNG: one column "
      "per frame, the truth above the prediction", .arg = "FILE",
      .section = "Prediction", .needs = PREDICTS, .tags = COMMON },
    { "video", CTT_STRING, FIELD(predict.video), "", "write a .webm or .mp4: "
      "the truth and, right of it, the prediction", .arg = "FILE",
      .section = "Prediction", .needs = PREDICTS },
    { "show", CTT_INT, FIELD(predict.show), "1", "number of clips in --strip "
      "and --video, one below the other", 1, 64, .arg = "N",
      .section = "Prediction", .needs = "strip|video" },
    { "frames", CTT_STRING, FIELD(predict.frames), "", "write all frames as "
      "HDF5", .arg = "FILE", .section = "Prediction", .needs = PREDICTS },
    { "csv", CTT_STRING, FIELD(predict.csv), "", "write the metrics as a "
      "table", .arg = "FILE", .section = "Prediction", .needs = PREDICTS },

    { "bench", CTT_FLAG, FIELD(bench.on), "0", "measure a model file, or a "
      "model text (.net) with random weights; no clips", .letter = 'b',
      .section = "Measuring", .tags = COMMON },
    { "runs", CTT_INT, FIELD(bench.runs), "0", "frames per measurement; 0: as "
      "many as two seconds take, 100 at least (each row of threads and "
      "streams: half a second, 20 at least)", 0, 1000000, .arg = "N",
      .section = "Measuring", .needs = BENCH },
    { "warm-up", CTT_INT, FIELD(bench.warm_up), "20", "frames before these, "
      "which are not timed", 0, 1000000, .arg = "N", .section = "Measuring",
      .needs = BENCH },
    { "streams", CTT_INT, FIELD(bench.streams), "0", "streams that run at once "
      "in the last row, sharing the threads; 0: one per thread", 0, 4096,
      .arg = "N", .section = "Measuring", .needs = BENCH },
    { "against", CTT_STRING, FIELD(bench.against), "", "run the model and this "
      "one in turns, and print the ratio of their times", .arg = "MODEL",
      .section = "Measuring", .needs = BENCH },
    { "zeros", CTT_DOUBLE, FIELD(bench.zeros), "0", "share of the random "
      "weights of convs to prune", 0, 1, .arg = "SHARE",
      .section = "Measuring", .needs = BENCH },
    { "zeros-form", CTT_CHOICE, FIELD(bench.zeros_form), "any", "what --zeros "
      "prunes together: any weight alone, a block of 4 input channels, or a "
      "row: one input of 16 output channels", .choices = ctt_prune_forms,
      .section = "Measuring", .needs = "zeros" },

    { "split", CTT_STRING, FIELD(split), "", "split of a data set [validation, "
      "or all clips if it has no splits; mnist: test]", .arg = "NAME",
      .section = "Data", .needs = RUNS },
    { "classes", CTT_STRING, FIELD(classes), "", "file with the names or "
      "numbers of the classes to use, one per line", .arg = "FILE",
      .section = "Data", .needs = RUNS },
    { "strict", CTT_FLAG, FIELD(strict), "0", "fail if a clip cannot be read "
      "or was cut short, "
      "instead of skipping it", .section = "Data", .needs = RUNS },
    { "workers", CTT_INT, FIELD(workers), "2", "threads that decode clips "
      "while the model runs others; each holds one in memory; 0: decode each "
      "in its turn", 0, 256, .arg = "N", .section = "Data",
      .needs = RUNS " !every" },
    { "sequences", CTT_INT, FIELD(predict.sequences), "100", "mnist: number of "
      "sequences; the published test has 5000", 1, 1000000, .arg = "N",
      .section = "Data", .needs = PREDICTS, .tags = MNIST },
    { "digits", CTT_INT, FIELD(predict.digits), "2", "mnist: digits per "
      "sequence", 1, CTT_MNIST_DIGITS, .arg = "N", .section = "Data",
      .needs = PREDICTS, .tags = MNIST },
    { "seed", CTT_INT, FIELD(predict.seed), "1", "mnist: seed of the "
      "sequences", 0, 1000000000, .section = "Data", .needs = PREDICTS,
      .tags = MNIST },

    { "device", CTT_STRING, FIELD(device), "cpu", ctt_dev_help,
      .choices = ctt_dev_names,
      .section = "Device", .tags = COMMON },
    { "threads", CTT_INT, FIELD(threads), "0", "threads that compute; 0: one "
      "per processor", 0, 4096, .arg = "N", .section = "Device",
      .tags = COMMON },
    { "type", CTT_CHOICE, FIELD(bench.type), "fp32", "what convs multiply; "
      "bf16: weights and values in 16 bits where that is faster (a warning "
      "says where the processor multiplies floats instead); int8: with "
      "--bench of a model text, as convtt-compress --int8 makes it",
      .choices = ctt_type_words, .section = "Device", .tags = COMMON },
    { "tune", CTT_CHOICE, FIELD(bench.tune), "off", "on: choose the code of "
      "each conv by timing, once per machine and model; what was found is kept "
      "in $XDG_CACHE_HOME/convtt or ~/.cache/convtt; off: by rule",
      .choices = tune_words, .section = "Device", .needs = "device=cpu" },

    CTT_LIMIT_ROWS(LIMIT, 0),

    { "json", CTT_FLAG, FIELD(json), "0", "print one line of JSON per answer; "
      "with --bench one object", .letter = 'j', .section = "Output",
      .tags = COMMON },
    { "time", CTT_FLAG, FIELD(time), "0", "measure the time of each frame and "
      "answer, of decoding each clip and of waiting for it",
      .letter = 't', .section = "Output", .needs = RUNS, .tags = COMMON },
    { .name = NULL }
};

static const char description[] =
    "Each operand is a clip, a folder of clips, or one of\n\n"
    CTT_SOURCE_FORMS
    "- reads paths from standard input, one per line. Frames are converted to "
    "the size, rate and colour that the model states.\n\n"
    "Answers are printed as a table, or with --json as lines of JSON. Where "
    "the class of a clip is known, accuracy is reported at the end. A clip "
    "that cannot be read is named and skipped, or with --strict an error.";

static const struct ctt_chapter chapters[] = {
    { "PREDICTION",
      "With a model trained by convtt-train --task=predict, --predict=30 "
      "observes --input-frames frames of each clip and predicts the next 30; "
      "then it begins anew with the frames after these, as often as the clip "
      "has all frames of such a window (--windows=1: only at its start). The "
      "first window may be shorter. --strip, --video and --frames show the "
      "first window of each clip; all windows are measured. Sequences of "
      "mnist:DIR have one window.\n\n"
      "Where the true frames are known, a table has MSE (times 1000), PSNR and "
      "SSIM (for data range 1 and 2; published numbers use 2) for each frame "
      "ahead, and averaged. If a row of the table is constant over the "
      "horizon, the model predicts blank frames.\n\n"
      "If the run fails because a clip is too short, no file is written. The "
      "HDF5 file of --frames is described in section 9 of doc/format.md." },
    { "MEASURING",
      "--bench runs noise through a model as from a camera: one frame at a "
      "time, and the answer after each. Of a model that computes its answer "
      "only when it is asked (after clip) the time is that of an answer; of a "
      "model that predicts, one step of the stream. Printed are the time until "
      "the model is open, that of the first frame, then mean, quantiles (by "
      "nearest rank) and maximum of --runs frames after --warm-up; memory; "
      "frames per second with 1, 2, 4 ... --threads threads, and of --streams "
      "streams at once, each in a thread of its own; and which code computes "
      "each node, with its share of the time of all nodes, from a run in which "
      "each node is timed.\n\n"
      "A model text is given the initial weights of a training, which --zeros "
      "prunes at random, and is stored in a file in TMPDIR that is gone when "
      "the program ends.\n\n"
      "--against=OTHER measures in pairs, a few frames of each model in turns, "
      "and prints the median and the quartiles of the ratio MODEL : OTHER of "
      "their times. --tune holds for both, --type and --zeros for MODEL." },
    { "EXIT STATUS",
      "0: success. 1: an error, or no clip could be read. 2: a wrong option or "
      "operand, reported in one line." },
    { "EXAMPLES",
      "Answer every 6 frames:\n\n"
      "    convtt-infer small.h5 --every 6 clip.webm\n\n"
      "The published test of Moving-MNIST, with a picture of two sequences:"
      "\n\n"
      "    convtt-infer --predict 10 small-mnist.h5 mnist:mnist \\\n"
      "        --sequences 5000 --strip strip.png --show 2\n\n"
      "How fast a compressed model is, and how much faster than the one it was "
      "made of:\n\n"
      "    convtt-infer --bench small.h5 --against model.h5\n\n"
      "30 frames ahead on a pack of 40-frame sequences:\n\n"
      "    convtt-data mnist mnist test.h5 --split test --sequences 5000 \\\n"
      "        --frames 40\n"
      "    convtt-infer --predict 30 predict.h5 test.h5 --csv ahead.csv" },
    { .title = NULL }
};

const struct ctt_program ctt_infer_program = {
    .name = "convtt-infer",
    .summary = "run a model on video clips",
    .synopsis = "[OPTION...] MODEL CLIP|LIST|FOLDER|PACK|mnist:DIR|- ...",
    .about = "Prints which class each clip shows, after ratios of it "
             "(--observe) or as frames arrive (--every); or, with a model "
             "trained for that, predicts the next frames (--predict). --bench "
             "MODEL measures how fast a model runs on this machine.",
    .opts = opts,
    .description = description,
    .chapter = chapters,
    .also = "convtt-train(1), convtt-data(1), convtt-info(1)",
};

/* 1 if an operand is mnist:DIR, or - , whose paths may be. */
static int has_mnist(char **path, int paths)
{
    for (int i = 0; i < paths; i++)
        if (ctt_source_is_drawn(path[i]) || strcmp(path[i], "-") == 0)
            return 1;
    return 0;
}

static int check_mnist(const struct ctt_infer_set *c, char **path, int paths)
{
    int rc = 0;

    for (const struct ctt_opt *o = opts; o->name; o++)
        CTT_CHECK(!(o->tags & MNIST) || ctt_opt_is_default(o, c) ||
                  has_mnist(path, paths), CTT_EINVAL,
                  "--%s requires an operand mnist:DIR", o->name);
out:
    return rc;
}

int ctt_infer_check(const struct ctt_infer_set *c, char **path, int paths)
{
    int rc;

    CTT_TRY(ctt_opt_check(opts, c));
    CTT_CHECK(!c->bench.on || paths == 1, CTT_EINVAL,
              "--bench measures one model (and --against=MODEL another), not "
              "clips: %s", path[1]);
    CTT_CHECK(c->bench.on || paths > 1, CTT_EINVAL,
              "a model and clips must be given (see --help)");
    CTT_TRY(ctt_bench_check(&c->bench, path[0]));
    CTT_TRY(check_mnist(c, path + 1, paths - 1));
    CTT_TRY(ctt_predict_apart(&c->predict));
    for (int i = 0; i < paths; i++)
        CTT_TRY(ctt_predict_spares(&c->predict, path[i]));
out:
    return rc;
}
