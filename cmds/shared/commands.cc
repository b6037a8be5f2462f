// What the commands share.
#include "cmds/shared/commands.h"

#include <fmt/format.h>

#include "base/text.h"

namespace gw::cmds {
namespace {

using client::Program;

constexpr size_t kMaxIds = 1'000'000;

}  // namespace

Parsed parse_command(const Program& program, const client::CommandDoc& doc, const std::vector<client::Option>& table,
                     client::CommonFlags& flags, Args args, int usage_exit, client::ParseRules rules) {
  auto operands = client::parse_options(table, args, rules);
  if (flags.any()) return {printed(client::common_text(flags, program, doc, table)), {}};
  if (operands) return {std::nullopt, std::move(*operands)};
  client::print_error(program, operands.error());
  client::print_note(program, "Try \"" + program.name + " --help\" for more information");
  return {usage_exit, {}};
}

int failed(const Program& program, const base::Error& error, int code) {
  client::print_error(program, error);
  return code;
}

int refuse_operand(const client::Program& program, const std::string& word, std::string hint) {
  return failed(program,
                {base::ErrorCode::kInvalid, "unexpected argument \"" + base::printable(word) + "\"", std::move(hint)});
}

int printed(std::string_view text) { return client::print_out(text) ? client::kExitOk : client::kExitFailed; }

client::Handler sets(bool& flag) {
  return [&flag](std::string_view) {
    flag = true;
    return base::Status{};
  };
}

client::Handler keeps(std::string& text) {
  return [&text](std::string_view value) {
    text = value;
    return base::Status{};
  };
}

client::Handler lists(std::vector<std::string>& list, std::string_view option) {
  return [&list, option](std::string_view value) -> base::Status {
    for (const std::string& part : base::split(value, ',')) {
      const std::string_view word = base::trim(part);
      if (word.empty())
        return base::invalid("option " + std::string(option) + ": an empty name in \"" + base::printable(value, 60) +
                             "\"");
      list.emplace_back(word);
    }
    if (value.empty()) return base::invalid("option " + std::string(option) + " needs a value");
    return {};
  };
}

base::Status parse_job_ids(std::string_view text, std::vector<uint32_t>& ids) {
  const std::string shown = base::printable(text, 60);
  if (text.empty()) return base::invalid("Invalid job id: the text is empty");
  for (const std::string& part : base::split(text, ',')) {
    if (part.find('_') != std::string::npos || part.find('[') != std::string::npos)
      return base::invalid("Invalid job id " + shown, "array tasks are not supported in this version");
    if (part.find('.') != std::string::npos)
      return base::invalid("Invalid job id " + shown,
                           "name the job; steps go with gqueue -s, gcancel and gcontrol show step");
    // "12+1" is component 1 of job 12, whose own id is 13.
    if (const size_t plus = part.find('+'); plus != std::string::npos) {
      const auto job = base::parse_int(std::string_view(part).substr(0, plus), 1, UINT32_MAX, "job id");
      const auto offset = base::parse_int(std::string_view(part).substr(plus + 1), 0, 1000, "component");
      if (!job || !offset || *job + *offset > UINT32_MAX) return base::invalid("Invalid job id " + shown);
      ids.push_back(static_cast<uint32_t>(*job + *offset));
      continue;
    }
    const size_t dash = part.find('-');
    auto low = base::parse_int(std::string_view(part).substr(0, dash), 1, UINT32_MAX, "job id");
    auto high = dash == std::string::npos
                    ? low
                    : base::parse_int(std::string_view(part).substr(dash + 1), 1, UINT32_MAX, "job id");
    if (!low || !high) return base::invalid("Invalid job id " + shown);
    if (*high < *low) return base::invalid("Invalid job id " + shown, "the range runs backwards");
    if (static_cast<uint64_t>(*high - *low) + ids.size() >= kMaxIds)
      return base::invalid("Invalid job id " + shown, fmt::format("at most {} ids at once", kMaxIds));
    for (int64_t id = *low; id <= *high; ++id) ids.push_back(static_cast<uint32_t>(id));
  }
  return {};
}

base::Result<wire::ApiReply> ask(const Program& program, wire::ApiRequest request) {
  GW_TRY(connection, client::connect(program));
  return connection.call(std::move(request));
}

}  // namespace gw::cmds
