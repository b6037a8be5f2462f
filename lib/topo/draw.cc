// The terminal drawing of a node: a header, one box per socket with its NUMA nodes and devices as a tree, and the
// tables of links.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "base/bitset.h"
#include "base/counted.h"
#include "base/text.h"
#include "topo/canvas.h"
#include "topo/render.h"

namespace gw::topo {
namespace {

using base::IndexSet;
using model::Gpu;
using model::Nic;
using model::NodeTopology;

struct Glyphs {
  const char *branch, *last, *long_branch, *long_last, *pipe, *gap;
  const char *top_left, *top_right, *bottom_left, *bottom_right, *bar, *side;
};
constexpr Glyphs kUnicode{"├─ ", "└─ ", "├──── ", "└──── ", "│  ", "   ", "╭", "╮", "╰", "╯", "─", "│"};
constexpr Glyphs kAscii{"|- ", "`- ", "|---- ", "`---- ", "|  ", "   ", "+", "+", "+", "+", "-", "|"};

struct Meaning {
  const char *word, *text;
};
constexpr Meaning kMeanings[] = {{"XGMI", "linked by xGMI"}, {"PIX", "same PCIe switch"}, {"PHB", "same host bridge"},
                                 {"NODE", "same NUMA node"}, {"PKG", "same socket"},      {"SYS", "across sockets"}};

// A GPU or a NIC in the tree.
struct Leaf {
  bool is_gpu;
  uint32_t index;
};
// A switch, a host bridge, or (with an empty title) nothing but its leaves.
struct Group {
  std::string title;
  std::vector<Leaf> leaves;
};

class Drawing {
 public:
  Drawing(const NodeTopology& node, const std::vector<GpuUse>& uses, size_t width, bool colour, bool unicode)
      : node_(node), uses_(uses), width_(width), colour_(colour), unicode_(unicode), g_(unicode ? kUnicode : kAscii) {}

  std::string run() {
    measure();
    header();
    for (uint32_t s = 0; s < node_.sockets; ++s) socket(s);
    gpu_table();
    nic_table();
    legend();
    return out_;
  }

 private:
  const NodeTopology& node_;
  const std::vector<GpuUse>& uses_;
  const size_t width_;
  const bool colour_, unicode_;
  const Glyphs& g_;
  std::string out_;
  size_t name_columns_ = 0, type_columns_ = 0, use_columns_ = 0, pci_columns_ = 0, memory_columns_ = 0;
  std::set<std::string> words_;  // used in the tables

  Line line(size_t limit) const { return Line(limit, colour_, unicode_); }
  void put(const Line& l) {
    const auto text = l.text();
    out_ += text.substr(0, text.find_last_not_of(' ') + 1) + "\n";
  }

  // --- what is said of devices ---
  static std::string gpu_name(uint32_t i) { return fmt::format("GPU {}", i); }
  static std::string nic_name(const Nic& n) { return "NIC " + n.name; }
  bool is_split(const Gpu& gpu) const {
    return std::any_of(node_.gpus.begin(), node_.gpus.end(),
                       [&](const Gpu& o) { return o.pci == gpu.pci && o.partition > 0; });
  }
  std::string pci_of(const Gpu& gpu) const {
    return is_split(gpu) && !gpu.pci.empty() ? fmt::format("{} part {}", gpu.pci, gpu.partition) : gpu.pci;
  }
  static std::string memory_of(const Gpu& gpu) {
    return gpu.memory_mb > 0 ? fmt::format("{}G", (gpu.memory_mb + 512) / 1024) : "";
  }

  std::pair<std::string, Ink> use_of(uint32_t gpu) const {
    std::string text;
    Ink ink = Ink::kYellow;
    for (const auto& use : uses_) {
      if (use.gpu != gpu) continue;
      auto one = use.job ? "job " + use.job.text() : std::string();
      if (use.offline) {
        one += one.empty() ? "offline" : ", offline";
        ink = Ink::kRed;
      }
      if (!use.label.empty()) one += fmt::format(" ({})", base::printable(use.label, 40));
      text += (text.empty() ? "" : " + ") + one;
    }
    if (text.empty() && !uses_.empty()) return {"free", Ink::kGreen};
    return {text, ink};
  }

