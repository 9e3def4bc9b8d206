/* SPDX-License-Identifier: Apache-2.0 */
#include "ckpt/safetensors.h"

#include "base/fs.h"
#include "base/mem.h"
#include "tap.h"

static struct err err;

/* A file of this header and n bytes of data. */
static struct ckpt_st_file *open_text(const char *header, size_t n, enum rc *rc)
{
    static unsigned char bytes[4096];
    uint64_t length = strlen(header);
    memcpy(bytes, &length, 8);
    memcpy(bytes + 8, header, length);
    for (size_t i = 0; i < n; i++)
        bytes[8 + length + i] = (unsigned char)i;
    struct ckpt_st_file *f = NULL;
    err = (struct err){0};
    *rc = ckpt_st_open_memory("x", bytes, 8 + (size_t)length + n, &f, &err);
    return f;
}

static void tensors_are_found_by_name(void)
{
    enum rc rc;
    int64_t live = mem_live();
    struct ckpt_st_file *f =
        open_text("{\"__metadata__\":{\"format\":\"pt\"},"
                  "\"b\":{\"dtype\":\"I64\",\"shape\":[],\"data_offsets\":[12,20]},"
                  "\"a\":{\"dtype\":\"F32\",\"shape\":[3,1],\"data_offsets\":[0,12]},"
                  "\"e\":{\"dtype\":\"U8\",\"shape\":[0,7],\"data_offsets\":[20,20]}}   ",
                  20, &rc);
    CHECK_INT(rc, RC_OK);
    if (rc)
        return;
    CHECK_INT(ckpt_st_count(f), 3);
    CHECK_STR(ckpt_st_at(f, 0)->name, "a");
    CHECK_STR(ckpt_st_meta(f, "format"), "pt");
    CHECK(ckpt_st_meta(f, "other") == NULL);
    const struct ckpt_st_tensor *a = ckpt_st_find(f, str_c("a")),
                                *b = ckpt_st_find(f, str_c("b"));
    CHECK(a && b && ckpt_st_find(f, str_c("c")) == NULL);
    CHECK_INT(a->n_dims, 2);
    CHECK_INT(a->dims[0], 3);
    CHECK_INT(a->bytes, 12);
    CHECK_INT(ckpt_st_rows(b), 1);
    CHECK_INT(ckpt_st_width(b), 1);
    CHECK_INT(b->data[0], 12);
    CHECK_INT(ckpt_st_width(ckpt_st_find(f, str_c("e"))), 0);
    ckpt_st_close(f);
    CHECK_INT(mem_live(), live);
}

static const struct {
    const char *header;
    size_t data;
    enum rc rc;
    enum code code;
    const char *msg;
} broken[] = {
    {"[]", 0, RC_FORMAT, E1501, "file 'x': its header does not begin with '{'"},
    {"{\"a\":", 0, RC_FORMAT, E1501,
     "file 'x': header: line 1, column 6: expected a value, found the end of the text"},
    {"{\"a\":1}", 0, RC_FORMAT, E1501,
     "file 'x': tensor 'a': an integer instead of an object"},
    {"{\"a\":{\"shape\":[],\"data_offsets\":[0,4]}}", 4, RC_FORMAT, E1501,
     "file 'x': tensor 'a': its dtype is not a string"},
    {"{\"a\":{\"dtype\":\"F4\",\"shape\":[],\"data_offsets\":[0,4]}}", 4, RC_UNSUPPORTED,
     E1503, "file 'x': tensor 'a': type 'F4' is not supported"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[-1],\"data_offsets\":[0,4]}}", 4, RC_FORMAT,
     E1501, "file 'x': tensor 'a': its shape is not a list of sizes of 0 or more"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1,1,1,1,1,1,1,1,1],\"data_offsets\":[0,4]}}",
     4, RC_UNSUPPORTED, E1503, "file 'x': tensor 'a': 9 axes, more than 8"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0]}}", 4, RC_FORMAT,
     E1501, "file 'x': tensor 'a': its data_offsets are not two numbers, begin and end"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,0]}}", 4, RC_FORMAT,
     E1501, "file 'x': tensor 'a': its data_offsets are not two numbers, begin and end"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", 7, RC_FORMAT,
     E1502, "file 'x': tensor 'a': bytes 0 to 8 of the data, which has 7"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,4]}}", 4, RC_FORMAT,
     E1502, "file 'x': tensor 'a': 4 bytes of data, its shape and type need 8"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296],"
     "\"data_offsets\":[0,0]}}",
     0, RC_FORMAT, E1502, "file 'x': tensor 'a': its shape has more than 2^63 bytes"},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]},"
     "\"b\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[3,7]}}",
     7, RC_FORMAT, E1502, "file 'x': tensors 'a' and 'b' overlap at byte 116"},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[1,3]}}", 3, RC_FORMAT,
     E1502,
     "file 'x': tensor 'a' begins at byte 62, 1 bytes before it belong to no tensor"},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}}", 3, RC_FORMAT,
     E1502, "file 'x': 1 bytes behind the last tensor belong to no tensor"},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},"
     "\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[1,2]}}",
     2, RC_FORMAT, E1501, NULL},
    {"{\"__metadata__\":{\"a\":1}}", 0, RC_FORMAT, E1501,
     "file 'x': header: __metadata__ is not an object of strings"},
    {"{\"\xff\":1}", 0, RC_FORMAT, E1501, "file 'x': header: not text in UTF-8"},
};

