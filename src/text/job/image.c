/* SPDX-License-Identifier: Apache-2.0 */
/* References of container images, by the grammar that docker and podman share:
 *
 *     reference  [HOST[:PORT]/]PART[/PART...][:TAG][@ALGORITHM:HEX]
 *     PART       runs of a-z0-9 with '.', '_', '__' or dashes between them
 *     TAG        up to 128 of A-Za-z0-9_.- with no '.' or '-' first
 *
 * What passes begins with a letter or a digit, so an engine can never take it for an
 * option; what podman would read as a file of the host ("dir:x", "oci:x") does not pass.
 */
#include <string.h>

#include "text/job/job.h"

#define NAME_MAX_CHARS 255
#define TAG_MAX_CHARS 128
#define HEX_MIN 32
#define HEX_MAX 128

static bool lower(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static bool alnum(char c)
{
    return lower(c) || (c >= 'A' && c <= 'Z');
}

/* How many characters separate two runs of letters at `p`; 0: none, or not allowed. */
static size_t separator(const char *p, size_t n)
{
    size_t dashes = 0;
    if (n > 1 && p[0] == '_' && p[1] == '_')
        return 2;
    if (n && (p[0] == '_' || p[0] == '.'))
        return 1;
    while (dashes < n && p[dashes] == '-')
        dashes++;
    return dashes;
}

static bool is_part(struct str s)
{
    size_t i = 0;
    while (i < s.n && lower(s.p[i])) {
        while (i < s.n && lower(s.p[i]))
            i++;
        size_t gap = separator(s.p + i, s.n - i);
        if (!gap)
            break;
        i += gap;
        if (i == s.n)
            return false;
    }
    return s.n > 0 && i == s.n;
}

static bool is_port(struct str s)
{
    int64_t port;
    return s.n > 0 && s.n <= 5 && s.p[0] != '+' && s.p[0] != '-' &&
           str_to_i64(s, &port) && port > 0 && port < 65536;
}

/* Names of letters, digits and inner dashes, with dots between them. */
static bool is_host_name(struct str s)
{
    struct str label;
    if (!s.n || s.p[s.n - 1] == '.')
        return false;
    while (str_split(&s, '.', &label)) {
        if (!label.n || label.p[0] == '-' || label.p[label.n - 1] == '-')
            return false;
        for (size_t i = 0; i < label.n; i++)
            if (!alnum(label.p[i]) && label.p[i] != '-')
                return false;
    }
    return true;
}

static bool is_host(struct str s)
{
    const char *end = s.n && s.p[0] == '[' ? memchr(s.p, ']', s.n) : NULL;
    const char *colon =
        end ? (size_t)(end + 1 - s.p) < s.n ? end + 1 : NULL : memchr(s.p, ':', s.n);
    struct str host = str_of(s.p, colon ? (size_t)(colon - s.p) : s.n);
    if (colon &&
        (*colon != ':' || !is_port(str_of(colon + 1, s.n - (size_t)(colon + 1 - s.p)))))
        return false;
    if (!end)
        return is_host_name(host);
    for (size_t i = 1; i + 1 < host.n; i++)
        if (!strchr("0123456789abcdefABCDEF:", host.p[i]) || !host.p[i])
            return false;
    return host.n > 3;
}

/* The first part is a host when it could be nothing else, as the engines see it. */
static bool names_host(struct str first)
{
    bool special = str_is(first, "localhost");
    for (size_t i = 0; i < first.n && !special; i++)
        special = first.p[i] == '.' || first.p[i] == ':' || first.p[i] == '[' ||
                  (first.p[i] >= 'A' && first.p[i] <= 'Z');
    return special;
}

static bool is_name(struct str s)
{
    const char *slash = s.n ? memchr(s.p, '/', s.n) : NULL;
    struct str first = str_of(s.p, slash ? (size_t)(slash - s.p) : 0), part;
    if (!s.n || s.n > NAME_MAX_CHARS || s.p[s.n - 1] == '/')
        return false;
    if (slash && names_host(first)) {
        if (!is_host(first))
            return false;
        s = str_of(slash + 1, s.n - first.n - 1);
    }
    while (str_split(&s, '/', &part))
        if (!is_part(part))
            return false;
    return true;
}

static bool is_tag(struct str s)
{
    if (!s.n || s.n > TAG_MAX_CHARS || s.p[0] == '.' || s.p[0] == '-')
        return false;
    for (size_t i = 0; i < s.n; i++)
        if (!alnum(s.p[i]) && s.p[i] != '_' && s.p[i] != '.' && s.p[i] != '-')
            return false;
    return true;
}

static bool is_digest(struct str s)
{
    struct str algorithm, hex = s;
    if (!str_split(&hex, ':', &algorithm) || !algorithm.n || hex.n < HEX_MIN ||
        hex.n > HEX_MAX)
        return false;
    for (size_t i = 0; i < algorithm.n; i++)
        if (!alnum(algorithm.p[i]) && !(i && strchr("+._-", algorithm.p[i])))
            return false;
    for (size_t i = 0; i < hex.n; i++)
        if (!strchr("0123456789abcdef", hex.p[i]) || !hex.p[i])
            return false;
    return algorithm.p[0] > '9';
}

/* "oci:x" would be a directory of the host to podman, not version x of an image oci. */
static bool is_transport(struct str name)
{
    static const char *const words[] = {
        "atomic", "containers-storage", "dir", "docker-archive", "docker-daemon", "oci",
        "ostree", "oci-archive",        "sif", "tarball"};
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (str_is(name, words[i]))
            return true;
    return false;
}

const char *jobspec_check_image(struct str value)
{
    static const char form[] =
        "an image is written [HOST[:PORT]/]NAME[:TAG][@DIGEST], the name in lower case";
    const char *at = value.n ? memchr(value.p, '@', value.n) : NULL;
    struct str name = str_of(value.p, at ? (size_t)(at - value.p) : value.n);
    if (at && !is_digest(str_of(at + 1, value.n - name.n - 1)))
        return "a digest is written @sha256: and 64 hexadecimal digits";
    size_t last = name.n; /* where the last part begins: a ':' before it is a port's */
    while (last && name.p[last - 1] != '/')
        last--;
    const char *colon = name.n > last ? memchr(name.p + last, ':', name.n - last) : NULL;
    struct str tag = {0};
    if (colon) {
        tag = str_of(colon + 1, name.n - (size_t)(colon + 1 - name.p));
        name.n = (size_t)(colon - name.p);
        if (!is_tag(tag))
            return "a tag has 1 to 128 letters, digits, '_', '.' and '-'";
        if (is_transport(name))
            return "this would be a file of the host, not an image of a registry";
    }
    return is_name(name) ? NULL : form;
}

const char *jobspec_check_variable(struct str name)
{
    if (!name.n || !(alnum(name.p[0]) || name.p[0] == '_') ||
        (name.p[0] >= '0' && name.p[0] <= '9'))
        return "a variable's name begins with a letter or '_'";
    for (size_t i = 0; i < name.n; i++)
        if (!alnum(name.p[i]) && name.p[i] != '_')
            return "a variable's name holds letters, digits and '_' only";
    return NULL;
}
