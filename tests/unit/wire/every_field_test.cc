// The conversions lose no field in silence: every field that a message has by its descriptor is filled, goes to the
// model and back, and must be what it was. What does not come back on purpose stands below with the reason.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <charconv>

#include "tests/schema/tree.h"
#include "wire/convert.h"

namespace gw::wire {
namespace {

using schema::Field;
using schema::Messages;
using schema::Tree;
using schema::Type;
using schema::Value;

/// By "Message.field". A field that the model keeps does not belong here: convert it.
const std::map<std::string, std::string> kLeftOut = {
    {"Placed.lease_over_us", "of versions without a contract: their rows are read, and none is written"},
    {"StateMark.next_job", "between nodes and the controller only; a run does not keep it"},
    {"Suspension.detail", "shown only: made when somebody asks"},
    {"Waiting.detail", "shown only: made when somebody asks"},
    {"Waiting.blockers", "shown only: made when somebody asks"},
    {"Waiting.priority", "shown only: made when somebody asks"},
    {"Waiting.start_range", "shown only: a forecast"},
    {"JobStatus.tasks", "shown only: a row of its own holds them"},
    {"Partition.is_gone", "of the controller's table of partitions, not of the partition"},
    {"Partition.is_made", "of the controller's table of partitions, not of the partition"},
    {"Partition.origins", "of the controller's table of partitions, not of the partition"},
    {"Partition.total_cpus", "shown only: counted when somebody asks"},
    {"Partition.total_nodes", "shown only: counted when somebody asks"},
    {"Partition.total_gpus", "shown only: counted when somebody asks"},
    {"Partition.fragmentation", "shown only: counted when somebody asks"},
    {"Reservation.hidden_jobs", "shown only: counted when somebody asks"},
    {"Reservation.is_active", "shown only: worked out when somebody asks"},
    {"Reservation.from_us", "shown only: worked out when somebody asks"},
    {"Reservation.to_us", "shown only: worked out when somebody asks"},
    {"Reservation.jobs", "shown only: looked up when somebody asks"},
    {"Reservation.core_count", "shown only: counted when somebody asks"},
    {"Reservation.gpu_count", "shown only: counted when somebody asks"},
    {"StepRequest.cyclic", "of versions before planes: told to them where it says the same"},
    {"Step.node_list", "stored only, in place of the nodes (stored_step)"},
};

/// Numbers of which only some have a meaning.
const std::map<std::string, uint64_t> kNumbers = {
    {"Request.gpu_counting", 3},  {"Request.fit", 2},
    {"GpuUse.busy_us", 5},        {"GpuUse.idle_us", 6},
    {"GpuUse.most_busy", 70},     {"Request.gpu_milli", 250},
    {"NodeShare.gpu_milli", 333}, {"LocalityStep.level", 5},
    {"JobSpec.warn_signo", 10},   {"DependencyTerm.kind", 2},
    {"JobSpec.on_preempt", 2},    {"JobSpec.kind", 2},
    {"Waiting.reason", 2},        {"Placed.program", 2},
    {"Outcome.reason", 3},        {"Partition.state", 2},
    {"Partition.fit", 3},         {"TaskRange.step", 1},
    {"Partition.consolidate", 1}, {"Outcome.end", static_cast<uint64_t>(model::JobState::kTimeout)},
};

/// Fills messages: no two numbers, texts or entries of a list are the same, but flags and what stands above.
class Filler {
 public:
  explicit Filler(const Messages& messages) : messages_(messages) {}
  /// By "Message.field": these stay away.
  std::set<std::string> skipped;
  std::map<std::string, uint64_t> numbers = kNumbers;

  Tree filled(const std::string& type) {
    Tree tree;
    for (const Field& f : messages_.at(type)) {
      const std::string path = type + "." + f.name;
      if (skipped.contains(path)) continue;
      // Two entries; one of a map, whose order is anybody's guess.
      const int entries = f.is_list && !f.message.ends_with("Entry") ? 2 : 1;
      for (int i = 0; i < entries; ++i) tree.fields[f.number].push_back(value(f, path));
    }
    return tree;
  }

 private:
  Value value(const Field& f, const std::string& path) {
    ++last_;
    if (f.type == Type::kMessage) return schema::message_value(filled(f.message));
    if (f.type == Type::kBool) return schema::number_value(1);
    if (path == "WaitPart.cause") return schema::number_value(++cause_);  // each once, in their order
    if (const auto chosen = numbers.find(path); chosen != numbers.end()) return schema::number_value(chosen->second);
    if (f.type != Type::kString && f.type != Type::kBytes) return schema::number_value(last_);
    if (path == "NodeShare.cores" || path == "NodeShare.gpus") return schema::text_value(std::to_string(last_));
    return schema::text_value("n" + std::to_string(last_));
  }

