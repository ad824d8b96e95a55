/* SPDX-License-Identifier: Apache-2.0
 * budget_run.h: the parts of a run of --budget: its state, plans, retraining
 * and what it prints. */
#ifndef CTT_TOOL_BUDGET_RUN_H
#define CTT_TOOL_BUDGET_RUN_H

#include "tools/compress/compress_tool.h"

enum { CTT_BUDGET_ROUNDS = 4, CTT_BUDGET_FORMS = 2 };

/* The largest share of the channels that a mix does without. */
#define CTT_BUDGET_THINNEST 0.5

/* What plans are restricted to. */
struct ctt_budget_style {
    double      thin;     /* share of the channels that is removed first */
    int         alike;    /* the same options for all weights, with */
    const char *form;     /* these factors (a name of ctt_ladders) or none, */
    const char *prune;    /* and this form of pruning; NULL: the better one */
};

struct ctt_budget_run {
    struct ctt_compress_job *j;
    struct ctt_budget        b;
    struct ctt_sensitivity        *s;
    struct ctt_sensitivity_log    *log;
    struct ctt_budget_rows   rows;
    uint32_t                 how;      /* of the settings */
    double                   ms;       /* of the model as given; NAN: time is
                                          not measured */
    int                      far;      /* 1: ctt_budget_far() has run */
    int                      rough;    /* 1: a plan that meets will do */
    int                      timed;    /* 1: all that is tried is; 0: only what
                                          is chosen */
    double                   shared_left;    /* of the harm of shared values,
                                          the share that retraining leaves */
    double                   base;     /* loss of the model as given after a
                                          short retraining */
    int64_t                  steps;    /* of a whole retraining */
    struct ctt_costs         given;    /* what it costs */
    struct ctt_offer        *offer[CTT_BUDGET_FORMS];
    struct ctt_budget_style  style;    /* of plans */
    struct ctt_data         *whole, *accept;    /* j->val is the other half */
    struct ctt_metrics      *was[2];   /* of the model as given, on both */
};

struct ctt_budget_plan;

/* The forms of pruning that offers are of: names of ctt_ladders. */
extern const char *const ctt_budget_forms[CTT_BUDGET_FORMS];

/* ---- budget_check.c ---- */

/* Whether the files can be written, which are claimed. */
int ctt_budget_outputs(struct ctt_compress_job *j);

/* ---- budget_least.c ---- */

/* Leaves options out of r->s that no plan has. */
void ctt_budget_leave_out(struct ctt_budget_run *r);

/* Sets r->offer by r->s and r->given. */
int  ctt_budget_offer(struct ctt_budget_run *r);
void ctt_budget_offer_free(struct ctt_budget_run *r);

/* By coding alone, before anything is tested or trained: CTT_EINVAL, and a
 * wrong use, if no mix has so few bytes and multiplications, or what the
 * strongest options come to is far above a limit of time or memory.  The log
 * gets nothing of it; where it has been read, what it has is not coded. */
int  ctt_budget_far(struct ctt_budget_run *r);

/* The same by what is measured, of all limits, each and together; the log gets
 * what is tried. */
int  ctt_budget_possible(struct ctt_budget_run *r);

/* Says that p is the nearest mix: CTT_EINVAL, and a wrong use. */
int  ctt_budget_refuse(struct ctt_budget_run *r,
                       const struct ctt_budget_plan *p);

/* ---- budget_search.c ---- */

/* At most four rounds; writes the model of the best one that is accepted, and
 * the front.  given: what the model as given costs.  CTT_EUNSUP, with the
 * nearest point, if none is. */
int ctt_budget_search(struct ctt_budget_run *r, const struct ctt_costs *given);

/* ---- budget_plan.c ---- */

/* A mix, what it was expected to cost and what it costs without retraining. */
struct ctt_budget_plan {
    double           thin;     /* share of the channels that is removed */
    struct ctt_part *part;     /* by weight */
    struct ctt_sensitivity_point *fine;    /* by weight, with a share of pruning
                                        between those of s; NULL: none */
    char            *mix;      /* its text */
    char            *origin;   /* that of the mix that it was made of for fewer
                                  bytes; NULL: none */
    double           harm;
    double           expected[CTT_COSTS];    /* of whole weights, of which */
    double           left[CTT_COSTS];        /* thinning leaves this share */
    struct ctt_costs tried;
    double           bytes;    /* after a short retraining; NAN: not known */
    int              meets;    /* the limits of a */
};
int  ctt_budget_plan_new(const struct ctt_budget_run *r,
                         struct ctt_budget_plan **out);
