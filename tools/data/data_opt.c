/* SPDX-License-Identifier: Apache-2.0
 * data_opt.c: the commands of convtt-data, their options and the manual page.
 */
#include "tools/data/data_tool.h"
#include "tools/shared/tool.h"
#include "base/limits_opt.h"
#include "video/source.h"

#define FIELD(f) offsetof(struct ctt_data_cfg, f)
#define LIMIT(member) FIELD(limits.member)
#define TELLING(member) FIELD(telling.member)

/* Options of several commands. */
#define WORKERS { "workers", CTT_INT, FIELD(workers), "2", "threads that " \
                  "encode or decode", 1, 256, .letter = 'j', .arg = "N" }
#define CLASSES { "classes", CTT_STRING, FIELD(classes), "", "file with the " \
                  "names or numbers of the classes to use, one per line", \
                  .arg = "FILE" }
#define SPLIT { "split", CTT_STRING, FIELD(split), "", "one split of the " \
                "data; not given: all of them", .arg = "NAME" }

#define RATE { "fps", CTT_FLOAT, FIELD(fps), "0", "frames per second of " \
               "folders of pictures whose path states none (FOLDER#@25); 0: " \
               "every picture is a frame", 0, CTT_SOURCE_FPS, .arg = "RATE" }

static const struct ctt_opt synth_opts[] = {
    { "clips", CTT_INT, FIELD(clips), "1200", "number of clips", 1, 1000000,
      .arg = "N" },
    { "test", CTT_INT, FIELD(test), "0", "further clips, which are the test "
      "split; 0: the test split is an eighth of the clips", 0, 1000000,
      .arg = "N" },
    { "actions", CTT_STRING, FIELD(actions), "across,upward,nearer,turn,tear,"
      "poke", "pairs of actions to make; order: 41 actions of two movements, "
      "the second of which is seen late", .arg = "NAME,..." },
    { "size", CTT_INT, FIELD(size), "96", "width and height, even", 16, 1024,
      .arg = "PIXELS" },
    { "seed", CTT_INT, FIELD(seed), "1", "seed; the same seed gives the same "
      "pixels", 0, 1000000000 },
    WORKERS,
    CTT_LIMIT_MEMORY(LIMIT, 0), CTT_TELLING_ROWS(TELLING, 0),
    { .name = NULL }
};
static const struct ctt_opt mnist_opts[] = {
    { "sequences", CTT_INT, FIELD(mnist.sequences), "10000", "number of "
      "sequences", 1, 1 << 26, .letter = 'n', .arg = "N" },
    { "frames", CTT_INT, FIELD(mnist.frames), "20", "frames per sequence", 1,
      4096, .arg = "T" },
    { "digits", CTT_INT, FIELD(mnist.digits), "2", "digits per sequence", 1,
      CTT_MNIST_DIGITS, .arg = "N" },
    { "split", CTT_STRING, FIELD(mnist.split), "train", "train, validation or "
      "test; each has its own sequences", .arg = "NAME" },
    { "seed", CTT_INT, FIELD(mnist.seed), "1", "seed; the same seed gives the "
      "same sequences", 0, 1000000000 },
    CTT_LIMIT_MEMORY(LIMIT, 0), CTT_TELLING_ROWS(TELLING, 0),
    { .name = NULL }
};
#define OUT { "out", CTT_STRING, FIELD(out), NULL, "the pack", \
              .letter = 'o', .arg = "FILE" }
/* How clips are read into a pack. */
#define PACKED \
    { "split", CTT_STRING, FIELD(split), "train", "split of the data", \
      .arg = "NAME" }, \
    CLASSES, WORKERS, RATE, \
    { "background", CTT_STRING, FIELD(background), "", "add a class of this " \
      "name for the time before and between the parts of videos in a list; " \
      "the time after the last part is left out", .arg = "NAME" }, \
    { "max-frames", CTT_INT, FIELD(max_frames), "0", "cut longer clips to N " \
      "frames; 0: no limit", 0, 100000, .arg = "N" }, \
    { "strict", CTT_FLAG, FIELD(strict), "0", "fail, instead of skipping a " \
      "clip, if one cannot be read, was cut short or joined" }

