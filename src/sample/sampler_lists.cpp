#include "sample/sampler_lists.hpp"

#include <limits>

#include "core/exec.hpp"
#include "features/place_rows.hpp"
#include "graph/handle.hpp"
#include "graph/ranks.hpp"
#include "memory/budget.hpp"
#include "sample/kernels/choose.hpp"
#include "sample/lists.hpp"

namespace garner {

namespace {

// Maximum number of entries that sampling a vertex reads from its adjacency list.
std::uint64_t read_of_a_list(inner_relation const& r, block_options const& o) {
  std::int64_t const most = *std::max_element(r.fanouts.begin(), r.fanouts.end()),
                     least = *std::min_element(r.fanouts.begin(), r.fanouts.end());
  return least < 0 || o.induced || o.weighted || o.labor || o.temporal ? drawing::nothing : static_cast<std::uint64_t>(most);
}

// --- copies of lists ---
// Range that the edges [begin, end) of a list occupy in its array: elements, or the words of its blocks, including the one behind them that
// a reader may look at.
GARNER_HD indices units_of(packed_directory const& at, std::uint64_t begin, std::uint64_t end) {
  if (!at.blocks || begin == end) return {begin, end};
  constexpr std::uint64_t a_block = packed_directory::values_a_block;
  return {at.word_of(begin / a_block), at.word_of((end - 1) / a_block + 1) + 1};
}

template <class T>
struct copy_lists {
  std::uint64_t const* vertices;
  std::uint64_t const* offsets;
  packed_directory at;
  std::int64_t const* moved_by;
  T const* from;  // remote
  T* to;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t k) const {
    std::uint64_t const v = vertices[k];
    auto const shift = static_cast<std::uint64_t>(moved_by[v]);
    indices const mine = units_of(at, offsets[v], offsets[v + 1]);
    t.each(span<T>{from, mine.begin, mine.end}, [&](T value, std::uint64_t i) { to[i + shift] = value; });
  }
};

constexpr char const* kept_by_score = "lists kept by score";
template <class T>
buffer<T> copied_near(executor& x, std::vector<T> const& from) {
  buffer<T> to(x.near(), from.size(), x.device(), kept_by_score);
  x.copy(to.data(), from.data(), to.bytes());
  return to;
}

}  // namespace

void kept_lists::keep(executor& x, graph const& g, edge_lists const& lists, placed_lists const& placed, std::span<float const> scores,
                      std::uint64_t fanout, std::uint64_t budget, bool weighted) {
  require_numbers(scores);
  weighted = weighted && g.info.weights != weight_kind::none;
  bool const wide = lists.packed_targets.empty() && g.info.id_bytes == 8;
  packed_directory const targets_home = lists.packed_targets.view().at, weights_home = lists.packed_weights.view().at;
  std::uint64_t const* const offsets = lists.offsets.data();
  std::uint64_t const n = g.info.vertices, unit = wide ? 8 : 4;

  // Sampling reads a sector per entry, or each sector of the list.
  std::vector<float> worth(n, std::numeric_limits<float>::lowest());
  for (std::uint64_t k = 0; k < std::min<std::uint64_t>(n, scores.size()); ++k) {
    std::uint64_t const v = g.at_rank(k);
    if (offsets[v] == offsets[v + 1]) continue;
    indices const units = units_of(targets_home, offsets[v], offsets[v + 1]);
    auto const bytes = static_cast<float>((units.end - units.begin) * unit);
    worth[v] = scores[k] * std::min(static_cast<float>(fanout), 1 + (bytes - static_cast<float>(unit)) / 32) / bytes;
  }
  buffer<std::uint64_t> const best = hottest(worth, std::min<std::uint64_t>({n, budget / unit, 0xffffffffu}));
  worth = {};

  bool const one_shift = lists.packed_targets.empty() && lists.packed_weights.empty();
  std::vector<std::uint64_t> chosen;
  std::vector<std::int64_t> shift_of_targets(n, arc_array<std::uint32_t>::elsewhere), shift_of_weights;
  if (weighted && !one_shift) shift_of_weights = shift_of_targets;
  std::uint64_t targets = 0, weights = 0;  // units so far
  for (std::uint64_t const v : best.span()) {
    std::uint64_t const begin = offsets[v], end = offsets[v + 1];
    if (begin == end) break;  // so have all others
    indices const of_targets = units_of(targets_home, begin, end), of_weights = units_of(weights_home, begin, end);
    std::uint64_t const more_targets = of_targets.end - of_targets.begin, more_weights = weighted ? of_weights.end - of_weights.begin : 0;
    if ((targets + more_targets) * unit + (weights + more_weights) * 4 > budget) continue;
    shift_of_targets[v] = static_cast<std::int64_t>(targets - of_targets.begin);
    if (!shift_of_weights.empty()) shift_of_weights[v] = static_cast<std::int64_t>(weights - of_weights.begin);
    targets += more_targets, weights += more_weights, arcs_ += end - begin;
    chosen.push_back(v);
  }
  if (chosen.empty()) return;
  buffer<std::uint64_t> const ids = copied_near(x, chosen);
  vertices_ = chosen.size();
  auto const copied = [&](auto type, memory_block const& plain, packed_array const& packed, packed_directory const& at,
                          buffer<std::int64_t> const& moved_by, std::uint64_t units) {
    using T = decltype(type);
    memory_block to(x.near(), units * sizeof(T), x.device(), kept_by_score);
    void const* const from = packed.empty() ? plain.data() : packed.words.data();
    for_each_item<8>(
        x, vertices_,
        copy_lists<T>{ids.data(), placed.offsets(), at, moved_by.data(), static_cast<T const*>(from), static_cast<T*>(to.data())});
    return to;
  };
  targets_moved_by_ = copied_near(x, shift_of_targets);
  csr_view<std::uint32_t> const v = placed.view<std::uint32_t>();  // bytes of it for directories
  targets_ = wide ? copied(std::uint64_t{}, lists.targets, lists.packed_targets, {}, targets_moved_by_, targets)
                  : copied(std::uint32_t{}, lists.targets, lists.packed_targets, v.targets.packed.at, targets_moved_by_, targets);
  if (weighted) {
    if (!one_shift) weights_moved_by_ = copied_near(x, shift_of_weights);
    weights_ = copied(std::uint32_t{}, lists.weights, lists.packed_weights, v.weights.packed.at,
                      one_shift ? targets_moved_by_ : weights_moved_by_, weights);
  }
  x.wait();
}

