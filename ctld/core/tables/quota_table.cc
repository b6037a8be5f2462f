// See quota_table.h.
#include "ctld/core/tables/quota_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/name.h"
#include "base/text.h"
#include "ctld/core/names.h"
#include "ctld/core/tables/quota_patch.h"
#include "wire/convert.h"

namespace gw::ctld {

using base::Duration;
using base::ErrorCode;
using base::Status;
using model::Amounts;
using model::kRootQos;
using model::Qos;

std::vector<Qos> QuotaTable::tree() const {
  std::vector<Qos> out;
  for (const auto& [name, one] : qos)
    if (name != kRootQos) out.push_back(one);
  return out;
}

std::vector<std::string> QuotaTable::path(const std::string& name) const {
  std::vector<std::string> out;
  for (auto at = qos.find(name); at != qos.end() && at->first != kRootQos && out.size() <= qos.size();
       at = qos.find(at->second.parent))
    out.push_back(at->first);
  out.emplace_back(kRootQos);
  return out;
}

std::vector<std::string> QuotaTable::below(const std::string& name) const {
  std::vector<std::string> out;
  for (const auto& [other, one] : qos) {
    const std::vector<std::string> way = path(other);
    if (other != name && std::find(way.begin(), way.end(), name) != way.end()) out.push_back(other);
  }
  return out;
}

namespace {

bool holds_on_path(const QuotaTable& table, const std::string& qos, const auto& holds) {
  for (const std::string& name : table.path(qos))
    if (const auto it = table.qos.find(name); it != table.qos.end() && holds(it->second)) return true;
  return false;
}

}  // namespace

bool is_operator(const QuotaTable& table, const Caller& caller, const std::string& qos) {
  return holds_on_path(table, qos, [&](const Qos& q) { return is_named(q.operators, caller); });
}

bool may_submit(const QuotaTable& table, const Caller& caller, const std::string& qos) {
  if (!holds_on_path(table, qos, [](const Qos& q) { return !q.users.empty(); })) return true;
  return holds_on_path(table, qos,
                       [&](const Qos& q) { return is_named(q.users, caller) || is_named(q.operators, caller); });
}

namespace {

constexpr size_t kMostQos = 10'000, kMostUsers = 100'000;

/// One request on its way through a copy of the table.
class Change {
 public:
  Change(const QuotaTable& table, const QuotaAuthor& author, const QuotaBounds& bounds, std::vector<std::string>& lines)
      : before_(table), table_(table), author_(author), bounds_(bounds), lines_(lines) {}

  base::Result<QuotaTable> run(const wire::ChangeQuotasRequest& request) {
    if ((request.force() || request.replace()) && !author_.is_admin)
      return base::fail(ErrorCode::kDenied, "only administrators may force a change or load a whole tree");
    if (request.changes().empty() && !request.replace()) return base::invalid("no change is asked for");
    if (request.replace()) table_ = {};
    for (const wire::QuotaChange& change : request.changes()) GW_TRY_STATUS(take(change));
    GW_TRY_STATUS(check(request.force()));
    if (request.replace()) tell_replaced();
    return std::move(table_);
  }

 private:
  const QuotaTable& before_;
  QuotaTable table_;
  const QuotaAuthor& author_;
  const QuotaBounds& bounds_;
  std::vector<std::string>& lines_;

  Status take(const wire::QuotaChange& change) {
    if (change.is_user()) return take_user(change);
    switch (change.what()) {
      case wire::QuotaChange::kAdd:
        return add(change);
      case wire::QuotaChange::kModify:
        return modify(change);
      case wire::QuotaChange::kDelete:
        return remove(change);
      default:
        return base::invalid("unknown change of a QOS");
    }
  }

  /// May the caller change what is directly below `parent`?
  Status check_author(const std::string& parent, std::string_view what) const {
    if (author_.is_admin || is_operator(before_, author_.caller, root_or(parent))) return {};
    return base::fail(ErrorCode::kDenied, fmt::format("user {} may not change {}", author_.caller.user, what),
                      "administrators may, and operators of a QOS above it");
  }

  base::Result<Qos*> find(const std::string& name) {
    if (const auto it = table_.qos.find(name); it != table_.qos.end()) return &it->second;
    return tl::unexpected(invalid_name(ErrorCode::kNotFound, NameOf::kQos, name, keys_of(table_.qos)));
  }

