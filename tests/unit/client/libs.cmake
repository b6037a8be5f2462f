set(libs nlohmann_json::nlohmann_json)
set(apart files_only_test.cc step_text_test.cc why_text_test.cc)
