// The tree as a file: dump, load, and dump again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cmds/gacctmgr/acct.h"
#include "wire/convert.h"

namespace gw::cmds {
namespace {

using testing::HasSubstr;

wire::ListQuotasReply tree() {
  wire::ListQuotasReply list;
  const auto add = [&](model::Qos q) { *list.add_qos() = wire::to_wire(q); };
  model::Qos root;
  root.name = "cluster";
  root.operators = {"root"};
  model::Qos dept;
  dept.name = "z-dept";
  dept.guaranteed = {{"gpu", 48'000}, {"gpu:h100", 16'000}, {"mem", 512 << 10}};
  dept.limit = {{"gpu", 64'500}};
  dept.weight = 0;
  dept.priority = -4;
  model::Qos team;
  team.name = "a-team";
  team.parent = "z-dept";
  team.description = "the \"A\" team: C:\\ # 1";
  team.preempt_children = true;
  team.min_runtime = base::minutes(10);
  team.grace = base::Duration{};
  team.patience = base::hours(2);
  team.max_wall = base::hours(36);
  team.max_jobs = 1;
  team.max_submit = 2;
  team.max_jobs_per_user = 3;
  team.max_submit_per_user = 4;
  team.limit_per_user = {{"node", 2}};
  team.users = {"root", "@root"};
  for (const model::Qos& q : {team, root, dept}) add(q);
  wire::QuotaUser& user = *list.add_users();
  user.set_name("root");
  user.set_default_qos("a-team");
  return list;
}

/// What the controller makes of a request that gives it the whole tree.
wire::ListQuotasReply taken(const wire::ChangeQuotasRequest& request) {
  wire::ListQuotasReply list;
  for (const wire::QuotaChange& c : request.changes()) {
    EXPECT_EQ(c.what(), wire::QuotaChange::kAdd);
    if (c.is_user()) {
      wire::QuotaUser& user = *list.add_users();
      user.set_name(c.name());
      user.set_default_qos(c.default_qos());
      continue;
    }
    const wire::QosPatch& p = c.qos();
    wire::Qos q = wire::to_wire(model::Qos());
    q.set_name(c.name());
    q.set_parent(p.parent());
    q.set_description(p.description());
    q.set_priority(p.priority());
    if (p.has_weight()) q.set_weight(p.weight());
    q.set_preempt_children(p.preempt_children());
    q.set_min_runtime_us(p.min_runtime_us());
    if (p.has_grace_us() && p.grace_us() >= 0) q.set_grace_us(p.grace_us());
    if (p.has_patience_us() && p.patience_us() >= 0) q.set_patience_us(p.patience_us());
    q.set_max_wall_us(p.max_wall_us());
    q.set_max_jobs(p.max_jobs());
    q.set_max_submit(p.max_submit());
    q.set_max_jobs_per_user(p.max_jobs_per_user());
    q.set_max_submit_per_user(p.max_submit_per_user());
    *q.mutable_guaranteed() = p.guaranteed().set();
    *q.mutable_limit() = p.limit().set();
    *q.mutable_limit_per_user() = p.limit_per_user().set();
    *q.mutable_users() = p.users().add();
    *q.mutable_operators() = p.operators().add();
    *list.add_qos() = q;
  }
  return list;
}

TEST(AcctFile, ShowsParentsFirstAndOnlyWhatDiffers) {
  const std::string text = dump_text(tree());
  EXPECT_THAT(text, HasSubstr("qos:\n"
                              "  - name: cluster\n"
                              "    operators: [root]\n"
                              "  - name: z-dept\n"
                              "    priority: -4\n"
                              "    weight: 0\n"
                              "    guaranteed: {gpu: 48, \"gpu:h100\": 16, mem: 512G}\n"
                              "    limit: {gpu: 64.5}\n"
                              "  - name: a-team\n"
                              "    parent: z-dept\n"
                              "    description: \"the \\\"A\\\" team: C:\\\\ # 1\"\n"));
  EXPECT_THAT(text, HasSubstr("    users: [root, \"@root\"]\n"
                              "users:\n"
                              "  - name: root\n"
                              "    default_qos: a-team\n"));
}

TEST(AcctFile, DumpLoadDumpIsTheSameToTheByte) {
  const std::string first = dump_text(tree());
  auto request = load_request(first, "f.yaml");
  ASSERT_TRUE(request.has_value()) << request.error().text();
  EXPECT_TRUE(request->replace());
  ASSERT_EQ(request->changes_size(), 4);
  EXPECT_EQ(request->changes(1).name(), "z-dept") << "a parent comes before its children";
  EXPECT_EQ(request->changes(2).name(), "a-team");
  EXPECT_FALSE(request->changes(0).qos().has_weight()) << "the root has roles only";
  EXPECT_EQ(dump_text(taken(*request)), first);
}

TEST(AcctFile, AnEmptyTreeIsOne) {
  const std::string text = dump_text({});
  auto request = load_request(text, "f.yaml");
  ASSERT_TRUE(request.has_value()) << request.error().text();
  EXPECT_EQ(request->changes_size(), 0);
  EXPECT_EQ(dump_text(taken(*request)), text);
}

TEST(AcctFile, MistakesHaveAPlace) {
  const std::pair<const char*, const char*> cases[] = {
      {"qos: [{name: a, wieght: 2}]\n", "f.yaml:1:17: unknown key \"wieght\" (did you mean \"weight\"?)"},
      {"qos:\n  - name: a\n    weight: -1\n", "f.yaml:3:13: weight: -1 is out of range"},
      {"qos:\n  - name: a\n    limit: {gpu: -1}\n", "f.yaml:3:18: "},
      {"qos:\n  - name: a\n    parent: b\n", "f.yaml:3:13: QOS a: no QOS b to be its parent"},
      {"qos:\n  - {name: a, parent: b}\n  - {name: b, parent: a}\n", "is below itself"},
      {"qos:\n  - name: a\n  - name: a\n", "f.yaml:3:5: a is there twice, first in line 2"},
      {"qos:\n  - weight: 2\n", "f.yaml:2:5: this entry of qos has no name"},
      {"qos:\n  - name: cluster\n    weight: 2\n", "users and operators only"},
      {"qos:\n  - name: a\n    users: [no_such_user_here]\n", "f.yaml:3:12: this host has no user no_such_user_here"},
      {"qos: []\nusers:\n  - {name: root, default_qos: a}\n", "f.yaml:3:31: no QOS \"a\""},
      {"qos: []\nusers:\n  - {name: root}\n", "user root has neither default_qos nor budget"},
      {"qso: []\n", "unknown key \"qso\" (did you mean \"qos\"?)"},
      {"users: []\n", "no list qos:"},
      {"qos: [", "f.yaml:"},
  };
  for (const auto& [text, says] : cases) {
    auto request = load_request(text, "f.yaml");
    ASSERT_FALSE(request.has_value()) << text;
    EXPECT_THAT(request.error().text(), HasSubstr(says)) << text;
  }
}

}  // namespace
}  // namespace gw::cmds
