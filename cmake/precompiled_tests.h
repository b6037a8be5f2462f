// What most tests include; for the preset dev alone (see gw_precompiled).
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cmake/precompiled_product.h"
