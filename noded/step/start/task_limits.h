// Resource limits of the submission, by Slurm's names ("NOFILE", "STACK"), set on the calling process.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gw::noded::step {

/// RLIMIT_* of a name; nothing if this system has none of that name.
std::optional<int> limit_resource(std::string_view name);
/// Sets the soft limit, cut to the hard limit; UINT64_MAX is infinity. Unknown names are passed over: a limit that the
/// submission host knows and this one does not is no reason not to run. Returns a note if the kernel refused, else "".
std::string apply_limit(const std::string& name, uint64_t value);

}  // namespace gw::noded::step
