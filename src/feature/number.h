/* SPDX-License-Identifier: Apache-2.0 */
/* feature/number.h - numbers in texts. */
#ifndef FEATURE_NUMBER_H
#define FEATURE_NUMBER_H

#include "base/str.h"

/* What str_to_f64() gives, faster for short ones. */
bool number_parse(struct str s, double *out);

#endif
