/* SPDX-License-Identifier: Apache-2.0
 * infer_opt.c: the options of convtt-infer and their conditions. */
#include "device/device.h"
#include "base/limits_opt.h"
#include "base/span.h"
#include "net/unit.h"
#include "tools/infer/infer_tool.h"
#include "video/live/live.h"
#include "video/source.h"

#include <string.h>
#include <strings.h>

#define FIELD(f) offsetof(struct ctt_infer_set, f)
#define LIMIT(member) FIELD(limits.member)
#define TELLING(member) FIELD(telling.member)

/* Conditions that several rows share. */
#define PREDICTS "predict"
#define ANSWERS "!predict !bench !decide !calibrate"
#define DECIDES "!predict !bench"
#define CALIBRATES "calibrate"
#define RUNS "!bench"
#define BENCH "bench"
#define STREAM "stream|streams"
#define CLIPS "!bench !stream !streams"

/* Of the column tags: has no effect unless an operand is mnist:DIR. */
enum { COMMON = CTT_OPT_COMMON, MNIST = CTT_OPT_OWN };

static const char *const zero_forms[] = { CTT_UNIT_WORDS, NULL };
static const char *const tune_words[] = { "off", "on", NULL };

static const struct ctt_opt opts[] = {
    { "observe", CTT_STRING, FIELD(observe), "", "shares of a clip after "
      "which to answer [0.25,0.5,1]", .letter = 'o', .arg = "R,...",
      .section = "Recognition", .needs = ANSWERS " !every !stream !streams",
      .tags = COMMON },
    { "every", CTT_INT, FIELD(every), "0", "answer after every N frames and "
      "at the end; with --stream print these answers, too, and compute no "
      "others", 0, 1 << 20, .letter = 'e', .arg = "N", .section = "Recognition",
      .needs = ANSWERS },
    { "top", CTT_INT, FIELD(top), "3", "show the K most likely classes", 1,
      1 << 20, .letter = 'k', .arg = "K", .section = "Recognition",
      .needs = ANSWERS, .tags = COMMON },

    { "wrong", CTT_STRING, FIELD(wrong), "", "write a table of the clips whose "
      "last answer is not their true class, with both probabilities",
      .arg = "FILE.csv", .section = "Recognition",
      .needs = ANSWERS " !stream !streams" },
    { "report-html", CTT_STRING, FIELD(report_html), "", "page for a browser: "
      "accuracy by the part that was seen, confusion matrix, calibration, and "
      "clips with their frames and the answers after each: the surest wrong "
      "answers, and the surest early right one or, where no class is known, "
      "the first clip; with --decide when answers came",
      .arg = "FILE", .section = "Recognition",
      .needs = DECIDES " !calibrate !every !stream !streams" },

    { "decide", CTT_FLAG, FIELD(decide.on), "0", "answer once per clip, as "
      "soon as the thresholds of --calibrate allow it; of a stream: once "
      "after each reset, beside its events", .letter = 'd',
      .section = "Decision", .needs = DECIDES " !calibrate", .tags = COMMON },
    { "calibrate", CTT_FLAG, FIELD(decide.calibrate), "0", "find thresholds "
      "for --decide on clips used neither for training nor for choosing the "
      "model, and store them in MODEL; of a model with several labels per clip "
      "the thresholds of its classes", .section = "Decision", .needs = DECIDES,
      .tags = COMMON },
    { "max-gap", CTT_DOUBLE, FIELD(decide.max_gap), "0.05", "largest share of "
      "clips with a wrong early answer and a right one at the end", 1e-6, 0.99,
      .arg = "SHARE", .section = "Decision", .needs = CALIBRATES },
    { "delta", CTT_DOUBLE, FIELD(decide.delta), "0.1", "chance that the "
      "promise is broken: that the share is larger", 1e-9, 0.99, .arg = "P",
      .section = "Decision", .needs = CALIBRATES },
    { "guarantee", CTT_CHOICE, FIELD(decide.guarantee), "auto", "marginal: "
      "--max-gap holds for all clips together; conditional: also for the "
      "clips decided by any one time; auto: conditional with ten times the "
      "least number of clips", .choices = ctt_promise_words,
      .section = "Decision", .needs = CALIBRATES },
    { "head", CTT_CHOICE, FIELD(decide.head), "auto", "on: decide by a "
      "confidence that is fitted on a third of the clips, by class and time, "
      "instead of the class's probability; auto: with 300 clips or more",
      .choices = ctt_head_words, .section = "Decision", .needs = CALIBRATES },
    { "answers", CTT_STRING, FIELD(decide.answers), "", "write a table of the "
      "answers at each check of each clip", .arg = "FILE",
      .section = "Decision", .needs = CALIBRATES },

    { "predict", CTT_INT, FIELD(predict.count), "0", "predict the next N "
      "frames", 0, 4096, .letter = 'p', .arg = "N", .section = "Prediction",
      .needs = CLIPS, .tags = COMMON },
    { "input-frames", CTT_INT, FIELD(predict.seen), "10", "observed frames per "
      "clip, before those to predict", 1, 4096, .arg = "N",
      .section = "Prediction", .needs = PREDICTS },
    { "windows", CTT_INT, FIELD(predict.windows), "0", "windows of "
      "--input-frames and --predict frames to measure per clip, one after the "
      "other from its start, as in the test of convtt-train; 0: all", 0,
      1000000, .arg = "N", .section = "Prediction", .needs = PREDICTS },
    { "strip", CTT_STRING, FIELD(predict.strip), "", "write a PNG: one column "
      "per frame, the truth above the prediction", .arg = "FILE",
      .section = "Prediction", .needs = PREDICTS },
    { "video", CTT_STRING, FIELD(predict.video), "", "write a .webm or .mp4: "
      "the truth and, right of it, the prediction", .arg = "FILE",
      .section = "Prediction", .needs = PREDICTS },
    { "show", CTT_INT, FIELD(predict.show), "1", "number of clips in --strip "
      "and --video, one below the other", 1, 64, .arg = "N",
      .section = "Prediction", .needs = "strip|video" },
    { "frames", CTT_STRING, FIELD(predict.frames), "", "write all frames to "
      "an HDF5 file", .arg = "FILE", .section = "Prediction",
      .needs = PREDICTS },
    { "csv", CTT_STRING, FIELD(predict.csv), "", "write a table of the metrics",
      .arg = "FILE", .section = "Prediction", .needs = PREDICTS },

    { "stream", CTT_FLAG, FIELD(stream.on), "0", "the operand is a camera, an "
      "address, a pipe or a long file (see STREAMS): print events as they "
      "begin and end, in real time", .letter = 's', .section = "Stream",
      .needs = DECIDES " !calibrate", .tags = COMMON },
    { "streams", CTT_STRING, FIELD(stream.list), "", "the same for all "
      "sources of a list, SOURCE or NAME = SOURCE a line (see STREAMS), with "
      "one model and no other operand", .arg = "LIST", .section = "Stream",
      .needs = DECIDES " !calibrate !stream" },
    { "raw", CTT_STRING, FIELD(stream.raw), "", "the source has frames "
      "without a container, such as 640x480xrgb24@30; FORMAT: rgb24, bgr24, "
      "gray or yuv420p", .arg = "WxHxFORMAT@RATE", .section = "Stream",
      .needs = STREAM },
    { "realtime", CTT_FLAG, FIELD(stream.realtime), "0", "read a file or pipe "
      "no faster than its times say and, unless --behind=wait, do not let it "
      "wait for the model", .section = "Stream", .needs = STREAM },
    { "behind", CTT_CHOICE, FIELD(stream.behind), "auto", "if the model is "
      "slower than the source: drop: drop the oldest frames; wait: keep the "
      "source waiting; stride: give the model every 2nd, 3rd ... step, so "
      "that steps stay equally long; auto: wait if the source can wait, "
      "otherwise drop", .choices = ctt_behind_words, .section = "Stream",
      .needs = STREAM },
    { "timeout", CTT_DOUBLE, FIELD(stream.timeout), "15", "seconds to "
      "connect, and without a new frame, after which a source has failed",
      0.001, CTT_LIVE_TIMEOUT_MAX, .arg = "SECONDS", .section = "Stream",
      .needs = STREAM },
    { "reconnects", CTT_INT, FIELD(stream.reconnects), "10", "attempts in a "
      "row to reopen a camera or an address; frames for 5 s end the row; -1: "
      "no limit", -1, 1000000, .arg = "N", .section = "Stream",
      .needs = STREAM },
    { "reset-after", CTT_DOUBLE, FIELD(stream.reset_after), "0", "seconds "
      "without a frame after which the model is reset; 0: never; in a file, "
      "or a pipe that waits for the model, at most 60", 0, 86400,
      .arg = "SECONDS", .section = "Stream", .needs = STREAM },
    { "reset-on", CTT_CHOICE, FIELD(stream.reset_on), "never", "cut: reset "
      "the model at a sudden change of scene", .choices = ctt_reset_words,
      .section = "Stream", .needs = STREAM },
    { "sliding", CTT_DOUBLE, FIELD(stream.sliding), "0", "the model remembers "
      "between half of so many seconds and all of them: two sessions are "
      "reset in turns, which takes twice the time; 0: off", 0, 86400,
      .arg = "SECONDS", .section = "Stream", .needs = STREAM " !decide" },
    { "threshold", CTT_DOUBLE, FIELD(stream.enter), "0.6", "smoothed "
      "probability at which an event begins; of a model with several labels "
      "per clip in place of what --calibrate found", 0.001, 1, .arg = "P",
      .section = "Stream", .needs = STREAM },
    { "leave", CTT_DOUBLE, FIELD(stream.leave), "0", "smoothed probability "
      "below which an event ends; 0: 0.8 of --threshold", 0.001, 1, .zero = 1,
      .arg = "P", .section = "Stream", .needs = STREAM },
    { "smooth", CTT_DOUBLE, FIELD(stream.smooth), "0.5", "seconds in which "
      "the smoothed probability follows 63% of a change; 0: no smoothing", 0,
      3600, .arg = "SECONDS", .section = "Stream", .needs = STREAM },
    { "least", CTT_DOUBLE, FIELD(stream.least), "0.5", "least length of an "
      "event; shorter ones are left out", 0, 3600, .arg = "SECONDS",
      .section = "Stream", .needs = STREAM },
    { "merge", CTT_DOUBLE, FIELD(stream.merge), "1", "largest gap between "
      "events of a class that are merged", 0, 3600, .arg = "SECONDS",
      .section = "Stream", .needs = STREAM },
    { "background", CTT_STRING, FIELD(stream.background), "", "class without "
      "events [background, if the model has it]", .arg = "CLASS",
      .section = "Stream", .needs = STREAM },
    { "events", CTT_STRING, FIELD(stream.events), "", "append the events to a "
      "file, as lines of JSON", .arg = "FILE", .section = "Stream",
      .needs = STREAM },
    { "exec", CTT_STRING, FIELD(stream.exec), "", "run a shell command for "
      "each event, with the event in its environment and, as JSON, on its "
      "standard input (see STREAMS)", .arg = "COMMAND", .section = "Stream",
      .needs = STREAM },
    { "exec-limit", CTT_DOUBLE, FIELD(stream.limit), "60", "seconds after "
      "which such a command is killed", 0.001, 86400, .arg = "SECONDS",
      .section = "Stream", .needs = "exec" },
    { "draw", CTT_STRING, FIELD(stream.draw), "", "write a .mp4 or .webm of "
      "the pictures with the --top likeliest classes and events on them",
      .arg = "FILE", .section = "Stream", .needs = "stream" },
    { "stats", CTT_DOUBLE, FIELD(stream.stats), "10", "seconds between lines "
      "of counts and times, which are printed at the end, too; 0: only at the "
      "end", 0, 86400, .arg = "SECONDS", .section = "Stream", .needs = STREAM },

    { "bench", CTT_FLAG, FIELD(bench.on), "0", "measure the speed of a "
      "model file, or of a text (.net) with random weights; takes no clips",
      .letter = 'b', .section = "Measuring", .tags = COMMON },
    { "runs", CTT_INT, FIELD(bench.runs), "0", "frames per measurement; 0: "
      "two seconds, at least 100 frames (each row of threads and streams: "
      "half a second, at least 20)", 0, 1000000, .arg = "N",
      .section = "Measuring", .needs = BENCH },
    { "warm-up", CTT_INT, FIELD(bench.warm_up), "20", "frames before a "
      "measurement that are not timed", 0, 1000000, .arg = "N",
      .section = "Measuring", .needs = BENCH },
    { "sessions", CTT_INT, FIELD(bench.streams), "0", "streams at once in the "
      "last row, sharing the threads; 0: one per thread", 0, 4096, .arg = "N",
      .section = "Measuring", .needs = BENCH },
    { "fit", CTT_DOUBLE, FIELD(bench.fit), "0", "find the largest number of "
      "streams, at this many frames per second, that --threads cores serve in "
      "real time; 0: off", 0, 1000, .arg = "RATE", .section = "Measuring",
      .needs = BENCH " device=cpu" },
    { "against", CTT_STRING, FIELD(bench.against), "", "run the model and "
      "this one in turns and print the ratio of their times", .arg = "MODEL",
      .section = "Measuring", .needs = BENCH },
    { "zeros", CTT_DOUBLE, FIELD(bench.zeros), "0", "share of the convs' "
      "random weights to prune", 0, 1, .arg = "SHARE", .section = "Measuring",
      .needs = BENCH },
    { "zeros-form", CTT_CHOICE, FIELD(bench.zeros_form), "any", "unit of "
      "--zeros: any: single weights; block: 4 input channels; row: one input "
      "of 16 output channels", .choices = zero_forms,
      .section = "Measuring", .needs = "zeros" },

    { "split", CTT_STRING, FIELD(split), "", "split of a data set [validation, "
      "or all clips if it has no splits; mnist: test]", .arg = "NAME",
      .section = "Data", .needs = CLIPS },
    { "classes", CTT_STRING, FIELD(classes), "", "file with the names or "
      "numbers of the classes to use, one per line", .arg = "FILE",
      .section = "Data", .needs = CLIPS },
    { "fps", CTT_FLOAT, FIELD(fps), "0", "frames per second of folders of "
      "pictures whose path states none (FOLDER#@25); 0: every picture is a "
      "frame", 0, CTT_SOURCE_FPS, .arg = "RATE", .section = "Data",
      .needs = CLIPS },
    { "strict", CTT_FLAG, FIELD(strict), "0", "fail, instead of skipping a "
      "clip, if one cannot be read, was cut short or joined", .section = "Data",
      .needs = CLIPS },
    { "workers", CTT_INT, FIELD(workers), "2", "threads that decode clips "
      "ahead, each with one clip in memory; 0: decode each clip when it is "
      "needed", 0, 256, .arg = "N", .section = "Data",
      .needs = CLIPS " !every" },
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
      .section = "Device" },
    { "threads", CTT_INT, FIELD(threads), "0", "threads that compute; 0: one "
      "per processor", 0, 4096, .arg = "N", .section = "Device",
      .tags = COMMON },
    { "type", CTT_CHOICE, FIELD(bench.type), "fp32", "numbers that convs "
      "multiply: fp16, bf16: weights and values in 16 bits where that is "
      "faster (a warning says if the processor multiplies floats instead), on "
      "a GPU everywhere but in cell states and the answer; tf32: floats "
      "rounded to 10 bits, on a GPU only; int8: with --bench of a model text, "
      "as of convtt-compress --int8",
      .choices = ctt_type_words, .section = "Device" },
    { "tune", CTT_CHOICE, FIELD(bench.tune), "off", "on: choose the code of "
      "each conv by timing, once per machine and model, and keep the choice "
      "in $XDG_CACHE_HOME/convtt or ~/.cache/convtt; off: by rule",
      .choices = tune_words, .section = "Device", .needs = "device=cpu" },

    CTT_LIMIT_ROWS(LIMIT, 0), CTT_TELLING_ROWS(TELLING, 0),

    { "json", CTT_FLAG, FIELD(json), "0", "print one line of JSON per answer; "
      "with --bench one object", .letter = 'j', .section = "Output",
      .tags = COMMON },
    { "profile", CTT_STRING, FIELD(profile), "", CTT_PROFILE_HELP " unless "
      "--json is given", .arg = "FILE", .section = "Output",
      .needs = "!bench" },
    { "time", CTT_FLAG, FIELD(time), "0", "measure the time of each frame and "
      "answer, of decoding each clip and of waiting for it", .letter = 't',
      .section = "Output", .needs = CLIPS },
    { .name = NULL }
};

