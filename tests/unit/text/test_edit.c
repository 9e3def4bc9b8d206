/* SPDX-License-Identifier: Apache-2.0 */
/* Edits on the small family of mini.def, in each syntax, and on a real pipeline.config.
 */
#include "text/edit.h"

#include "base/compiler.h"
#include "base/mem.h"
#include "tap.h"
#include "text/json.h"
#include "text/prototext.h"

/* clang-format off */
#define SCHEMA_P(n) mini_##n
#define SCHEMA_DEF(n) mini_##n##_def
#define SCHEMA_WORD(e, w) mini_##e##_##w
#include "text/schema_as_struct.h"
#include "unit/text/mini.def"
#include "text/schema_end.h"
#include "text/schema_as_decl.h"
#include "unit/text/mini.def"
#include "text/schema_end.h"
/* clang-format on */

static const char *no_blanks(struct str s)
{
    return memchr(s.p, ' ', s.n) ? "blanks are not allowed" : NULL;
}
static const struct schema_variant pet_kinds[] = {
    {"cat", &mini_Cat_def}, {"dog", &mini_Dog_def}, {0}};
/* clang-format off */
#include "text/schema_as_table.h"
#include "unit/text/mini.def"
#include "text/schema_end.h"
/* clang-format on */

static int never(const char *path, enum syntax syntax, const struct node *root)
{
    return 0;
}

static enum schema_dialect proto_dialect(enum syntax syntax)
{
    return syntax == SYNTAX_JSON ? SCHEMA_JSON : SCHEMA_PROTO;
}

static enum schema_dialect folded_dialect(enum syntax syntax)
{
    return SCHEMA_FOLDED;
}

static const struct conf_kind proto = {.name = "proto",
                                       .root = &mini_Root_def,
                                       .usual = SYNTAX_PROTOTEXT,
                                       .probe = never,
                                       .dialect = proto_dialect};
static const struct conf_kind folded = {.name = "folded",
                                        .root = &mini_Root_def,
                                        .usual = SYNTAX_YAML,
                                        .probe = never,
                                        .dialect = folded_dialect};

struct edited {
    struct conf c;
    struct diags diags;
    struct buf tree, shown;
    enum rc rc;
};

static void edited_init(struct edited *e, const struct conf_kind *kind, const char *text,
                        const struct conf_edit *edits, size_t n)
{
    struct err err = {0};
    struct conf_options o = {.kind = kind, .edits = edits, .n_edits = n};
    *e = (struct edited){0};
    buf_init(&e->tree, 1 << 20);
    buf_init(&e->shown, 1 << 20);
    e->rc = conf_from("m", text, strlen(text), &o, &e->c, &e->diags, &err);
    CHECK_STR(err.msg, "");
    if (e->c.doc.root)
        json_print(e->c.doc.root, 0, &e->tree);
    diags_print(&e->diags, &e->shown, false);
}

static void edited_release(struct edited *e)
{
    diags_release(&e->diags);
    conf_release(&e->c);
    buf_release(&e->tree);
    buf_release(&e->shown);
}

struct example {
    const char *text; /* of the file */
    const char *edit; /* --set, or --edit-config-json when it begins with '{' */
    const char *want; /* the tree as JSON */
};

static void check_examples(const struct conf_kind *kind, const struct example *at,
                           size_t n)
{
    for (size_t i = 0; i < n; i++) {
        bool json = at[i].edit[0] == '{';
        struct conf_edit edit = {.origin = json ? "--edit-config-json" : "--set",
                                 .text = at[i].edit,
                                 .json = json};
        struct edited e;
        edited_init(&e, kind, at[i].text, &edit, 1);
        CHECK_INT(e.rc, RC_OK);
        CHECK_STR(buf_str(&e.tree), at[i].want);
        if (e.rc)
            printf("# %s\n", buf_str(&e.shown));
        edited_release(&e);
    }
}

#define PARTS                                           \
    "parts { name: 'a' sgd { lr: 1 } } "                \
    "parts { name: 'b' adam { lr: 2 } sizes: [1, 2] } " \
    "parts { name: 'c' adam { lr: 3 fused: true } }"

