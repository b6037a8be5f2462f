// See visitor.h.
#include "webd/core/visitor.h"

#include <algorithm>

#include "base/text.h"

namespace gw::webd {
namespace {

/// "[::1]:80" -> "[::1]", "Web.example.org:80" -> "web.example.org"; a dot at the end goes.
std::string host_of(std::string_view host) {
  const size_t bracket = host.find(']');
  const size_t colon = host.find(':', bracket == std::string_view::npos ? 0 : bracket);
  std::string name = base::to_lower(host.substr(0, colon));
  if (name.ends_with('.')) name.pop_back();
  return name;
}

}  // namespace

AllowedHosts::AllowedHosts(const std::string& listen, const std::vector<std::string>& hosts)
    : names_{"localhost", "127.0.0.1", "[::1]"} {
  if (!listen.starts_with('/') && !listen.starts_with("unix:") && !listen.starts_with('*'))
    names_.push_back(host_of(listen));
  for (const std::string& host : hosts) names_.push_back(host_of(host));
}

bool AllowedHosts::has(std::string_view host) const {
  return std::find(names_.begin(), names_.end(), host_of(host)) != names_.end();
}

bool AllowedHosts::has_origin(std::string_view origin) const {
  constexpr std::string_view kMark = "://";
  const size_t at = origin.find(kMark);
  return at != std::string_view::npos && has(origin.substr(at + kMark.size()));
}

}  // namespace gw::webd
