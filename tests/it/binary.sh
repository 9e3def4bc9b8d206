#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The program as a file: hardened, and able to start on an older CPU.
. "$(dirname "$0")/lib.sh"

sanitized()
{
    nm "$TRAINYARD" 2>/dev/null | grep -qE '__(asan|tsan|ubsan)_'
}

it_is_hardened()
{
    command -v readelf >/dev/null || skip "no readelf"
    sanitized && skip "built with a sanitizer"
    readelf -h "$TRAINYARD" >elf_head
    readelf -lW "$TRAINYARD" >segments
    readelf -d "$TRAINYARD" >dynamic
    readelf --dyn-syms -W "$TRAINYARD" >symbols
    check "not position-independent" grep -q 'DYN (Position-Independent' elf_head
    check "no RELRO segment" grep -q GNU_RELRO segments
    check "not bound at start" grep -qE 'BIND_NOW|Flags:.* NOW' dynamic
    check "stack is executable" grep -qE 'GNU_STACK .* RW  ' segments
    check "no stack protector" grep -q __stack_chk_fail symbols
    check "no fortified calls" grep -qE '__[a-z]*printf_chk|__memcpy_chk' symbols
    grep -qE 'RPATH|RUNPATH' dynamic && fail "the program has a run path"
}

it_starts_on_an_x86_64_v2_cpu()
{
    [ "$(uname -m)" = x86_64 ] || skip "not x86-64"
    command -v qemu-x86_64 >/dev/null || skip "no qemu-x86_64 (package qemu-user)"
    sanitized && skip "built with a sanitizer"
    run qemu-x86_64 -cpu Nehalem "$TRAINYARD" version
    status 0
    out_has "trainyard "
    err_empty
}

it_needs_few_libraries()
{
    sanitized && skip "built with a sanitizer"
    readelf -d "$TRAINYARD" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' >needed
    grep -qiE 'cuda|nccl|libmpi|python' needed &&
        fail "must be loaded at run time, not linked: $(xargs <needed)"
    check "no libraries listed" test -s needed
}

tap_cases it_is_hardened it_starts_on_an_x86_64_v2_cpu it_needs_few_libraries
