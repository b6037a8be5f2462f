// The end of a program whose own invariant is broken: a line on stderr, then abort, so that a core dump shows where.
#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace gw::base {

void check_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: invariant broken: %s\n", file, line, condition);
  std::abort();
}

}  // namespace gw::base
