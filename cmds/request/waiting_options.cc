// Options that galloc and grun have in common.
#include "cmds/request/waiting_options.h"

#include <algorithm>

#include "cmds/request/batch_script.h"
#include "cmds/request/job_values.h"
#include "cmds/shared/commands.h"

namespace gw::cmds {

void add_waiting_options(std::vector<client::Option>& t, std::optional<uint32_t>& immediate_seconds,
                         bool& preemptible) {
  constexpr int64_t kMaxSeconds = int64_t{365} * 24 * 3600;
  t.push_back({"preemptible",
               0,
               client::Arg::kNone,
               {},
               "a new allocation may be preempted for others, and may borrow",
               {},
               client::kPlain,
               sets(preemptible)});
  t.push_back({"immediate", 'I', client::Arg::kOptional, "SECONDS", "give up if it cannot start at once, or so soon",
               "IMMEDIATE", client::kPlain, [&immediate_seconds](std::string_view v) -> base::Status {
                 uint32_t seconds = 1;
                 if (!v.empty()) GW_TRY_STATUS(number(seconds, "-I/--immediate", 0, kMaxSeconds)(v));
                 immediate_seconds = std::max(seconds, 1u);
                 return {};
               }});
}

int test_submission(const client::Program& program, wire::SubmitRequest submit) {
  wire::ApiRequest request;
  *request.mutable_submit() = std::move(submit);
  request.mutable_submit()->set_test_only(true);
  auto reply = ask(program, std::move(request));
  if (!reply)
    return failed(program, {reply.error().code, "allocation failure: " + client::said(program, reply.error()),
                            reply.error().hint});
  return print_verdict(program, reply->submit());
}

base::Status check_signal_of_steps(const model::JobSpec& spec) {
  if (!spec.warn.batch_only) return {};
  return base::invalid("--signal: B: means the batch script, and there is none here", "without B: all steps get it");
}

}  // namespace gw::cmds
