/* SPDX-License-Identifier: Apache-2.0
 * avx2.h: functions that are compiled twice, with AVX2 for processors that have
 * it. */
#ifndef CTT_AVX2_H
#define CTT_AVX2_H

/* Defines the static function NAME with these parameters, in parentheses; it
 * calls ROW, a function that is always inlined, with these arguments. */
#if defined(__x86_64__)
#define CTT_ALSO_AVX2(type, name, row, parameters, arguments)               \
    __attribute__((target("avx2"))) static type name##_avx2 parameters      \
    {                                                                       \
        return row arguments;                                               \
    }                                                                       \
    static type name parameters                                             \
    {                                                                       \
        return __builtin_cpu_supports("avx2") ? name##_avx2 arguments       \
                                              : row arguments;              \
    }
#else
#define CTT_ALSO_AVX2(type, name, row, parameters, arguments)               \
    static type name parameters                                             \
    {                                                                       \
        return row arguments;                                               \
    }
#endif

#endif
