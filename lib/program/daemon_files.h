// The files that a daemon keeps about itself: its log and its pid.
#pragma once

#include <string>

#include "base/result.h"

namespace gw::program {

/// Lines of spdlog go to the file (empty: standard error), each with the time. `level`: "debug", "info", "warning",
/// "error". Errors: the file cannot be written.
base::Status set_up_log(const std::string& daemon, const std::string& file, const std::string& level);

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

}  // namespace gw::program
