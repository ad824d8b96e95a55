/* SPDX-License-Identifier: Apache-2.0
 * machine.h: a made-up machine on which recipes choose, for the tests of
 * choices. */
#ifndef CTT_MACHINE_H
#define CTT_MACHINE_H

#include "compress/compress.h"

/* Convs before and in a convlstm, and a dense one. */
extern const char machine_net[];

/* Times that a model takes, as factors; and top-1 that it loses if more than
 * `few` convs read bytes. */
struct machine {
    double int8, blocks, chain;
    double part;    /* in place of int8: if only few do */
    double lost;
    int    few, compared, busy;
    int    no_blocks, no_chains;    /* 1: they do not fit into the limit of
                                       memory */
    char   said[1024];
};

/* How many convs of a model read bytes; how many weights are tensor trains;
 * whether conv a, which is pruned, is so in whole blocks. */
int machine_bytes(const struct ctt_model *m);
int machine_chains(const struct ctt_model *m);
int machine_in_blocks(const struct ctt_model *m);

/* All that can be open is; and calls for it, with retraining that does
 * nothing. */
struct ctt_recipe       machine_recipe(int aim);
struct ctt_recipe_calls machine_calls(struct machine *t);

/* Runs it on a model of that text and writes saved_path; end frees it, and no
 * block is left. */
struct machine_result { struct ctt_model *m; struct ctt_report *r; };
struct machine_result machine_run(const char *text, const struct ctt_recipe *o,
                                  const struct ctt_recipe_calls *calls);
void machine_end(struct machine_result *x);

/* The candidate that was chosen first, or "none"; whether the history has a
 * line; and a row of the choices, which there is. */
const char *machine_chosen(const struct machine_result *x);
int         machine_says(const struct machine_result *x, const char *line);
struct ctt_choice *machine_row(const struct machine_result *x, const char *of,
                               const char *name);

#endif
