// Calls on threads of their own, waited for up to the limit.
#include "auth/timed.h"

#include <fmt/format.h>

#include <chrono>
#include <future>
#include <system_error>
#include <thread>

namespace gw::auth {

template <typename T, typename Fn>
base::Result<T> TimedAuthenticator::within_limit(Fn call) const {
  std::packaged_task<base::Result<T>()> task(std::move(call));
  auto answer = task.get_future();
  try {
    std::thread(std::move(task)).detach();
  } catch (const std::system_error& none) {
    return base::fail(base::ErrorCode::kUnavailable, fmt::format("no thread can be started: {}", none.what()),
                      "the user runs as many processes as it may (ulimit -u)");
  }
  if (answer.wait_for(std::chrono::microseconds(limit_.us)) == std::future_status::ready) return answer.get();
  return base::fail(base::ErrorCode::kUnavailable,
                    fmt::format("{} does not answer within {} s", where_, limit_.seconds()),
                    "it hangs: systemctl restart munge, or ask an administrator to");
}

base::Result<std::string> TimedAuthenticator::encode(std::string_view payload, uint32_t restrict_uid) {
  return within_limit<std::string>(
      [inner = inner_, text = std::string(payload), restrict_uid] { return inner->encode(text, restrict_uid); });
}

base::Result<Credential> TimedAuthenticator::decode(std::string_view credential) {
  return within_limit<Credential>([inner = inner_, text = std::string(credential)] { return inner->decode(text); });
}

}  // namespace gw::auth
