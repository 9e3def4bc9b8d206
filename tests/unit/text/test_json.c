/* SPDX-License-Identifier: Apache-2.0 */
#include "text/json.h"

#include "base/compiler.h"
#include "base/mem.h"
#include "parsed.h"
#include "random_tree.h"
#include "tap.h"

static void parse(struct parsed *p, const char *text)
{
    parsed_init(p, json_parse, text, strlen(text));
}

static void every_kind_is_read(void)
{
    struct parsed p;
    parse(&p, " {\"a\": [1, -2.5, true, false, null, \"x\"], \"b\": {}, \"\": []}\n");
    CHECK_INT(p.rc, RC_OK);
    CHECK_STR(buf_str(&p.shown), "");
    const struct node *list = node_find(p.doc.root, "a");
    int64_t i = 0;
    CHECK(list && list->kind == NODE_LIST && list->list.n == 6);
    CHECK(node_i64(list->list.at[0], &i) && i == 1);
    CHECK(list->list.at[1]->kind == NODE_REAL && list->list.at[1]->real == -2.5);
    CHECK(str_is(list->list.at[1]->text, "-2.5"));
    CHECK(list->list.at[2]->kind == NODE_BOOL && list->list.at[2]->flag);
    CHECK(list->list.at[3]->kind == NODE_BOOL && !list->list.at[3]->flag);
    CHECK(list->list.at[4]->kind == NODE_NULL);
    CHECK(list->list.at[5]->kind == NODE_STR && str_is(list->list.at[5]->text, "x"));
    CHECK(node_find(p.doc.root, "b")->kind == NODE_MAP);
    CHECK(node_find(p.doc.root, "")->kind == NODE_LIST);
    parsed_release(&p);
}

static void every_node_and_key_knows_its_place(void)
{
    struct parsed p;
    parse(&p, "{\"\xc3\xa9\": [ 12, \"\\u00e9\" ],\n \"b\": { \"c\": null } }");
    CHECK_INT(p.rc, RC_OK);
    const struct node *root = p.doc.root;
    CHECK_INT(root->at.len, p.doc.src->n);
    CHECK_INT(root->map.at[0].key_at.off, 1);
    CHECK_INT(root->map.at[0].key_at.len, 4);
    CHECK(str_is(parsed_at(root->map.at[0].value), "[ 12, \"\\u00e9\" ]"));
    CHECK(str_is(parsed_at(root->map.at[0].value->list.at[0]), "12"));
    CHECK(str_is(parsed_at(root->map.at[0].value->list.at[1]), "\"\\u00e9\""));
    CHECK(str_is(root->map.at[0].value->list.at[1]->text, "\xc3\xa9"));
    CHECK(str_is(parsed_at(root->map.at[1].value), "{ \"c\": null }"));
    CHECK(str_is(parsed_at(root->map.at[1].value->map.at[0].value), "null"));
    parsed_release(&p);
}

static void escapes_stand_for_their_characters(void)
{
    struct parsed p;
    parse(&p,
          "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\\u00e9\\u4e2d\\ud83d\\ude00\\u0000z\"");
    CHECK_INT(p.rc, RC_OK);
    static const char want[] = "\"\\/\b\f\n\r\tA\xc3\xa9\xe4\xb8\xad\xf0\x9f\x98\x80\0z";
    CHECK(str_eq(p.doc.root->text, str_of(want, sizeof(want) - 1)));
    CHECK(p.doc.root->text.p[p.doc.root->text.n] == '\0');
    parsed_release(&p);
}

static void integers_keep_all_64_bits(void)
{
    struct parsed p;
    parse(&p, "[18446744073709551615, -9223372036854775808, -0, 18446744073709551616, "
              "1e2, 123456789012345678901234567890]");
    CHECK_INT(p.rc, RC_OK);
    struct node **at = p.doc.root->list.at;
    uint64_t u = 0;
    int64_t i = 0;
    CHECK(node_u64(at[0], &u) && u == UINT64_MAX);
    CHECK(node_i64(at[1], &i) && i == INT64_MIN);
    CHECK(node_i64(at[2], &i) && i == 0);
    CHECK(at[3]->kind == NODE_REAL && at[3]->real == 18446744073709551616.0);
    CHECK(at[4]->kind == NODE_REAL && at[4]->real == 100);
    CHECK(at[5]->kind == NODE_REAL && at[5]->real == 123456789012345678901234567890.0);
    parsed_release(&p);
}

