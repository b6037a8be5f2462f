// Output formats over real job fields, against squeue's text.
#include "client/show/format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/show/job_fields.h"
#include "tests/unit/client/build_job.h"

namespace gw::client {
namespace {

using namespace testing_jobs;
using testing::HasSubstr;

std::string shown(std::string_view format, const wire::Job& job, bool is_long = false) {
  use_utc();
  const auto names = field_names(job_fields());
  auto parsed = is_long ? parse_long_format(format, names) : parse_short_format(format, names);
  if (!parsed) return "ERROR " + parsed.error().text();
  std::string out = render_table(*parsed, job_fields(), std::vector<JobRow>{{&job, {kNow * 1'000'000}}}).lines;
  out.pop_back();
  return out;
}

struct Case {
  const char* format;
  const char* text;
};

TEST(ShortFormat, ShowsARunningJob) {
  const wire::Job job = running_job();
  const Case cases[] = {
      {kQueueFormat.data(), "                 7       gpu    train    alice  R       1:05      2 n[1-2]"},
      {"%i|%T|%t", "7|RUNNING|R"},
      {"[%5i]", "[7    ]"},
      {"%.5i;", "    7;"},
      {"%.2j", "tr"},
      {"%M %l %L", "1:05 1:00:00 58:55"},
      {"%S %e %V", "2027-01-15T07:58:55 2027-01-15T08:58:55 2027-01-15T07:58:20"},
      {"%D %C %m %b", "2 8 4G gres/gpu:h100:8"},
      {"%B %N %R %r", "n1 n[1-2] n[1-2] None"},
      {"%A %F %K", "7 7 N/A"},
      {"%U %a %q %y %h", "1000 normal normal 0 OK"},
      {"%o %Z", "/home/alice/train.sh /home/alice"}};
  for (const Case& c : cases) EXPECT_EQ(shown(c.format, job), c.text) << c.format;
}

TEST(ShortFormat, ShowsWhyAJobWaits) {
  EXPECT_EQ(shown("%t %R %P %S", pending_job()), "PD (Resources) gpu,cpu N/A");
  EXPECT_EQ(shown("%N|%B|%M", pending_job()), "|n/a|0:00");
}

TEST(ShortFormat, AlwaysHasAReasonForWaiting) {
  wire::Job job = pending_job();
  for (uint32_t reason = 0; reason <= static_cast<uint32_t>(model::WaitReason::kDependency) + 1; ++reason) {
    job.mutable_status()->mutable_waiting()->set_reason(reason);
    EXPECT_NE(shown("%R", job), "(None)") << reason;
    EXPECT_NE(shown("%R", job), "()") << reason;
  }
  job.mutable_status()->mutable_waiting()->set_reason(0);
  EXPECT_EQ(shown("%R %r", job), "(NotYetConsidered) NotYetConsidered");
}

TEST(ShortFormat, AnEndingJobShowsTheTimeItUsed) {
  wire::Job job = running_job();
  job.mutable_status()->set_state(static_cast<uint32_t>(model::JobState::kCompleting));
  job.mutable_status()->mutable_placed()->set_kill_sent_us((kNow - 5) * 1'000'000);
  job.mutable_status()->mutable_placed()->mutable_outcome();
  EXPECT_EQ(shown("%t %M %l %L %e", job), "CG 1:05 1:00:00 58:55 N/A");
  job.mutable_status()->mutable_placed()->mutable_outcome()->set_ended_us((kNow - 5) * 1'000'000);
  EXPECT_EQ(shown("%M %e", job), "1:00 2027-01-15T07:59:55") << "its script has ended";
}

TEST(ShortFormat, ShowsHowAJobEnded) {
  using model::EndReason;
  using model::JobState;
  EXPECT_EQ(shown("%t %R %M", ended_job(JobState::kFailed, EndReason::kNonZeroExit, 3, 0)), "F (NonZeroExitCode) 1:00");
  EXPECT_EQ(shown("%r", ended_job(JobState::kFailed, EndReason::kRaisedSignal, 0, 9)), "RaisedSignal:9(Killed)");
  EXPECT_EQ(shown("%T %R", ended_job(JobState::kCompleted, EndReason::kNone, 0, 0)), "COMPLETED n[1-2]");
  EXPECT_EQ(shown("%t", ended_job(JobState::kOutOfMemory, EndReason::kOutOfMemory, 0, 9)), "OOM");
}

TEST(ShortFormat, WhatUsersWriteCannotCommandATerminal) {
  wire::Job job = running_job();
  job.mutable_spec()->mutable_launch()->set_work_dir("/tmp/\x1b[2J");
  job.mutable_spec()->mutable_launch()->set_command("a\nb");
  job.mutable_spec()->mutable_launch()->set_std_out("\x1b]0;x\a");
  for (const char* format : {"%Z", "%o"}) EXPECT_THAT(shown(format, job), HasSubstr("\\x")) << format;
  EXPECT_EQ(shown("STDOUT:,WorkDir:", job, true).find('\x1b'), std::string::npos);
}

TEST(ShortFormat, NumberColumnsGrowRatherThanLoseDigits) {
  use_utc();
  wire::Job job = running_job();
  job.mutable_status()->mutable_placed()->set_started_us((kNow - 400 * 86'400) * 1'000'000);
  auto format = parse_short_format("%#.10M|%#.9l", field_names(job_fields()));
  ASSERT_TRUE(format.has_value());
  const std::vector<JobRow> rows = {{&job, {kNow * 1'000'000}}};
  const TableText out = render_table(*format, job_fields(), rows);
  EXPECT_EQ(out.lines, "400-00:00:00|  1:00:00\n");
  EXPECT_EQ(out.header, "        TIME|TIME_LIMI\n");
}

TEST(ShortFormat, NamesWhatIsWrong) {
  EXPECT_THAT(shown("%@", running_job()), HasSubstr("no field %@ (fields are %i"));
  EXPECT_THAT(shown("%5", running_job()), HasSubstr("ends inside a field"));
  EXPECT_THAT(shown("%99999i", running_job()), HasSubstr("wider than 9999"));
}

TEST(LongFormat, FollowsSlurmsRules) {
  const wire::Job job = running_job();
  EXPECT_EQ(shown("JobID:5,Name:.8,state:", job, true), "7       trainRUNNING");
  EXPECT_EQ(shown("JobID", job, true), "7                   ");
  EXPECT_EQ(shown("JobID:\x1f,UserName:\x1f", job, true),
            "7\x1f"
            "alice\x1f");
  EXPECT_EQ(shown("jobid:3|,GPUs:.4;", job, true), "7  |  16;");
  EXPECT_EQ(shown("GPUList:", job, true), "n1:0-7 n2:0-7");
  EXPECT_THAT(shown("JobIdd", job, true), HasSubstr("did you mean \"JobID\"?"));
  EXPECT_THAT(shown("", job, true), HasSubstr("ERROR"));
}

TEST(Header, CarriesSlurmsWords) {
  auto format = parse_short_format(kQueueFormat, field_names(job_fields()));
  ASSERT_TRUE(format.has_value());
  EXPECT_EQ(render_table(*format, job_fields(), std::vector<JobRow>()).header,
            "             JOBID PARTITION     NAME     USER ST       TIME  NODES NODELIST(REASON)\n");
}

TEST(Fields, LettersAndNamesAreUnique) {
  std::set<char> letters;
  std::set<std::string> names;
  for (const auto& f : job_fields()) {
    if (f.id.letter != 0) {
      EXPECT_TRUE(letters.insert(f.id.letter).second) << f.id.letter;
    }
    EXPECT_TRUE(names.insert(std::string(f.id.name)).second) << f.id.name;
  }
  for (char c : std::string("iAFKtTrRNBuUPjDCMlLSeVaqQpmbfvZokynh")) EXPECT_TRUE(letters.contains(c)) << c;
}

TEST(Sort, OrdersByNumberWhereItIsOne) {
  wire::Job a = running_job(), b = running_job();
  a.set_id(9);
  b.set_id(10);
  auto keys = parse_sort("i", field_names(job_fields()));
  ASSERT_TRUE(keys.has_value());
  std::vector<JobRow> rows = {{&b, {}}, {&a, {}}};
  sort_rows(rows, job_fields(), *keys);
  EXPECT_EQ(rows[0].job->id(), 9u);
  auto down = parse_sort("P,-i", field_names(job_fields()));
  ASSERT_TRUE(down.has_value());
  sort_rows(rows, job_fields(), *down);
  EXPECT_EQ(rows[0].job->id(), 10u);
  a.mutable_status()->mutable_placed()->set_partition("zoo");  // a text, before the number
  sort_rows(rows, job_fields(), *down);
  EXPECT_EQ(rows[0].job->id(), 10u);
  auto last = parse_sort("-P,i", field_names(job_fields()));
  ASSERT_TRUE(last.has_value());
  sort_rows(rows, job_fields(), *last);
  EXPECT_EQ(rows[0].job->id(), 9u);
  EXPECT_FALSE(parse_sort("ii", field_names(job_fields())).has_value());
}

TEST(Formats, AllIsEveryFieldWithABarBehindEach) {
  const wire::Job job = running_job();
  const std::string by_letter = shown("%all", job), by_name = shown("ALL", job, true);
  EXPECT_EQ(by_letter, by_name);
  EXPECT_EQ(std::count(by_letter.begin(), by_letter.end(), '|'), static_cast<std::ptrdiff_t>(job_fields().size()));
  EXPECT_TRUE(by_letter.starts_with("7|7|7|")) << by_letter;
  EXPECT_EQ(shown("%i %all", job), "7 " + by_letter);
  for (const bool is_long : {false, true})
    EXPECT_THAT(shown(is_long ? "all,all" : "%all%all", job, is_long), HasSubstr("all stands for every field"));
}

TEST(InParts, ManyRowsKeepTheirOrder) {
  for (const size_t rows : {size_t{0}, size_t{1}, size_t{1'999}, size_t{4'001}, size_t{50'000}}) {
    std::string wanted, text;
    for (size_t i = 0; i < rows; ++i) wanted += std::to_string(i) + "\n";
    text_in_parts(
        rows, [](std::string& out, size_t i) { out += std::to_string(i) + "\n"; },
        [&text](const std::string& part) { text += part; });
    EXPECT_EQ(text, wanted) << rows;
  }
}

TEST(TresStrings, MemoryIsExact) {
  EXPECT_EQ(tres_memory(4000), "4000M");
  EXPECT_EQ(tres_memory(8192), "8G");
  EXPECT_EQ(tres_memory(1536), "1536M");
  EXPECT_EQ(tres_memory(2 << 20), "2T");
  EXPECT_EQ(tres_memory(uint64_t{3} << 30), "3P");
  EXPECT_EQ(tres_memory(0), "0M");
}

}  // namespace
}  // namespace gw::client
