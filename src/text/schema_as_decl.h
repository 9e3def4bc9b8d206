/* SPDX-License-Identifier: Apache-2.0 */
/* Expands schema .def files into declarations of their tables. Define SCHEMA_DEF(name) first. */
#define MSG(name_, doc_, ...) extern const struct msg_def SCHEMA_DEF(name_);
#define END(name_)
#define OPT(type_, name_, init_, doc_, ...)
#define REQ(type_, name_, init_, doc_, ...)
#define REP(type_, name_, doc_, ...)
#define CHOICE(enum_, name_, init_, doc_, ...)
#define CHOICES(enum_, name_, doc_, ...)
#define SUB(msg_, name_, doc_, ...)
#define SUB_REQ(msg_, name_, doc_, ...)
#define SUBS(msg_, name_, doc_, ...)
#define ONE(oneof_, msg_, name_, doc_, ...)
#define DICT(type_, name_, doc_, ...)
#define ANY(name_, doc_, ...)
#define UNION(name_, tag_, variants_, doc_, ...)
#define ENUM(name_, doc_) extern const struct enum_def SCHEMA_DEF(name_);
#define VALUE(enum_, word_, number_, doc_)
#define END_ENUM(name_)
