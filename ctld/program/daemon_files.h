// The files that a daemon of the controller's host keeps about itself: its log and its pid.
#pragma once

#include <string>

#include "base/result.h"

namespace gw::ctld {

/// Lines of spdlog go to the file (empty: standard error), each with the time. Errors: the file cannot be written.
base::Status set_up_log(const std::string& daemon, const std::string& file, bool is_verbose);

/// Writes the process id into a file, which goes with this.
class PidFile {
 public:
  PidFile() = default;
  ~PidFile();
  PidFile(const PidFile&) = delete;
  PidFile& operator=(const PidFile&) = delete;
  /// Nothing with an empty path. Errors: the file cannot be written.
  base::Status write(const std::string& path);

 private:
  std::string path_;
};

}  // namespace gw::ctld
