// The figures of the controller, as sdiag prints them and as JSON.
#pragma once

#include <string>

#include "wire/api.pb.h"

namespace gw::cmds {

/// How the requests are listed.
struct FiguresView {
  bool is_slurm = false;  ///< Kinds of requests have Slurm's names, where there are such.
  enum class Sort { kByTotal, kByMean, kByCount, kByNumber } sort = Sort::kByCount;
};

/// Slurm's lines under Slurm's labels. What has no counterpart here is 0, and says so in docs/admin-guide.md.
std::string figures_text(const wire::ShowFiguresReply& figures, const FiguresView& view);
/// {"schema_version", "statistics": {...}} with Slurm's keys.
std::string figures_json(const wire::ShowFiguresReply& figures, const FiguresView& view);

}  // namespace gw::cmds
