/* SPDX-License-Identifier: Apache-2.0
 * cell.c: composite words of the model language.  A cell is a short form of
 * several lines; no other file knows cells.  The lines leave little work in the
 * loop over the steps (doc/design.md). */
#include "net/append.h"

#include <string.h>

struct cell {
    const char *in;
    const struct ctt_graph *graph;  /* the lines before it */
    const struct ctt_node *from;    /* the node of that name, or NULL */
    int hidden, kernel, order, steps, rank, out, stride, norm, delay, skip;
    int box[3];
    float eps;
    const char *memory;
};

#define FIELD(f) offsetof(struct cell, f)

static const struct ctt_opt lstm_opts[] = {
    { "in", CTT_STRING, FIELD(in), NULL, "input node" },
    { "hidden", CTT_INT, FIELD(hidden), NULL, "channels", 1, 1 << 16 },
    { .name = NULL }
};
static const struct ctt_opt convlstm_opts[] = {
    { "in", CTT_STRING, FIELD(in), NULL, "input node" },
    { "hidden", CTT_INT, FIELD(hidden), NULL, "channels", 1, 1 << 16 },
    { "kernel", CTT_INT, FIELD(kernel), "3", "odd window", 1, 31 },
    { .name = NULL }
};
static const struct ctt_opt convttlstm_opts[] = {
    { "in", CTT_STRING, FIELD(in), NULL, "input node" },
    { "hidden", CTT_INT, FIELD(hidden), NULL, "channels", 1, 1 << 16 },
    { "kernel", CTT_INT, FIELD(kernel), "3", "odd window", 1, 31 },
    { "order", CTT_INT, FIELD(order), "3", "tensor-train cores", 1, 16 },
    { "steps", CTT_INT, FIELD(steps), "3", "past states used", 1, 16 },
    { "rank", CTT_INT, FIELD(rank), "8", "tensor-train rank", 1, 4096 },
    { .name = NULL }
};
static const struct ctt_opt e3dlstm_opts[] = {
    { "in", CTT_STRING, FIELD(in), NULL, "input node" },
    { "hidden", CTT_INT, FIELD(hidden), NULL, "channels", 1, 1 << 16 },
    { "kernel", CTT_INT3, FIELD(box), "2,5,5", "depth,height,width of the "
      "window", 1, 31 },
    { "steps", CTT_INT, FIELD(steps), "8", "memories recalled", 2, 1000 },
    { "memory", CTT_STRING, FIELD(memory), "", "the e3dlstm whose global "
      "memory goes in" },
    { "eps", CTT_FLOAT, FIELD(eps), "1e-5", "of the norms", 1e-12, 1 },
    { .name = NULL }
};
static const struct ctt_opt resblock_opts[] = {
    { "in", CTT_STRING, FIELD(in), NULL, "input node" },
    { "out", CTT_INT, FIELD(out), NULL, "channels", 1, 1 << 16 },
    { "kernel", CTT_INT, FIELD(kernel), "3", "odd window", 1, 31 },
    { "stride", CTT_INT, FIELD(stride), "1", "of the first conv", 1, 99 },
    { "norm", CTT_INT, FIELD(norm), "1", "batch norm after each conv", 0, 1 },
    { .name = NULL }
};
static const struct ctt_opt change_opts[] = {
    { "in", CTT_STRING, FIELD(in), NULL, "input node" },
    { "delay", CTT_INT, FIELD(delay), "1", "steps between the two", 1, 1000 },
    { .name = NULL }
};
static const struct ctt_opt average_opts[] = {
    { "in", CTT_STRING, FIELD(in), NULL, "input node" },
    { "steps", CTT_INT, FIELD(steps), "256", "steps that count alike", 1,
      1 << 16 },
    { "skip", CTT_INT, FIELD(skip), "0", "steps left out at the start", 0,
      1000 },
    { .name = NULL }
};

/* ---- lines ---- */

#define ADD(...) CTT_TRY(ctt_append(text, __VA_ARGS__))

