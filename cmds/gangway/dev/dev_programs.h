// The commands of a private cluster where its jobs reach them. A clone in root's home, of mode 0700, is closed to the
// users whose jobs root's private cluster runs: they get a copy of the commands. Daemons need none, they are root's.
// Invariant: the copy goes with the cluster.
#pragma once

#include <string>

#include "base/result.h"
#include "cmds/gangway/dev/dev_layout.h"

namespace gw::cmds {

/// Whether everybody may pass all folders on the way to a file or folder, and read what it is.
bool is_open_to_all(const std::string& path);

/// Copies the commands that lie in `bin`, and beside it in ../libexec/gangway, to a fresh folder that programs_link()
/// leads to. Errors name the file.
base::Status copy_programs(const DevLayout& layout, const std::string& bin);

/// The same for the folder of this program, where jobs may run as users who cannot reach it.
base::Status open_programs(const DevLayout& layout);

/// Where the cluster's users find commands: the copy's folder, else that of this program.
std::string commands_folder(const DevLayout& layout);

/// Removes the copy.
void remove_programs(const DevLayout& layout);

}  // namespace gw::cmds
