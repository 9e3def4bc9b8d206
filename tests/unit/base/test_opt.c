/* SPDX-License-Identifier: Apache-2.0 */
#include "base/opt.h"

#include "base/mem.h"
#include "tap.h"

struct common {
    int64_t threads;
};

struct conf {
    struct common common;
    int64_t dim, cache;
    double rate, grace;
    const char *hidden, *log;
    bool dry_run, shuffle, resume;
    struct opt_list set;
};

static const struct opt opts[] = {
    {OPT_HEADING("model")},
    {OPT_INT(struct conf, dim, "16", 1, 4096, "embedding width of every feature"),
     .letter = 'd'},
    {OPT_NUM(struct conf, rate, "0.1", 0.0, 0.9, "dropout after a deep layer")},
    {OPT_TEXT(struct conf, hidden, "256,128", "widths of the deep tower"),
     .meta = "LIST"},
    {OPT_HEADING("run")},
    {OPT_BOOL(struct conf, dry_run, "false", "change nothing"), .letter = 'n'},
    {OPT_BOOL(struct conf, shuffle, "true",
              "read the rows of each file in an order that changes from epoch to epoch")},
    {OPT_BOOL(struct conf, resume, NULL, "go on from the last checkpoint"),
     .flag = "continue", .alias = "continue_train|restart", .letter = 'c'},
    {OPT_LIST(struct conf, set, "change one value of the config"), .meta = "PATH=VALUE"},
    {OPT_CHOICE(struct conf, log, "text", "text|json", "form of the log lines")},
    {OPT_SIZE(struct conf, cache, "64m", 0, INT64_MAX, "memory for read pages")},
    {OPT_DURATION(struct conf, grace, "10s", 0, 86400, "time to stop by itself")},
    {OPT_INT(struct conf, common.threads, "0", 0, INT64_MAX, "threads, 0 for all"),
     .hidden = true},
    {0},
};

static void fresh(struct conf *c)
{
    struct err err = {0};
    CHECK(opt_defaults(opts, c, &err) == RC_OK);
    CHECK_STR(err.msg, "");
}

static void defaults_fill_every_field(void)
{
    int64_t live = mem_live();
    struct conf c;
    memset(&c, 0xff, sizeof(c));
    fresh(&c);
    CHECK_INT(c.dim, 16);
    CHECK(c.rate == 0.1 && c.grace == 10);
    CHECK_STR(c.hidden, "256,128");
    CHECK_STR(c.log, "text");
    CHECK(!c.dry_run && c.shuffle && !c.resume);
    CHECK_INT(c.cache, 64 << 20);
    CHECK_INT(c.common.threads, 0);
    CHECK(c.set.n == 0 && c.set.at == NULL);
    opt_release(opts, &c);
    opt_release(opts, &c);
    CHECK_INT(mem_live(), live);
}

static void a_default_outside_its_own_limits_is_reported(void)
{
    static const struct opt bad[] = {
        {OPT_TEXT(struct conf, hidden, "x", "t")},
        {OPT_INT(struct conf, dim, "0", 1, 2, "d")},
        {0},
    };
    int64_t live = mem_live();
    struct conf c;
    struct err err = {0};
    CHECK(opt_defaults(bad, &c, &err) == RC_INVAL);
    CHECK_STR(err.msg, "default: dim: 0 is outside [1, 2]");
    opt_release(bad, &c);
    CHECK_INT(mem_live(), live);
}

