/* SPDX-License-Identifier: Apache-2.0 */
#include "text/prototext.h"

#include <inttypes.h>

#include "base/mem.h"
#include "base/rng.h"
#include "tap.h"

struct parsed {
    struct doc doc;
    struct diags diags;
    struct buf out;
    enum rc rc;
};

static struct parsed parse_n(const char *text, size_t n)
{
    struct parsed p = {0};
    struct err err = {0};
    buf_init(&p.out, 1 << 24);
    CHECK(source_from("t.config", text, n, &p.doc.src, &err) == RC_OK);
    p.rc = prototext_parse(&p.doc, &p.diags);
    return p;
}

static struct parsed parse(const char *text)
{
    return parse_n(text, strlen(text));
}

static void done(struct parsed *p)
{
    buf_release(&p->out);
    diags_release(&p->diags);
    doc_release(&p->doc);
}

/* Parses, prints, compares with `want`, and checks that printing is a fixed point. */
static void prints_as(const char *text, const char *want)
{
    struct parsed a = parse(text);
    CHECK(a.rc == RC_OK);
    prototext_print(a.doc.root, &a.out);
    CHECK_STR(buf_str(&a.out), want);
    struct parsed b = parse(buf_str(&a.out));
    CHECK(b.rc == RC_OK && node_equal(a.doc.root, b.doc.root));
    done(&b);
    done(&a);
}

static void all_constructs_of_the_format_are_read(void)
{
    prints_as("a: 1 b: 'x' c { d: true }", "a: 1\nb: \"x\"\nc {\n  d: true\n}\n");
    prints_as("c: { d: 1 }, e < f: 2 >; g: < h: 3 >",
              "c {\n  d: 1\n}\ne {\n  f: 2\n}\ng {\n  h: 3\n}\n");
    prints_as(
        "a: [1, 2.5, -3] b: [] c [ {x: 1}, <y: 2> ]",
        "a: [1, 2.5, -3]\nb: []\nc: [\n  {\n    x: 1\n  },\n  {\n    y: 2\n  }\n]\n");
    prints_as("# head\na: 'one' \"two\" # tail\n  'three'", "a: \"onetwothree\"\n");
    prints_as("a: 0x1F b: 017 c: 18446744073709551615 d: -9223372036854775808",
              "a: 31\nb: 15\nc: 18446744073709551615\nd: -9223372036854775808\n");
    prints_as("a: 1e-3f b: .5 c: 2.F d: 1E+3 e: -inf f: nan g: FG_DAG",
              "a: 0.001\nb: 0.5\nc: 2.0\nd: 1000.0\ne: -inf\nf: nan\ng: FG_DAG\n");
    prints_as("\xef\xbb\xbf"
              "a: 1",
              "a: 1\n");
    prints_as("", "");
    prints_as("x {}", "x {}\n");
}

static void every_escape_is_read(void)
{
    struct parsed p = parse(
        "a: '\\n\\r\\t\\a\\b\\f\\v\\\\\\'\\\"\\?\\035\\x1d\\x3\\u4e2d\\U0001F642\\0'");
    CHECK(p.rc == RC_OK);
    struct str s = node_find(p.doc.root, "a")->text;
    CHECK(str_eq(
        s, str_of("\n\r\t\a\b\f\v\\'\"?\035\035\003\xe4\xb8\xad\xf0\x9f\x99\x82\0", 22)));
    done(&p);
}

static void repeated_fields_stay_in_file_order(void)
{
    struct parsed p = parse("a: 1 b: 2 a: 3");
    CHECK_INT(p.doc.root->map.n, 3);
    CHECK_INT(node_find(p.doc.root, "a")->num.mag, 3);
    done(&p);
}

static void positions_are_exact(void)
{
    struct parsed p = parse("a: 1\n\n  tower {\n    中文_: 'x' \n  }\n");
    CHECK(p.rc == RC_FORMAT);
    done(&p);
    p = parse("a: 1\n\n  tower {\n    name: '中' value: 7\n  }\n");
    struct node *tower = node_find(p.doc.root, "tower");
    struct span at = node_entry_find(tower, "value")->key_at;
    uint32_t line, col;
    source_locate(at.src, at.off, &line, &col);
    CHECK_INT(line, 4);
    CHECK_INT(col, 15);
    CHECK_INT(at.len, 5);
    CHECK_INT(tower->at.len, strlen("{\n    name: '中' value: 7\n  }"));
    done(&p);
}

