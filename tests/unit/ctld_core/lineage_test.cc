// Marks of states, and what they are to a state that went through some starts.
#include "ctld/core/tables/lineage.h"

#include <gtest/gtest.h>

#include "ctld/core/tables/foreign_runs.h"

namespace gw::ctld {
namespace {

/// What a store keeps of a lineage.
std::vector<store::NamedBytes> saved(Lineage& lineage) {
  std::vector<store::NamedBytes> meta;
  for (const store::Op& op : lineage.unsaved()) {
    const auto& row = std::get<store::PutMeta>(op);
    meta.push_back({row.key, row.value});
  }
  const store::PutMeta commit = lineage.commit_row();
  meta.push_back({commit.key, commit.value});
  return meta;
}

TEST(Lineage, KnowsItsOwnAndWhatItHasNotSeen) {
  Lineage first;
  first.begin("a");
  for (int i = 0; i < 10; ++i) first.next_commit();
  const model::StateMark old = first.mark();
  const std::vector<store::NamedBytes> backup = saved(first);
  for (int i = 0; i < 10; ++i) first.next_commit();
  const model::StateMark later = first.mark();
  EXPECT_EQ(first.kin(old), Kin::kOurs);
  EXPECT_EQ(first.kin(later), Kin::kOurs);

  Lineage restored;
  ASSERT_TRUE(restored.restore(backup).empty());
  restored.begin("b");
  EXPECT_EQ(restored.kin(old), Kin::kOurs);
  EXPECT_EQ(restored.kin(later), Kin::kNewer);
  for (int i = 0; i < 100; ++i) restored.next_commit();
  EXPECT_EQ(restored.kin(later), Kin::kNewer) << "what it does itself does not make it know the other's";
  EXPECT_EQ(restored.kin(restored.mark()), Kin::kOurs);
  EXPECT_EQ(first.kin(restored.mark()), Kin::kNewer) << "another start on the same store";
  EXPECT_GT(restored.mark().commit, old.commit);
}

TEST(Lineage, OfAnotherStore) {
  Lineage ours, other;
  ours.begin("a");
  other.begin("x");
  EXPECT_EQ(ours.kin(other.mark()), Kin::kOther);
}

TEST(Lineage, WithoutIdentityEverythingIsOurs) {
  Lineage without, with;
  without.begin("");
  with.begin("x");
  EXPECT_EQ(without.kin(with.mark()), Kin::kOurs);
  EXPECT_EQ(with.kin({}), Kin::kOurs) << "a version without marks";
  EXPECT_FALSE(without.mark_of_next().says_anything());
}

TEST(Lineage, SaysOnceWhoItIs) {
  Lineage l;
  l.begin("a");
  EXPECT_EQ(l.unsaved().size(), 2U);
  EXPECT_TRUE(l.unsaved().empty());
}

TEST(Lineage, ForgetsStartsOfLongAgoOnTheSafeSide) {
  Lineage l;
  l.begin("first");
  l.next_commit();
  const model::StateMark mark = l.mark();
  for (int i = 0; i < 2000; ++i) l.begin("s" + std::to_string(i));
  EXPECT_EQ(l.kin(mark), Kin::kNewer);
}

TEST(ForeignRuns, AreListedByNode) {
  ForeignRuns runs;
  runs.set(base::NodeId(1), {{base::NodeId(1), 5, 1, Kin::kNewer}, {base::NodeId(1), 7, 2, Kin::kOther}});
  runs.set(base::NodeId(2), {{base::NodeId(2), 5, 1, Kin::kNewer}});
  EXPECT_EQ(runs.text_on(base::NodeId(1)), "5.1, 7.2");
  EXPECT_EQ(runs.parts_of(runs.on(base::NodeId(1)).front()).size(), 2U);
  ASSERT_NE(runs.newest_of(base::JobId(5)), nullptr);
  EXPECT_EQ(runs.newest_of(base::JobId(7)), nullptr) << "another store's job 7 is not ours";
  EXPECT_TRUE(runs.erase(base::NodeId(1), 5, 1));
  EXPECT_FALSE(runs.erase(base::NodeId(1), 5, 1));
  EXPECT_NE(runs.newest_of(base::JobId(5)), nullptr);
  runs.set(base::NodeId(2), {});
  EXPECT_EQ(runs.newest_of(base::JobId(5)), nullptr);
}

TEST(ForeignRuns, OfAGangWithoutItsFirstNode) {
  constexpr base::NodeId a(1), b(2), c(3);
  const ForeignRun first{a, 5, 1, Kin::kNewer};
  ForeignRuns runs;
  const auto nodes_left = [&](const std::vector<ForeignRun>& left) {
    std::vector<uint32_t> out;
    for (const ForeignRun& run : left) out.push_back(run.node.value);
    return out;
  };
  runs.set(a, {first});
  runs.set(b, {{b, 5, 1, Kin::kNewer, a}, {b, 5, 2, Kin::kNewer, a}, {b, 6, 1, Kin::kNewer, c}});
  runs.set(c, {{c, 5, 1, Kin::kNewer, a}});
  EXPECT_EQ(nodes_left(runs.left_behind_by(a)), std::vector<uint32_t>{2}) << "of the second attempt";
  runs.erase(a, 5, 1);
  EXPECT_EQ(nodes_left(runs.left_behind_by(first)), (std::vector<uint32_t>{2, 3}));
  EXPECT_EQ(runs.left_behind_by(a).size(), 3U);
  runs.erase(b, 5, 1);
  EXPECT_EQ(nodes_left(runs.left_behind_by(first)), std::vector<uint32_t>{3});
  runs.set(b, {});
  runs.set(c, {});
  EXPECT_TRUE(runs.left_behind_by(a).empty());
  EXPECT_TRUE(runs.left_behind_by(c).empty());
}

}  // namespace
}  // namespace gw::ctld
