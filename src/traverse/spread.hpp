// A job over several places: the vertices of a graph in contiguous parts of about equal edges, a thread and an executor each. A shard runs
// the very bodies of the job over its part: a graph whose vertices count from the first of the part, and whose targets are numbers of the
// whole. A job of one place has a seat too, alone: all vertices, nobody to meet.
// Invariants: parts begin at multiples of a grain (words of bitmaps are of one shard; blocks whose sums are added up too); lists are where
// the whole graph has them, in host memory, or copies of the part alone on its device; all shards make the same calls of seats in the same
// order, and decide by what all of them have said; whoever fails ends the others, and its reason is thrown.
// Cost: 8 bytes a vertex for the parts' offsets. A turn is two meetings of threads, what all say two more: some microseconds each.
#pragma once
#include <algorithm>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "access/matrix.hpp"
#include "core/executor.hpp"
#include "garner/spread.hpp"
#include "graph/cached_neighbours_view.hpp"
#include "graph/graph.hpp"
#include "graph/placed.hpp"
#include "shard/group.hpp"
#include "traverse/job.hpp"

namespace garner {

// What can be said before the graph is loaded. errc::usage for places of several kinds, too many of them, more than vertices, or a tier or
// access that shards do not go with.
void require_spread(std::string const& name, graph_info const& info, std::vector<place> const& shards, std::optional<tier> edges,
                    access_mode how);
// errc::usage where the lists do not lie in host memory that the place reads.
void require_lists_for(graph const& g, place where);
// errc::device for one that is not there, or two without peer access to each other.
void require_peers(std::vector<place> const& shards);

// Vertices at whose multiples parts begin: a word of a bitmap.
inline constexpr std::uint64_t shard_grain = 32;

// One shard is a place.
template <class Options>
void at_one_place(Options& o) {
  if (o.shards.size() == 1) o.where = o.shards[0], o.shards.clear();
}

// The whole graph's out-lists as the place of one shard reads them: for the certificate, which is of all vertices.
inline placed_lists out_lists_of_all(executor& x, graph const& g) {
  placed_lists lists(x, g, g.out, "offsets of all vertices");
  if (x.on_device() && lists.directory_bytes(false)) lists.cache_directory(x, false, "directory of all lists");
  return lists;
}

// A shard's side.
class shard_seat {
 public:
  explicit shard_seat(graph const& whole) : whole_(&whole) {}  // alone
  shard_seat(graph const& whole, shard_parts const& parts, std::uint32_t shard, place where, tier edges);

  bool alone() const { return !parts_; }
  std::uint32_t shards() const { return parts_ ? parts_->shards() : 1; }
  std::uint32_t shard() const { return shard_; }
  graph const& whole() const { return *whole_; }
  graph const& lists() const { return parts_ ? part_ : *whole_; }
  std::uint64_t vertices() const { return whole_->info.vertices; }  // of all
  std::uint64_t first() const { return first(shard_); }
  std::uint64_t first(std::uint32_t shard) const { return parts_ ? parts_->first(shard) : 0; }
  std::uint64_t count(std::uint32_t shard) const { return parts_ ? parts_->count(shard) : vertices(); }
  std::uint64_t arcs() const {  // of its lists
    auto const& offsets = whole_->out.offsets;
    return offsets[first() + count(shard_)] - offsets[first()];
  }

  // As many a vertex as shards keep: how four are coded depends on how many vertices there are in all.
  std::uint32_t cached_neighbours(std::uint32_t wanted) const {
    if (alone()) return wanted;
    return vertices() >= cached_neighbours_view::none ? 0 : std::min(wanted, cached_neighbours_view::most - 1);
  }

  // The rest is nothing where it is alone.
  void join(shard_group& group, executor& x) {
    if (alone()) return;
    group_ = &group;
    group.take(shard_, x);
  }
  // Where all have theirs of an array; it must stay.
  template <class T>
  peer_table table(executor& x, T const* mine, std::uint64_t n) {
    if (alone()) return {};
    shared_rows rows(*group_, shard_, x, {mine, n, sizeof(T), sizeof(T)});
    peer_table const all = rows.table();
    rows.close();
    return all;
  }
  // While it lasts others may be read as they were when all had begun it; before close() has returned nobody goes on.
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
  // What each shard says.
  template <class T>
  std::vector<T> of_all(T const& mine) {
    static_assert(std::is_trivially_copyable_v<T>);
    if (alone()) return {mine};
    std::vector<T> all;
    for (std::string const& said : group_->threads()->tell_all(shard_, {reinterpret_cast<char const*>(&mine), sizeof mine})) {
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
  // Copies what the others have of an array of `unit` bytes for each `vertices_a_unit` vertices, of which each shard has the part of its
  // own vertices; `mine` is of all vertices, the tables are of parts. Within a turn, or while the others leave theirs. Returns the bytes.
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

// Calls f(shard, group) on a thread each. The first failure is thrown when all have ended, with the shard in front.
void on_each_shard(std::vector<place> const& shards, std::function<void(std::uint32_t, shard_group&)> const& f);

// The shards of a job: Over(seat, options of its place) each, which know their seat `at`, `job`, `x`, and join(group): where they tell each
// other what they have.
template <class Over>
class spread_job {
 public:
  // `pulls`: parts have as many entries of in-lists.
  template <class Options>
  spread_job(graph const& g, Options const& o, std::uint64_t grain, bool pulls) : places_(o.shards) {
    require_peers(places_);
    tier const edges = o.edges.value_or(tier::host);
    for (place const where : places_) require_lists_for(g, where);
    edge_lists const& by = pulls && g.info.in_lists ? g.in : g.out;
    shard_options how;
    how.shards = static_cast<std::uint32_t>(places_.size()), how.sums = shard_sums::quick;
    shard_parts const parts(by.offsets.data(), g.info.vertices, how, g.name, grain);
    shards_.resize(places_.size());
    on_each_shard(places_, [&](std::uint32_t k, shard_group& group) {
      Options mine = o;
      mine.shards.clear(), mine.where = places_[k], mine.edges = edges;
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

  // f(shard) of each, on a thread each.
  template <class F>
  void on_each(F const& f) {
    on_each_shard(places_, [&](std::uint32_t k, shard_group& group) {
      shards_[k]->at.join(group, shards_[k]->x);
      f(*shards_[k]);
    });
  }
  // What each has of an array, f(shard), one after the other.
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
  std::vector<place> places_;
  std::vector<std::unique_ptr<Over>> shards_;
};

}  // namespace garner
