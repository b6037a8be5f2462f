// The words of `gacctmgr`, one a line, to one change of the tree of quotas. The first byte says by which name it is
// called.
#include "base/text.h"
#include "cmds/gacctmgr/acct.h"
#include "tests/fuzz/fuzz.h"

namespace gw::fuzz {
namespace {

bool run(std::string_view input) {
  Input in(input);
  const bool is_slurm = in.line() == "sacctmgr";
  cmds::Segments parts(1);
  for (std::string& word : base::split(in.rest(), '\n')) {
    if (word == "--")
      parts.emplace_back();
    else
      parts.back().push_back(std::move(word));
  }
  const auto changes = cmds::quota_changes(parts, is_slurm);
  if (!changes) {
    check_error(changes.error());
    return false;
  }
  FUZZ_CHECK(changes->request.changes_size() > 0);
  FUZZ_CHECK(!changes->request.replace());
  for (const wire::QuotaChange& change : changes->request.changes()) {
    FUZZ_CHECK(!change.name().empty());
    FUZZ_CHECK(change.what() != wire::QuotaChange::kNone);
  }
  for (const std::string& note : changes->notes) FUZZ_CHECK(is_showable(note));
  return true;
}

GW_FUZZ_TARGET("acct", run, nullptr);

}  // namespace
}  // namespace gw::fuzz
