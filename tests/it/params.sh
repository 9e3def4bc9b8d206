#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# params over safetensors files and directories that are no checkpoints.
. "$(dirname "$0")/lib.sh"

# make_file NAME HEADER BYTES: a safetensors file with that many bytes of data.
make_file()
{
    python3 - "$@" <<'PY'
import struct, sys
header = sys.argv[2].encode()
with open(sys.argv[1], 'wb') as f:
    f.write(struct.pack('<Q', len(header)) + header + bytes(int(sys.argv[3])))
PY
}

good='{"fc.weight":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},
"n":{"dtype":"I64","shape":[],"data_offsets":[24,32]}}'

a_file_is_listed()
{
    make_file a.safetensors "$good" 32
    run "$TRAINYARD" params a.safetensors
    status 0
    err_empty
    out_is <<'END'
a.safetensors

name       type  shape            bytes  part
fc.weight  F32   [2, 3]              24  model
n          I64   []                   8  model

model: 2 tensors, 7 values, 32 bytes
END
    run "$TRAINYARD" params --json a.safetensors
    status 0
    json 'd["step"] is None and len(d["tensors"]) == 2'
    json 'd["tensors"][0]["name"] == "fc.weight" and d["tensors"][0]["shape"] == [2, 3]'
    json 'd["totals"]["model"] == {"tensors": 2, "values": 7, "bytes": 32}'
    run "$TRAINYARD" params --part optimizer --json a.safetensors
    status 0
    json 'd["tensors"] == [] and list(d["totals"]) == ["optimizer"]'
}

names_do_not_steer_the_terminal()
{
    make_file a.safetensors '{"a\u001b[31mb":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}' 1
    run "$TRAINYARD" params a.safetensors
    status 0
    out_has 'a?[31mb  U8'
}

what_is_no_checkpoint_is_an_error()
{
    run "$TRAINYARD" params nothing
    status 1
    err_is <<'END'
trainyard params: error[E1504]: checkpoint 'nothing' does not exist
END
    mkdir dir dir/model.ckpt-3.tmp
    run "$TRAINYARD" params dir
    status 1
    err_has "error[E1504]: no checkpoint in 'dir'"
    mkdir dir/model.ckpt-3
    run "$TRAINYARD" params dir
    status 1
    err_has "error[E1506]: checkpoint 'dir/model.ckpt-3': it has no manifest.json"
    echo hello >a.pth
    run "$TRAINYARD" params a.pth
    status 1
    err_has "error[E1501]: file 'a.pth': 6 bytes are too few for a safetensors file"
    make_file cut.safetensors "$good" 31
    run "$TRAINYARD" params cut.safetensors
    status 1
    err_has "error[E1502]: file 'cut.safetensors': tensor 'n': bytes 24 to 32 of the data, which has 31"
    out_empty
}

tap_cases a_file_is_listed names_do_not_steer_the_terminal what_is_no_checkpoint_is_an_error
