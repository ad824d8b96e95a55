/* SPDX-License-Identifier: Apache-2.0
 * fuzz_pack.c: any pack is an error in one line or a list of clips that can be
 * read, and the same after it was packed again.  An input is the parts of a
 * pack; offsets, sizes and checksums are made here.  Without a part the input
 * is the file itself. */
#include "tests/fuzz/fuzz.h"
#include "video/pack/packfile.h"

#include <stdio.h>
#include <string.h>

enum { PARTS = 16, FILE_MOST = 2 * CTT_FUZZ_ROOM };

const char *const ctt_fuzz_words[] = {
    "\n%input\n", "\n%labels\n", "\n%ids\n", "\n%index\n", "\n%frames\n",
    "\n%version 2\n", "\n%version 3\n", "\n%maps\n", "\nmap a 1 1 1 2 0",
    "map", "ffffffff", "h=2", "w=2", "c=1", "c=3", "fps=12", "fps=0",
    "scale=1.5", "fit=pad", "colour=gray", "h=16384", "w=1048576", "mean=0.5",
    "std=1e-30", "gamma=2", "normalise=clip", "0", "1", "-1", "2147483648",
    "9223372036854775807",
    "-9223372036854775808", "16777216", "@", " @ ", " ", "\n", NULL
};

/* ---- a pack of parts ---- */

struct file { uint8_t p[FILE_MOST]; size_t n; };

static void append(struct file *f, const void *p, size_t n)
{
    n = n < sizeof(f->p) - f->n ? n : sizeof(f->p) - f->n;
    if (n)
        memcpy(f->p + f->n, p, n);
    f->n += n;
}

static void add_word(struct file *f, uint64_t x)
{
    uint8_t b[8];

    ctt_pack_put(b, x);
    append(f, b, sizeof(b));
}

/* The next number of a row of the index; nothing is 0. */
static int64_t read_number(const char **s)
{
    char *end;
    int64_t x = strtoll(*s, &end, 10);

    *s = end + (*end == ' ');
    return x;
}

/* Where frames or maps begin in the file, and bytes of one frame; 0: none. */
struct area { int64_t from, each; };

/* Two words of a row, "SUM AT"; @ as SUM is the checksum of n frames from AT
 * on, which counts from the first byte of the area, continued from `sum`. */
static void append_sum(struct file *f, const char **line, int64_t n,
                       const struct area *a, uint64_t *sum)
{
    int asks = **line == '@';
    uint64_t stated = 0;
    int64_t at;

    if (asks)
        *line += 1 + ((*line)[1] == ' ');
    else
        stated = (uint64_t)read_number(line);
    at = read_number(line);
    if (asks && n >= 0 && n < FILE_MOST && at >= 0 && at < FILE_MOST &&
        a->each >= 0 && a->each < FILE_MOST &&
        a->from + at + n * a->each <= (int64_t)f->n)
        stated = ctt_pack_sum(*sum, f->p + a->from + at, (size_t)(n * a->each));
    *sum = stated;
    add_word(f, stated);
    add_word(f, (uint64_t)at + (uint64_t)a->from);
}

/* A row "LABEL FRAMES FPS SUM AT", with maps "SUM AT" once more. */
static void append_row(struct file *f, const char *line,
                       const struct area *frames, const struct area *maps)
{
    uint64_t sum = 0;
    int64_t n;

    add_word(f, (uint64_t)read_number(&line));
    n = read_number(&line);
    add_word(f, (uint64_t)n);
    add_word(f, (uint64_t)read_number(&line));
    append_sum(f, &line, n, frames, &sum);
    if (maps->each)
        append_sum(f, &line, n, maps, &sum);
}

/* Bytes of a frame by the settings, found without the reader. */
static int64_t frame_bytes(const struct ctt_chunk *input)
{
    char *text = input ? ctt_chunk_text(input) : NULL;
    const char *names[] = { "h=", "w=", "c=" };
    int64_t n = 1;

    for (size_t i = 0; text && i < CTT_LEN(names); i++) {
        const char *at = strstr(text, names[i]);
        int64_t x = at ? strtoll(at + 2, NULL, 10) : 0;
        n = x > 0 && x <= FILE_MOST && n * x <= FILE_MOST ? n * x : 0;
    }
    ctt_free(text);
    return n;
}

/* The same of maps: the sizes of the lines "map NAME D H W C CRC". */
static int64_t maps_bytes(const struct ctt_chunk *input)
{
    char *text = input ? ctt_chunk_text(input) : NULL;
    int64_t sum = 0;

    for (char *s = text; s && (s = strstr(s, "map ")); s += 4) {
        long long d, h, w, c;

        if (sscanf(s + 4, "%*s %9lld %9lld %9lld %9lld", &d, &h, &w, &c) == 4 &&
            d * h < FILE_MOST && w * c < FILE_MOST)
            sum += 2 * d * h * w * c;
    }
    ctt_free(text);
    return sum;
}

