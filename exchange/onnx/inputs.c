/* SPDX-License-Identifier: Apache-2.0
 * inputs.c: the inputs of an ONNX file: shapes, the order of their axes, lines
 * of the model text. */
#include "exchange/onnx/ops.h"

#include <stdlib.h>
#include <string.h>

/* ---- shapes of inputs ---- */

/* Numbers separated by commas, up to a blank or the end. */
static int parse_sizes(const char *s, int *rank, int64_t *dim)
{
    char *end;

    for (*rank = 0; *rank < CTT_ONNX_RANK; s = end + 1) {
        dim[*rank] = strtoll(s, &end, 10);
        if (end == s || dim[*rank] < 1 || dim[*rank] > CTT_MAX_SIZE)
            return 0;
        ++*rank;
        if (*end != ',')
            return *end == '\0' || *end == ' ';
    }
    return 0;
}

static int set_shape(struct ctt_onnx *o, const char *word, size_t n)
{
    const char *eq = memchr(word, '=', n);
    int64_t dim[CTT_ONNX_RANK];
    struct ctt_onnx_value *v;
    int rc = 0, k = 0, rank;
    const char *last = eq;

    for (; last && (last = memchr(last + 1, '=', (size_t)(word + n - last -
                                                          1)));)
        eq = last;
    while (eq && k < o->inputs &&
           (strlen(o->value[o->input[k]].name) != (size_t)(eq - word) ||
            strncmp(o->value[o->input[k]].name, word,
                    (size_t)(eq - word)) != 0))
        k++;
    CTT_CHECK(k < o->inputs && (eq || o->inputs == 1), CTT_EINVAL,
              "--input-shape %.*s: no input of that name; %s has '%s'", (int)n,
              word, o->path, o->inputs ? o->value[o->input[0]].name : "none");
    CTT_CHECK(parse_sizes(eq ? eq + 1 : word, &rank, dim), CTT_EINVAL,
              "--input-shape %.*s: sizes from 1 to %d, separated by commas",
              (int)n, word, CTT_MAX_SIZE);
    v = &o->value[o->input[k]];
    CTT_CHECK(!v->said || v->rank == rank, CTT_EINVAL, "--input-shape %.*s: "
              "the input has %d axes", (int)n, word, v->rank);
    for (int a = 0; a < rank; a++) {
        CTT_CHECK(!v->said || v->dim[a] < 0 || v->dim[a] == dim[a] || a == 0,
                  CTT_EINVAL, "--input-shape %.*s: size %d of the input is "
                  "%lld", (int)n, word, a + 1, (long long)v->dim[a]);
        v->dim[a] = dim[a];
    }
    v->rank = rank;
    v->said = 1;
out:
    return rc;
}

int ctt_onnx_set_shapes(struct ctt_onnx *o, const char *s)
{
    int rc = 0;

    while (s && *s) {
        size_t n = strcspn(s, " ");

        if (n)
            CTT_TRY(set_shape(o, s, n));
        s += n + (s[n] == ' ');
    }
out:
    return rc;
}

/* The first size is that of a batch, of which 1 is taken if it varies. */
static int check_shape(const struct ctt_onnx *o, struct ctt_onnx_value *v)
{
    int rc = 0;

    CTT_CHECK(v->said, CTT_EINVAL, "%s: the shape of input '%s' is not said: "
              "give it with --input-shape %s=1,3,224,224 or the like", o->path,
              v->name, v->name);
    CTT_CHECK(v->rank > 0 && v->rank <= 5, CTT_EUNSUP, "%s: input '%s' has %d "
              "axes; 1 to 5 are possible", o->path, v->name, v->rank);
    if (v->dim[0] < 0)
        v->dim[0] = 1;
    for (int a = 0; a < v->rank; a++)
        CTT_CHECK(v->dim[a] > 0 && v->dim[a] <= CTT_MAX_SIZE, CTT_EINVAL,
                  "%s: size %d of input '%s' varies: give all with "
                  "--input-shape %s=1,3,224,224 or the like", o->path, a + 1,
                  v->name, v->name);
out:
    return rc;
}

/* ---- inputs ---- */

