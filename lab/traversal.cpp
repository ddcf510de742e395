#include "lab/traversal.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "core/device.hpp"
#include "core/fail.hpp"
#include "core/median.hpp"
#include "core/progress.hpp"
#include "core/thread_pool.hpp"
#include "far/matrix.hpp"
#include "far/traffic.hpp"
#include "graph/build.hpp"
#include "graph/container.hpp"
#include "graph/pack.hpp"
#include "graph/source.hpp"
#include "graph/summary.hpp"
#include "lab/field.hpp"
#include "lab/now.hpp"
#include "lab/ways.hpp"
#include "memory/budget.hpp"
#include "memory/link.hpp"
#include "traverse/bfs.hpp"
#include "traverse/components.hpp"
#include "traverse/job.hpp"
#include "traverse/pagerank.hpp"
#include "traverse/sssp.hpp"

namespace garner::lab {

namespace {

constexpr std::uint64_t page = 4096;

std::optional<std::uint64_t> limited(std::uint64_t bytes) { return bytes == budget::unlimited ? std::nullopt : std::optional(bytes); }

// --- graphs ---

// A copy with its remote arrays in `where` for `device`, and ids of `id_bytes`; device-resident and compressed graphs keep their width.
// errc::memory if a budget refuses.
graph copy_of(graph const& g, tier where, int device, std::uint32_t id_bytes) {
  graph copy;
  copy.info = g.info;
  copy.info.id_bytes = id_bytes, copy.name = g.name, copy.checked = g.checked, copy.cached_per_vertex = g.cached_per_vertex;
  auto const plain = [](auto const& from, auto& to) {
    if (from.empty()) return;
    // Pinned like the original, so that a first run of the copy takes no longer for it.
    to = std::remove_cvref_t<decltype(to)>(from.where(), from.size(), from.device(), "a copied graph");
    std::memcpy(to.data(), from.data(), from.bytes());
  };
  plain(g.ids, copy.ids);
  plain(g.cached_neighbors, copy.cached_neighbors);
  if (g.by_id.bytes()) copy.by_id = ids_of_width(g.by_id, g.info.id_bytes, id_bytes);
  auto const far = [&](memory_block const& from, memory_block& to, char const* what) {
    if (from.bytes() == 0) return;
    to = memory_block(where, from.bytes(), device, what);
    if (!in_device_memory(where)) {
      std::memcpy(to.data(), from.data(), from.bytes());
      return;
    }
    executor x({device_kind::cuda, device});
    x.copy(to.data(), from.data(), from.bytes());
    x.wait();
  };
  auto const lists = [&](edge_lists const& from, edge_lists& to) {
    if (from.offsets.empty()) return;
    plain(from.offsets, to.offsets);
    far(from.weights, to.weights, "copied weights");
    for (packed_array edge_lists::*array : {&edge_lists::packed_targets, &edge_lists::packed_weights}) {
      far((from.*array).words, (to.*array).words, "copied compressed adjacency");
      plain((from.*array).blocks, (to.*array).blocks);
      plain((from.*array).groups, (to.*array).groups);
    }
    if (g.info.compressed) return;
    if (in_device_memory(where)) return far(from.targets, to.targets, "a copied edge list");
    to.targets = memory_block(where, g.info.edges * id_bytes, device, "a copied edge list");
    auto const copy_ids = [&]<class From, class To>(From const* a, To* b) {
      shared_pool().run(g.info.edges, 1u << 20, [=](std::uint64_t i, std::uint64_t end) {
        for (; i < end; ++i) b[i] = static_cast<To>(a[i]);
      });
    };
    with_id_type(g.info, [&](auto a) {
      with_id_type(copy.info, [&](auto b) {
        copy_ids(static_cast<decltype(a) const*>(from.targets.data()), static_cast<decltype(b)*>(to.targets.data()));
      });
    });
  };
  lists(g.out, copy.out);
  lists(g.in, copy.in);
  return copy;
}

// Bytes of all out-edges: the traffic of one read of them, without directories.
std::uint64_t bytes_of_lists(graph const& g, bool weights) {
  if (g.info.compressed) return g.out.packed_targets.words.bytes() + (weights ? g.out.packed_weights.words.bytes() : 0);
  return g.info.edges * (g.info.id_bytes + (weights ? 4 : 0));
}

// Pages of 4 KiB that hold the adjacency of vertices with `taken`: UVM traffic, if each page moves once. For an array with
// `element_bytes` per edge or, if compressed, for the blocks that its lists overlap.
template <class F>
std::uint64_t pages_touched(graph const& g, packed_array const& packed, std::uint64_t element_bytes, F taken) {
  packed_directory const at = packed.view().at;
  std::uint64_t pages = 0, next = 0;  // lists are in order, so no page below `next` is new
  for (std::uint64_t v = 0; v < g.info.vertices; ++v) {
    std::uint64_t first = g.out.offsets[v], last = g.out.offsets[v + 1];
    if (first == last || !taken(v)) continue;
    if (packed.empty()) first *= element_bytes, last *= element_bytes;
    else first = at.word_of(first / 32) * 4, last = at.word_of((last - 1) / 32 + 1) * 4;
    std::uint64_t const begin = std::max(first / page, next), end = (last - 1) / page + 1;
    if (begin < end) pages += end - begin;
    next = std::max(next, end);
  }
  return pages;
}

graph_row describe(graph const& g, std::string name) {
  graph_summary const s = summarize(g.info, g.out.offsets.data());
  graph_row row{std::move(name), g.info.vertices, g.info.edges, s.degree_max, g.info.directed, {}};
  for (edge_share const& e : s.shares) row.shares.push_back({e.degree, e.share});
  return row;
}

// --- patterns ---

std::vector<pattern_row> measure_patterns(traversal_options const& o, std::function<void(pattern_row const&)> const& told) {
  struct named {
    read_pattern how;
    char const* name;
    access_mode access;
    std::uint64_t first_byte;
  };
  constexpr named patterns[] = {{read_pattern::strided, "strided", access_mode::strided, 0},
                                {read_pattern::off_32, "off by 32 B", access_mode::merged, 32},
                                {read_pattern::aligned, "aligned", access_mode::aligned, 0},
                                {read_pattern::paged, "UVM, cold", access_mode::paged, 0}};
  bool const device = o.where.kind == device_kind::cuda, simulated = o.where.kind == device_kind::simulated;
  std::uint64_t const bytes = o.pattern_bytes / page * page, asked = bytes - page, rows = asked / page;
  std::vector<pattern_row> all;
  for (named const& p : patterns) {
    pattern_row row;
    row.pattern = p.name, row.bytes = asked;
    try {
      traffic_model model(p.access);
      executor x(o.where, simulated ? &model : nullptr);
      if (p.how == read_pattern::paged && !device) fail(errc::usage, "pages are moved by a device's driver alone");
      double const gbs = read_gbs(x, p.how, bytes);
      if (simulated) row.link = model.take();
      else row.gbs = gbs, row.ms = static_cast<double>(asked) / gbs / 1e6;
      if (device && p.how == read_pattern::paged) {
        row.link.emplace().pages = rows;
      } else if (device) {
        run_traffic const one = traffic_of_run(p.first_byte / 4, (p.first_byte + page) / 4, 4, p.access);
        row.link.emplace();
        for (std::size_t k = 0; k < 4; ++k) row.link->requests[k] = one.requests[k] * rows;
      }
      if (row.link) row.link->bytes_useful = asked;
      row.verified = true;  // each sweep's sum was compared
    } catch (error const& e) {
      if (e.code() != errc::memory && e.code() != errc::usage) throw;
      row.skipped = e.what();
    }
    if (told) told(row);
    all.push_back(std::move(row));
  }
  return all;
}

// --- algorithms ---

struct traversal_setting {
  traversal_options const& o;
  graph const& g;
  std::vector<std::uint64_t> const& sources;
  job_row& row;
  bool model_pages;  // pages that a driver moves cannot be counted, and a trace would carry them from run to run: they are modeled
  std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
  bool enough() const {
    std::chrono::duration<double> const passed = std::chrono::steady_clock::now() - begin;
    return o.way_seconds && !row.ms.empty() && passed.count() >= *o.way_seconds;
  }

