// Rows are made once, at the end, from the state as it is then.
#include "ctld/core/tables/row_marks.h"

#include <gtest/gtest.h>

#include "world.h"

namespace gw::ctld {
namespace {

using testing::gang;
using testing::World;

constexpr base::JobId kMarked{7};

/// A job that waits, and what is written of it.
struct Marked {
  RowMarks marks;
  RowMarks::Jobs jobs;
  RowMarks::Steps steps;

  Marked() {
    model::Job& job = jobs[kMarked];
    job.id = kMarked;
    job.spec.name = "first";
    job.spec.partitions = {"main"};
    job.phase = model::Waiting{};
  }
  model::Job& job() { return jobs.at(kMarked); }
  void end() {
    job().state = model::JobState::kCompleted;
    job().phase = model::Ended{};
  }
  model::Step& add_step() {
    model::Step& step = steps[{kMarked, 0}];
    step.job = kMarked;
    model::NodeShare& share = step.nodes.emplace_back().share;
    share.node = base::NodeId(1);
    share.name = "n1";
    return step;
  }
  store::Batch take() { return marks.take(jobs, steps); }
};

template <typename Row>
size_t count(const store::Batch& rows) {
  return static_cast<size_t>(
      std::count_if(rows.begin(), rows.end(), [](const store::Op& op) { return std::holds_alternative<Row>(op); }));
}

TEST(RowMarks, AJobIsWrittenOnceAsItIsAtTheEnd) {
  Marked m;
  m.marks.job(m.job());
  m.job().preemptions = 3;
  m.marks.job(m.job());
  m.marks.job_coalesced(m.job());
  m.marks.job(m.job());
  m.job().preemptions = 4;
  const store::Batch rows = m.take();
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(std::get<store::PutJobStatus>(rows.front()).row.status, row_of(m.job(), false).status);
  EXPECT_FALSE(m.marks.has_coalesced()) << "it is in the row already";
  EXPECT_TRUE(m.take().empty());
}

TEST(RowMarks, OneThatIsNewAndEndsHasItsSpecFirst) {
  Marked m;
  m.marks.job_and_spec(m.job());
  m.end();
  m.marks.job(m.job());
  const store::Batch rows = m.take();
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_FALSE(std::get<store::PutJob>(rows[0]).row.spec.empty());
  EXPECT_TRUE(std::holds_alternative<store::EndJob>(rows[1]));
}

TEST(RowMarks, WhatLeavesMemoryIsWrittenBefore) {
  Marked m;
  m.end();
  m.marks.job(m.job());
  EXPECT_EQ(count<store::EndJob>(m.marks.take_of(m.job())), 1U);
  m.jobs.clear();
  EXPECT_TRUE(m.take().empty());
  World w(1);
  w.settings.min_job_age = {};
  w.restart();
  w.connect_all();
  const base::JobId id = w.submit(1000, gang(1));
  wire::ApiRequest cancel;
  cancel.mutable_cancel()->mutable_filter()->add_ids(id.value);
  // Ends, and is purged, before anybody has fetched what is to be written.
  w.core->on_request(w.now, 1, {0, 0, "root", "root", {}}, cancel);
  w.core->on_tick(w.now);
  EXPECT_EQ(count<store::EndJob>(w.core->take_effects().writes), 1U);
  EXPECT_FALSE(w.core->jobs().contains(id));
}

TEST(RowMarks, WhatIsRemovedGoesBeforeWhatIsWritten) {
  Marked m;
  m.marks.step_over({kMarked, 0});
  m.marks.step_and_nodes(m.add_step());  // another attempt's, under the same number
  testing::MemoryStore disk;
  disk.apply(m.take());
  EXPECT_EQ(disk.steps.size(), 1U);
  EXPECT_EQ(disk.run_nodes.size(), 1U);
  m.marks.step(m.steps.begin()->second);
  m.marks.step_over({kMarked, 0});
  m.steps.clear();
  disk.apply(m.take());
  EXPECT_TRUE(disk.steps.empty());
  EXPECT_TRUE(disk.run_nodes.empty());
}

TEST(RowMarks, CoalescedRowsWaitForTheGroup) {
  Marked m;
  m.marks.job_coalesced(m.job());
  m.marks.step_coalesced(m.add_step());
  EXPECT_TRUE(m.take().empty());
  ASSERT_TRUE(m.marks.has_coalesced());
  m.job().preemptions = 9;
  const store::Batch rows = m.marks.take_coalesced(m.jobs, m.steps);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(std::get<store::PutJobStatus>(rows[0]).row.status, row_of(m.job(), false).status);
  EXPECT_FALSE(m.marks.has_coalesced());
}

}  // namespace
}  // namespace gw::ctld
