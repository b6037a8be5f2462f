// Labels of running jobs: what is asked for, and what is shown of what comes over the wire.
#include "client/show/job_labels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "client/show/format.h"
#include "client/show/job_fields.h"
#include "client/show/job_text.h"
#include "client/show/show_json.h"
#include "tests/unit/client/build_job.h"

namespace gw::client {
namespace {

using namespace testing_jobs;
using google::protobuf::RepeatedPtrField;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

/// As it comes out at the other end.
template <typename Message>
Message sent(const Message& message) {
  Message out;
  EXPECT_TRUE(out.ParseFromString(message.SerializeAsString()));
  return out;
}

wire::Job numbered(wire::Job job, uint32_t id) {
  job.set_id(id);
  return job;
}

wire::JobLabel borrowed(uint32_t id) {
  wire::JobLabel label;
  label.set_job_id(id);
  label.set_is_borrowed(true);
  label.set_borrowed_at("dept");
  label.set_has_fair(true);
  label.set_is_beyond_fair(true);
  label.set_beyond_fair_at("team\x1b-a");
  label.add_preemptors("b");
  label.add_preemptors("/");
  label.set_preemptors_cut(true);
  label.set_extensions(3);
  label.set_borrowed_extensions(2);
  return label;
}

JobLabels arrived(const std::vector<wire::JobLabel>& labels) {
  wire::ShowSharesReply reply;
  for (const wire::JobLabel& label : labels) *reply.add_labels() = label;
  return JobLabels(sent(reply));
}

std::string column(const std::string& name, const wire::Job& job, const JobLabels& labels) {
  for (const auto& field : job_fields())
    if (field.id.name == name) return field.text(JobRow{&job, {kNow * 1'000'000}, labels.of(job)});
  ADD_FAILURE() << "no column " << name;
  return {};
}

TEST(JobLabels, AreAskedForWhereSomethingIsHeldAndOfWholeJobs) {
  RepeatedPtrField<wire::Job> jobs;
  *jobs.Add() = numbered(pending_job(), 3);
  wire::ShowSharesRequest request;
  EXPECT_FALSE(ask_for_labels(jobs, request));
  *jobs.Add() = numbered(running_job(), 7);
  for (uint32_t id : {12U, 13U}) {
    *jobs.Add() = numbered(running_job(), id);
    jobs.rbegin()->mutable_spec()->set_het_job(12);
  }
  ASSERT_TRUE(ask_for_labels(jobs, request));
  EXPECT_THAT(sent(request).job_ids(), ElementsAre(7, 12));
  EXPECT_FALSE(sent(request).all_jobs());
  for (uint32_t id = 100; id < 1200; ++id) *jobs.Add() = numbered(running_job(), id);
  request.Clear();
  ASSERT_TRUE(ask_for_labels(jobs, request));
  EXPECT_TRUE(sent(request).all_jobs());
  EXPECT_TRUE(sent(request).job_ids().empty());
}

TEST(JobLabels, ComponentsShowTheLabelOfTheWhole) {
  const JobLabels labels = arrived({borrowed(12)});
  wire::Job component = numbered(running_job(), 13);
  EXPECT_EQ(labels.of(component), nullptr);
  component.mutable_spec()->set_het_job(12);
  ASSERT_NE(labels.of(component), nullptr);
  EXPECT_EQ(labels.of(component)->borrowed_at(), "dept");
}

TEST(JobLabels, AreShownAsTextAndInColumns) {
  use_utc();
  const wire::Job job = running_job();
  const auto text = [&](const JobLabels& labels) {
    return show_job_text({&job, {kNow * 1'000'000}, labels.of(job)}, {});
  };
  EXPECT_THAT(text(JobLabels()), Not(HasSubstr("Quota=")));
  EXPECT_EQ(column("Quota", job, JobLabels()), "N/A");
  EXPECT_EQ(column("PreemptibleBy", job, JobLabels()), "N/A");

  const JobLabels labels = arrived({borrowed(7)});
  EXPECT_THAT(text(labels), HasSubstr("\n   Quota=borrowed at dept, 2 of 3 extensions borrowed FairShare=beyond at "));
  EXPECT_THAT(text(labels), HasSubstr(" PreemptibleBy=b,/,...\n"));
  EXPECT_THAT(text(labels), Not(HasSubstr("\x1b")));
  EXPECT_EQ(column("Quota", job, labels), "borrowed at dept, 2 of 3 extensions borrowed");
  EXPECT_EQ(column("PreemptibleBy", job, labels), "b,/,...");
  EXPECT_EQ(column("TakenBy", job, labels), "b,/,...") << "the older name";

  wire::JobLabel label;
  label.set_job_id(7);
  EXPECT_THAT(text(arrived({label})), HasSubstr("\n   Quota=covered PreemptibleBy=none\n"));
  label.set_preemptors_cut(true);
  EXPECT_EQ(column("PreemptibleBy", job, arrived({label})), "unknown, too much was asked at once");
  label.set_protected_until_us(kNow * 1'000'000);
  EXPECT_EQ(column("PreemptibleBy", job, arrived({label})), "none until 2027-01-15T08:00:00, within min_runtime");
  label.set_is_never_preempted(true);
  EXPECT_EQ(column("PreemptibleBy", job, arrived({label})), "none, it is never preempted");
}

TEST(JobLabels, AreShownAsJson) {
  const wire::Job job = running_job();
  RepeatedPtrField<wire::Job> jobs;
  *jobs.Add() = job;
  const auto shown = [&](const JobLabels& labels) {
    return nlohmann::json::parse(jobs_json(jobs, kNow * 1'000'000, labels))["jobs"][0]["quota"];
  };
  EXPECT_TRUE(shown(JobLabels()).is_null());
  wire::JobLabel label = borrowed(7);
  label.set_beyond_fair_at("a");
  EXPECT_EQ(shown(arrived({label})), nlohmann::json::parse(R"({"label": "borrowed", "borrowed_at": "dept",
      "fair_share_label": "borrowed", "beyond_fair_share_at": "a", "never_preempted": false, "protected_until": null,
      "preemptible_by": ["b", "/"], "preemptible_by_complete": false, "taken_by": ["b", "/"], "taken_by_complete": false, "extensions": 3, "borrowed_extensions": 2})"));
  label = {};
  label.set_job_id(7);
  label.set_is_never_preempted(true);
  label.set_protected_until_us(kNow * 1'000'000);
  EXPECT_EQ(shown(arrived({label})), nlohmann::json::parse(R"({"label": "covered", "borrowed_at": null,
      "never_preempted": true, "protected_until": 1800000000,
      "preemptible_by": [], "preemptible_by_complete": true, "taken_by": [], "taken_by_complete": true, "extensions": 0, "borrowed_extensions": 0})"));
}

}  // namespace
}  // namespace gw::client
