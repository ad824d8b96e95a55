/* SPDX-License-Identifier: Apache-2.0
 * compress_opt.c: the manual page of convtt-compress, without its options. */
#include "tools/compress_opt.h"

static const char description[] =
    "Factorisation comes first. An SVD (--svd-rank, --svd-energy or both, or "
    "--svd-macs for all weights together) replaces a weight by two: a "
    "convolution with fewer channels, then one of one pixel that mixes them; "
    "--svd-on responses chooses those that keep most of what the weight "
    "answers on training clips. Of the other weights successive SVDs make "
    "tensor trains, limited by --tt-rank, --tt-tol or both; --tt-on responses "
    "then fits them to what the weight answers on training clips. A weight "
    "whose factorisation would not save anything stays whole, and the report "
    "says why. Then magnitude pruning (--prune) sets the smallest weights to "
    "zero, with --data in many steps while the model is retrained (Zhu and "
    "Gupta 2017), or in --prune-rounds rounds; weights of different layers are "
    "compared by their LAMP score (Lee and others 2021) unless --prune-score "
    "says otherwise. Then batch norms go into the convolutions before them, "
    "and channels that nothing reads, or that hold a constant, are dropped "
    "(--fold). Weights may share the values of a codebook (--share). "
    "Convolutions may read bytes (--int8). What is left open is chosen: see "
    "CHOICES. Last, the remaining weights "
    "(--round) and biases (--bias-bits) are rounded.\n\n"
    "With --data the model is retrained after factorisation and after each "
    "round of pruning that --retrain-epochs has an epoch for, and after "
    "sharing for --share-epochs; the model as given is its teacher "
    "(--distil). The epoch with the best mean accuracy after 25, 50 and "
    "100% of the validation clips is kept, chosen after the last step of "
    "pruning; if none is better than the weights before retraining, these "
    "are.\n\n"
    "A folded model can be trained, compressed and folded again, but it has "
    "no batch norms any more; --fold none keeps them.\n\n"
    "Pruning makes the file smaller; tensor trains and dropped channels also "
    "reduce the number of multiplications. Tables report what each weight and "
    "each step came to; --report writes the same as JSON.\n\n"
    "PATTERNS are names with * and ?, separated by commas. A pattern also "
    "matches the cores of a weight of that name; =NAME matches none but "
    "NAME.\n\n"
    "A model that predicts frames is compressed without --val and retraining, "
    "which are for classification. --data is only read for what is measured on "
    "clips: by --int8, --svd-on and --tt-on.";

