// Old rows leave the database, a few at a time, and are in the archive before; what is known of blobs beside their
// bytes.
#include "store/retire.h"

#include "store_fixture.h"

namespace gw::store {
namespace {

class Retire : public StoreTest {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    open();
    Batch batch;
    for (uint32_t id = 1; id <= 10; ++id) {
      JobRow row = full_row(id);
      row.ended = {1000 + id};
      batch.emplace_back(PutJob{row});
      batch.emplace_back(EndJob{row});
      batch.emplace_back(PutPastRun{base::JobId(id), 1, 1, "step"});
      batch.emplace_back(Event{{1000 + id}, base::JobId(id), "", "ended", "text", 0});
    }
    ASSERT_TRUE(commit(std::move(batch)));
  }
  std::vector<uint32_t> ended() {
    std::vector<uint32_t> ids;
    for (const JobRow& row : load().recently_ended) ids.push_back(row.id.value);
    return ids;
  }
  int64_t kept_runs() {
    auto db = Database::open(dir_ + "/" + kDatabaseName, Database::Mode::kReadOnly);
    return db ? db->number("SELECT count(*) FROM past_runs").value_or(-1) : -1;
  }
  int64_t archived(const std::string& sql) {
    auto db = Database::open(archive(), Database::Mode::kReadOnly);
    return db ? db->number(sql.c_str()).value_or(-1) : -1;
  }
  std::string archive() const { return top_ + "/archive.db"; }
};

TEST_F(Retire, OnlyWhatIsOldGoesTheOldestFirst) {
  EXPECT_EQ(store_->retire({{1005}, {1003}, "", 500}).value(), 4u + 2u);
  EXPECT_EQ(ended(), (std::vector<uint32_t>{5, 6, 7, 8, 9, 10}));
  EXPECT_EQ(kept_runs(), 6) << "steps go with their job";
  EXPECT_EQ(reader()->events({.job = base::JobId(2), .most = 10})->size(), 0u);
  EXPECT_EQ(reader()->events({.job = base::JobId(3), .most = 10})->size(), 1u);
  EXPECT_EQ(store_->retire({{1005}, {1003}, "", 500}).value(), 0u);
  EXPECT_EQ(store_->retire({{}, {}, "", 500}).value(), 0u) << "zero: none";
}

TEST_F(Retire, AFewAtATime) {
  EXPECT_EQ(store_->retire({{2000}, {}, "", 3}).value(), 3u);
  EXPECT_EQ(ended(), (std::vector<uint32_t>{4, 5, 6, 7, 8, 9, 10}));
}

TEST_F(Retire, TheArchiveHasWhatIsGone) {
  EXPECT_EQ(store_->retire({{1005}, {1003}, archive(), 2}).value(), 4u);
  EXPECT_EQ(store_->retire({{1005}, {1003}, archive(), 2}).value(), 2u);
  EXPECT_EQ(archived("SELECT count(*) FROM ended_jobs"), 4);
  EXPECT_EQ(archived("SELECT sum(id) FROM ended_jobs WHERE user='user'||id AND length(spec)=10"), 1 + 2 + 3 + 4);
  EXPECT_EQ(archived("SELECT count(*) FROM past_runs WHERE CAST(bytes AS TEXT)='step'"), 4);
  EXPECT_EQ(archived("SELECT count(*) FROM events WHERE kind='ended'"), 2);
  EXPECT_EQ(ended(), (std::vector<uint32_t>{5, 6, 7, 8, 9, 10}));
}

TEST_F(Retire, WithoutTheArchiveNothingGoes) {
  EXPECT_FALSE(store_->retire({{1005}, {1003}, top_ + "/not/there/archive.db", 500}));
  EXPECT_EQ(ended().size(), 10u);
  EXPECT_TRUE(commit({PutMeta{"k", "v"}})) << "commits continue";
}

TEST_F(StoreTest, WhatIsKnownOfBlobsGoesWithThem) {
  open();
  ASSERT_TRUE(commit({PutBlob{"s", "script"}, PutBlob{"e", "A=1", true}, ReleaseBlob{"s", {17}}}));
  open();
  auto blobs = load().blobs;
  ASSERT_EQ(blobs.size(), 2u);
  EXPECT_EQ(blobs[0].hash, "e");
  EXPECT_TRUE(blobs[0].is_environment);
  EXPECT_EQ(blobs[0].bytes, 3u);
  EXPECT_EQ(blobs[1].released.us, 17);
  ASSERT_TRUE(commit({PutBlob{"s", "script"}, DropBlob{"e"}}));
  blobs = load().blobs;
  ASSERT_EQ(blobs.size(), 1u);
  EXPECT_EQ(blobs[0].released.us, 0) << "it is used again";
  EXPECT_TRUE(reader()->blob("s"));
  EXPECT_FALSE(reader()->blob("e"));
}

TEST_F(StoreTest, OneAnswerCanGo) {
  open();
  ASSERT_TRUE(
      commit({PutReply{1, "a", "x", {5}}, PutReply{1, "b", "y", {6}}, PutReply{2, "a", "z", {7}}, DropReply{1, "a"}}));
  const auto replies = load().replies;
  ASSERT_EQ(replies.size(), 2u);
  EXPECT_EQ(replies[0].client_id, "b");
  EXPECT_EQ(replies[1].uid, 2u);
}

}  // namespace
}  // namespace gw::store
