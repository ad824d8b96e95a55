/* SPDX-License-Identifier: Apache-2.0
 * test_onnx_out.c: models as files of ONNX: the operators of each word, what is
 * carried from step to step, what is refused. */
#include "exchange/exchange.h"
#include "exchange/import.h"
#include "base/newfile.h"
#include "tests/lib/allocs.h"
#include "tests/lib/onnx_text.h"
#include "tests/lib/small.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char path[] = "test_onnx_out.onnx";

struct job { const char *net; struct ctt_export set; const char *text; };

static int export_text(const char *net, const struct ctt_export *set)
{
    struct ctt_model *m = small_model(net, 3);
    int rc = ctt_export_onnx(path, m, set);

    ctt_model_free(&m);
    return rc;
}

static void read_file(uint8_t **p, int64_t *size)
{
    char *s = NULL;

    CHECK_OK(ctt_file_text(path, 1 << 24, &s, size));
    *p = (uint8_t *)s;
}

static void print_jobs(const struct job *job, size_t jobs)
{
    for (size_t i = 0; i < jobs; i++) {
        uint8_t *p;
        int64_t n;

        CHECK_OK(export_text(job[i].net, &job[i].set));
        read_file(&p, &n);
        if (strcmp(onnx_text(p, n), job[i].text) != 0)
            printf("\n    number %d is\n%s", (int)i, onnx_text(p, n));
        CU_ASSERT_STRING_EQUAL(onnx_text(p, n), job[i].text);
        ctt_free(p);
        unlink(path);
    }
}