/* A conv over rows and columns that keeps the size. */
static int conv(char **text, const char *name, const char *in,
                const char *plus, int out, int k, int bias)
{
    return ctt_append(text, "conv %s in=%s%s%s out=%d kernel=1,%d,%d "
                      "pad=0,%d,%d bias=%d", name, in, plus ? " plus=" : "",
                      plus ? plus : "", out, k, k, k / 2, k / 2, bias);
}

/* Gates and state update, the same for every cell; NAME.z exists. */
static int update(char **text, const char *name, const struct cell *c)
{
    int rc = 0;

    ADD("state %s.c1 of=%s.c like=%s.z c=%d", name, name, name, c->hidden);
    ADD("lstm %s in=%s.z,%s.c1", name, name, name);
    ADD("cell %s.c in=%s", name, name);
out:
    return rc;
}

/* (Shi et al. 2015, without peepholes.)  The conv of the input is free; only
 * that of the old hidden state is in the loop. */
static int convlstm(char **text, const char *name, const struct cell *c)
{
    char zx[2 * CTT_NAME], z[2 * CTT_NAME], h1[2 * CTT_NAME];
    int rc = 0;

    snprintf(zx, sizeof(zx), "%s.zx", name);
    snprintf(z, sizeof(z), "%s.z", name);
    snprintf(h1, sizeof(h1), "%s.h1", name);
    CTT_TRY(conv(text, zx, c->in, NULL, 4 * c->hidden, c->kernel, 1));
    ADD("state %s of=%s like=%s c=%d", h1, name, zx, c->hidden);
    CTT_TRY(conv(text, z, h1, zx, 4 * c->hidden, c->kernel, 0));
    CTT_TRY(update(text, name, c));
out:
    return rc;
}

/* (Hochreiter and Schmidhuber 1997; Gers 2000): a ConvLSTM of 1x1. */
static int lstm(char **text, const char *name, const struct cell *c)
{
    struct cell one = *c;

    one.kernel = 1;
    return convlstm(text, name, &one);
}

/* Core l of the train reads its slices of q, the convs of the states delayed by
 * order-l .. steps-l steps, and the results of the cores before it. */
static int core(char **text, const char *name, const struct cell *c,
                int l)
{
    char list[CTT_MAX_IN * 2 * CTT_NAME] = "", p[2 * CTT_NAME];
    char a[2 * CTT_NAME], old[2 * CTT_NAME];
    int rc = 0, lags = c->steps - c->order + 1;

    for (int i = 0, d = c->order - l; i < lags; i++, d++) {
        int from = (l * lags + i) * c->rank;
        size_t n = strlen(list);
        ADD("slice %s.s%d_%d in=%s.q%d from=%d to=%d", name, l, d, name, d,
            from, from + c->rank);
        snprintf(list + n, sizeof(list) - n, "%s%s.s%d_%d", n ? "," : "",
                 name, l, d);
    }
    snprintf(a, sizeof(a), "%s.a%d", name, l);
    snprintf(p, sizeof(p), "%s.%c%d", name, l ? 'p' : 'a', l);
    snprintf(old, sizeof(old), "%s.a%d", name, l - 1);
    ADD("add %s in=%s bias=1", p, list);
    if (l > 0)
        CTT_TRY(conv(text, a, old, p, c->rank, c->kernel, 1));
out:
    return rc;
}

/* (Su et al. 2020.)  The convs of one state for all cores and lags are one conv
 * q, computed with the state; its biases are added where a delayed slice is
 * used, since before the first step a state is zero, without biases. */
