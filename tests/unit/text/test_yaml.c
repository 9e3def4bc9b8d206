/* SPDX-License-Identifier: Apache-2.0 */
#include "text/yaml.h"

#include "base/compiler.h"
#include "base/mem.h"
#include "parsed.h"
#include "random_tree.h"
#include "tap.h"
#include "text/json.h"
#include "text/yaml_scalar.h"

static enum rc parse_strict(struct doc *d, struct diags *diags)
{
    return yaml_parse(d, false, diags);
}

static enum rc parse_lax(struct doc *d, struct diags *diags)
{
    return yaml_parse(d, true, diags);
}

static void parse(struct parsed *p, const char *text)
{
    parsed_init(p, parse_strict, text, strlen(text));
}

/* The tree of `text` printed as JSON, "error" when there is none. */
static void check_as_json(const char *text, const char *want)
{
    struct parsed p;
    struct buf b;
    parse(&p, text);
    buf_init(&b, 1 << 20);
    if (p.rc)
        buf_printf(&b, "error: %s", buf_str(&p.shown));
    else
        json_print(p.doc.root, 0, &b);
    CHECK_STR(buf_str(&b), want);
    buf_release(&b);
    parsed_release(&p);
}

static void blocks_and_flows_are_read(void)
{
    check_as_json("a: 1\nb:\n  - x\n  - {c: [1, 2], d: }\n  - - y\n# end\n",
                  "{\"a\": 1, \"b\": [\"x\", {\"c\": [1, 2], \"d\": null}, [\"y\"]]}");
    check_as_json("{\"a\": [1, \"x\"],}", "{\"a\": [1, \"x\"]}");
    check_as_json("text: |\n  one\n   two\nfold: >-\n  a\n  b\n",
                  "{\"text\": \"one\\n two\\n\", \"fold\": \"a b\"}");
    check_as_json("%YAML 1.2\n---\na: 'it''s'\n...\n", "{\"a\": \"it's\"}");
    check_as_json("\xef\xbb\xbf"
                  "a: 1",
                  "{\"a\": 1}");
    check_as_json("a: 1\r\nb:\r\n  - 2\r\n", "{\"a\": 1, \"b\": [2]}");
}

static void an_empty_file_is_null(void)
{
    check_as_json("", "null");
    check_as_json("# only a comment\n\n", "null");
    check_as_json("---\n", "null");
}

struct typed {
    const char *text;
    enum node_kind kind;
    double value;
};

static const struct typed typed[] = {
    {"~", NODE_NULL, 0},
    {"null", NODE_NULL, 0},
    {"NULL", NODE_NULL, 0},
    {"nUll", NODE_STR, 0},
    {"true", NODE_BOOL, 0},
    {"False", NODE_BOOL, 0},
    {"TRUE", NODE_BOOL, 0},
    {"yes", NODE_STR, 0},
    {"No", NODE_STR, 0},
    {"on", NODE_STR, 0},
    {"off", NODE_STR, 0},
    {"12", NODE_INT, 12},
    {"-12", NODE_INT, -12},
    {"+12", NODE_INT, 12},
    {"007", NODE_INT, 7},
    {"010", NODE_INT, 10},
    {"0o17", NODE_INT, 15},
    {"0x1f", NODE_INT, 31},
    {"0xFF", NODE_INT, 255},
    {"0o18", NODE_STR, 0},
    {"0x", NODE_STR, 0},
    {"0xg", NODE_STR, 0},
    {"-0x1f", NODE_STR, 0},
    {"0b1", NODE_STR, 0},
    {"1e-3", NODE_REAL, 1e-3},
    {"1E5", NODE_REAL, 1e5},
    {"1.", NODE_REAL, 1},
    {".5", NODE_REAL, .5},
    {"-.5e1", NODE_REAL, -5},
    {"1.5e+3", NODE_REAL, 1500},
    {".", NODE_STR, 0},
    {"-", NODE_STR, 0},
    {"1e", NODE_STR, 0},
    {"e5", NODE_STR, 0},
    {"1.2.3", NODE_STR, 0},
    {"1_000", NODE_STR, 0},
    {"1:30", NODE_STR, 0},
    {"2020-01-01", NODE_STR, 0},
    {"1e999", NODE_STR, 0},
    {".inf", NODE_REAL, HUGE_VAL},
    {"-.Inf", NODE_REAL, -HUGE_VAL},
    {"inf", NODE_STR, 0},
    {"nan", NODE_STR, 0},
    {"-.nan", NODE_STR, 0},
    {"18446744073709551615", NODE_INT, 18446744073709551615.0},
    {"18446744073709551616", NODE_REAL, 18446744073709551616.0},
    {"0xffffffffffffffff", NODE_INT, 18446744073709551615.0},
    {"0x10000000000000000", NODE_STR, 0},
    {"1e-400", NODE_REAL, 0},
};

