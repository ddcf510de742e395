// Runs an algorithm on several devices: contiguous parts of a graph's vertices with about equal edges, one thread and executor per part. A
// shard runs the same kernels on its part: a graph whose vertices count from the part's first, and whose targets are global numbers. A run
// on a single device also has a seat, alone: all vertices, no synchronization. Invariants: parts begin at multiples of a grain (bitmap
// words, and blocks that are reduced together, belong to one shard). Adjacency is that of the whole graph, in host memory, or a copy of the
// part on its device. All shards make the same seat calls in the same order, and decide by reduced values only. A shard that fails stops
// the others, and its error is thrown. Cost: 8 bytes per vertex for the parts' offsets. A turn takes two thread barriers, a reduction two
// more: some microseconds each.
#pragma once
#include <algorithm>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/executor.hpp"
#include "far/matrix.hpp"
#include "garner/shards.hpp"
#include "graph/cached_neighbors_view.hpp"
#include "graph/graph.hpp"
#include "graph/placed.hpp"
#include "shard/group.hpp"
#include "traverse/job.hpp"

namespace garner {

// Validates before the graph is loaded. errc::usage for devices of several kinds, too many of them, more than vertices, or a tier or access
// mode that shards do not support.
void require_spread(std::string const& name, graph_info const& info, std::vector<execution_device> const& shards, std::optional<tier> edges,
                    access_mode how);
// errc::usage unless the adjacency is in host memory that the device can read.
void require_lists_for(graph const& g, execution_device where);
// errc::device if one does not exist, or if two lack peer access to each other.
void require_peers(std::vector<execution_device> const& shards);

// Parts begin at multiples of this many vertices: one bitmap word.
inline constexpr std::uint64_t shard_grain = 32;

// A single shard is just a device.
template <class Options>
void at_one_place(Options& o) {
  if (o.devices.size() == 1) o.device = o.devices[0], o.devices.clear();
}

// The whole graph's out-edges, as one shard's device reads them: for the certificate, which covers all vertices.
inline placed_lists out_lists_of_all(executor& x, graph const& g) {
  placed_lists lists(x, g, g.out, "offsets of all vertices");
  if (x.on_device() && lists.directory_bytes(false)) lists.cache_directory(x, false, "directory of all lists");
  return lists;
}

// What the shards requested and exchanged in a round.
struct round_sums {
  traffic asked, foreseen;  // foreseen: spent on an estimate
  std::uint64_t exchanged = 0, vertices = 0, edges = 0;
  round_sums operator+(round_sums const& b) const {
    round_sums c = *this;
    c.asked += b.asked, c.foreseen += b.foreseen, c.exchanged += b.exchanged, c.vertices += b.vertices, c.edges += b.edges;
    return c;
  }
};

// One shard's view of the group.
class shard_seat {
 public:
  explicit shard_seat(graph const& whole) : whole_(&whole) {}  // single device
  shard_seat(graph const& whole, shard_parts const& parts, std::uint32_t shard, execution_device where, tier edges);

  bool alone() const { return !parts_; }
  std::uint32_t shards() const { return parts_ ? parts_->shards() : 1; }
  std::uint32_t shard() const { return shard_; }
  graph const& whole() const { return *whole_; }
  graph const& lists() const { return parts_ ? part_ : *whole_; }
  std::uint64_t vertices() const { return whole_->info.vertices; }  // of all
  std::uint64_t first() const { return first(shard_); }
  std::uint64_t first(std::uint32_t shard) const { return parts_ ? parts_->first(shard) : 0; }
  std::uint64_t count(std::uint32_t shard) const { return parts_ ? parts_->count(shard) : vertices(); }
  std::uint64_t arcs() const {  // of its adjacency
    auto const& offsets = whole_->out.offsets;
    return offsets[first() + count(shard_)] - offsets[first()];
  }

  // Clamped to what shards support: the encoding of four depends on the total vertex count.
  std::uint32_t cached_neighbors(std::uint32_t wanted) const {
    if (alone()) return wanted;
    return vertices() >= cached_neighbors_view::none ? 0 : std::min(wanted, cached_neighbors_view::most - 1);
  }

  // Everything below is a no-op on a single device.
  void join(shard_group& group, executor& x) {
    if (alone()) return;
    group_ = &group;
    group.join(shard_, x);
  }
  // Publishes an array of each shard; it must stay in place.
  template <class T>
  peer_table table(executor& x, T const* mine, std::uint64_t n) {
    if (alone()) return {};
    shared_rows rows(*group_, shard_, x, {mine, n, sizeof(T), sizeof(T)});
    peer_table const all = rows.table();
    rows.close();
    return all;
  }
  // Others' data may be read as of the time when all shards opened the turn; close() returns only after all have finished reading.
  class turn {
   public:
    turn(shard_seat& at, executor& x) {
      if (at.alone()) return;
      open_.emplace(*at.group_, at.shard_, x, shared_part{});
      for (std::uint32_t k = 0; k < at.shards(); ++k) open_->before(k, x);
    }
    void close() {
      if (open_) open_->close();
    }

