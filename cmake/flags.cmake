# Language, warnings and code generation, as interface targets that the rest links.
# SPDX-License-Identifier: MIT
set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib")
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib")

add_library(ebb_warnings INTERFACE)
target_compile_options(
    ebb_warnings
    INTERFACE -Wall
              -Wextra
              -Wshadow
              -Wpointer-arith
              -Wvla
              $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes>
              $<$<COMPILE_LANGUAGE:C>:-Wmissing-prototypes>
              $<$<BOOL:${EBB_WERROR}>:-Werror>)

# Narrowing is checked in the library outside the kernels, whose float arithmetic it would drown.
add_library(ebb_strict INTERFACE)
target_compile_options(ebb_strict INTERFACE -Wconversion -Wno-sign-conversion)

# No flag here may change a result: errno and traps are not results, reassociation would be.
add_library(ebb_codegen INTERFACE)
target_compile_definitions(ebb_codegen INTERFACE EBB_CHECK=${EBB_CHECK} _GNU_SOURCE)
target_compile_options(ebb_codegen INTERFACE -fvisibility=hidden -fno-math-errno -fno-trapping-math)

if(EBB_SANITIZE)
    add_compile_options(-fsanitize=${EBB_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
    add_link_options(-fsanitize=${EBB_SANITIZE})
endif()
if(EBB_FUZZ)
    add_compile_options(-fsanitize=fuzzer-no-link)
endif()
if(EBB_LTO)
    # Fat objects: who links libebb.a need not know how it was built.
    add_compile_options(-flto=auto -ffat-lto-objects)
    add_link_options(-flto=auto)
endif()
