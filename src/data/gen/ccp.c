/* SPDX-License-Identifier: Apache-2.0 */
/* Two labels in the shape of Ali-CCP: purchase implies click. Columns bear the numbers
 * that the data set's users know: 1xx user, 2xx item, 301 context, 5xx, 7xx, 8xx their
 * combinations, D.. dense.
 */
#include "data/gen/gen_private.h"

#define ID(name_, n, of_, side_, effect_)                                            \
    {                                                                                \
        .name = (name_), .value = GEN_ID, .card = (n), .of = (of_), .side = (side_), \
        .effect = (effect_)                                                          \
    }
#define DENSE(name_, of_)                                                               \
    {                                                                                   \
        .name = (name_), .value = GEN_PRICE, .card = 10000, .of = (of_), .effect = 0.2f \
    }
#define USER 3  /* number of column 101 */
#define ITEM 12 /* of column 205 */

static const struct gen_field fields[] = {
    {.name = "click", .value = GEN_LABEL},
    {.name = "purchase", .value = GEN_LABEL},
    ID("101", 238635, 0, GEN_NO_SIDE, 0.15f),
    ID("121", 98, USER, GEN_USER, 0.3f),
    ID("122", 14, USER, GEN_USER, 0.3f),
    ID("124", 3, USER, GEN_NO_SIDE, 0.2f),
    ID("125", 8, USER, GEN_USER, 0.2f),
    ID("126", 4, USER, GEN_NO_SIDE, 0.2f),
    ID("127", 4, USER, GEN_NO_SIDE, 0.2f),
    ID("128", 3, USER, GEN_NO_SIDE, 0.2f),
    ID("129", 5, USER, GEN_USER, 0.2f),
    ID("205", 467298, 0, GEN_NO_SIDE, 0.15f),
    ID("206", 6929, ITEM, GEN_ITEM, 0.4f),
    ID("207", 263942, ITEM, GEN_NO_SIDE, 0.1f),
    ID("210", 80232, ITEM, GEN_NO_SIDE, 0.1f),
    ID("216", 106399, ITEM, GEN_ITEM, 0.1f),
    ID("508", 5888, 0, GEN_NO_SIDE, 0.3f),
    ID("509", 104830, 0, GEN_NO_SIDE, 0.1f),
    ID("702", 51878, 0, GEN_NO_SIDE, 0.1f),
    ID("853", 37148, 0, GEN_NO_SIDE, 0.1f),
    ID("301", 4, 0, GEN_ITEM, 0.4f),
    DENSE("D109_14", USER),
    DENSE("D110_14", USER),
    DENSE("D127_14", USER),
    DENSE("D150_14", USER),
    DENSE("D508", 0),
    DENSE("D509", 0),
    DENSE("D702", 0),
    DENSE("D853", 0),
};

const struct gen_kind gen_ccp = {
    .name = "ccp",
    .summary = "click and purchase (which implies click), 19 ids, 8 dense values",
    .fields = fields,
    .n_fields = ARRAY_LEN(fields),
    .bias = {-2.6, -2.0},
    .taste = 0.15,
};
