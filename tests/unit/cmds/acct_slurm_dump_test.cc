// Files of sacctmgr dump as a tree of quotas.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "cmds/gacctmgr/acct.h"

namespace gw::cmds {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr char kDump[] = R"(# To edit this file start with a cluster line for the new cluster
# Cluster - 'cluster_name':MaxNodesPerJob=50
Cluster - 'uni':Fairshare=1:QOS='normal'
Parent - 'root'
User - 'root':DefaultAccount='root':AdminLevel='Administrator':Fairshare=1
Account - 'physics':Description='physics: all':Organization='uni':Fairshare=10:GrpTRES=cpu=100,gres/gpu=8
Account - 'bio':Fairshare=parent:QOS='normal,high'
Parent - 'physics'
Account - 'plasma':GrpJobs=4:MaxJobs=2:MaxSubmitJobs=9:MaxWallDurationPerJob=2880:GrpTRESMins=gres/gpu=600
User - 'nobody':DefaultAccount='plasma':MaxJobs=3:Coordinator='plasma'
User - 'who-has-left':Fairshare=2
User - 'gone-too'
Parent - 'plasma'
User - 'nobody':DefaultAccount='plasma':AdminLevel='Operator'
)";

std::string error_of(const std::string& text) {
  const auto changes = slurm_dump_changes("Cluster - 'c'\n" + text, "dump.cfg");
  return changes ? "" : changes.error().text();
}

TEST(SlurmDump, BecomesATree) {
  ASSERT_TRUE(is_slurm_dump(kDump));
  const auto changes = slurm_dump_changes(kDump, "dump.cfg");
  ASSERT_TRUE(changes) << changes.error().text();
  const wire::ChangeQuotasRequest& r = changes->request;
  EXPECT_TRUE(r.replace());
  ASSERT_EQ(r.changes_size(), 4);
  const wire::QosPatch& physics = r.changes(0).qos();
  EXPECT_EQ(r.changes(0).name(), "physics");
  EXPECT_EQ(physics.parent(), "cluster");
  EXPECT_EQ(physics.description(), "physics: all");
  EXPECT_EQ(physics.weight(), 10u);
  ASSERT_EQ(physics.limit().set_size(), 2);
  EXPECT_EQ(physics.limit().set(1).resource(), "gpu");
  EXPECT_EQ(r.changes(1).name(), "bio");
  EXPECT_FALSE(r.changes(1).qos().has_weight()) << "that of its parent";
  const wire::QosPatch& plasma = r.changes(2).qos();
  EXPECT_EQ(plasma.parent(), "physics");
  EXPECT_EQ(plasma.max_jobs(), 4u);
  EXPECT_EQ(plasma.max_jobs_per_user(), 2u) << "MaxJobs of an account is that of each user";
  EXPECT_EQ(plasma.max_submit_per_user(), 9u);
  EXPECT_EQ(plasma.max_wall_us(), int64_t{48} * 3600 * 1'000'000);
  EXPECT_TRUE(plasma.has_budget());
  EXPECT_THAT(plasma.users().add(), ElementsAre("nobody"));
  EXPECT_THAT(plasma.operators().add(), ElementsAre("nobody"));
  EXPECT_THAT(physics.users().add(), ElementsAre("nobody"));
  EXPECT_TRUE(r.changes(3).is_user());
  EXPECT_EQ(r.changes(3).default_qos(), "plasma");
}

TEST(SlurmDump, WhatHasNoCounterpartIsNotedOnce) {
  const auto changes = slurm_dump_changes(kDump, "dump.cfg");
  ASSERT_TRUE(changes);
  const std::string notes = base::join(changes->notes, "\n");
  EXPECT_THAT(notes, HasSubstr("left out: nobody is called so on this host: who-has-left (and 1 more)"));
  EXPECT_THAT(notes, HasSubstr("QOS of accounts has no counterpart here: bio"));
  EXPECT_THAT(notes, HasSubstr("administrators stand in the configuration: admins: nobody"));
  EXPECT_THAT(notes, HasSubstr("limits of single users are not kept"));
}

TEST(SlurmDump, OfAnOlderVersionIsReadToo) {
  const auto changes = slurm_dump_changes(
      "Cluster - 'c':MaxNodesPerJob=50\nParent - 'root'\nAccount - 'a':GrpCPUs=4:MaxCPUMins=3\n", "f");
  ASSERT_TRUE(changes);
  EXPECT_THAT(changes->notes, ElementsAre("GrpCPUs of accounts has no counterpart here: a",
                                          "MaxCPUMins of accounts has no counterpart here: a"));
}

TEST(SlurmDump, MistakesAreAllToldWithTheirLines) {
  EXPECT_THAT(
      error_of("Parent - 'nosuch'\nAccount - 'a':Fairshar=3\nAccont - 'b'\nAccount - 'c'\nAccount - 'c'\nnothing\n"
               "User - 'x':NoKey=1\nAccount - 'd':Fairshare=much\nAccount - 'e':word\nAccount - ''\n"),
      AllOf(HasSubstr("dump.cfg:2: account \"nosuch\" was not there before"),
            HasSubstr("dump.cfg:3: unknown key \"Fairshar\" (did you mean \"Fairshare\"?)"),
            HasSubstr("dump.cfg:4: \"Accont\" is no kind of line"), HasSubstr("dump.cfg:6: account \"c\" stands twice"),
            HasSubstr("dump.cfg:7: \"nothing\" is no line"), HasSubstr("dump.cfg:8: unknown key \"NoKey\""),
            HasSubstr("dump.cfg:9: weight"), HasSubstr("dump.cfg:10: \"word\" is not KEY=VALUE"),
            HasSubstr("dump.cfg:11: Account has no name")));
}

TEST(SlurmDump, OtherFilesAreNone) {
  EXPECT_FALSE(is_slurm_dump("qos:\n  - {name: a}\n"));
  EXPECT_FALSE(is_slurm_dump("# Cluster - 'x'\n"));
  EXPECT_FALSE(is_slurm_dump(""));
}

}  // namespace
}  // namespace gw::cmds
