/* SPDX-License-Identifier: Apache-2.0
 * wino_window_tmpl.h: transforms windows of weights to frequencies and back,
 * LANES of them at once.  Windows are [tap][LANES]. */

/* G of the points 0, 1, -1, infinity with 2, -2, and with 1/2, -1/2: the
 * coefficients of a window to its frequencies.  The factors belong to the input
 * and output transforms of wino_vec_tmpl.h. */
static const float g6[6][5] = {
    { 1 / 4.f, 0, 0 },
    { -1 / 6.f, -1 / 6.f, -1 / 6.f },
    { -1 / 6.f, 1 / 6.f, -1 / 6.f },
    { 1 / 24.f, 1 / 12.f, 1 / 6.f },
    { 1 / 24.f, -1 / 12.f, 1 / 6.f },
    { 0, 0, 1 },
};
static const float g8[8][5] = {
    { 1, 0, 0, 0, 0 },
    { -2 / 9.f, -2 / 9.f, -2 / 9.f, -2 / 9.f, -2 / 9.f },
    { -2 / 9.f, 2 / 9.f, -2 / 9.f, 2 / 9.f, -2 / 9.f },
    { 1 / 90.f, 2 / 90.f, 4 / 90.f, 8 / 90.f, 16 / 90.f },
    { 1 / 90.f, -2 / 90.f, 4 / 90.f, -8 / 90.f, 16 / 90.f },
    { 4 / 45.f, 2 / 45.f, 1 / 45.f, 1 / 90.f, 1 / 180.f },
    { 4 / 45.f, -2 / 45.f, 1 / 45.f, -1 / 90.f, 1 / 180.f },
    { 0, 0, 0, 0, 1 },
};

/* u[freq * step][LANES] = G window G^T; r and side are constants. */
INLINE void forth_window(const float g[][5], int r, int side,
                         const float *win, float *u, int64_t step)
{
    vec part[8][5];

    for (int i = 0; i < side; i++)
        UNROLL for (int b = 0; b < r; b++) {
            part[i][b] = g[i][0] * load(win + b * LANES);
            UNROLL for (int a = 1; a < r; a++)
                part[i][b] += g[i][a] * load(win + (a * r + b) * LANES);
        }
    for (int i = 0; i < side; i++)
        UNROLL for (int j = 0; j < side; j++) {
            vec sum = part[i][0] * g[j][0];
            UNROLL for (int b = 1; b < r; b++)
                sum += part[i][b] * g[j][b];
            store(u + (i * side + j) * step, sum);
        }
}

/* The same of g4, whose products are exact: three numbers become the first,
 * halves of their sum with either sign of the second, and the third. */
INLINE void small_line(const vec x[3], vec y[4])
{
    vec ends = x[0] * 0.5f, middle = x[1] * 0.5f, last = x[2] * 0.5f;

    y[0] = x[0];
    y[1] = ends + middle + last;
    y[2] = ends - middle + last;
    y[3] = x[2];
}

static void small_window(const float *win, float *u, int64_t step)
{
    vec part[3][4], y[4];

    UNROLL for (int b = 0; b < 3; b++) {
        const vec x[3] = { load(win + b * LANES), load(win + (3 + b) * LANES),
                           load(win + (6 + b) * LANES) };
        small_line(x, part[b]);
    }
    UNROLL for (int i = 0; i < 4; i++) {
        const vec x[3] = { part[0][i], part[1][i], part[2][i] };
        small_line(x, y);
        UNROLL for (int j = 0; j < 4; j++)
            store(u + (i * 4 + j) * step, y[j]);
    }
}

static void windows_to_freq(int side, const float *win, float *u, int64_t step)
{
    if (side == 4)
        small_window(win, u, step);
    else if (side == 6)
        forth_window(g6, 3, 6, win, u, step);
    else
        forth_window(g8, 5, 8, win, u, step);
}

/* window = G^T u G: the gradient of a window from that of its frequencies. */
INLINE void back_window(const float g[][5], int r, int side, const float *u,
                        float *win)
{
    vec part[5][8];

    for (int j = 0; j < side; j++)
        UNROLL for (int a = 0; a < r; a++) {
            part[a][j] = g[0][a] * load(u + j * LANES);
            UNROLL for (int i = 1; i < side; i++)
                part[a][j] += g[i][a] * load(u + (i * side + j) * LANES);
        }
    for (int a = 0; a < r; a++)
        UNROLL for (int b = 0; b < r; b++) {
            vec sum = part[a][0] * g[0][b];
            UNROLL for (int j = 1; j < side; j++)
                sum += part[a][j] * g[j][b];
            store(win + (a * r + b) * LANES, sum);
        }
}

static void windows_from_freq(int side, const float *u, float *win)
{
    if (side == 6)
        back_window(g6, 3, 6, u, win);
    else
        back_window(g8, 5, 8, u, win);
}
