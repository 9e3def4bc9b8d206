/* SPDX-License-Identifier: Apache-2.0 */
/* The schema engine on a small family of its own (mini.def). */
#include "text/schema.h"

#include <stdlib.h>

#include "tap.h"
#include "text/json.h"
#include "text/prototext.h"
#include "text/yaml.h"

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

struct bound {
    struct doc doc;
    struct diags diags;
    struct arena arena;
    const struct mini_Root *root;
};

static struct bound bind_as(enum schema_dialect dialect, const char *text)
{
    struct bound b = {0};
    CHECK(source_from("m", text, strlen(text), &b.doc.src, NULL) == RC_OK);
    enum rc rc = dialect == SCHEMA_PROTO  ? prototext_parse(&b.doc, &b.diags)
                 : dialect == SCHEMA_JSON ? json_parse(&b.doc, &b.diags)
                                          : yaml_parse(&b.doc, false, &b.diags);
    CHECK(rc == RC_OK);
    rc = schema_normalise(&mini_Root_def, b.doc.root, dialect, &b.arena, &b.diags);
    CHECK((rc == RC_OK) == (b.diags.n_errors == 0));
    b.root = schema_bind(&mini_Root_def, b.doc.root, &b.arena);
    return b;
}

static struct bound bind(const char *text)
{
    return bind_as(SCHEMA_PROTO, text);
}

static void done(struct bound *b)
{
    diags_release(&b->diags);
    doc_release(&b->doc);
    arena_release(&b->arena);
}

static void defaults_hold_where_nothing_is_set(void)
{
    struct bound b = bind("");
    CHECK_INT(b.root->steps, 100);
    CHECK_INT(b.root->shift, -1);
    CHECK(!b.root->has_steps && b.root->ratio == 0.5 && !b.root->old);
    CHECK_STR(b.root->word, "sum");
    CHECK_INT(b.root->mode, mini_Mode_FAST);
    CHECK(b.root->opt == NULL && b.root->parts == NULL && b.root->n_parts == 0);
    CHECK(b.root->extra == NULL);
    done(&b);
}

static void values_and_presence_arrive(void)
{
    struct bound b =
        bind("n_steps: 0 big: 18446744073709551615 signed_big: -5 ratio: 2 word: 'MEAN'\n"
             "mode: 1 modes: [SLOW, FAST] modes: SLOW labels: 'a' labels: ['b', 'c']\n"
             "opt { lr: 0.1 fused: t } vocab { key: 'x' value: 3 }\n"
             "vocab: [{key: 'y' value: 4}, {key: 'x' value: 9}] extra { any: [1] }");
    CHECK_INT(b.diags.list.n, 0);
    CHECK(b.root->has_steps && b.root->steps == 0);
    CHECK(b.root->big == UINT64_MAX && b.root->signed_big == -5 && b.root->ratio == 2);
    CHECK_STR(b.root->word, "MEAN");
    CHECK_INT(b.root->mode, mini_Mode_SLOW);
    CHECK(b.root->n_modes == 3 && b.root->modes[1] == mini_Mode_FAST);
    CHECK(b.root->n_labels == 3 && strcmp(b.root->labels[2], "c") == 0);
    CHECK(b.root->opt->lr == 0.1 && b.root->opt->has_lr && b.root->opt->fused);
    CHECK_INT(b.root->n_vocab, 2);
    CHECK_STR(b.root->vocab[0].key, "x");
    CHECK_INT(b.root->vocab[0].value, 9);
    CHECK(node_find(b.root->extra, "any") != NULL);
    done(&b);
}

static void floats_keep_their_decimal(void)
{
    struct bound b = bind("opt { lr: 0.0123 }");
    CHECK(b.root->opt->lr == 0.0123);
    done(&b);
    b = bind("opt { lr: 0.1234567890123 }");
    CHECK((float)b.root->opt->lr == 0.1234567890123f);
    CHECK(b.root->opt->lr == strtod("0.12345679", NULL));
    done(&b);
}

