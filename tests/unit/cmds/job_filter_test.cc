// Filters of jobs, and names that nobody knows, against a controller that answers from a small table.
#include "cmds/shared/job_filter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "cmds/gcontrol/control_verbs.h"
#include "cmds/shared/job_faults.h"

namespace gw::cmds {
namespace {

using base::Duration;
using base::ErrorCode;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kNobody = "no-such-user-in-any-passwd";

/// Knows partition main, QOS normal, nodes n0 and n1, and one job that the user kNobody has.
class Controller final : public client::Channel {
 public:
  explicit Controller(std::vector<wire::ApiRequest>& seen) : seen_(seen) {}
  base::Status send(std::string_view message, Duration) override {
    EXPECT_TRUE(request_.ParseFromArray(message.data(), static_cast<int>(message.size())));
    seen_.push_back(request_);
    return {};
  }
  base::Result<std::string> receive(Duration) override {
    wire::ApiReply reply;
    if (request_.has_list_partitions()) refuse_unknown(request_.list_partitions().names(), {"main"}, reply);
    if (request_.has_list_nodes()) {
      for (const char* name : {"n0", "n1"}) reply.mutable_list_nodes()->add_nodes()->set_name(name);
      refuse_unknown(request_.list_nodes().names(), {"n0", "n1"}, reply);
    }
    if (request_.has_show_config()) reply.mutable_show_config()->add_qos()->set_name("normal");
    if (request_.has_list_jobs()) {
      reply.mutable_list_jobs();
      for (const std::string& user : request_.list_jobs().filter().users())
        if (user == kNobody) reply.mutable_list_jobs()->add_jobs()->mutable_spec()->set_user(user);
    }
    reply.set_id(request_.id());
    return reply.SerializeAsString();
  }

 private:
  using Names = google::protobuf::RepeatedPtrField<std::string>;
  static void refuse_unknown(const Names& names, const std::set<std::string>& known, wire::ApiReply& reply) {
    for (const std::string& name : names) {
      if (known.contains(name)) continue;
      reply.mutable_error()->set_code(static_cast<uint32_t>(ErrorCode::kNotFound));
      reply.mutable_error()->set_what(name + " not found");
      return;
    }
  }

