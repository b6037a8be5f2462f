// Listings fit a terminal of 80 columns: those under the own names, with ordinary jobs and nodes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "client/show/display.h"
#include "client/show/info_fields.h"
#include "client/show/job_fields.h"
#include "client/show/step_fields.h"
#include "tests/unit/client/build_job.h"

namespace gw::client {
namespace {

using namespace testing_jobs;

constexpr size_t kWidth = 80;

template <typename Row>
void expect_narrow(std::string_view format, const std::vector<Field<Row>>& fields, const std::vector<Row>& rows) {
  auto parsed = parse_short_format(format, field_names(fields));
  ASSERT_TRUE(parsed) << format;
  const TableText text = render_table(*parsed, fields, rows);
  for (const std::string& line : base::split(text.header + text.lines, '\n'))
    EXPECT_LE(display_width(line), kWidth) << line;
}

TEST(Width, JobsFitATerminal) {
  use_utc();
  wire::Job waits = pending_job(), runs = running_job();
  for (wire::Job* job : {&waits, &runs}) {
    job->set_id(1'234'567);
    job->mutable_spec()->set_name("a-long-name-of-a-job");
    job->mutable_spec()->set_user("somebody-else");
  }
  waits.mutable_status()->mutable_waiting()->set_reason(0);
  runs.mutable_status()->mutable_placed()->set_started_us((kNow - 300'000) * 1'000'000);
  const std::vector<JobRow> rows = {{&waits, {kNow * 1'000'000}}, {&runs, {kNow * 1'000'000}}};
  expect_narrow(kOwnQueueFormat, job_fields(), rows);
  for (const std::string_view format : {kOwnQueueLongFormat, kOwnQueueStartFormat})
    expect_narrow(format, job_fields(), std::vector<JobRow>{});  // their last column takes what it needs
}

TEST(Width, NodesFitATerminal) {
  for (const std::string_view format : {kInfoGpuFormat, kInfoLongGpuFormat, kInfoNodeGpuFormat, kInfoNodeLongGpuFormat,
                                        kInfoSummaryGpuFormat, kInfoReasonFormat, kInfoReasonLongFormat})
    expect_narrow(format, info_fields(), std::vector<InfoRow>{});
  expect_narrow(kStepFormat, step_fields(), std::vector<StepRow>{});
}

}  // namespace
}  // namespace gw::client
