/* SPDX-License-Identifier: Apache-2.0
 * fuzz_saved.c: any file of a saved stream is an error in one line, or a stream
 * that continues, is saved as the same bytes and gives finite answers or an
 * error.  The input is the file; with an S before it the checksum is corrected,
 * as a forger would. */
#include "tests/fuzz/fuzz.h"
#include "infer/infer.h"
#include "net/code/zip.h"
#include "net/file/file.h"

#include <math.h>
#include <string.h>

enum { SIDE = 4, FRAME = SIDE * SIDE * 3, CLASSES = 3, HEADER = 80, CRC = 68,
       STEPS = 5, FILE_MOST = 1 << 14 };

const char *const ctt_fuzz_words[] = {
    "convtt stream 1\n", "convtt stream 2\n", "\x04\x03\x02\x01",
    "\xff\xff\xff\xff\xff\xff\xff\x7f", "\xff\xff\xff\xff\xff\xff", "\x01",
    "S", NULL
};

/* A window over the whole stream, a state that begins with its first input, and
 * statistics of the light. */
static const char text[] =
    "input x h=4 w=4 c=3 fps=12 normalise=clip\n"
    "state p of=x delay=2 fill=first\n"
    "mul n in=p,x\n"
    "conv e in=n out=2 kernel=3 pad=1 stride=2\n"
    "clip\n"
    "window v in=e steps=2 spread=1\n"
    "pool q in=v kind=avg\n"
    "conv y in=q out=3\n";

static struct ctt_infer *model;
static struct ctt_session *session;
static uint8_t frames[STEPS * FRAME];

/* Once; libFuzzer has no end at which to close them. */
static void open_session(void)
{
    const char *path = ctt_scratch("saved.h5");
    struct ctt_graph *g = NULL;
    struct ctt_model *m = NULL;

    if (session)
        return;
    FUZZ_CHECK(ctt_net_parse(text, &g) >= 0);
    FUZZ_CHECK(ctt_model_new(g, &m) >= 0);
    for (int64_t i = 0; i < m->g->weights; i++)
        m->w[i] = (float)(i % 7) * 0.1f - 0.3f;
    FUZZ_CHECK(ctt_model_save(path, m) >= 0);
    ctt_model_free(&m);
    FUZZ_CHECK(ctt_infer_open(path, "ref", 1, &model) >= 0);
    FUZZ_CHECK(ctt_session_open(model, &session) >= 0);
    for (int i = 0; i < STEPS * FRAME; i++)
        frames[i] = (uint8_t)(37 * i);
}

/* Saves a stream of `count` frames; returns the path. */
static const char *saved(int count)
{
    const char *path = ctt_scratch("seed");

    open_session();
    ctt_session_reset(session);
    for (int i = 0; i < count; i++)
        FUZZ_CHECK(ctt_session_push(session, frames + i % STEPS * FRAME, 1) >=
                   0);
    FUZZ_CHECK(ctt_session_save(session, path) >= 0);
    return path;
}

static void continue_saved(const uint8_t *p, size_t n)
{
    static uint8_t again[FILE_MOST];
    float probs[CLASSES];
    const char *path = ctt_scratch("again");

    FUZZ_CHECK(ctt_session_save(session, path) >= 0);
    FUZZ_CHECK(n > sizeof(again) ||
               (ctt_scratch_get(path, again, sizeof(again)) == n));
    FUZZ_CHECK(ctt_session_restore(session, path) >= 0);
    FUZZ_CHECK(memcmp(p, again, CRC) == 0);
    FUZZ_CHECK(ctt_session_push(session, frames, STEPS) >= 0);
    if (ctt_session_read(session, probs) < 0)
        return;
    for (int i = 0; i < CLASSES; i++)
        FUZZ_CHECK(isfinite(probs[i]));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t file[CTT_FUZZ_ROOM];
    size_t forged = size > HEADER && *data == 'S', n = size - forged;
    uint32_t crc = 0;
    const char *path;

    if (n > sizeof(file))
        return 0;
    open_session();
    memcpy(file, data + forged, n);
    if (forged && n >= HEADER) {
        memset(file + CRC, 0, sizeof(crc));
        crc = ctt_crc32(0, file, 1, (int64_t)n);
        memcpy(file + CRC, &crc, sizeof(crc));
    }
    path = ctt_scratch_put("saved", file, n);
    if (ctt_session_restore(session, path) < 0)
        ctt_fuzz_refused(path);
    else
        continue_saved(file, n);
    return 0;
}

size_t ctt_fuzz_seed(int i, uint8_t *p, size_t room)
{
    static const int counts[] = { 0, 1, 3, 40 };

    if (i >= 2 * (int)CTT_LEN(counts))
        return 0;
    *p = 'S';
    return i % 2 + ctt_scratch_get(saved(counts[i / 2]), p + i % 2,
                                   room - 1);
}
