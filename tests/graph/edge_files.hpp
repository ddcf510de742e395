// For tests of the formats: edges read from text, the message of what is refused, compressed text, and lists to write.
#pragma once
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <bit>
#include <numeric>

#include "core/random.hpp"
#include "folder.hpp"
#include "garner/error.hpp"
#include "graph/formats.hpp"

namespace garner {
inline void PrintTo(arc const& a, std::ostream* out) { *out << a.source << "->" << a.target; }
}  // namespace garner

namespace garner::testing {

using ::testing::ElementsAre, ::testing::HasSubstr, ::testing::IsEmpty;

inline read_result parse(file_format format, std::string const& text, read_options options = {}) {
  input_stream in({text.data(), text.size()}, "g." + std::string(to_string(format)));
  return read_edges(in, format, options);
}
inline edge_list edges(file_format format, std::string const& text) { return parse(format, text).edges; }

template <class Call>
std::string message(errc code, Call const& call) {
  try {
    call();
  } catch (error const& e) {
    EXPECT_EQ(e.code(), code) << e.what();
    EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos) << e.what();
    EXPECT_FALSE(std::string(e.what()).ends_with('.')) << e.what();
    return e.what();
  }
  return "no error";
}
inline std::string complaint(file_format format, std::string const& text, read_options options = {}) {
  return message(errc::input, [&] { parse(format, text, options); });
}

inline float as_float(std::uint32_t bits) { return std::bit_cast<float>(bits); }

inline std::string gz(std::string const& text) {
  ::z_stream z{};
  ::deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string out(::deflateBound(&z, text.size()), '\0');
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  z.avail_in = static_cast<uInt>(text.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  ::deflate(&z, Z_FINISH);
  out.resize(z.total_out);
  ::deflateEnd(&z);
  return out;
}
inline std::string zst(std::string const& text) {
  std::string out(::ZSTD_compressBound(text.size()), '\0');
  out.resize(::ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 3));
  return out;
}

template <class T>
void put(std::string& out, T value) {
  out.append(reinterpret_cast<char const*>(&value), sizeof value);
}

// A CSR that owns its arrays, made from unmodified edges: sorted, nothing dropped.
struct csr {
  std::vector<std::uint64_t> offsets, wide, ids;
  std::vector<std::uint32_t> narrow, weights;
  csr_arrays view;

  csr(edge_list list, bool directed, bool wide_ids = false, bool mirror = false) {
    if (mirror) {
      std::size_t const n = list.arcs.size();
      for (std::size_t i = 0; i < n; ++i)
        if (list.arcs[i].source != list.arcs[i].target) {
          list.arcs.push_back({list.arcs[i].target, list.arcs[i].source});
          if (!list.weights.empty()) list.weights.push_back(list.weights[i]);
        }
    }
    std::uint64_t n = list.vertices;
    for (arc& a : list.arcs) {
      n = std::max({n, a.source + 1, a.target + 1});
    }
    std::vector<std::size_t> order(list.arcs.size());
    std::iota(order.begin(), order.end(), 0u);
    std::stable_sort(order.begin(), order.end(), [&](std::size_t x, std::size_t y) {
      return std::pair(list.arcs[x].source, list.arcs[x].target) < std::pair(list.arcs[y].source, list.arcs[y].target);
    });
    offsets.assign(n + 1, 0);
    for (std::size_t const i : order) {
      ++offsets[list.arcs[i].source + 1];
      if (wide_ids) wide.push_back(list.arcs[i].target);
      else narrow.push_back(static_cast<std::uint32_t>(list.arcs[i].target));
      if (!list.weights.empty()) weights.push_back(list.weights[i]);
    }
    for (std::uint64_t v = 0; v < n; ++v) offsets[v + 1] += offsets[v];
    view.vertices = n;
    view.edges = list.arcs.size();
    view.id_bytes = wide_ids ? 8 : 4;
    view.offsets = offsets.data();
    view.targets = wide_ids ? static_cast<void const*>(wide.data()) : narrow.data();
    view.weights = list.weights_are == weight_kind::none ? nullptr : weights.data();
    view.weights_are = list.weights_are;
    view.id_base = list.id_base;
    view.directed = directed;
  }
};

struct formats : ::testing::Test, own_folder {};

inline edge_list random_edges(std::uint64_t n, std::uint64_t m, weight_kind kind, std::uint64_t seed) {
  edge_list list;
  for (std::uint64_t i = 0; i < m; ++i) {
    list.arcs.push_back({random_bits(seed, 0, i) % n, random_bits(seed, 1, i) % n});
    auto const bits = random_bits(seed, 2, i);
    if (kind == weight_kind::u32) list.weights.push_back(static_cast<std::uint32_t>(bits) >> 1);
    if (kind == weight_kind::f32) list.weights.push_back(std::bit_cast<std::uint32_t>(unit_float(bits) * (i % 7 ? 1 : 1e20f)));
  }
  list.weights_are = kind;
  return list;
}

}  // namespace garner::testing
