/* SPDX-License-Identifier: Apache-2.0
 * int8_plus_tmpl.h: the plus input of a conv of quantised values, floats or
 * bytes.  The file that includes it has defined INLINE, ivec and fvec of LANES
 * numbers, and load_few(p, n): n floats. */

/* The plus input, if x is not NULL: ld in bytes; of bytes the step and the byte
 * of 0, else scale 0. */
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

/* The address of the numbers of a row of the plus input, from a channel on. */
INLINE const char *plus_at(const struct plus *p, int64_t row, int64_t from)
{
    return p->x ? p->x + row * p->ld + (p->scale > 0 ? from : 4 * from) : NULL;
}

/* n of its bytes, LANES of them or fewer, as numbers.  From 8 bits to 32 by way
 * of 16: in one step GCC 12 takes registers apart, 40 instructions. */
INLINE fvec plus_bytes(const struct plus *p, const char *at, int64_t n)
{
    typedef uint8_t bvec __attribute__((vector_size(LANES)));
    typedef uint16_t hvec __attribute__((vector_size(2 * LANES)));
    bvec b = { 0 };
    hvec h;

    if (n == LANES)
        memcpy(&b, at, sizeof(b));
    else
        memcpy(&b, at, (size_t)n);
    h = __builtin_convertvector(b, hvec);
    return __builtin_convertvector(__builtin_convertvector(h, ivec) - p->zero,
                                   fvec) * p->scale;
}

/* n numbers of it, LANES of them or fewer, r registers on. */
INLINE fvec load_plus(const struct plus *p, const char *at, int r, int64_t n)
{
    if (p->scale > 0)
        return plus_bytes(p, at + r * LANES, n);
    return load_few((const float *)(const void *)at + r * LANES, n);
}