static const struct example names[] = {
    {"steps: 1", "steps=5", "{\"steps\": 5}"},
    {"", "n_steps=5", "{\"steps\": 5}"},
    {"", " steps = 0x10 ", "{\"steps\": 16}"},
    {"", "shift=-3", "{\"shift\": -3}"},
    {"", "big=18446744073709551615", "{\"big\": 18446744073709551615}"},
    {"", "ratio=1e-3", "{\"ratio\": 0.001}"},
    {"", "ratio=inf", "{\"ratio\": \"Infinity\"}"},
    {"", "mode=SLOW", "{\"mode\": \"SLOW\"}"},
    {"", "mode=2", "{\"mode\": \"FAST\"}"},
    {"", "text=a=b;c", "{\"text\": \"a=b;c\"}"},
    {"", "text=", "{\"text\": \"\"}"},
    {"", "text=true", "{\"text\": \"true\"}"},
    {"", "opt.fused=True", "{\"opt\": {\"fused\": true}}"},
    {"", "opt.fused=0", "{\"opt\": {\"fused\": false}}"},
    {"opt { lr: 1 }", "opt.fused=false", "{\"opt\": {\"lr\": 1, \"fused\": false}}"},
    {"opt { lr: 1 }", "opt={ fused: true }", "{\"opt\": {\"fused\": true}}"},
    {"opt { lr: 1 }", "opt=fused: true lr: 2", "{\"opt\": {\"fused\": true, \"lr\": 2}}"},
    {"opt { lr: 1 }", "opt={\"fused\": true}", "{\"opt\": {\"fused\": true}}"},
    {"opt { lr: 1 }", "opt={}", "{\"opt\": {}}"},
    {"", "modes=[SLOW, 2]", "{\"modes\": [\"SLOW\", \"FAST\"]}"},
    {"", "labels=['a', \"b\"]", "{\"labels\": [\"a\", \"b\"]}"},
    {"", "labels=[a, 1]", "{\"labels\": [\"a\", \"1\"]}"},
    {"", "labels=one", "{\"labels\": [\"one\"]}"},
    {"labels: 'a'", "labels=[]", "{\"labels\": []}"},
    {"", "vocab.x=3", "{\"vocab\": [{\"key\": \"x\", \"value\": 3}]}"},
    {"vocab { key: 'x' value: 1 }", "vocab.x=3",
     "{\"vocab\": [{\"key\": \"x\", \"value\": 3}]}"},
    {"", "vocab={\"x\": 3}", "{\"vocab\": [{\"key\": \"x\", \"value\": 3}]}"},
    {"", "vocab=[{key: 'x' value: 3}]", "{\"vocab\": [{\"key\": \"x\", \"value\": 3}]}"},
    {"", "box.own.deep=[1, x]", "{\"box\": {\"own\": {\"deep\": [1, \"x\"]}}}"},
    {"", "extra.a.b=1e-3", "{\"extra\": {\"a\": {\"b\": 0.001}}}"},
    {"pets { kind: 'cat' }", "pets[0].lives=3",
     "{\"pets\": [{\"kind\": \"cat\", \"lives\": 3}]}"},
};

static void names_lead_to_fields_of_every_type(void)
{
    check_examples(&proto, names, ARRAY_LEN(names));
}

#define A "{\"name\": \"a\", \"sgd\": {\"lr\": 1}}"
#define B "{\"name\": \"b\", \"adam\": {\"lr\": 2}, \"sizes\": [1, 2]}"
#define C "{\"name\": \"c\", \"adam\": {\"lr\": 3, \"fused\": true}}"
#define X(n, rest) "{\"name\": \"" n "\", " rest "}"

