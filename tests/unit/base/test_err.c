/* SPDX-License-Identifier: Apache-2.0 */
#include "base/err.h"

#include <errno.h>
#include <stdlib.h>

#include "tap.h"

static void set_returns_its_code_and_keeps_the_message(void)
{
    struct err err = {0};
    CHECK(err_set(&err, RC_FORMAT, "dim: %d is outside [1, 4096]", 0) == RC_FORMAT);
    CHECK_STR(err.msg, "dim: 0 is outside [1, 4096]");
}

static void wrap_reads_outside_in(void)
{
    struct err err = {0};
    enum rc rc = err_coded(&err, RC_FORMAT, E0004, "entry 3 runs past the end");
    CHECK(err_wrap(&err, rc, "file '%s'", "a.ckpt") == RC_FORMAT);
    CHECK_STR(err.msg, "file 'a.ckpt': entry 3 runs past the end");
    CHECK(err.code == E0004);
}

static void sys_appends_the_reason_and_picks_the_code(void)
{
    struct err err = {0};
    CHECK(err_sys(&err, ENOENT, "cannot open '%s'", "x") == RC_NOTFOUND);
    CHECK_STR(err.msg, "cannot open 'x': No such file or directory");
    CHECK(err_sys(&err, ENOSPC, "cannot write") == RC_IO);
    CHECK_STR(err.msg, "cannot write: No space left on device");
    CHECK(err_sys(NULL, ENOMEM, "x") == RC_NOMEM);
}

static void long_messages_are_cut_visibly(void)
{
    struct err err = {0};
    char big[3000];
    memset(big, 'a', sizeof(big) - 1);
    big[sizeof(big) - 1] = '\0';
    CHECK(err_set(&err, RC_IO, "%s", big) == RC_IO);
    CHECK_INT(strlen(err.msg), ERR_MSG_SIZE - 1);
    CHECK_STR(err.msg + ERR_MSG_SIZE - 4, "...");
    CHECK(err_wrap(&err, RC_IO, "%s", big) == RC_IO);
    CHECK_STR(err.msg + ERR_MSG_SIZE - 4, "...");
}

static void a_failure_without_a_message_names_who_failed(void)
{
    struct err err = {0};
    CHECK(err_from(&err, RC_OK, "lookup", "far", "prepare") == RC_OK);
    CHECK_STR(err.msg, "");
    CHECK(err_from(&err, RC_IO, "lookup", "far", "prepare") == RC_IO);
    CHECK_STR(err.msg, "lookup 'far': prepare() failed without a message (i/o)");
    CHECK_INT(err.code, E0010);
    CHECK(err_set(&err, RC_IO, "the cable is cut") == RC_IO);
    CHECK(err_from(&err, RC_IO, "lookup", "far", "prepare") == RC_IO);
    CHECK_STR(err.msg, "the cable is cut");
    CHECK(err_from(NULL, RC_IO, "lookup", "far", "prepare") == RC_IO);
}

static void an_answer_that_is_no_code_tells_its_value(void)
{
    struct err err = {0};
    CHECK(err_from(&err, (enum rc)3, "lookup", "far", "prepare") == RC_INVAL);
    CHECK_STR(err.msg, "lookup 'far': prepare() answered 3, which is not an error code");
    CHECK_INT(err.code, E0011);
    CHECK(err_from(NULL, (enum rc) - 99, "lookup", "far", "prepare") == RC_INVAL);
}

static void words_of_an_earlier_failure_are_not_those_of_a_silent_one(void)
{
    struct err err = {0};
    err_coded(&err, RC_IO, E0003, "the cable is cut");
    struct err_call call = err_enter(&err, "lookup", "far", "prepare");
    CHECK_STR(err.msg, "");
    CHECK(err_leave(&call, RC_OK) == RC_OK);
    CHECK_STR(err.msg, "the cable is cut");
    CHECK_INT(err.code, E0003);
    call = err_enter(&err, "lookup", "far", "prepare");
    CHECK(err_leave(&call, RC_IO) == RC_IO);
    CHECK_STR(err.msg, "lookup 'far': prepare() failed without a message (i/o)");
    CHECK_INT(err.code, E0010);
    call = err_enter(NULL, "lookup", "far", "prepare");
    CHECK(err_leave(&call, RC_IO) == RC_IO && err_leave(&call, RC_OK) == RC_OK);
}

static void null_err_is_fine(void)
{
    CHECK(err_set(NULL, RC_INVAL, "x") == RC_INVAL);
    CHECK(err_wrap(NULL, RC_INVAL, "x") == RC_INVAL);
}

static void every_failure_has_a_code(void)
{
    for (int rc = RC_CANCELED; rc < RC_OK; rc++) {
        CHECK(code_info(err_code_of(NULL, (enum rc)rc)) != NULL);
        CHECK(strcmp(rc_name((enum rc)rc), "unknown") != 0);
    }
    CHECK(err_code_of(NULL, RC_OK) == E_NONE);
}

static void the_register_is_sorted_and_complete(void)
{
    size_t n;
    const struct code_info *all = code_all(&n);
    for (size_t i = 0; i < n; i++) {
        CHECK(all[i].title[0] && all[i].text[0]);
        CHECK(strlen(all[i].id) == 5 && all[i].id[0] == 'E');
        CHECK(strtol(all[i].id + 1, NULL, 10) == (long)all[i].code &&
              code_info(all[i].code) == &all[i]);
        CHECK(i == 0 || all[i - 1].code < all[i].code);
    }
    CHECK(code_find("e0001") == code_info(E0001));
    CHECK(code_find("nope") == NULL && code_info(E_LAST) == NULL &&
          code_info(E_NONE) == NULL);
}

static const struct tap_case cases[] = {
    TAP(set_returns_its_code_and_keeps_the_message),
    TAP(wrap_reads_outside_in),
    TAP(sys_appends_the_reason_and_picks_the_code),
    TAP(long_messages_are_cut_visibly),
    TAP(a_failure_without_a_message_names_who_failed),
    TAP(an_answer_that_is_no_code_tells_its_value),
    TAP(words_of_an_earlier_failure_are_not_those_of_a_silent_one),
    TAP(null_err_is_fine),
    TAP(every_failure_has_a_code),
    TAP(the_register_is_sorted_and_complete),
};
TAP_MAIN(cases)
