/* SPDX-License-Identifier: Apache-2.0 */
#include "text/nni/space.h"

#include "base/mem.h"
#include "parsed.h"
#include "tap.h"
#include "text/json.h"

struct built {
    struct parsed p;
    struct arena a;
    struct nni_space space;
    enum rc rc;
};

static void build(struct built *b, const char *text)
{
    *b = (struct built){0};
    parsed_init(&b->p, json_parse, text, strlen(text));
    CHECK_INT(b->p.rc, RC_OK);
    if (b->p.rc == RC_OK)
        b->rc = nni_space_build(b->p.doc.root, &b->a, &b->p.diags, &b->space);
}

static void release(struct built *b)
{
    arena_release(&b->a);
    parsed_release(&b->p);
}

struct row {
    const char *text;
    enum code code;
    const char *msg;
    const char *at; /* the characters under the caret */
    const char *hint;
};

/* A single problem, an error or a warning, at the right place. */
static void check_row(const struct row *r, enum severity severity)
{
    struct built b;
    build(&b, r->text);
    int before = tap_failed;
    CHECK_INT(b.p.diags.list.n, 1);
    CHECK_INT(b.rc, severity == DIAG_ERROR ? RC_FORMAT : RC_OK);
    if (b.p.diags.list.n) {
        const struct diag *g = &b.p.diags.list.at[0];
        char at[256];
        snprintf(at, sizeof(at), "%.*s", (int)g->at.len, g->at.src->text + g->at.off);
        CHECK_INT(g->severity, severity);
        CHECK_STR(code_info(g->code)->id, code_info(r->code)->id);
        CHECK_STR(g->msg, r->msg);
        CHECK_STR(at, r->at);
        CHECK_STR(g->hint, r->hint);
    }
    if (tap_failed > before)
        printf("#   in %s\n", r->text);
    release(&b);
}

