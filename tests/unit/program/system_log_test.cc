// Lines for the system's log: this program has a syslog() of its own, which the library calls in place of libc's.
#include "program/system_log.h"

#include <gtest/gtest.h>
#include <syslog.h>

#include <condition_variable>
#include <cstdarg>
#include <cstdio>
#include <mutex>
#include <string>
#include <vector>

namespace {

struct Heard {
  std::mutex mutex;
  std::condition_variable wake;
  std::vector<std::string> lines;
  std::vector<int> priorities;
  int facility = 0;
  bool is_stuck = false;
};

Heard& heard() {
  static Heard all;
  return all;
}

void hear(int priority, const char* format, va_list args) {
  char line[1000];
  vsnprintf(line, sizeof line, format, args);
  std::unique_lock lock(heard().mutex);
  heard().wake.wait(lock, [] { return !heard().is_stuck; });
  heard().lines.emplace_back(line);
  heard().priorities.push_back(priority);
}

}  // namespace

extern "C" {
void openlog(const char* /*name*/, int /*options*/, int facility) { heard().facility = facility; }
void closelog() {}
void syslog(int priority, const char* format, ...) {
  va_list args;
  va_start(args, format);
  hear(priority, format, args);
  va_end(args);
}
/// What libc's header makes of it where calls are checked (_FORTIFY_SOURCE).
void __syslog_chk(int priority, int /*flag*/, const char* format,
                  ...) {  // NOLINT(bugprone-reserved-identifier): libc's
  va_list args;
  va_start(args, format);
  hear(priority, format, args);
  va_end(args);
}
}

namespace gw::program {
namespace {

TEST(SystemLog, HasEachLineUnderItsFacility) {
  {
    SystemLog log("gctld");
    log.write("audit=drained uid=0");
    log.write("100% of {} as they are");
  }
  EXPECT_EQ(heard().lines, (std::vector<std::string>{"audit=drained uid=0", "100% of {} as they are"}));
  EXPECT_EQ(heard().facility, LOG_AUTHPRIV);
  EXPECT_EQ(heard().priorities, (std::vector<int>{LOG_WARNING, LOG_WARNING}));
  heard().lines.clear();
}

TEST(SystemLog, ThatIsStuckHoldsNobodyUp) {
  heard().is_stuck = true;
  {
    SystemLog log("gctld");
    for (int i = 0; i < 5'000; ++i) log.write(std::to_string(i));
    const std::lock_guard lock(heard().mutex);
    heard().is_stuck = false;
    heard().wake.notify_all();
  }
  EXPECT_LT(heard().lines.size(), 2'000U) << "the oldest were dropped";
  EXPECT_EQ(heard().lines.back(), "4999");
}

}  // namespace
}  // namespace gw::program