static void plain_scalars_have_the_types_of_yaml_1_2(void)
{
    struct arena a = {0};
    for (size_t i = 0; i < ARRAY_LEN(typed); i++) {
        double v = 0;
        struct node *n = yaml_scalar(&a, str_c(typed[i].text), (struct span){0});
        if (n->kind != typed[i].kind)
            printf("# %s is %s\n", typed[i].text, node_kind_name(n->kind));
        CHECK_INT(n->kind, typed[i].kind);
        CHECK_INT(yaml_kind(str_c(typed[i].text)), typed[i].kind);
        if (node_number(n, &v))
            CHECK(v == typed[i].value);
        CHECK(str_is(n->text, typed[i].text));
    }
    CHECK(isnan(yaml_scalar(&a, str_c(".NaN"), (struct span){0})->real));
    arena_release(&a);
}

static void quoted_scalars_are_strings(void)
{
    check_as_json("['1', \"true\", 'null', \"\", '~']",
                  "[\"1\", \"true\", \"null\", \"\", \"~\"]");
    check_as_json("\"\\x1d\\t\\u00e9\"", "\"\\u001d\\t\xc3\xa9\"");
}

static void core_tags_decide_the_type(void)
{
    check_as_json(
        "[!!str 12, !!int \"12\", !!float 3, !!bool 'true', !!null '', !!seq [], "
        "!!map {}, ! \"7\"]",
        "[\"12\", 12, 3.0, true, null, [], {}, \"7\"]");
}

static void aliases_are_copies(void)
{
    check_as_json(
        "a: &x {n: [1, 2]}\nb: *x\nc: &y z\n*y : 1\n",
        "{\"a\": {\"n\": [1, 2]}, \"b\": {\"n\": [1, 2]}, \"c\": \"z\", \"z\": 1}");
    struct parsed p;
    parse(&p, "a: &x {n: 1}\nb: *x\n");
    struct node *a = node_find(p.doc.root, "a"), *b = node_find(p.doc.root, "b");
    CHECK(a != b && node_find(a, "n") != node_find(b, "n"));
    parsed_release(&p);
}

static void merge_keys_add_what_is_missing(void)
{
    check_as_json("base: &b {x: 1, y: 2}\nmore: &m {y: 3, z: 4}\n"
                  "one: {<<: *b, y: 9}\ntwo:\n  w: 0\n  <<: [*m, *b]\n"
                  "three: {\"<<\": 1}\n",
                  "{\"base\": {\"x\": 1, \"y\": 2}, \"more\": {\"y\": 3, \"z\": 4}, "
                  "\"one\": {\"x\": 1, \"y\": 9}, "
                  "\"two\": {\"y\": 3, \"z\": 4, \"x\": 1, \"w\": 0}, "
                  "\"three\": {\"<<\": 1}}");
}

static void spans_count_bytes(void)
{
    struct parsed p;
    parse(
        &p,
        "\xc3\xa9t\xc3\xa9: \xe4\xb8\xad\xe6\x96\x87  # c\nlist:\n  - \"\xf0\x9f\x98\x80\"\n"
        "  - {a: 1,\n     b: x y}\ntext: |\n  one\n\n\nlast: 'q'\n");
    CHECK_INT(p.rc, RC_OK);
    const struct node *root = p.doc.root;
    CHECK_INT(root->map.n, 4);
    CHECK_INT(root->map.at[0].key_at.len, 5);
    CHECK(str_is(parsed_at(root->map.at[0].value), "\xe4\xb8\xad\xe6\x96\x87"));
    const struct node *list = root->map.at[1].value;
    CHECK(str_is(parsed_at(list), "- \"\xf0\x9f\x98\x80\"\n  - {a: 1,\n     b: x y}"));
    CHECK(str_is(parsed_at(list->list.at[0]), "\"\xf0\x9f\x98\x80\""));
    CHECK(str_is(parsed_at(list->list.at[1]), "{a: 1,\n     b: x y}"));
    CHECK(str_is(parsed_at(list->list.at[1]->map.at[1].value), "x y"));
    CHECK(str_is(parsed_at(root->map.at[2].value), "|\n  one"));
    CHECK(str_is(parsed_at(root->map.at[3].value), "'q'"));
    CHECK_INT(root->at.off + root->at.len, p.doc.src->n - 1);
    parsed_release(&p);
}

