// Errors made of the operating system's errno values.
#include "base/result.h"

#include <cerrno>
#include <cstring>

namespace gw::base {
namespace {

ErrorCode code_of(int saved_errno) {
  switch (saved_errno) {
    case ENOENT:
    case ESRCH:
      return ErrorCode::kNotFound;
    case EACCES:
    case EPERM:
      return ErrorCode::kDenied;
    case EEXIST:
    case EBUSY:
      return ErrorCode::kConflict;
    case ETIMEDOUT:
      return ErrorCode::kTimeout;
    case EAGAIN:
    case ENOSPC:
    case EDQUOT:
    case ENOMEM:
    case EMFILE:
    case ENFILE:
    case ECONNREFUSED:
    case ECONNRESET:
    case EHOSTUNREACH:
    case ENETUNREACH:
    case EPIPE:
      return ErrorCode::kUnavailable;
    default:
      return ErrorCode::kInternal;
  }
}

}  // namespace

tl::unexpected<Error> fail_errno(std::string context, int saved_errno, std::string hint) {
  // Not strerror: it is not safe among threads.
  const char* known = strerrordesc_np(saved_errno);
  const std::string reason = known != nullptr ? known : "error " + std::to_string(saved_errno);
  return fail(code_of(saved_errno), std::move(context) + ": " + reason, std::move(hint));
}

}  // namespace gw::base
