/* SPDX-License-Identifier: Apache-2.0
 * fuzz_list.c: any folder of lists is an error in one line or a list of clips
 * in order, the same when it is opened again.  An input is the files of a
 * folder, "%NAME"; some names are commands, see `special`. The opened file is
 * read as a list of live sources, too. */
#include "tests/fuzz/fuzz.h"
#include "base/limits.h"
#include "video/live/live.h"
#include "video/video.h"

#include <ctype.h>
#include <string.h>
#include <sys/stat.h>

enum { PARTS = 24, KNOWN = 4 };

/* "!open NAME": path to open, else the folder itself.  "!split NAME", and the
 * classes that a model knows, one a line; "!any": labels are not needed;
 * "!more": a class of the background, and a rate of pictures. */
static const char *const special[] = { "!open", "!split", "!known", "!any",
                                       "!more" };

const char *const ctt_fuzz_words[] = {
    "\n%labels.json\n", "\n%train.json\n", "\n%validation.json\n",
    "\n%list.txt\n", "\n%list.csv\n", "\n%classInd.txt\n", "\n%classes\n",
    "\n%!open list.txt\n", "\n%!open list.csv\n", "\n%!open train.json\n",
    "\n%!split validation\n", "\n%!split test\n", "\n%!known\n", "\n%!any\n",
    "\n%!more\n",
    "\n%train/a/x.avi\n", "\n%b/person01_b_d1.avi\n", "\n%videos/1.webm\n",
    "\n%f/1.jpg\n", "\n%labels/labels.json\n", "\n%a_test_split1.txt\n",
    "{\"a\": \"0\"}", "[{\"id\": \"1\", \"template\": \"a\"}]", "\"label\":",
    "\"id\":", "[", "]", "{", "}", "label,youtube_id,time_start,time_end,split",
    "\n%testlist01.txt\n", "\n%trainlist01.txt\n",
    "a/x.avi 0 1.5 0", "a/x 1 2 0", "x.avi #0 #9 0", "nan",
    "1e9", "1.5", "#t=", "video start_frame end_frame label\n", "a/x.avi",
    "\nx = ", "://", "@",
    "a/x.avi 0", "f 2 0", "f 0 2 0", " ", ",", ";", "\t", "\n",
    "\"", "0", "1", "-1", "2", "65536", "999999999", "#", "train", "test",
    "\n%!open l.json\n", "\n%l.json\n", "\"database\": {",
    "\"annotations\": [{\"label\": \"a\", \"segment\": [0, 1]}]",
    "\"subset\": \"train\"", "\"vid_name\": \"x\"", "\"start_frame\": 0",
    "file,class,start_s,end_s\n", "path\tlabel\tsplit\n", "\"\"", ".0", "~",
    "\n%Diving48_vocab.json\n", "null",
    "\xef\xbb\xbf", "\r\n", "..", "/", NULL
};

static int is_special(const char *name)
{
    for (size_t i = 0; i < CTT_LEN(special); i++)
        if (strcmp(name, special[i]) == 0)
            return 1;
    return 0;
}

/* A name that stays in the folder: words of letters, digits and a few signs,
 * two slashes at most. */
static int is_good(const char *name)
{
    int slashes = 0;

    if (!*name || *name == '/' || *name == '.' || strstr(name, "/.") ||
        strstr(name, "//") || name[strlen(name) - 1] == '/')
        return 0;
    for (const char *s = name; *s; s++) {
        slashes += *s == '/';
        if (!isalnum((unsigned char)*s) && !strchr("/._- ", *s))
            return 0;
    }
    return slashes <= 2;
}

/* A file where another one has a folder, or the reverse, is left out. */
static void put_file(const struct ctt_chunk *c)
{
    char name[64];
    struct stat s;

    snprintf(name, sizeof(name), "d/%.47s", c->name);
    if (stat(ctt_scratch(name), &s) == 0)
        return;
    for (char *p = strchr(name + 2, '/'); p; p = strchr(p + 1, '/')) {
        *p = 0;
        if (stat(ctt_scratch(name), &s) == 0 && !S_ISDIR(s.st_mode))
            return;
        *p = '/';
    }
    ctt_scratch_put(name, c->n ? (const void *)c->p : "", c->n);
}

/* ---- checks ---- */

