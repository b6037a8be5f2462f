// The bytes of a message that is stored, or compared with what is stored.
// Invariant: equal messages have equal bytes, in every process: a map's entries stand in the order of their keys, which
// SerializeAsString() does not promise.
#pragma once

#include <google/protobuf/message_lite.h>

#include <string>

namespace gw::wire {

std::string row_bytes(const google::protobuf::MessageLite& message);

}  // namespace gw::wire
