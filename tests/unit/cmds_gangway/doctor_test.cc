// What the checks of `gangway doctor` make of what they see.
#include "cmds/gangway/verbs/doctor.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace gw::cmds {
namespace {

TEST(Doctor, JudgesTheClockByTheLifetimeOfACredential) {
  const struct {
    int64_t offset_s;
    Health health;
  } cases[] = {{0, Health::kOk},     {74, Health::kOk},    {-74, Health::kOk},   {75, Health::kWarn},
               {-75, Health::kWarn}, {299, Health::kWarn}, {300, Health::kFail}, {-4000, Health::kFail}};
  for (const auto& c : cases) {
    const Finding f = judge_clock(base::seconds(c.offset_s));
    EXPECT_EQ(f.health, c.health) << c.offset_s;
    EXPECT_EQ(f.remedy.empty(), c.health == Health::kOk) << c.offset_s;
  }
}

TEST(Doctor, NamesRunsThatTheStateDoesNotKnow) {
  wire::ListNodesReply nodes;
  nodes.add_nodes()->set_name("n0");
  EXPECT_TRUE(judge_foreign_runs(nodes).empty());
  nodes.add_nodes()->set_name("n1");
  nodes.mutable_nodes(1)->add_foreign_runs("7.1");
  const Findings found = judge_foreign_runs(nodes);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_NE(found[0].text.find("n1 runs what the controller's state does not know: 7.1"), std::string::npos);
  EXPECT_NE(found[0].remedy.find("nodename=n1 foreign=end"), std::string::npos);
}

TEST(Doctor, TellsWhatTheControllerWarnsOf) {
  wire::ListNodesReply nodes;
  nodes.add_nodes()->set_name("n0");
  EXPECT_TRUE(judge_nodes(nodes).empty());
  for (int i = 0; i < 30; ++i) {
    nodes.add_nodes()->set_name("n" + std::to_string(i + 1));
    nodes.mutable_nodes(i + 1)->set_warning("0 of 8 GPUs found");
  }
  const Findings found = judge_nodes(nodes);
  ASSERT_EQ(found.size(), 21u);
  EXPECT_EQ(found[0].health, Health::kWarn);
  EXPECT_EQ(found[0].text, "n1: 0 of 8 GPUs found");
  EXPECT_EQ(found[20].text, "10 other nodes have warnings, too");
}

TEST(Doctor, JudgesFreeSpace) {
  EXPECT_EQ(judge_disk("/x", 99, 1000).health, Health::kFail);
  EXPECT_EQ(judge_disk("/x", 1023, 100'000).health, Health::kWarn);
  EXPECT_EQ(judge_disk("/x", 1024, 100'000).health, Health::kOk);
  EXPECT_NE(judge_disk("/var/x", 99, 1000).text.find("/var/x"), std::string::npos);
}

TEST(Doctor, WarnsOfAnOldMungedButDoesNotFail) {
  EXPECT_EQ(judge_munge_version("0.5.15").health, Health::kWarn);
  EXPECT_EQ(judge_munge_version("0.5.18").health, Health::kOk);
  EXPECT_NE(judge_munge_version("0.5.15").text.find("CVE-2026-25506"), std::string::npos);
}

TEST(Doctor, ReadsTheProbe) {
  const auto good = judge_probe(R"({"chosen": "cgroup_v2", "kinds": [
      {"kind": "cgroup_v1", "usable": false, "controllers": [{"controller": "memory", "usable": false}]},
      {"kind": "cgroup_v2", "usable": true, "controllers": [
        {"controller": "memory", "usable": true, "why_not": ""},
        {"controller": "cpuset", "usable": false, "why_not": "not delegated"}]}]})");
  ASSERT_EQ(good.size(), 3U);
  EXPECT_EQ(good[0].health, Health::kOk);
  EXPECT_EQ(good[1].health, Health::kOk);
  EXPECT_EQ(good[2].health, Health::kWarn);
  EXPECT_NE(good[2].text.find("not delegated"), std::string::npos);
}

TEST(Doctor, DoesNotProbeForGnodedAsAnotherUser) {
  config::Config config;
  config.controller_uid = 692;
  EXPECT_FALSE(explain_no_probe(0, config));
  EXPECT_FALSE(explain_no_probe(692, config));
  const auto untold = explain_no_probe(1000, config);
  ASSERT_TRUE(untold);
  EXPECT_EQ(untold->health, Health::kOk);
  EXPECT_NE(untold->text.find("not checked"), std::string::npos);
}

TEST(Doctor, TellsOfUselessProbes) {
  EXPECT_EQ(judge_probe(R"({"chosen": "none", "kinds": []})")[0].health, Health::kWarn);
  EXPECT_EQ(judge_probe(R"({"chosen": null, "error": "no plug-ins in /x"})")[0].text, "no plug-ins in /x");
  const auto none = judge_probe(R"({"chosen": "none", "kinds": [{"kind": "none", "usable": true, "controllers": [
      {"controller": "memory", "usable": false, "why_not": "needs cgroups"}]}]})");
  EXPECT_EQ(none.size(), 1U) << "what follows from having no cgroups is not told again for each controller";
  for (const char* garbage : {"", "[]", "gstepd: cannot open", "{"}) {
    EXPECT_TRUE(has_failure(judge_probe(garbage))) << garbage;
  }
}

TEST(Doctor, PrintsRemediesAndJson) {
  const Findings findings = {{Health::kOk, "a", "fine", ""}, {Health::kFail, "b", "broken", "mend it"}};
  const std::string text = findings_text(findings, false);
  EXPECT_NE(text.find("OK    a"), std::string::npos);
  EXPECT_NE(text.find("FAIL  b"), std::string::npos);
  EXPECT_NE(text.find("remedy: mend it"), std::string::npos);
  EXPECT_EQ(text.find('\033'), std::string::npos);
  const std::string two = findings_text({{Health::kFail, "config", "one\ntwo", ""}}, false);
  EXPECT_EQ(two, "FAIL  config      one\n                  two\n");
  const auto json = nlohmann::json::parse(findings_json(findings));
  EXPECT_EQ(json["schema_version"], 1);
  EXPECT_EQ(json["ok"], false);
  EXPECT_EQ(json["findings"][1]["level"], "FAIL");
}

}  // namespace
}  // namespace gw::cmds
