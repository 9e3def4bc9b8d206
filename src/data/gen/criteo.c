/* SPDX-License-Identifier: Apache-2.0 */
/* Display advertising in the shape of Criteo's logs: 13 counts with holes, 26 ids whose
 * numbers of values are those of the usual configuration. The first half of the ids
 * stands for the user's side, the second for the ad's.
 */
#include "data/gen/gen_private.h"

#define COUNT(i, most, holes)                                                   \
    {                                                                           \
        .name = "int_" #i, .value = GEN_COUNT, .card = (most), .effect = 0.35f, \
        .nulls = (holes)                                                        \
    }
#define CAT(i, n, side_, effect_)                                         \
    {                                                                     \
        .name = "cat_" #i, .value = GEN_ID, .card = (n), .side = (side_), \
        .effect = (effect_)                                               \
    }

static const struct gen_field fields[] = {
    {.name = "label", .value = GEN_LABEL},
    COUNT(0, 1000, 0.45f),
    COUNT(1, 20000, 0),
    COUNT(2, 5000, 0.2f),
    COUNT(3, 500, 0.2f),
    COUNT(4, 2000000, 0.03f),
    COUNT(5, 100000, 0.2f),
    COUNT(6, 10000, 0.04f),
    COUNT(7, 1000, 0),
    COUNT(8, 20000, 0.04f),
    COUNT(9, 10, 0.45f),
    COUNT(10, 200, 0.04f),
    COUNT(11, 1000, 0.75f),
    COUNT(12, 5000, 0.2f),
    CAT(0, 40000000, GEN_NO_SIDE, 0.1f),
    CAT(1, 39060, GEN_USER, 0.15f),
    CAT(2, 17295, GEN_NO_SIDE, 0.15f),
    CAT(3, 7424, GEN_USER, 0.2f),
    CAT(4, 20265, GEN_NO_SIDE, 0.15f),
    CAT(5, 3, GEN_NO_SIDE, 0.2f),
    CAT(6, 7122, GEN_NO_SIDE, 0.2f),
    CAT(7, 1543, GEN_USER, 0.2f),
    CAT(8, 63, GEN_NO_SIDE, 0.2f),
    CAT(9, 40000000, GEN_NO_SIDE, 0.1f),
    CAT(10, 3067956, GEN_NO_SIDE, 0.1f),
    CAT(11, 405282, GEN_NO_SIDE, 0.1f),
    CAT(12, 10, GEN_NO_SIDE, 0.2f),
    CAT(13, 2209, GEN_ITEM, 0.2f),
    CAT(14, 11938, GEN_NO_SIDE, 0.15f),
    CAT(15, 155, GEN_ITEM, 0.2f),
    CAT(16, 4, GEN_NO_SIDE, 0.2f),
    CAT(17, 976, GEN_ITEM, 0.2f),
    CAT(18, 14, GEN_NO_SIDE, 0.2f),
    CAT(19, 40000000, GEN_NO_SIDE, 0.1f),
    CAT(20, 40000000, GEN_NO_SIDE, 0.1f),
    CAT(21, 40000000, GEN_NO_SIDE, 0.1f),
    CAT(22, 590152, GEN_NO_SIDE, 0.1f),
    CAT(23, 12973, GEN_NO_SIDE, 0.15f),
    CAT(24, 108, GEN_NO_SIDE, 0.2f),
    CAT(25, 36, GEN_NO_SIDE, 0.2f),
};

const struct gen_kind gen_criteo = {
    .name = "criteo",
    .summary = "display ads: label, 13 counts (int_0..12), 26 ids (cat_0..25)",
    .fields = fields,
    .n_fields = ARRAY_LEN(fields),
    .bias = {-1.4},
    .taste = 0.12,
};