  Status add(const wire::QuotaChange& change) {
    const std::string& name = change.name();
    if (name == kRootQos) return modify(change);
    GW_TRY_STATUS(base::check_name(name));
    if (table_.qos.contains(name))
      return base::fail(ErrorCode::kConflict, fmt::format("QOS {} exists already", name),
                        fmt::format("change it with: gacctmgr modify qos {} set ...", name));
    if (table_.qos.size() >= kMostQos) return base::invalid(fmt::format("there are {} QOS", kMostQos));
    Qos q;
    q.name = name;
    GW_TRY_STATUS(patch_qos(q, change.qos()).map_error([&](base::Error e) { return of(name, std::move(e)); }));
    GW_TRY_STATUS(check_author(q.parent, "QOS below " + root_or(q.parent)));
    lines_.push_back(added(q));
    table_.qos[name] = std::move(q);
    return {};
  }

  static base::Error of(const std::string& name, base::Error error) {
    error.what = fmt::format("QOS {}: {}", name, error.what);
    return error;
  }

  static std::string added(const Qos& q) {
    Qos blank;
    blank.parent = q.parent;
    const std::string what = differences(blank, q);
    return fmt::format("QOS {} added below {}{}{}", q.name, root_or(q.parent), what.empty() ? "" : ": ", what);
  }

  Status modify(const wire::QuotaChange& change) {
    const std::string& name = change.name();
    if (name == kRootQos) return modify_root(change.qos());
    GW_TRY(found, find(name));
    Qos q = *found;
    GW_TRY_STATUS(check_author(q.parent, "QOS " + name));
    GW_TRY_STATUS(patch_qos(q, change.qos()).map_error([&](base::Error e) { return of(name, std::move(e)); }));
    if (q.parent != found->parent) GW_TRY_STATUS(check_author(q.parent, "QOS below " + root_or(q.parent)));
    const std::string what = differences(*found, q);
    lines_.push_back(fmt::format("QOS {}: {}", name, what.empty() ? "nothing changed" : what));
    const bool was_open = is_open(name);
    *found = std::move(q);
    if (was_open && !is_open(name))
      lines_.push_back(
          fmt::format("QOS {} was open to everybody; now only to users and operators of it or above", name));
    tell_opened(name, was_open);
    return {};
  }

  /// Who takes the last user away may have meant the opposite.
  void tell_opened(const std::string& name, bool was_open) {
    if (!was_open && is_open(name))
      lines_.push_back(fmt::format("QOS {} is open to everybody now: no users are named there or above", name));
  }

  bool is_open(const std::string& name) const {
    return !holds_on_path(table_, name, [](const Qos& q) { return !q.users.empty(); });
  }

  /// The root has no amounts: it is what the cluster is.
  Status modify_root(const wire::QosPatch& patch) {
    if (!author_.is_admin) return base::fail(ErrorCode::kDenied, "only administrators may change the root of the tree");
    Qos root;
    root.name = kRootQos;
    if (const auto it = table_.qos.find(root.name); it != table_.qos.end()) root = it->second;
    Qos q = root;
    GW_TRY_STATUS(patch_qos(q, patch));
    Qos allowed = root;
    allowed.users = q.users;
    allowed.operators = q.operators;
    if (q != allowed)
      return base::invalid(fmt::format("the root of the tree ({}) has users and operators only", kRootQos));
    const std::string what = differences(root, q);
    lines_.push_back(fmt::format("{}: {}", kRootQos, what.empty() ? "nothing changed" : what));
    if (q.users.empty() && q.operators.empty())
      table_.qos.erase(q.name);
    else
      table_.qos[q.name] = std::move(q);
    return {};
  }

  /// Of each QOS that this request touched: also of what came along with one that was moved, wherever its new parents
  /// stood in the request.
  Status check_all_grants() const {
    if (author_.is_admin) return {};
    const bool has_moved = std::any_of(table_.qos.begin(), table_.qos.end(), [this](const auto& row) {
      const auto old = before_.qos.find(row.first);
      return old == before_.qos.end() || old->second.parent != row.second.parent;
    });
    for (const auto& [name, q] : table_.qos) {
      if (name == kRootQos) continue;
      const auto old = before_.qos.find(name);
      const bool is_placed = old == before_.qos.end() || (has_moved && before_.path(name) != table_.path(name));
      const Said said{is_placed || old->second.min_runtime != q.min_runtime, is_placed || old->second.grace != q.grace};
      if (said.min_runtime || said.grace || old->second.guaranteed != q.guaranteed)
        GW_TRY_STATUS(check_grants(q, said));
    }
    return {};
  }

