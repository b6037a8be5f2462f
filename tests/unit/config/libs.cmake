# The tests read etc/gangway.yaml and docs/config.md of the source tree.
if(NOT TARGET config_test_paths)
  add_library(config_test_paths INTERFACE)
  target_compile_definitions(config_test_paths INTERFACE GW_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
endif()
set(libs config_test_paths gw_sched)
set(apart scenario_test.cc show_test.cc parse_test.cc)
