/* SPDX-License-Identifier: Apache-2.0 */
/* data/suffix.h - what the name of a file says about its format. */
#ifndef DATA_SUFFIX_H
#define DATA_SUFFIX_H

#include <stdbool.h>

/* True when `path` ends in one of "csv|tsv", a '.' before it, with or without a further
 * .gz, .zst or .zstd; upper and lower case are alike.
 */
bool suffix_matches(const char *path, const char *suffixes);

#endif