/* The first needed node that reads a value. */
static const struct ctt_onnx_node *reader_of(const struct ctt_onnx *o,
                                             int value)
{
    for (int i = 0; i < o->nodes; i++)
        for (int k = 0; k < o->node[i].nin && o->node[i].needed; k++)
            if (o->node[i].in[k] == value)
                return &o->node[i];
    return NULL;
}

/* Channels are axis 1, unless a Transpose brings the last one there, perhaps
 * behind operators on single numbers. */
static int is_last(const struct ctt_onnx *o, int value)
{
    static const char *const plain[] = { "Add", "Cast", "Div", "Identity",
                                         "Mul", "Sub" };
    int rank = o->value[value].rank, same = 1;
    const struct ctt_onnx_node *n;
    const int64_t *perm;
    int64_t count;

    for (int step = 0; step < 8 && same; step++) {
        n = reader_of(o, value);
        if (!n || !n->nout || n->out[0] < 0)
            return 0;
        perm = ctt_onnx_ints(n, "perm", &count);
        if (strcmp(n->op, "Transpose") == 0)
            return rank > 2 && perm && count == rank && perm[0] == 0 &&
                   perm[1] == rank - 1;
        same = 0;
        for (size_t i = 0; i < CTT_LEN(plain); i++)
            same |= strcmp(n->op, plain[i]) == 0;
        value = n->out[0];
    }
    return 0;
}

/* A clip of pictures is a window over frames. */
static int input_line(struct ctt_onnx *o, const int64_t size[CTT_IN_DIMS],
                      int *line)
{
    int64_t frame[CTT_IN_DIMS], steps = size[CTT_IN_D];
    int rc, clip = steps > 1 && steps <= 4096 && size[CTT_IN_C] <= 3 &&
                   o->inputs == 1;

    memcpy(frame, size, sizeof(frame));
    frame[CTT_IN_D] = clip ? 1 : steps;
    CTT_TRY(ctt_onnx_emit(o, "input", 0, NULL, frame, line));
    CTT_TRY(ctt_onnx_keys(o, *line, " d=%lld h=%lld w=%lld c=%lld",
                          (long long)frame[1], (long long)frame[2],
                          (long long)frame[3], (long long)frame[4]));
    if (!clip)
        goto out;
    CTT_TRY(ctt_onnx_emit(o, "window", 1, line, size, line));
    CTT_TRY(ctt_onnx_keys(o, *line, " steps=%lld", (long long)steps));
out:
    return rc;
}

static int make_input(struct ctt_onnx *o, struct ctt_onnx_value *v)
{
    int64_t size[CTT_IN_DIMS] = { 1, 1, 1, 1, 1 };
    int in[CTT_ONNX_RANK], last = is_last(o, (int)(v - o->value)), rc, line;

    for (int a = 0; a < v->rank; a++) {
        in[a] = a == 0 ? CTT_IN_N : last ? CTT_IN_C - (v->rank - 1 - a) :
                a == 1 ? CTT_IN_C : CTT_IN_W - (v->rank - 1 - a);
        if (a)
            size[in[a]] = v->dim[a];
    }
    o->at = v->name;
    CTT_TRY(input_line(o, size, &line));
    CTT_TRY(ctt_place_new(o, line, v->rank, v->dim, in, &v->place));
    v->known = CTT_ONNX_LIVE;
    v->t = (struct ctt_onnx_tensor){ .type = CTT_ONNX_FLOAT, .rank = v->rank };
    memcpy(v->t.dim, v->dim, sizeof(v->dim));
    CTT_TRY(ctt_onnx_count(v->name, v->rank, v->dim, &v->t.count));
    o->line[line].shared = v->readers > 1;
out:
    return rc;
}

int ctt_onnx_make_inputs(struct ctt_onnx *o)
{
    int kept = 0, rc = 0;

    for (int i = 0; i < o->inputs; i++)
        if (o->value[o->input[i]].readers)
            o->input[kept++] = o->input[i];
    o->inputs = kept;
    CTT_CHECK(kept, CTT_EUNSUP, "%s: the answer depends on no input", o->path);
    for (int i = 0; i < kept; i++) {
        CTT_TRY(check_shape(o, &o->value[o->input[i]]));
        CTT_TRY(make_input(o, &o->value[o->input[i]]));
    }
out:
    return rc;
}
