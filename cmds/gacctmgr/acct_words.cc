// The words of gacctmgr as one change of the tree of quotas. See acct.h.
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
using wire::QuotaChange;
using Text = std::string_view;
using Words = std::vector<std::string>;

struct EntityWord {
  Text name;
  AcctEntity entity;
};
constexpr EntityWord kEntities[] = {{"qos", AcctEntity::kQos},
                                    {"accounts", AcctEntity::kAccount},
                                    {"users", AcctEntity::kUser},
                                    {"associations", AcctEntity::kAssociation},
                                    {"tree", AcctEntity::kTree},
                                    {"budgets", AcctEntity::kBudget},
                                    {"jobs", AcctEntity::kJob},
                                    {"coordinators", AcctEntity::kCoordinator},
                                    {"clusters", AcctEntity::kCluster},
                                    {"tres", AcctEntity::kTres},
                                    {"configuration", AcctEntity::kConfig},
                                    {"events", AcctEntity::kEvent},
                                    {"transactions", AcctEntity::kTransaction}};
constexpr std::pair<Text, Text> kVerbs[] = {
    {"add", "add"},       {"create", "add"}, {"modify", "modify"}, {"update", "modify"}, {"delete", "delete"},
    {"remove", "delete"}, {"show", "show"},  {"list", "show"},     {"dump", "dump"},     {"load", "load"}};
/// Of Slurm, and not here.
constexpr Text kEntitiesNotHere[] = {"federation", "instance",    "problem", "reservation",
                                     "resource",   "runawayjobs", "stats",   "wckey"};
constexpr Text kVerbsNotHere[] = {"archive", "clear", "ping", "reconfigure", "shutdown"};

Text entity_name(AcctEntity entity) {
  if (entity == AcctEntity::kCoordinator) return "coordinator";
  return entity == AcctEntity::kUser ? "user" : entity == AcctEntity::kAccount ? "account" : "qos";
}

/// What a segment says before it is known what of: names, and KEY=VALUE words.
struct ChangeWords {
  Words names, settings;
};

bool is_word(const std::string& text, Text word) { return base::iequals(text, word); }

/// name=, names=, and the entity's own word choose.
bool chooses(const std::string& key, AcctEntity entity) {
  const std::string own(entity_name(entity));
  return key == "name" || key == "names" || key == own || key == own + "s";
}

/// A word that says which: a name, names between commas, or name=NAMES.
Status take_names(const std::string& word, AcctEntity entity, Words& to) {
  std::string value = word;
  if (word.find('=') != std::string::npos) {
    GW_TRY(setting, parse_acct_setting(word));
    if (!chooses(setting.key, entity) || setting.sign != 0)
      return invalid(fmt::format("{}= does not say which {}", base::printable(setting.key, 60), entity_name(entity)),
                     "only name=NAMES does; what is to change stands behind `set`");
    value = setting.value;
  }
  GW_TRY(names, name_list(entity_name(entity), value));
  to.insert(to.end(), names.begin(), names.end());
  return {};
}

Status need_names(const ChangeWords& parsed, Text verb, AcctEntity entity) {
  if (!parsed.names.empty()) return {};
  return invalid(fmt::format("{} {}: no name given", verb, entity_name(entity)),
                 fmt::format("such as: {} {} NAME", verb, entity_name(entity)));
}

/// NAMES KEY=VALUE...
Result<ChangeWords> add_words(std::span<const std::string> words, AcctEntity entity) {
  ChangeWords out;
  for (const std::string& word : words) {
    if (is_word(word, "set")) continue;
    const bool is_setting = word.find('=') != std::string::npos;
    GW_TRY(key, is_setting ? parse_acct_setting(word) : Result<AcctSetting>(AcctSetting{"name", word, 0}));
    // `add user bob account=x`: an account is no name of a user, and a user none of a QOS.
    if (!is_setting || key.key == "name" || key.key == "names") {
      GW_TRY_STATUS(take_names(word, entity, out.names));
    } else {
      out.settings.push_back(word);
    }
  }
  GW_TRY_STATUS(need_names(out, "add", entity));
  return out;
}

