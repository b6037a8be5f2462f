// What use records come to, between two moments and by keys.
#include "ctld/shell/record_sum.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>

#include "model/job_state.h"

namespace gw::ctld {
namespace {

using model::JobState;

constexpr int64_t kSecond = 1'000'000, kHour = 3600 * kSecond, kDay = 24 * kHour;

/// Of two CPUs, one GPU and 100 MiB.
store::JobParts job(uint32_t id, int64_t started, int64_t ended) {
  store::JobParts p;
  store::JobRow& r = p.job;
  r.id = base::JobId(id);
  r.state = static_cast<uint32_t>(ended > 0 ? JobState::kCompleted : JobState::kRunning);
  r.user = "ada";
  r.account = "physics";
  r.qos = "high";
  r.partition = "gpu";
  r.cpus = 2;
  r.gpus = 1;
  r.mem_mb = 100;
  r.started = {started};
  r.ended = {ended};
  wire::JobStatus status;
  status.set_eligible_us(started - 10 * kSecond);
  if (ended > 0) {
    status.mutable_ended()->set_gpu_types("h100");
    status.mutable_ended()->mutable_outcome()->mutable_use()->set_user_us(7 * kSecond);
    status.mutable_ended()->mutable_outcome()->mutable_use()->mutable_gpu()->set_idle_us(2 * kSecond);
  } else {
    status.mutable_placed()->set_gpu_types("a100");
  }
  r.status = status.SerializeAsString();
  return p;
}

/// Two jobs a page.
class Pages : public store::RecordReader {
 public:
  explicit Pages(std::vector<store::JobParts> jobs) : jobs_(std::move(jobs)) {}
  base::Result<store::RecordPage> read(const store::RecordQuery& query, const store::RecordPlace& from,
                                       const std::function<bool(const store::JobRow&)>& wants) override {
    EXPECT_FALSE(query.with_spec);
    store::RecordPage page;
    page.next = from;
    for (size_t end = page.next.next_id + 2; page.next.next_id < std::min(end, jobs_.size()); ++page.next.next_id)
      if (wants(jobs_[page.next.next_id].job)) page.jobs.push_back(jobs_[page.next.next_id]);
    page.is_last = page.next.next_id == jobs_.size();
    return page;
  }

 private:
  std::vector<store::JobParts> jobs_;
};

struct Question {
  std::vector<wire::UseKey> by;
  int64_t since = 0, until = 100 * kDay, now = 100 * kDay;
};

std::vector<wire::UseSum> sums(std::vector<store::JobParts> jobs, const Question& question) {
  SumRecords asked;
  asked.request_id = 5;
  asked.now = {question.now};
  asked.query.mutable_filter()->set_since_us(question.since);
  asked.query.mutable_filter()->set_until_us(question.until);
  for (const wire::UseKey key : question.by) asked.query.add_by(key);
  RecordSum sum(asked);
  Pages reader(std::move(jobs));
  while (!sum.is_done()) {
    const base::Status added = sum.add_page(reader);
    EXPECT_TRUE(added);
    if (!added) break;
  }
  wire::ApiReply reply;
  EXPECT_TRUE(reply.ParseFromString(sum.reply()));
  EXPECT_EQ(reply.id(), 5u);
  return {reply.sum_records().sums().begin(), reply.sum_records().sums().end()};
}

TEST(RecordSum, WithoutKeysOneSum) {
  const auto all = sums({job(1, kHour, 2 * kHour), job(2, kHour, 3 * kHour), job(3, kHour, 2 * kHour)}, {});
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].jobs(), 3u);
  EXPECT_EQ(all[0].cpu_ms(), static_cast<uint64_t>(8 * kHour) / 1000);
  EXPECT_EQ(all[0].gpu_ms(), static_cast<uint64_t>(4 * kHour) / 1000);
  EXPECT_EQ(all[0].mem_mb_s(), 4u * 3600 * 100);
  EXPECT_EQ(all[0].used_cpu_ms(), static_cast<uint64_t>(21 * kSecond) / 1000);
  EXPECT_EQ(all[0].idle_gpu_ms(), static_cast<uint64_t>(6 * kSecond) / 1000);
  EXPECT_EQ(all[0].started(), 3u);
  EXPECT_EQ(all[0].waited_ms(), static_cast<uint64_t>(30 * kSecond) / 1000);
}

