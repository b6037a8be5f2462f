// Nobody grants more than he holds: whatever an operator asks for, what he does not operate stays as it is, and what
// lies below what he operates has together no more than that has. Trees, operators and requests are drawn; what was
// taken is checked by walking the two tables, not by the rules that took it.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "ctld/core/tables/quota_table.h"
#include "tests/prop/quota_world.h"

namespace gw::prop {
namespace {

using ctld::QuotaTable;

const std::vector<std::string> kNames = {"a", "b", "c", "d", "e", "f", "g", "h"};
const std::vector<std::string> kPeople = {"ann", "ben", "@lab"};
const std::vector<std::string> kResources = {"gpu", "cpu"};
constexpr int64_t kMinute = 60'000'000;
const ctld::Caller kAnn = {1000, 1000, "ann", "ann", {"ann", "lab"}};

std::string draw_of(const std::vector<std::string>& names) {
  return names[static_cast<size_t>(draw(0, std::ssize(names) - 1))];
}

/// Guarantees fit into one another, as those of every tree that was taken.
QuotaTable draw_table() {
  QuotaTable table;
  std::map<std::string, model::Amounts> left;
  for (size_t i = 0; i < static_cast<size_t>(draw(2, 7)); ++i) {
    model::Qos q;
    q.name = kNames[i];
    if (const int64_t above = draw(0, static_cast<int64_t>(i)); above > 0)
      q.parent = kNames[static_cast<size_t>(above - 1)];
    for (const std::string& resource : kResources) {
      const bool is_top = q.parent.empty();
      const uint64_t most = is_top ? 20 : left[q.parent][resource];
      if (one_in(3) || most == 0) continue;
      q.guaranteed[resource] = static_cast<uint64_t>(draw(0, static_cast<int64_t>(most)));
      if (!is_top) left[q.parent][resource] -= q.guaranteed[resource];
    }
    left[q.name] = q.guaranteed;
    if (one_in(3)) q.min_runtime = {draw(1, 10) * kMinute};
    if (one_in(3)) q.grace = base::Duration{draw(0, 10) * kMinute};
    if (!one_in(2)) q.operators = {draw_of(kPeople)};
    if (one_in(4)) q.users = {draw_of(kPeople)};
    table.qos[q.name] = q;
  }
  for (const char* user : {"ann", "ben"})
    if (one_in(3)) table.users[user] = {user, kNames.front()};
  return table;
}

wire::QosPatch draw_patch() {
  wire::QosPatch patch;
  if (one_in(2)) patch.set_parent(one_in(9) ? "cluster" : draw_of(kNames));
  for (const std::string& resource : kResources)
    if (one_in(3)) {
      wire::QosAmount& line = *patch.mutable_guaranteed()->add_set();
      line.set_resource(resource);
      line.set_amount(static_cast<uint64_t>(draw(0, 6)));
    }
  if (one_in(4)) patch.set_min_runtime_us(draw(0, 12) * kMinute);
  if (one_in(4)) patch.set_grace_us(draw(-1, 12) * kMinute);
  if (one_in(4)) patch.mutable_operators()->add_add(draw_of(kPeople));
  if (one_in(4)) patch.mutable_users()->add_add(draw_of(kPeople));
  return patch;
}

wire::QuotaChange change_of(wire::QuotaChange::What what, const std::string& name) {
  wire::QuotaChange change;
  change.set_what(what);
  change.set_name(name);
  if (what != wire::QuotaChange::kDelete) *change.mutable_qos() = draw_patch();
  return change;
}

/// A QOS goes, one is put below it, and it comes again, in any order: in between the tree has a gap.
wire::ChangeQuotasRequest draw_detour() {
  const std::string gap = draw_of(kNames), below = draw_of(kNames);
  std::vector<wire::QuotaChange> changes = {change_of(wire::QuotaChange::kDelete, gap),
                                            change_of(wire::QuotaChange::kModify, below),
                                            change_of(wire::QuotaChange::kAdd, gap)};
  changes[1].mutable_qos()->set_parent(gap);
  if (one_in(3)) std::swap(changes[1], changes[2]);
  wire::ChangeQuotasRequest request;
  for (const wire::QuotaChange& change : changes) *request.add_changes() = change;
  return request;
}

wire::ChangeQuotasRequest draw_request() {
  wire::ChangeQuotasRequest request;
  if (one_in(3)) return draw_detour();
  for (int64_t left = one_in(3) ? 2 : 1; left > 0; --left) {
    wire::QuotaChange& change = *request.add_changes();
    change.set_is_user(one_in(6));
    change.set_name(change.is_user() ? draw_of({"ann", "ben"}) : draw_of(kNames));
    change.set_what(static_cast<wire::QuotaChange::What>(draw(1, 3)));
    if (change.is_user())
      change.set_default_qos(draw_of(kNames));
    else if (change.what() != wire::QuotaChange::kDelete)
      *change.mutable_qos() = draw_patch();
  }
  request.set_force(one_in(20));
  request.set_replace(one_in(20));
  return request;
}

bool is_operated(const model::Qos& q) {
  return std::any_of(q.operators.begin(), q.operators.end(),
                     [](const std::string& name) { return name == "ann" || name == "@lab" || name == "@ann"; });
}

/// Of `tree` those above `name`, its parent first.
std::vector<std::string> above(const QuotaTable& tree, const std::string& name) {
  std::vector<std::string> out;
  for (auto it = tree.qos.find(name); it != tree.qos.end() && !it->second.parent.empty();) {
    out.push_back(it->second.parent);
    it = tree.qos.find(out.back());
  }
  return out;
}

/// Is one of those above it in `tree` a QOS that she operated before?
bool lies_below_hers(const QuotaTable& before, const QuotaTable& tree, const std::string& name) {
  const auto way = above(tree, name);
  return std::any_of(way.begin(), way.end(), [&before](const std::string& one) {
    const auto it = before.qos.find(one);
    return it != before.qos.end() && is_operated(it->second);
  });
}

void check_only_hers_changed(const QuotaTable& before, const QuotaTable& after) {
  for (const std::string& name : kNames) {
    const auto old = before.qos.find(name), now = after.qos.find(name);
    if (old != before.qos.end() && now != after.qos.end() && old->second == now->second) continue;
    if (old != before.qos.end()) RC_ASSERT(lies_below_hers(before, before, name));
    if (now != after.qos.end()) RC_ASSERT(lies_below_hers(before, after, name));
  }
  for (const auto& [name, user] : after.users) {
    const auto old = before.users.find(name);
    const std::string was = old == before.users.end() ? "" : old->second.default_qos;
    if (was == user.default_qos) continue;
    for (const std::string& qos : {was, user.default_qos})
      if (const auto it = before.qos.find(qos); it != before.qos.end())
        RC_ASSERT(is_operated(it->second) || lies_below_hers(before, before, qos));
  }
}

void check_amounts(const QuotaTable& before, const QuotaTable& after) {
  std::map<std::string, model::Amounts> given;  // to those directly below
  for (const auto& [name, q] : after.qos)
    for (const auto& [resource, amount] : q.guaranteed) given[q.parent][resource] += amount;
  for (const auto& [name, q] : after.qos) {
    const auto old = before.qos.find(name);
    const bool is_hers = lies_below_hers(before, after, name) || (old != before.qos.end() && is_operated(old->second));
    if (!is_hers) continue;
    for (const auto& [resource, amount] : given[name]) {
      const auto has = q.guaranteed.find(resource);
      RC_ASSERT(amount <= (has == q.guaranteed.end() ? 0 : has->second));
    }
  }
}

/// The longest that any of hers above it has, by the tree that she found: what she operates, and what is below that.
template <typename Get>
base::Duration longest_above(const QuotaTable& before, const QuotaTable& after, const std::string& name,
                             base::Duration otherwise, const Get& get) {
  base::Duration longest{-1};
  for (const std::string& hers : above(after, name)) {
    const auto it = before.qos.find(hers);
    if (it == before.qos.end() || (!is_operated(it->second) && !lies_below_hers(before, before, hers))) continue;
    base::Duration own = otherwise;
    std::vector<std::string> way = above(before, hers);
    way.insert(way.begin(), hers);
    for (const std::string& one : way)
      if (const auto said = get(before.qos.at(one))) {
        own = *said;
        break;
      }
    longest = std::max(longest, own);
  }
  return longest;
}

void check_times(const QuotaTable& before, const QuotaTable& after, base::Duration grace) {
  for (const auto& [name, q] : after.qos) {
    const auto old = before.qos.find(name);
    // Nothing was done to it, nor to the way up from it.
    if (old != before.qos.end() && old->second == q && above(before, name) == above(after, name)) continue;
    const auto min_runtime = [](const model::Qos& one) {
      return one.min_runtime.us > 0 ? std::optional(one.min_runtime) : std::nullopt;
    };
    RC_ASSERT(q.min_runtime.us == 0 || q.min_runtime <= longest_above(before, after, name, {}, min_runtime) ||
              (old != before.qos.end() && above(before, name) == above(after, name) &&
               old->second.min_runtime == q.min_runtime));
    const auto graced = [](const model::Qos& one) { return one.grace; };
    RC_ASSERT(!q.grace || *q.grace <= longest_above(before, after, name, grace, graced) ||
              (old != before.qos.end() && above(before, name) == above(after, name) && old->second.grace == q.grace));
  }
}

RC_GTEST_PROP(Grants, NobodyGrantsMoreThanTheyHold, ()) {
  const base::Duration grace{5 * kMinute};
  int taken = 0;
  for (int round = 0; taken < 3; ++round) {
    RC_ASSERT(round < 20'000);  // hardly any request is taken: nothing is shown
    const QuotaTable before = draw_table();
    std::vector<std::string> lines;
    const auto after = changed(before, draw_request(), {kAnn, false}, {{{"gpu", 20}, {"cpu", 20}}, grace}, lines);
    if (!after) continue;
    ++taken;
    check_only_hers_changed(before, *after);
    check_amounts(before, *after);
    check_times(before, *after, grace);
  }
}

}  // namespace
}  // namespace gw::prop
