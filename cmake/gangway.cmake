# Compiler settings, third-party libraries, and the functions that make a target of a folder.
include(GNUInstallDirs)

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
option(GANGWAY_QUICK "Build without optimisation, in half the time: to try it, not to install it" OFF)
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
if(GANGWAY_QUICK)
  set(CMAKE_CXX_FLAGS_RELEASE "-O0 -DNDEBUG")
endif()
option(GANGWAY_BENCH "Build the benchmarks" OFF)
set(GANGWAY_SANITIZE "" CACHE STRING "Value for -fsanitize, such as address,undefined")
option(GANGWAY_FUZZ "Build the libFuzzer programs of tests/fuzz (clang only)" OFF)
option(GANGWAY_COST "Build the cost oracle of tests/cost: the controller's core a second time, counted" OFF)
option(GANGWAY_PCH "Precompile the library headers that most files include" OFF)
option(GANGWAY_CLANG_TESTS "Compile the tests' own code by clang without optimisation, whatever compiles the product: in half the time" OFF)
option(GANGWAY_UNITY "Compile the files of a folder together, some at a time: several times faster from cold" OFF)

find_program(CCACHE ccache)
find_program(CLANGXX clang++)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE})
endif()

add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Wcast-align -Woverloaded-virtual -Wundef -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # False positives of g++ 12 inside inlined std::string and std::vector code at -O2 (GCC bugs 105329, 105651).
  add_compile_options(-Wno-restrict -Wno-stringop-overflow -Wno-array-bounds -Wno-dangling-pointer -Wno-maybe-uninitialized)
