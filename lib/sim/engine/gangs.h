// Elastic gangs: pieces come and go while the gang runs.
// Invariant: the record of a gang says what all its parts hold together.
#pragma once

#include "sim/engine/world.h"

namespace gw::sim {

void add_piece(World& world, uint32_t job, base::JobId piece, const model::Allocation& allocation);
/// The gang gives a piece back after the grace period, in order to go on smaller.
void shrink(World& world, base::JobId piece, Duration grace);
void drop_piece(World& world, uint32_t job, base::JobId piece);

}  // namespace gw::sim
