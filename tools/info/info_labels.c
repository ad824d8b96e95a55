/* SPDX-License-Identifier: Apache-2.0
 * info_labels.c: facts that a file of another program lacks of a model: how
 * frames become its input, the labels of its classes, and where it is from. */
#include "base/newfile.h"
#include "net/code/zip.h"
#include "net/file/card.h"
#include "net/op.h"
#include "tools/info/info_tool.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LABELS_MOST = 1 << 24, LABEL = 512 };

/* ---- frames ---- */

static int set_key(struct ctt_node *in, char *word, struct ctt_opt_seen *seen)
{
    static const char sizes[] = "dhwc";
    int rc = 0;

    CTT_CHECK(!(word[0] && strchr(sizes, word[0]) && word[1] == '='),
              CTT_EINVAL, "--frames %s: the file says the size", word);
    rc = ctt_opt_word(ctt_ops[CTT_OP_INPUT].attr, &in->attr, word, seen);
    if (rc < 0)
        rc = ctt_error(CTT_EINVAL, "--frames: %s", ctt_errmsg());
out:
    return rc;
}

/* The line is read again, so that the rules of the language hold. */
static int set_frames(const char *keys, struct ctt_model *m)
{
    struct ctt_node *in = &m->g->node[ctt_graph_input(m->g)];
    char *words = ctt_strdup(keys), *save = NULL, *text = NULL;
    struct ctt_opt_seen seen = { { 0 } };
    struct ctt_graph *again = NULL;
    int rc = words ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    for (char *s = strtok_r(words, " ", &save); s;
         s = strtok_r(NULL, " ", &save))
        CTT_TRY(set_key(in, s, &seen));
    CTT_TRY((text = ctt_net_print(m->g)) ? 0 : CTT_ENOMEM);
    CTT_TRY(ctt_net_parse(text, &again));
out:
    ctt_graph_free(&again);
    ctt_free(text);
    ctt_free(words);
    return rc;
}

/* ---- labels ---- */

static int label_is_taken(const char *text, char *const *label, int count)
{
    int k = 0;

    while (k < count && strcmp(label[k], text) != 0)
        k++;
    return k < count;
}

/* "missile" a second time is "missile (2)", unless that is taken: then a later
 * number. */
static int number_labels(char **label, int count, char (*shown)[LABEL],
                         char **out)
{
    int rc = 0;

    for (int i = 0; i < count; i++) {
        const char *s = label[i];
        int n = 1;

        CTT_CHECK(strlen(s) < LABEL - 16, CTT_EFORMAT, "label %d has more than "
                  "%d bytes", i + 1, LABEL - 17);
        snprintf(shown[i], LABEL, "%s", s);
        while (label_is_taken(shown[i], out, i) ||
               (n > 1 && label_is_taken(shown[i], label, count)))
            snprintf(shown[i], LABEL, "%s (%d)", s, ++n);
        out[i] = shown[i];
    }
out:
    return rc;
}

/* Lines of a text; empty ones at its end are none. */
static int split_lines(char *text, char **line, int most)
{
    int n = 0;

    for (char *s = text; *s && n <= most; n++) {
        size_t length = strcspn(s, "\n");
        char *next = s + length + (s[length] == '\n');

        s[length] = '\0';
        if (length && s[length - 1] == '\r')
            s[length - 1] = '\0';
        line[n] = s;
        s = next;
    }
    while (n > 0 && n <= most && !*line[n - 1])
        n--;
    return n;
}

static int set_labels(const char *path, struct ctt_model *m)
{
    int classes = (int)m->g->node[ctt_graph_output(m->g)].out.c, count;
    char **line = ctt_calloc((size_t)classes + 2, sizeof(*line));
    char **label = ctt_calloc((size_t)classes + 2, sizeof(*label));
    char (*shown)[LABEL] = ctt_calloc((size_t)classes + 2, LABEL);
    char *text = NULL;
    int64_t size;
    int rc = line && label && shown ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    CTT_TRY(ctt_file_text(path, LABELS_MOST, &text, &size));
    count = split_lines(text, line, classes);
    CTT_CHECK(count == classes, CTT_EFORMAT, "%s: %s%d labels for %d classes",
              path, count > classes ? "more than " : "", count > classes ?
              classes : count, classes);
    rc = number_labels(line, count, shown, label);
    if (rc < 0)
        CTT_TRY(ctt_error(rc, "%s: %s", path, ctt_errmsg()));
    CTT_TRY(ctt_model_labels(m, label, count));
out:
    ctt_free(text);
    ctt_free(shown);
    ctt_free(label);
    ctt_free(line);
    return rc;
}

/* Classes without names are 0, 1, ..: what reads labels needs some. */
static int number_classes(struct ctt_model *m)
{
    const struct ctt_tensor *t = &m->g->node[ctt_graph_output(m->g)].out;
    int n = (int)t->c, rc = 0;
    char (*word)[16], **label;

    if (m->labels || t->d * t->h * t->w != 1)
        return 0;
    word = ctt_calloc((size_t)n, sizeof(*word));
    label = ctt_calloc((size_t)n, sizeof(*label));
    CTT_TRY(word && label ? 0 : CTT_ENOMEM);
    for (int i = 0; i < n; i++) {
        snprintf(word[i], sizeof(word[i]), "%d", i);
        label[i] = word[i];
    }
    CTT_TRY(ctt_model_labels(m, label, n));
out:
    ctt_free(word);
    ctt_free(label);
    return rc;
}

/* ---- the origin ---- */

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

static int file_crc(const char *path, uint32_t *crc)
{
    enum { PIECE = 1 << 20 };
    uint8_t *piece = ctt_calloc(PIECE, 1);
    int rc = piece ? 0 : CTT_ENOMEM, fd = -1;
    int64_t size;

    CTT_TRY(rc);
    CTT_TRY(ctt_file_open(path, &fd, &size));
    *crc = 0;
    for (int64_t at = 0; at < size; at += PIECE) {
        int64_t n = size - at < PIECE ? size - at : PIECE;

        CTT_TRY(ctt_file_read_at(path, fd, at, piece, n));
        *crc = ctt_crc32(*crc, piece, 1, n);
    }
out:
    if (fd >= 0)
        close(fd);
    ctt_free(piece);
    return rc;
}

/* The history says where the weights are from, and under which licence. */
static int set_origin(const struct ctt_info_cfg *cfg, struct ctt_model *m)
{
    char line[1024];
    uint32_t crc = 0;
    int rc;

    CTT_TRY(ctt_card_licence(cfg->licence));
    CTT_TRY(file_crc(cfg->import, &crc));
    snprintf(line, sizeof(line), "imported from %.255s%s%.255s file-crc=%08x%s"
             "%s\n", file_name(cfg->import), cfg->map ? ", named by " : "",
             cfg->map ? file_name(cfg->map) : "", crc,
             cfg->licence ? " licence=" : "",
             cfg->licence ? cfg->licence : "");
    ctt_free(m->history);
    m->history = ctt_strdup(line);
    rc = m->history ? 0 : CTT_ENOMEM;
out:
    return rc;
}

int ctt_info_describe(const struct ctt_info_cfg *cfg, struct ctt_model *m)
{
    int rc;

    CTT_TRY(set_origin(cfg, m));
    if (cfg->frames)
        CTT_TRY(set_frames(cfg->frames, m));
    if (cfg->labels)
        CTT_TRY(set_labels(cfg->labels, m));
    CTT_TRY(number_classes(m));
out:
    return rc;
}
