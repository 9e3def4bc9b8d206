/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/colour.h - whether text for people may have colours. */
#ifndef CMD_COLOUR_H
#define CMD_COLOUR_H

#include <stdbool.h>

/* `fd` is a terminal that has them (TERM), and NO_COLOR is not set. */
bool cmd_colours(int fd);

#endif
