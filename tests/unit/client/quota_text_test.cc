// Tables and JSON of gacctmgr show.
#include "client/show/quota_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "wire/convert.h"

namespace gw::client {
namespace {

using testing::HasSubstr;

wire::ListQuotasReply quotas() {
  wire::ListQuotasReply list;
  const auto add = [&](const std::string& name, const std::string& parent) -> wire::Qos& {
    model::Qos q;
    q.name = name;
    q.parent = parent;
    return *list.add_qos() = wire::to_wire(q);
  };
  const auto amount = [](auto* to, const char* resource, uint64_t n) {
    wire::QosAmount* a = to->Add();
    a->set_resource(resource);
    a->set_amount(n);
  };
  wire::Qos& b = add("team-b", "dept");
  b.add_users("bob");
  b.add_users("@root");
  b.add_operators("ann");
  b.add_operators("bob");
  b.set_weight(2);
  wire::Qos& dept = add("dept", "");
  amount(dept.mutable_guaranteed(), "gpu", 32'000);
  amount(dept.mutable_limit(), "cpu", 96);
  amount(dept.mutable_limit(), "gpu:h100", 8'500);
  dept.set_grace_us(base::minutes(2).us);
  add("aux", "").set_max_jobs(7);
  wire::QuotaUser& user = *list.add_users();
  user.set_name("bob");
  user.set_default_qos("team-b");
  list.set_default_qos("aux");
  return list;
}

std::string good(const base::Result<std::string>& text) {
  EXPECT_TRUE(text.has_value()) << (text ? "" : text.error().text());
  return text ? *text : "";
}

QuotaQuery query(std::string format, std::vector<std::string> names = {}) {
  QuotaQuery q;
  q.format = std::move(format);
  q.names = std::move(names);
  return q;
}

TEST(QuotaTable, IsATree) {
  EXPECT_EQ(good(qos_table(quotas(), {}, {})),
            "Name     Guaranteed Limit               Weight Priority Users     Operators\n"
            "aux                                          1        0\n"
            "dept     gpu:32     cpu:96,gpu:h100:8.5      1        0\n"
            "  team-b                                     2        0 bob,@root ann,bob\n");
}

TEST(QuotaTable, ForScripts) {
  QuotaTableStyle style;
  style.parsable2 = true;
  EXPECT_EQ(good(qos_table(quotas(), {}, style)),
            "Name|Parent|Guaranteed|Limit|Weight|Priority|Users|Operators\n"
            "aux|cluster|||1|0||\n"
            "dept|cluster|gpu:32|cpu:96,gpu:h100:8.5|1|0||\n"
            "team-b|dept|||2|0|bob,@root|ann,bob\n");
  style = {};
  style.parsable = true;
  style.no_header = true;
  EXPECT_EQ(good(qos_table(quotas(), query("account,GrpTRES,MaxJobs,grace", {"dept"}), style)),
            "dept|cpu=96,gres/gpu:h100=8.5||00:02:00|\n");
}

TEST(QuotaTable, ColumnsAsSacctmgrWritesThem) {
  QuotaTableStyle slurm;
  slurm.is_slurm = true;
  EXPECT_EQ(good(qos_table(quotas(), query("name%8,descr%-4,PRIO,parentn"), slurm)),
            "    Name Desc Priority Parent\n"
            "-------- ---- -------- -------\n"
            "     aux             0 cluster\n"
            "    dept             0 cluster\n"
            "  team-b             0 dept\n");
  EXPECT_EQ(good(qos_table(quotas(), query("name%3", {"team-b"}), {})), "Nam\ntea\n");
}

TEST(QuotaTable, NamedOnesAndWhatIsBelowThem) {
  EXPECT_THAT(good(qos_table(quotas(), query("name", {"team-b"}), {})), "Name\nteam-b\n");
  QuotaQuery below = query("name", {"dept"});
  EXPECT_THAT(good(qos_table(quotas(), below, {})), "Name\ndept\n");
  below.tree = true;
  EXPECT_THAT(good(qos_table(quotas(), below, {})), "Name\ndept\n  team-b\n");
}

TEST(QuotaTable, MistakesAreNamed) {
  EXPECT_THAT(qos_table(quotas(), query("", {"tema-b"}), {}).error().text(), HasSubstr("did you mean \"team-b\"?"));
  QuotaTableStyle slurm;
  slurm.is_slurm = true;
  slurm.no_header = true;
  EXPECT_EQ(good(qos_table(quotas(), query("", {"nobody"}), slurm)), "") << "so scripts ask whether there is one";
  EXPECT_THAT(qos_table(quotas(), query("nmae"), {}).error().text(), HasSubstr("did you mean \"name\"?"));
  EXPECT_THAT(qos_table(quotas(), query("p"), {}).error().text(), HasSubstr("ambiguous"));
  EXPECT_THAT(qos_table(quotas(), query("name%x"), {}).error().text(), HasSubstr("format"));
  EXPECT_THAT(qos_table(quotas(), query(","), {}).error().text(), HasSubstr("no field"));
}

TEST(QuotaTable, Users) {
  EXPECT_EQ(good(user_table(quotas(), {}, {})),
            "User  DefaultQOS QOS    Operates\n"
            "@root            team-b\n"
            "ann                     team-b\n"
            "bob   team-b     team-b team-b\n");
  EXPECT_EQ(good(user_table(quotas(), query("defaultaccount", {"bob"}), {})), "Def Acct\nteam-b\n");
}

TEST(QuotaTable, Associations) {
  QuotaTableStyle style;
  style.parsable2 = true;
  EXPECT_EQ(good(association_table(quotas(), query("account,user,role,defaultqos"), style)),
            "Account|User|Role|DefaultQOS\n"
            "team-b|bob|user,operator|team-b\n"
            "team-b|@root|user|\n"
            "team-b|ann|operator|\n");
  EXPECT_EQ(good(association_table(quotas(), query("account,user", {"bob"}), style)), "Account|User\nteam-b|bob\n");
  EXPECT_EQ(good(association_table(quotas(), query("account,user", {"root"}), style)), "Account|User\nteam-b|@root\n")
      << "by a group";
  QuotaQuery of_dept = query("account,user");
  of_dept.qos = {"dept"};
  EXPECT_EQ(good(association_table(quotas(), of_dept, style)), "Account|User\n");
  QuotaQuery with = query("account,user", {"bob"});
  with.associations = true;
  EXPECT_EQ(good(user_table(quotas(), with, style)), "Account|User\nteam-b|bob\n");
}

TEST(QuotaJson, Tree) {
  const auto j = nlohmann::json::parse(quotas_json(quotas()));
  EXPECT_EQ(j["schema_version"], 1);
  EXPECT_EQ(j["default_qos"], "aux");
  ASSERT_EQ(j["qos"].size(), 3u);
  EXPECT_EQ(j["qos"][1]["name"], "dept");
  EXPECT_EQ(j["qos"][1]["guaranteed"]["gpu"], 32.0);
  EXPECT_EQ(j["qos"][1]["limit"]["gpu:h100"], 8.5);
  EXPECT_EQ(j["qos"][1]["limit"]["cpu"], 96);
  EXPECT_EQ(j["qos"][1]["grace"], 120);
  EXPECT_TRUE(j["qos"][2]["grace"].is_null());
  EXPECT_EQ(j["users"][2]["name"], "bob");
  EXPECT_EQ(j["users"][2]["qos"][0], "team-b");
  wire::ChangeQuotasReply reply;
  reply.add_changes("QOS a: weight 1 -> 2");
  EXPECT_EQ(nlohmann::json::parse(quota_changes_json(reply, true))["dry_run"], true);
}

wire::BudgetUse use_of(const std::string& name, uint64_t gpu_seconds, double used, int64_t rate_milli) {
  wire::BudgetUse use;
  use.set_name(name);
  use.mutable_budget()->set_gpu_seconds(gpu_seconds);
  use.mutable_budget()->set_period(wire::kEachDay);
  use.set_used_us(static_cast<int64_t>(used * 1e6));
  use.set_rate_milli(rate_milli);
  use.set_until_us(int64_t{86'400} * 1'000'000);
  return use;
}

TEST(QuotaText, TellsWhenABudgetWillBeSpentIfThatIsInThisPeriod) {
  wire::ListQuotasReply list;
  list.set_now_us(int64_t{3'600} * 1'000'000);
  *list.add_budgets() = use_of("soon", 36'000, 28'800, 4'000);      // 7200 GPU-seconds left, 4 GPUs: half an hour
  *list.add_budgets() = use_of("later", 3'600'000, 36'000, 1'000);  // not today
  *list.add_budgets() = use_of("idle", 3'600, 0, 0);
  *list.add_budgets() = use_of("spent", 3'600, 7'200, 8'000);
  list.mutable_budgets(3)->set_is_spent(true);
  QuotaQuery query;
  query.format = "Name,Used,Left,Percent,GPUs,SpentAt";
  const auto text = budget_table(list, query, {.no_header = true, .parsable2 = true});
  ASSERT_TRUE(text) << text.error().text();
  EXPECT_EQ(*text, "soon|8|2|80|4|" + base::format_time(base::Time{int64_t{5'400} * 1'000'000}) +
                       "\nlater|10|990|1|1|\nidle|0|1|0|0|\nspent|2|0|200|8|spent\n");
}

}  // namespace
}  // namespace gw::client
