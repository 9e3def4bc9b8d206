/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/build_info.h - what this program was built from. */
#ifndef CMD_BUILD_INFO_H
#define CMD_BUILD_INFO_H

struct build_library {
    const char *name;
    const char *use;              /* what it does for us */
    const char *(*version)(void); /* of the library that is loaded now; static storage */
};

const char *build_revision(void); /* "275cb5a1c2d3", or "" outside a checkout */
const char *build_compiler(void); /* "gcc 12.2.0" */
const char *build_libc(void);     /* "glibc 2.36" */
/* Ends with a NULL name. */
const struct build_library *build_libraries(void);

#endif