  template <class Run>
  void add(Run const& r, traffic const& link) const {
    if (row.ms.empty() && o.where.kind != device_kind::simulated) row.prepare_ms = r.prepare_ms;
    row.ms.push_back(r.ms);
    if (row.link) *row.link += link;
    row.verified = (row.ms.size() == 1 || row.verified) && r.verified;
  }
  // The contents of the device cache.
  void note_device_cache(job_setting const& job) const {
    row.device_budget = 0;
    for (cached_part const& c : job.device_cache) *row.device_budget += c.bytes;
  }
  template <class F>
  traffic pages(F taken) const {
    traffic t;
    t.pages = pages_touched(g, g.out.packed_targets, g.info.id_bytes, taken);
    if (row.job == "sssp") t.pages += pages_touched(g, g.out.packed_weights, 4, taken);
    return t;
  }
};

// One run per source.
template <class Job, class Options, class Touched>
void run_of_sources(traversal_setting const& s, Options const& how, Touched const& touched) {
  s.row.state_bytes = Job::state_bytes(s.g.info, how);
  Job job(s.g, how);
  s.note_device_cache(job.setting());
  for (std::uint64_t const source : s.sources) {
    if (s.enough()) break;
    auto const r = job.run(source);
    s.add(r, s.model_pages ? touched(job) : r.link);
  }
}
void run_job(traversal_setting const& s, bfs_asked const& how) {
  run_of_sources<bfs_job>(
      s, how, [&](bfs_job& job) { return s.pages([depths = job.depths()](std::uint64_t v) { return depths[v] != unreached; }); });
}
void run_job(traversal_setting const& s, sssp_asked const& how) {
  run_of_sources<sssp_job>(s, how, [&](sssp_job& job) {
    if (s.g.info.weights == weight_kind::u32) return s.pages([d = job.distances()](std::uint64_t v) { return d[v] != ~std::uint64_t{0}; });
    return s.pages([d = job.real_distances()](std::uint64_t v) { return d[v] < std::numeric_limits<float>::infinity(); });
  });
}

// Runs that read all edges.
template <class Job, class Options>
void run_of_all(traversal_setting const& s, Options const& how) {
  s.row.state_bytes = Job::state_bytes(s.g.info, how);
  Job job(s.g, how);
  s.note_device_cache(job.setting());
  traffic const all = s.model_pages ? s.pages([](std::uint64_t) { return true; }) : traffic{};
  for (std::uint64_t i = 0; i < s.o.trials && !s.enough(); ++i) {
    auto const r = job.run();
    if constexpr (std::is_same_v<Job, pagerank_job>) s.row.iterations = r.iterations;
    s.add(r, s.model_pages ? all : r.link);
  }
}
void run_job(traversal_setting const& s, components_asked const& how) { run_of_all<components_job>(s, how); }
void run_job(traversal_setting const& s, pagerank_asked how) {
  how.iterations = s.o.iterations;
  run_of_all<pagerank_job>(s, how);
}

// The tier of a strategy's edges.
enum class lies { far, near, paged };
template <class Options>
lies adjacency_of(strategy<Options> const& w) {
  return w.near ? lies::near : w.access == access_mode::paged ? lies::paged : lies::far;
}
template <class Options>
bool goes(traversal_options const& o, strategy<Options> const& w) {
  if (!o.strategies.empty() && std::find(o.strategies.begin(), o.strategies.end(), w.name) == o.strategies.end()) return false;
  if (w.near && o.where.kind != device_kind::cuda) return false;
  // A team of one thread reads a list in the same way for every access.
  return !(o.where.kind == device_kind::cpu && w.paper && w.access != access_mode::aligned);
}

class traversal {
 public:
  traversal(traversal_options const& o, std::function<void(job_row const&)> const& told) : o_(o), told_(told) {}

