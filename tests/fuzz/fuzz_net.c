/* SPDX-License-Identifier: Apache-2.0
 * fuzz_net.c: any text is an error in one line or a graph whose text gives the
 * same graph. */
#include "tests/fuzz/fuzz.h"
#include "base/visible.h"
#include "net/graph.h"

#include <string.h>

static const struct ctt_fuzz_text texts[] = {
    FUZZ_TEXT("let n=2\ninput h0 h=4 w=4 c=1\nrepeat i=$n\n"
              "conv h$i in=h$i-1 out=$i*2+1\nrepeat k=0\nend\nend\n"
              "conv y in=h$n out=2\n"),
    FUZZ_TEXT("input x h=64 w=64 c=3 fps=12 mean=0.45 std=0.25,0.3,0.4 "
              "scale=1.25\n"
              "conv e in=x out=32 kernel=3 stride=2 pad=1 # a comment\n"
              "norm n in=e kind=batch eps=1e-5\nact f in=n kind=relu\n"
              "convttlstm h in=f hidden=32 kernel=5 order=3 steps=5 rank=8\n"
              "clip\nwindow v in=h steps=8 every=2 fill=first\n"
              "conv c in=v out=16 kernel=3 pad=1\n"
              "pool p in=c kind=avg\ndropout d in=p rate=0.3\n"
              "conv y in=d out=12\n"),
    FUZZ_TEXT("input x h=16 w=16 c=1 colour=gray fit=pad\n"
              "convlstm a in=x hidden=4 kernel=3\nlstm b in=a hidden=4\n"
              "slice s in=b from=1 to=3\nconcat k in=a,b\nadd t in=a,b bias=1\n"
              "mul m in=a,t\nreshape r in=m d=1 h=0 w=1 c=64\n"
              "deconv y in=r out=2 kernel=1,2,2 stride=1,2,2\n"
              "clip\nwindow v in=y steps=4 spread=1\n"),
    FUZZ_TEXT("input x h=16 w=16 c=6\nconv a in=x out=12 kernel=3 groups=6\n"
              "act r in=a kind=relu6\nconv y in=r out=3 groups=3\n"),
    FUZZ_TEXT("input x h=16 w=16 c=3 normalise=clip gamma=0.45\n"
              "conv y in=x out=3\n"),
    FUZZ_TEXT("input x h=32 w=32 d=4 c=3\nresblock a in=x out=8 stride=2\n"
              "resblock b in=a out=8 norm=0\npool p in=b kind=max kernel=2\n"
              "norm n in=p kind=layer\nconv q in=n plus=n out=8\n"
              "input t h=8 w=8 d=2 c=8\nloss l in=q,t kind=mse\n"),
    FUZZ_TEXT("input x h=8 w=8 c=3\nquant q in=x scale=0.02 zero=100\n"
              "state s of=r like=x c=3\nconcat c in=q,s\npool p in=c kind=max\n"
              "quant r in=q scale=0.02 zero=100\nconv y in=p out=2\n"),
    FUZZ_TEXT("let w=8 k=3\nlet v=$w*2\ninput x h=$w w=$v/2 c=3\n"
              "conv a$k.z in=x out=$v kernel=$k pad=1\n"),
    FUZZ_TEXT("input x h=4 w=4 c=1\nconv e in=x out=2\n"
              "conv f in=e out=1\nahead a in=f\npool p in=e kind=avg\n"
              "conv y in=p out=3\n"),
    FUZZ_TEXT("input x h=6 w=4 c=4\n"
              "collect p in=x of=rows pass=backward part=1 parts=2 all=6\n"
              "halo q in=p up=1 down=-1 above=2 below=0\n"
              "conv c in=q out=4 kernel=2\ntotal t in=c pass=backward\n"
              "collect y in=t of=channels part=0 parts=2 all=8\n"),
    FUZZ_TEXT("input x h=8 w=8 c=4\n"
              "conv a in=x out=4 kernel=3 pad=2 after=1 dilation=2\n"
              "act b in=a kind=leaky slope=0.2\npool p in=b kind=avg\n"
              "mul m in=p,b\nlrn n in=m size=3\n"
              "softmax s in=n over=positions\npool y in=s kind=max kernel=3 "
              "stride=2 after=2\n"),
    FUZZ_TEXT("input x h=4 w=4 c=2\npatch p in=x by=2\nstate q of=p\n"
              "concat r in=q,p\npatch v in=r by=2,1,1 back=1\n"
              "e3dlstm l in=v hidden=2 kernel=2,3,3 steps=3 memory=m\n"
              "e3dlstm m in=l hidden=2 kernel=1 steps=2 memory=l eps=0.01\n"
              "conv o in=m out=8 kernel=2,1,1\npatch y in=o by=2 back=1\n"),
    FUZZ_TEXT("\xef\xbb\xbfinput x c=3\nconv y in=x out=2\n"),
    FUZZ_TEXT("input x c=5\nstate s of=y like=x c=7 delay=3\n"
              "conv a in=x out=7\n"
              "add y in=a,s\nstate z of=y\nconv o in=z out=3\ninput t c=2\n"
              "loss l in=o,t kind=xent smooth=0.1\n"),
};