static void broken_headers_are_refused(void)
{
    int64_t live = mem_live();
    for (size_t i = 0; i < ARRAY_LEN(broken); i++) {
        enum rc rc;
        struct ckpt_st_file *f = open_text(broken[i].header, broken[i].data, &rc);
        CHECK_INT(rc, broken[i].rc);
        CHECK_INT(err.code, broken[i].code);
        if (broken[i].msg)
            CHECK_STR(err.msg, broken[i].msg);
        else
            CHECK_HAS(err.msg, "'a'");
        ckpt_st_close(f);
    }
    CHECK_INT(mem_live(), live);
}

static void lengths_are_bounded(void)
{
    struct ckpt_st_file *f = NULL;
    unsigned char bytes[16] = {1, 2, 3};
    CHECK(ckpt_st_open_memory("x", bytes, 3, &f, &err) == RC_FORMAT);
    CHECK_STR(err.msg, "file 'x': 3 bytes are too few for a safetensors file");
    memset(bytes, 0xff, 8);
    CHECK(ckpt_st_open_memory("x", bytes, 16, &f, &err) == RC_FORMAT);
    CHECK_STR(err.msg, "file 'x': a header of 18446744073709551615 bytes, more than "
                       "67108864");
    memset(bytes, 0, 8);
    bytes[0] = 9;
    CHECK(ckpt_st_open_memory("x", bytes, 16, &f, &err) == RC_FORMAT);
    CHECK_STR(err.msg, "file 'x': a header of 9 bytes, but only 8 follow");
    CHECK(ckpt_st_open("/no/such", &f, &err) == RC_NOTFOUND);
    CHECK(f == NULL);
}

static void rows_are_converted(void)
{
    enum rc rc;
    struct ckpt_st_file *f =
        open_text("{\"d\":{\"dtype\":\"F64\",\"shape\":[2,2],\"data_offsets\":[0,32]},"
                  "\"h\":{\"dtype\":\"F16\",\"shape\":[2],\"data_offsets\":[32,36]},"
                  "\"b\":{\"dtype\":\"BF16\",\"shape\":[2],\"data_offsets\":[36,40]},"
                  "\"i\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[40,41]}}",
                  41, &rc);
    float out[6] = {9, 9, 9, 9, 9, 9};
    const double d[4] = {1.5, -2, 0.25, 1e300};
    const uint16_t h[2] = {0x3c00, 0xc000}, b[2] = {0x3f80, 0xc000};
    CHECK_INT(rc, RC_OK);
    const struct ckpt_st_tensor *t = ckpt_st_find(f, str_c("d"));
    memcpy((void *)(uintptr_t)t->data, d, sizeof(d));
    CHECK(ckpt_st_read_f32(t, 0, 2, out, 3, &err) == RC_OK);
    CHECK(out[0] == 1.5f && out[1] == -2.0f && out[2] == 9.0f && out[3] == 0.25f);
    CHECK(isinf(out[4]) && out[5] == 9.0f);
    t = ckpt_st_find(f, str_c("h"));
    memcpy((void *)(uintptr_t)t->data, h, sizeof(h));
    CHECK(ckpt_st_read_f32(t, 0, 2, out, 1, &err) == RC_OK);
    CHECK(out[0] == 1.0f && out[1] == -2.0f);
    t = ckpt_st_find(f, str_c("b"));
    memcpy((void *)(uintptr_t)t->data, b, sizeof(b));
    CHECK(ckpt_st_read_f32(t, 1, 1, out, 1, &err) == RC_OK);
    CHECK(out[0] == -2.0f);
    CHECK(ckpt_st_read_f32(t, 1, 2, out, 1, &err) == RC_INVAL);
    CHECK_STR(err.msg, "tensor 'b': 2 rows from 1 on, it has 2");
    CHECK(ckpt_st_read_f32(t, INT64_MAX, INT64_MAX, out, 1, &err) == RC_INVAL);
    CHECK(ckpt_st_read_f32(ckpt_st_find(f, str_c("i")), 0, 1, out, 1, &err) == RC_INVAL);
    CHECK_STR(err.msg, "tensor 'i': type U8 is not read as 32-bit floats");
    CHECK_INT(err.code, E1514);
    ckpt_st_close(f);
}

