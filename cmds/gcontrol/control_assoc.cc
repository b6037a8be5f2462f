// show assoc_mgr: users, accounts and QOS with their limits and what is used of them, in Slurm's words. An account is a
// QOS of the quota tree (docs/migrating-from-slurm.md).
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "cmds/gcontrol/control_verbs.h"
#include "cmds/shared/admin_level.h"
#include "model/qos.h"

namespace gw::cmds {
namespace {

using client::Program;
using Amounts = google::protobuf::RepeatedPtrField<wire::QosAmount>;

/// What is asked for by `users=`, `accounts=`, `qos=` and `flags=`; empty: all.
struct AssocChoice {
  std::set<std::string> users, accounts, qos, flags;
};

base::Result<AssocChoice> parse_choice(Args words) {
  AssocChoice choice;
  const std::map<std::string, std::set<std::string>*> keys = {
      {"users", &choice.users},      {"user", &choice.users}, {"accounts", &choice.accounts},
      {"account", &choice.accounts}, {"qos", &choice.qos},    {"flags", &choice.flags}};
  for (const std::string& word : words) {
    const size_t equals = word.find('=');
    const auto key = keys.find(base::to_lower(word.substr(0, equals)));
    if (equals == std::string::npos || key == keys.end())
      return base::invalid("invalid entity: " + base::printable(word, 60) + " for keyword: show assoc_mgr",
                           "users=NAMES, accounts=NAMES, qos=NAMES, flags=users,assoc,qos");
    for (const std::string& name : base::split(word.substr(equals + 1), ','))
      if (!name.empty()) key->second->insert(key->second == &choice.flags ? base::to_lower(name) : name);
  }
  for (const std::string& flag : choice.flags)
    if (flag != "users" && flag != "assoc" && flag != "qos")
      return base::invalid("invalid flag \"" + base::printable(flag, 60) + "\" of show assoc_mgr", "users, assoc, qos");
  return choice;
}

/// "N(3)": no bound, 3 are used; "10(3)".
std::string with_use(uint64_t limit, uint64_t used) {
  return fmt::format("{}({})", limit == 0 ? "N" : std::to_string(limit), used);
}

/// Slurm's name of a resource.
std::string tres_name(const std::string& resource) {
  static constexpr std::string_view kPlain[] = {"cpu", "mem", "node"};
  return std::find(std::begin(kPlain), std::end(kPlain), resource) != std::end(kPlain) ? resource : "gres/" + resource;
}

/// "cpu=N(12),gres/gpu=8(4)"
std::string tres_list(const Amounts& limits, const wire::QosShare* share) {
  std::map<std::string, std::pair<uint64_t, uint64_t>> lines;  // limit, used
  for (const wire::QosAmount& one : limits) lines[one.resource()].first = one.amount();
  if (share != nullptr)
    for (const wire::QosShare::Line& line : share->lines())
      if (line.resource() != "job") lines[line.resource()].second = line.held();  // GrpJobs has those
  std::vector<std::string> parts;
  for (const auto& [resource, line] : lines)
    parts.push_back(fmt::format("{}={}({})", tres_name(resource),
                                line.first == 0 ? "N" : model::format_amount(resource, line.first),
                                model::format_amount(resource, line.second)));
  return base::join(parts, ",");
}

std::string tres_list(const Amounts& limits) {
  std::vector<std::string> parts;
  for (const wire::QosAmount& one : limits)
    parts.push_back(
        fmt::format("{}={}", tres_name(one.resource()), model::format_amount(one.resource(), one.amount())));
  return base::join(parts, ",");
}

std::string bound(uint32_t limit) { return limit == 0 ? std::string() : std::to_string(limit); }

std::string wall(int64_t us) { return us == 0 ? std::string() : std::to_string(us / 60'000'000); }

/// What both records say of a QOS and the jobs below it.
std::string group_lines(const wire::Qos& q, const wire::QosShare* share) {
  const uint64_t running = share == nullptr ? 0 : share->running(), waiting = share == nullptr ? 0 : share->waiting();
  return fmt::format("    GrpJobs={} GrpJobsAccrue=N(0) GrpSubmitJobs={} GrpWall=N(0.00)\n    GrpTRES={}\n",
                     with_use(q.max_jobs(), running), with_use(q.max_submit(), running + waiting),
                     tres_list(q.limit(), share));
}

class AssocText {
 public:
  AssocText(const AssocChoice& choice, const wire::ListQuotasReply& quotas, const wire::ShowSharesReply& shares,
            const config::Config& config)
      : choice_(choice), quotas_(quotas), cluster_(config.cluster), levels_(quotas, config) {
    for (const wire::QosShare& share : shares.qos()) shares_[share.name()] = &share;
    bool has_default = quotas.default_qos().empty();
    for (const wire::Qos& q : quotas.qos()) {
      if (q.name() != model::kRootQos) qos_.push_back(q);
      has_default |= q.name() == quotas.default_qos();
    }
    if (has_default) return;
    wire::Qos& q = qos_.emplace_back();  // jobs may name it all the same
    q.set_name(quotas.default_qos());
    q.set_weight(1);
  }