static const struct example brackets[] = {
    {PARTS, "parts[0].name=x",
     "{\"parts\": [" X("x", "\"sgd\": {\"lr\": 1}") ", " B ", " C "]}"},
    {PARTS, "parts[-1].adam.lr=7",
     "{\"parts\": [" A ", " B ", " X("c", "\"adam\": {\"lr\": 7, \"fused\": true}") "]}"},
    {PARTS, "parts[3].name=d", "{\"parts\": [" A ", " B ", " C ", {\"name\": \"d\"}]}"},
    {"", "parts[0].sgd.lr=1", "{\"parts\": [{\"sgd\": {\"lr\": 1}}]}"},
    {PARTS, "parts[1].sizes[0]=9",
     "{\"parts\": [" A ", " X("b", "\"adam\": {\"lr\": 2}, \"sizes\": [9, 2]") ", " C
                                                                               "]}"},
    {PARTS, "parts[1].sizes[2]=9",
     "{\"parts\": [" A ", " X("b", "\"adam\": {\"lr\": 2}, \"sizes\": [1, 2, 9]") ", " C
                                                                                  "]}"},
    {PARTS, "parts[1].sizes[:]=9",
     "{\"parts\": [" A ", " X("b", "\"adam\": {\"lr\": 2}, \"sizes\": [9, 9]") ", " C
                                                                               "]}"},
    {PARTS, "parts[1:].name=x",
     "{\"parts\": [" A ", " X("x", "\"adam\": {\"lr\": 2}, \"sizes\": [1, 2]") ", " X(
         "x", "\"adam\": {\"lr\": 3, \"fused\": true}") "]}"},
    {PARTS, "parts[-9:1].name=x",
     "{\"parts\": [" X("x", "\"sgd\": {\"lr\": 1}") ", " B ", " C "]}"},
    {PARTS, "parts=[{name: 'z' sizes: 1 sizes: 2}]",
     "{\"parts\": [" X("z", "\"sizes\": [1, 2]") "]}"},
    {PARTS, "parts[2]=name: 'z'", "{\"parts\": [" A ", " B ", {\"name\": \"z\"}]}"},
};

static void brackets_choose_elements(void)
{
    check_examples(&proto, brackets, ARRAY_LEN(brackets));
}

#define ONLY_B \
    "{\"parts\": [" A ", " X("x", "\"adam\": {\"lr\": 2}, \"sizes\": [1, 2]") ", " C "]}"
#define ONLY_C \
    "{\"parts\": [" A ", " B ", " X("x", "\"adam\": {\"lr\": 3, \"fused\": true}") "]}"

static const struct example conditions[] = {
    {PARTS, "parts[name=b].name=x", ONLY_B},
    {PARTS, "parts[ name = \"b\" ].name=x", ONLY_B},
    {PARTS, "parts[adam.lr=2].name=x", ONLY_B},
    {PARTS, "parts[adam.lr<=2.0].name=x", ONLY_B},
    {PARTS, "parts[adam.lr<2.5].name=x", ONLY_B},
    {PARTS, "parts[adam.lr>2].name=x", ONLY_C},
    {PARTS, "parts[adam.lr>=3].name=x", ONLY_C},
    {PARTS, "parts[name>b].name=x", ONLY_C},
    {PARTS, "parts[adam.fused=True].name=x", ONLY_C},
    {PARTS, "parts[adam.fused=false].name=x", ONLY_B}, /* not set: the default */
    {"extra { a: [{n: 1}, {n: 2}] }", "extra.a[n=2].m=5",
     "{\"extra\": {\"a\": [{\"n\": 1}, {\"n\": 2, \"m\": 5}]}}"},
};

static void conditions_choose_elements(void)
{
    check_examples(&proto, conditions, ARRAY_LEN(conditions));
}

static const struct example oneofs[] = {
    /* one element, named: it changes its kind */
    {PARTS, "parts[0].adam.lr=5",
     "{\"parts\": [" X("a", "\"adam\": {\"lr\": 5}") ", " B ", " C "]}"},
    /* elements chosen: only those of that kind */
    {PARTS, "parts[:].adam.lr=5",
     "{\"parts\": [" A ", " X("b", "\"adam\": {\"lr\": 5}, \"sizes\": [1, 2]") ", " X(
         "c", "\"adam\": {\"lr\": 5, \"fused\": true}") "]}"},
    {PARTS, "parts[0:2].adam={lr: 5}",
     "{\"parts\": [" A ", " X("b", "\"adam\": {\"lr\": 5}, \"sizes\": [1, 2]") ", " C
                                                                               "]}"},
};

