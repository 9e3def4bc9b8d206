# SPDX-License-Identifier: Apache-2.0
"""Signatures of OSS as its own Python client makes them, at a fixed moment.

Prints NAME SIGNATURE lines; tests/unit/io/test_sign.c holds the same values, and
tests/interop/s3.sh compares.
"""
import datetime
import re

import oss2
import oss2.auth
from oss2.credentials import StaticCredentialsProvider


class Moment(datetime.datetime):
    @classmethod
    def utcnow(cls):
        return cls(2023, 12, 3, 12, 12, 12)


oss2.auth.datetime = Moment


class Request:
    def __init__(self, method, params, headers):
        self.method, self.params, self.headers = method, params, headers
        self.region, self.product, self.cloudbox_id = "cn-hangzhou", "oss", None
        self.url = ""


def sign(method, key, params, headers, token=""):
    auth = oss2.ProviderAuthV4(StaticCredentialsProvider("LTAIEXAMPLE", "SecretEXAMPLE", token))
    r = Request(method, params, dict(headers))
    auth._sign_request(r, "examplebucket", key)
    return re.search("Signature=([0-9a-f]+)", r.headers["authorization"]).group(1)


print("get", sign("GET", "dir/a b+c.parquet", {}, {"x-oss-range-behavior": "standard"}))
print("list", sign("GET", "", {"list-type": "2", "prefix": "a/b", "max-keys": "1000"}, {}))
print("begin", sign("POST", "k", {"uploads": ""}, {"content-type": "application/octet-stream"}))
print("token", sign("PUT", "k", {}, {"content-type": "application/octet-stream",
                                     "content-md5": "kAFQmDzST7DWlj99KOF/cg=="}, "TOKEN"))