static void add_index(struct file *f, const struct ctt_chunk *c,
                      const struct area *frames, const struct area *maps)
{
    char *text = ctt_chunk_text(c);

    for (char *s = text; *s;) {
        append_row(f, s, frames, maps);
        s += strcspn(s, "\n");
        s += *s == '\n';
    }
    ctt_free(text);
}

static void build_pack(const struct ctt_chunk *c, int count, struct file *f)
{
    static const char *const part[CTT_PACK_PARTS] = { "input", "labels", "ids",
                                                      "index" };
    const struct ctt_chunk *frames = ctt_chunk_find(c, count, "frames"), *x;
    const struct ctt_chunk *input = ctt_chunk_find(c, count, "input");
    const struct ctt_chunk *version = ctt_chunk_find(c, count, "version");
    const struct ctt_chunk *map = ctt_chunk_find(c, count, "maps");
    uint64_t number = version ? strtoull(version->words, NULL, 10)
                              : CTT_PACK_VERSION, sum;
    size_t at[CTT_PACK_PARTS], size[CTT_PACK_PARTS], tail;
    struct area area, maps;

    f->n = 0;
    append(f, "\x89HDF\r\n\x1a\n", 8);
    area = (struct area){ (int64_t)f->n, frame_bytes(input) };
    if (frames)
        append(f, frames->p, frames->n);
    maps = (struct area){ (int64_t)f->n, number > 2 ? maps_bytes(input) : 0 };
    if (map)
        append(f, map->p, map->n);
    for (int i = 0; i < CTT_PACK_PARTS; i++) {
        at[i] = f->n;
        x = ctt_chunk_find(c, count, part[i]);
        if (x && i == CTT_PACK_INDEX)
            add_index(f, x, &area, &maps);
        else if (x)
            append(f, x->p, x->n);
        size[i] = f->n - at[i];
    }
    tail = f->n;
    append(f, CTT_PACK_MAGIC, 8);
    add_word(f, number);
    for (int i = 0; i < CTT_PACK_PARTS; i++) {
        add_word(f, at[i]);
        add_word(f, size[i]);
    }
    sum = ctt_pack_sum(0, f->p + tail, f->n - tail);
    for (int i = 0; i < CTT_PACK_PARTS; i++)
        sum = ctt_pack_sum(sum, f->p + at[i], size[i]);
    add_word(f, sum);
}

/* ---- checks ---- */

static void same_frames(const struct ctt_frames *a, const struct ctt_frames *b)
{
    FUZZ_CHECK(a->count == b->count && a->h == b->h && a->w == b->w &&
               a->c == b->c && a->fps == b->fps);
    FUZZ_CHECK(memcmp(a->data, b->data, (size_t)a->count * a->h * a->w *
                      a->c) == 0);
}

static void same_maps(const struct ctt_pack *p, const struct ctt_pack *q, int i,
                      const struct ctt_frames *f)
{
    int64_t each = 2 * ctt_maps_size(ctt_pack_maps(p));
    uint8_t *a = NULL, *b = NULL;

    FUZZ_CHECK(ctt_pack_maps(q) != NULL);
    FUZZ_CHECK(ctt_pack_read_maps(p, i, &a) >= 0);
    FUZZ_CHECK(ctt_pack_read_maps(q, i, &b) >= 0);
    FUZZ_CHECK(memcmp(a, b, (size_t)(f->count * each)) == 0);
    ctt_free(a);
    ctt_free(b);
}

/* Reads clip i from both packs. */
static void compare_clip(const char *path, const struct ctt_pack *p,
                         const struct ctt_pack *q, int i)
{
    const struct ctt_list *l = ctt_pack_list(p), *k = ctt_pack_list(q);
    struct ctt_frames a = { 0 }, b = { 0 };

    FUZZ_CHECK(l->item[i].label >= -1 && l->item[i].label < l->labels);
    FUZZ_CHECK(strcmp(l->item[i].id, k->item[i].id) == 0 &&
               l->item[i].label == k->item[i].label);
    FUZZ_CHECK(ctt_pack_length(p, i) > 0);
    if (ctt_pack_read(p, i, &a) < 0)
        ctt_fuzz_refused(path);
    FUZZ_CHECK(ctt_pack_read(q, i, &b) >= 0);
    same_frames(&a, &b);
    if (ctt_pack_maps(p))
        same_maps(p, q, i, &a);
    ctt_frames_free(&a);
    ctt_frames_free(&b);
}

/* A copy of the clips of p; 0 if one of them is damaged. */
static int copy_pack(const char *path, const struct ctt_pack *p, const char *to)
{
    const struct ctt_list *l = ctt_pack_list(p);
    struct ctt_frames f = { 0 };
    struct ctt_pack *q = NULL;
    uint8_t *maps = NULL;
    int good = 1;

    FUZZ_CHECK(ctt_pack_create(to, ctt_pack_input(p), l->label, l->labels, &q)
               >= 0);
    if (ctt_pack_maps(p))
        FUZZ_CHECK(ctt_pack_begin_maps(q, ctt_pack_maps(p)) >= 0);
    for (int i = 0; i < l->count && good; i++) {
        good = ctt_pack_read(p, i, &f) >= 0 &&
               (!ctt_pack_maps(p) || ctt_pack_read_maps(p, i, &maps) >= 0);
        if (!good)
            ctt_fuzz_refused(path);
        else
            FUZZ_CHECK(ctt_pack_add(q, l->item[i].id, l->item[i].label, &f)
                       >= 0 && (!maps || ctt_pack_add_maps(q, maps) >= 0));
        ctt_frames_free(&f);
        ctt_free(maps);
        maps = NULL;
    }
    if (good)
        FUZZ_CHECK(ctt_pack_finish(&q) >= 0);
    ctt_pack_close(&q);
    return good;
}

