// GW_CHECK: asserts an invariant of our own code, in every build type. Never for input: input gets an Error.
#pragma once

namespace gw::base {
/// Prints the failed condition with its place and aborts.
[[noreturn]] void check_failed(const char* condition, const char* file, int line);
}  // namespace gw::base

#define GW_CHECK(condition) \
  (static_cast<bool>(condition) ? void(0) : ::gw::base::check_failed(#condition, __FILE__, __LINE__))
