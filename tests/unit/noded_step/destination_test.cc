// A file that is there whole or not at all.
#include "noded/step/bcast/destination.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace gw::noded::step {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class DestinationTest : public ::testing::Test {
 protected:
  DestinationTest() {
    std::string name = "/tmp/gw-destination-XXXXXX";
    dir = ::mkdtemp(name.data());
    header.set_name("source");
    header.set_mode(0640);
    header.set_size(4);
  }
  ~DestinationTest() override { fs::remove_all(dir); }

  size_t entries() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(dir), fs::directory_iterator()));
  }
  static std::string text(const std::string& path) {
    std::ostringstream all;
    all << std::ifstream(path).rdbuf();
    return all.str();
  }
  base::Status put(const std::string& path, const std::string& bytes) {
    GW_TRY(file, Destination::open(path, header));
    GW_TRY_STATUS(file.write(bytes));
    return file.commit(header);
  }

  std::string dir;
  wire::BcastHeader header;
};

TEST_F(DestinationTest, HasNoNameBeforeItIsWhole) {
  {
    auto file = Destination::open(dir + "/a", header);
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->write("half"));
    EXPECT_FALSE(fs::exists(dir + "/a"));
  }
  EXPECT_EQ(entries(), 0u);
}

TEST_F(DestinationTest, TakesModeAndTimes) {
  header.set_preserve(true);
  header.set_modified_ns(1'100'000'000'000'000'001);
  ASSERT_TRUE(put(dir + "/a", "whole"));
  EXPECT_EQ(text(dir + "/a"), "whole");
  struct stat file {};
  ASSERT_EQ(::stat((dir + "/a").c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 07777, 0640u);
  EXPECT_EQ(file.st_mtim.tv_sec, 1'100'000'000);
  EXPECT_EQ(file.st_mtim.tv_nsec, 1);
  EXPECT_EQ(entries(), 1u);
}

TEST_F(DestinationTest, GoesIntoAFolderByTheNameOfTheSource) {
  ASSERT_TRUE(put(dir, "one"));
  EXPECT_EQ(text(dir + "/source"), "one");
  header.set_force(true);
  ASSERT_TRUE(put(dir + "/", "two"));
  EXPECT_EQ(text(dir + "/source"), "two");
}

TEST_F(DestinationTest, LeavesWhatIsThereUnlessForced) {
  std::ofstream(dir + "/a") << "mine";
  auto refused = put(dir + "/a", "new");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().text(), HasSubstr("/a: File exists"));
  EXPECT_EQ(text(dir + "/a"), "mine");
  header.set_force(true);
  ASSERT_TRUE(put(dir + "/a", "new"));
  EXPECT_EQ(text(dir + "/a"), "new");
  EXPECT_EQ(entries(), 1u);
}

TEST_F(DestinationTest, OneThatCameMeanwhileStays) {
  auto file = Destination::open(dir + "/a", header);
  ASSERT_TRUE(file);
  std::ofstream(dir + "/a") << "mine";
  const auto done = file->commit(header);
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().text(), HasSubstr("File exists"));
  EXPECT_EQ(text(dir + "/a"), "mine");
}

TEST_F(DestinationTest, ErrorsNameThePath) {
  EXPECT_THAT(put(dir + "/no/a", "x").error().text(), HasSubstr("/no/: No such file or directory"));
  EXPECT_THAT(put(dir + "/no/", "x").error().text(), HasSubstr("/no/: No such file or directory"));
  header.set_force(true);
  ::mkfifo((dir + "/pipe").c_str(), 0600);
  EXPECT_THAT(put(dir + "/pipe", "x").error().text(), HasSubstr("is no file"));
}

}  // namespace
}  // namespace gw::noded::step
