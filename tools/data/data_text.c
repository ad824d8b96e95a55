/* SPDX-License-Identifier: Apache-2.0
 * data_text.c: convtt-data check and list of text: its lines, its symbols, and
 * how often each comes. */
#include "tools/data/data_tool.h"
#include "base/visible.h"
#include "tools/shared/tool.h"
#include "video/text/text.h"

#include <inttypes.h>

/* VOCABULARY: --vocab of convtt-train unless it is given. */
enum { ALL = 1 << 24, VOCABULARY = 10000 };

/* times[label]: how often it comes, ends of lines too; *all: of all. */
static int count_symbols(const struct ctt_source *s, int64_t *times,
                         int64_t *all)
{
    const struct ctt_list *l = ctt_source_list(s);
    int rc = 0;

    for (int i = 0; i < l->count; i++) {
        struct ctt_frames f = { 0 };

        CTT_TRY(ctt_source_frames(s, i, 0, 0, &f));
        for (int t = 1; t < f.count; t++)
            times[ctt_text_symbol(f.data + t * CTT_TEXT_BYTES_EACH)]++;
        times[l->item[i].label]++;
        *all += f.count;
        ctt_frames_free(&f);
    }
out:
    return rc;
}

static void say_text(const char *path, const struct ctt_list *l, int64_t all,
                     const int64_t *times)
{
    int64_t known = 0;

    for (int k = 0; k < l->labels && k < VOCABULARY; k++)
        known += times[k];
    ctt_tool_say("%s: %s: %" PRId64 " line%s, %" PRId64 " symbols, a "
                 "vocabulary of %d (with " CTT_TEXT_EOS " and "
                 CTT_TEXT_UNKNOWN ")", path, l->form, times[0],
                 ctt_s(times[0]), all, l->labels);
    if (l->labels > VOCABULARY)
        ctt_tool_say("%s: the %d most frequent (--vocab of convtt-train) are "
                     "%.1f%% of all symbols", path, VOCABULARY,
                     100 * (double)known / (double)all);
}

static int list_symbols(const struct ctt_list *l, int64_t all,
                        const int64_t *times)
{
    struct ctt_table t = { NULL, 0, 0, 0 };
    char name[512];

    ctt_table_row(&t, "symbol\ttimes");
    for (int k = 0; k < l->labels; k++)
        ctt_table_row(&t, "%s\t%" PRId64,
                      ctt_visible(l->label[k], 0, name, sizeof(name)),
                      times[k]);
    ctt_table_row(&t, "all\t%" PRId64, all);
    return ctt_table_print(&t);
}

/* CTT_EINVAL if an option is given that text has no use for. */
static int check_text_options(const struct ctt_data_cfg *c, const char *path)
{
    int rc = 0;

    CTT_CHECK(!c->split, CTT_EINVAL, "%s: text has no splits (--split)", path);
    CTT_CHECK(!c->classes, CTT_EINVAL, "%s: text has no classes (--classes)",
              path);
    CTT_CHECK(!c->strict, CTT_EINVAL, "%s: text has no clips (--strict)", path);
out:
    return rc;
}

int ctt_data_text(const struct ctt_data_cfg *c, const char *path, int every)
{
    const struct ctt_input in = { .d = 1, .h = 1, .w = 1, .c = 1 };
    const struct ctt_source_set set = { .vocab = ALL };
    struct ctt_source *s = NULL;
    int64_t *times = NULL, all = 0;
    const struct ctt_list *l;
    int rc;

    CTT_TRY(check_text_options(c, path));
    CTT_TRY(ctt_source_open(path, &set, &in, &s));
    l = ctt_source_list(s);
    times = ctt_calloc((size_t)l->labels, sizeof(*times));
    CTT_TRY(times ? 0 : CTT_ENOMEM);
    CTT_TRY(count_symbols(s, times, &all));
    if (every)
        CTT_TRY(list_symbols(l, all, times));
    else
        say_text(path, l, all, times);
out:
    ctt_free(times);
    ctt_source_close(&s);
    return rc;
}
