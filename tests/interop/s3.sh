#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# s3:// against a real S3 server (VersityGW, built from its Go module) and a real client
# (boto3); signatures of oss:// against OSS's own client. Needs Go 1.21 or newer.
set -euo pipefail
version=v1.8.0
command -v go >/dev/null || { echo "s3: no go, skipped"; exit 77; }
bin=$TY_SOURCE/build/interop/gobin
if [ ! -x "$bin/versitygw" ]; then
    echo "s3: building versitygw $version"
    GOBIN=$bin GOFLAGS=-mod=mod go install "github.com/versity/versitygw/cmd/versitygw@$version" >go.log 2>&1 ||
        { tail -3 go.log; echo "s3: versitygw cannot be built here, skipped"; exit 77; }
fi
export no_proxy=127.0.0.1
python3 "$TY_SOURCE/tests/interop/oss_sign.py" >oss.txt
while read -r name signature; do
    grep -q "$signature" "$TY_SOURCE/tests/unit/io/test_sign.c" ||
        { echo "s3: the signature '$name' of the OSS client is another one now"; exit 1; }
done <oss.txt
echo "s3: $(wc -l <oss.txt) signatures of oss:// are those of its client"
exec python3 "$TY_SOURCE/tests/interop/s3.py" "$TRAINYARD" "$bin/versitygw"