/// [where] NAMES set KEY=VALUE...
Result<ChangeWords> modify_words(std::span<const std::string> words, AcctEntity entity) {
  ChangeWords out;
  bool has_set = false;
  for (const std::string& word : words) {
    if (has_set)
      out.settings.push_back(word);
    else if (is_word(word, "set"))
      has_set = true;
    else if (!is_word(word, "where"))
      GW_TRY_STATUS(take_names(word, entity, out.names));
  }
  GW_TRY_STATUS(need_names(out, "modify", entity));
  if (out.settings.empty())
    return invalid("No changes specified", fmt::format("such as: modify {} {} set KEY=VALUE", entity_name(entity),
                                                       base::printable(out.names.front(), 60)));
  return out;
}

/// [where] NAMES [KEY=VALUE...]
Result<ChangeWords> delete_words(std::span<const std::string> words, AcctEntity entity) {
  ChangeWords out;
  for (const std::string& word : words) {
    if (is_word(word, "where")) continue;
    const bool is_setting = word.find('=') != std::string::npos;
    GW_TRY(key, is_setting ? parse_acct_setting(word) : Result<AcctSetting>(AcctSetting{"name", word, 0}));
    if (!is_setting || chooses(key.key, entity)) {
      GW_TRY_STATUS(take_names(word, entity, out.names));
    } else {
      out.settings.push_back(word);
    }
  }
  GW_TRY_STATUS(need_names(out, "delete", entity));
  return out;
}

base::Error unknown_setting(const std::string& key, Text of, std::vector<std::string> known) {
  const std::string close = base::nearest(key, known);
  return {base::ErrorCode::kInvalid, fmt::format("unknown key \"{}\" of {}", base::printable(key, 60), of),
          close.empty() ? "known: " + base::join(known, ", ") : "did you mean \"" + close + "\"?"};
}

/// Puts segment after segment into one request.
class Maker {
 public:
  explicit Maker(bool is_slurm) : is_slurm_(is_slurm) {}

  Status take(std::span<const std::string> words) {
    GW_TRY(verb, verb_of(words));
    if (verb != "add" && verb != "modify" && verb != "delete")
      return invalid(fmt::format("{} stands alone", verb), "-- is between changes: add, modify, delete");
    if (words.empty()) return invalid(fmt::format("{}: of what?", verb), "qos, account or user");
    const AcctEntity entity = acct_entity(words.front());
    if (entity == AcctEntity::kNone) return tl::unexpected(unknown_entity(words.front()));
    if (entity == AcctEntity::kBudget)
      return invalid("a budget is changed at its QOS or user", "modify qos NAME set budget=5000gpuh/month");
    if (entity == AcctEntity::kJob)
      return invalid("of jobs only `modify` is known, and it stands alone",
                     "modify job where jobid=7 set derivedexitcode=1 comment=TEXT");
    const bool is_shown_only = entity == AcctEntity::kAssociation || entity == AcctEntity::kTree ||
                               entity == AcctEntity::kCluster || entity == AcctEntity::kTres ||
                               entity == AcctEntity::kConfig || entity == AcctEntity::kEvent ||
                               entity == AcctEntity::kTransaction;
    if (is_shown_only)
      return invalid(fmt::format("{} cannot be changed", base::printable(words.front(), 60)),
                     "change the qos, account or user");
    words = words.subspan(1);
    if (verb == "add") return add(words, entity);
    return verb == "modify" ? modify(words, entity) : remove(words, entity);
  }

  Result<QuotaChanges> finish() {
    if (out_.request.changes().empty()) return invalid("No changes specified");
    return std::move(out_);
  }

 private:
  bool is_slurm_;
  std::string verb_;
  QuotaChanges out_;

  /// The verb of a segment, taken off it; without one, that of the segment before.
  Result<std::string> verb_of(std::span<const std::string>& words) {
    if (words.empty())
      return invalid("a -- with nothing before or behind it", "it parts changes: modify qos NAME set KEY=VALUE");
    const std::string verb = acct_verb(words.front());
    if (!verb.empty()) {
      words = words.subspan(1);
      verb_ = verb;
    } else if (verb_.empty() || acct_entity(words.front()) == AcctEntity::kNone) {
      return tl::unexpected(unknown_verb_of_acct(words.front()));
    }
    return verb_;
  }

