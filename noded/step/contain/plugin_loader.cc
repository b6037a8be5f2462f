// Finds, checks and loads plug-ins of the kind `contain`.
#include "noded/step/contain/plugin_loader.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <map>

#include "base/text.h"

namespace gw::noded::step {
namespace {

bool is_plugin_name(const std::string& name) {
  return !name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

base::Result<const ContainPlugin*> open_plugin(const std::string& path, const std::string& name) {
  void* handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* why = ::dlerror();
    return base::fail(base::ErrorCode::kNotFound,
                      "containment \"" + name + "\" cannot be loaded: " + (why ? why : "unknown error"),
                      "plug-ins lie in lib/gangway beside bin, or where --plugins points");
  }
  const auto factory = reinterpret_cast<ContainFactory>(::dlsym(handle, kContainFactory));
  if (factory == nullptr) return base::invalid(path + ": exports no " + kContainFactory);
  return check_plugin(path, factory(), name);
}

base::Result<ProbeReport> probe_kind(const std::string& plugin_dir, const std::string& name) {
  GW_TRY(contain, make_containment(plugin_dir, name));
  return contain->probe();
}

std::string known_kinds() { return base::join(containment_kinds(), ", "); }

}  // namespace

const std::vector<std::string>& containment_kinds() {
  static const std::vector<std::string> kinds{"cgroup_v2", "cgroup_mixed", "cgroup_v1", "none"};
  return kinds;
}

std::string default_plugin_dir() {
  char path[4096];
  const ssize_t n = ::readlink("/proc/self/exe", path, sizeof path);
  const std::string exe = n > 0 ? std::string(path, static_cast<size_t>(n)) : "/usr/bin/gstepd";
  return exe.substr(0, exe.rfind('/')) + "/../lib/gangway";
}

base::Result<const ContainPlugin*> check_plugin(const std::string& path, const ContainPlugin* plugin,
                                                const std::string& name) {
  if (plugin == nullptr) return base::invalid(path + ": its factory returned nothing");
  if (plugin->interface_version != kContainInterface)
    return base::invalid(path + ": made for containment interface " + std::to_string(plugin->interface_version) +
                             ", this program has " + std::to_string(kContainInterface),
                         "build the plug-in against the headers of this release");
  if (std::string(plugin->build_hash) != GW_CONTAIN_BUILD_HASH)
    return base::invalid(
        path + ": comes from another build (" + plugin->build_hash + ", not " + GW_CONTAIN_BUILD_HASH + ")",
        "install plug-ins and programs from one build");
  if (name != plugin->name) return base::invalid(path + ": calls itself \"" + plugin->name + "\"");
  return plugin;
}

base::Result<const ContainPlugin*> load_containment(const std::string& plugin_dir, const std::string& name) {
  static std::map<std::string, const ContainPlugin*> loaded;
  if (!is_plugin_name(name))
    return base::invalid("containment \"" + base::printable(name) + "\" is no name of a plug-in",
                         "built in are " + known_kinds());
  const std::string path = plugin_dir + "/contain_" + name + ".so";
  if (const auto it = loaded.find(path); it != loaded.end()) return it->second;
  GW_TRY(plugin, open_plugin(path, name));
  loaded.emplace(path, plugin);
  return plugin;
}

base::Result<std::unique_ptr<Containment>> make_containment(const std::string& plugin_dir, const std::string& name) {
  GW_TRY(plugin, load_containment(plugin_dir, name));
  return std::unique_ptr<Containment>(plugin->create());
}

base::Result<ContainmentChoice> choose_containment(const std::string& plugin_dir, const std::string& wanted) {
  ContainmentChoice choice;
  if (wanted != "auto") {
    GW_TRY(report, probe_kind(plugin_dir, wanted));
    if (!report.usable)
      return base::fail(base::ErrorCode::kUnavailable,
                        "containment \"" + wanted + "\" is not usable on this machine: " + report.why_not,
                        "`containment: auto` chooses what is");
    choice.kind = wanted;
    choice.reports.push_back(report);
    return choice;
  }
  uint32_t most = 0;
  for (const std::string& kind : containment_kinds()) {
    auto report = probe_kind(plugin_dir, kind);
    if (!report) report = ProbeReport{kind, false, report.error().text(), {}};
    if (report->usable && (choice.kind.empty() || report->usable_controllers() > most)) {
      choice.kind = kind;
      most = report->usable_controllers();
    }
    choice.reports.push_back(*report);
  }
  if (choice.kind.empty())
    return base::fail(base::ErrorCode::kUnavailable, "no containment is usable: " + choice.reports.back().why_not,
                      "are the plug-ins installed in " + plugin_dir + "?");
  return choice;
}

}  // namespace gw::noded::step
