# The tests read docs/reasons.md of the source tree.
if(NOT TARGET config_test_paths)
  add_library(config_test_paths INTERFACE)
  target_compile_definitions(config_test_paths INTERFACE GW_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
endif()
set(libs config_test_paths)
