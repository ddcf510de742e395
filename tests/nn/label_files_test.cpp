// Labels and splits of files: whole numbers of any width, and errors that name the invalid value.
#include <gmock/gmock.h>

#include <cmath>

#include "files/files.hpp"
#include "garner/gnn.hpp"
#include "support.hpp"

namespace garner {
namespace {
using namespace garner::testing;
using ::testing::AllOf;
using ::testing::HasSubstr;

using label_files = in_a_folder;

TEST_F(label_files, hold_whole_numbers_of_any_width) {
  auto const check = [&]<class T>(char const* type, T) {
    SCOPED_TRACE(type);
    std::vector<T> const labels{T{3}, T{0}, std::is_unsigned_v<T> ? T{5} : static_cast<T>(-1), T{2}};
    for (std::uint64_t const width : {0, 1}) {
      row_array const r = read_labels(put(npy(type, labels, width)));
      ASSERT_EQ(r.rows, 4u) << width;
      EXPECT_EQ(r.width, 1u);
      EXPECT_EQ(r.kind, element::i64);
      auto const* const v = static_cast<std::int64_t const*>(r.data);
      EXPECT_THAT(std::vector<std::int64_t>(v, v + 4), ::testing::ElementsAre(3, 0, std::is_unsigned_v<T> ? 5 : -1, 2));
    }
    std::vector<T> const parts{1, 2, 3, 0, 1};
    EXPECT_THAT(read_split(put(npy(type, parts))), ::testing::ElementsAre(1, 2, 3, 0, 1));
    std::vector<T> const answers{1, 0, 0, 1, 1, 1};
    row_array const r = read_labels(put(npy(type, answers, 3)));
    EXPECT_EQ(r.rows, 2u);
    EXPECT_EQ(r.width, 3u);
    EXPECT_EQ(r.kind, element::u8);
    auto const* const v = static_cast<std::uint8_t const*>(r.data);
    EXPECT_THAT(std::vector<int>(v, v + 6), ::testing::ElementsAre(1, 0, 0, 1, 1, 1));
  };
  check("|i1", std::int8_t{}), check("|u1", std::uint8_t{}), check("<i2", std::int16_t{}), check("<u2", std::uint16_t{});
  check("<i4", std::int32_t{}), check("<u4", std::uint32_t{}), check("<i8", std::int64_t{}), check("<u8", std::uint64_t{});
  check("<f4", float{}), check("<f8", double{});
  std::vector<char> const bits{1, 0, 0, 1};
  row_array const r = read_labels(put(npy("|b1", bits, 2)));
  EXPECT_EQ(static_cast<std::uint8_t const*>(r.data)[3], 1);
  EXPECT_THAT(read_split(put(npy("|b1", bits))), ::testing::ElementsAre(1, 0, 0, 1));
}

TEST_F(label_files, without_a_label_hold_no_number_or_one_below_0) {
  row_array const r = read_labels(put(npy("<f4", std::vector<float>{1, std::nanf(""), -7})));
  auto const* const v = static_cast<std::int64_t const*>(r.data);
  EXPECT_THAT(std::vector<std::int64_t>(v, v + 3), ::testing::ElementsAre(1, -1, -1));
}

TEST_F(label_files, name_what_is_no_label) {
  auto const refused_by = [&](auto const& read) {
    return [&](std::string const& bytes) {
      errc code = errc::io;
      std::string const said = error_of([&] { read(put(bytes)); }, &code);
      EXPECT_EQ(code, errc::input);
      EXPECT_THAT(said, HasSubstr(at("x").string()));
      return said;
    };
  };
  auto const labels = refused_by(read_labels);
  auto const split = refused_by(read_split);
  EXPECT_THAT(labels(npy("<f4", std::vector<float>{1, 2.5f})), AllOf(HasSubstr("element 1 is 2.5"), HasSubstr("whole numbers")));
  EXPECT_THAT(labels(npy("<f8", std::vector<double>{1, 2, INFINITY})), HasSubstr("element 2 is inf"));
  EXPECT_THAT(labels(npy("<u8", std::vector<std::uint64_t>{1, ~0ull})), HasSubstr("element 1 is 18446744073709551615"));
  EXPECT_THAT(labels(npy("<f2", std::vector<std::uint16_t>{0, 0})), HasSubstr("write them as int64"));
  EXPECT_THAT(labels(npy("<U1", std::vector<std::uint32_t>{65, 66})), HasSubstr("<U1"));
  EXPECT_THAT(labels(npy("<i4", std::vector<std::int32_t>{0, 1, 2, 1}, 2)),
              AllOf(HasSubstr("class 0 of row 1 holds 2"), HasSubstr("0 or 1")));
  EXPECT_THAT(labels(npy("<f4", std::vector<float>{0, std::nanf("")}, 2)), HasSubstr("class 1 of row 0 holds NaN"));
  EXPECT_THAT(split(npy("<i8", std::vector<std::int64_t>{1, 7})), HasSubstr("part 7 at position 1"));
  EXPECT_THAT(split(npy("<i8", std::vector<std::int64_t>{-1})), HasSubstr("part -1 at position 0"));
  EXPECT_THAT(split(npy("<f4", std::vector<float>{std::nanf("")})), AllOf(HasSubstr("part NaN at position 0")));
  EXPECT_THAT(split(npy("<i8", std::vector<std::int64_t>{1, 1}, 2)), HasSubstr("rows of 2"));
  errc code = errc::input;
  EXPECT_THAT(error_of([&] { read_labels(at("none")); }, &code), HasSubstr("none"));
  EXPECT_EQ(code, errc::io);
}
}  // namespace
}  // namespace garner
