// Finds, checks and loads the scheduler's plug-ins, whatever their kind: KIND_NAME.so in one of some folders. The
// controller and the simulator load the same files.
// Invariants: a file is loaded once and stays; nothing of a file that does not fit this build is called but the
// function that says so.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/plugin.h"

namespace gw::plugin {

/// Folder of the project's own plug-ins: lib/gangway beside the folder of the running program.
std::string default_dir();

/// A kind of plug-in, as this program knows it.
struct Kind {
  std::string_view word;  ///< "order": before the name of a file.
  const char* factory;    ///< The function that such a file exports.
  uint32_t interface_version;
  std::string_view build_hash;
};

/// The folders given, then the default one.
class Folders {
 public:
  explicit Folders(std::vector<std::string> dirs);

  /// Errors: no such plug-in (with "did you mean"), the file cannot be loaded, has no factory, is made for another
  /// interface or build, or calls itself otherwise; others may write it.
  base::Result<const base::PluginFacts*> load(const Kind& kind, std::string_view name) const;
  /// Path of the file that a name means; empty if there is none.
  std::string find(const Kind& kind, std::string_view name) const;
  /// Names of all plug-ins of a kind in the folders, without loading them.
  std::vector<std::string> names(const Kind& kind) const;

 private:
  std::vector<std::string> dirs_;
};

/// Loads one file.
base::Result<const base::PluginFacts*> load_file(const Kind& kind, const std::string& path, std::string_view name);

}  // namespace gw::plugin