  void measure() {
    for (uint32_t i = 0; i < node_.gpus.size(); ++i) {
      const auto& gpu = node_.gpus[i];
      name_columns_ = std::max(name_columns_, gpu_name(i).size());
      type_columns_ = std::max(type_columns_, gpu.type.size());
      use_columns_ = std::max(use_columns_, text_columns(use_of(i).first));
      pci_columns_ = std::max(pci_columns_, pci_of(gpu).size());
      memory_columns_ = std::max(memory_columns_, memory_of(gpu).size());
    }
    for (const auto& nic : node_.nics) {
      name_columns_ = std::max(name_columns_, nic_name(nic).size());
      type_columns_ = std::max(type_columns_, nic.kind.size());
      pci_columns_ = std::max(pci_columns_, nic.pci.size());
    }
    use_columns_ = std::min<size_t>(use_columns_, 32);
  }

  // --- header ---
  void header() {
    put(line(width_).add(node_.product.empty() ? "unnamed machine" : node_.product, Ink::kBold));
    std::map<std::string, size_t> types;
    for (const auto& gpu : node_.gpus) ++types[gpu.type];
    std::string gpus = node_.gpus.empty() ? "no GPUs" : "";
    for (const auto& [type, n] : types)
      gpus += fmt::format("{}{} {} GPU{}", gpus.empty() ? "" : " + ", n, type, n == 1 ? "" : "s");
    if (!node_.link_name.empty()) gpus += " with " + node_.link_name;
    const auto threads = node_.threads_per_core();
    put(line(width_).add(fmt::format(
        "{}, {}, {}{}, {} memory", base::counted(node_.sockets, "socket"),
        base::counted(node_.numa_nodes.size(), "NUMA node"), base::counted(node_.cores.size(), "core"),
        threads > 1 ? fmt::format(" x {} threads", threads) : "", base::format_memory_mb(node_.memory_mb))));
    put(line(width_).add(gpus + ", " + (node_.nics.empty() ? "no NICs" : base::counted(node_.nics.size(), "NIC"))));
  }

  // --- boxes ---
  void boxed(Line& content) {
    const auto side = line(1).add(g_.side, Ink::kDim).text();
    out_ += side + " " + content.pad_to(width_ - 4).text() + " " + side + "\n";
  }
  void boxed(Line&& content) { boxed(content); }

  void edge(const char* left, const std::string& title, const char* right) {
    auto l = line(width_);
    l.add(left, Ink::kDim).add(g_.bar, Ink::kDim);
    if (!title.empty()) l.add(" ").add(title, Ink::kBold).add(" ");
    std::string bar;
    for (size_t i = l.columns(); i + 1 < width_; ++i) bar += g_.bar;
    put(l.add(bar, Ink::kDim).add(right, Ink::kDim));
  }

  void socket(uint32_t s) {
    size_t cores = 0;
    for (const auto& core : node_.cores) cores += core.socket == s ? 1 : 0;
    edge(g_.top_left, fmt::format("socket {}: {}", s, base::counted(cores, "core")), g_.top_right);
    for (uint32_t n = 0; n < node_.numa_nodes.size(); ++n) {
      if (node_.numa_nodes[n].socket == s) numa(n);
    }
    edge(g_.bottom_left, "", g_.bottom_right);
  }

  IndexSet cores_of(uint32_t numa_index) const {
    IndexSet cores;
    for (uint32_t c = 0; c < node_.cores.size(); ++c) {
      if (node_.cores[c].numa == numa_index) cores.insert(c);
    }
    return cores;
  }

  void numa(uint32_t n) {
    const auto& numa_node = node_.numa_nodes[n];
    const auto cores = cores_of(n);
    IndexSet cpus;
    std::set<uint32_t> l3;
    for (const auto c : cores.to_vector()) {
      l3.insert(node_.cores[c].l3);
      for (const auto pu : node_.cores[c].pus) cpus.insert(pu);
    }
    auto l = line(width_ - 4);
    l.add(fmt::format("NUMA {}", n), Ink::kBold);
    if (numa_node.os_index != n) l.add(fmt::format(" (OS node {})", numa_node.os_index));
    l.add(fmt::format("  {}", base::format_memory_mb(numa_node.memory_mb)));
    if (cores.empty()) {
      l.add("  no cores");
    } else {
      l.add(fmt::format("  cores {}", cores.text()));
      if (l3.size() > 1)
        l.add(fmt::format(" ({} L3 of {})", l3.size(), base::counted(cores.size() / l3.size(), "core")));
      if (cpus != cores) l.add(fmt::format("  CPUs {}", cpus.text()), Ink::kDim);
    }
    boxed(l);
    tree(groups_of(n), cores);
  }

