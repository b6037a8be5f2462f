// Rows held aside: out of their tables with every value, and rows whose numbers are none.
#include <gmock/gmock.h>

#include "store/sqlite_db.h"
#include "store_fixture.h"

namespace gw::store {
namespace {

using ::testing::ElementsAre;

class HeldRowsTest : public StoreTest {
 protected:
  /// Changes the database as somebody else would, while no store is open.
  void run(const char* sql) {
    store_.reset();
    auto db = Database::open(dir_ + "/gangway.db", Database::Mode::kReadWrite);
    ASSERT_TRUE(db);
    const base::Status done = db->run(sql);
    ASSERT_TRUE(done) << done.error().text();
  }
  int64_t number(const char* sql) {
    auto db = Database::open(dir_ + "/gangway.db", Database::Mode::kReadOnly);
    return db->number(sql).value();
  }
  std::vector<std::string> held() {
    std::vector<std::string> out;
    for (const HeldRow& row : load().held) out.push_back(row.kind + ":" + row.name);
    return out;
  }
};

/// One row of every table, each beside one that stays.
Batch a_row_of_everything() {
  return {PutJob{full_row(7)},
          PutJob{full_row(8)},
          PutJob{full_row(5)},
          EndJob{full_row(5)},
          PutRunNode{base::JobId(7), 0, "n1", 1, "r"},
          PutRunNode{base::JobId(7), 1, "n1", 1, "s"},
          PutRunNode{base::JobId(7), 1, "n2", 1, "t"},
          PutStep{base::JobId(7), 0, "step"},
          PutNode{"n1", "node"},
          PutPartition{"p", "partition"},
          PutReservation{"r", "reservation"},
          PutQos{"q", "qos"},
          PutQuotaUser{"u", "user"},
          PutUsage{"user", "1", 5, {6}},
          PutReply{1, "id", "reply", {1}},
          PutMeta{"m", "value"},
          PutBlob{"hash", "script", false}};
}

std::vector<HoldAside> all_of_them(base::Time now) {
  const auto hold = [now](RowKind kind, std::vector<KeyValue> key, std::string name) {
    return HoldAside{kind, std::move(key), {std::string(word_of(kind)), std::move(name), "why", now, ""}};
  };
  return {hold(RowKind::kJob, {int64_t{7}}, "7"),
          hold(RowKind::kEndedJob, {int64_t{5}}, "5"),
          hold(RowKind::kRun, {int64_t{7}, int64_t{1}, "n1"}, "7.0/n1"),
          hold(RowKind::kStep, {int64_t{7}, int64_t{0}}, "7.0"),
          hold(RowKind::kNode, {"n1"}, "n1"),
          hold(RowKind::kPartition, {"p"}, "p"),
          hold(RowKind::kReservation, {"r"}, "r"),
          hold(RowKind::kQos, {"q"}, "q"),
          hold(RowKind::kUser, {"u"}, "u"),
          hold(RowKind::kUsage, {"user", "1"}, "user/1"),
          hold(RowKind::kReply, {int64_t{1}, "id"}, "1/id"),
          hold(RowKind::kSetting, {"m"}, "m"),
          hold(RowKind::kScript, {"hash"}, "hash")};
}

TEST_F(HeldRowsTest, EachKindLeavesItsTableWithEveryValue) {
  open();
  ASSERT_TRUE(commit(a_row_of_everything()));
  const base::Time now{1'700'000'000'000'000};
  for (const HoldAside& op : all_of_them(now)) ASSERT_TRUE(commit({op})) << op.row.kind;
  const Snapshot s = load();
  EXPECT_EQ(s.held.size(), static_cast<size_t>(RowKind::kScript) + 1) << "a kind without a row here";
  ASSERT_EQ(s.jobs.size(), 1U);
  expect_equal(s.jobs.front(), full_row(8));
  EXPECT_EQ(s.run_nodes.size(), 2U);
  EXPECT_TRUE(s.recently_ended.empty() && s.steps.empty() && s.nodes.empty() && s.partitions.empty());
  EXPECT_TRUE(s.reservations.empty() && s.qos.empty() && s.quota_users.empty() && s.usage.empty());
  EXPECT_TRUE(s.replies.empty() && s.meta.empty() && s.blobs.empty());
  EXPECT_EQ(number("SELECT count(*) FROM held_values WHERE kind='job'"), 20) << "columns";
  EXPECT_EQ(number("SELECT value=x'00737461747573' FROM held_values WHERE kind='job' AND field='status'"), 1);
  EXPECT_EQ(number("SELECT value=4000000001 FROM held_values WHERE kind='job' AND field='uid'"), 1);
  EXPECT_EQ(number("SELECT value='reply' OR value=x'7265706c79' FROM held_values WHERE kind='reply' AND field='reply'"),
            1);
  EXPECT_EQ(number("SELECT count(*) FROM blobs"), 1) << "the bytes of a script are no row that is read";
  // A row that is not there is not held, and what is held again changes nothing.
  ASSERT_TRUE(commit({all_of_them(now).front()}));
  EXPECT_EQ(load().held.size(), s.held.size());
}

TEST_F(HeldRowsTest, AreChangedAndDeleted) {
  open();
  ASSERT_TRUE(commit(a_row_of_everything()));
  HoldAside op = all_of_them({5}).front();
  ASSERT_TRUE(commit({op}));
  op.row.nodes = "n[1-2]";
  op.row.since = {9};
  ASSERT_TRUE(commit({PutHeld{op.row}}));
  open();
  Snapshot s = load();
  ASSERT_EQ(s.held.size(), 1U);
  EXPECT_EQ(s.held.front().nodes, "n[1-2]");
  EXPECT_EQ(s.held.front().since.us, 9);
  EXPECT_EQ(s.held.front().reason, "why");
  ASSERT_TRUE(commit({DropHeld{"job", "7"}}));
  EXPECT_TRUE(load().held.empty());
  EXPECT_EQ(number("SELECT count(*) FROM held_values"), 0);
}

TEST_F(HeldRowsTest, RowsWithNumbersThatAreNoneAreFound) {
  const std::pair<const char*, const char*> kCases[] = {
      {"UPDATE jobs SET id=5000000007 WHERE id=7", "job:5000000007"},
      {"UPDATE jobs SET id=-1 WHERE id=7", "job:-1"},
      {"UPDATE jobs SET uid='alice' WHERE id=7", "job:7"},
      {"UPDATE jobs SET cpus=1.5 WHERE id=7", "job:7"},
      {"UPDATE jobs SET started=x'00' WHERE id=7", "job:7"},
      {"UPDATE steps SET step=-3", "step:7.-3"},
      {"UPDATE run_nodes SET attempt=-1 WHERE step=0", "run:7/n1"},
      {"UPDATE usage SET amount='much'", "usage:user/1"},
      {"UPDATE replies SET at='now'", "reply:1/id"},
      {"UPDATE blob_facts SET bytes=-1", "script:hash"},
  };
  for (const auto& [sql, name] : kCases) {
    SCOPED_TRACE(sql);
    open();
    ASSERT_TRUE(commit(a_row_of_everything()));
    run(sql);
    open();
    ASSERT_THAT(held(), ElementsAre(name));
    EXPECT_THAT(held(), ElementsAre(name)) << "once";
    const Snapshot s = load();
    EXPECT_EQ(s.held.front().since.us, 0) << "nobody was told";
    EXPECT_EQ(s.jobs.back().id.value, 8U) << "the others stay";
    store_.reset();
    std::filesystem::remove_all(dir_);
  }
}

TEST_F(HeldRowsTest, TwoRowsOfOneNameAreBothKept) {
  open();
  ASSERT_TRUE(commit(a_row_of_everything()));
  ASSERT_TRUE(commit({all_of_them({5}).front(), PutJob{full_row(7)}}));
  run("UPDATE jobs SET uid='alice' WHERE id=7");
  open();
  EXPECT_THAT(held(), ElementsAre("job:7", "job:7#2"));
}

TEST_F(HeldRowsTest, TheHighestJobIsThatOfAnyTable) {
  open();
  EXPECT_EQ(load().last_job.value, 0U);
  ASSERT_TRUE(commit(a_row_of_everything()));
  EXPECT_EQ(load().last_job.value, 8U);
  ASSERT_TRUE(commit({PutJob{full_row(20)}, EndJob{full_row(20)}}));
  EXPECT_EQ(load({base::Time::never()}).last_job.value, 20U);
  ASSERT_TRUE(commit({Event{{1}, base::JobId(30), "", "x", "", 0}}));
  EXPECT_EQ(load().last_job.value, 30U);
}

}  // namespace
}  // namespace gw::store
