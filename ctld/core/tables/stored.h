// What the controller knows of the store itself: whose state it is and how far it has come, which of its rows are held
// aside, which scripts it keeps, and whether it can be written.
#pragma once

#include <cstdint>
#include <string>

#include "ctld/core/tables/amended_rows.h"
#include "ctld/core/tables/held_rows.h"
#include "ctld/core/tables/kept_scripts.h"
#include "ctld/core/tables/lineage.h"

namespace gw::ctld {

struct Stored {
  Lineage lineage;
  uint64_t commit_saved = 0;  ///< The count of commits that is on its way to the store.
  HeldRows held;
  KeptScripts scripts;
  AmendedRows amended;
  std::string fault;  ///< Why the store cannot be written; empty: it can.
};

}  // namespace gw::ctld
