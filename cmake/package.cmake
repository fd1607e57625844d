# Installation: headers, libraries, programs, the CMake package and the pkg-config files.
# SPDX-License-Identifier: MIT
include(CMakePackageConfigHelpers)

set_target_properties(ebb_shared PROPERTIES EXPORT_NAME ebb)
set_target_properties(ebb_static PROPERTIES EXPORT_NAME ebb_static)
set_target_properties(ebb_graph_shared PROPERTIES EXPORT_NAME graph)
set_target_properties(ebb_graph_static PROPERTIES EXPORT_NAME graph_static)
install(TARGETS ebb_shared ebb_static ebb_graph_shared ebb_graph_static EXPORT ebb)
install(TARGETS ${ebb_installed_programs})
install(DIRECTORY include/ebb DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" FILES_MATCHING
        PATTERN "*.h" PATTERN "*.hpp")

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/ebb")
install(EXPORT ebb NAMESPACE ebb:: FILE ebb-targets.cmake DESTINATION "${package_dir}")
configure_package_config_file(cmake/ebb-config.cmake.in "${PROJECT_BINARY_DIR}/ebb-config.cmake"
                              INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/ebb-config-version.cmake"
                                 COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/ebb-config.cmake" "${PROJECT_BINARY_DIR}/ebb-config-version.cmake"
        DESTINATION "${package_dir}")

file(RELATIVE_PATH ebb_pc_prefix "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
string(REGEX REPLACE "/$" "" ebb_pc_prefix "${ebb_pc_prefix}")
foreach(pc ebb ebb-graph)
    configure_file(cmake/${pc}.pc.in "${PROJECT_BINARY_DIR}/${pc}.pc" @ONLY)
    install(FILES "${PROJECT_BINARY_DIR}/${pc}.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
endforeach()
