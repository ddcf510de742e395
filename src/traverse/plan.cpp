#include "traverse/plan.hpp"

#include <algorithm>
#include <map>
#include <mutex>

#include "core/thread_pool.hpp"
#include "graph/list_windows.hpp"
#include "memory/budget.hpp"
#include "traverse/bfs.hpp"
#include "traverse/cached_neighbors.hpp"
#include "traverse/components.hpp"
#include "traverse/frontier.hpp"
#include "traverse/job.hpp"
#include "traverse/pagerank.hpp"
#include "traverse/search_model.hpp"
#include "traverse/spread.hpp"
#include "traverse/sssp.hpp"

namespace garner {

namespace {

using bound = crossing::bound;

// Common to all four algorithms.
struct setting {
  execution_device where;
  access_mode access;
  tier edges;
};
setting setting_of(job_options const& o) {
  return std::visit([](auto const& j) { return setting{j.device, j.access, j.edges.value_or(default_tier(j.device, j.access))}; }, o);
}

traffic as_traffic(run_traffic const& r) {
  traffic t;
  for (std::size_t k = 0; k < 4; ++k) t.requests[k] = r.requests[k];
  t.bytes_useful = r.useful;
  return t;
}

// Reads of the adjacency, in closed form over the offsets, or over one long list if they were not loaded.
class lists {
 public:
  lists(graph_info const& info, std::uint64_t packed_bytes, std::uint64_t const* offsets, access_mode how, bool weighted)
      : info_(info), packed_(info.compressed ? packed_bytes : 0), offsets_(offsets), how_(how), weighted_(weighted) {}

  traffic each(std::uint64_t longer_than = 0) const {  // one by one, those with more edges than that
    if (!offsets_ || how_ == access_mode::copied) return together();
    return over(info_.vertices, [&](std::uint64_t v) {
      return offsets_[v + 1] - offsets_[v] > longer_than ? run_of(offsets_[v], offsets_[v + 1]) : run_traffic{};
    });
  }
  // Lists of 32 neighboring vertices as one run; lists of one edge interrupt it unless `leaves` are read.
  traffic by_words(bool looks_up = false, bool leaves = true) const {
    if (!offsets_ || how_ == access_mode::copied) return together(looks_up);
    if (!leaves)
      return over((info_.vertices + 31) / 32, [&](std::uint64_t w) {
        run_traffic all;
        std::uint64_t const last = smaller(info_.vertices, w * 32 + 32);
        std::uint64_t begin = offsets_[w * 32];
        for (std::uint64_t v = w * 32; v < last; ++v) {
          if (offsets_[v + 1] - offsets_[v] != 1) continue;
          all = all + run_of(begin, offsets_[v], looks_up);
          begin = offsets_[v + 1];
        }
        return all + run_of(begin, offsets_[last], looks_up);
      });
    return over((info_.vertices + 31) / 32,
                [&](std::uint64_t w) { return run_of(offsets_[w * 32], offsets_[smaller(info_.vertices, w * 32 + 32)], looks_up); });
  }
  // Present if a GPU's requests read the adjacency.
  std::optional<degree_classes> by_degree() const {
    if (!offsets_ || how_ == access_mode::copied || how_ == access_mode::paged) return std::nullopt;
    return gathered<degree_classes>(info_.vertices, [&](degree_classes& all, std::uint64_t v) {
      std::uint64_t const begin = offsets_[v], end = offsets_[v + 1];
      all.add(end - begin, run_of(begin, end));
    });
  }
  std::uint64_t bytes() const { return packed_ ? packed_ : info_.edges * (info_.id_bytes + (weighted_ ? 4 : 0)); }
  // How a bottom-up level reads a list: sectors, or, if compressed, blocks of 32 codes, which may begin anywhere.
  probing steps() const {
    if (!packed_) return {0, false, 32.0 / info_.id_bytes, 1};
    return {0, false, 32, 4 * part() + 0.9};
  }