static const struct job words[] = {
    /* Windows over pixels; a pool of the whole image. */
    { .net = "input x h=4 w=6 c=4\n"
      "conv a in=x out=6 kernel=3 pad=0,1,1 groups=2\n"
      "conv b in=x plus=a out=6 bias=0\n"
      "deconv d in=b out=2 kernel=1,4,4 stride=1,2,2 pad=0,1,1\n"
      "pool p in=d kind=max kernel=2\n"
      "pool q in=p kind=avg\n"
      "conv y in=q out=3\n",
      .text =
      "in x 1,4,4,6\n"
      "Conv x a/w a/b -> a kernel_shape=3,3 strides=1,1 pads=1,1,1,1 "
      "group=2\n"
      "Conv x b/w -> /1 kernel_shape=1,1 strides=1,1 pads=0,0,0,0\n"
      "Add /1 a -> b\n"
      "ConvTranspose b d/w d/b -> d kernel_shape=4,4 strides=2,2 "
      "pads=1,1,1,1\n"
      "MaxPool d -> p kernel_shape=2,2 strides=2,2 pads=0,0,0,0\n"
      "AveragePool p -> q kernel_shape=4,6 strides=4,6 pads=0,0,0,0\n"
      "Conv q y/w y/b -> y/value kernel_shape=1,1 strides=1,1 "
      "pads=0,0,0,0\n"
      "Reshape y/value [1,3] -> y\n"
      "out y 1,3\n" },
    /* Numbers of a pixel. */
    { .net = "input x h=2 w=2 c=4\n"
      "norm n in=x kind=batch\n"
      "norm l in=n kind=layer eps=0.001\n"
      "act r in=l kind=relu\nact s in=r kind=sigmoid\nact t in=s kind=tanh\n"
      "act v in=t kind=relu6\n"
      "slice a in=v from=1 to=3\nslice b in=v from=0 to=2\n"
      "add c in=a,b minus=1 bias=1\n"
      "mul m in=c,a\n"
      "concat k in=m,a,b\n"
      "upsample u in=k by=1,2,3\n"
      "dropout o in=u\nadd e in=o\n",
      .text =
      "in x 1,4,2,2\n"
      "BatchNormalization x n/gamma n/beta n/mean n/var -> n "
      "epsilon=1e-05\n"
      "Transpose n -> /1 perm=0,2,3,1\n"
      "LayerNormalization /1 l/gamma l/beta -> /2 axis=-1 epsilon=0.001\n"
      "Transpose /2 -> l perm=0,3,1,2\n"
      "Relu l -> r\n"
      "Sigmoid r -> s\n"
      "Tanh s -> t\n"
      "Clip t [0] [6] -> v\n"
      "Slice v [1] [3] [1] [1] -> a\n"
      "Slice v [0] [2] [1] [1] -> b\n"
      "Sub a b -> /13\n"
      "Add /13 c/b -> c\n"
      "Mul c a -> m\n"
      "Concat m a b -> k axis=1\n"
      "Resize k - - [1,6,4,6] -> u mode=nearest nearest_mode=floor "
      "coordinate_transformation_mode=asymmetric\n"
      "Identity u -> o\n"
      "Identity o -> e/value\n"
      "Identity e/value -> e\n"
      "out e 1,6,4,6\n" },
    /* Windows with gaps and other padding at the end; functions of numbers. */
    { .net = "input x h=6 w=5 c=4\n"
      "conv a in=x out=2 kernel=1,3,2 pad=0,1,0 after=0,2,1 dilation=1,2,1\n"
      "pool p in=a kind=avg kernel=1,2,2 stride=1,2,2 pad=0,0,0 after=0,1,1\n"
      "act b in=p kind=hsigmoid\nact c in=b kind=hswish\n"
      "act d in=c kind=silu\nact f in=d kind=leaky slope=0.2\n"
      "act w in=f kind=abs\n"
      "lrn g in=w size=3 alpha=0.5 beta=0.7 k=2\n"
      "softmax h in=g over=channels\nsoftmax i in=h over=positions\n"
      "pool q in=i kind=max\nmul m in=g,q\n"
      "pool r in=m kind=avg\nconv y in=r out=3\n",
      .text =
      "in x 1,4,6,5\n"
      "Conv x a/w a/b -> a kernel_shape=3,2 strides=1,1 pads=1,0,2,1 "
      "dilations=2,1\n"
      "AveragePool a -> p kernel_shape=2,2 strides=2,2 pads=0,0,1,1\n"
      "HardSigmoid p -> b alpha=0.166667 beta=0.5\n"
      "HardSwish b -> c\n"
      "Sigmoid c -> /1\n"
      "Mul c /1 -> d\n"
      "LeakyRelu d -> f alpha=0.2\n"
      "Abs f -> w\n"
      "LRN w -> g size=3 alpha=0.5 beta=0.7 bias=2\n"
      "Softmax g -> h axis=1\n"
      "Reshape h [1,2,-1] -> /2\n"
      "Softmax /2 -> /3 axis=2\n"
      "Reshape /3 [1,2,3,3] -> i\n"
      "MaxPool i -> q kernel_shape=3,3 strides=3,3 pads=0,0,0,0\n"
      "Mul g q -> m\n"
      "AveragePool m -> r kernel_shape=3,3 strides=3,3 pads=0,0,0,0\n"
      "Conv r y/w y/b -> y/value kernel_shape=1,1 strides=1,1 "
      "pads=0,0,0,0\n"
      "Reshape y/value [1,3] -> y\n"
      "out y 1,3\n" },
    { .net = "input x h=1 w=1 c=2\nact y in=x kind=inverse\n",
      .text =
      "in x 1,2,1,1\n"
      "Equal x [0] -> /2\n"
      "Reciprocal x -> /3\n"
      "Where /2 [0] /3 -> y/value\n"
      "Reshape y/value [1,2] -> y\n"
      "out y 1,2\n" },
    { .net = "input x h=1 w=1 c=2\nact e in=x kind=gelu\nconv y in=e out=2\n",
      .text =
      "in x 1,2,1,1\n"
      "Div x [1.41421] -> /4\n"
      "Erf /4 -> /5\n"
      "Add /5 [1] -> /6\n"
      "Mul x /6 -> /7\n"
      "Mul /7 [0.5] -> e\n"
      "Conv e y/w y/b -> y/value kernel_shape=1,1 strides=1,1 "
      "pads=0,0,0,0\n"
      "Reshape y/value [1,2] -> y\n"
      "out y 1,2\n" },
    /* Pixels as channels and back: in the model channels are last. */
    { .net = "input x h=2 w=2 c=3\n"
      "reshape a in=x c=12\nconv d in=a out=6\n"
      "reshape b in=d h=1 w=2 c=3\nreshape y in=b h=2 w=1 c=3\n",
      .text =
      "in x 1,3,2,2\n"
      "Transpose x -> /2 perm=0,2,3,1\n"
      "Reshape /2 [1,12,1,1] -> a\n"
      "Conv a d/w d/b -> d kernel_shape=1,1 strides=1,1 pads=0,0,0,0\n"
      "Reshape d [1,1,2,3] -> /4\n"
      "Transpose /4 -> b perm=0,3,1,2\n"
      "Transpose b -> /7 perm=0,2,3,1\n"
      "Reshape /7 [1,2,1,3] -> /6\n"
      "Transpose /6 -> y/value perm=0,3,1,2\n"
      "Identity y/value -> y\n"
      "out y 1,3,2,1\n" },
    /* A cell; a state that is read twice. */
    { .net = "input x h=1 w=1 c=3\n"
      "lstm h in=x hidden=2\n"
      "state s of=h delay=3\n"
      "add t in=h,s\nconv y in=t out=3\n",
      .text =
      "in x 1,3,1,1\n"
      "in past.h 1,6,1,1\n"
      "in past.h.c 1,2,1,1\n"
      "Conv x h.zx/w h.zx/b -> h.zx kernel_shape=1,1 strides=1,1 "
      "pads=0,0,0,0\n"
      "Slice past.h [4] [6] [1] [1] -> h.h1\n"
      "Conv h.h1 h.z/w -> /5 kernel_shape=1,1 strides=1,1 pads=0,0,0,0\n"
      "Add /5 h.zx -> h.z\n"
      "Identity past.h.c -> h.c1\n"
      "Split h.z -> /9 /10 /11 /12 axis=1\n"
      "Sigmoid /9 -> /13\n"
      "Sigmoid /10 -> /14\n"
      "Sigmoid /11 -> /15\n"
      "Tanh /12 -> /16\n"
      "Mul /14 h.c1 -> /6\n"
      "Mul /13 /16 -> /7\n"
      "Add /6 /7 -> h/cell\n"
      "Tanh h/cell -> /8\n"
      "Mul /15 /8 -> h\n"
      "Identity h/cell -> h.c\n"
      "Slice past.h [0] [2] [1] [1] -> s\n"
      "Add h s -> t\n"
      "Conv t y/w y/b -> y/value kernel_shape=1,1 strides=1,1 "
      "pads=0,0,0,0\n"
      "Reshape y/value [1,3] -> y\n"
      "Slice past.h [2] [6] [1] [1] -> /24\n"
      "Concat /24 h -> next.h axis=1\n"
      "Identity h.c -> next.h.c\n"
      "out y 1,3\n"
      "out next.h 1,6,1,1\n"
      "out next.h.c 1,2,1,1\n" },
    /* Before the first step there is that step's value, or zeros. */
    { .net = "input x h=2 w=2 c=1\n"
      "state p of=x delay=2 fill=first\n"
      "add d in=x,p minus=1\n"
      "clip\nwindow v in=d steps=3 every=2\n"
      "pool m in=v kind=max\nconv y in=m out=2\n",
      .text =
      "in x 1,1,2,2\n"
      "in past.x 1,2,2,2\n"
      "in past.d 1,4,2,2\n"
      "in start 1 bool\n"
      "Tile x [1,2,1,1] -> /1\n"
      "Where start /1 past.x -> x/past\n"
      "Slice x/past [0] [1] [1] [1] -> p\n"
      "Sub x p -> d\n"
      "Reshape d [1,1,1,2,2] -> /8\n"
      "Reshape past.d [1,4,1,2,2] -> /10\n"
      "Transpose /10 -> /11 perm=0,2,1,3,4\n"
      "Slice /11 [0] [4] [2] [2] -> /13\n"
      "Concat /13 /8 -> v axis=2\n"
      "MaxPool v -> m kernel_shape=3,2,2 strides=3,2,2 pads=0,0,0,0,0,0\n"
      "Conv m y/w y/b -> y/value kernel_shape=1,1,1 strides=1,1,1 "
      "pads=0,0,0,0,0,0\n"
      "Reshape y/value [1,2] -> y\n"
      "Slice x/past [1] [2] [1] [1] -> /20\n"
      "Concat /20 x -> next.x axis=1\n"
      "Slice past.d [1] [4] [1] [1] -> /25\n"
      "Concat /25 d -> next.d axis=1\n"
      "out y 1,2\n"
      "out next.x 1,2,2,2\n"
      "out next.d 1,4,2,2\n" },
    /* One past for a window and a state; a window of one step; depth. */
    { .net = "input x h=2 w=2 c=2\n"
      "conv e in=x out=2\nstate s of=e\n"
      "mul z in=e,s\n"
      "clip\nwindow v in=e steps=4\nwindow u in=z steps=1\n"
      "conv k in=v out=2 kernel=4,1,1\n"
      "add a in=k,u\npool m in=a kind=avg\nconv y in=m out=2\n",
      .text =
      "in x 1,2,2,2\n"
      "in past.e 1,6,2,2\n"
      "Conv x e/w e/b -> e kernel_shape=1,1 strides=1,1 pads=0,0,0,0\n"
      "Slice past.e [4] [6] [1] [1] -> s\n"
      "Mul e s -> z\n"
      "Reshape e [1,2,1,2,2] -> /5\n"
      "Reshape past.e [1,3,2,2,2] -> /7\n"
      "Transpose /7 -> /8 perm=0,2,1,3,4\n"
      "Concat /8 /5 -> v axis=2\n"
      "Reshape z [1,2,1,2,2] -> u\n"
      "Conv v k/w k/b -> k kernel_shape=4,1,1 strides=1,1,1 "
      "pads=0,0,0,0,0,0\n"
      "Add k u -> a\n"
      "AveragePool a -> m kernel_shape=1,2,2 strides=1,2,2 "
      "pads=0,0,0,0,0,0\n"
      "Conv m y/w y/b -> y/value kernel_shape=1,1,1 strides=1,1,1 "
      "pads=0,0,0,0,0,0\n"
      "Reshape y/value [1,2] -> y\n"
      "Slice past.e [2] [6] [1] [1] -> /15\n"
      "Concat /15 e -> next.e axis=1\n"
      "out y 1,2\n"
      "out next.e 1,6,2,2\n" },
    /* Bytes: as in the model, and around 0. */
    { .net = "input x h=2 w=2 c=2\n"
      "quant q in=x scale=0.5 zero=3\n"
      "pool p in=q kind=max\nconv y in=p out=2\n",
      .text =
      "in x 1,2,2,2\n"
      "QuantizeLinear x [0.5] [3] -> /3\n"
      "DequantizeLinear /3 [0.5] [3] -> q\n"
      "MaxPool q -> /4 kernel_shape=2,2 strides=2,2 pads=0,0,0,0\n"
      "QuantizeLinear /4 [0.5] [3] -> /7\n"
      "DequantizeLinear /7 [0.5] [3] -> p\n"
      "DequantizeLinear y/w/int8 y/w/step y/w/zero -> y/w axis=0\n"
      "Conv p y/w y/b -> y/value kernel_shape=1,1 strides=1,1 "
      "pads=0,0,0,0\n"
      "Reshape y/value [1,2] -> y\n"
      "out y 1,2\n" },
    { .net = "input x h=2 w=2 c=2\n"
      "quant q in=x scale=0.5 zero=1\n"
      "conv y in=q out=2 kernel=1,2,2 bias=0\n",
      .set = { .target = CTT_EXPORT_TENSORRT },
      .text =
      "in x 1,2,2,2\n"
      "QuantizeLinear x [1] [int8 0] -> /3\n"
      "DequantizeLinear /3 [1] [int8 0] -> q\n"
      "DequantizeLinear y/w/int8 y/w/step y/w/zero -> y/w axis=0\n"
      "Conv q y/w -> y/value kernel_shape=2,2 strides=1,1 pads=0,0,0,0\n"
      "Reshape y/value [1,2] -> y\n"
      "out y 1,2\n" },
    { .net = "input x h=1 w=1 c=2\nquant q in=x scale=0.5\nconv y in=q out=2\n",
      .set = { .target = CTT_EXPORT_TENSORRT },
      .text =
      "in x 1,2,1,1\n"
      "QuantizeLinear x [0.5] [int8 0] -> /3\n"
      "DequantizeLinear /3 [0.5] [int8 0] -> q\n"
      "DequantizeLinear y/w/int8 y/w/step y/w/zero -> y/w axis=0\n"
      "Conv q y/w y/b -> y/value kernel_shape=1,1 strides=1,1 "
      "pads=0,0,0,0\n"
      "Reshape y/value [1,2] -> y\n"
      "out y 1,2\n" },
    /* Halves; probabilities, of one class or of several. */
    { .net = "input x h=1 w=1 c=2\nconv y in=x out=2\n",
      .set = { .half = 1, .softmax = 1 },
      .text =
      "in x 1,2,1,1\n"
      "Cast y/w/half -> y/w to=1\n"
      "Cast y/b/half -> y/b to=1\n"
      "Conv x y/w y/b -> y/value kernel_shape=1,1 strides=1,1 "
      "pads=0,0,0,0\n"
      "Reshape y/value [1,2] -> /1\n"
      "Softmax /1 -> y axis=1\n"
      "out y 1,2\n" },
    { .net = "input x h=1 w=1 c=2\nconv y in=x out=2\nseveral\n",
      .set = { .softmax = 1 },
      .text =
      "in x 1,2,1,1\n"
      "Conv x y/w y/b -> y/value kernel_shape=1,1 strides=1,1 "
      "pads=0,0,0,0\n"
      "Reshape y/value [1,2] -> /1\n"
      "Sigmoid /1 -> y\n"
      "out y 1,2\n" },
    /* Neither the second loss of training nor a batch norm behind a conv. */
    { .net = "input x h=2 w=2 c=2\nconv a in=x out=2\n"
      "norm n in=a kind=batch\nconv b in=n out=2\nahead h in=b\n"
      "pool p in=n kind=avg\nconv y in=p out=2\n",
      .text =
      "in x 1,2,2,2\n"
      "Conv x a/w a/b -> a kernel_shape=1,1 strides=1,1 pads=0,0,0,0\n"
      "AveragePool a -> p kernel_shape=2,2 strides=2,2 pads=0,0,0,0\n"
      "Conv p y/w y/b -> y/value kernel_shape=1,1 strides=1,1 "
      "pads=0,0,0,0\n"
      "Reshape y/value [1,2] -> y\n"
      "out y 1,2\n" },
};

