/* SPDX-License-Identifier: Apache-2.0
 * test_version1.c: model files that convtt 0.1 wrote, in version 1 of the
 * format, are read: a dense one with a training state, and a pruned one. */
#include "net/code/zip.h"
#include "net/file/file.h"
#include "tests/lib/check.h"
#include "tests/lib/saved.h"

#include <string.h>

/* Written by ctt_model_save() of that version; gzip, then base64. */
static const char dense[] =
    "H4sIAAAAAAACA92ZeTxV6xrH1yZDbHOGI9qcUiKOHepkryed7MpQqCTVMdshY9tuLo3H2EA0"
    "kEp1G+mkCNnrqeg0GELDSUclNCmJOkpFdS1788G9t3P/6HPv53h9WNvzPu+z3vX9Peuddqwt"
    "d6qCnLachKws0V2+iMtCHdH/ZmL7FP7dCidb7iwJ4q6yMkGkMkRmU3G1nATRaaFrnCRElrHi"
    "GuZwgpAkZAhZYhBBLAzjh3gLCLVOu0znL+3qGxa6VCAgmAa0myzBpN2W8vgRgWGhhHJnvwZ1"
    "RdHr8qVvyhxJOyqI4gXzvCMEnnyetx+P3xV1kDiqmSmbYBqKQnZ5hnS6ePqs6HKS73NrPdqX"
    "Ltb1x41Ej7iafpB4RdEDmHc/onTn/ekfQlqR7oqkr+kyaxlRXY/Fp32w2KJKW2RCTf29Q0K8"
    "WfJiqwptlQ419eEJvG2Y4sjyRO8SU5W0w8nG1kFCtbce3UWaSUdgLFMTC7BGzz9W3Ol/36BX"
    "t9XoprIRPIEgMNQ/okWrT9/D/Py+0xZblGmLVGCoH2+55VBxt4YSXysXSxte0J1WV6Vh9+8D"
    "jfOnQX0zpmp07c6ujjNyGIwhnYIwGIwccV33VZJJMJTFuhOdOkp1ZpmklGw+rWsOwYoXpa2E"
    "ZMi2QsUNZsrc5tWXVxPayq25rNnV3ysIHOwz3reF7vgtPiX4THTKCuHWqrSsS87xsStJnoW7"
    "2a9DLVtc2ZZnZReoOpgUHfnd5/LEAq5VlLrVGP1pcW0Hbq5nVYZP50x2FFwKHn5vykH3B3Z2"
    "givDIGPsTffcwuNbquNsWmtV7+zWHartclMtM+1m9eyIX5Rq+CX7UiPap2DcHutjr6JfNH5m"
    "naAWp9fctnDZ00Z39goxQEq+m8NoWnFa20NSIhub6JNSoTzBevFo8JOV91iR2oY9ahuKvQ2/"
    "rvYYWm3DXmobG5qUXytzmGtYXjHDhHFaS0vxlF+nz9RiN40BRVjBrkCpm7CCTN9RVTyQBHv7"
    "8IIjwsSv1seqIoEIskkPZBNxA5OvQ2bTkE16Qx5tX1bmMGOmmautyTWncsOnRoZGUq8VWsec"
    "I4o3n8nUGVCkF/MtdnSTvqjVd+ITD+QBgRGCMP6K2+JM1zW20RWhzpJguHQCk2IwpMUtGN2o"
    "+10luiP+l36SQwiGih6rZwbUlCU013Z+EkuW0/mGEVmMvC3XyZaCP6htkQ9x3+Q20vnwC3Ar"
    "nQOcwALg6bzGiW1ppN4rJq7RbKCchBXgodjG2V1+Whhr4iPUpWLgRNQ8KLx1EQqPp0LpDTcs"
    "Xr8PuMaZQH3ci/f2TMNgnbOUoWUa3mltxDyVbHjMf0olu7hiXpw7pb8pBl2ivNA8bAG+V/8F"
    "VhF5SD0XQOzOELJ0wmbc9voWPJ4Xgr+mf5xQyX0BG+RHw5NL79FgRwT5TqcMR5XFwEG9V7D6"
    "iANkjcugCl1nkPz7nyHC8T3U//gQSm42g/32RpKdnYdLStNxwrwkSHw43erDxiJIf4NwZM51"
    "lK0KAt/ZSXDn+H1U+ywEn8v1WHRvAsg8cgPTlgwMDJDF8aNdcTtuonKtniJzzh8YPm02xYos"
    "JQuH54KGxPdUmsAQX9Xlw8FSCWScyMQpn7KFrL3pYHEpCWzW5+OzDS6YsrEMfI4Cqa3BpkbE"
    "yFGS3CzcqfGIfMFtA/juDDgHNHHYiwNh15YYsFmXgVGkBSyJqYHi1tt4f50D5MmVwpPIgAIi"
    "8v+d7Yn2QZNFuavVM0xI98vNv8g9HTpbtYgaj0Pk+E8SVEn7dGzXX4ZaCUbU84N7kDj/dx8R"
    "itj7Nn0bRm2WIyitw5YgH7YZ4jftR3kcDFz56gHAyC13gcq3YZSseRyz6q9xUuq4qMM7iKsj"
    "vYRF3K3w92fkULNyyrdhZDe4jGyrt0cJ1X/AjIYHmNJsjJc+dAwARmcnRGb85w0PPSfXK/Vd"
    "XxL2harf6PW83gpgJ3kAq6xLKRP9oWAunEmFXLxH/f2xyiu62NFYe/acITzvUH8FUSVNdb96"
    "3x3Z7fbgBBFUgtG9ppHst1YZ1O8q3W/t8pd+XxdFtfMvg6Ui8l3X3Tj8fw/Po+nxsftmNajy"
    "cCf5es9ZjHs/Au08W0HWupZTUrcFDyU8w0JFP4SmJigyWYiRuRtIbVVznJzpBGfjfiefWV2h"
    "ctwK8eTODCq79jg1U+84Nm+qA4UL8ZCwrULY8QTAq+RnztZ5b6A6+j7lVjMKzH2iyFfpisIK"
    "hyOwnzUbhPcmwdqcUzDPKIJjtnQGUoyXcM63Et7bbsTRmrtwc9EtfHiyFasXfSKLqWvQGMAG"
    "V5YWbCQS0F3uIt70KiEJBoWRMnXkqddmEFyfiGlKlhAd8JIsU09DqaxDcDgmH7UX1eOo5W/w"
    "nXojPmkqRhv5yxjiWA3Da3fDDw0EsOPfwJDoXcImSSnq0dFEKCo4B9oj98JK7z1w6elDKutk"
    "AvoFJ8LVkhJyaJQWZFplQd4gf0xJFiL3Qha6127hPK3PxKSSt3DMhoO3L8+k9FkPIN2wglJ5"
    "mgI/FG5DKuoJSMkisFxe4YPDVah4/yhWzVqEL8yUceQDCYh/KUnZSKZCNMcZyE1/QDTzGazm"
    "p8Aq3hyUORkPHcru6Bj3G5W8fAVsiMkjT/BPw9xJishf/46U7lwV+m1XALVjXzC8eSrWyjwH"
    "x9ZBkPEphlLlx1Jq45Zg6WI1OJD2G9YwBmGS1Vn0OnfR6sS04Ry5IAE2KKmBQdB22HUsVThJ"
    "Kh9nKZQLB69rh+vnC8kl8+MwuTgfSn7dDskL3mJKSh5q1kpC5tFtuGxZLlzwvItn61PBhnMC"
    "VIxqydzcRHK5hhV81piBpmuToLb6E+4hDmFNuzPZWD0WPe5kU94Nr7Hy3lw8+YBCgzVvsWGR"
    "NXrOEeL1R/upoiYvtDK2RvxijGqCWhhq+5k8v3c356qNF1gvGAvrtdrJjlUx8HivM0ifCYDk"
    "29eEWsxwfH57JspK6uPIH97AqwJH4fv2etQ09gX2CAIaAm7gyI+PwM5xjtWkSh0QHKrARdWf"
    "YPL4bHICS4kT8UoOHNynYPDVE+gW5IdnrC3BcLAaWTD+GXy33QHVlE7hXptdnJda+2Bx3Z8w"
    "fPYwjDXXpnZrPyOpw2147FE+xi/Pw2yzBtx9fhQ6joomH5u/Rb/Ul+DqngdjIn1xh95KfOCR"
    "AlcdctDsZAnU+POwJdCbfFBoJhwxMxEUProDb2uLcK6lMpZzeOQFoy3AXHqFLK23grfn0rBl"
    "sx75i1sKGJW449QPz0GmrBkIyWQosY+BlSkF6MXyoJbUf6S8VB/ijqnu8O55B3LPB5FeTlXg"
    "suYFuVZdCHkeR6i6ITWQ25IA4z6cgcygxxg7OI00ktJARtYEXBLmjpuPjUHfBfJYspkrDBqT"
    "By8968H56lCQVq3CZMWJVJN6NKau/YK4q4CanSSPV66nQPLaVuGKfbmYbdwMG/U/U5ovJ1PB"
    "z/7EmMZ4WHonHUNt9kPBl5c4KawSxl3OpZhHLgvvxTlT3TvSJxp9x2nx6coK02VqyiJL8xDf"
    "bNHIzeyZDvvvKv9i5FWmPZnEn9GVEOFvYOV+tH4ArCwUzWvXdk2BogPNUNOl3vzziv0o+lwX"
    "z4O7ojyHiSge6KF4QBzpwNePTw7T9A70PpGsYCtuMmNyb0w82sJQjmsasfvRj47pDLmc+Tl5"
    "nnm2NyxmU0/vdUxKCfdhrR8mEzw9vFFSS2r7F9clh+ez7/58gLJl2FeeGbLIry51GTjppgxL"
    "Cr/UcORdRYKeQ3NcfFJ2o+WI62Mue6StfjssdgbfUcekg4wH4w81W7kEe1XG84MZ3Dz19zyt"
    "BC/3/CVbR3cwTlbPjxrOGEhHNkey95T3klbA9w4Mvcb41/NrNU2R7cbS5cUicXV7xNUVx9L9"
    "urj6tLi6vcR16DoRy7V8KkFMLH43bfCAOgubYyvUEoFS7gEl0f9kigYlSyOiy6RuUENoUMoE"
    "e6y5heW48T96+/j68Rb6BwwcNkqRt+6I2Bj0sDEQ1xl8PYlG02wMeiVRqZPdzCxns1lmMxzG"
    "OVqMP10rQbASq8+pDKhkKud1GIq/ZTO3YPuaLWSPlfsnD7eeLnYcAAA=";