void ctt_budget_plan_free(struct ctt_budget_plan **p);

/* Sets what the parts of p come to, from the log or by trying them. */
int  ctt_budget_plan_try(struct ctt_budget_run *r, const struct ctt_aim_at *a,
                         struct ctt_budget_plan *p);

/* The mix that a asks for: it is tried, and the limits of the choice are
 * corrected by what it costs (secant), in at most four rounds, each but the
 * first of which ctt_budget_near() ends.  CTT_EUNSUP or CTT_EINVAL if the model
 * can't be thinned as r->style says. */
int ctt_budget_plan(struct ctt_budget_run *r, const struct ctt_aim_at *a,
                    struct ctt_budget_plan **out);

/* How far what p costs is from the limits, as the largest ratio. */
double ctt_budget_excess(const struct ctt_aim_at *a,
                         const struct ctt_budget_plan *p);

/* The settings of a mix, on top of `base`. */
int ctt_budget_recipe(const struct ctt_budget_run *r, double thin,
                      const struct ctt_part *part,
                      const struct ctt_recipe *base,
                      struct ctt_assignment_recipe **out);

/* What the model as given costs, and sets r->ms. */
int ctt_budget_given(struct ctt_budget_run *r, struct ctt_costs *out);

/* Sets r->given without times. */
int ctt_budget_untimed(struct ctt_budget_run *r);

/* Times what was tried untimed, if time can be measured. */
int ctt_budget_time(struct ctt_budget_run *r, struct ctt_budget_plan *p);

/* Whether plans have that form of pruning: blocks are for time, and harm
 * more. */
int ctt_budget_has_form(const struct ctt_budget_run *r, int form);

/* Whether costs are within limits. */
int ctt_budget_meets(const double most[CTT_COSTS], const double *cost);

/* ---- budget_near.c ---- */

/* If the share of pruning of *p may take it near to the limits of a, replaces
 * it by the same with such a share, in at most three tries, until it meets the
 * limits and uses `enough` (0..1) of one; aim: what is tried for. */
int ctt_budget_near(struct ctt_budget_run *r, const struct ctt_aim_at *a,
                    double aim, double enough, struct ctt_budget_plan **p);

/* Whether mixes differ in nothing but a little in what is pruned. */
int ctt_budget_uniform(const struct ctt_budget_run *r,
                       const struct ctt_budget_plan *p,
                       const struct ctt_budget_plan *q);

/* p with another share of pruning, or else with single changes, that take its
 * bytes, as tried, within the limits of a; *out NULL: they do not. */
int ctt_budget_trim(struct ctt_budget_run *r, const struct ctt_aim_at *a,
                    const struct ctt_budget_plan *p,
                    struct ctt_budget_plan **out);

/* ---- budget_short.c ---- */

/* What is done at once after a short retraining: values are shared, or
 * quantised. */
struct ctt_budget_then {
    const struct ctt_part *part;    /* by weight, all of the mix */
    double loss, bytes;             /* set: loss without INT8, whose ranges are
                                       not known; bytes of the file */
    struct ctt_paired seen[CTT_ACCURACIES];    /* without INT8, too */
};

/* A mix to retrain for a few steps; what and at: for lines of progress. */
struct ctt_budget_short {
    double      thin;
    const struct ctt_part *part;    /* by weight; NULL: the model as given */
    struct ctt_budget_then *then;
    int         thens, steps, at, all;
    const char *what;
};

/* How the text of such a row begins, before the mix. */
#define CTT_BUDGET_AT_ONCE "at once after it: "

/* What so many steps of retraining come to, from the log if it has it: *loss:
 * ctt_budget_loss() on the clips of the search, NAN if they lead to none, as
 * are those of t->then. */
int ctt_budget_shortly(struct ctt_budget_run *r, struct ctt_budget_short *t,
                       double *loss);

/* ---- budget_race.c ---- */

