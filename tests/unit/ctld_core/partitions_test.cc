// What holds in a partition and where it comes from: the configuration, commands, the cluster's defaults; and what a
// dry run of consolidation leaves behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "world.h"

namespace gw::ctld {
namespace {

using model::Consolidate;
using model::OriginKind;
using testing::gang;
using ::testing::HasSubstr;
using testing::World;

Settings with_defaults() {
  Settings s;
  model::Partition& p = s.partitions.emplace_back();
  s.file = "/etc/g.yaml";
  s.partition_defaults.lease = base::minutes(5);
  s.partition_defaults.max_time = base::hours(2);
  s.partition_defaults.default_time = base::hours(1);
  s.policy.fit = model::Fit::kWorst;
  s.consolidate = Consolidate::kDryRun;
  p = s.partition_defaults;
  p.name = "main";
  p.is_default = true;
  p.max_time = base::hours(4);
  s.config_lines = {{"partitions.main.max_time", 7},    {"partitions.main.nodes", 6}, {"partition_defaults.lease", 3},
                    {"partition_defaults.max_time", 4}, {"scheduler.fit", 2},         {"partitions.other.tier", 9}};
  return s;
}

struct Pools : World {
  Pools() : World(2, with_defaults()) { connect_all(); }

  wire::Partition shown(const std::string& name, bool effective = true) {
    wire::ApiRequest r;
    r.mutable_list_partitions()->add_names(name);
    r.mutable_list_partitions()->set_effective(effective);
    const auto list = ask(0, r).list_partitions().partitions();
    return list.empty() ? wire::Partition() : list[0];
  }
  /// "kind place-or-user" of a key.
  std::string origin(const std::string& partition, const std::string& key) {
    const wire::Partition p = shown(partition);
    for (const wire::KeyOrigin& o : p.origins()) {
      if (o.key() != key) continue;
      const std::string from = o.place().empty() ? o.by() : o.place();
      return std::string(model::name(static_cast<OriginKind>(o.kind()))) + (from.empty() ? "" : " " + from);
    }
    return "none";
  }
  void change(const std::function<void(wire::UpdatePartitionRequest&)>& set) {
    wire::ApiRequest r;
    r.mutable_update_partition()->set_name("main");
    set(*r.mutable_update_partition());
    EXPECT_FALSE(ask(0, r).has_error());
  }
  void reconfigure(const Settings& to) {
    core->on_reconfigured(now, to, {}, {}, {});
    pump();
  }
  wire::ApiReply create(const std::vector<std::string>& said, wire::Partition p) {
    p.set_name("made");
    p.add_nodes("n1");
    for (const std::string& key : said) p.add_origins()->set_key(key);
    wire::ApiRequest r;
    *r.mutable_create_partition()->mutable_partition() = std::move(p);
    return ask(0, r);
  }
};

struct LimitCase {
  bool no_limit;         // asked for
  int64_t minutes;       // asked for; 0: nothing said
  int64_t default_time;  // of the partition, in minutes; 0: none
  int64_t max_time;      // likewise
  int64_t got;           // minutes; 0: no limit; -1: refused
};

TEST(TimeLimit, NoneIsNotTheDefault) {
  for (const LimitCase& c :
       {LimitCase{false, 0, 30, 60, 30}, LimitCase{true, 0, 30, 60, -1}, LimitCase{true, 0, 30, 0, 0},
        LimitCase{true, 0, 0, 0, 0}, LimitCase{false, 0, 30, 0, 30}, LimitCase{false, 0, 0, 0, 0},
        LimitCase{false, 70, 30, 60, -1}, LimitCase{false, 50, 30, 60, 50}}) {
    SCOPED_TRACE(::testing::Message() << c.no_limit << ' ' << c.minutes << ' ' << c.default_time << ' ' << c.max_time);
    Settings s;
    model::Partition& p = s.partitions.emplace_back();
    p.name = "main";
    p.is_default = true;
    p.unlimited = c.default_time == 0 && c.max_time == 0;
    p.default_time = c.default_time == 0 ? base::kUnlimited : base::minutes(c.default_time);
    p.max_time = c.max_time == 0 ? base::kUnlimited : base::minutes(c.max_time);
    testing::World w(1, s);
    w.connect_all();
    wire::ApiRequest r = testing::World::submission(testing::gang(1));
    if (c.no_limit) r.mutable_submit()->mutable_spec()->set_time_limit_us(base::kUnlimited.us);
    if (c.minutes > 0) r.mutable_submit()->mutable_spec()->set_time_limit_us(base::minutes(c.minutes).us);
    const wire::ApiReply reply = w.ask(1000, r);
    if (c.got < 0) {
      EXPECT_THAT(reply.error().what(), HasSubstr("requested time limit is invalid"));
      continue;
    }
    const JobId id(reply.submit().job_id());
    EXPECT_EQ(w.job(id).spec.time_limit, c.got == 0 ? base::kUnlimited : base::minutes(c.got));
    // The same by an update, and back.
    wire::ApiRequest u;
    u.mutable_update_job()->add_ids(id.value);
    u.mutable_update_job()->set_time_limit_us(base::kUnlimited.us);
    const bool may_be_unlimited = c.max_time == 0;
    EXPECT_EQ(w.ask(1000, u).jobs().done_size(), may_be_unlimited ? 1 : 0);
    if (may_be_unlimited) {
      EXPECT_EQ(w.job(id).spec.time_limit, base::kUnlimited);
    }
  }
}

TEST(Partitions, EveryKeyHasAnOrigin) {
  Pools w;
  const wire::Partition p = w.shown("main");
  EXPECT_EQ(static_cast<size_t>(p.origins_size()), model::partition_keys().size());
  EXPECT_EQ(w.origin("main", "nodes"), "partition /etc/g.yaml:6");
  EXPECT_EQ(w.origin("main", "max_time"), "partition /etc/g.yaml:7");
  EXPECT_EQ(w.origin("main", "lease"), "cluster /etc/g.yaml:3");
  EXPECT_EQ(w.origin("main", "fit"), "cluster /etc/g.yaml:2");
  EXPECT_EQ(w.origin("main", "tier"), "built_in");
  EXPECT_EQ(w.origin("main", "grace"), "built_in");
}

TEST(Partitions, WhatThePartitionLeavesOpenIsTheClusters) {
  Pools w;
  const wire::Partition p = w.shown("main");
  EXPECT_EQ(p.fit(), static_cast<uint32_t>(model::Fit::kWorst));
  EXPECT_EQ(p.consolidate(), static_cast<uint32_t>(Consolidate::kDryRun));
  EXPECT_EQ(p.default_qos(), "normal");
  EXPECT_EQ(p.grace_us(), w.settings.policy.grace.us == 0 ? base::seconds(1).us : w.settings.policy.grace.us);
  EXPECT_EQ(w.shown("main", false).origins_size(), 0);
  EXPECT_EQ(w.view.capacity().partition("main")->consolidate, Consolidate::kDryRun);
  EXPECT_EQ(w.view.capacity().partition("main")->grace, std::nullopt);
}

TEST(Partitions, ACommandsWordIsTheCommandersUntilTheNextReload) {
  Pools w;
  w.change([](auto& u) {
    u.set_max_time_us(base::hours(3).us);
    u.set_grace_us(base::seconds(5).us);
    u.set_consolidate(static_cast<uint32_t>(Consolidate::kOn));
    u.set_state(static_cast<uint32_t>(model::PartitionState::kDrain));
  });
  for (const char* key : {"max_time", "grace", "consolidate", "state"})
    EXPECT_EQ(w.origin("main", key), "command root") << key;
  EXPECT_EQ(w.origin("main", "fit"), "cluster /etc/g.yaml:2");
  EXPECT_EQ(w.view.capacity().partition("main")->consolidate, Consolidate::kOn);
  EXPECT_EQ(w.view.capacity().partition("main")->grace, base::seconds(5));
  w.restart();
  w.connect_all();
  EXPECT_EQ(w.origin("main", "state"), "command root") << "the state is kept";
  EXPECT_EQ(w.origin("main", "max_time"), "partition /etc/g.yaml:7") << "the rest is the file's again";
  EXPECT_EQ(w.shown("main").max_time_us(), base::hours(4).us);
  w.change([](auto& u) { u.set_max_time_us(base::hours(3).us); });
  w.reconfigure(w.settings);
  EXPECT_EQ(w.origin("main", "max_time"), "partition /etc/g.yaml:7");
  EXPECT_EQ(w.origin("main", "state"), "command root");
  EXPECT_EQ(w.shown("main").state(), static_cast<uint32_t>(model::PartitionState::kDrain));
}

TEST(Partitions, WhoSaysDefaultLeavesItToTheCluster) {
  Pools w;
  w.change([](auto& u) { u.set_fit(static_cast<uint32_t>(model::Fit::kBest)); });
  EXPECT_EQ(w.origin("main", "fit"), "command root");
  w.change([](auto& u) { u.set_fit(static_cast<uint32_t>(model::Fit::kDefault)); });
  EXPECT_EQ(w.origin("main", "fit"), "cluster /etc/g.yaml:2");
  EXPECT_EQ(w.shown("main").fit(), static_cast<uint32_t>(model::Fit::kWorst));
}

TEST(Partitions, OneThatWasMadeFollowsTheClustersDefaults) {
  Pools w;
  wire::Partition p = wire::to_wire(model::Partition{});
  p.set_tier(4);
  p.set_default_time_us(base::hours(3).us);  // not said
  ASSERT_FALSE(w.create({"nodes", "tier", "bogus"}, p).has_error());
  EXPECT_EQ(w.origin("made", "tier"), "command root");
  EXPECT_EQ(w.origin("made", "default_time"), "built_in") << "no line of the file says it";
  EXPECT_EQ(w.origin("made", "max_time"), "cluster /etc/g.yaml:4");
  EXPECT_EQ(w.shown("made").default_time_us(), base::hours(1).us);
  Settings other = w.settings;
  other.partition_defaults.max_time = base::minutes(30);
  w.reconfigure(other);
  EXPECT_EQ(w.shown("made").max_time_us(), base::minutes(30).us);
  EXPECT_EQ(w.shown("made").default_time_us(), base::minutes(30).us) << "cut to the longest";
  EXPECT_EQ(w.shown("made").tier(), 4);
  w.restart();
  EXPECT_EQ(w.origin("made", "tier"), "command root");
  EXPECT_EQ(w.shown("made").max_time_us(), base::hours(2).us);
  EXPECT_FALSE(w.shown("made").unlimited());
}

TEST(Partitions, ACreationWithoutAListSaysWhatIsNotAsBuiltIn) {
  Pools w;
  wire::Partition p = wire::to_wire(model::Partition{});
  p.set_max_nodes(3);
  ASSERT_FALSE(w.create({}, p).has_error());
  EXPECT_EQ(w.origin("made", "max_nodes"), "command root");
  EXPECT_EQ(w.origin("made", "nodes"), "command root");
  EXPECT_EQ(w.origin("made", "lease"), "cluster /etc/g.yaml:3");
}

TEST(Partitions, OneThatTheFileHasByNowIsTheFiles) {
  Pools w;
  wire::Partition p = wire::to_wire(model::Partition{});
  p.set_tier(4);
  ASSERT_FALSE(w.create({"nodes", "tier"}, p).has_error());
  Settings other = w.settings;
  model::Partition& same = other.partitions.emplace_back(other.partitions.front());
  same.name = "made";
  same.is_default = false;
  other.config_lines["partitions.made.max_time"] = 12;
  w.reconfigure(other);
  EXPECT_EQ(w.origin("made", "max_time"), "partition /etc/g.yaml:12");
  EXPECT_EQ(w.origin("made", "tier"), "built_in");
  EXPECT_EQ(w.shown("made").tier(), 1);
  w.reconfigure(w.settings);
  EXPECT_TRUE(w.shown("made").name().empty()) << "and goes with it";
  w.restart();
  EXPECT_TRUE(w.shown("made").name().empty());
}

/// An order is a file that the controller loads.
TEST(Partitions, ARequestCannotNameAnOrder) {
  Pools w;
  wire::Partition p = wire::to_wire(model::Partition{});
  p.set_order("fifo");
  EXPECT_EQ(w.create({}, p).error().what(), "a partition that a command makes has the cluster's order");
  p.clear_order();
  p.add_order_weights()->set_name("age");
  EXPECT_TRUE(w.create({}, p).has_error());
  EXPECT_EQ(w.shown("made").name(), "");
}

TEST(Partitions, ARequestCannotNameAFilter) {
  Pools w;
  wire::Partition p = wire::to_wire(model::Partition{});
  p.set_filter("gpu_jobs");
  EXPECT_EQ(w.create({}, p).error().what(), "a partition that a command makes has no filter");
  p.clear_filter();
  p.add_filter_weights()->set_name("gpus");
  EXPECT_TRUE(w.create({}, p).has_error());
  EXPECT_EQ(w.shown("made").name(), "");
}

/// One of the same name that a command makes has nothing of it.
TEST(Partitions, TheFilterOfTheFileGoesWithItsPartition) {
  Pools w;
  w.settings.partitions.front().filter = "gpu_jobs";
  w.settings.filters["main"] = {"gpu_jobs", {}, {}, *sched::make_filter("gpu_jobs")};
  w.reconfigure(w.settings);
  model::Request cpus;
  EXPECT_THAT(w.ask(1000, w.submission(cpus)).error().what(),
              HasSubstr("the filter gpu_jobs of partition main keeps its nodes for jobs that ask for GPUs"));
  EXPECT_EQ(w.shown("main").filter(), "gpu_jobs");
  wire::ApiRequest gone, anew;
  gone.mutable_delete_partition()->set_name("main");
  ASSERT_FALSE(w.ask(0, gone).has_error());
  wire::Partition& p = *anew.mutable_create_partition()->mutable_partition();
  p.set_name("main");
  p.add_nodes("n1");
  p.set_is_default(true);
  for (const char* key : {"nodes", "default"}) p.add_origins()->set_key(key);
  ASSERT_FALSE(w.ask(0, anew).has_error());
  EXPECT_EQ(w.ask(1000, w.submission(cpus)).error().what(), "") << "until the file is read again";
}

struct DryRun : Pools {
  JobId blocked, mover;
  DryRun() {
    mover = submit(1000, gang(1));
    schedule();
    blocked = submit(1000, gang(2));
    schedule();
  }
  void tell(const std::vector<sched::WouldMove>& found) {
    sched::Plan plan;
    plan.would_move = found;
    plan.epoch = view.epoch();
    core->on_plan(now, plan);
    pump();
  }
  std::vector<std::string> events() const {
    std::vector<std::string> out;
    for (const store::Event& e : store.events)
      if (e.kind == "would move") out.push_back(e.text);
    return out;
  }
};

TEST(DryRunOfConsolidation, IsToldOnceForEachJobAndSetOfMoves) {
  DryRun w;
  const std::string from = w.job(w.mover).placed()->allocation.node_names().front();
  const std::string to = from == "n0" ? "n1" : "n0";
  const sched::WouldMove found{w.blocked, "main", {from}, {{w.mover, {to}}}};
  w.tell({found});
  w.tell({found});
  ASSERT_EQ(w.events().size(), 1U);
  EXPECT_THAT(w.events()[0], HasSubstr("would start in main on " + from + " if moved: job " + w.mover.text() +
                                       " from " + from + " to " + to));
  w.tell({{w.blocked, "main", {to}, {{w.mover, {from}}}}});
  EXPECT_EQ(w.events().size(), 2U) << "another set";
  w.tell({{w.blocked, "main", {to}, {{JobId(99), {from}}}}});
  EXPECT_EQ(w.events().size(), 2U) << "the one who would move is gone";
  EXPECT_NE(w.job(w.blocked).waiting(), nullptr);
  EXPECT_NE(w.job(w.mover).placed(), nullptr);
}

TEST(DryRunOfConsolidation, WhatWasFoundWhileANodeWasAwayIsToldWhenItIsBack) {
  DryRun w;
  const std::string from = w.job(w.mover).placed()->allocation.node_names().front();
  const std::string to = from == "n0" ? "n1" : "n0";
  w.cut(to);
  w.tell({{w.blocked, "main", {from}, {{w.mover, {to}}}}});
  EXPECT_TRUE(w.events().empty());
  w.connect(to);
  EXPECT_EQ(w.events().size(), 1U);
}

}  // namespace
}  // namespace gw::ctld