  QuotaChange& change(QuotaChange::What what, const std::string& name) {
    QuotaChange& out = *out_.request.add_changes();
    out.set_what(what);
    out.set_name(name);
    return out;
  }

  QuotaChange& user_change(QuotaChange::What what, const std::string& name) {
    QuotaChange& out = change(what, name);
    out.set_is_user(true);
    return out;
  }

  Status change_qos(QuotaChange::What what, const ChangeWords& parsed) {
    wire::QosPatch patch;
    GW_TRY_STATUS(patch_from_words(parsed.settings, is_slurm_, patch, out_.notes));
    for (const std::string& name : parsed.names) *change(what, name).mutable_qos() = patch;
    return {};
  }

  void tell(AcctEntity entity, const Words& names) {
    const Text of = verb_ == "add"                       ? entity == AcctEntity::kUser          ? "Adding User(s)"
                                                           : entity == AcctEntity::kAccount     ? "Adding Account(s)"
                                                           : entity == AcctEntity::kCoordinator ? "Adding Coordinator User(s)"
                                                                                                : "Adding QOS(s)"
                    : verb_ == "modify"                  ? entity == AcctEntity::kUser      ? "Modified user associations..."
                                                           : entity == AcctEntity::kAccount ? "Modified account associations..."
                                                                                            : "Modified qos..."
                    : entity == AcctEntity::kUser        ? "Deleting users..."
                    : entity == AcctEntity::kAccount     ? "Deleting accounts..."
                    : entity == AcctEntity::kCoordinator ? "Removing Coordinators..."
                                                         : "Deleting QOS(s)...";
    out_.told.push_back({verb_, std::string(of), names});
  }

  /// Which users of which accounts, in place of the users alone.
  void tell_associations(Text title, const Words& users, const Words& accounts) {
    Words lines;
    for (const std::string& account : accounts)
      for (const std::string& user : users) lines.push_back(fmt::format("A = {:<20} U = {}", account, user));
    out_.told.push_back({verb_, std::string(title), std::move(lines)});
  }

  /// A coordinator of an account is an operator of it.
  Status change_coordinators(const ChangeWords& parsed) {
    GW_TRY(settings, user_settings(parsed));
    if (!settings.says_nothing() || settings.qos.empty())
      return invalid("coordinators: of which accounts?", verb_ + " coordinator NAMES accounts=NAMES");
    if (verb_ == "add") GW_TRY_STATUS(check_users(parsed.names));
    out_.told.push_back({verb_, "To Account(s)", settings.qos});
    for (const std::string& qos : settings.qos) {
      wire::NamesPatch& operators = *change(QuotaChange::kModify, qos).mutable_qos()->mutable_operators();
      for (const std::string& name : parsed.names) verb_ == "add" ? operators.add_add(name) : operators.add_drop(name);
    }
    return {};
  }

  Status add(std::span<const std::string> words, AcctEntity entity) {
    GW_TRY(parsed, add_words(words, entity));
    tell(entity, parsed.names);
    if (entity == AcctEntity::kCoordinator) return change_coordinators(parsed);
    return entity == AcctEntity::kUser ? add_users(parsed) : change_qos(QuotaChange::kAdd, parsed);
  }

  Status modify(std::span<const std::string> words, AcctEntity entity) {
    if (entity == AcctEntity::kCoordinator)
      return invalid("coordinators are added and deleted", "add coordinator NAMES accounts=NAMES");
    GW_TRY(parsed, modify_words(words, entity));
    tell(entity, parsed.names);
    return entity == AcctEntity::kUser ? modify_users(parsed) : change_qos(QuotaChange::kModify, parsed);
  }

