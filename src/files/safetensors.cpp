#include "files/safetensors.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>
#include <utility>

#include "core/fail.hpp"
#include "core/shown.hpp"

namespace garner {

namespace {

using json = nlohmann::json;
static_assert(std::endian::native == std::endian::little);

constexpr std::uint64_t length_bytes = 8, most_header = 100'000'000;  // more no reader of this format takes
constexpr std::uint64_t alignment = 64;                               // of the data in the file: a line of the processor
constexpr char const* metadata_key = "__metadata__";
constexpr std::pair<std::string_view, std::uint64_t> dtypes[] = {
    {"F32", 4}, {"F64", 8}, {"F16", 2}, {"BF16", 2}, {"I64", 8},     {"I32", 4},     {"U8", 1},      {"BOOL", 1}, {"I8", 1},
    {"I16", 2}, {"U16", 2}, {"U32", 4}, {"U64", 8},  {"F8_E4M3", 1}, {"F8_E5M2", 1}, {"F8_E8M0", 1}, {"C64", 8}};

std::string known_dtypes() {
  std::string all;
  for (auto const& [name, bytes] : dtypes) all.append(all.empty() ? "" : ", ").append(name);
  return all;
}

// False where the number of bytes overflows.
bool bytes_of(std::vector<std::uint64_t> const& shape, std::uint64_t element, std::uint64_t& bytes) {
  bytes = element;
  std::uint64_t count = 1;  // as the reference does: the elements first
  for (std::uint64_t const n : shape)
    if (__builtin_mul_overflow(count, n, &count)) return false;
  return !__builtin_mul_overflow(count, element, &bytes);
}

std::string quoted(std::string const& text) { return json(text).dump(); }  // throws unless it is UTF-8

}  // namespace

std::uint64_t bytes_of_dtype(std::string_view dtype) {
  auto const* const found = std::find_if(std::begin(dtypes), std::end(dtypes), [&](auto const& d) { return d.first == dtype; });
  return found == std::end(dtypes) ? 0 : found->second;
}

std::string type_and_shape(std::string_view dtype, std::span<std::uint64_t const> shape) {
  std::span<std::uint64_t const> const some = shape.first(std::min<std::size_t>(shape.size(), 8));
  return fmt::format("{} [{}{}]", dtype, fmt::join(some, ", "), some.size() < shape.size() ? ", ..." : "");
}

// --- writing -----------------------------------------------------------------------------------------------------------------------------

tensor_head head_of(std::string const& file, std::span<file_tensor const> tensors, file_metadata const& metadata) {
  tensor_head head;
  std::set<std::string_view> names{metadata_key};
  for (file_tensor const& t : tensors) {
    std::uint64_t const element = bytes_of_dtype(t.dtype);
    if (!element) fail(errc::usage, "{}: tensor {}: its dtype is {}; use one of {}", file, shown(t.name), shown(t.dtype), known_dtypes());
    if (!names.insert(t.name).second)
      fail(errc::usage, "{}: tensor {}: {}; name it otherwise", file, shown(t.name),
           t.name == metadata_key ? "the name is that of the metadata" : "two are called so");
    std::uint64_t bytes = 0;
    if (!bytes_of(t.shape, element, bytes))
      fail(errc::usage, "{}: tensor {}: {} is more than a file can hold", file, shown(t.name), type_and_shape(t.dtype, t.shape));
    head.order.push_back({head.order.size(), bytes});
  }
  auto const element = [&](tensor_head::part const& p) { return bytes_of_dtype(tensors[p.tensor].dtype); };
  std::stable_sort(head.order.begin(), head.order.end(), [&](auto const& a, auto const& b) { return element(a) > element(b); });

  // By hand, since what keeps an object's order looks through all its keys at each new one.
  std::string text = "{";
  auto const quote = [&](std::string const& what, std::string const& whose) {
    try {
      return quoted(what);
    } catch (json::exception const&) {
      fail(errc::usage, "{}: {} {}: is not UTF-8; write it in UTF-8", file, whose, shown(what));
    }
  };
  if (!metadata.empty()) {
    text += quoted(metadata_key) + ":{";
    for (auto const& [key, value] : metadata)
      text.append(text.back() == '{' ? "" : ",").append(quote(key, "metadata")).append(":").append(quote(value, "metadata"));
    text += "}";
  }
  std::uint64_t at = 0;
  for (tensor_head::part const& p : head.order) {
    file_tensor const& t = tensors[p.tensor];
    std::uint64_t end = 0;
    if (__builtin_add_overflow(at, p.bytes, &end))
      fail(errc::usage, "{}: tensor {}: with it they are more than a file can hold", file, shown(t.name));
    text += fmt::format("{}{}:{{\"dtype\":\"{}\",\"shape\":[{}],\"data_offsets\":[{},{}]}}", text.size() > 1 ? "," : "",
                        quote(t.name, "tensor"), t.dtype, fmt::join(t.shape, ","), at, end);
    at = end;
  }
  text += "}";
  text.append((alignment - (length_bytes + text.size()) % alignment) % alignment, ' ');
  if (text.size() > most_header)
    fail(errc::usage, "{}: names and metadata take {} bytes, and a header has at most {}; write several files", file, text.size(),
         most_header);
  std::uint64_t const length = text.size();
  head.bytes.assign(reinterpret_cast<char const*>(&length), length_bytes);
  head.bytes += text;
  return head;
}

// --- reading -----------------------------------------------------------------------------------------------------------------------------

// Parses the header word by word and stores only what belongs there, so that hostile text cannot make it allocate much.
class tensor_file::header {
 public:
  explicit header(tensor_file& to) : to_(to) {}