  // --- the tree of one NUMA node's devices ---
  static std::string card(const std::string& pci) { return pci.substr(0, pci.rfind('.')); }
  const std::string& pci_text(const Leaf& leaf) const {
    return leaf.is_gpu ? node_.gpus[leaf.index].pci : node_.nics[leaf.index].pci;
  }
  uint32_t switch_of(const Leaf& l) const {
    return l.is_gpu ? node_.gpus[l.index].pcie_switch : node_.nics[l.index].pcie_switch;
  }
  uint32_t host_of(const Leaf& l) const {
    return l.is_gpu ? node_.gpus[l.index].host_bridge : node_.nics[l.index].host_bridge;
  }

  // Devices of one card share the number of a switch without being behind one.
  bool is_shared(const std::vector<Leaf>& leaves) const {
    return std::any_of(leaves.begin(), leaves.end(),
                       [&](const Leaf& l) { return card(pci_text(l)) != card(pci_text(leaves.front())); });
  }

  // A title for each switch that several cards share; the rest by host bridge, where that tells something.
  std::vector<Group> groups_of(uint32_t n) const {
    std::map<uint32_t, std::vector<Leaf>> by_switch, by_host;
    std::vector<Leaf> order;
    for (uint32_t i = 0; i < node_.gpus.size(); ++i) {
      if (node_.gpus[i].numa == n) order.push_back({true, i});
    }
    for (uint32_t i = 0; i < node_.nics.size(); ++i) {
      if (node_.nics[i].numa == n) order.push_back({false, i});
    }
    for (const auto& leaf : order) by_switch[switch_of(leaf)].push_back(leaf);
    for (const auto& leaf : order) {
      if (!is_shared(by_switch[switch_of(leaf)])) by_host[host_of(leaf)].push_back(leaf);
    }
    std::vector<Group> groups;
    std::set<const void*> done;
    for (const auto& leaf : order) {
      const bool switched = is_shared(by_switch[switch_of(leaf)]);
      const auto& leaves = switched ? by_switch[switch_of(leaf)] : by_host[host_of(leaf)];
      if (!done.insert(&leaves).second) continue;
      std::string title =
          switched ? fmt::format("PCIe switch {}", switch_of(leaf)) : fmt::format("host bridge {}", host_of(leaf));
      if (!switched && !is_shared(leaves)) title.clear();
      groups.push_back({std::move(title), leaves});
    }
    return groups;
  }

  void tree(const std::vector<Group>& groups, const IndexSet& numa_cores) {
    for (size_t i = 0; i < groups.size(); ++i) {
      const auto& group = groups[i];
      const bool last_group = i + 1 == groups.size();
      std::string indent;
      if (!group.title.empty()) {
        boxed(line(width_ - 4).add(last_group ? g_.last : g_.branch, Ink::kDim).add(group.title, Ink::kCyan));
        indent = last_group ? g_.gap : g_.pipe;
      }
      for (size_t k = 0; k < group.leaves.size(); ++k) {
        const bool last = k + 1 == group.leaves.size() && (last_group || !group.title.empty());
        const auto connector =
            group.title.empty() ? (last ? g_.long_last : g_.long_branch) : (last ? g_.last : g_.branch);
        auto l = line(width_ - 4);
        l.add(indent + connector, Ink::kDim);
        leaf(l, group.leaves[k], numa_cores);
        boxed(l);
      }
    }
  }

  void leaf(Line& l, const Leaf& leaf, const IndexSet& numa_cores) const {
    size_t column = 6;
    const auto cell = [&](const std::string& text, size_t columns, Ink ink = Ink::kPlain) {
      if (columns == 0) return;
      l.add(text, ink).pad_to(column += columns + 2);
    };
    if (!leaf.is_gpu) {
      const auto& nic = node_.nics[leaf.index];
      cell(nic_name(nic), name_columns_);
      cell(nic.kind, type_columns_, Ink::kDim);
      cell("", use_columns_);
      cell(nic.pci, pci_columns_, Ink::kDim);
      return;
    }
    const auto& gpu = node_.gpus[leaf.index];
    const auto [use, ink] = use_of(leaf.index);
    cell(gpu_name(leaf.index), name_columns_, Ink::kBold);
    cell(gpu.type, type_columns_);
    cell(use, use_columns_, ink);
    cell(pci_of(gpu), pci_columns_, Ink::kDim);
    cell(memory_of(gpu), memory_columns_);
    const auto near = near_set(gpu);
    if (!near.empty() && !(near == numa_cores)) l.add(fmt::format("near cores {}  ", near.text()));
    l.add(gpu.model, Ink::kDim);
  }

