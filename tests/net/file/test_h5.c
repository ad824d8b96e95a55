/* SPDX-License-Identifier: Apache-2.0
 * test_h5.c: files that HDF5 reads and we refuse; and HDF5 opens no file on
 * disk. */
#include "net/file/h5.h"
#include "tests/lib/check.h"
#include "tests/lib/saved.h"

#include <hdf5.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Writes a file with dataset "a" of 64 KiB. */
static void write_base(void)
{
    static uint8_t data[1 << 16];
    const struct ctt_h5_shape s = { .size = 1, .rank = 1,
                                    .dim = { sizeof(data) } };
    struct ctt_h5 *f = NULL;
    uint8_t *image = NULL;
    int64_t size;

    CHECK_OK(ctt_h5_new(saved_path, sizeof(data), 1, &f));
    CHECK_OK(ctt_h5_write(f, "a", &s, data));
    CHECK_OK(ctt_h5_image(f, &image, &size));
    saved_spill(saved_path, image, size - CTT_H5_END);
    ctt_free(image);
    ctt_h5_close(&f);
}

/* Appends the end that a file must have. */
static void seal(void)
{
    int64_t size;
    uint8_t *p = saved_slurp(saved_path, &size);
    uint8_t *whole = ctt_calloc((size_t)size + CTT_H5_END, 1);

    memcpy(whole, p, (size_t)size);
    ctt_h5_end(p, size, (char *)whole + size);
    saved_spill(saved_path, whole, size + CTT_H5_END);
    ctt_free(whole);
    ctt_free(p);
}

static int shape_of_typed(hid_t type, struct ctt_h5_shape *s)
{
    static const double x[6] = { 0 };
    const hsize_t dim[2] = { 2, 3 };
    struct ctt_h5 *f = NULL;
    hid_t file, space, d;
    int rc;

    write_base();
    file = H5Fopen(saved_path, H5F_ACC_RDWR, H5P_DEFAULT);
    space = H5Screate_simple(2, dim, NULL);
    d = H5Dcreate2(file, "b", type, space, H5P_DEFAULT, H5P_DEFAULT,
                   H5P_DEFAULT);
    CU_ASSERT(H5Dwrite(d, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, x)
              >= 0);
    CU_ASSERT(H5Dclose(d) >= 0 && H5Sclose(space) >= 0 && H5Fclose(file) >= 0);
    seal();
    CHECK_OK(ctt_h5_open(saved_path, &f));
    rc = ctt_h5_shape(f, "b", s);
    ctt_h5_close(&f);
    return rc;
}

/* Numbers that HDF5 would convert are refused. */
static void test_types(void)
{
    const hid_t bad[] = { H5T_IEEE_F64LE, H5T_IEEE_F32BE, H5T_STD_I32LE,
                          H5T_STD_U64LE, H5T_STD_I64BE, H5T_STD_I8LE,
                          H5T_STD_U16LE };
    const hid_t good[] = { H5T_STD_U8LE, H5T_IEEE_F32LE, H5T_STD_I64LE };
    const int size[] = { 1, 4, 8 };
    struct ctt_h5_shape s;

    for (size_t i = 0; i < CTT_LEN(bad); i++)
        ctt_check_refused(shape_of_typed(bad[i], &s), CTT_EFORMAT,
                          "b holds neither bytes nor");
    for (size_t i = 0; i < CTT_LEN(good); i++) {
        CHECK_OK(shape_of_typed(good[i], &s));
        CU_ASSERT(s.size == size[i] && s.rank == 2 && s.dim[0] == 2 &&
                  s.dim[1] == 3);
    }
}

/* Many names of one dataset, which together are more than the file. */
static void test_links(void)
{
    static uint8_t data[1 << 16];
    const struct ctt_h5_shape s = { .size = 1, .rank = 1,
                                    .dim = { sizeof(data) } };
    struct ctt_h5 *f = NULL;
    hid_t file;

    write_base();
    file = H5Fopen(saved_path, H5F_ACC_RDWR, H5P_DEFAULT);
    CU_ASSERT(H5Lcreate_hard(file, "a", file, "b", H5P_DEFAULT, H5P_DEFAULT)
              >= 0 && H5Lcreate_soft("a", file, "c", H5P_DEFAULT, H5P_DEFAULT)
              >= 0 && H5Fclose(file) >= 0);
    seal();
    CHECK_OK(ctt_h5_open(saved_path, &f));
    CU_ASSERT_EQUAL(ctt_h5_has(f, "c"), 0);
    CHECK_OK(ctt_h5_read(f, "a", &s, data));
    ctt_check_refused(ctt_h5_read(f, "b", &s, data), CTT_EFORMAT,
                      "up to b are larger than the file");
    ctt_h5_close(&f);
}

/* The file is read before HDF5 is called, and may go; two of one name are two
 * files, for HDF5, too. */
static void test_memory(void)
{
    static uint8_t data[1 << 16];
    const struct ctt_h5_shape s = { .size = 1, .rank = 1,
                                    .dim = { sizeof(data) } };
    struct ctt_h5 *f = NULL, *g = NULL;

    write_base();
    seal();
    CHECK_OK(ctt_h5_open(saved_path, &f));
    CU_ASSERT_EQUAL(unlink(saved_path), 0);
    CHECK_OK(ctt_h5_new(saved_path, 1 << 16, 1, &g));
    CU_ASSERT_EQUAL(ctt_h5_has(g, "a"), 0);
    CHECK_OK(ctt_h5_write(g, "a", &s, data));
    CHECK_OK(ctt_h5_read(f, "a", &s, data));
    ctt_h5_close(&g);
    ctt_h5_close(&f);
    CU_ASSERT_EQUAL(access(saved_path, F_OK), -1);
}

/* What is compared with other numbers, or with another shape. */
static void test_check(void)
{
    static uint8_t data[1 << 16];
    struct ctt_h5_shape s = { .size = 1, .rank = 1, .dim = { sizeof(data) } };
    const float x[6] = { 0 }, y[6] = { 0, 0, 0, 0, 0, 1 };
    const struct ctt_h5_shape b = { .size = 4, .rank = 2, .dim = { 2, 3 } };
    struct ctt_h5_shape found;
    struct ctt_h5 *f = NULL;

    CHECK_OK(shape_of_typed(H5T_IEEE_F32LE, &found));
    CHECK_OK(ctt_h5_open(saved_path, &f));
    CHECK_OK(ctt_h5_check(f, "a", &s, data));
    data[77] = 1;
    CU_ASSERT_EQUAL(ctt_h5_check(f, "a", &s, data), CTT_EIO);
    data[77] = 0;
    CHECK_OK(ctt_h5_check(f, "b", &b, x));
    CU_ASSERT_EQUAL(ctt_h5_check(f, "b", &b, y), CTT_EIO);
    s.dim[0]--;
    CU_ASSERT_EQUAL(ctt_h5_check(f, "a", &s, data), CTT_EFORMAT);
    ctt_h5_close(&f);
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

static CU_TestInfo tests[] = {
    { "types", test_types },
    { "links", test_links },
    { "in memory", test_memory },
    { "compared", test_check },
    CU_TEST_INFO_NULL
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { .pName = "h5", .pTests = tests }, CU_SUITE_INFO_NULL
    };
    int rc = saved_start();

    return rc ? rc : saved_end(ctt_check_main(suites));
}
