// Shorter answers: whole again when unpacked, and only for who takes them.
#include "http/gzip.h"

#include <gtest/gtest.h>
#include <zlib.h>

namespace gw::http {
namespace {

std::string unpacked(const std::string& packed, size_t size) {
  constexpr int kGzip = 16;
  z_stream stream{};
  EXPECT_EQ(inflateInit2(&stream, MAX_WBITS + kGzip), Z_OK);
  std::string out(size + 1, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(inflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  inflateEnd(&stream);
  return out;
}

TEST(Gzip, IsShorterAndWholeAgain) {
  std::string text;
  for (int i = 0; i < 10'000; ++i) text += "[\"n" + std::to_string(i) + "\",0,8,\"0-7\",\"\"],";
  const std::string packed = gzip(text);
  EXPECT_LT(packed.size(), text.size() / 4);
  EXPECT_EQ(unpacked(packed, text.size()), text);
}

TEST(Gzip, WhatWouldBeLongerIsLeftAsItIs) {
  EXPECT_EQ(gzip(""), "");
  EXPECT_EQ(gzip("x"), "");
}

TEST(Gzip, IsForWhoTakesIt) {
  for (const char* header : {"gzip", "deflate, gzip;q=1.0, *;q=0.5", "gzip;q=0.5", "br , GZIP", "gzip, br"})
    EXPECT_TRUE(takes_gzip(header)) << header;
  for (const char* header : {"", "br", "gzip;q=0", "gzip; q=0.000", "xgzip", "gzip2"})
    EXPECT_FALSE(takes_gzip(header)) << header;
}

}  // namespace
}  // namespace gw::http
