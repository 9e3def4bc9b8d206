/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/import.h"

#include <math.h>

#include "tap.h"

#define BUFFERS(...) ((const void *[]){__VA_ARGS__})
#define LIVE_SCHEMA .release = release_schema
#define LIVE_ARRAY .release = release_array

static void release_schema(struct ArrowSchema *s)
{
    s->release = NULL;
}

static void release_array(struct ArrowArray *a)
{
    a->release = NULL;
}

static const uint8_t *within; /* validity of the struct that arrays of a test are in */

/* Rows [at, at + n) of an array as a column, printed as JSON with blanks between. */
static void prints(const struct ArrowSchema *s, const struct ArrowArray *a, int64_t at,
                   int64_t n, const char *want)
{
    struct arena mem = {0};
    struct type type;
    struct column c;
    struct err err = {0};
    struct buf out;
    buf_init(&out, 1 << 12);
    CHECK(lib_import_type(s, NULL, &mem, &type, &err) == RC_OK);
    column_init(&c, &type);
    CHECK(lib_import_rows(s, a, at, n, within, &c, &err) == RC_OK);
    CHECK(c.n == n);
    for (int64_t i = 0; i < n; i++) {
        buf_puts(&out, i ? " " : "");
        column_print_json(&c, i, &out);
    }
    CHECK_STR(buf_str(&out), want);
    buf_release(&out);
    column_release(&c);
    arena_release(&mem);
}

static void refuses(const struct ArrowSchema *s, const struct ArrowArray *a,
                    enum code code, const char *text)
{
    struct arena mem = {0};
    struct type type;
    struct err err = {0};
    enum rc rc = lib_import_type(s, NULL, &mem, &type, &err);
    if (!rc) {
        struct column c;
        column_init(&c, &type);
        rc = lib_import_rows(s, a, 0, a->length, NULL, &c, &err);
        column_release(&c);
    }
    CHECK(rc && err.code == code);
    CHECK(strstr(err.msg, text) != NULL);
    arena_release(&mem);
}

static void numbers_are_read_where_they_are(void)
{
    const int64_t values[] = {1, 2, 3, 4};
    struct ArrowSchema s = {LIVE_SCHEMA, .format = "l", .name = "x"};
    struct ArrowArray a = {LIVE_ARRAY, .length = 3, .offset = 1, .n_buffers = 2,
                           .buffers = BUFFERS(NULL, values)};
    struct type type = type_of(TYPE_I64, true);
    struct column c;
    struct err err = {0};
    column_init(&c, &type);
    CHECK(lib_import_rows(&s, &a, 1, 2, NULL, &c, &err) == RC_OK);
    CHECK(c.values == values + 2 && c.n == 2 && c.valid == NULL);
    column_release(&c);
}

static void nulls_are_zero_wherever_a_slice_begins(void)
{
    const uint8_t valid[] = {0xB6, 0x01}; /* rows 1 2 4 5 7 8 */
    const int32_t values[] = {9, 1, 2, 9, 4, 5, 9, 7, 8};
    struct ArrowSchema s = {LIVE_SCHEMA, .format = "i", .name = "x"};
    struct ArrowArray a = {LIVE_ARRAY, .length = 9, .null_count = -1, .n_buffers = 2,
                           .buffers = BUFFERS(valid, values)};
    prints(&s, &a, 0, 9, "null 1 2 null 4 5 null 7 8");
    prints(&s, &a, 3, 6, "null 4 5 null 7 8");
    prints(&s, &a, 7, 2, "7 8");
    CHECK(values[0] == 9);
}

