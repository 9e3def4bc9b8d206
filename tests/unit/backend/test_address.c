/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/address.h"

#include "tap.h"

static const char *const nodes[] = {"n7", "n12"};

static const char *name_of(const void *arg, int64_t worker)
{
    const char *const *list = arg;
    return worker >= 0 && worker < 2 ? list[worker] : NULL;
}

static void tokens_become_names_and_nothing_else_does(void)
{
    static const struct {
        const char *text, *want;
    } texts[] = {{"MASTER_ADDR=@worker-0@", "MASTER_ADDR=n7"},
                 {"@worker-1@:1,@worker-0@:1", "n12:1,n7:1"},
                 {"@worker-2@ @worker-@ @worker-0 @worker-x@",
                  "@worker-2@ @worker-@ @worker-0 "
                  "@worker-x@"},
                 {"@worker-99999999999999999999@", "@worker-99999999999999999999@"},
                 {"@worker-@worker-1@", "@worker-n12"},
                 {"", ""}};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct buf b;
        buf_init(&b, 1000);
        backend_address_fill(texts[i].text, name_of, nodes, &b);
        CHECK_STR(buf_str(&b), texts[i].want);
        buf_release(&b);
    }
}

static void the_token_of_a_worker_is_filled_with_its_name(void)
{
    char token[BACKEND_ADDRESS_SIZE];
    struct buf b;
    buf_init(&b, 1000);
    backend_address_token(1, token);
    backend_address_fill(token, name_of, nodes, &b);
    CHECK_STR(buf_str(&b), "n12");
    buf_release(&b);
}

static const struct tap_case cases[] = {
    TAP(tokens_become_names_and_nothing_else_does),
    TAP(the_token_of_a_worker_is_filled_with_its_name),
};
TAP_MAIN(cases)