static void oneof_and_titles_are_found(void)
{
    struct bound b = bind("parts { name: 'p' adam { lr: 1 } }");
    const struct msg *sub = NULL;
    const struct field_def *f = schema_oneof(&b.root->parts[0]->base, "how", &sub);
    CHECK(f != NULL);
    CHECK_STR(f->name, "adam");
    CHECK(((const struct mini_Opt *)(const void *)sub)->lr == 1);
    CHECK_STR(schema_where(sub, &b.arena), "parts 'p' at parts[0].adam");
    CHECK_STR(schema_where(&b.root->parts[0]->base, &b.arena), "parts 'p' at parts[0]");
    CHECK(schema_where(&b.root->base, &b.arena) == NULL);
    done(&b);
}

static const struct {
    enum schema_dialect dialect;
    const char *text, *want; /* first diagnostic, printed */
} problems[] = {
    {SCHEMA_PROTO, "stepz: 3",
     "m:1:1: error[E0201]: Root has no field 'stepz'\n     1 | stepz: 3\n       | ^~~~~\n"
     "       = did you mean 'steps'?\n1 error\n"},
    {SCHEMA_PROTO, "parts { name: 'p' zzzzzz: 1 }",
     "m:1:19: error[E0201]: Part has no field 'zzzzzz'\n     1 | parts { name: 'p' zzzzzz: 1 }\n"
     "       |                   ^~~~~~\n       = in parts 'p' at parts[0]\n"
     "       = `trainyard explain Part` lists its fields\n1 error\n"},
    {SCHEMA_PROTO, "steps: 'x'",
     "m:1:8: error[E0202]: 'steps' takes an integer, not a string \"x\"\n     1 | steps: 'x'\n"
     "       |        ^~~\n1 error\n"},
    {SCHEMA_PROTO, "steps: '12'",
     "m:1:8: error[E0202]: 'steps' takes an integer, not a string \"12\"\n     1 | steps: '12'\n"
     "       |        ^~~~\n       = leave the quotes away: steps: 12\n1 error\n"},
    {SCHEMA_PROTO, "text: hello",
     "m:1:7: error[E0202]: 'text' takes a string, not a bare word 'hello'\n     1 | text: hello\n"
     "       |       ^~~~~\n       = put it in quotes: text: \"hello\"\n1 error\n"},
    {SCHEMA_PROTO, "steps: 4294967296",
     "m:1:8: error[E0203]: 'steps': 4294967296 does not fit in a uint32\n"
     "     1 | steps: 4294967296\n       |        ^~~~~~~~~~\n1 error\n"},
    {SCHEMA_PROTO, "steps: -1",
     "m:1:8: error[E0203]: 'steps': -1 does not fit in a uint32\n     1 | steps: -1\n"
     "       |        ^~\n1 error\n"},
    {SCHEMA_PROTO, "opt { lr: 11 }",
     "m:1:11: error[E0203]: 'lr': 11 is outside [0, 10]\n     1 | opt { lr: 11 }\n"
     "       |           ^~\n       = in opt\n1 error\n"},
    {SCHEMA_PROTO, "parts { sizes: [1, 0] }",
     "m:1:20: error[E0203]: 'sizes': 0 is outside [1, 100]\n     1 | parts { sizes: [1, 0] }\n"
     "       |                    ^\n       = in parts[0]\n1 error\n"},
    {SCHEMA_PROTO, "word: 'maen'",
     "m:1:7: error[E0204]: 'word' takes 'sum' or 'mean', not \"maen\"\n     1 | word: 'maen'\n"
     "       |       ^~~~~~\n       = did you mean 'mean'?\n1 error\n"},
    {SCHEMA_PROTO, "mode: QUICK",
     "m:1:7: error[E0204]: 'mode': 'QUICK' is no Mode\n     1 | mode: QUICK\n"
     "       |       ^~~~~\n       = it is 'SLOW' or 'FAST'\n1 error\n"},
    {SCHEMA_PROTO, "mode: 'FAST'",
     "m:1:7: error[E0204]: 'mode': 'FAST' is no Mode\n     1 | mode: 'FAST'\n"
     "       |       ^~~~~~\n       = leave the quotes away: mode: FAST\n1 error\n"},
    {SCHEMA_PROTO, "text: 'a b'",
     "m:1:7: error[E0211]: 'text': \"a b\": blanks are not allowed\n     1 | text: 'a b'\n"
     "       |       ^~~~~\n1 error\n"},
    {SCHEMA_PROTO, "opt: 3",
     "m:1:6: error[E0202]: 'opt' takes a message, not an integer\n     1 | opt: 3\n"
     "       |      ^\n       = write opt { ... }\n1 error\n"},
    {SCHEMA_PROTO, "steps: 1\nsteps: 2",
     "m:2:1: warning[E0205]: 'steps' is set twice; the last one counts\n     2 | steps: 2\n"
     "       | ^~~~~\n       = line 1 sets it too\n1 warning\n"},
    {SCHEMA_PROTO, "opt { lr: 1 }\nopt { fused: true }",
     "m:2:1: warning[E0205]: 'opt' is set twice; the two are merged\n"
     "     2 | opt { fused: true }\n       | ^~~\n       = line 1 sets it too\n1 warning\n"},
    {SCHEMA_PROTO, "parts { sgd {} adam {} }",
     "m:1:16: warning[E0206]: 'adam' replaces 'sgd': only one how can be set\n"
     "     1 | parts { sgd {} adam {} }\n       |                ^~~~\n       = in parts[0]\n"
     "       = remove the one that is not meant\n1 warning\n"},
    {SCHEMA_PROTO, "old: true",
     "m:1:1: warning[E0207]: 'old' is deprecated\n     1 | old: true\n       | ^~~\n"
     "       = use 'steps'\n1 warning\n"},
    {SCHEMA_PROTO, "dead: 1",
     "m:1:1: warning[E0208]: 'dead' has no effect\n     1 | dead: 1\n       | ^~~~\n"
     "       = never did\n1 warning\n"},
    {SCHEMA_PROTO, "steps: [5]",
     "m:1:8: warning[E0202]: 'steps' takes one value; the list of one is read as that value\n"
     "     1 | steps: [5]\n       |        ^~~\n1 warning\n"},
    {SCHEMA_PROTO, "box { coutn: 3 mine: 4 }",
     "m:1:7: warning[E0212]: 'coutn' is not a field of Box\n     1 | box { coutn: 3 mine: 4 }\n"
     "       |       ^~~~~\n       = in box\n       = did you mean 'count'?\n1 warning\n"},
    {SCHEMA_PROTO, "vocab { key: 3 }",
     "m:1:14: error[E0202]: 'key' takes a string, not an integer '3'\n     1 | vocab { key: 3 }\n"
     "       |              ^\n       = put it in quotes: key: \"3\"\n1 error\n"},
    {SCHEMA_YAML, "pets: {kind: cow}",
     "m:1:14: error[E0204]: 'kind': 'cow' is not a kind of pets\n     1 | pets: {kind: cow}\n"
     "       |              ^~~\n1 error\n"},
    {SCHEMA_YAML, "pets:\n- lives: 3",
     "m:2:3: error[E0209]: 'pets' needs a key 'kind' that tells its kind\n     2 | - lives: 3\n"
     "       |   ^~~~~~~~\n1 error\n"},
    {SCHEMA_JSON, "{\"steps\": true}",
     "m:1:11: error[E0202]: 'steps' takes an integer, not a boolean 'true'\n"
     "     1 | {\"steps\": true}\n       |           ^~~~\n1 error\n"},
};

