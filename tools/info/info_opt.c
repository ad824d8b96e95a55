/* SPDX-License-Identifier: Apache-2.0
 * info_opt.c: the options and the manual page of convtt-info. */
#include "device/device.h"
#include "base/limits_opt.h"
#include "tools/info/info_tool.h"
#include "tools/shared/tool.h"

#define FIELD(f) offsetof(struct ctt_info_cfg, f)
#define LIMIT(member) FIELD(limits.member)

static const char *const tune_words[] = { "off", "on", NULL };

static const struct ctt_opt opts[] = {
    { "ops", CTT_FLAG, FIELD(ops), "0", "list the model language: ops, cells "
      "and their attributes", .section = "What to show",
      .tags = CTT_OPT_COMMON },
    { "net", CTT_FLAG, FIELD(net), "0", "print only the text of the model",
      .section = "What to show", .tags = CTT_OPT_COMMON },
    { "plan", CTT_FLAG, FIELD(plan), "0", "print the kernel of each node on "
      "this machine, the reason and its time, and the kernels of the "
      "gradients of convs", .section = "What to show", .tags = CTT_OPT_COMMON },
    { "compare", CTT_FLAG, FIELD(compare), "0", "print the table of several "
      "models even for a single one", .section = "What to show",
      .tags = CTT_OPT_COMMON },
    { "strip", CTT_STRING, FIELD(strip), "", "write the model without its "
      "training state to OUT", .arg = "OUT", .section = "What to show",
      .tags = CTT_OPT_COMMON },
    { "data", CTT_STRING, FIELD(data), "", "clips for the time and accuracy "
      "in the table", .letter = 'd', .arg = "PATH", .section = "Data",
      .tags = CTT_OPT_COMMON },
    { "split", CTT_STRING, FIELD(split), "validation", "split of --data",
      .arg = "NAME", .section = "Data", .tags = CTT_OPT_COMMON },
    { "classes", CTT_STRING, FIELD(classes), "", "file with the names or "
      "numbers of the classes of --data to use, one per line", .arg = "FILE",
      .needs = "data", .section = "Data" },
    { "device", CTT_STRING, FIELD(device), "cpu", ctt_dev_help,
      .choices = ctt_dev_names,
      .section = "Device" },
    { "threads", CTT_INT, FIELD(threads), "0", "threads that compute; 0: one "
      "per processor", 0, 4096, .letter = 't', .arg = "N",
      .section = "Device" },
    { "tune", CTT_CHOICE, FIELD(tune), "off", "on: time the kernels of each "
      "conv once per machine and model, as convtt-infer --tune does, and "
      "print the times and the fastest; off: by rule", .choices = tune_words,
      .needs = "plan device=cpu", .section = "Device" },
    CTT_LIMIT_ROWS(LIMIT, 0),
    { .name = NULL }
};

static const struct ctt_chapter chapters[] = {
    { "EXIT STATUS",
      "0: success. 1: an error. 2: " CTT_USAGE_STATUS },
    { "EXAMPLES",
      "Compare two models in size, speed and accuracy:\n\n"
      "    convtt-info --compare dense.h5 small.h5 --data clips\n\n"
      "Which kernel computes each node:\n\n"
      "    convtt-info --plan models/early-lstm.net\n\n"
      "What else could compute each conv, and how fast:\n\n"
      "    convtt-info --plan --tune on models/early-lstm.net" },
    { .title = NULL }
};

const struct ctt_program ctt_info_program = {
    .name = "convtt-info",
    .summary = "show and compare models",
    .synopsis = "[OPTION...] MODEL...",
    .about = "Shows what a model file holds: its text, the sizes and encodings "
             "of its weights, its classes and its history. Several models are "
             "compared in a table.",
    .opts = opts,
    .description =
        "MODEL is a model file or a model text (NAME.net). Without options a "
        "single model is shown as a whole, and so is a pack of clips: its "
        "input line, clips and classes. Of each kernel it says how many values "
        "are kept, and how many of the units that convtt-compress "
        "--prune-form prunes together: blocks and rows with a kept value, of "
        "all. With --data the table of several "
        "models includes the time per frame and the accuracy after 25%, 50% "
        "and 100% of a clip.",
    .chapter = chapters,
    .also = "convtt-train(1), convtt-compress(1), convtt-infer(1)",
};
