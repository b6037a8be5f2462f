// Configurations of Slurm as one of Gangway: what is read, what becomes of it, what is said of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "base/text.h"
#include "cmds/gangway/import/slurm_import.h"
#include "config/config.h"

namespace gw::cmds::import {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// A folder of files that is gone afterwards.
class Import : public testing::Test {
 protected:
  Import() {
    char name[] = "/tmp/gw-import-XXXXXX";
    folder_ = ::mkdtemp(name);
  }
  ~Import() override { std::filesystem::remove_all(folder_); }

  std::string file(const std::string& name, const std::string& text) {
    std::ofstream(folder_ + "/" + name) << text;
    return folder_ + "/" + name;
  }
  std::string read_error(const std::string& name) {
    const auto lines = read_slurm_file(folder_ + "/" + name);
    return lines ? "" : lines.error().text();
  }
  /// What comes of slurm.conf with a node and these lines; the error instead.
  std::string yaml(const std::string& lines, bool with_node = true) {
    const auto made = make(lines, with_node);
    return made ? made->yaml : "ERROR " + made.error().text();
  }
  std::string notes(const std::string& lines) {
    const auto made = make(lines, true);
    std::string text;
    if (made)
      for (const Note& note : made->notes) text += note.line() + "\n";
    return text;
  }
  base::Result<cmds::import::Import> make(const std::string& lines, bool with_node) {
    auto read = read_slurm_file(file("slurm.conf", (with_node ? "NodeName=n0 CPUs=4\n" : "") + lines));
    if (!read) return tl::unexpected(read.error());
    return import_slurm({{FileKind::kSlurm, *read}}, "root");
  }

