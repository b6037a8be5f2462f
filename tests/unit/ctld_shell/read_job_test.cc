// Answers from the database: which events become part of them.
#include "ctld/shell/read_job.h"

#include <gtest/gtest.h>

#include <map>

namespace gw::ctld {
namespace {

/// Has what it is given, and remembers what it was asked for.
class FakeReader : public store::Reader {
 public:
  base::Result<std::vector<store::EventRow>> events(const store::EventFilter& filter) override {
    asked.push_back(filter);
    return rows;
  }
  base::Result<std::vector<store::AuditRow>> audit(const store::AuditFilter& filter) override {
    asked_audit.push_back(filter);
    return audit_rows;
  }
  base::Result<store::JobRow> ended_job(base::JobId id) override {
    if (const auto it = ended.find(id); it != ended.end()) return it->second;
    return base::fail(base::ErrorCode::kNotFound, "no job");
  }
  base::Result<std::string> blob(const std::string&) override {
    return base::fail(base::ErrorCode::kNotFound, "no blob");
  }

  std::vector<store::EventRow> rows;
  std::vector<store::EventFilter> asked;
  std::vector<store::AuditRow> audit_rows;
  std::vector<store::AuditFilter> asked_audit;
  std::map<base::JobId, store::JobRow> ended;
};

ReadStored list_of_events() {
  ReadStored read;
  read.events = {.node = "n1", .most = 7, .most_text = 20};
  read.reply.mutable_list_events()->set_now_us(1);
  return read;
}

TEST(StoredEvents, AreToldWithWhatTheyAreAboutAndWhoDidIt) {
  FakeReader reader;
  reader.rows = {{3, {{10}, {}, "n1", "drained", "by root: disk", 0}},
                 {4, {{11}, {}, "n1", "registered", "from x", {}}}};
  ReadStored read = list_of_events();
  ASSERT_TRUE(complete(reader, read));
  ASSERT_EQ(reader.asked.size(), 1U);
  EXPECT_EQ(reader.asked[0].node, "n1");
  EXPECT_EQ(reader.asked[0].most, 7U);
  EXPECT_EQ(reader.asked[0].most_text, 20U);
  const auto& events = read.reply.list_events().events();
  ASSERT_EQ(events.size(), 2);
  EXPECT_EQ(events[0].seq(), 3U);
  EXPECT_EQ(events[0].time_us(), 10);
  EXPECT_EQ(events[0].node(), "n1");
  EXPECT_EQ(events[0].kind(), "drained");
  EXPECT_EQ(events[0].text(), "by root: disk");
  EXPECT_TRUE(events[0].has_uid()) << "root is somebody";
  EXPECT_FALSE(events[1].has_uid()) << "the controller is not";
}

TEST(StoredEvents, OfNothingThatIsKnownAreAnError) {
  FakeReader reader;
  ReadStored read = list_of_events();
  EXPECT_TRUE(complete(reader, read)) << "an empty list";
  read.if_no_events = {base::ErrorCode::kNotFound, "there are no events of node n1", "did you mean n2?"};
  const base::Status none = complete(reader, read);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().what, "there are no events of node n1");
  reader.rows = {{3, {{10}, {}, "n1", "drained", "", 0}}};
  EXPECT_TRUE(complete(reader, read)) << "of a node that has left the configuration";
}

TEST(StoredEvents, OfAJobStandInItsHistory) {
  FakeReader reader;
  reader.rows = {{3, {{10}, base::JobId(7), "", "held", "by ann", 1000}}};
  ReadStored read;
  read.job = base::JobId(7);
  read.reply.mutable_show_job()->mutable_job()->set_id(7);
  ASSERT_TRUE(complete(reader, read));
  EXPECT_TRUE(reader.asked.empty()) << "nobody asked";
  read.events = {.job = read.job, .most = 5};
  ASSERT_TRUE(complete(reader, read));
  ASSERT_EQ(read.reply.show_job().history_size(), 1);
  EXPECT_EQ(read.reply.show_job().history(0).uid(), 1000U);
}

TEST(StoredEvents, OfAJobThatIsNotToBeSeenAreOfNoJob) {
  FakeReader reader;
  reader.rows = {{3, {{10}, base::JobId(7), "", "started", "on n1", {}}}};
  reader.ended[base::JobId(7)] = {.id = base::JobId(7), .uid = 1000, .qos = "a"};
  ReadStored read;
  read.job = base::JobId(7);
  read.events = {.job = base::JobId(7), .most = 7};
  read.seen = {.all = false, .uid = 1001};
  read.reply.mutable_list_events();
  const base::Status others = complete(reader, read);
  ASSERT_FALSE(others);
  EXPECT_EQ(others.error().code, base::ErrorCode::kNotFound);
  read.seen.qos = {"a"};
  EXPECT_TRUE(complete(reader, read)) << "an operator of its QOS";
  read.seen = {.all = false, .uid = 1000};
  EXPECT_TRUE(complete(reader, read)) << "its owner";
  ReadStored show;
  show.job = base::JobId(7);
  show.seen = {.all = false, .uid = 1001};
  show.reply.mutable_show_job();
  EXPECT_EQ(complete(reader, show).error().code, base::ErrorCode::kNotFound);
}

TEST(StoredAudit, IsToldAsItWasWritten) {
  FakeReader reader;
  reader.audit_rows = {{1, {{10}, {}, "controller started", "", "version 1", false}},
                       {2, {{11}, 0, "drained", "node n1", "by root: disk", false}},
                       {3, {{12}, 1000, "cancel", "", "access denied", true}}};
  ReadStored read;
  read.audit = {.uid = 1000, .since = {5}, .until = {6}, .most = 9};
  read.reply.mutable_list_audit();
  ASSERT_TRUE(complete(reader, read));
  ASSERT_EQ(reader.asked_audit.size(), 1U);
  EXPECT_EQ(reader.asked_audit[0].uid, 1000U);
  EXPECT_EQ(reader.asked_audit[0].most, 9U);
  const auto& told = read.reply.list_audit().records();
  ASSERT_EQ(told.size(), 3);
  EXPECT_FALSE(told[0].has_uid());
  EXPECT_TRUE(told[1].has_uid()) << "root is somebody";
  EXPECT_EQ(told[1].object() + "|" + told[1].kind() + "|" + told[1].text(), "node n1|drained|by root: disk");
  EXPECT_TRUE(told[2].is_refusal());
  EXPECT_EQ(told[2].seq(), 3U);
}

}  // namespace
}  // namespace gw::ctld
