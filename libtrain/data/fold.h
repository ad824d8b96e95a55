/* SPDX-License-Identifier: Apache-2.0
 * fold.h: which part of a cross-validation a clip belongs to. */
#ifndef CTT_FOLD_H
#define CTT_FOLD_H

#include "libtrain/data/data.h"

/* The group of a name, whose clips have one person or one long video as source:
 * names with personNN (KTH; Schuldt and others 2004), names that are equal up
 * to _gNN_ (UCF101; Soomro and others 2012), and parts of one video, not
 * pictures of one file.  0: no group. */
uint64_t ctt_name_group(const char *name);

/* Sets group[d->clips]: clips with one number belong together, as
 * ctt_folds_make() says.  If these are more than half as many as the clips,
 * neighbours in the list count as such, as they often come from one video: the
 * clips of each class, in the order of the list, are cut into 10 runs, and the
 * k-th runs of all classes are a group.  Returns the number of groups of the
 * first kind, or 0 for runs; CTT_ENOMEM. */
int  ctt_groups_find(const struct ctt_data *d, int *group);

/* Sets fold[d->clips] to 0 .. folds - 1, each at least once.  Clips with the
 * same frames or of one group have the same one; as far as they allow, each
 * fold has equally many clips of every class; of one text, a stretch.
 * CTT_EINVAL if there are not enough groups. */
int  ctt_folds_make(const struct ctt_data *d, int folds, uint64_t seed,
                    int *fold);

#endif