static void narrow_numbers_bits_and_halves_are_widened(void)
{
    const int8_t small[] = {-1, 2};
    const uint16_t halves[] = {0x3C00, 0xC000}; /* 1, -2 */
    const uint8_t bits[] = {0x05};
    struct ArrowSchema i8 = {LIVE_SCHEMA, .format = "c"},
                       f16 = {LIVE_SCHEMA, .format = "e"},
                       b = {LIVE_SCHEMA, .format = "b"};
    struct ArrowArray a = {LIVE_ARRAY, .length = 2, .n_buffers = 2,
                           .buffers = BUFFERS(NULL, small)};
    prints(&i8, &a, 0, 2, "-1 2");
    a.buffers = BUFFERS(NULL, halves);
    prints(&f16, &a, 0, 2, "1 -2");
    a.length = 3;
    a.buffers = BUFFERS(NULL, bits);
    prints(&b, &a, 0, 3, "true false true");
    prints(&b, &a, 1, 2, "false true");
}

static void texts_of_all_forms_are_read(void)
{
    const int32_t offsets[] = {0, 2, 2, 5};
    const int64_t large[] = {0, 2, 2, 5};
    struct ArrowSchema u = {LIVE_SCHEMA, .format = "u"}, U = {LIVE_SCHEMA, .format = "U"},
                       vu = {LIVE_SCHEMA, .format = "vu"};
    struct ArrowArray a = {LIVE_ARRAY, .length = 3, .n_buffers = 3,
                           .buffers = BUFFERS(NULL, offsets, "abcde")};
    prints(&u, &a, 0, 3, "\"ab\" \"\" \"cde\"");
    prints(&u, &a, 2, 1, "\"cde\"");
    a.buffers = BUFFERS(NULL, large, "abcde");
    prints(&U, &a, 1, 2, "\"\" \"cde\"");
    struct {
        int32_t n;
        char text[12];
    } views[2] = {{3, "xyz"}, {13, ""}};
    memcpy(views[1].text, (const int32_t[]){0, 0, 1}, 12);
    const int64_t sizes[] = {14};
    a.length = 2;
    a.n_buffers = 4;
    a.buffers = BUFFERS(NULL, views, "-thirteenbytes", sizes);
    prints(&vu, &a, 0, 2, "\"xyz\" \"thirteenbytes\"");
    const int32_t outside[][3] = {{0, 0, 2}, {0, 0, -1}, {0, 1, 0}, {0, -1, 0}};
    for (size_t i = 0; i < ARRAY_LEN(outside); i++) {
        memcpy(views[1].text, outside[i], 12);
        refuses(&vu, &a, E2032, "a view is outside of its buffers");
    }
    views[1].n = -1;
    refuses(&vu, &a, E2032, "a view is outside of its buffers");
}

static void a_dictionary_gives_its_texts(void)
{
    const int8_t codes[] = {1, 0, 1};
    const int32_t offsets[] = {0, 1, 3};
    struct ArrowSchema texts = {LIVE_SCHEMA, .format = "u"};
    struct ArrowSchema s = {LIVE_SCHEMA, .format = "c", .name = "x",
                            .dictionary = &texts};
    struct ArrowArray words = {LIVE_ARRAY, .length = 2, .n_buffers = 3,
                               .buffers = BUFFERS(NULL, offsets, "abb")};
    struct ArrowArray a = {LIVE_ARRAY, .length = 3, .n_buffers = 2,
                           .buffers = BUFFERS(NULL, codes), .dictionary = &words};
    prints(&s, &a, 0, 3, "\"bb\" \"a\" \"bb\"");
    a.buffers = BUFFERS(NULL, ((const int8_t[]){0, 2, 0}));
    refuses(&s, &a, E2032, "column 'x': a code is outside of its dictionary");
    a.dictionary = NULL;
    refuses(&s, &a, E2032, "its dictionary is missing");
}

