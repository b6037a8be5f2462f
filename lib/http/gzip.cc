// See gzip.h.
#include "http/gzip.h"

#include <zlib.h>

#include "base/text.h"

namespace gw::http {

std::string gzip(std::string_view text) {
  constexpr int kLevel = 4, kGzip = 16, kMemory = 8;  // the highest levels take ten times as long for a twentieth less
  z_stream stream{};
  if (deflateInit2(&stream, kLevel, Z_DEFLATED, MAX_WBITS + kGzip, kMemory, Z_DEFAULT_STRATEGY) != Z_OK) return {};
  std::string out(text.size(), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));  // which zlib only reads
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const bool is_whole = deflate(&stream, Z_FINISH) == Z_STREAM_END;
  out.resize(is_whole ? stream.total_out : 0);
  deflateEnd(&stream);
  return out;
}

bool takes_gzip(std::string_view accept_encoding) {
  for (const std::string& one : base::split(accept_encoding, ',')) {
    const std::string_view word = base::trim(one);
    const std::string_view name = base::trim(word.substr(0, word.find(';')));
    const size_t weight = word.find("q=");
    const bool is_refused =
        weight != std::string_view::npos && word.find_first_not_of("0.", weight + 2) == std::string_view::npos;
    if (base::iequals(name, "gzip") && !is_refused) return true;
  }
  return false;
}

}  // namespace gw::http
