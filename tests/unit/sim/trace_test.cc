// Traces: CSV as it comes, public formats as they are, and bad rows by line.
#include "sim/trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/csv.h"

namespace gw::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Trace read(const std::string& text, const TraceOptions& options = {}) {
  auto trace = read_trace(text, "t.csv", options);
  EXPECT_TRUE(trace) << (trace ? "" : trace.error().text());
  return trace ? *trace : Trace{};
}

std::string error_of(const std::string& text, const TraceOptions& options = {}) {
  const auto trace = read_trace(text, "t.csv", options);
  EXPECT_FALSE(trace) << text;
  return trace ? "" : trace.error().text();
}

std::vector<std::vector<std::string>> rows_of(const std::string& text) {
  CsvReader csv(text);
  std::vector<std::string_view> fields;
  std::vector<std::vector<std::string>> rows;
  for (auto more = csv.next(fields); more && *more; more = csv.next(fields))
    rows.emplace_back(fields.begin(), fields.end());
  return rows;
}

TEST(Csv, FieldsMayBeQuoted) {
  struct Case {
    const char* text;
    std::vector<std::vector<std::string>> rows;
  };
  const Case cases[] = {
      {"", {}},
      {"a,b\n", {{"a", "b"}}},
      {"a,b", {{"a", "b"}}},
      {"a,\r\n\r\n,b\r\n", {{"a", ""}, {"", "b"}}},
      {"\"a,1\",\"say \"\"no\"\"\"\nx,y\n", {{"a,1", "say \"no\""}, {"x", "y"}}},
      {"\"two\nlines\",z\n", {{"two\nlines", "z"}}},
      {" a , b \n", {{"a", "b"}}},
      {"\"\",\"\"\"\"\n", {{"", "\""}}},
      {"\xEF\xBB\xBF"
       "a\n",
       {{"a"}}},
  };
  for (const Case& c : cases) EXPECT_EQ(rows_of(c.text), c.rows) << c.text;
}

TEST(Csv, CountsLinesWithinQuotes) {
  CsvReader csv("\"x\n\ny\",1\nz,2\n");
  std::vector<std::string_view> fields;
  ASSERT_TRUE(*csv.next(fields));
  EXPECT_EQ(csv.line(), 1u);
  ASSERT_TRUE(*csv.next(fields));
  EXPECT_EQ(csv.line(), 4u);
}

TEST(Csv, GoesOnBehindABadLine) {
  CsvReader csv("\"a\"b,1\nc,2\n\"open,3\nd,4\n");
  std::vector<std::string_view> fields;
  EXPECT_THAT(csv.next(fields).error().what, HasSubstr("behind a closing quote"));
  EXPECT_TRUE(*csv.next(fields));
  EXPECT_EQ(fields[0], "c");
  EXPECT_THAT(csv.next(fields).error().what, HasSubstr("not closed"));
  EXPECT_EQ(csv.line(), 3u);
  EXPECT_TRUE(*csv.next(fields));
  EXPECT_EQ(fields[0], "d");
  EXPECT_FALSE(*csv.next(fields));
}

