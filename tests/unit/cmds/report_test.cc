// What greport asks for, and the tables it prints.
#include <gtest/gtest.h>

#include "cmds/greport/report_options.h"
#include "cmds/greport/slurm_reports.h"
#include "cmds/shared/value_table.h"

namespace gw::cmds {
namespace {

constexpr base::Time kReportNow{1'800'000'000'000'000};
constexpr uint64_t kHour = 3'600'000;

TEST(ReportOptions, KeysAreReadOnceEach) {
  std::vector<wire::UseKey> keys;
  EXPECT_TRUE(parse_use_keys("user,GPU,user", keys));
  EXPECT_EQ(keys, (std::vector<wire::UseKey>{wire::kByUser, wire::kByGpuType}));
  const auto wrong = parse_use_keys("usr", keys);
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().text().find("did you mean \"user\""), std::string::npos) << wrong.error().text();
  std::vector<wire::UseKey> none;
  EXPECT_FALSE(parse_use_keys("", none));
}

TEST(ReportOptions, PeriodsEndAfterTheyBegin) {
  const Period usual{kReportNow - base::hours(1), kReportNow};
  ReportOptions o;
  EXPECT_EQ(period_of(o, usual, kReportNow)->since, usual.since);
  o.since = "now-3hours";
  EXPECT_EQ(period_of(o, usual, kReportNow)->since, kReportNow - base::hours(3));
  o.until = "now-4hours";
  EXPECT_FALSE(period_of(o, usual, kReportNow));
  o.until = "noon tomorrow or so";
  EXPECT_FALSE(period_of(o, usual, kReportNow));
}

/// A beginning alone, of a report that is of yesterday by itself, goes until now where yesterday is over by then.
TEST(ReportOptions, ABeginningOfTodayGoesUntilNow) {
  ReportOptions o;
  o.since = "now-1minute";
  const Period yesterday = day_before(kReportNow);
  EXPECT_EQ(period_of(o, yesterday, kReportNow)->until, kReportNow);
  EXPECT_EQ((yesterday.until - yesterday.since), base::hours(24));
  EXPECT_LE(month_until(kReportNow).since, kReportNow);
}

TEST(ValueTable, ColumnsFitTheirValuesAndNumbersStandToTheRight) {
  const ValueTable table{{{"USER"}, {"JOBS"}}, {{"ada\x1b[1m", "7"}, {"b", "12345"}}};
  EXPECT_EQ(table_text(table, {}), "USER        JOBS \n---------- ----- \nada\\x1b[1m     7 \nb          12345 \n");
}

TEST(ValueTable, DelimitersAndCsv) {
  const ValueTable table{{{"A", 3}, {"B", -3}}, {{"1", "abcd"}, {"x,y", "say \"hi\""}}};
  EXPECT_EQ(table_text(table, {}), "  A B   \n--- --- \n  1 ab+ \nx,y sa+ \n");
  EXPECT_EQ(table_text(table, {true, "|", true}), "1|abcd|\nx,y|say \"hi\"|\n");
  EXPECT_EQ(csv_text(table), "A,B\r\n1,abcd\r\n\"x,y\",\"say \"\"hi\"\"\"\r\n");
}

wire::UseSum sum(const char* account, const char* user, uint64_t cpu_hours, uint64_t gpu_hours) {
  wire::UseSum one;
  one.add_keys(account);
  one.add_keys(user);
  one.set_cpu_ms(cpu_hours * kHour);
  one.set_gpu_ms(gpu_hours * kHour);
  return one;
}

std::string report(const std::vector<std::string>& words, ReportOptions o) {
  const auto parsed = SlurmReport::parse(words, o);
  if (!parsed) return parsed.error().text();
  wire::SumRecordsReply sums;
  sums.set_cluster("c1");
  *sums.add_sums() = sum("physics", "no-bob", 2, 1);
  *sums.add_sums() = sum("physics", "no-ada", 1, 0);
  *sums.add_sums() = sum("art", "no-cy", 5, 4);
  const auto text = parsed->text(sums, o, {{0}, base::Time{} + base::hours(24)});
  return text ? *text : text.error().text();
}

ReportOptions plain() {
  ReportOptions o;
  o.no_header = o.with_bars = true;
  o.unit = TimeUnit::kHours;
  return o;
}

TEST(SlurmReports, ARowForEachAccountAndItsUsers) {
  EXPECT_EQ(report({"cluster", "AccountUtilizationByUser", "start=2027-01-01"}, plain()),
            "c1|root|||8|0\nc1|art|||5|0\nc1|art|no-cy||5|0\nc1|physics|||3|0\nc1|physics|no-ada||1|0\n"
            "c1|physics|no-bob||2|0\n");
  EXPECT_EQ(report({"Cluster", "userutilizationbyaccount"}, plain()),
            "c1|no-ada||physics|1|0\nc1|no-bob||physics|2|0\nc1|no-cy||art|5|0\n");
  EXPECT_EQ(report({"user", "TopUsage", "topcount=1"}, plain()), "c1|no-cy||art|5|0\n");
}

TEST(SlurmReports, OfAUserWithSeveralAccountsOneLineIfAsked) {
  ReportOptions o = plain();
  const auto parsed = SlurmReport::parse(std::vector<std::string>{"user", "top", "group"}, o);
  ASSERT_TRUE(parsed);
  wire::SumRecordsReply sums;
  *sums.add_sums() = sum("a", "no-ada", 2, 0);
  *sums.add_sums() = sum("b", "no-ada", 2, 0);
  *sums.add_sums() = sum("b", "no-bob", 3, 0);
  EXPECT_EQ(*parsed->text(sums, o, {{0}, base::Time{} + base::hours(24)}), "|no-ada||a,b|4|0\n|no-bob||b|3|0\n");
}

TEST(SlurmReports, MemoryOfALargeClusterFits) {
  ReportOptions o = plain();
  o.tres = {"mem"};
  const auto parsed = SlurmReport::parse(std::vector<std::string>{"user", "top"}, o);
  ASSERT_TRUE(parsed);
  wire::SumRecordsReply sums;
  *sums.add_sums() = sum("a", "no-ada", 0, 0);
  sums.mutable_sums(0)->set_mem_mb_s(uint64_t{100'000'000} * 3600 * 1000);
  EXPECT_EQ(*parsed->text(sums, o, {{0}, base::Time{} + base::hours(24)}), "|no-ada||a|mem|100000000000\n");
}

TEST(SlurmReports, ResourcesAndFields) {
  ReportOptions o = plain();
  o.tres = {"cpu", "gres/gpu"};
  EXPECT_EQ(report({"user", "top", "topcount=1"}, o), "c1|no-cy||art|cpu|5\nc1|no-cy||art|gres/gpu|4\n");
  EXPECT_EQ(report({"user", "top", "format=log%20,used", "topcount=1"}, plain()), "no-cy|5\n");
  EXPECT_NE(report({"user", "top", "format=logon"}, plain()).find("Unknown field 'logon'"), std::string::npos);
}

TEST(SlurmReports, TheHeaderSaysTimeAndUnit) {
  ReportOptions o;
  const std::string text = report({"user", "top"}, o);
  EXPECT_NE(text.find("Top 10 Users "), std::string::npos) << text;
  EXPECT_NE(text.find("(86400 secs)\nUsage reported in CPU Minutes\n---"), std::string::npos) << text;
  EXPECT_NE(text.find("  Cluster     Login     Proper Name         Account "), std::string::npos) << text;
}

TEST(SlurmReports, WhatIsNotThereSaysWhatIs) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"cluster"}, {"cluster", "Utilization"}, {"job", "SizesByAccount"}}) {
    const std::string text = report(words, plain());
    EXPECT_NE(text.find("no report"), std::string::npos) << text;
    EXPECT_NE(text.find("AccountUtilizationByUser"), std::string::npos) << text;
  }
  EXPECT_NE(report({"user", "top", "colour=red"}, plain()).find("Unknown condition: colour=red"), std::string::npos);
  EXPECT_NE(report({"user", "top", "topcount=0"}, plain()).find("topcount"), std::string::npos);
}

}  // namespace
}  // namespace gw::cmds
