/* SPDX-License-Identifier: Apache-2.0 */
/* Expands schema .def files into tables. Define SCHEMA_P and SCHEMA_DEF first. The typedef in
 * each function lets a field's line find its struct without naming it.
 */
#define MSG(name_, doc_, ...) \
    static const struct field_def *name_##_fields(void); \
    const struct msg_def SCHEMA_DEF(name_) = {.name = #name_, .doc = doc_, \
        .fields = name_##_fields, .size = sizeof(struct SCHEMA_P(name_)), __VA_ARGS__}; \
    static const struct field_def *name_##_fields(void) \
    { \
        typedef struct SCHEMA_P(name_) self; \
        static const struct field_def fields[] = {
#define END(name_) \
            {.name = NULL, .at = sizeof(self)}}; \
        return fields; \
    }
#define SCHEMA_SCALAR(label_, type_, name_, init_, doc_, ...) \
    {.name = #name_, .type = FIELD_##type_, .label = label_, .init = init_, .doc = doc_, \
     .at = offsetof(self, name_), .has = offsetof(self, has_##name_), __VA_ARGS__},
#define OPT(type_, name_, init_, doc_, ...) \
    SCHEMA_SCALAR(LABEL_OPT, type_, name_, init_, doc_, __VA_ARGS__)
#define REQ(type_, name_, init_, doc_, ...) \
    SCHEMA_SCALAR(LABEL_REQ, type_, name_, init_, doc_, __VA_ARGS__)
#define REP(type_, name_, doc_, ...) \
    {.name = #name_, .type = FIELD_##type_, .label = LABEL_REP, .doc = doc_, \
     .at = offsetof(self, name_), .count = offsetof(self, n_##name_), __VA_ARGS__},
#define CHOICE(enum_, name_, init_, doc_, ...) \
    {.name = #name_, .type = FIELD_ENUM, .label = LABEL_OPT, .init = init_, .doc = doc_, \
     .enums = &SCHEMA_DEF(enum_), .at = offsetof(self, name_), \
     .has = offsetof(self, has_##name_), __VA_ARGS__},
#define CHOICES(enum_, name_, doc_, ...) \
    {.name = #name_, .type = FIELD_ENUM, .label = LABEL_REP, .doc = doc_, \
     .enums = &SCHEMA_DEF(enum_), .at = offsetof(self, name_), \
     .count = offsetof(self, n_##name_), __VA_ARGS__},
#define SCHEMA_SUB(label_, msg_, name_, doc_, ...) \
    {.name = #name_, .type = FIELD_MSG, .label = label_, .doc = doc_, \
     .msg = &SCHEMA_DEF(msg_), .at = offsetof(self, name_), __VA_ARGS__},
#define SUB(msg_, name_, doc_, ...) SCHEMA_SUB(LABEL_OPT, msg_, name_, doc_, __VA_ARGS__)
#define SUB_REQ(msg_, name_, doc_, ...) SCHEMA_SUB(LABEL_REQ, msg_, name_, doc_, __VA_ARGS__)
#define SUBS(msg_, name_, doc_, ...) \
    {.name = #name_, .type = FIELD_MSG, .label = LABEL_REP, .doc = doc_, \
     .msg = &SCHEMA_DEF(msg_), .at = offsetof(self, name_), \
     .count = offsetof(self, n_##name_), __VA_ARGS__},
#define ONE(oneof_, msg_, name_, doc_, ...) \
    SCHEMA_SUB(LABEL_OPT, msg_, name_, doc_, .oneof = #oneof_, __VA_ARGS__)
#define DICT(type_, name_, doc_, ...) \
    {.name = #name_, .type = FIELD_##type_, .label = LABEL_DICT, .doc = doc_, \
     .at = offsetof(self, name_), .count = offsetof(self, n_##name_), __VA_ARGS__},
#define ANY(name_, doc_, ...) \
    {.name = #name_, .type = FIELD_ANY, .label = LABEL_OPT, .doc = doc_, \
     .at = offsetof(self, name_), __VA_ARGS__},
#define UNION(name_, tag_, variants_, doc_, ...) \
    {.name = #name_, .type = FIELD_UNION, .label = LABEL_OPT, .doc = doc_, .tag = tag_, \
     .variants = variants_, .at = offsetof(self, name_), \
     .count = offsetof(self, n_##name_), __VA_ARGS__},
#define ENUM(name_, doc_) \
    static const char name_##_doc[] = doc_; \
    static const struct enum_value name_##_values[] = {
#define VALUE(enum_, word_, number_, doc_) {#word_, number_, doc_},
#define END_ENUM(name_) \
        {0}}; \
    const struct enum_def SCHEMA_DEF(name_) = {#name_, name_##_doc, name_##_values};
