// See folders.h.
#include "plugin/folders.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/text.h"

namespace gw::plugin {
namespace {

namespace fs = std::filesystem;
using base::PluginFacts;
using base::Result;

constexpr std::string_view kSuffix = ".so";

bool is_plugin_name(std::string_view name) {
  return !name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

/// What others can write they could put into the controller.
base::Status check_writers(const std::string& path) {
  struct stat file {};
  if (::stat(path.c_str(), &file) != 0) return {};  // then it cannot be loaded either
  struct stat program {};                           // whose owner could write it as well
  const bool has_own = ::stat("/proc/self/exe", &program) == 0 && program.st_uid == file.st_uid;
  const bool is_owned_by_others = file.st_uid != 0 && file.st_uid != ::geteuid() && !has_own;
  const bool is_open = (file.st_mode & S_IWOTH) != 0;
  const bool is_open_to_group = (file.st_mode & S_IWGRP) != 0 && file.st_gid != 0 && file.st_gid != ::getegid();
  if (!is_owned_by_others && !is_open && !is_open_to_group) return {};
  return base::fail(base::ErrorCode::kDenied,
                    fmt::format("{} {}: what is loaded from there runs inside this program", path,
                                is_owned_by_others ? "belongs to another user" : "can be written by others"),
                    is_owned_by_others ? "give it to root, or to the user of the program" : "chmod go-w " + path);
}

}  // namespace

std::string default_dir() {
  char path[4096];
  const ssize_t n = ::readlink("/proc/self/exe", path, sizeof path);
  const std::string exe = n > 0 ? std::string(path, static_cast<size_t>(n)) : "/usr/sbin/gctld";
  return (fs::path(exe).parent_path().parent_path() / "lib/gangway").string();
}

namespace {

Result<const PluginFacts*> check(const Kind& kind, const std::string& path, const PluginFacts* plugin,
                                 std::string_view name) {
  if (plugin == nullptr) return base::invalid(path + ": its factory returned nothing");
  if (plugin->interface_version != kind.interface_version)
    return base::invalid(fmt::format("{}: made for {} interface {}, this program has {}", path, kind.word,
                                     plugin->interface_version, kind.interface_version),
                         "build the plug-in against the headers of this release");
  if (std::string_view(plugin->build_hash) != kind.build_hash)
    return base::invalid(
        fmt::format("{}: comes from another build ({}, not {})", path, plugin->build_hash, kind.build_hash),
        "build plug-ins and programs from the same headers with the same compiler");
  if (name != plugin->name) return base::invalid(fmt::format("{}: calls itself \"{}\"", path, plugin->name));
  return plugin;
}

std::string file_of(const Kind& kind, std::string_view name) {
  return fmt::format("{}_{}{}", kind.word, name, kSuffix);
}

}  // namespace

Result<const PluginFacts*> load_file(const Kind& kind, const std::string& path, std::string_view name) {
  void* handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* why = ::dlerror();
    return base::invalid(fmt::format("{}: cannot be loaded: {}", path, why == nullptr ? "unknown error" : why));
  }
  const auto factory = reinterpret_cast<base::PluginFactory>(::dlsym(handle, kind.factory));
  if (factory == nullptr)
    return base::invalid(fmt::format("{}: exports no {}", path, kind.factory),
                         "a plug-in ends with the macro of its kind, such as GW_ORDER_PLUGIN(NAME, MAKE)");
  return check(kind, path, factory(), name);
}

Folders::Folders(std::vector<std::string> dirs) : dirs_(std::move(dirs)) { dirs_.push_back(default_dir()); }

std::string Folders::find(const Kind& kind, std::string_view name) const {
  if (!is_plugin_name(name)) return {};
  for (const std::string& dir : dirs_) {
    const fs::path path = fs::path(dir) / file_of(kind, name);
    std::error_code ignored;
    if (fs::exists(path, ignored)) return path.string();
  }
  return {};
}

std::vector<std::string> Folders::names(const Kind& kind) const {
  const std::string prefix = fmt::format("{}_", kind.word);
  std::set<std::string> out;
  for (const std::string& dir : dirs_) {
    std::error_code error;
    for (fs::directory_iterator it(dir, error), end; !error && it != end; it.increment(error)) {
      const std::string file = it->path().filename().string();
      if (file.starts_with(prefix) && file.ends_with(kSuffix))
        out.insert(file.substr(prefix.size(), file.size() - prefix.size() - kSuffix.size()));
    }
  }
  return {out.begin(), out.end()};
}

Result<const PluginFacts*> Folders::load(const Kind& kind, std::string_view name) const {
  const std::string path = find(kind, name);
  if (!path.empty()) {
    GW_TRY_STATUS(check_writers(fs::path(path).parent_path().string()));
    GW_TRY_STATUS(check_writers(path));
    return load_file(kind, path, name);
  }
  const std::vector<std::string> known = names(kind);
  std::string hint = base::did_you_mean(name, known);
  if (hint.empty())
    hint = known.empty() ? fmt::format("no {} is there", kind.word) : "there are " + base::join(known, ", ");
  return base::fail(base::ErrorCode::kNotFound,
                    fmt::format("unknown {} {}: no {} in {}", kind.word, base::printable(name),
                                base::printable(file_of(kind, name)), base::join(dirs_, ", ")),
                    hint);
}

}  // namespace gw::plugin