static void a_dictionary_of_numbers_gives_its_numbers(void)
{
    const int8_t codes[] = {1, 0, 2, 1};
    const int64_t ids[] = {70, 80, 90};
    const uint8_t valid[] = {0x0D}, known[] = {0x03}; /* rows 0 2 3; values 0 1 */
    struct ArrowSchema numbers = {LIVE_SCHEMA, .format = "l"};
    struct ArrowSchema s = {LIVE_SCHEMA, .format = "c", .name = "x",
                            .dictionary = &numbers};
    struct ArrowArray values = {LIVE_ARRAY, .length = 3, .null_count = 1, .n_buffers = 2,
                                .buffers = BUFFERS(known, ids)};
    struct ArrowArray a = {LIVE_ARRAY,
                           .length = 4,
                           .null_count = 1,
                           .n_buffers = 2,
                           .buffers = BUFFERS(valid, codes),
                           .dictionary = &values};
    prints(&s, &a, 0, 4, "80 null null 80");
    prints(&s, &a, 3, 1, "80");
}

static void of_a_long_dictionary_only_what_rows_name_is_read(void)
{
    const int16_t codes[] = {99, 0};
    int64_t ids[100] = {5};
    ids[99] = 7;
    struct ArrowSchema numbers = {LIVE_SCHEMA, .format = "l"};
    struct ArrowSchema s = {LIVE_SCHEMA, .format = "s", .name = "x",
                            .dictionary = &numbers};
    struct ArrowArray values = {LIVE_ARRAY, .length = 100, .n_buffers = 2,
                                .buffers = BUFFERS(NULL, ids)};
    struct ArrowArray a = {LIVE_ARRAY, .length = 2, .n_buffers = 2,
                           .buffers = BUFFERS(NULL, codes), .dictionary = &values};
    prints(&s, &a, 0, 2, "7 5");
    a.buffers = BUFFERS(NULL, ((const int16_t[]){0, 100}));
    refuses(&s, &a, E2032, "a code is outside of its dictionary");
}

static void decimals_are_doubles(void)
{
    const uint64_t values[] = {150, 0, (uint64_t)-25, UINT64_MAX, 9, 9};
    const uint8_t valid[] = {0x03};
    struct ArrowSchema s = {LIVE_SCHEMA, .format = "d:5,2", .name = "price"};
    struct ArrowArray a = {LIVE_ARRAY, .length = 3, .null_count = 1, .n_buffers = 2,
                           .buffers = BUFFERS(valid, values)};
    prints(&s, &a, 0, 3, "1.5 -0.25 null");
    s.format = "d:5,-1,128";
    prints(&s, &a, 0, 2, "1500 -250");
}

static void nulls_alone_have_the_type_that_is_known(void)
{
    struct arena mem = {0};
    const struct type list = type_list(&mem, type_of(TYPE_I64, true), true);
    const int32_t offsets[] = {0, 0, 2};
    struct ArrowSchema n = {LIVE_SCHEMA, .format = "n", .name = "item"};
    struct ArrowSchema s = {LIVE_SCHEMA, .format = "+l", .n_children = 1,
                            .children = (struct ArrowSchema *[]){&n}};
    struct ArrowArray nulls = {LIVE_ARRAY, .length = 2};
    struct ArrowArray a = {LIVE_ARRAY,      .length = 2,
                           .n_buffers = 2,  .buffers = BUFFERS(NULL, offsets),
                           .n_children = 1, .children = (struct ArrowArray *[]){&nulls}};
    struct type type;
    struct err err = {0};
    CHECK(lib_import_type(&s, &list, &mem, &type, &err) == RC_OK);
    CHECK(type.id == TYPE_LIST && type.kids[0].type.id == TYPE_I64);
    CHECK(lib_import_type(&n, &list, &mem, &type, &err) == RC_OK);
    CHECK(type.id == TYPE_LIST);
    CHECK(lib_import_type(&s, &list.kids[0].type, &mem, &type, &err) == RC_OK);
    CHECK(type.id == TYPE_LIST && type.kids[0].type.id == TYPE_STR);
    prints(&s, &a, 0, 2, "[] [null, null]");
    prints(&n, &nulls, 0, 2, "null null");
    arena_release(&mem);
}