  [[noreturn]] static void bad(std::string const& file, std::string const& what) {
    fail(errc::input, "{}: {}; the file is damaged or no safetensors file: fetch it again, or write it anew", file, what);
  }
  [[noreturn]] void bad(std::string const& what) const { bad(to_.name(), what); }

  // What nlohmann::json::sax_parse calls.
  bool null() { wrong("null"); }
  bool boolean(bool value) { wrong(value ? "true" : "false"); }
  bool number_integer(std::int64_t value) { wrong(std::to_string(value)); }
  bool number_float(double, std::string const& text) { wrong(text.substr(0, 40)); }
  bool binary(json::binary_t const&) { wrong("bytes"); }
  bool number_unsigned(std::uint64_t value) {
    if (at_ == state::shape) tensor().shape.push_back(value);
    else if (at_ == state::offsets && offsets_.size() < 2) offsets_.push_back(value);
    else wrong(std::to_string(value));
    return true;
  }
  bool string(std::string const& text) {
    if (at_ == state::metadata) to_.metadata_[key_] = text;
    else if (at_ == state::tensor && key_ == "dtype") tensor().dtype = text;
    else wrong(shown(text));
    return true;
  }
  bool start_object(std::size_t) {
    if (at_ == state::file) at_ = state::tensors;
    else if (at_ != state::tensors) wrong("an object");
    else if (key_ == metadata_key) at_ = state::metadata;
    else {
      at_ = state::tensor;
      to_.tensors_.push_back({key_, {}, {}, 0, 0});
      offsets_.clear();
      fields_.clear();
    }
    return true;
  }
  bool key(std::string const& name) {
    key_ = name;
    if (at_ == state::metadata) {
      if (to_.metadata_.count(name)) bad(fmt::format("metadata {}: stands twice", shown(name)));
    } else if (at_ == state::tensors) {
      if (name == metadata_key ? std::exchange(metadata_seen_, true) : !to_.by_name_.emplace(name, 0).second)
        bad(fmt::format("tensor {}: stands twice", shown(name)));
    } else {
      if (name != "dtype" && name != "shape" && name != "data_offsets")
        bad(fmt::format("{}: has {}; a tensor has dtype, shape and data_offsets", here(), shown(name)));
      if (!fields_.insert(name).second) bad(fmt::format("{}: {} stands twice", here(), name));
    }
    return true;
  }
  bool end_object() {
    if (at_ == state::tensor) finish();
    at_ = at_ == state::tensors ? state::file : state::tensors;
    return true;
  }
  bool start_array(std::size_t) {
    if (at_ != state::tensor || key_ == "dtype") wrong("a list");
    at_ = key_ == "shape" ? state::shape : state::offsets;
    return true;
  }
  bool end_array() {
    if (at_ == state::offsets && offsets_.size() != 2) bad(fmt::format("{}: data_offsets are not two", here()));
    at_ = state::tensor;
    return true;
  }
  bool parse_error(std::size_t position, std::string const&, json::exception const&) {
    bad(fmt::format("its header is not JSON at byte {}", length_bytes + position - 1));
  }

 private:
  enum class state : std::uint8_t { file, tensors, metadata, tensor, shape, offsets };

