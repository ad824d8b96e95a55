/* SPDX-License-Identifier: Apache-2.0
 * gpu_text.c: the texts of models with other frames, and with the cells taken
 * apart into the nodes that frameworks without a fused cell run. */
#include "bench/gpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* h = o tanh(c), c = f c1 + i g; z holds the gates i, f, o, g. */
static void print_apart(FILE *f, const char *n, const char *z, const char *old,
                        int hidden)
{
    static const char gate[] = "ifog";

    for (int k = 0; k < 4; k++)
        fprintf(f, "slice %s.%c0 in=%s from=%d to=%d\n"
                "act %s.%c in=%s.%c0 kind=%s\n", n, gate[k], z, k * hidden,
                (k + 1) * hidden, n, gate[k], n, gate[k],
                k < 3 ? "sigmoid" : "tanh");
    fprintf(f, "mul %s.old in=%s.f,%s\nmul %s.new in=%s.i,%s.g\n"
            "add %s.c in=%s.old,%s.new\nact %s.t in=%s.c kind=tanh\n"
            "mul %s in=%s.o,%s.t\n", n, n, old, n, n, n, n, n, n, n, n, n, n,
            n);
}

/* Hidden channels of the node named in a line, from the parsed graph. */
static int hidden_of(const struct ctt_graph *g, const char *name)
{
    int i = ctt_graph_find(g, name);

    return i < 0 ? 0 : (int)g->node[i].out.c;
}

static void print_line(FILE *f, const struct ctt_graph *g, const char *line)
{
    char name[CTT_NAME], z[CTT_NAME], old[CTT_NAME];

    if (sscanf(line, "lstm %47s in=%47[^,],%47s", name, z, old) == 3)
        print_apart(f, name, z, old, hidden_of(g, name));
    else if (strncmp(line, "cell ", 5) != 0)    /* the sum has its name */
        fprintf(f, "%s\n", line);
}

static int take_apart(const struct ctt_graph *g, struct ctt_graph **out)
{
    char *text = ctt_net_print(g), *other = NULL;
    size_t used = 0;
    FILE *f = open_memstream(&other, &used);
    int rc = 0;

    CTT_CHECK(text && f, CTT_ENOMEM, "out of memory");
    for (char *s = text, *next; *s; s = next) {
        next = s + strcspn(s, "\n");
        if (*next)
            *next++ = 0;
        print_line(f, g, s);
    }
    CTT_CHECK(fclose(f) == 0, CTT_ENOMEM, "out of memory");
    f = NULL;
    CTT_TRY(ctt_net_parse(other, out));
out:
    if (f)
        fclose(f);
    ctt_free(text);
    free(other);
    return rc;
}

/* The first and the last line know how many channels a frame has. */
static int resize(const char *text, int size, int channels, char **out)
{
    const char *in = strstr(text, "input"), *last = strstr(text, "\nconv ");
    char name[CTT_NAME], answer[CTT_NAME], from[CTT_NAME];
    size_t used = 0;
    FILE *f = NULL;
    int rc = 0;

    CTT_CHECK(in && last && sscanf(in, "input %47s", name) == 1 &&
              sscanf(last, "\nconv %47s in=%47s", answer, from) == 2 &&
              !strstr(last + 1, "\nconv "), CTT_EFORMAT,
              "only a model with one conv, its last layer, can be resized");
    f = open_memstream(out, &used);
    CTT_CHECK(f, CTT_ENOMEM, "out of memory");
    fprintf(f, "input %s h=%d w=%d c=%d", name, size, size, channels);
    in += strcspn(in, "\n");
    fprintf(f, "%.*s\nconv %s in=%s out=%d", (int)(last - in), in, answer,
            from, channels);
    last++;
    fputs(last + strcspn(last, "\n"), f);
    CTT_CHECK(fclose(f) == 0, CTT_ENOMEM, "out of memory");
out:
    return rc;
}

int bench_graph(const char *dir, const char *name, int size, int channels,
                int apart, struct ctt_graph **out)
{
    struct ctt_graph *g = NULL;
    char path[1024], *text = NULL, *other = NULL;
    int rc = 0;

    snprintf(path, sizeof(path), "%s/%s.net", dir, name);
    CTT_TRY(ctt_net_read(path, &text));
    if (size)
        CTT_TRY(resize(text, size, channels, &other));
    CTT_TRY(ctt_net_parse(other ? other : text, &g));
    if (apart) {
        CTT_TRY(take_apart(g, out));
        goto out;
    }
    *out = g;
    g = NULL;
out:
    ctt_free(text);
    free(other);
    ctt_graph_free(&g);
    return rc;
}