static void each_word(void)
{
    print_jobs(words, CTT_LEN(words));
}

/* The importer has no words for these, or leaves out what programs apply. */
static int comes_back(const struct job *j)
{
    static const char *const other[] = { "clip\n", "state ", "lstm", "ahead",
                                         "inverse" };

    for (size_t i = 0; i < CTT_LEN(other); i++)
        if (strstr(j->net, other[i]))
            return 0;
    return !j->set.half && !j->set.softmax && !j->set.target;
}

/* What comes back answers the same. */
static void back_again(void)
{
    const struct ctt_import_job job = { .path = path };
    int tried = 0;

    for (size_t i = 0; i < CTT_LEN(words); i++) {
        struct ctt_model *m = small_model(words[i].net, 3);
        struct ctt_import *back = NULL;

        if (comes_back(&words[i])) {
            CHECK_OK(ctt_export_onnx(path, m, &words[i].set));
            CHECK_OK(ctt_import_open(&job, &back));
            CU_ASSERT_FATAL(ctt_import_model(back) != NULL);
            small_compare(m, ctt_import_model(back), 1, 1e-5);
            ctt_import_close(&back);
            tried++;
        }
        ctt_model_free(&m);
    }
    CU_ASSERT(tried >= 6);
    unlink(path);
}

