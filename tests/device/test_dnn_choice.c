/* SPDX-License-Identifier: Apache-2.0
 * test_dnn_choice.c: which of cuDNN's plans is chosen: by the clock of the
 * simulated GPU, by rule without one, and as an earlier run kept it; what is
 * damaged or of another GPU is not used; a compiler that fails is told once. */
#include "tests/lib/gpu.h"
#include "tests/sim/sim.h"
#include "device/kept.h"
#include "base/warn.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const struct ctt_case plain = {
    "c=16 h=32 w=32", NULL, "conv y in=a out=32 kernel=3 pad=1 bias=0", 0
};
static const struct ctt_case fused = {
    "c=16 h=32 w=32", NULL, "conv y in=a out=32 kernel=3 pad=1", 0
};
static const struct ctt_case sum = {
    "c=16 h=32 w=32", "c=32 h=32 w=32", "conv y in=a plus=b out=32 kernel=3 "
    "pad=1", 0
};
enum { N = 4 };

static char top[64], caches[96];

/* NAME=VALUE; without a value it is unset. */
static void environment(const char *const *list)
{
    char name[64];

    for (; *list; list++) {
        size_t n = strcspn(*list, "=");

        snprintf(name, sizeof(name), "%.*s", (int)n, *list);
        if ((*list)[n])
            setenv(name, *list + n + 1, 1);
        else
            unsetenv(name);
    }
}
#define ENV(...) environment((const char *const[]){ __VA_ARGS__, NULL })

/* Runs the case on a GPU that is opened for it, checks its result, and returns
 * the name of the plan. */
static const char *plan_of(const struct ctt_case *cs, enum ctt_dtype type,
                           int deterministic)
{
    static char name[80];
    double ulp = type == CTT_F32 ? 0 : 0x1p-10;
    struct gpu_call m;
    struct ctt_rig want;

    CHECK_OK(ctt_dev_open("cuda", 0, &gpu));
    ctt_dev_deterministic(gpu, deterministic);
    gpu_open(&m, cs, N, 0, 0, type, 0, 0);
    gpu_expect(&m, cs, N, 0, 0, &want);
    gpu_up(&m);
    CHECK_OK(ctt_dev_run(gpu, &m.call, CTT_FWD));
    snprintf(name, sizeof(name), "%s",
             ctt_dev_impl(gpu, *m.call.cache, CTT_FWD));
    gpu_down(&m);
    CU_ASSERT(ctt_rig_close_to(&m.rig.call.out, &want.call.out,
                               2e-4 + 2 * ulp, "out", cs));
    ctt_rig_close(&want, host);
    gpu_close(&m);
    ctt_dev_close(&gpu);
    return name;
}

#define EXPECT(cs, type, name)                                          \
    CU_ASSERT_STRING_EQUAL(plan_of(cs, type, 0), "cudnn:" name)

/* ---- the kept files ---- */

/* Calls f for each; returns how many there are. */
static int each_kept(void (*f)(const char *path))
{
    char folder[160], path[512];
    struct dirent *e;
    int n = 0;
    DIR *dir;

    snprintf(folder, sizeof(folder), "%s/convtt/kept", caches);
    dir = opendir(folder);
    while (dir && (e = readdir(dir)))
        if (strstr(e->d_name, ".kept")) {
            snprintf(path, sizeof(path), "%s/%s", folder, e->d_name);
            if (f)
                f(path);
            n++;
        }
    if (dir)
        closedir(dir);
    return n;
}

static void drop(const char *path)
{
    CU_ASSERT_EQUAL(unlink(path), 0);
}

static void cut(const char *path)
{
    struct stat s;

    CU_ASSERT_EQUAL(stat(path, &s), 0);
    CU_ASSERT_EQUAL(truncate(path, s.st_size - 20), 0);
}

/* Another engine's number, as a stranger would write it. */
static void alter(const char *path)
{
    FILE *f = fopen(path, "r+");
    char text[4096] = "", *at;
    size_t n;

    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    n = fread(text, 1, sizeof(text) - 1, f);
    at = strstr(text, "engineId\":");
    CU_ASSERT_FATAL(n > 0 && at);
    fseek(f, at + 10 - text, SEEK_SET);
    fputc('4', f);
    fclose(f);
}

