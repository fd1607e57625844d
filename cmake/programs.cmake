# Programs: cli/, examples/ and bench/. They see include/ebb alone, apart from the generator and
# the benchmarks of the graph and of memory, which measure or read what lies behind it.
# SPDX-License-Identifier: MIT
include(CheckLanguage)
check_language(CXX)
if(CMAKE_CXX_COMPILER)
    enable_language(CXX)
    set(CMAKE_CXX_STANDARD 17)
    set(CMAKE_CXX_STANDARD_REQUIRED ON)
    set(CMAKE_CXX_EXTENSIONS OFF)
endif()

# ebb_add_program(target output library source...)
function(ebb_add_program target output library)
    add_executable(${target} ${ARGN})
    target_link_libraries(${target} PRIVATE ebb_warnings ${library} m Threads::Threads)
    set_target_properties(${target} PROPERTIES OUTPUT_NAME ${output}
                                               INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
endfunction()

file(GLOB sources CONFIGURE_DEPENDS cli/ebb_graph_replay*.c)
if(sources)
    ebb_add_program(ebb_graph_replay ebb-graph-replay ebb_graph_static ${sources})
    target_compile_definitions(ebb_graph_replay PRIVATE _GNU_SOURCE)
endif()

# The generator makes a file of layer api, so it is linked from the layers below that one.
file(GLOB sources CONFIGURE_DEPENDS cli/gen_ops*.c)
if(sources)
    ebb_layer_objects(objects base graph memory tensor op ops backend/onednn backend/lapack autodiff)
    add_executable(gen_ops ${sources} ${objects})
    target_include_directories(gen_ops PRIVATE include src)
    target_link_libraries(gen_ops PRIVATE ebb_warnings ebb_codegen ebb_needs)
    add_custom_target(
        regen
        COMMAND gen_ops "${PROJECT_SOURCE_DIR}"
        COMMENT "Writing include/ebb/ops.h, include/ebb/sites.h, src/api/ops_gen.c and docs/ops.md"
        VERBATIM)
    add_custom_command(
        OUTPUT "${CMAKE_CURRENT_BINARY_DIR}/ebb_ops_table.c"
        COMMAND gen_ops --cli "${CMAKE_CURRENT_BINARY_DIR}"
        DEPENDS gen_ops
        VERBATIM)
endif()

file(GLOB sources CONFIGURE_DEPENDS cli/ebb*.c)
list(FILTER sources EXCLUDE REGEX "/ebb_graph_replay[^/]*$")
if(sources)
    ebb_add_program(ebb_cli ebb ebb_shared ${sources} "${CMAKE_CURRENT_BINARY_DIR}/ebb_ops_table.c")
    target_include_directories(ebb_cli PRIVATE cli)
    target_compile_definitions(ebb_cli PRIVATE _GNU_SOURCE)
endif()

if(EBB_EXAMPLES)
    file(GLOB sources CONFIGURE_DEPENDS examples/*.c examples/*.cc)
    foreach(source IN LISTS sources)
        get_filename_component(name "${source}" NAME_WE)
        if(source MATCHES "\\.cc$" AND NOT CMAKE_CXX_COMPILER)
            continue()
        endif()
        set(library ebb_shared)
        if(name MATCHES "^graph_")
            set(library ebb_graph_shared)
        endif()
        ebb_add_program(example_${name} ${name} ${library} "${source}")
        set_target_properties(example_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY
                                                         "${CMAKE_BINARY_DIR}/examples")
    endforeach()
endif()

# bench/bench_*.c are programs, other files of bench/ are shared by them all; bench/models/ belongs
# to bench_memory.
if(EBB_BENCH)
    file(GLOB shared CONFIGURE_DEPENDS bench/*.c)
    set(sources ${shared})
    list(FILTER sources INCLUDE REGEX "/bench_[^/]*$")
    list(FILTER shared EXCLUDE REGEX "/bench_[^/]*$")
    foreach(source IN LISTS sources)
        get_filename_component(name "${source}" NAME_WE)
        set(library ebb_shared)
        if(name MATCHES "^bench_(graph|memory)$")
            set(library ebb_static)
        endif()
        set(own "")
        if(name STREQUAL "bench_memory")
            file(GLOB own CONFIGURE_DEPENDS bench/models/*.c)
        endif()
        ebb_add_program(${name} ${name} ${library} "${source}" ${shared} ${own})
        target_compile_definitions(${name} PRIVATE _GNU_SOURCE EBB_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
        set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bench")
    endforeach()
    if(TARGET bench_memory) # other policies
        target_include_directories(bench_memory PRIVATE src)
    endif()
    if(TARGET bench_graph)
        target_include_directories(bench_graph PRIVATE src tests)
        target_link_libraries(bench_graph PRIVATE ebb_test_support)
    endif()
endif()

# What the tests and the graph benchmark share: oracles, generators, the classical manager.
file(GLOB sources CONFIGURE_DEPENDS tests/support/*.c)
if(PROJECT_IS_TOP_LEVEL)
    add_library(ebb_test_support STATIC EXCLUDE_FROM_ALL "${ebb_empty}" ${sources})
    target_include_directories(ebb_test_support PUBLIC include src tests)
    target_compile_definitions(ebb_test_support PUBLIC EBB_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
                                                       EBB_BINARY_DIR="${PROJECT_BINARY_DIR}")
    target_link_libraries(ebb_test_support PUBLIC ebb_codegen ebb_static PRIVATE ebb_warnings)
endif()
