/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/backend.h"

#include <string.h>

#include "backend/call.h"
#include "base/fs.h"
#include "base/mem.h"
#include "tap.h"

static void every_line_of_the_table_is_a_backend_with_its_name(void)
{
    size_t n = 0;
    for (; backend_at(n); n++) {
        const struct backend_ops *b = backend_at(n);
        CHECK(backend_find(b->name) == b);
        CHECK(jobspec_backend_find(b->name) != NULL);
        CHECK_INT(backend_call_check(b, NULL), RC_OK);
    }
    CHECK(n >= 2);
    CHECK(backend_at(0)->capacity != NULL);
    CHECK(backend_find("slurp") == NULL);
    CHECK(backend_find("") == NULL);
}

static void a_table_without_a_required_method_is_refused_by_its_name(void)
{
    struct err err = {0};
    struct backend_ops b = backend_local;
    b.clean = NULL;
    CHECK_INT(backend_call_check(&b, &err), RC_INVAL);
    CHECK_STR(err.msg, "backend local has no clean()");
    CHECK_INT(err.code, E3208);
    b.port = NULL;
    CHECK_INT(backend_call_probe(&b, "/nowhere", &err), RC_INVAL);
    CHECK_STR(err.msg, "backend local has no port()");
    b = backend_local; /* what is optional may be missing */
    b.open = NULL;
    b.refresh = NULL;
    b.logs = NULL;
    b.usage = NULL;
    b.enter = NULL;
    b.packages = NULL;
    b.close = NULL;
    b.capacity = NULL; /* of one that is not the first of the table */
    CHECK_INT(backend_call_check(&b, &err), RC_OK);
}

static void a_job_that_names_no_backend_gets_the_first_that_fits(void)
{
    CHECK_STR(jobspec_backend_for(false)->name, "local");
    CHECK_STR(jobspec_backend_for(true)->name, "container");
    CHECK(!jobspec_backend_runs_images("local"));
    CHECK(jobspec_backend_runs_images("container"));
    CHECK(!jobspec_backend_runs_images("slurp"));
    CHECK(strncmp(JOB_BACKEND_WORDS, "local|container", 15) == 0);
}

/* A source of bytes as a backend's logs() reads it. */
static const char source[] = "one\ntwo\nthree tops3cret\nfour";

static void fetch(struct backend_log *l, int64_t upto)
{
    int64_t at = l->position;
    if (upto > at)
        backend_log_add(l, 0, source + at, (size_t)(upto - at), upto);
}

static char *text_of(const char *path)
{
    char *text = NULL;
    size_t n = 0;
    CHECK(fs_read(path, 1 << 20, &text, &n, NULL) == RC_OK);
    return text;
}

/* Forgets a log without a word, as a death does. */
static void die(struct backend_log *l)
{
    l->writer.broken = true; /* what is held is not written */
    l->saved = l->position;
    backend_log_close(l);
}

static void a_fetched_log_has_every_byte_once_wherever_its_reader_dies(void)
{
    static const char *const secrets[] = {"tops3cret", NULL};
    const int64_t size = (int64_t)sizeof(source) - 1;
    for (int64_t first = 0; first <= size; first++)
        for (int64_t second = first; second <= size; second += 3) {
            char *dir = NULL;
            struct backend_log l;
            CHECK(fs_temp_dir("ty-log", &dir, NULL) == RC_OK);
            char *path = fs_join(dir, "log");
            CHECK_INT(backend_log_open(&l, path, secrets), 0);
            fetch(&l, first);
            backend_log_rest(&l);
            fetch(&l, second); /* written perhaps, but not remembered */
            die(&l);
            CHECK_INT(backend_log_open(&l, path, secrets), 0);
            CHECK(l.position <= first);
            fetch(&l, size);
            backend_log_close(&l);
            char *text = text_of(path);
            CHECK_STR(text, "one\ntwo\nthree ***\nfour");
            mem_free(text);
            CHECK(fs_remove_all(dir, NULL) == RC_OK);
            mem_free(path);
            mem_free(dir);
        }
}

static void the_index_of_a_fetched_log_is_cut_with_it(void)
{
    char *dir = NULL;
    struct backend_log l;
    CHECK(fs_temp_dir("ty-log", &dir, NULL) == RC_OK);
    char *path = fs_join(dir, "log"), *index = fs_join(dir, "log.idx");
    CHECK_INT(backend_log_open(&l, path, NULL), 0);
    fetch(&l, 4);
    backend_log_rest(&l);
    fetch(&l, 8);
    die(&l);
    CHECK_INT(backend_log_open(&l, path, NULL), 0);
    CHECK_INT(l.position, 4);
    char *text = text_of(index);
    int lines = 0;
    for (const char *c = text; *c; c++)
        lines += *c == '\n';
    CHECK_INT(lines, 1);
    mem_free(text);
    backend_log_close(&l);
    CHECK(fs_remove_all(dir, NULL) == RC_OK);
    mem_free(index);
    mem_free(path);
    mem_free(dir);
}

static const struct tap_case cases[] = {
    TAP(every_line_of_the_table_is_a_backend_with_its_name),
    TAP(a_table_without_a_required_method_is_refused_by_its_name),
    TAP(a_job_that_names_no_backend_gets_the_first_that_fits),
    TAP(a_fetched_log_has_every_byte_once_wherever_its_reader_dies),
    TAP(the_index_of_a_fetched_log_is_cut_with_it),
};
TAP_MAIN(cases)
