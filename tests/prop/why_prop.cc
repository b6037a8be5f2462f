// What `gangway why` says of changes holds once they are made: over random clusters and queues each command that it
// prints for a start at once is read back from its words, is accepted, and starts the job; and where nothing that was
// tried helps, no single change of the kinds that are offered starts it. Invariant: a scene is built anew for each
// change that is made, from the same draws, so that no change is seen by the next one.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/text.h"
#include "client/why/why_text.h"
#include "cmds/gcontrol/control_verbs.h"
#include "model/outlook.h"
#include "tests/unit/ctld_core/world.h"

namespace gw {
namespace {

using base::JobId;
using ctld::testing::World;
using Words = std::vector<std::string>;

constexpr uint32_t kNodes = 3, kAlice = 1000;

uint32_t draw(uint32_t first, uint32_t last) { return *rc::gen::inRange<uint32_t>(first, last + 1); }
bool one_in(uint32_t n) { return draw(1, n) == 1; }
template <typename T>
T one_of(std::initializer_list<T> of) {
  return *(of.begin() + draw(0, static_cast<uint32_t>(of.size()) - 1));
}

/// A cluster and what was submitted to it.
struct Scene {
  ctld::Settings settings;
  std::vector<Words> made;  ///< Partitions and reservations, as gcontrol makes them.
  std::vector<wire::ApiRequest> jobs;
};

void ask_for_gpus(model::Request& r) {
  r.gpu_counting = one_of({model::GpuCounting::kPerNode, model::GpuCounting::kPerJob, model::GpuCounting::kPerTask});
  r.gpus = r.gpu_counting == model::GpuCounting::kPerTask ? draw(1, 3) : draw(1, 8);
  if (r.gpu_counting == model::GpuCounting::kPerJob) r.gpus = draw(1, 14);
  if (one_in(4)) r.gpu_type = one_of<std::string>({"h100", "a100"});
}

model::Request random_request() {
  model::Request r;
  if (one_in(2)) {
    r.nodes_given = true;
    r.min_nodes = draw(1, 3);
    r.max_nodes = one_in(3) ? draw(r.min_nodes, 3) : r.min_nodes;
  }
  if (one_in(2) || !r.nodes_given) {
    r.tasks_given = true;
    r.tasks = draw(r.min_nodes, 12);
  }
  r.cpus_per_task = one_of({1u, 2u, 4u, 12u});
  if (!one_in(3)) ask_for_gpus(r);
  if (one_in(3)) r.mem_per_node_mb = draw(1, 64) * 1'000;
  if (one_in(4)) r.features = *model::parse_features(one_of<std::string>({"fast", "ib", "fast&ib", "fast|ib", "none"}));
  if (one_in(5)) r.nodelist = {"n" + std::to_string(draw(0, kNodes - 1))};
  if (one_in(5)) r.exclude = {"n" + std::to_string(draw(0, kNodes - 1))};
  r.exclusive = one_in(6);
  r.contiguous = one_in(6);
  return r;
}

/// Some are arrays, or have a second component.
wire::ApiRequest random_job() {
  wire::ApiRequest request = World::submission(random_request());
  wire::SubmitRequest& submit = *request.mutable_submit();
  wire::JobSpec& spec = *submit.mutable_spec();
  spec.set_time_limit_us(base::minutes(one_of({5, 30, 60, 600})).us);
  spec.set_qos(one_of<std::string>({"normal", "normal", "small"}));
  if (one_in(4)) spec.add_partitions("half");
  if (one_in(5)) {
    *submit.add_components() = World::submission(random_request()).submit().spec();
    submit.mutable_components(0)->set_time_limit_us(spec.time_limit_us());
    submit.mutable_components(0)->set_qos(spec.qos());
  } else if (one_in(5)) {
    const auto tasks = model::TaskSet::parse(one_of<std::string>({"1-2", "0,4,5", "3-40:3"}));
    *submit.mutable_array() = wire::to_wire(model::ArrayTasks{*tasks, 0, 0, 0, {}});
  }
  return request;
}

Scene random_scene() {
  Scene scene;
  scene.settings.qos.emplace_back().name = "small";
  scene.settings.qos.back().limit["gpu"] = draw(2, 12) * 1'000;
  if (one_in(2)) scene.settings.qos.back().limit["cpu"] = draw(8, 40);
  if (one_in(2)) scene.settings.qos.back().guaranteed["gpu"] = draw(0, 2) * 1'000;
  scene.made.push_back({"PartitionName=half", "Nodes=n[0-1]", "MaxTime=" + std::to_string(draw(10, 700))});
  const uint32_t jobs = draw(2, 9);
  for (uint32_t i = 0; i < jobs; ++i) scene.jobs.push_back(random_job());
  return scene;
}

/// The job, or of an array its tasks, as far as they have begun.
std::set<JobId> begun(const World& w, JobId of) {
  std::set<JobId> out;
  if (of == JobId()) return out;
  const auto& jobs = w.core->jobs();
  const auto asked = jobs.find(of);
  const bool is_of_array =
      asked != jobs.end() && asked->second.spec.array.has_value() && asked->second.spec.array->job == of;
  for (const auto& [id, job] : jobs) {
    const bool is_meant =
        is_of_array ? job.spec.array && job.spec.array->job == asked->second.spec.array->job : id == of;
    if (is_meant && job.waiting() == nullptr) out.insert(id);
  }
  return out;
}

/// Everything starts that can, and those who are preempted are gone. Has this job started, or one more task of this
/// array, if only for a while?
bool settle(World& w, JobId looked_at = JobId()) {
  bool has_started = false;
  const std::set<JobId> before = begun(w, looked_at);
  for (int round = 0; round < 20; ++round) {
    w.schedule();
    const std::set<JobId> now = begun(w, looked_at);
    has_started |= !std::includes(before.begin(), before.end(), now.begin(), now.end());
    std::vector<std::pair<std::string, JobId>> leaving;
    for (const auto& [id, job] : w.core->jobs())
      if (job.state == model::JobState::kCompleting)
        for (const model::NodeShare& share : job.placed()->allocation.shares) leaving.emplace_back(share.name, id);
    if (leaving.empty()) return has_started;
    for (const auto& [node, id] : leaving) w.done(node, id);
  }
  RC_PRE(false);  // they preempt each other for too long
  return has_started;
}

/// The scene with everything started that can start.
std::unique_ptr<World> build(const Scene& scene) {
  auto w = std::make_unique<World>(kNodes, scene.settings);
  for (size_t i = 0; i < kNodes; ++i) {  // the first has one feature, the second both
    if (i < 2) w->settings.nodes[i].features.emplace_back("fast");
    if (i == 1) w->settings.nodes[i].features.emplace_back("ib");
  }
  w->restart();
  w->connect_all();
  for (const Words& words : scene.made) {
    const auto request = cmds::partition_creation(words);
    RC_ASSERT(request.has_value());
    RC_ASSERT(!w->ask(0, *request).has_error());
  }
  for (const wire::ApiRequest& job : scene.jobs) {
    (void)w->ask(kAlice, job);  // some are refused
    settle(*w);
  }
  return w;
}

/// Of each array the first: a user may ask about so many jobs in a second.
std::vector<JobId> waiting_in(const World& w) {
  std::vector<JobId> out;
  std::set<JobId> arrays;
  for (const auto& [id, job] : w.core->jobs()) {
    if (job.waiting() == nullptr) continue;
    if (!job.spec.array || arrays.insert(job.spec.array->job).second) out.push_back(id);
  }
  return out;
}

wire::WhyJobReply why(World& w, JobId id) {
  wire::ApiRequest request;
  request.mutable_why_job()->set_id(id.value);
  request.mutable_why_job()->set_offers(true);
  const wire::ApiReply reply = w.ask(kAlice, request);
  RC_ASSERT(reply.has_why_job());
  return reply.why_job();
}

/// With the next pass, or once those have left whom it preempts.
bool is_soon(const wire::Outlook& outlook) {
  const auto when = static_cast<model::When>(outlook.when());
  return when == model::When::kNow || when == model::When::kOnceOthersLeft;
}

/// What stands in the queue, for who looks into a failure.
std::string described(const World& w) {
  std::string out;
  for (const auto& [id, job] : w.core->jobs()) {
    out += fmt::format("job {} {} in {}, QOS {}, limit {}: {}\n", id.value, model::long_name(job.state),
                       base::join(job.spec.partitions, ","), job.spec.qos, base::format_duration(job.spec.time_limit),
                       model::format_features(job.spec.request.features));
  }
  return out;
}

enum class Made : uint8_t { kRefused, kWaits, kStarts };

/// What comes of the words after `gcontrol update`.
Made make(const Scene& scene, JobId id, const Words& words) {
  const auto w = build(scene);
  const auto request = cmds::update_request(words, w->now);
  if (!request) return Made::kRefused;
  const wire::ApiReply reply = w->ask(kAlice, *request);
  if (reply.has_error() || reply.jobs().faults_size() > 0) return Made::kRefused;
  return settle(*w, id) ? Made::kStarts : Made::kWaits;
}

RC_GTEST_PROP(Why, AChangeThatHelpsStartsTheJobOnceItIsMade, ()) {
  const Scene scene = random_scene();
  const auto w = build(scene);
  for (const JobId id : waiting_in(*w)) {
    const wire::WhyJobReply reply = why(*w, id);
    if (is_soon(reply.outlook())) continue;
    uint32_t shown = 0;
    for (const wire::JobOffer& offer : reply.offers()) {
      if (!is_soon(offer.outlook()) || ++shown > 2) continue;
      const std::string command = client::change_command(offer.change(), reply.job());
      auto words = base::split_shell_words(command);
      RC_ASSERT(words.has_value());
      RC_ASSERT(words->size() > 2);
      RC_ASSERT(words->at(0) + " " + words->at(1) == "gcontrol update");
      words->erase(words->begin(), words->begin() + 2);
      const Made made = make(scene, id, *words);
      if (made != Made::kStarts) RC_LOG() << command << "\n" << described(*w);
      RC_ASSERT(made == Made::kStarts);
    }
  }
}

/// One of the kinds that are offered, said by hand.
std::string random_change(const model::Request& r) {
  const auto gpus = [&](const std::string& type) {
    const uint32_t n = draw(1, r.gpus);
    const std::string text = "gpu:" + type + std::to_string(n);
    return r.gpu_counting == model::GpuCounting::kPerJob    ? "TresPerJob=gres/" + text
           : r.gpu_counting == model::GpuCounting::kPerTask ? "TresPerTask=gres/" + text
                                                            : "Gres=" + text;
  };
  const std::string type = r.gpu_type.empty() ? "" : r.gpu_type + ":";
  Words changes = {"TimeLimit=" + std::to_string(draw(1, 600)),
                   "Partition=main",
                   "Partition=half",
                   "QOS=normal",
                   "QOS=small",
                   "Features=",
                   "ReqNodeList=",
                   "ExcNodeList=",
                   "OverSubscribe=YES",
                   "Contiguous=NO"};
  if (r.gpus > 0) {
    changes.push_back(gpus(type));
    changes.push_back(gpus(type));
  }
  if (!r.gpu_type.empty()) changes.push_back("Gres=gpu:" + std::to_string(r.gpus));
  if (r.nodes_given && r.min_nodes > 1) changes.push_back("NumNodes=" + std::to_string(draw(1, r.min_nodes)));
  if (r.tasks_given) changes.push_back("NumTasks=" + std::to_string(draw(1, r.tasks)));
  changes.push_back("CPUsPerTask=" + std::to_string(draw(1, r.cpus_per_task)));
  if (r.mem_per_node_mb > 0)
    changes.push_back("MinMemoryNode=" + std::to_string(draw(1, static_cast<uint32_t>(r.mem_per_node_mb))) + "M");
  return changes[draw(0, static_cast<uint32_t>(changes.size()) - 1)];
}

RC_GTEST_PROP(Why, WhereNothingHelpsNoSingleChangeDoes, ()) {
  const Scene scene = random_scene();
  const auto w = build(scene);
  for (const JobId id : waiting_in(*w)) {
    const wire::WhyJobReply reply = why(*w, id);
    const auto& offers = reply.offers();
    const bool helps = std::any_of(offers.begin(), offers.end(), [](const auto& o) { return is_soon(o.outlook()); });
    if (is_soon(reply.outlook()) || helps || reply.offers_cut() || !reply.no_offers_why().empty()) continue;
    for (int i = 0; i < 3; ++i) {
      const std::string change = random_change(w->job(id).spec.request);
      const Made made = make(scene, id, {"JobId=" + std::to_string(id.value), change});
      if (made == Made::kStarts)
        RC_LOG() << change << " of job " << id.value << "\n" << described(*w) << client::why_text({reply, {}, {}});
      RC_ASSERT(made != Made::kStarts);
    }
  }
}

}  // namespace
}  // namespace gw
