// An authenticator that hangs is given up after the limit, with a remedy.
#include "auth/timed.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>

#include "auth/testing/fake_authenticator.h"

namespace gw::auth {
namespace {

/// Hangs until it is let go.
class Hanging final : public Authenticator {
 public:
  base::Result<std::string> encode(std::string_view, uint32_t) override {
    wait();
    return std::string();
  }
  base::Result<Credential> decode(std::string_view) override {
    wait();
    return Credential{};
  }
  void let_go() {
    const std::lock_guard lock(mutex_);
    is_free_ = true;
    wake_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable wake_;
  bool is_free_ = false;

  void wait() {
    std::unique_lock lock(mutex_);
    wake_.wait(lock, [this] { return is_free_; });
  }
};

TEST(TimedAuthenticator, GivesUpOneThatHangs) {
  const auto inner = std::make_shared<Hanging>();
  TimedAuthenticator timed(inner, "munged on /x", base::milliseconds(1));
  const auto encoded = timed.encode("text", 0);
  ASSERT_FALSE(encoded);
  EXPECT_EQ(encoded.error().code, base::ErrorCode::kUnavailable);
  EXPECT_NE(encoded.error().what.find("munged on /x does not answer"), std::string::npos);
  EXPECT_NE(encoded.error().hint.find("systemctl restart munge"), std::string::npos);
  EXPECT_FALSE(timed.decode("text"));
  inner->let_go();
}

TEST(TimedAuthenticator, PassesOnWhatAnswers) {
  const auto inner = std::make_shared<FakeAuthenticator>();
  TimedAuthenticator timed(inner, "fake", base::hours(1));
  const auto credential = timed.encode("text", inner->uid);
  ASSERT_TRUE(credential);
  const auto read = timed.decode(*credential);
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(read->payload, "text");
  EXPECT_EQ(timed.decode(*credential).error().what, "the credential was used before");
}

}  // namespace
}  // namespace gw::auth