  Status remove(std::span<const std::string> words, AcctEntity entity) {
    GW_TRY(parsed, delete_words(words, entity));
    tell(entity, parsed.names);
    if (entity == AcctEntity::kCoordinator) return change_coordinators(parsed);
    if (entity == AcctEntity::kUser) return delete_users(parsed);
    std::string target;
    for (const std::string& word : parsed.settings) {
      GW_TRY(setting, parse_acct_setting(word));
      if (setting.key != "moveto") return tl::unexpected(unknown_setting(setting.key, "delete", {"name", "move_to"}));
      if (setting.value.empty()) return invalid("move_to: a QOS is missing");
      target = setting.value;
    }
    for (const std::string& name : parsed.names) change(QuotaChange::kDelete, name).set_move_to(target);
    return {};
  }

  // ---- Users

  struct UserSettings {
    Words qos;
    std::optional<std::string> default_qos;
    std::optional<wire::GpuBudget> budget;
    std::optional<bool> is_operator;  ///< Of the whole tree: Slurm's admin level Operator.
    bool says_nothing() const { return !default_qos && !budget && !is_operator; }
  };

  static Result<bool> admin_level(const std::string& value) {
    if (base::iequals(value, "none")) return false;
    if (base::iequals(value, "operator")) return true;
    if (base::iequals(value, "administrator") || base::iequals(value, "admin"))
      return invalid("administrators are named in the configuration",
                     "admins: [NAME] in gangway.yaml, then reconfigure");
    return invalid(fmt::format("Unknown admin level {}", base::printable(value, 60)), "None, Operator, Administrator");
  }

  Result<UserSettings> user_settings(const ChangeWords& parsed) {
    UserSettings out;
    for (const std::string& word : parsed.settings) {
      GW_TRY(setting, parse_acct_setting(word));
      const std::string& key = setting.key;
      if (key == "cluster" || key == "clusters") {
        out_.notes.push_back(key + "= has no meaning here and is not kept");
      } else if (key == "account" || key == "accounts" || key == "qos") {
        GW_TRY(names, name_list(key, setting.value));
        out.qos.insert(out.qos.end(), names.begin(), names.end());
      } else if (key == "defaultaccount" || key == "defaultqos") {
        out.default_qos = base::iequals(setting.value, "none") || setting.value == "-1" ? "" : setting.value;
      } else if (key == "budget") {
        GW_TRY(budget, budget_word(setting.value));
        out.budget = budget;
      } else if (key == "adminlevel" || key == "admin") {
        GW_TRY(is_operator, admin_level(setting.value));
        out.is_operator = is_operator;
      } else {
        return tl::unexpected(unknown_setting(
            key, "a user", {"account", "qos", "default_qos", "default_account", "budget", "admin_level"}));
      }
    }
    return out;
  }

  static Status check_users(const Words& names) {
    for (const std::string& name : names) GW_TRY_STATUS(check_role_name(name));
    return {};
  }

  void set_own(const Words& users, const UserSettings& settings) {
    if (settings.is_operator)
      for (const std::string& user : users) {
        wire::NamesPatch& operators =
            *change(QuotaChange::kModify, std::string(model::kRootQos)).mutable_qos()->mutable_operators();
        *settings.is_operator ? operators.add_add(user) : operators.add_drop(user);
      }
    if (!settings.default_qos && !settings.budget) return;
    for (const std::string& user : users) {
      QuotaChange& change = user_change(QuotaChange::kModify, user);
      if (settings.default_qos) change.set_default_qos(*settings.default_qos);
      if (settings.budget) *change.mutable_budget() = *settings.budget;
    }
  }

  Status add_users(const ChangeWords& parsed) {
    GW_TRY(settings, user_settings(parsed));
    GW_TRY_STATUS(check_users(parsed.names));
    if (settings.qos.empty() && settings.says_nothing())
      return invalid("add user: to which QOS?", "add account=QOS, or default_qos=QOS");
    if (!settings.qos.empty()) tell_associations("Associations =", parsed.names, settings.qos);
    for (const std::string& qos : settings.qos) {
      wire::NamesPatch& users = *change(QuotaChange::kModify, qos).mutable_qos()->mutable_users();
      for (const std::string& name : parsed.names) users.add_add(name);
    }
    set_own(parsed.names, settings);
    return {};
  }

