// KEY=VALUE words of a QOS for gacctmgr. See acct.h.
#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "base/text.h"
#include "cmds/gacctmgr/acct.h"
#include "cmds/shared/update_keys.h"
#include "config/keys.h"
#include "model/qos.h"
#include "wire/convert.h"

namespace gw::cmds {
namespace {

using base::invalid;
using base::Result;
using base::Status;
using wire::QosPatch;
using Text = std::string_view;

/// A word about one key, under the name that it is told by.
struct Word {
  Text key;
  std::string value;
  char sign = 0;
  bool is_slurm = false;  ///< Slurm's meaning of 0 and -1.
};

/// A key, the names that Slurm has for the same (without underscores, in lower case), and what it does.
struct QosKey {
  Text name;
  std::array<Text, 4> slurm_names;
  Status (*set)(QosPatch&, const Word&);
  bool is_list = false;  ///< Takes += and -=.
};

Status bad(const Word& word, std::string what, std::string hint = {}) {
  return invalid(fmt::format("{}: {}", word.key, what), std::move(hint));
}

const config::KeyInfo& info_of(Text name) {
  for (const auto& key : config::qos_keys())
    if (key.info.name == name) return key.info;
  return config::qos_keys().front().info;
}

Result<int64_t> number(const Word& word) {
  const config::KeyInfo& info = info_of(word.key);
  return base::parse_int(word.value, info.min, info.max, word.key);
}

bool is_none(const Word& word) { return base::iequals(word.value, "none") || word.value == "-1"; }

/// 0 is no bound on the wire, and in Slurm a bound of nothing.
Status refuse_zero(const Word& word) {
  if (!word.is_slurm || word.value != "0") return {};
  return bad(word, "0 would take the bound away", "-1 says that; for nothing at all to run: GrpTRES=node=0");
}

Result<int64_t> bound(const Word& word) {
  if (is_none(word)) return 0;
  GW_TRY_STATUS(refuse_zero(word));
  return number(word);
}

template <void (QosPatch::*kSet)(uint32_t)>
Status set_bound(QosPatch& patch, const Word& word) {
  GW_TRY(n, bound(word));
  (patch.*kSet)(static_cast<uint32_t>(n));
  return {};
}

// ---- Lengths of time

Result<int64_t> length_us(const Word& word) {
  const config::KeyInfo& info = info_of(word.key);
  auto d = base::parse_duration(word.value);
  if (!d) return base::fail(d.error().code, fmt::format("{}: {}", word.key, d.error().what), d.error().hint);
  if (*d == base::kUnlimited || *d > base::seconds(info.max) || *d < base::seconds(info.min))
    return invalid(fmt::format("{}: {} is out of range", word.key, base::printable(word.value, 60)),
                   fmt::format("at most {} days", info.max / 86'400));
  return d->us;
}

bool is_bare(const std::string& text) {
  return !text.empty() && text != "0" && text.find_first_not_of("0123456789") == std::string::npos;
}

/// Bare numbers are minutes in Slurm's limits and seconds elsewhere: the own keys ask for the unit.
Result<int64_t> own_length(const Word& word) {
  if (is_bare(word.value) && word.value.size() < 10)
    return invalid(fmt::format("{}: {} has no unit", word.key, word.value),
                   fmt::format("write {0}s or {0}m", word.value));
  return length_us(word);
}

bool is_inherited(const Word& word) {
  return word.value.empty() || word.value == "-1" || base::iequals(word.value, "inherit");
}

Status set_grace(QosPatch& patch, const Word& word) {
  if (is_inherited(word)) return patch.set_grace_us(-1), Status{};
  GW_TRY(us, own_length(word));
  return patch.set_grace_us(us), Status{};
}

Status set_patience(QosPatch& patch, const Word& word) {
  if (is_inherited(word)) return patch.set_patience_us(-1), Status{};
  GW_TRY(us, own_length(word));
  return patch.set_patience_us(us), Status{};
}

/// Slurm's GraceTime counts seconds.
Status set_grace_seconds(QosPatch& patch, const Word& word) {
  Word in_seconds = word;
  if (is_bare(word.value)) in_seconds.value += 's';
  return set_grace(patch, in_seconds);
}

Status set_min_runtime(QosPatch& patch, const Word& word) {
  if (is_inherited(word)) return patch.set_min_runtime_us(0), Status{};
  GW_TRY(us, own_length(word));
  return patch.set_min_runtime_us(us), Status{};
}

/// Slurm's PreemptExemptTime counts minutes.
Status set_min_runtime_minutes(QosPatch& patch, const Word& word) {
  Word in_minutes = word;
  if (is_bare(word.value)) in_minutes.value += 'm';
  return set_min_runtime(patch, in_minutes);
}

Status set_max_wall(QosPatch& patch, const Word& word) {
  if (word.value.empty() || is_none(word) || base::iequals(word.value, "unlimited"))
    return patch.set_max_wall_us(0), Status{};
  GW_TRY_STATUS(refuse_zero(word));
  GW_TRY(us, length_us(word));
  return patch.set_max_wall_us(us), Status{};
}

// ---- Amounts

/// "gpu:8", "gpu=8", "gres/gpu:h100=8", "gpu:h100:8": resource and amount.
Result<std::pair<std::string, std::string>> split_amount(const Word& word, const std::string& part) {
  const size_t equals = part.rfind('=');
  const size_t at = equals != std::string::npos ? equals : part.rfind(':');
  if (at == std::string::npos || at == 0 || at + 1 == part.size())
    return invalid(fmt::format("{}: \"{}\" is not RESOURCE:AMOUNT", word.key, base::printable(part, 60)),
                   "such as gpu:8,mem:512G; gpu:none takes one away");
  auto resource = model::parse_resource(part.substr(0, at));
  if (!resource)
    return base::fail(resource.error().code, fmt::format("{}: {}", word.key, resource.error().what),
                      resource.error().hint);
  return std::pair(*resource, part.substr(at + 1));
}

Status add_amount(wire::AmountsPatch& patch, const Word& word, const std::string& resource, const std::string& text) {
  if (base::iequals(text, "none") || (word.is_slurm && text == "-1")) return patch.add_drop(resource), Status{};
  if (text.starts_with('-'))
    return bad(word, fmt::format("{} of {} is negative", base::printable(text, 60), base::printable(resource, 60)),
               "RESOURCE:none takes it away");
  const auto amount = model::parse_amount(resource, text);
  if (!amount) {
    const bool is_named = amount.error().what.starts_with(resource);
    const std::string what = is_named ? amount.error().what : fmt::format("{}: {}", resource, amount.error().what);
    return bad(word, base::printable(what), amount.error().hint);
  }
  wire::QosAmount& set = *patch.add_set();
  set.set_resource(resource);
  set.set_amount(*amount);
  return {};
}

Status set_amounts(wire::AmountsPatch& patch, const Word& word) {
  if (word.value.empty() || base::iequals(word.value, "none")) return patch.set_clear(true), Status{};
  std::set<std::string> seen;
  for (const std::string& part : base::split(word.value, ',')) {
    GW_TRY(one, split_amount(word, std::string(base::trim(part))));
    if (!seen.insert(one.first).second) return bad(word, base::printable(one.first, 60) + " stands twice");
    GW_TRY_STATUS(add_amount(patch, word, one.first, one.second));
  }
  return {};
}

// ---- Roles

Status set_names(wire::NamesPatch& patch, const Word& word) {
  if (word.sign == 0) patch.set_clear(true);
  if (word.value.empty() && word.sign == 0) return {};
  GW_TRY(names, name_list(word.key, word.value));
  for (const std::string& name : names) {
    // Who has left is taken away all the same.
    if (word.sign != '-')
      if (const Status known = check_role_name(name); !known) return bad(word, known.error().what, known.error().hint);
    word.sign == '-' ? patch.add_drop(name) : patch.add_add(name);
  }
  return {};
}

// ---- The table

Status set_parent(QosPatch& patch, const Word& word) {
  const bool is_root = word.is_slurm && word.value == "root";
  patch.set_parent(is_root ? std::string(model::kRootQos) : word.value);
  return {};
}

Status set_description(QosPatch& patch, const Word& word) {
  if (word.value.find_first_of("\n\r\t") != std::string::npos) return bad(word, "text of more than one line");
  return patch.set_description(word.value), Status{};
}

Status set_priority(QosPatch& patch, const Word& word) {
  GW_TRY(n, number(word));
  return patch.set_priority(n), Status{};
}

Status set_weight(QosPatch& patch, const Word& word) {
  GW_TRY(n, number(word));
  return patch.set_weight(static_cast<uint32_t>(n)), Status{};
}

Status set_budget(QosPatch& patch, const Word& word) {
  GW_TRY(budget, budget_word(word.value));
  *patch.mutable_budget() = budget;
  return {};
}

/// Slurm's limit of all that is ever used: "gres/gpu=300000", minutes.
Status set_budget_minutes(QosPatch& patch, const Word& word) {
  if (word.value.empty() || is_none(word)) return patch.mutable_budget(), Status{};
  GW_TRY(one, split_amount(word, word.value));
  if (one.first != "gpu")
    return bad(word, fmt::format("only minutes of gres/gpu are counted, not {}", base::printable(one.first, 60)),
               "GrpTRESMins=gres/gpu=MINUTES, or budget=5000gpuh/month");
  if (one.second == "-1") return patch.mutable_budget(), Status{};
  return set_budget(patch, {word.key, one.second + "gpumin/total", 0, true});
}

Status set_preempt_children(QosPatch& patch, const Word& word) {
  GW_TRY(yes, yes_or_no(std::string(word.key), word.value));
  return patch.set_preempt_children(yes), Status{};
}

constexpr QosKey kKeys[] = {
    {"parent", {"parentname"}, set_parent},
    {"description", {}, set_description},
    {"priority", {}, set_priority},
    {"weight", {"fairshare", "share", "shares"}, set_weight},
    {"guaranteed", {}, [](QosPatch& p, const Word& w) { return set_amounts(*p.mutable_guaranteed(), w); }},
    {"limit", {"grptres"}, [](QosPatch& p, const Word& w) { return set_amounts(*p.mutable_limit(), w); }},
    {"preempt_children", {}, set_preempt_children},
    {"min_runtime", {}, set_min_runtime},
    {"min_runtime", {"preemptexempttime"}, set_min_runtime_minutes},
    {"grace", {}, set_grace},
    {"grace", {"gracetime"}, set_grace_seconds},
    {"budget", {}, set_budget},
    {"budget", {"grptresmins"}, set_budget_minutes},
    {"patience", {}, set_patience},
    {"max_wall", {"maxwalldurationperjob", "maxwallpj"}, set_max_wall},
    {"max_jobs", {"grpjobs"}, set_bound<&QosPatch::set_max_jobs>},
    {"max_submit",
     {"grpsubmitjobs", "maxsubmitjobs", "grpsubmit", "maxsubmitjob"},
     set_bound<&QosPatch::set_max_submit>},
    {"max_jobs_per_user", {"maxjobspu"}, set_bound<&QosPatch::set_max_jobs_per_user>},
    {"max_submit_per_user",
     {"maxsubmitpu", "maxsubmitjobspu", "maxsubmitjobsperuser"},
     set_bound<&QosPatch::set_max_submit_per_user>},
    {"limit_per_user",
     {"maxtresperuser", "maxtrespu"},
     [](QosPatch& p, const Word& w) { return set_amounts(*p.mutable_limit_per_user(), w); }},
    {"users", {}, [](QosPatch& p, const Word& w) { return set_names(*p.mutable_users(), w); }, true},
    {"operators", {}, [](QosPatch& p, const Word& w) { return set_names(*p.mutable_operators(), w); }, true},
};
/// Said in Slurm's scripts of nearly every account; there is one cluster here, and nobody asks for the organization.
constexpr Text kNotKept[] = {"cluster", "clusters", "organization"};

std::string plain(Text key) {
  std::string out = base::to_lower(key);
  std::erase(out, '_');
  return out;
}

/// The key of this name, or the only one that begins so.
const QosKey* find_key(const std::string& name) {
  constexpr size_t kShortest = 3;
  const QosKey* begun = nullptr;
  bool is_ambiguous = false;
  const auto look = [&](const QosKey& key, const std::string& known) {
    if (known == name) return true;
    if (name.size() < kShortest || !known.starts_with(name)) return false;
    is_ambiguous |= begun != nullptr && begun->name != key.name;
    if (begun == nullptr) begun = &key;
    return false;
  };
  for (const QosKey& key : kKeys) {
    // A row that is only there for Slurm's name does not answer to the own one.
    const bool is_second = &key != kKeys && (&key - 1)->name == key.name;
    if (!is_second && look(key, plain(key.name))) return &key;
    for (Text slurm_name : key.slurm_names)
      if (!slurm_name.empty() && look(key, std::string(slurm_name))) return &key;
  }
  return is_ambiguous ? nullptr : begun;
}

base::Error unknown(const std::string& key) {
  std::vector<std::string> names, all;
  std::map<std::string, std::string> own;
  for (const QosKey& k : kKeys) {
    if (names.empty() || names.back() != k.name) names.emplace_back(k.name);
    own[plain(k.name)] = k.name;
    for (Text slurm_name : k.slurm_names)
      if (!slurm_name.empty()) own[std::string(slurm_name)] = slurm_name;
  }
  for (const auto& [name, shown] : own) all.push_back(name);
  const std::string close = base::nearest(key, all);
  return {base::ErrorCode::kInvalid, "unknown key \"" + base::printable(key, 60) + "\" of a QOS",
          close.empty() ? "known: " + base::join(names, ", ") : "did you mean \"" + own[close] + "\"?"};
}

bool is_not_kept(const std::string& key) {
  return std::find(std::begin(kNotKept), std::end(kNotKept), key) != std::end(kNotKept);
}

/// `users=a users+=b` contradict each other, `users+=a users-=b` do not.
Status check_once(std::map<Text, std::string>& signs, Text key, char sign) {
  std::string& before = signs[key];
  const bool clashes =
      !before.empty() && (sign == 0 || before.find_first_of(std::string{'=', sign}) != std::string::npos);
  if (clashes) return invalid(fmt::format("key {} stands twice", key), "say it once");
  before += sign == 0 ? '=' : sign;
  return {};
}

}  // namespace

Result<std::vector<std::string>> name_list(Text what, Text text) {
  std::vector<std::string> out;
  for (const std::string& part : base::split(text, ',')) {
    const Text name = base::trim(part);
    if (name.empty()) return invalid(fmt::format("{}: an empty name in \"{}\"", what, base::printable(text, 60)));
    out.emplace_back(name);
  }
  if (out.empty()) return invalid(fmt::format("{}: a name is missing", what));
  return out;
}

Result<wire::GpuBudget> budget_word(Text value) {
  if (value.empty() || base::iequals(value, "none")) return wire::GpuBudget();
  const auto budget = model::parse_gpu_budget(value);
  if (!budget) return base::fail(budget.error().code, "budget: " + budget.error().what, budget.error().hint);
  return wire::to_wire(*budget);
}

Status check_role_name(const std::string& name) {
  const bool is_group = name.starts_with('@');
  const std::string bare = is_group ? name.substr(1) : name;
  if (bare.empty()) return invalid("an empty name");
  const bool is_known = is_group ? ::getgrnam(bare.c_str()) != nullptr : ::getpwnam(bare.c_str()) != nullptr;
  if (is_known) return {};
  return invalid(fmt::format("this host has no {} {}", is_group ? "group" : "user", base::printable(bare, 60)),
                 fmt::format("getent {} {} must know it", is_group ? "group" : "passwd", base::printable(bare, 60)));
}

Result<AcctSetting> parse_acct_setting(Text word) {
  const size_t equals = word.find('=');
  if (equals == Text::npos || equals == 0) return invalid("\"" + base::printable(word, 60) + "\" is not KEY=VALUE");
  AcctSetting out;
  out.key = plain(word.substr(0, equals));
  out.value = word.substr(equals + 1);
  if (out.key.ends_with('+') || out.key.ends_with('-')) {
    out.sign = out.key.back();
    out.key.pop_back();
  }
  return out;
}

Status patch_from_words(std::span<const std::string> words, bool is_slurm, QosPatch& patch,
                        std::vector<std::string>& notes) {
  std::map<Text, std::string> signs;
  for (const std::string& text : words) {
    GW_TRY(setting, parse_acct_setting(text));
    if (is_not_kept(setting.key)) {
      notes.push_back(setting.key + "= has no meaning here and is not kept");
      continue;
    }
    const QosKey* key = find_key(setting.key);
    if (key == nullptr) return tl::unexpected(unknown(setting.key));
    if (setting.sign != 0 && !key->is_list)
      return invalid(fmt::format("{}{}= is for users and operators only", key->name, setting.sign),
                     fmt::format("write {}=VALUE", key->name));
    GW_TRY_STATUS(check_once(signs, key->name, setting.sign));
    const bool is_slurm_name = plain(key->name) != setting.key && !plain(key->name).starts_with(setting.key);
    GW_TRY_STATUS(key->set(patch, {key->name, setting.value, setting.sign, is_slurm || is_slurm_name}));
  }
  return {};
}

}  // namespace gw::cmds
