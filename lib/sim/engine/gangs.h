// Elastic gangs: extensions come and go while the gang runs.
// Invariant: the record of a gang says what all its parts hold together.
#pragma once

#include "sim/engine/world.h"

namespace gw::sim {

void add_extension(World& world, uint32_t job, base::JobId extension, const model::Allocation& allocation);
/// The gang gives an extension back after the grace period, in order to continue smaller.
void shrink(World& world, base::JobId extension, Duration grace);
void drop_extension(World& world, uint32_t job, base::JobId extension);

}  // namespace gw::sim
