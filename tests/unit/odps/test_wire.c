/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes were written by PyODPS 0.13.2 (BaseRecordWriter) from the rows below. */
#include "data/odps/wire.h"

#include "base/arena.h"
#include "base/mem.h"
#include "tap.h"

static const char *const types[] = {"bigint",
                                    "double",
                                    "float",
                                    "boolean",
                                    "string",
                                    "array<bigint>",
                                    "map<string,double>",
                                    "date"};
#define N 8

static const char golden[] =
    "080911000000000000f83f1d0000803e20012a0368c3a9320300020100053a0200016b00017a02000000"
    "0000000004400140f0a80280c0ff7ffbd7fccf0580c0ff7f0008feffffffffffffffff01110000000000"
    "0000801d0000c0bf20002a0032003a0000400180c0ff7fd1a2e6dffeffffffff01f0ffff7f06f8ffff7f"
    "8deaccddfaffffffff01";

static const char *const rows[] = {
    "{\"a\": -5, \"b\": 1.5, \"c\": 0.25, \"d\": true, \"e\": \"h\xc3\xa9\", \"f\": [1, "
    "null, -3], \"g\": {\"k\": 2.5, \"z\": null}, \"h\": \"2022-01-08\"}",
    "{\"a\": null, \"b\": null, \"c\": null, \"d\": null, \"e\": null, \"f\": null, \"g\": "
    "null, \"h\": null}",
    "{\"a\": 9223372036854775807, \"b\": -0, \"c\": -1.5, \"d\": false, \"e\": \"\", \"f\": "
    "[], \"g\": {}, \"h\": \"1969-12-31\"}",
};

struct setup {
    struct arena mem;
    struct odps_type types[N];
    struct data_schema schema;
    struct batch batch;
    struct column *cols[N];
    unsigned char bytes[sizeof(golden) / 2];
    size_t n;
};

static int digit(char c)
{
    return c <= '9' ? c - '0' : c - 'a' + 10;
}

static void setup(struct setup *s)
{
    *s = (struct setup){0};
    for (size_t i = 0; i < N; i++) {
        char name[2] = {(char)('a' + i), 0};
        CHECK(odps_type_parse(str_c(types[i]), &s->mem, &s->types[i], NULL) == RC_OK);
        struct type t = odps_type_ours(&s->types[i], &s->mem);
        data_schema_add(&s->schema, str_c(name), &t);
    }
    batch_init(&s->batch, &s->schema);
    for (size_t i = 0; i < N; i++)
        s->cols[i] = &s->batch.cols[i];
    for (s->n = 0; golden[2 * s->n]; s->n++)
        s->bytes[s->n] =
            (unsigned char)(digit(golden[2 * s->n]) << 4 | digit(golden[2 * s->n + 1]));
}

static void release(struct setup *s)
{
    batch_release(&s->batch);
    data_schema_release(&s->schema);
    arena_release(&s->mem);
}

static enum rc read_all(struct setup *s, const void *p, size_t n, struct err *err)
{
    struct odps_wire w;
    enum rc rc = RC_OK;
    batch_clear(&s->batch);
    odps_wire_init(&w, p, n);
    while (!rc && !w.ended)
        rc = odps_wire_row(&w, s->types, s->cols, N, err);
    s->batch.n = w.rows;
    return rc;
}

static void rows_of_the_client_are_read(void)
{
    struct setup s;
    setup(&s);
    CHECK(read_all(&s, s.bytes, s.n, NULL) == RC_OK);
    CHECK_INT(s.batch.n, 3);
    for (int64_t i = 0; i < 3; i++) {
        struct buf out;
        buf_init(&out, 1000);
        batch_print_json(&s.batch, i, &out);
        CHECK_STR(buf_str(&out), rows[i]);
        buf_release(&out);
    }
    release(&s);
}

