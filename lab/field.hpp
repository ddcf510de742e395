// Reads and writes the files of `garner-lab`. A struct has one list of its keys for both ways, `void keys(auto& k)`, that calls
// k("key", member, "key", member, ...) in the file's order; k is a key_reader or a key_writer. A struct of elsewhere has a function
// `keys_of(k, value)` instead.
#pragma once
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/fail.hpp"

namespace garner::lab {

using json = nlohmann::ordered_json;

struct file_schema {
  char const* name;
  int version;                     // 0: none
  char const* bench;               // the argument of `garner-lab` that writes one
  char const* by = "garner-lab ";  // or of that command
};

// A value of the file with its location, for error messages. Typed getters reject everything else.
class field {
 public:
  field(json const& value, std::string where, std::string const& file, file_schema const& of)
      : value_(value), where_(std::move(where)), file_(file), of_(of) {}

  field operator[](char const* key) const {
    if (!value_.is_object()) wrong("an object");
    auto const at = value_.find(key);
    std::string const name = where_.empty() ? std::string(key) : where_ + "." + key;
    if (at == value_.end()) fail(errc::input, "{}: '{}' is missing; write the file anew with {}{}", file_, name, of_.by, of_.bench);
    return {*at, name, file_, of_};
  }
  bool has(char const* key) const { return value_.is_object() && value_.contains(key); }
  std::vector<field> items() const {
    if (!value_.is_array()) wrong("a list");
    std::vector<field> all;
    for (std::size_t i = 0; i < value_.size(); ++i) all.push_back({value_[i], where_ + "[" + std::to_string(i) + "]", file_, of_});
    return all;
  }
  bool null() const { return value_.is_null(); }
  std::string text() const {
    if (!value_.is_string()) wrong("a text");
    return value_.get<std::string>();
  }
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
  [[noreturn]] void wrong(std::string const& wanted) const {
    std::string said = value_.dump(-1, ' ', true, json::error_handler_t::replace);
    if (said.size() > 40) said = said.substr(0, 40) + "...";
    fail(errc::input, "{}: '{}' is {} and not {}; write the file anew with {}{}", file_, where_.empty() ? "the whole" : where_, said,
         wanted, of_.by, of_.bench);
  }
  [[noreturn]] void no_word() const { wrong(std::string("a word of ") + of_.by + of_.bench); }

 private:
  json const& value_;
  std::string where_;
  std::string const& file_;
  file_schema const& of_;
};

class key_reader {
 public:
  static constexpr bool reads = true;
  explicit key_reader(field const& of) : of_(of) {}

  template <class T, class... More>
  void operator()(char const* key, T& value, More&&... more) {
    get(of_[key], value);
    if constexpr (sizeof...(more) > 0) (*this)(std::forward<More>(more)...);
  }
  void or_null(char const* key, std::string& text) {  // empty: null
    if (!of_[key].null()) get(of_[key], text);
  }
  template <class E, class Parse>
  void word(char const* key, E& value, Parse const& parse) {  // an enumerator as the program spells it
    field const at = of_[key];
    try {
      value = parse(at.text());
    } catch (error const&) {
      at.no_word();
    }
  }
  template <class T>
  void derived(char const*, T const&) {}                    // written only, for readers other than this
  bool has(char const* key) const { return of_.has(key); }  // for keys that older files lack
  void require(char const* key, bool right, char const* wanted) const {
    if (!right) of_[key].wrong(wanted);
  }
  field const& here() const { return of_; }

 private:
  static void get(field const& at, std::string& to) { to = at.text(); }
  static void get(field const& at, bool& to) { to = at.truth(); }
  static void get(field const& at, double& to) { to = at.number(); }
  static void get(field const& at, std::int64_t& to) { to = at.signed_count(); }
  static void get(field const& at, std::uint64_t& to) { to = at.count(); }
  static void get(field const& at, std::uint32_t& to) {
    if (at.count() > 1u << 20) at.wrong("a number up to 1,048,576");
    to = static_cast<std::uint32_t>(at.count());
  }
  static void get(field const& at, std::pair<double, double>& to) {
    std::vector<field> const two = at.items();
    if (two.size() != 2) at.wrong("a beginning and an end");
    to = {two[0].number(), two[1].number()};
  }
  template <class T>
  static void get(field const& at, std::optional<T>& to) {
    if (!at.null()) get(at, to.emplace());
  }
  template <class T>
  static void get(field const& at, std::vector<T>& to) {
    for (field const& one : at.items()) get(one, to.emplace_back());
  }
  template <class T>
  static void get(field const& at, T& to) {
    key_reader k(at);
    if constexpr (requires { to.keys(k); }) to.keys(k);
    else keys_of(k, to);
  }
  field const& of_;
};

class key_writer {
 public:
  static constexpr bool reads = false;
  json all = json::object();

  template <class T, class... More>
  void operator()(char const* key, T& value, More&&... more) {
    all[key] = of(value);
    if constexpr (sizeof...(more) > 0) (*this)(std::forward<More>(more)...);
  }
  void or_null(char const* key, std::string const& text) { all[key] = text.empty() ? json() : json(text); }
  template <class E, class Parse>
  void word(char const* key, E const& value, Parse const&) {
    all[key] = std::string(to_string(value));
  }
  template <class T>
  void derived(char const* key, T value) {
    all[key] = of(value);
  }
  static bool has(char const*) { return true; }
  static void require(char const*, bool, char const*) {}

 private:
  template <class T>
  static json of(std::optional<T>& value) {
    return value ? of(*value) : json();
  }
  template <class T>
  static json of(std::vector<T>& values) {
    json list = json::array();
    for (T& value : values) list.push_back(of(value));
    return list;
  }
  template <class T>
  static json of(T& value) {
    key_writer k;
    if constexpr (requires { value.keys(k); }) value.keys(k);
    else if constexpr (requires { keys_of(k, value); }) keys_of(k, value);
    else return value;
    return std::move(k.all);
  }
};

}  // namespace garner::lab