TEST(RecordSum, OnlyWhatLiesWithinTheTime) {
  const Question question{{}, 2 * kHour, 3 * kHour};
  const auto both = sums({job(1, kHour, 4 * kHour), job(2, 5 * kHour / 2, 4 * kHour)}, question);
  ASSERT_EQ(both.size(), 1u);
  EXPECT_EQ(both[0].gpu_ms(), static_cast<uint64_t>(3 * kHour / 2) / 1000);
  EXPECT_EQ(both[0].started(), 1u) << "the other began before";
  EXPECT_EQ(both[0].used_cpu_ms(), static_cast<uint64_t>(7 * kSecond) / 1000);
  EXPECT_TRUE(sums({job(1, kHour, 2 * kHour)}, question).empty()) << "it ended as the time began";
}

TEST(RecordSum, ARunningJobCountsUntilNow) {
  const auto all = sums({job(1, kHour, 0)}, {{wire::kByGpuType}, 0, 100 * kDay, 3 * kHour});
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].keys(0), "a100");
  EXPECT_EQ(all[0].gpu_ms(), static_cast<uint64_t>(2 * kHour) / 1000);
}

TEST(RecordSum, SuspendedTimeDoesNotCount) {
  store::JobParts stood = job(1, kHour, 3 * kHour);
  wire::JobStatus status;
  status.mutable_ended()->set_stood_still_us(kHour);
  stood.job.status = status.SerializeAsString();
  EXPECT_EQ(sums({stood}, {})[0].gpu_ms(), static_cast<uint64_t>(kHour) / 1000);
}

TEST(RecordSum, OfASharedGpuEachHasItsPart) {
  store::JobParts shared = job(1, kHour, 2 * kHour);
  wire::JobStatus status;
  status.mutable_ended()->add_shares()->set_gpu_milli(250);
  shared.job.status = status.SerializeAsString();
  EXPECT_EQ(sums({shared}, {})[0].gpu_ms(), static_cast<uint64_t>(kHour / 4) / 1000);
  store::JobParts runs = job(2, kHour, 0);
  wire::JobSpec spec;
  spec.mutable_request()->set_gpu_milli(500);
  runs.job.spec = spec.SerializeAsString();
  EXPECT_EQ(sums({runs}, {{}, 0, 100 * kDay, 2 * kHour})[0].gpu_ms(), static_cast<uint64_t>(kHour / 2) / 1000);
}

TEST(RecordSum, EarlierAttemptsCountWithTheirOwnSizeAndSteps) {
  store::JobParts again = job(1, 5 * kHour, 6 * kHour);
  wire::PastRun run;
  run.set_attempt(1);
  run.set_started_us(kHour);
  run.set_ended_us(2 * kHour);
  run.set_eligible_us(kHour - 4 * kSecond);
  run.set_cpus(8);
  run.set_gpus(4);
  run.set_partition("other");
  run.set_gpu_types("v100");
  wire::PastRun step;
  step.set_attempt(1);
  step.set_step(1);
  step.mutable_of_step()->mutable_use()->set_user_us(100 * kSecond);
  again.past = {{base::JobId(1), 1, 0, run.SerializeAsString()}, {base::JobId(1), 1, 1, step.SerializeAsString()}};
  const auto by = sums({again}, {{wire::kByPartition, wire::kByGpuType}});
  ASSERT_EQ(by.size(), 2u);
  EXPECT_EQ(by[1].keys(0), "other");
  EXPECT_EQ(by[1].keys(1), "v100");
  EXPECT_EQ(by[1].gpu_ms(), static_cast<uint64_t>(4 * kHour) / 1000);
  EXPECT_EQ(by[1].used_cpu_ms(), static_cast<uint64_t>(100 * kSecond) / 1000);
  EXPECT_EQ(by[1].waited_ms(), static_cast<uint64_t>(4 * kSecond) / 1000);
  EXPECT_EQ(by[0].used_cpu_ms(), static_cast<uint64_t>(7 * kSecond) / 1000);
  const auto all = sums({again}, {});
  EXPECT_EQ(all[0].jobs(), 1u) << "one job, two attempts";
  EXPECT_EQ(all[0].started(), 2u);
}

