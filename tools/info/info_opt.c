/* SPDX-License-Identifier: Apache-2.0
 * info_opt.c: the options and the manual page of convtt-info. */
#include "tools/shared/output.h"
#include "device/device.h"
#include "base/limits_opt.h"
#include "tools/info/info_tool.h"
#include "tools/shared/tool.h"

#define FIELD(f) offsetof(struct ctt_info_cfg, f)
#define LIMIT(member) FIELD(limits.member)
#define TELLING(member) FIELD(telling.member)
#define EXCHANGE "Other programs"

static const char *const tune_words[] = { "off", "on", NULL };
static const char *const for_words[] = {
    [CTT_EXPORT_ANY] = "any", [CTT_EXPORT_TENSORRT] = "tensorrt", NULL };

static const struct ctt_opt opts[] = {
    { "ops", CTT_FLAG, FIELD(ops), "0", "list the model language: ops, cells "
      "and their attributes", .section = "What to show",
      .tags = CTT_OPT_COMMON },
    { "all", CTT_FLAG, FIELD(all), "0", "show the text, the nodes, the weights "
      "as stored, the classes and the history of a model, too",
      .needs = "!plan !net !lint !export !import !strip !compare !data "
      "!report !watch", .section = "What to show" },
    { "net", CTT_FLAG, FIELD(net), "0", "print only the text of the model",
      .section = "What to show", .tags = CTT_OPT_COMMON },
    { "plan", CTT_FLAG, FIELD(plan), "0", "print the kernel of each node on "
      "this machine, the reason and its time, and the kernels of the "
      "gradients of convs", .section = "What to show", .tags = CTT_OPT_COMMON },
    { "lint", CTT_FLAG, FIELD(lint), "0", "print the receptive field, memory "
      "and energy of each node, and what could be changed at which line of the "
      "model text, with the gain, timed on one thread unless --threads is "
      "given", .needs = "!plan !net !export !import !strip !compare !data",
      .section = "What to show", .tags = CTT_OPT_COMMON },
    { "merge", CTT_FLAG, FIELD(merge), "0", "convs that read the same become "
      "one where --lint measures a gain: writes that model to --out, with the "
      "same answers up to rounding", .needs = "lint out",
      .section = "What to show" },
    { "compare", CTT_FLAG, FIELD(compare), "0", "print the table of several "
      "models even for a single one", .section = "What to show",
      .tags = CTT_OPT_COMMON },
    { "report", CTT_FLAG, FIELD(report), "0", "the operands are logs of "
      "trainings (--log-json): print their scores and the settings that "
      "differ", .needs = "!compare !data !export !import !strip !net !plan "
      "!lint",
      .section = "What to show" },
    { "watch", CTT_FLAG, FIELD(watch), "0", "the operand is the log of a "
      "training (--log-json): draw its curves as text, on a terminal each "
      "second until the training ends", .needs = "!report !report-html "
      "!compare !data !export !import !strip !net !plan !lint",
      .section = "What to show" },
    { "report-html", CTT_STRING, FIELD(report_html), "", "page for a browser: "
      "with --report the curves over each other, otherwise the models by size, "
      "time and accuracy, and the same clips against the first model",
      .arg = "FILE", .needs = "!export !import !strip !net !plan !lint",
      .section = "What to show" },
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
    { "export", CTT_STRING, FIELD(export_to), "", "write the model as ONNX "
      "(NAME.onnx), or its weights as safetensors (NAME.safetensors)",
      .arg = "FILE", .section = EXCHANGE, .tags = CTT_OPT_COMMON },
    { "half", CTT_FLAG, FIELD(onnx.half), "0", "ONNX with weights of 16 bits; "
      "inputs and outputs stay floats", .needs = "export",
      .section = EXCHANGE },
    { "for", CTT_CHOICE, FIELD(onnx.target), "any", "quantised values of ONNX "
      "as the model has them, or as TensorRT reads them: around 0",
      .choices = for_words, .needs = "export", .section = EXCHANGE },
    { "with-softmax", CTT_FLAG, FIELD(onnx.softmax), "0", "ONNX that answers "
      "with probabilities, not with what they are made of", .needs = "export",
      .section = EXCHANGE },
    { "import", CTT_STRING, FIELD(import), "", "make a model of a file of "
      "another program: ONNX, or weights as safetensors or a state_dict of "
      "PyTorch (.pth)",
      .arg = "FILE", .needs = "out|verify", .section = EXCHANGE,
      .tags = CTT_OPT_COMMON },
    { "map", CTT_STRING, FIELD(map), "", "text that names a tensor of --import "
      "for each weight, 'NODE.WEIGHT NAME' a line", .arg = "MAP",
      .needs = "import", .section = EXCHANGE },
    { "out", CTT_STRING, FIELD(out), "", "the model that --import or "
      "--merge makes",
      .letter = 'o', .arg = "FILE", .needs = "import|merge",
      .section = EXCHANGE },
    { "input-shape", CTT_STRING, FIELD(shapes), "", "sizes of the inputs of an "
      "ONNX file that leaves them open, such as x=1,3,224,224; of several "
      "inputs separated by blanks", .arg = "NAME=N,C,H,W",
      .needs = "import", .section = EXCHANGE },
    { "answer", CTT_STRING, FIELD(answer), "", "the value of an ONNX file that "
      "is the answer, if it has several outputs", .arg = "NAME",
      .needs = "import", .section = EXCHANGE },
    { "frames", CTT_STRING, FIELD(frames), "", "keys of the imported model's "
      "input line that its file does not say, such as 'mean=0.485,0.456,0.406 "
      "std=0.229,0.224,0.225 colour=bgr'", .arg = "KEYS", .needs = "import",
      .section = EXCHANGE },
    { "labels", CTT_STRING, FIELD(labels), "", "text with the label of each "
      "class of the imported model, one a line; repeated ones are numbered",
      .arg = "FILE", .needs = "import", .section = EXCHANGE },
    { "licence", CTT_STRING, FIELD(licence), "", "licence of the imported "
      "weights, which stands in the model's history: a name of SPDX such as "
      "BSD-3-Clause", .arg = "NAME", .needs = "import", .section = EXCHANGE },
    { "verify", CTT_STRING, FIELD(verify), "", "arrays of numpy, in_NAME for "
      "each input and out_0, with which the imported model's answer must "
      "agree to 1e-4 before anything is written; or onnxruntime, or the path "
      "of its library, which is asked for every value inside",
      .arg = "FILE.npz",
      .needs = "import", .section = EXCHANGE },
    CTT_LIMIT_ROWS(LIMIT, 0), CTT_TELLING_ROWS(TELLING, 0),
    { .name = NULL }
};