static const struct ctt_opt pack_opts[] = {
    OUT,
    { "model", CTT_STRING, FIELD(model), NULL, "model or model text whose "
      "input line states size, rate and colour", .letter = 'm', .arg = "FILE" },
    PACKED, CTT_LIMIT_ROWS(LIMIT, 0), CTT_TELLING_ROWS(TELLING, 0),
    { .name = NULL }
};
static const struct ctt_opt features_opts[] = {
    OUT,
    { "backbone", CTT_STRING, FIELD(backbone), NULL, "model whose maps are "
      "computed, and whose input line states size, rate and colour",
      .arg = "FILE" },
    { "nodes", CTT_STRING, FIELD(nodes), "s8,s16", "nodes of --backbone whose "
      "maps are kept", .arg = "NAME,..." },
    PACKED, CTT_LIMIT_ROWS(LIMIT, 0), CTT_TELLING_ROWS(TELLING, 0),
    { .name = NULL }
};
static const struct ctt_opt check_opts[] = {
    SPLIT, WORKERS,
    { "strict", CTT_FLAG, FIELD(strict), "0", "a clip that was cut short, "
      "joined or has two classes is bad, too" },
    CTT_LIMIT_ROWS(LIMIT, 0), CTT_TELLING_ROWS(TELLING, 0), { .name = NULL }
};
static const struct ctt_opt list_opts[] = {
    SPLIT, CLASSES, CTT_LIMIT_MEMORY(LIMIT, 0), CTT_LIMIT_CLASSES(LIMIT, 0),
    CTT_TELLING_ROWS(TELLING, 0), { .name = NULL }
};

static const struct ctt_program commands[] = {
    [CTT_DATA_SYNTH] = {
        .name = "convtt-data synth", .summary = "makes labelled clips",
        .synopsis = "OUT [OPTION...]", .opts = synth_opts,
        .about = "Makes short clips of twelve actions in the layout of "
                 "Something-Something V2. The actions come in pairs that a "
                 "single frame cannot tell apart; or of 41 actions "
                 "(--actions order), what an object does first and what "
                 "second, while another moves at random." },
    [CTT_DATA_MNIST] = {
        .name = "convtt-data mnist",
        .summary = "makes sequences of moving digits",
        .synopsis = "IDX_DIR OUT.h5 [OPTION...]", .opts = mnist_opts,
        .about = "Makes Moving-MNIST: a pack without classes of gray 64x64 "
                 "sequences, from the digits in "
                 "IDX_DIR/train-images-idx3-ubyte(.gz), or in IDX_DIR if it "
                 "is a file." },
    [CTT_DATA_PACK] = {
        .name = "convtt-data pack",
        .summary = "decodes clips into one file",
        .synopsis = "DATA -o OUT --model FILE [OPTION...]", .opts = pack_opts,
        .about = "Decodes clips once into one file, a pack, which is faster to "
                 "read. The pack does not depend on the number of threads." },
    [CTT_DATA_FEATURES] = {
        .name = "convtt-data features",
        .summary = "decodes clips and keeps the maps of a backbone",
        .synopsis = "DATA -o OUT --backbone FILE [OPTION...]",
        .opts = features_opts,
        .about = "Makes a pack that also holds what some nodes of a model "
                 "compute of each frame, as 16-bit floats. convtt-train "
                 "--backbone with the same model reads them in place of "
                 "running it; of another model they are refused. What was "
                 "done is in OUT.journal until the pack is complete: after a "
                 "stop, an error or a kill the same command goes on with it." },
    [CTT_DATA_CHECK] = {
        .name = "convtt-data check", .summary = "names bad clips",
        .synopsis = "DATA [OPTION...]", .opts = check_opts,
        .about = "Prints what DATA is, decodes every clip, or compares it with "
                 "its checksum in a pack, and names those that cannot be "
                 "read; if there are any, the exit status is 1. Clips that "
                 "are in two splits are noticed. Of text:FILE and words:FILE "
                 "it counts lines, symbols and the vocabulary." },
    [CTT_DATA_LIST] = {
        .name = "convtt-data list", .summary = "counts clips",
        .synopsis = "DATA [OPTION...]", .opts = list_opts,
        .about = "Counts the clips of each class and split, or how often each "
                 "symbol of text:FILE or words:FILE comes." },
    [CTT_DATA_COMMANDS] = { .name = NULL }
};

static const struct ctt_chapter chapters[] = {
    { "EXIT STATUS",
      "0: success. 1: an error, or a bad clip was found. 2: "
      CTT_USAGE_STATUS },
    { "EXAMPLES",
      "    convtt-data synth clips --clips 1200 --size 96\n"
      "    convtt-data check clips\n"
      "    convtt-data pack clips -o clips.h5 --model models/early-lstm.net\n"
      "    convtt-data features clips -o maps.h5 --backbone backbone.h5 "
      "--nodes s8,s16" },
    { .title = NULL }
};

const struct ctt_program ctt_data_program = {
    .name = "convtt-data",
    .summary = "make, pack, check and count video clips",
    .synopsis = "COMMAND ...",
    .about = "Prepares data sets for convtt-train.",
    .commands = commands,
    .description =
        "DATA is one of\n\n" CTT_SOURCE_FORMS CTT_SOURCE_RULES,
    .chapter = chapters,
    .also = "convtt-train(1), convtt-infer(1)",
};