static void spans_hold_beyond_many_wide_characters(void)
{
    struct buf b;
    struct parsed p;
    buf_init(&b, 1 << 20);
    for (int i = 0; i < 700; i++)
        buf_printf(&b, "k%d: \xe4\xb8\xad%d\n", i, i);
    parse(&p, buf_str(&b));
    CHECK_INT(p.doc.root->map.n, 700);
    for (size_t i = 0; i < p.doc.root->map.n; i++)
        CHECK(str_eq(parsed_at(p.doc.root->map.at[i].value),
                     p.doc.root->map.at[i].value->text));
    parsed_release(&p);
    buf_release(&b);
}

struct refusal {
    const char *text, *head, *message, *hint;
};

static const struct refusal refusals[] = {
    {"a: 1\n\tb: 2\n", "2:1: error[E0103]", "a tab cannot be used for indentation",
     "indent with blanks"},
    {"a:\n\t- 1\n", "2:1: error[E0103]", "a tab cannot be used for indentation",
     "indent with blanks"},
    {"a: @x\n", "1:4: error[E0103]", "text cannot begin with '@'",
     "put the text in quotes"},
    {"a: b: c\n", "1:5: error[E0103]", "a ':' cannot stand here",
     "text that holds ': ' needs quotes; a key must start in the column of its neighbours"},
    {"a: 1\n  b: 2\n", "2:4: error[E0103]", "a ':' cannot stand here",
     "text that holds ': ' needs quotes; a key must start in the column of its neighbours"},
    {"a:\n  b: 1\n c: 2\n", "3:2: error[E0103]", "expected a key",
     "entries of one mapping start in the same column"},
    {"a: - 1\n", "1:4: error[E0103]", "a list item '- ' cannot stand here",
     "a list begins on a line of its own, below its key"},
    {"a\nb: 1\n", "2:2: error[E0103]", "a ':' cannot stand here",
     "text that holds ': ' needs quotes; a key must start in the column of its neighbours"},
    {"a: 1\nb\nc: 2\n", "3:1: error[E0103]", "expected ':' after the key",
     "a key, its ':' and the beginning of its value stand on one line; text that goes on "
     "must be indented"},
    {"- 1\nb: 2\n", "2:1: error[E0103]", "expected '- ' and the next list item",
     "items of one list start in the same column"},
    {"a: [1, 2\nb: 3\n", "2:2: error[E0104]", "expected ',' or ']' after list item",
     "it was opened at line 1, column 4"},
    {"a: {b: 1\n", "2:1: error[E0104]", "expected ',' or '}' after the value",
     "it was opened at line 1, column 4"},
    {"a: \"x\n", "2:1: error[E0105]", "the string is never closed",
     "it was opened at line 1, column 4"},
    {"a: \"\\q\"\n", "1:5: error[E0105]", "unknown escape in a string",
     "in double quotes a backslash is written \\\\; single quotes take it as it is"},
    {"a: x\x01y\n", "1:5: error[E0103]", "control characters are not allowed",
     "in double quotes they can be written as escapes such as \\x1d"},
    {"a: *b\n", "1:4: error[E0103]", "alias '*b' has no anchor before it", NULL},
    {"a: *\n", "1:5: error[E0103]", "expected a name after '&' or '*'",
     "text that begins with '*' or '&' needs quotes"},
    {"a: &b [*b]\n", "1:8: error[E0109]", "alias '*b' stands inside what it refers to",
     NULL},
    {"a: 1\n---\nb: 2\n", "2:1: error[E0109]", "a second document; a file holds one",
     NULL},
    {"a: !!python/tuple [1]\n", "1:4: error[E0109]",
     "tag '!!python/tuple' is not supported here", NULL},
    {"a: !x 1\n", "1:4: error[E0109]", "tag '!x' is not supported here", NULL},
    {"a: !y!x 1\n", "1:4: error[E0109]", "the tag is not defined", NULL},
    {"a: !!int x\n", "1:4: error[E0106]", "'x' does not fit its tag '!!int'", NULL},
    {"a: !!map [1]\n", "1:4: error[E0109]", "tag '!!map' is not supported here", NULL},
    {"? [1]\n: 2\n", "1:3: error[E0109]", "a key cannot be a list", NULL},
    {"{{a: 1}: 2}\n", "1:2: error[E0109]", "a key cannot be a mapping", NULL},
    {"?\n: 1\n", "1:2: error[E0109]", "a key is missing before ':'", NULL},
    {"<<: 3\n", "1:5: error[E0103]",
     "'<<' merges a mapping or a list of mappings, nothing else", NULL},
    {"a: 1\nb: 2\na: 3\n", "3:1: error[E0108]",
     "key 'a' is given twice; the first is at line 1, column 1", NULL},
};

