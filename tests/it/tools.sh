#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The scripts behind the Makefile: tools/deps with a fake package system, tools/check-tree
# on small trees with known faults.
. "$(dirname "$0")/lib.sh"

fake()
{
    mkdir -p bin
    { echo '#!/bin/bash'; cat; } >"bin/$1"
    chmod +x "bin/$1"
}

# deps USER-ID GROUP...: a system that has cmake and pkgconf, and knows apt-get.
deps()
{
    local uid=$1
    shift
    cat >packages.txt <<'END'
# comment
build  cmake        # the build
build  pkg-config   # provided by pkgconf
build  libfoo-dev   # missing
test   cmake        # twice
test   libbar-dev   # missing
END
    fake dpkg-query <<'END'
printf 'ii cmake\nii \nii pkgconf\nii pkg-config (= 1.8)\nrc libfoo-dev\nrc \n'
END
    fake apt-get <<'END'
echo "apt-get $*" >>apt.log
[ ! -f apt.fails ] || { echo "E: no network"; exit 100; }
END
    fake id <<<"echo $uid"
    run env PATH="$PWD/bin:/usr/bin:/bin" TY_PACKAGES=packages.txt "$TY_SOURCE/tools/deps" "$@"
}

deps_does_nothing_when_all_is_there()
{
    deps 0 build # makes the fakes
    rm -f apt.log
    printf 'build cmake\nbuild pkg-config\n' >packages.txt
    run env PATH="$PWD/bin:/usr/bin:/bin" TY_PACKAGES=packages.txt "$TY_SOURCE/tools/deps" build
    status 0
    out_empty
    err_empty
    [ ! -f apt.log ] || fail "apt-get was called: $(cat apt.log)"
}

deps_installs_what_is_missing()
{
    deps 0 build
    status 0
    out_is <<'END'
tools/deps: installing with apt-get: libfoo-dev
tools/deps: done
END
    check "one install" grep -qx 'apt-get install -q -y --no-install-recommends libfoo-dev' apt.log
    rm apt.log
    deps 0 build test
    check "two packages" grep -q 'recommends libbar-dev libfoo-dev' apt.log
}

deps_uses_sudo_when_not_root()
{
    fake sudo <<<'echo "sudo $*" >>sudo.log; "$@"'
    deps 1000 build
    status 0
    check "sudo" grep -q 'sudo apt-get install' sudo.log
}

deps_says_what_to_do_without_root_and_sudo()
{
    command -v sudo >/dev/null && skip "this machine has sudo"
    deps 1000 build
    status 1
    err_is <<'END'
tools/deps: missing packages: libfoo-dev - installing them needs root or sudo: run 'apt-get install libfoo-dev' as root, then try again
END
}

deps_shows_why_apt_failed()
{
    touch apt.fails
    deps 0 build
    status 1
    err_is <<'END'
E: no network
tools/deps: apt-get failed; its last lines stand above
END
}

deps_refuses_unknown_groups()
{
    deps 0 bild
    status 1
    err_has "unknown group bild"
}

# tree: the smallest one without a fault.
tree()
{
    mkdir -p src/base src/text src/io src/cmd
    printf 'base\n= text io\ncmd\n' >src/layers.txt
    printf '/* SPDX-License-Identifier: Apache-2.0 */\n' |
        tee src/base/a.h src/text/a.h src/io/a.h >src/cmd/a.h
    { cat src/base/a.h; printf '#include "base/a.h"\n'; } >src/text/a.c
}

check_tree()
{
    run "$TY_SOURCE/tools/check-tree" .
}

a_tree_without_faults_passes()
{
    tree
    check_tree
    status 0
    check "count" grep -qE '^check-tree: [0-9]+ files, 0 faults$' .out
}

includes_upwards_and_across_are_faults()
{
    tree
    echo '#include "text/a.h"' >>src/base/a.h
    echo '#include "io/a.h"' >>src/text/a.c
    check_tree
    status 1
    out_has "src/base/a.h:2: base includes upwards, from text"
    out_has "src/text/a.c:3: text and io stand on one floor and do not open onto each other"
}

rooms_kept_apart_are_faults()
{
    tree
    printf '! base | cmd\n' >>src/layers.txt
    echo '#include "base/a.h"' >>src/cmd/a.h
    check_tree
    status 1
    out_has "src/cmd/a.h:2: cmd and base are kept apart"
}

rooms_on_no_floor_are_faults()
{
    tree
    mkdir src/attic
    cp src/base/a.h src/attic/
    check_tree
    status 1
    out_has "src/attic/a.h:1: attic stands on no floor of src/layers.txt"
}

