/* SPDX-License-Identifier: Apache-2.0
 * test_let.c: named values of a model text. */
#include "net/graph.h"
#include "tests/lib/check.h"

#include <string.h>

static const char text[] =
    "let width=8 k=3\n"
    "input x h=12 w=12 c=3    # costs $5\n"
    "let twice=$width*2\n"
    "conv e in=x out=$twice kernel=$k stride=$width/4 pad=1\n"
    "conv a$k.y in=e out=5\n";

static const char plain[] =
    "input x h=12 w=12 c=3\n"
    "conv e in=x out=16 kernel=3 stride=2 pad=1\n"
    "conv a3.y in=e out=5\n";

static char *printed(const char *net, const char *set)
{
    struct ctt_graph *g = NULL;
    char *out = NULL;

    CHECK_OK(ctt_net_parse_set(net, set, &g));
    if (g)
        out = ctt_net_print(g);
    ctt_graph_free(&g);
    return out;
}

static void same_print(char *a, char *b)
{
    CU_ASSERT(a && b && strcmp(a, b) == 0);
    ctt_free(a);
    ctt_free(b);
}

static void names_are_replaced(void)
{
    same_print(printed(text, NULL), printed(plain, NULL));
    same_print(printed(text, "width=8"), printed(plain, NULL));
    same_print(printed("let a=8 b=16 c=x\ninput $c h=$a w=$b c=3\n"
                       "conv y in=$c out=2\n", "b=8,c=frames"),
               printed("input frames h=8 w=8 c=3\nconv y in=frames out=2\n",
                       NULL));
}

static void results_are_calculated(void)
{
    same_print(printed("let n=4\ninput x$n-1 h=8 w=8 c=3\n"
                       "conv y in=x3 out=$n*3-2/5+1\n", NULL),
               printed("input x3 h=8 w=8 c=3\nconv y in=x3 out=3\n", NULL));
}

static const char loop[] =
    "let layers=2\n"
    "input h0 h=8 w=8 c=3\n"
    "repeat i=$layers    # the same twice\n"
    "conv h$i in=h$i-1 out=$i*4\n"
    "  repeat k=2\n"
    "conv h$i.$k in=h$i out=$k\n"
    "  end\n"
    "end\n"
    "repeat i=1\n"
    "end\n"
    "conv y in=h$layers out=5\n";

static void lines_are_repeated(void)
{
    same_print(printed(loop, NULL),
               printed("input h0 h=8 w=8 c=3\nconv h1 in=h0 out=4\n"
                       "conv h1.1 in=h1 out=1\nconv h1.2 in=h1 out=2\n"
                       "conv h2 in=h1 out=8\nconv h2.1 in=h2 out=1\n"
                       "conv h2.2 in=h2 out=2\nconv y in=h2 out=5\n", NULL));
    same_print(printed(loop, "layers=0"),
               printed("input h0 h=8 w=8 c=3\nconv y in=h0 out=5\n", NULL));
}

