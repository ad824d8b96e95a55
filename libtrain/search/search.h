/* SPDX-License-Identifier: Apache-2.0
 * search.h: hyper-parameter search: the space of settings, trials drawn from
 * it, their promotion, their log, and the importance of settings.  Nothing here
 * trains or reads a clip. */
#ifndef CTT_SEARCH_H
#define CTT_SEARCH_H

#include "libtrain/train.h"

/* The section of the options of a search. */
#define CTT_SEARCH_SECTION "Search"

enum { CTT_TRIALS = 10000, CTT_DUPLICATES = 100, CTT_JOBS = 256 };

/* ---- space.c, space_line.c ---- */

enum { CTT_SETTINGS = 32, CTT_CHOICES = 32, CTT_NUMBER = 16,
       CTT_SET_TEXT = 512 };

enum ctt_setting_kind { CTT_SETTING_RANGE, CTT_SETTING_LOG, CTT_SETTING_INT,
                        CTT_SETTING_CHOICE };

/* The condition of a setting. */
struct ctt_when {
    int      of;       /* another setting; -1: nothing */
    uint32_t among;    /* a choice: bits of the words with which it holds */
    double   bound;    /* a number: it must be less, or more */
    int      more;
};

struct ctt_setting {
    const struct ctt_opt *opt;
    int             line;
    enum ctt_setting_kind kind;
    double          low, high;
    const char     *words[2];     /* low and high as they stand there */
    int             choices;
    const char     *choice[CTT_CHOICES];
    struct ctt_when when;
    const char     *when_text;    /* until all lines are read */
};

/* Limits of the networks that are drawn, by lines "at-most". */
enum { CTT_MOST_MACS, CTT_MOST_PARAMS, CTT_MOSTS, CTT_REDRAWS = 1000 };

struct ctt_space {
    const char        *path;
    char              *text;      /* strings point into it */
    int                count;
    struct ctt_setting setting[CTT_SETTINGS];
    struct ctt_opt     named[CTT_SETTINGS];    /* --set by another name, for
                                                  settings of one of its values:
                                                  '$' and the name */
    size_t             set;       /* bytes of the longest --set of a trial */
    double             most[CTT_MOSTS];    /* of a network; 0: any */
};

/* 1 if it is a value of the model text (--set), no option. */
int  ctt_setting_named(const struct ctt_setting *k);

/* Reads a search space: a line per setting,
 *
 *     OPTION range LOW HIGH      any number between, evenly
 *     OPTION log LOW HIGH        evenly in the logarithm
 *     OPTION int LOW HIGH        a whole number
 *     OPTION choice A B ...      one of the words
 *     at-most multiplications N  of a network for a frame; N may end in k or M
 *     at-most parameters N
 *
 * where $NAME in place of OPTION is a value that the model text names (--set),
 * each perhaps followed by "if OTHER=A|B", "OTHER!=A", "OTHER<NUMBER" or
 * "OTHER>NUMBER"; a # begins a comment.  CTT_EINVAL names file and line:
 * an unknown option or one that cannot vary, a value that it refuses, a setting
 * twice, a condition on an unknown setting, on an impossible value, or in a
 * circle.
 * parse: of a text of n bytes; path: its name, which must stay. */
int  ctt_space_read(const char *path, struct ctt_space **out);
int  ctt_space_parse(const char *path, const char *text, size_t n,
                     struct ctt_space **out);
void ctt_space_free(struct ctt_space **s);

/* One line, which it cuts; adds the setting to s.  Returns 0 also for an empty
 * line. */
int  ctt_space_line(struct ctt_space *s, char *text, int line);

/* Why an option cannot vary, or NULL. */
const char *ctt_space_fixed(const struct ctt_opt *o);

/* ---- draw.c ---- */

/* A trial: the text of each setting, NULL where its condition does not hold;
 * and where that lies, from 0 to 1 (choices evenly, in their order), or NAN. */
struct ctt_draw {
    const char *text[CTT_SETTINGS];
    double      at[CTT_SETTINGS];
    char        number[CTT_SETTINGS][CTT_NUMBER];
    char        set[CTT_SET_TEXT];    /* --set, of the settings $NAME */
};

/* Draws a trial at random (Bergstra and Bengio 2012): from seed, its number and
 * the name of the option alone, so that neither other lines nor other trials
 * matter. */
void ctt_space_draw(const struct ctt_space *s, uint64_t seed, int trial,
                    struct ctt_draw *out);

/* 1 if the network is within the limits "at-most". */
int  ctt_space_fits(const struct ctt_space *s, const struct ctt_graph *g);

/* Puts it into cfg, whose strings then point into s and d. */
int  ctt_space_apply(const struct ctt_space *s, const struct ctt_draw *d,
                     struct ctt_train_cfg *cfg);

/* "lr=0.012 batch=8", as much as there is room for. */
void ctt_draw_text(const struct ctt_space *s, const struct ctt_draw *d,
                   char *text, size_t size);

/* CTT_EINVAL if the settings of a trial contradict each other. */
int  ctt_space_check_draw(const struct ctt_space *s, const struct ctt_draw *d,
                          const struct ctt_train_cfg *cfg, int trial);

/* CTT_EINVAL if the space varies a setting that cfg gives, or if a trial has
 * settings that contradict each other: the message names it. */
int  ctt_space_check(const struct ctt_space *s,
                     const struct ctt_train_cfg *cfg);

/* ---- rungs.c ---- */

enum ctt_search_method { CTT_SEARCH_ASHA, CTT_SEARCH_HALVING,
                         CTT_SEARCH_MEDIAN, CTT_SEARCH_RANDOM };
