// Messages to the model: what is accepted survives the way back and forth; the first byte says which message it is.
#include <memory>

#include "tests/fuzz/fuzz.h"
#include "wire/convert.h"

namespace gw::fuzz {
namespace {

template <typename T>
bool is_sound(const base::Result<T>& result) {
  if (!result) check_error(result.error());
  return result.has_value();
}

template <typename Message>
bool parse(Message& message, std::string_view bytes) {
  return message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

template <typename Message>
bool round_trip(std::string_view bytes) {
  Message message;
  if (!parse(message, bytes)) return false;
  const auto value = wire::from_wire(message);
  if (!is_sound(value)) return false;
  const auto again = wire::from_wire(wire::to_wire(*value));
  FUZZ_CHECK(again.has_value());
  FUZZ_CHECK(*again == *value);
  return true;
}

bool request(std::string_view bytes) {
  wire::Request message;
  if (!parse(message, bytes)) return false;
  auto request = wire::from_wire(message);
  if (!is_sound(request)) return false;
  const base::Status fits = model::normalise(*request);
  if (!fits) check_error(fits.error());
  return fits && round_trip<wire::Request>(bytes);
}

bool share(std::string_view bytes) {
  wire::NodeShare message;
  if (!parse(message, bytes)) return false;
  const auto value = wire::from_wire(message);
  return is_sound(value) && wire::from_wire(wire::to_wire(*value)) == *value;
}

bool topology(std::string_view bytes) {
  wire::NodeTopology message;
  if (parse(message, bytes))
    if (const auto t = wire::from_wire(message)) FUZZ_CHECK(model::validate(*t).has_value());
  return round_trip<wire::NodeTopology>(bytes);
}

bool job(std::string_view bytes) {
  wire::Job message;
  if (parse(message, bytes))
    if (const auto value = wire::from_wire(message)) FUZZ_CHECK(value->is_consistent());
  return round_trip<wire::Job>(bytes);
}

bool node(std::string_view bytes) {
  wire::Node message;
  if (!parse(message, bytes)) return false;
  model::Node value, again;
  const base::Status taken = wire::stored_from_wire(message, value);
  if (!taken) check_error(taken.error());
  if (!taken) return false;
  FUZZ_CHECK(wire::stored_from_wire(wire::to_wire(value), again).has_value());
  return true;
}

bool error(std::string_view bytes) {
  wire::Error message;
  if (!parse(message, bytes)) return false;
  FUZZ_CHECK(!wire::from_wire(message).what.empty());
  return true;
}

constexpr bool (*kKinds[])(std::string_view) = {request,
                                                share,
                                                topology,
                                                job,
                                                node,
                                                error,
                                                round_trip<wire::JobSpec>,
                                                round_trip<wire::Outcome>,
                                                round_trip<wire::Partition>};

bool run(std::string_view input) {
  Input in(input);
  const uint8_t kind = in.u8();
  return kKinds[kind % std::size(kKinds)](in.rest());
}

template <typename Message>
std::string made(char kind, const Message& message) {
  return kind + message.SerializeAsString();
}

model::Request some_request() {
  model::Request r;
  r.min_nodes = r.max_nodes = 2;
  r.nodes_given = true;
  r.gpu_counting = model::GpuCounting::kPerNode;
  r.gpus = 8;
  r.gpu_type = "h100";
  r.features = {{"ib", "nvlink"}, {"pcie"}};
  r.nodelist = {"n1"};
  r.mem_per_node_mb = 64'000;
  return r;
}

model::NodeShare some_share(const std::string& name) {
  model::NodeShare s;
  s.name = name;
  s.tasks = 4;
  s.cpus = 8;
  s.cores = base::IndexSet::first(8);
  s.gpus = base::IndexSet::of({0, 2, 5});
  s.mem_mb = 1024;
  return s;
}

model::Job some_job(model::JobState state) {
  model::Job j;
  j.id = base::JobId(7);
  j.spec.name = "train";
  j.spec.request = some_request();
  j.spec.launch.limits = model::Limits({{"NOFILE", 1024}});
  j.state = state;
  model::Placed placed;
  placed.allocation.shares = {some_share("n1"), some_share("n2")};
  if (state == model::JobState::kRunning) j.phase = placed;
  model::Ended ended;
  ended.outcome.end = state;
  if (state == model::JobState::kFailed) j.phase = ended;
  return j;
}

std::vector<std::string> made_inputs() {
  model::NodeTopology t = model::flat_topology(16, 64'000, 4, "h100");
  t.link_name = "NVLink";
  t.gpu_links.assign(4, std::vector<uint64_t>(4, 0));
  t.gpu_links[0][1] = t.gpu_links[1][0] = 25'000;
  model::Node n;
  n.topology = std::make_shared<const model::NodeTopology>(t);
  model::Partition p;
  p.name = "main";
  p.nodes = {"n1", "n2"};
  wire::Node stored = wire::to_wire(n);
  std::vector<std::string> all = {made('\0', wire::to_wire(some_request())),
                                  made('\1', wire::to_wire(some_share("n1"))),
                                  made('\2', wire::to_wire(t)),
                                  made('\4', stored),
                                  made('\5', wire::to_wire(base::Error{base::ErrorCode::kDenied, "no", "yes"})),
                                  made('\7', wire::to_wire(model::Outcome{})),
                                  made('\10', wire::to_wire(p))};
  for (const auto state : {model::JobState::kPending, model::JobState::kRunning, model::JobState::kFailed})
    all.push_back(made('\3', wire::to_wire(some_job(state))));
  all.push_back(made('\6', wire::to_wire(some_job(model::JobState::kPending).spec)));
  return all;
}

GW_FUZZ_TARGET("message", run, made_inputs);

}  // namespace
}  // namespace gw::fuzz
