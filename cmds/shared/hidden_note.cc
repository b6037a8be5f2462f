// See hidden_note.h.
#include "cmds/shared/hidden_note.h"

#include <fmt/format.h>

namespace gw::cmds {

void note_hidden(const client::Program& program, uint64_t count, std::string_view one, std::string_view many) {
  if (count == 0 || program.is_slurm) return;
  client::print_note(program, fmt::format("{} {} private, and not shown", count,
                                          count == 1 ? fmt::format("{} is", one) : fmt::format("{} are", many)));
}

}  // namespace gw::cmds
