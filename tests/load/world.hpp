// A graph, tables and a sampler for tests of the loader, and what a mini-batch must hold: "sample, then index".
#pragma once
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "core/random.hpp"
#include "files/npy_head.hpp"
#include "garner/load.hpp"
#include "graph/handle.hpp"
#include "load/loader_access.hpp"
#include "support.hpp"

namespace garner::testing {

inline constexpr std::uint64_t vertices = 3000, width = 5;

inline graph_handle a_graph(execution_device where) {
  std::vector<arc> arcs;
  for (std::uint64_t i = 0; i < 30000; ++i)
    arcs.push_back({random_bits(1, 0, i) % vertices, random_bits(1, 1, i) % (i % 3 ? vertices : 50)});
  return to_device(graph_access::wrap(make_graph(arcs, true, vertices)), where, tier::host);
}
inline std::vector<float> the_rows() {
  std::vector<float> rows(vertices * width);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<float>(i);
  return rows;
}
inline std::vector<std::int64_t> the_labels() {
  std::vector<std::int64_t> labels(vertices);
  for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<std::int64_t>(i * 7);
  return labels;
}
inline std::vector<std::int64_t> seeds_of(std::uint64_t n) {
  std::vector<std::int64_t> s(n);
  for (std::size_t i = 0; i < n; ++i) s[i] = static_cast<std::int64_t>((i * 17 + 5) % vertices);
  return s;
}

// Everything that a loader needs, on a device; `kept`: rows in device or simulated memory.
struct world {
  execution_device where;
  graph_handle g;
  std::vector<float> rows = the_rows();
  std::vector<std::int64_t> labels = the_labels();
  tiered_tensor features, targets;
  block_options options;
  std::vector<std::int64_t> fanouts;
  block_sampler sampler;

  static tiered_options tiers(execution_device p, std::uint64_t kept) {
    tiered_options o;
    o.device = p;
    if (p.kind != device_kind::cpu) o.feature_cache = kept * width * 4;
    return o;
  }
  static block_options with_ids() {
    block_options o;
    o.edge_ids = true;
    return o;
  }
  explicit world(execution_device p, std::uint64_t kept = 300, std::vector<std::int64_t> f = {4, 3})
      : where(p),
        g(a_graph(p)),
        features({rows.data(), vertices, width, element::f32, {}}, tiers(p, kept)),
        targets({labels.data(), vertices, 1, element::i64, {}}, tiers(p, 0)),
        options(with_ids()),
        fanouts(std::move(f)),
        sampler(p, g, fanouts, options) {}
  loader load(std::uint64_t n, loader_options o) {
    return loader(sampler, {{&features, 0, false, {}}, {&targets, 0, true, {}}}, seeds_of(n), o);
  }
};

struct taken_batch {
  std::uint64_t epoch = 0, index = 0;
  std::vector<std::int64_t> ids, row, col, edge, positions, labels;
  std::vector<float> rows;
  bool operator==(taken_batch const&) const = default;
};
inline taken_batch taken(executor& x, mini_batch const& b) {
  auto const& v = b.subgraph().of_type(0);
  auto const& e = b.subgraph().of_relation(0);
  auto const& f = b.of_table(0);
  EXPECT_EQ(f.count, v.count);
  EXPECT_EQ(f.row_bytes, width * 4);
  EXPECT_EQ(b.of_table(1).count, b.seeds());
  return {b.epoch(),
          b.index(),
          host_copy(x, v.ids, v.count),
          host_copy(x, e.row, e.count),
          host_copy(x, e.col, e.count),
          host_copy(x, e.edge, e.count),
          b.positions() ? host_copy(x, b.positions(), b.seeds()) : std::vector<std::int64_t>{},
          host_copy(x, static_cast<std::int64_t const*>(b.of_table(1).data), b.seeds()),
          host_copy(x, static_cast<float const*>(f.data), f.count * width)};
}
inline std::vector<taken_batch> epoch_of(loader& l, execution_device where) {
  executor x(where);
  std::vector<taken_batch> all;
  while (std::optional<mini_batch> b = l.next()) all.push_back(taken(x, *b));
  return all;
}
// Rows, labels and seeds match the ids; ids and edges match a separate sampler.
inline void expect_right(world& w, std::vector<taken_batch> const& epoch, std::vector<std::int64_t> const& seeds, std::uint64_t batches) {
  graph_handle const home = a_graph({});
  block_sampler one({}, home, w.fanouts, w.options);
  for (taken_batch const& b : epoch) {
    ASSERT_EQ(b.rows.size(), b.ids.size() * width);
    std::vector<std::int64_t> mine;
    for (std::size_t i = 0; i < b.positions.size(); ++i) {
      mine.push_back(seeds[static_cast<std::size_t>(b.positions[i])]);
      EXPECT_EQ(b.labels[i], mine.back() * 7);
    }
    ASSERT_TRUE(std::equal(mine.begin(), mine.end(), b.ids.begin()));
    for (std::size_t i = 0; i < b.ids.size(); ++i)
      for (std::size_t k = 0; k < width; ++k)
        ASSERT_EQ(b.rows[i * width + k], static_cast<float>(static_cast<std::uint64_t>(b.ids[i]) * width + k)) << "mini-batch " << b.index;
    sampled_subgraph const d = one.sample(b.epoch * batches + b.index, mine);
    executor x({});
    EXPECT_EQ(b.ids, host_copy(x, d.of_type(0).ids, d.of_type(0).count));
    EXPECT_EQ(b.row, host_copy(x, d.of_relation(0).row, d.of_relation(0).count));
    EXPECT_EQ(b.edge, host_copy(x, d.of_relation(0).edge, d.of_relation(0).count));
  }
}

// The features of a world, in a file.
struct filed_world {
  std::filesystem::path folder;
  world w;
  std::optional<tiered_tensor> in_file;
  static std::string made_folder() {
    std::string name = (std::filesystem::temp_directory_path() / "garner_load.XXXXXX").string();
    if (!::mkdtemp(name.data())) throw std::runtime_error(name);
    return name;
  }
  std::string file() const { return (folder / "rows.npy").string(); }
  filed_world(execution_device p, std::uint64_t kept, std::uint64_t host_rows, std::optional<std::uint64_t> cached = {})
      : folder(made_folder()), w(p) {
    {
      std::ofstream out(file(), std::ios::binary);
      std::string const head = npy_head("<f4", vertices, width);
      out.write(head.data(), static_cast<std::streamsize>(head.size()));
      out.write(reinterpret_cast<char const*>(w.rows.data()), static_cast<std::streamsize>(w.rows.size() * 4));
    }
    tiered_options o = world::tiers(p, kept);
    o.host_cache = host_rows * width * 4;
    if (cached) o.file_cache = *cached * width * 4;
    in_file.emplace(open_rows(file()), o);
  }
  ~filed_world() {
    in_file.reset();
    std::filesystem::remove_all(folder);
  }
  loader load(std::uint64_t n, loader_options o, loader_access::rows_source const& source = {}) {
    return loader_access::with_rows(source, w.sampler, {{&*in_file, 0, false, {}}, {&w.targets, 0, true, {}}}, seeds_of(n), o);
  }
};

}  // namespace garner::testing
