// Every operation's round trip, order, and what readers see of it.
#include "store/sqlite_db.h"
#include "store_fixture.h"

namespace gw::store {
namespace {

TEST_F(StoreTest, PutJobRoundTripSurvivesReopen) {
  open();
  EXPECT_EQ(note_, "created");
  ASSERT_TRUE(commit({PutJob{full_row(7)}, PutJob{full_row(3)}}));
  open();
  EXPECT_EQ(note_, "");
  Snapshot s = load();
  ASSERT_EQ(s.jobs.size(), 2u);
  expect_equal(s.jobs[0], full_row(3));
  expect_equal(s.jobs[1], full_row(7));
}

TEST_F(StoreTest, PutJobReplacesWhole) {
  open();
  JobRow row = full_row(1);
  ASSERT_TRUE(commit({PutJob{row}}));
  row.spec = "new";
  row.nodes = "";
  ASSERT_TRUE(commit({PutJob{row}}));
  Snapshot s = load();
  ASSERT_EQ(s.jobs.size(), 1u);
  expect_equal(s.jobs[0], row);
}

TEST_F(StoreTest, PutJobStatusKeepsTheSpec) {
  open();
  ASSERT_TRUE(commit({PutJob{full_row(1)}}));
  JobRow row = full_row(1);
  row.state = 4;
  row.status = "later";
  row.nodes = "n9";
  row.spec = "not to be written";
  ASSERT_TRUE(commit({PutJobStatus{row}}));
  row.spec = full_row(1).spec;
  Snapshot s = load();
  ASSERT_EQ(s.jobs.size(), 1u);
  expect_equal(s.jobs[0], row);
}

TEST_F(StoreTest, StatusOfUnknownJobFailsTheWholeCommit) {
  open();
  base::Status done = commit({PutMeta{"k", "v"}, PutJobStatus{full_row(99)}});
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, base::ErrorCode::kInternal);
  EXPECT_NE(done.error().what.find("99"), std::string::npos);
  EXPECT_TRUE(load().meta.empty());
  EXPECT_TRUE(commit({PutMeta{"k", "v"}}));
}

TEST_F(StoreTest, EndJobMovesAndKeepsTheStoredSpec) {
  open();
  ASSERT_TRUE(commit({PutJob{full_row(5)}, PutJob{full_row(6)}}));
  JobRow row = full_row(5);
  row.state = 6;
  row.spec.clear();
  row.ended = {500};
  ASSERT_TRUE(commit({EndJob{row}}));
  Snapshot s = load();
  ASSERT_EQ(s.jobs.size(), 1u);
  EXPECT_EQ(s.jobs[0].id.value, 6u);
  ASSERT_EQ(s.recently_ended.size(), 1u);
  row.spec = full_row(5).spec;
  expect_equal(s.recently_ended[0], row);
  EXPECT_EQ(load({500}).recently_ended.size(), 1u);
  EXPECT_TRUE(load({501}).recently_ended.empty());
  auto r = reader();
  auto found = r->ended_job(base::JobId(5));
  ASSERT_TRUE(found) << found.error().text();
  expect_equal(*found, row);
  auto missing = r->ended_job(base::JobId(6));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, base::ErrorCode::kNotFound);
}

TEST_F(StoreTest, AnEndedJobSaysSomethingElse) {
  open();
  ASSERT_TRUE(commit({PutJob{full_row(5)}, EndJob{full_row(5)}}));
  JobRow row = full_row(5);
  row.spec = std::string("a\0b", 3);
  row.status = std::string("\0", 1);
  ASSERT_TRUE(commit({AmendEnded{base::JobId(5), "first", "first"}, AmendEnded{base::JobId(5), row.spec, row.status}}));
  const auto found = reader()->ended_job(base::JobId(5));
  ASSERT_TRUE(found);
  expect_equal(*found, row);
  ASSERT_TRUE(commit({AmendEnded{base::JobId(6), "x", "y"}})) << "it has left the database meanwhile";
  EXPECT_FALSE(reader()->ended_job(base::JobId(6)));
}

TEST_F(StoreTest, AnEndedJobThatWaitsAgainIsNoEndedOneAnyMore) {
  open();
  ASSERT_TRUE(commit({PutJob{full_row(5)}, EndJob{full_row(5)}}));
  ASSERT_TRUE(commit({DropEnded{base::JobId(5)}, PutJob{full_row(5)}}));
  const Snapshot s = load();
  ASSERT_EQ(s.jobs.size(), 1u);
  EXPECT_TRUE(s.recently_ended.empty());
  expect_equal(s.jobs[0], full_row(5));
  EXPECT_FALSE(reader()->ended_job(base::JobId(5)));
  ASSERT_TRUE(commit({EndJob{full_row(5)}}));
  EXPECT_EQ(load().recently_ended.size(), 1u);
}