static int convttlstm(char **text, const char *name,
                      const struct cell *c)
{
    char zx[2 * CTT_NAME], z[2 * CTT_NAME], q[2 * CTT_NAME];
    char a[2 * CTT_NAME];
    int rc = 0, lags = c->steps - c->order + 1;
    int wide = c->order * lags * c->rank;

    CTT_CHECK(lags >= 1 && lags <= CTT_MAX_IN, CTT_EINVAL,
              "%s: order %d with %d steps", name, c->order, c->steps);
    snprintf(zx, sizeof(zx), "%s.zx", name);
    snprintf(z, sizeof(z), "%s.z", name);
    snprintf(q, sizeof(q), "%s.q", name);
    snprintf(a, sizeof(a), "%s.a%d", name, c->order - 1);
    CTT_TRY(conv(text, zx, c->in, NULL, 4 * c->hidden, c->kernel, 1));
    for (int d = 1; d <= c->steps; d++)
        ADD("state %s%d of=%s like=%s c=%d delay=%d", q, d, q, zx, wide, d);
    for (int l = 0; l < c->order; l++)
        CTT_TRY(core(text, name, c, l));
    CTT_TRY(conv(text, z, a, zx, 4 * c->hidden, c->kernel, 0));
    CTT_TRY(update(text, name, c));
    CTT_TRY(conv(text, q, name, NULL, wide, c->kernel, 0));
out:
    return rc;
}

/* (Wang et al. 2019.)  A '.' that begins a word stands for "NAME.", @ for NAME,
 * $1 to $7 for multiples of the channels, other $ as e3d_value says. */
static const char e3d_lines[] =
    "conv .x in=$X out=$7 $K\n"            /* i g r o; i g f of the memory */
    "groupnorm .xn in=.x eps=$E\n"
    "state .h1 of=@ like=.x c=$1\n"
    "conv .h in=.h1 out=$4 $K\n"           /* i g r o */
    "groupnorm .hn in=.h eps=$E\n"
    "conv .m in=$G out=$4 $K\n"            /* i f g, and the memory */
    "groupnorm .mn in=.m eps=$E\n"
    "slice .xs in=.xn from=0 to=$4\n"
    "add .z in=.xs,.hn\n"
    "slice .zi in=.z from=0 to=$1\n"
    "slice .zg in=.z from=$1 to=$2\n"
    "slice .zr in=.z from=$2 to=$3\n"
    "slice .zo in=.z from=$3 to=$4\n"
    "slice .xi in=.xn from=$4 to=$5\n"
    "slice .xg in=.xn from=$5 to=$6\n"
    "slice .xf in=.xn from=$6 to=$7\n"
    "slice .mi in=.mn from=0 to=$1\n"
    "slice .mf in=.mn from=$1 to=$2\n"
    "slice .mg in=.mn from=$2 to=$3\n"
    "slice .mm in=.mn from=$3 to=$4\n"
    "act .i in=.zi kind=sigmoid\n"
    "act .u in=.zg kind=tanh\n"
    "act .r in=.zr kind=sigmoid\n"
    "pool .p in=.h kind=max\n"             /* which memories there are */
    "slice .p1 in=.p from=0 to=$1\n"
    "softmax .1 in=.p1 over=positions\n"
    "slice .e0 in=.1 from=0 to=1\n"
    "state .e1 of=.e like=.p c=$S\n"
    "slice .es in=.e1 from=0 to=$R\n"
    "concat .e in=.e0,.es\n"
    "state .c1 of=.c like=.x c=$1\n"       /* the memories */
    "state .k1 of=.k like=.x c=$T\n"
    "slice .ks in=.k1 from=0 to=$U\n"
    "concat .k in=.c1,.ks\n"
    "attend .a in=.r,.k,.e\n"
    "add .ca in=.c1,.a\n"
    "groupnorm .cn in=.ca eps=$E\n"
    "mul .iu in=.i,.u\n"
    "add .c in=.cn,.iu\n"
    "attend .b in=.r,.1\n"                 /* 1 */
    "add .ti in=.xi,.mi\n"
    "add .tg in=.xg,.mg\n"
    "add .tf in=.xf,.mf,.b\n"
    "act .ia in=.ti kind=sigmoid\n"
    "act .ga in=.tg kind=tanh\n"
    "act .fa in=.tf kind=sigmoid\n"
    "act .ma in=.mm kind=tanh\n"
    "mul .fm in=.fa,.ma\n"
    "mul .im in=.ia,.ga\n"
    "add .g in=.fm,.im\n"
    "conv .oc in=.c plus=.zo out=$1 $K\n"
    "conv .og in=.g plus=.oc out=$1 $K\n"
    "act .ot in=.og kind=tanh\n"
    "act .o in=.ot kind=sigmoid\n"
    "concat .cg in=.c,.g\n"
    "conv .t in=.cg out=$1\n"
    "act .y in=.t kind=tanh\n"
    "mul @ in=.y,.o\n";

