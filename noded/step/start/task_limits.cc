// Resource limits of the submission.
#include "noded/step/start/task_limits.h"

#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace gw::noded::step {
namespace {

struct NamedLimit {
  std::string_view name;
  int resource;
};
constexpr NamedLimit kLimits[] = {
    {"CPU", RLIMIT_CPU},           {"FSIZE", RLIMIT_FSIZE},
    {"DATA", RLIMIT_DATA},         {"STACK", RLIMIT_STACK},
    {"CORE", RLIMIT_CORE},         {"RSS", RLIMIT_RSS},
    {"NPROC", RLIMIT_NPROC},       {"NOFILE", RLIMIT_NOFILE},
    {"MEMLOCK", RLIMIT_MEMLOCK},   {"AS", RLIMIT_AS},
    {"LOCKS", RLIMIT_LOCKS},       {"SIGPENDING", RLIMIT_SIGPENDING},
    {"MSGQUEUE", RLIMIT_MSGQUEUE}, {"NICE", RLIMIT_NICE},
    {"RTPRIO", RLIMIT_RTPRIO},     {"RTTIME", RLIMIT_RTTIME},
};

}  // namespace

std::optional<int> limit_resource(std::string_view name) {
  for (const NamedLimit& limit : kLimits)
    if (limit.name == name) return limit.resource;
  return std::nullopt;
}

std::string apply_limit(const std::string& name, uint64_t value) {
  const auto resource = limit_resource(name);
  if (!resource) return {};
  const auto which = static_cast<__rlimit_resource_t>(*resource);
  rlimit limit{};
  if (::getrlimit(which, &limit) == 0) {
    const rlim_t wanted = value == UINT64_MAX ? RLIM_INFINITY : static_cast<rlim_t>(value);
    limit.rlim_cur = std::min(wanted, limit.rlim_max);  // RLIM_INFINITY is the largest rlim_t
    if (::setrlimit(which, &limit) == 0) return {};
  }
  return "limit " + name + ": " + std::generic_category().message(errno);
}

}  // namespace gw::noded::step