/* An export of convtt comes back as a whole, states and bytes included, and is
 * the same when it is written again. */
static void own_files(void)
{
    for (size_t i = 0; i < CTT_LEN(words); i++) {
        const struct job *j = &words[i];
        struct ctt_model *m = small_model(j->net, 3), *back = NULL;
        uint8_t *first, *again;
        int64_t n, k;

        CHECK_OK(ctt_export_onnx(path, m, &j->set));
        read_file(&first, &n);
        CU_ASSERT_FATAL(ctt_import_own_onnx(path, &back) == 1);
        CHECK_OK(ctt_export_onnx(path, back, &j->set));
        read_file(&again, &k);
        CU_ASSERT(n == k && memcmp(first, again, (size_t)n) == 0);
        if (!j->set.target)
            small_compare(m, back, 4, j->set.half ? 1e-2 : 1e-5);
        ctt_free(first);
        ctt_free(again);
        ctt_model_free(&m);
        ctt_model_free(&back);
    }
    unlink(path);
}

/* Changed operators are no more what the text says. */
static void changed_files(void)
{
    static const char kind[] = "MaxPool";
    const struct ctt_export set = { .half = 0 };
    struct ctt_model *back = NULL;
    uint8_t *p;
    int64_t n, changed = 0;

    CHECK_OK(export_text(words[0].net, &set));
    read_file(&p, &n);
    for (int64_t i = 0; i + 7 < n; i++)
        if (memcmp(p + i, kind, 7) == 0) {
            memcpy(p + i, "MinPool", 7);
            changed++;
        }
    CU_ASSERT(changed == 1);
    CHECK_OK(ctt_file_replace(path, p, n));
    CU_ASSERT(ctt_import_own_onnx(path, &back) == 0 && !back);
    CHECK_OK(ctt_file_replace(path, p, n / 2));
    CU_ASSERT(ctt_import_own_onnx(path, &back) == 0 && !back);
    p[8]++;    /* by another program */
    CHECK_OK(ctt_file_replace(path, p, n));
    CU_ASSERT(ctt_import_own_onnx(path, &back) == 0 && !back);
    ctt_free(p);
    unlink(path);
}

