/* SPDX-License-Identifier: Apache-2.0 */
/* Programs of python/, so that ours needs no file beside it. */
#ifndef TUNE_CUSTOM_TEXT_H
#define TUNE_CUSTOM_TEXT_H

extern const char tune_custom_text[]; /* trainyard_algorithm.py */
extern const char tune_space_text[];  /* trainyard_space.py */

#endif
