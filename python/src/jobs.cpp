// Algorithms: keywords to options, vectors to NumPy arrays.
#include <nanobind/stl/map.h>

#include <array>
#include <cstdio>

#include "graphs.hpp"

namespace garner::python {

namespace {

std::map<std::string, bfs_variant> const bfs_variants{{"levels", bfs_variant::levels}, {"direction", bfs_variant::direction}};
std::map<std::string, sssp_variant> const sssp_variants{{"near_far", sssp_variant::near_far}};
std::map<std::string, components_variant> const components_variants{{"afforest", components_variant::afforest}};
std::map<std::string, pagerank_variant> const pagerank_variants{{"pull", pagerank_variant::pull}};
std::map<std::string, dangling_mass> const danglings{{"redistribute", dangling_mass::redistribute}, {"drop", dangling_mass::drop}};

// Options that all algorithms share, and their help.
template <class Options>
void take_common(keywords& given, Options& o) {
  given.take("device", o.device);
  given.take("edges", o.edges);
  given.take_bytes("graph_cache", o.graph_cache);
  given.take("verify", o.verify);
}
// Called after the last option is taken: refuses keywords that are left, and warns of a budget that has no effect.
template <class Options>
void end_of(keywords& given, Options const& o) {
  given.done();
  if constexpr (requires { o.devices; })
    if (!o.devices.empty()) return warn_without_gpu(o.devices[0], "graph_cache", o.graph_cache);
  warn_without_gpu(o.device, "graph_cache", o.graph_cache);
}
#define SHARDS_OPTION ", devices: list[object] | None = None"
#define SHARDS_TOLD                                                                                                                   \
  "devices: several instead of device, as [0, 1], or one several times: each has a part of the vertices and reads their edges; the\n" \
  "first runs alone if that is faster, and run.shards names it; edges='device' keeps all, else 'host'\n"
#define COMMON_OPTIONS "device: object = 'cpu', edges: str | None = None, graph_cache: int | str | None = None, verify: bool = False"
#define COMMON_TOLD                                                                                                                      \
  "device: that runs it: 'cpu', 'cuda', 'cuda:1', 'simulated' (counts the requests that a GPU would make over the link)\n"               \
  "edges: their memory tier: 'host', 'device', 'managed'; graph_cache: bytes of GPU memory for copies of remote data, as \"1GiB\"\n"     \
  "(None: a tenth of the edges); verify: check the result, InternalError if it is wrong\n"                                               \
  "Errors: InputError where the vertex does not exist or the graph lacks what the algorithm needs, UsageError where options contradict " \
  "each\n"                                                                                                                               \
  "other or the graph does not lie where the algorithm would read it, OutOfMemory, DeviceError, Interrupted."

bfs_options bfs_options_of(char const* call, nb::kwargs options) {
  bfs_options o;
  keywords given(call, std::move(options));
  take_common(given, o);
  given.choose("variant", o.variant, bfs_variants);
  given.take("cached_neighbors", o.cached_neighbors);
  given.take("max_depth", o.max_depth);
  given.take("devices", o.devices);
  end_of(given, o);
  return o;
}
#define BFS_OPTIONS \
  "max_depth: int | None = None, variant: str | None = None, cached_neighbors: int | None = None, " COMMON_OPTIONS SHARDS_OPTION
#define BFS_TOLD                                                                                          \
  "max_depth: vertices farther from the source stay unreached, and edges beyond it unread\n"              \
  "variant: 'levels', 'direction' (Beamer, Asanovic, Patterson, SC 2012); None: direction where it can\n" \
  "cached_neighbors: direction: best in-neighbors of each vertex kept in GPU memory, at most 4\n" SHARDS_TOLD COMMON_TOLD

sssp_options sssp_options_of(char const* call, nb::kwargs options) {
  sssp_options o;
  keywords given(call, std::move(options));
  take_common(given, o);
  given.choose("variant", o.variant, sssp_variants);
  given.take("delta", o.delta);
  end_of(given, o);
  return o;
}
#define SSSP_OPTIONS "variant: str = 'near_far', delta: float | None = None, " COMMON_OPTIONS
#define SSSP_TOLD                                                                                                         \
  "variant: 'near_far' (Davidson et al., IPDPS 2014); delta: how far beyond the least open distance is near (None: from " \
  "the\nweights)\n" COMMON_TOLD

struct bfs_out {
  std::vector<bfs_run> runs;
  nb::object depth, parent;
};
struct sssp_out {
  sssp_run run;
  nb::object distance;
};
struct components_out {
  components_run run;
  nb::object label;
};
struct pagerank_out {
  pagerank_run run;
  nb::object rank;
};

template <class T>
void append(std::vector<T>& all, std::vector<T> const& more) {
  all.insert(all.end(), more.begin(), more.end());
}

// Whether an algorithm needs the in-edges of a directed graph.
bool pulls(bfs_options const& o) { return o.variant == bfs_variant::direction; }
bool pulls(sssp_options const&) { return false; }

// A search and the graph that it runs on, which must outlive it. One thread at a time may use it; a second one gets an error.
template <class Search>
class held_search {
 public:
  template <class Options>
  held_search(py_graph& g, Options const& o) : graph_(g.use_in_lists(pulls(o))) {
    search_ = released([&] { return std::make_unique<Search>(*graph_, o); });
  }
  auto run(nb::object const& from) {
    std::uint64_t const source = id_of(from, "source");
    turn const mine(busy_, others);
    auto r = released([&] { return search_->run(source); });
    ran_ = true;
    return r;
  }
  template <class What>
  auto of_last_run(What what) {
    turn const mine(busy_, others);
    if (!ran_) refuse(errc::usage, "nothing was searched yet; call run(source) first");
    return released([&] { return what(*search_); });
  }
  auto parents() {
    return to_int64(of_last_run([](Search& s) { return s.parents(); }), "id");
  }

