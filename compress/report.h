/* SPDX-License-Identifier: Apache-2.0
 * report.h: the compression of a model and the measured results: a row a round
 * of a stage, and one per weight. */
#ifndef CTT_REPORT_H
#define CTT_REPORT_H

#include "net/file/file.h"

enum { CTT_MAX_CORES = 5, CTT_ACCURACIES = 3, CTT_REASON = 112 };

/* The result of a test on clips; NAN: there was none. */
struct ctt_score {
    double  top1[CTT_ACCURACIES];    /* 0..1, after 25%, 50% and 100% of each
                                        clip; with several labels per clip the
                                        mean average precision */
    int64_t clips;
    int64_t lost, won;               /* whole clips that the original has
                                        right and this one wrong, and the
                                        reverse */
};

/* How a model file runs. */
struct ctt_speed {
    double  ms;        /* milliseconds per frame */
    double  slower;    /* the median ratio to the original, of pairs of
                          measurements next to each other */
    int64_t ram;       /* bytes that the runtime allocates for it */
    int     busy;      /* the machine was: the pairs differ too much for
                          slower to be reported */
};

/* A row per round of a stage.  What was not measured or does not apply is
 * NAN. */
struct ctt_stage_row {
    char    name[CTT_NAME];
    int64_t bytes;                     /* size of the saved file */
    int64_t params;                    /* parameters that it holds */
    int64_t macs, clip_macs;           /* multiplications per frame, per clip */
    int64_t live_macs;                 /* per frame, by weights not pruned */
    double  pruned;                    /* share of all conv weights */
    double  prunable;                  /* share of those that may be pruned */
    double  before[CTT_ACCURACIES];    /* top-1, 0..1, before retraining, if
                                          the round was retrained; and */
    struct ctt_score after;            /* of this model */
    int64_t ram;                       /* bytes at run time: the model as the
                                          runtime keeps it, and its values and
                                          states in one session; 0: not
                                          measured */
    double  ms;                        /* milliseconds per frame: as given
                                          measured, then that / faster */
    double  faster;                    /* than the original */
    int     busy;                      /* the machine was, so that tables leave
                                          out both */
};

/* The content of a weight, as if each symbol were coded alone: bits of the
 * values that are not pruned, different ones, and bits of the gaps between
 * them. */
struct ctt_entropy {
    int64_t values;
    double  value_bits, gap_bits;
};

/* A row per conv or deconv weight of the given model. */
struct ctt_weight_row {
    char    name[CTT_NAME];
    int     shape[5];                  /* out, kd, kh, kw, in */
    int     cores;                     /* 1: not factorised */
    int     rank[CTT_MAX_CORES - 1];   /* between core k and k + 1 */
    char    chain[24];                 /* "in|kh|kw|out": axes of the cores */
    char    reason[CTT_REASON];        /* why it was not factorised, or not
                                          fitted, or "" */
    int     whole;                     /* 1: a choice says that it stays so */
    int     fitted;                    /* to what it answers on clips */
    double  error;                     /* relative, in the Frobenius norm; if
                                          fitted, the root of the lost share of
                                          the variance of the answers */
    int64_t params, params_after;      /* of the weight and of its cores */
    int64_t macs, macs_after;
    int64_t kept, size;                /* elements not pruned, bytes in the
                                          file */
    char    encoding[56];              /* codings of the largest core */
    struct ctt_entropy entropy;        /* sums over its cores */
};

/* A row per conv of the model that INT8 was made of, and first one for all that
 * read bytes, named CTT_BLAME_ALL.  Ratios in dB are of a conv's results to
 * their errors. */
#define CTT_BLAME_ALL "all together"
struct ctt_blame {
    char   name[CTT_NAME];
    double alone, behind;    /* dB if only this conv reads bytes, and if those
                                before it do too; NAN: it reads floats */
    double answer;           /* what only this conv does to the answer: mean KL
                                divergence of the classes' probabilities in
                                nats, */
    int    frames;           /* or, if 1, dB of predicted frames */
    char   stays[32];        /* why it reads floats, or "" */
};

/* A candidate of a choice (choose.h), with what was measured of it on a model
 * without the training to come.  Those of one choice stand together. */
#define CTT_CHOICE_FORM "pattern and type"
struct ctt_choice {
    char    of[CTT_NAME];    /* CTT_CHOICE_FORM, "all weights" or a weight */
    char    name[32];        /* "block, int8" */
    int     form, int8;      /* enum ctt_prune_form; 1: convs read bytes */
    int     chosen;          /* what the model is; with `given_up`: what the
                                recipe runs by */
    char    given_up[96];    /* why it could not be chosen, or is not what the
                                model is although it was chosen: floats are
                                then chosen, too; or "" */
    int64_t bytes;           /* of the file; 0: not measured */
    double  ms;              /* of a frame; NAN: not timed */
    int     busy;            /* the machine was, so that tables leave it out */
    double  lost;            /* mean top-1 that bytes then cost, 0..1; NAN: not
                                tested */
};

/* The use of the clips of a data set: "training", "statistics" (of
 * norms and responses), "choice", "test" or "proof".  Not owned. */
