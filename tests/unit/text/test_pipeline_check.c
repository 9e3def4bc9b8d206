/* SPDX-License-Identifier: Apache-2.0 */
/* Each row puts one fault into a good config and says what a user gets to see of it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "pipeline_texts.h"
#include "tap.h"
#include "text/conf.h"

struct row {
    const char *text;
    const char *was, *is; /* `was` occurs in `text`; its first place becomes `is` */
    enum severity severity;
    enum code code;
    const char *msg;  /* part of the message */
    const char *at;   /* "line:column" */
    const char *hint; /* part of the hint, or NULL */
    bool many;        /* the fault shows in several places */
};

#define ERR DIAG_ERROR
#define WARN DIAG_WARNING

#define ROW(text_, was_, is_, severity_, code_, msg_, at_, ...) \
    {.text = text_,                                             \
     .was = was_,                                               \
     .is = is_,                                                 \
     .severity = severity_,                                     \
     .code = code_,                                             \
     .msg = msg_,                                               \
     .at = at_,                                                 \
     __VA_ARGS__},
static const struct row rows[] = {
#include "pipeline_rows.def"
};

/* The text with its fault; the caller's, to mem_free(). */
static char *faulty(const struct row *r)
{
    const char *place = strstr(r->text, r->was);
    if (!place) {
        printf("# not in the text: %s\n", r->was);
        return mem_strdup("");
    }
    return mem_printf("%.*s%s%s", (int)(place - r->text), r->text, r->is,
                      place + strlen(r->was));
}

static const struct diag *find(const struct diags *d, const struct row *r)
{
    for (size_t i = 0; i < d->list.n; i++)
        if (d->list.at[i].code == r->code && strstr(d->list.at[i].msg, r->msg))
            return &d->list.at[i];
    return NULL;
}

static void show(const struct diags *d)
{
    for (size_t i = 0; i < d->list.n; i++) {
        const struct diag *g = &d->list.at[i];
        uint32_t line = 0, col = 0;
        source_locate(g->at.src, g->at.off, &line, &col);
        printf("#   got %s %u:%u %s (%s)\n", code_info(g->code)->id, line, col, g->msg,
               g->hint ? g->hint : "");
    }
}

static bool row_holds(const struct row *r, const struct diags *d, enum rc rc)
{
    const struct diag *g = find(d, r);
    uint32_t line = 0, col = 0;
    char at[32];
    if (!g)
        return false;
    source_locate(g->at.src, g->at.off, &line, &col);
    snprintf(at, sizeof(at), "%u:%u", line, col);
    return g->severity == r->severity && strcmp(at, r->at) == 0 &&
           (!r->hint || (g->hint && strstr(g->hint, r->hint))) &&
           (rc == RC_OK) == (d->n_errors == 0);
}

static void each_fault_is_reported_in_its_place(void)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char *text = faulty(&rows[i]);
        struct conf_options options = {0};
        struct diags diags = {0};
        struct conf conf;
        struct err err = {0};
        enum rc rc = conf_from("t", text, strlen(text), &options, &conf, &diags, &err);
        if (!row_holds(&rows[i], &diags, rc)) {
            printf("# row %zu: %s -> %s\n# want %s %s %s\n", i, rows[i].was, rows[i].is,
                   code_info(rows[i].code)->id, rows[i].at, rows[i].msg);
            show(&diags);
            CHECK(!"the row holds");
        }
        diags_release(&diags);
        conf_release(&conf);
        mem_free(text);
    }
}

/* One fault should not draw a tail of others behind it. */
static void faults_do_not_multiply(void)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char *text = faulty(&rows[i]);
        struct conf_options options = {0};
        struct diags diags = {0};
        struct conf conf;
        struct err err = {0};
        enum rc rc = conf_from("t", text, strlen(text), &options, &conf, &diags, &err);
        if ((diags.n_errors > 2 && !rows[i].many) ||
            (rc == RC_OK && rows[i].severity == DIAG_ERROR)) {
            printf("# row %zu: %s -> %s\n", i, rows[i].was, rows[i].is);
            show(&diags);
            CHECK(!"one fault, one or two errors");
        }
        diags_release(&diags);
        conf_release(&conf);
        mem_free(text);
    }
}

static size_t count(const char *text, enum code code)
{
    struct conf_options options = {0};
    struct diags diags = {0};
    struct conf conf;
    size_t n = 0;
    (void)!conf_from("t", text, strlen(text), &options, &conf, &diags, NULL);
    for (size_t i = 0; i < diags.list.n; i++)
        n += diags.list.at[i].code == code;
    diags_release(&diags);
    conf_release(&conf);
    return n;
}

/* The two features meet in a deep group, in a wide one and in one more. */
static void two_features_that_differ_are_told_once(void)
{
    struct row r = {.text = text_deepfm,
                    .was = "\"item:iid\" hash_bucket_size: 100",
                    .is =
                        "\"item:iid\" embedding_name: \"uid_emb\" hash_bucket_size: 90"};
    char *text = faulty(&r);
    CHECK_INT(count(text, E0356), 1);
    mem_free(text);
}

static void every_setting_of_an_optimizer_is_looked_at(void)
{
    const char *from = "adam_optimizer { lr: 0.001 }";
    struct row r = {.text = text_rank,
                    .was = from,
                    .is = "adam_optimizer { lr: -1 beta1: 2 beta2: -1 eps: -1 }"};
    char *text = faulty(&r);
    CHECK_INT(count(text, E0300), 4);
    mem_free(text);
}

static void good_configs_have_nothing_to_report(void)
{
    static const char *const texts[] = {text_rank,  text_dlrm,   text_deepfm, text_tasks,
                                        text_match, text_recall, text_hstu,   text_sid,
                                        text_fm,    text_ffm,    text_fgcnn,  text_flen,
                                        text_dien,  text_bst,    text_dmr};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct conf_options options = {0};
        struct diags diags = {0};
        struct conf conf;
        struct err err = {0};
        CHECK_INT(
            conf_from("t", texts[i], strlen(texts[i]), &options, &conf, &diags, &err),
            RC_OK);
        CHECK_INT(diags.list.n, 0);
        show(&diags);
        diags_release(&diags);
        conf_release(&conf);
    }
}

/* A code that no row produces would be one that nobody has seen. */
static void every_code_has_a_row(void)
{
    for (int c = E0301; c <= E0399; c++) {
        bool seen = false;
        for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
            seen = seen || rows[i].code == (enum code)c;
        if (!seen)
            printf("# no row for %s\n", code_info((enum code)c)->id);
        CHECK(seen);
    }
}

static void checks_leak_nothing(void)
{
    int64_t live = mem_live();
    struct conf_options options = {0};
    struct diags diags = {0};
    struct conf conf;
    struct err err = {0};
    CHECK_INT(
        conf_from("t", text_tasks, strlen(text_tasks), &options, &conf, &diags, &err),
        RC_OK);
    diags_release(&diags);
    conf_release(&conf);
    CHECK_INT(mem_live(), live);
}

static const struct tap_case cases[] = {
    TAP(each_fault_is_reported_in_its_place),
    TAP(faults_do_not_multiply),
    TAP(two_features_that_differ_are_told_once),
    TAP(every_setting_of_an_optimizer_is_looked_at),
    TAP(good_configs_have_nothing_to_report),
    TAP(every_code_has_a_row),
    TAP(checks_leak_nothing),
};
TAP_MAIN(cases)
