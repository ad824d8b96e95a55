/* SPDX-License-Identifier: Apache-2.0
 * amx.c: convs by AMX.  The 16 pixels of a strip are rows of a tile, read where
 * they are laid out if they are neighbours and a run of their windows consists
 * of whole chunks of up to 64 bytes; otherwise windows are copied to a panel, a
 * row each (im2col).  Sums go through memory to the epilogue of the AVX-512
 * kernels.  Sums of bytes are exact, so results have their bits; sums of bf16
 * depend on where chunks end, but not on the threads.
 * tests/device/test_int8_emulated.c compiles it for any processor. */
#define _GNU_SOURCE    /* syscall() */
#include "device/cpu/features.h"
#include "device/cpu/conv/int8/amx.h"

#if defined(CTT_X86_HALVES)
#include <cpuid.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef CTT_EMULATED
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,fma")
#pragma GCC target("amx-tile,amx-int8,amx-bf16")
#endif
#include "device/cpu/conv/int8/amx_tile.h"

typedef uint8_t elem;
#include "device/cpu/conv/int8/int8_pixel_tmpl.h"

/* ---- the processor ---- */

static int amx;

/* Bits of CPUID 7.0: AMX-BF16, AMX-TILE, AMX-INT8.  Linux gives a process the
 * tiles' data (component 18 of its state) when it asks. */
static void look_for_amx(void)
{
    enum { ASK = 0x1023, TILE_DATA = 18, ALL = 1 << 22 | 1 << 24 | 1 << 25 };
    unsigned a, b, c, d;

    amx = ctt_has_vnni() && __get_cpuid_count(7, 0, &a, &b, &c, &d) &&
          (d & ALL) == ALL &&
          syscall(SYS_arch_prctl, ASK, TILE_DATA) == 0;
}

int ctt_has_amx(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, look_for_amx);
    return amx;
}

/* ---- the shape of sums ---- */

/* STRIPS: most of a time; ROWS, PANEL: most rows and bytes of the panel; least
 * of a call that tiles compute. */
enum { STRIPS = 8, ROWS = 96, PANEL = 512 << 10,
       LEAST_PIXELS = 8, LEAST_UNITS = 8, LEAST_CHANNELS = 8 };

int ctt_amx_can(const struct ctt_call *c)
{
    const struct ctt_tensor *w = &c->w[0].t;

    return ctt_rows(&c->out) >= LEAST_PIXELS &&
           c->out.c / ctt_call_groups(c) >= LEAST_CHANNELS &&
           ctt_volume(w) / w->n >= 4 * LEAST_UNITS;
}

/* Units of all runs of a window. */
static int64_t units_of(const struct ctt_int8_job *j)
{
    const int *k = j->c->node->attr.conv.kernel;

    return j->steps * k[0] * k[1];
}

static int64_t chunks_of(int64_t units)
{
    return (units + AMX_UNITS - 1) / AMX_UNITS;
}

/* Bytes of a row of the panel: an odd number of cache lines, as rows a power of
 * two apart put each other out of the cache. */
static int64_t panel_row(const struct ctt_int8_job *j)
{
    return (chunks_of(units_of(j)) | 1) * 64;
}

static int64_t panel_pixels(const struct ctt_int8_job *j)
{
    int64_t n = PANEL / panel_row(j) / AMX_ROWS;

    n = n < 2 ? 2 : n * AMX_ROWS > ROWS ? ROWS / AMX_ROWS : n;
    return n * AMX_ROWS;
}

int64_t ctt_amx_room(const struct ctt_int8_job *j)
{
    return panel_pixels(j) * panel_row(j) + 64;
}

/* The least number of equal chunks of a run; 0: none of at least half a
 * tile. */
static int64_t equal_chunks(int64_t units)
{
    for (int64_t n = chunks_of(units); n <= units / (AMX_UNITS / 2); n++)
        if (units % n == 0)
            return n;
    return units < AMX_UNITS / 2 ? 1 : 0;
}

/* Pixels whose windows are neighbours at a constant distance: those of a row of
 * the image, or all. */
static int64_t neighbours(const struct ctt_int8_job *j)
{
    const int *k = j->c->node->attr.conv.kernel;
    const int *s = j->c->node->attr.conv.stride;
    int all = k[0] * k[1] * k[2] * s[0] * s[1] * s[2] == 1 &&
              j->size[2] == j->out[2] && j->size[1] == j->out[1] &&
              j->size[0] == j->out[0];

    return all ? j->rows : j->out[2];
}

/* The work of 16 pixels, in cycles: a product of tiles takes 16, to copy a line
 * of 64 bytes COPY. */
enum { PRODUCT = 16, COPY = 4 };

static int reads_in_place(const struct ctt_int8_job *j)
{
    const int *k = j->c->node->attr.conv.kernel;
    int64_t runs = (int64_t)k[0] * k[1], equal = equal_chunks(j->steps);
    int given = j->x == j->c->in[0].data;    /* not to be read beyond its end */
    int64_t n = neighbours(j), strips = (n + AMX_ROWS - 1) / AMX_ROWS;
    int64_t tiles = (j->outs + 15) / 16 * PRODUCT;
    int64_t copies = runs * chunks_of(j->steps) + 1;

    if (!equal || runs > AMX_RUNS ||
        (given && (n < j->rows || n < AMX_ROWS)))
        return 0;
    return runs * equal * tiles * strips * AMX_ROWS <=
           (chunks_of(units_of(j)) * tiles + AMX_ROWS * copies * COPY) * n;
}

