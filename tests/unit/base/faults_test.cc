// Several faults in one error.
#include "base/faults.h"

#include <gtest/gtest.h>

namespace gw::base {
namespace {

TEST(Faults, OneIsToldAsItIsAndSeveralAreLines) {
  Faults faults;
  EXPECT_TRUE(faults.status());
  faults.add(Status());
  faults.add(Error{ErrorCode::kNotFound, "no such thing", "look elsewhere", "Sentence"});
  EXPECT_EQ(faults.status().error().hint, "look elsewhere");
  EXPECT_EQ(faults.status().error().sentence, "Sentence");
  faults.add(Error{ErrorCode::kInvalid, "bad", ""});
  faults.add(Error{ErrorCode::kInvalid, "bad", ""});  // the same is not said twice
  EXPECT_EQ(faults.status().error().what, "no such thing (look elsewhere)\nbad");
  EXPECT_EQ(after("here: ", faults.status().error()).what, "here: no such thing (look elsewhere)\nhere: bad");
}

TEST(Faults, OfVeryManyTheFirstAreTold) {
  Faults faults;
  for (int i = 0; i < 1'000; ++i) faults.add(Error{ErrorCode::kInvalid, std::to_string(i), ""});
  EXPECT_EQ(lines_of(faults.status().error()).size(), 11U);
  EXPECT_EQ(lines_of(faults.status().error()).back(), "and 990 more");
}

}  // namespace
}  // namespace gw::base
