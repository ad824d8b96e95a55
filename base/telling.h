/* SPDX-License-Identifier: Apache-2.0
 * telling.h: how a program tells the progress of long work. */
#ifndef CTT_TELLING_H
#define CTT_TELLING_H

#include <stddef.h>

enum ctt_telling_form { CTT_TELL_AUTO, CTT_TELL_JSON, CTT_TELL_OFF };

/* The options of CTT_TELLING_ROWS (limits_opt.h). */
struct ctt_telling { int progress, quiet; };

static const char *const ctt_telling_forms[] = { "auto", "json", "off", NULL };

#endif
