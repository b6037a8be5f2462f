// Whether this is a build with a sanitizer: a fork then takes a hundred times as long, since its shadow memory is
// copied, and a task has the peak memory of the process that started it.
#pragma once

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define GW_IS_SANITIZED 1
#endif
#endif

namespace gw::noded::step {

#ifdef GW_IS_SANITIZED
constexpr bool kIsSanitized = true;
#else
constexpr bool kIsSanitized = false;
#endif

}  // namespace gw::noded::step
