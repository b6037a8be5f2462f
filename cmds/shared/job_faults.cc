// Texts of faults.
#include "cmds/shared/job_faults.h"

#include <fmt/format.h>

#include "base/result.h"
#include "wire/convert.h"

namespace gw::cmds {
namespace {

/// Does `number` stand in the text as a word of its own?
bool names(std::string_view text, const std::string& number) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  for (size_t at = text.find(number); at != std::string_view::npos; at = text.find(number, at + 1)) {
    const size_t end = at + number.size();
    if ((at == 0 || !is_digit(text[at - 1])) && (end == text.size() || !is_digit(text[end]))) return true;
  }
  return false;
}

}  // namespace

std::string fault_text(const wire::JobFault& fault) {
  const std::string id = fault.task().empty() ? std::to_string(fault.id()) : fault.task();
  const wire::Error& e = fault.error();
  const bool is_named = names(e.what(), "job " + id) || e.what().ends_with("job id specified: " + id);
  return base::Error{base::ErrorCode::kInvalid, is_named ? e.what() : fmt::format("job {}: {}", id, e.what()), e.hint()}
      .text();
}

int report_faults(const client::Program& program, const google::protobuf::RepeatedPtrField<wire::JobFault>& faults,
                  bool quiet) {
  for (const wire::JobFault& fault : faults) {
    if (quiet) break;
    base::Error error = wire::from_wire(fault.error());
    error.what = fault_text(fault);
    error.hint.clear();
    client::print_error(program, error);
  }
  return faults.empty() ? client::kExitOk : client::kExitFailed;
}

}  // namespace gw::cmds
