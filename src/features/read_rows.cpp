// Tables from .npy files (NumPy's format, versions 1 to 3): magic, version, length of the header, the header (a Python dictionary with
// descr, fortran_order and shape), then the data. Every number of the header is held against the file before memory is taken for it.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <string>

#include "core/crew.hpp"
#include "core/fail.hpp"
#include "core/progress.hpp"
#include "garner/features.hpp"
#include "memory/buffer.hpp"

namespace garner {

namespace {

struct open_file {
  std::string name;
  int fd;
  explicit open_file(std::filesystem::path const& path) : name(path.string()), fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (fd < 0) fail(errc::io, "{}: cannot be opened: {}", name, std::strerror(errno));
  }
  ~open_file() { ::close(fd); }
  open_file(open_file const&) = delete;
  open_file& operator=(open_file const&) = delete;

  std::uint64_t bytes() const {
    struct stat about {};
    if (::fstat(fd, &about) != 0) fail(errc::io, "{}: {}", name, std::strerror(errno));
    if (!S_ISREG(about.st_mode)) fail(errc::input, "{}: is no regular file; write the table into a file", name);
    return static_cast<std::uint64_t>(about.st_size);
  }
  void read(void* to, std::uint64_t n, std::uint64_t at) const {
    for (std::uint64_t done = 0; done < n;) {
      ::ssize_t const got = ::pread(fd, static_cast<char*>(to) + done, n - done, static_cast<::off_t>(at + done));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) fail(errc::io, "{}: cannot be read at byte {}: {}", name, at + done, std::strerror(errno));
      if (got == 0) fail(errc::input, "{}: ends at byte {} while it is read; was it cut just now?", name, at + done);
      done += static_cast<std::uint64_t>(got);
    }
  }
};

// The header's dictionary, as NumPy writes it: 'key': value, ... where a value is a string, a word or a tuple of numbers.
struct npy_header {
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
    if (!take('(')) bad("its shape is no tuple");
    while (!take(')')) {
      skip();
      std::uint64_t n = 0;
      auto const [end, problem] = std::from_chars(rest.data(), rest.data() + rest.size(), n);
      if (problem != std::errc()) bad("its shape holds something that is no whole number from 0 up");
      rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
      if (!rest.empty() && rest[0] == 'L') rest.remove_prefix(1);  // as Python 2 wrote long numbers
      shape.push_back(n);
      if (shape.size() > 8) bad("its shape has more than 8 dimensions");
      if (!take(',') && (skip(), rest.empty() || rest[0] != ')')) bad("its shape does not end");
    }
  }
  void parse() {
    if (!take('{')) bad("its header is no dictionary");
    while (!take('}')) {
      std::string_view const key = text();
      if (!take(':')) bad(fmt::format("its header has no value for '{}'", key));
      if (key == "descr") {
        skip();
        if (!rest.empty() && rest[0] == '[')
          fail(errc::input, "{}: its rows are records of several fields; a table has one element type: f32, f16, i8, i64 or u8", file);
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
    if (order != "False" && order != "True") bad("its header does not say fortran_order False or True");
    if (!has_shape) bad("its header has no shape");
  }
};

element element_of(std::string const& file, std::string_view descr) {
  if (descr == "<f4") return element::f32;
  if (descr == "<f2") return element::f16;
  if (descr == "<i8") return element::i64;
  if (descr == "|i1" || descr == "<i1") return element::i8;
  if (descr == "|u1" || descr == "<u1") return element::u8;
  if (!descr.empty() && descr[0] == '>')
    fail(errc::input, "{}: elements are big-endian ({}); write it with numpy.save(file, table.astype('<{}'))", file, descr,
         descr.substr(1));
  fail(errc::input,
       "{}: elements are '{}'; a table holds <f4, <f2, <i8, |i1 or |u1 (bf16 as two-byte words has no name in this format): "
       "write it with numpy.save(file, table.astype('<f4')), or give the array itself",
       file, descr);
}

}  // namespace

row_array read_rows(std::filesystem::path const& path) {
  open_file const file(path);
  std::uint64_t const size = file.bytes();
  unsigned char start[12] = {};
  file.read(start, std::min<std::uint64_t>(size, sizeof start), 0);
  if (std::memcmp(start, "\x89GNR", 4) == 0 || std::memcmp(start, "GARNERTR", 8) == 0)
    fail(errc::input, "{}: is a {} of Garner's, no table; a table is an .npy file that numpy.save wrote", file.name,
         start[0] == 'G' ? "trace" : "graph");
  if (size < 10 || std::memcmp(start, "\x93NUMPY", 6) != 0)
    fail(errc::input, "{}: not a table in NumPy's format (it does not begin with \\x93NUMPY); write it with numpy.save", file.name);
  unsigned const version = start[6];
  if (version < 1 || version > 3)
    fail(errc::input, "{}: is of version {}.{} of NumPy's format; versions 1 to 3 are read", file.name, version, start[7]);
  std::uint64_t const begin = version == 1 ? 10 : 12;
  std::uint64_t length = start[8] | start[9] << 8;
  if (version > 1) length |= std::uint64_t{start[10]} << 16 | std::uint64_t{start[11]} << 24;
  if (size < begin || length > size - begin)
    fail(errc::input, "{}: shorter than its header says: {} bytes, the header alone takes {}; is it a whole copy?", file.name, size,
         begin + length);
  if (length > (1u << 20)) fail(errc::input, "{}: a header of {} bytes; one of a table has some hundred", file.name, length);
  std::string text(length, '\0');
  file.read(text.data(), length, begin);
  npy_header h{file.name, text, {}, {}, {}};
  h.parse();

  row_array table;
  table.kind = element_of(file.name, h.descr);
  if (h.shape.empty() || h.shape.size() > 2)
    fail(errc::input, "{}: has {} dimensions; a table has 2 (rows, elements of a row), or 1 for rows of one element", file.name,
         h.shape.size());
  if (h.order == "True" && h.shape.size() == 2 && h.shape[0] > 1 && h.shape[1] > 1)
    fail(errc::input, "{}: lies column by column (fortran_order); write it with numpy.save(file, numpy.ascontiguousarray(table))",
         file.name);
  table.rows = h.shape[0];
  table.width = h.shape.size() == 2 ? h.shape[1] : 1;
  std::uint64_t bytes = 0, elements = 0;
  if (__builtin_mul_overflow(table.rows, table.width, &elements) || __builtin_mul_overflow(elements, bytes_of(table.kind), &bytes) ||
      bytes > size - begin - length)
    fail(errc::input,
         "{}: shorter than its header says: {} rows of {} {} elements do not fit into the {} bytes after it; is it a whole copy?",
         file.name, table.rows, table.width, to_string(table.kind), size - begin - length);
  if (bytes != size - begin - length)
    fail(errc::input, "{}: longer than its header says: {} rows of {} {} elements take {} bytes, {} follow it; is it several arrays?",
         file.name, table.rows, table.width, to_string(table.kind), bytes, size - begin - length);

  auto const memory = std::make_shared<memory_block>(tier::host, bytes, -1, "a table of features");
  std::uint64_t const at = begin + length;
  progress told("reading rows", bytes);
  shared_crew().run(bytes, 8u << 20, [&](std::uint64_t a, std::uint64_t b) {
    file.read(static_cast<char*>(memory->data()) + a, b - a, at + a);
    told.advance(b - a);
  });
  table.data = memory->data();
  table.owner = std::shared_ptr<void const>(memory, memory->data());
  return table;
}

}  // namespace garner
