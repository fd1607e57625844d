# Libraries that Ebb's own parts use. None of them shows in the public headers, so a consumer of
# the shared library needs none; the static one names them for the link (ebb_needs).
# SPDX-License-Identifier: MIT
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
find_package(PkgConfig QUIET)

set(ebb_needs_names "") # as the linker knows them: for ebb.pc and the installed static library
add_library(ebb_needs INTERFACE)

# name: the linker's; library: where it was found.
function(ebb_need name library)
    target_link_libraries(ebb_needs INTERFACE "${library}")
    set(ebb_needs_names ${ebb_needs_names} ${name} PARENT_SCOPE)
endfunction()

find_path(CJSON_INCLUDE_DIR cjson/cJSON.h)
find_library(CJSON_LIBRARY cjson)
if(NOT CJSON_INCLUDE_DIR OR NOT CJSON_LIBRARY)
    message(FATAL_ERROR "cJSON was not found (Debian: libcjson-dev)")
endif()
target_include_directories(ebb_needs SYSTEM INTERFACE "${CJSON_INCLUDE_DIR}")
ebb_need(cjson "${CJSON_LIBRARY}")

find_package(ZLIB REQUIRED)
target_include_directories(ebb_needs SYSTEM INTERFACE ${ZLIB_INCLUDE_DIRS})
ebb_need(z "${ZLIB_LIBRARIES}")


set(ebb_have_onednn FALSE)
if(EBB_ONEDNN)
    # Found by header and library: Debian's CMake package for it demands OpenCL.
    find_path(DNNL_INCLUDE_DIR oneapi/dnnl/dnnl.h)
    find_library(DNNL_LIBRARY dnnl)
    if(DNNL_INCLUDE_DIR AND DNNL_LIBRARY)
        set(ebb_have_onednn TRUE)
        target_compile_definitions(ebb_needs INTERFACE EBB_HAVE_ONEDNN=1)
        target_include_directories(ebb_needs SYSTEM INTERFACE "${DNNL_INCLUDE_DIR}")
        ebb_need(dnnl "${DNNL_LIBRARY}")
    else()
        message(WARNING "oneDNN was not found (Debian: libdnnl-dev): reference kernels only")
    endif()
endif()

# Nothing to find: the backend looks for liblapacke.so.3 when the first large matrix comes.
if(EBB_LAPACK)
    target_compile_definitions(ebb_needs INTERFACE EBB_HAVE_LAPACK=1)
    foreach(name IN LISTS CMAKE_DL_LIBS)
        ebb_need(${name} ${name})
    endforeach()
endif()

set(ebb_openmp_flag -fopenmp-simd) # keeps the simd pragmas and silences the others
if(EBB_OPENMP)
    find_package(OpenMP REQUIRED COMPONENTS C)
    set(ebb_openmp_flag ${OpenMP_C_FLAGS})
    target_link_libraries(ebb_needs INTERFACE OpenMP::OpenMP_C)
endif()
target_link_libraries(ebb_needs INTERFACE m Threads::Threads)

set(ebb_needs_flags "") # the same for a command line
foreach(need IN LISTS ebb_needs_names)
    string(APPEND ebb_needs_flags "-l${need} ")
endforeach()
string(APPEND ebb_needs_flags "-lm -pthread")
if(EBB_OPENMP)
    string(APPEND ebb_needs_flags " ${OpenMP_C_FLAGS}")
endif()
