/* SPDX-License-Identifier: Apache-2.0 */
/* python/trainyard_algorithm.py, so that the program needs no file beside it. */
#ifndef TUNE_CUSTOM_TEXT_H
#define TUNE_CUSTOM_TEXT_H

extern const char tune_custom_text[];

#endif