  static IndexSet near_set(const Gpu& gpu) {
    IndexSet near;
    for (const auto c : gpu.near_cores) near.insert(c);
    return near;
  }

  // --- tables ---
  using Word = std::function<std::string(uint32_t, uint32_t)>;

  void table(const std::string& title, const std::vector<std::string>& heads, const Word& word) {
    size_t cell = 4;
    for (const auto& h : heads) cell = std::max(cell, h.size());
    const size_t first = gpu_label(static_cast<uint32_t>(node_.gpus.size() - 1)).size() + 2;
    const size_t per_block = std::max<size_t>(1, (width_ - first) / (cell + 1));
    for (size_t from = 0; from < heads.size(); from += per_block) {
      const size_t to = std::min(heads.size(), from + per_block);
      out_ += "\n";
      if (from == 0) put(line(width_).add(title, Ink::kBold));
      auto head = line(width_);
      head.pad_to(first);
      for (size_t c = from; c < to; ++c) head.add(fmt::format("{:<{}}", heads[c], cell + 1), Ink::kDim);
      put(head);
      for (uint32_t r = 0; r < node_.gpus.size(); ++r) {
        auto row = line(width_);
        row.add(gpu_label(r), Ink::kDim).pad_to(first);
        for (size_t c = from; c < to; ++c) add_word(row, word(r, static_cast<uint32_t>(c)), cell);
        put(row);
      }
    }
  }

  void add_word(Line& row, const std::string& word, size_t cell) {
    words_.insert(word);
    const bool linked = word.starts_with("NV") || word == "XGMI";
    row.add(word, linked ? Ink::kGreen : word == "PIX" ? Ink::kCyan : word == "X" ? Ink::kDim : Ink::kPlain);
    row.add(std::string(cell + 1 - std::min(cell + 1, word.size()), ' '));
  }

  static std::string gpu_label(uint32_t i) { return fmt::format("GPU{}", i); }

  void gpu_table() {
    const auto n = static_cast<uint32_t>(node_.gpus.size());
    if (n < 2) return;
    std::vector<std::string> heads;
    for (uint32_t i = 0; i < n; ++i) heads.push_back(gpu_label(i));
    const Word word = [this](uint32_t a, uint32_t b) { return link_word(node_, a, b); };
    // A matrix too wide to read that says one thing only is said in one line.
    const bool wide = n * 6 + 8 > width_;
    if (wide && all_equal(word, n)) {
      words_.insert(word(0, 1));
      out_ += "\n";
      put(line(width_).add("GPU to GPU: ", Ink::kBold).add(fmt::format("{} between any two of the {}", word(0, 1), n)));
      return;
    }
    table("GPU to GPU", heads, word);
  }

  static bool all_equal(const Word& word, uint32_t n) {
    const auto first = word(0, 1);
    for (uint32_t a = 0; a < n; ++a) {
      for (uint32_t b = 0; b < n; ++b) {
        if (a != b && word(a, b) != first) return false;
      }
    }
    return true;
  }

  void nic_table() {
    if (node_.gpus.empty() || node_.nics.empty()) return;
    std::vector<std::string> heads;
    for (const auto& nic : node_.nics) heads.push_back(nic.name);
    table("GPU to NIC", heads, [this](uint32_t gpu, uint32_t nic) { return nic_word(node_, gpu, nic); });
  }

  // What the words of the tables mean; wrapped to the width.
  void legend() {
    std::vector<std::string> entries;
    if (std::any_of(words_.begin(), words_.end(), [](const auto& w) { return w.starts_with("NV"); })) {
      entries.emplace_back("NV# = that many NVLinks");
    }
    for (const auto& [word, meaning] : kMeanings) {
      if (words_.contains(word)) entries.push_back(fmt::format("{} = {}", word, meaning));
    }
    if (!entries.empty()) out_ += "\n";
    std::string text;
    for (const auto& entry : entries) {
      if (!text.empty() && text.size() + entry.size() + 3 > width_) {
        put(line(width_).add(text, Ink::kDim));
        text.clear();
      }
      text += (text.empty() ? "" : "   ") + entry;
    }
    if (!text.empty()) put(line(width_).add(text, Ink::kDim));
  }
};

}  // namespace

std::string draw(const NodeTopology& node, const std::vector<GpuUse>& uses, int width, bool colour, bool unicode) {
  const auto columns = static_cast<size_t>(std::clamp(width, 60, 400));
  return Drawing(node, uses, columns, colour, unicode).run();
}

}  // namespace gw::topo
