/* SPDX-License-Identifier: Apache-2.0
 * pack_maps.c: maps in a pack: their description as text, and those of a clip.
 */
#include "base/newfile.h"
#include "video/pack/packfile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int ctt_pack_print_maps(const struct ctt_maps *m, char *text, size_t room)
{
    size_t n = strlen(text);
    int rc = 0;

    for (int k = 0; k < m->count; k++) {
        const struct ctt_map *x = &m->map[k];

        n += (size_t)snprintf(text + n, room - n, "\nmap %s %lld %lld %lld "
                              "%lld %08x", x->name, (long long)x->d,
                              (long long)x->h, (long long)x->w,
                              (long long)x->c, (unsigned)x->crc);
        CTT_CHECK(n < room, CTT_EINVAL, "the description of maps is too long");
    }
out:
    return rc;
}

/* The next number of a line, at most so much; -1: there is none. */
static int64_t next_number(char **more, int base, uint64_t most)
{
    char *s = strtok_r(NULL, " ", more), *end;
    unsigned long long x;

    if (!s || strspn(s, "0123456789abcdef") != strlen(s))
        return -1;
    errno = 0;
    x = strtoull(s, &end, base);
    return errno || *end || x > most ? -1 : (int64_t)x;
}

static int take_map(char *line, struct ctt_map *x)
{
    char *more, *word = strtok_r(line, " ", &more), *name;
    uint64_t most = CTT_PACK_CLIP_MAX;
    int64_t crc;
    int64_t *size[] = { &x->d, &x->h, &x->w, &x->c };
    int rc = 0, good = word && strcmp(word, "map") == 0;

    name = good ? strtok_r(NULL, " ", &more) : NULL;
    CTT_CHECK(name && strlen(name) < sizeof(x->name), CTT_EFORMAT,
              "a bad line of a map");
    memcpy(x->name, name, strlen(name));
    for (size_t k = 0; k < CTT_LEN(size); k++) {
        *size[k] = next_number(&more, 10, most);
        CTT_CHECK(*size[k] > 0, CTT_EFORMAT, "a bad size of map %s", x->name);
        most /= (uint64_t)*size[k];
    }
    crc = next_number(&more, 16, UINT32_MAX);
    CTT_CHECK(crc >= 0 && !strtok_r(NULL, " ", &more), CTT_EFORMAT,
              "a bad line of map %s", x->name);
    x->crc = (uint32_t)crc;
out:
    return rc;
}

int ctt_pack_take_maps(char *text, struct ctt_maps *out)
{
    char *line = strchr(text, '\n');
    int rc = 0;

    for (; line; out->count++) {
        char *next = strchr(line + 1, '\n');

        *line = '\0';
        if (next)
            *next = '\0';
        CTT_CHECK(out->count < CTT_MAX_IN, CTT_EFORMAT, "more than %d maps",
                  CTT_MAX_IN);
        CTT_TRY(take_map(line + 1, &out->map[out->count]));
        if (next)
            *next = '\n';
        line = next;
    }
    CTT_CHECK(out->count, CTT_EFORMAT, "no line of a map");
out:
    return rc;
}

const struct ctt_maps *ctt_pack_maps(const struct ctt_pack *p)
{
    return p->maps.count ? &p->maps : NULL;
}

int ctt_pack_read_maps(const struct ctt_pack *p, int i, uint8_t **out)
{
    const struct ctt_item *item = &p->list->item[i];
    const int64_t *x = p->index[item->row];
    int64_t size = 2 * x[CTT_PACK_FRAMES] * ctt_maps_size(&p->maps);
    uint8_t *data = NULL;
    uint64_t sum;
    int rc;

    CTT_TRY(ctt_frames_fit(item->path, size));
    data = ctt_calloc((size_t)size, 1);
    CTT_TRY(data ? 0 : CTT_ENOMEM);
    CTT_TRY(ctt_file_read_at(p->path, p->fd, x[CTT_PACK_MAP_AT], data, size));
    sum = ctt_pack_sum((uint64_t)x[CTT_PACK_SUM], data, (size_t)size);
    CTT_CHECK(sum == (uint64_t)x[CTT_PACK_MAP_SUM], CTT_EFORMAT, "%s: the maps "
              "of clip '%s' are damaged", p->path, item->id);
    *out = data;
    data = NULL;
out:
    ctt_free(data);
    return rc;
}
