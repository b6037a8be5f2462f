// See submit_hook.h.
#include "ctld/shell/scripts/submit_hook.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <utility>

#include "base/text.h"
#include "wire/bounds.h"
#include "wire/convert.h"
#include "wire/receive.h"

namespace gw::ctld {

namespace {

constexpr size_t kMostScript = 32 << 10;  // what the program sees of it
// Beyond the program's own limit: others of the user come first.
constexpr base::Duration kPatience = base::seconds(30);

ScriptQueue::Bounds bounds_of(const config::Config& config) {
  ScriptQueue::Bounds bounds;
  bounds.waiting_of_user = SubmitHook::kMostOfUser;
  bounds.under_way_of_user = 4;
  bounds.patience = config.submit_limit + kPatience;
  bounds.may_repeat = true;
  return bounds;
}

bool takes_failures(const config::Config& config) { return config.submit_on_failure == "accept"; }

void fill_identity(const Caller& caller, wire::JobSpec& spec) {
  spec.set_uid(caller.uid);
  spec.set_gid(caller.gid);
  spec.set_user(caller.user);
  spec.set_group(caller.group);
}

wire::ToScripts message_of(const Caller& caller, const wire::SubmitRequest& submit) {
  wire::ToScripts message;
  wire::ScriptSubmit& out = *message.mutable_submit();
  out.set_user(caller.user);
  out.set_uid(caller.uid);
  out.set_group(caller.group);
  out.set_gid(caller.gid);
  for (const std::string& group : caller.groups) out.add_groups(group);
  *out.add_jobs() = submit.spec();
  for (const wire::JobSpec& component : submit.components()) *out.add_jobs() = component;
  for (wire::JobSpec& job : *out.mutable_jobs()) fill_identity(caller, job);
  if (submit.has_array())
    if (const auto tasks = wire::from_wire(submit.array()))
      out.set_array_tasks(tasks->left.text() + (tasks->throttle == 0 ? "" : "%" + std::to_string(tasks->throttle)));
  out.set_test_only(submit.test_only());
  out.set_script(submit.script().substr(0, kMostScript));
  out.set_script_is_whole(submit.script().size() <= kMostScript);
  return message;
}

/// Of what the user asks for.
size_t bytes_of(const wire::SubmitRequest& submit) {
  size_t bytes = submit.spec().ByteSizeLong();
  for (const wire::JobSpec& component : submit.components()) bytes += component.ByteSizeLong();
  return bytes;
}

/// What was said of each job takes its place, if it is within the bounds of what a user may send; else nothing changes.
base::Status apply(const wire::ScriptVerdict& verdict, wire::SubmitRequest& submit) {
  if (!verdict.jobs().empty()) {
    if (verdict.jobs_size() != 1 + submit.components_size()) return base::invalid("it answers for other jobs");
    wire::ApiRequest bare;
    *bare.mutable_submit()->mutable_spec() = verdict.jobs(0);
    for (int i = 1; i < verdict.jobs_size(); ++i) *bare.mutable_submit()->add_components() = verdict.jobs(i);
    GW_TRY(received, wire::receive_request(bare.SerializeAsString()));
    *submit.mutable_spec() = std::move(*received.mutable_submit()->mutable_spec());
    *submit.mutable_components() = std::move(*received.mutable_submit()->mutable_components());
  }
  submit.set_site_note(verdict.tell());
  return {};
}

}  // namespace

SubmitHook::SubmitHook(io::Loop& loop, const config::Config& config)
    : loop_(loop),
      queue_(loop, config::script_socket(config), "submission", bounds_of(config)),
      program_(config.submit_program),
      takes_failures_(takes_failures(config)) {}

void SubmitHook::set(const config::Config& config) {
  if (config.submit_program != program_) queue_.reload();  // over the link that submissions take
  queue_.set_patience(bounds_of(config).patience);
  program_ = config.submit_program;
  takes_failures_ = takes_failures(config);
}

void SubmitHook::ask(const Caller& caller, wire::ApiRequest request, Done done) {
  // The core's bound, which holds here already: what is handed on fits into a frame, and nothing passes unseen.
  if (const size_t bytes = bytes_of(request.submit()); bytes > wire::kMostSpecBytes)
    return loop_.defer([bytes, done = std::move(done)] {
      done(base::invalid(
          fmt::format("the options of the job take {} bytes; at most {} are taken", bytes, wire::kMostSpecBytes),
          "shorten the arguments, the comment or the node lists"));
    });
  wire::ToScripts message = message_of(caller, request.submit());
  auto kept = std::make_shared<wire::ApiRequest>(std::move(request));
  const bool is_added = queue_.add(
      caller.uid, std::move(message),
      [this, kept, done, uid = caller.uid](const auto& answer) { done(judge(uid, std::move(*kept), answer)); });
  if (is_added) return;
  loop_.defer([done] {
    done(base::fail(base::ErrorCode::kUnavailable, "too many submissions wait for the site's submission program"));
  });
}

base::Result<wire::ApiRequest> SubmitHook::judge(uint32_t uid, wire::ApiRequest request,
                                                 const base::Result<wire::FromScripts>& answer) const {
  if (program_.empty()) return request;  // it was taken away meanwhile
  std::string problem;
  if (!answer) {
    problem = answer.error().text();
  } else if (answer->exit_code() != 0) {
    problem = base::printable(answer->output(), 300);
  } else if (!answer->verdict().refusal().empty()) {
    return base::fail(base::ErrorCode::kDenied, base::printable(answer->verdict().refusal(), 1000));
  } else {
    const base::Status applied = apply(answer->verdict(), *request.mutable_submit());
    if (applied) return request;
    problem = applied.error().text();
  }
  spdlog::warn("the submission program did not look at a job of uid {}: {}", uid, problem);
  const bool is_others = !answer && answer.error().code == base::ErrorCode::kTimeout;
  const bool is_away = !answer && answer.error().code == base::ErrorCode::kUnavailable;
  if (takes_failures_ && !is_others) return request;  // who submits too much at once is not let by for that
  return base::fail(is_away || is_others ? base::ErrorCode::kUnavailable : base::ErrorCode::kInternal,
                    "the site's submission program cannot look at it: " + problem,
                    "tell the administrators of the cluster");
}

}  // namespace gw::ctld
