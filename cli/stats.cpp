// garner stats: what a graph file holds, from its header and its offsets; with --check, after every byte was checked.
#include <memory>
#include <nlohmann/json.hpp>

#include "command/common.hpp"
#include "garner/convert.hpp"
#include "garner/hetero.hpp"
#include "verbs.hpp"

namespace garner {

namespace {

using cli::grouped, cli::say;

struct stats_options {
  std::string file;
  bool check = false, json = false;
};

double percent(std::uint64_t part, std::uint64_t whole) {
  return whole ? 100.0 * static_cast<double>(part) / static_cast<double>(whole) : 0;
}
char const* name_of(weight_kind k) { return k == weight_kind::none ? "none" : k == weight_kind::u32 ? "u32" : "f32"; }

void print_json(stats_options const& o, stored_graph const& h) {
  graph_summary const& s = h.shape;
  using json = nlohmann::ordered_json;
  json j{{"file", o.file},
         {"version", h.version},
         {"vertices", s.info.vertices},
         {"edges", s.info.edges},
         {"directed", s.info.directed},
         {"in_edges", s.info.in_edges},
         {"reversed", s.info.reversed},
         {"id_bytes", s.info.id_bytes},
         {"weights", name_of(s.info.weights)},
         {"id_map", s.info.id_map},
         {"id_base", s.info.id_base},
         {"order", to_string(s.info.order)},
         {"isolated", s.isolated ? json(*s.isolated) : json(nullptr)},
         {"degree", {{"min", s.degree_min}, {"mean", s.degree_mean}, {"median", s.degree_median}, {"max", s.degree_max}}},
         {"adjacency_lists", s.lists},
         {"aligned_adjacency_lists", s.lists_on_lines}};
  j["degrees"] = json::array();
  for (auto const& b : s.bins) j["degrees"].push_back({{"low", b.low}, {"high", b.high}, {"vertices", b.vertices}, {"edges", b.edges}});
  j["edges_up_to_degree"] = json::array();
  for (auto const& p : s.shares) j["edges_up_to_degree"].push_back({{"degree", p.degree}, {"edges", p.edges}, {"share", p.share}});
  j["file_bytes"] = h.file_bytes;
  j["sections"] = json::array();
  for (auto const& x : h.sections)
    if (h.version)
      j["sections"].push_back({{"name", x.name},
                               {"offset", x.offset},
                               {"bytes", x.bytes},
                               {"element_bytes", x.element_bytes},
                               {"checksum", fmt::format("{:016x}", x.checksum)}});
  j["checked"] = o.check;
  say("{}\n", j.dump(2));
}

void print_text(stats_options const& o, stored_graph const& h) {
  graph_summary const& s = h.shape;
  graph_info const& g = s.info;
  if (h.version) say("{}: graph file version {}, {}\n\n", o.file, h.version, cli::format_bytes(h.file_bytes));
  else say("{}: made in memory\n\n", o.file);
  auto const row = [](char const* what, std::string const& value) { say("{:<12} {}\n", what, value); };
  row("vertices", grouped(g.vertices));
  row("edges", grouped(g.edges) + (g.directed ? g.in_edges   ? " (directed, with in-edges)"
                                                : g.reversed ? " (directed, in-edges alone)"
                                                             : " (directed)"
                                              : " (undirected: each counts twice)"));
  row("ids",
      fmt::format("{} bytes, {}", g.id_bytes, g.id_map ? "the user's from a map" : fmt::format("the user's begin with {}", g.id_base)));
  if (g.order != vertex_order::natural) row("order", fmt::format("by {}", to_string(g.order)));
  row("weights", name_of(g.weights));
  row("isolated", s.isolated ? fmt::format("{} ({:.2f} %)", grouped(*s.isolated), percent(*s.isolated, g.vertices))
                             : fmt::format("unknown without {}-edges; {} vertices have no {}-edge", g.reversed ? "out" : "in",
                                           grouped(g.vertices - s.lists), g.reversed ? "in" : "out"));
  row(g.reversed ? "in-degree" : "degree", fmt::format("min {}, mean {:.2f}, median {}, max {}", grouped(s.degree_min), s.degree_mean,
                                                       grouped(s.degree_median), grouped(s.degree_max)));
  row("adjacency", fmt::format("{} of {} lists start on a 128-byte line ({:.2f} %)", grouped(s.lists_on_lines), grouped(s.lists),
                               percent(s.lists_on_lines, s.lists)));

  say("\n{:>23} {:>14} {:>8} {:>16} {:>8} {:>8}\n", "degree", "vertices", "%", "edges", "%", "sum %");
  std::uint64_t sum = 0;
  for (auto const& b : s.bins)
    say("{:>23} {:>14} {:>8.2f} {:>16} {:>8.2f} {:>8.2f}\n", b.low == b.high ? grouped(b.low) : grouped(b.low) + " - " + grouped(b.high),
        grouped(b.vertices), percent(b.vertices, g.vertices), grouped(b.edges), percent(b.edges, g.edges),
        percent(sum += b.edges, g.edges));

  if (g.edges) say("\nedges at vertices of at most this degree\n");
  for (auto const& p : s.shares)
    if (p.degree && g.edges)
      say("{:>23} {:>8.2f} % {}\n", grouped(p.degree), 100 * p.share, std::string(static_cast<std::size_t>(50 * p.share), '#'));

  if (!h.version) return;
  // Unverified checksums do not describe the data.
  say("\n{:<12} {:>16} {:>12}{}\n", "section", "begins at byte", "size", o.check ? "   checksum" : "");
  for (auto const& x : h.sections)
    say("{:<17} {:>11} {:>12}{}\n", x.name, x.offset, cli::format_bytes(x.bytes), o.check ? fmt::format("   {:016x}", x.checksum) : "");
  if (o.check) say("\nchecked: header, checksums of all sections, padding, offsets, targets, ids and cached neighbors are right\n");
  else say("\nread: header and offsets; --check reads every section and compares its checksum\n");
}

// A dataset file: its types, and the files of each.
template <class Files>
std::string names_of(Files const& files) {
  std::string all;
  for (auto const& [name, file] : files)
    if (file) all += (all.empty() ? "" : ", ") + std::string(name);
  return all;
}
void print_manifest(stats_options const& o, dataset_info const& m) {
  using files = std::vector<std::pair<char const*, std::optional<std::filesystem::path>>>;
  auto const of_type = [](vertex_type const& t) {
    return files{{"features", t.features}, {"labels", t.labels}, {"times", t.times},
                 {"train", t.train},       {"valid", t.valid},   {"test", t.test}};
  };
  auto const of_edges = [](edge_type const& e) { return files{{"edge_ids", e.edge_ids}, {"times", e.times}, {"features", e.features}}; };
  if (o.json) {
    using json = nlohmann::ordered_json;
    json j{{"file", o.file}, {"nodes", json::array()}, {"edges", json::array()}, {"checked", o.check}};
    auto const with = [](json one, files const& all) {
      for (auto const& [name, file] : all) one[name] = file ? json(file->string()) : json(nullptr);
      return one;
    };
    for (vertex_type const& t : m.types) j["nodes"].push_back(with({{"name", t.name}, {"count", t.count}}, of_type(t)));
    for (edge_type const& e : m.edges)
      j["edges"].push_back(with({{"from", e.from},
                                 {"relation", e.relation},
                                 {"to", e.to},
                                 {"stored_edges", e.stored_edges},
                                 {"edges", e.edges},
                                 {"graph", e.adjacency.string()}},
                                of_edges(e)));
    return say("{}\n", j.dump(2, ' ', false, json::error_handler_t::replace));
  }
  auto const row = [](std::string const& what, std::string const& count, std::string const& has) {
    say("{:<40} {:>16}{}{}\n", what, count, has.empty() ? "" : "  ", has);
  };
  say("{}: dataset file, {} node types, {} edge types\n\n", o.file, m.types.size(), m.edges.size());
  row("nodes", "count", "files");
  for (vertex_type const& t : m.types) row(t.name, grouped(t.count), names_of(of_type(t)));
  say("\n");
  row("edges", "count", "files");
  for (edge_type const& e : m.edges) row(e.from + " " + e.relation + " " + e.to, grouped(e.stored_edges), names_of(of_edges(e)));
  if (o.check) say("\nchecked: names, counts, sizes, training nodes, and every byte of the adjacency are right\n");
}

}  // namespace

void add_stats(cli::program& p) {
  auto const o = std::make_shared<stats_options>();
  cli::verb& v = p.add("stats", "what a graph file holds: counts, degrees, sizes");
  v.add("FILE", o->file, "a graph file (.gnr), a dataset file (.json), or a graph made in memory: kron:20, uniform:20, web:20:32")
      .required();
  v.add("--check", o->check);
  v.add("--json", o->json);
  v.ends_with("Example: garner stats kron20.gnr --check");
  v.runs([o] {
    if (o->file.ends_with(".json")) {
      if (!o->check) return print_manifest(*o, read_dataset(o->file));
      hetero_graph const g = hetero_graph::open(o->file);
      for (edge_type const& e : g.edges()) inspect_graph(e.adjacency, true);
      return print_manifest(*o, {g.types(), g.edges()});
    }
    stored_graph const g = inspect_graph(o->file, o->check);
    if (o->check && !g.version) cli::fail(errc::usage, "{}: is generated in memory; --check is for files; leave it out", o->file);
    (o->json ? print_json : print_text)(*o, g);
  });
}

}  // namespace garner
