/* SPDX-License-Identifier: Apache-2.0 */
/* http/framing.h - requests whose end two readers could see in different places.
 *
 * A proxy before us and we ourselves must agree where a request ends, or the rest of one
 * becomes a request of somebody else's. What the standard leaves to the reader is refused.
 */
#ifndef HTTP_FRAMING_H
#define HTTP_FRAMING_H

#include <microhttpd.h>

/* NULL, or what is wrong. `version` as the library gave it to the handler. */
const char *http_framing_check(struct MHD_Connection *conn, const char *version);

#endif