/* ---- pixels ---- */

/* Strips of pixels of a task: addresses, pixels of each, and rows before the
 * first that another strip has. */
struct strips {
    int         n;
    const char *x[STRIPS];
    int         rows[STRIPS], skip[STRIPS];
};

/* The part of a task that is computed at a time. */
struct amx_work {
    const struct ctt_int8_job *j;     /* elements are bytes */
    const struct ctt_int8_isa *plain;
    int                        in_place;
    int64_t                    apart;     /* neighbours */
    struct amx_feed            feed;
    struct strips              s;
};

/* Equal chunks of each run, read in place. */
static void feed_in_place(struct amx_work *k)
{
    const struct ctt_int8_job *j = k->j;
    const int *size = j->c->node->attr.conv.kernel;
    struct amx_feed *f = &k->feed;

    k->apart = neighbours(j);
    f->chunks = equal_chunks(j->steps);
    f->units = j->steps / f->chunks;
    f->step = f->units * 4;
    f->last = INT64_MAX;
    f->ldx = j->c->node->attr.conv.stride[2] * j->pixel;
    for (f->runs = 0; f->runs < size[0] * size[1]; f->runs++)
        f->at[f->runs] = (f->runs / size[1] * j->size[1] + f->runs % size[1]) *
                         j->size[2] * j->pixel;
}

/* Chunks of a panel.  The last one ends with the last unit, and begins with
 * zeros for those that the one before has.  (0 times an infinite weight is a
 * NaN, where the other kernels give infinity.) */
static void feed_panel(struct amx_work *k)
{
    int64_t units = units_of(k->j);
    struct amx_feed *f = &k->feed;

    f->runs = 1;
    f->at[0] = 0;
    f->chunks = chunks_of(units);
    f->units = units < AMX_UNITS ? units : AMX_UNITS;
    f->step = 64;
    f->last = units - f->units;
    f->ldx = panel_row(k->j);
}

/* Copies n bytes; what follows them up to 64 bytes becomes 0. */
INLINE void copy_run(const uint8_t *x, int64_t n, char *to)
{
    for (; n >= 64; n -= 64, x += 64, to += 64)
        _mm512_storeu_si512(to, _mm512_loadu_si512(x));
    if (n)
        _mm512_storeu_si512(to, _mm512_maskz_loadu_epi8(
            ~(__mmask64)0 >> (64 - n), x));
}

/* Copies a window to a row of the panel. */
static void copy_window(const struct ctt_int8_job *j, const uint8_t *x,
                        char *row)
{
    const int *k = j->c->node->attr.conv.kernel;
    int64_t units = units_of(j), last = (chunks_of(units) - 1) * 64;
    __mmask16 used = (__mmask16)(0xffffu << (-units & (AMX_UNITS - 1)));
    char *to = row;

    _mm512_storeu_si512(row + last, _mm512_setzero_si512());
    for (int64_t d = 0; d < k[0]; d++)
        for (int64_t h = 0; h < k[1]; h++, to += 4 * j->steps)
            copy_run(x + (d * j->size[1] + h) * j->size[2] * j->pixel,
                     j->run, to);
    if (units > AMX_UNITS)
        _mm512_storeu_si512(row + last, _mm512_maskz_expand_epi32(
            used, _mm512_loadu_si512(row + last)));
}

/* Takes n pixels from p on, as many as fit, and returns how many. */
static int64_t take_panel(struct amx_work *k, const uint8_t *x,
                          struct pixel *p, int64_t n, char *panel)
{
    int64_t most = panel_pixels(k->j), ld = k->feed.ldx;
    struct strips *s = &k->s;

    n = n < most ? n : most;
    for (int64_t i = 0; i < n; i++, step_on(k->j, x, p))
        copy_window(k->j, p->x, panel + i * ld);
    for (s->n = 0; s->n * AMX_ROWS < n; s->n++) {
        int64_t left = n - s->n * AMX_ROWS;
        s->x[s->n] = panel + s->n * AMX_ROWS * ld;
        s->rows[s->n] = (int)(left < AMX_ROWS ? left : AMX_ROWS);
        s->skip[s->n] = 0;
    }
    return n;
}

/* The same of pixels that are read in place, of which `row` is the first.  A
 * strip at the end of the values begins earlier; others end with values that
 * belong to no pixel of theirs. */
static int64_t take_in_place(struct amx_work *k, const uint8_t *x,
                             struct pixel *p, int64_t row, int64_t n)
{
    int64_t flat = k->apart == k->j->rows, done = 0;
    struct strips *s = &k->s;

