#include "files/checkpoint.hpp"

#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <string_view>
#include <utility>

#include "core/convert.hpp"
#include "core/fail.hpp"
#include "core/progress.hpp"
#include "core/publish.hpp"
#include "core/shown.hpp"
#include "files/safetensors.hpp"

namespace garner {

namespace {

// Keys of the metadata. All that begin with `ours` are Garner's, all others facts.
constexpr std::string_view ours = "garner.", made_for_begins = "garner.made_for.";
constexpr char const *kind_key = "garner.kind", *version_key = "garner.version", *checksum_key = "garner.checksum";
constexpr char const* version = "1";
constexpr std::string_view no_checksum = "0000000000000000";

std::string name_of(checkpoint::kind k) { return k == checkpoint::kind::model ? "garner model" : "garner checkpoint"; }

template <class T>
constexpr char const* dtype_of = nullptr;
template <>
constexpr char const* dtype_of<float> = "F32";
template <>
constexpr char const* dtype_of<double> = "F64";
template <>
constexpr char const* dtype_of<std::int64_t> = "I64";
template <>
constexpr char const* dtype_of<std::uint64_t> = "U64";

char const* dtype_of_rows(element kind) { return kind == element::f32 ? "F32" : kind == element::f16 ? "F16" : "BF16"; }

template <class Values>
constexpr char const* dtype_of_values = dtype_of<typename Values::value_type>;

// XXH3-64 of the whole file with its checksum set to zeros.
class sum {
 public:
  sum() : state_(::XXH3_createState(), &::XXH3_freeState) {
    if (!state_) throw std::bad_alloc();
    ::XXH3_64bits_reset(state_.get());
  }
  void add(void const* data, std::uint64_t bytes) {
    for (std::uint64_t done = 0; done < bytes;) {
      std::uint64_t const n = std::min<std::uint64_t>(bytes - done, 64u << 20);
      check_interrupted();
      ::XXH3_64bits_update(state_.get(), static_cast<char const*>(data) + done, n);
      done += n;
    }
  }
  std::string text() const { return fmt::format("{:016x}", ::XXH3_64bits_digest(state_.get())); }

