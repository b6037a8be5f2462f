// How full a cluster gets when tasks that share GPUs arrive one after the other and none leaves: `openb NODES.csv
// TASKS.csv [SEEDS]`, with the node and task lists of Alibaba's cluster-trace-gpu-v2023. The tasks of the list, and
// then more drawn from it at random, until they ask for 130 % of the GPUs; shuffled; each is placed by lib/sched on
// arrival or refused. Source of the method: Weng et al., "Beware of Fragmentation", USENIX ATC 2023. Prints a line a
// seed: GPUs allocated at the end, and fragmented when 100 % had arrived, both in % of all GPUs.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "model/topology.h"
#include "sched/place/fragmentation.h"
#include "sched/place/place.h"
#include "sched/view/view.h"

namespace {

using namespace gw;

/// One thousandth of a core would be too fine for a set of cores; tasks are rounded up to this.
constexpr uint32_t kMilliPerUnit = 100;

using Row = std::map<std::string, std::string>;

std::vector<std::string> split(const std::string& line, char separator) {
  std::vector<std::string> out;
  std::stringstream in(line);
  for (std::string cell; std::getline(in, cell, separator);) out.push_back(cell);
  return out;
}

std::vector<Row> read_csv(const char* path) {
  std::ifstream in(path);
  if (!in) throw std::runtime_error(std::string("cannot read ") + path);
  std::string line;
  std::getline(in, line);
  const std::vector<std::string> names = split(line, ',');
  std::vector<Row> out;
  while (std::getline(in, line)) {
    const std::vector<std::string> cells = split(line, ',');
    Row row;
    for (size_t i = 0; i < names.size() && i < cells.size(); ++i) row[names[i]] = cells[i];
    out.push_back(row);
  }
  return out;
}

uint32_t number(const Row& row, const std::string& name) {
  const auto it = row.find(name);
  return it == row.end() || it->second.empty() ? 0 : static_cast<uint32_t>(std::stoul(it->second));
}

struct Task {
  model::Request request;
  uint64_t gpu_milli = 0;
};

Task task_of(const Row& row) {
  Task t;
  model::Request& r = t.request;
  r.nodes_given = true;
  r.cpus_per_task = (number(row, "cpu_milli") + kMilliPerUnit - 1) / kMilliPerUnit;
  r.mem_per_node_mb = number(row, "memory_mib");
  r.mem_none = r.mem_per_node_mb == 0;
  r.gpus = number(row, "num_gpu");
  if (r.gpus > 0) r.gpu_counting = model::GpuCounting::kPerNode;
  const uint32_t milli = number(row, "gpu_milli");
  if (r.gpus == 1 && milli < model::kWholeGpu && milli > 0) r.gpu_milli = milli;
  if (const auto spec = row.find("gpu_spec"); spec != row.end())
    for (const std::string& model : split(spec->second, '|')) r.features.push_back({model});
  t.gpu_milli = uint64_t{r.gpus} * r.gpu_milli;
  return t;
}

class Cluster {
 public:
  explicit Cluster(const std::vector<Row>& nodes) {
    sched::PartitionFacts p;
    p.name = "main";
    p.allow_shared_gpus = true;
    std::map<std::string, std::shared_ptr<const model::NodeTopology>> makes;
    uint32_t id = 0;
    for (const Row& row : nodes) {
      const uint32_t units = number(row, "cpu_milli") / kMilliPerUnit, memory = number(row, "memory_mib");
      auto& topology = makes[row.at("cpu_milli") + row.at("memory_mib") + row.at("gpu") + row.at("model")];
      if (!topology)
        topology = std::make_shared<const model::NodeTopology>(
            model::flat_topology(units, memory, number(row, "gpu"), row.at("model")));
      sched::NodeFacts f;
      f.id = base::NodeId(++id);
      f.name = row.at("sn");
      f.topology = topology;
      f.features = {row.at("model")};
      f.cores = base::IndexSet::first(units);
      f.gpus = base::IndexSet::first(number(row, "gpu"));
      f.mem_mb = memory;
      f.usable = true;
      gpus += number(row, "gpu");
      p.nodes.push_back(f.name);
      capacity.set_node(f);
    }
    capacity.set_partition(p);
  }
  sched::Capacity capacity;
  uint64_t gpus = 0;
};

struct Result {
  double allocated = 0, fragmented = 0;
};

Result run(const std::vector<Row>& nodes, const std::vector<Task>& list, const sched::Workload& workload,
           uint64_t seed) {
  Cluster cluster(nodes);
  std::mt19937_64 random(seed);
  std::vector<Task> tasks = list;
  uint64_t demand = 0;
  for (const Task& t : tasks) demand += t.gpu_milli;
  const uint64_t all = cluster.gpus * model::kWholeGpu;
  while (demand * 10 < all * 13) {
    tasks.push_back(list[random() % list.size()]);
    demand += tasks.back().gpu_milli;
  }
  std::shuffle(tasks.begin(), tasks.end(), random);
  sched::PlacementOptions options;
  options.workload = &workload;
  options.candidates = 0;
  const sched::PartitionFacts& partition = *cluster.capacity.partition("main");
  Result out;
  uint64_t arrived = 0, given = 0;
  uint32_t id = 0;
  for (const Task& t : tasks) {
    auto p = sched::place(cluster.capacity, partition, t.request, options);
    if (p.allocation) {
      (void)cluster.capacity.allocate(base::JobId(++id), "main", *p.allocation, {}, base::Time::never());
      given += t.gpu_milli;
    }
    const bool was_below = arrived < all;
    arrived += t.gpu_milli;
    if (was_below && arrived >= all)
      out.fragmented = 100 * sched::fragmentation(cluster.capacity, "main", workload).fragmented_gpus /
                       static_cast<double>(cluster.gpus);
  }
  out.allocated = 100.0 * static_cast<double>(given) / static_cast<double>(all);
  if (const auto good = cluster.capacity.audit(); !good) std::fprintf(stderr, "%s\n", good.error().text().c_str());
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: openb NODES.csv TASKS.csv [SEEDS]\n");
    return 2;
  }
  const std::vector<Row> nodes = read_csv(argv[1]);
  std::vector<Task> list;
  std::vector<sched::Workload::Entry> shapes;
  for (const Row& row : read_csv(argv[2])) {
    list.push_back(task_of(row));
    const sched::TaskShape shape = sched::Workload::shape_of(list.back().request);
    const auto it = std::find_if(shapes.begin(), shapes.end(), [&](const auto& e) { return e.shape == shape; });
    if (it == shapes.end())
      shapes.push_back({shape, 1});
    else
      ++it->count;
  }
  const sched::Workload workload = sched::Workload::exact(shapes);
  const int seeds = argc > 3 ? std::stoi(argv[3]) : 10;
  Result mean;
  for (int seed = 0; seed < seeds; ++seed) {
    const Result r = run(nodes, list, workload, static_cast<uint64_t>(seed));
    std::printf("openb seed=%d allocated=%.2f%% fragmented=%.2f%%\n", seed, r.allocated, r.fragmented);
    std::fflush(stdout);
    mean.allocated += r.allocated / seeds;
    mean.fragmented += r.fragmented / seeds;
  }
  std::printf("openb mean allocated=%.2f%% fragmented=%.2f%% seeds=%d\n", mean.allocated, mean.fragmented, seeds);
  return 0;
}