  const Messages& messages_;
  uint64_t cause_ = 0;
  uint64_t last_ = 1000;  // whole GPUs have 1000 thousandths: no number is that one
};

/// Adds the fields in which the two differ, by "Message.field".
void compare(const Messages& messages, const std::string& type, const Tree& sent, const Tree& came_back,
             std::set<std::string>& lost) {
  for (const Field& f : messages.at(type)) {
    const auto a = sent.fields.find(f.number), b = came_back.fields.find(f.number);
    if (a == sent.fields.end() && b == came_back.fields.end()) continue;
    const bool is_there = a != sent.fields.end() && b != came_back.fields.end() && a->second.size() == b->second.size();
    if (!is_there) {
      lost.insert(type + "." + f.name);
      continue;
    }
    for (size_t i = 0; i < a->second.size(); ++i) {
      const Value &x = a->second[i], &y = b->second[i];
      if (f.type == Type::kMessage)
        compare(messages, f.message, x.inside.front(), y.inside.front(), lost);
      else if (x.number != y.number || x.text != y.text)
        lost.insert(type + "." + f.name);
    }
  }
}

/// Node "n7" has the id 7.
base::NodeId id_of(std::string_view name) {
  uint32_t id = 0;
  std::from_chars(name.data() + 1, name.data() + name.size(), id);
  return base::NodeId(id);
}
std::string name_of(base::NodeId id) { return "n" + std::to_string(id.value); }

template <typename T>
base::Result<T> as_result(base::Result<T> r) {
  return r;
}
template <typename T>
base::Result<T> as_result(T value) {
  return value;
}

class EveryField : public testing::Test {
 protected:
  /// Sends a filled message there and back; what differs, the message with it, is in `lost_`.
  template <typename Message, typename From, typename To>
  void send(const std::string& type, Filler& filler, From from, To to) {
    const Tree sent = filler.filled(type);
    Message message;
    ASSERT_TRUE(message.ParseFromString(schema::encode(messages_, type, sent))) << type;
    const auto value = as_result(from(message));
    ASSERT_TRUE(value) << type << ": " << value.error().what;
    compare(messages_, type, sent, schema::decode(messages_, type, to(*value).SerializeAsString()), lost_);
  }
  template <typename Message>
  void send(const std::string& type) {
    Filler filler(messages_);
    filler.numbers["GpuBudget.period"] = static_cast<uint64_t>(base::Period::kMonth);  // others are no periods
    send<Message>(
        type, filler, [](const Message& m) { return from_wire(m); }, [](const auto& value) { return to_wire(value); });
  }
  /// A job in one of its phases; the others stay away, since a job is in one.
  void send_job(model::JobState state, const std::string& phase) {
    Filler filler(messages_);
    for (const char* other : {"waiting", "placed", "ended"})
      if (phase != other) filler.skipped.insert(std::string("JobStatus.") + other);
    filler.numbers["JobStatus.state"] = static_cast<uint64_t>(state);
    if (state == model::JobState{}) filler.skipped.insert("JobStatus.state");  // 0 is not written
    send<Job>(
        "Job", filler, [](const Job& j) { return from_wire(j, id_of); },
        [](const model::Job& j) { return to_wire(j, name_of); });
  }
  /// The messages and their parts that differ are those that are left out on purpose, no more and no fewer.
  void expect_left_out(const std::set<std::string>& messages) const {
    std::set<std::string> expected;
    for (const auto& [field, reason] : kLeftOut)
      if (messages.contains(field.substr(0, field.find('.')))) expected.insert(field);
    EXPECT_EQ(lost_, expected) << "a field of a message does not come back from the model: convert it in "
                                  "lib/wire/convert*.cc or give it a row in wire/job_attributes.h";
  }

  const Messages messages_ = schema::messages();
  std::set<std::string> lost_;
};

TEST_F(EveryField, OfAJobSpecComesBack) {
  send<JobSpec>("JobSpec");
  expect_left_out({"JobSpec", "Request", "Launch"});
}

TEST_F(EveryField, OfAJobInEachOfItsPhasesComesBack) {
  send_job(model::JobState::kPending, "waiting");
  send_job(model::JobState::kCompleting, "placed");
  send_job(model::JobState::kTimeout, "ended");
  expect_left_out({"JobSpec", "JobStatus", "Waiting", "Placed", "Ended", "Suspension", "StateMark"});
}

TEST_F(EveryField, OfWhatElseIsStoredComesBack) {
  send<Partition>("Partition");
  send<Reservation>("Reservation");
  send<Qos>("Qos");
  send<Step>("Step");
  expect_left_out({"Partition", "Reservation", "Qos", "Step", "StepRequest"});
}

TEST_F(EveryField, ThatIsLeftOutIsThere) {
  for (const auto& [path, reason] : kLeftOut) {
    const size_t dot = path.find('.');
    ASSERT_TRUE(messages_.contains(path.substr(0, dot))) << path;
    EXPECT_THAT(messages_.at(path.substr(0, dot)),
                testing::Contains(testing::Field(&Field::name, path.substr(dot + 1))));
  }
}

}  // namespace
}  // namespace gw::wire
