set(apart files_only_test.cc step_text_test.cc)
