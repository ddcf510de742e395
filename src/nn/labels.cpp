// Labels and splits as .npy files have them, whatever their elements.
#include <cmath>
#include <cstring>
#include <limits>

#include "core/fail.hpp"
#include "garner/gnn.hpp"
#include "graph/handle.hpp"

namespace garner {

namespace {

// Calls f(k, value) for each element; a NaN is passed as the lowest number. errc::input for elements that are not numbers, or not whole.
template <class F>
void each_number(std::string const& file, row_array const& rows, char const* what, F f) {
  std::uint64_t const n = rows.rows * (rows.type.empty() ? rows.width : rows.width / std::max<std::uint64_t>(rows.type_bytes, 1));
  auto const all = [&]<class T>(T) {
    for (std::uint64_t k = 0; k < n; ++k) {
      T value;
      std::memcpy(&value, static_cast<char const*>(rows.data) + k * sizeof(T), sizeof(T));
      if constexpr (std::is_floating_point_v<T>) {
        if (std::isnan(value)) {
          f(k, std::numeric_limits<std::int64_t>::min());
          continue;
        }
        if (value != std::floor(value) || std::abs(value) > static_cast<T>(1e15))
          fail(errc::input, "{}: element {} is {}, and {} are whole numbers; mend it", file, k, value, what);
      }
      if constexpr (std::is_same_v<T, std::uint64_t>)
        if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
          fail(errc::input, "{}: element {} is {}, and {} are less than 2^63; mend it", file, k, value, what);
      f(k, static_cast<std::int64_t>(value));
    }
  };
  std::string const& type = rows.type;
  auto const is = [&](char const* name) { return type.size() == 3 && type.substr(1) == name; };
  if (rows.kind == element::i64) all(std::int64_t{});
  else if (rows.kind == element::f32) all(float{});
  else if (rows.kind == element::i8) all(std::int8_t{});
  else if (rows.kind == element::u8 && (type.empty() || is("u1") || is("b1"))) all(std::uint8_t{});
  else if (is("i4")) all(std::int32_t{});
  else if (is("u4")) all(std::uint32_t{});
  else if (is("i2")) all(std::int16_t{});
  else if (is("u2")) all(std::uint16_t{});
  else if (is("u8")) all(std::uint64_t{});
  else if (is("f8")) all(double{});
  else
    fail(errc::input, "{}: elements of {}, and {} are whole numbers; write them as int64", file,
         type.empty() ? std::string(to_string(rows.kind)) : type, what);
}

std::string as_text(std::int64_t v) { return v == std::numeric_limits<std::int64_t>::min() ? "NaN" : std::to_string(v); }

template <class T>
row_array owned(std::vector<T> values, std::uint64_t rows, std::uint64_t width, element kind) {
  auto const kept = std::make_shared<std::vector<T>>(std::move(values));
  return {kept->data(), rows, width, kind, kept};
}

}  // namespace

row_array read_labels(std::filesystem::path const& file) {
  return as_error([&] {
    row_array const from = read_rows(file);
    std::uint64_t const width = from.type.empty() ? from.width : from.width / std::max<std::uint64_t>(from.type_bytes, 1);
    if (width <= 1) {
      std::vector<std::int64_t> labels(from.rows);
      each_number(file.string(), from, "labels", [&](std::uint64_t k, std::int64_t v) { labels[k] = std::max<std::int64_t>(v, -1); });
      return owned(std::move(labels), from.rows, 1, element::i64);
    }
    std::vector<std::uint8_t> answers(from.rows * width);
    each_number(file.string(), from, "answers", [&](std::uint64_t k, std::int64_t v) {
      if (v != 0 && v != 1)
        fail(
            errc::input,
            "{}: class {} of row {} holds {}, and labels of several columns are 0 or 1, one a class; write one column of classes otherwise",
            file.string(), k % width, k / width, as_text(v));
      answers[k] = static_cast<std::uint8_t>(v);
    });
    return owned(std::move(answers), from.rows, width, element::u8);
  });
}

std::vector<std::uint8_t> read_split(std::filesystem::path const& file) {
  return as_error([&] {
    row_array const from = read_rows(file);
    std::uint64_t const width = from.type.empty() ? from.width : from.width / std::max<std::uint64_t>(from.type_bytes, 1);
    if (width > 1)
      fail(errc::input, "{}: rows of {}, and a split is one number per vertex: 1 train, 2 validation, 3 test, 0 none", file.string(),
           width);
    std::vector<std::uint8_t> split(from.rows);
    each_number(file.string(), from, "parts of a split", [&](std::uint64_t k, std::int64_t v) {
      if (v < 0 || v > 3)
        fail(errc::input, "{}: part {} at position {}: use 1 train, 2 validation, 3 test, 0 none", file.string(), as_text(v), k);
      split[k] = static_cast<std::uint8_t>(v);
    });
    return split;
  });
}

}  // namespace garner
