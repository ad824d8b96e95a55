/* SPDX-License-Identifier: Apache-2.0
 * int8_plus_tmpl.h: the plus input of a conv of quantised values, floats or
 * bytes.  The file that includes it has defined INLINE, ivec and fvec of LANES
 * numbers, and load_few(p, n): n floats. */

/* The plus input; x NULL: none. ld: bytes from row to row.  Of bytes: scale,
 * and the byte of value 0; else scale 0. */
struct plus { const char *x; int64_t ld; float scale; int zero; };

static struct plus plus_of(const struct ctt_call *c)
{
    const struct ctt_tensor *x = &c->in[1];

    if (!c->node->plus || !x->data)
        return (struct plus){ NULL, 0, 0, 0 };
    if (ctt_is_bytes(x))
        return (struct plus){ x->data, x->ld, x->scale, x->zero };
    return (struct plus){ x->data, x->ld * 4, 0, 0 };
}

/* Address of a row's numbers, from channel `from` on. */
INLINE const char *plus_at(const struct plus *p, int64_t row, int64_t from)
{
    return p->x ? p->x + row * p->ld + (p->scale > 0 ? from : 4 * from) : NULL;
}

/* Loads n <= LANES bytes as integers. */
#ifdef WIDEN_BYTES
#define widened WIDEN_BYTES
#else
/* From 8 to 32 bits by way of 16: for a single step GCC 12 splits registers, in
 * 40 instructions. */
INLINE ivec widened(const char *at, int64_t n)
{
    typedef uint8_t bvec __attribute__((vector_size(LANES)));
    typedef uint16_t hvec __attribute__((vector_size(2 * LANES)));
    bvec b = { 0 };
    hvec h;

    if (n == LANES)
        memcpy(&b, at, sizeof(b));
    else
        for (int64_t i = 0; i < n && i < LANES; i++)
            b[i] = (uint8_t)at[i];
    h = __builtin_convertvector(b, hvec);
    return __builtin_convertvector(h, ivec);
}
#endif

/* Loads n <= LANES bytes as numbers. */
INLINE fvec plus_bytes(const struct plus *p, const char *at, int64_t n)
{
    return __builtin_convertvector(widened(at, n) - p->zero, fvec) * p->scale;
}

/* Loads n <= LANES numbers, r registers after `at`. */
INLINE fvec load_plus(const struct plus *p, const char *at, int r, int64_t n)
{
    if (p->scale > 0)
        return plus_bytes(p, at + r * LANES, n);
    return load_few((const float *)(const void *)at + r * LANES, n);
}
