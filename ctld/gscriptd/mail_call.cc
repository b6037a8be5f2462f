// See mail_call.h.
#include "ctld/gscriptd/mail_call.h"

#include <algorithm>
#include <cctype>

#include "base/text.h"
#include "model/mail.h"

namespace gw::ctld {
namespace {

constexpr size_t kMostSubject = 2'000, kMostVariables = 50, kMostValue = 8'000;

bool is_one_line(std::string_view text, size_t most) {
  return text.size() <= most && std::none_of(text.begin(), text.end(),
                                             [](char c) { return std::iscntrl(static_cast<unsigned char>(c)) != 0; });
}

/// Lines of plain text. Some programs take one that begins with a tilde for a command.
bool is_text(std::string_view text) {
  const auto is_control = [](char c) { return c != '\n' && std::iscntrl(static_cast<unsigned char>(c)) != 0; };
  return std::none_of(text.begin(), text.end(), is_control) && !text.starts_with('~') &&
         text.find("\n~") == std::string_view::npos;
}

bool is_of_job(std::string_view name) {
  return name.starts_with("SLURM_") && std::all_of(name.begin(), name.end(), [](char c) {
           return c == '_' || std::isupper(static_cast<unsigned char>(c)) != 0 ||
                  std::isdigit(static_cast<unsigned char>(c)) != 0;
         });
}

}  // namespace

base::Result<program::ProgramCall> mail_call(const wire::ScriptMail& mail, const config::Config& config) {
  if (config.mail_program.empty())
    return base::fail(base::ErrorCode::kUnavailable, "mail.program of the configuration names no program");
  program::ProgramCall call;
  call.program = config.mail_program;
  if (mail.subject().empty() || !is_one_line(mail.subject(), kMostSubject))
    return base::invalid("the subject is not one line");
  call.args = {"-s", mail.subject()};
  if (config.mail_double_dash) call.args.emplace_back("--");
  GW_TRY(users, model::parse_mail_users(mail.to()));
  for (const std::string& user : users)
    call.args.push_back(
        user.find('@') == std::string::npos && !config.mail_domain.empty() ? user + "@" + config.mail_domain : user);
  if (static_cast<size_t>(mail.variables_size()) > kMostVariables) return base::invalid("too many variables");
  for (const wire::ScriptVariable& variable : mail.variables()) {
    if (!is_of_job(variable.name()) || !is_one_line(variable.value(), kMostValue))
      return base::invalid("the variable " + base::printable(variable.name(), 40) + " is none of a job's");
    call.variables.push_back(variable.name() + "=" + variable.value());
  }
  if (!is_text(mail.body())) return base::invalid("the text has control characters, or a line that begins with ~");
  call.input = mail.body();
  return call;
}

}  // namespace gw::ctld
