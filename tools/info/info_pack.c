/* SPDX-License-Identifier: Apache-2.0
 * info_pack.c: convtt-info of a pack: its frames, clips and classes. */
#include "net/op.h"
#include "net/rewrite/maps.h"
#include "tools/info/info_tool.h"
#include "tools/shared/tool.h"

#include <stdio.h>

struct sums {
    int64_t clips, frames;
    int     least, most;    /* frames of a clip */
};

static void add_clip(struct sums *s, int frames)
{
    s->least = s->clips && s->least < frames ? s->least : frames;
    s->most = s->most > frames ? s->most : frames;
    s->clips++;
    s->frames += frames;
}

static int add_clips(const struct ctt_pack *p, struct sums **out)
{
    const struct ctt_list *l = ctt_pack_list(p);
    struct sums *s = ctt_calloc((size_t)l->labels + 2, sizeof(*s));

    if (!s)
        return CTT_ENOMEM;
    for (int i = 0; i < l->count; i++) {
        int frames = ctt_pack_length(p, i);

        if (l->item[i].label < 0)
            add_clip(&s[l->labels], frames);
        for (int k = 0, c; (c = ctt_item_label(l, &l->item[i], k)) >= 0; k++)
            add_clip(&s[c], frames);
        add_clip(&s[l->labels + 1], ctt_pack_length(p, i));
    }
    *out = s;
    return 0;
}

static void put_row(struct ctt_table *t, const char *name,
                    const struct sums *s)
{
    ctt_table_row(t, "%.800s\t%lld\t%lld\t%d\t%d", name, (long long)s->clips,
                  (long long)s->frames, s->least, s->most);
}

static int tell_classes(const struct ctt_list *l, const struct sums *s)
{
    struct ctt_table t = { NULL, 0, 0, 0 };

    ctt_table_row(&t, "class\tclips\tframes\tshortest\tlongest");
    for (int k = 0; k < l->labels; k++)
        put_row(&t, l->label[k], &s[k]);
    if (s[l->labels].clips)
        put_row(&t, "(not known)", &s[l->labels]);
    put_row(&t, "all", &s[l->labels + 1]);
    return ctt_table_print(&t);
}

static void tell_maps(const struct ctt_maps *m)
{
    printf("maps           ");
    for (int k = 0; k < m->count; k++)
        printf("%s %s %lldx%lldx%lld", k ? "," : "", m->map[k].name,
               (long long)m->map[k].w, (long long)m->map[k].h,
               (long long)m->map[k].c);
    printf("\n");
}

int ctt_info_pack(const char *path, const struct ctt_pack *p)
{
    const struct ctt_list *l = ctt_pack_list(p);
    const union ctt_attr in = { .input = *ctt_pack_input(p) };
    struct sums *s = NULL;
    int w, h, rc;

    CTT_TRY(add_clips(p, &s));
    ctt_frame_size(&in.input, &w, &h);
    printf("pack            %s\n", path);
    printf("input line     ");
    ctt_opt_print(ctt_ops[CTT_OP_INPUT].attr, &in, stdout);
    printf("\nframes          %dx%dx%d, %lld bytes in all\n", w, h, in.input.c,
           (long long)s[l->labels + 1].frames * h * w * in.input.c);
    if (ctt_pack_maps(p))
        tell_maps(ctt_pack_maps(p));
    printf("clips           %d of %d classes%s\n", l->count, l->labels,
           l->several ? ", several labels per clip" : "");
    printf("checksums       index correct; 'convtt-data check %s' reads the "
           "clips\n\n", path);
    CTT_TRY(tell_classes(l, s));
out:
    ctt_free(s);
    return rc;
}
