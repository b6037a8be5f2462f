# Stand-ins for the vendors' libraries, opened by gres_test.cc at run time.
add_library(topo_fakes INTERFACE)
foreach(fake nvml rocm_smi)
  add_library(topo_fake_${fake} MODULE topo/fakes/${fake}.cc)
  add_dependencies(topo_fakes topo_fake_${fake})
  if(GANGWAY_SANITIZE AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    # The vendors' C functions carry no C++ types to compare either.
    target_compile_options(topo_fake_${fake} PRIVATE -fno-sanitize=function)
  endif()
endforeach()
target_compile_definitions(topo_fakes INTERFACE GW_FAKE_NVML="$<TARGET_FILE:topo_fake_nvml>"
                                                GW_FAKE_ROCM_SMI="$<TARGET_FILE:topo_fake_rocm_smi>")
set(libs topo_fakes nlohmann_json::nlohmann_json)
