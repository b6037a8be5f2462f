set(libs topo_fakes nlohmann_json::nlohmann_json)
