// Files of `sacctmgr dump` as a tree of quotas. See acct.h.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "cmds/gacctmgr/acct.h"
#include "model/qos.h"

namespace gw::cmds {
namespace {

using base::invalid;
using base::Result;
using base::Status;

/// "Account - 'physics':Fairshare=10:Description='of all'"
struct DumpLine {
  std::string kind, name;
  std::vector<std::pair<std::string, std::string>> settings;
};

/// Up to an end that stands outside quotes; takes it off.
std::string take_until(std::string_view& text, char end) {
  std::string out;
  bool is_quoted = false;
  size_t i = 0;
  for (; i < text.size() && (is_quoted || text[i] != end); ++i) {
    if (text[i] == '\'')
      is_quoted = !is_quoted;
    else
      out += text[i];
  }
  text.remove_prefix(std::min(text.size(), i + 1));
  return out;
}

Result<DumpLine> read_dump_line(std::string_view line) {
  DumpLine out;
  const size_t dash = line.find(" - ");
  if (dash == std::string_view::npos)
    return invalid("\"" + base::printable(line, 60) + "\" is no line of a dump", "KIND - 'NAME':KEY=VALUE...");
  out.kind = std::string(base::trim(line.substr(0, dash)));
  std::string_view rest = base::trim(line.substr(dash + 3));
  out.name = take_until(rest, ':');
  if (out.name.empty()) return invalid(out.kind + " has no name");
  while (!rest.empty()) {
    const std::string setting = take_until(rest, ':');
    const size_t equals = setting.find('=');
    if (equals == std::string::npos) return invalid("\"" + base::printable(setting, 60) + "\" is not KEY=VALUE");
    out.settings.emplace_back(setting.substr(0, equals), setting.substr(equals + 1));
  }
  return out;
}

/// Keys of an account that are no words of ours, or mean something else there.
enum class DumpKey : uint8_t { kWord, kNoted, kIgnored };
struct KnownKey {
  std::string_view name;
  DumpKey what = DumpKey::kWord;
  std::string_view word = {};  ///< How it is said here, where that differs.
};
constexpr KnownKey kAccountKeys[] = {
    {"Description"},
    {"Fairshare"},
    {"GrpTRES"},
    {"GrpJobs"},
    {"GrpSubmitJobs"},
    {"GrpSubmit", DumpKey::kWord, "GrpSubmitJobs"},
    {"GrpTRESMins"},
    {"MaxJobs", DumpKey::kWord, "MaxJobsPU"},  // in Slurm of each user
    {"MaxSubmitJobs", DumpKey::kWord, "MaxSubmitPU"},
    {"MaxSubmit", DumpKey::kWord, "MaxSubmitPU"},
    {"MaxWallDurationPerJob", DumpKey::kWord, "MaxWall"},
    {"MaxWall"},
    {"GrpTRESRunMins", DumpKey::kNoted},
    {"GrpWall", DumpKey::kNoted},
    {"MaxJobsAccrue", DumpKey::kNoted},
    {"GrpJobsAccrue", DumpKey::kNoted},
    {"MaxTRES", DumpKey::kNoted},
    {"MaxTRESPerJob", DumpKey::kNoted},
    {"MaxTRESPerNode", DumpKey::kNoted},
    {"MaxTRESMins", DumpKey::kNoted},
    {"MaxTRESMinsPerJob", DumpKey::kNoted},
    {"MaxTRESRunMins", DumpKey::kNoted},
    {"MinPrioThreshold", DumpKey::kNoted},
    {"Priority"},
    {"QOS", DumpKey::kNoted},
    {"DefaultQOS", DumpKey::kNoted},
    {"GrpCPUs", DumpKey::kNoted},  // of older versions, from here on
    {"GrpNodes", DumpKey::kNoted},
    {"GrpMemory", DumpKey::kNoted},
    {"GrpCPUMins", DumpKey::kNoted},
    {"GrpCPURunMins", DumpKey::kNoted},
    {"MaxCPUs", DumpKey::kNoted},
    {"MaxCPUsPerJob", DumpKey::kNoted},
    {"MaxNodes", DumpKey::kNoted},
    {"MaxNodesPerJob", DumpKey::kNoted},
    {"MaxCPUMins", DumpKey::kNoted},
    {"MaxCPUMinsPerJob", DumpKey::kNoted},
    {"Organization", DumpKey::kIgnored},
    {"Comment", DumpKey::kIgnored},
    {"Flags", DumpKey::kIgnored},
    {"Lineage", DumpKey::kIgnored},
    {"Classification", DumpKey::kIgnored},
};
/// Of a user, beside those of an account.
constexpr std::string_view kUserKeys[] = {"DefaultAccount", "DefaultWCKey", "AdminLevel", "Coordinator"};

const KnownKey* find_dump_key(const std::string& name) {
  const auto* found = std::find_if(std::begin(kAccountKeys), std::end(kAccountKeys),
                                   [&](const KnownKey& k) { return base::iequals(k.name, name); });
  return found == std::end(kAccountKeys) ? nullptr : found;
}

Status unknown_key_of_dump(const std::string& key) {
  std::vector<std::string> names(std::begin(kUserKeys), std::end(kUserKeys));
  for (const KnownKey& k : kAccountKeys) names.emplace_back(k.name);
  return invalid("unknown key \"" + base::printable(key, 60) + "\"", base::did_you_mean(key, names));
}

class DumpReader {
 public:
  Status add(const DumpLine& line) {
    if (line.kind == "Cluster") return {};
    if (line.kind == "Parent") return set_parent(line.name);
    if (line.kind == "Account") return add_account(line);
    if (line.kind == "User") return add_user(line);
    return invalid("\"" + base::printable(line.kind, 60) + "\" is no kind of line",
                   "Cluster, Parent, Account and User are");
  }