 private:
  std::unique_ptr<::XXH3_state_t, decltype(&::XXH3_freeState)> state_;
};

// How many rows of a large array come at a time, and their floats in all.
struct pieces {
  std::uint64_t rows, each, at_once;
  explicit pieces(std::vector<std::uint64_t> const& shape) : rows(shape.empty() ? 1 : shape[0]), each(1) {
    for (std::size_t d = 1; d < shape.size(); ++d) each *= shape[d];
    at_once = std::max<std::uint64_t>(1, (4u << 20) / std::max<std::uint64_t>(1, each));
  }
  template <class F>
  void for_each(F f) const {  // f(first, how many)
    for (std::uint64_t r = 0; r < rows && each; r += at_once) f(r, std::min(at_once, rows - r));
  }
};

}  // namespace

void checkpoint::write(std::filesystem::path const& to) const {
  std::string const name = to.string();
  file_metadata all{{kind_key, name_of(is)}, {version_key, version}, {checksum_key, std::string(no_checksum)}};
  for (auto const& [key, value] : facts) {
    if (key.starts_with(ours))
      fail(errc::usage, "{}: fact {}: names that begin with '{}' are taken; name it otherwise", name, shown(key), ours);
    all[key] = value;
  }
  for (auto const& [key, value] : made_for) all[std::string(made_for_begins) + key] = value;

  std::vector<file_tensor> tensors;
  for (named_array const& a : arrays)
    std::visit(
        [&](auto const& values) {
          file_tensor const& t =
              tensors.emplace_back(file_tensor{a.name, dtype_of_values<std::decay_t<decltype(values)>>, a.shape, values.data()});
          std::uint64_t elements = 1;
          bool too_many = false;
          for (std::uint64_t const n : a.shape) too_many |= __builtin_mul_overflow(elements, n, &elements);
          if (too_many || elements != values.size())
            fail(errc::usage, "{}: array {}: has {} elements, and {} has not; give it its shape", name, shown(a.name), values.size(),
                 type_and_shape(t.dtype, t.shape));
        },
        a.values);
  for (large_array const& a : large) tensors.push_back({a.name, dtype_of_rows(a.kind), a.shape, nullptr});
  // The checksum, which comes before the data, is written behind them.
  tensor_head const head = head_of(name, tensors, all);
  sum checksum;
  pending_file out(to);
  auto const put = [&](void const* data, std::uint64_t bytes) {
    checksum.add(data, bytes);
    out.write(data, bytes);
  };
  put(head.bytes.data(), head.bytes.size());
  for (auto const& part : head.order) {
    if (part.tensor < arrays.size()) {
      put(tensors[part.tensor].data, part.bytes);
      continue;
    }
    large_array const& a = large[part.tensor - arrays.size()];
    pieces const in(a.shape);
    std::vector<float> some(std::min(in.at_once, in.rows) * in.each);
    in.for_each([&](std::uint64_t first, std::uint64_t rows) {
      a.give(first, rows, some.data());
      std::uint64_t const n = rows * in.each;
      auto* const narrow = reinterpret_cast<char*>(some.data());  // in place: each is written where all before it were read
      for (std::uint64_t k = 0; a.kind != element::f32 && k < n; ++k) {
        std::uint16_t const bits = a.kind == element::f16 ? float_to_half(some[k]) : float_to_brain(some[k]);
        std::memcpy(narrow + 2 * k, &bits, 2);
      }
      put(some.data(), n * bytes_of(a.kind));
    });
  }
  all[checksum_key] = checksum.text();
  tensor_head const summed = head_of(name, tensors, all);
  out.write_at(0, summed.bytes.data(), summed.bytes.size());
  out.commit();
}

checkpoint checkpoint::read(std::filesystem::path const& from, kind wanted, std::set<std::string> const& left) {
  tensor_file const in(from);
  file_metadata const& all = in.metadata();
  auto const said = [&](char const* key) {
    auto const found = all.find(key);
    return found == all.end() ? std::string() : found->second;
  };
  std::string const is = said(kind_key), of_version = said(version_key);
  if (is != name_of(kind::model) && is != name_of(kind::checkpoint))
    fail(errc::input, "{}: its metadata lack {}, so Garner did not write it; name a {} that it wrote", in.name(), kind_key,
         name_of(wanted));
  if (of_version != version)
    fail(errc::input, "{}: is of version {}, and this Garner reads {}; read it with the Garner that wrote it", in.name(), shown(of_version),
         version);
  if (is != name_of(wanted)) fail(errc::input, "{}: is a {} and no {}; name one", in.name(), is, name_of(wanted));

  checkpoint c;
  c.file = in.name();
  std::string head = in.head();
  std::string const digits = said(checksum_key), entry = fmt::format("\"{}\":\"{}\"", checksum_key, digits);
  if (std::size_t const at = head.find(entry); at != std::string::npos && digits.size() == no_checksum.size())
    head.replace(at + entry.size() - 1 - digits.size(), digits.size(), no_checksum);
  sum checksum;
  checksum.add(head.data(), head.size());
  for (tensor_info const& t : in.tensors()) {
    if (left.count(t.name)) {
      std::vector<char> some(std::min<std::uint64_t>(t.bytes, 16u << 20));
      for (std::uint64_t at = 0; at < t.bytes; at += some.size()) {
        std::uint64_t const n = std::min<std::uint64_t>(some.size(), t.bytes - at);
        in.read(t, some.data(), n, at);
        checksum.add(some.data(), n);
      }
      continue;
    }
    auto const take = [&]<class T>(std::vector<T>&& values) {
      if (t.dtype != dtype_of<T>) return false;
      try {
        values.resize(t.bytes / sizeof(T));
      } catch (std::bad_alloc const&) {
        fail(errc::memory, "{}: array {} takes {} bytes, which are not there; free some memory", in.name(), shown(t.name), t.bytes);
      }
      in.read(t, values.data());
      checksum.add(values.data(), t.bytes);
      c.arrays.push_back({t.name, t.shape, std::move(values)});
      return true;
    };
    if (!take(std::vector<float>()) && !take(std::vector<double>()) && !take(std::vector<std::int64_t>()) &&
        !take(std::vector<std::uint64_t>()))
      fail(errc::input, "{}: array {} is of {}, and a {} has F32, F64, I64 and U64 alone; name one that Garner wrote", in.name(),
           shown(t.name), t.dtype, is);
  }
  if (checksum.text() != digits)
    fail(errc::input, "{}: its checksum is {}, and that of its content {}: it is damaged; take another copy or an older one", in.name(),
         shown(digits), checksum.text());

  c.is = wanted;
  for (auto const& [key, value] : all)
    if (key.starts_with(made_for_begins)) c.made_for[key.substr(made_for_begins.size())] = value;
    else if (!key.starts_with(ours)) c.facts[key] = value;
  return c;
}

void checkpoint::require_made_for(texts const& wanted) const {
  texts either = wanted;
  either.insert(made_for.begin(), made_for.end());
  auto const value = [](texts const& of, std::string const& field) {
    auto const found = of.find(field);
    return found == of.end() ? nullptr : &found->second;
  };
  auto const told = [](std::string const* v) { return v ? shown(*v, 100) : "nothing"; };
  std::vector<std::string> differ;
  for (auto const& [field, any] : either) {
    std::string const *const expected = value(wanted, field), *const found = value(made_for, field);
    if (!expected || !found || *expected != *found) differ.push_back(field);
  }
  if (differ.empty()) return;
  std::string others;
  for (std::size_t k = 1; k < differ.size(); ++k) others += (k > 1 ? ", " : "; other too: ") + shown(differ[k]);
  fail(errc::input, "{}: was made for another {}: expected {}, found {}{}; use what it was made for, or begin without it", file,
       shown(differ[0]), told(value(wanted, differ[0])), told(value(made_for, differ[0])), others);
}

std::string const& checkpoint::fact(std::string const& name) const {
  auto const found = facts.find(name);
  if (found == facts.end()) fail(errc::input, "{}: lacks {}; name a file that has it", file, shown(name));
  return found->second;
}

namespace {
named_array const* find(checkpoint const& c, std::string const& name) {
  auto const found = std::find_if(c.arrays.begin(), c.arrays.end(), [&](named_array const& a) { return a.name == name; });
  return found == c.arrays.end() ? nullptr : &*found;
}
}  // namespace

void checkpoint::read_large(std::string const& name, std::vector<std::uint64_t> const& shape, take_rows const& take, element kind) const {
  tensor_file const in(file);
  tensor_info const* const t = in.find(name);
  std::string const wanted = type_and_shape(dtype_of_rows(kind), shape);
  if (!t) fail(errc::input, "{}: has no array {}, which is to be {}; name a file that has it", file, shown(name), wanted);
  if (t->dtype != dtype_of_rows(kind) || t->shape != shape)
    fail(errc::input, "{}: array {}: expected {}, found {}; name a file of the same table", file, shown(name), wanted,
         type_and_shape(t->dtype, t->shape));
  if (!take) return;
  pieces const of(shape);
  std::vector<float> some(std::min(of.at_once, of.rows) * of.each);
  of.for_each([&](std::uint64_t first, std::uint64_t rows) {
    std::uint64_t const n = rows * of.each;
    in.read(*t, some.data(), n * bytes_of(kind), first * of.each * bytes_of(kind));
    auto const* const narrow = reinterpret_cast<char const*>(some.data());
    for (std::uint64_t k = kind == element::f32 ? 0 : n; k-- > 0;) {  // in place, from the end
      std::uint16_t bits = 0;
      std::memcpy(&bits, narrow + 2 * k, 2);
      some[k] = kind == element::f16 ? half_to_float(bits) : brain_to_float(bits);
    }
    take(first, rows, some.data());
  });
}

template <class T>
std::vector<T> const& checkpoint::values(std::string const& name, std::vector<std::uint64_t> const& shape) const {
  named_array const* const a = find(*this, name);
  std::string const wanted = type_and_shape(dtype_of<T>, shape);
  if (!a) fail(errc::input, "{}: has no array {}, which is to be {}; name a file that has it", file, shown(name), wanted);
  auto const* const values = std::get_if<std::vector<T>>(&a->values);
  if (!values || a->shape != shape)
    fail(errc::input, "{}: array {}: expected {}, found {}; name a file of the same model", file, shown(name), wanted,
         std::visit([&](auto const& v) { return type_and_shape(dtype_of_values<std::decay_t<decltype(v)>>, a->shape); }, a->values));
  return *values;
}
template std::vector<float> const& checkpoint::values(std::string const&, std::vector<std::uint64_t> const&) const;
template std::vector<double> const& checkpoint::values(std::string const&, std::vector<std::uint64_t> const&) const;
template std::vector<std::int64_t> const& checkpoint::values(std::string const&, std::vector<std::uint64_t> const&) const;
template std::vector<std::uint64_t> const& checkpoint::values(std::string const&, std::vector<std::uint64_t> const&) const;

}  // namespace garner
