/* SPDX-License-Identifier: Apache-2.0 */
#include "train/changes.h"

#include "tap.h"
#include "text/prototext.h"

static void parse(const char *text, struct doc *d)
{
    struct diags diags = {0};
    CHECK(source_from("test", text, strlen(text), &d->src, NULL) == RC_OK);
    CHECK(prototext_parse(d, &diags) == RC_OK);
    diags_release(&diags);
}

static void check(const char *old, const char *now, size_t most, size_t n,
                  const char *want)
{
    struct doc a = {0}, b = {0};
    struct buf out;
    buf_init(&out, 4096);
    parse(old, &a);
    parse(now, &b);
    CHECK_INT(train_config_changes(a.root, b.root, most, &out), n);
    CHECK_STR(buf_str(&out), want);
    buf_release(&out);
    doc_release(&a);
    doc_release(&b);
}

static void each_field_is_named_with_both_values(void)
{
    check("a { b: 1 c: \"x\" } d: 2", "a { b: 3 c: \"x\" } e: yes", 5, 3,
          "a.b: 1 -> 3; d: 2 -> not set; e: not set -> yes");
    check("a { b: 1 }", "a { b: 1 }", 5, 0, "");
    check("a { b: 1 }", "a: 1", 5, 1, "a: {...} -> 1");
}

static void repeated_fields_are_compared_in_order(void)
{
    check("f { n: 1 } f { n: 2 }", "f { n: 1 } f { n: 3 } f { n: 4 }", 5, 2,
          "f[1].n: 2 -> 3; f[2]: not set -> {...}");
    check("h: [1, 2]", "h: 1 h: 2", 5, 0, "");
    check("h: [1, 2]", "h: [1, 3]", 5, 1, "h[1]: 2 -> 3");
}

static void where_things_lie_does_not_count(void)
{
    check("model_dir: \"a\" train_input_path: \"b\" x { model_dir: 1 }",
          "model_dir: \"c\" eval_input_path: \"d\" x { model_dir: 2 }", 5, 1,
          "x.model_dir: 1 -> 2");
}

static void the_rest_is_counted(void)
{
    check("a: 1 b: 1 c: 1", "a: 2 b: 2 c: 2", 1, 3, "a: 1 -> 2; and 2 more");
}

static const struct tap_case cases[] = {
    TAP(each_field_is_named_with_both_values),
    TAP(repeated_fields_are_compared_in_order),
    TAP(where_things_lie_does_not_count),
    TAP(the_rest_is_counted),
};
TAP_MAIN(cases)
