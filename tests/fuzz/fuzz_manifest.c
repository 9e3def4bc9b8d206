/* SPDX-License-Identifier: Apache-2.0 */
/* The checksum line is put right first, or hardly any input would get past it. What is
 * accepted is printed and read again, and must come out the same.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "ckpt/manifest.h"

static void must(bool ok)
{
    if (!ok)
        abort();
}

static void again(struct ckpt_manifest *m)
{
    struct ckpt_manifest second = {0};
    struct buf text;
    buf_init(&text, MANIFEST_MAX);
    ckpt_manifest_print(m, &text);
    must(ckpt_manifest_parse("again", text.p, text.n, &second, NULL) == RC_OK);
    must(second.step == m->step && second.files.n == m->files.n);
    must(second.tensors.n == m->tensors.n && strcmp(second.config, m->config) == 0);
    for (size_t i = 0; i < m->tensors.n; i++)
        must(strcmp(m->tensors.at[i].name, second.tensors.at[i].name) == 0 &&
             m->tensors.at[i].bytes == second.tensors.at[i].bytes);
    ckpt_manifest_release(&second);
    buf_release(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct ckpt_manifest m = {0};
    struct err err = {0};
    struct buf text;
    buf_init(&text, MANIFEST_MAX);
    buf_add(&text, data, n);
    buf_printf(&text, "  \"checksum\": \"crc32c:%08x\"\n}\n", hash_crc32c(0, data, n));
    enum rc rc = ckpt_manifest_parse("fuzz", text.p, text.n, &m, &err);
    must((rc == RC_OK) == (err.msg[0] == '\0'));
    if (!rc)
        again(&m);
    ckpt_manifest_release(&m);
    buf_release(&text);
    return 0;
}