 private:
  // A thread that waited would read what another has searched since.
  static constexpr char const* others = "this search is running in another thread; make one a thread";

  std::shared_ptr<graph_handle> graph_;
  std::unique_ptr<Search> search_;
  turns busy_;
  bool ran_ = false;
};
// Its constructor and run(), to which a search adds what it found.
template <class Search, class Options>
nb::class_<held_search<Search>> search_class(nb::module_& m, char const* name, char const* told,
                                             Options (*options_of)(char const*, nb::kwargs), nb::sig const& made_by,
                                             char const* options_told, nb::sig const& run_as) {
  return nb::class_<held_search<Search>>(m, name, told)
      .def(
          "__init__",
          [name, options_of](held_search<Search>* self, nb::args given, nb::kwargs options) {
            nb::object g;
            if (given.size() == 1) g = given[0];
            else if (given.size() == 0 && options.contains("graph")) g = options["graph"], PyDict_DelItemString(options.ptr(), "graph");
            if (!g.is_valid() || !nb::isinstance<py_graph>(g))
              throw nb::type_error(
                  (std::string(name) + "(): give the graph that it searches, and options by name; help(garner." + name + ") lists them")
                      .c_str());
            new (self) held_search<Search>(nb::cast<py_graph&>(g), options_of(name, std::move(options)));
          },
          nb::arg("given"), nb::arg("options"), made_by, options_told)
      .def("run", &held_search<Search>::run, nb::arg("source"), run_as);
}

numpy_array<std::int64_t> depths_of(std::vector<std::uint32_t> const& depth) {
  std::vector<std::int64_t> wide(depth.size());
  for (std::size_t k = 0; k < depth.size(); ++k) wide[k] = depth[k] == unreached ? -1 : std::int64_t{depth[k]};
  return to_numpy(std::move(wide));
}

nb::object distances_of(std::vector<std::uint64_t>&& whole, std::vector<float>&& real) {
  return real.empty() ? nb::cast(to_int64(std::move(whole), "distance")) : nb::cast(to_numpy(std::move(real)));
}

std::string said(char const* what, std::uint64_t n, double ms) {
  char text[96];
  std::snprintf(text, sizeof text, "%s %llu, %.3f ms>", what, static_cast<unsigned long long>(n), ms);
  return text;
}

}  // namespace

void add_jobs(nb::module_& m) {
  // What is not there is -1 in all whole numbers, and infinity in floats.
  for (char const* name : {"UNREACHED", "NO_VERTEX", "UNREACHED_DISTANCE"}) m.attr(name) = -1;

  nb::class_<traffic>(m, "Traffic", "What crosses the link: simulated: counted; device: the same model in closed form; host: nothing.")
      .def_prop_ro(
          "requests", [](traffic const& t) { return std::vector<std::uint64_t>(t.requests.begin(), t.requests.end()); },
          "how many of 32, 64, 96 and 128 bytes")
      .def_ro("pages", &traffic::pages, "of 4 KiB, moved by UVM (edges 'managed')")
      .def_ro("bytes_useful", &traffic::bytes_useful)
      .def_prop_ro("bytes_link", &traffic::bytes_link)
      .def("__repr__", [](traffic const& t) { return "<garner.Traffic " + std::to_string(t.bytes_link()) + " bytes over the link>"; });

  nb::class_<shard_run>(m, "ShardRun", "What one device did of a run over several.")
      .def_prop_ro("device", [](shard_run const& s) { return told(s.device); })
      .def_prop_ro(
          "vertices", [](shard_run const& s) { return s.part.vertices; }, "of its part")
      .def_prop_ro(
          "edges", [](shard_run const& s) { return s.part.edges; }, "that are stored for them")
      .def_ro("ms", &shard_run::ms, "its own work")
      .def_ro("link", &shard_run::link)
      .def_ro("bytes_exchanged", &shard_run::bytes_exchanged, "that it read of the other shards");
  nb::class_<bfs_level>(m, "BfsLevel", "What happened at one depth.")
      .def_ro("frontier", &bfs_level::frontier, "vertices at this depth")
      .def_ro("edges", &bfs_level::edges, "edges that leave them")
      .def_ro("bytes_link", &bfs_level::bytes_link)
      .def_ro("ms", &bfs_level::ms)
      .def_ro("bytes_exchanged", &bfs_level::bytes_exchanged, "that shards read of each other")
      .def_ro("bottom_up", &bfs_level::bottom_up);
  nb::class_<bfs_run>(m, "BfsRun", "What a search did; times in ms, state made and cleared before the clock starts.")
      .def_ro("source", &bfs_run::source)
      .def_ro("reached", &bfs_run::reached, "vertices, the source among them")
      .def_ro("edges", &bfs_run::edges, "edges that leave them")
      .def_ro("depth_max", &bfs_run::depth_max)
      .def_ro("depth_sum", &bfs_run::depth_sum)
      .def_ro("ms", &bfs_run::ms)
      .def_ro("prepare_ms", &bfs_run::prepare_ms, "of a first run: what came before its clock; of later ones 0")
      .def_ro("gteps", &bfs_run::gteps, "1e9 edges a second; of an undirected graph each edge counts once")
      .def_ro("link", &bfs_run::link)
      .def_ro("verified", &bfs_run::verified)
      .def_ro("levels", &bfs_run::levels)
      .def_ro("shards", &bfs_run::shards, "one for each of several devices, or the first alone if faster; empty: one device")
      .def("__repr__", [](bfs_run const& r) { return said("<garner.BfsRun reached", r.reached, r.ms); });
  nb::class_<bfs_out>(m, "BfsResult", "Entry k belongs to the vertex graph.ids()[k]; of several sources: entry [s, k], from sources[s].")
      .def_prop_ro(
          "run", [](bfs_out const& b) { return b.runs.at(0); }, "of the first source")
      .def_ro("runs", &bfs_out::runs, "one per source")
      .def_ro("depth", &bfs_out::depth, nb::for_getter(nb::sig("def depth(self) -> numpy.typing.NDArray[numpy.int64]")),
              "shape (vertices,) or (sources, vertices); -1 (UNREACHED) where the source does not lead")
      .def_ro("parent", &bfs_out::parent, nb::for_getter(nb::sig("def parent(self) -> numpy.typing.NDArray[numpy.int64]")),
              "of depth's shape; a vertex before it on some shortest path, the source its own, -1 (NO_VERTEX) where unreached");
  m.def(
      "bfs",
      [](py_graph& g, nb::object from, nb::object all, nb::kwargs options) {
        if (from.is_none() == all.is_none()) refuse(errc::usage, "give one source, or several as sources=[...]");
        std::vector<std::uint64_t> sources;
        if (all.is_none()) sources.push_back(id_of(from, "source"));
        else
          for (nb::handle const one : all) sources.push_back(id_of(nb::borrow(one), "sources"));
        if (sources.empty()) refuse(errc::usage, "sources: none; give one or more");
        bfs_options const o = bfs_options_of("bfs", std::move(options));
        auto const held = g.use_in_lists(pulls(o));
        bfs_out out;
        std::vector<std::uint32_t> depths;
        std::vector<std::uint64_t> parents;
        released([&] {
          bfs_solver solver(*held, o);
          for (std::uint64_t const source : sources) {
            out.runs.push_back(solver.run(source));
            append(depths, solver.depths());
            append(parents, solver.parents());
          }
          return 0;
        });
        out.depth = nb::cast(depths_of(depths)), out.parent = nb::cast(to_int64(std::move(parents), "id"));
        if (all.is_none()) return out;
        out.depth = out.depth.attr("reshape")(sources.size(), -1), out.parent = out.parent.attr("reshape")(sources.size(), -1);
        return out;
      },
      nb::arg("graph"), nb::arg("source") = nb::none(), nb::kw_only(), nb::arg("sources") = nb::none(), nb::arg("options"),
      nb::sig("def bfs(graph: Graph, source: int | None = None, *, sources: Sequence[int] | None = None, " BFS_OPTIONS ") -> BfsResult"),
      "Breadth-first search (EMOGI, PVLDB 14(2) 2020). Result: depth and parent, entry k of the vertex graph.ids()[k], and run.\n"
      "sources: several instead of one, whose buffers are made once: row s of the result is of sources[s]\n"
      "\n" BFS_TOLD);
  search_class<bfs_solver>(m, "BfsSearch", "Breadth-first search from many sources: the state is made once. Holds the graph.",
                           bfs_options_of, nb::sig("def __init__(self, graph: Graph, *, " BFS_OPTIONS ") -> None"), BFS_TOLD,
                           nb::sig("def run(self, source: int) -> BfsRun"))
      .def(
          "depths", [](held_search<bfs_solver>& s) { return depths_of(s.of_last_run([](bfs_solver& b) { return b.depths(); })); },
          "As BfsResult.depth, of the last run.")
      .def("parents", &held_search<bfs_solver>::parents, "As BfsResult.parent, of the last run.");

  nb::class_<sssp_round>(m, "SsspRound", "One round of a search.")
      .def_ro("frontier", &sssp_round::frontier, "vertices whose lists were read")
      .def_ro("edges", &sssp_round::edges)
      .def_ro("bytes_link", &sssp_round::bytes_link)
      .def_ro("ms", &sssp_round::ms);
  nb::class_<sssp_run>(m, "SsspRun", "What a search did; times in ms, state made and cleared before the clock starts.")
      .def_ro("source", &sssp_run::source)
      .def_ro("reached", &sssp_run::reached)
      .def_ro("edges", &sssp_run::edges, "edges relaxed, some more than once")
      .def_ro("distance_max", &sssp_run::distance_max, "u32 weights")
      .def_ro("distance_sum", &sssp_run::distance_sum, "u32 weights; stops at 2^64 - 1")
      .def_ro("real_max", &sssp_run::real_max, "f32 weights")
      .def_ro("real_sum", &sssp_run::real_sum, "f32 weights")
      .def_ro("thresholds", &sssp_run::thresholds)
      .def_ro("ms", &sssp_run::ms)
      .def_ro("prepare_ms", &sssp_run::prepare_ms, "of a first run: what came before its clock; of later ones 0")
      .def_ro("link", &sssp_run::link)
      .def_ro("verified", &sssp_run::verified)
      .def_ro("rounds", &sssp_run::rounds)
      .def("__repr__", [](sssp_run const& r) { return said("<garner.SsspRun reached", r.reached, r.ms); });
#define DISTANCE_TYPE "numpy.typing.NDArray[numpy.int64] | numpy.typing.NDArray[numpy.float32]"
  nb::class_<sssp_out>(m, "SsspResult", "Entry k belongs to the vertex graph.ids()[k].")
      .def_ro("run", &sssp_out::run)
      .def_ro(
          "distance", &sssp_out::distance, nb::for_getter(nb::sig("def distance(self) -> " DISTANCE_TYPE)),
          "shape (vertices,); u32 weights: int64, -1 (UNREACHED_DISTANCE) where the source does not lead; f32 weights: float32, infinity");
  m.def(
      "sssp",
      [](py_graph const& g, nb::object from, nb::kwargs options) {
        std::uint64_t const source = id_of(from, "source");
        sssp_options const o = sssp_options_of("sssp", std::move(options));
        auto const held = g.use();
        sssp_result r = released([&] { return sssp(*held, source, o); });
        return sssp_out{std::move(r.run), distances_of(std::move(r.distance), std::move(r.real_distance))};
      },
      nb::arg("graph"), nb::arg("source"), nb::arg("options"),
      nb::sig("def sssp(graph: Graph, source: int, *, " SSSP_OPTIONS ") -> SsspResult"),
      "Shortest paths over weights of 0 and more. Result: distance, entry k of the vertex graph.ids()[k], and run. InputError also names "
      "an\n"
      "edge whose weight is negative or no number.\n"
      "\n" SSSP_TOLD);
  search_class<sssp_solver>(m, "SsspSearch", "Shortest paths from many sources: the state is made once. Holds the graph.", sssp_options_of,
                            nb::sig("def __init__(self, graph: Graph, *, " SSSP_OPTIONS ") -> None"), SSSP_TOLD,
                            nb::sig("def run(self, source: int) -> SsspRun"))
      .def(
          "distances",
          [](held_search<sssp_solver>& s) {
            auto both = s.of_last_run([](sssp_solver& d) { return std::pair(d.distances(), d.real_distances()); });
            return distances_of(std::move(both.first), std::move(both.second));
          },
          nb::sig("def distances(self) -> " DISTANCE_TYPE), "As SsspResult.distance, of the last run.")
      .def("parents", &held_search<sssp_solver>::parents, "As BfsResult.parent, of the last run; reads the edges once more.");

  nb::class_<components_phase>(m, "ComponentsPhase", "A step of 'afforest'.")
      .def_prop_ro("what",
                   [](components_phase const& p) {
                     static constexpr std::array names{"round", "first_neighbors", "remaining", "all"};
                     return names[static_cast<std::size_t>(p.what)];
                   })
      .def_ro("vertices", &components_phase::vertices, "whose lists were looked at")
      .def_ro("edges", &components_phase::edges)
      .def_ro("link", &components_phase::link)
      .def_ro("bytes_exchanged", &components_phase::bytes_exchanged, "that shards read of each other")
      .def_ro("ms", &components_phase::ms);
  nb::class_<components_run>(m, "ComponentsRun", "What the algorithm did; times in ms, until every vertex has its label.")
      .def_ro("components", &components_run::components, "weak ones; an isolated vertex is one of its own")
      .def_ro("largest", &components_run::largest, "vertices in the largest")
      .def_ro("edges", &components_run::edges, "edges looked at")
      .def_ro("ms", &components_run::ms)
      .def_ro("prepare_ms", &components_run::prepare_ms, "of a first run: what came before its clock; of later ones 0")
      .def_ro("link", &components_run::link)
      .def_ro("verified", &components_run::verified)
      .def_ro("phases", &components_run::phases)
      .def_ro("shards", &components_run::shards, "one for each of several devices, or the first alone if faster; empty: one device")
      .def("__repr__", [](components_run const& r) { return said("<garner.ComponentsRun components", r.components, r.ms); });
  nb::class_<components_out>(m, "ComponentsResult", "Entry k belongs to the vertex graph.ids()[k].")
      .def_ro("run", &components_out::run)
      .def_ro("label", &components_out::label, nb::for_getter(nb::sig("def label(self) -> numpy.typing.NDArray[numpy.int64]")),
              "shape (vertices,); the smallest id of its component");
  m.def(
      "components",
      [](py_graph const& g, nb::kwargs options) {
        components_options o;
        keywords given("components", std::move(options));
        take_common(given, o);
        given.choose("variant", o.variant, components_variants);
        given.take("first_neighbors", o.first_neighbors);
        given.take("seed", o.seed);
        given.take("devices", o.devices);
        end_of(given, o);
        auto const held = g.use();
        components_result r = released([&] { return components(*held, o); });
        return components_out{std::move(r.run), nb::cast(to_int64(std::move(r.label), "id"))};
      },
      nb::arg("graph"), nb::arg("options"),
      nb::sig("def components(graph: Graph, *, variant: str = 'afforest', first_neighbors: int = 2, seed: int = 1, " COMMON_OPTIONS
                  SHARDS_OPTION ") -> ComponentsResult"),
      "Weak connected components (Afforest: Sutton, Ben-Nun, Barak, IPDPS 2018). Result: label, entry k of the vertex graph.ids()[k], and\n"
      "run.\n"
      "\n"
      "variant: 'afforest'; first_neighbors, seed: of it\n" SHARDS_TOLD COMMON_TOLD);

  nb::class_<pagerank_round>(m, "PagerankRound", "One iteration.")
      .def_ro("vertices", &pagerank_round::vertices)
      .def_ro("edges", &pagerank_round::edges)
      .def_ro("l1_change", &pagerank_round::l1_change, "pull only")
      .def_ro("bytes_link", &pagerank_round::bytes_link)
      .def_ro("bytes_exchanged", &pagerank_round::bytes_exchanged, "that shards read of each other")
      .def_ro("ms", &pagerank_round::ms);
  nb::class_<pagerank_run>(m, "PagerankRun", "What the algorithm did; times in ms, all iterations.")
      .def_ro("iterations", &pagerank_run::iterations)
      .def_ro("converged", &pagerank_run::converged, "the tolerance was reached")
      .def_ro("weighted", &pagerank_run::weighted, "edges counted by their weights; False: all equally, whatever weights the graph has")
      .def_ro("rank_sum", &pagerank_run::rank_sum)
      .def_ro("l1_change", &pagerank_run::l1_change, "of the last iteration")
      .def_ro("edges", &pagerank_run::edges, "edges looked at")
      .def_ro("ms", &pagerank_run::ms)
      .def_ro("prepare_ms", &pagerank_run::prepare_ms, "of a first run: what came before its clock; of later ones 0")
      .def_ro("link", &pagerank_run::link)
      .def_ro("verified", &pagerank_run::verified)
      .def_ro("rounds", &pagerank_run::rounds)
      .def_ro("shards", &pagerank_run::shards, "one for each of several devices, or the first alone if faster; empty: one device")
      .def("__repr__", [](pagerank_run const& r) {
        return said(r.weighted ? "<garner.PagerankRun weighted, iterations" : "<garner.PagerankRun not weighted, iterations", r.iterations,
                    r.ms);
      });
  nb::class_<pagerank_out>(m, "PagerankResult", "Entry k belongs to the vertex graph.ids()[k].")
      .def_ro("run", &pagerank_out::run)
      .def_ro("rank", &pagerank_out::rank, nb::for_getter(nb::sig("def rank(self) -> numpy.typing.NDArray[numpy.float32]")),
              "shape (vertices,); variant 'pull': shares that sum to 1");
  m.def(
      "pagerank",
      [](py_graph& g, nb::kwargs options) {
        pagerank_options o;
        keywords given("pagerank", std::move(options));
        take_common(given, o);
        given.choose("variant", o.variant, pagerank_variants);
        given.take("damping", o.damping);
        given.take("tolerance", o.tolerance);
        given.take("iterations", o.iterations);
        given.choose("dangling", o.dangling, danglings);
        std::optional<std::map<std::uint64_t, double>> personal;
        given.take("personalization", personal);
        if (personal) o.personalization.assign(personal->begin(), personal->end());
        given.take("weighted", o.weighted);
        given.take("devices", o.devices);
        end_of(given, o);
        auto const held = g.use_in_lists(o.variant == pagerank_variant::pull);
        pagerank_result r = released([&] { return pagerank(*held, o); });
        return pagerank_out{std::move(r.run), nb::cast(to_numpy(std::move(r.rank)))};
      },
      nb::arg("graph"), nb::arg("options"),
      nb::sig("def pagerank(graph: Graph, *, variant: str = 'pull', damping: float = 0.85, tolerance: float | None = None, iterations: int "
              "| None = None, dangling: str = 'redistribute', personalization: dict[int, float] | None = None, "
              "weighted: bool = False, " COMMON_OPTIONS SHARDS_OPTION ") -> PagerankResult"),
      "PageRank. Result: rank, entry k of the vertex graph.ids()[k], and run. A directed graph is pulled along its in-edges, which are "
      "made\n"
      "where it has none.\n"
      "\n"
      "variant: 'pull' (power iteration; the same bits each time on one device)\n"
      "tolerance: of the L1 change of an iteration (1e-4); iterations: exactly so many; dangling: 'redistribute' or 'drop'\n"
      "personal: ids and weights from 0: where it starts and jumps to, as NetworkX's personalization\n"
      "weighted: a vertex gives to its neighbors in proportion to the weights of the edges (pull, on one device); False: to all\n"
      "equally, whatever weights the graph has (NetworkX uses them unless weight=None); run.weighted reports it\n" SHARDS_TOLD COMMON_TOLD);
}

}  // namespace garner::python