static void lists_and_maps_begin_anywhere(void)
{
    const int32_t offsets[] = {0, 2, 2, 3}, keys[] = {1, 2, 3};
    const float values[] = {.5f, 1.5f, 2.5f};
    struct ArrowSchema i = {LIVE_SCHEMA, .format = "i", .name = "item"},
                       f = {LIVE_SCHEMA, .format = "f"};
    struct ArrowSchema list = {LIVE_SCHEMA, .format = "+l", .n_children = 1,
                               .children = (struct ArrowSchema *[]){&i}};
    struct ArrowArray k = {LIVE_ARRAY, .length = 3, .n_buffers = 2,
                           .buffers = BUFFERS(NULL, keys)};
    struct ArrowArray v = {LIVE_ARRAY, .length = 3, .n_buffers = 2,
                           .buffers = BUFFERS(NULL, values)};
    struct ArrowArray a = {LIVE_ARRAY,      .length = 3,
                           .n_buffers = 2,  .buffers = BUFFERS(NULL, offsets),
                           .n_children = 1, .children = (struct ArrowArray *[]){&k}};
    prints(&list, &a, 0, 3, "[1, 2] [] [3]");
    prints(&list, &a, 2, 1, "[3]");
    struct ArrowSchema entry = {LIVE_SCHEMA, .format = "+s", .n_children = 2,
                                .children = (struct ArrowSchema *[]){&i, &f}};
    struct ArrowSchema map = {LIVE_SCHEMA, .format = "+m", .n_children = 1,
                              .children = (struct ArrowSchema *[]){&entry}};
    struct ArrowArray entries = {
        LIVE_ARRAY,      .length = 3,
        .n_buffers = 1,  .buffers = BUFFERS(NULL),
        .n_children = 2, .children = (struct ArrowArray *[]){&k, &v}};
    a.children = (struct ArrowArray *[]){&entries};
    prints(&map, &a, 0, 3, "{\"1\": 0.5, \"2\": 1.5} {} {\"3\": 2.5}");
}

static void decimals_have_32_to_256_bits(void)
{
    const int32_t narrow[] = {125, -125};
    const int64_t middle[] = {125, -125};
    const uint64_t wide[] = {125, 0, 0, 0, (uint64_t)-125, ~0ull, ~0ull, ~0ull};
    const uint64_t far[] = {0, 0, 1, 0, 0, 0, ~0ull, ~0ull}; /* 2^128, -2^128 */
    struct ArrowSchema s = {LIVE_SCHEMA, .format = "d:9,2,32"};
    struct ArrowArray a = {LIVE_ARRAY, .length = 2, .n_buffers = 2,
                           .buffers = BUFFERS(NULL, narrow)};
    prints(&s, &a, 0, 2, "1.25 -1.25");
    s.format = "d:18,2,64";
    a.buffers = BUFFERS(NULL, middle);
    prints(&s, &a, 1, 1, "-1.25");
    s.format = "d:76,2,256";
    a.buffers = BUFFERS(NULL, wide);
    prints(&s, &a, 0, 2, "1.25 -1.25");
    s.format = "d:76,0,256";
    a.buffers = BUFFERS(NULL, far);
    prints(&s, &a, 0, 2, "3.402823669209385e+38 -3.402823669209385e+38");
}

