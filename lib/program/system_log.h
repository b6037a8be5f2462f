// Lines for the system's log (syslog), from a thread of their own: a syslog daemon that hangs holds nobody up, until
// the daemon ends, which waits for the lines that are left.
#pragma once

#include <memory>
#include <string>

namespace spdlog {
class logger;
}

namespace gw::program {

/// Facility `authpriv`, level warning, under the daemon's name with its pid. Of a flood that nobody takes the oldest
/// lines are dropped.
class SystemLog {
 public:
  explicit SystemLog(const std::string& daemon);
  ~SystemLog();
  SystemLog(const SystemLog&) = delete;
  SystemLog& operator=(const SystemLog&) = delete;

  void write(const std::string& line);

 private:
  struct Sink;
  std::unique_ptr<Sink> sink_;
};

}  // namespace gw::program
