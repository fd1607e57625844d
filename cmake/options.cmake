# What a builder can choose. Defaults suit an installation; CMakePresets.json has the named sets.
# SPDX-License-Identifier: MIT
set(EBB_CHECK 0 CACHE STRING "Assertions about Ebb's own invariants: 0 none, 1 cheap, 2 per call, 3 audits")
set_property(CACHE EBB_CHECK PROPERTY STRINGS 0 1 2 3)
set(EBB_SANITIZE "" CACHE STRING "Value of -fsanitize= for everything built here, empty for none")
option(EBB_ONEDNN "Use oneDNN's kernels where the library is found" ON)
option(EBB_LAPACK "Use the LAPACK of the machine that it runs on for large matrices" ON)
option(EBB_OPENMP "Run large kernels on several threads" ON)
option(EBB_WERROR "Warnings are errors" OFF)
option(EBB_LTO "Optimise across files when linking" OFF)
option(EBB_EXAMPLES "Build examples/" ${PROJECT_IS_TOP_LEVEL})
option(EBB_BENCH "Build bench/" ${PROJECT_IS_TOP_LEVEL})
option(EBB_FUZZ "Build tests/fuzz with libFuzzer (clang only)" OFF)
option(EBB_LONG_TESTS "Register the tests that run for more than a few seconds in their long form" OFF)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Release, Debug or RelWithDebInfo" FORCE)
endif()
