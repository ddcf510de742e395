#include "files/npy.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <sstream>
#include <string_view>

#include "core/fail.hpp"
#include "files/npy_head.hpp"

namespace garner {

// The header's dictionary, as NumPy writes it: 'key': value, ... where a value is a string, a word or a tuple of numbers.
struct npy_layout::header {
  std::string const& file;
  std::string_view rest;
  std::string_view descr, order;
  std::vector<std::uint64_t> shape;
  bool has_shape = false;

  [[noreturn]] void bad(std::string const& what) const {
    fail(errc::input, "{}: not a table in NumPy's format: {}; write it with numpy.save", file, what);
  }
  void skip() {
    while (!rest.empty() && (rest[0] == ' ' || rest[0] == '\n' || rest[0] == '\t')) rest.remove_prefix(1);
  }
  bool take(char c) {
    skip();
    if (rest.empty() || rest[0] != c) return false;
    rest.remove_prefix(1);
    return true;
  }
  std::string_view text() {
    skip();
    if (rest.empty() || (rest[0] != '\'' && rest[0] != '"')) bad("its header has no quoted word where one is due");
    std::size_t const end = rest.find(rest[0], 1);
    if (end == std::string_view::npos) bad("a quoted word of its header does not end");
    std::string_view const word = rest.substr(1, end - 1);
    if (word.size() > 100) bad("a quoted word of its header is longer than 100 bytes");
    for (char c : word)
      if (c < ' ' || c > '~') bad("a quoted word of its header holds what cannot be printed");
    rest.remove_prefix(end + 1);
    return word;
  }
  void tuple() {
    if (!take('(')) bad("its shape is not a tuple");
    while (!take(')')) {
      skip();
      std::uint64_t n = 0;
      auto const [end, problem] = std::from_chars(rest.data(), rest.data() + rest.size(), n);
      if (problem != std::errc()) bad("its shape holds something other than whole numbers from 0 up");
      rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
      if (!rest.empty() && rest[0] == 'L') rest.remove_prefix(1);  // as Python 2 wrote long numbers
      shape.push_back(n);
      if (shape.size() > 8) bad("its shape has more than 8 dimensions");
      if (!take(',') && (skip(), rest.empty() || rest[0] != ')')) bad("its shape does not end");
    }
  }
  void parse() {
    if (!take('{')) bad("its header is not a dictionary");
    while (!take('}')) {
      std::string_view const key = text();
      if (!take(':')) bad(fmt::format("its header has no value for '{}'", key));
      if (key == "descr") {
        skip();
        if (!rest.empty() && rest[0] == '[')
          fail(errc::input,
               "{}: its rows are records of several fields; a table has one element type: numpy.save(file, "
               "table.view('u1').reshape(len(table), -1)) keeps their bytes",
               file);
        descr = text();
      } else if (key == "fortran_order") {
        skip();
        std::size_t const end = rest.find_first_of(",} ");
        order = rest.substr(0, end);
        rest.remove_prefix(order.size());
      } else if (key == "shape") {
        if (has_shape) bad("its header has two shapes");
        has_shape = true;
        tuple();
      } else {
        bad(fmt::format("its header speaks of '{}'", key));
      }
      if (!take(',') && (skip(), rest.empty() || rest[0] != '}')) bad("its header does not end");
    }
    skip();
    if (!rest.empty()) bad("something follows its header");
    if (descr.empty()) bad("its header has no descr");
    if (order != "False" && order != "True") bad("its header lacks fortran_order False or True");
    if (!has_shape) bad("its header has no shape");
  }
};

namespace {

constexpr std::uint64_t most_of_raw = 8192;

// Bytes of an element: the digits behind byte order and kind; of text (U) four times as many.
std::uint64_t bytes_of_type(std::string const& file, std::string_view descr) {
  if (descr == "bfloat16") return 2;  // as some writers call it; numpy.save writes <V2
  if (descr[0] == '>')
    fail(errc::input, "{}: elements are big-endian ({}); write it with numpy.save(file, table.astype('<{}'))", file, descr,
         descr.substr(1));
  std::uint64_t bytes = 0;
  auto const digits = descr.substr(std::min<std::size_t>(2, descr.size()));
  auto const [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), bytes);
  if (problem != std::errc() || end != digits.data() + digits.size() || bytes == 0 || bytes > 1u << 20)
    fail(errc::input, "{}: elements are '{}'; a table has one type of fixed size, as <f4: {}", file, descr,
         descr.substr(0, 2) == "<M" || descr.substr(0, 2) == "<m" ? "write it with numpy.save(file, table.view('<i8'))"
                                                                  : "write it with numpy.save(file, table.astype('<f4'))");
  return descr[1] == 'U' ? bytes * 4 : bytes;
}

}  // namespace

