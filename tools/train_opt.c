/* SPDX-License-Identifier: Apache-2.0
 * train_opt.c: the manual page of convtt-train; its options are the trainer's
 * settings (libtrain/cfg.c). */
#include "libtrain/train.h"
#include "tools/train_opt.h"
#include "video/source.h"

static const char description[] =
    "The model text describes the network in the language that convtt-info "
    "--ops lists. If the number of classes differs, its last convolution is "
    "adapted to the data. With --init and no text, training continues on the "
    "model of that file; with both, weights of the same name and shape are "
    "taken from the file.\n\n"
    "PATH is one of\n\n"
    CTT_SOURCE_FORMS
    "Clips may have any container, codec, size and frame rate that FFmpeg "
    "decodes; the input line of the model states the size, rate and colour "
    "that frames are converted to. A clip that cannot be read is named, "
    "skipped and counted, or with --strict an error. Clips that are in both "
    "the training and the validation data are noticed.\n\n"
    CTT_SOURCE_RULES "\n\n"
    "A folder with one subfolder per class may be split: PATH/train/CLASS, "
    "PATH/validation/CLASS and PATH/test/CLASS. Without splits, PATH/CLASS, "
    "all of it is what --data, --val or --test names it for. The classes of "
    "--val and --test are those of the training clips by name: another one is "
    "an error, and a warning says how many have no clips.\n\n"
    "By default each clip is observed up to a random ratio and up to its end, "
    "so that the model learns to recognise it early (--observe). The model "
    "with the best validation result is written.";