static void values_are_read_by_name(void)
{
    static const struct {
        const char *name, *value, *shown;
    } good[] = {
        {"dim", "4096", "4096"},
        {"rate", "1e-3", "0.001"},
        {"hidden", "", ""},
        {"dry-run", "Yes", "true"},
        {"dry_run", "off", "false"},
        {"continue", "1", "true"},
        {"continue-train", "0", "false"},
        {"restart", "true", "true"},
        {"log", "json", "json"},
        {"cache", "0", "0"},
        {"cache", "512", "512"},
        {"cache", "1.5g", "1536m"},
        {"cache", "2GiB", "2g"},
        {"cache", "3KB", "3k"},
        {"cache", "8191p", NULL},
        {"cache", "9000000t", NULL},
        {"grace", "90", "90s"},
        {"grace", "1h30m", "5400s"},
        {"grace", "250ms", "0.25s"},
        {"grace", "1d", "86400s"},
        {"grace", "1h30", NULL},
        {"grace", "h", NULL},
        {"threads", "5", "5"},
    };
    struct conf c;
    struct buf b;
    buf_init(&b, 100);
    fresh(&c);
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        enum rc rc = opt_set(opts, &c, good[i].name, good[i].value, NULL);
        CHECK(rc == (good[i].shown ? RC_OK : RC_INVAL));
        if (!good[i].shown)
            continue;
        buf_clear(&b);
        opt_print(opt_find(opts, good[i].name), &c, &b);
        CHECK_STR(buf_str(&b), good[i].shown);
    }
    buf_release(&b);
    opt_release(opts, &c);
}

static void refusals_name_option_value_and_limits(void)
{
    static const struct {
        const char *name, *value, *msg;
    } bad[] = {
        {"dim", "0", "dim: 0 is outside [1, 4096]"},
        {"dim", "12x", "dim: '12x' is not a whole number"},
        {"dim", "", "dim: '' is not a whole number"},
        {"rate", "0.95", "rate: 0.95 is outside [0, 0.9]"},
        {"rate", "nan", "rate: 'nan' is not a number"},
        {"dry_run", "maybe", "dry_run: 'maybe' is not true or false"},
        {"log", "jsno", "log: 'jsno' is not one of text, json, did you mean 'json'?"},
        {"log", "xml", "log: 'xml' is not one of text, json"},
        {"cache", "-1k", "cache: -1k is not at least 0"},
        {"cache", "1x", "cache: '1x' is not a size such as 512, 64k or 2g"},
        {"grace", "2d", "grace: 2d is outside [0s, 86400s]"},
        {"grace", "soon",
         "grace: 'soon' is not a duration such as 90s, 10m, 1h30m or 7d"},
    };
    struct conf c;
    fresh(&c);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct err err = {0};
        CHECK(opt_set(opts, &c, bad[i].name, bad[i].value, &err) == RC_INVAL);
        CHECK_STR(err.msg, bad[i].msg);
        CHECK(err.code == E0603);
    }
    CHECK_INT(c.dim, 16);
    CHECK_STR(c.log, "text");
    CHECK_INT(c.cache, 64 << 20);
    opt_release(opts, &c);
}

static void unknown_names_get_a_suggestion(void)
{
    struct conf c;
    struct err err = {0};
    fresh(&c);
    CHECK(opt_set(opts, &c, "hiden", "1", &err) == RC_INVAL);
    CHECK_STR(err.msg, "unknown setting 'hiden', did you mean 'hidden'?");
    CHECK(err.code == E0601);
    CHECK(opt_set(opts, &c, "model", "1", &err) == RC_INVAL);
    CHECK_STR(err.msg, "unknown setting 'model'");
    CHECK(opt_set(opts, &c, "dry-rum", "1", &err) == RC_INVAL);
    CHECK_STR(err.msg, "unknown setting 'dry-rum', did you mean 'dry_run'?");
    opt_release(opts, &c);
}