raw_rows raw_rows::parse(std::string const& text, std::filesystem::path const& from) {
  auto const bad = [&](char const* what) {
    fail(errc::input, "{}: {}; it is three lines: 'garner raw 1', '<f4 ROWS WIDTH', and the file of the rows", from.string(), what);
  };
  if (text.size() > most_of_raw) bad("is longer than 8192 bytes");
  std::istringstream lines(text);
  std::string first, shape, file, more;
  std::getline(lines, first), std::getline(lines, shape), std::getline(lines, file);
  if (first != "garner raw 1") bad("does not begin with 'garner raw 1'");
  if (file.empty() || std::getline(lines, more)) bad("does not have three lines");
  raw_rows found;
  std::istringstream words(shape);
  if (!(words >> found.type >> found.rows >> found.width) || words >> more || found.width == 0 || found.type.size() > 8 ||
      shape.find('-') != shape.npos || found.type.find_first_of("'\"") != std::string::npos)
    bad("has no type, rows and width in its second line");
  found.file = std::filesystem::absolute(from).parent_path() / file;
  return found;
}
std::string raw_rows::text() const { return fmt::format("garner raw 1\n{} {} {}\n{}\n", type, rows, width, file.string()); }

namespace {
std::optional<raw_rows> described(std::filesystem::path const& file) {
  if (file.extension() != ".raw") return {};
  input_file const in(file);
  std::string text(std::min<std::uint64_t>(in.size(), most_of_raw + 1), '\0');
  in.read(text.data(), text.size(), 0);
  return raw_rows::parse(text, file);
}
}  // namespace

npy_file::npy_file(std::filesystem::path const& file, order allowed) : npy_file(file, described(file), allowed) {}
npy_file::npy_file(std::filesystem::path const& file, std::optional<raw_rows> const& raw, order allowed)
    : npy_layout(file.string()), file_(raw ? raw->file : file), made_head_(raw ? npy_head(raw->type, raw->rows, raw->width) : "") {
  parse(
      made_head_.size() + file_.size(),
      [this](void* to, std::uint64_t n, std::uint64_t at) {
        if (made_head_.empty()) return read(to, n, at);
        if (n > made_head_.size() || at > made_head_.size() - n) fail(errc::input, "{}: its file is empty", name_);
        std::memcpy(to, made_head_.data() + at, n);
      },
      allowed);
  if (raw) without_head();
}
std::string npy_file::head() const {
  if (!made_head_.empty()) return made_head_;
  std::string found(head_bytes(), '\0');
  read(found.data(), found.size(), 0);
  return found;
}

std::shared_ptr<void const> npy_file::map() const {
  std::uint64_t const bytes = head_bytes() + rows() * row_bytes();
  void* const at = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, file_.descriptor(), 0);
  if (at == MAP_FAILED) fail(errno == ENOMEM ? errc::memory : errc::io, "{}: cannot be mapped: {}", name_, std::strerror(errno));
  ::madvise(at, bytes, MADV_RANDOM);  // rows are gathered from all over: what lies behind one is not wanted
  return {at, [bytes](void const* mapped) { ::munmap(const_cast<void*>(mapped), bytes); }};
}