static void problems_read_like_a_compiler(void)
{
    for (size_t i = 0; i < ARRAY_LEN(problems); i++) {
        struct bound b = bind_as(problems[i].dialect, problems[i].text);
        struct buf out;
        buf_init(&out, 1 << 16);
        diags_print(&b.diags, &out, false);
        CHECK_STR(buf_str(&out), problems[i].want);
        buf_release(&out);
        done(&b);
    }
}

static void the_last_oneof_member_stays(void)
{
    struct bound b = bind("parts { sgd { lr: 1 } adam { lr: 2 } }");
    CHECK(b.root->parts[0]->sgd == NULL && b.root->parts[0]->adam->lr == 2);
    done(&b);
    b = bind("opt { lr: 1 fused: true } opt { lr: 2 }");
    CHECK(b.root->opt->lr == 2 && b.root->opt->fused);
    done(&b);
}

static void dialects_read_their_spellings(void)
{
    struct bound b =
        bind_as(SCHEMA_JSON, "{\"signedBig\": \"-7\", \"mode\": \"SLOW\", \"steps\": 3.0,"
                             "\"vocab\": {\"a\": 1, \"b\": 2}, \"ratio\": \"Infinity\"}");
    CHECK_INT(b.diags.n_errors, 0);
    CHECK(b.root->signed_big == -7 && b.root->mode == mini_Mode_SLOW &&
          b.root->steps == 3);
    CHECK(b.root->n_vocab == 2 && b.root->vocab[1].value == 2 && isinf(b.root->ratio));
    done(&b);
    b = bind_as(SCHEMA_FOLDED, "SIGNEDBIG: 4\nText: 123\nold: null\nlabels: one\n"
                               "pets: {KIND: Cat, lives: 3}\n");
    CHECK_INT(b.diags.list.n, 0);
    CHECK(b.root->signed_big == 4 && b.root->n_pets == 1);
    CHECK_STR(b.root->text, "123");
    CHECK_STR(b.root->labels[0], "one");
    CHECK(b.root->pets[0]->def == &mini_Cat_def);
    CHECK_INT(((const struct mini_Cat *)(const void *)b.root->pets[0])->lives, 3);
    done(&b);
    b = bind_as(SCHEMA_YAML,
                "opt: {fused: yes}\npets:\n- kind: dog\n  loud: off\n- kind: cat\n");
    CHECK_INT(b.diags.list.n, 0);
    CHECK(b.root->opt->fused && b.root->n_pets == 2);
    CHECK(!((const struct mini_Dog *)(const void *)b.root->pets[0])->loud);
    done(&b);
}