const char *const ctt_fuzz_words[] = {
    "input", "state", "cell", "slice", "reshape", "ahead", "window", "conv",
    "deconv",
    "pool", "upsample", "norm", "act", "add", "mul", "concat", "lstm",
    "dropout", "quant", "softmax", "lrn", "patch",
    "groupnorm", "attend", "loss", "halo", "collect", "total",
    "convlstm", "convttlstm", "e3dlstm", "resblock", "change", "average",
    "clip",
    "\nclip\n", " in=", " plus=", " by=", " of=", " like=", " c=", " out=",
    " kernel=", " stride=", " pad=", " groups=", " scale=", " zero=",
    " hidden=", " order=", " steps=", " rank=", " delay=", " every=",
    " fill=", " spread=", " up=", " down=", " above=", " below=", " pass=",
    " part=", " parts=", " all=", "rows", "channels", "forward", "backward",
    "zero", "first", "0", "1", "-1", "2", "7", "99", "1000", "4096", "65536",
    "1048576", "1048577",
    "2147483647", "2147483648", "-2147483648", "99999999999999999999", "1e39",
    "1e-46", "nan", "inf", "0x10", "1,2,3", "1,2", ",", "=", "#", "\n", "\r\n",
    "\t", "a", "b", "x", "y", "h", "h.q", "h.c", "batch", "layer", "max",
    "avg", "relu", "relu6", "leaky", "gelu", " slope=", " after=",
    " dilation=", " back=", " memory=", " eps=", " over=", "positions",
    " size=", " gamma=", " normalise=",
    "clip", "set", NULL
};

size_t ctt_fuzz_seed(int i, uint8_t *p, size_t room)
{
    return ctt_fuzz_text(texts, CTT_LEN(texts), i, p, room);
}

static void equal_weights(const struct ctt_graph *a, const struct ctt_graph *b)
{
    FUZZ_CHECK(a->count == b->count && a->clip == b->clip &&
               a->weights == b->weights);
    for (int i = 0; i < a->count; i++) {
        const struct ctt_node *m = &a->node[i], *n = &b->node[i];
        FUZZ_CHECK(m->op == n->op && m->nin == n->nin && m->nw == n->nw &&
                   m->source == n->source && m->cell == n->cell);
        FUZZ_CHECK(ctt_volume(&m->out) == ctt_volume(&n->out) &&
                   ctt_volume(&m->out) > 0);
        for (int k = 0; k < m->nw; k++)
            FUZZ_CHECK(ctt_volume(&m->w[k]) == ctt_volume(&n->w[k]) &&
                       m->at[k] + ctt_volume(&m->w[k]) <= a->weights);
    }
}

static void check_graph(const struct ctt_graph *g)
{
    struct ctt_schedule *s = NULL;
    struct ctt_graph *again = NULL;
    char *text = ctt_net_print(g), *second;

    FUZZ_CHECK(text);
    FUZZ_CHECK(ctt_net_parse(text, &again) >= 0);
    equal_weights(g, again);
    second = ctt_net_print(again);
    FUZZ_CHECK(second && strcmp(text, second) == 0);
    FUZZ_CHECK(ctt_schedule_new(g, 1, &s) >= 0);
    ctt_schedule_free(&s);
    ctt_graph_free(&again);
    ctt_free(text);
    ctt_free(second);
}

/* From a file the text is the same, without the mark of UTF-8 that it may begin
 * with; a 0 in it is an error. */
static void check_text_file(const uint8_t *data, size_t size, const char *text)
{
    const char *path = ctt_scratch_put("a.net", data, size);
    char *read = NULL;

    if (ctt_net_read(path, &read) >= 0)
        FUZZ_CHECK(strlen(text) == size &&
                   strcmp(read, text + ctt_mark_utf8(text, size)) == 0);
    else
        ctt_fuzz_refused(path);
    ctt_free(read);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ctt_graph *g = NULL;
    long live = ctt_live_blocks();
    char *text = ctt_calloc(size + 1, 1);

    FUZZ_CHECK(text);
    if (size > 0)
        memcpy(text, data, size);
    check_text_file(data, size, text);
    if (ctt_net_parse(text, &g) >= 0) {
        check_graph(g);
    } else {
        FUZZ_CHECK(!g);
        FUZZ_CHECK(ctt_errmsg()[0] && !strchr(ctt_errmsg(), '\n'));
    }
    ctt_graph_free(&g);
    ctt_free(text);
    FUZZ_CHECK(ctt_live_blocks() == live);
    return 0;
}
