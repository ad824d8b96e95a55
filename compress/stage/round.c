/* SPDX-License-Identifier: Apache-2.0
 * round.c: the stage "rounding": weights get fewer significant bits; the zero
 * bits at their ends take almost no space in a deflated file (Zender 2016).
 * The numbers of a bias become multiples of one scale, which a file stores as
 * small integers, or keep significant bits of their own. */
#include "compress/stage.h"
#include "base/half.h"
#include "net/op.h"
#include "net/quant.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ALL_BITS = 24, BIAS_BITS = 8 };    /* of a float; of a bias, at most */
enum { COARSE = 64, MANY = 100 };

/* To the nearest, ties to even.  A carry out of the mantissa correctly raises
 * the exponent. */
static float nearest_float(float x, int bits)
{
    uint32_t u, cut = 24 - (uint32_t)bits, half, mask;

    if (cut == 0)
        return x;
    memcpy(&u, &x, sizeof(u));
    mask = (UINT32_C(1) << cut) - 1;
    half = (mask >> 1) + (u >> cut & 1);
    if ((u & 0x7f800000u) < 0x7f000000u)    /* else it might become infinite */
        u = (u + half) & ~mask;
    memcpy(&x, &u, sizeof(x));
    return x;
}

static void round_floats(float *w, int64_t n, int bits)
{
    for (int64_t k = 0; k < n; k++)
        w[k] = nearest_float(w[k], bits);
}

/* Rounds the kernel of a conv of quantised values to whole numbers of steps,
 * unless it has a codebook: each channel's step would make values of its own.
 * Returns whether it has none. */
static int round8(struct ctt_model *m, const struct ctt_node *n)
{
    float *w = m->w + n->at[0];

    for (int64_t i = n->at[0]; i < n->at[0] + ctt_volume(&n->w[0]); i++)
        if (ctt_code(&m->constraint, i))
            return 0;
    ctt_quant_floats(w, n->w[0].n, ctt_volume(&n->w[0]) / n->w[0].n, w);
    return 1;
}

void ctt_round_kernel(struct ctt_model *m, int i, int bits)
{
    const struct ctt_node *n = &m->g->node[i];

    if (ctt_is_int8(m->g, i) && round8(m, n))
        return;
    round_floats(m->w + n->at[0], ctt_volume(&n->w[0]), bits);
}

void ctt_round(struct ctt_model *m, int bits)
{
    for (int i = 0; i < m->g->count; i++)
        if (ctt_is_conv(&m->g->node[i]))
            ctt_round_kernel(m, i, bits);
}

int ctt_round_has(const float *w, int64_t n)
{
    int bits = 1;

    for (int64_t k = 0; k < n; k++)
        while (bits < ALL_BITS && nearest_float(w[k], bits) != w[k])
            bits++;
    return bits;
}

static float largest_of(const float *w, int64_t n)
{
    float largest = 0;

    for (int64_t k = 0; k < n; k++)
        largest = fmaxf(largest, fabsf(w[k]));
    return largest;
}

/* Multiples of a scale, as the coding `int8` of a file finds it again: the
 * largest number over `most`.  A -0 would need a sign of its own. */
static void round_vector(float *w, int64_t n, float most)
{
    float scale = largest_of(w, n) / most;

    for (int64_t k = 0; k < n && scale > 0; k++) {
        float q = rintf(w[k] / scale);

        w[k] = q == 0 ? 0 : scale * fmaxf(-most, fminf(most, q));
    }
}

/* Whether a byte more for each bias is lost among the bytes of the kernels:
 * weights that are not 0 are MANY times as many. */
static int has_room(const struct ctt_model *m)
{
    int64_t kept = 0, biases = 0;

    for (int i = 0; i < m->g->count; i++) {
        const struct ctt_node *n = &m->g->node[i];

        if (!ctt_is_conv(n))
            continue;
        for (int64_t j = 0; j < ctt_volume(&n->w[0]); j++)
            kept += m->w[n->at[0] + j] != 0;
        biases += n->nw > 1 ? ctt_volume(&n->w[1]) : 0;
    }
    return kept > MANY * biases;
}

/* Whether a byte with the scale of the whole bias could move a channel by more
 * than 1/COARSE of what inputs of variance 1 give it: batch norms that were
 * folded leave channels that differ by thousands. */
static int is_coarse(const struct ctt_model *m, const struct ctt_node *n, int k)
{
    const float *w = m->w + n->at[0];
    int64_t rows = ctt_volume(&n->w[k]), each;
    double half = largest_of(m->w + n->at[k], rows) / (1 << BIAS_BITS);

    each = ctt_volume(&n->w[0]) / rows;
    for (int64_t r = 0; r < rows; r++, w += each) {
        double squares = 0;

        for (int64_t j = 0; j < each; j++)
            squares += (double)w[j] * (double)w[j];
        if (squares > 0 && COARSE * half > sqrt(squares))
            return 1;
    }
    return 0;
}

