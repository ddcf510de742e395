// Arrays of NumPy and archives of them, made by hand: what numpy.save, numpy.savez and numpy.savez_compressed write.
#pragma once
#include <fmt/format.h>
#include <zlib.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace garner::handmade {

template <class T>
void append(std::string& to, T value) {
  to.append(reinterpret_cast<char const*>(&value), sizeof value);
}

// `shape` as Python writes it: "(2, 3)".
template <class T>
std::string npy(std::string const& type, std::string const& shape, std::vector<T> const& values, bool by_columns = false) {
  std::string head = fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': {}, }}", type, by_columns ? "True" : "False", shape);
  head.append(127 - 10 - head.size(), ' ');
  head += '\n';
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes += static_cast<char>(head.size()), bytes += '\0', bytes += head;
  for (auto const v : values) append(bytes, v);
  return bytes;
}

// `wide`: sizes stand in extra fields, as numpy.savez has it.
inline std::string zipped(std::vector<std::pair<std::string, std::string>> const& members, bool deflated = false, bool wide = false) {
  std::string bytes, directory;
  for (auto const& member : members) {
    std::string const &name = member.first, &content = member.second;  // clang 14 captures no structured bindings
    std::string packed = content;
    if (deflated) {
      z_stream z{};
      ::deflateInit2(&z, 6, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY);
      packed.resize(::deflateBound(&z, content.size()) + 16);
      z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data())), z.avail_in = static_cast<uInt>(content.size());
      z.next_out = reinterpret_cast<Bytef*>(packed.data()), z.avail_out = static_cast<uInt>(packed.size());
      ::deflate(&z, Z_FINISH);
      packed.resize(z.total_out);
      ::deflateEnd(&z);
    }
    auto const sum =
        static_cast<std::uint32_t>(::crc32(0, reinterpret_cast<Bytef const*>(content.data()), static_cast<uInt>(content.size())));
    auto const at = static_cast<std::uint32_t>(bytes.size());
    std::string extra;
    if (wide) {
      append(extra, std::uint16_t{1}), append(extra, std::uint16_t{16});
      append(extra, std::uint64_t{content.size()}), append(extra, std::uint64_t{packed.size()});
    }
    auto const common = [&](std::string& to) {
      append(to, std::uint16_t{20}), append(to, std::uint16_t{0}), append(to, std::uint16_t(deflated ? 8 : 0)),
          append(to, std::uint32_t{0});
      append(to, sum);
      append(to, wide ? ~0u : static_cast<std::uint32_t>(packed.size())),
          append(to, wide ? ~0u : static_cast<std::uint32_t>(content.size()));
      append(to, static_cast<std::uint16_t>(name.size())), append(to, static_cast<std::uint16_t>(extra.size()));
    };
    append(bytes, 0x04034b50u), common(bytes), bytes += name, bytes += extra, bytes += packed;
    append(directory, 0x02014b50u), append(directory, std::uint16_t{20}), common(directory);
    append(directory, std::uint16_t{0}), append(directory, std::uint16_t{0}), append(directory, std::uint16_t{0}),
        append(directory, std::uint32_t{0}), append(directory, at);
    directory += name, directory += extra;
  }
  auto const begin = static_cast<std::uint32_t>(bytes.size());
  bytes += directory;
  append(bytes, 0x06054b50u), append(bytes, std::uint32_t{0});
  append(bytes, static_cast<std::uint16_t>(members.size())), append(bytes, static_cast<std::uint16_t>(members.size()));
  append(bytes, static_cast<std::uint32_t>(directory.size())), append(bytes, begin), append(bytes, std::uint16_t{0});
  return bytes;
}

}  // namespace garner::handmade
