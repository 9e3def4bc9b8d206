/* SPDX-License-Identifier: Apache-2.0 */
/* http/assets.h - the files of the console, which are part of the program. The build makes
 * them from web/dist (cmake/TrainyardConsole.cmake).
 */
#ifndef HTTP_ASSETS_H
#define HTTP_ASSETS_H

#include <stddef.h>

struct http_asset {
    const char *name; /* "app-0123456789ab.js"; NULL ends the list */
    const char *type;
    const char *tag;          /* changes with the content */
    const unsigned char *zip; /* gzip */
    size_t n_zip, size;       /* bytes of it, and of what is in it */
};

extern const struct http_asset http_assets_all[]; /* the page first */

const struct http_asset *http_asset_page(void);
const struct http_asset *http_asset_find(const char *name); /* NULL: none */

#endif