extern const char *const ctt_search_methods[];    /* cfg.c; then NULL */

enum { CTT_RUNGS = 20, CTT_SEARCH_TOP = 3 };

/* A trial, or a repeat of one with another seed, and its results. */
struct ctt_trial {
    int     rung;                  /* the last with a result; -1: none */
    int     order[CTT_RUNGS];      /* of these results among all, from 0 */
    int     running;
    int     epochs;                /* trained */
    double *score, *loss;          /* [epochs], on the validation clips; not
                                      finite: NAN and INFINITY */
    char   *failed;                /* why it has no model, as JSON has it; or
                                      NULL */
    double  seconds;               /* of all its runs */
};

struct ctt_search {
    const struct ctt_train_cfg *cfg;
    const struct ctt_space     *space;
    struct ctt_draw  *draw;            /* [trials] */
    struct ctt_trial *trial;           /* [trials][repeats] */
    int               rungs, epochs[CTT_RUNGS];    /* where trials are
                                          compared; the last: --epochs */
    int               results;
    int               won[2];          /* trial and repeat; -1: none yet */
};

struct ctt_search_job { int trial, repeat, rung; };

/* Epochs of the first rung: --search-first, or its automatic value; 1 if all
 * trials are trained to the end. */
int  ctt_search_first(const struct ctt_train_cfg *cfg);

int  ctt_search_new(const struct ctt_space *s, const struct ctt_train_cfg *cfg,
                    struct ctt_search **out);
void ctt_search_free(struct ctt_search **s);

struct ctt_trial *ctt_search_at(const struct ctt_search *s, int trial,
                                int repeat);

/* Which epoch counts, from 1, of the first so many of a trial: the best one, or
 * with --pick last the last; 0: there is none.  Its score, or NAN; loss: that
 * beside it, or NULL. */
int    ctt_trial_best(const struct ctt_search *s, const struct ctt_trial *t,
                      int epochs);
double ctt_trial_score(const struct ctt_search *s, const struct ctt_trial *t,
                       int epochs, double *loss);

/* Whether a score is better: top-1, or with --task=predict the mean square
 * error; NAN is worst, of equal ones the loss decides. */
int  ctt_search_better(const struct ctt_search *s, double score, double loss,
                       double than, double its_loss);

/* The next trial to train, and its rung: a function of the results, their order
 * and the running trials.  ASHA (Li and others 2020): of the highest rung at
 * which one of the best 1/factor so far waits, the best of these, else a new
 * trial.  Halving (Jamieson and Talwalkar 2016): all trials of a rung, then the
 * best 1/factor of them.  Median (Golovin and others 2017): each trial to the
 * end, unless at a rung its best score is below the median of the mean scores
 * of three or more earlier trials there.  Without new trials the best remaining
 * one goes on until one is trained to the end, or with cfg->repeats three,
 * which are then repeated.  Returns 1; 0 if a running trial must end first; or
 * CTT_ENOMEM. */
int  ctt_search_next(const struct ctt_search *s, struct ctt_search_job *out);

/* Up to n trials that were trained to the end, the best first; returns their
 * number. */
int  ctt_search_ranks(const struct ctt_search *s, int *trial, int n);

/* Epochs trained so far, and expected in all. */
void ctt_search_work(const struct ctt_search *s, double *done, double *all);

/* ---- winner.c ---- */

/* Mean and deviation of a trial's scores over its repeats.  Returns their
 * number; 0 if one of them failed. */
int  ctt_search_mean(const struct ctt_search *s, int trial, double *mean,
                     double *deviation);

/* The trial of the best mean over its repeats, and the best of these; 0: there
 * is none. */
int  ctt_search_winner(const struct ctt_search *s, struct ctt_search_job *out);

/* ---- record.c ---- */

/* How a log begins. */
#define CTT_SEARCH_LOG_BEGIN "{\"search\":"

/* Checksums of the subject of a log, besides the settings. */
struct ctt_search_key { uint32_t space, model, clips, validation; };

/* The first line of a log.  same: CTT_EINVAL names the first member in which
 * that of path differs. */
int  ctt_search_head(const struct ctt_search *s,
                     const struct ctt_search_key *key, char **out);
int  ctt_search_same(const char *path, const char *line, const char *now);

/* A line with the result of a run, of a trial at a rung. */
int  ctt_search_line(const struct ctt_search *s,
                     const struct ctt_search_job *job, char **out);

/* The last line: which trial won. */
int  ctt_search_won_line(const struct ctt_search *s, char **out);

/* Takes over a line.  Returns 1, 0 if it is none of this search, or
 * CTT_ENOMEM. */
int  ctt_search_take(struct ctt_search *s, const char *line);

/* Takes over the log of a training (--log-json) as the result of a run that
 * took so many seconds, or why it failed; CTT_EFORMAT if it is not as long as
 * it should be. */
int  ctt_search_result(struct ctt_search *s, const struct ctt_search_job *job,
                       const char *log, const char *failed, double seconds);

/* ---- weigh.c ---- */

/* Importance of a setting alone: the share of the variance of the ranks of
 * the trials' scores (rank transform, Iman and Conover 1979) that a quadratic
 * curve of its position explains, of choices their means, adjusted for the
 * number of terms (Ezekiel 1930), 0 or more; NAN: too few trials have it.  All
 * trials are compared after `epochs`, which all have; failed ones are last.
 * Effects of settings together are not seen. */
struct ctt_weighed { int epochs, trials[CTT_SETTINGS];
                     double share[CTT_SETTINGS]; };
int  ctt_search_weigh(const struct ctt_search *s, struct ctt_weighed *out);

#endif