struct ctt_clips {
    const char *used_for, *path, *split;
    int64_t     clips;
};

struct ctt_report {
    int                    several;    /* labels per clip: accuracies are mean
                                          average precisions */
    struct ctt_stage_row  *stage;
    int                    stages, stage_room;
    struct ctt_weight_row *weight;
    int                    weights;
    struct ctt_stored     *stored;     /* every weight of the final file */
    int                    nstored;
    struct ctt_blame      *blame;      /* worst first */
    int                    blames, blame_room;
    struct ctt_choice     *choice;
    int                    choices, choice_room;
    struct ctt_clips       clips[3];
    int                    sets;
    struct ctt_score       proof[2];   /* as given, and of the result, on clips
                                          that chose nothing */
};

/* A report with a row for each conv and deconv of m. */
int  ctt_report_new(const struct ctt_model *m, struct ctt_report **out);
void ctt_report_free(struct ctt_report **r);

/* Whether a name is that of the row's conv or of one of its cores, NAME.t1,
 * NAME.t2 .., with `end` behind it: "" for a node, ".w" for its weight. */
int  ctt_row_has(const struct ctt_weight_row *row, const char *name,
                 const char *end);

/* Adds a stage row for model m, saved in the file at path; *row is valid until
 * the next one is added. */
int  ctt_report_stage(struct ctt_report *r, const char *name,
                      const struct ctt_model *m, const char *path,
                      struct ctt_stage_row **row);

/* Sets what was measured of the model of a row.  Only the time of the first row
 * is an absolute one: times measured later compare worse than ratios, since
 * what else the machine does changes. */
void ctt_report_speed(const struct ctt_report *r, const struct ctt_speed *s,
                      struct ctt_stage_row *row);

/* Adds an empty stage row. */
int  ctt_report_row(struct ctt_report *r, struct ctt_stage_row **row);

/* Adds a row of blame without numbers; *row is valid until the next one is
 * added. */
int  ctt_report_blame(struct ctt_report *r, const char *name,
                      struct ctt_blame **row);

/* Adds a row without numbers for a choice; *row is valid until the next one is
 * added. */
int  ctt_report_choice(struct ctt_report *r, const char *of, const char *name,
                       struct ctt_choice **row);

/* The row of CTT_CHOICE_FORM by which the recipe runs: the one that was chosen
 * first; NULL: there is none. */
struct ctt_choice *ctt_report_form(const struct ctt_report *r);

/* INT8 of that row is given up after all: if its pattern in floats was a
 * candidate, that is chosen.  Does nothing if there is no such row. */
void ctt_report_give_up(struct ctt_report *r, const char *why);

/* Whether the model is what the row says. */
int  ctt_report_is_chosen(const struct ctt_choice *c);

/* How many times as fast it is as the first candidate; NAN: not timed. */
double ctt_report_gain(const struct ctt_report *r, const struct ctt_choice *c);

/* Whether row i is one of several candidates. */
int  ctt_report_had_choice(const struct ctt_report *r, int i);

/* Weights whose `answer` is worst come first, but for the row of all. */
void ctt_report_sort_blame(struct ctt_report *r);

/* Reads from a file what is kept of each weight and how it is stored. */
int  ctt_report_stored(struct ctt_report *r, const char *path);

/* Sets the entropy of each row; m: the model in that file. */
int  ctt_report_entropy(struct ctt_report *r, const struct ctt_model *m);

/* ---- entropy.c ---- */

/* Of a weight of floats (net/weight.h). */
int  ctt_entropy(const struct ctt_weight *w, struct ctt_entropy *out);

/* ---- report_text.c, report_json.c ---- */

/* The cells of a table row as text, separated by tabs; row 0 is the head.
 * Returns 1, or 0 after the last row. */
int  ctt_report_result_cells(const struct ctt_report *r, int row, char *text,
                             size_t size);
int  ctt_report_bytes_cells(const struct ctt_report *r, int row, char *text,
                            size_t size);
int  ctt_report_stage_cells(const struct ctt_report *r, int row, char *text,
                            size_t size);
int  ctt_report_score_cells(const struct ctt_report *r, int row, char *text,
                            size_t size);
int  ctt_report_proof_cells(const struct ctt_report *r, int row, char *text,
                            size_t size);
int  ctt_report_weight_cells(const struct ctt_report *r, int row, char *text,
                             size_t size);
int  ctt_report_stored_cells(const struct ctt_report *r, int row, char *text,
                             size_t size);
/* Only those of several candidates. */
int  ctt_report_choice_cells(const struct ctt_report *r, int row, char *text,
                             size_t size);
/* The worst convs only; CTT_BLAME_LINES of them. */
enum { CTT_BLAME_LINES = 9 };
int  ctt_report_blame_cells(const struct ctt_report *r, int row, char *text,
                            size_t size);

/* "top-1", or "mAP" of clips with several labels. */
const char *ctt_report_score(const struct ctt_report *r);

/* Writes the report as one JSON object, under a temporary name that is then
 * renamed to path; and how it begins. */
#define CTT_REPORT_BEGIN "{\"observed\":"
int  ctt_report_json(const struct ctt_report *r, const char *path);

#endif
