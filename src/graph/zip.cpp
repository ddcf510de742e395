#include "graph/zip.hpp"

#include <zlib.h>

#include <algorithm>
#include <cstring>

#include "core/fail.hpp"
#include "core/input_file.hpp"
#include "core/progress.hpp"

namespace garner {

namespace {

template <class T>
T number(std::vector<unsigned char> const& bytes, std::uint64_t at) {  // little-endian, as this machine is
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

}  // namespace

struct zip_file::state {
  explicit state(std::filesystem::path const& path) : file(path), name(file.name()), size(file.size()) { parse(); }
  input_file file;
  std::string const& name;
  std::uint64_t size;
  std::vector<entry> entries;

  [[noreturn]] void bad(std::string const& what) const {
    fail(errc::input, "{}: not a whole zip archive: {}; fetch it again, or write it with numpy.savez", name, what);
  }
  void read(void* to, std::uint64_t n, std::uint64_t at) const {
    if (at > size || n > size - at) bad(fmt::format("{} bytes at byte {} lie beyond its {}", n, at, size));
    file.read(to, n, at);
  }
  std::vector<unsigned char> bytes(std::uint64_t n, std::uint64_t at) const {
    std::vector<unsigned char> all(n);
    read(all.data(), n, at);
    return all;
  }

  // The directory is at the end. A record that locates it follows, then a comment of up to 2^16 bytes.
  void parse() {
    std::uint64_t const tail = std::min<std::uint64_t>(size, (1u << 16) + 22);
    if (size < 22) bad(fmt::format("{} bytes are too few", size));
    std::vector<unsigned char> const end = bytes(tail, size - tail);
    std::uint64_t at = tail - 22;
    while (number<std::uint32_t>(end, at) != 0x06054b50 || number<std::uint16_t>(end, at + 20) != tail - at - 22)
      if (at-- == 0) bad("it has no directory at its end");
    std::uint64_t count = number<std::uint16_t>(end, at + 10), length = number<std::uint32_t>(end, at + 12),
                  begin = number<std::uint32_t>(end, at + 16);
    if (at >= 20 && number<std::uint32_t>(end, at - 20) == 0x07064b50) {  // zip64: a separate record has the actual numbers
      std::vector<unsigned char> const wide = bytes(56, number<std::uint64_t>(end, at - 20 + 8));
      if (number<std::uint32_t>(wide, 0) != 0x06064b50) bad("its zip64 record is not where it should be");
      count = number<std::uint64_t>(wide, 32), length = number<std::uint64_t>(wide, 40), begin = number<std::uint64_t>(wide, 48);
    }
    if (begin > size || length > size - begin) bad("its directory lies beyond its end");
    if (length > (64u << 20)) bad(fmt::format("a directory of {} bytes", length));
    std::vector<unsigned char> const all = bytes(length, begin);
    std::uint64_t p = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
      if (length - p < 46 || number<std::uint32_t>(all, p) != 0x02014b50) bad(fmt::format("entry {} of its directory is invalid", i));
      std::uint64_t const name_bytes = number<std::uint16_t>(all, p + 28), extra = number<std::uint16_t>(all, p + 30),
                          comment = number<std::uint16_t>(all, p + 32);
      if (length - p < 46 + name_bytes + extra + comment) bad(fmt::format("entry {} of its directory does not end", i));
      entry e;
      e.name.assign(reinterpret_cast<char const*>(all.data()) + p + 46, name_bytes);
      for (char const c : e.name)
        if (c < ' ' && c >= 0) bad(fmt::format("the name of entry {} holds what cannot be printed", i));
      e.checksum = number<std::uint32_t>(all, p + 16);
      e.packed = number<std::uint32_t>(all, p + 20), e.size = number<std::uint32_t>(all, p + 24), e.at = number<std::uint32_t>(all, p + 42);
      // Numbers that do not fit are in an extra field, in this order.
      std::uint64_t x = p + 46 + name_bytes;
      for (std::uint64_t const last = x + extra; last - x >= 4;) {
        std::uint64_t const kind = number<std::uint16_t>(all, x), bytes_of = number<std::uint16_t>(all, x + 2);
        x += 4;
        if (bytes_of > last - x) bad(fmt::format("an extra field of entry {} does not end", i));
        std::uint64_t q = x;
        if (kind == 1)
          for (std::uint64_t* const wide : {&e.size, &e.packed, &e.at})
            if (*wide == 0xffffffffu && x + bytes_of - q >= 8) *wide = number<std::uint64_t>(all, q), q += 8;
        x += bytes_of;
      }
      std::uint16_t const flags = number<std::uint16_t>(all, p + 8), method = number<std::uint16_t>(all, p + 10);
      if (flags & 1) bad(fmt::format("{} is encrypted", e.name));
      if (method != 0 && method != 8) bad(fmt::format("{} is compressed by method {}; supported: stored, deflated", e.name, method));
      e.deflated = method == 8;
      if (e.packed > size || (e.deflated ? e.size / 1032 > e.packed : e.size != e.packed))
        bad(fmt::format("{} cannot hold {} bytes in {}", e.name, e.size, e.packed));
      entries.push_back(std::move(e));
      p += 46 + name_bytes + extra + comment;
    }
  }
};

zip_file::zip_file(std::filesystem::path const& path) : state_(std::make_unique<state>(path)) {}
zip_file::~zip_file() = default;
zip_file::zip_file(zip_file&&) noexcept = default;
std::string const& zip_file::name() const { return state_->name; }
std::vector<zip_file::entry> const& zip_file::entries() const { return state_->entries; }
zip_file::entry const* zip_file::find(std::string const& name) const {
  for (entry const& e : state_->entries)
    if (e.name == name) return &e;
  return nullptr;
}

struct zip_file::member::state {
  zip_file::state const& file;
  entry of;
  std::uint64_t at = 0, packed_left = 0, given = 0;
  std::uint32_t checksum = 0;
  std::vector<unsigned char> raw;
  ::z_stream inflater{};
  bool ended = false;

