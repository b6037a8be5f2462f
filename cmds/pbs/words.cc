// See words.h.
#include "cmds/pbs/words.h"

#include "base/text.h"
#include "cmds/pbs/attributes.h"
#include "cmds/queue/ids.h"

namespace gw::cmds::pbs {

base::Result<std::vector<std::string>> read_letters(Args args, std::string_view letters, const TakeLetter& take) {
  std::vector<std::string> operands;
  bool is_over = false;
  for (size_t i = 0; i < args.size(); ++i) {
    const std::string& word = args[i];
    if (is_over || word.size() < 2 || word[0] != '-') {
      operands.push_back(word);
      continue;
    }
    if (word == "--") {
      is_over = true;
      continue;
    }
    for (size_t at = 1; at < word.size(); ++at) {
      const size_t place = word[at] == ':' ? std::string_view::npos : letters.find(word[at]);
      if (place == std::string_view::npos)
        return base::invalid("invalid option -- '" + base::printable(word.substr(at, 1)) + "'");
      std::string value;
      const bool has_value = place + 1 < letters.size() && letters[place + 1] == ':';
      if (has_value) {
        value = word.substr(at + 1);
        if (value.empty() && i + 1 >= args.size())
          return base::invalid("option requires an argument -- '" + word.substr(at, 1) + "'");
        if (value.empty()) value = args[++i];
      }
      GW_TRY_STATUS(take(word[at], value));
      if (has_value) break;
      if (at + 1 == word.size()) break;
    }
  }
  return operands;
}

std::optional<int> answer_common(const queue::Caller& caller, Args args, std::string_view usage) {
  if (args.empty()) return std::nullopt;
  const std::string& word = args.front();
  if (word == "--help") return printed("usage: " + std::string(usage) + "\n");
  if (word != "--version") return std::nullopt;
  return printed(caller.is_torque() ? "Version: " + version_text(true) + "\n"
                                    : "pbs_version = " + version_text(false) + "\n");
}

void narrow(JobIds& ids, const std::string& tasks) {
  if (tasks.empty()) return;
  for (const uint32_t job : ids.jobs) ids.tasks[job] = tasks;
  ids.jobs.clear();
}

JobIds read_ids(const queue::Caller& caller, const std::vector<std::string>& words, const std::string& cluster,
                int& code) {
  JobIds ids;
  for (const std::string& word : words) {
    const base::Status read = queue::parse_pbs_id(word, cluster, ids);
    if (read) continue;
    if (read.error().code == base::ErrorCode::kNotFound) {
      code = refuse_unknown(caller, word);
      queue::say(caller, read.error().text(), code);
    } else {
      code = queue::say(caller, read.error().text(), kExitUsage);
    }
  }
  return ids;
}

}  // namespace gw::cmds::pbs