TEST(RecordSum, DaysAndMonthsPartARun) {
  ::setenv("TZ", "UTC", 1);
  ::tzset();
  const auto days = sums({job(1, 30 * kDay + 12 * kHour, 33 * kDay)}, {{wire::kByDay}});
  ASSERT_EQ(days.size(), 3u);
  EXPECT_EQ(days[0].keys(0), "1970-01-31");
  EXPECT_EQ(days[0].gpu_ms(), static_cast<uint64_t>(12 * kHour) / 1000);
  EXPECT_EQ(days[2].gpu_ms(), static_cast<uint64_t>(kDay) / 1000);
  EXPECT_EQ(days[0].started() + days[1].started() + days[2].started(), 1u);
  const auto months = sums({job(1, 30 * kDay + 12 * kHour, 33 * kDay)}, {{wire::kByMonth, wire::kByUser}});
  ASSERT_EQ(months.size(), 2u);
  EXPECT_EQ(months[1].keys(0), "1970-02");
  EXPECT_EQ(months[1].keys(1), "ada");
  EXPECT_EQ(months[1].gpu_ms(), static_cast<uint64_t>(2 * kDay) / 1000);
}

TEST(RecordSum, AJobThatEndsBetweenTwoPagesCountsOnce) {
  const auto all =
      sums({job(1, kHour, 0), job(2, kHour, 2 * kHour), job(1, kHour, 2 * kHour)}, {{}, 0, 100 * kDay, 2 * kHour});
  EXPECT_EQ(all[0].jobs(), 2u);
  EXPECT_EQ(all[0].gpu_ms(), static_cast<uint64_t>(2 * kHour) / 1000);
}

TEST(RecordSum, TheNumberOfSumsIsBounded) {
  SumRecords asked;
  asked.now = {400'000 * kDay};
  asked.query.mutable_filter()->set_until_us(asked.now.us);
  asked.query.add_by(wire::kByDay);
  RecordSum sum(asked);
  Pages reader({job(1, kHour, 0)});
  const base::Status added = sum.add_page(reader);
  ASSERT_FALSE(added);
  EXPECT_NE(added.error().text().find("sums"), std::string::npos);
}

TEST(RecordSum, ADamagedRowIsNoEnd) {
  store::JobParts damaged = job(1, kHour, 2 * kHour);
  damaged.job.status = "\xff\xff";
  damaged.past = {{base::JobId(1), 1, 0, "\xff"}};
  const wire::UseSum sum = sums({damaged}, {})[0];
  EXPECT_EQ(sum.jobs(), 1u);
  EXPECT_EQ(sum.cpu_ms(), static_cast<uint64_t>(2 * kHour) / 1000) << "it has ended, by its columns";
  EXPECT_EQ(sum.waited_ms(), 0u);
}

TEST(RecordSum, APresentSuspensionDoesNotCount) {
  store::JobParts stands = job(1, kHour, 0);
  wire::JobStatus status;
  status.mutable_placed()->set_stood_still_us(kHour);
  status.mutable_placed()->mutable_suspension()->set_since_us(4 * kHour);
  stands.job.status = status.SerializeAsString();
  EXPECT_EQ(sums({stands}, {{}, 0, 100 * kDay, 6 * kHour})[0].gpu_ms(), static_cast<uint64_t>(2 * kHour) / 1000);
}

TEST(RecordSum, PartitionsAreThoseOfEachAttempt) {
  store::JobParts moved = job(1, 5 * kHour, 6 * kHour);
  wire::PastRun run;
  run.set_attempt(1);
  run.set_started_us(kHour);
  run.set_ended_us(4 * kHour);
  run.set_gpus(1);
  run.set_partition("slow");
  moved.past = {{base::JobId(1), 1, 0, run.SerializeAsString()}};
  SumRecords asked;
  asked.now = {100 * kDay};
  asked.query.mutable_filter()->set_until_us(asked.now.us);
  asked.query.mutable_filter()->add_partitions("slow");
  RecordSum sum(asked);
  Pages reader({moved});
  ASSERT_TRUE(sum.add_page(reader));
  wire::ApiReply reply;
  ASSERT_TRUE(reply.ParseFromString(sum.reply()));
  ASSERT_EQ(reply.sum_records().sums_size(), 1);
  EXPECT_EQ(reply.sum_records().sums(0).gpu_ms(), static_cast<uint64_t>(3 * kHour) / 1000);
}

}  // namespace
}  // namespace gw::ctld