  std::string folder_;
};

TEST_F(Import, SettingsMayStandInQuotesAndEndInComments) {
  const auto settings = read_settings("A=1 B=\"x y\" C = 'z' D=");
  ASSERT_TRUE(settings);
  ASSERT_EQ(settings->size(), 4u);
  EXPECT_EQ(settings->at(1).second, "x y");
  EXPECT_EQ(settings->at(2).second, "z");
  EXPECT_EQ(settings->at(3).second, "");
  EXPECT_FALSE(read_settings("A=1 word"));
  EXPECT_FALSE(read_settings("A=\"x"));
  EXPECT_FALSE(read_settings("=x"));
}

TEST_F(Import, LinesGoOnAndIncludeOthers) {
  file("more.conf", "KillWait=9 # c\n");
  const auto lines = read_slurm_file(file("a.conf", "# c\nA=1 \\\nB=2\\# # c\n\ninclude more.conf\nC=3"));
  ASSERT_TRUE(lines) << lines.error().text();
  ASSERT_EQ(lines->size(), 3u);
  EXPECT_EQ(lines->at(0).number, 2u);
  EXPECT_EQ(*lines->at(0).find("b"), "2#") << "in any case, without the backslash";
  EXPECT_EQ(lines->at(1).place(), folder_ + "/more.conf:1");
  EXPECT_EQ(lines->at(2).number, 6u);
}

TEST_F(Import, WhatCannotBeReadIsToldWithItsPlace) {
  file("self.conf", "A=1\nInclude self.conf\n");
  EXPECT_THAT(read_error("self.conf"), AllOf(HasSubstr("self.conf:2: "), HasSubstr("includes itself")));
  file("a.conf", "Include b.conf\n");
  file("b.conf", "\nInclude a.conf\n");
  EXPECT_THAT(read_error("a.conf"), AllOf(HasSubstr("b.conf:2: "), HasSubstr("a.conf includes itself")));
  file("lost.conf", "\n\nInclude nosuch.conf\n");
  EXPECT_THAT(read_error("lost.conf"), AllOf(HasSubstr("lost.conf:3: "), HasSubstr("nosuch.conf cannot be read")));
  file("bad.conf", "A=1\nno setting\n");
  EXPECT_THAT(read_error("bad.conf"), HasSubstr("bad.conf:2: \"no\" is not KEY=VALUE"));
  EXPECT_THAT(read_error("nosuch.conf"), HasSubstr("cannot be read"));
  EXPECT_NE(read_error("."), "") << "a folder";
}

TEST_F(Import, OneFileMayBeIncludedTwice) {
  file("more.conf", "KillWait=9\n");
  EXPECT_THAT(yaml("Include more.conf\nInclude more.conf\n"), HasSubstr("kill_wait: 9s"));
}

TEST_F(Import, KeysThatHaveACounterpartAreTaken) {
  EXPECT_THAT(yaml("ClusterName=lab\nKillWait=30\nJobRequeue=0\nTaskProlog=/x/y\nMailDomain=a.org\n"),
              AllOf(HasSubstr("cluster: \"lab\"\n"), HasSubstr("kill_wait: 30s\n"), HasSubstr("requeue: false\n"),
                    HasSubstr("task_prolog: \"/x/y\"\n"), HasSubstr("domain: \"a.org\"\n")));
  EXPECT_THAT(yaml("SlurmctldHost=a(1.2.3.4)\nSlurmctldHost=b\n"),
              AllOf(HasSubstr("host: \"a\""), Not(HasSubstr("\"b\""))));
  EXPECT_THAT(yaml("PriorityWeightAge=5\nPriorityMaxAge=1-0\n"),
              AllOf(HasSubstr("order: multifactor"), HasSubstr("order_weights: {age: 5, max_age_hours: 24}")));
  EXPECT_THAT(yaml("Licenses=a,b:3\nSelectType=select/linear\nAuthInfo=socket=/m,ttl=3\n"),
              AllOf(HasSubstr("licenses: [\"a:1\", \"b:3\"]"), HasSubstr("exclusive: true"),
                    HasSubstr("munge_socket: \"/m\"")));
  EXPECT_THAT(yaml("PrivateData=jobs,Usage,accounts\n"), HasSubstr("private: [\"jobs\", \"usage\"]"));
  EXPECT_THAT(yaml("PrivateData=all\n"), HasSubstr("private: [\"jobs\", \"users\", \"usage\", \"nodes\"]"));
  EXPECT_THAT(notes("PrivateData=jobs,accounts\n"), HasSubstr("accounts cannot be private"));
  EXPECT_THAT(yaml("PrivateData=events\n"), Not(HasSubstr("private")));
  EXPECT_THAT(yaml("Prolog=/etc/slurm/prolog.d/*\n"), Not(HasSubstr("prolog"))) << "several programs";
}

TEST_F(Import, EverySettingIsToldAboutInTheOrderOfTheFile) {
  EXPECT_THAT(notes("SlurmctldPort=6817\nKillWait=30\n"),
              AllOf(HasSubstr("slurm.conf:1: ignored: CPUs (nodes say themselves what they have)\n"),
                    HasSubstr("slurm.conf:2: ignored: SlurmctldPort=6817 (Gangway has its own, so that both can be "
                              "installed side by side)\n" +
                              folder_ + "/slurm.conf:3: taken: KillWait=30 -> jobs.kill_wait: 30s\n")));
}

TEST_F(Import, UnknownKeysAreToldTogether) {
  EXPECT_THAT(yaml("KilWait=3\nPartitionName=p Nods=n0\nNodeName=n1 Wieght=3\n"),
              AllOf(HasSubstr("slurm.conf:2: unknown key \"KilWait\" (did you mean \"KillWait\"?)"),
                    HasSubstr("slurm.conf:3: unknown key \"Nods\" (did you mean \"Nodes\"?)"),
                    HasSubstr("slurm.conf:4: unknown key \"Wieght\" (did you mean \"Weight\"?)")));
  EXPECT_THAT(yaml("KillWait=soon\n"), HasSubstr("slurm.conf:2: "));
  EXPECT_THAT(yaml("NodeName=n[1-\n"), HasSubstr("slurm.conf:2: NodeName: "));
  EXPECT_THAT(yaml("PartitionName=p Nodes=n0 MaxTime=later\n"), HasSubstr("slurm.conf:2: MaxTime: "));
  EXPECT_THAT(yaml("KillWait=3\n", false), HasSubstr("no NodeName= line was found"));
}

TEST_F(Import, NodesSayWhatTheyCannotFindThemselves) {
  EXPECT_THAT(
      yaml(
          "NodeName=DEFAULT Feature=a Weight=3\nNodeName=n[1-2] NodeAddr=10.0.0.[1-2] "
          "Gres=gpu:h100:6,gpu:a100:2(S:0),nvme:no_consume:4K,fpga:x:1 TmpDisk=10\nNodeName=n3 Weight=4 Gres=(null)\n"),
      AllOf(HasSubstr("  - name: \"n[1-2]\"\n    address: \"10.0.0.[1-2]\"\n    gpus: 8\n    gres: "
                      "[\"nvme:4K\", \"fpga:x:1\"]\n    tmp_disk: 10M\n    features: [\"a\"]\n    weight: 3\n"),
            HasSubstr("  - name: \"n3\"\n    weight: 4\n    features: [\"a\"]\n")));
  EXPECT_THAT(yaml("NodeName=n1 NodeAddr=node1.lab.org\n"), Not(HasSubstr("address")));
}

TEST_F(Import, PartitionsHaveTheLimitsThatTheyHadInSlurm) {
  EXPECT_THAT(yaml("PartitionName=p Nodes=n0 MaxTime=60\n"), HasSubstr("max_time: \"60\"\n    default_time: \"60\"\n"))
      << "jobs that give no limit have the longest";
  EXPECT_THAT(yaml("PartitionName=p Nodes=n0\n"), HasSubstr("unlimited: true"));
  EXPECT_THAT(yaml("PartitionName=p Nodes=n0 MaxTime=INFINITE DefaultTime=5\n"),
              AllOf(HasSubstr("default_time: \"5\""), Not(HasSubstr("unlimited"))));
  EXPECT_THAT(yaml("PartitionName=p Nodes=n0 State=DRAIN PriorityTier=100000 AllowGroups=a,b Default=YES\n"),
              AllOf(HasSubstr("state: drain"), HasSubstr("tier: 65535"), HasSubstr("allow_groups: [\"a\", \"b\"]"),
                    HasSubstr("default: true")));
  EXPECT_THAT(yaml("PartitionName=p Nodes=n0 State=ODD\n"), HasSubstr("ERROR"));
}

TEST_F(Import, PartitionsMayNameSetsOfNodesThatStandAnywhere) {
  EXPECT_THAT(yaml("PartitionName=p Nodes=ib,n[0]\nNodeSet=ib Feature=ib\nNodeName=n[1-2] Feature=ib\n"),
              HasSubstr("nodes: \"n[1-2,0]\""));
}

TEST_F(Import, AFileIsWhatItsNameOrItsLinesSay) {
  const auto lines = read_slurm_file(file("x", "NodeName=n0 Name=gpu File=/dev/nvidia0\n"));
  ASSERT_TRUE(lines);
  EXPECT_EQ(kind_of("/etc/x", *lines), FileKind::kGres);
  EXPECT_EQ(kind_of("/etc/slurm.conf", {}), FileKind::kSlurm);
  EXPECT_EQ(kind_of("/etc/slurm/Topology.conf", {}), FileKind::kTopology);
  EXPECT_EQ(kind_of("cgroup.conf", {}), FileKind::kCgroup);
}

TEST_F(Import, WhatComesOfItIsAConfiguration) {
  const auto made = make("ClusterName=\"a b\"\nMailDomain=x\"y\n", true);
  EXPECT_FALSE(made) << "the quote is not closed";
  const auto good = make("ClusterName=lab\nSlurmdTimeout=300\nPartitionName=p Nodes=ALL Default=YES\n", true);
  ASSERT_TRUE(good);
  const auto config = config::parse(good->yaml, "f");
  ASSERT_TRUE(config) << config.error().text();
  EXPECT_EQ(config->partitions.size(), 1u);
  EXPECT_EQ(config->nodes.size(), 1u);
}

}  // namespace
}  // namespace gw::cmds::import
