#include "sample/table.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "core/crew.hpp"
#include "core/fail.hpp"
#include "core/progress.hpp"
#include "core/publish.hpp"
#include "core/stats.hpp"

namespace garner {

namespace {

// A file read at places, by any thread.
class source_file {
 public:
  explicit source_file(std::filesystem::path const& file) : name_(file.string()), fd_(::open(file.c_str(), O_RDONLY | O_CLOEXEC)) {
    struct stat s {};
    if (fd_ < 0 || ::fstat(fd_, &s) != 0) fail(errc::io, "{}: cannot be read: {}; name an .npy file", name_, std::strerror(errno));
    if (!S_ISREG(s.st_mode)) fail(errc::io, "{}: is no regular file; name an .npy file", name_);
    bytes = static_cast<std::uint64_t>(s.st_size);
  }
  ~source_file() {
    if (fd_ >= 0) ::close(fd_);
  }
  source_file(source_file const&) = delete;
  source_file& operator=(source_file const&) = delete;

  void read(std::uint64_t at, void* to, std::uint64_t count) const {
    auto* p = static_cast<char*>(to);
    while (count) {
      ::ssize_t const n = ::pread(fd_, p, std::min<std::uint64_t>(count, 64u << 20), static_cast<::off_t>(at));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) fail(errc::io, "{}: reading failed at byte {}: {}", name_, at, std::strerror(errno));
      if (n == 0) fail(errc::input, "{}: ends at byte {}, {} bytes early; another program may have cut it", name_, at, count);
      p += n, at += static_cast<std::uint64_t>(n), count -= static_cast<std::uint64_t>(n);
    }
  }
  std::uint64_t bytes = 0;

 private:
  std::string name_;
  int fd_;
};

// The text behind 'key': in the header's dictionary.
std::string_view value_of(std::string_view words, std::string_view key) {
  std::size_t const at = words.find("'" + std::string(key) + "'");
  if (at == words.npos) return {};
  std::size_t const colon = words.find(':', at);
  if (colon == words.npos) return {};
  std::size_t const from = words.find_first_not_of(' ', colon + 1);
  return from == words.npos ? std::string_view{} : words.substr(from);
}

npy_head head_of(source_file const& in, std::string const& name) {
  auto const bad = [&](std::string const& why) { fail(errc::input, "{}: {}; say an array that numpy.save wrote", name, why); };
  unsigned char start[12] = {};
  if (in.bytes < 10) bad("is no .npy file");
  in.read(0, start, std::min<std::uint64_t>(12, in.bytes));
  if (std::memcmp(start, "\x93NUMPY", 6) != 0 || start[6] < 1 || start[6] > 3) bad("is no .npy file");
  bool const wide = start[6] > 1;
  std::uint64_t const length =
      wide ? start[8] | start[9] << 8 | start[10] << 16 | std::uint64_t{start[11]} << 24 : start[8] | start[9] << 8;
  npy_head h;
  h.data = (wide ? 12 : 10) + length;
  if (length > 1u << 20 || h.data > in.bytes) bad("is shorter than its header says");
  std::string words(length, ' ');
  in.read(wide ? 12 : 10, words.data(), length);
  std::string_view const type = value_of(words, "descr"), fortran = value_of(words, "fortran_order"), shape = value_of(words, "shape");
  if (type.size() < 5 || type[0] != '\'' || type.find('\'', 1) == type.npos) bad("has no plain element type");
  h.type = type.substr(1, type.find('\'', 1) - 1);
  if (!fortran.starts_with("False")) bad("is not in C order");
  if (h.type[0] == '>') bad("is big-endian");
  if (shape.empty() || shape[0] != '(') bad("has no shape");
  for (std::size_t i = 1; i < shape.size() && shape[i] != ')';) {
    std::uint64_t n = 0;
    auto const [stop, problem] = std::from_chars(shape.data() + i, shape.data() + shape.size(), n);
    if (problem != std::errc{}) bad("has no shape");
    h.shape.push_back(n);
    i = static_cast<std::size_t>(stop - shape.data());
    while (i < shape.size() && (shape[i] == ',' || shape[i] == ' ' || shape[i] == 'L')) ++i;
  }
  auto const [stop, problem] =
      std::from_chars(h.type.data() + std::min<std::size_t>(2, h.type.size()), h.type.data() + h.type.size(), h.element_bytes);
  if (problem != std::errc{} || h.element_bytes == 0 || h.element_bytes > 1u << 20 || stop != h.type.data() + h.type.size())
    bad("has no plain element type");
  unsigned __int128 bytes = h.element_bytes;
  for (std::uint64_t const n : h.shape) {
    bytes *= n;
    if (bytes > ~std::uint64_t{0}) bad("has a shape that no file holds");
  }
  if (bytes > in.bytes - h.data)
    bad(fmt::format("is shorter than its header says ({} bytes of {})", in.bytes - h.data, static_cast<std::uint64_t>(bytes)));
  return h;
}

template <class T>
void widen(source_file const& in, npy_head const& h, std::vector<float>& to) {
  std::vector<T> values(to.size());
  in.read(h.data, values.data(), values.size() * sizeof(T));
  std::transform(values.begin(), values.end(), to.begin(), [](T v) { return static_cast<float>(v); });
}

}  // namespace