  QuotaChanges finish() {
    QuotaChanges out;
    out.request.set_replace(true);
    for (const std::string& name : order_) {
      wire::QuotaChange& change = *out.request.add_changes();
      change.set_what(wire::QuotaChange::kAdd);
      change.set_name(name);
      *change.mutable_qos() = accounts_[name];
    }
    for (const auto& [name, account] : default_of_) {
      wire::QuotaChange& change = *out.request.add_changes();
      change.set_what(wire::QuotaChange::kAdd);
      change.set_name(name);
      change.set_is_user(true);
      if (accounts_.contains(account)) change.set_default_qos(account);
    }
    for (const auto& [text, count] : noted_)
      notes_.push_back(count == 1 ? text : fmt::format("{} (and {} more)", text, count - 1));
    out.notes = std::move(notes_);
    return out;
  }

 private:
  Status set_parent(const std::string& name) {
    if (name != "root" && !accounts_.contains(name))
      return invalid("account \"" + base::printable(name, 60) + "\" was not there before",
                     "a parent stands before what is below it");
    parent_ = name;
    return {};
  }

  Status add_account(const DumpLine& line) {
    if (line.name == "root") return {};
    if (accounts_.contains(line.name))
      return invalid("account \"" + base::printable(line.name, 60) + "\" stands twice");
    wire::QosPatch patch;
    patch.set_parent(parent_ == "root" ? std::string(model::kRootQos) : parent_);
    for (const auto& [key, value] : line.settings) GW_TRY_STATUS(set_of_account(patch, line.name, key, value));
    order_.push_back(line.name);
    accounts_[line.name] = std::move(patch);
    return {};
  }

  Status set_of_account(wire::QosPatch& patch, const std::string& account, const std::string& key,
                        const std::string& value) {
    const KnownKey* known = find_dump_key(key);
    if (known == nullptr) return unknown_key_of_dump(key);
    if (known->what == DumpKey::kNoted)
      note(fmt::format("{} of accounts has no counterpart here", known->name), account);
    if (known->what != DumpKey::kWord || value.empty()) return {};
    if (base::iequals(key, "Fairshare") && base::iequals(value, "parent")) return {};
    const std::string word = fmt::format("{}={}", known->word.empty() ? known->name : known->word, value);
    return patch_from_words(std::vector<std::string>{word}, true, patch, notes_);
  }

  Status add_user(const DumpLine& line) {
    const bool is_admin = std::any_of(line.settings.begin(), line.settings.end(), [](const auto& s) {
      return base::iequals(s.first, "AdminLevel") && !base::iequals(s.second, "none");
    });
    for (const auto& [key, value] : line.settings) {
      const bool is_users = std::any_of(std::begin(kUserKeys), std::end(kUserKeys),
                                        [&, &name = key](std::string_view k) { return base::iequals(k, name); });
      if (!is_users && find_dump_key(key) == nullptr) return unknown_key_of_dump(key);
      if (!is_users && !base::iequals(key, "Fairshare"))
        note("limits of single users are not kept: a QOS has max_jobs_per_user, limit_per_user", line.name);
    }
    if (line.name == "root") return {};
    if (!check_role_name(line.name)) return note("left out: nobody is called so on this host", line.name), Status{};
    if (is_admin) note("administrators stand in the configuration: admins", line.name);
    if (parent_ == "root") return {};
    accounts_[parent_].mutable_users()->add_add(line.name);
    return set_of_user(line);
  }

  Status set_of_user(const DumpLine& line) {
    for (const auto& [key, value] : line.settings) {
      if (base::iequals(key, "DefaultAccount")) default_of_.emplace(line.name, value);
      if (!base::iequals(key, "Coordinator")) continue;
      for (const std::string& account : base::split(value, ','))
        if (accounts_.contains(account)) accounts_[account].mutable_operators()->add_add(line.name);
    }
    return {};
  }

  /// One note of a kind, with the first name and how many more there are.
  void note(const std::string& what, const std::string& name) {
    for (auto& [text, count] : noted_)
      if (text.starts_with(what + ": ")) return static_cast<void>(++count);
    noted_.emplace_back(what + ": " + base::printable(name, 60), 1);
  }

  std::string parent_ = "root";
  std::map<std::string, wire::QosPatch> accounts_;
  std::vector<std::string> order_;
  std::map<std::string, std::string> default_of_;
  std::vector<std::pair<std::string, size_t>> noted_;
  std::vector<std::string> notes_;
};

}  // namespace

bool is_slurm_dump(std::string_view text) {
  while (!text.empty()) {
    const size_t end = text.find('\n');
    const std::string_view line = base::trim(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (!line.empty() && line.front() != '#') return line.starts_with("Cluster - ");
  }
  return false;
}

Result<QuotaChanges> slurm_dump_changes(std::string_view text, const std::string& path) {
  DumpReader reader;
  std::vector<std::string> problems;
  for (size_t number = 1; !text.empty(); ++number) {
    const size_t end = text.find('\n');
    const std::string_view line = base::trim(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.empty() || line.front() == '#') continue;
    auto read = read_dump_line(line);
    const Status done = read ? reader.add(*read) : Status(tl::unexpected(read.error()));
    if (!done) problems.push_back(fmt::format("{}:{}: {}", path, number, done.error().text()));
  }
  if (!problems.empty()) return invalid(base::join(problems, "\n"));
  return reader.finish();
}

}  // namespace gw::cmds