static void rows_of_one_length_begin_anywhere(void)
{
    const int64_t values[] = {1, 2, 3, 4, 5, 6, 7, 8};
    const uint8_t valid[] = {0x0B};
    struct ArrowSchema item = {LIVE_SCHEMA, .format = "l"};
    struct ArrowSchema s = {LIVE_SCHEMA, .format = "+w:2", .name = "x", .n_children = 1};
    s.children = (struct ArrowSchema *[]){&item};
    struct ArrowArray kid = {LIVE_ARRAY, .length = 8, .n_buffers = 2,
                             .buffers = BUFFERS(NULL, values)};
    struct ArrowArray a = {LIVE_ARRAY,
                           .length = 4,
                           .null_count = 1,
                           .n_buffers = 1,
                           .buffers = BUFFERS(valid),
                           .n_children = 1,
                           .children = (struct ArrowArray *[]){&kid}};
    prints(&s, &a, 0, 4, "[1, 2] [3, 4] null [7, 8]");
    a.length = 3;
    a.offset = 1;
    prints(&s, &a, 0, 1, "[3, 4]");
    prints(&s, &a, 2, 1, "[7, 8]");
    kid.length = 5;
    refuses(&s, &a, E2032, "the array is not what its schema says");
    struct ArrowSchema w = {LIVE_SCHEMA, .format = "w:3", .name = "x"};
    struct ArrowArray texts = {LIVE_ARRAY, .length = 2, .n_buffers = 2,
                               .buffers = BUFFERS(NULL, "abcdef")};
    prints(&w, &texts, 1, 1, "\"def\"");
    w.format = "w:9223372036854775807";
    refuses(&w, &texts, E2031, "which is not read");
    w.format = "w:";
    refuses(&w, &texts, E2031, "which is not read");
}

static void times_of_all_units_are_read(void)
{
    const int64_t values[] = {-1, 86400, INT64_MAX};
    struct ArrowSchema s = {LIVE_SCHEMA, .format = "tss:UTC"};
    struct ArrowArray a = {LIVE_ARRAY, .length = 3, .n_buffers = 2,
                           .buffers = BUFFERS(NULL, values)};
    struct arena mem = {0};
    struct type type;
    struct column c;
    struct err err = {0};
    CHECK(lib_import_type(&s, NULL, &mem, &type, &err) == RC_OK);
    CHECK(type.logical == LOGICAL_TIMESTAMP_MS && type.utc);
    column_init(&c, &type);
    CHECK(lib_import_rows(&s, &a, 0, 3, NULL, &c, &err) == RC_OK);
    CHECK(column_i64(&c, 0) == -1000 && column_i64(&c, 1) == 86400000);
    CHECK(column_i64(&c, 2) == INT64_MAX);
    column_release(&c);
    arena_release(&mem);
    const char *const durations[] = {"tDs", "tDm", "tDu", "tDn"};
    for (size_t i = 0; i < ARRAY_LEN(durations); i++) {
        s.format = durations[i];
        prints(&s, &a, 0, 2, "-1 86400");
    }
}

static void what_is_not_read_or_not_right_is_said(void)
{
    struct ArrowSchema s = {LIVE_SCHEMA, .format = "d:38,2,96", .name = "price"};
    struct ArrowArray a = {LIVE_ARRAY, .length = 2, .n_buffers = 2,
                           .buffers = BUFFERS(NULL, NULL)};
    refuses(&s, &a, E2031,
            "column 'price' has Arrow's type 'd:38,2,96', which is not read");
    s.format = "d:38,2";
    refuses(&s, &a, E2032, "column 'price': its values are missing");
    s.format = "l";
    refuses(&s, &a, E2032, "column 'price': its values are missing");
    s.format = "u";
    refuses(&s, &a, E2032, "the array is not what its schema says");
    const int32_t offsets[] = {0, 3, 2};
    a.n_buffers = 3;
    a.buffers = BUFFERS(NULL, offsets, "abc");
    refuses(&s, &a, E2032, "its offsets go back");
    a.buffers = BUFFERS(NULL, ((const int32_t[]){0, 1, 3}), NULL);
    refuses(&s, &a, E2032, "its bytes are missing");
    struct ArrowSchema nested = {LIVE_SCHEMA, .format = "+l", .name = "deep",
                                 .n_children = 1};
    nested.children = (struct ArrowSchema *[]){&nested};
    refuses(&nested, &a, E2031, "column 'deep'");
}