 private:
  run_traffic run_of(std::uint64_t begin, std::uint64_t end, bool looks_up = false) const {
    if (begin >= end) return {};
    if (!packed_) {
      arc_costs costs{how_, info_.id_bytes, true, weighted_};
      costs.looks_up = looks_up;
      return costs(begin, end);
    }
    // Codes are smaller than their values by some factor; the start of each block is unknown until the directory is loaded.
    auto const word = [&](std::uint64_t i) { return static_cast<std::uint64_t>(static_cast<double>(i) * part()); };
    return traffic_of_run(word(begin / 32 * 32), word((end + 31) / 32 * 32), 4, access_mode::aligned);
  }
  double part() const { return static_cast<double>(packed_) / static_cast<double>(info_.edges * 4); }
  traffic together(bool looks_up = false) const {
    if (how_ == access_mode::paged) return pages();
    if (how_ == access_mode::copied) return as_traffic(sent_in_blocks(info_.edges, info_.id_bytes, weighted_));
    return as_traffic(run_of(0, info_.edges, looks_up));
  }
  traffic pages() const {  // each once
    traffic t;
    t.bytes_useful = info_.edges * (info_.id_bytes + (weighted_ ? 4 : 0));
    t.pages = (info_.edges * info_.id_bytes + 4095) / 4096 + (weighted_ ? (info_.edges * 4 + 4095) / 4096 : 0);
    return t;
  }
  template <class F>
  traffic over(std::uint64_t n, F f) const {
    if (how_ == access_mode::paged) return pages();
    return as_traffic(gathered<run_traffic>(n, [&](run_traffic& all, std::uint64_t i) { all = all + f(i); }));
  }
  template <class Sum, class F>
  static Sum gathered(std::uint64_t n, F f) {
    Sum all;
    std::mutex mutex;
    shared_pool().run(n, 1u << 16, [&](std::uint64_t begin, std::uint64_t end) {
      Sum mine;
      for (std::uint64_t i = begin; i < end; ++i) f(mine, i);
      std::lock_guard const hold(mutex);
      all = all + mine;
    });
    return all;
  }

