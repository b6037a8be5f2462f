// What the door lets in: everything within the bounds, nothing beyond them, and a clear word about which.
#include "wire/bounds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "wire/receive.h"

namespace gw::wire {
namespace {

std::string error_of(const ApiRequest& request) {
  const auto received = receive_request(request.SerializeAsString());
  return received ? "" : received.error().text();
}

TEST(Bounds, LetEverythingWithinIn) {
  ApiRequest r;
  r.set_id(7);
  r.set_client_id("c");
  for (uint32_t id = 0; id < kMostJobIds; ++id) r.mutable_list_jobs()->mutable_filter()->add_ids(id);
  r.mutable_list_jobs()->mutable_filter()->add_users("alice");
  const auto received = receive_request(r.SerializeAsString());
  ASSERT_TRUE(received) << received.error().text();
  EXPECT_EQ(received->SerializeAsString(), r.SerializeAsString());
  EXPECT_TRUE(receive_request("").has_value());
}

TEST(Bounds, NameFieldSizeAndBoundOfAList) {
  ApiRequest r;
  for (uint32_t id = 0; id <= kMostJobIds; ++id) r.mutable_cancel()->mutable_filter()->add_ids(id);
  EXPECT_EQ(error_of(r),
            "job ids: 100001 in one request; at most 100000 are taken (name fewer, or ask in several requests)");
  ApiRequest names;
  for (int i = 0; i < 40'000; ++i) names.mutable_submit()->mutable_spec()->add_partitions("main");
  EXPECT_EQ(error_of(names),
            "-p/--partition: 40000 in one request; at most 1000 are taken (name fewer, or ask in several requests)");
}

TEST(Bounds, NameFieldSizeAndBoundOfAText) {
  ApiRequest r;
  r.mutable_update_job()->set_comment(std::string(15'000'000, 'x'));
  EXPECT_EQ(error_of(r), "Comment: 15000000 bytes; at most 16384 are taken (keep data out of the comment)");
  r.mutable_submit()->mutable_spec()->mutable_launch()->set_work_dir(std::string(5'000, '/'));
  EXPECT_EQ(error_of(r), "-D/--chdir: 5000 bytes; at most 4096 are taken (shorten it)");
  r.mutable_submit()->mutable_spec()->mutable_launch()->clear_work_dir();
  for (int i = 0; i < 5'000; ++i) r.mutable_submit()->mutable_spec()->mutable_launch()->add_args(std::string(100, 'a'));
  EXPECT_EQ(error_of(r),
            "the options of the job: 510005 bytes; at most 262144 are taken (shorten the arguments, the comment or "
            "the node lists)");
}

TEST(Bounds, RefuseNumbersThatWouldWrap) {
  ApiRequest r;
  r.mutable_update_job()->set_begin_us(-1);
  EXPECT_EQ(error_of(r), "StartTime: -1 is out of range (a time between 1970 and 3000)");
  r.mutable_update_job()->set_begin_us(std::numeric_limits<int64_t>::max());
  EXPECT_NE(error_of(r), "");
  r.mutable_update_job()->set_begin_us(int64_t{5'000} * 366 * 24 * 3600 * 1'000'000);
  EXPECT_THAT(error_of(r), testing::StartsWith("StartTime: 6980-")) << "as people write times";
  r.mutable_update_job()->set_begin_us(1);
  for (const int64_t good : {int64_t{0}, int64_t{60'000'000}, std::numeric_limits<int64_t>::max()}) {
    r.mutable_update_job()->set_time_limit_us(good);
    EXPECT_EQ(error_of(r), "") << good;
  }
  for (const int64_t bad :
       {int64_t{-1}, std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max() - 1}) {
    r.mutable_update_job()->set_time_limit_us(bad);
    EXPECT_NE(error_of(r), "") << bad;
  }
  r.mutable_update_job()->set_time_limit_us(int64_t{100'000} * 24 * 3600 * 1'000'000);
  EXPECT_THAT(error_of(r), testing::HasSubstr(": 100000-00:00:00 is out of range"));
  ApiRequest cancel;
  cancel.mutable_cancel()->set_signo(-9);
  EXPECT_EQ(error_of(cancel), "signal: -9 is out of range (from 0 to 64)");
}

TEST(Bounds, RefuseNumbersThatAreTooLarge) {
  ApiRequest r;
  r.mutable_create_step()->mutable_step()->set_tasks(1);
  EXPECT_EQ(error_of(r), "");
  r.mutable_create_step()->mutable_step()->set_tasks(UINT32_MAX);
  EXPECT_NE(error_of(r).find("-n/--ntasks of a step: 4294967295 is out of range"), std::string::npos) << error_of(r);
}

TEST(Bounds, RefuseNumbersThatAreNone) {
  for (const double bad : {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    ApiRequest r;
    r.mutable_create_partition()->mutable_partition()->add_fragmentation()->set_free_gpus(bad);
    EXPECT_EQ(error_of(r), "free_gpus is no finite number");
  }
}

// A parser merges a message that comes twice: a thousand of them, each within its bound, would be beyond it.
TEST(Bounds, RefuseAMessageThatComesTwice) {
  ApiRequest one;
  one.mutable_submit()->mutable_spec()->add_partitions("main");
  const std::string bytes = one.SerializeAsString();
  EXPECT_TRUE(receive_request(bytes).has_value());
  const auto twice = receive_request(bytes + bytes);
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().code, base::ErrorCode::kProtocol);
}

TEST(Bounds, RefuseWhatIsCutOff) {
  ApiRequest r;
  r.mutable_list_jobs()->mutable_filter()->add_users("alice");
  r.mutable_list_jobs()->mutable_filter()->add_ids(300);
  const std::string bytes = r.SerializeAsString();
  for (size_t n = 1; n < bytes.size(); ++n) {
    const auto received = receive_request(bytes.substr(0, n));
    EXPECT_FALSE(received) << n;
    if (!received) {
      EXPECT_EQ(received.error().code, base::ErrorCode::kProtocol);
    }
  }
}

TEST(Bounds, PassOverWhatANewerClientSays) {
  ApiRequest r;
  r.mutable_ping();
  // Field 1000, a text.
  const auto received = receive_request(r.SerializeAsString() + std::string("\xC2\x3E\x03"
                                                                            "new",
                                                                            6));
  ASSERT_TRUE(received) << received.error().text();
  EXPECT_TRUE(received->has_ping());
}

TEST(Bounds, TellWhichRequestWasRefused) {
  ApiRequest r;
  r.set_id(4711);
  r.mutable_update_job()->set_comment(std::string(100'000, 'x'));
  const std::string bytes = r.SerializeAsString();
  EXPECT_FALSE(receive_request(bytes));
  EXPECT_EQ(request_id(bytes), 4711U);
  EXPECT_EQ(request_id(""), 0U);
  EXPECT_EQ(request_id("\xFF"), 0U);
}

TEST(Bounds, HoldForNodesToo) {
  NodeToController m;
  m.mutable_batch_exited()->set_detail(std::string(60'000, 'd'));
  EXPECT_TRUE(receive_node_message(m.SerializeAsString()).has_value());
  m.mutable_batch_exited()->set_detail(std::string(70'000, 'd'));
  const auto refused = receive_node_message(m.SerializeAsString());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().what, "how a run ended: 70000 bytes; at most 65536 are taken");
}

}  // namespace
}  // namespace gw::wire