static const char pruned[] =
    "H4sIAAAAAAACA+v0cHHj5ZLiYuLgYICB/1AwnxPCN4CKTzh/apO/h0sQE8MNAQEGhstMqNJc"
    "TAyMDAwgGXMWiIgxVIZHmYGBmYGdgYMBKJGWX5SbWMIgDBRnB2KQIcn5eWUlJQw8qiBlHAw8"
    "IGVlqUXFmfl5DAJAd0GMUwCrZQSZpwZSyAsxLyc1sbgkvig1MSW1CGwqC9RUAz1DBh4NiJFg"
    "lblAJfFJlWBF3ChWK4DUgoBYU+ZSsBcZtzAyigCVMDIyboH6AkYz8zAwCkBdwgA0mRXob2ZW"
    "jh0gm7YwyHdDApKJObf/IF+TgYDL+5qjNQxSAl+2yQffUuIt8fZa/eN73tQj3TNzNrXPrNzd"
    "d33OhsMB3Z1VNqkmsQbrpE0/hBmabuWIFvLWPbTsatJRu10uVm2iVjqK7l3fF15qlL9Q4GPt"
    "5FdyOEf5tuui2LueniXH5GxXG12K3XZwZe+tLucvD4SuzZCVlgq5JLxmzqVbwcWt/PeKTs2b"
    "VfzbdW/XbPsV79pfvf4nv2pP4YJ7V0xCZn8HOfYYwzABOyK8Nf2dPbyZhJATMgyw8YFijTkv"
    "tUQYEnkM/YnuUyHxrQGPbw2oWRr441sHFN8aSPGtraF77sQZ73CNc+d9dRk3SkjwrU8BqnE7"
    "GSE2rMKY13MXPyiMRYVAmQo9jEH5fzErav5nmKW3MBcSzLrwYNaFyuniD2ZDUDDrIgezpteZ"
    "M96+gQZhHron/M9pPNPS0GL9yPtFZyfDyZ5Na2SGVVgXFplMBYU1KFQnsUPEjKBybEKgwGLP"
    "yCwuyS+qzIKWuQzB5nlrIGG9AR7WG6ByG/CH9RZQWAPV3ItbbGP+l2nPqd8+e38rlu+VmKC1"
    "5+Wi2XsZZFIX7eVgOPvF1taTeeFe492Be4Rt3761fW51bM/mByv3GCe12Zz3XmY7Xz7Y9ozo"
    "nL3O3Ef36r9gsOW7s3zvlIpKW+EV//f6fWGxnWy1de/0FbN2n1o3yfafmO/eB7f+7o0P3b1X"
    "XDvZtmTx+b2W8vzWEdkpewsffrbdbPBir05d8l63ny9tT/W47GZ2Xcnxxuf6qSOnfE+tSDm3"
    "S3Y4Rbdayg5xWHTnQWtfQ1h0C4Lii60gMTk7NeUaNIcxBJxaqQWJ7Xnw2J4HlZuHP7YXgWJ7"
    "HlLOau335jtkwOPy3faozIIuqd2GTy3OLee4mBIo0Hr7sWg3k9PmzfOPV53MnXDve47inGg9"
    "/jM+EaWHGfp9mKdWnootEmSKnfY9ykG5aEaL0dJ1OydfW2W2tmpvzfsMvWm32R8JBpRMEnDl"
    "Wel6e/603euqmx5KOiovl1lSPUt09tWMiXNFfduiHlbYVIiZmd36+r5cf/uflbOUGIdT3E7Y"
    "LrQbFLfQeMxJTErNKWZmhkauAEiQNTMvJbXiCDSf11+pPAhtnhgam6UlmhsacAEAYSlbDa8J"
    "AAA=";