static const struct ctt_chapter chapters[] = {
    { "CHOICES",
      "Before anything is trained, candidates are made of the weights as they "
      "are, written to temporary files and timed here in turns, as "
      "\"faster\" of the other tables: with --prune-form auto single values "
      "or, if the model is retrained, blocks; with --int8 auto floats or "
      "bytes. --for says whether bytes, time or their product count. One that "
      "loses less of the weights is kept unless the other gains 3%, or 10% if "
      "it is blocks, whose loss only shows after training. Rows are no "
      "candidate, as they lose more than blocks. A weight that "
      "--tt-rank or --tt-tol would factorise stays whole if that is smaller "
      "and faster; with --for bytes or ms, if it is that. INT8 that was chosen "
      "is not trained: convolutions stay in floats, or all of them, where the "
      "validation clips show that bytes cost more than --int8-harm: by more "
      "than 1.96 standard errors of the difference, as one of few clips is "
      "mostly chance. If some do, what is "
      "left is measured again beside the model of floats, and INT8 that gains "
      "less than 3% is given up; the note of its row says so.\n\n"
      "A candidate that does not fit into --memory is left out, with a "
      "message.\n\n"
      "The table \"choices\" shows all candidates; \"faster\" is there "
      "relative to the first of its kind, and \"points lost\" is the mean "
      "top-1 that bytes cost in the end. The history of the model says what "
      "was chosen, and --resume does not choose again. Times differ, so the "
      "same command may choose otherwise elsewhere, or later: with "
      "--choose-by rules, and on the device ref, rules decide (bytes where "
      "that is possible, and blocks with them if there are no tensor trains; "
      "on the device cuda, whose bytes are no faster, single values in "
      "floats); with "
      "--for bytes sizes do, which are the same each time. What an option "
      "names is not chosen: --prune-form any --int8 none." },
    { "ACCURACY",
      "The accuracy in the tables is that of the validation clips. It flatters "
      "the result, because the same clips choose the best epoch of each "
      "retraining. If the data has a split test with classes, the given model "
      "and the result are tested on it once, at the end; without one nothing "
      "proves the result, and the last lines say so. The table \"data\" says "
      "which clips trained, chose and proved.\n\n"
      "\"95%\" is the confidence interval of an accuracy (Wilson 1927). Clips "
      "that only the given model recognises are \"lost\", those that only the "
      "smaller one does are \"won\", and p is McNemar's exact test of both: "
      "the probability of such a difference if the models were equally good. A "
      "round that there is no epoch for is not retrained: its accuracy before "
      "retraining is \"-\", as is that of pruning in steps, which retraining "
      "does itself. A round that changes no weight (\"no change\") is not "
      "retrained, unless it is the last one." },
    { "INT8",
      "For each convolution a table says what it costs that it reads bytes: "
      "\"KL of classes\" is how far the probabilities of the classes are from "
      "those of the model of floats if only this convolution reads bytes "
      "(Kullback-Leibler divergence in nats, mean over clips of the training "
      "set); of a model that predicts frames, \"dB of frames\" is the ratio of "
      "their squares to those of the errors. \"dB alone\" is that ratio of the "
      "convolution's own results, and \"dB behind the others\" the same if all "
      "before it read bytes too. A mean error that its bias makes up for does "
      "not count. The first row is of all convolutions together, then the "
      "worst come first; --report has all.\n\n"
      "--int8-except auto keeps the convolutions that cost most in floats, "
      "worst first by the first column, if the validation clips show (see "
      "CHOICES) a loss of more than --int8-harm: 1, 2, 4 and so on, until it "
      "is enough, then it looks for the fewest between the last two. That "
      "comes before retraining, as it costs some milliseconds and not minutes. "
      "If there is retraining, at most half of the convolutions stay in "
      "floats: where that "
      "is not enough, none of them does, and training has to help." },
    { "SENSITIVITY",
      "--sense writes no model. For each weight and each of a list of options "
      "(pruning of single values and of blocks, shared values, SVD, tensor "
      "trains, thinning, INT8) it makes a model in which that option changes "
      "this weight alone, as a stage would do, without retraining; of thinning "
      "also the weights whose channels must go with it. Batch norms are "
      "folded first. \"KL\" is how far the probabilities of the classes are "
      "from those of the model as given (Kullback-Leibler divergence in nats, "
      "mean over the validation clips, after 25, 50 and 100% of each), "
      "\"points lost\" is top-1, which on few clips says less, \"bytes "
      "saved\" is what the coded file is smaller by, and \"faster\" is the "
      "ratio of frame times, measured in turns; with --choose-by rules nothing "
      "is timed. Where a value can't be used, or saves nothing, a line says "
      "why.\n\n"
      "The last table has the strongest value of each option with a divergence "
      "of --sense-kl or less. It goes by the divergences that rise with the "
      "value and fit best (isotonic regression), as a stronger value that "
      "seems to do less harm does so by chance; --sense-csv has them as "
      "\"fit\", --sense-plot draws them.\n\n"
      "Each result is added to --sense-log at once, as a line of JSON: the "
      "same command goes on after it was stopped or killed. A log belongs to "
      "one model, one set of clips, device and number of threads." },
    { "SIZE, TIME AND MEMORY",
      "\"pruned\" is the share of the values of all convolution weights, "
      "\"prunable\" that of the weights which --prune may prune.\n\n"
      "\"values\" counts the different values of a weight, \"gap\" is the "
      "number of pruned ones before one that is kept. Their entropy is what "
      "the best code of single symbols needs on this weight, without the "
      "table that says which code stands for what; \"over entropy\" is how "
      "many times as many bytes the file holds. \"stored as\" says how "
      "positions, values and bytes are coded, in the words of doc/format.md: "
      "index or gaps, codebook, int8, deflate and so on.\n\n"
      "\"RAM\" is what the runtime allocates, in kB, for the model and the "
      "values and states of one stream. To compare times, each model and the "
      "given one run in turns, a few frames each, and \"faster\" is the median "
      "ratio of such pairs; \"ms/frame\" is the time of the given model, "
      "measured once, divided by it. So what else the machine does meanwhile "
      "does not count." },
    { "STOPPING AND RESUMING",
      "SIGINT and SIGTERM (Ctrl-C) stop the run; a checkpoint is written "
      "after choices, before each retraining, after each of its epochs or "
      "--checkpoint-every=N batches, when it is stopped, and after each step. "
      "The same command with --resume continues from it, also after a crash, "
      "and writes the same file, bit for bit under the conditions of "
      "convtt-train --resume." },
    { "EXIT STATUS",
      "0: the model is written. 1: an error, or the run was stopped before "
      "its end. 2: a wrong option or operand, reported in one line." },
    { "EXAMPLES",
      "Factorise, prune 90% of the cores, and retrain:\n\n"
      "    convtt-compress dense.h5 -o small.h5 --data clips \\\n"
      "        --prune 0.9 --tt-rank 8 --report small.json\n\n"
      "See what each weight bears before that:\n\n"
      "    convtt-compress --sense dense.h5 --data clips \\\n"
      "        --sense-plot dense.svg" },
    { .title = NULL }
};

const struct ctt_program ctt_compress_program = {
    .name = "convtt-compress",
    .summary = "make a trained model smaller",
    .synopsis = "[OPTION...] MODEL -o OUT",
    .about = "Factorises the weights of a trained model (--svd-rank, "
             "--svd-energy, --svd-macs, --tt-rank, --tt-tol), prunes them "
             "(--prune), lets them share values (--share), lets convs read "
             "bytes (--int8), or all of that; with --data it retrains. Writes "
             "the compressed model and a report.",
    .description = description,
    .chapter = chapters,
    .also = "convtt-train(1), convtt-infer(1), convtt-info(1)",
};
