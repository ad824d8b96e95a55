/* SPDX-License-Identifier: Apache-2.0
 * list.c: lists of clips, compared with a text; for the tests that read
 * them. */
#include "tests/lib/list.h"
#include "tests/lib/check.h"

#include <stdio.h>
#include <string.h>

const char *list_text(const struct ctt_list *l)
{
    static char text[4096];
    size_t n = 0;

    text[0] = 0;
    for (int i = 0; i < l->labels; i++)
        n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s",
                              i ? "|" : "", l->label[i]);
    for (int i = 0; i < l->count && n < sizeof(text); i++) {
        const char *p = l->item[i].path, *base = strrchr(p, '/');
        while (base && base > p && base[-1] != '/')
            base--;
        n += (size_t)snprintf(text + n, sizeof(text) - n, "\n%s:%d",
                              base ? base : p, l->item[i].label);
        for (int k = 1, c; (c = ctt_item_label(l, &l->item[i], k)) >= 0; k++)
            n += (size_t)snprintf(text + n, sizeof(text) - n, ",%d", c);
    }
    return text;
}

void list_expect(const char *path, const char *split, char *const *known,
                 int nknown, const char *subset, const char *text)
{
    struct ctt_list *l = NULL;
    int rc = ctt_list_open(path, split, known, nknown, subset, &l);

    if (rc < 0 || strcmp(list_text(l), text) != 0) {
        printf("\n    %s: got\n%s\n    expected\n%s", path,
               rc < 0 ? ctt_errmsg() : list_text(l), text);
        CU_FAIL("list");
    }
    for (int i = 0; l && i < l->count; i++)
        CU_ASSERT(strstr(l->item[i].path, l->item[i].id) != NULL);
    ctt_list_free(&l);
}

void list_refuse(const char *path, const char *split, char *const *known,
                 int nknown, const char *subset, const char *says)
{
    struct ctt_list *l = NULL;
    long live = ctt_live_blocks();
    int rc = ctt_list_open(path, split, known, nknown, subset, &l);

    CU_ASSERT(rc < 0);
    CU_ASSERT_PTR_NULL(l);
    CU_ASSERT_EQUAL(ctt_live_blocks(), live);
    if (rc >= 0 || !strstr(ctt_errmsg(), says)) {
        printf("\n    %s: '%s' does not say '%s'", path,
               rc < 0 ? ctt_errmsg() : "success", says);
        CU_FAIL("message");
    }
    ctt_list_free(&l);
}

void list_without_memory(const char *path, const char *subset)
{
    struct ctt_list *l = NULL;
    long live = ctt_live_blocks();
    int rc = CTT_ENOMEM, k = 0;

    while (rc == CTT_ENOMEM && k < 2000) {
        ctt_fail_alloc(++k);
        rc = ctt_list_open(path, "train", NULL, 0, subset, &l);
        ctt_fail_alloc(0);
        if (rc < 0)
            CU_ASSERT_EQUAL(ctt_live_blocks(), live);
    }
    CU_ASSERT_EQUAL(rc, 0);
    CU_ASSERT(k > 20);
    ctt_list_free(&l);
    CU_ASSERT_EQUAL(ctt_live_blocks(), live);
}