static void a_byte_order_mark_is_passed_over(void)
{
    struct parsed p;
    parse(&p, "\xef\xbb\xbf{\"a\": 1}");
    CHECK_INT(p.rc, RC_OK);
    parsed_release(&p);
}

struct refusal {
    const char *text, *code, *message, *hint;
};

static const struct refusal refusals[] = {
    {"", "1:1: error[E0103]", "expected a value, found the end of the text", NULL},
    {"[1 2]", "1:4: error[E0103]", "expected ',' or ']' after list item, found '2'",
     NULL},
    {"[1, 2", "1:6: error[E0104]",
     "expected ',' or ']' after list item, found the end of the text",
     "the open '[' is at line 1, column 1"},
    {"{\"a\": [1}", "1:9: error[E0104]", "expected ',' or ']' after list item, found '}'",
     "the open '[' is at line 1, column 7"},
    {"[1,]", "1:4: error[E0104]", "expected a value after ',', found ']'",
     "JSON allows no comma after the last item"},
    {"{\"a\": 1,}", "1:9: error[E0104]",
     "expected a key in double quotes after ',', found '}'",
     "JSON allows no comma after the last entry"},
    {"[,]", "1:2: error[E0103]", "expected a value, found ','", NULL},
    {"{'a': 1}", "1:2: error[E0103]", "expected a key in double quotes or '}', found '''",
     "strings and keys take double quotes in JSON"},
    {"['a']", "1:2: error[E0103]", "expected a value, found '''",
     "strings and keys take double quotes in JSON"},
    {"{a: 1}", "1:2: error[E0103]", "expected a key in double quotes or '}', found 'a'",
     "keys need double quotes"},
    {"{\"a\" 1}", "1:6: error[E0103]", "expected ':' after the key, found '1'", NULL},
    {"{\"a\": }", "1:7: error[E0103]", "expected a value, found '}'", NULL},
    {"{\"a\": 1 \"b\": 2}", "1:9: error[E0103]",
     "expected ',' or '}' after the value, found a string", NULL},
    {"{\"a\"", "1:5: error[E0104]",
     "expected ':' after the key, found the end of the text",
     "the open '{' is at line 1, column 1"},
    {"[1, // one\n2]", "1:5: error[E0103]", "expected a value, found '/'",
     "JSON has no comments"},
    {"# c\n1", "1:1: error[E0103]", "expected a value, found '#'",
     "JSON has no comments"},
    {"{} {}", "1:4: error[E0103]",
     "expected the end of the text after the value, found '{'", NULL},
    {"NaN", "1:1: error[E0103]", "expected a value, found 'NaN'",
     "JSON has no NaN; write null or the string \"NaN\""},
    {"-Infinity", "1:1: error[E0103]", "expected a value, found '-Infinity'",
     "JSON has no infinity; write the string \"-Infinity\""},
    {"True", "1:1: error[E0103]", "expected a value, found 'True'",
     "JSON writes it 'true'"},
    {"[adam]", "1:2: error[E0103]", "expected a value, found 'adam'",
     "text needs double quotes"},
    {"007", "1:1: error[E0106]", "'007' is not a JSON number",
     "numbers do not begin with 0"},
    {"0x1f", "1:1: error[E0106]", "'0x1f' is not a JSON number",
     "JSON has no hexadecimal numbers"},
    {"+1", "1:1: error[E0106]", "'+1' is not a JSON number", "write it without the '+'"},
    {".5", "1:1: error[E0106]", "'.5' is not a JSON number",
     "write the 0 before the point"},
    {"-.5", "1:1: error[E0106]", "'-.5' is not a JSON number",
     "write the 0 before the point"},
    {"1.", "1:1: error[E0106]", "'1.' is not a JSON number",
     "write a digit behind the point"},
    {"-", "1:1: error[E0106]", "'-' is not a JSON number", NULL},
    {"1e", "1:1: error[E0106]", "'1e' is not a JSON number", NULL},
    {"2020-01-01", "1:1: error[E0106]", "'2020-01-01' is not a JSON number",
     "text needs double quotes"},
    {"1e999", "1:1: error[E0106]", "'1e999' is too large a number", NULL},
    {"\"abc", "1:1: error[E0105]", "the string is never closed", NULL},
    {"\"abc\\", "1:1: error[E0105]", "the string is never closed", NULL},
    {"\"a\nb\"", "1:1: error[E0105]", "the string is not closed on its line",
     "a line end inside a string is written \\n"},
    {"\"a\tb\"", "1:3: error[E0105]",
     "control character 0x09 inside a string; write it \\u0009", NULL},
    {"\"a\\qb\"", "1:3: error[E0105]", "unknown escape '\\q' in a string", NULL},
    {"\"\\u12g4\"", "1:2: error[E0105]", "'\\u' needs four hexadecimal digits", NULL},
    {"\"\\ud83d\"", "1:2: error[E0105]",
     "first half of a surrogate pair without the second", NULL},
    {"\"\\ud83d\\u0041\"", "1:2: error[E0105]",
     "first half of a surrogate pair without the second", NULL},
    {"\"\\ude00\"", "1:2: error[E0105]",
     "second half of a surrogate pair without the first", NULL},
    {"{\"a\": 1, \"b\": 2, \"a\": 3}", "1:18: error[E0108]",
     "key 'a' is given twice; the first is at line 1, column 2", NULL},
};

