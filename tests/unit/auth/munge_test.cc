// MUNGE: the message of every failure, and real credentials through a munged of our own where one is installed.
#include "auth/munge.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <munge.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "auth/crypto.h"
#include "auth/handshake.h"

namespace gw::auth {
namespace {

using base::ErrorCode;
using ::testing::HasSubstr;

/// A private munged with a key of its own, for the life of the object.
class Munged {
 public:
  explicit Munged(const std::string& key_seed) {
    char name[] = "/tmp/gw-munge-XXXXXX";
    dir_ = mkdtemp(name);
    chmod(dir_.c_str(), 0711);
    std::ofstream(dir_ + "/key") << std::string(64, 'k') + key_seed + std::string(64, 'q');
    chmod((dir_ + "/key").c_str(), 0600);
    start();
  }
  ~Munged() {
    stop();
    std::filesystem::remove_all(dir_);
  }
  Munged(const Munged&) = delete;
  Munged& operator=(const Munged&) = delete;

  std::string socket() const { return dir_ + "/s"; }
  pid_t pid() const { return pid_; }
  void stop() {
    if (pid_ <= 0) return;
    kill(pid_, SIGTERM);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  /// Waits until the socket answers.
  bool is_ready() const {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (std::chrono::steady_clock::now() < end) {
      if (connects()) return true;
      poll(nullptr, 0, 5);
    }
    return false;
  }

 private:
  std::string dir_;
  pid_t pid_ = -1;

  void start() {
    const std::vector<std::string> words = {"/usr/sbin/munged",
                                            "--foreground",
                                            "--key-file=" + dir_ + "/key",
                                            "--socket=" + socket(),
                                            "--pid-file=" + dir_ + "/pid",
                                            "--log-file=" + dir_ + "/log",
                                            "--seed-file=" + dir_ + "/seed"};
    std::vector<char*> argv;
    for (const auto& word : words) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    pid_ = fork();
    if (pid_ != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int null = open("/dev/null", O_RDWR);
    dup2(null, STDOUT_FILENO);
    dup2(null, STDERR_FILENO);
    execv(argv[0], argv.data());
    _exit(127);
  }
  bool connects() const {
    const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    socket().copy(address.sun_path, sizeof address.sun_path - 1);
    const bool connected = connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    close(fd);
    return connected;
  }
};

bool has_munged() { return access("/usr/sbin/munged", X_OK) == 0; }

#define NEEDS_MUNGED() ASSERT_TRUE(has_munged()) << "no /usr/sbin/munged here: run scripts/install-deps"

TEST(MungeError, EachFailureHasItsOwnMessageAndRemedy) {
  struct Case {
    int code;
    ErrorCode expected;
    const char* what;
  };
  const Case cases[] = {
      {EMUNGE_CRED_INVALID, ErrorCode::kDenied, "another key"},
      {EMUNGE_CRED_EXPIRED, ErrorCode::kDenied, "expired"},
      {EMUNGE_CRED_REWOUND, ErrorCode::kDenied, "future"},
      {EMUNGE_CRED_REPLAYED, ErrorCode::kDenied, "used before"},
      {EMUNGE_CRED_UNAUTHORIZED, ErrorCode::kDenied, "meant for"},
      {EMUNGE_SOCKET, ErrorCode::kUnavailable, "does not answer"},
      {EMUNGE_BAD_VERSION, ErrorCode::kProtocol, "cannot read"},
      {EMUNGE_BAD_CRED, ErrorCode::kProtocol, "not a MUNGE credential"},
      {EMUNGE_SNAFU, ErrorCode::kInternal, "MUNGE failed"},
  };
  std::set<std::string> seen;
  for (const auto& c : cases) {
    const auto error = munge_error({.code = c.code, .detail = "detail", .socket_path = "/run/s"});
    EXPECT_EQ(error.code, c.expected) << error.text();
    EXPECT_THAT(error.what, HasSubstr(c.what));
    EXPECT_TRUE(seen.insert(error.what).second) << error.what;
  }
}

TEST(MungeError, ClockErrorsNameBothTimes) {
  const base::Time made{1'800'000'000'000'000};
  const auto expired = munge_error({.code = EMUNGE_CRED_EXPIRED,
                                    .detail = "",
                                    .socket_path = "",
                                    .encode_time = made,
                                    .decode_time = made + base::seconds(400),
                                    .lifetime = base::seconds(300)});
  EXPECT_THAT(expired.what, HasSubstr(base::format_time(made)));
  EXPECT_THAT(expired.what, HasSubstr(base::format_time(made + base::seconds(400))));
  EXPECT_THAT(expired.what, HasSubstr("400 s later; it is valid for 300 s"));
  const auto rewound = munge_error({.code = EMUNGE_CRED_REWOUND,
                                    .detail = "",
                                    .socket_path = "",
                                    .encode_time = made + base::seconds(900),
                                    .decode_time = made});
  EXPECT_THAT(rewound.what, HasSubstr("900 s ahead"));
}

TEST(MungeVersion, IsReadFromTheProgramsWords) {
  EXPECT_EQ(*parse_munged_version("munge-0.5.15 (2022-06-22)\n"), "0.5.15");
  EXPECT_FALSE(parse_munged_version("command not found"));
  EXPECT_FALSE(parse_munged_version("munge-"));
}

TEST(MungeVersion, VulnerableBefore0518) {
  for (const char* old : {"0.5", "0.5.1", "0.5.15", "0.5.17", "0.4.99"}) EXPECT_TRUE(is_munge_vulnerable(old)) << old;
  for (const char* fine : {"0.5.18", "0.5.20", "0.6", "1.0.0", "", "x"})
    EXPECT_FALSE(is_munge_vulnerable(fine)) << fine;
}

TEST(MungeVersion, InstalledOne) {
  NEEDS_MUNGED();
  const auto version = munged_version();
  ASSERT_TRUE(version) << version.error().text();
  EXPECT_THAT(*version, HasSubstr("."));
}

TEST(Munge, RoundTrip) {
  NEEDS_MUNGED();
  Munged munged("a");
  ASSERT_TRUE(munged.is_ready());
  MungeAuthenticator munge(munged.socket());
  const std::string payload("binary\0payload", 14);
  const auto credential = munge.encode(payload, geteuid());
  ASSERT_TRUE(credential) << credential.error().text();
  const auto decoded = munge.decode(*credential);
  ASSERT_TRUE(decoded) << decoded.error().text();
  EXPECT_EQ(decoded->uid, geteuid());
  EXPECT_EQ(decoded->gid, getegid());
  EXPECT_EQ(decoded->payload, payload);
  EXPECT_TRUE(decoded->encode_time);
  EXPECT_GE(decoded->decode_time, decoded->encode_time);
  EXPECT_EQ(decoded->lifetime, base::seconds(300));
}

TEST(Munge, ReplayRestrictionForeignKeyAndGarbageAreToldApart) {
  NEEDS_MUNGED();
  Munged one("a"), two("b");
  ASSERT_TRUE(one.is_ready() && two.is_ready());
  MungeAuthenticator munge(one.socket()), other(two.socket());
  const auto credential = *munge.encode("x", geteuid());
  ASSERT_TRUE(munge.decode(credential));
  EXPECT_THAT(munge.decode(credential).error().what, HasSubstr("used before"));
  EXPECT_THAT(other.decode(*munge.encode("x", geteuid())).error().what, HasSubstr("another key"));
  const auto foreign = munge.decode(*munge.encode("x", geteuid() + 4711)).error();
  EXPECT_THAT(foreign.what, HasSubstr("meant for"));
  EXPECT_THAT(foreign.what, HasSubstr("uid " + std::to_string(geteuid())));
  for (const std::string garbage : {"", "x", "MUNGE:", "MUNGE:AAAA:", "MUNGE:%%%%", "MUNGE:a b"}) {
    EXPECT_EQ(munge.decode(garbage).error().code, ErrorCode::kProtocol) << garbage;
  }
}

TEST(Munge, MissingAndStoppedDaemon) {
  NEEDS_MUNGED();
  MungeAuthenticator missing("/tmp/gw-no-such-socket");
  EXPECT_EQ(missing.encode("x", 0).error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(missing.encode("x", 0).error().what, HasSubstr("/tmp/gw-no-such-socket"));
  Munged munged("a");
  ASSERT_TRUE(munged.is_ready());
  MungeAuthenticator munge(munged.socket());
  const auto credential = munge.encode("x", geteuid());
  munged.stop();
  EXPECT_EQ(munge.decode(*credential).error().code, ErrorCode::kUnavailable);
}

TEST(Munge, WholeHandshake) {
  NEEDS_MUNGED();
  Munged munged("a");
  ASSERT_TRUE(munged.is_ready());
  MungeAuthenticator munge(munged.socket());
  NonceMemory nonces;
  ClientHandshake client("c/gctld", Role::kClient, {1, 1});
  ServerHandshake server("c/gctld", {1, 1}, nonces);
  const auto credential = munge.encode(client.credential_payload(), geteuid());
  const auto received = server.on_hello(client.hello(*credential));
  const auto accept = server.on_answer(received->answer(munge.decode(received->credential())));
  ASSERT_TRUE(accept) << accept.error().text();
  const auto done = client.on_answer(*accept);
  ASSERT_TRUE(done) << done.error().text();
  ASSERT_TRUE(server.on_finish(done->finish));
  EXPECT_EQ(server.uid(), geteuid());
}

}  // namespace
}  // namespace gw::auth
