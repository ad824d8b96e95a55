/* SPDX-License-Identifier: Apache-2.0
 * warp.cc: what the lanes of a warp exchange in its collectives. */
#include "base/half.h"
#include "tests/sim/cuda_warp.h"
#include "tests/sim/inside.h"

enum { WARP = CTT_SIM_WARP, ALL_LANES = -1 };

/* ---- shuffles ---- */

struct shuffle : ctt_sim_collective {
    ctt_sim_shuffle how;
    int             by, width;
    uint64_t        x, result;
};

static int shuffle_source(const shuffle &s, int lane)
{
    int first = lane / s.width * s.width, end = first + s.width, from;

    if (s.how == CTT_SIM_IDX)
        return first + (s.by & (s.width - 1));
    from = s.how == CTT_SIM_UP ? lane - s.by
         : s.how == CTT_SIM_DOWN ? lane + s.by : lane ^ s.by;
    if (s.how == CTT_SIM_UP)
        return from >= first ? from : lane;
    return from < end ? from : lane;
}

static void do_shuffle(ctt_sim_collective *const *calls, unsigned)
{
    for (int l = 0; l < WARP; l++) {
        shuffle *s = (shuffle *)calls[l];
        if (!s)
            continue;
        int from = shuffle_source(*s, l);
        if (!calls[from])
            ctt_sim_die("kernel %s: lane %d reads lane %d, which does not "
                        "call %s (%s:%d)", ctt_sim_kernel_name().c_str(), l,
                        from, s->name, s->file, s->line);
        s->result = ((shuffle *)calls[from])->x;
    }
}

uint64_t ctt_sim_shfl(ctt_sim_shuffle how, unsigned mask, uint64_t x, int by,
                      int width, const char *file, int line)
{
    static const char *const names[] = { "shfl.idx", "shfl.up", "shfl.down",
                                         "shfl.bfly" };
    shuffle s;

    static_cast<ctt_sim_collective &>(s) = { names[how], file, line, mask,
                                             do_shuffle };
    s.how = how;
    s.by = by;
    s.width = width;
    s.x = x;
    if (width < 1 || width > WARP || (width & (width - 1)))
        ctt_sim_die("%s (%s:%d): a width of %d lanes", s.name, file, line,
                    width);
    ctt_sim_meet(s);
    return s.result;
}

/* ---- matrices from shared memory ---- */

struct ldmatrix : ctt_sim_collective {
    int         n;
    bool        trans;
    const void *row;
    uint32_t   *r;
};

/* Number [row][col] of matrix m, as lane `me` reads it. */
static uint16_t number_of(ctt_sim_collective *const *calls, int m, int row,
                          int col)
{
    const ldmatrix *from = (const ldmatrix *)calls[8 * m + row];
    const uint16_t *p = (const uint16_t *)from->row + col;

    ctt_sim_read(p, sizeof(*p));
    return *p;
}

static void do_ldmatrix(ctt_sim_collective *const *calls, unsigned first)
{
    for (int l = 0; l < WARP; l++) {
        ldmatrix *c = (ldmatrix *)calls[l];
        ctt_sim_me.thread = (uint16_t)(first + (unsigned)l);
        for (int m = 0; m < c->n; m++) {
            uint32_t word = 0;
            for (int i = 0; i < 2; i++) {
                int row = l / 4, col = l % 4 * 2 + i;
                word |= (uint32_t)(c->trans ? number_of(calls, m, col, row)
                                            : number_of(calls, m, row, col))
                        << 16 * i;
            }
            c->r[m] = word;
        }
    }
}

void ctt_sim_ldmatrix(int n, bool trans, const void *row, uint32_t *r,
                      const char *file, int line)
{
    ldmatrix c;

    static_cast<ctt_sim_collective &>(c) = {
        trans ? "ldmatrix.trans" : "ldmatrix", file, line,
        (unsigned)ALL_LANES, do_ldmatrix };
    c.n = n;
    c.trans = trans;
    c.row = row;
    c.r = r;
    if ((uintptr_t)row % 16 || ctt_sim_touches(row, 1))
        ctt_sim_die("ldmatrix (%s:%d): a row at %p: not of shared memory, or "
                    "not at a multiple of 16 bytes", file, line, row);
    ctt_sim_meet(c);
}

/* ---- products ---- */

struct mma : ctt_sim_collective {
    ctt_sim_mma_type type;
    float           *d;
    const uint32_t  *a, *b;
};

/* Number i of a register: two of 16 bits, or a float, cut as TF32. */
static float factor_of(const mma &c, const uint32_t *r, int i)
{
    uint16_t half = (uint16_t)(r[i / 2] >> i % 2 * 16);
    uint32_t bits = r[i / 2] & ~UINT32_C(0x1fff);
    float x;

    memcpy(&x, &bits, sizeof(x));
    return c.type == CTT_SIM_TF32_MMA ? x
           : c.type == CTT_SIM_BF16_MMA ? ctt_of_bf16(half) : ctt_of_f16(half);
}

/* Lane l has of A the rows l / 4 and 8 more, of B the column l / 4, of each the
 * numbers l % 4 * 2 and 1, 8 and 9 more along k, or in TF32 l % 4 and 4 more;
 * of the sums the rows of A and the columns l % 4 * 2 and 1 more. */
static void do_mma(ctt_sim_collective *const *calls, unsigned)
{
    float a[16][16], b[16][8];
    int each = ((const mma *)calls[0])->type == CTT_SIM_TF32_MMA ? 1 : 2;

    ctt_sim_note_run(calls[0]->name);
    for (int l = 0; l < WARP; l++) {
        const mma &c = *(const mma *)calls[l];
        for (int r = 0; r < 4; r++)
            for (int i = 0; i < each; i++) {
                int k = l % 4 * each + i + r / 2 * 4 * each;
                a[l / 4 + r % 2 * 8][k] = factor_of(c, c.a, 2 * r + i);
            }
        for (int r = 0; r < 2; r++)
            for (int i = 0; i < each; i++) {
                int k = l % 4 * each + i + r * 4 * each;
                b[k][l / 4] = factor_of(c, c.b, 2 * r + i);
            }
    }
    for (int l = 0; l < WARP; l++)
        for (int i = 0; i < 4; i++)
            for (int k = 0; k < 8 * each; k++)
                ((mma *)calls[l])->d[i] += a[l / 4 + i / 2 * 8][k] *
                                           b[k][l % 4 * 2 + i % 2];
}

void ctt_sim_mma(ctt_sim_mma_type type, float *d, const uint32_t *a,
                 const uint32_t *b, const char *file, int line)
{
    static const char *const names[] = { "mma.f16", "mma.bf16", "mma.tf32" };
    mma c;

    static_cast<ctt_sim_collective &>(c) = { names[type], file, line,
                                             (unsigned)ALL_LANES, do_mma };
    c.type = type;
    c.d = d;
    c.a = a;
    c.b = b;
    ctt_sim_meet(c);
}

uint32_t ctt_sim_to_tf32(uint32_t bits)
{
    float x;

    memcpy(&x, &bits, sizeof(x));
    x = ctt_sim_tf32(x);
    memcpy(&bits, &x, sizeof(bits));
    return bits;
}
