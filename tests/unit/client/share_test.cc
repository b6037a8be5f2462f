// The tree of gshare: numbers, bars, loans; delimited and as JSON.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "client/show/display.h"
#include "client/show/share_text.h"

namespace gw::client {
namespace {

using testing::HasSubstr;
using testing::Not;

struct Amounts {
  uint64_t guaranteed = 0, fair = 0, counted = 0, lent = 0, covered = 0;
};

wire::QosShare& add_share(wire::ShowSharesReply& reply, const std::string& name, const std::string& parent,
                          const Amounts& gpus) {
  wire::QosShare& qos = *reply.add_qos();
  qos.set_name(name);
  qos.set_parent(parent);
  wire::QosShare::Line& line = *qos.add_lines();
  line.set_resource("gpu");
  line.set_has_line(true);
  line.set_guaranteed(gpus.guaranteed * 1000);
  line.set_fair(gpus.fair * 1000);
  line.set_counted(gpus.counted * 1000);
  line.set_held(gpus.counted * 1000);
  line.set_demand(gpus.counted * 1000);
  line.set_borrowed(gpus.counted > gpus.guaranteed ? (gpus.counted - gpus.guaranteed) * 1000 : 0);
  line.set_lent(gpus.lent * 1000);
  line.set_covered(gpus.covered * 1000);
  line.set_fair_covered(gpus.counted * 1000);
  return qos;
}

/// dept has team-a, which lent 8 of its 24 GPUs to team-b; nobody runs at dept itself.
wire::ShowSharesReply shares() {
  wire::ShowSharesReply reply;
  reply.set_reclaim("fair_share");
  reply.set_now_us(1'800'000'000'000'000);
  add_share(reply, "", "", {40, 40, 32, 0, 32});
  add_share(reply, "dept", "", {32, 36, 32, 0, 32}).mutable_lines(0)->set_limit(48'000);
  wire::QosShare& a = add_share(reply, "team-a", "dept", {24, 16, 12, 8, 12});
  a.set_running(2);
  a.set_waiting(1);
  wire::QosShare& b = add_share(reply, "team-b", "dept", {8, 20, 20, 0, 6});
  b.set_running(5);
  wire::QosShare::Line& memory = *b.add_lines();
  memory.set_resource("mem");
  memory.set_limit(64 << 10);
  memory.set_counted(16 << 10);
  memory.set_held(16 << 10);
  add_share(reply, "dept/", "dept", {});
  add_share(reply, "/", "", {8, 4, 0, 0}).set_waiting(1);
  wire::QuotaLoan& loan = *reply.add_loans();
  loan.set_resource("gpu");
  loan.set_from("team-a");
  loan.set_to("team-b");
  loan.set_amount(8000);
  return reply;
}

ShareView view() {
  ShareView v;
  v.resources = {"gpu"};
  return v;
}

std::string drawn(const ShareView& v, const wire::ShowSharesReply& reply = shares()) {
  const auto text = share_text(reply, v);
  EXPECT_TRUE(text.has_value()) << (text ? "" : text.error().text());
  return text ? *text : "";
}

TEST(Share, TheTreeWithItsNumbersAndBars) {
  EXPECT_EQ(
      drawn(view()),
      "QOS (gpu)   GUARANTEED  LIMIT  FAIR_SHARE  IN_USE  BORROWED  LENT  RUNNING  WAITING\n"
      "cluster             40      -          40      32         -     -        0        0  ################....\n"
      "|-dept              32     48          36      32         -     -        0        0  ####################\n"
      "| |-team-a          24      -          16      12         -     8        2        1  ##########-------...\n"
      "| `-team-b           8      -          20      20        12     -        5        0  ########++++++++++++\n"
      "`-/                  8      -           4       0         -     -        0        1  ....................\n"
      "# guaranteed  + borrowed  - lent to others  . idle  (reclaim: fair_share)\n"
      "\n"
      "team-a lends 8 gpu to team-b\n");
}

TEST(Share, UnicodeWhereItIsUnderstood) {
  ShareView v = view();
  v.unicode = true;
  const std::string text = drawn(v);
  EXPECT_THAT(text, HasSubstr("│ └─team-b "));
  EXPECT_THAT(text, HasSubstr("████████▓▓▓▓▓▓▓▓▓▓▓▓\n"));
  EXPECT_THAT(text, HasSubstr("██████████▒▒▒▒▒▒▒░░░\n"));
  EXPECT_THAT(text, Not(HasSubstr("\033")));
  v.colour = true;
  EXPECT_THAT(drawn(v), HasSubstr("\033[33m▓▓▓▓▓▓▓▓▓▓▓▓\033[0m\n"));
}

TEST(Share, BarsFitTheTerminal) {
  ShareView v = view();
  for (size_t columns : {80u, 88u, 92u, 100u, 120u, 200u}) {
    v.columns = columns;
    for (const std::string& line : base::split(drawn(v), '\n')) {
      if (line.find("|-team") == std::string::npos) continue;
      EXPECT_LE(display_width(line), std::max<size_t>(columns, 85)) << line;
    }
  }
  v.columns = 80;
  EXPECT_THAT(drawn(v), HasSubstr("       5        0\n")) << "no room: no bar";
  EXPECT_THAT(drawn(v), Not(HasSubstr("lent to others"))) << "and nothing that explains it";
}

TEST(Share, WhatIsSmallIsStillSeen) {
  wire::ShowSharesReply reply;
  add_share(reply, "", "", {1000, 1000, 1, 1});
  EXPECT_THAT(drawn(view(), reply), HasSubstr("  #-..................\n"));
}

TEST(Share, SaysWhenSomeAreOnTheirWay) {
  wire::ShowSharesReply reply = shares();
  reply.mutable_qos(3)->mutable_lines(0)->set_held(24'000);
  reply.mutable_qos(2)->mutable_lines(0)->set_held(8'000);
  const std::string text = drawn(view(), reply);
  EXPECT_THAT(text, HasSubstr("+++  holds 24, 4 on the way out\n"));
  EXPECT_THAT(text, HasSubstr("...  holds 8, 4 nominated\n"));
}

TEST(Share, QosWithWhatIsBelowThem) {
  ShareView v = view();
  v.qos = {"dept"};
  v.no_header = true;
  const std::string text = drawn(v);
  EXPECT_TRUE(text.starts_with("dept ")) << text;
  EXPECT_THAT(text, HasSubstr("|-team-a "));
  EXPECT_THAT(text, Not(HasSubstr("cluster")));
  EXPECT_THAT(text, HasSubstr("lends 8"));
  v.qos = {"team-b", "cluster"};
  EXPECT_THAT(drawn(v), HasSubstr("\ncluster "));
  v.qos = {"/"};
  EXPECT_THAT(drawn(v), Not(HasSubstr("lends")));
  v.qos = {"tema-b"};
  EXPECT_THAT(share_text(shares(), v).error().text(), HasSubstr("did you mean \"team-b\"?"));
}

TEST(Share, LongShowsTheOwnJobsOfInnerQosToo) {
  EXPECT_THAT(drawn(view()), Not(HasSubstr("dept/")));
  ShareView v = view();
  v.is_long = true;
  const std::string text = drawn(v);
  EXPECT_THAT(text, HasSubstr("`-dept/ "));
  EXPECT_THAT(text, HasSubstr(" DEMAND  IN_USE  FIRM  COVERED  BORROWED"));
  EXPECT_THAT(text, HasSubstr("      20     -        6        12     -  "));
}

TEST(Share, OtherResources) {
  ShareView v = view();
  v.resources = {"mem"};
  EXPECT_THAT(drawn(v), HasSubstr("QOS (mem) "));
  EXPECT_THAT(drawn(v),
              HasSubstr("|-dept               -      -           -       -         -     -        0        0\n"));
  EXPECT_THAT(drawn(v), HasSubstr("team-b           -    64G           -     16G         -     -        5        0  "
                                  "#####...............\n"));
  v.resources = {"all"};
  EXPECT_THAT(drawn(v), HasSubstr("QOS (gpu) "));
  EXPECT_THAT(drawn(v), HasSubstr("\nQOS (mem) "));
  v.resources = {"cpu"};
  EXPECT_THAT(share_text(shares(), v).error().text(), HasSubstr("no quota is about cpu (there are: gpu, mem)"));
  v.resources = {"gqu"};
  EXPECT_FALSE(share_text(shares(), v).has_value());
}

TEST(Share, DelimitedForScripts) {
  ShareView v = view();
  v.resources = {"all"};
  v.parsable2 = true;
  const std::string text = drawn(v);
  EXPECT_TRUE(
      text.starts_with("QOS|Parent|Resource|Guaranteed|Limit|FairShare|Demand|InUse|Held|Firm|Borrowed|Lent|"
                       "Running|Waiting|Weight|Priority|Covered|FairCovered\n"
                       "cluster||gpu|40||40|32|32|32|0|0|0|0|0|0|0|32|32\n"
                       "dept|cluster|gpu|32|48|36|"))
      << text;
  EXPECT_THAT(text, HasSubstr("\nteam-b|dept|mem||64G||0M|16G|16G|0M|0M|0M|5|0|0|0||\n"));
  v.parsable2 = false;
  v.parsable = true;
  v.no_header = true;
  EXPECT_TRUE(drawn(v).starts_with("cluster||gpu|40||40|32|32|32|0|0|0|0|0|0|0|32|32|\n"));
}

TEST(Share, Json) {
  ShareView v = view();
  v.resources = {"all"};
  const auto text = shares_json(shares(), v);
  ASSERT_TRUE(text.has_value());
  const auto j = nlohmann::json::parse(*text);
  EXPECT_EQ(j["schema_version"], 1);
  EXPECT_EQ(j["reclaim"], "fair_share");
  ASSERT_EQ(j["sides"].size(), 6u);
  EXPECT_EQ(j["sides"][0]["name"], "cluster");
  EXPECT_TRUE(j["sides"][0]["parent"].is_null());
  EXPECT_EQ(j["sides"][3]["name"], "team-b");
  EXPECT_EQ(j["sides"][3]["resources"]["gpu"]["borrowed"], 12.0);
  EXPECT_EQ(j["sides"][3]["resources"]["gpu"]["covered"], 6.0);
  EXPECT_EQ(j["sides"][3]["resources"]["gpu"]["borrowed_jobs"], 14.0);  // as a whole, each of them
  EXPECT_EQ(j["sides"][3]["resources"]["gpu"]["fair_share_covered"], 20.0);
  EXPECT_TRUE(j["sides"][3]["resources"]["mem"]["covered"].is_null());
  EXPECT_TRUE(j["sides"][3]["resources"]["mem"]["guaranteed"].is_null());
  EXPECT_EQ(j["sides"][3]["resources"]["mem"]["limit"], 65536);
  EXPECT_EQ(j["loans"][0]["to"], "team-b");
  EXPECT_EQ(j["loans"][0]["amount"], 8.0);
  EXPECT_EQ(j["last_update"], 1'800'000'000);
}

TEST(Share, NamesDoNotCommandATerminal) {
  wire::ShowSharesReply reply = shares();
  reply.mutable_qos(3)->set_name("a\033[2Jb");
  EXPECT_THAT(drawn(view(), reply), Not(HasSubstr("\033")));
}

}  // namespace
}  // namespace gw::client
