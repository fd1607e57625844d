# Installation: headers, libraries, programs, CMake packages and pkg-config files. The component
# "graph" is libebb-graph alone; a full installation has both.
# SPDX-License-Identifier: MIT
include(CMakePackageConfigHelpers)

set(ebb_graph_headers graph.h allocator.h api.h status.h version.h)
foreach(header IN LISTS ebb_graph_headers)
    install(FILES include/ebb/${header} DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/ebb" COMPONENT graph)
endforeach()
install(DIRECTORY include/ebb DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT ebb
        FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")

set_target_properties(ebb_shared PROPERTIES EXPORT_NAME ebb)
set_target_properties(ebb_static PROPERTIES EXPORT_NAME ebb_static)
set_target_properties(ebb_graph_shared PROPERTIES EXPORT_NAME graph)
set_target_properties(ebb_graph_static PROPERTIES EXPORT_NAME graph_static)

# ebb_install_library(package component target...)
function(ebb_install_library package component)
    set(dir "${CMAKE_INSTALL_LIBDIR}/cmake/${package}")
    set(config "${PROJECT_BINARY_DIR}/${package}-config")
    install(TARGETS ${ARGN} EXPORT ${package}
            LIBRARY COMPONENT ${component} NAMELINK_COMPONENT ${component} ARCHIVE COMPONENT ${component})
    install(EXPORT ${package} NAMESPACE ebb:: FILE ${package}-targets.cmake DESTINATION "${dir}"
            COMPONENT ${component})
    configure_package_config_file(cmake/${package}-config.cmake.in "${config}.cmake" INSTALL_DESTINATION "${dir}")
    write_basic_package_version_file("${config}-version.cmake" COMPATIBILITY SameMinorVersion)
    install(FILES "${config}.cmake" "${config}-version.cmake" DESTINATION "${dir}" COMPONENT ${component})

    file(RELATIVE_PATH ebb_pc_prefix "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
    string(REGEX REPLACE "/$" "" ebb_pc_prefix "${ebb_pc_prefix}")
    configure_file(cmake/${package}.pc.in "${PROJECT_BINARY_DIR}/${package}.pc" @ONLY)
    install(FILES "${PROJECT_BINARY_DIR}/${package}.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig"
            COMPONENT ${component})
endfunction()

ebb_install_library(ebb ebb ebb_shared ebb_static)
ebb_install_library(ebb-graph graph ebb_graph_shared ebb_graph_static)
if(TARGET ebb_cli)
    install(TARGETS ebb_cli RUNTIME COMPONENT ebb)
endif()
if(TARGET ebb_graph_replay)
    install(TARGETS ebb_graph_replay RUNTIME COMPONENT graph)
endif()
