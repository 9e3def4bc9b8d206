/* SPDX-License-Identifier: Apache-2.0 */
/* feature/tidy.h - texts as people meant them: without the blanks and quotes around them, and
 * dates as seconds. `init` makes both of the rows that a model is trained with, and says
 * data_config.tidy_text in its config, so that the rows which are scored are read likewise.
 */
#ifndef FEATURE_TIDY_H
#define FEATURE_TIDY_H

#include "data/column.h"

/* Blanks around it, then one pair of double quotes, are left out. */
struct str tidy_text(struct str s);
/* YYYY-MM-DD[ HH:MM[:SS[.fraction]]], with '/' or '-', ' ' or 'T'; a zone is ignored, so
 * that hours are those of the clock that wrote them. Seconds since 1970.
 */
bool tidy_seconds(struct str s, double *seconds);
/* Midnight of a day between 1970 and 2100; false: there is none such. */
bool tidy_day(int64_t year, int64_t month, int64_t day, double *seconds);

/* Has a text of a column of texts something around it? */
bool tidy_is_needed(const struct column *c);
/* Its rows, tidied and not encoded, in `to`, whose memory is kept from call to call; a
 * zeroed column is empty.
 */
enum rc tidy_column(const struct column *from, struct column *to,
                    struct err *err) MUST_CHECK;

#endif
