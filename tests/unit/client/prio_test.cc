// gprio's and ginfo --fragmentation's tables and JSON.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "client/show/fragmentation_text.h"
#include "client/show/job_fields.h"
#include "client/show/prio_fields.h"
#include "tests/unit/client/build_job.h"

namespace gw::client {
namespace {

wire::ListPrioritiesReply list() {
  wire::ListPrioritiesReply r;
  r.set_order("multifactor");
  r.set_now_us(5'000'000);
  const std::pair<const char*, double> weights[] = {{"age", 1000},      {"fair_share", 10000}, {"size", 0},
                                                    {"partition", 100}, {"qos", 10},           {"nice", 1}};
  for (const auto& [name, weight] : weights) {
    r.add_names(name);
    r.add_weights(weight);
  }
  const auto add = [&r](uint32_t id, int64_t submitted, const std::vector<double>& factors) {
    wire::JobPriority& j = *r.add_jobs();
    j.set_id(id);
    j.set_user("alice");
    j.set_partition("gpu");
    j.set_submitted_priority(submitted);
    double sum = 0;
    for (size_t i = 0; i < factors.size(); ++i) {
      j.add_factors(factors[i]);
      sum += factors[i] * r.weights(static_cast<int>(i));
    }
    j.set_score(sum);
    j.set_priority(submitted != 0 ? submitted : std::llround(sum));
  };
  add(7, 0, {0.25, 0.5, 1, 1, 0.5, -30});
  add(8, 0, {0.5, 1, 0, 0, 0, 0});
  add(9, 40, {0, 0, 0, 0, 0, 0});
  return r;
}

std::string cell(const wire::ListPrioritiesReply& reply, const wire::JobPriority* job, const std::string& letter) {
  const auto format = parse_short_format("%" + letter, field_names(priority_fields()));
  if (!format) return format.error().text();
  std::string out = render_table(*format, priority_fields(), std::vector<PriorityRow>{{&reply, job}}).lines;
  out.pop_back();
  return out;
}

TEST(Prio, Cells) {
  const auto reply = list();
  const std::pair<const char*, const char*> rows[] = {
      {"i", "7"},    {"r", "gpu"},       {"u", "alice"}, {"Y", "5325"},      {"A", "250"}, {"a", "0.2500000"},
      {"F", "5000"}, {"f", "0.5000000"}, {"J", "0"},     {"j", "1.0000000"}, {"P", "100"}, {"Q", "5"},
      {"N", "30"},   {"g", "0"},         {"G", "0"},     {"s", "5325"},      {"S", "0"},   {"T", "0"}};
  for (const auto& [letter, text] : rows) EXPECT_EQ(cell(reply, &reply.jobs(0), letter), text) << letter;
  EXPECT_EQ(cell(reply, &reply.jobs(1), "N"), "0") << "no minus before a zero";
  EXPECT_EQ(cell(reply, &reply.jobs(0), "y"), fmt::format("{:.7f}", 5325 / 11110.0));
  EXPECT_EQ(cell(reply, nullptr, "i"), "Weights");
  EXPECT_EQ(cell(reply, nullptr, "F"), "10000");
  EXPECT_EQ(cell(reply, nullptr, "Y"), "");
}

TEST(Prio, ColumnsAreThoseWithAWeight) {
  EXPECT_EQ(priority_format(list(), false, false, false), "%.15i %9r %.10Y %.10A %.10F %.10P %.10Q %.11N");
  EXPECT_EQ(priority_format(list(), false, true, false), "%.15i %9r %.10y %.10a %.10f %.10p %.10q %.11N");
  EXPECT_EQ(priority_format(list(), false, false, true), "%.15i %9r %.10A %.10F %.10P %.10Q %.11N");
  for (bool is_long : {false, true})
    for (bool norm : {false, true})
      EXPECT_TRUE(parse_short_format(priority_format(list(), is_long, norm, false), field_names(priority_fields())));
  EXPECT_EQ(priority_format({}, false, false, false), "%.15i %9r %.10Y") << "an order without parts";
}

TEST(Prio, ServedFirst) {
  const auto reply = list();
  EXPECT_TRUE(is_served_before(reply.jobs(1), reply.jobs(0))) << "the greater score";
  EXPECT_TRUE(is_served_before(reply.jobs(2), reply.jobs(1))) << "the submitted priority comes before it";
  wire::JobPriority tier = reply.jobs(0);
  tier.set_tier(1);
  EXPECT_TRUE(is_served_before(tier, reply.jobs(2))) << "and the tier before that";
  EXPECT_FALSE(is_served_before(reply.jobs(0), reply.jobs(0)));
}

TEST(Prio, Json) {
  const auto j = nlohmann::json::parse(priorities_json(list()));
  EXPECT_EQ(j["schema_version"], 1);
  EXPECT_EQ(j["order"], "multifactor");
  EXPECT_EQ(j["weights"]["fair_share"], 10000);
  EXPECT_EQ(j["jobs"][0]["priority"], 5325);
  EXPECT_EQ(j["jobs"][0]["parts"]["age"]["product"], 250);
  double sum = 0;
  for (const auto& part : j["jobs"][0]["parts"]) sum += part["product"].get<double>();
  EXPECT_DOUBLE_EQ(sum, j["jobs"][0]["score"].get<double>());
}

TEST(Prio, JsonHasNoNegativeZero) {
  wire::ListPrioritiesReply reply = list();
  for (wire::JobPriority& job : *reply.mutable_jobs()) {
    for (double& factor : *job.mutable_factors()) factor = -0.0;
    job.set_score(-0.0);
  }
  const std::string text = priorities_json(reply);
  EXPECT_EQ(text.find("-0"), std::string::npos) << text;
}

TEST(Prio, QueueShowsTheSame) {
  wire::Job job = testing_jobs::pending_job();
  job.mutable_spec()->set_priority(0);
  job.mutable_status()->mutable_waiting()->set_priority(5325);
  const auto format = parse_short_format("%Q %p", field_names(job_fields()));
  ASSERT_TRUE(format);
  EXPECT_EQ(render_table(*format, job_fields(), std::vector<JobRow>{{&job, {}}}).lines, "5325 0.00000123982318\n");
}

wire::ListPartitionsReply partitions() {
  wire::ListPartitionsReply r;
  wire::Partition& p = *r.add_partitions();
  p.set_name("gpu");
  wire::Fragmentation& f = *p.add_fragmentation();
  f.set_gpus(16);
  f.set_free_gpus(10.25);
  f.set_unusable_gpus(2.5);
  f.set_largest_gang(8);
  f.set_workload(3);
  wire::Partition& cpu = *r.add_partitions();
  cpu.set_name("cpu");
  cpu.add_fragmentation();
  return r;
}

TEST(FragmentationText, Table) {
  EXPECT_EQ(fragmentation_table(partitions(), true),
            "PARTITION GPU_TYPE     GPUS       FREE   UNUSABLE UNUSABLE% LARGEST_GANG\n"
            "gpu       all            16      10.25       2.50      24.4            8\n");
  auto r = partitions();
  r.mutable_partitions(0)->mutable_fragmentation(0)->set_workload(0);
  EXPECT_EQ(fragmentation_table(r, false),
            "gpu       all            16      10.25        N/A       N/A            8\n");
}

TEST(FragmentationText, Json) {
  const auto j = nlohmann::json::parse(fragmentation_json(partitions()));
  EXPECT_EQ(j["schema_version"], 1);
  EXPECT_EQ(j["fragmentation"][0]["partition"], "gpu");
  EXPECT_EQ(j["fragmentation"][0]["gpu_type"], nullptr);
  EXPECT_EQ(j["fragmentation"][0]["unusable_gpus"], 2.5);
  EXPECT_NEAR(j["fragmentation"][0]["unusable_percent"].get<double>(), 24.39, 0.01);
  EXPECT_EQ(j["fragmentation"][0]["largest_gang_gpus"], 8);
  EXPECT_EQ(j["fragmentation"][1]["unusable_gpus"], nullptr) << "nothing was submitted yet";
}

}  // namespace
}  // namespace gw::client
