/* SPDX-License-Identifier: Apache-2.0
 * budget.h: what a compressed model may cost, and the choice of an option for
 * each weight that meets it. */
#ifndef CTT_BUDGET_H
#define CTT_BUDGET_H

#include "compress/search/sensitivity.h"

struct ctt_recipe;
struct ctt_recipe_calls;

/* ---- budget.c ---- */

/* What is counted of a model: bytes of the file, milliseconds per frame,
 * multiplications per frame by weights that are not pruned, and bytes of memory
 * at run time: the model as the runtime keeps it and one session. */
enum ctt_cost { CTT_COST_BYTES, CTT_COST_MS, CTT_COST_MACS, CTT_COST_RAM,
                CTT_COSTS };

/* Their words in that order, then NULL. */
extern const char *const ctt_cost_words[];

/* The most of each cost (INFINITY: any), and what top-1 must be after 25, 50
 * and 100% of the clips, 0..1: a loss against the model as given, or a floor;
 * NAN: anything. */
struct ctt_budget {
    double most[CTT_COSTS];
    double loss[CTT_ACCURACIES], floor[CTT_ACCURACIES];
};

/* Reads "top1=-0.5,bytes=20k,ms=0.05": top1, or top1@25 and so on, in points,
 * is a loss if it has a minus, else a floor; k, M and G are 1000, 1000^2 and
 * 1000^3.  CTT_EINVAL, naming the part, for what cannot be: a word that is
 * none, a number out of range, a word that is there twice, a comma without a
 * limit. */
int  ctt_budget_read(const char *text, struct ctt_budget *b);

/* Whether it limits a cost. */
int  ctt_budget_has_cost(const struct ctt_budget *b);

/* ---- allocate.c ---- */

/* A way to store a weight: how much it harms the answers, in nats, and what it
 * costs. */
struct ctt_way { double harm, cost[CTT_COSTS]; };

/* The ways of each weight: those of weight i are way[first[i]] to
 * way[first[i + 1] - 1].  rest: what everything else costs. */
struct ctt_savings {
    int            weights;
    int           *first;
    struct ctt_way *way;
    double         rest[CTT_COSTS];
};

/* What is to be small, and the most of it: the sum of `price` times cost, and
 * of harm with price 1 or 0. */
struct ctt_aim_at {
    double harm, price[CTT_COSTS];           /* weights of the sum, >= 0 */
    double most_harm, most[CTT_COSTS];       /* INFINITY: any */
};

/* The sum over the ways that are picked, by index from the first of each
 * weight. */
struct ctt_way ctt_savings_sum(const struct ctt_savings *m, const int *pick);

/* How far the limits are exceeded, as the largest ratio; 1: they hold. */
double ctt_aim_excess(const struct ctt_aim_at *a, const struct ctt_way *sum);

/* Whether the sum x is better than y: nearer to the limits, or smaller within
 * them. */
int  ctt_aim_better(const struct ctt_aim_at *a, const struct ctt_way *x,
                    const struct ctt_way *y);

/* Picks a way for each weight with a small sum under the limits.  With prices
 * for what is limited (Lagrange multipliers; Everett 1963) weights are
 * independent, and each takes a corner of the lower convex hull of its ways;
 * the prices are bisected one after the other until the limits hold.  What room
 * is left is then used by the single changes that gain most.  Returns 0; 1 if
 * no choice was found that holds, and pick exceeds the limits by little; or
 * CTT_ENOMEM. */
int ctt_allocate(const struct ctt_savings *m, const struct ctt_aim_at *a,
                 int *pick);

/* ---- mix.c ---- */

/* What happens to a weight: points of a struct ctt_sensitivity; NULL: that is
 * not done.  Pruning takes the largest share of any part, of all weights
 * together that are pruned, or of their cores: which of them bears how much is
 * known best by their values (LAMP: Lee and others 2021). */
struct ctt_part {
    const struct ctt_sensitivity_point *form;     /* SVD or tensor train */
    const struct ctt_sensitivity_point *prune, *share, *int8;
};

/* What a part consists of. */
enum ctt_part_kind { CTT_PART_FORM, CTT_PART_PRUNE, CTT_PART_SHARE,
                     CTT_PART_INT8, CTT_PART_KINDS };
const struct ctt_sensitivity_point *ctt_part_point(const struct ctt_part *p,
                                                   enum ctt_part_kind kind);

/* A mix: the share of channels that is removed before, a part per weight of s,
 * and all of it as text, "thin 0.5; c1: svd 0.5, prune any 0.9; y: share 4",
 * which names what is done and nothing else; "as given" if nothing is. */
enum { CTT_ASSIGNMENT_TEXT = 8192 };
#define CTT_ASSIGNMENT_NONE "as given"
void ctt_assignment_print(const struct ctt_sensitivity *s, double thin,
                          const struct ctt_part *part, char *text, size_t size);

/* ---- recovery.c ---- */

