# Options, compiler flags and the libraries of the system. Nothing here depends on a room of src/.

option(TY_TESTS "build the tests" ON)
option(TY_WERROR "warnings are errors" OFF)
option(TY_FUZZ "build libFuzzer targets (needs clang)" OFF)
option(TY_CUDA "build the CUDA plug-in" OFF)
set(TY_SANITIZE "" CACHE STRING "value of -fsanitize=, empty for none")

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

# Assertions guard our own invariants and stay on in every build.
set(CMAKE_C_FLAGS_RELWITHDEBINFO "-O2 -g")

find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
pkg_check_modules(YAML REQUIRED IMPORTED_TARGET yaml-0.1)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(CRYPTO REQUIRED IMPORTED_TARGET libcrypto)
pkg_check_modules(CURL REQUIRED IMPORTED_TARGET libcurl>=7.85)
pkg_check_modules(ZLIB REQUIRED IMPORTED_TARGET zlib)
pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(LZ4 REQUIRED IMPORTED_TARGET liblz4)
pkg_check_modules(SNAPPY REQUIRED IMPORTED_TARGET snappy)
pkg_check_modules(PCRE2 REQUIRED IMPORTED_TARGET libpcre2-8)
pkg_check_modules(UTF8PROC REQUIRED IMPORTED_TARGET libutf8proc)
pkg_check_modules(BROTLI IMPORTED_TARGET libbrotlidec)
pkg_check_modules(RDKAFKA IMPORTED_TARGET rdkafka>=1.6)
pkg_check_modules(SQLITE REQUIRED IMPORTED_TARGET sqlite3)
pkg_check_modules(MHD REQUIRED IMPORTED_TARGET libmicrohttpd)
pkg_check_modules(PQ libpq)
pkg_check_modules(MPI IMPORTED_TARGET ompi-c)
pkg_check_modules(ZMQ IMPORTED_TARGET libzmq>=4.3)

# nvcc and the static runtime, from a toolkit of the system or from TY_CUDA_HOME (tools/cuda-toolkit).
if(TY_CUDA)
  set(TY_CUDA_HOME "" CACHE PATH "where CUDA's bin, include and lib are; empty: found by nvcc on the PATH")
  find_program(TY_NVCC nvcc HINTS ${TY_CUDA_HOME}/bin /usr/local/cuda/bin)
  get_filename_component(cuda_bin "${TY_NVCC}" DIRECTORY)
  find_path(TY_CUDA_INCLUDE cuda_runtime_api.h HINTS ${TY_CUDA_HOME}/include ${cuda_bin}/../include)
  find_library(TY_CUDART libcudart_static.a HINTS ${TY_CUDA_HOME}/lib ${cuda_bin}/../lib64 ${cuda_bin}/../lib)
  if(NOT TY_NVCC OR NOT TY_CUDA_INCLUDE OR NOT TY_CUDART)
    message(FATAL_ERROR "TY_CUDA is on, but there is no nvcc with its headers and libcudart_static.a: "
      "run `make cuda`, which fetches them, or set TY_CUDA_HOME")
  endif()
endif()

# Properties that every target of ours gets; ty_module and ty_test link it.
add_library(ty_flags INTERFACE)
target_compile_definitions(ty_flags INTERFACE _GNU_SOURCE TY_VERSION="${PROJECT_VERSION}")
target_include_directories(ty_flags INTERFACE ${CMAKE_SOURCE_DIR}/src)
target_compile_options(ty_flags INTERFACE
  -Wall -Wextra -Wshadow -Wvla -Wconversion -Wstrict-prototypes -Wmissing-prototypes
  -Wformat=2 -Wno-unused-parameter -fno-common -fno-math-errno -ffp-contract=off)
if(TY_WERROR)
  target_compile_options(ty_flags INTERFACE -Werror)
endif()

# The program must start on any x86-64-v2 machine; faster kernels are chosen at run time.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  target_compile_options(ty_flags INTERFACE -march=x86-64-v2)
endif()

# Hardening. FORTIFY needs an optimizer and gets in the way of sanitizers.
if(NOT TY_SANITIZE)
  target_compile_options(ty_flags INTERFACE -fstack-protector-strong)
  if(CMAKE_BUILD_TYPE MATCHES "Rel")
    target_compile_definitions(ty_flags INTERFACE _FORTIFY_SOURCE=2)
  endif()
  target_link_options(ty_flags INTERFACE -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack)
else()
  target_compile_options(ty_flags INTERFACE -fsanitize=${TY_SANITIZE} -fno-omit-frame-pointer
    -fno-sanitize-recover=all)
  target_link_options(ty_flags INTERFACE -fsanitize=${TY_SANITIZE})
endif()
include(CheckPIESupported)
check_pie_supported()
# Names are hidden unless they say TY_EXPORT: a plug-in reaches nothing but what it is handed.
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

function(ty_print_summary)
  message(STATUS "trainyard ${PROJECT_VERSION}: ${CMAKE_BUILD_TYPE}, ${CMAKE_C_COMPILER_ID} "
    "${CMAKE_C_COMPILER_VERSION}")
  message(STATUS "  sanitizers: ${TY_SANITIZE}  fuzz: ${TY_FUZZ}  cuda: ${TY_CUDA}  mpi: ${MPI_FOUND}  zmq: ${ZMQ_FOUND}  tests: ${TY_TESTS}")
endfunction()