npy_head read_npy_head(std::filesystem::path const& file) { return head_of(source_file(file), file.string()); }

std::vector<float> read_score_file(std::filesystem::path const& file) {
  source_file const in(file);
  npy_head const h = head_of(in, file.string());
  if (h.shape.size() != 1) fail(errc::input, "{}: has {} dimensions; scores are one number a vertex", file.string(), h.shape.size());
  std::vector<float> score(h.shape[0]);
  std::string_view const kind = std::string_view(h.type).substr(1);
  if (kind == "f4") widen<float>(in, h, score);
  else if (kind == "f8") widen<double>(in, h, score);
  else if (kind == "u4") widen<std::uint32_t>(in, h, score);
  else if (kind == "i4") widen<std::int32_t>(in, h, score);
  else if (kind == "u8") widen<std::uint64_t>(in, h, score);
  else if (kind == "i8") widen<std::int64_t>(in, h, score);
  else fail(errc::input, "{}: holds elements of type {}; scores are f4, f8, u4, i4, u8 or i8", file.string(), h.type);
  return score;
}

void permute_rows(graph const& g, std::filesystem::path const& table, std::filesystem::path const& out) {
  phase const timed{"sample.table"};
  source_file const in(table);
  npy_head const h = head_of(in, table.string());
  std::uint64_t const n = g.info.vertices;
  if (h.shape.empty() || h.shape[0] != n)
    fail(errc::input, "{}: has {} rows and {} has {} vertices; give each vertex one row, by ascending id", table.string(),
         h.shape.empty() ? 0 : h.shape[0], g.name, n);
  std::uint64_t row = h.element_bytes;
  for (std::size_t k = 1; k < h.shape.size(); ++k) row *= h.shape[k];
  std::vector<std::uint64_t> from(n);
  shared_crew().run(n, 1u << 16, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t r = begin; r < end; ++r) from[g.at_rank(r)] = r;
  });
  pending_file to(out);
  {
    std::string head(h.data, ' ');
    in.read(0, head.data(), h.data);
    to.write(head);
  }
  std::uint64_t const rows = row ? std::max<std::uint64_t>(1, (16u << 20) / row) : n;
  progress bar("permuting rows", n);
  shared_crew().run(row ? n : 0, rows, [&](std::uint64_t begin, std::uint64_t end) {
    std::vector<char> piece((end - begin) * row);
    for (std::uint64_t k = begin; k < end;) {
      std::uint64_t run = 1;  // rows that stay neighbours are read at once
      while (k + run < end && from[k + run] == from[k] + run) ++run;
      in.read(h.data + from[k] * row, piece.data() + (k - begin) * row, run * row);
      k += run;
    }
    to.write_at(h.data + begin * row, piece.data(), piece.size());
    bar.advance(end - begin);
  });
  to.commit();
}

}  // namespace garner
