// Commands for users who cannot reach those that made the cluster.
#include "cmds/gangway/dev/dev_programs.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace gw::cmds {
namespace {

namespace fs = std::filesystem;

class DevPrograms : public testing::Test {
 protected:
  DevPrograms() {
    EXPECT_NE(::mkdtemp(dir_), nullptr);
    fs::permissions(dir_, fs::perms(0755));
    layout_.dir = dir_;
    layout_.runtime = std::string(dir_) + "/runtime";
    fs::create_directories(layout_.runtime);
  }
  ~DevPrograms() override {
    remove_programs(layout_);
    std::error_code ignored;
    fs::remove_all(dir_, ignored);
  }
  void make(const std::string& path, const std::string& text) const {
    const fs::path file = fs::path(dir_) / path;
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text;
    fs::permissions(file, fs::perms(0755));
  }
  void link(const std::string& target, const std::string& path) const {
    const fs::path file = fs::path(dir_) / path;
    fs::create_directories(file.parent_path());
    fs::create_symlink(target, file);
  }
  static std::string text_of(const fs::path& path) {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  char dir_[32] = "/tmp/gw-unit-XXXXXX";
  DevLayout layout_;
};

TEST_F(DevPrograms, OneClosedFolderOnTheWayClosesAll) {
  make("a/b/program", "x");
  const std::string program = std::string(dir_) + "/a/b/program";
  EXPECT_TRUE(is_open_to_all(program));
  EXPECT_TRUE(is_open_to_all("/usr/bin"));
  fs::permissions(fs::path(dir_) / "a", fs::perms(0711));
  EXPECT_TRUE(is_open_to_all(program)) << "it need not be listed";
  fs::permissions(fs::path(dir_) / "a", fs::perms(0750));
  EXPECT_FALSE(is_open_to_all(program));
  EXPECT_FALSE(is_open_to_all(std::string(dir_) + "/a"));
  link(program, "link");
  EXPECT_FALSE(is_open_to_all(std::string(dir_) + "/link")) << "what counts is where it leads";
  EXPECT_FALSE(is_open_to_all(std::string(dir_) + "/missing"));
}

TEST_F(DevPrograms, TheCopyHasTheCommandsAndGoesWithTheCluster) {
  make("build/bin/gangway", "gangway");
  make("build/bin/gctld", "for root alone");
  make("build/libexec/gangway/gangway-commands", "commands");
  link("../libexec/gangway/gangway-commands", "build/bin/gbatch");
  link("../gangway-commands", "build/libexec/gangway/slurm/sbatch");
  fs::permissions(fs::path(dir_) / "build", fs::perms(0700));
  fs::permissions(fs::path(dir_) / "build/libexec/gangway/gangway-commands", fs::perms(0700));
  const mode_t before = ::umask(077);
  const auto copied = copy_programs(layout_, std::string(dir_) + "/build/bin");
  ::umask(before);
  ASSERT_TRUE(copied) << copied.error().text();
  const fs::path bin = commands_folder(layout_), slurm = bin.parent_path() / "libexec/gangway/slurm";
  EXPECT_EQ(text_of(bin / "gangway"), "gangway");
  EXPECT_EQ(text_of(bin / "gbatch"), "commands");
  EXPECT_EQ(text_of(slurm / "sbatch"), "commands");
  EXPECT_FALSE(fs::exists(bin / "gctld"));
  for (const fs::path& path : {bin / "gangway", bin / "gbatch", slurm / "sbatch", slurm})
    EXPECT_TRUE(is_open_to_all(path)) << path;
  remove_programs(layout_);
  EXPECT_FALSE(fs::exists(bin.parent_path()));
}

TEST_F(DevPrograms, AForeignFolderIsNotRemoved) {
  make("precious/file", "x");
  fs::create_symlink(std::string(dir_) + "/precious", layout_.programs_link());
  remove_programs(layout_);
  EXPECT_TRUE(fs::exists(std::string(dir_) + "/precious/file"));
  fs::remove(layout_.programs_link());
}

}  // namespace
}  // namespace gw::cmds