  graph_info const& info_;
  std::uint64_t packed_;  // bytes of codes, 0: plain
  std::uint64_t const* offsets_;
  access_mode how_;
  bool weighted_;
};

void plan_bfs(job_plan& p, graph_info const& info, bfs_asked const& o, lists const& out) {
  p.per = "run";
  p.iterations_known = true;
  bool const turns = o.variant == bfs_variant::direction;
  traffic const once = out.each();
  std::optional<degree_classes> degrees;
  if (turns && !info.directed) degrees = out.by_degree();
  if (!degrees) {
    // What a direction-optimizing search reads is unknown; it switches only when it expects to read less.
    p.crossings.push_back({turns ? bound::usually_below : bound::at_most, "every list that is reached, once", once});
  } else {
    probing how = out.steps();
    how.cached_neighbors = p.cached_neighbors;
    // Same choice as default_cached_neighbors.
    if (p.cached_neighbors_to_make && !o.cached_neighbors && cached_neighbors_view::is_narrow(info.vertices, p.cached_neighbors) &&
        !degrees->alike())
      --how.cached_neighbors;
    how.each_of_a_class = cached_neighbors_view::is_narrow(info.vertices, how.cached_neighbors);
    traffic found = model_search(*degrees, how);
    if (found.bytes_link() < once.bytes_link()) {
      p.crossings.push_back({bound::about, "what a search looks at if edges lead anywhere", found});
      p.levels_at_most = once;
    } else {  // under random pairing, a hub with most of the edges is its own neighbor
      found = once;
      p.crossings.push_back({bound::usually_below, "every list that is reached, once", once});
    }
    // The cached first edges save their share of the reads.
    for (planned_part& c : p.kept) {
      double const part =
          std::min(1.0, static_cast<double>(c.bytes_saved_on_link) / static_cast<double>(std::max<std::uint64_t>(1, out.bytes())));
      c.bytes_saved_on_link = static_cast<std::uint64_t>(static_cast<double>(found.bytes_link()) * part);
    }
  }
  if (p.cached_neighbors_to_make) p.crossings.push_back({bound::exactly, "all lists, to find the best neighbors", once, 1, true});
}

crossing all_weights(graph_info const& info, access_mode how, char const* what) {
  traffic weights;
  if (how == access_mode::paged) weights.pages = (info.edges * 4 + 4095) / 4096;
  else weights = as_traffic(traffic_of_run(0, info.edges, 4, how));
  weights.bytes_useful = info.edges * 4;
  return {bound::exactly, what, weights, 1, true};
}

void plan_sssp(job_plan& p, graph_info const& info, sssp_asked const& o, lists const& out) {
  p.per = "run";
  p.iterations_known = true;
  bool const leaves = info.directed || o.variant == sssp_variant::emogi;  // lists of one edge are not read otherwise
  p.crossings.push_back({bound::at_least, "lists and weights, each as often as it is relaxed, if all is reached",
                         sssp_job::joins_lists(o) ? out.by_words(false, leaves) : out.each(leaves ? 0 : 1)});
  p.crossings.push_back(all_weights(info, o.access, "all weights, to check them"));
}

void plan_components(job_plan& p, graph_info const& info, components_asked const& o, lists const& out, std::uint64_t const* offsets) {
  if (o.variant == components_variant::emogi) {
    p.per = "round";
    p.crossings.push_back({bound::at_most, "the lists of active vertices; in the first round all", out.each(), std::nullopt});
    return;
  }
  p.per = "run";
  p.iterations_known = true;
  if (info.directed || o.first_neighbors == 0 || o.access == access_mode::copied || o.edges == tier::file) {
    bool const joined = o.access == access_mode::aligned && o.tuning.vertices_per_team == 1 && o.device.kind != device_kind::cpu;
    p.crossings.push_back({bound::exactly, "all lists, once", joined ? out.by_words() : out.each()});
    return;
  }
  if (p.cached_neighbors) {
    if (p.cached_neighbors_to_make) p.crossings.push_back({bound::exactly, "all lists, to find the best neighbors", out.each(), 1, true});
    p.crossings.push_back(
        {bound::at_most, "the lists outside the largest component",
         out.each(cached_neighbors_view::is_narrow(info.vertices, p.cached_neighbors) ? 0
                                                                                      : std::min(o.first_neighbors, p.cached_neighbors))});
    return;
  }
  crossing first{bound::exactly, fmt::format("the first {} neighbors of every vertex", o.first_neighbors), {}};
  if (o.access != access_mode::paged) {
    if (offsets) {
      executor here({device_kind::cpu, 0});
      first.link = measure_first_reads(here, info, offsets, o.first_neighbors).link;
    } else {  // one or two sectors of each list
      first.how = bound::at_most;
      first.link.requests[0] = smaller(info.vertices, info.edges) * (1 + o.first_neighbors * info.id_bytes / 32);
      first.link.bytes_useful = smaller(info.vertices * o.first_neighbors, info.edges) * info.id_bytes;
    }
    p.crossings.push_back(first);
  }
  p.crossings.push_back({bound::at_most, "the lists outside the largest component", out.each(o.first_neighbors)});
}

void plan_pagerank(job_plan& p, graph_info const& info, pagerank_asked const& o, lists const& in) {
  bool const pulls = o.variant == pagerank_variant::pull;
  p.per = pulls ? "iteration" : "round";
  p.iterations = o.iterations.value_or(1);
  p.iterations_known = o.iterations.has_value();
  std::optional<std::uint64_t> const times = o.access == access_mode::paged ? 1 : o.iterations;  // cached pages stay
  if (pulls && o.weighted) {
    // Merged, lists begin at arbitrary addresses; paged, weights that were reduced before may still be resident.
    bound const how = o.access == access_mode::paged || o.access == access_mode::merged ? bound::at_most : bound::exactly;
    p.crossings.push_back({how, "all lists and weights", in.by_words(), times});
    p.crossings.push_back(all_weights(info, o.access, "all weights, to add them up"));
  } else if (pulls) p.crossings.push_back({bound::exactly, "all lists", in.by_words(true), times});
  else p.crossings.push_back({bound::at_most, "the lists of active vertices; in the first round all", in.each(), times});
}

// File reads: windows of whole lists. `bytes`: total size of what the algorithm reads.
void plan_file(job_plan& p, graph_info const& info, job_options const& o, std::uint64_t bytes, bool asks_best) {
  bool const rounds = variant_of(o) == "emogi" && kind_of(o) != job_kind::bfs;
  p.file_bytes = bytes;
  p.file_bound = rounds || kind_of(o) == job_kind::bfs ? bound::at_most : kind_of(o) == job_kind::sssp ? bound::at_least : bound::exactly;
  // A search reads each list at most once, but lists of different levels share units of the file.
  if (kind_of(o) == job_kind::bfs || (kind_of(o) == job_kind::components && !rounds && !info.directed))
    p.file_bound = asks_best ? bound::usually_below : bound::about;
  if (info.edges == 0) p.file_bytes = 0;
}

}  // namespace

namespace {

std::uint64_t directory_bytes(graph_info const& info) {
  std::uint64_t const blocks = (info.edges + packed_directory::values_a_block - 1) / packed_directory::values_a_block;
  return (blocks + 1) * 4 + (blocks / packed_directory::blocks_a_group + 1) * 8;
}

}  // namespace

std::uint64_t target_bytes(graph_info const& info, stored const& s, bool in) {
  if (!info.compressed) return info.edges * info.id_bytes;
  return (in ? s.words.in_targets : s.words.out_targets) * 4 + directory_bytes(info);
}
namespace {
// As the graph is loaded: weights only if the algorithm reads them.
graph_info read_info(graph_info info, bool weighted) {
  if (!weighted) info.weights = weight_kind::none;
  return info;
}
std::uint64_t file_directory_bytes(graph_info const& info, bool in_edges, bool weighted) {
  return info.compressed ? (in_edges ? 2u : 1u) * (weighted ? 2u : 1u) * directory_bytes(info) : 0;
}
}  // namespace
std::uint64_t file_tier_bytes(graph_info const& info, stored const& s, bool in_edges, bool weighted) {
  return list_file::memory_bytes(s.file_bytes, info.edges) + list_windows::least_bytes(read_info(info, weighted)) +
         file_directory_bytes(info, in_edges, weighted);
}

namespace {
// Whether the algorithm, over adjacency in a file, uses stored cached neighbors.
bool asks_file_neighbors(graph_info const& info, job_options const& o, stored const& s) {
  if (setting_of(o).edges != tier::file || !s.cached_neighbors || info.directed) return false;
  if (auto const* const bfs = std::get_if<bfs_asked>(&o))
    return bfs->variant.value_or(bfs_job::default_variant(info, *bfs)) == bfs_variant::direction && bfs->cached_neighbors.value_or(1);
  auto const* const c = std::get_if<components_asked>(&o);
  return c && c->variant == components_variant::afforest && c->first_neighbors && c->access != access_mode::copied;
}
// ... and whether the host budget can hold them.
bool has_file_neighbors(graph_info const& info, job_options const& o, stored const& s) {
  if (!asks_file_neighbors(info, o, s)) return false;
  std::uint64_t const near = setting_of(o).where.kind == device_kind::cuda ? 0 : state_bytes(info, o);
  std::uint64_t const all = (info.vertices + 1) * 8 + bytes_of_ids(info) + file_tier_bytes(info, s, false, false) + near +
                            cached_neighbor_bytes(info, s.cached_neighbors);
  return all <= host_budget().limit();
}
}  // namespace
std::uint64_t weight_bytes(graph_info const& info, stored const& s, bool in) {
  return info.compressed ? (in ? s.words.in_weights : s.words.out_weights) * 4 + directory_bytes(info) : info.edges * 4;
}

// Spends the budget as job_setting and the algorithms do: directories of all that is loaded, then cached neighbors, then the first edges or
// the shortest lists.
std::vector<planned_part> planned_device_cache(graph_info const& info, job_options const& o, stored const& s) {
  std::vector<planned_part> all;
  setting const now = setting_of(o);
  std::string_view const variant = variant_of(o);
  bool const far = now.edges == tier::host;
  if (now.where.kind == device_kind::cpu || now.edges == tier::managed) return all;
  bool const in_file = now.edges == tier::file;  // then only directories, and the file's cached neighbors
  bool const paper = variant == "emogi" || now.access == access_mode::copied, weighted = reads_weights(o), in = reads_in_lists(info, o);
  std::uint64_t left = paper ? 0 : std::visit([](auto const& j) { return j.graph_cache; }, o).value_or(default_device_budget(info));
  auto const take = [&](std::string what, std::uint64_t bytes, std::uint64_t saved) {
    if (bytes == 0 || bytes > left) return false;
    left -= bytes;
    all.push_back({std::move(what), bytes, saved});
    return true;
  };
  auto const take_cached_neighbors = [&](std::uint32_t a_vertex, bool said) {
    // Three or four in the same number of bytes, by degree (default_cached_neighbors).
    bool const either = !said && a_vertex != s.cached_neighbors && cached_neighbors_view::is_narrow(info.vertices, a_vertex);
    if (take(fmt::format("the {}{} best neighbors of every vertex", either ? "3 or " : "", a_vertex), cached_neighbor_bytes(info, a_vertex),
             0))
      all.back().cached_neighbors = a_vertex, all.back().to_make = a_vertex != s.cached_neighbors;
  };
  if ((far || in_file) && info.compressed && now.where.kind == device_kind::cuda)
    for (int k = 0; k < (weighted ? 2 : 1) * (in ? 2 : 1); ++k)
      take(weighted && k % 2 ? "the directory of compressed weights" : "the directory of compressed adjacency", directory_bytes(info), 0);
  if (kind_of(o) == job_kind::bfs && variant == "direction" && !in_file)
    take_cached_neighbors(std::get<bfs_asked>(o).cached_neighbors.value_or(cached_neighbors_within(info, s.cached_neighbors, left)),
                          std::get<bfs_asked>(o).cached_neighbors.has_value());
  if (now.where.kind == device_kind::cuda && has_file_neighbors(info, o, s)) take_cached_neighbors(s.cached_neighbors, true);
  if (far && kind_of(o) == job_kind::components && variant == "afforest" && !info.directed && now.access != access_mode::copied)
    if (std::uint32_t const enough = std::get<components_asked>(o).first_neighbors)
      take_cached_neighbors(cached_neighbors_within(info, s.cached_neighbors, left, enough), true);
  std::uint64_t const codes = (target_bytes(info, s, in && kind_of(o) == job_kind::pagerank) + (weighted ? weight_bytes(info, s, in) : 0)) -
                              (info.compressed ? directory_bytes(info) * (weighted ? 2 : 1) : 0);
  if (far && !paper && info.edges >= 32) {
    std::uint64_t const places =
        kind_of(o) == job_kind::sssp && !info.compressed ? (frontier<std::uint32_t>::words_of(info.vertices) + 1) * 8 : 0;
    if (places && left > places) {
      std::uint64_t const lists = std::min(left - places, codes) / 8 * 8;
      take("the shortest lists", lists + places, lists);
    } else if (!places) {
      std::uint64_t const first = std::min(left, codes) / 128 * 128;
      take("the first edges", first, first);
    }
  }
  return all;
}

namespace {

// Host memory that access copied uses for a device, with lists cut as by each algorithm's frontier_of.
std::uint64_t copied_home_bytes(graph_info const& info, job_options const& o) {
  frontier_options f;
  f.split = variant_of(o) != "emogi";
  std::visit([&](auto const& job) { f.access = job.access, f.block_bytes = job.tuning.block_bytes; }, o);
  auto const walk = [&](auto const& job) { f.slice = job.tuning.slice, f.vertices_per_team = job.tuning.vertices_per_team; };
  if (auto const* const bfs = std::get_if<bfs_asked>(&o)) walk(*bfs), f.split &= bfs->tuning.split_hubs;
  if (auto const* const sssp = std::get_if<sssp_asked>(&o)) walk(*sssp), f.split &= sssp->tuning.split_hubs;
  if (auto const* const components = std::get_if<components_asked>(&o)) walk(*components);
  return with_id_type(info, [&](auto id) { return frontier<decltype(id)>::home_bytes(info, f, kind_of(o) == job_kind::sssp); });
}

}  // namespace

std::uint64_t bytes_of_file_neighbors(graph_info const& info, job_options const& o, stored const& s,
                                      std::vector<planned_part> const& kept) {
  bool const where_they_lie = setting_of(o).where.kind != device_kind::cuda && has_file_neighbors(info, o, s);
  std::uint64_t bytes = where_they_lie ? cached_neighbor_bytes(info, s.cached_neighbors) : 0;
  for (planned_part const& c : kept)
    if (c.cached_neighbors && !c.to_make) bytes += c.bytes;
  return bytes;
}

job_plan make_plan(graph_info const& info, job_options const& asked, stored const& s_, std::uint64_t const* offsets,
                   std::uint64_t const* in_offsets) {
  job_options o = asked;
  if (auto* bfs = std::get_if<bfs_asked>(&o); bfs && !bfs->variant) bfs->variant = bfs_job::default_variant(info, *bfs);
  job_plan p;
  setting const s = setting_of(o);
  job_kind const kind = kind_of(o);
  bool const on_device = s.where.kind == device_kind::cuda, weighted = reads_weights(o), in = reads_in_lists(info, o);
  // Without a GPU, every tier is host memory, whatever its name.
  tier const far = on_device || s.edges == tier::file ? s.edges : tier::host, near = on_device ? tier::device : tier::host;

  p.rows.push_back({"offsets", tier::host, (info.vertices + 1) * 8});
  if (in) p.rows.push_back({"offsets of in-edges", tier::host, (info.vertices + 1) * 8});
  if (std::uint64_t const ids = bytes_of_ids(info)) p.rows.push_back({"ids", tier::host, ids});
  p.rows.push_back({"targets", far, target_bytes(info, s_)});
  if (in) p.rows.push_back({"targets of in-edges", far, target_bytes(info, s_, true)});
  if (weighted) p.rows.push_back({"weights", far, weight_bytes(info, s_)});
  if (weighted && in) p.rows.push_back({"weights of in-edges", far, weight_bytes(info, s_, true)});
  if (far == tier::file) {
    p.rows.push_back({"checksums of the edges in the file", tier::host, list_file::memory_bytes(s_.file_bytes, info.edges)});
    if (std::uint64_t const directories = file_directory_bytes(info, in, weighted))
      p.rows.push_back({"directories of compressed adjacency", tier::host, directories});
  }
  if (info.compressed && in_device_memory(far)) p.rows.push_back({"compressed adjacency, on its way", tier::host, p.bytes(far)});
  std::uint64_t const state = state_bytes(info, o), copied_offsets = on_device ? (info.vertices + 1) * (in ? 16 : 8) : 0;
  if (on_device) p.rows.push_back({"offsets, a copy", near, copied_offsets});
  p.rows.push_back({"state", near, state - std::min(state, copied_offsets)});
  if (std::uint64_t const home = on_device ? copied_home_bytes(info, o) : 0) p.rows.push_back({"blocks to send", tier::host, home});
  p.kept = planned_device_cache(info, o, s_);
  for (planned_part const& c : p.kept) p.cached_neighbors += c.cached_neighbors, p.cached_neighbors_to_make |= c.to_make;
  for (planned_part const& c : p.kept) p.rows.push_back({"copy of " + c.what, near, c.bytes});
  if (std::uint64_t const cached_neighbors = bytes_of_file_neighbors(info, o, s_, p.kept))
    p.rows.push_back({"best neighbors, of the file", tier::host, cached_neighbors});
  if (far == tier::file && info.edges) {  // the budget that is left at the first read
    std::uint64_t const limit = host_budget().limit(), taken = p.host_bytes();
    p.rows.push_back(
        {"two windows of lists", tier::host, list_windows::bytes_within(read_info(info, weighted), limit - std::min(limit, taken))});
  }

  std::uint64_t const* const read = kind == job_kind::pagerank && in ? in_offsets : offsets;
  p.from_offsets = read && s.access != access_mode::paged;
  lists const all(info, target_bytes(info, s_, kind == job_kind::pagerank && in) + (weighted ? weight_bytes(info, s_, in) : 0), read,
                  s.access, weighted);
  switch (kind) {
    case job_kind::bfs:
      plan_bfs(p, info, std::get<bfs_asked>(o), all);
      break;
    case job_kind::sssp:
      plan_sssp(p, info, std::get<sssp_asked>(o), all);
      break;
    case job_kind::components:
      plan_components(p, info, std::get<components_asked>(o), all, read);
      break;
    case job_kind::pagerank:
      plan_pagerank(p, info, std::get<pagerank_asked>(o), all);
  }
  if (far == tier::file) plan_file(p, info, o, all.bytes(), has_file_neighbors(info, o, s_));
  if (s.where.kind == device_kind::cpu || in_device_memory(far)) p.crossings.clear(), p.levels_at_most.reset();  // no link traffic
  return p;
}

bool room_by_degree(graph_info const& info, pagerank_asked const& o, stored const& s, std::uint64_t device_bytes) {
  if (device_bytes == budget::unlimited || !pagerank_job::may_copy_by_degree(info, o)) return true;
  return make_plan(info, o, s).device_bytes() <= device_bytes - device_bytes / 16;
}

std::vector<execution_device> shards_of(job_options const& o) {
  return std::visit(
      [](auto const& job) -> std::vector<execution_device> {
        if constexpr (requires { job.devices; }) return job.devices;
        else return {};
      },
      o);
}

std::vector<job_part> plan_parts(graph_info const& info, job_options const& asked, stored const& s, std::string const& name,
                                 std::uint64_t const* offsets) {
  std::vector<execution_device> const places = shards_of(asked);
  if (places.size() < 2) return {};
  bool const ranks = kind_of(asked) == job_kind::pagerank, in = reads_in_lists(info, asked);
  std::uint64_t const n = info.vertices, grain = ranks ? pagerank_job::shard_grain : shard_grain;
  shard_options how;
  how.shards = static_cast<std::uint32_t>(places.size()), how.sums = shard_reduction::fast;
  if (!offsets) how.balance = shard_balance::vertices;
  std::optional<shard_parts> parts;
  if (offsets) parts.emplace(offsets, n, how, name, grain);
  std::vector<job_part> all;
  for (std::uint32_t k = 0; k < places.size(); ++k) {
    job_part p;
    p.where = places[k];
    p.first = parts ? parts->first(k) : n * k / places.size();
    p.vertices = (parts ? parts->first(k + 1) : n * (k + 1) / places.size()) - p.first;
    p.edges = parts ? offsets[p.first + p.vertices] - offsets[p.first] : info.edges / places.size();
    double const share = info.edges ? static_cast<double>(p.edges) / static_cast<double>(info.edges) : 0;
    // A search has out-edges, and in-edges for bottom-up levels; PageRank of a directed graph pulls along its in-edges, and has both.
    p.list_bytes = static_cast<std::uint64_t>(share * static_cast<double>(target_bytes(info, s) + (in ? target_bytes(info, s, true) : 0)));
    graph_info part = info;
    part.vertices = p.vertices, part.edges = p.edges, part.order = vertex_order::natural;
    job_options o = asked;
    std::visit([&](auto& job) { job.device = p.where; }, o);
    p.state_bytes = state_bytes(part, o) + (info.vertices - p.vertices) * (ranks ? 4 : info.id_bytes);
    std::uint64_t const bitmap = (n + 31) / 32 * 4;
    if (kind_of(o) == job_kind::bfs) p.state_bytes += pulls_in_lists(o) ? 2 * bitmap : bitmap;
    if (kind_of(o) == job_kind::components) p.state_bytes += 2 * bitmap + (k == 0 ? (n - p.vertices) * info.id_bytes : 0);
    if (ranks) p.state_bytes += n / grain * 32;
    stored kept = s;
    if (kept.cached_neighbors == cached_neighbors_view::most) kept.cached_neighbors = 0;
    for (planned_part const& c : planned_device_cache(part, o, kept)) {
      p.cache_bytes += c.bytes;
      if (c.to_make && p.where.kind == device_kind::cuda) p.cache_bytes += (n + 1) * 8;  // temporarily, all degrees
    }
    all.push_back(p);
  }
  return all;
}
std::uint64_t near_bytes(std::vector<job_part> const& parts, tier edges) {
  std::map<int, std::uint64_t> of_device;
  std::uint64_t most = 0;
  for (job_part const& p : parts) most = std::max(most, of_device[p.where.index] += p.near_bytes(edges));
  return most;
}

tier automatic_tier(graph_info const& info, job_options const& asked, stored const& s, std::uint64_t device_bytes) {
  job_options o = asked;
  execution_device where;
  access_mode access{};
  std::visit([&](auto& job) { where = job.device, access = job.access, job.edges = tier::device, job.graph_cache = 0; }, o);
  // An optional copy must not displace the adjacency.
  if (auto* const ranks = std::get_if<pagerank_asked>(&o)) ranks->by_degree = ranks->by_degree.value_or(false);
  tier const otherwise = default_tier(where, access);
  if (where.kind != device_kind::cuda || access != access_mode::aligned || variant_of(asked) == "emogi") return otherwise;
  if (device_bytes == budget::unlimited) return otherwise;  // unknown
  if (auto const parts = plan_parts(info, o, s, "the graph"); !parts.empty())
    return near_bytes(parts, tier::device) <= device_bytes - device_bytes / 16 ? tier::device : otherwise;
  // A margin remains for other allocations, and for the device cache.
  return make_plan(info, o, s).device_bytes() <= device_bytes - device_bytes / 16 ? tier::device : otherwise;
}

std::uint64_t job_plan::bytes(tier where) const {
  std::uint64_t sum = 0;
  for (plan_row const& r : rows) sum += r.where == where ? r.bytes : 0;
  return sum;
}
std::uint64_t job_plan::host_bytes() const { return bytes(tier::host) + bytes(tier::managed); }
std::uint64_t job_plan::bytes_saved() const {
  std::uint64_t sum = 0;
  for (planned_part const& c : kept) sum += c.bytes_saved_on_link;
  return sum;
}
std::uint64_t job_plan::bytes_link() const {
  std::uint64_t sum = 0;
  for (crossing const& c : crossings) sum += c.before ? 0 : c.link.bytes_link() * c.times.value_or(1);
  return sum - std::min(sum, bytes_saved() * iterations);
}
std::uint64_t job_plan::first_bytes_link() const {
  std::uint64_t sum = bytes_link();
  for (crossing const& c : crossings) sum += c.before ? c.link.bytes_link() : 0;
  for (planned_part const& c : kept) sum += c.to_make ? 0 : c.bytes;  // read from the adjacency, or copied from the file
  return sum;
}
double job_plan::ms(link_rates const& rates) const {
  double ms = 0;
  std::uint64_t bytes = 0;
  for (crossing const& c : crossings) {
    if (c.before) continue;
    ms += predicted_ms(c.link, rates) * static_cast<double>(c.times.value_or(1));
    bytes += c.link.bytes_link() * c.times.value_or(1);
  }
  return bytes ? ms * static_cast<double>(bytes_link()) / static_cast<double>(bytes) : 0;  // the saving, at the same mix of requests
}

}  // namespace garner