banned_calls_are_faults_in_code_only()
{
    tree
    cat >>src/text/a.c <<'END'
/* system("rm") in a comment, "popen(" in a text */
static const char *const s = "strcpy(x)";
void f(void) { system("x"); my_system(1); v.rand(2); }
const char *g(void) { return getenv("HOME"); }
END
    check_tree
    status 1
    out_has "src/text/a.c:5: system() is not used here"
    out_has "src/text/a.c:6: getenv() belongs to base, cmd and lib"
    out_has ", 2 faults"
}

libraries_neither_print_nor_end_the_program()
{
    tree
    cat >>src/text/a.c <<'END'
void f(void) { printf("x"); }
void g(void) { exit(1); }
void h(void) { fputs("x", stderr); }
void i(void) { log.exit(1); my_exit(2); snprintf(s, 1, "abort()"); }
END
    { cat src/base/a.h; echo 'void f(void) { printf("x"); exit(0); }'; } >src/cmd/b.c
    check_tree
    status 1
    out_has "src/text/a.c:3: printf belongs to cmd: a library returns what is wrong"
    out_has "src/text/a.c:4: exit belongs to cmd"
    out_has "src/text/a.c:5: stderr belongs to cmd"
    out_has ", 3 faults"
}

variables_of_the_whole_process_are_faults()
{
    tree
    cat >>src/text/a.c <<'END'
static int count;
static const char *words[] = {"a"};
static struct {
    int n;
} state;
static _Atomic(int *) seen;
void f(void)
{
    static char text[8];
}
static const char *const fine[] = {"a"};
static const struct a also_fine = {1};
static int neither(void);
static inline int nor_this(void) { return 1; }
END
    check_tree
    status 1
    for line in 3:\ count 4:\ words 5:\ this\ struct 8:\ seen 11:\ text; do
        out_has "src/text/a.c:$line is a variable of the whole process"
    done
    out_has ", 5 faults"
}

licences_order_and_blanks_are_checked()
{
    tree
    printf 'int x; \n' >src/cmd/b.c
    printf '/* SPDX-License-Identifier: Apache-2.0 */\n/* CMD(name), sorted */\nCMD(b)\nCMD(a)\n' >src/cmd/c.def
    printf '/* SPDX-License-Identifier: Apache-2.0 */\n/* CMD_LATER(name). Sorted. */\nCMD(b)\nCMD_LATER(a)\n' >src/cmd/d.def
    check_tree
    status 1
    out_has "src/cmd/b.c:1: the first line does not say SPDX-License-Identifier: Apache-2.0"
    out_has "src/cmd/b.c:1: blanks at the end of the line"
    out_has "src/cmd/c.def:4: a does not belong behind b"
    out_has "src/cmd/d.def:4: a does not belong behind b"
}

long_functions_are_faults()
{
    tree
    { printf 'void f(void)\n{\n'; yes '    g();' | head -120; printf '}\n'; } >>src/text/a.c
    check_tree
    status 1
    out_has "src/text/a.c:4: function of 122 lines"
}

# Every command of the tour runs and ends as the tour expects.
the_quick_start_goes_through()
{
    run "$TY_SOURCE/tools/quickstart" "$TRAINYARD"
    status 0
    err_empty
    out_has "ok: examples/quickstart/pipeline.config: "
    out_has "did you mean 'num_epochs'?"
    out_has "batch_size: 512"
    out_has '"outputs": {"logits": ['
    out_has "Succeeded"
    out_has "best of 10 trials: trial"
    out_has "What now"
    cp .out tour
    run awk '/^[0-9]+\. / { n = 0; stop = $0 } { n++ } stop && n > 44 { print stop; stop = "" }' tour
    out_empty # every stop fits a screen
}

tap_cases \
    deps_does_nothing_when_all_is_there \
    deps_installs_what_is_missing \
    deps_uses_sudo_when_not_root \
    deps_says_what_to_do_without_root_and_sudo \
    deps_shows_why_apt_failed \
    deps_refuses_unknown_groups \
    a_tree_without_faults_passes \
    includes_upwards_and_across_are_faults \
    libraries_neither_print_nor_end_the_program \
    variables_of_the_whole_process_are_faults \
    rooms_kept_apart_are_faults \
    rooms_on_no_floor_are_faults \
    banned_calls_are_faults_in_code_only \
    licences_order_and_blanks_are_checked \
    long_functions_are_faults \
    the_quick_start_goes_through