    for (s->n = 0; s->n < STRIPS && done < n; s->n++) {
        int64_t left = n - done, end = k->apart - p->w, even;
        if (!flat && end < left)
            left = end;
        even = (left + AMX_ROWS - 1) / AMX_ROWS;
        left = flat ? left : (left + even - 1) / even;
        left = left < AMX_ROWS ? left : AMX_ROWS;
        s->rows[s->n] = (int)left;
        s->skip[s->n] = flat && row + done >= AMX_ROWS - left
                            ? AMX_ROWS - (int)left : 0;
        s->x[s->n] = (const char *)p->x - s->skip[s->n] * k->feed.ldx;
        done += left;
        for (int64_t i = 0; i < left; i++)
            step_on(k->j, x, p);
    }
    return done;
}

/* ---- products ---- */

/* Sums of up to four strips, their rows one after another. */
struct sums { _Alignas(64) char room[(5 * AMX_ROWS) * 4 * 64]; };

/* Computes the block of channels `block` of strips from `at` on, n of them. */
static void run_strips(const struct amx_work *k, const char *w,
                       const int32_t *start, int64_t regs, int at, int n,
                       char *first)
{
    const struct amx_kernels *by = &amx_kernels[k->plain->bytes > 1];
    const char *const *x = k->s.x + at;
    char *y[4];
    int64_t row = 0, ld = regs * 64;

    for (int i = 0; i < n; i++) {
        y[i] = first + (row - k->s.skip[at + i]) * ld;
        row += k->s.rows[at + i];
    }
    if (regs == 1) {
        by->tall[n](&k->feed, x, w, start, y, ld);
        return;
    }
    if (n == 1) {
        by->wide[regs](&k->feed, x, w, start, y, ld);
        return;
    }
    for (int64_t r = 0; r + 2 <= regs; r += 2) {
        char *to[2] = { y[0] + r * 64, y[1] + r * 64 };
        by->square(&k->feed, x, w + r * 64, start + r * 16, to, ld);
    }
    if (regs == 3) {
        char *to[2] = { y[0] + 128, y[1] + 128 };
        by->tall[2](&k->feed, x, w + 128, start + 32, to, ld);
    }
}

static void run_block(struct amx_work *k, int64_t block, int64_t row)
{
    const struct ctt_int8_job *j = k->j;
    int64_t left = j->outs - block % j->blocks * 64;
    int64_t regs = left < 64 ? (left + 15) / 16 : 4;
    int64_t each = units_of(j) * 64 * 4;
    struct sums y;
    char *first = y.room + AMX_ROWS * regs * 64;
    int most = regs == 1 ? 4 : 2;

    k->feed.ldw = regs * 64;
    for (int at = 0, n; at < k->s.n; at += n) {
        int64_t rows = 0;
        n = k->s.n - at < most ? k->s.n - at : most;
        run_strips(k, (const char *)j->w + block * each,
                   j->start + block * 64, regs, at, n, first);
        for (int i = 0; i < n; i++)
            rows += k->s.rows[at + i];
        k->plain->put(j, block, row, rows, first);
        row += rows;
    }
}

/* ---- a task ---- */

/* Shapes of the tile registers: sums, pixels, weights. */
static void configure(int units)
{
    struct { uint8_t palette, row, none[14]; uint16_t bytes[16];
             uint8_t rows[16]; } c = { .palette = 1 };

    for (int t = 0; t < 8; t++) {
        c.bytes[t] = (uint16_t)(t == 4 || t == 5 ? 4 * units : 64);
        c.rows[t] = (uint8_t)(t > 5 ? units : AMX_ROWS);
    }
    TILES_READ();
    TILES_BEGIN(&c);
}

/* The job with bytes for elements. */
static struct ctt_int8_job in_bytes(const struct ctt_int8_job *job, int bytes)
{
    struct ctt_int8_job j = *job;

    j.pixel *= bytes;
    j.plane *= bytes;
    j.run *= bytes;
    return j;
}

void ctt_amx_task(const struct ctt_int8_isa *plain,
                  const struct ctt_int8_job *job, int64_t at, int who)
{
    struct ctt_int8_job j = in_bytes(job, plain->bytes);
    struct amx_work k;
    int64_t many = j.groups * j.blocks / j.together;
    int64_t row = (j.by_blocks ? at % j.chunks : at / many) * j.chunk;
    int64_t block = (j.by_blocks ? at / j.chunks : at % many) * j.together;
    const uint8_t *x = (const uint8_t *)j.x + block / j.blocks * j.plane;
    int64_t left = j.rows - row < j.chunk ? j.rows - row : j.chunk, n;
    struct pixel p = pixel_at(&j, x, row);

    k.j = &j;
    k.plain = plain;
    k.in_place = reads_in_place(&j);
    if (k.in_place)
        feed_in_place(&k);
    else
        feed_panel(&k);
    configure((int)k.feed.units);
    for (; left > 0; left -= n, row += n) {
        n = k.in_place ? take_in_place(&k, x, &p, row, left)
                       : take_panel(&k, x, &p, left, j.room + who * j.each);
        for (int64_t b = 0; b < j.together; b++)
            run_block(&k, block + b, j.first_row + row);
    }
    TILES_END();
}
#else
int ctt_has_amx(void)
{
    return 0;
}
#endif