  void measure(graph g, std::string const& name, run_file& to) {
    to.graphs.push_back(describe(g, name));
    sources_ = pick_sources(g, o_.sources, o_.seed);
    bool const weights = std::count(o_.jobs.begin(), o_.jobs.end(), "sssp") != 0;
    if (weights && g.info.weights == weight_kind::none) {
      bool const packed = g.info.compressed;
      unpack(g);
      draw_weights(g, {weight_kind::u32, 8, 72, o_.seed});  // as in the paper
      if (packed) pack(g);
    }
    std::uint32_t const given = g.info.id_bytes;
    for (std::uint32_t const id_bytes : {given, given == 4 ? 8u : 4u}) {
      if (id_bytes != given && (g.info.compressed || (id_bytes == 4 && g.info.vertices > 0xffffffffull))) continue;
      auto const asked = [&](auto const& w) { return goes(o_, w) && (w.near ? given : w.id_bytes) == id_bytes; };
      bool any = false;
      for (std::string const& job : o_.jobs) each_way(job, [&](auto const& w) { any = any || asked(w); });
      if (!any) continue;
      refused_.clear();
      if (id_bytes != g.info.id_bytes) try {
          g = copy_of(g, tier::host, device(), id_bytes);
        } catch (error const& e) {
          if (e.code() != errc::memory) throw;
          refused_ = e.what();
        }
      // Strategies on host memory first, then the copy in device memory, then UVM's: one copy at a time, made on first use.
      for (lies const now : {lies::far, lies::near, lies::paged}) {
        std::optional<graph> copy;
        for (std::string const& job : o_.jobs)
          each_way(job, [&](auto const& w) {
            if (asked(w) && adjacency_of(w) == now) one(w, job, name, g, copy, to);
          });
      }
    }
  }