static void a_slice_does_not_change_the_kind_of_elements(void)
{
    check_examples(&proto, oneofs, ARRAY_LEN(oneofs));
}

static const struct example jsons[] = {
    {"", "{\"steps\": 5, \"opt.lr\": 0.25}", "{\"steps\": 5, \"opt\": {\"lr\": 0.25}}"},
    {"", "{\"steps\": \"5\"}", "{\"steps\": 5}"},
    {"", "{\"text\": 5}", "{\"text\": \"5\"}"},
    {"", "{\"text\": \"a;b\"}", "{\"text\": \"a;b\"}"},
    {"", "{\"mode\": \"SLOW\"}", "{\"mode\": \"SLOW\"}"},
    {"", "{\"opt.fused\": \"True\"}", "{\"opt\": {\"fused\": true}}"},
    {"", "{\"opt.fused\": true}", "{\"opt\": {\"fused\": true}}"},
    {"", "{\"steps;opt.lr;text\": \"7; 0.5;x y\"}", NULL},
    {"", "{\"steps;opt.lr;text\": \"7; 0.5;xy\"}",
     "{\"steps\": 7, \"opt\": {\"lr\": 0.5}, \"text\": \"xy\"}"},
    {"", "{\"modes\": [\"SLOW\", 2]}", "{\"modes\": [\"SLOW\", \"FAST\"]}"},
    {"", "{\"labels\": \"['a','b']\"}", "{\"labels\": [\"a\", \"b\"]}"},
    {"", "{\"vocab\": {\"x\": 3}}", "{\"vocab\": [{\"key\": \"x\", \"value\": 3}]}"},
    {"", "{\"opt\": {\"lr\": 3}}", "{\"opt\": {\"lr\": 3}}"},
    {"", "{\"opt\": \"lr: 3\"}", "{\"opt\": {\"lr\": 3}}"},
    {"", "{\"parts\": [{\"name\": \"z\", \"sizes\": [3]}], \"parts[0].sizes[0]\": 4}",
     "{\"parts\": [{\"name\": \"z\", \"sizes\": [4]}]}"},
    {"steps: 1 opt { lr: 1 }", "{\"opt\": null, \"opt.lr\": null, \"vocab.x\": null}",
     "{\"steps\": 1}"},
    {"vocab { key: 'x' value: 1 } vocab { key: 'y' value: 2 }", "{\"vocab.x\": null}",
     "{\"vocab\": [{\"key\": \"y\", \"value\": 2}]}"},
    {PARTS, "{\"parts[name>=b]\": null}", "{\"parts\": [" A "]}"},
    {"", "{\"text\": \"\\u0061\\\"b\"}", "{\"text\": \"a\\\"b\"}"},
};

static void json_objects_hold_several_edits(void)
{
    for (size_t i = 0; i < ARRAY_LEN(jsons); i++)
        if (jsons[i].want)
            check_examples(&proto, &jsons[i], 1);
}

static const struct example json_files[] = {
    {"{\"steps\": 1}", "modes=[SLOW]", "{\"steps\": 1, \"modes\": [\"SLOW\"]}"},
    {"{\"steps\": 1}", "parts=[{name: 'z' sizes: 1 sizes: 2}]",
     "{\"steps\": 1, \"parts\": [{\"name\": \"z\", \"sizes\": [1, 2]}]}"},
    {"{\"vocab\": {\"x\": 1}}", "vocab.y=2", "{\"vocab\": {\"x\": 1, \"y\": 2}}"},
    {"{\"steps\": 1}", "opt={\"lr\": 1, \"fused\": true}",
     "{\"steps\": 1, \"opt\": {\"lr\": 1, \"fused\": true}}"},
    {"{\"steps\": 1}", "opt.fused=1", "{\"steps\": 1, \"opt\": {\"fused\": true}}"},
};

