# One object library per layer, so that the layers can be linked and checked one by one.
# SPDX-License-Identifier: MIT

# Lowest first. scripts/layers.py holds what each may include and call.
set(ebb_all_layers base graph memory tensor op ops backend/onednn backend/lapack autodiff api nn data io optim report)
set(ebb_kernel_layers ops backend/onednn) # threads and float arithmetic live here
set(ebb_layers "") # those that have sources now

# A line EBB_OP(name, family) in ops.def promises src/ops/FAMILY.c.
function(ebb_check_ops_table)
    set(table "${PROJECT_SOURCE_DIR}/src/ops/ops.def")
    if(NOT EXISTS "${table}")
        return()
    endif()
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${table}")
    file(STRINGS "${table}" lines REGEX "^EBB_OP\\(")
    foreach(line IN LISTS lines)
        if(NOT line MATCHES "^EBB_OP\\( *[a-z0-9_]+ *, *([a-z0-9_]+) *\\)")
            message(FATAL_ERROR "src/ops/ops.def: expected EBB_OP(name, family), got: ${line}")
        endif()
        if(NOT EXISTS "${PROJECT_SOURCE_DIR}/src/ops/${CMAKE_MATCH_1}.c")
            message(FATAL_ERROR "src/ops/ops.def: ${line} names a missing file src/ops/${CMAKE_MATCH_1}.c")
        endif()
    endforeach()
endfunction()

function(ebb_add_layer layer)
    set(folder "${PROJECT_SOURCE_DIR}/src/${layer}")
    file(GLOB sources CONFIGURE_DEPENDS "${folder}/*.c")
    if(layer STREQUAL "ops")
        file(GLOB kernels CONFIGURE_DEPENDS "${folder}/kernels/*.c")
        list(APPEND sources ${kernels})
    endif()
    if(NOT sources OR (layer STREQUAL "backend/onednn" AND NOT ebb_have_onednn)
       OR (layer STREQUAL "backend/lapack" AND NOT EBB_LAPACK))
        return()
    endif()
    string(REPLACE "/" "_" name "ebb_layer_${layer}")
    add_library(${name} OBJECT ${sources})
    target_link_libraries(${name} PRIVATE ebb_warnings ebb_codegen)
    target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/src")
    if(NOT layer STREQUAL "base" AND NOT layer STREQUAL "graph")
        target_include_directories(
            ${name} SYSTEM PRIVATE $<TARGET_PROPERTY:ebb_needs,INTERFACE_INCLUDE_DIRECTORIES>)
        target_compile_definitions(
            ${name} PRIVATE $<TARGET_PROPERTY:ebb_needs,INTERFACE_COMPILE_DEFINITIONS>)
    endif()
    if(layer IN_LIST ebb_kernel_layers)
        target_compile_options(${name} PRIVATE ${ebb_openmp_flag})
    else()
        target_link_libraries(${name} PRIVATE ebb_strict)
    endif()
    set(ebb_layers ${ebb_layers} ${layer} PARENT_SCOPE)
endfunction()

# The objects of those of the given layers that have sources.
function(ebb_layer_objects out)
    set(objects "")
    foreach(layer IN LISTS ARGN)
        string(REPLACE "/" "_" name "ebb_layer_${layer}")
        if(TARGET ${name})
            list(APPEND objects "$<TARGET_OBJECTS:${name}>")
        endif()
    endforeach()
    set(${out} "${objects}" PARENT_SCOPE)
endfunction()

ebb_check_ops_table()
foreach(layer IN LISTS ebb_all_layers)
    ebb_add_layer(${layer})
endforeach()

# What scripts/check_layer_links.py links: the compiler and the objects of each layer.
set(lines "cc ${CMAKE_C_COMPILER}\nlibrary ${CMAKE_BINARY_DIR}/lib/libebb.so\n")
if(EBB_SANITIZE)
    string(APPEND lines "flag -fsanitize=${EBB_SANITIZE}\n")
endif()
string(APPEND lines "libs ${ebb_needs_flags}\n")
foreach(layer IN LISTS ebb_layers)
    ebb_layer_objects(objects ${layer})
    string(APPEND lines "layer ${layer} $<JOIN:${objects}, >\n")
endforeach()
file(GENERATE OUTPUT "${PROJECT_BINARY_DIR}/layers.txt" CONTENT "${lines}")
