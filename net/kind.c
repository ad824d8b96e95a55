/* SPDX-License-Identifier: Apache-2.0
 * kind.c: which kind of convtt's files one is. */
#include "net/kind.h"
#include "base/newfile.h"

#include <string.h>
#include <unistd.h>

static const struct {
    const char *word, *magic;
    int64_t     end;    /* the magic is that many bytes before the end */
} kinds[] = {
    [CTT_KIND_OTHER] = { NULL, NULL, 0 },
    [CTT_KIND_MODEL] = { "a model or a checkpoint", CTT_MODEL_MAGIC,
                         CTT_MODEL_END },
    [CTT_KIND_PACK] = { "a pack of clips", CTT_PACK_MAGIC, CTT_PACK_END },
};

enum ctt_kind ctt_kind_of(const uint8_t *end, int64_t n)
{
    for (size_t k = CTT_KIND_OTHER + 1; k < CTT_LEN(kinds); k++)
        if (n >= kinds[k].end && memcmp(end + n - kinds[k].end, kinds[k].magic,
                                        strlen(kinds[k].magic)) == 0)
            return (enum ctt_kind)k;
    return CTT_KIND_OTHER;
}

enum ctt_kind ctt_kind_at(const char *path)
{
    uint8_t end[CTT_PACK_END];
    int64_t size, n;
    int fd, rc;

    if (ctt_file_open(path, &fd, &size) < 0)
        return CTT_KIND_OTHER;
    n = size < CTT_PACK_END ? size : CTT_PACK_END;
    rc = ctt_file_read_at(path, fd, size - n, end, n);
    close(fd);
    return rc < 0 ? CTT_KIND_OTHER : ctt_kind_of(end, n);
}

const char *ctt_kind_word(enum ctt_kind kind)
{
    return kinds[kind].word;
}