static void each_mistake_has_its_message(void)
{
    for (size_t i = 0; i < ARRAY_LEN(refusals); i++) {
        const struct refusal *r = &refusals[i];
        struct parsed p;
        parse(&p, r->text);
        CHECK_INT(p.rc, RC_FORMAT);
        CHECK_INT(p.diags.n_errors, 1);
        CHECK_HAS(buf_str(&p.shown), r->code);
        if (p.diags.list.n) {
            CHECK_STR(p.diags.list.at[0].msg, r->message);
            CHECK_STR(p.diags.list.at[0].hint, r->hint);
        }
        parsed_release(&p);
    }
}

static void the_message_points_into_the_text(void)
{
    struct parsed p;
    parse(&p, "{\n  \"rate\": 0.1,\n  momentum: 0.9\n}\n");
    CHECK_STR(buf_str(&p.shown),
              "t:3:3: error[E0103]: expected a key in double quotes after ',', found "
              "'momentum'\n"
              "     3 |   momentum: 0.9\n"
              "       |   ^~~~~~~~\n"
              "       = keys need double quotes\n"
              "1 error\n");
    parsed_release(&p);
}

static void a_broken_text_keeps_what_was_read(void)
{
    struct parsed p;
    parse(&p, "{\"a\": 1, \"b\": {\"c\": 2, \"d\" 3}}");
    CHECK_INT(p.rc, RC_FORMAT);
    CHECK(node_find(p.doc.root, "a") != NULL);
    CHECK(node_find(node_find(p.doc.root, "b"), "c") != NULL);
    parsed_release(&p);
}

static void all_duplicate_keys_are_reported(void)
{
    struct buf b;
    buf_init(&b, 1 << 20);
    buf_puts(&b, "{\"k0\": 0");
    for (int i = 1; i < 500; i++)
        buf_printf(&b, ", \"k%d\": 0", i);
    buf_puts(&b, ", \"k3\": 1, \"k499\": 1}");
    struct parsed p;
    parse(&p, buf_str(&b));
    CHECK_INT(p.rc, RC_FORMAT);
    CHECK_INT(p.diags.n_errors, 2);
    CHECK_INT(p.doc.root->map.n, 500);
    parsed_release(&p);
    buf_release(&b);
}

static enum rc parse_nested(unsigned depth, struct parsed *p)
{
    struct buf b;
    buf_init(&b, 1 << 20);
    for (unsigned i = 0; i < depth; i++)
        buf_puts(&b, i % 2 ? "{\"a\":" : "[");
    buf_puts(&b, "1");
    for (unsigned i = depth; i-- > 0;)
        buf_puts(&b, i % 2 ? "}" : "]");
    parse(p, buf_str(&b));
    buf_release(&b);
    return p->rc;
}

static void nesting_is_bounded(void)
{
    struct parsed p;
    CHECK_INT(parse_nested(NODE_DEPTH_MAX, &p), RC_OK);
    parsed_release(&p);
    CHECK_INT(parse_nested(NODE_DEPTH_MAX + 1, &p), RC_FORMAT);
    CHECK_HAS(buf_str(&p.shown), "error[E0107]: nested more than 100 levels deep");
    parsed_release(&p);
    CHECK_INT(parse_nested(50000, &p), RC_FORMAT);
    CHECK_INT(p.diags.n_errors, 1);
    parsed_release(&p);
}

static void check_print(const char *text, unsigned indent, const char *want)
{
    struct parsed p;
    struct buf b;
    parse(&p, text);
    CHECK_INT(p.rc, RC_OK);
    buf_init(&b, 1 << 20);
    json_print(p.doc.root, indent, &b);
    CHECK_STR(buf_str(&b), want);
    buf_release(&b);
    parsed_release(&p);
}

