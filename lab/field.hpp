// Reads the files of `garner-lab`: a value with its location, for error messages.
#pragma once
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/fail.hpp"

namespace garner::lab {

using json = nlohmann::ordered_json;

template <class T>
json or_null(std::optional<T> const& value) {
  return value ? json(*value) : json(nullptr);
}
inline json text_or_null(std::string const& text) { return text.empty() ? json(nullptr) : json(text); }

// A value of the file with its location, for error messages. Typed getters reject everything else.
class field {
 public:
  // `bench`: the argument of `garner-lab` that writes such a file; with another `by`, that command.
  field(json const& value, std::string where, std::string const& file, char const* bench = "traversal", char const* by = "garner-lab ")
      : value_(value), where_(std::move(where)), file_(file), bench_(bench), by_(by) {}

  field operator[](char const* key) const {
    if (!value_.is_object()) wrong("an object");
    auto const at = value_.find(key);
    std::string const name = where_.empty() ? std::string(key) : where_ + "." + key;
    if (at == value_.end()) fail(errc::input, "{}: '{}' is missing; write the file anew with {}{}", file_, name, by_, bench_);
    return {*at, name, file_, bench_, by_};
  }
  bool has(char const* key) const { return value_.is_object() && value_.contains(key); }  // for keys that older files lack
  std::vector<field> items() const {
    if (!value_.is_array()) wrong("a list");
    std::vector<field> all;
    for (std::size_t i = 0; i < value_.size(); ++i) all.push_back({value_[i], where_ + "[" + std::to_string(i) + "]", file_, bench_, by_});
    return all;
  }
  bool null() const { return value_.is_null(); }
  std::string text() const {
    if (!value_.is_string()) wrong("a text");
    return value_.get<std::string>();
  }
  std::string text_or_none() const { return null() ? "" : text(); }
  bool truth() const {
    if (!value_.is_boolean()) wrong("true or false");
    return value_.get<bool>();
  }
  std::uint64_t count() const {
    if (!value_.is_number_unsigned()) wrong("a whole number from 0 up");
    return value_.get<std::uint64_t>();
  }
  std::int64_t signed_count() const {  // fanouts: -1 is all of them
    if (!value_.is_number_integer()) wrong("a whole number");
    return value_.get<std::int64_t>();
  }
  double number() const {  // times, rates and shares: not negative
    if (!value_.is_number() || !(value_.get<double>() >= 0 && value_.get<double>() <= 1e18)) wrong("a number from 0 to 1e18");
    return value_.get<double>();
  }
  std::optional<double> number_or_none() const { return null() ? std::nullopt : std::optional(number()); }
  std::optional<std::uint64_t> count_or_none() const { return null() ? std::nullopt : std::optional(count()); }
  [[noreturn]] void wrong(char const* wanted) const {
    std::string said = value_.dump(-1, ' ', true, json::error_handler_t::replace);
    if (said.size() > 40) said = said.substr(0, 40) + "...";
    fail(errc::input, "{}: '{}' is {} and not {}; write the file anew with {}{}", file_, where_.empty() ? "the whole" : where_, said,
         wanted, by_, bench_);
  }

 private:
  json const& value_;
  std::string where_;
  std::string const& file_;
  char const *bench_, *by_;
};

}  // namespace garner::lab
