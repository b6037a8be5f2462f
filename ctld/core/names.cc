// See names.h.
#include "ctld/core/names.h"

#include <fmt/format.h>

#include "base/text.h"

namespace gw::ctld {

std::string name_hint(const std::string& name, const std::vector<std::string>& known) {
  constexpr size_t kFew = 20;
  std::string near = base::did_you_mean(name, known);
  if (!near.empty() || known.empty() || known.size() > kFew) return near;
  return "there are: " + base::join(known, ", ");
}

base::Error invalid_name(base::ErrorCode code, NameOf kind, const std::string& name,
                         const std::vector<std::string>& known) {
  constexpr std::string_view kSentences[] = {"Invalid partition name specified", "Invalid node name specified",
                                             "Invalid account or account/partition combination specified",
                                             "Invalid qos specification"};
  return {code, fmt::format("{}: {}", kSentences[static_cast<size_t>(kind)], base::printable(name)),
          name_hint(name, known)};
}

base::Error no_such_job(base::JobId id) {
  return {base::ErrorCode::kNotFound, "Invalid job id specified: " + id.text(), ""};
}

}  // namespace gw::ctld
