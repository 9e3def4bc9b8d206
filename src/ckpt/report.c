/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "ckpt/report.h"

static const char *const titles[] = {
    [CKPT_MISSING] = "not in the checkpoint",
    [CKPT_EXTRA] = "not in the model",
    [CKPT_SHAPE] = "different",
    [CKPT_MEANING] = "with rows that mean other ids",
    [CKPT_MOVED] = "with rows that moved",
    [CKPT_ROWS] = "read in part",
};

void ckpt_report_release(struct ckpt_report *r)
{
    VEC_RELEASE(&r->diffs);
    arena_release(&r->arena);
    *r = (struct ckpt_report){0};
}

void ckpt_report_add(struct ckpt_report *r, enum ckpt_diff_kind kind, const char *name,
                     const char *text)
{
    struct ckpt_diff d = {.kind = kind,
                          .name = arena_strdup(&r->arena, name),
                          .text = arena_strdup(&r->arena, text)};
    VEC_PUSH(&r->diffs, d);
    r->counts[kind]++;
}

static void print_kind(const struct ckpt_report *r, enum ckpt_diff_kind kind,
                       const char *between, size_t max, struct buf *out)
{
    for (size_t i = 0; i < r->diffs.n; i++) {
        const struct ckpt_diff *d = &r->diffs.at[i];
        if (d->kind != kind)
            continue;
        if (max-- == 0)
            break;
        buf_printf(out, "%s'%s' %s", between, d->name, d->text);
        between = between[0] == '\n' ? between : ", ";
    }
}

void ckpt_report_print(const struct ckpt_report *r, struct buf *out)
{
    for (int kind = 0; kind < CKPT_DIFF_KINDS; kind++) {
        if (!r->counts[kind])
            continue;
        buf_printf(out, "%s (%zu):", titles[kind], r->counts[kind]);
        print_kind(r, (enum ckpt_diff_kind)kind, "\n  ", SIZE_MAX, out);
        buf_putc(out, '\n');
    }
}

/* The first of each kind, and how many more there are. */
enum rc ckpt_report_error(const struct ckpt_report *r, struct err *err)
{
    struct buf text;
    size_t n = 0;
    buf_init(&text, ERR_MSG_SIZE * 4);
    for (int kind = 0; kind < CKPT_MOVED; kind++) {
        n += r->counts[kind];
        if (!r->counts[kind])
            continue;
        buf_printf(&text, "%s%s: ", text.n ? "; " : "", titles[kind]);
        print_kind(r, (enum ckpt_diff_kind)kind, "", 5, &text);
        if (r->counts[kind] > 5)
            buf_printf(&text, " and %zu more", r->counts[kind] - 5);
    }
    err_coded(err, RC_INVAL, E1510,
              "%zu parameter%s of checkpoint and model do not match: %s", n,
              n == 1 ? "" : "s", buf_str(&text));
    buf_release(&text);
    return RC_INVAL;
}