/* ---- tests ---- */

/* Engines 2 and 3 compute it; 3 is for any order of sums. */
static void test_clock(void)
{
    each_kept(drop);
    ENV("CTT_SIM_CLOCK=eng2=2,eng3=1", "CTT_SIM_CAPABILITY");
    EXPECT(&plain, CTT_F32, "eng3");
    CU_ASSERT_EQUAL(each_kept(drop), 1);
    ENV("CTT_SIM_CLOCK=eng2=1,eng3=2");
    EXPECT(&plain, CTT_F32, "eng2");
    each_kept(drop);
    ENV("CTT_SIM_CLOCK=eng2=1,eng3=1.02");    /* no more than noise */
    EXPECT(&plain, CTT_F32, "eng2");
    each_kept(drop);
}

/* The bias in the same kernel, or in one after it. */
static void test_apart(void)
{
    each_kept(drop);
    ENV("CTT_SIM_CLOCK=fused2=9,fused3=3,eng2=9,eng3=1,kernel=4",
        "CTT_SIM_CAPABILITY");
    EXPECT(&fused, CTT_F16, "eng3:sm80");
    each_kept(drop);
    ENV("CTT_SIM_CLOCK=fused2=9,fused3=3,eng2=9,eng3=1,kernel=1");
    EXPECT(&fused, CTT_F16, "eng3");
    CU_ASSERT_EQUAL(each_kept(NULL), 2);
    ENV("CTT_SIM_FUSED=0");    /* kept too: nothing is compiled again */
    EXPECT(&fused, CTT_F16, "eng3");
    ENV("CTT_SIM_FUSED");
    each_kept(drop);
}

/* Without a clock, and where results must not depend on it. */
static void test_rule(void)
{
    each_kept(drop);
    ENV("CTT_SIM_CLOCK", "CTT_SIM_CAPABILITY=90");
    EXPECT(&plain, CTT_F16, "eng5:sm90");
    EXPECT(&fused, CTT_F16, "eng5:sm90");
    EXPECT(&plain, CTT_F32, "eng2");
    ENV("CTT_SIM_CAPABILITY=80");
    EXPECT(&plain, CTT_F16, "eng2");
    EXPECT(&fused, CTT_F16, "eng2:sm80");
    ENV("CTT_SIM_CLOCK=eng3=2,eng5=1", "CTT_SIM_CAPABILITY=80");
    CU_ASSERT_STRING_EQUAL(plan_of(&plain, CTT_F32, 1), "cudnn:eng3");
    CU_ASSERT_EQUAL(each_kept(NULL), 0);
    CU_ASSERT_STRING_EQUAL(plan_of(&fused, CTT_F16, 1), "cudnn:eng3:sm80");
    CU_ASSERT_EQUAL(each_kept(NULL), 1);
    ENV("CTT_SIM_FUSED=0");    /* the rule's, not compiled again */
    CU_ASSERT_STRING_EQUAL(plan_of(&fused, CTT_F16, 1), "cudnn:eng3:sm80");
    ENV("CTT_SIM_FUSED");
    each_kept(drop);
}

static void check_forgotten(void (*damage)(const char *path))
{
    ENV("CTT_SIM_CLOCK=eng2=1,eng3=2");
    EXPECT(&plain, CTT_F32, "eng2");
    ENV("CTT_SIM_CLOCK=eng2=2,eng3=1");
    EXPECT(&plain, CTT_F32, "eng2");
    CU_ASSERT_EQUAL(each_kept(damage), 1);
    EXPECT(&plain, CTT_F32, "eng3");
    each_kept(drop);
}