enum { E3D_ROOM = 128 };

/* X: the input; G: the global memory; K: the window; E: eps; S: steps, R: one
 * less; T, U: that many times the channels. */
static void e3d_value(const struct cell *c, const char *memory, char mark,
                      char out[E3D_ROOM])
{
    const int *k = c->box, n = c->steps, h = c->hidden;

    if (mark == 'X' || mark == 'G')
        snprintf(out, E3D_ROOM, "%s", mark == 'X' ? c->in : memory);
    else if (mark == 'K')
        snprintf(out, E3D_ROOM, "kernel=%d,%d,%d pad=%d,%d,%d after=%d,%d,%d",
                 k[0], k[1], k[2], (k[0] - 1) / 2, (k[1] - 1) / 2,
                 (k[2] - 1) / 2, k[0] / 2, k[1] / 2, k[2] / 2);
    else if (mark == 'E')
        snprintf(out, E3D_ROOM, "%.9g", (double)c->eps);
    else
        snprintf(out, E3D_ROOM, "%d", mark == 'S' ? n : mark == 'R' ? n - 1 :
                 mark == 'T' ? n * h : mark == 'U' ? (n - 1) * h :
                 (mark - '0') * h);
}

/* Appends one of the lines, s, with its marks replaced. */
static int e3d_line(char **text, const char *name, const struct cell *c,
                    const char *memory, const char *s, size_t len)
{
    char line[CTT_MAX_LINE] = "", value[E3D_ROOM];
    size_t at = 0;

    for (size_t i = 0; i < len && at < sizeof(line); i++) {
        if (s[i] == '$')
            e3d_value(c, memory, s[++i], value);
        else if (s[i] == '@' || (s[i] == '.' && strchr(" =,", s[i - 1])))
            snprintf(value, sizeof(value), "%s%s", name,
                     s[i] == '.' ? "." : "");
        else
            snprintf(value, sizeof(value), "%c", s[i]);
        at += (size_t)snprintf(line + at, sizeof(line) - at, "%s", value);
    }
    return ctt_append(text, "%s", line);
}

/* The global memory is that of a line above, in this step, or that of a line
 * not yet there, a step ago. */
static int e3dlstm(char **text, const char *name, const struct cell *c)
{
    const char *of = c->memory ? c->memory : name;
    char memory[2 * CTT_NAME];
    int rc = 0, above;

    CTT_CHECK(strlen(of) + 2 < CTT_NAME, CTT_EFORMAT, "%s: memory=%s: the name "
              "is too long", name, of);
    CTT_CHECK((int64_t)c->steps * c->hidden <= CTT_MAX_SIZE, CTT_EINVAL,
              "%s: %d memories of %d channels are more than %d", name,
              c->steps, c->hidden, CTT_MAX_SIZE);
    snprintf(memory, sizeof(memory), "%s.g", of);
    above = ctt_graph_find(c->graph, memory);
    CTT_CHECK(above >= 0 || ctt_graph_find(c->graph, of) < 0, CTT_EINVAL,
              "%s: memory=%s is no e3dlstm", name, of);
    CTT_CHECK(above < 0 || c->graph->node[above].out.c == c->hidden,
              CTT_EINVAL, "%s: memory=%s has another number of channels than "
              "%d", name, of, c->hidden);
    if (above < 0) {
        ADD("state %s.g1 of=%s like=%s c=%d", name, memory, c->in, c->hidden);
        snprintf(memory, sizeof(memory), "%s.g1", name);
    }
    for (const char *s = e3d_lines; *s; s += strcspn(s, "\n") + 1)
        CTT_TRY(e3d_line(text, name, c, memory, s, strcspn(s, "\n")));
out:
    return rc;
}

