/* SPDX-License-Identifier: Apache-2.0
 * scratch.c: a folder for the files that fuzz targets write: in memory where
 * there is such a folder, because a disk would be waited for. */
#define _XOPEN_SOURCE 700    /* nftw */
#include "tests/fuzz/fuzz.h"

#include <ftw.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH = 512, PATHS = 8 };

static char dir[256];

static int remove_entry(const char *path, const struct stat *s, int kind,
                        struct FTW *at)
{
    (void)s;
    (void)kind;
    (void)at;
    return remove(path);
}

static void remove_scratch(void)
{
    nftw(dir, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static void make_scratch(void)
{
    const char *place[] = { getenv("TMPDIR"), "/dev/shm", "/tmp" };

    for (size_t i = 0; i < CTT_LEN(place); i++) {
        if (!place[i])
            continue;
        snprintf(dir, sizeof(dir), "%s/convtt-fuzz-XXXXXX", place[i]);
        if (mkdtemp(dir)) {
            atexit(remove_scratch);
            return;
        }
    }
    fprintf(stderr, "no folder for temporary files\n");
    exit(99);
}

const char *ctt_scratch(const char *name)
{
    static char path[PATHS][PATH];
    static int k;

    if (!dir[0])
        make_scratch();
    k = (k + 1) % PATHS;
    snprintf(path[k], PATH, "%s%s%s", dir, *name ? "/" : "", name);
    return path[k];
}

/* Makes the folders above a file; some may be there. */
static void make_above(const char *path)
{
    char part[PATH];

    for (const char *s = strchr(path + strlen(dir) + 1, '/'); s;
         s = strchr(s + 1, '/')) {
        snprintf(part, sizeof(part), "%.*s", (int)(s - path), path);
        mkdir(part, 0777);
    }
}

const char *ctt_scratch_put(const char *name, const void *p, size_t n)
{
    const char *path = ctt_scratch(name);
    FILE *f = fopen(path, "wb");

    if (!f) {
        make_above(path);
        f = fopen(path, "wb");
    }
    FUZZ_CHECK(f && fwrite(p, 1, n, f) == n);
    FUZZ_CHECK(fclose(f) == 0);
    return path;
}

size_t ctt_scratch_get(const char *path, uint8_t *p, size_t room)
{
    FILE *f = fopen(path, "rb");
    size_t n;

    FUZZ_CHECK(f);
    n = fread(p, 1, room, f);
    FUZZ_CHECK(!ferror(f));
    fclose(f);
    return n;
}

void ctt_scratch_clear(const char *name)
{
    nftw(ctt_scratch(name), remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

void ctt_fuzz_refused(const char *path)
{
    FUZZ_CHECK(strncmp(ctt_errmsg(), path, strlen(path)) == 0);
    FUZZ_CHECK(strlen(ctt_errmsg()) > strlen(path));
    FUZZ_CHECK(!strchr(ctt_errmsg(), '\n'));
}