endif()
# FMT_SHARED: as spdlog's target has it, since precompiled headers are for one set of definitions.
add_compile_definitions(_FILE_OFFSET_BITS=64 GANGWAY_VERSION="${PROJECT_VERSION}" FMT_SHARED)
if(GANGWAY_SANITIZE)
  add_compile_options(-fsanitize=${GANGWAY_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${GANGWAY_SANITIZE})
else()
  if(NOT GANGWAY_QUICK)  # which goes with optimisation only
    add_compile_options($<$<CONFIG:Release>:-D_FORTIFY_SOURCE=2>)
  endif()
  add_compile_options(-fstack-protector-strong)
  add_link_options(-Wl,-z,relro,-z,now)
endif()
if(GANGWAY_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
find_program(LLD ld.lld)
if(LLD)
  add_link_options(-fuse-ld=lld)
endif()

find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(tl-expected REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(Protobuf REQUIRED)
pkg_check_modules(EVENT REQUIRED IMPORTED_TARGET libevent_core)
pkg_check_modules(HWLOC REQUIRED IMPORTED_TARGET hwloc)
pkg_check_modules(PMIX REQUIRED IMPORTED_TARGET pmix>=4)

# The commands start thousands of times an hour: what they link is static where Debian ships an archive (a shared
# protobuf, sodium and munge cost 2 ms a start).
function(gw_static_library target name header)
  find_library(GW_${target}_LIB NAMES lib${name}.a ${name} REQUIRED)
  find_path(GW_${target}_INCLUDE ${header} REQUIRED)
  add_library(gw_${target} INTERFACE)
  target_link_libraries(gw_${target} INTERFACE ${GW_${target}_LIB})
  target_include_directories(gw_${target} SYSTEM INTERFACE ${GW_${target}_INCLUDE})
endfunction()
gw_static_library(protobuf protobuf-lite google/protobuf/message_lite.h)
target_link_libraries(gw_protobuf INTERFACE Threads::Threads)
gw_static_library(sodium sodium sodium.h)
gw_static_library(munge munge munge.h)
gw_static_library(yaml yaml-cpp yaml-cpp/yaml.h)
if(NOT GANGWAY_SANITIZE)
  add_link_options(-static-libstdc++ -static-libgcc)
endif()

# gw_fast_malloc(TARGET): a program that makes and drops millions of small texts. The C library's malloc takes up to four times
# as long for a list of 50,000 jobs, once its heap is in pieces (docs/adr/0055).
find_library(GW_mimalloc_LIB mimalloc REQUIRED)
function(gw_fast_malloc target)
  if(NOT GANGWAY_SANITIZE)
    # Nothing names it: it stands in for malloc by coming first.
    target_link_options(${target} PRIVATE -Wl,--push-state,--no-as-needed ${GW_mimalloc_LIB} -Wl,--pop-state)
  endif()
endfunction()

# gw_precompiled(TARGET NAME): the target's files start from the precompiled headers of cmake/precompiled_NAME.h.
# Nothing may count on it: the preset clang compiles each file with its own includes alone.
function(gw_precompiled target name)
  if(NOT GANGWAY_PCH)
    return()
  endif()
  if(NOT TARGET gw_precompiled_${name})
    file(WRITE ${CMAKE_BINARY_DIR}/generated/precompiled_${name}.cc "")
    add_library(gw_precompiled_${name} STATIC ${CMAKE_BINARY_DIR}/generated/precompiled_${name}.cc)
    target_link_libraries(gw_precompiled_${name} PRIVATE gw_proto $<$<STREQUAL:${name},tests>:GTest::gmock>)
    target_include_directories(gw_precompiled_${name} PRIVATE ${CMAKE_SOURCE_DIR})
    if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
      target_compile_options(gw_precompiled_${name} PRIVATE -Xclang -fno-pch-timestamp)
    endif()
    add_dependencies(gw_precompiled_${name} gw_proto)
    if(name STREQUAL "tests")
      gw_test_code(gw_precompiled_tests)
    endif()
    target_precompile_headers(gw_precompiled_${name} PRIVATE ${CMAKE_SOURCE_DIR}/cmake/precompiled_${name}.h)
  endif()
  # A program's files too: the compiler refuses precompiled headers that were made for another kind of code.
  target_compile_options(${target} PRIVATE -fPIC)
  target_precompile_headers(${target} REUSE_FROM gw_precompiled_${name})
endfunction()

# gw_test_code(TARGET): no file of the target is shipped or in a hurry. With GANGWAY_CLANG_TESTS clang compiles it, which takes
# half of g++'s time; both use one standard library and one ABI, so what it tests is what is shipped.
function(gw_test_code target)
  if(NOT GANGWAY_CLANG_TESTS OR NOT CLANGXX)
    return()
  endif()
  set_target_properties(${target} PROPERTIES CXX_COMPILER_LAUNCHER "${CMAKE_SOURCE_DIR}/cmake/by_clang;${CMAKE_CXX_COMPILER_LAUNCHER}")
  target_compile_options(${target} PRIVATE -O0 -U_FORTIFY_SOURCE -Wno-unknown-warning-option)
endfunction()

# gw_together(TARGET [APART file...]): the target's files are compiled some at a time, as one; those that are APART, each
# by itself, since they use the same names for what only they know. The preset clang compiles every file by itself, and so
# does scripts/check-alone.
function(gw_together target)
  if(NOT GANGWAY_UNITY)
    return()
  endif()
  cmake_parse_arguments(A "" "" "APART" ${ARGN})
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 40)
  # What one file calls as another, and types of a .cc that use others of it, are no mistakes here.
  target_compile_options(${target} PRIVATE -Wno-shadow $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage -Wno-stringop-overread>)
  # A program takes what it uses of them all the same (--gc-sections).
  target_compile_options(${target} PRIVATE -ffunction-sections -fdata-sections)
  if(A_APART)
    set_source_files_properties(${A_APART} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
endfunction()

# gw_tests(PROGRAM LABEL SECONDS [COST n] [ENVIRONMENT VARIABLE=value...]): what ctest runs of a program of gtest, with a
# limit for each: every test by itself, or under a sanitizer, where a program takes long to start, the program in two halves.
function(gw_tests program label seconds)
  cmake_parse_arguments(A "" "COST" "ENVIRONMENT" ${ARGN})
  set(properties LABELS ${label})
  if(DEFINED A_COST)
    list(APPEND properties COST ${A_COST})
  endif()
  if(NOT GANGWAY_SANITIZE)
    if(A_ENVIRONMENT)
      list(APPEND properties ENVIRONMENT ${A_ENVIRONMENT})
    endif()
    gtest_discover_tests(${program} DISCOVERY_MODE PRE_TEST PROPERTIES ${properties} TIMEOUT ${seconds})
    return()
  endif()
  foreach(half 0 1)
    add_test(NAME ${program}.${half} COMMAND ${program} --gtest_brief=1)
    set_tests_properties(${program}.${half} PROPERTIES ${properties} TIMEOUT 1500
                         ENVIRONMENT "${A_ENVIRONMENT};GTEST_TOTAL_SHARDS=2;GTEST_SHARD_INDEX=${half}")
  endforeach()
endfunction()

# gw_library(NAME [DEPS target...] [PRIVATE target...] [APART file...]): a static library `gw_NAME` of all .cc files of this
# folder.
# gw_without_casts(TARGET): no file of it has a reinterpret_cast (tests/tidy), without which nothing is out of alignment; and
# at a null pointer the address sanitizer stops, too. Both are checked before each use of a member, which takes a fifth of the
# time to compile.
function(gw_without_casts target)
  if(GANGWAY_SANITIZE MATCHES "undefined")
    target_compile_options(${target} PRIVATE -fno-sanitize=null,alignment)
  endif()
endfunction()

function(gw_library name)
  cmake_parse_arguments(A "" "" "DEPS;PRIVATE;APART;FOLDERS" ${ARGN})
  list(TRANSFORM A_FOLDERS APPEND "/*.cc")
  file(GLOB sources CONFIGURE_DEPENDS *.cc ${A_FOLDERS})
  if(NOT sources)
    add_library(gw_${name} INTERFACE)
    return()
  endif()
  add_library(gw_${name} STATIC ${sources})
  target_include_directories(gw_${name} PUBLIC ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/lib)
  target_link_libraries(gw_${name} PUBLIC ${A_DEPS} PRIVATE ${A_PRIVATE})
  gw_precompiled(gw_${name} product)
  gw_together(gw_${name} APART ${A_APART})
  set(others_with_casts client_conn cmds_gangway_dev cmds_queue)
  if(name MATCHES "^(sched_.*|client_.*|cmds_.*|(ctld|noded|webd)_core|model|forecast|sim|config|snapshot|store)$"
     AND NOT name IN_LIST others_with_casts)
    gw_without_casts(gw_${name})
  endif()
  set_property(GLOBAL APPEND PROPERTY GW_LIBRARIES gw_${name})
endfunction()

# Programs and plug-ins that `cmake --install` takes; the target `programs` builds them, and nothing else.
# gw_daemon_page(TARGET SUMMARY): a manual page of section 8, made of what the program prints for --help.
function(gw_daemon_page target summary)
  set(folder ${CMAKE_BINARY_DIR}/share/man/man8)
  add_custom_command(TARGET ${target} POST_BUILD
    COMMAND ${CMAKE_COMMAND} -E make_directory ${folder}
    COMMAND ${CMAKE_SOURCE_DIR}/cmake/daemon_page.sh $<TARGET_FILE:${target}> ${PROJECT_VERSION} ${summary}
            > ${folder}/${target}.8
    VERBATIM)
  install(FILES ${folder}/${target}.8 DESTINATION ${CMAKE_INSTALL_MANDIR}/man8)
endfunction()

function(gw_installed)
  set_property(GLOBAL APPEND PROPERTY GW_INSTALLED ${ARGN})
endfunction()

# gw_interface_hash(VARIABLE HEADER): a hash of a plug-in kind's header, of what it includes of the project at any depth,
# and of the compiler and release: what must be the same on both sides of the border.
function(gw_interface_hash variable header)
  set(open ${header})
  set(closed)
  set(text "${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION} ${PROJECT_VERSION} ${CMAKE_BUILD_TYPE}")
  while(open)
    list(POP_FRONT open next)
    if(next IN_LIST closed)
      continue()
    endif()
    list(APPEND closed ${next})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${next})
    file(SHA256 ${CMAKE_SOURCE_DIR}/${next} one)
    string(APPEND text " ${next} ${one}")
    file(STRINGS ${CMAKE_SOURCE_DIR}/${next} includes REGEX "^#include \"")
    foreach(include ${includes})
      string(REGEX REPLACE "^#include \"([^\"]*)\".*" "\\1" include "${include}")
      foreach(place lib/${include} ${include})
        if(EXISTS ${CMAKE_SOURCE_DIR}/${place})
          list(APPEND open ${place})
          break()
        endif()
      endforeach()
    endforeach()
  endwhile()
  string(SHA256 hash "${text}")
  string(SUBSTRING ${hash} 0 16 hash)
  set(${variable} ${hash} PARENT_SCOPE)
endfunction()

# gw_plugin_kind(KIND HEADER [LIBRARIES...]): plug-ins of the scheduler, written against that header: one shared object for
# each file of the calling folder, KIND_NAME.so of NAME.cc. What they need of the project is linked into them.
function(gw_plugin_kind kind header)
  gw_interface_hash(hash ${header})
  string(TOUPPER ${kind} upper)
  # Programs that load plug-ins of this kind, and the plug-ins, link this: it carries the hash that is compared at load.
  add_library(gw_${kind}_interface INTERFACE)
  target_compile_definitions(gw_${kind}_interface INTERFACE GW_${upper}_BUILD_HASH="${hash}")
  set_property(GLOBAL PROPERTY GW_${upper}_PLUGIN_LIBRARIES ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS *.cc)
  set(plugins)
  foreach(source ${sources})
    get_filename_component(name ${source} NAME_WE)
    gw_plugin(${kind} ${name} ${source})
    set_target_properties(${kind}_${name} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib/gangway)
    gw_installed(${kind}_${name})
    install(TARGETS ${kind}_${name} LIBRARY DESTINATION lib/gangway)
    list(APPEND plugins ${kind}_${name})
  endforeach()
  add_custom_target(${kind}_plugins DEPENDS ${plugins})
endfunction()

# gw_plugin(KIND NAME SOURCE): the module KIND_NAME.
function(gw_plugin kind name source)
  string(TOUPPER ${kind} upper)
  get_property(libraries GLOBAL PROPERTY GW_${upper}_PLUGIN_LIBRARIES)
  set(target ${kind}_${name})
  add_library(${target} MODULE ${source})
  target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/lib)
  target_link_libraries(${target} PRIVATE gw_model gw_${kind}_interface ${libraries})
  target_link_options(${target} PRIVATE -Wl,--as-needed -Wl,--version-script=${CMAKE_SOURCE_DIR}/plugins/plugin.map)
  set_target_properties(${target} PROPERTIES PREFIX "" CXX_VISIBILITY_PRESET hidden)
endfunction()

# gw_linked_in_plugins(TARGET KIND): the files of plugins/KIND are part of that library, too, which lists them.
function(gw_linked_in_plugins target kind)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/plugins/${kind}/*.cc)
  set_source_files_properties(${sources} PROPERTIES COMPILE_DEFINITIONS GW_PLUGIN_STATIC)
  target_sources(${target} PRIVATE ${sources})
  target_include_directories(${target} PRIVATE ${CMAKE_BINARY_DIR}/generated/plugins)
endfunction()

# gw_list_plugins(KIND): every file of plugins/KIND, told by the file alone: in_tree_KINDs.inc has GW_IN_TREE_KIND(NAME,
# weights...) a line. lib/sched links them, and lib/config knows their names.
function(gw_list_plugins kind)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/plugins/${kind}/*.cc)
  string(TOUPPER ${kind} upper)
  set(list "// Made by the build of the files in plugins/${kind}.\n")
  foreach(source ${sources})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
    get_filename_component(name ${source} NAME_WE)
    file(STRINGS ${source} weights REGEX "^GW_PLUGIN_WEIGHTS\\(")
    string(REGEX REPLACE "^GW_PLUGIN_WEIGHTS\\([a-z0-9_]+, (.*)\\)$" "\\1" weights "${weights}")
    string(APPEND list "GW_IN_TREE_${upper}(${name}, ${weights})\n")
  endforeach()
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/plugins/in_tree_${kind}s.inc CONTENT "${list}" @ONLY)
endfunction()