static void test_kept(void)
{
    char folder[160];

    each_kept(drop);
    ENV("CTT_SIM_CAPABILITY=80");
    check_forgotten(drop);
    check_forgotten(cut);
    check_forgotten(alter);
    ENV("CTT_SIM_CLOCK=eng2=1,eng3=2");
    EXPECT(&plain, CTT_F32, "eng2");
    ENV("CTT_SIM_CLOCK=eng2=2,eng3=1", "CTT_SIM_CAPABILITY=86");
    EXPECT(&plain, CTT_F32, "eng3");
    CU_ASSERT_EQUAL(each_kept(NULL), 2);
    ENV("CTT_SIM_CAPABILITY=80");    /* others may write there */
    snprintf(folder, sizeof(folder), "%s/convtt/kept", caches);
    CU_ASSERT_EQUAL(chmod(folder, 0777), 0);
    EXPECT(&plain, CTT_F32, "eng3");
    CU_ASSERT_EQUAL(chmod(folder, 0700), 0);
    EXPECT(&plain, CTT_F32, "eng2");
    each_kept(drop);
}

/* ---- sums in place ---- */

static void set_memory(int64_t bytes)
{
    void *at = gpu_sim("ctt_sim_memory");
    void (*f)(int64_t) = NULL;

    memcpy(&f, &at, sizeof(at));    /* ISO C has no cast for it */
    f(bytes);
}

static struct ctt_sim_sums sums_so_far(void)
{
    void *at = gpu_sim("ctt_sim_counts");
    struct ctt_sim_sums (*f)(void) = NULL;

    CHECK_OK(ctt_dev_sync(gpu));
    memcpy(&f, &at, sizeof(at));
    return f();
}

/* The sum over its plus input by the open GPU, right; returns the kernels that
 * the second run takes.  tight: no memory for other operands is left. */
static int kernels_in_place(int tight)
{
    struct gpu_call m;
    struct ctt_rig want;
    int64_t kernels = 0;

    gpu_open(&m, &sum, N, 0, 0, CTT_F16, 0, 0);
    gpu_expect(&m, &sum, N, 0, 0, &want);
    m.call.out.data = m.call.in[1].data;
    if (tight)
        set_memory(sums_so_far().bytes + (200 << 10));
    for (int i = 0; i < 2; i++) {
        gpu_up(&m);
        kernels = -sums_so_far().kernels;
        CHECK_OK(ctt_dev_run(gpu, &m.call, CTT_FWD));
        kernels += sums_so_far().kernels;
        CHECK_OK(ctt_dev_get(gpu, &m.call.out, m.rig.call.out.data));
        CU_ASSERT(ctt_rig_close_to(&m.rig.call.out, &want.call.out, 3e-3,
                                   "out in place", &sum));
    }
    ctt_rig_close(&want, host);
    gpu_close(&m);
    return (int)kernels;
}

/* The same by a GPU that is opened for it. */
static int kernels_by_new(int deterministic)
{
    int kernels;

    CHECK_OK(ctt_dev_open("cuda", 0, &gpu));
    ctt_dev_deterministic(gpu, deterministic);
    kernels = kernels_in_place(0);
    ctt_dev_close(&gpu);
    return kernels;
}

static const char *looked_for;
static int found;

static void look_for(const char *path)
{
    char line[4096] = "";
    FILE *f = fopen(path, "r");

    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    while (fgets(line, sizeof(line), f))
        found += strstr(line, looked_for) != NULL;
    fclose(f);
}

/* Of the kept plans, those of which this is said. */
static int kept_with(const char *text)
{
    looked_for = text;
    found = 0;
    each_kept(look_for);
    return found;
}

/* An engine that clears the sum first is found out, once, and a kernel copies
 * its result. */
static void test_in_place(void)
{
    ENV("CTT_SIM_CLOCK=fused2=1,fused3=2,eng2=9,eng3=9,kernel=9",
        "CTT_SIM_CAPABILITY");
    for (int det = 0; det < 2; det++) {
        each_kept(drop);
        CU_ASSERT_EQUAL(kernels_by_new(det), 0);
        CU_ASSERT_EQUAL(kept_with(": in place, "), 1);
        each_kept(drop);
        ENV("CTT_SIM_DNN=hasty");
        CU_ASSERT_EQUAL(kernels_by_new(det), 1);
        CU_ASSERT_EQUAL(kept_with(": not in place, "), 1);
        ENV("CTT_SIM_DNN");    /* not tried again */
        CU_ASSERT_EQUAL(kernels_by_new(det), 1);
    }
    each_kept(drop);
}

