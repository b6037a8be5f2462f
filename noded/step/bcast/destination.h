// The file that a receiver writes: under no name, or a temporary one, until it is whole.
// Invariants: under its own name there is either the whole file or what was there before; nothing is left over, however
// the process ends, where the file system knows files without names, and else unless it is killed.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "noded/step/proc/owned_fd.h"
#include "wire/bcast.pb.h"

namespace gw::noded::step {

class Destination {
 public:
  /// `path`: where it goes, absolute; a folder, or ended by a slash: into it, by the name of the source. Errors name
  /// the path and the system's words.
  static base::Result<Destination> open(const std::string& path, const wire::BcastHeader& header);
  Destination(Destination&&) noexcept = default;
  Destination& operator=(Destination&&) = delete;
  ~Destination();

  base::Status write(std::string_view bytes);
  /// Gives it its name: synced, with its mode and times. Errors as of open(); one that came meanwhile.
  base::Status commit(const wire::BcastHeader& header);
  uint64_t written() const { return written_; }
  const std::string& path() const { return path_; }

 private:
  std::string path_, folder_;
  std::string temporary_;  // its name until commit(), if it has one
  proc::OwnedFd fd_;
  uint64_t written_ = 0;

  Destination() = default;
  base::Status make();
  base::Status give_temporary_name();
  base::Status rename_into_place(bool force);
  std::string fresh_name() const;
};

}  // namespace gw::noded::step