/* A value of a ladder for all weights that can have it. */
struct ctt_level {
    const struct ctt_ladder *ladder;
    int    value;    /* index */
    double left;     /* what the answers lose by all of them together after a
                        short retraining, in nats; NAN: not known */
    double shared[CTT_LADDER_MOST];    /* of factors: what is lost besides if
                        their values are then shared at once, by value of
                        sharing; NAN: not measured */
};

/* The levels to measure: of each option that retraining repairs, every second
 * value back from the strongest, but for the mildest one; of each the mildest
 * comes first.  Returns how many. */
enum { CTT_LEVELS = 32 };
int  ctt_levels(struct ctt_level to[CTT_LEVELS]);

/* A part for each weight of s, factors for large ones only; 0: no weight can
 * have it. */
int ctt_level_parts(const struct ctt_sensitivity *s, const struct ctt_level *l,
                    struct ctt_part *part);

/* The sum of the fits of the points of these parts. */
double ctt_level_harm(const struct ctt_sensitivity *s,
                      const struct ctt_level *l);

/* ---- recovery_shared.c ---- */

/* The values of sharing that levels of factors are measured with. */
int  ctt_is_level_shared(const struct ctt_ladder *l, int value);

/* The parts of a level of factors, of ctt_level_parts(), with shared values of
 * all that are factorised; 0: the level is none of factors. */
int ctt_level_share(const struct ctt_sensitivity *s, const struct ctt_level *l,
                    int value, struct ctt_part *part);

/* Sets s->on_factors by `shared` of levels, beside the fits of the same weights
 * whole, as ctt_sensitivity_fit() made them; before ctt_recovery(). */
void ctt_recovery_shared(struct ctt_sensitivity *s,
                         const struct ctt_level *level, int levels);

/* The share of the harm of shared values that retraining leaves, by levels and
 * the fits as they were: 1 if that is not known. */
double ctt_shared_left(const struct ctt_sensitivity *s,
                       const struct ctt_level *level, int levels);

/* ---- recovery.c again ---- */

/* Corrects the fits of s, of ctt_sensitivity_fit(), by what levels came to:
 * those of a value of a ladder then add up to what retraining left of it (a
 * level that loses less than can be seen says nothing of that), between two
 * measured values to a share of what they were that is interpolated in its
 * logarithm.  Retraining is not expected to do harm.  Pruning is of all weights
 * together, so its fits become parts of what levels came to, in proportion to
 * what they were. */
void ctt_recovery(struct ctt_sensitivity *s, const struct ctt_level *level,
                  int levels);

/* Whether a weight has enough values to be pruned in a mix. */
int  ctt_assignment_prunes(const struct ctt_sensitivity *s, int weight);

/* Settings of the stages for a mix, and the texts that they point to. */
struct ctt_assignment_recipe;

/* given: the settings of what a mix does not say, and of thinning, which leaves
 * an SVD as much of the rank as of the channels.  CTT_EINVAL if one of the
 * settings is refused. */
int ctt_assignment_recipe(const struct ctt_sensitivity *s,
                          const struct ctt_part *part,
                          const struct ctt_recipe *given,
                          struct ctt_assignment_recipe **out);
void ctt_assignment_recipe_free(struct ctt_assignment_recipe **r);
const struct ctt_recipe *
ctt_assignment_settings(const struct ctt_assignment_recipe *r);

/* ---- savings.c ---- */

/* What a model costs, and how fast it is beside the one as given; ms, ram and
 * faster are NAN where time is not measured. */
struct ctt_costs { double cost[CTT_COSTS], faster; };

/* How many times the harm of each kind counts, and once more that of pruning
 * what is factorised: how much worse factors bear that is not measured. */
struct ctt_trust { double kind[CTT_PART_KINDS], pruned_factors; };

/* The menu of a model with pruning of one form, and what each way is. */
struct ctt_offer {
    struct ctt_savings  menu;
    struct ctt_part *part;    /* by way */
    struct ctt_sensitivity_point
        *fine; /* shares of pruning between those of s */
    int              fines;
    double           macs;    /* of the model, per frame and clip together */
    struct ctt_trust trust;
};

/* The harm of one kind of a part, 0 without it: the fit of its point.  What
 * pruning or shared values change of a whole weight is mostly where its few
 * important directions are not; of a factorised one it is all in them.  So that
 * harm is so many times as large as s->on_factors says, or where that is not
 * known is divided by the share of the values that factors leave. */
double ctt_part_harm(const struct ctt_sensitivity *s, const struct ctt_part *p,
                     enum ctt_part_kind kind);

/* Of all kinds. */
double ctt_part_harms(const struct ctt_sensitivity *s,
                      const struct ctt_part *p);

/* Called before each trial; < 0 ends what calls it. */
struct ctt_savings_calls {
    void *arg;
    int (*begin)(void *arg, int trial, int trials);
};