TEST(Trace, ColumnsAreFoundByName) {
  const Trace t = read(
      "gpus,extra,duration_s,submit_s,job_id,nodes,tasks,cpus,mem_mb,gpu_type,gpu_milli,qos,user,partition,time_limit_"
      "s,"
      "priority,preemptible\n"
      "8,x,60.5,10,j1,2,4,16,2048,H100,1000,a,bob,main,3600,70,false\n"
      "1,,5,0,j0,,,,,,250,,,,,,\n");
  ASSERT_EQ(t.jobs.size(), 2u);
  EXPECT_EQ(t.jobs[0].id, "j0") << "in order of submission";
  EXPECT_EQ(t.jobs[0].gpu_milli, 250u);
  EXPECT_EQ(t.jobs[0].time_limit, base::kUnlimited);
  EXPECT_TRUE(t.jobs[0].preemptible);
  EXPECT_FALSE(t.jobs[0].cpus.has_value());
  const TraceJob& j = t.jobs[1];
  EXPECT_EQ(j.line, 2u);
  EXPECT_EQ(j.submit, base::seconds(10));
  EXPECT_EQ(j.duration, base::milliseconds(60'500));
  EXPECT_EQ(j.gpus, 8u);
  EXPECT_EQ(*j.nodes, 2u);
  EXPECT_EQ(*j.tasks, 4u);
  EXPECT_EQ(*j.cpus, 16u);
  EXPECT_EQ(*j.mem_mb, 2048u);
  EXPECT_THAT(j.gpu_types, ElementsAre("h100"));
  EXPECT_EQ(j.qos + j.user + j.partition, "abobmain");
  EXPECT_EQ(j.time_limit, base::hours(1));
  EXPECT_EQ(j.priority, 70);
  EXPECT_FALSE(j.preemptible);
}

TEST(Trace, EqualSubmissionsKeepTheOrderOfTheFile) {
  const Trace t = read("job_id,submit_s,duration_s,gpus\nb,5,1,1\na,5,1,1\nc,1,1,1\n");
  EXPECT_EQ(t.jobs[0].id + t.jobs[1].id + t.jobs[2].id, "cba");
}

TEST(Trace, ColumnsMayBeMappedAndTimesScaled) {
  TraceOptions options;
  ASSERT_TRUE(parse_column_map("submit_s=when", options.map));
  ASSERT_TRUE(parse_column_map("num=gpus", options.map)) << "either side may be ours";
  options.scale_time = 0.001;
  const Trace t = read("job_id,when,duration_s,num\nx,1500,250,2\n", options);
  EXPECT_EQ(t.jobs[0].submit, base::milliseconds(1500));
  EXPECT_EQ(t.jobs[0].duration, base::milliseconds(250));
  EXPECT_EQ(t.jobs[0].gpus, 2u);
}

TEST(Trace, AMapNamesWhatIsThere) {
  TraceOptions options;
  EXPECT_THAT(parse_column_map("gpsu=n", options.map).error().text(),
              HasSubstr("no column \"gpsu\" (did you mean \"gpus\"?)"));
  EXPECT_THAT(parse_column_map("gpus", options.map).error().text(), HasSubstr("is not COLUMN=NAME"));
  EXPECT_THAT(parse_column_map("gpus=", options.map).error().text(), HasSubstr("is not COLUMN=NAME"));
  options.map = {{"gpus", "numgpu"}};
  EXPECT_THAT(error_of("job_id,submit_s,duration_s,num_gpu\n", options),
              HasSubstr("t.csv:1: no column \"numgpu\" (did you mean \"num_gpu\"?)"));
}

TEST(Trace, NeededColumnsAreMissed) {
  EXPECT_THAT(error_of("job_id,submit_s,gpus\n"), HasSubstr("t.csv:1: no column duration_s (--map"));
  EXPECT_THAT(error_of("a,b\n1,2\n"), HasSubstr("no column job_id, submit_s, duration_s, gpus"));
  EXPECT_THAT(error_of(""), HasSubstr("t.csv: empty"));
}

TEST(Trace, MisspeltOptionalColumnsAreWarnedOf) {
  const Trace t = read("job_id,submit_s,duration_s,gpus,time_limit,qoss,model\n");
  ASSERT_EQ(t.warnings.size(), 2u);
  EXPECT_THAT(t.warnings[0], HasSubstr("t.csv:1: column time_limit is not used (did you mean \"time_limit_s\"?)"));
  EXPECT_THAT(t.warnings[1], HasSubstr("column qoss is not used (did you mean \"qos\"?)"));
}

struct BadRow {
  const char* row;
  const char* what;
};
class BadRows : public ::testing::TestWithParam<BadRow> {
 protected:
  const std::string header_ = "job_id,submit_s,duration_s,gpus,nodes,tasks,priority,preemptible,time_limit_s\n";
  const std::string good_ = "ok,1,1,1,,,,,\n";
};

TEST_P(BadRows, AreNamedByLine) {
  const std::string error = error_of(header_ + good_ + GetParam().row + "\n");
  EXPECT_THAT(error, HasSubstr(std::string("t.csv:3: ") + GetParam().what));
  EXPECT_THAT(error, HasSubstr("--skip-bad"));
}

TEST_P(BadRows, MayBeLeftOutAndAreCounted) {
  TraceOptions options;
  options.skip_bad = true;
  const Trace t = read(header_ + good_ + GetParam().row + "\nlast,2,1,1,,,,,\n", options);
  EXPECT_EQ(t.skipped, 1u);
  ASSERT_EQ(t.jobs.size(), 2u);
  EXPECT_EQ(t.jobs[1].id, "last");
}

INSTANTIATE_TEST_SUITE_P(
    All, BadRows,
    ::testing::Values(BadRow{"x,1,1", "3 fields, where there are 9 columns"}, BadRow{"x,1,1,1,,,,,,", "10 fields"},
                      BadRow{",1,1,1,,,,,", "job_id is empty"}, BadRow{"x,,1,1,,,,,", "submit_s: \"\" is not a number"},
                      BadRow{"x,-1,1,1,,,,,", "submit_s: \"-1\" is not a length of time"},
                      BadRow{"x,1,abc,1,,,,,", "duration_s: \"abc\" is not a number"},
                      BadRow{"x,1,-5,1,,,,,", "duration_s: \"-5\" is not a length of time"},
                      BadRow{"x,1,nan,1,,,,,", "duration_s: \"nan\" is not a number"},
                      BadRow{"x,1,1e300,1,,,,,", "duration_s: \"1e300\" is not a length of time"},
                      BadRow{"x,1,1,,,,,,", "gpus is empty"}, BadRow{"x,1,1,-2,,,,,", "gpus: \"-2\" is not between 0"},
                      BadRow{"x,1,1,1.5,,,,,", "gpus: \"1.5\" is not a whole number"},
                      BadRow{"x,1,1,99999999999,,,,,", "gpus: "},
                      BadRow{"x,1,1,1,0,,,,", "nodes: \"0\" is not between 1"},
                      BadRow{"x,1,1,1,4,2,,,", "fewer tasks than nodes"},
                      BadRow{"x,1,1,1,,,high,,", "priority: \"high\" is not a whole number"},
                      BadRow{"x,1,1,1,,,,maybe,", "preemptible: \"maybe\" is not true or false"},
                      BadRow{"x,1,1,1,,,,,soon", "time_limit_s: \"soon\" is not a number"},
                      BadRow{"ok,1,1,1,,,,,", "job ok stands twice, first in line 2"},
                      BadRow{"\"x\"y,1,1,1,,,,,", "text behind a closing quote"}));

TEST(Trace, ManyBadRowsAreCutShort) {
  std::string text = "job_id,submit_s,duration_s,gpus\n";
  for (int i = 0; i < 150; ++i) text += "x\n";
  EXPECT_THAT(error_of(text), HasSubstr("and 50 more bad rows"));
}

TEST(TraceFormat, PhillyHasWallClocksAndNoIds) {
  TraceOptions options;
  options.format = "philly";
  const Trace t = read(
      "timestamp,duration,num_gpus,gpu_time,cluster\n2017-03-01 00:00:05,66.0,4,264.0,11cb48\n"
      "2017-02-28 23:59:55,10.0,1,10.0,6214e9\n",
      options);
  EXPECT_EQ(t.jobs[0].id, "2");
  EXPECT_EQ(t.jobs[0].submit, base::Duration{}) << "times count from the first submission";
  EXPECT_EQ(t.jobs[1].submit, base::seconds(10)) << "2017 is no leap year";
  EXPECT_EQ(t.jobs[1].duration, base::seconds(66));
  EXPECT_EQ(t.jobs[1].gpus, 4u);
  EXPECT_EQ(t.jobs[1].qos, "11cb48");
  EXPECT_THAT(error_of("timestamp,duration,num_gpus,gpu_time,cluster\n2017-13-01 00:00:05,1,1,1,a\n", options),
              HasSubstr("t.csv:2: timestamp: "));
}

TEST(TraceFormat, MuriIsInMilliseconds) {
  TraceOptions options;
  options.format = "muri";
  const std::string text = "job_id,num_gpu,submit_time,iterations,model_name,duration\n7,16,1000,5,vgg16,2500\n";
  const Trace t = read(text, options);
  EXPECT_EQ(t.jobs[0].submit, base::seconds(1));
  EXPECT_EQ(t.jobs[0].duration, base::milliseconds(2500));
  EXPECT_EQ(t.jobs[0].gpus, 16u);
  options.format = "tiresias";
  EXPECT_EQ(read(text, options).jobs[0].submit, base::seconds(1000));
}

TEST(TraceFormat, OpenbHasStartAndEnd) {
  TraceOptions options;
  options.format = "openb";
  const std::string header =
      "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n";
  const Trace t = read(header +
                           "p0,6500,12288,1,460,V100M16|V100M32,LS,Running,100,500,150\n"
                           "p1,1000,1024,0,0,,BE,Failed,200,260,\n",
                       options);
  EXPECT_EQ(t.jobs[0].submit, base::seconds(100));
  EXPECT_EQ(t.jobs[0].duration, base::seconds(350)) << "from when it was scheduled";
  EXPECT_EQ(*t.jobs[0].cpus, 7u);
  EXPECT_EQ(*t.jobs[0].mem_mb, 12'288u);
  EXPECT_EQ(t.jobs[0].gpu_milli, 460u);
  EXPECT_THAT(t.jobs[0].gpu_types, ElementsAre("v100m16", "v100m32"));
  EXPECT_EQ(t.jobs[1].duration, base::seconds(60)) << "never scheduled: from its creation";
  EXPECT_EQ(t.jobs[1].gpu_milli, model::kWholeGpu);
  EXPECT_THAT(t.jobs[1].gpu_types, IsEmpty());
  EXPECT_THAT(error_of("name,cpu_milli,memory_mib,num_gpu,gpu_milli\np,1,1,1,1\n", options),
              HasSubstr("no column creation_time"));
}

TEST(TraceFormat, HeliosHasWallClocks) {
  TraceOptions options;
  options.format = "helios";
  const Trace t = read(
      "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue\n"
      "1,u1,vc1,8,64,1,COMPLETED,2020-04-01 00:00:00,2020-04-01 00:01:00,2020-04-01 01:01:00,3600,60\n",
      options);
  EXPECT_EQ(t.jobs[0].duration, base::hours(1));
  EXPECT_EQ(t.jobs[0].qos, "vc1");
  EXPECT_EQ(*t.jobs[0].cpus, 64u);
}

TEST(TraceFormat, SwfHasFieldsByPosition) {
  TraceOptions options;
  options.format = "swf";
  const std::string text =
      "; Version: 2.2\n;\n"
      "  1 0 5 100 16 -1 -1 16 600 -1 1 7 1 -1 0 1 -1 -1\n\n"
      "  2 30 -1 -1 -1 -1 -1 4 -1 -1 0 8 1 -1 0 1 -1 -1\n";
  EXPECT_THAT(error_of(text, options), HasSubstr("t.csv:5: run_time: \"-1\""));
  options.skip_bad = true;
  const Trace t = read(text, options);
  ASSERT_EQ(t.jobs.size(), 1u);
  EXPECT_EQ(t.jobs[0].duration, base::seconds(100));
  EXPECT_EQ(*t.jobs[0].tasks, 16u);
  EXPECT_EQ(t.jobs[0].gpus, 0u);
  EXPECT_EQ(t.jobs[0].time_limit, base::minutes(10));
  EXPECT_EQ(t.jobs[0].user, "7");
}

constexpr char kSacctHeader[] =
    "JobID|User|QOS|Account|Partition|Submit|Eligible|Start|End|Elapsed|Timelimit|NNodes|AllocCPUS|ReqMem|AllocTRES\n";

TEST(TraceFormat, SacctIsReadAsItIsPrinted) {
  TraceOptions options;
  options.format = "sacct";
  const Trace t =
      read(std::string(kSacctHeader) +
               "7|ann|high|physics|gpu|2027-01-15T08:00:00|2027-01-15T08:10:00|2027-01-15T08:20:00|2027-01-15T10:20:00|"
               "01:30:00|1-00:00:00|2|16||billing=16,cpu=16,gres/gpu:a100=8,gres/gpu=8,mem=1.50G,node=2\n"
               "7.batch||||||||||||||\n"
               "8|bob|low|art|cpu|2027-01-15T08:00:00|Unknown|2027-01-15T08:00:01|2027-01-15T08:00:31||UNLIMITED|1|4|"
               "500Mc|\n"
               "9|bob|low|art|cpu|2027-01-15T08:00:00|Unknown|Unknown|Unknown|00:00:00|10:00|1|0|4G|\n"
               "10_[1-5]|bob|low|art|cpu|2027-01-15T08:00:00|Unknown|Unknown|Unknown|00:00:00|10:00|1|0|4G|\n",
           options);
  ASSERT_EQ(t.jobs.size(), 2u);
  const TraceJob &first = t.jobs[0], &second = t.jobs[1];
  EXPECT_EQ(first.id, "8");
  EXPECT_EQ(first.submit, base::Duration{});
  EXPECT_EQ(first.duration, base::seconds(30)) << "no Elapsed: from Start to End";
  EXPECT_EQ(first.gpus, 0u);
  EXPECT_EQ(*first.cpus, 4u);
  EXPECT_EQ(*first.mem_mb, 2000u) << "of each CPU";
  EXPECT_EQ(first.time_limit, base::kUnlimited);
  EXPECT_EQ(second.submit, base::minutes(10)) << "when it could have started";
  EXPECT_EQ(second.duration, base::minutes(90)) << "without what it was suspended";
  EXPECT_EQ(second.gpus, 8u);
  EXPECT_THAT(second.gpu_types, ElementsAre("a100"));
  EXPECT_EQ(*second.nodes, 2u);
  EXPECT_EQ(*second.cpus, 16u);
  EXPECT_EQ(*second.mem_mb, 1536u);
  EXPECT_EQ(second.time_limit, base::hours(24));
  EXPECT_EQ(second.qos, "high");
  EXPECT_EQ(second.user, "ann");
  EXPECT_EQ(second.partition, "gpu");
  ASSERT_EQ(t.warnings.size(), 1u);
  EXPECT_THAT(t.warnings[0], HasSubstr("2 jobs that never ran or have not ended"));
}

TEST(TraceFormat, SacctOfOlderVersionsAndWithEpochs) {
  TraceOptions options;
  options.format = "sacct";
  options.map["qos"] = "Account";
  const std::string header = "JobID|Account|Submit|Start|End|ElapsedRaw|TimelimitRaw|AllocGRES|ReqMem|AllocNodes|\n";
  const Trace t = read(header + "7|physics|1700000000|1700000100|1700000200|90|60|gpu:v100:4|8Gn|2|\n", options);
  ASSERT_EQ(t.jobs.size(), 1u);
  EXPECT_EQ(t.jobs[0].duration, base::seconds(90));
  EXPECT_EQ(t.jobs[0].time_limit, base::hours(1));
  EXPECT_EQ(t.jobs[0].gpus, 4u);
  EXPECT_THAT(t.jobs[0].gpu_types, ElementsAre("v100"));
  EXPECT_EQ(*t.jobs[0].mem_mb, 16'384u);
  EXPECT_EQ(t.jobs[0].qos, "physics");
}

TEST(TraceFormat, SacctThatCannotBeRead) {
  TraceOptions options;
  options.format = "sacct";
  EXPECT_THAT(error_of("", options), HasSubstr("empty"));
  EXPECT_THAT(error_of("JobID|State\n", options), HasSubstr("no field Submit, Start, End, AllocTRES"));
  const std::string header = "JobID|Submit|Start|End|Timelimit|AllocTRES\n";
  EXPECT_THAT(error_of(header + "7|x\n", options), HasSubstr("t.csv:2: 2 fields, where there are 6 columns"));
  EXPECT_THAT(error_of(header + "7|100|200|150||cpu=1\n", options), HasSubstr("it ended before it began"));
  EXPECT_THAT(error_of(header + "7|100|200|250||cpu=x\n", options), HasSubstr("AllocCPUS: \"x\" is not a number"));
  EXPECT_THAT(error_of(header + "7|100|200|250||mem=lots\n", options), HasSubstr("no amount of memory"));
  EXPECT_THAT(error_of(header + "7|100|200|250|soon|cpu=1\n", options), HasSubstr("t.csv:2"));
}

TEST(TraceFormat, UnknownNamesAreRefused) {
  TraceOptions options;
  options.format = "phily";
  EXPECT_THAT(error_of("", options), HasSubstr("no trace format \"phily\" (one of gangway, philly, muri"));
}

}  // namespace
}  // namespace gw::sim