const struct ctt_program ctt_infer_program = {
    .name = "convtt-infer",
    .summary = "run a model on video clips",
    .synopsis = "[OPTION...] MODEL CLIP|LIST|FOLDER|PACK|mnist:DIR|- ...",
    .about = "Prints which class each clip shows, after parts of it "
             "(--observe) or as frames arrive (--every). A model that was "
             "trained for it predicts the next frames (--predict). --stream "
             "follows a camera and prints events, --streams all sources of a "
             "list. A model of text (convtt-train --task next) prints for each "
             "line of text:FILE or words:FILE its perplexity and the symbols "
             "that it expects next; in text:FILE the lines before count, too. "
             "--bench MODEL measures how fast a model runs on this machine. "
             "--decide answers once per clip, as early as thresholds allow; "
             "--calibrate finds these.",
    .opts = opts,
    .description = ctt_infer_description,
    .chapter = ctt_infer_chapters,
    .also = "convtt-train(1), convtt-data(1), convtt-info(1)",
};

/* Training clips and repeated clips say nothing about new ones. */
static int check_calibration(const struct ctt_infer_set *c, char **path,
                             int paths)
{
    int rc = 0;

    if (!c->decide.calibrate)
        goto out;
    CTT_CHECK(!c->split || strncasecmp(c->split, "train", 5) != 0, CTT_EINVAL,
              "--calibrate needs clips that the model was not trained on, not "
              "--split %s", c->split);
    for (int i = 1; i < paths; i++) {
        CTT_TRY(ctt_tool_spares(&c->decide.answers, 1, path[i]));
        for (int k = i + 1; k < paths; k++)
            CTT_CHECK(!ctt_tool_same_file(path[i], path[k]), CTT_EINVAL,
                      "--calibrate: %s is given twice", path[k]);
    }
    CTT_CHECK(!ctt_tool_same_file(c->decide.answers, path[0]), CTT_EINVAL,
              "--answers would replace the model %s", path[0]);
out:
    return rc;
}

