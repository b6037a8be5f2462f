// Finds, checks and loads plug-ins of the kind `contain`, and chooses among them by probing.
// Invariants: a plug-in of another interface version or build is refused; a plug-in, once loaded, stays.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "noded/step/containment.h"

namespace gw::noded::step {

/// Names of the built-in kinds, the one that gives most first.
const std::vector<std::string>& containment_kinds();
/// `<folder of this program>/../lib/gangway`, where build and installation put the plug-ins.
std::string default_plugin_dir();
/// What a loaded file must fulfil: the version and build of this program, and the name that it was asked for.
base::Result<const ContainPlugin*> check_plugin(const std::string& path, const ContainPlugin* plugin,
                                                const std::string& name);
/// Loads `DIR/contain_NAME.so` once. Errors: bad name, missing file, no factory, other version, other build; each with
/// its remedy.
base::Result<const ContainPlugin*> load_containment(const std::string& plugin_dir, const std::string& name);
/// A fresh object of a loaded kind.
base::Result<std::unique_ptr<Containment>> make_containment(const std::string& plugin_dir, const std::string& name);

/// Outcome of the choice: the kind, and what every kind said of this machine.
struct ContainmentChoice {
  std::string kind;
  std::vector<ProbeReport> reports;
};
/// "auto": the usable kind with most usable controllers, ties in the order of containment_kinds(). A name: that kind.
/// Errors: unknown name; the named kind is not usable here, with its reason.
base::Result<ContainmentChoice> choose_containment(const std::string& plugin_dir, const std::string& wanted);

}  // namespace gw::noded::step