static enum rc parse(struct conf *c, struct opt_args *rest, struct err *err,
                     const char *const *words)
{
    int n = 0;
    while (words[n])
        n++;
    return opt_parse(opts, c, n, (char *const *)(uintptr_t)words, rest, err);
}
#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void every_spelling_of_a_flag_is_read(void)
{
    int64_t live = mem_live();
    struct conf c;
    struct opt_args rest = {0};
    struct err err = {0};
    fresh(&c);
    CHECK(parse(&c, &rest, &err,
                WORDS("a.config", "--dim=7", "--rate", "0.5", "--dry_run", "-c",
                      "--no-shuffle", "--set", "a=1", "--set=b=2", "-", "--hidden",
                      "-5")) == RC_OK);
    CHECK_STR(err.msg, "");
    CHECK(c.dim == 7 && c.rate == 0.5 && c.dry_run && c.resume && !c.shuffle);
    CHECK_INT(c.set.n, 2);
    CHECK_STR(c.set.at[0], "a=1");
    CHECK_STR(c.set.at[1], "b=2");
    CHECK_STR(c.hidden, "-5");
    CHECK_INT(rest.n, 2);
    CHECK_STR(rest.at[0], "a.config");
    CHECK_STR(rest.at[1], "-");
    CHECK_INT(rest.n_dashed, 0);
    CHECK(parse(&c, NULL, &err,
                WORDS("--dry-run=false", "-d9", "--continue_train=no", "--hidden=")) ==
          RC_OK);
    CHECK(c.dim == 9 && !c.dry_run && !c.resume);
    CHECK_STR(c.hidden, "");
    CHECK(parse(&c, NULL, &err, WORDS("-ncd=11")) == RC_OK);
    CHECK(c.dim == 11 && c.dry_run && c.resume);
    CHECK(parse(&c, NULL, &err, WORDS("-n=no", "-d", "12")) == RC_OK);
    CHECK(c.dim == 12 && !c.dry_run);
    opt_args_release(&rest);
    opt_args_release(&rest);
    opt_release(opts, &c);
    CHECK_INT(mem_live(), live);
}

static void dashes_end_the_options(void)
{
    struct conf c;
    struct opt_args rest = {0};
    fresh(&c);
    CHECK(parse(&c, &rest, NULL, WORDS("x", "--", "python", "--dim", "3")) == RC_OK);
    CHECK_INT(c.dim, 16);
    CHECK_INT(rest.n, 4);
    CHECK_INT(rest.n_dashed, 3);
    CHECK_STR(rest.at[1], "python");
    opt_args_release(&rest);
    opt_release(opts, &c);
}

static void the_first_word_may_end_the_options(void)
{
    struct conf c;
    struct opt_args rest = {.stop_at_word = true};
    fresh(&c);
    CHECK(parse(&c, &rest, NULL, WORDS("--dim", "3", "run.py", "--what", "--dim=5")) ==
          RC_OK);
    CHECK_INT(c.dim, 3);
    CHECK_INT(rest.n, 3);
    CHECK_STR(rest.at[2], "--dim=5");
    CHECK_INT(rest.n_dashed, 0);
    opt_args_release(&rest);
    opt_release(opts, &c);
}

static void bad_lines_are_refused_with_their_code(void)
{
    static const struct {
        const char *words[3];
        enum code code;
        const char *msg;
    } bad[] = {
        {{"--dimm", "3"}, E0601, "unknown option '--dimm', did you mean '--dim'?"},
        {{"--dry_rin"}, E0601, "unknown option '--dry_rin', did you mean '--dry-run'?"},
        {{"--zzz=1"}, E0601, "unknown option '--zzz'"},
        {{"--no-rate"}, E0601, "unknown option '--no-rate', did you mean '--rate'?"},
        {{"--=3"}, E0601, "unknown option '--'"},
        {{"-x"}, E0601, "unknown option '-x'"},
        {{"-nx"}, E0601, "unknown option '-x'"},
        {{"--dim"}, E0602, "--dim needs a value"},
        {{"-d"}, E0602, "-d needs a value"},
        {{"--hidden", "--dim"},
         E0602,
         "--hidden needs a value, but '--dim' follows (write --hidden=--dim if it is meant)"},
        {{"--dim", "0"}, E0603, "--dim: 0 is outside [1, 4096]"},
        {{"-dx"}, E0603, "-d: 'x' is not a whole number"},
        {{"--no-shuffle=1"}, E0604, "--no-shuffle takes no value, '1' was given"},
        {{"word"}, E0604, "unexpected argument 'word'"},
        {{"--", "word"}, E0604, "unexpected argument 'word'"},
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct conf c;
        struct err err = {0};
        fresh(&c);
        CHECK(parse(&c, NULL, &err, bad[i].words) == RC_INVAL);
        CHECK_STR(err.msg, bad[i].msg);
        CHECK(err.code == bad[i].code);
        opt_release(opts, &c);
    }
}

