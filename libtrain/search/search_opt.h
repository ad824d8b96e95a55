/* SPDX-License-Identifier: Apache-2.0
 * search_opt.h: the options of --search. */
#ifndef CTT_SEARCH_OPT_H
#define CTT_SEARCH_OPT_H

#include "libtrain/search/search.h"

#define CTT_SEARCH_ROW(bits) .section = CTT_SEARCH_SECTION, .tags = bits

/* Rows of an option table.  AT(member): the offset of that member of a struct
 * ctt_train_cfg; bits: the column tags. */
#define CTT_SEARCH_ROWS(AT, bits) \
    { "search", CTT_STRING, AT(search), "", "train a model for each of " \
      "--trials settings, drawn from the ranges in this file, and keep the " \
      "best; the same command continues after a stop", .arg = "SPACE", \
      .needs = "!folds !doctor !amp-plan !resume !pause !time-limit !dsd " \
      "!checkpoint !log-csv !log-json !val-every !sync !stages !bands " \
      "!filters !comm !log-tensorboard", CTT_SEARCH_ROW(bits) }, \
    { "trials", CTT_INT, AT(trials), "32", "number of settings to draw", 1, \
      CTT_TRIALS, .arg = "N", .needs = "search", CTT_SEARCH_ROW(bits) }, \
    { "search-method", CTT_CHOICE, AT(search_method), "asha", "trials " \
      "that are trained to the end: asha: the best so far at any time (Li " \
      "and others 2020); halving: the best of each round; median: all but " \
      "those below the median; random: all", .choices = ctt_search_methods, \
      .needs = "search", CTT_SEARCH_ROW(bits) }, \
    { "search-first", CTT_INT, AT(search_first), "auto", "epochs after which " \
      "trials are compared first; auto: an eighth of --epochs", 1, 100000, \
      .arg = "EPOCHS", .needs = "search search-method!=random", \
      .word = CTT_CFG_WORD, CTT_SEARCH_ROW(bits) }, \
    { "search-factor", CTT_INT, AT(search_factor), "3", "one of N trials " \
      "goes on, and is compared again after N times the epochs; median: only " \
      "the latter", 2, 16, .arg = "N", \
      .needs = "search search-method!=random", CTT_SEARCH_ROW(bits) }, \
    { "repeats", CTT_INT, AT(repeats), "3", "train the three best trials " \
      "with N seeds each, so that luck does not decide, and choose by the " \
      "mean; 3 cost six whole trainings more; 1: off", 1, \
      CTT_DUPLICATES, .arg = "N", .needs = "search", CTT_SEARCH_ROW(bits) }, \
    { "jobs", CTT_INT, AT(jobs), "1", "trials at a time, each with its " \
      "share of --threads; of several processes each trains one", 1, CTT_JOBS, \
      .arg = "N", .needs = "search", CTT_SEARCH_ROW(bits) }, \
    { "search-log", CTT_STRING, AT(search_log), "", "settings and results " \
      "of the trials, a JSON line each [OUT.search.jsonl]", .arg = "FILE", \
      .needs = "search", CTT_SEARCH_ROW(bits) }, \
    { "search-csv", CTT_STRING, AT(search_csv), "", "the same as CSV", \
      .arg = "FILE", .needs = "search", CTT_SEARCH_ROW(bits) }

#endif