static const struct {
    const char *text, *code, *message;
    uint32_t line, col;
} bad[] = {
    {"a 1", "E0103", "expected ':' or '{' after a field name, found '1'", 1, 3},
    {"a: ", "E0103", "expected a value, but the file ends", 1, 4},
    {"a: }", "E0103", "expected a value, found '}'", 1, 4},
    {"x { a: 1\n\n", "E0104", "'{' is never closed", 1, 3},
    {"a: 1\n}", "E0104", "'}' closes nothing", 2, 1},
    {"x {\n a: 1 >\n", "E0104", "'>' does not close the '{' of line 1, column 3", 2, 7},
    {"a: 'x\nb: 1", "E0105", "string is not closed", 1, 4},
    {"a: 'x\\q'", "E0105", "'\\q' is not an escape sequence", 1, 6},
    {"a: '\\u12'", "E0105", "'\\u12' is not an escape sequence", 1, 5},
    {"a: '\\ud800'", "E0105", "'\\ud800' is not an escape sequence", 1, 5},
    {"a: 12abc", "E0106", "'12abc' is not a number", 1, 4},
    {"a: 09", "E0106", "'09' is not a number", 1, 4},
    {"a: 0x", "E0106", "'0x' is not a number", 1, 4},
    {"a: 1.2.3", "E0106", "'1.2.3' is not a number", 1, 4},
    {"a: -x", "E0103", "expected a number after '-', found 'x'", 1, 5},
    {"a: [1, 2", "E0103", "expected ',' or ']' after a list item, but the file ends", 1,
     9},
    {"a: [1, ]", "E0103", "expected a list item after ',', found ']'", 1, 8},
    {"a: [1 2]", "E0103", "expected ',' or ']' after a list item, found '2'", 1, 7},
    {"a: [[1]]", "E0103", "a list cannot hold a list, found '['", 1, 5},
    {"[ext.x]: 1", "E0103", "expected a field name, found '['", 1, 1},
    {"a = 1", "E0103", "unexpected character '='", 1, 3},
    {"// a: 1", "E0103", "unexpected character '/'", 1, 1},
    {"1: 2", "E0103", "expected a field name, found '1'", 1, 1},
};

static void syntax_errors_say_what_and_where(void)
{
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct parsed p = parse(bad[i].text);
        CHECK(p.rc == RC_FORMAT);
        CHECK(p.diags.list.n >= 1);
        const struct diag *g = &p.diags.list.at[0];
        uint32_t line, col;
        source_locate(g->at.src, g->at.off, &line, &col);
        CHECK_STR(g->msg, bad[i].message);
        CHECK_STR(code_info(g->code)->id, bad[i].code);
        CHECK_INT(line, bad[i].line);
        CHECK_INT(col, bad[i].col);
        done(&p);
    }
}

static void one_slip_does_not_hide_the_next(void)
{
    struct parsed p = parse("a 1\nb: 2\nc: 'x\nd: 4\nx {\n  e 5\n  f: 6\n}\n");
    CHECK_INT(p.diags.n_errors, 3);
    CHECK(node_find(p.doc.root, "b") && node_find(p.doc.root, "d"));
    CHECK(node_find(node_find(p.doc.root, "x"), "f") != NULL);
    done(&p);
}

static void nesting_is_bounded(void)
{
    char text[1000] = "";
    for (size_t i = 0; i < 150; i++)
        memcpy(text + i * 3, "x {", 3);
    struct parsed p = parse_n(text, 450);
    CHECK(p.rc == RC_FORMAT);
    CHECK_HAS(p.diags.list.at[0].msg, "nested more than 100 levels deep");
    done(&p);
}