  tensor_info& tensor() { return to_.tensors_.back(); }
  std::string here() const { return "tensor " + shown(to_.tensors_.back().name); }
  [[noreturn]] void wrong(std::string const& said) const {
    switch (at_) {
      case state::file:
        bad("its header is not an object");
      case state::tensors:
        bad(fmt::format("{} {}: is {} and no object", key_ == metadata_key ? "metadata" : "tensor", shown(key_), said));
      case state::metadata:
        bad(fmt::format("metadata {}: is {} and no text", shown(key_), said));
      case state::tensor:
        bad(fmt::format("{}: {} is {} and no {}", here(), key_, said, key_ == "dtype" ? "text" : "list"));
      case state::shape:
        bad(fmt::format("{}: its shape holds {}, which is not a whole number from 0 up", here(), said));
      case state::offsets:
        break;
    }
    bad(fmt::format("{}: data_offsets hold {}; they are two whole numbers from 0 up", here(), said));
  }
  void finish() {
    tensor_info& t = tensor();
    for (char const* field : {"dtype", "shape", "data_offsets"})
      if (!fields_.count(field)) bad(fmt::format("{}: has no {}", here(), field));
    std::uint64_t const element = bytes_of_dtype(t.dtype);
    if (!element) bad(fmt::format("{}: its dtype is {}, and Garner knows {}", here(), shown(t.dtype), known_dtypes()));
    std::uint64_t bytes = 0;
    if (!bytes_of(t.shape, element, bytes))
      bad(fmt::format("{}: {} is more than a file can hold", here(), type_and_shape(t.dtype, t.shape)));
    if (offsets_[0] > offsets_[1]) bad(fmt::format("{}: data_offsets go back, from {} to {}", here(), offsets_[0], offsets_[1]));
    t.begin = offsets_[0], t.bytes = offsets_[1] - offsets_[0];
    if (t.bytes != bytes)
      bad(fmt::format("{}: {} takes {} bytes, and its data_offsets give it {}", here(), type_and_shape(t.dtype, t.shape), bytes, t.bytes));
  }

  tensor_file& to_;
  state at_ = state::file;
  std::string key_;  // the last
  std::vector<std::uint64_t> offsets_;
  std::set<std::string> fields_;  // of this tensor
  bool metadata_seen_ = false;
};

tensor_file::tensor_file(std::filesystem::path const& file) : file_(file) {
  auto const bad = [&](std::string const& what) { header::bad(name(), what); };
  if (file_.size() < length_bytes) bad(fmt::format("has {} bytes, and the length of its header alone takes 8", file_.size()));
  char start[length_bytes];
  file_.read(start, sizeof start, 0);
  std::uint64_t length = 0;
  std::memcpy(&length, start, sizeof length);
  if (std::memcmp(start, "PK\3\4", 4) == 0)
    fail(errc::input, "{}: is a ZIP archive, as torch.save writes; write the tensors with safetensors.torch.save_file", name());
  if (length > file_.size() - length_bytes)
    bad(fmt::format("a header of {} bytes does not fit into the {} of the file", length, file_.size()));
  if (length > most_header) bad(fmt::format("a header of {} bytes, and {} are the most", length, most_header));
  head_.resize(length_bytes + length);
  file_.read(head_.data(), head_.size(), 0);
  std::string_view const text = std::string_view(head_).substr(length_bytes);
  if (text.substr(0, 1) != "{") bad("its header does not begin with {");       // nlohmann passes over marks of byte order
  if (std::size_t const end = text.find('\0'); end != std::string_view::npos)  // which it takes for the end
    bad(fmt::format("its header is not JSON at byte {}", length_bytes + end));
  header words(*this);
  json::sax_parse(text.begin(), text.end(), &words);
  place();
}

void tensor_file::place() {
  auto const bad = [&](tensor_info const& t, std::string const& what) {
    header::bad(name(), fmt::format("tensor {}: {}", shown(t.name), what));
  };
  std::sort(tensors_.begin(), tensors_.end(),
            [](auto const& a, auto const& b) { return std::tie(a.begin, a.bytes, a.name) < std::tie(b.begin, b.bytes, b.name); });
  std::uint64_t const size = file_.size() - head_.size();
  std::uint64_t at = 0;
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    tensor_info const& t = tensors_[i];
    if (t.begin > at)
      bad(t, fmt::format("begins at byte {} of the data, and bytes {} to {} belong to no tensor", t.begin, at, t.begin - 1));
    if (t.begin < at) bad(t, fmt::format("begins at byte {} of the data, within tensor {}", t.begin, shown(tensors_[i - 1].name)));
    at = t.begin + t.bytes;
    if (at > size) bad(t, fmt::format("ends at byte {} of the data, which have {}; was the file cut off?", at, size));
    by_name_[t.name] = i;
  }
  if (at != size) header::bad(name(), fmt::format("the last {} of its {} bytes belong to no tensor", size - at, file_.size()));
}

tensor_info const* tensor_file::find(std::string const& name) const {
  auto const found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &tensors_[found->second];
}

}  // namespace garner
