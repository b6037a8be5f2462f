// Which records a request asks for, and the pieces that go to its client.
#include "ctld/shell/record_list.h"

#include <gtest/gtest.h>

#include "wire/convert.h"

namespace gw::ctld {
namespace {

using model::JobState;

store::JobRow row(JobState state, int64_t submitted, int64_t started, int64_t ended) {
  store::JobRow r;
  r.id = base::JobId(7);
  r.state = static_cast<uint32_t>(state);
  r.uid = 1000;
  r.user = "ada";
  r.name = "train";
  r.account = "physics";
  r.qos = "high";
  r.partition = "gpu";
  r.nodes = "n[1-3]";
  r.node_count = 3;
  r.submitted = {submitted};
  r.started = {started};
  r.ended = {ended};
  return r;
}

bool wants(const std::function<void(wire::RecordFilter&)>& set, const store::JobRow& r) {
  wire::RecordFilter filter;
  set(filter);
  return RecordMatch(filter, {1000}).wants(r);
}

TEST(RecordMatch, EachFilterAlone) {
  const store::JobRow r = row(JobState::kCompleted, 10, 20, 30);
  using F = wire::RecordFilter;
  const std::vector<std::pair<std::function<void(F&)>, bool>> kCases = {
      {[](F&) {}, true},
      {[](F& f) { f.add_uids(1000); }, true},
      {[](F& f) { f.add_uids(1001); }, false},
      {[](F& f) { f.add_uids(1001), f.add_users("ada"); }, true},
      {[](F& f) { f.add_users("ada"); }, true},
      {[](F& f) { f.add_users("bob"); }, false},
      {[](F& f) { f.add_accounts("physics"); }, true},
      {[](F& f) { f.add_accounts("x"); }, false},
      {[](F& f) { f.add_partitions("x"); }, false},
      {[](F& f) { f.add_qos("x"); }, false},
      {[](F& f) { f.add_names("x"), f.add_names("train"); }, true},
      {[](F& f) { f.add_names("x"); }, false},
      {[](F& f) { f.add_nodes("n2"); }, true},
      {[](F& f) { f.add_nodes("n4"); }, false},
      {[](F& f) { f.add_users("ada"), f.add_accounts("x"); }, false},
  };
  for (size_t i = 0; i < kCases.size(); ++i) EXPECT_EQ(wants(kCases[i].first, r), kCases[i].second) << "case " << i;
}

/// As the page of sacct has it: what is asked about is a time, not now.
TEST(RecordMatch, StatesThatJobsWereInThen) {
  const auto in = [](JobState state, int64_t since, int64_t until) {
    return [=](wire::RecordFilter& f) {
      f.add_states(static_cast<uint32_t>(state));
      f.set_since_us(since);
      f.set_until_us(until);
    };
  };
  const store::JobRow done = row(JobState::kCompleted, 10, 20, 30);
  EXPECT_TRUE(wants(in(JobState::kPending, 1, 15), done));
  EXPECT_FALSE(wants(in(JobState::kPending, 21, 40), done));
  EXPECT_FALSE(wants(in(JobState::kPending, 1, 9), done));
  EXPECT_TRUE(wants(in(JobState::kRunning, 25, 26), done));
  EXPECT_FALSE(wants(in(JobState::kRunning, 31, 40), done));
  EXPECT_TRUE(wants(in(JobState::kCompleted, 25, 40), done));
  EXPECT_FALSE(wants(in(JobState::kCompleted, 1, 29), done)) << "it had not ended";
  EXPECT_FALSE(wants(in(JobState::kFailed, 25, 40), done));
  const store::JobRow waits = row(JobState::kPending, 10, 0, 0);
  EXPECT_TRUE(wants(in(JobState::kPending, 500, 500), waits));
  EXPECT_FALSE(wants(in(JobState::kRunning, 1, 500), waits));
}

TEST(RecordMatch, WithoutStatesThoseThatWereThere) {
  const auto between = [](int64_t since, int64_t until) {
    return [=](wire::RecordFilter& f) { f.set_since_us(since), f.set_until_us(until); };
  };
  const store::JobRow done = row(JobState::kCompleted, 10, 20, 30);
  EXPECT_TRUE(wants(between(30, 40), done));
  EXPECT_FALSE(wants(between(31, 40), done));
  EXPECT_TRUE(wants(between(5, 10), done));
  EXPECT_FALSE(wants(between(5, 9), done));
}

TEST(RecordMatch, TheColumnThatRulesOutMostIsUsed) {
  using By = store::RecordQuery::By;
  wire::RecordFilter f;
  EXPECT_EQ(RecordMatch(f, {1}).query().by, By::kTime);
  f.add_partitions("gpu");
  EXPECT_EQ(RecordMatch(f, {1}).query().by, By::kPartition);
  f.add_accounts("a");
  EXPECT_EQ(RecordMatch(f, {1}).query().by, By::kAccount);
  f.add_users("ada");
  f.add_users("ada");
  EXPECT_EQ(RecordMatch(f, {1}).query().by, By::kUser);
  EXPECT_EQ(RecordMatch(f, {1}).query().names, (std::vector<std::string>{"ada"}));
  f.add_uids(7);
  EXPECT_EQ(RecordMatch(f, {1}).query().by, By::kAccount) << "a number may be a user whom no name says";
}

/// Gives pages of one job each.
class FakeRecords : public store::RecordReader {
 public:
  explicit FakeRecords(std::vector<store::JobParts> jobs) : jobs_(std::move(jobs)) {}
  base::Result<store::RecordPage> read(const store::RecordQuery& query, const store::RecordPlace& from,
                                       const std::function<bool(const store::JobRow&)>& wants) override {
    with_parts = query.with_parts;
    if (jobs_.empty()) return base::fail(base::ErrorCode::kUnavailable, "the database is locked");
    store::RecordPage page;
    if (wants(jobs_[from.next_id].job)) page.jobs.push_back(jobs_[from.next_id]);
    page.next.next_id = from.next_id + 1;
    page.is_last = page.next.next_id == jobs_.size();
    return page;
  }
  bool with_parts = false;