TEST_F(StoreTest, JobMayBeSubmittedAndEndedInOneCommit) {
  open();
  JobRow row = full_row(5);
  ASSERT_TRUE(commit({EndJob{row}, PutJob{full_row(8)}, EndJob{full_row(8)}}));
  Snapshot s = load();
  EXPECT_TRUE(s.jobs.empty());
  ASSERT_EQ(s.recently_ended.size(), 2u);
  expect_equal(s.recently_ended[0], row);
}

TEST_F(StoreTest, BlobsAreStoredOnceByHash) {
  open();
  std::string bytes("#!/bin/sh\n\0\xfe", 12);
  ASSERT_TRUE(commit({PutBlob{"h1", bytes}, PutBlob{"h1", "other"}, PutBlob{"h2", ""}}));
  auto r = reader();
  EXPECT_EQ(r->blob("h1").value(), bytes);
  EXPECT_EQ(r->blob("h2").value(), "");
  auto missing = r->blob("h3");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, base::ErrorCode::kNotFound);
}

TEST_F(StoreTest, NamedRowsAreReplaced) {
  open();
  ASSERT_TRUE(commit({PutNode{"n2", "a"},
                      PutNode{"n1", "b"},
                      PutNode{"n2", "c"},
                      PutPartition{"p", "d"},
                      PutReservation{"r", "e"},
                      PutReservation{"r", "f"},
                      PutReservation{"gone", "g"},
                      DropReservation{"gone"},
                      PutStep{base::JobId(7), 2, "f"},
                      PutStep{base::JobId(7), 2, "g"},
                      PutStep{base::JobId(7), 3, "h"},
                      DropStep{base::JobId(7), 3},
                      PutArray{base::JobId(9), "i"},
                      PutArray{base::JobId(8), "j"},
                      PutArray{base::JobId(9), "k", "ranges"},
                      PutArray{base::JobId(9), "k"},
                      PutArray{base::JobId(5), "l"},
                      DropArray{base::JobId(5)},
                      PutMeta{"epoch", "1"},
                      PutMeta{"epoch", "2"}}));
  Snapshot s = load();
  ASSERT_EQ(s.nodes.size(), 2u);
  EXPECT_EQ(s.nodes[0].name, "n1");
  EXPECT_EQ(s.nodes[1].bytes, "c");
  ASSERT_EQ(s.partitions.size(), 1u);
  EXPECT_EQ(s.partitions[0].bytes, "d");
  ASSERT_EQ(s.reservations.size(), 1u);
  EXPECT_EQ(s.reservations[0].bytes, "f");
  ASSERT_EQ(s.steps.size(), 1u);
  EXPECT_EQ(s.steps[0].job, base::JobId(7));
  EXPECT_EQ(s.steps[0].step, 2u);
  EXPECT_EQ(s.steps[0].bytes, "g");
  ASSERT_EQ(s.arrays.size(), 2u);
  EXPECT_EQ(s.arrays[0].job, base::JobId(8));
  EXPECT_EQ(s.arrays[1].bytes, "k");
  EXPECT_EQ(s.arrays[1].ranges, "ranges") << "they stay as they are";
  ASSERT_EQ(s.meta.size(), 1u);
  EXPECT_EQ(s.meta[0].bytes, "2");
}

TEST_F(StoreTest, ARunHasARowForEachNode) {
  open();
  const base::JobId job(7);
  ASSERT_TRUE(
      commit({PutRunNode{job, 0, "n1", 1, "a"}, PutRunNode{job, 0, "n0", 1, "b"}, PutRunNode{job, 0, "n1", 2, "c"},
              PutRunNode{job, 0, "gone", 2, "d"}, PutRunNode{job, 1, "n1", 2, "e"},
              PutRunNode{base::JobId(8), 0, "n1", 1, "f"}, DropRunNode{job, 0, "gone"}}));
  Snapshot s = load();
  ASSERT_EQ(s.run_nodes.size(), 4u);
  EXPECT_EQ(s.run_nodes[0].node, "n0");
  EXPECT_EQ(s.run_nodes[1].node, "n1");
  EXPECT_EQ(s.run_nodes[1].attempt, 2u);
  EXPECT_EQ(s.run_nodes[1].bytes, "c");
  EXPECT_EQ(s.run_nodes[2].step, 1u);
  EXPECT_EQ(s.run_nodes[3].job, base::JobId(8));
  ASSERT_TRUE(commit({DropRun{job, 0}}));
  s = load();
  ASSERT_EQ(s.run_nodes.size(), 2u);
  EXPECT_EQ(s.run_nodes[0].bytes, "e");
  EXPECT_EQ(s.run_nodes[1].bytes, "f");
}

