/* SPDX-License-Identifier: Apache-2.0
 * seed.c: the seeds and words of a fuzz target as files for libFuzzer, and the
 * limits of all targets. */
#include "tests/fuzz/fuzz.h"
#include "net/file/h5.h"
#include "base/limits.h"

#include <ctype.h>
#include <string.h>

size_t ctt_fuzz_text(const struct ctt_fuzz_text *text, int texts, int i,
                     uint8_t *p, size_t room)
{
    if (i >= texts || text[i].n > room)
        return 0;
    memcpy(p, text[i].p, text[i].n);
    return text[i].n;
}

static FILE *create_seed(const char *path)
{
    FILE *f = fopen(path, "wb");

    if (!f) {
        perror(path);
        exit(99);
    }
    return f;
}

static void close_seed(FILE *f, const char *path)
{
    int bad = ferror(f);

    if (fclose(f) != 0 || bad) {
        fprintf(stderr, "%s: cannot be written\n", path);
        exit(99);
    }
}

static void write_words(const char *path)
{
    FILE *f = create_seed(path);

    for (int i = 0; ctt_fuzz_words[i]; i++) {
        FUZZ_CHECK(*ctt_fuzz_words[i]);    /* libFuzzer refuses it */
        fputc('"', f);
        for (const char *s = ctt_fuzz_words[i]; *s; s++)
            if (isalnum((unsigned char)*s))
                fputc(*s, f);
            else
                fprintf(f, "\\x%02x", (unsigned char)*s);
        fputs("\"\n", f);
    }
    close_seed(f, path);
}

void ctt_fuzz_write_seeds(const char *dir, const char *dictionary)
{
    static uint8_t buf[CTT_FUZZ_ROOM];
    char path[1024];
    size_t n;

    for (int i = 0; (n = ctt_fuzz_seed(i, buf, sizeof(buf))) > 0; i++) {
        FILE *f;

        snprintf(path, sizeof(path), "%s/seed-%03d", dir, i);
        f = create_seed(path);
        fwrite(buf, 1, n, f);
        close_seed(f, path);
    }
    write_words(dictionary);
}

void ctt_fuzz_start(void)
{
    const struct ctt_limits few = { .memory = 1 << 29, .clip_frames = 64,
                                    .frame_pixels = 1 << 20,
                                    .clip_seconds = 10 };

    ctt_h5_stay_open();
    FUZZ_CHECK(ctt_limits_set(&few) >= 0);
}
