#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# kafka:// against a real broker (Apache Kafka, from its Maven artifacts), written to by a real
# client (confluent-kafka) with messages of pyarrow. Needs Java 17 and Maven.
set -euo pipefail
"$TRAINYARD" version | grep -q librdkafka || { echo "kafka: built without librdkafka, skipped"; exit 77; }
{ command -v java && command -v mvn; } >/dev/null || { echo "kafka: no java or mvn, skipped"; exit 77; }
jars=$TY_SOURCE/build/interop/kafka
if [ ! -f "$jars/complete" ]; then
    echo "kafka: fetching the broker"
    mvn -q -B -f "$TY_SOURCE/tests/interop/kafka-pom.xml" dependency:copy-dependencies \
        -DoutputDirectory="$jars" >mvn.log 2>&1 ||
        { tail -3 mvn.log; echo "kafka: the broker cannot be had here, skipped"; exit 77; }
    touch "$jars/complete"
fi
exec python3 "$TY_SOURCE/tests/interop/kafka.py" "$TRAINYARD" "$jars"