/* Where it cannot be tried, it is not done.  A plan that is kept all the same,
 * as one by rule is, is tried when it is read, once. */
static void test_no_trial(void)
{
    ENV("CTT_SIM_CLOCK=fused2=1,fused3=2,eng2=9,eng3=9,kernel=9",
        "CTT_SIM_DNN=hasty");
    for (int det = 0; det < 2; det++) {
        each_kept(drop);
        CHECK_OK(ctt_dev_open("cuda", 0, &gpu));
        ctt_dev_deterministic(gpu, !det);
        CU_ASSERT_EQUAL(kernels_in_place(0), 1);    /* allocates scratch */
        ctt_dev_deterministic(gpu, det);
        CU_ASSERT_EQUAL(kernels_in_place(1), 1);
        set_memory(INT64_C(1) << 33);
        ctt_dev_close(&gpu);
        CU_ASSERT_EQUAL(each_kept(NULL), 1 + 2 * det);    /* and its apart */
        CU_ASSERT_EQUAL(kept_with(": not in place, "), 1);
    }
    CU_ASSERT_EQUAL(kernels_by_new(1), 1);
    CU_ASSERT_EQUAL(kept_with(": not in place, "), 2);
    ENV("CTT_SIM_DNN");
    CU_ASSERT_EQUAL(kernels_by_new(1), 1);
    each_kept(drop);
}

/* A gradient of weights that is added to, in the same kernel or one after. */
static int kernels_of_weights(void)
{
    const int flags = RIG_DW | RIG_TRAIN;
    struct gpu_call m;
    struct ctt_rig want;
    int64_t kernels = 0;

    CHECK_OK(ctt_dev_open("cuda", 0, &gpu));
    ctt_dev_deterministic(gpu, 0);
    gpu_open(&m, &plain, N, flags, 0, CTT_F32, 0, 0);
    gpu_expect(&m, &plain, N, flags, 0, &want);
    for (int i = 0; i < 2; i++) {
        gpu_up(&m);
        CHECK_OK(ctt_dev_run(gpu, &m.call, CTT_FWD));
        kernels = -sums_so_far().kernels;
        CHECK_OK(ctt_dev_run(gpu, &m.call, CTT_BWD));
        kernels += sums_so_far().kernels;
        gpu_down(&m);
        CU_ASSERT(ctt_rig_close_to(&m.rig.call.dw[0], &want.call.dw[0], 2e-4,
                                   "dw", &plain));
    }
    ctt_rig_close(&want, host);
    gpu_close(&m);
    ctt_dev_close(&gpu);
    return (int)kernels;
}

static void test_add(void)
{
    each_kept(drop);
    ENV("CTT_SIM_CLOCK=eng2=3,eng3=9,add2=9,add3=5,kernel=3",
        "CTT_SIM_CAPABILITY");
    CU_ASSERT_EQUAL(kernels_of_weights(), 0);
    CU_ASSERT_EQUAL(kept_with("eng3: "), 1);
    each_kept(drop);
    ENV("CTT_SIM_CLOCK=eng2=3,eng3=9,add2=9,add3=5,kernel=1");
    CU_ASSERT_EQUAL(kernels_of_weights(), 1);
    CU_ASSERT_EQUAL(kept_with("apart: "), 1);
    each_kept(drop);
}

/* By a millisecond. */
static void make_older(const char *path)
{
    struct timespec t[2];
    struct stat s;

    CU_ASSERT_EQUAL(stat(path, &s), 0);
    t[1] = s.st_mtim;
    t[1].tv_nsec -= 1000000;
    if (t[1].tv_nsec < 0) {
        t[1].tv_nsec += 1000000000;
        t[1].tv_sec--;
    }
    t[0] = t[1];
    CU_ASSERT_EQUAL(utimensat(AT_FDCWD, path, t, 0), 0);
}

/* 1 if thing i is there, whole. */
static int has_thing(int i)
{
    char key[32], *data = NULL;
    int64_t size = 0;
    int got;

    snprintf(key, sizeof(key), "thing %d", i);
    got = ctt_kept_read(key, &data, &size) == 1;
    CU_ASSERT(!got || (size == (int64_t)strlen(key) && data &&
                       memcmp(data, key, (size_t)size) == 0));
    ctt_free(data);
    return got;
}

