/* SPDX-License-Identifier: Apache-2.0
 * fuzz_model_seed.c: the inputs that fuzz_model begins with, in its form, and
 * the words that it puts into them. */
#include "tests/fuzz/fuzz.h"
#include "net/file/file.h"

const char *const ctt_fuzz_words[] = {
    "all", "mask", "index", "f32", "raw", "deflate", "huffman", "0", "1", "24",
    "-1", "9223372036854775807", "99999999999999999999", "00000000", "c.w",
    "conv c in=x out=4\n", "out=1048576", "kernel=4096", "bias=0", "3,1,1,1,2",
    "\n", " ", "\x1f\x8b\x08", "\n%net\n", "\n%net raw\n",
    "\n%index\n", "\n%packed\n", "\n%texts\n", "\n%texts net 9 index 9\n",
    "gaps", "block", "f16", "int8", "codebook", "codebook-bits",
    "\n%labels\n", "\n%history\n", "\n%w/c.w 4 3,1,1,1,2\n",
    "\n%train/settings\n", "\n%train/index\n", "\n%train/a 8 2\n",
    "\n%decision\n", "marginal", "conditional", "inf\n",
    "\n%!version 2\n", "\n%!format other\n", "\n%!least_reader 9.1\n", "@",
    " @\n", "nan", NULL
};

#define NET "%net\ninput x c=2\nconv c in=x out=3 bias=0\n\n"
#define DECISION "decision 1\nguarantee marginal\nmax-gap 0.05\ndelta 0.1\n" \
    "clips 99\nsmooth 0.5\ntype fp32\nmodel 16 2575e80d\nthresholds "
#define ONE "%index\nc.w 3,1,1,1,2"

static const struct ctt_fuzz_text texts[] = {
    FUZZ_TEXT(NET ONE " all f32 raw 6 24 @\n\n"
              "%packed\n????????????????????????"),
    FUZZ_TEXT(NET ONE " all f32 raw 6 24 @\n\n%w/c.w 4 3,1,1,1,2\nabcd\n"
              "%history\na line\n\n"),
    FUZZ_TEXT(NET ONE " mask f32 raw 2 9 @\n\n%packed\nabcdefgh\x11"),
    FUZZ_TEXT(NET ONE " index f32 raw 2 10 @\n\n%packed\nabcdefgh\1\3"),
    FUZZ_TEXT(NET ONE " all f32 deflate 6 5 @\n\n%packed\n"
              "\xb3\xb7\xc7\x0e\0"),
    FUZZ_TEXT("%net\ninput x c=2\nconv c in=x out=3\nnorm n in=c kind=batch\n\n"
              ONE " all f32 raw 6 24 @\nc.b 3 all f32 raw 3 12 @\n"
              "n.gamma 3 all f32 raw 3 12 @\nn.beta 3 all f32 raw 3 12 @\n"
              "n.mean 3 all f32 raw 3 12 @\nn.var 3 all f32 raw 3 12 @\n\n"
              "%packed\n??????????????????????????????????????????"
              "??????????????????????????????????????????\n"
              "%train/settings\nepochs=3\n\n"
              "%train/index\na 1 4 @\nb 8 2 @\nc 4 3 @\n\n"
              "%train/a\ndata\n%train/b 8 2\n12345678abcdefgh\n"
              "%train/c 4 3\n\n"),
    FUZZ_TEXT(NET ONE " all f32 raw 6 24 @\n\n%w/c.w 4 3,1,1,1,2\n\n"
              "%labels\none\0two\0three\0"),
    FUZZ_TEXT("%texts\n" NET ONE " gaps f16 raw 2 6 @\n\n%packed\nabcd\1\2"),
    FUZZ_TEXT("%texts\n" NET ONE " block f16 raw 4 10 @\n\n"
              "%packed\nabcdABCD\0\1"),
    FUZZ_TEXT("%texts\n" NET ONE " all int8 raw 6 18 @\n\n"
              "%packed\n???\x3e???\x3e???\x3e\1\2\3\4\5\6"),
    FUZZ_TEXT("%texts\n%labels\none\0two\0\n" NET
              ONE " all codebook raw 6 12 @\n\n"
              "%packed\n\2\2\0\x3c\0\x40\0\1\0\1\1\1"),
    FUZZ_TEXT("%texts\n%history\nabc\n\n" NET
              ONE " gaps codebook-bits raw 3 10 @\n\n"
              "%packed\n\3\2\0\x3c\0\x40\0\x44\x24\0\1\1"),
    FUZZ_TEXT("%texts net 30 index 12\n" NET ONE),
    FUZZ_TEXT("%!least_reader 1.12\n" NET),
    FUZZ_TEXT("%texts\n" NET ONE " gaps f16 raw 2 6 @\n\n%packed\nabcd\1\2\n"
              "%decision\n" DECISION "2\ninf\n0.5\n"),
    FUZZ_TEXT("%texts\n" NET ONE " gaps f16 raw 2 6 @\n\n%packed\nabcd\1\2\n"
              "%decision\n" DECISION "3\ninf\n0.5\n"),
    FUZZ_TEXT("%!version 0\n" NET),
    FUZZ_TEXT("%net raw\ninput x c=2\nconv c  in=x out=3 bias=0\n\n" ONE),
    FUZZ_TEXT("not a model file"),
};

/* The last ones: a file with labels, and cut. */
static size_t file_seed(size_t cut, uint8_t *p, size_t room)
{
    static char one[] = "one", two[] = "two";
    char *label[] = { one, two };
    const char *path = ctt_scratch("seed.h5");
    struct ctt_graph *g = NULL;
    struct ctt_model *m = NULL;
    size_t n;

    FUZZ_CHECK(ctt_net_parse("input x c=4\nconv c in=x out=2\n"
                             "norm n in=c kind=batch\nact y in=n kind=relu\n",
                             &g) >= 0);
    FUZZ_CHECK(ctt_model_new(g, &m) >= 0);
    FUZZ_CHECK(ctt_model_labels(m, label, 2) >= 0);
    FUZZ_CHECK(ctt_model_save(path, m) >= 0);
    ctt_model_free(&m);
    n = ctt_scratch_get(path, p, room);
    return n - cut;
}

size_t ctt_fuzz_seed(int i, uint8_t *p, size_t room)
{
    int n = (int)CTT_LEN(texts);

    if (i < n)
        return ctt_fuzz_text(texts, n, i, p, room);
    return i < n + 2 ? file_seed(i == n ? 0 : 40, p, room) : 0;
}