static void check_list(const struct ctt_list *l)
{
    FUZZ_CHECK(l->count > 0 && l->all >= l->count);
    FUZZ_CHECK(l->labels <= ctt_limits()->classes);
    for (int i = 0; i < l->count; i++) {
        const struct ctt_item *x = &l->item[i];
        FUZZ_CHECK(x->path && *x->path && x->id);
        FUZZ_CHECK(x->label >= -1 && x->label < l->labels);
    }
    for (int i = 0; i < l->labels; i++)
        for (int k = 0; k < i && l->labels < 50; k++)
            FUZZ_CHECK(strcmp(l->label[i], l->label[k]) != 0);
}

static void same_lists(const struct ctt_list *a, const struct ctt_list *b)
{
    FUZZ_CHECK(a->count == b->count && a->labels == b->labels);
    for (int i = 0; i < a->labels; i++)
        FUZZ_CHECK(strcmp(a->label[i], b->label[i]) == 0);
    for (int i = 0; i < a->count; i++)
        FUZZ_CHECK(strcmp(a->item[i].path, b->item[i].path) == 0 &&
                   a->item[i].label == b->item[i].label);
}

struct how {
    const char *path, *split, *subset;
    char       *known[KNOWN], *text;
    int         count, more;
};

/* Cuts the lines of a text off. */
static void cut_known(struct how *h)
{
    for (char *s = h->text, *end; s && *s && h->count < KNOWN; s = end) {
        end = s + strcspn(s, "\n");
        if (*end)
            *end++ = 0;
        h->known[h->count++] = s;
    }
}

static void open_list(const struct how *h)
{
    struct ctt_list *l = NULL, *again = NULL;
    const struct ctt_list_want w = { .split = h->split, .nknown = h->count,
        .known = h->count > 0 ? h->known : NULL, .subset = h->subset,
        .background = h->more ? "b" : NULL, .fps = h->more ? 12.5 : 0 };

    if (ctt_list_find(h->path, &w, &l) < 0) {
        FUZZ_CHECK(!l && ctt_errmsg()[0] && !strchr(ctt_errmsg(), '\n'));
        return;
    }
    check_list(l);
    FUZZ_CHECK(ctt_list_find(h->path, &w, &again) >= 0);
    same_lists(l, again);
    ctt_list_free(&l);
    ctt_list_free(&again);
}

/* As a list of live sources, any text is an error in one line or some with
 * names of their own. */
static void open_sources(const char *path)
{
    struct ctt_live_list l = { .path = NULL };

    if (ctt_live_list_read(path, &l) < 0) {
        FUZZ_CHECK(!l.item && ctt_errmsg()[0] && !strchr(ctt_errmsg(), '\n'));
        return;
    }
    FUZZ_CHECK(l.count > 0 && l.count <= CTT_LIVE_SOURCES);
    for (int i = 0; i < l.count; i++) {
        FUZZ_CHECK(*l.item[i].name && *l.item[i].source);
        FUZZ_CHECK(strlen(l.item[i].name) < CTT_LIVE_NAME);
        for (int k = 0; k < i && l.count < 50; k++)
            FUZZ_CHECK(strcmp(l.item[i].name, l.item[k].name) != 0);
    }
    ctt_live_list_free(&l);
}

