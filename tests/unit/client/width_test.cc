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

/// What looks as on a terminal of so many columns.
std::string looks(TableLook look, const std::string& text, std::string_view format = "%.4i %2t %R") {
  wire::Job job;
  job.set_id(7);
  job.mutable_status()->set_state(static_cast<uint32_t>(model::JobState::kRunning));
  job.mutable_status()->mutable_placed()->add_shares()->set_node(text);
  const auto parsed = parse_short_format(format, field_names(job_fields()));
  return parsed ? render_table(*parsed, job_fields(), std::vector<JobRow>{{&job, {}}}, look).lines : "";
}

TEST(Width, TheLastColumnEndsAtTheEdgeOfATerminal) {
  const std::string long_name(40, 'n');
  EXPECT_EQ(looks({}, long_name), "   7 R  " + long_name + "\n") << "into a file it is whole";
  const std::string cut = looks({.columns = 30}, long_name);
  EXPECT_EQ(display_width(cut.substr(0, cut.size() - 1)), 30u) << cut;
  EXPECT_TRUE(cut.ends_with("\u2026\n") || cut.ends_with("...\n")) << cut;
  EXPECT_EQ(looks({.columns = 30}, "n1"), "   7 R  n1\n");
  EXPECT_EQ(looks({.columns = 30}, long_name, "%.4i %50R"), "   7 " + long_name + std::string(10, ' ') + "\n")
      << "what has a width keeps it";
  EXPECT_GT(looks({.columns = 3}, long_name).size(), 12u) << "something is always shown";
}

TEST(Width, ColoursAreForTerminalsAlone) {
  EXPECT_EQ(looks({.colour = true}, "n1"), "   7 \033[32mR  \033[0mn1\n");
  EXPECT_EQ(looks({}, "n1").find('\033'), std::string::npos);
}

TEST(Width, NodesFitATerminal) {
  for (const std::string_view format : {kInfoGpuFormat, kInfoLongGpuFormat, kInfoNodeGpuFormat, kInfoNodeLongGpuFormat,
                                        kInfoSummaryGpuFormat, kInfoReasonFormat, kInfoReasonLongFormat})
    expect_narrow(format, info_fields(), std::vector<InfoRow>{});
  expect_narrow(kStepFormat, step_fields(), std::vector<StepRow>{});
}

}  // namespace
}  // namespace gw::client
