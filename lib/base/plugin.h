// What a plug-in exports, whatever its kind: one C function, which says what the plug-in was built for and makes what
// it is for. Each kind has a header with its interface; that header is what a plug-in is written against. Invariant:
// nothing of a plug-in is called but that function before version, hash and name were compared.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "base/result.h"

namespace gw::base {

/// What the configuration gives a plug-in: numbers by name.
using Weights = std::map<std::string, double>;

/// What the exported function returns; lives as long as the process.
struct PluginFacts {
  uint32_t interface_version;
  const char* build_hash;
  const char* name;
  const char* version;  ///< Goes into snapshots: two plug-ins of one name and version decide alike.
};
using PluginFactory = const PluginFacts* (*)();

/// Of the kind whose interface is T.
template <typename T>
struct Plugin : PluginFacts {
  /// Errors: a weight that it does not know.
  Result<std::shared_ptr<const T>> (*make)(const Weights& weights);
};

/// Plugin::make of a T without weights, which is a `Kind`.
template <typename Kind, typename T>
Result<std::shared_ptr<const Kind>> make_without_weights(const Weights& weights) {
  if (!weights.empty()) return invalid("this plug-in has no weights, but got " + weights.begin()->first);
  return std::make_shared<const T>();
}

}  // namespace gw::base

// Names of the weights that a plug-in takes: GW_PLUGIN_WEIGHTS(NAME, "age", ...) gives NAME_plugin::kWeightNames. A
// line of its own: the build reads it, so that the configuration knows them, too.
#define GW_PLUGIN_WEIGHTS(plugin_name, ...)                    \
  namespace plugin_name##_plugin {                             \
    constexpr std::string_view kWeightNames[] = {__VA_ARGS__}; \
  }

// Defines the exported function of a plug-in of that kind (a word), with that interface. Linked into the scheduler
// itself it gets a name of its own instead.
#ifdef GW_PLUGIN_STATIC
#define GW_PLUGIN_OF(kind, Interface, interface_number, hash, plugin_name, make_it)                               \
  namespace gw::sched::builtin::kind {                                                                            \
  const ::gw::base::Plugin<Interface>* plugin_name();                                                             \
  const ::gw::base::Plugin<Interface>* plugin_name() {                                                            \
    static constexpr ::gw::base::Plugin<Interface> kPlugin{{interface_number, "", #plugin_name, GANGWAY_VERSION}, \
                                                           (make_it)};                                            \
    return &kPlugin;                                                                                              \
  }                                                                                                               \
  }
#else
#define GW_PLUGIN_OF(kind, Interface, interface_number, hash, plugin_name, make_it)                                 \
  extern "C" __attribute__((visibility("default"))) const ::gw::base::PluginFacts* gangway_##kind##_plugin() {      \
    static constexpr ::gw::base::Plugin<Interface> kPlugin{{interface_number, hash, #plugin_name, GANGWAY_VERSION}, \
                                                           (make_it)};                                              \
    return &kPlugin;                                                                                                \
  }
#endif