void npy_layout::parse(std::uint64_t size, reader const& read, order allowed) {
  unsigned char start[12] = {};
  read(start, std::min<std::uint64_t>(size, sizeof start), 0);
  if (std::memcmp(start, "\x89GNR", 4) == 0 || std::memcmp(start, "GARNERTR", 8) == 0)
    fail(errc::input, "{}: is a {} of Garner's, no table; a table is an .npy file that numpy.save wrote", name_,
         start[0] == 'G' ? "trace" : "graph");
  if (std::memcmp(start, "\x89GNT", 4) == 0)
    fail(errc::input, "{}: is a feature file of Garner (.gnt), not an .npy file; convert it with garner convert", name_);
  if (size < 10 || std::memcmp(start, "\x93NUMPY", 6) != 0)
    fail(errc::input, "{}: not a table in NumPy's format (it does not begin with \\x93NUMPY); write it with numpy.save", name_);
  unsigned const version = start[6];
  if (version < 1 || version > 3)
    fail(errc::input, "{}: is of version {}.{} of NumPy's format; versions 1 to 3 are read", name_, version, start[7]);
  std::uint64_t const begin = version == 1 ? 10 : 12;
  std::uint64_t length = start[8] | start[9] << 8;
  if (version > 1) length |= std::uint64_t{start[10]} << 16 | std::uint64_t{start[11]} << 24;
  if (size < begin || length > size - begin)
    fail(errc::input, "{}: shorter than its header says: {} bytes, the header alone takes {}; is it a whole copy?", name_, size,
         begin + length);
  if (length > (1u << 20)) fail(errc::input, "{}: a header of {} bytes; one of a table has some hundred", name_, length);
  std::string text(length, '\0');
  read(text.data(), length, begin);
  header h{name_, text, {}, {}, {}};
  h.parse();

  // NumPy takes '=f4' and '|f4' too; both are the order of this machine, '<'. A byte has none, and stays '|u1'.
  type_ = h.descr;
  bool const number = type_.size() > 1 && std::string_view("iufc").find(type_[1]) != std::string_view::npos;
  if (type_[0] == '=' || (type_[0] == '|' && number && type_.substr(2) != "1")) type_[0] = '<';
  std::uint64_t const each = bytes_of_type(name_, type_);
  shape_ = std::move(h.shape);
  if (shape_.empty()) fail(errc::input, "{}: has 0 dimensions; the first of a table counts its rows, and any more make a row", name_);
  by_columns_ = h.order == "True" && std::count_if(shape_.begin(), shape_.end(), [](std::uint64_t n) { return n > 1; }) > 1;
  if (by_columns_ && allowed == order::by_rows)
    fail(errc::input, "{}: lies column by column (fortran_order); write it with numpy.save(file, numpy.ascontiguousarray(table))", name_);
  head_ = begin + length;
  element_bytes_ = row_bytes_ = each;
  std::uint64_t bytes = 0;
  bool too_large = false;
  for (std::size_t k = 1; k < shape_.size(); ++k) too_large |= __builtin_mul_overflow(row_bytes_, shape_[k], &row_bytes_);
  too_large |= __builtin_mul_overflow(rows(), row_bytes_, &bytes);
  if (too_large || bytes > size - head_)
    fail(errc::input, "{}: shorter than its header says: an array ({}) of {} does not fit into the {} bytes after it; is it a whole copy?",
         name_, fmt::join(shape_, ", "), type_, size - head_);
  if (bytes != size - head_)
    fail(errc::input, "{}: longer than its header says: an array ({}) of {} takes {} bytes, {} follow it; is it several arrays?", name_,
         fmt::join(shape_, ", "), type_, bytes, size - head_);
}

}  // namespace garner
