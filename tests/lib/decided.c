/* SPDX-License-Identifier: Apache-2.0
 * decided.c: models with thresholds for early decisions. */
#include "tests/lib/decided.h"
#include "net/file/file.h"

#include <stdio.h>
#include <string.h>

char decided_path[256];

void decided_write(const char *text, struct ctt_decision d)
{
    struct ctt_model *m = NULL;

    d.max_gap = 0.05;
    d.delta = 0.1;
    d.clips = 100;
    if (!*d.type)
        strcpy(d.type, "fp32");
    snprintf(decided_path, sizeof(decided_path), "%s",
             stream_model(text, NULL, 0));
    CHECK_OK(ctt_model_load(decided_path, 0, &m));
    CHECK_OK(ctt_decision_sign(m, &d));
    CHECK_OK(ctt_decision_print(&d, &m->decision));
    CHECK_OK(ctt_model_save(decided_path, m));
    ctt_model_free(&m);
}

struct ctt_infer *decided_open(void)
{
    struct ctt_infer *m = NULL;

    CHECK_OK(ctt_infer_open(decided_path, "ref", 1, &m));
    return m;
}

struct ctt_decision decided_all(float threshold, int checks, double smooth)
{
    struct ctt_decision d = { .checks = checks, .smooth = smooth };

    for (int k = 0; k < checks; k++)
        d.threshold[k] = threshold;
    return d;
}

void decided_allocations_fail(int (*try)(const struct ctt_infer *m))
{
    struct ctt_infer *m;
    int rc = CTT_ENOMEM;

    decided_write(stream_plain, decided_all(0.5f, 3, 0));
    m = decided_open();
    CHECK_OK(ctt_infer_decide(m));
    for (long k = 1; rc == CTT_ENOMEM && k < 10000; k++) {
        ctt_fail_alloc(k);
        rc = try(m);
        ctt_fail_alloc(0);
    }
    CHECK_OK(rc);
    ctt_infer_close(&m);
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}
