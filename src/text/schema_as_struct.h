/* SPDX-License-Identifier: Apache-2.0 */
/* Expands schema .def files into C structs. Define SCHEMA_P(name) first; no include guard. */
#ifndef SCHEMA_MEMBER
#define SCHEMA_MEMBER /* an attribute, for tools that look for who reads a member */
#endif
#define SCHEMA_C_BOOL bool
#define SCHEMA_C_I32 int32_t
#define SCHEMA_C_I64 int64_t
#define SCHEMA_C_U32 uint32_t
#define SCHEMA_C_U64 uint64_t
#define SCHEMA_C_FLOAT double
#define SCHEMA_C_DOUBLE double
#define SCHEMA_C_STR const char *

#define MSG(name_, doc_, ...) \
    struct SCHEMA_P(name_) { \
        struct msg base;
#define END(name_) \
    } \
    ;
#define OPT(type_, name_, init_, doc_, ...) \
    SCHEMA_C_##type_ name_ SCHEMA_MEMBER; \
    bool has_##name_ SCHEMA_MEMBER;
#define REQ(type_, name_, init_, doc_, ...) OPT(type_, name_, init_, doc_)
#define REP(type_, name_, doc_, ...) \
    SCHEMA_C_##type_ const *name_ SCHEMA_MEMBER; \
    int64_t n_##name_ SCHEMA_MEMBER;
#define CHOICE(enum_, name_, init_, doc_, ...) \
    int name_ SCHEMA_MEMBER; \
    bool has_##name_ SCHEMA_MEMBER;
#define CHOICES(enum_, name_, doc_, ...) \
    const int *name_ SCHEMA_MEMBER; \
    int64_t n_##name_ SCHEMA_MEMBER;
#define SUB(msg_, name_, doc_, ...) const struct SCHEMA_P(msg_) *name_ SCHEMA_MEMBER;
#define SUB_REQ(msg_, name_, doc_, ...) SUB(msg_, name_, doc_)
#define SUBS(msg_, name_, doc_, ...) \
    const struct SCHEMA_P(msg_) *const *name_ SCHEMA_MEMBER; \
    int64_t n_##name_ SCHEMA_MEMBER;
#define ONE(oneof_, msg_, name_, doc_, ...) SUB(msg_, name_, doc_)
#define DICT(type_, name_, doc_, ...) \
    const struct schema_kv_##type_ *name_ SCHEMA_MEMBER; \
    int64_t n_##name_ SCHEMA_MEMBER;
#define ANY(name_, doc_, ...) const struct node *name_ SCHEMA_MEMBER;
#define UNION(name_, tag_, variants_, doc_, ...) \
    const struct msg *const *name_ SCHEMA_MEMBER; \
    int64_t n_##name_ SCHEMA_MEMBER;
#define ENUM(name_, doc_) enum SCHEMA_P(name_) {
#define VALUE(enum_, word_, number_, doc_) SCHEMA_WORD(enum_, word_) = number_,
#define END_ENUM(name_) \
    } \
    ;
