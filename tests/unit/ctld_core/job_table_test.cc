// What is counted of jobs is true of them, whatever happens.
#include "ctld/core/tables/job_table.h"

#include <gtest/gtest.h>

#include "sched/queue/queue.h"

namespace gw::ctld {
namespace {

using base::JobId;
using model::Job;
using model::JobEvent;
using model::JobState;

model::JobSpec spec_of(uint32_t uid, const std::string& qos) {
  model::JobSpec spec;
  spec.uid = uid;
  spec.qos = spec.account = qos;
  spec.partitions = {"main"};
  return spec;
}

uint64_t count_of(const JobTable& jobs, JobState state) { return jobs.counts()[static_cast<size_t>(state)]; }

void end(JobTable& jobs, Job& job) {
  ASSERT_TRUE(jobs.advance(job, model::end_event(JobState::kCancelled)));
  job.phase = model::Ended{};
}

TEST(JobTable, CountsWhatHasNotEnded) {
  JobTable jobs;
  Job& a = jobs.enter({1}, spec_of(7, "x"));
  Job& b = jobs.enter({1}, spec_of(8, "x"));
  EXPECT_EQ(b.id.value, a.id.value + 1);
  EXPECT_EQ(jobs.live(), 2U);
  EXPECT_EQ(jobs.submitted_to("x"), 2U);
  EXPECT_EQ(jobs.submitted_to("x", 8), 1U);
  EXPECT_EQ(count_of(jobs, JobState::kPending), 2U);
  end(jobs, a);
  EXPECT_EQ(jobs.live(), 1U);
  EXPECT_EQ(jobs.submitted_to("x"), 1U);
  EXPECT_EQ(jobs.submitted_to("x", 7), 0U);
  EXPECT_EQ(count_of(jobs, JobState::kCancelled), 1U);
  jobs.erase(a.id);
  EXPECT_EQ(count_of(jobs, JobState::kCancelled), 0U);
  EXPECT_EQ(jobs.live(), 1U);
  EXPECT_EQ(jobs.find(JobId(1)), nullptr);
}

TEST(JobTable, OneThatWaitsAgainAfterItsEndHasNotEnded) {
  JobTable jobs;
  Job& job = jobs.enter({1}, spec_of(7, "x"));
  end(jobs, job);
  ASSERT_TRUE(jobs.advance(job, JobEvent::kRevive));
  job.phase = model::Waiting{};
  EXPECT_EQ(jobs.live(), 1U);
  EXPECT_EQ(jobs.submitted_to("x", 7), 1U);
  EXPECT_EQ(jobs.first_named(7, ""), job.id);
  EXPECT_EQ(count_of(jobs, JobState::kPending), 1U);
  EXPECT_FALSE(jobs.advance(job, JobEvent::kRevive)) << "it waits already";
}

TEST(JobTable, AJobIsCountedAtItsPresentQos) {
  JobTable jobs;
  Job& job = jobs.enter({1}, spec_of(7, "x"));
  jobs.change_qos(job, "y");
  EXPECT_EQ(job.spec.account, "y") << "it only repeated the QOS";
  EXPECT_EQ(jobs.submitted_to("x"), 0U);
  EXPECT_EQ(jobs.submitted_to("y", 7), 1U);
  jobs.change_spec(job, spec_of(7, "z"));
  EXPECT_EQ(jobs.submitted_to("y"), 0U);
  EXPECT_EQ(jobs.submitted_to("z"), 1U);
}

TEST(JobTable, AnEventThatDoesNotFitChangesNothing) {
  JobTable jobs;
  Job& job = jobs.enter({1}, spec_of(7, "x"));
  EXPECT_FALSE(jobs.advance(job, JobEvent::kGo));
  EXPECT_EQ(job.state, JobState::kPending);
  EXPECT_EQ(count_of(jobs, JobState::kPending), 1U);
}

TEST(JobTable, WhatTheStoreHadIsCountedToo) {
  JobTable jobs;
  Job ended;
  ended.id = JobId(3);
  ended.state = JobState::kCompleted;
  ended.spec = spec_of(7, "x");
  jobs.restore(std::move(ended));
  Job waits;
  waits.id = JobId(4);
  waits.spec = spec_of(7, "x");
  jobs.restore(std::move(waits));
  EXPECT_EQ(jobs.live(), 1U);
  EXPECT_EQ(jobs.submitted_to("x"), 1U);
  EXPECT_EQ(count_of(jobs, JobState::kCompleted), 1U);
}

TEST(JobTable, NumbersThatWereGivenAreWrittenOnce) {
  JobTable jobs;
  EXPECT_TRUE(jobs.take_rows().empty());
  jobs.enter({1}, spec_of(7, "x"));
  const JobId holder = jobs.take_holding_id();
  EXPECT_GE(holder.value, sched::kFirstHoldingId);
  EXPECT_NE(jobs.take_holding_id(), holder);
  const store::Batch rows = jobs.take_rows();
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(std::get<store::PutMeta>(rows[0]).value, jobs.next().text());
  EXPECT_TRUE(jobs.take_rows().empty());
  jobs.restore_next(JobId(sched::kFirstHoldingId - 2));
  EXPECT_TRUE(jobs.take_rows().empty()) << "the store has it";
  EXPECT_TRUE(jobs.has_numbers_for(2));
  EXPECT_FALSE(jobs.has_numbers_for(3));
}

}  // namespace
}  // namespace gw::ctld
