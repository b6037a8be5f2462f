// See daemon_files.h.
#include "program/daemon_files.h"

#include <fmt/format.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace gw::program {

base::Status set_up_log(const std::string& daemon, const std::string& file, const std::string& level) {
  try {
    auto logger = file.empty() ? spdlog::stderr_color_mt(daemon) : spdlog::basic_logger_mt(daemon, file);
    logger->set_pattern("%Y-%m-%dT%H:%M:%S.%e %l %v");
    logger->set_level(spdlog::level::from_str(level));
    logger->flush_on(spdlog::level::info);
    spdlog::set_default_logger(logger);
  } catch (const spdlog::spdlog_ex& e) {
    return base::invalid(fmt::format("cannot write the log {}: {}", file, e.what()));
  }
  return {};
}

base::Status PidFile::write(const std::string& path) {
  if (path.empty()) return {};
  std::ofstream out(path);
  out << getpid() << '\n';
  out.close();
  if (!out) return base::invalid("cannot write the pid file " + path);
  path_ = path;
  return {};
}

PidFile::~PidFile() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove(path_, ignored);
}

}  // namespace gw::program
