// What a receiver of gbcast makes of frames that a sender in order would not send.
#include "noded/step/bcast/receiver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "auth/hasher.h"
#include "wire/bcast.h"
#include "wire/bcast.pb.h"
#include "wire/frame.h"

namespace gw::noded::step {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using wire::BcastKind;

struct Outcome {
  int code = -1;
  std::string said;
};

class ReceiverTest : public ::testing::Test {
 protected:
  ReceiverTest() {
    std::string name = "/tmp/gw-receiver-XXXXXX";
    dir = ::mkdtemp(name.data());
    path = dir + "/file";
  }
  ~ReceiverTest() override { fs::remove_all(dir); }

  void frame(BcastKind kind, std::string_view rest) {
    wire::append_frame(sent, std::string(1, static_cast<char>(kind)).append(rest));
  }
  void header(uint64_t size, const std::string& name = "source") {
    wire::BcastHeader h;
    h.set_size(size);
    h.set_mode(0600);
    h.set_name(name);
    frame(BcastKind::kHeader, h.SerializeAsString());
  }
  void end(std::string_view all) {
    auth::Hasher hasher;
    hasher.add(all);
    frame(BcastKind::kEnd, auth::view(hasher.finish()));
  }

  /// A receiver of its own process, to whom all of `sent` is said.
  Outcome receive() const {
    std::array<int, 2> in{}, err{};
    EXPECT_EQ(::pipe(in.data()), 0);
    EXPECT_EQ(::pipe(err.data()), 0);
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::dup2(in[0], STDIN_FILENO);
      ::dup2(err[1], STDERR_FILENO);
      for (const int fd : {in[0], in[1], err[0], err[1]}) ::close(fd);
      std::vector<std::string> words{path, "0", "1", "32", "127.0.0.1:0"};
      std::vector<char*> arguments;
      for (std::string& word : words) arguments.push_back(word.data());
      ::_exit(receive_file(static_cast<int>(arguments.size()), arguments.data()));
    }
    ::close(in[0]);
    ::close(err[1]);
    EXPECT_EQ(::write(in[1], sent.data(), sent.size()), static_cast<ssize_t>(sent.size()));
    ::close(in[1]);
    Outcome outcome;
    std::array<char, 4096> bytes{};
    for (ssize_t n = 0; (n = ::read(err[0], bytes.data(), bytes.size())) > 0;)
      outcome.said.append(bytes.data(), static_cast<size_t>(n));
    ::close(err[0]);
    int status = 0;
    EXPECT_EQ(::waitpid(pid, &status, 0), pid);
    outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
    return outcome;
  }

  void refuses(const std::string& why) {
    const Outcome outcome = receive();
    EXPECT_EQ(outcome.code, 1);
    EXPECT_THAT(outcome.said, HasSubstr(why));
    EXPECT_TRUE(fs::is_empty(dir));
  }

  std::string dir, path, sent;
};

TEST_F(ReceiverTest, WritesWhatCameWhole) {
  header(8);
  frame(BcastKind::kData, "half");
  frame(BcastKind::kData, "rest");
  end("halfrest");
  const Outcome outcome = receive();
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.said, "");
  std::string text;
  std::getline(std::ifstream(path), text);
  EXPECT_EQ(text, "halfrest");
}

TEST_F(ReceiverTest, RefusesAnotherChecksum) {
  header(4);
  frame(BcastKind::kData, "that");
  end("this");
  refuses("the checksum differs");
}

TEST_F(ReceiverTest, RefusesFewerBytesThanWereSaid) {
  header(5);
  frame(BcastKind::kData, "that");
  end("that");
  refuses("the checksum differs");
}

TEST_F(ReceiverTest, RefusesMoreBytesThanWereSaid) {
  header(4);
  frame(BcastKind::kData, "that and more");
  refuses("more bytes came than the file has");
}

TEST_F(ReceiverTest, RefusesFramesOutOfTurn) {
  frame(BcastKind::kData, "that");
  refuses("a frame came out of turn");
  sent.clear();
  header(4);
  header(4);
  refuses("a frame of an unknown kind came");
}

TEST_F(ReceiverTest, RefusesWhatIsNoFrame) {
  wire::append_frame(sent, "");
  refuses("an empty frame came");
  sent = std::string(4, '\xff');
  refuses("");
  sent.clear();
  frame(BcastKind::kHeader, "\xff\xff");
  refuses("the header cannot be read");
}

TEST_F(ReceiverTest, RefusesANameThatLeadsElsewhere) {
  path = dir + "/";
  for (const char* name : {"", ".", "..", "../outside", "a/b"}) {
    sent.clear();
    header(4, name);
    refuses("the header names no file");
  }
}

TEST_F(ReceiverTest, LeavesNothingIfTheSenderGoes) {
  header(8);
  frame(BcastKind::kData, "half");
  refuses("the copy was cut off");
  frame(BcastKind::kAbort, "");
  const Outcome outcome = receive();
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.said, "");
  EXPECT_TRUE(fs::is_empty(dir));
}

}  // namespace
}  // namespace gw::noded::step