static const struct ctt_chapter chapters[] = {
    { "PREDICTION",
      "With --task=predict the model learns to predict the next frames of any "
      "clips; labels are ignored. Its output must have the shape of its input. "
      "It observes --input-frames frames, then its own predictions are fed "
      "back for --future-frames frames. If there is no validation split, pass "
      "--val.\n\n"
      "Scheduled sampling (Bengio et al. 2015) replaces true future frames by "
      "predictions during training, as convtt-train does by default. The "
      "defaults of --sampling-patience (3) and --sampling-decay (0.05) are for "
      "short runs; Su et al. 2020 used 20 and 0.004, with --schedule=sampled "
      "--optimizer=adam --clip-norm=3 --step-epochs=5 --gamma=0.98." },
    { "LEARNING TO PREDICT FIRST",
      "Two ways to learn from frames as well as from labels. --task=predict "
      "trains a model on videos without labels, and --init gives its weights "
      "to the nodes of a recogniser that have the same names and shapes. Or "
      "--task=both adds to the loss of the answer --ahead-weight times the "
      "mean square error of the next frame, in normalised values, over all "
      "frames but the last of each clip, as the line 'ahead' of the model "
      "predicts it (after Su et al. 2020 and Wang et al. 2019). True frames "
      "are the input; mixed clips are predicted as they are mixed. The best "
      "epoch is that of the answers. The written model has neither 'ahead' "
      "nor what only it needs; checkpoints have both. With a weight of 0 the "
      "model is that of --task=recognise, to the bit, which leaves 'ahead' "
      "out." },
    { "CHECKS",
      "--doctor reads the clips, takes up to 60 steps (2 minutes) on one batch "
      "and prints a table: what was found, and the option or line of the model "
      "that mends what looks wrong. It checks mean and deviation of the values "
      "against the input line, black and white pixels, clips with one value "
      "only, repeated frames, frame rates, the length of clips against what an "
      "answer sees, the balance of classes, clips that are there twice or in "
      "both parts, what augmentation does to mean and deviation, the loss of "
      "the first step against an even guess, and whether a few clips can be "
      "learnt by heart. What looks wrong is measured by rules of thumb; a run "
      "may still be fine. Each training begins with those checks that take no "
      "time.\n\n"
      "mean=auto and std=auto in the input line of a model text mean: as "
      "measured on the training clips (up to 16 frames of each). The model "
      "holds the numbers. With normalise=clip in their place each frame is "
      "normalised with the mean and deviation of the frames of its clip so "
      "far, in a stream too, whatever the light; --brightness and --contrast "
      "then change what was normalised." },
    { "UNTRIMMED VIDEO",
      "Where a list has parts of long videos, a model of their classes has "
      "never seen what lies between them, and answers with one of its classes "
      "all the same. --background NAME adds a class of that: what lies before "
      "and between the parts of each video, in pieces about as long as the "
      "median part. A gap of less than half of that is left out, and so is "
      "what follows the last part, as a list does not say how long videos "
      "are. What no part names is taken for background, so all parts of a "
      "video must be listed, in one split; --classes must list NAME, too. "
      "Validation clips that are no parts need no background." },
    { "AUGMENTATION",
      "--augment=light is the default where clips are recognised: small "
      "changes of crop, speed, brightness, contrast and colours. strong "
      "makes them larger, cuts off the beginning of clips, erases "
      "rectangles and mixes clips. Neither mirrors: --flip does. In "
      "prediction nothing changes but what is asked for. A crop is about as "
      "large as the model's frame, so what is seen is as large as in a "
      "test.\n\n"
      "Every choice depends on --seed, the epoch and the clip only. Clips "
      "keep one crop, colour and rectangle in all of their frames. "
      "--rand-augment=2 replaces what light or strong would do to every clip "
      "by two changes a clip, drawn anew in each epoch, with one "
      "--magnitude of 0.1 to 10 (after Cubuk and others 2020). At 10 a crop "
      "has 0.4 of the area or 1 / 0.4, and is 1.6 times as wide or high; a "
      "clip is played twice or half as fast, or begins after 40% of it; "
      "values move by one deviation, their contrast is 0.4 or 1.6, their "
      "power 2 or 1/2, their saturation 0.2 or 1.8; or a rectangle of 40% of "
      "the frame is erased. A lower magnitude is that part of the way from no "
      "change. Given options, --grey, --mixup and --cutmix stay what they "
      "are. --speed "
      "and --start change how many frames a clip has, at least --min-frames "
      "and at most those of the longest clip; observed ratios are those of "
      "the clip as it is played. --mixup and --cutmix mix clips of a batch "
      "in pairs; frames are paired by the share of the clip that was seen, "
      "so the shorter clip is stretched beside the longer one, and an "
      "answer is asked for at the same ratio of both. The accuracy in "
      "training then counts the label of the larger share. With "
      "--class-weights the weight of a pair is that of both classes, by "
      "their shares; teachers and --self-distil answer the mixed clips.\n\n"
      "With normalise=clip the frames that are shown are measured, in their "
      "order and as they are after the crop; colours, rectangles and mixing "
      "change what was normalised. With --sampler=balanced a clip that is "
      "drawn again is changed in another way, its length too." },
    { "WHICH WEIGHTS",
      "With validation clips the epoch that is best on them becomes the model, "
      "so their accuracy flatters it; \"95%\" is its confidence interval "
      "(Wilson 1927). The clips of --test, or a split test of --data with "
      "classes, are scored once at the end. --pick=last takes the last epoch, "
      "which nothing chose. --ema=0.99 averages the weights over the updates: "
      "over about 100 of them, with 0.999 over 1,000. The average, which has "
      "the averages of batch norms' statistics too, is what is validated and "
      "becomes the model: of its best epoch, or with --pick=ema-last of the "
      "last." },
    { "NUMBERS THAT ARE FOUND",
      "--lr=auto trains a copy of the model for 100 steps with a learning rate "
      "that rises from 1e-7 to 10, evenly in its logarithm (Smith 2017), and "
      "otherwise as asked for, until a loss is not finite. The loss of each "
      "step is averaged with those of the five before and after it; the test "
      "ends where that is four times its lowest. The rate is a tenth of that "
      "at which it is lowest (Howard and Gugger 2020). --batch=auto "
      "tries powers of two, from the number of clips down, until all that the "
      "training needs fits into --memory. Both numbers are said, stand in the "
      "model's history, and are those of the checkpoint where a run resumes. "
      "The same clips, settings and --seed give the same rate." },
    { "FEW CLIPS",
      "--folds=5 splits the clips of --split into five parts, with every class "
      "equally often in each as far as possible; --seed decides how. Clips "
      "with the same frames stay together, and so do clips whose names share "
      "personNN (KTH) or everything up to _gNN_ (UCF101), and parts of one "
      "video. Each part validates the model that is trained on the others, "
      "which is written to OUT.fold1.h5 and so on (for -o OUT.h5), with logs "
      "named alike. At the end a table gives accuracy per part, mean, "
      "deviation over the parts and the accuracy over all clips; --log-csv and "
      "--log-json hold its rows. Numbers of mean=auto are measured on all "
      "parts. Checkpoints stay until "
      "the last part, and --resume goes on with the same command." },
    { "DENSE-SPARSE-DENSE TRAINING",
      "--dsd=0.3 trains as usual for half of the steps, holds the 30% smallest "
      "weights of each convolution at zero until 80% of them, then trains all "
      "again at a tenth of the learning rate. It spends no more epochs than a "
      "run without it, so whether it helps is seen by comparing both with the "
      "same --epochs, over several --seed; a comparison with the model at half "
      "of the run would count the longer training as a gain." },
    { "MIXED PRECISION",
      "--amp=O1 computes values and gradients in fp16 (or with --amp-type=bf16 "
      "in bf16) where that is safe; weights and sums stay in fp32, and the "
      "loss scale adapts itself. --amp-plan prints the type of each node and "
      "the reason. On a CPU, where kernels compute in fp32, mixed precision "
      "only saves memory." },
    { "MEMORY",
      "Backpropagation through time needs the values of all time steps. "
      "--memory=1G limits all that the program allocates to 1 GiB, and with "
      "--keep=auto it stores only as many windows of steps as fit into 3/4 of "
      "what is left of it, and recomputes the others. On a GPU --memory limits "
      "values and gradients there as well.\n\n"
      "--shards=4 computes a batch in four parts, one after the other, and "
      "adds their gradients, in an order that is always the same: values take "
      "a quarter of the memory, and the sums that of two models more (of N "
      "parts: log2 N). Without batch norms, dropout and mixing it trains as "
      "the whole batch does, but for rounding: batch norms have the statistics "
      "of a part, their running ones move once a batch, and clips of a part "
      "are mixed." },
    { "GPU",
      "--device=cuda computes on the current CUDA device (choose another with "
      "CUDA_VISIBLE_DEVICES). All options mean the same as on a CPU. "
      "--streams=4 runs independent nodes in parallel. From its second run on, "
      "a window of time steps is captured and replayed as a CUDA graph. Within "
      "a window, cuDNN computes the weight gradient of a 16-bit convolution in "
      "16 bits; the CPU uses fp32." },
    { "STOPPING AND RESUMING",
      "SIGINT (Ctrl-C), SIGTERM and SIGHUP (a terminal that closes) stop the "
      "run cleanly with a checkpoint. "
      "--resume continues from it, bit for bit if the machine, "
      "--epochs and the settings of memory and validation are the same; with "
      "--deterministic off --threads must be so too, and nothing is promised "
      "on a GPU. Settings that change what is "
      "computed must be the same.\n\n"
      "--time-limit counts the minutes since the start or the resume. With "
      "it --schedule=cosine ends where the steps or the time end, whichever is "
      "expected first at the pace so far; the rate never rises again after the "
      "warm-up. As the pace is measured, such a run is not repeated bit for "
      "bit; --log-csv has the rates. A resumed "
      "run spreads what is left of the schedule over its own minutes; one "
      "whose limit had ended it goes on at the rate of its steps." },
    { "EXIT STATUS",
      "0: the model is written; with --doctor: all looks well. 1: an error, or "
      "the run was stopped before its end. 2: a wrong option or operand, "
      "reported in one line. 3: --doctor found something that looks wrong." },
    { "FILES",
      "OUT.ckpt is the checkpoint, removed at the end unless --checkpoint "
      "names it." },
    { "EXAMPLES",
      "Early recognition on two lists of clips:\n\n"
      "    convtt-train models/early-lstm.net -o fights.h5 \\\n"
      "        --data fights/train_list.txt --val fights/val_list.txt \\\n"
      "        --epochs 30\n\n"
      "Pictures of digits:\n\n"
      "    convtt-train models/lenet-300-100.net -o lenet.h5 \\\n"
      "        --data digits:mnist --batch 128 --val-batch 500 --observe 1\n\n"
      "Prediction of Moving-MNIST with a small model:\n\n"
      "    convtt-train models/mnist-small.net -o small-mnist.h5 \\\n"
      "        --task predict --data mnist:mnist --loss mse --batch 8 \\\n"
      "        --lr 3e-3 --warmup 0.1 --epochs 15 --sequences 5000 \\\n"
      "        --val-sequences 500 --sampling-start 1 --sampling-decay 0.5\n\n"
      "The setup of Su et al. 2020 (400 epochs):\n\n"
      "    convtt-train models/mnist-convttlstm.net -o predict.h5 \\\n"
      "        --task predict --data mnist:mnist --epochs 400 \\\n"
      "        --sequences 10000 --val-sequences 3000 --batch 16 \\\n"
      "        --optimizer adam --lr 1e-3 --weight-decay 0 --warmup 0 \\\n"
      "        --clip-norm 3 --sampling-patience 20 \\\n"
      "        --sampling-decay 0.004 --schedule sampled --gamma 0.98 \\\n"
      "        --step-epochs 5 --keep auto --memory 12G" },
    { .title = NULL }
};

const struct ctt_program ctt_train_program = {
    .name = "convtt-train",
    .summary = "train a model on video clips",
    .synopsis = "[OPTION...] MODEL.net -o OUT --data PATH",
    .about = "Trains the model described by a text on labelled clips, or with "
             "--task=predict on any clips to predict their next frames, or "
             "with --task=both to do both.",
    .opts = ctt_train_opts,
    .description = description,
    .chapter = chapters,
    .also = "convtt-compress(1), convtt-data(1), convtt-infer(1), "
            "convtt-info(1)",
};