/* ---- errors ---- */

static const struct { struct job job; const char *says; } bad[] = {
    { { .net = "input x h=1 w=1 c=2\nclip\nwindow v in=x steps=2 spread=1\n"
        "pool p in=v kind=avg\nconv y in=p out=2\n" },
      "v: spread=1 shows steps that depend on the length" },
    { { .net = "input x h=1 w=1 c=2\nstate s of=x fill=first\nadd a in=x,s\n"
        "clip\nwindow v in=x steps=2\nwindow u in=a steps=2\nadd b in=v,u\n"
        "pool p in=b kind=avg\nconv y in=p out=2\n" },
      "x: before the first step it is zero for one reader" },
    { { .net = "input x h=1 w=1 c=2\nconv past.x in=x out=2\n"
        "conv y in=past.x out=2\n" },
      "past.x: in ONNX that is the name of what is carried" },
    { { .net = "input x h=1 w=1 c=2\nconv a in=x out=2\ninput m c=1\n"
        "mix start in=x,a,m\nconv y in=start out=2\n" }, "rename the node" },
    { { .net = "input x h=1 w=1 c=2\nconv a in=x out=2\ninput m c=1\n"
        "mix b in=x,a,m\nconv y in=b out=2\n" },
      "b: the operation mix is not written as ONNX" },
    { { .net = "input x h=2 w=2 c=2\npatch b in=x by=2\nconv y in=b out=2\n" },
      "b: the operation patch is not written as ONNX" },
    { { .net = "input x h=2 w=2 c=2\nconv y in=x out=2\n",
        .set = { .softmax = 1 } }, "y: a frame has no probabilities" },
};

