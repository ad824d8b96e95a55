/* SPDX-License-Identifier: Apache-2.0
 * machine.c: the name of the processor, its instruction sets as far as kernels
 * use them, and the built-in providers of convs: everything that the choice of
 * the fastest provider depends on. */
#include "device/cpu/conv/providers.h"
#include "device/cpu/cpu.h"
#include "device/cpu/features.h"

#include <stdio.h>
#include <sys/utsname.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

/* The processor's brand string (x86: 48 bytes of CPUID). */
static void brand(char text[64])
{
    memset(text, 0, 64);
#if defined(__x86_64__)
    unsigned r[4];

    for (unsigned i = 0; i < 3; i++) {
        if (!__get_cpuid(0x80000002u + i, &r[0], &r[1], &r[2], &r[3]))
            return;
        memcpy(text + 16 * i, r, sizeof(r));
    }
#endif
}

static void add_word(const char *before, const char *name, char *text,
                     size_t size)
{
    size_t n = strlen(text);

    snprintf(text + n, size - n, "%s%s", before, name);
}

void ctt_cpu_machine(char *text, size_t size)
{
    static const struct { const char *name; int (*has)(void); } sets[] = {
        { "avx2", ctt_has_avx2 }, { "avx512", ctt_has_avx512 },
        { "vnni", ctt_has_vnni }, { "avxvnni", ctt_has_avxvnni },
        { "avx512bf16", ctt_has_avx512bf16 },
        { "avx512fp16", ctt_has_avx512fp16 }, { "neon", ctt_has_neon },
        { "neondot", ctt_has_neondot },
    };
    char name[64];
    struct utsname u = { .machine = "" };

    brand(name);
    uname(&u);
    snprintf(text, size, "%.16s %s", u.machine, name);
    for (size_t i = 0; i < CTT_LEN(sets); i++)
        if (sets[i].has())
            add_word(" ", sets[i].name, text, size);
    for (int i = 0; ctt_cpu_providers[i]; i++)
        add_word(i ? " " : ": ", ctt_cpu_providers[i]->name, text, size);
    for (char *p = text; *p; p++)    /* the text must be one line */
        *p = *p < ' ' || *p > '~' ? '?' : *p;
}