TEST_F(StoreTest, FirstReplyStaysAndOldOnesGo) {
  open();
  ASSERT_TRUE(commit({PutReply{1000, "id", "first", {10}}, PutReply{1000, "id", "second", {20}},
                      PutReply{1001, "id", "of another user", {30}}}));
  Snapshot s = load();
  ASSERT_EQ(s.replies.size(), 2u);
  EXPECT_EQ(s.replies[0].reply, "first");
  EXPECT_EQ(s.replies[0].at.us, 10);
  EXPECT_EQ(s.replies[0].uid, 1000u);
  ASSERT_TRUE(commit({DropReplies{{30}}}));
  s = load();
  ASSERT_EQ(s.replies.size(), 1u);
  EXPECT_EQ(s.replies[0].reply, "of another user");
}

TEST_F(StoreTest, EventsAreTheNewestOldestFirst) {
  open();
  base::JobId job(4);
  ASSERT_TRUE(commit({Event{{1}, job, "", "submit", "", 7}, Event{{2}, base::JobId(5), "", "submit", "", 7},
                      Event{{3}, job, "n1", "start", "on n1", {}}, Event{{4}, {}, "n1", "drain", "why", 0},
                      Event{{5}, job, "", "end", "", {}}}));
  auto r = reader();
  auto all = r->events({.job = job, .most = 100}).value();
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].event.kind, "submit");
  EXPECT_EQ(all[0].event.uid, 7u);
  EXPECT_EQ(all[1].event.node, "n1");
  EXPECT_EQ(all[1].event.text, "on n1");
  EXPECT_EQ(all[1].event.at.us, 3);
  EXPECT_LT(all[0].seq, all[1].seq);
  auto two = r->events({.job = job, .most = 2}).value();
  ASSERT_EQ(two.size(), 2u);
  EXPECT_EQ(two[0].event.kind, "start");
  EXPECT_EQ(two[1].event.kind, "end");
}

TEST_F(StoreTest, EventsOfANodeOrOfAll) {
  open();
  ASSERT_TRUE(commit({Event{{1}, base::JobId(4), "", "submit", "", 7}, Event{{2}, {}, "n1", "registered", "", {}},
                      Event{{3}, {}, "n10", "drained", "", 0}, Event{{4}, {}, "n1", "drained", "by root", 0},
                      Event{{5}, {}, "", "partition created", "late", 7}}));
  const auto kinds = [this](const EventFilter& filter) {
    std::string out;
    const auto rows = reader()->events(filter).value();
    for (const EventRow& row : rows) out += row.event.kind + ";";
    return out;
  };
  EXPECT_EQ(kinds({.node = "n1", .most = 10}), "registered;drained;");
  EXPECT_EQ(kinds({.node = "n1", .most = 1}), "drained;");
  EXPECT_EQ(kinds({.node = "n", .most = 10}), "");
  EXPECT_EQ(kinds({.most = 3}), "drained;drained;partition created;");
  EXPECT_EQ(kinds({.most = 100}), "submit;registered;drained;drained;partition created;");
  EXPECT_EQ(kinds({.of_no_job = true, .most = 100}), "registered;drained;drained;partition created;");
  EXPECT_EQ(kinds({.of_no_job = true, .most = 1}), "partition created;");
  EXPECT_EQ(kinds({.of_no_job = true, .since = {3}, .until = {4}, .most = 100}), "drained;drained;");
  EXPECT_EQ(kinds({.since = {5}, .most = 100}), "partition created;");
  EXPECT_EQ(kinds({.until = {1}, .most = 100}), "submit;");
  EXPECT_EQ(kinds({.node = "n1", .since = {3}, .most = 100}), "drained;");
  EXPECT_EQ(kinds({.job = base::JobId(4), .until = {0}, .most = 100}), "");
}

