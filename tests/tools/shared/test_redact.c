/* SPDX-License-Identifier: Apache-2.0
 * test_redact.c: lines for the user are without the passwords of addresses. */
#include "tools/shared/tool.h"
#include "tests/lib/check.h"

#include <string.h>

static void test_lines(void)
{
    static const char *const row[][2] = {
        { "", "" }, { "no address: a:b@c", "no address: a:b@c" },
        { "rtsp://me:hush@cam/1: No such file", "rtsp://cam/1: No such file" },
        { "--events=http://me:hush@h/x?t=hush: cannot write",
          "--events=http://h/x: cannot write" },
        { "'RTSP://me:hush@h' and (tcp://u:hush@h:1).",
          "'RTSP://h' and (tcp://h:1)." },
        { "rtsp://me:h://u:s@h/a b", "rtsp://me:h://u:s@h/a b" },
        { "not rtsp://, http:// or ://x", "not rtsp://, http:// or ://x" },
        { "udp://a?hush", "udp://a" }, { "://", "://" },
        { "http://a@b:hush@cam/x@y#hush, 3 of 4", "http://cam/x@y, 3 of 4" },
    };
    char to[256];

    for (size_t i = 0; i < CTT_LEN(row); i++)
        CU_ASSERT_STRING_EQUAL(ctt_redact(row[i][0], to, sizeof(to)),
                               row[i][1]);
    CU_ASSERT_STRING_EQUAL(ctt_redact("a rtsp://me:hush@h/1 b", to, 12),
                           "a rtsp://h/");
    CU_ASSERT_STRING_EQUAL(ctt_redact("a rtsp://me:hush@h/1 b", to, 1), "");
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "lines", test_lines }, CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = {
        { "hide", NULL, NULL, NULL, NULL, tests }, CU_SUITE_INFO_NULL
    };

    return ctt_check_main(suites);
}