static void json_files_take_the_same_edits(void)
{
    check_examples(&proto, json_files, ARRAY_LEN(json_files));
}

#define RUNNERS "parts:\n- {name: one, sgd: {lr: 1}}\n- {name: two}\n"

static const struct example yamls[] = {
    {"steps: 1", "STEPS=5", "{\"steps\": 5}"},
    {"steps: 1", "signedBig=-5", "{\"steps\": 1, \"signed_big\": -5}"},
    {"steps: 1", "text=007", "{\"steps\": 1, \"text\": \"007\"}"},
    {"steps: 1", "labels=[a, 'b']", "{\"steps\": 1, \"labels\": [\"a\", \"b\"]}"},
    {"steps: 1", "opt={lr: 1e-3, fused: yes}",
     "{\"steps\": 1, \"opt\": {\"lr\": 0.001, \"fused\": true}}"},
    {"steps: 1", "vocab.x=2", "{\"steps\": 1, \"vocab\": {\"x\": 2}}"},
    {"steps: 1", "extra.lr={_type: choice, _value: [1e-3, '2', x]}",
     "{\"steps\": 1, \"extra\": {\"lr\": {\"_type\": \"choice\", \"_value\": [0.001, "
     "\"2\", \"x\"]}}}"},
    {RUNNERS, "parts[name=two].sgd.lr=4", NULL},
    {RUNNERS, "parts[name=two].sizes=[4]",
     "{\"parts\": [{\"name\": \"one\", \"sgd\": {\"lr\": 1}}, {\"name\": \"two\", "
     "\"sizes\": [4]}]}"},
    {"pets: {kind: dog}", "pets[0].loud=off",
     "{\"pets\": [{\"kind\": \"dog\", \"loud\": false}]}"},
    {"extra: {r: [{name: a, n: 1}, {name: b, n: 2.0, on: true}]}",
     "extra.r[n=2].epochs=3",
     "{\"extra\": {\"r\": [{\"name\": \"a\", \"n\": 1}, {\"name\": \"b\", \"n\": 2.0, "
     "\"on\": true, \"epochs\": 3}]}}"},
    {"extra: {r: [{name: a}, {name: b, on: true}]}", "extra.r[on=True].x=y",
     "{\"extra\": {\"r\": [{\"name\": \"a\"}, {\"name\": \"b\", \"on\": true, \"x\": "
     "\"y\"}]}}"},
};

static void yaml_files_take_yaml_values(void)
{
    for (size_t i = 0; i < ARRAY_LEN(yamls); i++)
        if (yamls[i].want)
            check_examples(&folded, &yamls[i], 1);
}

struct refusal {
    const char *edit, *head, *message, *hint;
};

