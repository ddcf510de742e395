#include "graph/chunked_file.hpp"

#include <zlib.h>
#include <zstd.h>

#include "core/fail.hpp"

namespace garner {

std::string chunked_file::packed(std::string const& bytes) const {
  if (compression_.empty()) return bytes;
  std::string out;
  if (compression_ == ".zst") {
    out.resize(::ZSTD_compressBound(bytes.size()));
    std::size_t const n = ::ZSTD_compress(out.data(), out.size(), bytes.data(), bytes.size(), 3);
    if (::ZSTD_isError(n)) fail(errc::memory, "zstd: {}", ::ZSTD_getErrorName(n));
    out.resize(n);
    return out;
  }
  ::z_stream z{};
  if (::deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) fail(errc::memory, "gzip: no memory to compress");
  out.resize(::deflateBound(&z, bytes.size()));
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  z.avail_in = static_cast<uInt>(bytes.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  int const rc = ::deflate(&z, Z_FINISH);
  out.resize(z.total_out);
  ::deflateEnd(&z);
  if (rc != Z_STREAM_END) fail(errc::internal, "gzip: a chunk of {} bytes was not compressed whole", bytes.size());
  return out;
}

}  // namespace garner
