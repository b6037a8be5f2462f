// Changes of the tree of quotas: what is taken over, and what is refused with which words.
#include "ctld/core/tables/quota_table.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace gw::ctld {
namespace {

constexpr uint64_t kOneGpu = 1000;

wire::QuotaChange change(wire::QuotaChange::What what, const std::string& name) {
  wire::QuotaChange out;
  out.set_what(what);
  out.set_name(name);
  out.mutable_qos();
  return out;
}

wire::QuotaChange guaranteed(wire::QuotaChange::What what, const std::string& name, uint64_t gpus,
                             const std::string& parent = {}) {
  wire::QuotaChange out = change(what, name);
  wire::QosAmount& a = *out.mutable_qos()->mutable_guaranteed()->add_set();
  a.set_resource("gpu");
  a.set_amount(gpus * kOneGpu);
  if (!parent.empty()) out.mutable_qos()->set_parent(parent);
  return out;
}

wire::QuotaChange named(const std::string& name, const std::string& user, bool is_operator = false) {
  wire::QuotaChange out = change(wire::QuotaChange::kModify, name);
  wire::QosPatch& q = *out.mutable_qos();
  (is_operator ? q.mutable_operators() : q.mutable_users())->add_add(user);
  return out;
}

constexpr auto kAdd = wire::QuotaChange::kAdd, kModify = wire::QuotaChange::kModify,
               kDelete = wire::QuotaChange::kDelete;

Caller someone(const std::string& name, std::vector<std::string> groups = {}) {
  return {1000, 1000, name, "g", std::move(groups)};
}

struct Quotas {
  QuotaTable table;
  std::vector<std::string> lines;
  QuotaBounds bounds{{{"gpu", 128 * kOneGpu}, {"cpu", 1000}}, base::seconds(30)};

