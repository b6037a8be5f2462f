// See mail.h.
#include "model/mail.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "base/text.h"

namespace gw::model {
namespace {

using base::invalid;

constexpr uint32_t kAllMail = kMailBegin | kMailEnd | kMailFail | kMailRequeue | kMailInvalidDependency | kMailStageOut;

constexpr std::array<std::pair<std::string_view, uint32_t>, 14> kMailEvents = {
    {{"NONE", 0},
     {"ALL", kAllMail},
     {"BEGIN", kMailBegin},
     {"END", kMailEnd},
     {"FAIL", kMailFail},
     {"REQUEUE", kMailRequeue},
     {"INVALID_DEPEND", kMailInvalidDependency},
     {"STAGE_OUT", kMailStageOut},
     {"TIME_LIMIT", kMailTimeLimit},
     {"TIME_LIMIT_90", kMailTimeLimit90},
     {"TIME_LIMIT_80", kMailTimeLimit80},
     {"TIME_LIMIT_50", kMailTimeLimit50},
     {"ARRAY_TASKS", kMailArrayTasks},
     {"REVOKED", 0}}};

bool is_plain(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
         std::string_view("._%+=@-").find(c) != std::string_view::npos;
}

base::Status check_user(const std::string& user) {
  const bool begins_well =
      !user.empty() && (std::isalnum(static_cast<unsigned char>(user.front())) != 0 || user[0] == '_');
  if (begins_well && std::all_of(user.begin() + 1, user.end(), is_plain)) return {};
  return invalid("--mail-user: \"" + base::printable(user, 60) + "\" is no user and no address",
                 "letters, digits and ._%+=@- only, such as name@example.org");
}

}  // namespace

base::Result<uint32_t> parse_mail_events(std::string_view text) {
  uint32_t events = 0;
  if (base::trim(text).empty()) return invalid("--mail-type: the value is empty", "NONE asks for no mail");
  for (const std::string& part : base::split(text, ',')) {
    const std::string_view word = base::trim(part);
    const auto row = std::find_if(kMailEvents.begin(), kMailEvents.end(),
                                  [&](const auto& each) { return base::iequals(word, each.first); });
    if (row == kMailEvents.end()) {
      std::vector<std::string> known;
      for (const auto& [name, event] : kMailEvents) known.emplace_back(name);
      return invalid("--mail-type: \"" + base::printable(word, 40) + "\" is none of " + base::join(known, ", "),
                     base::did_you_mean(std::string(word), known));
    }
    events |= row->second;
  }
  return events;
}

std::string format_mail_events(uint32_t events) {
  std::vector<std::string> words;
  for (const auto& [name, event] : kMailEvents)
    if (event != 0 && event != kAllMail && (events & event) == event) words.emplace_back(name);
  return words.empty() ? "NONE" : base::join(words, ",");
}

base::Result<std::vector<std::string>> parse_mail_users(std::string_view text) {
  std::vector<std::string> users;
  for (const std::string& part : base::split(text, ',')) {
    users.emplace_back(base::trim(part));
    GW_TRY_STATUS(check_user(users.back()));
  }
  if (users.empty()) GW_TRY_STATUS(check_user({}));
  if (users.size() > kMostMailUsers)
    return invalid("--mail-user: more than " + std::to_string(kMostMailUsers) + " addresses", "name a mailing list");
  return users;
}

}  // namespace gw::model
