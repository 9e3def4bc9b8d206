# base/code_numbers.h: the numbers of the error codes, from src/base/codes/*.def. It is written
# only when it changes; a new code makes CMake run again.
file(GLOB defs CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/base/codes/*.def)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${defs} ${CMAKE_SOURCE_DIR}/tools/code-numbers)
execute_process(COMMAND ${CMAKE_SOURCE_DIR}/tools/code-numbers ${CMAKE_SOURCE_DIR}
  OUTPUT_VARIABLE numbers COMMAND_ERROR_IS_FATAL ANY)
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/made/base/code_numbers.h CONTENT "${numbers}" @ONLY)
target_include_directories(ty_flags INTERFACE ${CMAKE_BINARY_DIR}/made)
