#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Help, version, exit statuses: what the program says about itself.
. "$(dirname "$0")/lib.sh"

# "tdm_init_tree" is `tdm init-tree`.
command_names()
{
    sed -n 's/^CMD(\([a-z_]*\),.*/\1/p' "$TY_SOURCE/src/cmd/cmds.def" | sed 's/_/ /; s/_/-/g'
}

help_names_every_command_under_its_task()
{
    run "$TRAINYARD" --help
    status 0
    err_empty
    out_has "Usage: trainyard COMMAND [options]"
    cp .out overview
    # Continued lines joined: "  job  agent, get, list".
    sed -n '/^Models:/,$p' .out | sed ':a;N;$!ba;s/\n               */ /g' >joined
    while read -r first second; do
        if [ -n "$second" ]; then
            grep -E "^  $first  " joined | grep -qE "[ ,]$second(,|$)" || fail "no $first $second"
        else
            grep -qE "^  $first  " .out || fail "no line for $first"
        fi
    done < <(command_names)
    run "$TRAINYARD" help
    out_is <overview
    run "$TRAINYARD" -h
    out_is <overview
}

help_begins_with_the_ten_commonest_commands()
{
    run "$TRAINYARD" --help
    sed -n '/^Common commands:/,/^$/p' .out | grep -oE '^  [a-z]+( [a-z]+)?  ' >common
    [ "$(wc -l <common)" = 10 ] || fail "$(wc -l <common) common commands"
    [ "$(head -1 common | tr -d ' ')" = init ] || fail "first is $(head -1 common)"
    awk 'length > 79' .out >.long
    [ ! -s .long ] || fail "over 79 columns: $(cat .long)"
}

no_command_shows_the_overview_and_fails()
{
    run "$TRAINYARD"
    status 2
    out_empty
    err_has "Usage: trainyard COMMAND [options]"
}

help_of_a_command_is_the_same_three_ways()
{
    run "$TRAINYARD" help version
    status 0
    out_is <<'END'
Usage: trainyard version [options]

version: show the version, compiler and libraries.

Includes the git revision if the program was built from a checkout. Library
versions are those loaded at run time, except for snappy (build time).

Options:
      --json  print one JSON object
  -h, --help  show this help

Examples:
  # for a bug report
  trainyard version

  # for a script
  trainyard version --json
END
    cp .out long
    run "$TRAINYARD" version --help
    out_is <long
    run "$TRAINYARD" version --json -h
    out_is <long
}

every_command_has_help_with_examples()
{
    while read -r name; do
        # shellcheck disable=SC2086 # a name may be two words
        run "$TRAINYARD" help $name
        status 0
        out_has "Usage: trainyard $name"
        out_has "Examples:"
        out_has "  -h, --help"
        awk 'length > 79' .out >.long
        [ ! -s .long ] || fail "$name: lines over 79 columns: $(cat .long)"
    done < <(command_names)
}

version_names_the_parts()
{
    run "$TRAINYARD" version
    status 0
    out_has "trainyard $(sed -n 's/^project(trainyard VERSION \([0-9.]*\).*/\1/p' "$TY_SOURCE/CMakeLists.txt")"
    out_has "compiler"
    out_has "libyaml"
    cp .out long
    run "$TRAINYARD" --version
    status 0
    out_is <long
}

version_as_json()
{
    run "$TRAINYARD" version --json
    status 0
    json '"version" in d and d["compiler"] and d["libraries"]["libyaml"]'
}

unknown_command_suggests_the_nearest()
{
    run "$TRAINYARD" versoin
    status 2
    out_empty
    err_is <<'END'
trainyard: error[E0606]: unknown command 'versoin', did you mean 'version'?
see `trainyard --help`
END
    run "$TRAINYARD" xyzzyxyzzy
    status 2
    err_is <<'END'
trainyard: error[E0606]: unknown command 'xyzzyxyzzy'
see `trainyard --help`
END
    run "$TRAINYARD" help versoin
    status 2
    err_has "trainyard help: error[E0606]: unknown command 'versoin', did you mean 'version'?"
}

commands_of_two_words_are_a_group()
{
    run "$TRAINYARD" data --help
    status 0
    out_has "Usage: trainyard data COMMAND [options]"
    out_has "  data head "
    out_lacks "  check "
    cp .out group
    run "$TRAINYARD" help data
    out_is <group
    run "$TRAINYARD" data
    status 2
    out_empty
    err_has "trainyard: error[E0605]: 'data' needs a second word: "
    run "$TRAINYARD" data hed x.csv
    status 2
    err_has "trainyard: error[E0606]: unknown command 'data hed', did you mean 'data head'?"
}

unknown_option_suggests_the_nearest()
{
    run "$TRAINYARD" version --jsn
    status 2
    err_is <<'END'
trainyard version: error[E0601]: unknown option '--jsn', did you mean '--json'?
see `trainyard version --help`
END
    run "$TRAINYARD" --jsn
    status 2
    err_has "trainyard: error[E0601]: unknown option '--jsn'"
}

surplus_argument_is_refused()
{
    run "$TRAINYARD" version now
    status 2
    err_has "trainyard version: error[E0604]: unexpected argument 'now'"
}

full_disk_is_a_failure()
{
    [ -e /dev/full ] || skip "no /dev/full"
    # shellcheck disable=SC2016
    run sh -c '"$1" version >/dev/full' - "$TRAINYARD"
    status 1
    err_has "trainyard version: error[E0003]: cannot write to stdout: No space left on device"
}

names_of_other_tools_are_recognised()
{
    for name in nnictl paddlerec; do
        ln -s "$TRAINYARD" "$name"
        run "./$name" --help
        grep -q E0607 .err || continue # its command line is taken
        status 2
        out_empty
        err_has "$name: error[E0607]: the command line of "
        err_has "is not supported by trainyard"
    done
}

tap_cases \
    help_names_every_command_under_its_task \
    help_begins_with_the_ten_commonest_commands \
    no_command_shows_the_overview_and_fails \
    help_of_a_command_is_the_same_three_ways \
    every_command_has_help_with_examples \
    version_names_the_parts \
    version_as_json \
    unknown_command_suggests_the_nearest \
    commands_of_two_words_are_a_group \
    unknown_option_suggests_the_nearest \
    surplus_argument_is_refused \
    full_disk_is_a_failure \
    names_of_other_tools_are_recognised
