#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The completion scripts, asked the way the shells ask.
. "$(dirname "$0")/lib.sh"

# in_bash WORD...: what bash offers for the last word.
in_bash()
{
    # shellcheck disable=SC2016
    run bash --norc -c '
        PATH=$(dirname "$TRAINYARD"):$PATH
        source <("$TRAINYARD" completion bash)
        COMP_WORDS=(trainyard "$@") COMP_CWORD=$#
        _trainyard
        printf "%s\n" "${COMPREPLY[@]}"' - "$@"
}

in_zsh()
{
    # shellcheck disable=SC2016
    run zsh -f -c '
        PATH=${TRAINYARD:h}:$PATH
        compdef() { }
        _files() { print files }
        compadd() { shift; print -l -- "$@" }
        source <("$TRAINYARD" completion zsh)
        words=(trainyard "$@") CURRENT=$(($# + 1))
        _trainyard' - "$@"
}

# in_fish LINE: what fish offers at its end, without the descriptions.
in_fish()
{
    # shellcheck disable=SC2016
    run env HOME="$PWD" XDG_CONFIG_HOME="$PWD" fish --no-config -c '
        set -x PATH (dirname $TRAINYARD) $PATH
        $TRAINYARD completion fish | source
        complete -C $argv[1]' -- "$1"
    cut -f1 .out >.words && mv .words .out
}

bash_completes_commands()
{
    in_bash vers
    status 0
    err_empty
    echo version | out_is
    in_bash ""
    out_has completion
    out_has doctor
}

bash_completes_options()
{
    in_bash version --j
    echo --json | out_is
    in_bash version --he
    echo --help | out_is
}

bash_completes_values_and_arguments()
{
    in_bash completion ""
    printf 'bash\nfish\nzsh\n' | out_is
    in_bash help doc
    echo doctor | out_is
    in_bash check --color al
    echo always | out_is
    in_bash explain IdFea
    echo IdFeature | out_is
}

bash_completes_commands_of_two_words()
{
    in_bash da
    printf 'data\ndataset\n' | out_is
    in_bash data he
    echo head | out_is
    in_bash data head --colu
    echo --columns | out_is
    in_bash data gen tao
    echo taobao | out_is
    in_bash data gen --format js
    echo jsonl | out_is
}

bash_completes_files()
{
    touch some.config
    in_bash check som
    echo some.config | out_is
    in_bash check --set som
    echo some.config | out_is
}

zsh_completes_the_same()
{
    command -v zsh >/dev/null || skip "no zsh"
    in_zsh vers
    status 0
    err_empty
    out_has version
    in_zsh version --j
    out_has --json
    in_zsh check --color al
    printf 'auto\nalways\nnever\n' | out_is
    in_zsh check ""
    echo files | out_is
    in_zsh data head --colu
    out_has --columns
}

fish_completes_the_same()
{
    command -v fish >/dev/null || skip "no fish"
    in_fish "trainyard vers"
    status 0
    err_empty
    echo version | out_is
    in_fish "trainyard data he"
    echo head | out_is
    in_fish "trainyard version --j"
    echo --json | out_is
    in_fish "trainyard data gen --format js"
    echo jsonl | out_is
    in_fish "trainyard completion "
    printf 'bash\nfish\nzsh\n' | out_is
}

the_fish_script_names_every_option()
{
    run "$TRAINYARD" completion fish
    status 0
    out_has "complete -c trainyard -n '__trainyard_group job' -f -a run -d 'run a job and show its log'"
    out_has "complete -c trainyard -n '__trainyard_is train' -l fine-tune -r -d"
    out_has "complete -c trainyard -n '__trainyard_is check' -l color -r -f -a 'auto always never' -d"
    # Quotes in help are escaped: the number of those that are not is even on every line.
    sed "s/\\\\'//g" .out | awk -F"'" 'NF % 2 == 0' >.odd
    [ ! -s .odd ] || fail "quotes: $(head -3 .odd)"
}

other_shells_are_refused()
{
    run "$TRAINYARD" completion csh
    status 2
    err_has "trainyard completion: error[E0604]: 'csh' is not one of bash, fish, zsh"
    run "$TRAINYARD" completion
    status 2
    err_has "trainyard completion: error[E0605]: argument bash|fish|zsh is missing"
}

tap_cases \
    bash_completes_commands \
    bash_completes_options \
    bash_completes_values_and_arguments \
    bash_completes_commands_of_two_words \
    bash_completes_files \
    zsh_completes_the_same \
    fish_completes_the_same \
    the_fish_script_names_every_option \
    other_shells_are_refused