static void what_was_released_is_not_read(void)
{
    const int8_t codes[] = {0};
    const int64_t ids[] = {7};
    struct ArrowSchema numbers = {LIVE_SCHEMA, .format = "l"};
    struct ArrowSchema s = {LIVE_SCHEMA, .format = "c", .name = "x",
                            .dictionary = &numbers};
    struct ArrowArray values = {LIVE_ARRAY, .length = 1, .n_buffers = 2,
                                .buffers = BUFFERS(NULL, ids)};
    struct ArrowArray a = {LIVE_ARRAY, .length = 1, .n_buffers = 2,
                           .buffers = BUFFERS(NULL, codes), .dictionary = &values};
    prints(&s, &a, 0, 1, "7");
    values.release(&values);
    refuses(&s, &a, E2032, "the array was released: its memory is gone");
    values.release = release_array;
    a.release(&a);
    refuses(&s, &a, E2032, "column 'x': the array was released: its memory is gone");
    a.release = release_array;
    numbers.release(&numbers);
    refuses(&s, &a, E2032, "column 'x': the schema was released");
    numbers.release = release_schema;
    s.release(&s);
    refuses(&s, &a, E2032, "column 'x': the schema was released");
}

static void pointers_that_are_missing_are_said(void)
{
    const int32_t offsets[] = {0, 1};
    struct ArrowSchema i = {LIVE_SCHEMA, .format = "i", .name = "item"};
    struct ArrowSchema s = {LIVE_SCHEMA, .format = "+l", .name = "x", .n_children = 1};
    struct ArrowArray a = {LIVE_ARRAY, .length = 1, .n_buffers = 2, .n_children = 1};
    refuses(&s, &a, E2031, "column 'x'");
    s.children = (struct ArrowSchema *[]){NULL};
    refuses(&s, &a, E2032, "a part is missing");
    s.children = (struct ArrowSchema *[]){&i};
    refuses(&s, &a, E2032, "the array is not what its schema says");
    a.buffers = BUFFERS(NULL, offsets);
    refuses(&s, &a, E2032, "the array is not what its schema says");
    a.children = (struct ArrowArray *[]){NULL};
    refuses(&s, &a, E2032, "the array is not what its schema says");
    struct ArrowSchema map = {LIVE_SCHEMA, .format = "+m", .name = "x", .n_children = 1};
    map.children = (struct ArrowSchema *[]){NULL};
    refuses(&map, &a, E2032, "a map has keys and values");
    struct ArrowSchema entries = {LIVE_SCHEMA, .format = "+s", .n_children = 2};
    map.children = (struct ArrowSchema *[]){&entries};
    refuses(&map, &a, E2032, "a map has keys and values");
    entries.children = (struct ArrowSchema *[]){&i, &i};
    refuses(&map, &a, E2032, "a map has keys and values");
}

static void offsets_stay_inside_of_memory(void)
{
    const int64_t values[] = {1, 2, 3};
    struct ArrowSchema s = {LIVE_SCHEMA, .format = "l", .name = "x"};
    struct ArrowArray a = {LIVE_ARRAY, .length = 1, .n_buffers = 2,
                           .buffers = BUFFERS(NULL, values + 1)};
    const int64_t wrong[] = {-1, INT64_MIN, INT64_MAX, (int64_t)1 << 62};
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        a.offset = wrong[i];
        refuses(&s, &a, E2032, "the array is not what its schema says");
    }
    a.offset = 1;
    prints(&s, &a, 0, 1, "3");
}

static void a_dictionary_that_the_schema_has_not_is_no_number(void)
{
    const int32_t codes[] = {0};
    struct ArrowSchema s = {LIVE_SCHEMA, .format = "i", .name = "x"};
    struct ArrowArray words = {LIVE_ARRAY, .length = 0};
    struct ArrowArray a = {LIVE_ARRAY, .length = 1, .n_buffers = 2,
                           .buffers = BUFFERS(NULL, codes), .dictionary = &words};
    refuses(&s, &a, E2032, "it has a dictionary, its schema none");
}