static void wrong_names_are_refused(void)
{
    static const struct { const char *net, *set, *says; } rows[] = {
        { "input x c=$c\n", NULL, "line 1: $c: no line 'let c=...' before it" },
        { "input x c=3\nconv y in=x out=$\n", NULL, "line 2: $: no line" },
        { "let c=3\nlet c=4\n", NULL, "line 2: let: 'c' has a value already" },
        { "let c\n", NULL, "line 1: let: 'c' is not NAME=VALUE" },
        { "let c=\n", NULL, "line 1: let: 'c': a value has 1 to 63" },
        { "let c=3\ninput x c=$c/2\n", NULL, "line 2: $c/2: 3 cannot be" },
        { "let c=3\ninput x c=$c/0\n", NULL, "$c/: a whole number from 1" },
        { "let c=3\ninput x c=$c*\n", NULL, "$c*: a whole number from 1" },
        { "let c=3x\ninput x c=$c*2\n", NULL, "3x is no whole number" },
        { "let c=3\ninput x c=$c*9999999\n", NULL, "a whole number from 1" },
        { "let c=-9223372036854775808\ninput x c=$c*2\n", NULL,
          "no whole number below a million" },
        { "let c=3\ninput x c=3 scale=$c-1.5\n", NULL, "$c-1.5: whole num" },
        { "let c=3\ninput x c=3 scale=$c*1e3\n", NULL, "$c*1e3: whole num" },
        { "let c=3\ninput x c=3 scale=$c+1E-3\n", NULL, "$c+1E-: whole num" },
        { "end\n", NULL, "line 1: end: no line 'repeat' before it" },
        { "repeat i=2\nend of it\n", NULL, "line 2: end: 'of it' follows" },
        { "repeat i=2\ninput x c=3\n", NULL, "no line 'end' follows" },
        { "repeat i=0\ninput x c=3\n", NULL, "no line 'end' follows" },
        { "repeat 3\nend\n", NULL, "line 1: repeat: '3' is not NAME=COUNT" },
        { "repeat i=-1\nend\n", NULL, "'i=-1' is not NAME=COUNT" },
        { "repeat i=99999999999\nend\n", NULL, "a count from 0 to 10000" },
        { "repeat i=2\nlet a=3\nend\n", NULL, "line 2: let: stands between" },
        { "let i=2\nrepeat i=2\nend\n", NULL, "'i' has a value already" },
        { "repeat i=2\ninput x c=3\nend\n", NULL, "line 2: " },
        { "repeat a=9999\nrepeat b=9999\nend\nend\n", NULL,
          "more than 16 MiB" },
        { "repeat a=1\nrepeat b=1\nrepeat c=1\nrepeat d=1\nrepeat e=1\nend\n",
          NULL, "line 5: repeat: more than 4 inside each other" },
        { text, "q=1", "'q': no line 'let q=...' in the model text" },
        { text, "width=8,width=9", "'width' has two values" },
        { text, "width=8,", "'width=8,' ends with a comma" },
        { text, "width", "'width' is not NAME=VALUE" },
        { text, "width=", "line 1: let: 'width': a value has 1 to 63" },
    };

    for (size_t i = 0; i < CTT_LEN(rows); i++) {
        struct ctt_graph *g = NULL;
        int rc = ctt_net_parse_set(rows[i].net, rows[i].set, &g);

        CU_ASSERT(rows[i].says ? rc < 0 : rc == 0);
        if (rows[i].says)
            CU_ASSERT(strstr(ctt_errmsg(), rows[i].says) != NULL);
        ctt_graph_free(&g);
    }
}

/* A line that grows beyond its room is refused, and so are too many names. */
static void room_ends(void)
{
    static char net[8192];
    size_t n = (size_t)sprintf(net, "let v=");
    struct ctt_graph *g = NULL;

    memset(net + n, '1', 60);
    n += 60;
    n += (size_t)sprintf(net + n, "\ninput x c=");
    for (int i = 0; i < 60; i++)
        n += (size_t)sprintf(net + n, "$v");
    CU_ASSERT_EQUAL(ctt_net_parse(net, &g), CTT_EFORMAT);
    CU_ASSERT(strstr(ctt_errmsg(), "line 2: line too long") != NULL);
    n = (size_t)sprintf(net, "let");
    for (int i = 0; i < 33; i++)
        n += (size_t)sprintf(net + n, " v%d=1", i);
    CU_ASSERT_EQUAL(ctt_net_parse(net, &g), CTT_EFORMAT);
    CU_ASSERT(strstr(ctt_errmsg(), "more than 32 values") != NULL);
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "names are replaced", names_are_replaced },
        { "wrong names", wrong_names_are_refused },
        { "results", results_are_calculated },
        { "repeated lines", lines_are_repeated },
        { "room ends", room_ends },
        CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = {
        { .pName = "let", .pTests = tests }, CU_SUITE_INFO_NULL
    };

    return ctt_check_main(suites);
}
