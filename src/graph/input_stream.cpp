#include "graph/input_stream.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <vector>

#include "core/fail.hpp"
#include "core/progress.hpp"

namespace garner {

static_assert(std::endian::native == std::endian::little, "the binary formats are little-endian and read as they lie");

struct input_stream::state {
  static constexpr std::size_t raw_bytes = 256u << 10;

  std::string name;
  int fd = -1;
  std::span<char const> memory;  // the source if fd < 0
  std::optional<std::uint64_t> size;
  std::uint64_t raw_read = 0;  // bytes read from the source
  std::uint64_t given = 0;     // bytes returned to the caller
  std::optional<progress> bar;

  std::vector<char> raw;  // read ahead and not yet consumed: [raw_begin, raw_end)
  std::size_t raw_begin = 0, raw_end = 0;
  bool raw_done = false;

  std::optional<char> ahead;  // one byte that at_end() read ahead

  enum class packing { plain, gzip, zstd } packed = packing::plain;
  ::z_stream inflater{};
  bool inflating = false;  // inflater is initialized
  ::ZSTD_DStream* unzstd = nullptr;
  bool between = true;  // no member or frame is open: the file may end here
  bool seen_member = false;

  ~state() {
    if (inflating) ::inflateEnd(&inflater);
    ::ZSTD_freeDStream(unzstd);
    if (fd >= 0) ::close(fd);
  }

  std::size_t take(char* to, std::size_t bytes) {  // raw bytes of the source; fewer only at its end
    if (!bar) bar.emplace("reading", size.value_or(0));
    std::size_t got = 0;
    while (got < bytes && !raw_done) {
      std::size_t const want = std::min<std::size_t>(bytes - got, 8u << 20);
      std::size_t n = 0;
      if (fd < 0) {
        n = std::min<std::size_t>(want, memory.size() - raw_read);
        if (n) std::memcpy(to + got, memory.data() + raw_read, n);
      } else {
        ::ssize_t const r = ::read(fd, to + got, want);
        if (r < 0 && errno == EINTR) {
          check_interrupted();
          continue;
        }
        if (r < 0) fail(errc::io, "{}: reading failed at byte {}: {}", name, raw_read, std::strerror(errno));
        n = static_cast<std::size_t>(r);
      }
      if (n == 0) {
        raw_done = true;
        check_size();
      }
      raw_read += n;
      got += n;
      bar->advance(n);
    }
    if (raw_done) bar.reset();
    return got;
  }

  // At the end, the file must still have the size it had when opened. (Kernel files report 0 and hold more.)
  void check_size() const {
    if (fd >= 0 && size && *size && raw_read != *size)
      fail(errc::io, "{}: ends at byte {} but had {} bytes when opened; it was changed while it was read, try again", name, raw_read,
           *size);
  }

  bool refill() {  // true: [raw_begin, raw_end) is not empty
    if (raw_begin < raw_end) return true;
    raw_begin = 0;
    raw_end = raw_done ? 0 : take(raw.data(), raw.size());
    return raw_end != 0;
  }

  void begin(bool sniff) {
    std::string_view const n = name;
    bool const says_gz = n.ends_with(".gz"), says_zst = n.ends_with(".zst");
    if (!sniff && !says_gz && !says_zst) return;
    raw.resize(size ? static_cast<std::size_t>(std::clamp<std::uint64_t>(*size + 1, 16, raw_bytes)) : raw_bytes);
    raw_end = take(raw.data(), raw.size());
    auto const* b = reinterpret_cast<unsigned char const*>(raw.data());
    bool const is_gz = raw_end >= 2 && b[0] == 0x1f && b[1] == 0x8b;
    // A zstd file may also begin with a skippable frame (0x184d2a50 to 0x184d2a5f).
    bool const is_zst = raw_end >= 4 && ((b[0] == 0x28 && b[1] == 0xb5 && b[2] == 0x2f && b[3] == 0xfd) ||
                                         ((b[0] & 0xf0) == 0x50 && b[1] == 0x2a && b[2] == 0x4d && b[3] == 0x18));
    if (says_gz && !is_gz && !is_zst)
      fail(errc::input, "{}: {} and not gzip data; give it its true ending, or fetch it again", name,
           raw_end ? "holds something else" : "is empty");
    if (says_zst && !is_gz && !is_zst)
      fail(errc::input, "{}: {} and not zstd data; give it its true ending, or fetch it again", name,
           raw_end ? "holds something else" : "is empty");
    if (is_gz) {
      packed = packing::gzip;
      if (::inflateInit2(&inflater, 15 + 16) != Z_OK) fail(errc::memory, "{}: no memory to decompress it", name);
      inflating = true;
    } else if (is_zst) {
      packed = packing::zstd;
      unzstd = ::ZSTD_createDStream();
      if (!unzstd) fail(errc::memory, "{}: no memory to decompress it", name);
      ::ZSTD_initDStream(unzstd);
    }
  }

  [[noreturn]] void cut_short(char const* kind) {
    fail(errc::input,
         "{}: the {} data end in the middle, after {} bytes of the file and {} bytes of content; it was cut short, fetch it again", name,
         kind, raw_read, given);
  }

  std::size_t read_plain(char* to, std::size_t bytes) {
    std::size_t const buffered = std::min(bytes, raw_end - raw_begin);
    if (buffered) std::memcpy(to, raw.data() + raw_begin, buffered);
    raw_begin += buffered;
    return buffered == bytes ? bytes : buffered + take(to + buffered, bytes - buffered);
  }