sampler_lists::sampler_lists(executor& x, std::vector<sampled_type> const& of_types, std::vector<inner_relation> of_relations,
                             block_options const& o) {
  map.types = static_cast<std::uint32_t>(of_types.size());
  map.relations = static_cast<std::uint32_t>(of_relations.size());
  map.hops = static_cast<std::uint32_t>(of_relations.empty() ? 0 : of_relations.front().fanouts.size());
  for (inner_relation& r : of_relations) {
    of_relation p;
    p.lists = near_lists(x, *r.g, *r.lists);
    memory_block const& words = r.lists->packed_targets.empty() ? r.lists->targets : r.lists->packed_targets.words;
    p.far = r.g->in_file || (x.asynchronous() && !r.elsewhere && !in_device_memory(words.where()));
    p.looks = o.weighted || (o.temporal && !r.in_time_order);
    if (r.g->in_file) p.windows = std::make_unique<list_windows>(x, *r.g);
    if (o.weighted && x.on_device() && p.lists.directory_bytes(true)) p.lists.cache_directory(x, true, "directory of compressed weights");
    if (o.graph_cache && !p.windows && (p.far || x.where().kind == device_kind::simulated)) {
      std::uint64_t const budget = *o.graph_cache / map.relations;
      std::span<float const> const scores = of_types[r.to].scores;
      if (scores.empty()) p.cached = p.lists.cache_first_arcs(x, budget, o.weighted);
      else p.kept.keep(x, *r.g, *r.lists, p.lists, scores, read_of_a_list(r, o), budget, o.weighted);
      cached_arcs += p.cached + p.kept.bytes();
    }
    if (o.weighted && !o.replace && !r.elsewhere && r.g->info.edges) {
      p.largest = {x.near(), r.g->info.vertices, x.device(), "the largest weight of each list"};
      x.fill(p.largest.data(), 0, p.largest.bytes());
      with_id_type(r.g->info, [&](auto id) {
        drawing::by_weight const by{p.view<decltype(id)>().weights, r.g->info.weights == weight_kind::f32};
        for_each_item<32>(x, r.g->info.vertices, drawing::largest_weight{p.lists.offsets(), by, p.largest.data()}, access_mode::aligned,
                          true);
      });
    }
    p.times = readable(x, r.times, p.pinned_times), p.places = readable(x, r.places, p.pinned_places);
    for (auto const& [from, to] : {std::pair{r.names, &p.names}, std::pair{r.begins, &p.begins}}) {
      *to = {x.near(), from.size(), x.device(), "names of a part's vertices"};
      x.copy(to->data(), from.data(), to->bytes());
    }
    p.of = std::move(r);
    relations.push_back(std::move(p));
  }
  for (std::size_t t = 0; t < of_types.size(); ++t) {
    of_type p;
    p.vertices = of_types[t].vertices;
    p.is_source = std::any_of(relations.begin(), relations.end(), [&](auto const& r) { return r.of.from == t; });
    if (!of_types[t].times.empty() && o.temporal) {
      p.times = {x.near(), p.vertices, x.device(), "times of vertices"};
      x.copy(p.times.data(), of_types[t].times.data(), p.times.bytes());
    }
    types.push_back(std::move(p));
  }
}
std::string sampler_lists::of_relation::told_of_kept() const {
  if (std::uint64_t const n = kept.vertices())
    return fmt::format(", {} near: the lists of {} vertices by score, {} edges (and {} of where they are)", format_bytes(kept.list_bytes()),
                       n, kept.arcs(), format_bytes(kept.bytes() - kept.list_bytes()));
  return cached ? fmt::format(", {} near: the first {} edges", format_bytes(cached), lists.first_arcs()) : "";
}
void sampler_lists::rename(executor& x, graph const& g) {
  if (!g.by_id.bytes()) return;
  inside_bytes = g.info.id_bytes;
  auto const keep = [&](memory_block& to, void const* from) {
    to = memory_block(x.near(), g.by_id.bytes(), x.device(), "the order of vertices");
    x.copy(to.data(), from, to.bytes());
    x.wait();
  };
  keep(inside, g.by_id.data());
  with_id_type(g.info, [&](auto id) { keep(ranks, ranks_inside<decltype(id)>(g).data()); });
}

std::uint64_t sampler_lists::bytes() const {
  std::uint64_t n = cached_arcs + inside.bytes() + ranks.bytes();
  for (of_type const& t : types) n += t.times.bytes();
  for (of_relation const& r : relations) n += r.largest.bytes();
  return n;
}

}  // namespace garner