static void errors_end_after_a_while(void)
{
    struct buf b;
    buf_init(&b, 1 << 20);
    for (int i = 0; i < 1000; i++)
        buf_puts(&b, "a b\n");
    struct parsed p = parse(buf_str(&b));
    CHECK_INT(p.diags.n_errors, 20);
    done(&p);
    buf_release(&b);
}

/* A random tree of everything that the printer can meet. */
static struct node *random_value(struct arena *a, struct rng *r, int depth)
{
    static const char *const words[] = {"inf", "nan", "DEEP", "true", "a_b9"};
    struct span at = {0};
    uint64_t kind = rng_below(r, depth > 3 ? 4 : 6);
    char bytes[12];
    struct node *n;
    switch (kind) {
    case 0:
        return rng_below(r, 2) ? node_int(a, (int64_t)rng_u64(r), at)
                               : node_uint(a, rng_u64(r), at);
    case 1:
        return node_real(a, ldexp(rng_f64(r) - 0.5, (int)rng_below(r, 200) - 100), at);
    case 2:
        for (size_t i = 0; i < sizeof(bytes); i++)
            bytes[i] = (char)rng_below(r, 256);
        return node_str(a, bytes, rng_below(r, sizeof(bytes) + 1), at);
    case 3:
        n = node_str(a, words[rng_below(r, 5)], 3, at);
        n->text = str_c(words[rng_below(r, 5)]);
        n->kind = NODE_WORD;
        return n;
    case 4:
        n = node_create(a, NODE_LIST, at);
        for (uint64_t i = rng_below(r, 5); i > 0; i--) {
            struct node *item = random_value(a, r, depth + 1);
            if (item->kind != NODE_LIST)
                node_push(a, n, item);
        }
        return n;
    default:
        n = node_create(a, NODE_MAP, at);
        for (uint64_t i = rng_below(r, 5); i > 0; i--) {
            int len = snprintf(bytes, sizeof(bytes), "f%u", rng_u32(r) % 9);
            node_add(a, n, str_of(bytes, (size_t)len), at, random_value(a, r, depth + 1));
        }
        return n;
    }
}

static void printing_and_parsing_is_the_identity(void)
{
    struct rng r;
    rng_init(&r, 7, 0, 0, 0);
    for (int i = 0; i < 2000; i++) {
        struct arena a = {0};
        struct node *root = node_create(&a, NODE_MAP, (struct span){0});
        for (int k = 0; k < 4; k++)
            node_add(&a, root, str_c("field"), (struct span){0}, random_value(&a, &r, 0));
        struct buf out;
        buf_init(&out, 1 << 24);
        prototext_print(root, &out);
        struct parsed p = parse(buf_str(&out));
        CHECK(p.rc == RC_OK);
        CHECK(node_equal(root, p.doc.root));
        done(&p);
        buf_release(&out);
        arena_release(&a);
    }
}

static void values_of_a_key_are_counted_over_repeats_and_lists(void)
{
    struct parsed p = parse("a: 1 b: 9 a: [2, 3] a: 4");
    for (size_t i = 0; i < 4; i++)
        CHECK_INT(node_nth(p.doc.root, str_c("a"), i)->num.mag, i + 1);
    CHECK(node_nth(p.doc.root, str_c("a"), 4) == NULL);
    CHECK(node_nth(p.doc.root, str_c("c"), 0) == NULL);
    CHECK(node_nth(NULL, str_c("a"), 0) == NULL);
    CHECK(node_nth(node_find(p.doc.root, "b"), str_c("a"), 0) == NULL);
    done(&p);
}

static const struct tap_case cases[] = {
    TAP(all_constructs_of_the_format_are_read),
    TAP(every_escape_is_read),
    TAP(repeated_fields_stay_in_file_order),
    TAP(values_of_a_key_are_counted_over_repeats_and_lists),
    TAP(positions_are_exact),
    TAP(syntax_errors_say_what_and_where),
    TAP(one_slip_does_not_hide_the_next),
    TAP(nesting_is_bounded),
    TAP(errors_end_after_a_while),
    TAP(printing_and_parsing_is_the_identity),
};
TAP_MAIN(cases)
