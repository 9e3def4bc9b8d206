# ty_module(NAME ckpt SOURCES a.c b.c DEPS base [LIBS PkgConfig::YAML])   a room of src/
# ty_test(unit/ckpt SOURCES test_ckpt.c DEPS ckpt)                         ctest -L unit
# ty_it(check.sh)                                                         ctest -L it
# ty_fuzz(json SOURCES fuzz_json.c DEPS text)                             corpus in tests/fuzz/corpus/json
# ty_def_sources(OUT FILE cmds.def MACRO CMD COLUMN 1 [PREFIX algo/])       sources named by a .def

# The files that rows MACRO(a, b, ...) of a .def name in a column (from 0), each once, with
# PREFIX before and ".c" behind; a new row needs no other list. MACRO is a regular expression.
function(ty_def_sources out)
  cmake_parse_arguments(D "" "FILE;MACRO;COLUMN;PREFIX" "" ${ARGN})
  get_filename_component(def ${D_FILE} ABSOLUTE)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${def})
  file(STRINGS ${def} rows REGEX "^${D_MACRO}[,(]")
  set(files)
  foreach(row IN LISTS rows)
    string(REGEX MATCHALL "[^,()]+" columns "${row}")
    math(EXPR at "${D_COLUMN} + 1") # the macro's name comes first
    list(GET columns ${at} column)
    string(STRIP "${column}" column)
    list(APPEND files ${D_PREFIX}${column}.c)
  endforeach()
  list(REMOVE_DUPLICATES files)
  set(${out} ${files} PARENT_SCOPE)
endfunction()

function(ty_module)
  cmake_parse_arguments(M "" "NAME" "SOURCES;DEPS;LIBS" ${ARGN})
  add_library(${M_NAME} STATIC ${M_SOURCES})
  target_link_libraries(${M_NAME} PUBLIC ty_flags Threads::Threads ${M_DEPS} ${M_LIBS})
endfunction()

# Each source file of a unit test is one program named after it.
function(ty_test label_path)
  cmake_parse_arguments(T "" "" "SOURCES;DEPS;LIBS" ${ARGN})
  get_filename_component(label ${label_path} DIRECTORY)
  get_filename_component(room ${label_path} NAME)
  foreach(source ${T_SOURCES})
    get_filename_component(stem ${source} NAME_WE)
    set(target ${room}_${stem})
    add_executable(${target} ${source})
    target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR}/tests)
    target_link_libraries(${target} PRIVATE ${T_DEPS} ${T_LIBS} m)
    add_test(NAME ${label}/${room}/${stem} COMMAND ${target})
    set_tests_properties(${label}/${room}/${stem} PROPERTIES LABELS ${label} TIMEOUT 300
      SKIP_RETURN_CODE 77)
  endforeach()
endfunction()

# An integration test drives the real program; it finds it in $TRAINYARD.
function(ty_it script)
  get_filename_component(stem ${script} NAME_WE)
  add_test(NAME it/${stem} COMMAND ${CMAKE_SOURCE_DIR}/tests/it/${script})
  set_tests_properties(it/${stem} PROPERTIES LABELS it TIMEOUT 600 SKIP_RETURN_CODE 77
    ENVIRONMENT "TRAINYARD=$<TARGET_FILE:trainyard>;TY_SOURCE=${CMAKE_SOURCE_DIR}")
endfunction()

# The target replays its corpus as an ordinary test; with TY_FUZZ it is also a libFuzzer program.
function(ty_fuzz name)
  cmake_parse_arguments(F "" "" "SOURCES;DEPS;LIBS" ${ARGN})
  set(target fuzz_${name})
  if(TY_FUZZ)
    add_executable(${target} ${F_SOURCES})
    target_compile_options(${target} PRIVATE -fsanitize=fuzzer)
    target_link_options(${target} PRIVATE -fsanitize=fuzzer)
  else()
    add_executable(${target} ${F_SOURCES} ${CMAKE_SOURCE_DIR}/tests/fuzz/replay.c)
  endif()
  target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR}/tests)
  target_link_libraries(${target} PRIVATE ${F_DEPS} ${F_LIBS} m)
  if(NOT TY_FUZZ)
    add_test(NAME fuzz/${name} COMMAND ${target} ${CMAKE_SOURCE_DIR}/tests/fuzz/corpus/${name})
    set_tests_properties(fuzz/${name} PROPERTIES LABELS fuzz TIMEOUT 300)
  endif()
endfunction()