  Status modify_users(const ChangeWords& parsed) {
    GW_TRY(settings, user_settings(parsed));
    if (!settings.qos.empty())
      return invalid("modify user: account= cannot be changed",
                     "add user NAME account=QOS, delete user NAME account=QOS");
    if (settings.says_nothing())
      return invalid("No changes specified", "known: default_qos, default_account, budget, admin_level");
    const bool gives = (settings.default_qos && !settings.default_qos->empty()) ||
                       (settings.budget && settings.budget->gpu_seconds() > 0) || settings.is_operator.value_or(false);
    if (gives) GW_TRY_STATUS(check_users(parsed.names));
    set_own(parsed.names, settings);
    return {};
  }

  Status delete_users(const ChangeWords& parsed) {
    GW_TRY(settings, user_settings(parsed));
    if (!settings.says_nothing())
      return invalid(fmt::format("delete user: {}= is no choice", settings.budget        ? "budget"
                                                                  : settings.is_operator ? "admin_level"
                                                                                         : "default_qos"),
                     "modify user NAME set default_qos= budget= admin_level=none");
    if (!settings.qos.empty()) {
      out_.told.pop_back();  // they stay users
      tell_associations("Deleting user associations...", parsed.names, settings.qos);
    }
    for (const std::string& qos : settings.qos) {
      wire::NamesPatch& users = *change(QuotaChange::kModify, qos).mutable_qos()->mutable_users();
      for (const std::string& name : parsed.names) users.add_drop(name);
    }
    if (settings.qos.empty())
      for (const std::string& name : parsed.names) user_change(QuotaChange::kDelete, name);
    return {};
  }
};

template <typename Rows>
bool is_beginning_of_one(const std::string& lower, const Rows& rows) {
  return lower.size() >= 3 &&
         std::any_of(std::begin(rows), std::end(rows), [&](Text row) { return row.starts_with(lower); });
}

}  // namespace

AcctEntity acct_entity(Text word) {
  const std::string lower = base::to_lower(word);
  AcctEntity found = AcctEntity::kNone;
  for (const EntityWord& e : kEntities) {
    if (lower.empty() || !e.name.starts_with(lower)) continue;
    if (found != AcctEntity::kNone) return AcctEntity::kNone;
    found = e.entity;
  }
  return found;
}

std::string acct_verb(Text word) {
  const std::string lower = base::to_lower(word);
  std::string found;
  for (const auto& [name, verb] : kVerbs) {
    if (lower.empty() || !name.starts_with(lower)) continue;
    if (name == lower) return std::string(verb);
    if (!found.empty() && found != verb) return {};
    found = verb;
  }
  return found;
}

base::Error unknown_entity(Text word) {
  const std::string lower = base::to_lower(word), shown = base::printable(word, 60);
  if (is_beginning_of_one(lower, kEntitiesNotHere))
    return {base::ErrorCode::kInvalid, shown + " is not supported in this version", "there are qos, account and user"};
  const std::vector<std::string> known = {"qos",  "account", "user",          "associations", "tree",   "budgets",
                                          "tres", "cluster", "configuration", "coordinator",  "events", "transactions"};
  std::string hint = base::did_you_mean(lower, known);
  return {base::ErrorCode::kInvalid, "no such thing: " + shown,
          hint.empty() ? "one of " + base::join(known, ", ") : std::move(hint)};
}

base::Error unknown_verb_of_acct(Text word) {
  const std::string lower = base::to_lower(word), shown = base::printable(word, 60);
  if (is_beginning_of_one(lower, kVerbsNotHere))
    return {base::ErrorCode::kInvalid, "command " + shown + " is not supported in this version", {}};
  std::vector<std::string> known;
  for (const auto& [name, verb] : kVerbs) known.emplace_back(name);
  std::string hint = base::did_you_mean(lower, known);
  return {base::ErrorCode::kInvalid, "invalid keyword: " + shown,
          hint.empty() ? "commands: " + base::join(known, ", ") : std::move(hint)};
}

Result<QuotaChanges> quota_changes(const Segments& segments, bool is_slurm) {
  Maker maker(is_slurm);
  for (const Words& words : segments) GW_TRY_STATUS(maker.take(words));
  return maker.finish();
}

}  // namespace gw::cmds