  std::string text() const {
    std::string out = "Current Association Manager state\n";
    if (shows("users")) out += "\nUser Records\n\n" + users();
    if (shows("assoc")) out += "\nAssociation Records\n\n" + associations();
    if (shows("qos")) out += "\nQOS Records\n\n" + qos();
    return out;
  }

 private:
  bool shows(const std::string& flag) const { return choice_.flags.empty() || choice_.flags.contains(flag); }
  static bool takes(const std::set<std::string>& names, const std::string& name) {
    return names.empty() || names.contains(name);
  }
  const wire::QosShare* share_of(const std::string& qos) const {
    const auto it = shares_.find(qos);
    return it == shares_.end() ? nullptr : it->second;
  }

  std::string users() const {
    std::map<std::string, std::string> defaults = {{"root", quotas_.default_qos()}};
    for (const wire::Qos& q : quotas_.qos())
      for (const auto* names : {&q.users(), &q.operators()})
        for (const std::string& user : *names) defaults.emplace(user, quotas_.default_qos());
    for (const wire::QuotaUser& user : quotas_.users())
      defaults[user.name()] = user.default_qos().empty() ? quotas_.default_qos() : user.default_qos();
    std::string out;
    for (const auto& [name, account] : defaults)
      if (takes(choice_.users, name))
        out += fmt::format("UserName={} DefAccount={} DefWckey=(null) AdminLevel={}\n", base::printable(name),
                           base::printable(account), levels_.of(name));
    return out;
  }

  std::string associations() const {
    std::string out;
    int id = 0;
    for (const wire::Qos& q : qos_) {
      std::vector<std::string> names = {""};
      names.insert(names.end(), q.users().begin(), q.users().end());
      for (const std::string& user : names) {
        ++id;
        if (takes(choice_.accounts, q.name()) && takes(choice_.users, user)) out += association(q, user, id);
      }
    }
    return out;
  }

  std::string association(const wire::Qos& q, const std::string& user, int id) const {
    std::string out = fmt::format("ClusterName={} Account={} UserName={} Partition= Priority={} ID={}\n", cluster_,
                                  base::printable(q.name()), base::printable(user), q.priority(), id);
    out += fmt::format("    SharesRaw/Norm/Level/Factor={}/0.00/0/0.00\n", q.weight());
    if (!user.empty())
      return out + fmt::format("    MaxJobs={} MaxJobsAccrue= MaxSubmitJobs={} MaxWallPJ=\n    MaxTRESPU={}\n",
                               bound(q.max_jobs_per_user()), bound(q.max_submit_per_user()),
                               tres_list(q.limit_per_user()));
    out += fmt::format("    ParentAccount={}\n", q.parent().empty() ? "root" : base::printable(q.parent()));
    return out + group_lines(q, share_of(q.name())) + fmt::format("    MaxWallPJ={}\n", wall(q.max_wall_us()));
  }

  std::string qos() const {
    std::string out;
    int id = 0;
    for (const wire::Qos& q : qos_) {
      ++id;
      if (!takes(choice_.qos, q.name())) continue;
      out += fmt::format("QOS={}({})\n", base::printable(q.name()), id) + group_lines(q, share_of(q.name()));
      out += fmt::format("    MaxWallPJ={}\n    MaxJobsPU={} MaxSubmitJobsPU={}\n    MaxTRESPU={}\n    Priority={}\n",
                         wall(q.max_wall_us()), bound(q.max_jobs_per_user()), bound(q.max_submit_per_user()),
                         tres_list(q.limit_per_user()), q.priority());
    }
    return out;
  }

  const AssocChoice& choice_;
  const wire::ListQuotasReply& quotas_;
  std::string cluster_;
  AdminLevels levels_;
  std::vector<wire::Qos> qos_;
  std::map<std::string, const wire::QosShare*> shares_;
};

}  // namespace

int show_assoc_mgr(const Program& program, const ControlOptions& o, Args words) {
  const auto choice = parse_choice(words);
  if (!choice) return failed(program, choice.error());
  const auto config = client::load_config();
  if (!config) return failed(program, config.error());
  wire::ApiRequest request, more;
  request.mutable_list_quotas();
  more.mutable_show_shares();
  const auto quotas = ask(program, std::move(request));
  if (!quotas) return failed(program, quotas.error());
  const auto shares = ask(program, std::move(more));
  if (!shares) return failed(program, shares.error());
  return printed(last_update(o, quotas->list_quotas().now_us(), quotas->list_quotas().qos_size()) +
                 AssocText(*choice, quotas->list_quotas(), shares->show_shares(), *config).text());
}

}  // namespace gw::cmds