/* What was there stays. */
static void refused_with_the_reason(void)
{
    for (size_t i = 0; i < CTT_LEN(bad); i++) {
        char *text;
        int64_t n;

        CHECK_OK(ctt_file_replace(path, "old", 3));
        CU_ASSERT(export_text(bad[i].job.net, &bad[i].job.set) < 0);
        if (!strstr(ctt_errmsg(), bad[i].says))
            printf("\n    %s", ctt_errmsg());
        CU_ASSERT(strstr(ctt_errmsg(), bad[i].says) != NULL);
        CHECK_OK(ctt_file_text(path, 10, &text, &n));
        CU_ASSERT_STRING_EQUAL(text, "old");
        ctt_free(text);
    }
    unlink(path);
}

static int go_and_come(void *m)
{
    const struct ctt_export set = { .half = 1 };
    struct ctt_model *back = NULL;
    int rc = ctt_export_onnx(path, m, &set);

    if (rc >= 0)
        rc = ctt_import_own_onnx(path, &back);
    ctt_model_free(&back);
    return rc < 0 ? rc : rc == 1 ? 0 : CTT_EFORMAT;
}

static void allocations_fail(void)
{
    struct ctt_model *m = small_model(small_net, 2);

    fail_allocs(go_and_come, m, 40);
    ctt_model_free(&m);
    unlink(path);
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "each word", each_word }, { "back again", back_again },
        { "own files", own_files }, { "changed files", changed_files },
        { "refused", refused_with_the_reason },
        { "allocations fail", allocations_fail },
        CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = {
        { .pName = "onnx out", .pTests = tests }, CU_SUITE_INFO_NULL
    };

    return ctt_check_main(suites);
}