static void check_pack(const char *path, const struct ctt_pack *p)
{
    const char *to = ctt_scratch("copy.pack");
    const struct ctt_list *l = ctt_pack_list(p);
    struct ctt_pack *q = NULL;

    FUZZ_CHECK(l->count > 0 && ctt_pack_fits(p, ctt_pack_input(p)) >= 0);
    if (!copy_pack(path, p, to))
        return;
    FUZZ_CHECK(ctt_pack_is(to) && ctt_pack_open(to, &q) >= 0);
    FUZZ_CHECK(ctt_pack_list(q)->count == l->count);
    FUZZ_CHECK(ctt_pack_list(q)->labels == l->labels);
    for (int i = 0; i < l->labels; i++)
        FUZZ_CHECK(strcmp(ctt_pack_list(q)->label[i], l->label[i]) == 0);
    FUZZ_CHECK(ctt_pack_fits(q, ctt_pack_input(p)) >= 0);
    for (int i = 0; i < l->count; i++)
        compare_clip(path, p, q, i);
    /* Equal classes give the same choice, unless one is repeated. */
    if (ctt_pack_choose(q, l->label, l->labels, NULL) >= 0)
        for (int i = 0; i < l->count; i++)
            FUZZ_CHECK(ctt_pack_list(q)->item[i].label == l->item[i].label);
    ctt_pack_close(&q);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct file f;
    struct ctt_chunk c[PARTS];
    struct ctt_pack *p = NULL;
    long live = ctt_live_blocks();
    int count = ctt_chunks(data, size, c, PARTS);
    const char *path;

    if (count)
        build_pack(c, count, &f);
    path = count ? ctt_scratch_put("a.pack", f.p, f.n)
                 : ctt_scratch_put("a.pack", data, size);
    ctt_pack_is(path);
    if (ctt_pack_open(path, &p) >= 0) {
        check_pack(path, p);
    } else {
        FUZZ_CHECK(!p);
        ctt_fuzz_refused(path);
    }
    ctt_pack_close(&p);
    FUZZ_CHECK(ctt_live_blocks() == live);
    return 0;
}

/* ---- seeds ---- */

static const struct ctt_fuzz_text texts[] = {
    FUZZ_TEXT("%input\nh=2 w=2 c=1 fps=12\n%labels\na\0b\0\n%ids\nx\0y.avi\0\n"
              "%index\n0 2 201326592 @ 0\n1 1 0 @ 4\n"
              "%frames\n0123abcd"),
    FUZZ_TEXT("%input\nh=1 w=2 c=3 scale=1.5 fit=pad colour=bgr mean=0.1,0,0\n"
              "%ids\nx\0\n%index\n-1 1 0 @ 0\n%frames\n0123456789abcdef"),
    FUZZ_TEXT("%version 3\n%input\nh=1 w=2 c=1\nmap s8 1 1 1 2 89abcdef\n"
              "map s16 1 1 1 1 0\n%labels\na\0\n%ids\nx\0y\0\n"
              "%index\n0 2 0 @ 0 @ 0\n-1 1 0 @ 4 @ 12\n"
              "%frames\n0123ab\n%maps\n0123456789abcdefghi"),
    FUZZ_TEXT("%version 2\n"),
    FUZZ_TEXT("%input\nh=2 w=2\n%ids\nx"),
};

/* The last one: a pack as written. */
size_t ctt_fuzz_seed(int i, uint8_t *p, size_t room)
{
    static uint8_t pixel[2 * 4] = { 1, 2, 3, 4, 5, 6, 7, 8 };
    static char one[] = "one";
    struct ctt_frames f = { pixel, 2, 2, 2, 1, 12 };
    char *label[] = { one };
    struct ctt_input in = { 1, 2, 2, 1, 12, { 0 }, { 1, 1, 1 }, 1,
                            CTT_FIT_CROP, CTT_GRAY };
    const char *path = ctt_scratch("seed.pack");
    struct ctt_pack *q = NULL;

    if (i != (int)CTT_LEN(texts))
        return ctt_fuzz_text(texts, CTT_LEN(texts), i, p, room);
    FUZZ_CHECK(ctt_pack_create(path, &in, label, 1, &q) >= 0);
    FUZZ_CHECK(ctt_pack_add(q, "clip", 0, &f) >= 0 && ctt_pack_finish(&q) >= 0);
    return ctt_scratch_get(path, p, room);
}