static const struct refusal refusals[] = {
    {"steps", "--set:1:1: error[E0120]", "there is no '=' in 'steps'",
     "write PATH=VALUE"},
    {"=5", "--set:1:1: error[E0120]", "a segment of the path has no name",
     "a path is written a.b[0].c"},
    {"opt..lr=5", "--set:1:5: error[E0120]", "a segment of the path has no name",
     "a path is written a.b[0].c"},
    {"parts[0.name=5", "--set:1:6: error[E0120]", "the '[' is never closed",
     "a path is written a.b[0].c"},
    {"parts]0.name=5", "--set:1:6: error[E0120]",
     "the brackets of 'parts]0' do not match", NULL},
    {"parts[].name=5", "--set:1:7: error[E0120]",
     "'[]' selects nothing that could be read",
     "write an index [0], a slice [1:3] or a condition [name=value]"},
    {"parts[x].name=5", "--set:1:7: error[E0120]",
     "'[x]' selects nothing that could be read",
     "write an index [0], a slice [1:3] or a condition [name=value]"},
    {"parts[1:2:3].name=5", "--set:1:9: error[E0120]", "'2:3' is not a slice bound",
     "slices are written [a:b], [a:], [:b] or [:]"},
    {"parts[=b].name=5", "--set:1:7: error[E0120]", "the condition '[=b]' names no field",
     "write [name=value]"},
    {"opt.lrr=5", "--set:1:5: error[E0121]", "Opt has no field 'lrr'",
     "did you mean 'lr'?"},
    {"zzzzzzz=5", "--set:1:1: error[E0121]", "Root has no field 'zzzzzzz'",
     "`trainyard explain Root` lists its fields"},
    {"parts[nam=b].name=5", "--set:1:7: error[E0121]", "Part has no field 'nam'",
     "did you mean 'name'?"},
    {"parts.name=5", "--set:1:7: error[E0123]", "'parts' is a list",
     "say which elements: parts[0], parts[:] or parts[name=value]"},
    {"steps.x=5", "--set:1:7: error[E0123]",
     "'steps' is a single value; 'x' cannot lie below it", NULL},
    {"steps[0]=5", "--set:1:7: error[E0123]", "'steps' is not a list", NULL},
    {"parts[4].name=5", "--set:1:7: error[E0122]",
     "parts[4] does not exist: the list has 3 elements", "parts[3] adds one at the end"},
    {"parts[-4].name=5", "--set:1:7: error[E0122]",
     "parts[-4] does not exist: the list has 3 elements", "parts[3] adds one at the end"},
    {"parts[3:].name=5", "--set:1:7: error[E0122]",
     "parts[3:] selects nothing: the list has 3 elements", NULL},
    {"labels[:]=5", "--set:1:8: error[E0122]",
     "labels[:] selects nothing: the list has 0 elements", NULL},
    {"parts[name=bb].name=5", "--set:1:7: error[E0122]",
     "no element of 'parts' satisfies 'name=bb'", "did you mean 'b'?"},
    {"parts[0:1].adam.lr=5", "--set:1:12: error[E0122]",
     "none of the selected elements is of the kind 'adam'",
     "name one element by its index to turn it into this kind"},
    {"parts[adam.lr=x].name=5", "--set:1:15: error[E0123]",
     "'x' cannot be compared with 'lr', which is of type float", NULL},
    {"parts[adam=x].name=5", "--set:1:7: error[E0123]",
     "'adam' is a message and cannot be compared", NULL},
    {"parts[sizes=1].name=5", "--set:1:7: error[E0123]",
     "'sizes' is a list and cannot be compared", NULL},
    {"modes=SLOW", "--set:1:7: error[E0123]", "'modes' takes a list",
     "write [1, 2] or ['a', 'b']"},
    {"modes=[SLOW] x: 1", "--set:1:7: error[E0123]",
     "'modes' takes a list and nothing behind it", "write [1, 2] or ['a', 'b']"},
    {"steps=", "--set:1:7: error[E0123]",
     "'steps' takes a value of type uint32, not nothing", NULL},
    {"opt={lr: 1", "--set:1:5: error[E0123]", "'opt' takes a message",
     "the braces do not match"},
    {"{\"steps\": [1]}", "--edit-config-json:1:11: error[E0123]",
     "'steps' takes a value of type uint32, not a list", NULL},
    {"{\"opt\": 1}", "--edit-config-json:1:9: error[E0123]", "'opt' takes a message",
     NULL},
    {"{\"steps;opt.lr\": \"1\"}", "--edit-config-json:1:19: error[E0120]",
     "2 paths but 1 value", "write the values as one string, separated by ';'"},
    {"{\"steps\": 5, \"opt.lrr\": 5}", "--edit-config-json:1:19: error[E0121]",
     "Opt has no field 'lrr'", "did you mean 'lr'?"},
    {"{\"steps\": }", "--edit-config-json:1:11: error[E0103]",
     "expected a value, found '}'", NULL},
    /* found by the schema's check afterwards, in the text of the edit */
    {"steps=many", "--set:1:7: error[E0202]",
     "'steps' takes an integer, not a bare word 'many'", NULL},
    {"steps=-1", "--set:1:7: error[E0203]", "'steps': -1 does not fit in a uint32", NULL},
    {"word=max", "--set:1:6: error[E0204]", "'word' takes 'sum' or 'mean', not \"max\"",
     NULL},
    {"opt=lr: 1 lx: 2", "--set:1:11: error[E0201]", "Opt has no field 'lx'",
     "did you mean 'lr'?"},
};