 private:
  int device() const { return o_.where.kind == device_kind::cuda ? o_.where.index : -1; }

  // `copy`: of g, on a device, for adjacency outside host memory.
  template <class Options>
  void one(strategy<Options> const& w, std::string const& job, std::string const& name, graph const& g, std::optional<graph>& copy,
           run_file& to) {
    check_interrupted();
    bool const host = o_.where.kind == device_kind::cpu, on_device = device() >= 0, paged = w.access == access_mode::paged;
    job_row row;
    row.graph = name, row.job = job, row.strategy = w.name, row.label = w.label, row.paper = w.paper;
    row.place = to_string(o_.where), row.access = to_string(w.access), row.id_bytes = w.near ? g.info.id_bytes : w.id_bytes;
    tier const edges = w.near ? tier::device : default_tier(o_.where, w.access);
    row.tier = to_string(edges);
    row.data_bytes = bytes_of_lists(g, job == "sssp");
    if (on_device) row.device_budget = most_on_device(o_.where.index);
    row.modelled = (on_device && !w.near) || (paged && !host);
    bool const model_pages = paged && !host;
    if (!host && !w.near) row.link.emplace();  // local edges cause no link traffic
    try {
      if (!refused_.empty()) fail(errc::memory, "{}", refused_);
      if (sources_.empty() && (job == "bfs" || job == "sssp"))
        fail(errc::input, "the graph has no edges; pass one with edges for bfs and sssp");
      if (on_device && edges != tier::host && !copy) copy.emplace(copy_of(g, edges, device(), row.id_bytes));
      Options how;
      how.device = o_.where, how.access = w.access, how.edges = edges, how.verify = true;
      w.set(how);
      run_job({o_, copy ? *copy : g, sources_, row, model_pages}, how);
      if (o_.where.kind != device_kind::simulated) row.ms_statistic = o_.paper_protocol ? mean(row.ms) : median(row.ms);
      if (row.link)
        for (double const gbs : o_.links)
          row.predicted.push_back({gbs, garner::predicted_ms(*row.link, garner::link_rates::of(gbs)) / row.runs()});
    } catch (error const& e) {
      // The device may be lost after a fault, and an interrupt ends the run; any other error concerns this row alone.
      if (e.code() == errc::device || e.code() == errc::interrupted || e.code() == errc::io) throw;
      row.verified = false;
      row.skipped = e.what();
    }
    if (told_) told_(row);
    to.jobs.push_back(std::move(row));
  }