static void each_mistake_has_its_message(void)
{
    for (size_t i = 0; i < ARRAY_LEN(refusals); i++) {
        const struct refusal *r = &refusals[i];
        struct parsed p;
        parse(&p, r->text);
        CHECK_INT(p.rc, RC_FORMAT);
        CHECK_INT(p.diags.n_errors, 1);
        CHECK_HAS(buf_str(&p.shown), r->head);
        if (p.diags.list.n) {
            CHECK_STR(p.diags.list.at[0].msg, r->message);
            CHECK_STR(p.diags.list.at[0].hint, r->hint);
        }
        parsed_release(&p);
    }
}

static void the_last_key_may_win(void)
{
    struct parsed p;
    static const char text[] = "a: 1\nb: 2\na: 3\n";
    parsed_init(&p, parse_lax, text, strlen(text));
    CHECK_INT(p.rc, RC_OK);
    CHECK_STR(buf_str(&p.shown),
              "t:3:1: warning[E0108]: key 'a' is given twice; this one counts, the first "
              "is at line 1, column 1\n"
              "     3 | a: 3\n"
              "       | ^\n"
              "1 warning\n");
    int64_t v = 0;
    CHECK_INT(p.doc.root->map.n, 2);
    CHECK(node_i64(node_find(p.doc.root, "a"), &v) && v == 3);
    parsed_release(&p);
}

static void a_broken_text_keeps_what_was_read(void)
{
    struct parsed p;
    parse(&p, "a: 1\nb:\n  c: 2\n  d: [1, 2\n");
    CHECK_INT(p.rc, RC_FORMAT);
    CHECK(node_find(p.doc.root, "a") != NULL);
    CHECK(node_find(node_find(p.doc.root, "b"), "c") != NULL);
    parsed_release(&p);
}