static void printing_is_on_one_line_or_indented(void)
{
    check_print("{\"a\":[1,2.50,1e2],\"b\":{},\"c\":[]}", 0,
                "{\"a\": [1, 2.5, 100.0], \"b\": {}, \"c\": []}");
    check_print(
        "{\"a\":[1,{\"x\":null}],\"b\":{}}", 2,
        "{\n  \"a\": [\n    1,\n    {\n      \"x\": null\n    }\n  ],\n  \"b\": {}\n}\n");
}

static void words_and_special_numbers_print_as_strings(void)
{
    struct arena a = {0};
    struct buf b;
    struct node *list = node_create(&a, NODE_LIST, (struct span){0});
    struct node *word = node_str(&a, "FG_DAG", 6, (struct span){0});
    word->kind = NODE_WORD;
    node_push(&a, list, word);
    node_push(&a, list, node_real(&a, (double)NAN, (struct span){0}));
    node_push(&a, list, node_real(&a, (double)INFINITY, (struct span){0}));
    node_push(&a, list, node_real(&a, -(double)INFINITY, (struct span){0}));
    buf_init(&b, 1 << 20);
    json_print(list, 0, &b);
    CHECK_STR(buf_str(&b), "[\"FG_DAG\", \"NaN\", \"Infinity\", \"-Infinity\"]");
    buf_release(&b);
    arena_release(&a);
}

static void what_is_printed_reads_back_equal(void)
{
    struct random r = {.state = 88172645463325252u};
    for (unsigned i = 0; i < 3000; i++) {
        struct arena a = {0};
        struct buf b;
        struct parsed p;
        const struct node *tree = random_tree(&r, &a, 4);
        buf_init(&b, 1 << 24);
        json_print(tree, i % 3, &b);
        parse(&p, buf_str(&b));
        CHECK_INT(p.rc, RC_OK);
        CHECK(p.doc.root && node_equal(tree, p.doc.root));
        if (p.rc || !node_equal(tree, p.doc.root))
            printf("# tree %u: %s\n# %s\n", i, buf_str(&b), buf_str(&p.shown));
        parsed_release(&p);
        buf_release(&b);
        arena_release(&a);
    }
}

static void members_are_had_by_kind(void)
{
    struct doc d;
    struct err err = {0};
    static const char text[] =
        "{\"t\": \"x\", \"n\": 7, \"b\": true, \"m\": {}, \"l\": [1]}";
    CHECK_INT(json_read("it", text, strlen(text), &d, &err), RC_OK);
    CHECK_STR(node_get_text(d.root, "t", "no"), "x");
    CHECK_STR(node_get_text(d.root, "n", "no"), "no");
    CHECK(!node_get_text(d.root, "z", NULL));
    CHECK_INT(node_get_int(d.root, "n", -1), 7);
    CHECK_INT(node_get_int(d.root, "t", -1), -1);
    CHECK(node_get_bool(d.root, "b", false) && !node_get_bool(d.root, "t", false));
    CHECK(node_get_map(d.root, "m") && !node_get_map(d.root, "l"));
    CHECK(node_get_list(d.root, "l") && !node_get_list(NULL, "l"));
    doc_release(&d);
    CHECK_INT(json_read("it", "{", 1, &d, &err), RC_FORMAT);
    CHECK(str_starts(err.msg, "it is not JSON: "));
    doc_release(&d);
}

static void nothing_is_leaked(void)
{
    int64_t before = mem_live();
    for (size_t i = 0; i < ARRAY_LEN(refusals); i++) {
        struct parsed p;
        parse(&p, refusals[i].text);
        parsed_release(&p);
    }
    CHECK_INT(mem_live(), before);
}

static const struct tap_case cases[] = {
    TAP(every_kind_is_read),
    TAP(every_node_and_key_knows_its_place),
    TAP(escapes_stand_for_their_characters),
    TAP(integers_keep_all_64_bits),
    TAP(a_byte_order_mark_is_passed_over),
    TAP(each_mistake_has_its_message),
    TAP(the_message_points_into_the_text),
    TAP(a_broken_text_keeps_what_was_read),
    TAP(all_duplicate_keys_are_reported),
    TAP(nesting_is_bounded),
    TAP(printing_is_on_one_line_or_indented),
    TAP(words_and_special_numbers_print_as_strings),
    TAP(what_is_printed_reads_back_equal),
    TAP(members_are_had_by_kind),
    TAP(nothing_is_leaked),
};
TAP_MAIN(cases)