static int digit(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqr"
                                 "stuvwxyz0123456789+/";
    const char *at = strchr(digits, c);

    return at && c ? (int)(at - digits) : 0;
}

/* Writes the file that a text stands for to saved_path. */
static void write_file(const char *text)
{
    uint8_t zip[8192];
    int64_t n = 0, size = 0;
    char *file = NULL;
    const char *s;

    CU_ASSERT_FATAL(strlen(text) % 4 == 0 && strlen(text) < sizeof(zip));
    for (s = text; *s; s += 4) {
        int x = digit(s[0]) << 18 | digit(s[1]) << 12 | digit(s[2]) << 6 |
                digit(s[3]);
        for (int k = 2; k >= 0; k--)
            zip[n++] = (uint8_t)(x >> 8 * k);
    }
    n -= (s[-1] == '=') + (s[-2] == '=');
    CHECK_OK(ctt_gunzip(zip, n, 1 << 16, &file, &size));
    saved_spill(saved_path, (uint8_t *)file, size);
    ctt_free(file);
}

/* The model that was saved. */
static struct ctt_model *expected(int is_pruned)
{
    struct ctt_model *m = saved_make("input x h=4 w=4 c=2\n"
                                     "conv c in=x out=6 kernel=3 pad=1\n"
                                     "norm n in=c kind=batch\n"
                                     "conv y in=n out=3 kernel=4\n");
    char *label[] = { "pushing something", "", "\303\251" };