  /// Which of the times that a QOS may have are asked about.
  struct Said {
    bool min_runtime = false, grace = false;
  };

  /// An operator gives no line that the QOS above has not, and no time that keeps what was borrowed longer than there.
  Status check_grants(const Qos& q, Said said) const {
    const auto denied = [&](std::string what) {
      return base::fail(ErrorCode::kDenied, fmt::format("QOS {}: {}", q.name, what), "ask an administrator");
    };
    for (const auto& line : q.guaranteed) {
      const std::string& resource = line.first;
      const bool has_line = resource == "gpu" || holds_on_path(table_, q.parent, [&](const Qos& above) {
                              return above.guaranteed.contains(resource);
                            });
      if (!has_line) return denied(fmt::format("nothing above it is guaranteed {}", resource));
    }
    Duration min_runtime, grace = bounds_.grace;
    const std::vector<std::string> way = table_.path(q.parent);
    for (auto name = way.rbegin(); name != way.rend(); ++name) {
      const auto above = table_.qos.find(*name);
      if (above == table_.qos.end()) continue;
      if (above->second.min_runtime.us > 0) min_runtime = above->second.min_runtime;
      if (above->second.grace) grace = *above->second.grace;
    }
    if (said.min_runtime && q.min_runtime > min_runtime)
      return denied(fmt::format("min_runtime is longer than above it: {}", base::format_duration(min_runtime)));
    if (said.grace && q.grace && *q.grace > grace)
      return denied(fmt::format("grace is longer than above it: {}", base::format_duration(grace)));
    return {};
  }

  Status remove(const wire::QuotaChange& change) {
    const std::string& name = change.name();
    if (name == kRootQos) return base::invalid("the root of the tree cannot be deleted");
    GW_TRY(found, find(name));
    GW_TRY_STATUS(check_author(found->parent, "QOS " + name));
    const std::vector<std::string> below = table_.below(name);
    if (!below.empty())
      return base::fail(ErrorCode::kConflict,
                        fmt::format("QOS {} has {} below it: {}", name, below.size(), base::join(below, ", ")),
                        "delete those first, or give them another parent");
    if (!change.move_to().empty()) GW_TRY_STATUS(check_target(name, change.move_to()));
    for (auto& [user, record] : table_.users) {
      if (record.default_qos != name) continue;
      lines_.push_back(fmt::format("user {}: default QOS {} -> {}", user, name,
                                   change.move_to().empty() ? "none" : change.move_to()));
      record.default_qos = change.move_to();
    }
    std::erase_if(table_.users, [](const auto& user) { return says_nothing(user.second); });
    table_.qos.erase(name);
    lines_.push_back(fmt::format("QOS {} deleted", name));
    return {};
  }

  /// Where the jobs of a deleted QOS go.
  Status check_target(const std::string& from, const std::string& to) {
    if (to == from) return base::invalid(fmt::format("the jobs of QOS {} cannot move to itself", from));
    GW_TRY(target, find(to));
    if (target->name == kRootQos) return base::invalid("jobs cannot be moved to the root");
    if (author_.is_admin || is_operator(before_, author_.caller, to)) return {};
    return base::fail(ErrorCode::kDenied, fmt::format("user {} may not move jobs to QOS {}", author_.caller.user, to));
  }

  static bool says_nothing(const model::QuotaUser& user) { return user.default_qos.empty() && !user.budget; }

  Status take_user(const wire::QuotaChange& change) {
    const std::string& name = change.name();
    GW_TRY_STATUS(check_user_name(name));
    if (change.what() == wire::QuotaChange::kDelete) return remove_user(name);
    if (!change.has_default_qos() && !change.has_budget())
      return base::invalid(fmt::format("user {}: nothing to change", name));
    const auto it = table_.users.find(name);
    model::QuotaUser user = it == table_.users.end() ? model::QuotaUser{name, {}} : it->second;
    if (change.has_default_qos()) GW_TRY_STATUS(set_default(user, change.default_qos()));
    if (change.has_budget()) GW_TRY_STATUS(set_budget(user, wire::from_wire(change.budget())));
    if (says_nothing(user))
      table_.users.erase(name);
    else
      table_.users[name] = std::move(user);
    if (table_.users.size() > kMostUsers) return base::invalid(fmt::format("more than {} users", kMostUsers));
    return {};
  }

