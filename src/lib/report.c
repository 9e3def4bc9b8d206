/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/report.h"

#include <stdio.h>

int lib_report(enum rc rc, const struct err *err, struct ty_error *out)
{
    const struct code_info *info = rc ? code_info(err_code_of(err, rc)) : NULL;
    if (out) {
        *out = (struct ty_error){0};
        snprintf(out->code, sizeof(out->code), "%s", info ? info->id : "");
        snprintf(out->message, sizeof(out->message), "%s", rc ? err->msg : "");
    }
    return rc ? 1 : 0;
}

static void report_diag(const struct diag *d, struct ty_error *out)
{
    const struct code_info *info = code_info(d->code);
    *out = (struct ty_error){0};
    snprintf(out->code, sizeof(out->code), "%s", info ? info->id : "");
    snprintf(out->message, sizeof(out->message), "%s%s%s", d->msg, d->hint ? "; " : "",
             d->hint ? d->hint : "");
    if (!d->at.src)
        return;
    uint32_t line, column;
    source_locate(d->at.src, d->at.off, &line, &column);
    snprintf(out->file, sizeof(out->file), "%s", d->at.src->name);
    out->line = line;
    out->column = column;
}

int lib_report_diags(enum rc rc, const struct diags *diags, const struct err *err,
                     struct ty_error *out)
{
    for (size_t i = 0; rc && out && i < diags->list.n; i++)
        if (diags->list.at[i].severity == DIAG_ERROR) {
            report_diag(&diags->list.at[i], out);
            return 1;
        }
    return lib_report(rc, err, out);
}
