/* SPDX-License-Identifier: Apache-2.0 */
/* Expands schema .def files into C structs. Define SCHEMA_P(name) first; no include guard. */
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
    SCHEMA_C_##type_ name_; \
    bool has_##name_;
#define REQ(type_, name_, init_, doc_, ...) OPT(type_, name_, init_, doc_)
#define REP(type_, name_, doc_, ...) \
    SCHEMA_C_##type_ const *name_; \
    int64_t n_##name_;
#define CHOICE(enum_, name_, init_, doc_, ...) \
    int name_; \
    bool has_##name_;
#define CHOICES(enum_, name_, doc_, ...) \
    const int *name_; \
    int64_t n_##name_;
#define SUB(msg_, name_, doc_, ...) const struct SCHEMA_P(msg_) *name_;
#define SUB_REQ(msg_, name_, doc_, ...) SUB(msg_, name_, doc_)
#define SUBS(msg_, name_, doc_, ...) \
    const struct SCHEMA_P(msg_) *const *name_; \
    int64_t n_##name_;
#define ONE(oneof_, msg_, name_, doc_, ...) SUB(msg_, name_, doc_)
#define DICT(type_, name_, doc_, ...) \
    const struct schema_kv_##type_ *name_; \
    int64_t n_##name_;
#define ANY(name_, doc_, ...) const struct node *name_;
#define UNION(name_, tag_, variants_, doc_, ...) \
    const struct msg *const *name_; \
    int64_t n_##name_;
#define ENUM(name_, doc_) enum SCHEMA_P(name_) {
#define VALUE(enum_, word_, number_, doc_) SCHEMA_WORD(enum_, word_) = number_,
#define END_ENUM(name_) \
    } \
    ;
