set(libs nlohmann_json::nlohmann_json)