static void open_folder(const struct ctt_chunk *c, int count)
{
    const struct ctt_chunk *open = ctt_chunk_find(c, count, "!open");
    const struct ctt_chunk *split = ctt_chunk_find(c, count, "!split");
    const struct ctt_chunk *known = ctt_chunk_find(c, count, "!known");
    struct how h = { .path = ctt_scratch("d") };
    char name[64];

    if (open && is_good(open->words)) {
        snprintf(name, sizeof(name), "d/%.60s", open->words);
        h.path = ctt_scratch(name);
    }
    h.split = split ? split->words : NULL;
    h.subset = ctt_chunk_find(c, count, "classes") ? ctt_scratch("d/classes")
                                                   : NULL;
    h.text = known ? ctt_chunk_text(known) : NULL;
    cut_known(&h);
    h.more = ctt_chunk_find(c, count, "!more") != NULL;
    if (ctt_chunk_find(c, count, "!any"))
        h.count = CTT_LABELS_ANY;
    open_list(&h);
    open_sources(h.path);
    ctt_free(h.text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ctt_chunk c[PARTS];
    long live = ctt_live_blocks();
    int count = ctt_chunks(data, size, c, PARTS);

    ctt_scratch_clear("d");
    mkdir(ctt_scratch("d"), 0777);
    for (int i = 0; i < count; i++)
        if (!is_special(c[i].name) && is_good(c[i].name))
            put_file(&c[i]);
    open_folder(c, count);
    FUZZ_CHECK(ctt_live_blocks() == live);
    return 0;
}

/* ---- seeds ---- */

static const struct ctt_fuzz_text texts[] = {
    FUZZ_TEXT("%!open list.txt\n\n%list.txt\nx = rtsp://me:b@c/d?e=f\n"
              "y\t=  a/x.avi\n-\n # z\n"),
    FUZZ_TEXT("%labels.json\n{\"Holding something\": \"0\", \"b\": \"1\"}\n"
              "%train.json\n[{\"id\": \"1\", \"label\": \"holding a cup\", "
              "\"template\": \"Holding [something]\", \"placeholders\": [\"a\"]"
              "},\n{\"id\": \"2\", \"template\": \"b\"}]\n%videos/1.webm\nx"),
    FUZZ_TEXT("%labels/something-something-v2-labels.json\n{\"a\": \"0\"}\n"
              "%labels/something-something-v2-validation.json\n[{\"id\": 7}]\n"
              "%!split validation\n\n%!known\na\nb"),
    FUZZ_TEXT("%!open train.json\n\n%labels.json\n{\"a\":\"0\"}\n"
              "%train.json\n[{\"id\":\"1\",\"label\":\"a\"}]"),
    FUZZ_TEXT("%!open list.txt\n\n%list.txt\n# clips\na/x.avi 0\nb/y.avi 1\n"),
    FUZZ_TEXT("%!open list.txt\n\n%list.txt\nx.avi;walk\ny.avi;run\n"
              "%classes\nrun\nwalk\n"),
    FUZZ_TEXT("%!open list.txt\n\n%list.txt\nf 2 0\nf 1 2 1\n%f/1.jpg\n\n"
              "%f/2.jpg\n\n%f/3.jpg\n\n"),
    FUZZ_TEXT("%!open list.txt\n\n%list.txt\na/x.avi 1\nb/y.avi 2\n"
              "%classInd.txt\n1 a\n2 b\n%!known\na\nb\n"),
    FUZZ_TEXT("%!open list.csv\n\n%list.csv\n"
              "label,youtube_id,time_start,time_end,split\n"
              "a b,xyz,10,20,train\n\"b, c\",uvw,0,10,train\n%videos/xyz.mp4\n"
              ),
    FUZZ_TEXT("%!open list.txt\n\n%list.txt\nx.avi\ny.avi\n%!any\n"),
    FUZZ_TEXT("%train/a/x.avi\n\n%train/b/y.avi\n\n%val/a/z.avi\n\n"
              "%!split validation\n"),
    FUZZ_TEXT("%a/person01_walk_d1.avi\n\n%a/person20_walk_d1.avi\n\n"
              "%b/person02_run_d1.avi\n\n%b/person18_run_d1.avi\n\n"
              "%!split test\n"),
    FUZZ_TEXT("%a_test_split1.txt\nx.avi 1\ny.avi 2\nz.avi 0\n"
              "%b_test_split1.txt\nu.avi 1\nv.avi 2\n%a/x.avi\n\n%a/y.avi\n\n"
              "%b/u.avi\n\n%b/v.avi\n\n"),
    FUZZ_TEXT("%!open trainlist01.txt\n\n%trainlist01.txt\n"
              "a/v_a_g01_c01.avi 1\n"
              "b/v_b_g01_c01.avi 2\n%testlist01.txt\na/v_a_g02_c01.avi\n"
              "%classInd.txt\n1 a\n2 b\n"),
    FUZZ_TEXT("%trainlist01.txt\na/v_a_g01_c01.avi 1\nb/v_b_g01_c01.avi 2\n"
              "%testlist01.txt\na/v_a_g02_c01.avi\n%classInd.txt\n1 a\n"
              "2 b\n%!split test\n\n%a/v_a_g02_c01.avi\n\n"),
    FUZZ_TEXT("%!open list.txt\n\n%list.txt\nx.avi;[a] walk\ny.avi;a run\n"
              "%classes\n# one\na [run]\n"),
    FUZZ_TEXT("%!open list.txt\n\n%list.txt\nx.avi 0\ny.avi 1\n"
              "%classes\n1\n"),
    FUZZ_TEXT("%!open list.txt\n\n%list.txt\nx.avi;walk\ny.avi;run\n"
              "%classes\nrun\n%!known\nwalk\n"),
    FUZZ_TEXT("%!open list.txt\n\n%list.txt\nx.avi 0\ny.avi 2\n"),
    FUZZ_TEXT("%!open list.txt\n\n%list.txt\nx.avi 0\ny.avi 1\n"
              "%!known\nrun\nwalk\n"),
    FUZZ_TEXT("%!open list.txt\n\n%list.txt\nx.avi 0 1.5 a\nx.avi 1.5 7 b\n"
              "%x.avi\n\n"),
    FUZZ_TEXT("%!open list.txt\n\n%list.txt\nx #0 #15 3\nx #9 #70 900\n"
              "%x.avi\n\n"),
    FUZZ_TEXT("%!open list.csv\n\n%list.csv\nvideo,start_frame,end_frame,label"
              "\nx,3,9,a\n%x.avi\n\n%!known\na\nb\n"),
    FUZZ_TEXT("%!open list.csv\n\n%list.csv\n\xef\xbb\xbf# x\r\nStart (s);"
              "End (s);class;\"file\";split\r\n0,5;1.5;\"a; b\";x;train\r\n"
              ";;\"\"\"c\"\"\";y;val\r\n;;;;\n%x.avi\n\n"),
    FUZZ_TEXT("%!open list.txt\n\n%list.txt\nend_frame\tfile\tlabel\t"
              "start_frame\tframes\n9.0\tx\t0\t2.0\t7\n\ty\t1\t\t4\n"
              "%x.avi\n\n"),
    FUZZ_TEXT("%!open l.json\n\n%l.json\n{\"version\": 1, \"database\": {"
              "\"x\": {\"duration\": 9.5, \"subset\": \"training\", "
              "\"annotations\": [{\"segment\": [1, 2.5], \"label\": \"a\"}, "
              "{\"label\": \"b\", \"segment\": [3, 19]}]}, \"y\": {"
              "\"annotations\": [], \"subset\": \"testing\"}}}\n"
              "%v/v_x.mp4\n\n%y.webm\n\n"),
    FUZZ_TEXT("%activity_net.json\n{\"x\": {\"annotations\": {\"label\": "
              "\"a\", \"segment\": [1, 11.0]}, \"subset\": \"train\", "
              "\"duration\": 10}}\n%x_000001_000011.mp4\n\n"),
    FUZZ_TEXT("%!open l.json\n\n%l.json\n[{\"path\": \"dddddddddddddddddd"
              "ddddddddddddddddddddddddddddddddddddddddddddd\", \"label\": "
              "\"x\", \"end\": 5, \"start_frame\": \"\", \"end_frame\": "
              "\"\"}]"),
    FUZZ_TEXT("%!open l.json\n\n%l.json\n[{\"vid_name\": \"x\", \"label\": "
              "1, \"start_frame\": 0, \"end_frame\": 9, \"more\": [null, "
              "true]}]\n%Diving48_vocab.json\n[\"a\", [\"b\", \"c\"]]\n"
              "%rgb/x.mp4\n\n"),
    FUZZ_TEXT("%!open list.txt\n\n%list.txt\nx.avi 3 4.5 a\nx.avi 7 8 c\n"
              "%x.avi\n\n%!more\n\n"),
    FUZZ_TEXT("%!open list.txt\n\n%list.txt\nf 4 2 0\nf 8 2 1\n%f/1.jpg\n\n"
              "%!more\n\n%!any\n\n"),
    FUZZ_TEXT("%!open l.json\n\n%l.json\n[{\"vid_name\": \"x\", \"label\": "
              "1}]\n%Diving48_vocab.json\n[\"a\", \"a\"]\n"),
    FUZZ_TEXT("%1.jpg\n\n%2.jpg\n\n%!more\n\n%!any\n\n"),
    FUZZ_TEXT("%x.avi\n\n%y.avi\n\n%notes.txt\nhello"),
    FUZZ_TEXT("%!open x.avi\n\n%x.avi\n\n"),
};

size_t ctt_fuzz_seed(int i, uint8_t *p, size_t room)
{
    return ctt_fuzz_text(texts, CTT_LEN(texts), i, p, room);
}
