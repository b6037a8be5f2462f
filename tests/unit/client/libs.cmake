set(apart files_only_test.cc step_test.cc)