static void aliases_cannot_expand_without_bound(void)
{
    struct buf b;
    struct parsed p;
    buf_init(&b, 1 << 20);
    buf_puts(&b, "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for (int i = 1; i < 12; i++)
        buf_printf(&b, "a%d: &a%d [*a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d]\n", i,
                   i, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1);
    parse(&p, buf_str(&b));
    CHECK_INT(p.rc, RC_FORMAT);
    CHECK_HAS(buf_str(&p.shown),
              "error[E0109]: alias '*a5' makes the file expand without "
              "bound");
    parsed_release(&p);
    buf_clear(&b);
    buf_puts(&b, "a: &a \"");
    for (int i = 0; i < 70000; i++)
        buf_puts(&b, "0123456789");
    buf_puts(&b, "\"\nb: [*a");
    for (int i = 0; i < 200; i++)
        buf_puts(&b, ", *a");
    buf_puts(&b, "]\n");
    parse(&p, buf_str(&b));
    CHECK_INT(p.rc, RC_FORMAT);
    CHECK_INT(p.diags.n_errors, 1);
    CHECK_STR(p.diags.list.at[0].msg, "alias '*a' makes the file expand without bound");
    parsed_release(&p);
    buf_release(&b);
}

static void nesting_is_bounded(void)
{
    static const unsigned depths[] = {NODE_DEPTH_MAX, NODE_DEPTH_MAX + 1, 20000};
    for (size_t k = 0; k < ARRAY_LEN(depths); k++) {
        struct buf b;
        struct parsed p;
        buf_init(&b, 1 << 20);
        for (unsigned i = 0; i < depths[k]; i++)
            buf_puts(&b, "[");
        for (unsigned i = 0; i < depths[k]; i++)
            buf_puts(&b, "]");
        parse(&p, buf_str(&b));
        CHECK_INT(p.rc, k == 0 ? RC_OK : RC_FORMAT);
        if (k == 1)
            CHECK_HAS(buf_str(&p.shown),
                      "error[E0107]: nested more than 100 levels deep");
        parsed_release(&p);
        buf_release(&b);
    }
    struct parsed p;
    struct buf b;
    buf_init(&b, 1 << 20);
    buf_puts(&b, "a: &a [[[[[[[[[[1]]]]]]]]]]\nb: ");
    for (unsigned i = 0; i < 90; i++)
        buf_puts(&b, "[");
    buf_puts(&b, "*a");
    for (unsigned i = 0; i < 90; i++)
        buf_puts(&b, "]");
    parse(&p, buf_str(&b));
    CHECK_HAS(buf_str(&p.shown), "alias '*a' nests the file more than 100 levels deep");
    parsed_release(&p);
    buf_release(&b);
}

static void check_print(const char *text, const char *want)
{
    struct parsed p;
    struct buf b;
    parse(&p, text);
    CHECK_INT(p.rc, RC_OK);
    buf_init(&b, 1 << 20);
    yaml_print(p.doc.root, &b);
    CHECK_STR(buf_str(&b), want);
    buf_release(&b);
    parsed_release(&p);
}

static void printing_is_in_block_style(void)
{
    check_print(
        "{a: 1, b: [x, {c: 2, d: [3]}, [4, [5]], [], {}], e: }",
        "a: 1\nb:\n  - x\n  - c: 2\n    d:\n      - 3\n  - - 4\n    - - 5\n  - []\n"
        "  - {}\ne: null\n");
    check_print("x: \"a\\nb\\n\"\nz: [\"c\\n\\nd\", \"e\\n\\n\"]\n",
                "x: |\n  a\n  b\nz:\n  - |-\n    c\n\n    d\n  - |+\n    e\n\n");
    check_print("[1.0, 1e-3, .inf, -.inf, .nan, 0x10]",
                "- 1.0\n- 0.001\n- .inf\n- -.inf\n- .nan\n- 16\n");
    check_print("[]", "[]\n");
    check_print("", "null\n");
}

static void strings_that_look_like_something_else_are_quoted(void)
{
    check_print(
        "['1', 'true', 'null', '', 'yes', '~', ' x', 'x ', 'a: b', 'a #b', '- x', "
        "'1:30', '.5', '*a', 'a:']",
        "- \"1\"\n- \"true\"\n- \"null\"\n- \"\"\n- \"yes\"\n- \"~\"\n- \" x\"\n"
        "- \"x \"\n- \"a: b\"\n- \"a #b\"\n- \"- x\"\n- \"1:30\"\n- \".5\"\n- \"*a\"\n"
        "- \"a:\"\n");
    check_print(
        "[./data, /a/b.csv, a:b, x#y, it's, \xc3\xa9, user@host, a b]",
        "- ./data\n- /a/b.csv\n- a:b\n- x#y\n- it's\n- \xc3\xa9\n- user@host\n- a b\n");
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
        yaml_print(tree, &b);
        parse(&p, buf_str(&b));
        bool equal = p.rc == RC_OK && node_equal(tree, p.doc.root);
        CHECK(equal);
        if (!equal)
            printf("# tree %u:\n%s\n# %s\n", i, buf_str(&b), buf_str(&p.shown));
        parsed_release(&p);
        buf_release(&b);
        arena_release(&a);
    }
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
    TAP(blocks_and_flows_are_read),
    TAP(an_empty_file_is_null),
    TAP(plain_scalars_have_the_types_of_yaml_1_2),
    TAP(quoted_scalars_are_strings),
    TAP(core_tags_decide_the_type),
    TAP(aliases_are_copies),
    TAP(merge_keys_add_what_is_missing),
    TAP(spans_count_bytes),
    TAP(spans_hold_beyond_many_wide_characters),
    TAP(each_mistake_has_its_message),
    TAP(the_last_key_may_win),
    TAP(a_broken_text_keeps_what_was_read),
    TAP(aliases_cannot_expand_without_bound),
    TAP(nesting_is_bounded),
    TAP(printing_is_in_block_style),
    TAP(strings_that_look_like_something_else_are_quoted),
    TAP(what_is_printed_reads_back_equal),
    TAP(nothing_is_leaked),
};
TAP_MAIN(cases)
