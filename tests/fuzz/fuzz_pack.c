/* SPDX-License-Identifier: Apache-2.0
 * fuzz_pack.c: any pack is an error in one line or a list of clips that can be
 * read, and the same after it was packed again.  An input is the parts of a
 * pack; offsets, sizes and checksums are made here.  Without a part the input
 * is the file itself. */
#include "tests/fuzz/fuzz.h"
#include "video/pack/packfile.h"

#include <string.h>

enum { PARTS = 16, FILE_MOST = 2 * CTT_FUZZ_ROOM };

const char *const ctt_fuzz_words[] = {
    "\n%input\n", "\n%labels\n", "\n%ids\n", "\n%index\n", "\n%frames\n",
    "\n%version 2\n", "h=2", "w=2", "c=1", "c=3", "fps=12", "fps=0",
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

/* A row "LABEL FRAMES FPS SUM AT"; @ as SUM is the checksum of the frames, AT
 * counts from the first byte of the part frames. */
static void append_row(struct file *f, const char *line, int64_t frames,
                       int64_t frame)
{
    uint64_t row[CTT_PACK_COLUMNS];
    int64_t at, n;
    int asks;

    row[CTT_PACK_LABEL] = (uint64_t)read_number(&line);
    row[CTT_PACK_FRAMES] = (uint64_t)(n = read_number(&line));
    row[CTT_PACK_FPS] = (uint64_t)read_number(&line);
    asks = *line == '@';
    line += asks;
    row[CTT_PACK_SUM] = (uint64_t)read_number(&line);
    row[CTT_PACK_AT] = (uint64_t)(at = read_number(&line)) + (uint64_t)frames;
    if (asks && n >= 0 && n < FILE_MOST && at >= 0 && at < FILE_MOST &&
        frame >= 0 && frame < FILE_MOST && frames + at + n * frame <=
        (int64_t)f->n)
        row[CTT_PACK_SUM] = ctt_pack_sum(0, f->p + frames + at,
                                         (size_t)(n * frame));
    for (int i = 0; i < CTT_PACK_COLUMNS; i++)
        add_word(f, row[i]);
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

static void add_index(struct file *f, const struct ctt_chunk *c,
                      const struct ctt_chunk *input, int64_t frames)
{
    char *text = ctt_chunk_text(c);

    for (char *s = text; *s;) {
        append_row(f, s, frames, frame_bytes(input));
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
    size_t at[CTT_PACK_PARTS], size[CTT_PACK_PARTS], tail, first;
    uint64_t sum;

    f->n = 0;
    append(f, "\x89HDF\r\n\x1a\n", 8);
    first = f->n;
    if (frames)
        append(f, frames->p, frames->n);
    for (int i = 0; i < CTT_PACK_PARTS; i++) {
        at[i] = f->n;
        x = ctt_chunk_find(c, count, part[i]);
        if (x && i == CTT_PACK_INDEX)
            add_index(f, x, input, (int64_t)first);
        else if (x)
            append(f, x->p, x->n);
        size[i] = f->n - at[i];
    }
    tail = f->n;
    append(f, CTT_PACK_MAGIC, 8);
    add_word(f, version ? strtoull(version->words, NULL, 10) :
             CTT_PACK_VERSION);
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
    ctt_frames_free(&a);
    ctt_frames_free(&b);
}

/* A copy of the clips of p; 0 if one of them is damaged. */
static int copy_pack(const char *path, const struct ctt_pack *p, const char *to)
{
    const struct ctt_list *l = ctt_pack_list(p);
    struct ctt_frames f = { 0 };
    struct ctt_pack *q = NULL;
    int good = 1;

    FUZZ_CHECK(ctt_pack_create(to, ctt_pack_input(p), l->label, l->labels, &q)
               >= 0);
    for (int i = 0; i < l->count && good; i++) {
        good = ctt_pack_read(p, i, &f) >= 0;
        if (!good)
            ctt_fuzz_refused(path);
        else
            FUZZ_CHECK(ctt_pack_add(q, l->item[i].id, l->item[i].label, &f)
                       >= 0);
        ctt_frames_free(&f);
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
