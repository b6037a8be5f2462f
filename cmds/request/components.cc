// See components.h.
#include "cmds/request/components.h"

#include <utility>

#include "wire/job_attributes.h"

namespace gw::cmds {

tl::unexpected<base::Error> too_many_components() {
  return base::invalid("a heterogeneous job has at most " + std::to_string(kMaxComponents) + " components");
}

base::Result<CommandLine> split_components(const std::vector<client::Option>& table,
                                           std::span<const std::string> args) {
  CommandLine line;
  while (true) {
    GW_TRY(operands, client::parse_options(table, args, {.stop_at_operand = true}));
    line.components.emplace_back(args.begin(), args.end() - static_cast<std::ptrdiff_t>(operands.size()));
    line.operands = std::move(operands);
    if (line.operands.empty() || line.operands.front() != ":") return line;
    if (line.components.size() == kMaxComponents) return too_many_components();
    args = args.last(line.operands.size() - 1);
  }
}

void take_resources(BatchOptions& to, const BatchOptions& own) {
  to.gpus = own.gpus;
  to.given = own.given;
  to.says_cpus = own.says_cpus;
  to.spec.request = own.spec.request;
  to.spec.partitions = own.spec.partitions;
  wire::take_own_of_component(own.spec, to.spec);
}

}  // namespace gw::cmds
