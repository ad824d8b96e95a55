/* SPDX-License-Identifier: Apache-2.0
 * locale.h: numbers in texts have a point, whatever the program's locale is. */
#ifndef CTT_LOCALE_H
#define CTT_LOCALE_H

#include <locale.h>

static inline locale_t ctt_locale_enter(void)
{
    /* glibc allocates nothing for "C"; (locale_t)0 changes nothing. */
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);

    return plain ? uselocale(plain) : (locale_t)0;
}

static inline void ctt_locale_leave(const locale_t *was)
{
    locale_t plain = *was ? uselocale(*was) : (locale_t)0;

    if (plain)
        freelocale(plain);
}

/* A declaration: until the end of its block this thread reads and writes
 * numbers as in the locale "C". */
#define CTT_PLAIN_NUMBERS                                                  \
    const locale_t ctt_locale_was __attribute__((                          \
        cleanup(ctt_locale_leave), unused)) = ctt_locale_enter()

#endif