static int block_conv(char **text, const char *name, char step,
                      const char *in, const struct cell *c, int stride)
{
    int rc = 0, k = c->kernel;

    ADD("conv %s.%c in=%s out=%d kernel=1,%d,%d stride=1,%d,%d pad=0,%d,%d "
        "bias=%d", name, step, in, c->out, k, k, stride, stride, k / 2, k / 2,
        !c->norm);
    if (c->norm)
        ADD("norm %s.%cn in=%s.%c kind=batch", name, step, name, step);
out:
    return rc;
}

/* (He et al. 2016): two convs and a shortcut, which is a 1x1 conv where the
 * shape changes. */
static int resblock(char **text, const char *name, const struct cell *c)
{
    int rc = 0, same;
    const char *n = c->norm ? "n" : "";
    char in[2 * CTT_NAME];

    CTT_CHECK(c->from, CTT_EFORMAT, "%s: no node '%s' before it", name,
              c->in);
    same = c->stride == 1 && c->from->out.c == c->out;
    CTT_TRY(block_conv(text, name, '1', c->in, c, c->stride));
    ADD("act %s.r in=%s.1%s kind=relu", name, name, n);
    snprintf(in, sizeof(in), "%s.r", name);
    CTT_TRY(block_conv(text, name, '2', in, c, 1));
    if (!same)
        ADD("conv %s.s in=%s out=%d kernel=1 stride=1,%d,%d bias=%d", name,
            c->in, c->out, c->stride, c->stride, 1);
    ADD("add %s.a in=%s.2%s,%s%s", name, name, n, same ? c->in : name,
        same ? "" : ".s");
    ADD("act %s in=%s.a kind=relu", name, name);
out:
    return rc;
}

/* The absolute difference in time. */
static int change(char **text, const char *name, const struct cell *c)
{
    int rc = 0;

    ADD("state %s.p of=%s delay=%d fill=first", name, c->in, c->delay);
    ADD("add %s.d in=%s,%s.p minus=1", name, c->in, name);
    ADD("act %s in=%s.d kind=abs", name, name);
out:
    return rc;
}

/* NAME.g: 1 / the steps so far, of which NAME.n is a count that ends. */
static int count(char **text, const char *name, const struct cell *c)
{
    int rc = 0;

    ADD("pool %s.m in=%s.x kind=max", name, name);
    ADD("softmax %s.1 in=%s.m over=channels", name, name);
    if (c->skip)
        ADD("state %s.s of=%s.1 delay=%d", name, name, c->skip);
    ADD("add %s.0 in=%s.1,%s.1 minus=1", name, name, name);
    ADD("add %s.b in=%s.0,%s.%c minus=1", name, name, name,
        c->skip ? 's' : '1');
    ADD("act %s.l in=%s.b kind=leaky slope=%.9g", name, name,
        (double)(6.0f / (float)c->steps));
    ADD("add %s.u in=%s.0,%s.l minus=1", name, name, name);
    ADD("state %s.n1 of=%s.n like=%s.u c=1", name, name, name);
    ADD("add %s.t in=%s.u,%s.n1", name, name, name);
    ADD("act %s.n in=%s.t kind=relu6", name, name);
    ADD("act %s.i in=%s.n kind=inverse", name, name);
    ADD("mul %s.g in=%s.i,%s.u", name, name, name);
out:
    return rc;
}

/* The mean over the steps so far, each number for itself; no weights, so
 * training changes no count. */
