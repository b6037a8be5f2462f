// What several share policies need.
#pragma once

#include "plugins/weights.h"
#include "sched/policy/share_policy.h"
#include "sched/policy/water_filling.h"
