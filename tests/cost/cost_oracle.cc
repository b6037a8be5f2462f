// Grows every field of every message that clients and nodes send, one at a time, and holds what the controller takes
// for it against what is allowed (verdict.h). `cost_oracle WORD` grows those with this word in their name, and shows
// figures; `cost_oracle --part K/N` grows every Nth field from the Kth on, so that N programs share the work.
#include <algorithm>
#include <cstdio>
#include <map>
#include <string>

#include "tests/cost/measure.h"
#include "tests/cost/verdict.h"

namespace gw::cost {
namespace {

constexpr size_t kMostBytes = 16 << 20;    // of a message
constexpr uint64_t kMostThings = 100'000;  // that a message can name: larger numbers stand for no more

void show(const Figures& f) {
  std::printf("    %10llu: %9llu bytes, %12llu units, told %9llu, pass %10llu, memory %9lld, rows %8lld  %s\n",
              static_cast<unsigned long long>(f.size), static_cast<unsigned long long>(f.bytes),
              static_cast<unsigned long long>(f.work), static_cast<unsigned long long>(f.told),
              static_cast<unsigned long long>(f.pass), static_cast<long long>(f.held), static_cast<long long>(f.rows),
              f.is_taken ? "taken" : f.refusal.c_str());
}

class Oracle {
 public:
  Oracle(std::string word, unsigned part, unsigned parts) : word_(std::move(word)), part_(part), parts_(parts) {}

  void ask_all(const std::string& type, const wire::MessageBounds& bounds, const std::vector<Example>& examples) {
    for (const schema::Field& f : messages_.at(type)) {
      if (f.type != schema::Type::kMessage) continue;
      const Example* example = nullptr;
      for (const Example& e : examples)
        if (e.kind == f.name) example = &e;
      if (example != nullptr)
        ask(type, bounds, *example);
      else
        fault(type + "." + f.name + ": tests/cost/examples.cc has no example of it: add one that is taken");
    }
  }
  int finish() const {
    std::printf("%zu kinds of messages, %zu growths, %zu measurements; %zu faults\n", kinds_, growths_, measurements_,
                faults_);
    return faults_ == 0 ? 0 : 1;
  }

 private:
  std::string word_;
  unsigned part_, parts_;  // this program's fields: each parts_th one, from the part_th on
  unsigned fields_ = 0;    // seen so far
  std::string last_field_;
  schema::Messages messages_ = schema::messages();
  CostWorld world_;
  Pools pools_ = world_.pools();
  size_t kinds_ = 0, growths_ = 0, measurements_ = 0, faults_ = 0;

 public:
  CostWorld& world() { return world_; }

 private:
  void fault(const std::string& text) {
    ++faults_;
    std::printf("%s\n", text.c_str());
    std::fflush(stdout);
  }

  void ask(const std::string& type, const wire::MessageBounds& bounds, const Example& example) {
    ++kinds_;
    const Figures usual = measure(world_, example, example.bytes);
    if (!usual.fault.empty() || !usual.is_taken)
      return fault(example.kind + ": its example is not taken: " + usual.fault + usual.refusal);
    const Base base{type, &bounds, schema::decode(messages_, type, example.bytes)};
    std::map<std::string, Figures> unknown;  // the smallest of each field's first manner, whose name nobody knows
    for (const Growth& g : growths(messages_, pools_, base, example.kind))
      if (g.field.find(word_) != std::string::npos && is_mine(g.field)) grow(example, usual, g, unknown);
    if (example.kind.starts_with("list_")) grow_gang(example);
  }

  /// The manners of one field, which are compared with each other, are grown by one program.
  bool is_mine(const std::string& field) {
    if (field != last_field_) ++fields_;
    last_field_ = field;
    return fields_ % parts_ == part_ % parts_;
  }

  /// What a list takes while one job grows over more and more nodes.
  void grow_gang(Example example) {
    const std::string name = example.kind + " while a gang grows";
    if (name.find(word_) == std::string::npos || !is_mine(name)) return;
    ++growths_;
    std::vector<Figures> series;
    std::string why;
    for (const uint32_t nodes : {3U, 24U, 48U, 96U, 192U}) {
      example.before = [nodes](CostWorld& world) { world.start_gang(nodes); };
      ++measurements_;
      Figures& f = series.emplace_back(measure(world_, example, example.bytes));
      f.size = f.entries = nodes;
      why = fault_of(name, series, series.front());
      if (!why.empty()) break;
    }
    report(name, why, series);
  }

  void report(const std::string& name, const std::string& why, const std::vector<Figures>& series) {
    if (!why.empty()) fault(name + ": " + why);
    if (why.empty() && word_.empty()) return;
    if (why.empty()) std::printf("%s\n", name.c_str());
    for (const Figures& f : series) show(f);
  }

  void grow(const Example& example, const Figures& usual, const Growth& growth,
            std::map<std::string, Figures>& unknown) {
    ++growths_;
    std::vector<Figures> series;
    std::string why;
    Example way = example;
    way.has_pass = example.has_pass && !is_of_part(growth.field);
    for (const uint64_t size : growth.sizes) {
      const std::string bytes = growth.bytes(size);
      if (bytes.size() > kMostBytes) break;
      ++measurements_;
      Figures& f = series.emplace_back(measure(world_, way, bytes));
      f.size = size;
      f.entries = growth.is_list ? std::min<uint64_t>(size, kMostThings)
                                 : 1 + static_cast<uint64_t>(std::count(bytes.begin(), bytes.end(), ','));
      const Figures& other = unknown.try_emplace(growth.field, f).first->second;
      why = fault_of(growth.field, series, usual);
      if (!why.empty() || (series.size() == 1 && growth.is_known && means_nothing(f, other))) break;
    }
    series.insert(series.begin(), usual);
    report(growth.field + ": " + growth.manner, why, series);
  }

  /// What components and first steps say the scheduler reads as it reads what jobs say.
  static bool is_of_part(const std::string& field) {
    return field.starts_with("submit.components.") || field.starts_with("submit.first_step.");
  }

  /// This name here is as good as one that nobody knows.
  static bool means_nothing(const Figures& f, const Figures& unknown) {
    return f.is_taken == unknown.is_taken && f.refusal == unknown.refusal && (!f.is_taken || f.told == unknown.told);
  }
};

}  // namespace
}  // namespace gw::cost

int main(int argc, char** argv) {
  std::string word = argc > 1 ? argv[1] : "";
  unsigned part = 1, parts = 1;
  if (word == "--part") {
    word.clear();
    if (argc != 3 || std::sscanf(argv[2], "%u/%u", &part, &parts) != 2 || part == 0 || part > parts) {
      std::fputs("cost_oracle [WORD | --part K/N]\n", stderr);
      return 2;
    }
  }
  gw::cost::Oracle oracle(word, part, parts);
  oracle.ask_all("ApiRequest", gw::wire::kApiRequestBounds, requests(oracle.world()));
  oracle.ask_all("NodeToController", gw::wire::kNodeToControllerBounds, node_messages(oracle.world()));
  return oracle.finish();
}