  /// The error; empty: done.
  std::string operator()(const std::vector<wire::QuotaChange>& changes, const std::string& user = {},
                         bool force = false, bool replace = false) {
    wire::ChangeQuotasRequest request;
    for (const auto& c : changes) *request.add_changes() = c;
    request.set_force(force);
    request.set_replace(replace);
    const Caller caller = someone(user);
    auto after = changed(table, request, {caller, user.empty()}, bounds, lines);
    if (!after) return after.error().what;
    table = std::move(*after);
    return {};
  }
};

Quotas two_teams() {
  Quotas b;
  EXPECT_EQ(b({guaranteed(kAdd, "q", 128), guaranteed(kAdd, "q.1", 48, "q"), guaranteed(kAdd, "q.2", 80, "q")}), "");
  return b;
}

TEST(QuotaTable, SeveralChangesHoldTogetherOrFallTogether) {
  Quotas b = two_teams();
  const QuotaTable before = b.table;
  EXPECT_EQ(b({guaranteed(kModify, "q.1", 56)}),
            "the guarantees below QOS q add up to 136 gpu, but it has 128: q.1 56, q.2 80");
  EXPECT_EQ(b.table, before);
  EXPECT_EQ(b({guaranteed(kModify, "q.1", 56), guaranteed(kModify, "q.9", 72)}), "Invalid qos specification: q.9");
  EXPECT_EQ(b.table, before);
  EXPECT_EQ(b({guaranteed(kModify, "q.1", 56), guaranteed(kModify, "q.2", 72)}), "");
  EXPECT_EQ(b.table.qos.at("q.1").guaranteed.at("gpu"), 56 * kOneGpu);
  EXPECT_EQ(b.lines.back(), "QOS q.2: guaranteed gpu:80 -> gpu:72");
}

TEST(QuotaTable, NoMoreThanTheNodesHaveUnlessForced) {
  Quotas b;
  EXPECT_EQ(b({guaranteed(kAdd, "q", 129)}), "the guarantees below cluster add up to 129 gpu, but it has 128: q 129");
  EXPECT_EQ(b({guaranteed(kAdd, "q", 129)}, {}, true), "");
  wire::QuotaChange type = change(kAdd, "r");
  wire::QosAmount& a = *type.mutable_qos()->mutable_guaranteed()->add_set();
  a.set_resource("gpu:h200");
  a.set_amount(kOneGpu);
  Quotas c;
  EXPECT_EQ(c({type}), "the guarantees below cluster add up to 1 gpu:h200, but it has 0: r 1");
}

TEST(QuotaTable, RefusesWhatMakesNoTree) {
  Quotas b = two_teams();
  const auto below = [](const std::string& name, const std::string& parent) {
    wire::QuotaChange out = change(kModify, name);
    out.mutable_qos()->set_parent(parent);
    return out;
  };
  EXPECT_EQ(b({below("q", "q.1")}), "QOS q is below itself");
  EXPECT_EQ(b({below("q.1", "nowhere")}), "QOS q.1: no QOS nowhere to be its parent");
  EXPECT_EQ(b({guaranteed(kAdd, "q.1", 1)}), "QOS q.1 exists already");
  EXPECT_EQ(b({guaranteed(kAdd, "a b", 1)}), "\"a b\" is not a name");
  // What a file of quotas refuses is refused here too, or a dump could not be loaded.
  EXPECT_EQ(b({guaranteed(kAdd, "_x", 1)}), "\"_x\" is not a name");
  EXPECT_EQ(b({change(kDelete, "q")}), "QOS q has 2 below it: q.1, q.2");
  EXPECT_EQ(b({change(kDelete, "cluster")}), "the root of the tree cannot be deleted");
  EXPECT_EQ(b({guaranteed(kModify, "cluster", 1)}), "the root of the tree (cluster) has users and operators only");
  EXPECT_EQ(b({}), "no change is asked for");
  wire::QuotaChange large = change(kModify, "q");
  wire::QosAmount& a = *large.mutable_qos()->mutable_limit()->add_set();
  a.set_resource("gpu");
  a.set_amount(UINT64_MAX);
  EXPECT_EQ(b({large}), "QOS q: limit: the amount of gpu is out of range");
  EXPECT_EQ(b({named("q", "a:b")}), "QOS q: users: \"a:b\" is not a user or @group");
}

TEST(QuotaTable, OperatorsChangeWhatIsBelowThemOnly) {
  Quotas b = two_teams();
  ASSERT_EQ(b({named("q", "ann", true), guaranteed(kAdd, "other", 0)}), "");
  EXPECT_EQ(b({guaranteed(kModify, "q.1", 40)}, "ann"), "");
  EXPECT_EQ(b({guaranteed(kAdd, "q.1.x", 8, "q.1")}, "ann"), "");
  EXPECT_EQ(b({guaranteed(kModify, "q", 100)}, "ann"), "user ann may not change QOS q");
  EXPECT_EQ(b({guaranteed(kModify, "other", 1)}, "ann"), "user ann may not change QOS other");
  EXPECT_EQ(b({guaranteed(kAdd, "top", 1)}, "ann"), "user ann may not change QOS below cluster");
  EXPECT_EQ(b({guaranteed(kModify, "q.1", 40)}, "bob"), "user bob may not change QOS q.1");
  wire::QuotaChange away = change(kModify, "q.1");
  away.mutable_qos()->set_parent("cluster");
  EXPECT_EQ(b({away}, "ann"), "user ann may not change QOS below cluster");
  EXPECT_EQ(b({guaranteed(kModify, "q.1", 40)}, "ann", true),
            "only administrators may force a change or load a whole tree");
  EXPECT_EQ(b({change(kDelete, "q.1.x")}, "ann"), "");
  // Who becomes an operator by the same request has no word in it.
  EXPECT_EQ(b({named("other", "bob", true), guaranteed(kAdd, "mine", 0, "other")}, "bob"),
            "user bob may not change QOS other");
}

TEST(QuotaTable, OperatorsGrantNothingThatTheyDoNotHold) {
  Quotas b = two_teams();
  ASSERT_EQ(b({named("q", "ann", true)}), "");
  EXPECT_EQ(b({guaranteed(kModify, "q.1", 49)}, "ann"),
            "the guarantees below QOS q add up to 129 gpu, but it has 128: q.1 49, q.2 80");
  wire::QuotaChange cpus = change(kModify, "q.1");
  wire::QosAmount& a = *cpus.mutable_qos()->mutable_guaranteed()->add_set();
  a.set_resource("cpu");
  a.set_amount(4);
  EXPECT_EQ(b({cpus}, "ann"), "QOS q.1: nothing above it is guaranteed cpu");
  wire::QuotaChange longer = change(kModify, "q.1");
  longer.mutable_qos()->set_min_runtime_us(base::hours(1).us);
  EXPECT_EQ(b({longer}, "ann"), "QOS q.1: min_runtime is longer than above it: 00:00:00");
  wire::QuotaChange grace = change(kModify, "q.1");
  grace.mutable_qos()->set_grace_us(base::seconds(31).us);
  EXPECT_EQ(b({grace}, "ann"), "QOS q.1: grace is longer than above it: 00:00:30");
  EXPECT_EQ(b({grace}), "") << "an administrator may";
  EXPECT_EQ(b({guaranteed(kModify, "q.1", 47)}, "ann"), "") << "and what is there already stays";
}

TEST(QuotaTable, OperatorsMoveNoLongerTimesThanHoldThere) {
  Quotas b = two_teams();
  ASSERT_EQ(b({named("q", "ann", true), change(kAdd, "q.3")}), "");
  ASSERT_EQ(b({[] {
              wire::QuotaChange below = change(kModify, "q.3");
              below.mutable_qos()->set_parent("q.1");
              below.mutable_qos()->set_min_runtime_us(base::minutes(10).us);
              return below;
            }()}),
            "");
  wire::QuotaChange move = change(kModify, "q.1");
  move.mutable_qos()->set_parent("q.2");
  EXPECT_EQ(b({move}, "ann"), "QOS q.3: min_runtime is longer than above it: 00:00:00") << "it comes along";
  EXPECT_EQ(b({move}), "") << "an administrator may";
}

TEST(QuotaTable, AGapInBetweenHidesNothing) {
  Quotas b = two_teams();
  wire::QuotaChange grace = change(kModify, "q");
  grace.mutable_qos()->set_grace_us(0);
  ASSERT_EQ(b({named("q", "ann", true), grace}), "");
  wire::QuotaChange below = change(kModify, "q.1"), again = change(kAdd, "q.2");
  below.mutable_qos()->set_parent("q.2");
  below.mutable_qos()->set_grace_us(base::seconds(10).us);
  again.mutable_qos()->set_parent("q");
  EXPECT_EQ(b({change(kDelete, "q.2"), below, again}, "ann"), "QOS q.1: grace is longer than above it: 00:00:00");
}

TEST(QuotaTable, WhoMaySubmitWhere) {
  Quotas b = two_teams();
  EXPECT_TRUE(may_submit(b.table, someone("bob"), "q.1")) << "nobody is named: open";
  ASSERT_EQ(b({named("q.1", "bob"), named("q.2", "@ml"), named("q.2", "ann", true)}), "");
  EXPECT_TRUE(may_submit(b.table, someone("bob"), "q.1"));
  EXPECT_FALSE(may_submit(b.table, someone("bob"), "q.2"));
  EXPECT_TRUE(may_submit(b.table, someone("carl", {"ml"}), "q.2"));
  EXPECT_TRUE(may_submit(b.table, someone("ann"), "q.2")) << "operators too";
  EXPECT_TRUE(may_submit(b.table, someone("bob"), "q")) << "roles reach down, not up";
  ASSERT_EQ(b({named("q", "dora")}), "");
  EXPECT_TRUE(may_submit(b.table, someone("dora"), "q.1"));
  EXPECT_FALSE(may_submit(b.table, someone("bob"), "q"));
  ASSERT_EQ(b({named("cluster", "erik")}), "");
  EXPECT_TRUE(may_submit(b.table, someone("erik"), "q.2"));
  EXPECT_FALSE(may_submit(b.table, someone("bob"), "cluster"));
}

TEST(QuotaTable, UsersAndTheirDefaults) {
  Quotas b = two_teams();
  wire::QuotaChange user = change(kAdd, "bob");
  user.set_is_user(true);
  EXPECT_EQ(b({user}), "user bob: nothing to change");
  user.set_default_qos("nowhere");
  EXPECT_EQ(b({user}), "Invalid qos specification: nowhere");
  user.set_default_qos("q.1");
  EXPECT_EQ(b({user, named("q.1", "bob")}), "");
  EXPECT_EQ(b.table.users.at("bob").default_qos, "q.1");
  wire::QuotaChange gone = change(kDelete, "q.1");
  gone.set_move_to("q.2");
  EXPECT_EQ(b({gone}), "");
  EXPECT_EQ(b.table.users.at("bob").default_qos, "q.2");
  wire::QuotaChange bye = change(kDelete, "bob");
  bye.set_is_user(true);
  EXPECT_EQ(b({bye}, "ann"), "only administrators may delete a user");
  EXPECT_EQ(b({bye}), "");
  EXPECT_EQ(b({bye}), "user bob has no default QOS, no budget and no role");
}

TEST(QuotaTable, AWholeTreeTakesThePlaceOfTheOld) {
  Quotas b = two_teams();
  EXPECT_EQ(b({guaranteed(kAdd, "new", 10)}, {}, false, true), "");
  EXPECT_EQ(b.table.qos.size(), 1);
  EXPECT_EQ(base::join(b.lines, "|").find("QOS q.1 deleted") != std::string::npos, true);
}

}  // namespace
}  // namespace gw::ctld
