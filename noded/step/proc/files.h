// Small files read and written whole: control files of cgroups, entries of /proc, records of a step.
// Invariants: reading never takes more memory than `max_bytes`; no descriptor leaks into a child.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace gw::noded::step::proc {

/// The whole of a file. Errors: errno of open or read; longer than `max_bytes`.
base::Result<std::string> read_file(const std::string& path, size_t max_bytes = 1 << 20);
/// Writes `text` by one write() into a file that exists (a control file). Errors name path and value.
base::Status write_control(const std::string& path, std::string_view text);
/// All of `bytes`, however often write() is cut short. Errors: errno of write, `context` in front.
base::Status write_all(int fd, std::string_view bytes, const std::string& context);
/// Replaces `dir/name` by a temporary file and a rename; synced before the rename if `sync`. A reader sees all or
/// nothing.
base::Status replace_file(const std::string& dir, const std::string& name, std::string_view bytes, bool sync);
/// Makes a folder and all missing folders above it.
base::Status make_dirs(const std::string& path, unsigned mode);

}  // namespace gw::noded::step::proc
