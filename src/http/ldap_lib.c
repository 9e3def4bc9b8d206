/* SPDX-License-Identifier: Apache-2.0 */
#include "http/ldap_lib.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#include "base/compiler.h"

static const struct {
    const char *symbol;
    size_t at;
} functions[] = {
    {"ldap_initialize", offsetof(struct http_ldap_lib, initialize)},
    {"ldap_set_option", offsetof(struct http_ldap_lib, set_option)},
    {"ldap_get_option", offsetof(struct http_ldap_lib, get_option)},
    {"ldap_start_tls_s", offsetof(struct http_ldap_lib, start_tls)},
    {"ldap_sasl_bind_s", offsetof(struct http_ldap_lib, bind)},
    {"ldap_search_ext_s", offsetof(struct http_ldap_lib, search)},
    {"ldap_count_entries", offsetof(struct http_ldap_lib, count_entries)},
    {"ldap_first_entry", offsetof(struct http_ldap_lib, first_entry)},
    {"ldap_get_dn", offsetof(struct http_ldap_lib, get_dn)},
    {"ldap_memfree", offsetof(struct http_ldap_lib, free_text)},
    {"ldap_msgfree", offsetof(struct http_ldap_lib, free_message)},
    {"ldap_unbind_ext_s", offsetof(struct http_ldap_lib, unbind)},
    {"ldap_err2string", offsetof(struct http_ldap_lib, words)},
};

enum rc http_ldap_lib_load(struct http_ldap_lib *out, struct err *err)
{
    static const char *const names[] = {"libldap.so.2", "libldap-2.5.so.0",
                                        "libldap-2.4.so.2"};
    *out = (struct http_ldap_lib){.lib = NULL};
    for (size_t i = 0; i < ARRAY_LEN(names) && !out->lib; i++)
        out->lib = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (!out->lib)
        return err_coded(err, RC_NOTFOUND, E5035,
                         "--ldap-url needs the library libldap (Debian: libldap-2.5-0 or "
                         "libldap2)");
    for (size_t i = 0; i < ARRAY_LEN(functions); i++) {
        void *fn = dlsym(out->lib, functions[i].symbol);
        if (!fn)
            return err_coded(err, RC_NOTFOUND, E5035, "libldap has no function '%s'",
                             functions[i].symbol);
        memcpy((char *)out + functions[i].at, &fn, sizeof(fn));
    }
    return RC_OK;
}