  Status set_budget(model::QuotaUser& user, const std::optional<model::GpuBudget>& budget) {
    if (!author_.is_admin) return base::fail(ErrorCode::kDenied, "only administrators may set the budget of a user");
    if (budget && budget->borrows)
      return base::invalid(fmt::format("user {}: only the budget of a QOS can say :borrow", user.name),
                           "what is guaranteed is guaranteed to a QOS, so there is nothing to take from a user");
    const auto text = [](const auto& b) { return b ? model::format_gpu_budget(*b) : std::string("none"); };
    lines_.push_back(fmt::format("user {}: budget {} -> {}", user.name, text(user.budget), text(budget)));
    user.budget = budget;
    return {};
  }

  Status set_default(model::QuotaUser& user, const std::string& to) {
    if (!to.empty()) GW_TRY_STATUS(find(to).map([](Qos*) {}));
    if (to == kRootQos) return base::invalid(fmt::format("the root of the tree ({}) is nobody's default QOS", to));
    for (const std::string& qos : {to, user.default_qos})
      if (!qos.empty() && !author_.is_admin && !is_operator(before_, author_.caller, qos))
        return base::fail(ErrorCode::kDenied,
                          fmt::format("user {} is no operator of QOS {}", author_.caller.user, qos));
    lines_.push_back(fmt::format("user {}: default QOS {} -> {}", user.name,
                                 user.default_qos.empty() ? "none" : user.default_qos, to.empty() ? "none" : to));
    user.default_qos = to;
    return {};
  }

  Status remove_user(const std::string& name) {
    if (!author_.is_admin)
      return base::fail(ErrorCode::kDenied, "only administrators may delete a user",
                        fmt::format("take a role away: gacctmgr modify qos QOS set users-={}", name));
    size_t roles = table_.users.erase(name);
    std::vector<std::string> closed;
    for (auto& [qos, one] : table_.qos) {
      const bool was_open = is_open(qos);
      const size_t gone = std::erase(one.users, name);
      if (gone > 0 && !was_open) closed.push_back(qos);
      roles += gone + std::erase(one.operators, name);
    }
    if (roles == 0)
      return base::fail(ErrorCode::kNotFound, fmt::format("user {} has no default QOS, no budget and no role", name));
    lines_.push_back(fmt::format("user {} deleted: it has no default QOS, no budget and no role any more", name));
    for (const std::string& qos : closed) tell_opened(qos, false);
    return {};
  }

  Status check(bool is_forced) const {
    const std::vector<Qos> tree = table_.tree();
    if (const auto fault = model::check_qos_tree(tree)) return tl::unexpected(fault->error);
    GW_TRY_STATUS(check_all_grants());
    if (is_forced) return {};
    Amounts capacity = bounds_.capacity;
    if (!capacity.empty())
      for (const Qos& q : tree)
        for (const auto& [resource, amount] : q.guaranteed) capacity.try_emplace(resource, 0);
    if (auto fault = model::check_guarantees(tree, capacity)) {
      if (author_.is_admin) fault->error.hint += ", or --force it";
      return tl::unexpected(fault->error);
    }
    return {};
  }

  /// What differs between the trees, and not how the new one was put together.
  void tell_replaced() {
    lines_.clear();
    for (const auto& [name, q] : table_.qos) {
      const auto old = before_.qos.find(name);
      if (old == before_.qos.end())
        lines_.push_back(added(q));
      else if (old->second != q)
        lines_.push_back(fmt::format("QOS {}: {}", name, differences(old->second, q)));
    }
    for (const auto& [name, q] : before_.qos)
      if (!table_.qos.contains(name)) lines_.push_back(fmt::format("QOS {} deleted", name));
    if (table_.users != before_.users)
      lines_.push_back(fmt::format("{} users have a default QOS or a budget", table_.users.size()));
    if (lines_.empty()) lines_.push_back("nothing changed");
  }
};

}  // namespace

base::Result<QuotaTable> changed(const QuotaTable& table, const wire::ChangeQuotasRequest& request,
                                 const QuotaAuthor& author, const QuotaBounds& bounds,
                                 std::vector<std::string>& lines) {
  return Change(table, author, bounds, lines).run(request);
}

}  // namespace gw::ctld