static void what_is_written_reads_back(void)
{
    struct setup s;
    struct odps_out out;
    setup(&s);
    odps_out_init(&out, 10000);
    CHECK(read_all(&s, s.bytes, s.n, NULL) == RC_OK);
    for (int round = 0; round < 2; round++) {
        odps_out_clear(&out);
        for (int64_t i = 0; i < s.batch.n; i++) {
            for (size_t k = 0; k < N; k++)
                odps_out_value(&out, k, &s.types[k], s.cols[k], i);
            odps_out_row(&out);
        }
        CHECK(odps_out_end(&out, NULL) == RC_OK);
        /* The client wastes five bytes on each large checksum. */
        CHECK_INT(out.bytes.n, s.n - 10);
        CHECK(memcmp(out.bytes.p, s.bytes, 58) == 0);
        CHECK(read_all(&s, out.bytes.p, out.bytes.n, NULL) == RC_OK);
        CHECK_INT(s.batch.n, 3);
    }
    odps_out_release(&out);
    release(&s);
}

static void values_nobody_wants_are_passed_over(void)
{
    struct setup s;
    setup(&s);
    for (size_t i = 0; i < N; i++)
        if (i != 4)
            s.cols[i] = NULL;
    CHECK(read_all(&s, s.bytes, s.n, NULL) == RC_OK);
    CHECK_INT(s.batch.cols[4].n, 3);
    CHECK(str_is(column_str(&s.batch.cols[4], 0), "h\xc3\xa9"));
    CHECK(column_is_null(&s.batch.cols[4], 1));
    release(&s);
}

static void every_cut_and_every_flip_is_noticed(void)
{
    struct setup s;
    setup(&s);
    for (size_t n = 0; n < s.n; n++)
        CHECK(read_all(&s, s.bytes, n, NULL) == RC_FORMAT);
    size_t unnoticed = 0;
    for (size_t bit = 0; bit < 8 * s.n; bit++) {
        s.bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
        enum rc rc = read_all(&s, s.bytes, s.n, NULL);
        CHECK(rc == RC_OK || rc == RC_FORMAT || rc == RC_NOMEM);
        unnoticed += rc == RC_OK;
        s.bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
    /* Bits that carry nothing: wire types, the wasted bytes, a flag's other spelling. */
    CHECK(unnoticed < 8 * s.n / 5);
    release(&s);
}

static void damage_is_told_with_its_place(void)
{
    struct setup s;
    struct err err = {0};
    setup(&s);
    s.bytes[3] ^= 1;
    CHECK(read_all(&s, s.bytes, s.n, &err) == RC_FORMAT);
    CHECK_STR(err.msg,
              "damaged rows near byte 62, row 0: the checksum of a row does not fit");
    CHECK(err.code == E1707);
    CHECK(read_all(&s, "", 0, &err) == RC_FORMAT);
    CHECK_STR(err.msg, "damaged rows near byte 0, row 0: they end without a count");
    release(&s);
}

static void memory_that_runs_out_is_an_error(void)
{
    struct setup s;
    setup(&s);
    batch_release(&s.batch);
    for (int64_t at = 1; at < 1000; at++) {
        batch_init(&s.batch, &s.schema);
        for (size_t i = 0; i < N; i++)
            s.cols[i] = &s.batch.cols[i];
        mem_fail_at(at);
        enum rc rc = read_all(&s, s.bytes, s.n, NULL);
        mem_fail_at(0);
        CHECK(rc == RC_OK || rc == RC_NOMEM);
        if (rc == RC_OK)
            break;
        CHECK(at < 999);
        batch_release(&s.batch);
    }
    release(&s);
}

static const struct tap_case cases[] = {
    TAP(rows_of_the_client_are_read),         TAP(what_is_written_reads_back),
    TAP(values_nobody_wants_are_passed_over), TAP(every_cut_and_every_flip_is_noticed),
    TAP(damage_is_told_with_its_place),       TAP(memory_that_runs_out_is_an_error),
};
TAP_MAIN(cases)
