// Files: the sample, the reference, what load() refuses to read, and the cheap path of the commands.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "config/config.h"
#include "config/reference.h"

namespace gw::config {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string source_file(const std::string& name) {
  std::ifstream in(std::string(GW_SOURCE_DIR) + "/" + name);
  std::stringstream text;
  text << in.rdbuf();
  EXPECT_FALSE(text.str().empty()) << name;
  return text.str();
}

class FilesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "gw-config-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    dir_ = pattern;
    file_ = dir_ + "/gangway.yaml";
  }
  void TearDown() override { fs::remove_all(dir_); }
  void write(const std::string& text) { std::ofstream(file_, std::ios::binary) << text; }

  std::string dir_, file_;
};

TEST(Sample, IsAccepted) {
  std::string text = source_file("etc/gangway.yaml");
  const std::string user = "user: gangway";
  size_t at = text.find(user);
  ASSERT_NE(at, std::string::npos);
  text.replace(at, user.size(), "user: root");  // test hosts have no user gangway
  auto config = parse(text, "etc/gangway.yaml");
  ASSERT_TRUE(config) << config.error().text();
  EXPECT_EQ(config->nodes.size(), 136u);
  EXPECT_EQ(config->nodes[63].address, "10.1.0.64");
  EXPECT_EQ(config->partitions.size(), 3u);
}

TEST(Reference, HoldsEveryKey) {
  std::string text = source_file("docs/config.md");
  for (const std::string& row : reference()) EXPECT_THAT(text, HasSubstr(row + "\n"));
  EXPECT_GT(reference().size(), 50u);
}

TEST_F(FilesTest, LoadReadsAFile) {
  write("cluster: abc\ncontroller: {user: 0}\nnodes: [n]\n");
  auto config = load(file_);
  ASSERT_TRUE(config) << config.error().text();
  EXPECT_EQ(config->path, file_);
  EXPECT_EQ(config->cluster, "abc");
}

TEST_F(FilesTest, UnreadableFilesAreNamed) {
  auto missing = load(file_);
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().text(), HasSubstr(file_));
  EXPECT_THAT(missing.error().text(), HasSubstr("GANGWAY_CONF"));
  EXPECT_FALSE(load(dir_)) << "a folder";
  ASSERT_EQ(mkfifo(file_.c_str(), 0600), 0);
  EXPECT_FALSE(load(file_)) << "a FIFO does not hold it up";
}

TEST_F(FilesTest, WritableForEverybodyIsRefused) {
  write("controller: {user: 0}\nnodes: [n]\n");
  ASSERT_EQ(chmod(file_.c_str(), 0666), 0);
  for (auto* read : {&load, &load_client_part}) {
    auto config = (*read)(file_);
    ASSERT_FALSE(config);
    EXPECT_THAT(config.error().text(), HasSubstr("chmod o-w " + file_));
  }
}

TEST_F(FilesTest, ClientPartReadsJustThat) {
  write(
      "cluster: abc\nnodes: [what, ever, what]\ncontroller: {host: h, port: 7, user: 12}\nauth: {munge_socket: /m}\n"
      "nonsense: [[[[: not reached\n");
  auto config = load_client_part(file_);
  ASSERT_TRUE(config) << config.error().text();
  EXPECT_EQ(config->cluster, "abc");
  EXPECT_EQ(config->controller_host, "h");
  EXPECT_EQ(config->controller_port, 7);
  EXPECT_EQ(config->controller_uid, 12u);
  EXPECT_EQ(config->munge_socket, "/m");
  EXPECT_THAT(config->nodes, IsEmpty());
}

TEST_F(FilesTest, ClientPartTellsItsOwnMistakes) {
  write("controller: {user: 0, port: 70000}\nnodes: 5\n");
  auto config = load_client_part(file_);
  ASSERT_FALSE(config);
  EXPECT_THAT(config.error().text(), HasSubstr(":1:29: controller.port: 70000 is out of range"));
  EXPECT_EQ(config.error().text().find('\n'), std::string::npos);
}

TEST(DefaultPath, FollowsTheEnvironment) {
  const char* before = std::getenv("GANGWAY_CONF");
  std::string saved = before == nullptr ? "" : before;
  setenv("GANGWAY_CONF", "/x/y.yaml", 1);
  EXPECT_EQ(default_path(), "/x/y.yaml");
  setenv("GANGWAY_CONF", "", 1);
  EXPECT_EQ(default_path(), "/etc/gangway/gangway.yaml");
  if (before == nullptr)
    unsetenv("GANGWAY_CONF");
  else
    setenv("GANGWAY_CONF", saved.c_str(), 1);
}

}  // namespace
}  // namespace gw::config