static void refused_edits_say_why_and_change_nothing(void)
{
    struct edited plain;
    edited_init(&plain, &proto, PARTS, NULL, 0);
    for (size_t i = 0; i < ARRAY_LEN(refusals); i++) {
        const struct refusal *r = &refusals[i];
        bool json = r->edit[0] == '{';
        struct conf_edit edit = {.origin = json ? "--edit-config-json" : "--set",
                                 .text = r->edit,
                                 .json = json};
        struct edited e;
        edited_init(&e, &proto, PARTS, &edit, 1);
        CHECK_INT(e.rc, RC_INVAL);
        CHECK_INT(e.diags.n_errors, 1);
        CHECK_HAS(buf_str(&e.shown), r->head);
        if (e.diags.list.n) {
            CHECK_STR(e.diags.list.at[0].msg, r->message);
            CHECK_STR(e.diags.list.at[0].hint, r->hint);
        }
        if (!strstr(r->head, "E02"))
            CHECK_STR(buf_str(&e.tree), buf_str(&plain.tree));
        edited_release(&e);
    }
    edited_release(&plain);
}

static void the_caret_stands_in_the_edit(void)
{
    static const struct conf_edit edits[] = {
        {.origin = "--set", .text = "opt.lrr=5"},
        {.origin = "--edit-config-json",
         .text = "{\"steps\": 1, \"ratio\": \"x\"}",
         .json = true},
        {.origin = "--set", .text = "opt={lr: 1 fused: \"no\"}"},
    };
    struct edited e;
    edited_init(&e, &proto, "", edits, ARRAY_LEN(edits));
    CHECK_STR(
        buf_str(&e.shown),
        "--set:1:5: error[E0121]: Opt has no field 'lrr'\n"
        "     1 | opt.lrr=5\n"
        "       |     ^~~\n"
        "       = did you mean 'lr'?\n"
        "--edit-config-json:1:24: error[E0202]: 'ratio' takes a number, not a bare "
        "word 'x'\n"
        "     1 | {\"steps\": 1, \"ratio\": \"x\"}\n"
        "       |                        ^\n"
        "--set:1:19: error[E0202]: 'fused' takes true or false, not a string \"no\"\n"
        "     1 | opt={lr: 1 fused: \"no\"}\n"
        "       |                   ^~~~\n"
        "       = in opt\n"
        "3 errors\n");
    edited_release(&e);
}

static void another_member_of_a_oneof_is_replaced_with_a_note(void)
{
    static const struct conf_edit edit = {.origin = "--set",
                                          .text = "parts[0].adam.lr=5"};
    struct edited e;
    edited_init(&e, &proto, PARTS, &edit, 1);
    CHECK_INT(e.rc, RC_OK);
    CHECK_STR(buf_str(&e.shown), "--set:1:10: note[E0206]: 'adam' replaces 'sgd'\n"
                                 "     1 | parts[0].adam.lr=5\n"
                                 "       |          ^~~~\n");
    edited_release(&e);
}

static void edits_apply_in_order(void)
{
    static const struct conf_edit edits[] = {
        {.origin = "--set", .text = "parts[0].name=a"},
        {.origin = "--set", .text = "parts[1]={name: 'b' sizes: 1 sizes: 2}"},
        {.origin = "--set", .text = "parts[name=b].sizes[1]=7"},
    };
    struct edited e;
    edited_init(&e, &proto, "", edits, ARRAY_LEN(edits));
    CHECK_INT(e.rc, RC_OK);
    CHECK_STR(buf_str(&e.tree),
              "{\"parts\": [{\"name\": \"a\"}, {\"name\": \"b\", \"sizes\": [1, 7]}]}");
    edited_release(&e);
}