 private:
  std::vector<store::JobParts> jobs_;
};

ReadRecords asked() {
  ReadRecords read;
  read.request_id = 5;
  read.now = {1000};
  read.cluster = "c1";
  return read;
}

store::JobParts parts(uint32_t id) {
  store::JobParts p;
  p.job = row(JobState::kCompleted, 10, 20, 30);
  p.job.id = base::JobId(id);
  wire::JobSpec spec;
  spec.set_name("train");
  spec.mutable_launch()->add_args("secret");
  p.job.spec = spec.SerializeAsString();
  wire::JobStatus status;
  status.set_state(p.job.state);
  status.mutable_ended()->add_shares()->set_node("n1");
  status.mutable_ended()->add_shares()->set_node("n2");
  p.job.status = status.SerializeAsString();
  wire::PastRun run;
  run.set_step(1);
  p.past.push_back({base::JobId(id), 1, 1, run.SerializeAsString()});
  p.past.push_back({base::JobId(id), 1, 2, "\xff damaged"});
  return p;
}

wire::ApiReply next(RecordList& list, store::RecordReader& reader) {
  const auto piece = list.next(reader);
  EXPECT_TRUE(piece) << piece.error().text();
  wire::ApiReply reply;
  EXPECT_TRUE(reply.ParseFromString(piece.value_or("")));
  return reply;
}

TEST(RecordList, PiecesAreNumberedAndTheLastOneSaysSo) {
  FakeRecords reader({parts(7), parts(8)});
  RecordList list(asked());
  const wire::ApiReply first = next(list, reader), second = next(list, reader);
  EXPECT_TRUE(first.more());
  EXPECT_EQ(first.piece(), 1u);
  EXPECT_EQ(first.id(), 5u);
  EXPECT_FALSE(second.more());
  EXPECT_EQ(second.piece(), 2u);
  EXPECT_FALSE(list.has_more());
  ASSERT_EQ(first.list_records().records_size(), 1);
  const wire::JobRecord& record = first.list_records().records(0);
  EXPECT_EQ(record.id(), 7u);
  EXPECT_EQ(record.nodes(), "n[1-3]");
  EXPECT_EQ(record.first().node(), "n1");
  EXPECT_EQ(record.status().ended().shares_size(), 0) << "as many as nodes";
  EXPECT_EQ(record.spec().launch().args_size(), 0);
  EXPECT_EQ(record.runs_size(), 1) << "one that cannot be read is left out";
  EXPECT_TRUE(reader.with_parts);
}

TEST(RecordList, OfADamagedRowTheColumnsAreTold) {
  store::JobParts damaged = parts(7);
  damaged.job.spec = "\xff\xff";
  damaged.job.status = "\xff\xff";
  FakeRecords reader({damaged});
  RecordList list(asked());
  const wire::JobRecord record = next(list, reader).list_records().records(0);
  EXPECT_EQ(record.spec().user(), "ada");
  EXPECT_EQ(record.spec().name(), "train");
  EXPECT_EQ(record.status().state(), static_cast<uint32_t>(JobState::kCompleted));
}

TEST(RecordList, JobsAloneAreReadWithoutTheirParts) {
  FakeRecords reader({parts(7)});
  ReadRecords read = asked();
  read.query.set_jobs_alone(true);
  RecordList list(read);
  next(list, reader);
  EXPECT_FALSE(reader.with_parts);
}

TEST(RecordList, AnErrorOfTheDatabaseIsTheAnswer) {
  FakeRecords reader({});
  RecordList list(asked());
  const auto piece = list.next(reader);
  ASSERT_FALSE(piece);
  EXPECT_EQ(piece.error().code, base::ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace gw::ctld
