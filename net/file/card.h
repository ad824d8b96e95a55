/* SPDX-License-Identifier: Apache-2.0
 * card.h: when, with which version and on which clips a model was trained. */
#ifndef CTT_CARD_H
#define CTT_CARD_H

#include <stdint.h>
#include <time.h>

enum { CTT_CARD = 128 };    /* bytes of a card's text */

/* The time of SOURCE_DATE_EPOCH, or now if that is not set or empty; CTT_EINVAL
 * unless it is a number of seconds since 1970 up to the year 9999. */
int ctt_card_time(time_t *out);

/* " date=.. convtt=.. data-crc=..": the day (of SOURCE_DATE_EPOCH if that is
 * set), the version and the checksum of the names and labels of the clips; only
 * of these that differ from the last in a history, so that several runs on a
 * day say each once.  Errors of ctt_card_time(). */
int ctt_card(const char *history, uint32_t crc, char text[CTT_CARD]);

/* Ends a line of a history on a change of weights that no score follows. */
#define CTT_CARD_UNVALIDATED "not validated"

/* The last value of " NAME=" in a history, and its length in n; NULL: none. */
const char *ctt_card_find(const char *history, const char *name, int *n);

/* CTT_EINVAL unless a licence is NULL or a name of SPDX. */
int ctt_card_licence(const char *name);

#endif
