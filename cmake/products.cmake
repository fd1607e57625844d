# libebb and libebb-graph, each shared and static.
# SPDX-License-Identifier: MIT

# A generated, empty source lets a product exist while none of its layers has a file.
set(ebb_empty "${PROJECT_BINARY_DIR}/empty.c")
file(CONFIGURE OUTPUT "${ebb_empty}" CONTENT "typedef int ebb__empty;\n")

# ebb_add_product(NAME output objects...): targets NAME_shared and NAME_static.
function(ebb_add_product name output)
    foreach(kind shared static)
        string(TOUPPER ${kind} type)
        add_library(${name}_${kind} ${type} "${ebb_empty}" ${ARGN})
        set_target_properties(${name}_${kind} PROPERTIES OUTPUT_NAME ${output} C_VISIBILITY_PRESET hidden)
        target_include_directories(
            ${name}_${kind} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                                   $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    endforeach()
    set_target_properties(${name}_shared PROPERTIES VERSION ${PROJECT_VERSION}
                                                    SOVERSION ${PROJECT_VERSION_MAJOR})
    target_link_options(${name}_shared PRIVATE -Wl,--as-needed)
    if(NOT EBB_SANITIZE)
        target_link_options(${name}_shared PRIVATE -Wl,--no-undefined)
    endif()
endfunction()

ebb_layer_objects(objects ${ebb_all_layers})
ebb_add_product(ebb ebb ${objects})
target_link_libraries(ebb_shared PRIVATE $<BUILD_INTERFACE:ebb_needs>)
target_link_libraries(ebb_static PUBLIC $<BUILD_INTERFACE:ebb_needs>)
foreach(need IN LISTS ebb_needs_names)
    target_link_libraries(ebb_static PUBLIC $<INSTALL_INTERFACE:${need}>)
endforeach()
target_link_libraries(ebb_static PUBLIC $<INSTALL_INTERFACE:m> $<INSTALL_INTERFACE:-pthread>)
if(EBB_OPENMP)
    target_link_libraries(ebb_static PUBLIC $<INSTALL_INTERFACE:${OpenMP_C_FLAGS}>)
endif()

ebb_layer_objects(objects base graph)
ebb_add_product(ebb_graph ebb-graph ${objects})
target_link_libraries(ebb_graph_shared PRIVATE Threads::Threads)
target_link_libraries(ebb_graph_static PUBLIC $<BUILD_INTERFACE:Threads::Threads> $<INSTALL_INTERFACE:-pthread>)

add_library(ebb::ebb ALIAS ebb_shared)
add_library(ebb::ebb_static ALIAS ebb_static)
add_library(ebb::graph ALIAS ebb_graph_shared)
add_library(ebb::graph_static ALIAS ebb_graph_static)
