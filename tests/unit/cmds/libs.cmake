# The list of Slurm's options and the page of docs/ that tells of them.
if(NOT TARGET config_test_paths)
  add_library(config_test_paths INTERFACE)
  target_compile_definitions(config_test_paths INTERFACE GW_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
endif()
set(libs config_test_paths)
set(apart control_test.cc gbatch_test.cc step_commands_test.cc components_test.cc slurm_options_test.cc)
