/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/colour.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool cmd_colours(int fd)
{
    const char *term = getenv("TERM");
    return isatty(fd) && !getenv("NO_COLOR") && term && strcmp(term, "dumb") != 0;
}