  // Only zero bytes (tape padding) are allowed between members; true if another member follows.
  bool next_gzip_member() {
    while (refill()) {
      if (seen_member && raw[raw_begin] == 0) {
        ++raw_begin;
        continue;
      }
      if (seen_member && static_cast<unsigned char>(raw[raw_begin]) != 0x1f)
        fail(errc::input, "{}: byte {} follows the end of the gzip data and is not gzip data; the file is damaged, fetch it again", name,
             raw_read - (raw_end - raw_begin));
      ::inflateReset(&inflater);
      between = false;
      return true;
    }
    return false;
  }

  std::size_t read_gzip(char* to, std::size_t bytes) {
    std::size_t got = 0;
    while (got < bytes) {
      if (between && !next_gzip_member()) break;
      if (!refill()) cut_short("gzip");
      inflater.next_in = reinterpret_cast<Bytef*>(raw.data() + raw_begin);
      inflater.avail_in = static_cast<uInt>(raw_end - raw_begin);
      inflater.next_out = reinterpret_cast<Bytef*>(to + got);
      inflater.avail_out = static_cast<uInt>(std::min<std::size_t>(bytes - got, 1u << 30));
      auto const room = inflater.avail_out;
      int const rc = ::inflate(&inflater, Z_NO_FLUSH);
      got += room - inflater.avail_out;
      raw_begin = raw_end - inflater.avail_in;
      if (rc == Z_STREAM_END) {
        between = seen_member = true;
      } else if (rc != Z_OK && rc != Z_BUF_ERROR) {
        fail(errc::input, "{}: damaged gzip data near byte {}: {}; fetch it again", name, raw_read - (raw_end - raw_begin),
             inflater.msg ? inflater.msg : "it needs a dictionary");
      }
    }
    return got;
  }

  std::size_t read_zstd(char* to, std::size_t bytes) {
    ::ZSTD_outBuffer out{to, bytes, 0};
    while (out.pos < out.size) {
      if (!refill()) {
        if (between) break;
        // The decoder may still hold output. If it returns nothing although the input has ended, the frame is truncated.
        ::ZSTD_inBuffer none{nullptr, 0, 0};
        std::size_t const before = out.pos;
        std::size_t const rc = ::ZSTD_decompressStream(unzstd, &out, &none);
        if (::ZSTD_isError(rc) || out.pos == before) cut_short("zstd");
        between = rc == 0;
        continue;
      }
      ::ZSTD_inBuffer in{raw.data() + raw_begin, raw_end - raw_begin, 0};
      std::size_t const rc = ::ZSTD_decompressStream(unzstd, &out, &in);
      raw_begin += in.pos;
      if (::ZSTD_isError(rc))
        fail(errc::input, "{}: damaged zstd data near byte {}: {}; fetch it again, or decompress it with zstd -d --long=31", name,
             raw_read - (raw_end - raw_begin), ::ZSTD_getErrorName(rc));
      between = rc == 0;
    }
    return out.pos;
  }

  std::size_t read(char* to, std::size_t bytes) {
    switch (packed) {
      case packing::gzip:
        return read_gzip(to, bytes);
      case packing::zstd:
        return read_zstd(to, bytes);
      default:
        return read_plain(to, bytes);
    }
  }
};

input_stream::input_stream(std::filesystem::path const& path, bool sniff) : state_(std::make_unique<state>()) {
  state& s = *state_;
  s.name = path.string();
  do {  // a pipe waits here for its writer
    check_interrupted();
    s.fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  } while (s.fd < 0 && errno == EINTR);
  if (s.fd < 0) fail(errc::io, "{}: cannot be opened: {}", s.name, std::strerror(errno));
  struct ::stat facts {};
  if (::fstat(s.fd, &facts) != 0) fail(errc::io, "{}: cannot be examined: {}", s.name, std::strerror(errno));
  if (S_ISDIR(facts.st_mode)) fail(errc::io, "{}: is a folder; name a file in it", s.name);
  if (S_ISREG(facts.st_mode)) s.size = static_cast<std::uint64_t>(facts.st_size);
  s.begin(sniff);
}

input_stream::input_stream(std::span<char const> bytes, std::string name, bool sniff) : state_(std::make_unique<state>()) {
  state_->name = std::move(name);
  state_->memory = bytes;
  state_->size = bytes.size();
  state_->begin(sniff);
}

input_stream::~input_stream() = default;
input_stream::input_stream(input_stream&&) noexcept = default;
input_stream& input_stream::operator=(input_stream&&) noexcept = default;

std::size_t input_stream::read(void* to, std::size_t bytes) {
  auto* p = static_cast<char*>(to);
  std::size_t got = 0;
  if (bytes && state_->ahead) {
    p[got++] = *state_->ahead;
    state_->ahead.reset();
  }
  got += state_->read(p + got, bytes - got);
  state_->given += got;
  return got;
}

bool input_stream::at_end() {
  if (state_->ahead) return false;
  char c;
  if (state_->read(&c, 1) == 0) return true;
  state_->ahead = c;
  return false;
}

std::string const& input_stream::name() const { return state_->name; }
std::uint64_t input_stream::position() const { return state_->given; }
std::optional<std::uint64_t> input_stream::plain_size() const {
  return state_->packed == state::packing::plain ? state_->size : std::nullopt;
}
std::optional<std::uint64_t> input_stream::file_size() const { return state_->size; }
std::uint64_t input_stream::file_position() const { return state_->raw_read - (state_->raw_end - state_->raw_begin); }

}  // namespace garner
