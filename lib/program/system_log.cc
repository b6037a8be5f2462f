// See system_log.h.
#include "program/system_log.h"

#include <spdlog/async_logger.h>
#include <spdlog/details/thread_pool.h>
#include <spdlog/sinks/syslog_sink.h>
#include <syslog.h>

namespace gw::program {

namespace {
constexpr size_t kMostWaiting = 1024;
}

struct SystemLog::Sink {
  explicit Sink(const std::string& daemon)
      : threads(std::make_shared<spdlog::details::thread_pool>(kMostWaiting, 1)),
        logger(std::make_shared<spdlog::async_logger>(
            "audit", std::make_shared<spdlog::sinks::syslog_sink_mt>(daemon, LOG_PID, LOG_AUTHPRIV, false), threads,
            spdlog::async_overflow_policy::overrun_oldest)) {}
  // The thread is waited for before what it writes through goes.
  ~Sink() { threads.reset(); }
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;

  std::shared_ptr<spdlog::details::thread_pool> threads;
  std::shared_ptr<spdlog::async_logger> logger;
};

SystemLog::SystemLog(const std::string& daemon) : sink_(std::make_unique<Sink>(daemon)) {}

SystemLog::~SystemLog() = default;

void SystemLog::write(const std::string& line) { sink_->logger->warn(line); }

}  // namespace gw::program