TEST_F(StoreTest, TextsOfEventsAreCutWhereThatIsAsked) {
  open();
  ASSERT_TRUE(commit({Event{{1}, base::JobId(4), "", "placed", std::string("on\0n[0-9]", 9), {}}}));
  const auto text = [this](size_t most) {
    return reader()->events({.job = base::JobId(4), .most = 1, .most_text = most}).value().at(0).event.text;
  };
  EXPECT_EQ(text(4), std::string("on\0n", 4));
  EXPECT_EQ(text(9), std::string("on\0n[0-9]", 9));
  EXPECT_EQ(text(SIZE_MAX), std::string("on\0n[0-9]", 9));
}

/// Rows of earlier versions say 0 of the controller and of root alike: nothing is said of root that it may not have
/// done.
TEST_F(StoreTest, WhoDidItIsKeptAndRootIsNotTheController) {
  open();
  ASSERT_TRUE(commit({Event{{1}, {}, "n1", "drained", "", 0}, Event{{2}, {}, "n1", "registered", "", {}},
                      Event{{3}, {}, "n1", "drained", "", 1000}}));
  auto db = Database::open(dir_ + "/gangway.db", Database::Mode::kReadWrite);
  ASSERT_TRUE(db->run("INSERT INTO events(at,job,node,kind,text,uid) VALUES(4,0,'n1','drained','by root',0)"));
  const auto rows = reader()->events({.node = "n1", .most = 10}).value();
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[0].event.uid, 0u);
  EXPECT_EQ(rows[1].event.uid, std::nullopt);
  EXPECT_EQ(rows[2].event.uid, 1000u);
  EXPECT_EQ(rows[3].event.uid, std::nullopt);
}

TEST_F(StoreTest, AnyBytesInNames) {
  open();
  const std::string names[] = {"Robert'); DROP TABLE jobs;--", std::string("a\0b", 3), "héé\xe2\x9c\x93", "\xff\xfe",
                               "\"`"};
  uint32_t id = 0;
  Batch batch;
  for (const std::string& name : names) {
    JobRow row = full_row(++id);
    row.name = row.user = row.nodes = name;
    batch.push_back(PutJob{row});
    batch.push_back(PutNode{name, name});
    batch.push_back(PutReply{1, name, name, {1}});
    batch.push_back(Event{{1}, base::JobId(id), name, name, name, {}});
  }
  ASSERT_TRUE(commit(batch));
  Snapshot s = load();
  ASSERT_EQ(s.jobs.size(), std::size(names));
  EXPECT_EQ(s.nodes.size(), std::size(names));
  EXPECT_EQ(s.replies.size(), std::size(names));
  auto r = reader();
  for (size_t i = 0; i < std::size(names); ++i) {
    EXPECT_EQ(s.jobs[i].name, names[i]);
    EXPECT_EQ(r->events({.job = s.jobs[i].id, .most = 1}).value().at(0).event.text, names[i]);
  }
}

TEST_F(StoreTest, BatchesOfOneCommitApplyInOrder) {
  open();
  const Batch batches[] = {{PutMeta{"k", "1"}}, {}, {PutMeta{"k", "2"}, PutMeta{"j", "3"}}};
  ASSERT_TRUE(store_->commit(batches));
  ASSERT_TRUE(store_->commit({}));
  Snapshot s = load();
  ASSERT_EQ(s.meta.size(), 2u);
  EXPECT_EQ(s.meta[1].bytes, "2");
}

TEST_F(StoreTest, ReaderSeesCommitsAndNothingElse) {
  open();
  ASSERT_TRUE(commit({PutBlob{"h", "x"}}));
  auto r = reader();
  EXPECT_TRUE(r->blob("h"));
  ASSERT_FALSE(commit({PutBlob{"h2", "y"}, PutJobStatus{full_row(1)}}));
  EXPECT_FALSE(r->blob("h2"));
  ASSERT_TRUE(commit({PutBlob{"h2", "y"}}));
  EXPECT_TRUE(r->blob("h2"));
}

TEST_F(StoreTest, ReaderHoldsNoTransaction) {
  open();
  auto r = reader();
  ASSERT_TRUE(commit({PutBlob{"h", std::string(5 << 20, 'x')}}));
  EXPECT_TRUE(r->blob("h"));
  // With the reader at rest the log is written back and used again: 20 commits of 5 MB do not pile up in it.
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(commit({PutBlob{"b" + std::to_string(i), std::string(5 << 20, 'x')}}));
  EXPECT_LT(std::filesystem::file_size(dir_ + "/gangway.db-wal"), 64u << 20);
}

}  // namespace
}  // namespace gw::store
