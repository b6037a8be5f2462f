// Lists, which go out piece by piece so that others are served between them.
#pragma once

#include <string>

#include "ctld/core/core.h"

namespace gw::ctld {

/// Begins a list with its first piece; refused while the connection has one under way. `question`: as Listings::begin.
void begin_list(Core& core, ConnId conn, uint64_t request_id, Listings::Fill fill, const std::string& question = "");
/// Lists that several asked for may be ready.
void lists_due(Core& core);
/// The last piece was written to the client: the next one follows.
void on_piece_taken(Core& core, ConnId conn, uint64_t request_id);

}  // namespace gw::ctld