static const struct ctt_chapter chapters[] = {
    { "ONNX OUT",
      "--export NAME.onnx writes a graph of one step (opset 17). Its first "
      "input is a frame, 1 x c x h x w, normalised; its first output the "
      "answer. Each node that is read in later steps has a pair of an input "
      "past.NODE, zeros at first, and an output next.NODE, which is passed "
      "back; former steps lie one after the other along the channels, oldest "
      "first. With an input start, that is true at the first step alone and "
      "false later. Batch norms are part of the convolutions before them, "
      "pruned weights are zeros, quantised values and weights are pairs of "
      "QuantizeLinear and DequantizeLinear. Windows with spread=1 and "
      "operations of training are refused. examples/stream_onnx.py runs "
      "a stream in ONNX Runtime.\n\n"
      "The file's metadata are JSON: input (name, width, height, colour, fit, "
      "scale, fps, normalise, gamma, mean, std: a value is ((v / 255)^gamma - "
      "mean) / std; with normalise \"clip\" mean and std are those of the "
      "frames so far, which the caller computes), answer (name; kind: logits, "
      "probabilities or frame; several), labels, states (the pairs), export "
      "(half; for), and, as text, net. An unchanged file comes back by "
      "--import as the model that it was, with all that it remembers.\n\n"
      "On processors of x86 without VNNI, ONNX Runtime adds products of bytes "
      "in 16 bits, which overflow: set session.x64quantprecision to 1. "
      "OpenVINO's MakeStateful computes something else for a pair whose next "
      "is the frame itself (a state of the input): pass that pair by hand." },
    { "ONNX IN",
      "--import FILE.onnx -o MODEL.h5 makes a model of an ONNX file, operators "
      "of versions 6 to 28; -o NAME.net writes its text alone. Nodes that "
      "cannot be said in the model language are all listed, each with the "
      "reason, and nothing is written. Weights may lie in another file of the "
      "same folder.\n\n"
      "Layouts cost nothing: transposes and reshapes become an order of the "
      "weights. Additions and factors go into the convolution before, or, "
      "where the file begins with them, into mean= and std= of the input; "
      "numbers above 2 mean that the file takes bytes. An input of five axes "
      "with at most three channels is a clip: the model takes frames and has "
      "a window of as many. A last softmax or sigmoid of classes is left out, "
      "since convtt applies it itself; with a sigmoid the classes do not "
      "exclude each other (the line several).\n\n"
      "--verify compares with an .npz: in_NAME for each input (other "
      "characters than letters and digits are _) and out_0, or pre, the "
      "numbers before a last softmax or sigmoid, where errors show that "
      "probabilities hide. The largest difference may be 1e-4 of the largest "
      "number. With onnxruntime, or the path of libonnxruntime.so, each value "
      "that both compute is compared, for random inputs, and the first that "
      "differs is named." },
    { "WEIGHTS OF OTHERS",
      "--import FILE --map MAP -o MODEL.h5 NAME.net fills the model NAME.net. "
      "Every weight has a line in MAP, and every tensor of floats is in a "
      "line; NODE.* NAME.* is one for all weights of a node, as PyTorch names "
      "them; - NAME leaves one out. Shapes must agree: out, in, kernel. A "
      "third word, chw or hwc, says how a dense layer counts the numbers of an "
      "image that a reshape flattened, or that a conv covers as a whole here; "
      "PyTorch's flatten() is chw. Without --map the names are NODE.WEIGHT. A "
      "safetensors file of convtt holds its model text, so it needs neither. "
      "Maps of torchvision's and timm's models (mobilenet-v2.map, "
      "mobilenet-v2-timm.map, resnet50.map) are installed beside the models." },
    CTT_MODELS_BY_NAME,
    { "EXIT STATUS",
      "0: success. 1: an error. 2: " CTT_USAGE_STATUS },
    { "EXAMPLES",
      "Compare two models in size, speed and accuracy:\n\n"
      "    convtt-info --compare dense.h5 small.h5 --data clips\n\n"
      "Two trainings on a page:\n\n"
      "    convtt-info --report a.jsonl b.jsonl --report-html runs.html\n\n"
      "Which kernel computes each node:\n\n"
      "    convtt-info --plan models/early-lstm.net\n\n"
      "What to change in a model:\n\n"
      "    convtt-info --lint models/early-tsm.net\n\n"
      "What else could compute each conv, and how fast:\n\n"
      "    convtt-info --plan --tune on models/early-lstm.net\n\n"
      "ONNX of a trained model:\n\n"
      "    convtt-info --export model.onnx --with-softmax model.h5\n\n"
      "A model of ONNX, checked against saved answers:\n\n"
      "    convtt-info --import net.onnx --input-shape x=1,3,224,224 \\\n"
      "        --verify net.npz -o net.h5\n\n"
      "ImageNet's weights of torchvision in a model of convtt:\n\n"
      "    convtt-info --import mobilenet_v2-b0353104.pth \\\n"
      "        --map mobilenet-v2.map -o mobilenet.h5 mobilenet-v2.net" },
    { .title = NULL }
};

const struct ctt_program ctt_info_program = {
    .name = "convtt-info",
    .summary = "show and compare models",
    .synopsis = "[OPTION...] MODEL...",
    .about = "Shows what a model file is for: what it reads and answers, its "
             "size, and its accuracy on record. Several models are compared in "
             "a table.",
    .opts = opts,
    .description =
        "MODEL is a model file or a model text (NAME.net). --all shows "
        "the text of a file, the sizes and encodings of its weights, its "
        "classes and its history, too. A pack of clips is shown with its "
        "input line, clips and classes. Of each kernel --all says how many "
        "values are kept, and how many of the units that convtt-compress "
        "--prune-form prunes together: blocks and rows with a kept value, of "
        "all. With --data the table of several models includes the time per "
        "frame and the accuracy after 25%, 50% and 100% of a clip.",
    .chapter = chapters,
    .also = "convtt-train(1), convtt-compress(1), convtt-infer(1)",
};