#define PIPELINE                                                                        \
    "model_dir: 'exp/0' train_config { sparse_optimizer { adagrad_optimizer { lr: 1 } " \
    "constant_learning_rate {} } } data_config { batch_size: 8 dataset_type: "          \
    "ParquetDataset } "                                                                 \
    "feature_configs { raw_feature { feature_name: 'price' boundaries: [1, 2] } } "     \
    "feature_configs { id_feature { feature_name: 'uid' num_buckets: 9 } } "            \
    "feature_configs { id_feature { feature_name: 'age_level' num_buckets: 9 } }"

/* The examples that TorchEasyRec's users have in their scripts. */
static const struct {
    const char *edit, *holds;
} pipeline[] = {
    {"{\"model_dir\":\"exp/1\"}", "\"model_dir\": \"exp/1\""},
    {"{\"train_config.sparse_optimizer.adagrad_optimizer.lr\":0.0001}",
     "\"adagrad_optimizer\": {\"lr\": 0.0001}"},
    {"{\"feature_configs[0].raw_feature.boundaries\":[4,5,6,7]}",
     "\"boundaries\": [4, 5, 6, 7]"},
    {"{\"feature_configs[1:3].id_feature.num_buckets\":2}",
     "\"uid\", \"num_buckets\": 2}}, {\"id_feature\": {\"feature_name\": \"age_level\", "
     "\"num_buckets\": 2}"},
    {"{\"feature_configs[id_feature.feature_name=age_level].id_feature.num_buckets\":3}",
     "\"uid\", \"num_buckets\": 9}}, {\"id_feature\": {\"feature_name\": \"age_level\", "
     "\"num_buckets\": 3}"},
    {"{\"data_config.negative_sampler.input_path\":\"data/items\"}",
     "\"negative_sampler\": {\"input_path\": \"data/items\"}"},
    {"{\"data_config.batch_size;data_config.num_workers\":\"1024;4\"}",
     "\"batch_size\": 1024, \"dataset_type\": \"ParquetDataset\", \"num_workers\": 4"},
    {"feature_configs[:].id_feature.num_buckets=2",
     "\"raw_feature\": {\"feature_name\": \"price\""},
};

static void published_examples_work_on_a_pipeline(void)
{
    for (size_t i = 0; i < ARRAY_LEN(pipeline); i++) {
        bool json = pipeline[i].edit[0] == '{';
        struct conf_edit edit = {.origin = "e", .text = pipeline[i].edit, .json = json};
        struct edited e;
        edited_init(&e, &conf_kind_pipeline, PIPELINE, &edit, 1);
        CHECK_HAS(buf_str(&e.tree), pipeline[i].holds);
        for (size_t k = 0; k < e.diags.list.n; k++) { /* what it means is not ours */
            const struct diag *g = &e.diags.list.at[k];
            CHECK(g->code >= E0301 || strcmp(g->at.src->name, "e") != 0);
        }
        edited_release(&e);
    }
}

static void nothing_is_leaked(void)
{
    int64_t before = mem_live();
    for (size_t i = 0; i < ARRAY_LEN(refusals); i++) {
        struct conf_edit edit = {
            .origin = "e", .text = refusals[i].edit, .json = refusals[i].edit[0] == '{'};
        struct edited e;
        edited_init(&e, &proto, PARTS, &edit, 1);
        edited_release(&e);
    }
    CHECK_INT(mem_live(), before);
}

static const struct tap_case cases[] = {
    TAP(names_lead_to_fields_of_every_type),
    TAP(brackets_choose_elements),
    TAP(conditions_choose_elements),
    TAP(a_slice_does_not_change_the_kind_of_elements),
    TAP(json_objects_hold_several_edits),
    TAP(json_files_take_the_same_edits),
    TAP(yaml_files_take_yaml_values),
    TAP(refused_edits_say_why_and_change_nothing),
    TAP(the_caret_stands_in_the_edit),
    TAP(another_member_of_a_oneof_is_replaced_with_a_note),
    TAP(edits_apply_in_order),
    TAP(published_examples_work_on_a_pipeline),
    TAP(nothing_is_leaked),
};
TAP_MAIN(cases)