static void a_failed_parse_leaves_no_arguments(void)
{
    int64_t live = mem_live();
    struct conf c;
    struct opt_args rest = {0};
    fresh(&c);
    CHECK(parse(&c, &rest, NULL, WORDS("a", "b", "--bad")) == RC_INVAL);
    CHECK(rest.n == 0 && rest.at == NULL);
    opt_release(opts, &c);
    CHECK_INT(mem_live(), live);
}

static void argument_counts_are_checked_by_name(void)
{
    const char *words[] = {"a", "b", "c"};
    struct opt_args args = {.at = words, .n = 1};
    struct err err = {0};
    CHECK(opt_args_check(&args, 1, 2, "MODEL INPUT", &err) == RC_OK);
    CHECK(opt_args_check(&args, 2, 2, "MODEL INPUT", &err) == RC_INVAL);
    CHECK_STR(err.msg, "argument INPUT is missing");
    CHECK(err.code == E0605);
    args.n = 3;
    CHECK(opt_args_check(&args, 2, 2, "MODEL INPUT", &err) == RC_INVAL);
    CHECK_STR(err.msg, "unexpected argument 'c'");
    CHECK(err.code == E0604);
}

static void help_is_an_aligned_table(void)
{
    struct buf b;
    buf_init(&b, 10000);
    opt_help(opts, &b);
    CHECK_STR(
        buf_str(&b),
        "model:\n"
        "  -d, --dim N           embedding width of every feature (default 16, 1..4096)\n"
        "      --rate N          dropout after a deep layer (default 0.1, 0..0.9)\n"
        "      --hidden LIST     widths of the deep tower (default 256,128)\n"
        "\nrun:\n"
        "  -n, --dry-run         change nothing\n"
        "      --[no-]shuffle    read the rows of each file in an order that changes\n"
        "                        from epoch to epoch (default yes)\n"
        "  -c, --continue        go on from the last checkpoint\n"
        "      --set PATH=VALUE  change one value of the config (may be repeated)\n"
        "      --log text|json   form of the log lines (default text)\n"
        "      --cache SIZE      memory for read pages (default 64m, at least 0)\n"
        "      --grace TIME      time to stop by itself (default 10s, 0s..86400s)\n");
    buf_release(&b);
}

static void long_flags_put_their_help_below(void)
{
    static const struct opt wide[] = {
        {OPT_INT(struct conf, dim, NULL, INT64_MIN, 9, "first")},
        {OPT_TEXT(struct conf, hidden, NULL, "second"),
         .flag = "a-name-that-is-far-too-long-for-the-table"},
        {0},
    };
    struct buf b;
    buf_init(&b, 10000);
    opt_help(wide, &b);
    CHECK_STR(buf_str(&b), "      --dim N  first (at most 9)\n"
                           "      --a-name-that-is-far-too-long-for-the-table TEXT\n"
                           "               second\n");
    buf_release(&b);
}

static const struct tap_case cases[] = {
    TAP(defaults_fill_every_field),
    TAP(a_default_outside_its_own_limits_is_reported),
    TAP(values_are_read_by_name),
    TAP(refusals_name_option_value_and_limits),
    TAP(unknown_names_get_a_suggestion),
    TAP(every_spelling_of_a_flag_is_read),
    TAP(dashes_end_the_options),
    TAP(the_first_word_may_end_the_options),
    TAP(bad_lines_are_refused_with_their_code),
    TAP(a_failed_parse_leaves_no_arguments),
    TAP(argument_counts_are_checked_by_name),
    TAP(help_is_an_aligned_table),
    TAP(long_flags_put_their_help_below),
};
TAP_MAIN(cases)
