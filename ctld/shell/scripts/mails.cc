// See mails.h.
#include "ctld/shell/scripts/mails.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace gw::ctld {

namespace {

constexpr base::Duration kQuiet = base::minutes(10);

void log_failure(const std::string& subject, const base::Result<wire::FromScripts>& answer) {
  constexpr size_t kShown = 300;
  if (!answer) return spdlog::warn("mail may not have been sent: {}: {}", subject, answer.error().text());
  if (answer->exit_code() == 0) return;
  spdlog::warn("mail not sent: {}: exit code {}{}{}", subject, answer->exit_code(),
               answer->output().empty() ? "" : ": ", base::printable(answer->output(), kShown));
}

}  // namespace

Mails::Mails(io::Loop& loop, std::string socket)
    : queue_(loop, std::move(socket), "mail", {kMostOfUser, kMostWaiting, 1, kMostUnderWay, base::kUnlimited}) {}

void Mails::send(SendMail mail, base::Time now) {
  if (!queue_.has_room_for(mail.uid)) {
    if (now - told_ > kQuiet) spdlog::warn("mail about a job of uid {} is dropped: too many wait", mail.uid);
    told_ = std::max(told_, now);
    return;
  }
  wire::ToScripts message;
  wire::ScriptMail& out = *message.mutable_mail();
  out.set_to(std::move(mail.to));
  out.set_subject(mail.subject);
  out.set_body(std::move(mail.body));
  for (auto& [name, value] : mail.variables) {
    wire::ScriptVariable& variable = *out.add_variables();
    variable.set_name(name);
    variable.set_value(std::move(value));
  }
  (void)queue_.add(mail.uid, std::move(message),
                   [subject = std::move(mail.subject)](const auto& answer) { log_failure(subject, answer); });
}

}  // namespace gw::ctld