/* The oldest goes. */
static void test_full(void)
{
    enum { MORE = 3 };
    char key[32];

    for (int i = 0; i < CTT_KEPT_FILES + MORE; i++) {
        if (i <= MORE)    /* the first ones are the oldest */
            each_kept(make_older);
        snprintf(key, sizeof(key), "thing %d", i);
        ctt_kept_write(key, key, (int64_t)strlen(key));
    }
    CU_ASSERT_EQUAL(each_kept(NULL), CTT_KEPT_FILES);
    for (int i = 0; i < CTT_KEPT_FILES + MORE; i++)
        CU_ASSERT_EQUAL(has_thing(i), i >= MORE);
    CU_ASSERT(!has_thing(-1));
    each_kept(drop);
}

/* Leaves a file as a writer that is killed does; returns its path. */
static const char *leave(int i, time_t when)
{
    static char path[2][256];
    struct timespec t[2] = { { when, 0 }, { when, 0 } };
    FILE *f;

    snprintf(path[i], sizeof(path[i]),
             "%s/convtt/kept/0123456789abcdef.kept.convtt%d.tmp", caches, i);
    f = fopen(path[i], "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    fclose(f);
    CU_ASSERT_EQUAL(utimensat(AT_FDCWD, path[i], t, 0), 0);
    return path[i];
}

/* The next write removes it after a day. */
static void test_orphans(void)
{
    const char *old, *young;

    ctt_kept_write("thing", "x", 1);
    old = leave(0, time(NULL) - 25 * 60 * 60);
    young = leave(1, time(NULL) - 60 * 60);
    ctt_kept_write("thing", "y", 1);
    CU_ASSERT(access(old, F_OK) < 0 && access(young, F_OK) == 0);
    CU_ASSERT_EQUAL(each_kept(drop), 2);
}

static int warnings;
static char last[512];

static void count_warning(void *arg, const char *text)
{
    (void)arg;
    warnings++;
    snprintf(last, sizeof(last), "%s", text);
}

static void test_compiler(void)
{
    ENV("CTT_SIM_CLOCK", "CTT_SIM_CAPABILITY", "CTT_SIM_DNN=uncompiled");
    ctt_warn_to(count_warning, NULL);
    EXPECT(&fused, CTT_F16, "eng2");
    EXPECT(&fused, CTT_F16, "eng2");
    ctt_warn_to(NULL, NULL);
    CU_ASSERT_EQUAL(warnings, 1);
    CU_ASSERT(strstr(last, "COMPILATION_FAILED: a simulated compiler") != NULL);
    ENV("CTT_SIM_DNN");
}

static CU_TestInfo tests[] = {
    { "the faster one", test_clock },
    { "fused or apart", test_apart },
    { "by rule", test_rule },
    { "kept", test_kept },
    { "a sum in place", test_in_place },
    { "a sum in place that cannot be tried", test_no_trial },
    { "a gradient that is added to", test_add },
    { "a full folder", test_full },
    { "temporary files of the dead", test_orphans },
    { "a compiler that fails", test_compiler },
    CU_TEST_INFO_NULL
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { .pName = "choice", .pTests = tests }, CU_SUITE_INFO_NULL
    };
    int status;

    if (access("tests/sim/.libs/convtt-cuda.so", R_OK) < 0)
        return CTT_SKIP;
    setenv("CTT_MODULES", "tests/sim/.libs", 1);
    snprintf(top, sizeof(top), "/tmp/ctt-choice-XXXXXX");
    if (!mkdtemp(top) || ctt_dev_open("ref", 0, &host) < 0)
        return 99;
    snprintf(caches, sizeof(caches), "%s/caches", top);
    setenv("XDG_CACHE_HOME", caches, 1);
    status = ctt_check_main(suites);
    ctt_dev_close(&host);
    snprintf(last, sizeof(last), "%s/convtt/kept", caches);
    rmdir(last);
    snprintf(last, sizeof(last), "%s/convtt", caches);
    rmdir(last);
    rmdir(caches);
    rmdir(top);
    return status;
}
