/* SPDX-License-Identifier: Apache-2.0
 * test_render.c: frames made of bytes are what their description says, and the
 * same with every instruction set. */
#include "tests/lib/shots.h"

#include <math.h>

/* Channel k of a pixel before colours are mixed. */
static double pixel(const struct ctt_render *r, const uint8_t *data, int x,
                    int y, int k)
{
    const struct ctt_paint *p = r->paint;
    double sum = 0;

    if (x >= p->x && x < p->x + p->w && y >= p->y && y < p->y + p->h)
        return (double)p->fill[k];
    for (int i = 0; i < r->y[y].n; i++)
        for (int j = 0; j < r->x[x].n; j++) {
            int at = (r->y[y].from + i) * r->stored_w + r->x[x].from + j;
            sum += (double)r->wy[y * r->most_y + i] *
                   (double)r->wx[x * r->most_x + j] *
                   (double)p->table[k][data[at * r->c + k]];
        }
    return sum;
}

static double mixed(const struct ctt_render *r, const double v[3], int k)
{
    const struct ctt_paint *p = r->paint;

    if (!p->mixed)
        return v[k];
    return (double)p->of[k][0] * v[0] + (double)p->of[k][1] * v[1] +
           (double)p->of[k][2] * v[2] + (double)p->add[k];
}

static void check_frame(const struct ctt_shots *s, int i, const float *x)
{
    struct ctt_render r = ctt_shots_clip(s, s->block, i % s->n);
    const uint8_t *data = ctt_shots_frame(s, s->block, i);

    for (int at = 0; at < s->w * s->h; at++) {
        double v[3] = { 0 };
        for (int k = 0; k < s->c && data; k++)
            v[k] = pixel(&r, data, at % s->w, at / s->w, k);
        for (int k = 0; k < s->c; k++)
            CU_ASSERT_DOUBLE_EQUAL(*x++, data ? mixed(&r, v, k) : 0, 1e-4);
    }
}

static void frames_are_as_described(void)
{
    struct ctt_dev *plain = NULL, *best = NULL;

    CHECK_OK(ctt_dev_open("ref", 1, &plain));
    CHECK_OK(ctt_dev_open("cpu", 1, &best));
    for (uint64_t key = 1; key <= 40; key++) {
        struct ctt_shots s = shots_new(key % 2 ? 3 : 1, 4, 1 + (int)key % 5,
                                       key);
        int n = shots_floats(&s), frame = s.w * s.h * s.c;
        float *x = ctt_check_floats(n, 1), *y = ctt_check_floats(n, 2);

        CHECK_OK(ctt_dev_render(plain, &s, x));
        CHECK_OK(ctt_dev_render(best, &s, y));
        CHECK_CLOSE(x, y, n, 0);
        for (int i = 0; i < s.steps * s.n; i++)
            check_frame(&s, i, x + i * frame);
        ctt_free(x);
        ctt_free(y);
        ctt_free(s.block);
    }
    ctt_dev_close(&plain);
    ctt_dev_close(&best);
}

/* No number is written behind the last. */
static void nothing_else_is_written(void)
{
    struct ctt_shots s = shots_new(3, 1, 2, 3);
    float *x = ctt_check_floats(shots_floats(&s) + 1, 1);
    struct ctt_dev *d = NULL;
    float last = x[shots_floats(&s)];

    CHECK_OK(ctt_dev_open("cpu", 1, &d));
    CHECK_OK(ctt_dev_render(d, &s, x));
    CU_ASSERT(x[shots_floats(&s)] == last);
    ctt_dev_close(&d);
    ctt_free(x);
    ctt_free(s.block);
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "frames are as described", frames_are_as_described },
        { "nothing else is written", nothing_else_is_written },
        CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = {
        { .pName = "render", .pTests = tests }, CU_SUITE_INFO_NULL
    };

    return ctt_check_main(suites);
}
