/* SPDX-License-Identifier: Apache-2.0
 * search.h: the search of --budget: sensitivity is corrected by short
 * retrainings, assignments are planned under the limits, race, and the winner
 * is retrained and judged.  The caller provides training, tests and files. */
#ifndef CTT_BUDGET_SEARCH_H
#define CTT_BUDGET_SEARCH_H

#include "compress/compress.h"
#include "compress/search/ways.h"

enum { CTT_BUDGET_ROUNDS = 4 };

/* ---- rows.c ---- */

/* An assignment measured on the weights as they are, after retraining, or after
 * a few steps of it, when only the clips of the search test it; or a model that
 * was written, tested on split "test". */
enum ctt_budget_kind { CTT_BUDGET_TRIED, CTT_BUDGET_TRAINED, CTT_BUDGET_SHORT,
                       CTT_BUDGET_PROVED };

/* A result, which the log keeps.  seen[0]: of the clips of the search (PROVED:
 * of split "test"), seen[1]: of those that accept, after 25, 50 and 100%. */
struct ctt_budget_row {
    char            *mix;      /* the text of the assignment */
    uint32_t         how;      /* CRC-32 of the settings; PROVED: of the
                                  clips */
    enum ctt_budget_kind kind;
    int              steps;    /* of a short retraining, else 0 */
    double           loss;     /* -log p(label) on the clips of the search, the
                                  mean over the shares; NAN: not measured */
    struct ctt_costs costs;
    uint32_t         model;    /* CRC-32 of its weights and text */
    struct ctt_paired seen[2][CTT_ACCURACIES];
};

struct ctt_budget_rows {
    struct ctt_budget_row *row;
    int                    rows, room;
};

/* Adds a row with a copy of its text. */
int  ctt_budget_rows_add(struct ctt_budget_rows *all,
                         const struct ctt_budget_row *row);
void ctt_budget_rows_free(struct ctt_budget_rows *all);

/* The last row with the text, kind, steps and settings of `like`; NULL: there
 * is none. */
const struct ctt_budget_row *
ctt_budget_rows_find(const struct ctt_budget_rows *all,
                     const struct ctt_budget_row *like);

/* ---- the search ---- */

/* Functions of the caller, which get arg. */
struct ctt_budget_calls {
    void *arg;
    /* Times, as ctt_recipe_calls: compare() is NULL if it is not measured. */
    const struct ctt_recipe_calls *recipe;
    /* Trains *m, a copy of the original, by a recipe (NULL: m as it is):
     * for so many steps, named `what`, without a test; or steps 0: as long as
     * the recipe says, from a checkpoint if there is one.  Saves it at path.
     * CTT_ENAN: training leads to no model. */
    int (*train)(void *arg, const struct ctt_recipe *o, int steps,
                 const char *what, const char *path, struct ctt_model **m,
                 struct ctt_report **report);
    /* Tests m on a half of the clips, 0: those of the search, 1: those that
     * accept; 2: as 0, but the loss is that of training clips, too, as those of
     * the search are few; loss may be NULL. */
    int (*test)(void *arg, const struct ctt_model *m, int half, double *loss,
                struct ctt_paired seen[CTT_ACCURACIES]);
    /* Keeps a row. */
    int (*log)(void *arg, const struct ctt_budget_row *row);
    /* Shows a line of progress; CTT_ESTOP: the user stops the program. */
    int (*progress)(void *arg, const char *line);
    /* Prints a line; a table, its rows with a tab between cells, below a
     * line. */
    void (*say)(void *arg, const char *line);
    int  (*table)(void *arg, const char *title, const char *rows);
    /* Says that the limits are at fault, not the program. */
    void (*refused)(void *arg);
    /* Tests the model of a row on split "test", before it is announced. */
    int  (*prove)(void *arg, const struct ctt_model *m,
                  const struct ctt_budget_row *row);
};

struct ctt_budget_run {
    const struct ctt_budget_calls *calls;
    const struct ctt_model   *m;       /* as given */
    const char               *path, *out;    /* its file, and that to write */
    struct ctt_recipe         o;       /* settings that are not chosen */
    struct ctt_budget         b;
    struct ctt_sensitivity   *s;
    struct ctt_budget_rows    rows;
    uint32_t how;                      /* CRC-32 of the settings */
    int      timed;      /* 1: everything tried is timed; 0: the chosen one */
    int      dry_run;
    int      steps;      /* of the first short retraining; 0: none */
    int      whole;      /* steps of a whole one */
    int      classes;
    /* Set by the search: */
    struct ctt_costs given;            /* of the original */
};

/* Leaves options out of r->s that no plan has, and refuses limits that the
 * strongest options, which are tried, do not meet: CTT_EINVAL.  Needs no clips
 * and no measurement, so that r->s is measured next. */
int ctt_budget_begin(struct ctt_budget_run *r);

/* Searches, with r->s measured: at most four rounds.  Writes the model of the
 * best one that is accepted.  CTT_EINVAL: the limits cannot be met; CTT_EUNSUP:
 * no model was accepted, and the message has the nearest point. */
int ctt_budget_search(struct ctt_budget_run *r);

/* ---- parts of it: plan.c ---- */

/* An assignment with expected costs and harm, and its costs as tried on the
 * weights as they are. */
