/* SPDX-License-Identifier: Apache-2.0
 * test_file.c: models in memory and in whole files, and how files are
 * written. */
#include "tests/lib/check.h"
#include "tests/lib/saved.h"
#include "net/file/file.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- what is kept ---- */

static void test_round_trip(void)
{
    for (int what = 0; what <= (NAMES | PRUNED | TRAIN | SHARED); what++) {
        struct ctt_model *m = saved_variant(what), *back = NULL, *copy = NULL;
        int64_t n1, n2;
        uint8_t *a, *b;

        CHECK_OK(ctt_model_save(saved_path, m));
        CHECK_OK(ctt_model_load(saved_path, 1, &back));
        CU_ASSERT(saved_same(m, back));
        CHECK_OK(ctt_model_copy(m, &copy));
        CU_ASSERT(saved_same(m, copy));
        CHECK_OK(ctt_model_save(saved_other, copy));
        a = saved_slurp(saved_path, &n1);
        b = saved_slurp(saved_other, &n2);
        CU_ASSERT(n1 == n2 && memcmp(a, b, (size_t)n1) == 0);
        ctt_free(a);
        ctt_free(b);
        ctt_model_free(&m);
        ctt_model_free(&back);
        ctt_model_free(&copy);
    }
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

/* Weights that are not numbers come back as they are. */
static void test_odd_weights(void)
{
    for (int pruned = 0; pruned < 2; pruned++) {
        struct ctt_model *m = saved_variant(pruned ? PRUNED : 0), *back = NULL;
        float *b = m->w + m->g->node[1].at[1];

        b[0] = NAN;
        b[1] = -INFINITY;
        b[2] = -0.0f;
        CHECK_OK(ctt_model_save(saved_path, m));
        CHECK_OK(ctt_model_load(saved_path, 0, &back));
        CU_ASSERT(saved_same(m, back));
        ctt_model_free(&m);
        ctt_model_free(&back);
    }
}

/* A saved state that nobody asks for is not read, and a file without is less
 * by it. */
static void test_strip(void)
{
    struct ctt_model *m = saved_variant(NAMES | TRAIN), *back = NULL;
    struct stat full, less;

    CHECK_OK(ctt_model_save(saved_path, m));
    CHECK_OK(ctt_model_load(saved_path, 0, &back));
    CU_ASSERT_PTR_NULL(back->train);
    CHECK_OK(ctt_model_save(saved_other, back));
    CU_ASSERT_EQUAL(stat(saved_path, &full) | stat(saved_other, &less), 0);
    CU_ASSERT(less.st_size < full.st_size - 4 * m->g->weights);
    ctt_state_free(&m->train);
    CU_ASSERT(saved_same(m, back));
    ctt_model_free(&m);
    ctt_model_free(&back);
}

static void test_params(void)
{
    struct ctt_model *m = saved_variant(0);
    int64_t all = 0;

    for (int i = 0; i < m->g->count; i++)
        all += ctt_node_params(&m->g->node[i]);
    CU_ASSERT_EQUAL(ctt_model_params(m), all);
    saved_prune(m);
    CU_ASSERT(ctt_model_params(m) < all / 5);
    memset(m->constraint.keep, 1, (size_t)m->g->weights);
    CU_ASSERT_EQUAL(ctt_model_params(m), all);
    ctt_model_free(&m);
}

static void test_stored(void)
{
    struct ctt_model *m = saved_variant(PRUNED | NAMES);
    struct ctt_stored *s = NULL;
    int64_t bytes, kept = 0, size = 0;
    struct stat st;
    int n;

    CHECK_OK(ctt_model_save(saved_path, m));
    CHECK_OK(ctt_model_stored(saved_path, &s, &n, &bytes));
    CU_ASSERT_EQUAL(n, 16);
    CU_ASSERT_STRING_EQUAL(s[0].name, "c1.w");
    CU_ASSERT_EQUAL(s[0].kept, 0);
    CU_ASSERT_EQUAL(s[0].size, 0);
    CU_ASSERT_STRING_EQUAL(s[1].name, "c1.b");
    CU_ASSERT_STRING_EQUAL(s[1].positions, "all");
    CU_ASSERT_STRING_EQUAL(s[5].name, "n1.var");
    for (int i = 0; i < n; i++) {
        kept += s[i].kept;
        size += s[i].size;
    }
    CU_ASSERT_EQUAL(kept, ctt_model_params(m));
    CU_ASSERT_EQUAL(stat(saved_path, &st), 0);
    CU_ASSERT_EQUAL(bytes, st.st_size);
    CU_ASSERT(bytes <= size + 3072 + 32 * n);
    ctt_free(s);
    ctt_model_free(&m);
}

/* The keys of windows come back from a file. */
static void test_windows(void)
{
    static const char text[] =
        "input x h=2 w=2 c=3\nconv a in=x out=2\nclip\n"
        "window v in=a steps=4 every=2 fill=first\n"
        "window w in=a steps=4 spread=1\nwindow u in=a steps=4 every=3\n"
        "concat k in=v,w,u\nconv y in=k out=2 kernel=4,2,2\n";
    struct ctt_model *m = saved_make(text), *back = NULL;
    const struct ctt_window_attr *a;

    CHECK_OK(ctt_model_save(saved_path, m));
    CHECK_OK(ctt_model_load(saved_path, 1, &back));
    a = &back->g->node[ctt_graph_find(back->g, "v")].attr.window;
    CU_ASSERT(a->every == 2 && a->fill == CTT_FILL_FIRST && !a->spread);
    a = &back->g->node[ctt_graph_find(back->g, "w")].attr.window;
    CU_ASSERT(a->every == 1 && a->fill == CTT_FILL_ZERO && a->spread);
    a = &back->g->node[ctt_graph_find(back->g, "u")].attr.window;
    CU_ASSERT(a->every == 3 && a->fill == CTT_FILL_ZERO && !a->spread);
    ctt_model_free(&back);
    ctt_model_free(&m);
}

/* Labels are as many as the answer's values, and no two are the same. */
static void test_labels(void)
{
    static char *label[] = { "a", "b", "a" };
    struct ctt_model *m = saved_make("input x c=2\nconv y in=x out=3\n");

    CHECK_OK(ctt_model_labels(m, label, 2));
    ctt_check_refused(ctt_model_save(saved_path, m), CTT_EFORMAT,
                      "a.h5: 2 labels for 3 classes");
    CHECK_OK(ctt_model_labels(m, label, 3));
    ctt_check_refused(ctt_model_save(saved_path, m), CTT_EFORMAT,
                      "a.h5: two classes have the label 'a'");
    ctt_model_free(&m);
}

/* A net of many weights; the whole file counts, texts and all. */
static void test_overhead(void)
{
    static const char text[] =
        "input x h=32 w=32 c=3\n"
        "convttlstm a in=x hidden=16 kernel=5 order=3 steps=3 rank=8\n"
        "resblock b in=a out=24 stride=2\nresblock c in=b out=24\n"
        "convttlstm d in=c hidden=16 kernel=5 order=3 steps=3 rank=8\n"
        "clip\nwindow v in=d steps=8\nconv e in=v out=32 kernel=3\n"
        "pool p in=e kind=avg\nconv y in=p out=4\n";
    struct ctt_model *m = saved_make(text);
    struct ctt_stored *s = NULL;
    int64_t bytes, size = 0, kept = 0;
    int n;

    saved_name(m);
    saved_prune(m);
    CHECK_OK(ctt_model_save(saved_path, m));
    CHECK_OK(ctt_model_stored(saved_path, &s, &n, &bytes));
    for (int i = 0; i < n; i++) {
        size += s[i].size;
        kept += s[i].kept;
    }
    CU_ASSERT(bytes <= size + 3072 + 32 * n);
    CU_ASSERT(size < kept * 5);    /* positions take less than a byte each */
    ctt_free(s);
    ctt_model_free(&m);
}

/* ---- writing ---- */

/* Files in saved_dir. */
static int count_files(void)
{
    char command[64 + sizeof(saved_dir)];
    FILE *f;
    int n = -1;

    snprintf(command, sizeof(command), "ls -A %s | wc -l", saved_dir);
    f = popen(command, "r");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    CU_ASSERT_EQUAL(fscanf(f, "%d", &n), 1);
    pclose(f);
    return n;
}

/* Kernels of rounded numbers, tiny ones too, are coded; with one of all digits
 * all are plain floats. */
static void test_rounded(void)
{
    struct ctt_model *m = saved_variant(0), *back = NULL;
    const struct ctt_node *y = &m->g->node[m->g->count - 1];
    struct ctt_stored *s;
    int64_t coded, plain;
    int n;

    for (int64_t k = 0; k < m->g->weights; k++)
        m->w[k] = ctt_of_f16(ctt_f16_of(m->w[k]));
    CHECK_OK(ctt_model_save(saved_path, m));
    CHECK_OK(ctt_model_load(saved_path, 0, &back));
    CU_ASSERT(saved_same(m, back));
    CHECK_OK(ctt_model_stored(saved_path, &s, &n, &coded));
    CU_ASSERT_STRING_EQUAL(s[0].values, "f16");
    ctt_free(s);
    m->w[y->at[0]] = 0x1.02p-40f;    /* half precision holds no such number */
    CHECK_OK(ctt_model_save(saved_path, m));
    CHECK_OK(ctt_model_stored(saved_path, &s, &n, &coded));
    CU_ASSERT_STRING_EQUAL(s[0].values, "f16");
    ctt_free(s);
    m->w[y->at[0]] = 0.1f;
    CHECK_OK(ctt_model_save(saved_path, m));
    CHECK_OK(ctt_model_stored(saved_path, &s, &n, &plain));
    CU_ASSERT_STRING_EQUAL(s[0].values, "f32");
    CU_ASSERT(coded < plain);
    ctt_free(s);
    ctt_model_free(&m);
    ctt_model_free(&back);
}

static void test_unwritable(void)
{
    static const char *const bad[] = {
        "/nowhere/x.h5", "/dev/null/x.h5", "/dev/full", "/dev/null", "/tmp",
        "/proc/x.h5"
    };
    struct ctt_model *m = saved_variant(0);

    for (size_t i = 0; i < CTT_LEN(bad); i++) {
        CU_ASSERT_EQUAL(ctt_model_save(bad[i], m), CTT_EIO);
        CU_ASSERT(strncmp(ctt_errmsg(), bad[i], strlen(bad[i])) == 0);
    }
    ctt_model_free(&m);
}

/* The disk is full after some bytes: the old file stays, the new one goes. */
static void test_full(void)
{
    struct ctt_model *m = saved_variant(PRUNED), *n = saved_variant(NAMES);
    struct ctt_model *back = NULL;
    struct rlimit old, less;
    int files;

    CHECK_OK(ctt_model_save(saved_path, m));
    files = count_files();
    signal(SIGXFSZ, SIG_IGN);
    CU_ASSERT_EQUAL(getrlimit(RLIMIT_FSIZE, &old), 0);
    less = old;
    for (rlim_t most = 0; most < 4096; most += 1000) {
        less.rlim_cur = most;
        CU_ASSERT_EQUAL(setrlimit(RLIMIT_FSIZE, &less), 0);
        int rc = ctt_model_save(saved_path, n);
        CU_ASSERT_EQUAL(setrlimit(RLIMIT_FSIZE, &old), 0);
        CU_ASSERT_EQUAL(rc, CTT_EIO);
        CU_ASSERT_PTR_NOT_NULL(strstr(ctt_errmsg(), "cannot write"));
    }
    signal(SIGXFSZ, SIG_DFL);
    CU_ASSERT_EQUAL(count_files(), files);
    CHECK_OK(ctt_model_load(saved_path, 1, &back));
    CU_ASSERT(saved_same(m, back));
    ctt_model_free(&m);
    ctt_model_free(&n);
    ctt_model_free(&back);
}

/* Permissions and links stay. */
static void test_replace(void)
{
    struct ctt_model *m = saved_variant(0), *back = NULL;
    char link[sizeof(saved_dir) + 8];
    struct stat st;

    snprintf(link, sizeof(link), "%s/link", saved_dir);
    unlink(saved_path);
    CHECK_OK(ctt_model_save(saved_path, m));
    CU_ASSERT_EQUAL(chmod(saved_path, 0640), 0);
    CU_ASSERT_EQUAL(symlink("a.h5", link), 0);
    saved_name(m);
    CHECK_OK(ctt_model_save(link, m));
    CU_ASSERT_EQUAL(lstat(link, &st), 0);
    CU_ASSERT(S_ISLNK(st.st_mode));
    CU_ASSERT_EQUAL(stat(saved_path, &st), 0);
    CU_ASSERT_EQUAL(st.st_mode & 07777, 0640);
    CHECK_OK(ctt_model_load(saved_path, 1, &back));
    CU_ASSERT(saved_same(m, back));
    ctt_model_free(&m);
    ctt_model_free(&back);
    unlink(link);
}

/* Killed at any moment, the file is one of those saved. */
static void test_killed(void)
{
    struct ctt_model *a = saved_variant(PRUNED), *b = saved_variant(NAMES);
    struct ctt_model *back = NULL;
    int files;

    CHECK_OK(ctt_model_save(saved_path, a));
    files = count_files();
    for (int i = 0; i < 20; i++) {
        pid_t child = fork();
        CU_ASSERT_FATAL(child >= 0);
        while (child == 0)
            if (ctt_model_save(saved_path, b) < 0 ||
                ctt_model_save(saved_path, a) < 0)
                _exit(1);
        nanosleep(&(struct timespec){ .tv_nsec = 1000000 + 700000 * i },
                  NULL);
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        CHECK_OK(ctt_model_load(saved_path, 1, &back));
        CU_ASSERT(saved_same(a, back) || saved_same(b, back));
        ctt_model_free(&back);
    }
    CHECK_OK(ctt_model_save(saved_path, a));    /* removes what is left */
    CU_ASSERT_EQUAL(count_files(), files);
    ctt_model_free(&a);
    ctt_model_free(&b);
}

/* ---- memory ---- */

static void test_no_memory(void)
{
    struct ctt_model *m = saved_variant(NAMES | TRAIN | PRUNED), *back = NULL;
    long live = ctt_live_blocks(), k;
    int rc = CTT_ENOMEM, files;

    CHECK_OK(ctt_model_save(saved_path, m));
    files = count_files();
    for (k = 1; rc == CTT_ENOMEM; k++) {
        if (!ctt_check_tries())
            continue;
        ctt_fail_alloc(k);
        rc = ctt_model_load(saved_path, 1, &back);
        ctt_fail_alloc(0);
        CU_ASSERT((rc == 0) == (back != NULL));
        CU_ASSERT(rc == 0 || ctt_live_blocks() == live);
    }
    CHECK_OK(rc);
    CU_ASSERT(k > 50 && saved_same(m, back));
    ctt_model_free(&back);
    for (rc = CTT_ENOMEM, k = 1; rc == CTT_ENOMEM; k++) {
        if (!ctt_check_tries())
            continue;
        ctt_fail_alloc(k);
        rc = ctt_model_save(saved_path, m);
        ctt_fail_alloc(0);
        CU_ASSERT_EQUAL(ctt_live_blocks(), live);
    }
    CHECK_OK(rc);
    CU_ASSERT(k > 50);
    CU_ASSERT_EQUAL(count_files(), files);
    for (rc = CTT_ENOMEM, k = 1; rc == CTT_ENOMEM; k++) {
        if (!ctt_check_tries())
            continue;
        ctt_fail_alloc(k);
        rc = ctt_model_copy(m, &back);
        ctt_fail_alloc(0);
        CU_ASSERT(rc == 0 || (!back && ctt_live_blocks() == live));
    }
    CHECK_OK(rc);
    CU_ASSERT(saved_same(m, back));
    ctt_model_free(&back);
    ctt_model_free(&m);
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

static void test_state(void)
{
    static const char *const bad[] = {
        "", ".x", "a/b", "a b", "index", "settings", "once",
        "a2345678901234567890123456789012345678901234567890"
    };
    struct ctt_state *s = NULL;

    CHECK_OK(ctt_state_new(&s));
    CHECK_OK(ctt_state_add(s, "once", 4, 2, NULL));
    for (size_t i = 0; i < CTT_LEN(bad); i++)
        CU_ASSERT_EQUAL(ctt_state_add(s, bad[i], 4, 2, NULL), CTT_EINVAL);
    CU_ASSERT_EQUAL(ctt_state_add(s, "x", 2, 2, NULL), CTT_EINVAL);
    CU_ASSERT_EQUAL(ctt_state_add(s, "x", 4, -1, NULL), CTT_EINVAL);
    CU_ASSERT_EQUAL(s->count, 1);
    CU_ASSERT_PTR_NOT_NULL(ctt_state_find(s, "once"));
    CU_ASSERT_PTR_NULL(ctt_state_find(s, "x"));
    ctt_state_free(&s);
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

static CU_TestInfo tests[] = {
    { "round trip", test_round_trip },
    { "weights that are no numbers", test_odd_weights },
    { "training state left out", test_strip },
    { "parameters", test_params },
    { "what is stored", test_stored },
    { "labels", test_labels },
    { "overhead", test_overhead },
    { "windows", test_windows },
    { "rounded", test_rounded },
    { "unwritable", test_unwritable },
    { "full disk", test_full },
    { "permissions and links", test_replace },
    { "killed", test_killed },
    { "out of memory", test_no_memory },
    { "training state", test_state },
    CU_TEST_INFO_NULL
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { .pName = "file", .pTests = tests }, CU_SUITE_INFO_NULL
    };
    int rc = saved_start();

    return rc ? rc : saved_end(ctt_check_main(suites));
}
