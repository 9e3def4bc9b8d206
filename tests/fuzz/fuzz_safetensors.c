/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever the bytes are: a file that is accepted has tensors that lie one behind the
 * other and fill it, and each can be found and read.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "ckpt/safetensors.h"

static void must(bool ok)
{
    if (!ok)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct ckpt_st_file *f = NULL;
    struct err err = {0};
    enum rc rc = ckpt_st_open_memory("fuzz", data, n, &f, &err);
    must((rc == RC_OK) == (f != NULL) && (rc == RC_OK) == (err.msg[0] == '\0'));
    if (!f)
        return 0;
    int64_t at = ckpt_st_count(f) ? ckpt_st_at(f, 0)->offset : 0;
    for (size_t i = 0; i < ckpt_st_count(f); i++) {
        const struct ckpt_st_tensor *t = ckpt_st_at(f, i);
        must(t->offset == at && t->data == data + at);
        must(ckpt_st_find(f, str_c(t->name)) == t);
        at += t->bytes;
        int64_t width = ckpt_st_width(t);
        float *row = mem_calloc((size_t)width + 1, sizeof(float));
        if (ckpt_st_rows(t) &&
            ckpt_st_read_f32(t, ckpt_st_rows(t) - 1, 1, row, width + 1, &err))
            must(err.code == E1514);
        mem_free(row);
    }
    must(ckpt_st_count(f) == 0 || at == (int64_t)n);
    ckpt_st_close(f);
    return 0;
}