  traversal_options const& o_;
  std::function<void(job_row const&)> const& told_;
  std::vector<std::uint64_t> sources_;
  std::string refused_;  // why a graph of this id width is missing
};

void check(traversal_options const& o) {
  if (o.scale < 4 || o.scale > 31) fail(errc::usage, "scale {}: use 4 to 31", o.scale);
  if (o.sources < 1 || o.sources > 10000 || o.trials < 1 || o.trials > 10000)
    fail(errc::usage, "{} sources, {} trials: use 1 to 10000 of each", o.sources, o.trials);
  if (o.way_seconds && !(*o.way_seconds > 0)) fail(errc::usage, "{} seconds for a way: use more than 0", *o.way_seconds);
  if (o.iterations < 1) fail(errc::usage, "{} iterations: use 1 or more", o.iterations);
  if (o.jobs.empty()) fail(errc::usage, "the list of algorithms is empty; choose from bfs, sssp, components, pagerank");
  for (std::string const& job : o.jobs)
    if (job != "bfs" && job != "sssp" && job != "components" && job != "pagerank")
      fail(errc::usage, "'{}' is not an algorithm; choose from bfs, sssp, components, pagerank", job);
  std::vector<std::string> names;
  for (char const* const job : {"bfs", "sssp", "components", "pagerank"})
    each_way(job, [&](auto const& w) {
      if (std::find(names.begin(), names.end(), w.name) == names.end()) names.emplace_back(w.name);
    });
  for (std::string const& strategy : o.strategies)
    if (std::find(names.begin(), names.end(), strategy) == names.end())
      fail(errc::usage, "'{}' is not a strategy; pass some of {}", strategy, fmt::join(names, ", "));
  bool any = false;
  for (std::string const& job : o.jobs) each_way(job, [&](auto const& w) { any = any || goes(o, w); });
  if (!any)
    fail(errc::usage, "none of the strategies {} is measured with {} on {}; use default too, or another device",
         fmt::join(o.strategies, ", "), fmt::join(o.jobs, ", "), to_string(o.where));
  if (o.kinds.empty() && o.files.empty()) fail(errc::usage, "the list of graphs is empty; choose from kron, uniform, web, or a file");
  for (std::size_t i = 0; i < o.files.size(); ++i)
    for (std::size_t k = 0; k < i; ++k)
      if (o.files[i].filename() == o.files[k].filename())
        fail(errc::usage, "{} and {} bear the same name, by which the rows go; rename one", o.files[k].string(), o.files[i].string());
  for (double const gbs : o.links)
    if (!(gbs > 0)) fail(errc::usage, "a link of {} GB/s: use more than 0", gbs);
}

}  // namespace

run_file measure_traversal(traversal_options const& asked, std::function<void(pattern_row const&)> const& told_pattern,
                           std::function<void(job_row const&)> const& told) {
  traversal_options o = asked;
  check(o);
  run_file run;
  run.garner = GARNER_VERSION, run.command = o.command, run.time = now_utc();
  run.protocol = {o.paper_protocol ? "paper" : "short", o.paper_protocol ? "mean" : "median", o.sources, o.trials, o.iterations, o.seed};
  run.machine.place = to_string(o.where), run.machine.threads = shared_pool().threads();
  run.machine.host_budget = limited(host_budget().limit());
  if (o.where.kind == device_kind::cuda) {
    device::properties const p = device::describe(o.where.index);
    run.machine.device = p.name, run.machine.l2_bytes = p.l2_bytes;
    run.machine.device_budget = most_on_device(o.where.index);
    link_calibration const& link = link_of(o.where.index);
    run.machine.link = {link.to_device_gbs, link.zero_copy_gbs, link.paged_gbs, link.line_requests, link.sector_requests};
    o.links.push_back(std::round(link.zero_copy_gbs * 10) / 10);  // this machine's
  }
  std::sort(o.links.begin(), o.links.end());
  o.links.erase(std::unique(o.links.begin(), o.links.end()), o.links.end());
  run.patterns = measure_patterns(o, told_pattern);

  traversal work(o, told);
  for (generator const kind : o.kinds) {
    generate_options how;
    how.kind = kind, how.scale = o.scale, how.edge_factor = o.edge_factor, how.seed = o.seed;
    // Generated on the device if its sort fits there, else on the CPU; the bits are the same.
    execution_device at{device_kind::cpu, 0};
    if (run.machine.device_budget && bytes_to_generate(how).near <= *run.machine.device_budget) at = o.where;
    graph g;
    {
      executor x(at);
      build_report report;
      g = generate(x, how, report);
    }
    if (o.where.kind == device_kind::cuda && at != o.where) g = copy_of(g, tier::host, o.where.index, g.info.id_bytes);  // mapped for it
    work.measure(std::move(g), fmt::format("{} {}", to_string(kind), o.scale), run);
  }
  for (auto const& file : o.files) {
    graph_source from(file);
    graph_info const& info = from.info();
    load_options how;
    how.device = o.where.kind == device_kind::cuda ? o.where.index : -1;
    how.in_edges = info.in_edges, how.weights = info.weights != weight_kind::none;
    work.measure(from.load(how), file.filename().string(), run);
  }
  return run;
}

}  // namespace garner::lab
