/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "tap.h"
#include "text/job/job.h"

#define HEX64 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void names_that_engines_take_pass(void)
{
    static const char *const good[] = {
        "bb",
        "bb:1",
        "python:3.11-slim",
        "library/python",
        "x/a.b_c__d---e/f",
        "docker:dind",
        "localhost/trainyard-test:1",
        "localhost:5000/x",
        "registry.example.com/team/train:v1.2_3",
        "registry.example.com:443/a/b/c:Tag",
        "REGISTRY.example.com/a",
        "127.0.0.1:5000/a",
        "[::1]:5000/a",
        "[2001:db8::1]/a",
        "a@sha256:" HEX64,
        "a:1@sha256:" HEX64,
        HEX64,
        "oci",
        "example.com/oci:1",
    };
    for (size_t i = 0; i < ARRAY_LEN(good); i++)
        if (jobspec_check_image(str_c(good[i])))
            CHECK_STR(good[i], "a good name");
    CHECK_INT(ARRAY_LEN(good), 19);
}

static void what_could_be_an_option_or_a_file_does_not_pass(void)
{
    static const char *const bad[] = {
        "",
        "-",
        "--volume=/:/host",
        "--privileged",
        "-v",
        "-it",
        " a",
        "a ",
        "a b",
        "a\nb",
        "a\tb",
        "A",
        "a/B",
        "/a",
        "a/",
        "a//b",
        "./a",
        "../a",
        "a/../b",
        ".a",
        "a.",
        "_a",
        "a_",
        "a...b",
        "a___b",
        "a:",
        "a:-x",
        "a:.x",
        "a:x/y",
        "a:x:y",
        "a@",
        "a@sha256:",
        "a@sha256:xyz",
        "a@sha256:0123",
        "host:/a",
        "host:99999/a",
        "host:-1/a",
        "-h.com/a",
        "h-.com/a",
        "h..com/a",
        "[::1/a",
        "[zz]/a",
        "oci:x",
        "dir:x",
        "docker-archive:x",
        "containers-storage:x",
        "docker://a",
        "oci:/etc",
        "dir:/",
        "a=b",
        "a,b",
        "a;b",
        "$(a)",
        "a'b",
        "a\"b",
        "\xc3\xa4",
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        if (!jobspec_check_image(str_c(bad[i])))
            CHECK_STR(bad[i], "refused");
    char tag[140] = "a:", name[300] = "";
    memset(tag + 2, 'x', 129);
    CHECK(jobspec_check_image(str_c(tag)) != NULL);
    tag[130] = '\0';
    CHECK(jobspec_check_image(str_c(tag)) == NULL);
    memset(name, 'x', 256);
    CHECK(jobspec_check_image(str_c(name)) != NULL);
    name[255] = '\0';
    CHECK(jobspec_check_image(str_c(name)) == NULL);
    CHECK(jobspec_check_image(str_of("a\0b", 3)) != NULL);
}

static void whatever_passes_begins_with_no_dash(void)
{
    for (int c = 1; c < 256; c++) {
        char text[3] = {(char)c, 'a', '\0'};
        bool fine = !jobspec_check_image(str_c(text));
        bool wanted = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
        CHECK_INT(fine, wanted);
    }
}

static void names_of_variables_are_words(void)
{
    static const char *const bad[] = {"", "1A", "A B", "A=B", "A-B", "A\nB", "-e", "Ä"};
    CHECK(!jobspec_check_variable(str_c("LD_PRELOAD")));
    CHECK(!jobspec_check_variable(str_c("_a1")));
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        CHECK(jobspec_check_variable(str_c(bad[i])) != NULL);
}

static const struct tap_case cases[] = {
    TAP(names_that_engines_take_pass),
    TAP(what_could_be_an_option_or_a_file_does_not_pass),
    TAP(whatever_passes_begins_with_no_dash),
    TAP(names_of_variables_are_words),
};

int main(int argc, char **argv)
{
    return tap_run(cases, ARRAY_LEN(cases), argc, argv);
}