struct ctt_budget_plan {
    struct ctt_assignment *a;
    char            *mix;      /* its text */
    double           harm, expected[CTT_COSTS];
    struct ctt_costs tried;
    double           bytes;    /* predicted by a short retraining; NAN: not
                                  known */
    int              meets;    /* the limits */
};
void ctt_budget_plan_free(struct ctt_budget_plan **p);

/* 1 if rc says that a model has too few channels for a plan with this share of
 * them removed. */
static inline int ctt_budget_thins_none(double thin, int rc)
{
    return thin > 0 && (rc == CTT_EUNSUP || rc == CTT_EINVAL);
}

/* Costs of an assignment in a file beside r->out, made without clips; timed:
 * beside the original, if there is calls->compare.  stored: NULL, or for
 * the bytes of each weight. */
int ctt_budget_plan_costs(struct ctt_budget_run *r,
                          const struct ctt_assignment *a, int timed,
                          struct ctt_costs *out, double *stored);

/* The same, logged, and measured unless it is known. */
int ctt_budget_plan_try(struct ctt_budget_run *r,
                        const struct ctt_assignment *a, int timed,
                        struct ctt_costs *out);

/* Tries the original: sets r->given. */
int ctt_budget_plan_given(struct ctt_budget_run *r);

/* The plan of this style for an aim: it is tried, and the limits of the choice
 * are corrected by its costs, in at most four rounds.  *out NULL: the model
 * cannot be thinned so. */
int ctt_budget_plan(struct ctt_budget_run *r, const struct ctt_style *style,
                    const struct ctt_aim_at *a, struct ctt_budget_plan **out);

/* A plan of an assignment that is known, which it takes over. */
int ctt_budget_plan_of(struct ctt_budget_run *r, const struct ctt_aim_at *a,
                       struct ctt_assignment **is,
                       struct ctt_budget_plan **out);

/* How far tried costs are from the limits, as the largest ratio. */
double ctt_budget_plan_excess(const struct ctt_aim_at *a,
                              const struct ctt_budget_plan *p);

/* ---- refuse.c ---- */

/* Refuses limits by measured sensitivity, before anything is trained. */
int ctt_budget_possible(struct ctt_budget_run *r);

/* The assignment of the strongest options that meets the limits; *out NULL: it
 * does not. */
int ctt_budget_strongest(struct ctt_budget_run *r, const struct ctt_aim_at *a,
                         struct ctt_budget_plan **out);

/* CTT_EINVAL: p is the nearest plan. */
int ctt_budget_refuse(struct ctt_budget_run *r,
                      const struct ctt_budget_plan *p);

/* ---- recovery.c ---- */

/* Retrains some values of each option for a few steps, for all weights at once,
 * and corrects the fits of r->s by what that leaves of the harm. */
int ctt_budget_recovery(struct ctt_budget_run *r);

/* ---- train.c ---- */

/* A short retraining of an assignment: its loss (NAN: it leads to no model) and
 * bytes afterwards. */
struct ctt_short {
    const struct ctt_assignment *a;
    const char *what;
    int         at, all, steps;
    int         race;        /* 1: of a race, with the loss of more clips */
    double      loss, bytes;
};
int ctt_budget_short(struct ctt_budget_run *r, struct ctt_short *t);

/* Retrains a plan whole, as round n from 1, and tests it, unless that is known;
 * *row: of r->rows. */
int ctt_budget_whole(struct ctt_budget_run *r, const struct ctt_budget_plan *p,
                     int n, struct ctt_budget_row *row);

/* The model of a row: from r->out, when it returns 1, or from the file of round
 * n, or trained again. */
int ctt_budget_model(struct ctt_budget_run *r, const struct ctt_budget_plan *p,
                     int n, const struct ctt_budget_row *row,
                     struct ctt_model **out);

/* The file of round n; returns to. */
const char *ctt_budget_try_name(const struct ctt_budget_run *r, int n, char *to,
                                size_t size);

/* ---- race.c ---- */

/* The styles that race, each with its reason. */
enum { CTT_CANDIDATES = 4 };
extern const struct ctt_style ctt_candidates[CTT_CANDIDATES];

/* Plans candidates and retrains them for a few steps, and the best two longer:
 * *out is the one that then loses least.  past: texts that are no candidates.
 * *out NULL: there is none. */
int ctt_budget_race(struct ctt_budget_run *r, const struct ctt_aim_at *a,
             char *const *past, int pasts, struct ctt_budget_plan **out);

/* ---- search_text.c ---- */

/* Prints a line as printf(). */
void ctt_budget_say(const struct ctt_budget_run *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Adds a row to the text of a table, which the caller frees. */
int ctt_budget_add_row(char **rows, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

int ctt_budget_tell_plan(const struct ctt_budget_run *r,
                         const struct ctt_budget_plan *p);

/* Round n, with its costs beside the predicted ones; why: the reason that it is
 * not accepted, or "". */
int ctt_budget_tell_round(const struct ctt_budget_run *r, int n,
                          const struct ctt_budget_plan *p,
                          const struct ctt_budget_row *row, const char *why);

/* "0.123", or "-" for NAN. */
enum { CTT_BUDGET_CELL = 64 };
const char *ctt_budget_number(double x, char text[CTT_BUDGET_CELL]);

#endif