    CHECK_OK(ctt_model_labels(m, label, 3));
    m->history = ctt_strdup("trained 3 epochs\npruned 0.9\n");
    if (is_pruned) {
        saved_prune(m);
        return m;
    }
    CHECK_OK(ctt_state_new(&m->train));
    m->train->settings = ctt_strdup("epochs=3\n");
    CHECK_OK(ctt_state_add(m->train, "odd", 8, 2, "12345678abcdefgh"));
    return m;
}

/* It is read, and saved in the version of today and read again. */
static void read_file(const char *text, int is_pruned, const char *positions)
{
    struct ctt_model *want = expected(is_pruned), *m = NULL;
    struct ctt_stored *s = NULL;
    int64_t bytes = 0;
    int count = 0;

    write_file(text);
    CHECK_OK(ctt_model_load(saved_path, 1, &m));
    CU_ASSERT(saved_same(m, want));
    CHECK_OK(ctt_model_stored(saved_path, &s, &count, &bytes));
    CU_ASSERT_EQUAL_FATAL(count, 8);
    CU_ASSERT_STRING_EQUAL(s[6].positions, positions);
    ctt_free(s);
    CHECK_OK(ctt_model_save(saved_other, m));
    ctt_model_free(&m);
    CHECK_OK(ctt_model_load(saved_other, 1, &m));
    CU_ASSERT(saved_same(m, want));
    ctt_model_free(&m);
    ctt_model_free(&want);
}

static void test_dense(void)
{
    read_file(dense, 0, "all");
}

static void test_pruned(void)
{
    read_file(pruned, 1, "index");
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "dense", test_dense },
        { "pruned", test_pruned },
        CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = {
        { "version 1", NULL, NULL, NULL, NULL, tests }, CU_SUITE_INFO_NULL
    };

    if (saved_start())
        return 99;
    return saved_end(ctt_check_main(suites));
}