static void each_mistake_is_an_error_at_its_place(void)
{
    static const struct row rows[] = {
        {"[1]", E0430, "search space is a list, expect a dict", "[1]", NULL},
        {"{\"x\": 7}", E0430, "search space \"x\" is a int, expect a dict", "7", NULL},
        {"{\"x\": {\"_type\": \"choice\"}}", E0431,
         "search space \"x\" does not have \"_type\" or \"_value\"", "\"x\"", NULL},
        {"{\"x\": {\"_value\": [1]}}", E0431,
         "search space \"x\" does not have \"_type\" or \"_value\"", "\"x\"", NULL},
        {"{\"x\": {\"_type\": \"logunifrom\", \"_value\": [1, 2]}}", E0432,
         "search space \"x\" has unsupported type \"logunifrom\"", "\"logunifrom\"",
         "did you mean 'loguniform'?"},
        {"{\"x\": {\"_type\": \"factor\", \"_value\": [1]}}", E0432,
         "search space \"x\" has unsupported type \"factor\"", "\"factor\"", NULL},
        {"{\"x\": {\"_type\": 3, \"_value\": [1]}}", E0432,
         "search space \"x\" has a \"_type\" that is not a string", "3", NULL},
        {"{\"x\": {\"_type\": \"choice\", \"_value\": 1}}", E0433,
         "search space \"x\"'s value is not a list", "1", NULL},
        {"{\"x\": {\"_type\": \"uniform\", \"_value\": [1]}}", E0433,
         "search space \"x\" (uniform) must have 2 values, not 1", "[1]", NULL},
        {"{\"x\": {\"_type\": \"quniform\", \"_value\": [1, 2]}}", E0433,
         "search space \"x\" (quniform) must have 3 values, not 2", "[1, 2]", NULL},
        {"{\"x\": {\"_type\": \"uniform\", \"_value\": [0, \"1e-1\"]}}", E0434,
         "search space \"x\" (uniform) must have float values, not str", "\"1e-1\"",
         "write the number without quotes"},
        {"{\"x\": {\"_type\": \"normal\", \"_value\": [null, 1]}}", E0434,
         "search space \"x\" (normal) must have float values, not null", "null", NULL},
        {"{\"x\": {\"_type\": \"randint\", \"_value\": [0, 2.5]}}", E0434,
         "search space \"x\" (randint) must have int values", "2.5", NULL},
        {"{\"x\": {\"_type\": \"randint\", \"_value\": [true, 2]}}", E0434,
         "search space \"x\" (randint) must have int values, not bool", "true", NULL},
        {"{\"x\": {\"_type\": \"uniform\", \"_value\": [2, 1]}}", E0435,
         "search space \"x\" (uniform) must have high > low", "[2, 1]", NULL},
        {"{\"x\": {\"_type\": \"randint\", \"_value\": [3, 3]}}", E0435,
         "search space \"x\" (randint) must have high > low", "[3, 3]",
         "the upper bound itself is never drawn"},
        {"{\"x\": {\"_type\": \"loguniform\", \"_value\": [0, 1]}}", E0436,
         "search space \"x\" (loguniform) must have low > 0", "0", NULL},
        {"{\"x\": {\"_type\": \"qloguniform\", \"_value\": [-1, 1, 1]}}", E0436,
         "search space \"x\" (qloguniform) must have low > 0", "-1", NULL},
        {"{\"x\": {\"_type\": \"lognormal\", \"_value\": [0, 0]}}", E0437,
         "search space \"x\" (lognormal) must have sigma > 0", "0", NULL},
        {"{\"x\": {\"_type\": \"qnormal\", \"_value\": [0, 1, 0]}}", E0438,
         "search space \"x\" (qnormal) must have q > 0", "0", NULL},
        {"{\"x\": {\"_type\": \"choice\", \"_value\": []}}", E0439,
         "search space \"x\" (choice) has no options", "[]", NULL},
        {"{\"x\": {\"_type\": \"choice\", \"_value\": [{\"_name\": \"a\"}, {\"_name\": "
         "\"a\"}]}}",
         E0441, "search space \"x\" (choice): two options have the \"_name\" \"a\"",
         "\"a\"", NULL},
        {"{\"x\": {\"_type\": \"choice\", \"_value\": [{\"_name\": [1]}]}}", E0441,
         "search space \"x\" (choice): \"_name\" must be a string", "[1]", NULL},
        {"{\"a\": {\"_type\": \"choice\", \"_value\": [{\"_name\": \"n\", \"b\": {\"_type\": "
         "\"choice\", \"_value\": [{\"_name\": \"m\", \"c\": {\"_type\": \"uniform\", "
         "\"_value\": [1, 0]}}]}}]}}",
         E0435, "search space \"a/n/b/m/c\" (uniform) must have high > low", "[1, 0]",
         NULL},
        {"{\"a\": {\"_type\": \"choice\", \"_value\": [{\"_name\": \"n\", \"b\": 1}]}}",
         E0430, "search space \"a/n/b\" is a int, expect a dict", "1", NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        check_row(&rows[i], DIAG_ERROR);
}

static void odd_but_usable_is_a_warning(void)
{
    static const struct row rows[] = {
        {"{\"x\": {\"_type\": \"choice\", \"_value\": [1, [2]]}}", E0440,
         "search space \"x\" (choice) should only contain numbers or strings", "[2]",
         NULL},
        {"{\"x\": {\"_type\": \"choice\", \"_value\": [1, {\"_name\": \"a\"}]}}", E0440,
         "search space \"x\" (choice): 1 of 2 options have \"_name\", so none is taken "
         "apart",
         "[1, {\"_name\": \"a\"}]",
         "give each option a \"_name\" to nest parameters below it"},
        {"{\"x\": {\"_type\": \"choice\", \"_value\": [1], \"_values\": 2}}", E0443,
         "search space \"x\": \"_values\" has no meaning here", "\"_values\"",
         "did you mean '_value'?"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        check_row(&rows[i], DIAG_WARNING);
}

static void all_mistakes_are_reported_and_the_rest_is_kept(void)
{
    struct built b;
    build(&b, "{\"a\": {\"_type\": \"qloguniform\", \"_value\": [-2, -3, 0]},\n"
              " \"b\": 1,\n"
              " \"c\": {\"_type\": \"uniform\", \"_value\": [0, 1]}}");
    CHECK_INT(b.rc, RC_FORMAT);
    CHECK_INT(b.p.diags.n_errors, 4);
    CHECK_INT(b.space.n, 1);
    CHECK_STR(b.space.at[0].name, "c");
    release(&b);
}

static void all_ten_types_are_flattened(void)
{
    struct built b;
    build(&b, "{\"a\": {\"_type\": \"choice\", \"_value\": [\"x\", 2, true]},"
              " \"b\": {\"_type\": \"randint\", \"_value\": [-2, 3]},"
              " \"c\": {\"_type\": \"uniform\", \"_value\": [0, 0.5]},"
              " \"d\": {\"_type\": \"quniform\", \"_value\": [2, 10, 5]},"
              " \"e\": {\"_type\": \"loguniform\", \"_value\": [1, 100]},"
              " \"f\": {\"_type\": \"qloguniform\", \"_value\": [1, 8, 2]},"
              " \"g\": {\"_type\": \"normal\", \"_value\": [1, 2]},"
              " \"h\": {\"_type\": \"qnormal\", \"_value\": [1, 2, 0.5]},"
              " \"i\": {\"_type\": \"lognormal\", \"_value\": [0, 1]},"
              " \"j\": {\"_type\": \"qlognormal\", \"_value\": [0, 1, 1]}}");
    CHECK_INT(b.rc, RC_OK);
    CHECK_INT(b.p.diags.list.n, 0);
    CHECK_INT(b.space.n, NNI_TYPES);
    const struct nni_param *p = b.space.at;
    for (int i = 0; i < NNI_TYPES && b.space.n == NNI_TYPES; i++) {
        CHECK_INT(p[i].type, i);
        CHECK_INT(p[i].parent, -1);
        CHECK_INT(p[i].categorical, i < 2);
        CHECK_INT(p[i].clip, i == NNI_UNIFORM || i == NNI_QUNIFORM ||
                                 i == NNI_LOGUNIFORM || i == NNI_QLOGUNIFORM);
        CHECK_INT(p[i].log, i == NNI_LOGUNIFORM || i == NNI_QLOGUNIFORM ||
                                i == NNI_LOGNORMAL || i == NNI_QLOGNORMAL);
    }
    CHECK_INT(p[0].size, 3);
    CHECK_STR(p[0].options[1]->text.p, "2");
    CHECK_INT(p[1].size, 5);
    CHECK_INT(p[1].lower, -2);
    CHECK_NEAR(p[2].high, 0.5, 0);
    CHECK_NEAR(p[3].q, 5, 0);
    CHECK_NEAR(p[3].clip_high, 10, 0);
    CHECK_NEAR(p[4].low, 0, 0);
    CHECK_NEAR(p[4].high, log(100), 0);
    CHECK_NEAR(p[5].high, log(8), 0);
    CHECK_NEAR(p[5].clip_high, 8, 0);
    CHECK_NEAR(p[7].mu, 1, 0);
    CHECK_NEAR(p[7].sigma, 2, 0);
    CHECK_NEAR(p[7].q, 0.5, 0);
    release(&b);
}

static void nested_choices_come_depth_first(void)
{
    struct built b;
    build(
        &b,
        "{\"z\": {\"_type\": \"choice\", \"_value\": ["
        "   {\"_name\": \"conv\", \"k\": {\"_type\": \"choice\", \"_value\": ["
        "        {\"_name\": \"small\"},"
        "        {\"_name\": \"large\", \"w\": {\"_type\": \"uniform\", \"_value\": [1, "
        "2]}}]}},"
        "   {\"_name\": \"pool\", \"s\": {\"_type\": \"randint\", \"_value\": [1, 4]}}]},"
        " \"a\": {\"_type\": \"uniform\", \"_value\": [3, 3]}}");
    static const struct {
        const char *path;
        int parent, option;
    } want[] = {{"z", -1, -1},
                {"z/conv/k", 0, 0},
                {"z/conv/k/large/w", 1, 1},
                {"z/pool/s", 0, 1},
                {"a", -1, -1}};
    CHECK_INT(b.rc, RC_OK);
    CHECK_INT(b.space.n, ARRAY_LEN(want));
    for (size_t i = 0; i < ARRAY_LEN(want) && b.space.n == ARRAY_LEN(want); i++) {
        CHECK_STR(b.space.at[i].path, want[i].path);
        CHECK_INT(b.space.at[i].parent, want[i].parent);
        CHECK_INT(b.space.at[i].option, want[i].option);
    }
    CHECK(b.space.at[0].nested);
    CHECK_STR(b.space.at[0].option_names[1], "pool");
    release(&b);
}

static void whole_parameter_sets_of_a_batch_are_fine(void)
{
    struct built b;
    build(&b,
          "{\"sets\": {\"_type\": \"choice\", \"_value\": [{\"lr\": 1}, {\"lr\": 2}]}}");
    CHECK_INT(b.rc, RC_OK);
    CHECK_INT(b.p.diags.list.n, 0);
    CHECK_INT(b.space.n, 1);
    CHECK(!b.space.at[0].nested);
    release(&b);
}

static void an_empty_space_is_a_space(void)
{
    struct built b;
    build(&b, "{}");
    CHECK_INT(b.rc, RC_OK);
    CHECK_INT(b.space.n, 0);
    release(&b);
}

static void too_many_parameters_are_refused_once(void)
{
    struct buf text;
    struct built b;
    int64_t live = mem_live();
    buf_init(&text, (size_t)64 << 20);
    buf_putc(&text, '{');
    for (int i = 0; i < 100002; i++)
        buf_printf(&text, "%s\"p%d\":{\"_type\":\"uniform\",\"_value\":[0,1]}",
                   i ? "," : "", i);
    buf_putc(&text, '}');
    build(&b, buf_str(&text));
    CHECK_INT(b.rc, RC_FORMAT);
    CHECK_INT(b.p.diags.n_errors, 1);
    CHECK_STR(b.p.diags.list.at[0].msg, "search space has more than 100000 parameters");
    release(&b);
    buf_release(&text);
    CHECK_INT(mem_live(), live);
}

static const struct tap_case cases[] = {
    TAP(each_mistake_is_an_error_at_its_place),
    TAP(odd_but_usable_is_a_warning),
    TAP(all_mistakes_are_reported_and_the_rest_is_kept),
    TAP(all_ten_types_are_flattened),
    TAP(nested_choices_come_depth_first),
    TAP(whole_parameter_sets_of_a_batch_are_fine),
    TAP(an_empty_space_is_a_space),
    TAP(too_many_parameters_are_refused_once),
};
TAP_MAIN(cases)