static void round_vectors(struct ctt_model *m, int i, int bits, int room)
{
    const struct ctt_node *n = &m->g->node[i];
    float most = (float)((1 << (bits - 1)) - 1);

    for (int k = 0; k < n->nw; k++) {
        float *w = m->w + n->at[k];

        if (ctt_ops[n->op].weight[k].role != CTT_ROLE_VECTOR)
            continue;
        if (ctt_is_conv(n) && (room || is_coarse(m, n, k)))
            round_floats(w, ctt_volume(&n->w[k]), bits);
        else
            round_vector(w, ctt_volume(&n->w[k]), most);
    }
}

void ctt_round_vectors(struct ctt_model *m, int i, int bits)
{
    round_vectors(m, i, bits, has_room(m));
}

void ctt_round_biases(struct ctt_model *m, int bits)
{
    int room = has_room(m);

    for (int i = 0; i < m->g->count; i++)
        round_vectors(m, i, bits, room);
}

static void half_vector(float *w, int64_t n)
{
    for (int64_t j = 0; j < n; j++) {
        float h = ctt_of_f16(ctt_f16_of(w[j]));
        w[j] = isfinite(h) ? h : w[j];
    }
}

void ctt_round_half(struct ctt_model *m)
{
    for (int i = 0; i < m->g->count; i++) {
        const struct ctt_node *n = &m->g->node[i];
        int int8 = ctt_is_int8(m->g, i);

        if (int8)
            round8(m, n);
        for (int k = int8; k < n->nw; k++)
            half_vector(m->w + n->at[k], ctt_volume(&n->w[k]));
    }
}

/* ---- the stage ---- */

static const struct ctt_opt options[] = {
    { .name = "round", .type = CTT_INT,
      .off = offsetof(struct ctt_recipe, round.bits), .dflt = "8",
      .help = "significant bits that weights are rounded to at the end; 24: "
      "no rounding", .min = 1, .max = ALL_BITS, .arg = "BITS",
      .needs = "!half" },
    { .name = "bias-bits", .type = CTT_INT,
      .off = offsetof(struct ctt_recipe, round.bias_bits), .dflt = "8",
      .help = "bits, 2 to 8, of each number of a bias (and of gamma and beta "
      "of norms that are left) at the end, with one scale for a whole bias, or "
      "significant bits where that is too coarse for a channel, or hardly "
      "more than the file has; 0: no rounding", .max = BIAS_BITS,
      .arg = "BITS", .needs = "!half" },
    { .name = "half", .type = CTT_FLAG,
      .off = offsetof(struct ctt_recipe, round.half), .dflt = "0",
      .help = "round weights and biases to half precision instead: without "
      "other stages half the file, at hardly any loss" },
    { .name = NULL }
};

static int weights_asked(const struct ctt_recipe *o)
{
    return o->round.bits > 0 && o->round.bits < ALL_BITS;
}

static int rounding_asked(const struct ctt_recipe *o)
{
    return o->round.half || weights_asked(o) || o->round.bias_bits > 0;
}

/* The others have defaults. */
static int given(const struct ctt_recipe *o)
{
    return o->round.half;
}

static int check_rounding(const struct ctt_recipe *o, const struct ctt_model *m)
{
    int rc = 0;

    (void)m;
    CTT_CHECK(o->round.bits >= 0 && o->round.bits <= ALL_BITS, CTT_EINVAL,
              "a float has no %d significant bits", o->round.bits);
    CTT_CHECK(o->round.bias_bits == 0 || (o->round.bias_bits >= 2 &&
              o->round.bias_bits <= BIAS_BITS), CTT_EINVAL,
              "a bias is rounded to 2 to %d bits, not to %d", BIAS_BITS,
              o->round.bias_bits);
out:
    return rc;
}

static int round_model(struct ctt_walk *k, int round)
{
    const struct ctt_round *o = &k->o->round;
    char weights[48] = "", biases[48] = "";
    int rc;

    (void)round;
    CTT_TRY(ctt_model_finite(*k->m));
    if (o->half) {
        ctt_round_half(*k->m);
        snprintf(k->name, sizeof(k->name), "rounded");
        snprintf(k->line, sizeof(k->line), "rounded to half precision");
        goto out;
    }
    if (weights_asked(k->o)) {
        ctt_round(*k->m, o->bits);
        snprintf(weights, sizeof(weights), ": %d significant bits", o->bits);
    }
    if (o->bias_bits) {
        ctt_round_biases(*k->m, o->bias_bits);
        snprintf(biases, sizeof(biases), ": biases to %d bits", o->bias_bits);
    }
    snprintf(k->name, sizeof(k->name), "rounded");
    snprintf(k->line, sizeof(k->line), "rounded%s%s", weights, biases);
out:
    return rc;
}

/* Not retrained: that would undo the rounding. */
const struct ctt_stage ctt_stage_round = {
    .section = "Rounding", .options = options, .ask = "--half",
    .asked = rounding_asked, .given = given, .check = check_rounding,
    .run = round_model,
};