/* Lists the ways of each weight of s: every set of one value or none of SVD or
 * tensor trains, of pruning in the form `prune` (a name of ctt_ladders), of
 * shared values and of INT8.  Between two shares of pruning that s has there
 * is one more, with what lies between them.  Harm is the sum of
 * ctt_part_harm().  Bytes are those that weights have as they are stored, which
 * is measured of all weights together in trials beside path, and what the nodes
 * of cores and of INT8 add; of some shares of pruning they lie between those
 * beside them, and factors that leave much of a weight have the bytes of as
 * many of its values.  Time and memory at run time are those of the model as
 * given less what the points of each weight save, as measured of each alone;
 * what several of one weight save is estimated, of time at most what the best
 * one does.  Of weights with too few multiplications to be timed memory is a
 * float or an INT8 a value.  m: the model as given, of which s was made; o:
 * settings of what is not chosen; given: what m costs, whose times and memory
 * may be NAN; calls: may be NULL.  The caller frees *out. */
int ctt_offer_new(const struct ctt_sensitivity *s, const struct ctt_model *m,
                  const struct ctt_recipe *o, const char *prune,
                  const struct ctt_costs *given, const char *path,
                  const struct ctt_savings_calls *calls,
                  struct ctt_offer **out);
void ctt_offer_free(struct ctt_offer **f);

/* Counts it so from now on, by the fits that s has by now; first all once. */
void ctt_offer_trust(struct ctt_offer *f, const struct ctt_sensitivity *s,
                     const struct ctt_trust *times);

/* The harm of a part so counted. */
double ctt_offer_harm(const struct ctt_offer *f,
                      const struct ctt_sensitivity *s,
                      const struct ctt_part *p);

/* The parts of what is picked. */
void ctt_offer_take(const struct ctt_offer *f, const int *pick,
                    struct ctt_part *part);

/* ---- uniform.c ---- */

/* Picks as ctt_allocate(), with the same share of pruning for all weights that
 * are not factorised, and that or none for the others.  The parts of what is
 * picked go to part; *sum: what they come to. */
int ctt_allocate_each(const struct ctt_offer *f, const struct ctt_aim_at *a,
                      struct ctt_part *part, struct ctt_way *sum);

/* The same options for all weights that can have them: the best set of one
 * value of the factors `form` (a name of ctt_ladders; NULL: none) of large
 * weights (ctt_is_large()), and one or none of pruning, of shared values and of
 * INT8. */
int ctt_allocate_uniform(const struct ctt_offer *f,
                         const struct ctt_sensitivity *s, const char *form,
                         const struct ctt_aim_at *a, struct ctt_part *part,
                         struct ctt_way *sum);

/* ---- trim.c ---- */

/* Changes ranks and shared values of single weights, that first which harms
 * least for what it saves, until their mix costs at most that.  part: a mix of
 * f, which is changed; *sum: what it comes to.  Returns 0; 1: it costs more
 * still; CTT_EINVAL: f does not have the mix; or CTT_ENOMEM. */
int ctt_offer_trim(const struct ctt_offer *f, enum ctt_cost cost, double most,
                   struct ctt_part *part, struct ctt_way *sum);

/* ---- uniform.c again ---- */

/* Whether a weight has a quarter of the values of the largest one: factors of
 * small ones harm much and save little. */
int  ctt_is_large(const struct ctt_sensitivity *s, int weight);

/* ---- assignment_try.c ---- */

/* Bytes and multiplications of m, whose file is at path. */
int ctt_model_costs(const struct ctt_model *m, const char *path,
                    struct ctt_costs *out);

/* What a mix costs, o its settings, as it is measured on the weights as they
 * are, at once and without clips, in a file beside path.  given: the file of
 * the model as given, beside which it is timed if there is calls->compare. */
int ctt_assignment_try(const struct ctt_model *m, const struct ctt_recipe *o,
                       const struct ctt_recipe_calls *calls, const char *given,
                       const char *path, struct ctt_costs *out);

/* What a mix comes to, o its settings, of which m is the model before values
 * are shared or quantised, retrained or not: what follows is done at once,
 * without clips, in a file beside path.  bytes: of the file; out: the model,
 * which the caller frees, or NULL. */
int ctt_assignment_rest(const struct ctt_model *m, const struct ctt_recipe *o,
                        const char *path, double *bytes,
                        struct ctt_model **out);

/* ---- accept.c ---- */

/* A test of one share of the clips: how many there are, right of the model as
 * given and of the compressed one, and lost and won between them. */
struct ctt_paired { int64_t clips, was, is, lost, won; };

/* How probable so bad a result is if the budget is kept: of a loss by McNemar's
 * exact test (1947), one-sided, once the lost clips that the budget allows are
 * left out; of a floor by the tail of the binomial distribution; 1: nothing is
 * limited. */
double ctt_budget_tail(const struct ctt_budget *b, int share,
                       const struct ctt_paired *t);

/* At most so probable: clips that the search did not see refute the budget; and
 * those of the search doubt it, by about a standard error. */
#define CTT_BUDGET_REFUTED 0.05
#define CTT_BUDGET_DOUBTED 0.16

/* Whether it is kept by the number of clips alone. */
int ctt_budget_kept(const struct ctt_budget *b, int share,
                    const struct ctt_paired *t);

/* The 95% confidence interval of what top-1 gains, -1..1, by half a clip more
 * of each kind (Agresti and Min 2005). */
void ctt_paired_interval(const struct ctt_paired *t, double *low,
                         double *high);

#endif