   private:
    std::optional<shared_rows> open_;
  };
  // A value of each shard.
  template <class T>
  std::vector<T> of_all(T const& mine) {
    static_assert(std::is_trivially_copyable_v<T>);
    if (alone()) return {mine};
    std::vector<T> all;
    for (std::string const& said : group_->threads()->all_gather(shard_, {reinterpret_cast<char const*>(&mine), sizeof mine})) {
      all.emplace_back();
      std::memcpy(&all.back(), said.data(), sizeof mine);
    }
    return all;
  }
  template <class T>
  T sum(T const& mine) {
    T all{};
    for (T const& one : of_all(mine)) all = all + one;
    return all;
  }
  double most(double mine) {
    for (double const one : of_all(mine)) mine = std::max(mine, one);
    return mine;
  }
  // Copies the other shards' parts of an array with `unit` bytes per `vertices_a_unit` vertices. `mine` covers all vertices, the tables
  // cover parts. Call within a turn, or while others do not write theirs. Returns the bytes.
  std::uint64_t copy_others(executor& x, peer_table const& parts, void* mine, std::uint64_t vertices_a_unit, std::uint64_t unit) {
    std::uint64_t bytes = 0;
    for (std::uint32_t k = 0; k < shards() && !alone(); ++k) {
      std::uint64_t const units = (count(k) + vertices_a_unit - 1) / vertices_a_unit;
      if (k == shard_ || !units) continue;
      x.copy(static_cast<char*>(mine) + first(k) / vertices_a_unit * unit, parts.of[k].base, units * unit);
      bytes += units * unit;
    }
    return bytes;
  }

 private:
  graph const* whole_;
  std::optional<shard_parts> parts_;
  std::uint32_t shard_ = 0;
  graph part_;
  shard_group* group_ = nullptr;
};

// Runs f(shard, group) on one thread per shard. After all have ended, throws the first failure, prefixed with its shard.
void on_each_shard(std::vector<execution_device> const& shards, std::function<void(std::uint32_t, shard_group&)> const& f);

// The shards of a run: one Over(seat, options of its device) each. An Over has its seat `at`, `job`, `x`, and join(group), which exchanges
// pointers with the others.
template <class Over>
class spread_job {
 public:
  // `pulls`: parts are balanced by in-edges.
  template <class Options>
  spread_job(graph const& g, Options const& o, std::uint64_t grain, bool pulls) : places_(o.devices) {
    require_peers(places_);
    tier const edges = o.edges.value_or(tier::host);
    for (execution_device const where : places_) require_lists_for(g, where);
    edge_lists const& by = pulls && g.info.in_edges ? g.in : g.out;
    shard_options how;
    how.shards = static_cast<std::uint32_t>(places_.size()), how.sums = shard_reduction::fast;
    shard_parts const parts(by.offsets.data(), g.info.vertices, how, g.name, grain);
    shards_.resize(places_.size());
    on_each_shard(places_, [&](std::uint32_t k, shard_group& group) {
      Options mine = o;
      mine.devices.clear(), mine.device = places_[k], mine.edges = edges;
      shards_[k] = std::make_unique<Over>(shard_seat(g, parts, k, places_[k], edges), mine);
      shards_[k]->join(group);
    });
    for (std::size_t k = 1; k < shards_.size(); ++k)
      for (cached_part const& c : shards_[k]->job.device_cache)
        shards_[0]->job.device_cache.push_back({fmt::format("shard {}: {}", k, c.what), c.bytes, c.ms});
  }
  Over& first() { return *shards_[0]; }
  Over const& first() const { return *shards_[0]; }
  std::size_t size() const { return shards_.size(); }
  Over& operator[](std::size_t k) { return *shards_[k]; }

  // Runs f(shard) on one thread per shard.
  template <class F>
  void on_each(F const& f) {
    on_each_shard(places_, [&](std::uint32_t k, shard_group& group) {
      shards_[k]->at.join(group, shards_[k]->x);
      f(*shards_[k]);
    });
  }
  // Runs all of them; returns the first one's result, with the work of each.
  template <class... Args>
  auto run(Args const&... args) {
    decltype(shards_[0]->run(args...)) r;
    on_each([&](Over& one) {
      auto mine = one.run(args...);
      if (one.at.shard() == 0) r = std::move(mine);
    });
    for (auto const& one : shards_) r.shards.push_back(one->had);
    return r;
  }
  // Concatenates the shards' arrays f(shard).
  template <class F>
  auto gathered(F const& f) {
    auto all = f(*shards_[0]);
    all.reserve(shards_[0]->at.vertices());
    for (std::size_t k = 1; k < shards_.size(); ++k) {
      auto const more = f(*shards_[k]);
      all.insert(all.end(), more.begin(), more.end());
    }
    return all;
  }

 private:
  std::vector<execution_device> places_;
  std::vector<std::unique_ptr<Over>> shards_;
};

}  // namespace garner