/* Of ctt_budget_plan(), and of other mixes that meet the limits (with kinds of
 * options that are trusted less, or with the same options for all weights), the
 * one to retrain: those with least loss after --budget-steps steps, and the
 * best that is not factorised, are retrained longer, on two or three rungs
 * (successive halving, Jamieson and Talwalkar 2016), and the one is taken whose
 * loss is expected to come out least.  past: texts of mixes that are no
 * candidates.  *out NULL: all are past.  With --budget-steps 0 the first one;
 * without limits of costs there is just one. */
int ctt_budget_race(struct ctt_budget_run *r, const struct ctt_aim_at *a,
                    char *const *past, int pasts,
                    struct ctt_budget_plan **out);

/* The first of these mixes that meets the limits, or the nearest one, without
 * retraining. */
int ctt_budget_nearest(struct ctt_budget_run *r, const struct ctt_aim_at *a,
                       struct ctt_budget_plan **out);

/* ---- budget_recovery.c ---- */

/* Measures what a few steps of retraining leave of the harm of each kind of
 * option, and corrects the fits of r->s by it (ctt_recovery); nothing with
 * --budget-steps 0. */
int ctt_budget_recovery(struct ctt_budget_run *r);

/* ---- budget_train.c ---- */

/* Tests m on the clips of d; the caller frees *out. */
int ctt_budget_test(const struct ctt_budget_run *r, const struct ctt_model *m,
                    struct ctt_data *d, struct ctt_metrics **out);

/* Counts clips that both have read, of so many. */
void ctt_budget_pair(const struct ctt_metrics *was,
                     const struct ctt_metrics *is, int clips,
                     struct ctt_paired out[CTT_ACCURACIES]);

/* -log p(label), the mean over the shares of the clips. */
double ctt_budget_loss(const struct ctt_metrics *m);

/* The file of round n, from 1: OUT.tryN; returns to. */
const char *ctt_budget_try_name(const struct ctt_budget_run *r, int n,
                                char *to, size_t size);

/* Retrains a mix, saves it in the file of round n, and tests it, unless the log
 * has that; *out is the row of the log, whose mix is the log's. */
int ctt_budget_train(struct ctt_budget_run *r,
                     const struct ctt_budget_plan *p, int n,
                     struct ctt_budget_row *out);

/* The model of a row, from OUT, when it returns 1, or from the file of round n;
 * trains it again if it is in neither. */
int ctt_budget_model(struct ctt_budget_run *r,
                     const struct ctt_budget_plan *p, int n,
                     const struct ctt_budget_row *row,
                     struct ctt_model **out);

/* Tests the model as given on both halves. */
int ctt_budget_test_given(struct ctt_budget_run *r);

/* ---- budget_prove.c ---- */

/* Tests both models on the split "test", if there is one: m, of this row, and
 * the one as given.  The log keeps what that came to, and a model is tested
 * once. */
int ctt_budget_prove(struct ctt_budget_run *r, const struct ctt_model *m,
                     const struct ctt_budget_row *row);

/* ---- budget_say.c ---- */

/* The mix as a table, and what it costs. */
int ctt_budget_say_plan(const struct ctt_budget_run *r,
                        const struct ctt_budget_plan *p);

/* A line of what round n came to, and why it is not accepted (NULL: it is). */
void ctt_budget_say_round(int n, const struct ctt_budget_row *row,
                          const char *why);

/* What top-1 gains on the clips that did not choose, and how uncertain that
 * is. */
void ctt_budget_say_top1(const struct ctt_budget_row *row);

/* Expected and measured costs, in a table. */
int ctt_budget_say_costs(const struct ctt_budget_run *r,
                         const struct ctt_budget_plan *p,
                         const struct ctt_budget_row *row);

/* "0.123", or "-" for NAN. */
enum { CTT_BUDGET_CELL = 32 };
const char *ctt_budget_number(double x, char text[CTT_BUDGET_CELL]);

/* "19482 bytes, 0.0481 ms, 1.2 M multiplications", of what was measured. */
const char *ctt_budget_costs(const double cost[CTT_COSTS], char *text,
                             size_t size);

/* ---- budget_front.c ---- */

/* All rows of the log: CSV, and a picture of what was retrained (SVG). */
int ctt_budget_csv(const struct ctt_budget_run *r, const char *path);
int ctt_budget_plot(const struct ctt_budget_run *r, const char *path);

/* How the table begins. */
#define CTT_BUDGET_CSV_BEGIN "what,bytes,ms,macs,ram,"

#endif
