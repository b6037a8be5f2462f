// See row_bytes.h.
#include "wire/row_bytes.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

namespace gw::wire {

std::string row_bytes(const google::protobuf::MessageLite& message) {
  std::string out;
  out.reserve(message.ByteSizeLong());
  google::protobuf::io::StringOutputStream to(&out);
  google::protobuf::io::CodedOutputStream stream(&to);
  stream.SetSerializationDeterministic(true);
  message.SerializeWithCachedSizes(&stream);
  stream.Trim();
  return out;
}

}  // namespace gw::wire