static void normalising_twice_changes_nothing(void)
{
    struct bound b =
        bind("parts { name: 'a' sizes: 1 sizes: [2, 3] sgd {} } parts { name: 'b' }\n"
             "vocab { key: 'x' value: 1 } mode: 1 steps: 1 steps: 2 labels: 'q'");
    struct node *once = node_clone(&b.arena, b.doc.root);
    struct diags again = {0};
    CHECK(schema_normalise(&mini_Root_def, b.doc.root, SCHEMA_PROTO, &b.arena, &again) ==
          RC_OK);
    CHECK_INT(again.list.n, 0);
    CHECK(node_equal(once, b.doc.root));
    diags_release(&again);
    done(&b);
}

static void reports_point_at_the_field_or_its_message(void)
{
    struct bound b = bind("parts {\n  name: 'p'\n  sgd { lr: 1 }\n}\n");
    const struct mini_Part *p = b.root->parts[0];
    struct span s = schema_span(&p->base, "name");
    CHECK_INT(s.off, 16);
    s = schema_span(&p->sgd->base, "fused"); /* not set: the message's own name */
    CHECK_INT(s.off, 22);
    CHECK_INT(s.len, 3);
    schema_report(&b.diags, DIAG_ERROR, E0209, &p->base, "sizes", "'sizes' is missing");
    CHECK_STR(b.diags.list.at[0].where, "parts 'p' at parts[0]");
    done(&b);
}

static const struct tap_case cases[] = {
    TAP(defaults_hold_where_nothing_is_set),
    TAP(values_and_presence_arrive),
    TAP(floats_keep_their_decimal),
    TAP(oneof_and_titles_are_found),
    TAP(problems_read_like_a_compiler),
    TAP(the_last_oneof_member_stays),
    TAP(dialects_read_their_spellings),
    TAP(normalising_twice_changes_nothing),
    TAP(reports_point_at_the_field_or_its_message),
};
TAP_MAIN(cases)