/* Rows of row_bytes bytes that follow from their number. */
static const void *numbered(const void *arg, int64_t row, int64_t n, void *scratch,
                            struct err *why)
{
    const size_t *row_bytes = arg;
    unsigned char *out = scratch;
    for (size_t i = 0; i < (size_t)n * *row_bytes; i++)
        out[i] = (unsigned char)(((size_t)row * *row_bytes + i) * 7 >> 3);
    return scratch;
}

static const void *out_of_reach(const void *arg, int64_t row, int64_t n, void *scratch,
                                struct err *why)
{
    err_coded(why, RC_IO, E2501, "rank 1 of 2 gave up");
    return row < 400000 ? scratch : NULL;
}

/* Rows of another rank, which is gone. */
static void rows_that_cannot_be_read_leave_no_file(void)
{
    char *dir = NULL;
    CHECK(fs_temp_dir("ty-test", &dir, &err) == RC_OK);
    char *path = fs_join(dir, "a.safetensors");
    struct ckpt_st_source s = {.name = "w",
                               .type = ST_F32,
                               .n_dims = 2,
                               .dims = {700001, 3},
                               .rows = 700001,
                               .row_bytes = 12,
                               .fn = out_of_reach};
    struct ckpt_st_source *list[] = {&s};
    struct ckpt_st_sum sum;
    CHECK(ckpt_st_write(path, list, 1, &sum, &err) == RC_IO);
    CHECK_STR(err.msg, "tensor 'w': rank 1 of 2 gave up");
    CHECK_INT(err.code, E2501);
    CHECK(!fs_exists(path));
    CHECK(fs_remove_all(dir, &err) == RC_OK);
    mem_free(path);
    mem_free(dir);
}

static void what_is_streamed_is_read(void)
{
    char *dir = NULL;
    CHECK(fs_temp_dir("ty-test", &dir, &err) == RC_OK);
    char *path = fs_join(dir, "a.safetensors");
    int64_t live = mem_live();
    /* The second is longer than one chunk, and no multiple of it. */
    const size_t widths[] = {1, 12, 8};
    struct ckpt_st_source s[] = {
        {.name = "byte", .type = ST_U8, .n_dims = 1, .dims = {3}, .rows = 3},
        {.name = "long \"\xc3\xa4\"",
         .type = ST_F32,
         .n_dims = 2,
         .dims = {700001, 3},
         .rows = 700001},
        {.name = "none", .type = ST_I64, .n_dims = 2, .dims = {0, 4}, .rows = 0},
    };
    struct ckpt_st_source *list[3];
    struct ckpt_st_sum sum;
    for (size_t i = 0; i < 3; i++) {
        s[i].row_bytes = widths[i];
        s[i].fn = numbered;
        s[i].arg = &widths[i];
        list[i] = &s[i];
    }
    CHECK(ckpt_st_write(path, list, 3, &sum, &err) == RC_OK);
    struct ckpt_st_file *f = NULL;
    CHECK(ckpt_st_open(path, &f, &err) == RC_OK);
    if (!f)
        return;
    size_t n;
    ckpt_st_bytes(f, &n);
    CHECK_INT(n, sum.bytes);
    CHECK_STR(ckpt_st_at(f, 0)->name, "none"); /* wider types first */
    CHECK_STR(ckpt_st_at(f, 2)->name, "byte");
    const struct ckpt_st_tensor *t = ckpt_st_find(f, str_c("long \"\xc3\xa4\""));
    CHECK(t && t->dims[0] == 700001 && t->offset % 4 == 0 && t->offset == s[1].offset);
    CHECK_INT(ckpt_st_at(f, 0)->offset % 64, 0);
    bool same = true;
    for (size_t i = 0; t && i < (size_t)t->bytes; i++)
        same = same && t->data[i] == (unsigned char)(i * 7 >> 3);
    CHECK(same);
    ckpt_st_close(f);
    CHECK_INT(mem_live(), live);
    mem_fail_at(1);
    CHECK(ckpt_st_write(path, list, 3, &sum, &err) == RC_NOMEM);
    mem_fail_at(0);
    CHECK_INT(mem_live(), live);
    CHECK(fs_remove_all(dir, &err) == RC_OK);
    mem_free(path);
    mem_free(dir);
}

static const struct tap_case cases[] = {
    TAP(tensors_are_found_by_name), TAP(broken_headers_are_refused),
    TAP(lengths_are_bounded),       TAP(rows_are_converted),
    TAP(what_is_streamed_is_read),  TAP(rows_that_cannot_be_read_leave_no_file),
};
TAP_MAIN(cases)