static int average(char **text, const char *name, const struct cell *c)
{
    const struct ctt_tensor *t;
    int rc = 0;

    CTT_CHECK(c->from, CTT_EFORMAT, "%s: no node '%s' before it", name,
              c->in);
    t = &c->from->out;
    ADD("reshape %s.x in=%s w=%lld c=1", name, c->in,
        (long long)((int64_t)t->d * t->h * t->w * t->c));
    CTT_TRY(count(text, name, c));
    ADD("state %s.p of=%s.y like=%s.x c=1", name, name, name);
    ADD("add %s.d in=%s.x,%s.p minus=1", name, name, name);
    ADD("mul %s.e in=%s.d,%s.g", name, name, name);
    ADD("add %s.y in=%s.p,%s.e", name, name, name);
    ADD("reshape %s in=%s.y d=%lld h=%lld w=%lld c=%lld", name, name,
        (long long)t->d, (long long)t->h, (long long)t->w, (long long)t->c);
out:
    return rc;
}

static const struct {
    const char *word;
    const struct ctt_opt *opts;
    int (*expand)(char **, const char *, const struct cell *);
    const char *use;    /* one line */
} cells[] = {
    { "lstm", lstm_opts, lstm,
      "an LSTM on a vector" },
    { "convlstm", convlstm_opts, convlstm,
      "a ConvLSTM (Shi et al. 2015)" },
    { "convttlstm", convttlstm_opts, convttlstm,
      "a Conv-TT-LSTM, which reads several past states (Su et al. 2020)" },
    { "resblock", resblock_opts, resblock,
      "two convs and a shortcut (He et al. 2016)" },
    { "e3dlstm", e3dlstm_opts, e3dlstm,
      "an LSTM of volumes that recalls memories (Wang et al. 2019)" },
    { "change", change_opts, change,
      "a value minus the one some steps before" },
    { "average", average_opts, average,
      "mean over the steps so far; in long streams a running mean" },
};

static int find_cell(const char *word)
{
    for (size_t i = 0; i < CTT_LEN(cells); i++)
        if (strcmp(cells[i].word, word) == 0)
            return (int)i;
    return -1;
}

int ctt_cell_known(const char *word)
{
    return find_cell(word) >= 0;
}

const char *ctt_cell_word(int i, const struct ctt_opt **opts, const char **use)
{
    if (i < 0 || i >= (int)CTT_LEN(cells))
        return NULL;
    *opts = cells[i].opts;
    *use = cells[i].use;
    return cells[i].word;
}

/* Fills in a cell from the words of its line. */
static int read_words(const struct ctt_opt *opts, const char *name, int argc,
                      char **argv, struct cell *c)
{
    struct ctt_opt_seen seen = { { 0 } };
    int rc = 0;

    CTT_TRY(ctt_opt_defaults(opts, c));
    for (int a = 0; a < argc; a++) {
        rc = ctt_opt_word(opts, c, argv[a], &seen);
        if (rc < 0)
            CTT_TRY(ctt_error(rc, "%s: %s", name, ctt_errmsg()));
    }
    rc = ctt_opt_missing(opts, &seen);
    if (rc < 0)
        CTT_TRY(ctt_error(rc, "%s: %s", name, ctt_errmsg()));
out:
    return rc;
}

int ctt_cell_expand(const struct ctt_graph *g, const char *word,
                    const char *name, int argc, char **argv, char **out)
{
    struct cell c = { .graph = g };
    int rc = 0, i = find_cell(word), from;
    char *text = NULL;

    CTT_CHECK(i >= 0, CTT_EINVAL, "no cell '%s'", word);
    CTT_CHECK(strlen(name) + 8 < CTT_NAME, CTT_EFORMAT, "'%s': name too long",
              name);
    CTT_TRY(read_words(cells[i].opts, name, argc, argv, &c));
    CTT_CHECK(c.kernel % 2 == 1 || c.kernel == 0, CTT_EINVAL,
              "%s: the kernel %d is even", name, c.kernel);
    CTT_CHECK(c.in, CTT_EFORMAT, "%s: 'in' must be given", name);
    from = ctt_graph_find(g, c.in);
    c.from = from < 0 ? NULL : &g->node[from];
    CTT_TRY(cells[i].expand(&text, name, &c));
    *out = text;
    text = NULL;
out:
    ctt_free(text);
    return rc;
}
