/* SPDX-License-Identifier: Apache-2.0
 * report.h: what was done to a model and what came of it: a row for each round
 * of a stage, and one for each weight. */
#ifndef CTT_REPORT_H
#define CTT_REPORT_H

#include "net/file.h"

enum { CTT_MAX_CORES = 5, CTT_ACCURACIES = 3, CTT_REASON = 112 };

/* A row a stage.  What was not measured is NAN. */
struct ctt_stage_row {
    char    name[CTT_NAME];
    int64_t bytes;                     /* of the file as saved */
    int64_t params;                    /* numbers that it holds */
    int64_t macs, clip_macs;           /* multiplications a frame, an answer */
    int64_t live_macs;                 /* a frame, by weights not pruned */
    double  pruned;                    /* share of all conv weights */
    double  before[CTT_ACCURACIES];    /* top-1, 0..1, before retraining and */
    double  after[CTT_ACCURACIES];     /* after: 25%, 50%, 100% observed */
    double  ms;                        /* a frame */
};

/* A row a conv or deconv weight of the model as it was. */
struct ctt_weight_row {
    char    name[CTT_NAME];
    int     shape[5];                  /* out, kd, kh, kw, in */
    int     cores;                     /* 1: as it was */
    int     rank[CTT_MAX_CORES - 1];   /* between core k and k + 1 */
    char    chain[24];                 /* "in|kh|kw|out": what a core reads */
    char    reason[CTT_REASON];        /* why it is as it was */
    double  error;                     /* relative, in the Frobenius norm */
    int64_t params, params_after;      /* of the weight and of its cores */
    int64_t macs, macs_after;
    int64_t kept, size;                /* not pruned, bytes on disk */
    char    encoding[40];              /* words of the format */
};

struct ctt_report {
    struct ctt_stage_row  *stage;
    int                    stages, stage_room;
    struct ctt_weight_row *weight;
    int                    weights;
    struct ctt_stored     *stored;     /* every weight of the final file */
    int                    nstored;
};

/* A row for each conv and deconv of m. */
int  ctt_report_new(const struct ctt_model *m, struct ctt_report **out);
void ctt_report_free(struct ctt_report **r);

/* Reads the file at path, which is of model m, into a new stage row. */
int  ctt_report_stage(struct ctt_report *r, const char *name,
                      const struct ctt_model *m, const char *path,
                      struct ctt_stage_row **row);

/* From a file: what is kept of each weight, and as which bytes. */
int  ctt_report_stored(struct ctt_report *r, const char *path);

/* ---- report_text.c ---- */

/* Text with tabs between the cells of a row, for a table: row 0 is the head;
 * returns 0 after the last row. */
int  ctt_report_stage_cells(const struct ctt_report *r, int row, char *text,
                            size_t size);
int  ctt_report_weight_cells(const struct ctt_report *r, int row, char *text,
                             size_t size);

/* One JSON object, written beside and renamed. */
int  ctt_report_json(const struct ctt_report *r, const char *path);

#endif
