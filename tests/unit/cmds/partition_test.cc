// gcontrol create and update of partitions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cmds/gcontrol/control_verbs.h"
#include "model/cluster.h"

namespace gw::cmds {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Words = std::vector<std::string>;

wire::UpdatePartitionRequest updated(Words settings) {
  settings.insert(settings.begin(), "PartitionName=p");
  auto request = update_request(settings, base::Time{1'800'000'000'000'000});
  EXPECT_TRUE(request.has_value()) << (request ? "" : request.error().text());
  return request ? request->update_partition() : wire::UpdatePartitionRequest();
}

wire::Partition created(Words words) {
  auto request = partition_creation(words);
  EXPECT_TRUE(request.has_value()) << (request ? "" : request.error().text());
  return request ? request->create_partition().partition() : wire::Partition();
}

TEST(PartitionUpdate, TakesTheKeysOfSlurm) {
  const auto u = updated({"Nodes=n[1-4]", "QOS=low", "MaxNodes=2", "AllowAccounts=a,b", "AllowUsers=ann",
                          "AllowGroups=ALL", "OverSubscribe=EXCLUSIVE", "DefaultFor=compute"});
  EXPECT_EQ(u.nodes(), "n[1-4]");
  EXPECT_EQ(u.default_qos(), "low");
  EXPECT_EQ(u.max_nodes(), 2u);
  EXPECT_EQ(u.allow_qos(), "a,b");
  EXPECT_EQ(u.allow_users(), "ann");
  EXPECT_TRUE(u.has_allow_groups());
  EXPECT_EQ(u.allow_groups(), "");
  EXPECT_TRUE(u.exclusive());
  EXPECT_TRUE(u.default_for_compute());
  EXPECT_TRUE(u.has_default_for_aux());
  EXPECT_FALSE(u.default_for_aux());
  EXPECT_FALSE(u.has_state());
  EXPECT_FALSE(updated({"DefaultFor=none"}).default_for_compute());
  EXPECT_TRUE(updated({"DefaultFor=compute,aux"}).default_for_aux());
  EXPECT_EQ(updated({"MaxNodes=UNLIMITED"}).max_nodes(), 0u);
  EXPECT_EQ(updated({"QOS=none"}).default_qos(), "");
  EXPECT_FALSE(updated({"OverSubscribe=no"}).exclusive());
  EXPECT_EQ(updated({"Nodes=ALL"}).nodes(), "ALL");
}

TEST(PartitionUpdate, TakesThePolicy) {
  const auto u = updated({"Consolidate=DRY_RUN", "Fit=Worst", "GraceTime=90"});
  EXPECT_EQ(u.consolidate(), static_cast<uint32_t>(model::Consolidate::kDryRun));
  EXPECT_EQ(u.fit(), static_cast<uint32_t>(model::Fit::kWorst));
  EXPECT_EQ(u.grace_us(), base::seconds(90).us);
  EXPECT_EQ(updated({"Consolidate=off"}).consolidate(), static_cast<uint32_t>(model::Consolidate::kOff));
  EXPECT_EQ(updated({"GraceTime=2m"}).grace_us(), base::minutes(2).us);
  EXPECT_TRUE(updated({"Fit=default"}).has_fit());
  for (const char* wrong : {"Consolidate=maybe", "Fit=tight", "GraceTime=2d", "GraceTime=soon"})
    EXPECT_FALSE(update_request(Words{"PartitionName=p", wrong}, {})) << wrong;
}

TEST(PartitionCreation, SaysWhichKeysAreSaid) {
  std::vector<std::string> keys;
  const wire::Partition p = created({"PartitionName=p", "Nodes=n1", "MaxTime=60", "Fit=best"});
  for (const auto& origin : p.origins()) keys.push_back(origin.key());
  EXPECT_THAT(keys, ElementsAre("nodes", "max_time", "default_time", "fit"));
}

TEST(PartitionCreation, HasTheDefaultsOfTheConfiguration) {
  const wire::Partition p = created({"PartitionName=p", "Nodes=n[1-3]", "MaxTime=60", "State=DRAIN"});
  EXPECT_EQ(p.name(), "p");
  EXPECT_THAT(p.nodes(), ElementsAre("n1", "n2", "n3"));
  EXPECT_EQ(p.max_time_us(), base::hours(1).us);
  EXPECT_EQ(p.default_time_us(), base::hours(1).us) << "without DefaultTime the longest";
  EXPECT_FALSE(p.unlimited());
  EXPECT_EQ(p.tier(), 1);
  EXPECT_EQ(p.cores_per_gpu_kept(), 1u);
  EXPECT_EQ(p.state(), static_cast<uint32_t>(model::PartitionState::kDrain));
  EXPECT_TRUE(created({"partition=p", "nodes=n1"}).unlimited());
  EXPECT_THAT(created({"partition", "name=p", "nodes=all"}).nodes(), ElementsAre("ALL"));
  EXPECT_THAT(created({"partition", "name=p", "nodes=n1", "AllowQos=a,b"}).allow_qos(), ElementsAre("a", "b"));
  EXPECT_THAT(created({"partition", "name=p", "nodes=n1", "AllowQos=ALL"}).allow_qos(), IsEmpty());
}

TEST(PartitionWords, AReservationMayNameAPartition) {
  EXPECT_TRUE(is_about_partition(Words{"PartitionName=p", "Nodes=n1"}));
  EXPECT_TRUE(is_about_partition(Words{"partition", "p"}));
  EXPECT_FALSE(is_about_partition(Words{"ReservationName=r", "PartitionName=p"}));
  EXPECT_FALSE(is_about_partition(Words{"PartitionName=p", "StartTime=now", "Duration=60", "NodeCnt=2"}));
  EXPECT_FALSE(is_about_partition(Words{"reservation", "partition"}));
  EXPECT_FALSE(is_about_partition(Words{}));
}

TEST(PartitionWords, BadOnesSayWhatIsWrong) {
  const std::pair<Words, const char*> cases[] = {
      {{"PartitionName=p"}, "needs nodes"},
      {{"PartitionName=", "Nodes=n1"}, "needs a name"},
      {{"PartitionName=p", "Nodes="}, "needs nodes"},
      {{"PartitionName=p", "Nodes=n["}, "n["},
      {{"PartitionName=p", "Nodes=n1", "MaxNode=1"}, "did you mean \"maxnodes\"?"},
      {{"PartitionName=p", "Nodes=n1", "MaxNodes=-1"}, "out of range"},
      {{"PartitionName=p", "Nodes=n1", "OverSubscribe=FORCE"}, "neither EXCLUSIVE nor NO"},
      {{"PartitionName=p", "Nodes=n1", "DefaultFor=gpu"}, "none of compute, aux, none"},
      {{"PartitionName=p", "Nodes=n1", "DefaultFor=aux,none"}, "none of compute, aux, none"},
      {{"PartitionName=p", "Nodes=n1", "AllowQos=a", "AllowAccounts=b"}, "say the same"},
      {{"PartitionName=p", "Nodes=n1", "AllowQos=a,"}, "an empty name"},
  };
  for (const auto& [words, says] : cases) {
    auto request = partition_creation(words);
    ASSERT_FALSE(request.has_value()) << testing::PrintToString(words);
    EXPECT_THAT(request.error().text(), HasSubstr(says)) << testing::PrintToString(words);
  }
}

}  // namespace
}  // namespace gw::cmds
