// Partitions over the cluster's defaults, key by key, and the words of consolidate.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/config.h"
#include "config/keys.h"
#include "model/partition_keys.h"

namespace gw::config {
namespace {

using model::Consolidate;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Config parsed(const std::string& text) {
  auto config = parse("controller: {user: root}\nnodes: [n0, n1]\n" + text, "f");
  EXPECT_TRUE(config) << config.error().text();
  return config ? *config : Config{};
}

std::string mistake(const std::string& text) {
  auto config = parse("controller: {user: root}\nnodes: [n0, n1]\n" + text, "f");
  return config ? "accepted" : config.error().text();
}

TEST(PartitionDefaults, HoldWhereAPartitionDoesNotSay) {
  const Config c = parsed(R"(
partition_defaults: {default_time: 1h, max_time: 4h, lease: 5m, deny_users: [a, b], max_nodes: 2}
partitions:
  - {name: p, nodes: ALL}
  - {name: q, nodes: n0, max_time: 30m, deny_users: [], max_nodes: 0}
)");
  const model::Partition &p = c.partitions.at(0), &q = c.partitions.at(1);
  EXPECT_EQ(p.default_time, base::hours(1));
  EXPECT_EQ(p.max_time, base::hours(4));
  EXPECT_EQ(p.lease, base::minutes(5));
  EXPECT_THAT(p.deny_users, ElementsAre("a", "b"));
  EXPECT_EQ(q.max_time, base::minutes(30));
  EXPECT_EQ(q.default_time, base::minutes(30)) << "what was not said gives way";
  EXPECT_THAT(q.deny_users, IsEmpty());
  EXPECT_EQ(q.max_nodes, 0u);
  EXPECT_EQ(q.lease, base::minutes(5));
}

TEST(PartitionDefaults, HoldForTheOnePartitionThatIsNotWritten) {
  const model::Partition p = parsed("partition_defaults: {max_time: 2h, default_time: 3h}\n").partitions.at(0);
  EXPECT_EQ(p.max_time, base::hours(2));
  EXPECT_EQ(p.default_time, base::hours(2));
  EXPECT_FALSE(p.unlimited);
  EXPECT_TRUE(parsed("").partitions.at(0).unlimited);
}

TEST(PartitionDefaults, LinesAreKept) {
  const Config c = parsed(
      "scheduler: {fit: worst}\npartition_defaults:\n  lease: 5m\npartitions:\n  - name: p\n    nodes: ALL\n"
      "    unlimited: true\n");
  EXPECT_EQ(c.lines.at("scheduler.fit"), 3u);
  EXPECT_EQ(c.lines.at("partition_defaults.lease"), 5u);
  EXPECT_EQ(c.lines.at("partitions.p.unlimited"), 9u);
  EXPECT_FALSE(c.lines.contains("partitions.p.lease"));
}

TEST(PartitionDefaults, Mistakes) {
  EXPECT_THAT(mistake("partition_defaults: {fit: best}"),
              HasSubstr("f:3:22: fit has no place in partition_defaults (the cluster's default is scheduler.fit)"));
  EXPECT_THAT(mistake("partition_defaults: {nodes: ALL}"), HasSubstr("write it at each partition"));
  EXPECT_THAT(mistake("partition_defaults: {max_tme: 1h}"), HasSubstr("max_time"));
  EXPECT_THAT(mistake("partition_defaults: {lease: 1h, lease: 2h}"), HasSubstr("stands twice"));
  EXPECT_THAT(mistake("partition_defaults: [a]"), HasSubstr("is a section of keys"));
  EXPECT_THAT(mistake("partition_defaults: {max_time: 1h}\npartitions: [{name: p, nodes: ALL, unlimited: true}]"),
              HasSubstr("one comes from partition_defaults"));
}

TEST(PartitionDefaults, AreDumpedAndCompared) {
  const Config c = parsed("partition_defaults: {lease: 5m}\npartitions: [{name: p, nodes: ALL, unlimited: true}]\n");
  const auto again = parse(dump(c), "f");
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(again->partition_defaults, c.partition_defaults);
  EXPECT_EQ(again->partitions, c.partitions);
  EXPECT_THAT(diff(parsed("partitions: [{name: p, nodes: ALL, unlimited: true}]\n"), c),
              ElementsAre("partition_defaults.lease: 0s -> 5m", "partitions.p.lease: 0s -> 5m"));
}

TEST(TimeSlice, IsShortForAnOrderAQuantumAndSharedGpus) {
  const Config c = parsed(
      "partitions:\n  - {name: a, nodes: n0, unlimited: true,\n     time_slice: 90s}\n"
      "  - {name: b, nodes: n0, unlimited: true}\n");
  const model::Partition &a = c.partitions.at(0), &b = c.partitions.at(1);
  EXPECT_EQ(a.order, "time_slice");
  EXPECT_EQ(a.quantum, base::seconds(90));
  EXPECT_TRUE(a.share_suspended_gpus);
  for (const char* key : {"order", "quantum", "share_suspended_gpus"})
    EXPECT_EQ(c.lines.at(std::string("partitions.a.") + key), 5U) << "where it comes from: " << key;
  EXPECT_EQ(b.order, "");
  EXPECT_FALSE(b.share_suspended_gpus);
}

TEST(TimeSlice, WarnsOfOthersOnTheSameNodes) {
  const Config c = parsed(
      "partitions:\n  - {name: a, nodes: n0, unlimited: true, time_slice: 90s}\n"
      "  - {name: b, nodes: ALL, unlimited: true}\n  - {name: c, nodes: n1, unlimited: true, default: true}\n");
  EXPECT_THAT(c.warnings,
              ElementsAre(HasSubstr("partitions a and b share node n0, and only in the first do jobs take turns")));
}

TEST(PartitionKeys, AreThoseOfTheConfiguration) {
  std::vector<std::string> mine, theirs;
  for (const auto& key : partition_keys())
    if (!is_name_key(key.info.name) && key.info.name != "time_slice")  // which is short for others
      mine.emplace_back(key.info.name);
  for (const auto& key : model::partition_keys()) {
    theirs.emplace_back(key.name);
    const auto& all = config_keys();
    const bool is_there =
        key.cluster_key.empty() || is_partition_default(key.name) ||
        std::any_of(all.begin(), all.end(), [&](const auto& k) { return k.info.name == key.cluster_key; });
    EXPECT_TRUE(is_there) << key.name;
  }
  EXPECT_EQ(mine, theirs);
}

TEST(PartitionKeys, MergeTakesWhatIsSaid) {
  model::Partition defaults, own;
  defaults.lease = base::minutes(5);
  defaults.max_nodes = 4;
  own.name = "p";
  own.max_nodes = 7;
  own.lease = base::minutes(9);
  own.default_for_aux = true;
  EXPECT_EQ(model::keys_changed(own), (model::KeyNames{"default_for", "lease", "max_nodes"}));
  const model::Partition p = model::merged(defaults, own, {"max_nodes", "default_for"});
  EXPECT_EQ(p.name, "p");
  EXPECT_EQ(p.max_nodes, 7u);
  EXPECT_EQ(p.lease, base::minutes(5));
  EXPECT_TRUE(p.default_for_aux);
  EXPECT_FALSE(p.default_for_compute);
}

TEST(Consolidate, WordsAndTruthValues) {
  const auto read = [](const std::string& word) {
    const std::string key = word.empty() ? "" : ", consolidate: " + word;
    return parsed("partitions: [{name: p, nodes: ALL, unlimited: true" + key + "}]\n").partitions.at(0).consolidate;
  };
  EXPECT_EQ(read(""), Consolidate::kDefault);
  EXPECT_EQ(read("default"), Consolidate::kDefault);
  EXPECT_EQ(read("off"), Consolidate::kOff);
  EXPECT_EQ(read("false"), Consolidate::kOff);
  EXPECT_EQ(read("on"), Consolidate::kOn);
  EXPECT_EQ(read("true"), Consolidate::kOn);
  EXPECT_EQ(read("dry_run"), Consolidate::kDryRun);
  EXPECT_EQ(parsed("scheduler: {consolidate: DRY_RUN}").consolidate, Consolidate::kDryRun);
  EXPECT_EQ(parsed("scheduler: {consolidate: true}").consolidate, Consolidate::kOn);
  EXPECT_EQ(parsed("").consolidate, Consolidate::kOff);
  EXPECT_THAT(mistake("scheduler: {consolidate: default}"), HasSubstr("\"default\" is none of off, dry_run, on"));
  EXPECT_THAT(mistake("scheduler: {consolidate: dry}"), HasSubstr("is none of off, dry_run, on"));
}

TEST(Grace, OfAPartitionIsTheClustersUnlessSaid) {
  EXPECT_EQ(parsed("").partitions.at(0).grace, std::nullopt);
  EXPECT_EQ(parsed("partitions: [{name: p, nodes: ALL, unlimited: true, grace: 5s}]\n").partitions.at(0).grace,
            base::seconds(5));
}

}  // namespace
}  // namespace gw::config
