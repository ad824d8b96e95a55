/* SPDX-License-Identifier: Apache-2.0
 * infer_opt.c: the settings of convtt-infer. */
#include "tools/infer_opt.h"
#include "device/device.h"
#include "tools/infer_files.h"

#include <string.h>

const char ctt_infer_usage[] =
    "convtt-infer [options] MODEL CLIP|LIST|FOLDER|PACK|mnist:DIR|- "
    "...\n\n"
    "Says what each clip shows after a share of it has been seen (--observe),\n"
    "or as frames come in (--every); or, with a model trained for that, what\n"
    "frames come next (--predict).  '-' reads paths from standard input, a\n"
    "line each.";

#define FIELD(f) offsetof(struct ctt_infer_set, f)

const char *const ctt_infer_devices[] = { CTT_DEVICES(CTT_DEVICE_NAME) NULL };

const struct ctt_opt ctt_infer_opts[] = {
    { "observe", CTT_STRING, FIELD(observe), "", "answer at these shares of "
      "a clip [0.25,0.5,1]", .letter = 'o', .arg = "R,..." },
    { "every", CTT_INT, FIELD(every), "0", "answer each N frames as they "
      "come, and at the end", 0, 1 << 20, .letter = 'e', .arg = "N" },
    { "top", CTT_INT, FIELD(top), "3", "how many classes to show", 1, 1 << 20,
      .letter = 'k', .arg = "K" },
    { "json", CTT_FLAG, FIELD(json), "0", "a line of JSON an answer",
      .letter = 'j' },
    { "predict", CTT_INT, FIELD(predict.count), "0", "predict the next N "
      "frames", 0, 4096, .letter = 'p', .arg = "N" },
    { "input-frames", CTT_INT, FIELD(predict.seen), "10", "predict: frames of "
      "a clip that are seen first", 1, 4096, .arg = "N" },
    { "strip", CTT_STRING, FIELD(predict.strip), "", "predict: a PNG, the "
      "truth above the prediction, a column a frame", .arg = "FILE" },
    { "video", CTT_STRING, FIELD(predict.video), "", "predict: a .webm or "
      ".mp4, the prediction right of the truth", .arg = "FILE" },
    { "show", CTT_INT, FIELD(predict.show), "1", "clips in --strip and "
      "--video, one below the other", 1, 64, .arg = "N" },
    { "frames", CTT_STRING, FIELD(predict.frames), "", "predict: all frames "
      "as HDF5", .arg = "FILE" },
    { "csv", CTT_STRING, FIELD(predict.csv), "", "predict: the metrics as a "
      "table", .arg = "FILE" },
    { "sequences", CTT_INT, FIELD(predict.sequences), "100", "mnist: how many; "
      "5000 are the published test", 1, 1000000, .arg = "N" },
    { "digits", CTT_INT, FIELD(predict.digits), "2", "mnist: digits a "
      "sequence", 1, CTT_MNIST_DIGITS, .arg = "N" },
    { "seed", CTT_INT, FIELD(predict.seed), "1", "mnist: same seed, same "
      "sequences", 0, 1000000000 },
    { "split", CTT_STRING, FIELD(split), "", "which part of a data set "
      "[validation, or all if it has no parts; mnist: test]", .arg = "NAME" },
    { "classes", CTT_STRING, FIELD(classes), "", "a file that names the "
      "classes to keep", .arg = "FILE" },
    { "time", CTT_FLAG, FIELD(time), "0", "measure each frame", .letter = 't' },
    { "strict", CTT_FLAG, FIELD(strict), "0", "stop at a clip that cannot be "
      "read" },
    { "device", CTT_CHOICE, FIELD(device), "cpu", "what computes",
      .choices = ctt_infer_devices },
    { "threads", CTT_INT, FIELD(threads), "0", "0: all processors", 0, 4096,
      .arg = "N" },
    { .name = NULL }
};

/* What a setting is for; to give it for anything else is a mistake. */
enum use { ANSWERS, PREDICTS, SHOWS, DRAWS, USES };

static const char *const with[USES] = {
    [ANSWERS] = "does not go with --predict",
    [PREDICTS] = "goes with --predict N",
    [SHOWS] = "goes with --strip and --video",
    [DRAWS] = "goes with --predict N and mnist:DIR",
};

static const struct { const char *name; enum use use; } only[] = {
    { "observe", ANSWERS }, { "every", ANSWERS }, { "top", ANSWERS },
    { "input-frames", PREDICTS }, { "strip", PREDICTS },
    { "video", PREDICTS }, { "frames", PREDICTS }, { "csv", PREDICTS },
    { "show", SHOWS }, { "sequences", DRAWS }, { "digits", DRAWS },
    { "seed", DRAWS },
};

/* "-" may name them too. */
static int draws(char **path, int paths)
{
    for (int i = 0; i < paths; i++)
        if (ctt_mnist_path(path[i]) || strcmp(path[i], "-") == 0)
            return 1;
    return 0;
}

static int check_uses(const struct ctt_infer_set *c, char **path, int paths)
{
    const struct ctt_predict *p = &c->predict;
    const int used[USES] = { [ANSWERS] = !p->count, [PREDICTS] = p->count > 0,
        [SHOWS] = p->strip || p->video,
        [DRAWS] = p->count && draws(path, paths) };
    int rc = 0;

    for (size_t i = 0; i < CTT_LEN(only); i++) {
        int k = ctt_opt_find(ctt_infer_opts, only[i].name);
        CTT_CHECK(used[only[i].use] ||
                  ctt_opt_is_default(&ctt_infer_opts[k], c), CTT_EINVAL,
                  "--%s %s", only[i].name, with[only[i].use]);
    }
out:
    return rc;
}

int ctt_infer_check(const struct ctt_infer_set *c, char **path, int paths)
{
    int rc;

    CTT_TRY(check_uses(c, path + 1, paths - 1));
    CTT_TRY(ctt_predict_apart(&c->predict));
    for (int i = 0; i < paths; i++)
        CTT_TRY(ctt_predict_spares(&c->predict, path[i]));
out:
    return rc;
}