  state(zip_file::state const& in, entry const& e) : file(in), of(e), packed_left(e.packed) {
    auto const head = file.bytes(30, of.at);
    if (number<std::uint32_t>(head, 0) != 0x04034b50) file.bad(fmt::format("{} does not begin where its directory says", of.name));
    at = of.at + 30 + number<std::uint16_t>(head, 26) + number<std::uint16_t>(head, 28);
    if (at > file.size || of.packed > file.size - at) file.bad(fmt::format("{} ends beyond it", of.name));
    if (of.deflated && ::inflateInit2(&inflater, -15) != Z_OK) fail(errc::memory, "{}: no memory to decompress it", file.name);
  }
  ~state() {
    if (of.deflated) ::inflateEnd(&inflater);
  }
  [[noreturn]] void damaged() const { file.bad(fmt::format("{} is damaged near its byte {}", of.name, given)); }

  void inflate_into(unsigned char* to, std::uint64_t n) {
    inflater.next_out = to;
    for (std::uint64_t left = n; left;) {
      inflater.avail_out = static_cast<uInt>(std::min<std::uint64_t>(left, 1u << 30));
      uInt const room = inflater.avail_out;
      if (inflater.avail_in == 0 && packed_left) {
        raw.resize(std::min<std::uint64_t>(packed_left, 256u << 10));
        file.read(raw.data(), raw.size(), at);
        at += raw.size(), packed_left -= raw.size();
        inflater.next_in = raw.data(), inflater.avail_in = static_cast<uInt>(raw.size());
      }
      int const rc = ended ? Z_DATA_ERROR : ::inflate(&inflater, Z_NO_FLUSH);
      ended = rc == Z_STREAM_END;
      std::uint64_t const got = room - inflater.avail_out;
      left -= got;
      if ((rc != Z_OK && rc != Z_STREAM_END) || (got == 0 && left && inflater.avail_in == 0 && packed_left == 0)) damaged();
    }
  }
};

zip_file::member::member(zip_file const& in, entry const& of) : state_(std::make_unique<state>(*in.state_, of)) {}
zip_file::member::~member() = default;
std::uint64_t zip_file::member::size() const { return state_->of.size; }
std::uint64_t zip_file::member::position() const { return state_->given; }

void zip_file::member::read(void* to, std::uint64_t n) {
  state& s = *state_;
  if (n > s.of.size - s.given) s.file.bad(fmt::format("{} has {} bytes, and {} more than that are requested", s.of.name, s.of.size, n));
  auto* out = static_cast<unsigned char*>(to);
  while (n) {
    check_interrupted();
    std::uint64_t const part = std::min<std::uint64_t>(n, 16u << 20);
    if (s.of.deflated) {
      s.inflate_into(out, part);
    } else {
      s.file.read(out, part, s.at);
      s.at += part;
    }
    s.checksum = static_cast<std::uint32_t>(::crc32(s.checksum, out, static_cast<uInt>(part)));
    s.given += part, out += part, n -= part;
  }
  if (s.given == s.of.size && s.checksum != s.of.checksum)
    s.file.bad(fmt::format("{} has the checksum {:08x} and not {:08x}", s.of.name, s.checksum, s.of.checksum));
}

}  // namespace garner