  std::vector<wire::ApiRequest>& seen_;
  wire::ApiRequest request_;
};

client::Connection connect_to_fake(std::vector<wire::ApiRequest>& seen) {
  return {{"gtest", false},
          "host:1",
          base::seconds(1),
          [&seen](Duration) -> base::Result<std::unique_ptr<client::Channel>> {
            return std::make_unique<Controller>(seen);
          },
          {[] { return Duration{}; }, [](Duration) {}}};
}

/// What is said of a filter; "" if all names are known.
std::string verdict(const wire::JobFilter& filter, const std::vector<wire::Job>& jobs = {}) {
  std::vector<wire::ApiRequest> seen;
  client::Connection connection = connect_to_fake(seen);
  const auto known = check_names(connection, filter, {jobs.begin(), jobs.end()});
  return known ? "" : known.error().text();
}

TEST(JobFilter, UsersAreNamesOrNumbers) {
  JobFilters f;
  f.users = {"alice", "1000"};
  f.me = true;
  const auto filter = to_filter(f);
  ASSERT_TRUE(filter.has_value());
  EXPECT_THAT(filter->users(), ElementsAre("alice"));
  EXPECT_THAT(filter->uids(), ElementsAre(1000u, ::geteuid()));
  f.users = {"99999999999"};
  EXPECT_FALSE(to_filter(f).has_value());
}

TEST(JobFilter, IdsAloneAreNoFilter) {
  JobFilters f;
  f.ids.jobs = {1};
  EXPECT_FALSE(f.has_filter());
  f.states = {"PD"};
  EXPECT_TRUE(f.has_filter());
}

TEST(JobFilter, TheEnvironmentFillsWhatTheCommandLineLeavesOut) {
  JobFilters mine, env;
  env.users = {"bob"};
  env.partitions = {"gpu"};
  env.states = {"PD"};
  env.qos = {"high"};
  mine.partitions = {"cpu"};
  fill_filters(mine, env);
  EXPECT_THAT(mine.users, ElementsAre("bob"));
  EXPECT_THAT(mine.partitions, ElementsAre("cpu"));
  EXPECT_THAT(mine.states, ElementsAre("PD"));
  EXPECT_THAT(mine.qos, ElementsAre("high"));
  JobFilters me;
  me.me = true;
  fill_filters(me, env);
  EXPECT_TRUE(me.users.empty()) << "--me is a choice of users";
}

TEST(CheckNames, TellsOfNamesThatNobodyKnows) {
  using Filter = wire::JobFilter;
  const struct {
    std::function<void(Filter&)> set;
    const char* says;
  } cases[] = {
      {[](Filter& f) { f.add_users("root"); }, ""},
      {[](Filter& f) { f.add_users("rooot"); }, "Invalid user: rooot (did you mean \"root\"?)"},
      {[](Filter& f) { f.add_users(kNobody); }, ""},
      {[](Filter& f) { f.add_users("nope-at-all"); }, "Invalid user: nope-at-all"},
      {[](Filter& f) { f.add_partitions("main"); }, ""},
      {[](Filter& f) { f.add_partitions("main"), f.add_partitions("nope"); }, "nope not found"},
      {[](Filter& f) { f.add_nodes("n1"); }, ""},
      {[](Filter& f) { f.add_nodes("n7"); }, "n7 not found"},
      {[](Filter& f) { f.add_qos("normal"); }, ""},
      {[](Filter& f) { f.add_qos("norml"); }, "QOS norml not found (did you mean \"normal\"?)"},
      {[](Filter& f) { f.add_qos("xyzzy"); }, "QOS xyzzy not found (known: normal)"},
  };
  for (const auto& c : cases) {
    Filter filter;
    c.set(filter);
    EXPECT_EQ(verdict(filter), c.says);
  }
}

TEST(CheckNames, WhatAJobCarriesExistsAndIsNotAskedFor) {
  wire::Job job;
  job.mutable_spec()->set_user("gone-user");
  job.mutable_spec()->set_qos("gone-qos");
  job.mutable_spec()->add_partitions("gone-partition");
  job.mutable_status()->mutable_placed()->add_shares()->set_node("gone-node");
  wire::JobFilter filter;
  filter.add_users("gone-user");
  filter.add_qos("gone-qos");
  filter.add_partitions("gone-partition");
  filter.add_nodes("gone-node");
  std::vector<wire::ApiRequest> seen;
  client::Connection connection = connect_to_fake(seen);
  google::protobuf::RepeatedPtrField<wire::Job> jobs;
  *jobs.Add() = job;
  EXPECT_TRUE(check_names(connection, filter, jobs).has_value());
  EXPECT_TRUE(seen.empty());
  EXPECT_NE(verdict(filter), "");
}

TEST(NameAllNodes, AllStandsForEveryNode) {
  std::vector<wire::ApiRequest> seen;
  client::Connection connection = connect_to_fake(seen);
  wire::ApiRequest node, changed, made;
  node.mutable_update_node()->add_names("n7");
  changed.mutable_update_partition()->set_nodes("n7");
  made.mutable_create_partition()->mutable_partition()->add_nodes("n7");
  for (wire::ApiRequest* request : {&node, &changed, &made}) {
    const std::string before = request->SerializeAsString();
    ASSERT_TRUE(name_all_nodes(connection, *request).has_value());
    EXPECT_EQ(request->SerializeAsString(), before);
  }
  for (const char* all : {"ALL", "all"}) {
    node.mutable_update_node()->set_names(0, all);
    changed.mutable_update_partition()->set_nodes(all);
    made.mutable_create_partition()->mutable_partition()->mutable_nodes()->Clear();
    made.mutable_create_partition()->mutable_partition()->add_nodes(all);
    for (wire::ApiRequest* request : {&node, &changed, &made})
      ASSERT_TRUE(name_all_nodes(connection, *request).has_value());
    EXPECT_THAT(node.update_node().names(), ElementsAre("n0", "n1"));
    EXPECT_EQ(changed.update_partition().nodes(), "n[0-1]");
    EXPECT_THAT(made.create_partition().partition().nodes(), ElementsAre("n0", "n1"));
    node.mutable_update_node()->mutable_names()->DeleteSubrange(1, 1);
  }
}

TEST(Fault, NamesTheJobOnce) {
  const auto text = [](const char* what, const char* hint = "") {
    wire::JobFault fault;
    fault.set_id(1);
    fault.mutable_error()->set_what(what);
    fault.mutable_error()->set_hint(hint);
    return fault_text(fault);
  };
  EXPECT_EQ(text("job 1 has ended already: FAILED"), "job 1 has ended already: FAILED");
  EXPECT_EQ(text("access denied to job 1: it belongs to root", "ask"),
            "access denied to job 1: it belongs to root (ask)");
  EXPECT_EQ(text("Invalid job id specified: 1"), "Invalid job id specified: 1");
  EXPECT_EQ(text("signal 70 does not exist"), "job 1: signal 70 does not exist");
  EXPECT_EQ(text("job 12 stands in the way"), "job 1: job 12 stands in the way");
}

}  // namespace
}  // namespace gw::cmds