static void what_is_not_a_number_is_missing(void)
{
    const double values[] = {1, NAN, INFINITY, NAN};
    const float narrow[] = {NAN, 2};
    const uint8_t valid[] = {0x0E};
    struct ArrowSchema s = {LIVE_SCHEMA, .format = "g", .name = "x"};
    struct ArrowArray a = {LIVE_ARRAY, .length = 4, .n_buffers = 2,
                           .buffers = BUFFERS(NULL, values)};
    prints(&s, &a, 0, 2, "1 null");
    prints(&s, &a, 3, 1, "null");
    a.null_count = 1;
    a.buffers = BUFFERS(valid, values);
    prints(&s, &a, 0, 2, "null null");
    CHECK(valid[0] == 0x0E && isnan(values[1]));
    s.format = "f";
    a.null_count = 0;
    a.buffers = BUFFERS(NULL, narrow);
    prints(&s, &a, 0, 2, "null 2");
}

static void rows_of_a_struct_are_null_as_a_whole(void)
{
    const uint8_t outer[] = {0xFB, 0x01}, valid[] = {0xFE, 0x03}; /* not row 2; not 0 */
    const int64_t values[] = {9, 1, 2, 3, 4, 5, 6, 7, 8, 9};
    struct ArrowSchema kid = {LIVE_SCHEMA, .format = "l", .name = "x"};
    struct ArrowArray a = {LIVE_ARRAY, .length = 10, .n_buffers = 2,
                           .buffers = BUFFERS(NULL, values)};
    struct ArrowSchema s = {LIVE_SCHEMA, .format = "+s", .n_children = 1,
                            .children = (struct ArrowSchema *[]){&kid}};
    struct ArrowArray rows = {LIVE_ARRAY,
                              .length = 10,
                              .null_count = -1,
                              .n_buffers = 1,
                              .buffers = BUFFERS(outer),
                              .n_children = 1,
                              .children = (struct ArrowArray *[]){&a}};
    const uint8_t *found = NULL;
    struct err err = {0};
    CHECK(lib_import_struct(&s, &rows, &found, &err) == RC_OK && found == outer);
    within = outer;
    prints(&kid, &a, 0, 4, "9 1 null 3");
    a.null_count = 1;
    a.buffers = BUFFERS(valid, values);
    prints(&kid, &a, 0, 4, "null 1 null 3");
    prints(&kid, &a, 1, 9, "1 null 3 4 5 6 7 8 null");
    within = NULL;
    CHECK(valid[0] == 0xFE);
    rows.children = (struct ArrowArray *[]){NULL};
    CHECK(lib_import_struct(&s, &rows, &found, &err) == RC_FORMAT && err.code == E2032);
    CHECK(strstr(err.msg, "column 1 of 1 is missing") != NULL);
    rows.release(&rows);
    CHECK(lib_import_struct(&s, &rows, &found, &err) == RC_FORMAT);
    CHECK(strstr(err.msg, "the rows were released") != NULL);
}

static const struct tap_case cases[] = {
    TAP(numbers_are_read_where_they_are),
    TAP(nulls_are_zero_wherever_a_slice_begins),
    TAP(narrow_numbers_bits_and_halves_are_widened),
    TAP(texts_of_all_forms_are_read),
    TAP(a_dictionary_gives_its_texts),
    TAP(a_dictionary_of_numbers_gives_its_numbers),
    TAP(of_a_long_dictionary_only_what_rows_name_is_read),
    TAP(decimals_are_doubles),
    TAP(decimals_have_32_to_256_bits),
    TAP(rows_of_one_length_begin_anywhere),
    TAP(times_of_all_units_are_read),
    TAP(nulls_alone_have_the_type_that_is_known),
    TAP(lists_and_maps_begin_anywhere),
    TAP(what_is_not_read_or_not_right_is_said),
    TAP(what_was_released_is_not_read),
    TAP(pointers_that_are_missing_are_said),
    TAP(offsets_stay_inside_of_memory),
    TAP(a_dictionary_that_the_schema_has_not_is_no_number),
    TAP(what_is_not_a_number_is_missing),
    TAP(rows_of_a_struct_are_null_as_a_whole),
};
TAP_MAIN(cases)
