set(apart control_test.cc gbatch_test.cc step_commands_test.cc components_test.cc)
