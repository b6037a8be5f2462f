// Reading hwloc XML: a small machine that holds most of the traps of real ones, and texts that are refused.
#include "topo/reader.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <random>

#include "tests/unit/topo/leaks.h"
#include "topo/generate.h"

namespace gw::topo {
namespace {

std::string sets(const std::string& cpus, const std::string& nodes) {
  return "cpuset=\"" + cpus + "\" complete_cpuset=\"" + cpus + "\" nodeset=\"" + nodes + "\" complete_nodeset=\"" +
         nodes + "\" ";
}
std::string gp(int n) { return "gp_index=\"" + std::to_string(n) + "\" "; }
std::string core(int n, const std::string& cpus, const std::string& nodes) {
  return "<object type=\"Core\" os_index=\"" + std::to_string(n) + "\" " + sets(cpus, nodes) + gp(100 + n) +
         "><object type=\"PU\" os_index=\"" + std::to_string(n) + "\" " + sets(cpus, nodes) + gp(200 + n) +
         "/></object>";
}
std::string rsmi(int index, const std::string& model, int gp_index) {
  return "<object type=\"OSDev\" name=\"rsmi" + std::to_string(index) + "\" subtype=\"RSMI\" osdev_type=\"1\" " +
         gp(gp_index) + "><info name=\"GPUModel\" value=\"" + model +
         "\"/><info name=\"AMDUUID\" value=\"0000000000000000\"/></object>";
}
std::string root_port(int bus, int port, int gp_index, const std::string& device) {
  const auto b = std::to_string(bus), p = std::to_string(port);
  return "<object type=\"Bridge\" " + gp(gp_index) + "bridge_type=\"1-1\" depth=\"1\" bridge_pci=\"0000:[" + b + "-" +
         b + "]\" pci_busid=\"0000:10:0" + p +
         ".0\" pci_type=\"0604 [1022:14fe] [1022:14fe] 00\" pci_link_speed=\"1.0\">" + device + "</object>";
}
std::string pci(int bus, const std::string& type, int gp_index, const std::string& inner, int function = 0) {
  return "<object type=\"PCIDev\" " + gp(gp_index) + "pci_busid=\"0000:" + std::to_string(bus) + ":00." +
         std::to_string(function) + "\" pci_type=\"" + type + "\" pci_link_speed=\"1.0\">" + inner + "</object>";
}
std::string net(const std::string& name, int kind, int gp_index) {
  return "<object type=\"OSDev\" name=\"" + name + "\" osdev_type=\"" + std::to_string(kind) + "\" " + gp(gp_index) +
         "/>";
}

// NUMA os_index 0 and 8; an L3 as the home of devices; a GPU in two partitions and one whole, whose rsmi numbers run
// against PCI order; a management display; a port with verbs and network names; a link matrix with an asymmetry.
std::string odd_machine() {
  const std::string first = sets("0x00000003", "0x00000001"), second = sets("0x0000000c", "0x00000100");
  const std::string io =
      "<object type=\"Bridge\" " + gp(30) + "bridge_type=\"0-1\" depth=\"0\" bridge_pci=\"0000:[10-14]\">" +
      root_port(11, 1, 31,
                pci(11, "1200 [1002:74a0] [1002:74a0] 00", 32, rsmi(2, "", 42) + rsmi(1, "Instinct MI300A", 41))) +
      root_port(12, 2, 33, pci(12, "1200 [1002:74a0] [1002:74a0] 00", 34, rsmi(0, "Instinct MI300A", 40))) +
      root_port(13, 3, 35, pci(13, "0300 [1a03:2000] [1a03:2000] 41", 36, net("card0", 1, 43))) +
      root_port(14, 4, 37,
                pci(14, "0207 [15b3:1021] [15b3:0041] 00", 38, net("ib0", 2, 44) + net("mlx5_0", 3, 45)) +
                    pci(14, "0200 [15b3:1021] [15b3:0041] 00", 39, net("eth1", 2, 46), 1)) +
      "</object>";
  return "<?xml version=\"1.0\"?><!DOCTYPE topology SYSTEM \"hwloc2.dtd\"><topology version=\"2.0\">"
         "<object type=\"Machine\" os_index=\"0\" " +
         sets("0x0000000f", "0x00000101") + "allowed_cpuset=\"0x0000000f\" allowed_nodeset=\"0x00000101\" " + gp(1) +
         ">" + "<info name=\"DMIProductName\" value=\" Odd One \"/>" + "<object type=\"Package\" os_index=\"0\" " +
         first + gp(2) + "><object type=\"NUMANode\" os_index=\"0\" " + first + gp(3) +
         "local_memory=\"1073741824\"/>" + "<object type=\"L3Cache\" " + sets("0x00000001", "0x00000001") + gp(4) +
         "cache_size=\"1024\" depth=\"3\" " + "cache_linesize=\"64\" cache_associativity=\"1\" cache_type=\"0\">" +
         core(0, "0x00000001", "0x00000001") + "</object><object type=\"L3Cache\" " + sets("0x00000002", "0x00000001") +
         gp(5) + "cache_size=\"1024\" depth=\"3\" cache_linesize=\"64\" cache_associativity=\"1\" cache_type=\"0\">" +
         core(1, "0x00000002", "0x00000001") + io + "</object></object><object type=\"Package\" os_index=\"8\" " +
         second + gp(6) + "><object type=\"NUMANode\" os_index=\"8\" " + second + gp(7) +
         "local_memory=\"2147483648\"/>" + core(2, "0x00000004", "0x00000100") + core(3, "0x00000008", "0x00000100") +
         "</object></object>" +
         "<distances2 type=\"OSDev\" nbobjs=\"3\" kind=\"9\" name=\"XGMIBandwidth\" indexing=\"gp\">" +
         "<indexes length=\"9\">40 41 42 </indexes>"
         "<u64values length=\"58\">1000000 100000 0 100000 1000000 50000 90000 50000 1000000 </u64values></distances2>"
         "</topology>";
}

TEST(Reader, OddMachine) {
  const auto node = read_xml_text(odd_machine());
  ASSERT_TRUE(node) << node.error().text();
  EXPECT_EQ(node->product, "Odd One");
  EXPECT_EQ(node->sockets, 2U);
  ASSERT_EQ(node->numa_nodes.size(), 2U);
  EXPECT_EQ(node->numa_nodes[1].os_index, 8U);
  EXPECT_EQ(node->numa_nodes[1].socket, 1U);
  EXPECT_EQ(node->memory_mb, 3072U);
  ASSERT_EQ(node->cores.size(), 4U);
  EXPECT_EQ(node->cores[3].numa, 1U);
  EXPECT_NE(node->cores[0].l3, node->cores[1].l3);
  EXPECT_EQ(node->cores[2].l3, node->cores[3].l3) << "no L3: one NUMA node counts as one";
}

TEST(Reader, PartitionsAndOrderOfGpus) {
  const auto node = read_xml_text(odd_machine());
  ASSERT_TRUE(node);
  ASSERT_EQ(node->gpus.size(), 3U) << "two partitions, one whole GPU, no display adapter";
  const std::pair<const char*, uint32_t> order[] = {{"0000:11:00.0", 0}, {"0000:11:00.0", 1}, {"0000:12:00.0", 0}};
  for (size_t i = 0; i < 3; ++i) {
    const auto& gpu = node->gpus[i];
    EXPECT_EQ(gpu.pci, order[i].first);
    EXPECT_EQ(gpu.partition, order[i].second);
    EXPECT_EQ(gpu.type, "mi300a");
    EXPECT_EQ(gpu.model, "Instinct MI300A") << "an empty name is filled from the other partition";
    EXPECT_EQ(gpu.vendor, "amd");
    EXPECT_EQ(gpu.uuid, "");
    EXPECT_EQ(gpu.near_cores, std::vector<uint32_t>{1}) << "the L3 is the home";
    EXPECT_EQ(gpu.host_bridge, node->gpus[0].host_bridge);
  }
  EXPECT_EQ(node->gpus[0].pcie_switch, node->gpus[1].pcie_switch) << "one card";
  EXPECT_NE(node->gpus[0].pcie_switch, node->gpus[2].pcie_switch) << "a root port is no switch";
  // rsmi0 is GPU 2, rsmi1 is GPU 0, rsmi2 is GPU 1; the better direction counts.
  EXPECT_EQ(node->link_name, "xGMI");
  EXPECT_EQ(node->link_mbps(0, 2), 100'000U);
  EXPECT_EQ(node->link_mbps(0, 1), 50'000U);
  EXPECT_EQ(node->link_mbps(1, 2), 90'000U);
  EXPECT_EQ(node->link_mbps(2, 1), 90'000U);
  EXPECT_EQ(node->link_mbps(1, 1), 0U);
}

TEST(Reader, VerbsAndNetworkNameAreOneNic) {
  const auto node = read_xml_text(odd_machine());
  ASSERT_TRUE(node);
  ASSERT_EQ(node->nics.size(), 2U);
  EXPECT_EQ(node->nics[0].name, "mlx5_0");
  EXPECT_EQ(node->nics[0].kind, "infiniband");
  EXPECT_EQ(node->nics[1].name, "eth1");
  EXPECT_EQ(node->nics[1].kind, "ethernet");
  EXPECT_EQ(node->nics[0].pcie_switch, node->nics[1].pcie_switch) << "two ports of one card";
  EXPECT_NE(node->nics[0].pcie_switch, node->gpus[0].pcie_switch);
}

void expect_refused(const std::string& xml, const std::string& reason) {
  const auto node = read_xml_text(xml);
  ASSERT_FALSE(node) << reason;
  EXPECT_NE(node.error().text().find(reason), std::string::npos) << node.error().text();
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

TEST(Reader, RefusesWhatIsNoTopology) {
  expect_refused("", "empty");
  expect_refused(" \n", "empty");
  expect_refused("hello", "not XML");
  expect_refused("<html></html>", "no <topology> element");
  expect_refused("<topology version=\"2.0\">", "ends in the middle");
  expect_refused("<topology version=\"2.0\"></topology>", "hwloc cannot load");
  expect_refused("<topology version=\"2.0\"></topology></topology>", "never opened");
  expect_refused("<topology version=2></topology>", "not well-formed");
  expect_refused("<!DOCTYPE t [<!ENTITY a \"b\">]><topology/>", "declarations");
  expect_refused(std::string("<topology\0/>", 12), "zero byte");
}

TEST(Reader, Version3SaysHowToMend) {
  expect_refused(replaced(odd_machine(), "version=\"2.0\"", "version=\"3.0\""), "--export-xml-flags v2");
}

TEST(Reader, RefusesWhatWouldHurtTheParser) {
  std::string deep = "<topology version=\"2.0\">";
  for (int i = 0; i < 100'000; ++i) deep += "<object type=\"Group\">";
  expect_refused(deep, "nested");
  expect_refused(replaced(odd_machine(), "nbobjs=\"3\"", "nbobjs=\"65536\""), "nbobjs");
  expect_refused(replaced(odd_machine(), "nbobjs=\"3\"", "nbobjs=\"-1\""), "nbobjs");
  expect_refused(replaced(odd_machine(), "type=\"PU\" os_index=\"0\"", "type=\"PU\" os_index=\"4294967295\""),
                 "os_index");
  expect_refused(replaced(odd_machine(), "cpuset=\"0x0000000f\"", "cpuset=\"0xf...f\""), "infinite");
  expect_refused(std::string(kMaxXmlBytes + 1, ' '), "too large");
}

TEST(Reader, EveryTruncationIsRefused) {
  const auto xml = odd_machine();
  for (size_t n = 0; n + 12 < xml.size(); n += 37) EXPECT_FALSE(read_xml_text(xml.substr(0, n))) << n;
}

// Any damage gives a valid topology or an error.
TEST(Reader, SurvivesDamage) {
  const ThirdPartyLeaks allowed;
  const auto whole = odd_machine();
  std::mt19937 random(7);
  for (int round = 0; round < 400; ++round) {
    auto xml = whole;
    for (int i = 0; i < 3; ++i) xml[random() % xml.size()] = "0123456789<>\"/x,PUNMA"[random() % 21];
    const auto node = read_xml_text(xml);
    EXPECT_TRUE(!node || model::validate(*node));
  }
}

class TempFolder {
 public:
  TempFolder() {
    char pattern[] = "/tmp/gw-topo-XXXXXX";
    path_ = ::mkdtemp(pattern);
  }
  ~TempFolder() {
    for (const auto& f : files_) ::unlink(f.c_str());
    ::rmdir(path_.c_str());
  }
  std::string file(const std::string& name, const std::string& text) {
    files_.push_back(path_ + "/" + name);
    std::ofstream(files_.back()) << text;
    return files_.back();
  }
  std::string pipe(const std::string& name) {
    files_.push_back(path_ + "/" + name);
    EXPECT_EQ(::mkfifo(files_.back().c_str(), 0600), 0);
    return files_.back();
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  std::vector<std::string> files_;
};

TEST(Reader, Files) {
  TempFolder folder;
  const auto good = read_xml_file(folder.file("good.xml", *generate_xml("cpu")));
  ASSERT_TRUE(good) << good.error().text();
  EXPECT_EQ(good->cores.size(), 64U);

  const auto bad = read_xml_file(folder.file("bad.xml", "hello"));
  ASSERT_FALSE(bad);
  EXPECT_NE(bad.error().what.find("bad.xml is not XML"), std::string::npos) << bad.error().text();

  for (const auto& path : {folder.path(), folder.pipe("pipe.xml")}) {
    const auto node = read_xml_file(path);
    ASSERT_FALSE(node);
    EXPECT_NE(node.error().what.find("not a regular file"), std::string::npos) << node.error().text();
  }
}

}  // namespace
}  // namespace gw::topo
