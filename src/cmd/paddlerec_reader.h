/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/paddlerec_reader.h - a user's own reader.py (data_converter): its samples as files of
 * slots.
 *
 * Each data file goes once through `python reader.py`, in a sandbox, into a file of slots in
 * a directory of ours, which is gone behind the run. What a slot is follows from the first
 * sample: whole numbers are a sparse slot, others a dense one of as many values.
 */
#ifndef CMD_PADDLEREC_READER_H
#define CMD_PADDLEREC_READER_H

#include "base/arena.h"
#include "base/fs.h"
#include "compat/paddlerec.h"

/* Of one run. */
struct paddlerec_readers {
    const struct prec_Config *c;
    const char *base; /* PACKAGE_BASE, or NULL */
    int64_t seed;
    bool trusted;  /* without a sandbox */
    bool one;      /* the first sample is enough */
    char *scratch; /* owned; NULL: nothing was converted */
    struct arena arena;
    struct {
        const struct prec_Dataset *set;
        struct paddlerec_read read;
        enum rc rc; /* and `why`: it failed, and does so again */
        struct err why;
    } done[64];
    size_t n;
};

/* As struct paddlerec_options.read. */
enum rc paddlerec_readers_read(void *readers, const struct prec_Dataset *set,
                               struct paddlerec_read *out, struct err *err) MUST_CHECK;
void paddlerec_readers_release(struct paddlerec_readers *r);

/* The program that is run, python/trainyard_reader.py. */
extern const char paddlerec_reader_text[];

#endif