/* Returns 1 if an operand is mnist:DIR, or -, whose paths may be mnist:DIR. */
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
    const char *const judged[] = { c->wrong, c->report_html, c->profile };
    int rc;

    CTT_TRY(ctt_opt_check(opts, c));
    CTT_CHECK(!c->bench.on || paths == 1, CTT_EINVAL,
              "--bench measures one model (and --against=MODEL another), not "
              "clips: %s", path[1]);
    CTT_CHECK(c->bench.on || c->stream.list || paths > 1, CTT_EINVAL,
              "a model and clips must be given (see --help)");
    CTT_TRY(ctt_bench_check(&c->bench, path[0]));
    CTT_TRY(check_mnist(c, path + 1, paths - 1));
    CTT_TRY(check_calibration(c, path, paths));
    CTT_TRY(ctt_stream_check(&c->stream, path, paths));
    CTT_TRY(ctt_predict_apart(&c->predict));
    CTT_TRY(ctt_tool_apart(judged, (int)CTT_LEN(judged)));
    for (int i = 0; i < paths; i++) {
        CTT_TRY(ctt_predict_spares(&c->predict, path[i]));
        CTT_TRY(ctt_tool_spares(judged, (int)CTT_LEN(judged), path[i]));
    }
out:
    return rc;
}
